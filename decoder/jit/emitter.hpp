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

/// Called by native code for an instruction it does not run itself. `self` is handed back; `bits` are those left of the
/// presence map.
struct Hooks {
  using Run = bool(void* self, std::uint32_t address, std::uint64_t bits);
  void* self = nullptr;
  Run* open_block = nullptr;  ///< False after an error.
  Run* take = nullptr;        ///< The data-op. False after an error.
  Run* take_text = nullptr;   ///< As take, but quicker: for ASCII strings longer than a word, or with delta or tail.
  const void* (*steer)(void* self, std::uint32_t address, std::uint64_t bits) = nullptr;  ///< Where to go on, or null.
};

struct Code {
  bool (*run)(engine::Machine* machine) = nullptr;  ///< Runs a message; false after an error.
  const void* complete = nullptr;                   ///< Where the code ends a message.
  std::vector<const void*> message;                 ///< Where the code of each instruction begins.
  std::vector<const void*> reference;               ///< The same in a dynamic reference; empty if there are none.
  std::vector<const void*> dispatch;  ///< By template identifier, where a message goes on. Read by the code.
  bool has_long_maps = false;         ///< The bits that hooks get are wire::PresenceMap::window.
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
