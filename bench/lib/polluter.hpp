#pragma once

#include <cstdint>
#include <vector>

namespace stopbit::bench {

/// Leaves the processor as other programs would: caches full of other data, branch predictors with other histories.
/// Walks 6 MiB and runs 32,768 unpredictable branches; takes a few hundred microseconds.
class Polluter {
 public:
  Polluter();
  void pollute() noexcept;

 private:
  std::vector<std::uint64_t> memory_;
  std::uint64_t random_ = 0x9E37'79B9'7F4A'7C15;
};

}  // namespace stopbit::bench
