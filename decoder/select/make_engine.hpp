#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "decoder/engine/engine.hpp"
#include "decoder/jit/native.hpp"

namespace stopbit {

/// Kind of engine.
enum class EngineKind : std::uint8_t {
  Native,  ///< x86-64 code, generated when the engine is constructed: decoder/jit.
  Quick,   ///< The interpreter with short paths for the common instructions: decoder/quick. Runs everywhere.
  Interp,  ///< The reference, one function per operator and type: decoder/interp. Runs everywhere.
};

/// "native", "quick", "interp".
[[nodiscard]] std::string_view engine_name(EngineKind kind) noexcept;

struct MadeEngine {
  std::unique_ptr<Engine> engine;  ///< Never null.
  EngineKind kind = EngineKind::Quick;
  std::string why_not_native = {};  ///< Why native was requested and is not used: a sentence without a full stop.
  jit::Figures figures = {};        ///< Native: its code.
};

/// The engine of the wanted kind; Quick where native code cannot run. All give the same records, errors and places,
/// byte for byte; Outcome::instructions is counted by Quick and Interp only. Quick leaves a program or options for
/// which it has no short paths to the interpreter. `program` must have passed verify::check and outlive the engine.
[[nodiscard]] MadeEngine make_engine(const Program& program, const EngineOptions& options, EngineKind wanted);

}  // namespace stopbit
