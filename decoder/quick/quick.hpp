#pragma once

#include <memory>

#include "decoder/engine/engine.hpp"

namespace stopbit::interp {

/// The interpreter with short ways: the common cases of the common instructions are done in a few machine instructions
/// each, in registers. What is not common is left to the interpreter, one instruction at a time, before anything has
/// been changed; so the rules stand in one place, and every error comes from there.
///
/// Null where there are no short ways: strict mode, strings limited to less than eight bytes, presence maps of more
/// than 63 bits.
[[nodiscard]] std::unique_ptr<Engine> make_quick(const Program& program, const EngineOptions& options);

}  // namespace stopbit::interp
