#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "microcode/program.hpp"

namespace stopbit::cases {

struct Datagram {
  std::span<const std::byte> bytes;
  std::uint16_t channel = 0;
};

/// The program with programs for the presence maps that these datagrams have, and for maps that differ from those in a
/// bit: engines must do the same with it. It is not verified. A program that has profiles stays as it is.
[[nodiscard]] Program with_profiles(const Program& program, const EngineOptions& options,
                                    const std::vector<Datagram>& datagrams);

/// The program with the hint that every presence bit is hard to predict: engines must do the same with it.
[[nodiscard]] Program with_hints(Program program);

}  // namespace stopbit::cases
