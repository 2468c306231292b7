#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/engine/machine.hpp"
#include "decoder/engine/steps.hpp"
#include "decoder/jit/code_memory.hpp"
#include "decoder/jit/parts.hpp"
#include "microcode/program.hpp"

namespace stopbit::jit {

/// Called by native code for an instruction it does not run itself. `self` is handed back.
struct Hooks {
  void* self = nullptr;
  bool (*open_block)(void* self, std::uint32_t address) = nullptr;  ///< False after an error.
  bool (*take)(void* self, std::uint32_t address) = nullptr;        ///< The data-op. False after an error.
  /// As take, but quicker: for ASCII strings that are longer than a word, or have delta or tail.
  bool (*take_text)(void* self, std::uint32_t address) = nullptr;
  const void* (*steer)(void* self, std::uint32_t address) = nullptr;  ///< Where to go on. Null after an error.
};

struct Code {
  bool (*run)(engine::Machine* machine) = nullptr;  ///< Runs a message; false after an error.
  const void* complete = nullptr;                   ///< Where the code ends a message.
  std::vector<const void*> message;                 ///< Where the code of each instruction begins.
  std::vector<const void*> reference;               ///< The same in a dynamic reference; empty if there are none.
  std::vector<const void*> dispatch;  ///< By template identifier, where a message goes on. Read by the code.
  std::size_t bytes = 0;
  std::size_t rare_bytes = 0;
  Parts parts;
};

/// The steps of a program: in messages, and in dynamic references.
struct Steps {
  std::span<const engine::Step> message;
  std::span<const engine::Step> reference;
};

/// Writes the code to `memory`, which is not sealed. Throws Xbyak::Error if it does not fit.
[[nodiscard]] Code emit(const Program& program, const EngineOptions& options, const Steps& steps, const Hooks& hooks,
                        const CodeMemory& memory);

/// Bytes that surely suffice.
[[nodiscard]] std::size_t room_for(const Program& program) noexcept;

}  // namespace stopbit::jit
