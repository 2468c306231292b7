#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "decoder/engine/engine.hpp"
#include "microcode/program.hpp"

/// Errors of packets in words, the same for every command.
namespace stopbit::feed {

/// The bytes around the place of an error; small enough to be kept while packets flow.
struct Excerpt {
  static constexpr std::size_t kBefore = 6;
  std::array<std::byte, 24> bytes{};
  std::uint32_t begin = 0;  ///< Offset of the first one in the datagram.
  std::uint8_t size = 0;
};

/// `offset` may be at or after the end of the datagram.
[[nodiscard]] Excerpt excerpt(std::span<const std::byte> datagram, std::uint32_t offset) noexcept;

/// "template 'Trade' (id 7), field 'Price' (trades.xml:12)"; empty if the error is outside a template.
[[nodiscard]] std::string place_text(const Program& program, const Outcome& outcome);

/// The error, its place, and the bytes with the faulty entity underlined:
///
///     byte 41: no template has the identifier 141, in ... [D9]
///       0023: c0 01 8d 39 45 a3
///                ^^^^^
///
/// Lines are separated by line feeds; there is none at the end.
[[nodiscard]] std::string error_text(const Program& program, const Outcome& outcome, const Excerpt& bytes);

}  // namespace stopbit::feed
