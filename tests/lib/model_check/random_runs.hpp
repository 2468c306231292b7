#pragma once

#include <cstdint>
#include <random>

#include "tests/lib/model_check/search.hpp"

namespace stopbit::model_check {

/// Numbers from a seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  /// Below `count`.
  std::uint32_t operator()(std::uint64_t count) { return static_cast<std::uint32_t>((number() >> 32U) * count >> 32U); }
  std::uint64_t number() { return random_(); }

 private:
  std::mt19937_64 random_;
};

/// Random runs until `steps` steps were made or something fails. `begin(draw)` makes a run; its `turn(draw)` makes a
/// step (false: it was not possible), at most `turns` times; `close()` lets it come to its end; `work()` counts what it
/// did, `failure()` says what went wrong.
template <class Begin>
Findings wander(std::uint64_t seed, std::uint64_t steps, unsigned turns, const Begin& begin) {
  Findings findings;
  Draw draw(seed);
  while (findings.states < steps && findings.failure.empty()) {
    auto run = begin(draw);
    for (unsigned left = turns; left != 0 && findings.states < steps && run.failure().empty(); --left) {
      if (run.turn(draw)) ++findings.states;
    }
    if (run.failure().empty()) run.close();
    findings.work += run.work();
    findings.failure = run.failure();
  }
  return findings;
}

}  // namespace stopbit::model_check
