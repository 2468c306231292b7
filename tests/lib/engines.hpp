#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decoder/engine/make_engine.hpp"
#include "tests/lib/recording_sink.hpp"

/// Every engine there is, for tests that run one program on all of them. The first is the reference.
namespace stopbit::cases {

/// The kinds that run on this machine, the interpreter first. Says once on stderr if native code does not.
[[nodiscard]] const std::vector<EngineKind>& engine_kinds();

/// One engine of each kind, in that order.
[[nodiscard]] std::vector<MadeEngine> make_engines(const Program& program, const EngineOptions& options);

/// What two engines say differently of the same datagram; empty if it is the same. Instructions are counted by the
/// interpreter only, so they are left out.
[[nodiscard]] std::string difference(const Outcome& reference, const Outcome& other);

/// The first slot in which two runs of records differ, all bytes counted; empty if they are the same.
[[nodiscard]] std::string difference(const std::vector<Record>& reference, const std::vector<Record>& other);

}  // namespace stopbit::cases
