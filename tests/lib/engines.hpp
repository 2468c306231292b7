#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/select/make_engine.hpp"
#include "tests/lib/recording_sink.hpp"

/// Every engine there is, for tests that run one program on all of them.
namespace stopbit::cases {

struct TestedEngine {
  std::string_view name;
  std::unique_ptr<Engine> engine;
};

/// The kinds that run on this machine, the reference first. Says once on stderr if native code does not.
[[nodiscard]] const std::vector<EngineKind>& engine_kinds();

/// One engine of each kind; the first is the reference.
[[nodiscard]] std::vector<TestedEngine> make_engines(const Program& program, const EngineOptions& options);

/// What two engines say differently of the same datagram; empty if it is the same. Instructions are counted by the
/// interpreters only, so they are left out.
[[nodiscard]] std::string difference(const Outcome& reference, const Outcome& other);

/// The first slot in which two runs of records differ, all bytes counted; empty if they are the same.
[[nodiscard]] std::string difference(const std::vector<Record>& reference, const std::vector<Record>& other);

}  // namespace stopbit::cases
