#include "host/feed/arbitrate/options.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace stopbit::arbitrate {
namespace {

constexpr std::size_t kMinHistory = 1'024;
/// Of 65,536 numbers most must be out of reach: else every number is one of the run's, and none is another run's.
constexpr std::size_t kShortHistory = 4'096;
constexpr std::size_t kMaxHistory = std::size_t{1} << 24;
constexpr std::uint32_t kMaxRoom = 65'536;

}  // namespace

Options options_for(const net::Framing& framing) {
  Options options;
  options.chunks = framing.kind == net::FramingKind::B3;
  if (framing.kind == net::FramingKind::Fixed) {
    options.sequence_bits = static_cast<std::uint8_t>(framing.sequence.bytes * 8);
  }
  return options;
}

Options checked(Options options) noexcept {
  options.window_packets = std::clamp(options.window_packets, 1U, kMaxRoom);
  options.room_packets = std::clamp(options.room_packets, options.window_packets, kMaxRoom);
  std::size_t history = options.history;
  if (options.sequence_bits == 16) history = std::min(history, kShortHistory);
  history = std::max(history, std::size_t{4} * options.room_packets);
  options.history = static_cast<std::uint32_t>(std::bit_ceil(std::clamp(history, kMinHistory, kMaxHistory)));
  return options;
}

}  // namespace stopbit::arbitrate
