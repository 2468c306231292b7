#pragma once

#include <memory>

#include "decoder/engine/engine.hpp"

namespace stopbit::interp {

/// The interpreter with short paths: the common cases of the common instructions take a few machine instructions each,
/// in registers. All other cases are left to the interpreter, one instruction at a time, before any state has changed;
/// so the rules are in one place, and every error comes from there.
///
/// Null where there are no short ways: strict mode, strings limited to less than eight bytes, presence maps of more
/// than 63 bits.
[[nodiscard]] std::unique_ptr<Engine> make_quick(const Program& program, const EngineOptions& options);

}  // namespace stopbit::interp
