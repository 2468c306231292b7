#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "decoder/engine/engine.hpp"
#include "decoder/jit/native.hpp"

namespace stopbit {

/// What runs a program.
enum class EngineKind : std::uint8_t {
  Native,  ///< x86-64 code, made of the program when the engine is made: decoder/jit.
  Interp,  ///< The reference: decoder/interp. Runs everywhere.
};

/// "native", "interp".
[[nodiscard]] std::string_view engine_name(EngineKind kind) noexcept;

struct MadeEngine {
  std::unique_ptr<Engine> engine;  ///< Never null.
  EngineKind kind = EngineKind::Interp;
  std::string why_not_native = {};  ///< If native was wanted and could not be: a sentence without a full stop.
  jit::Figures figures = {};        ///< Native: its code.
};

/// The engine of the wanted kind; the interpreter where native code cannot run. Both give the same records, errors and
/// places, byte for byte; Outcome::instructions is counted by the interpreter only. `program` must have passed
/// verify::check and outlive the engine.
[[nodiscard]] MadeEngine make_engine(const Program& program, const EngineOptions& options, EngineKind wanted);

}  // namespace stopbit
