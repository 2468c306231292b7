#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "bench.hpp"

namespace stopbit::sim {

/// What one cycle of a link carries.
struct Cell {
  enum Kind : std::uint8_t { Control, Start, Payload, End };
  std::uint8_t kind = Control;
  std::uint64_t data = 0;
  bool operator==(const Cell&) const = default;
};

/// The CRC-32 of Ethernet, bit by bit, over a cell's kind and its upper `bytes`.
inline std::uint32_t crc_of(std::uint32_t crc, const Cell& cell, std::size_t bytes) {
  const auto step = [&crc](std::uint8_t byte) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB8'8320U : 0U);
  };
  step(cell.kind);
  for (std::size_t i = 8 - bytes; i < 8; ++i) step(static_cast<std::uint8_t>(cell.data >> (8 * i)));
  return crc;
}

/// What a last or a control cell must end with, after `packet`, the cells before it.
inline std::uint32_t closing_crc(std::span<const Cell> packet, const Cell& cell) {
  std::uint32_t crc = 0xFFFF'FFFFU;
  for (const Cell& each : packet) crc = crc_of(crc, each, 8);
  return ~crc_of(crc, cell, 4);
}

/// One direction of a link: cells arrive some cycles later, with errors.
class Wire {
 public:
  explicit Wire(Random& random, std::size_t delay = 5) : random_(random), cells_(delay) {}

  /// Turned bits in a million.
  void set_errors(std::uint32_t per_million) { errors_ = per_million; }
  void set_signal(bool has_signal) { has_signal_ = has_signal; }
  [[nodiscard]] bool has_signal() const { return has_signal_; }
  /// Turns this bit of the next cell that is not a control cell: 0 to 63 of the data, then the kind.
  void turn_next(unsigned bit) { turn_ = static_cast<int>(bit); }
  [[nodiscard]] bool is_to_turn() const { return turn_ >= 0; }

  void put(Cell cell) {
    if (turn_ >= 0 && cell.kind != Cell::Control) {
      turn(cell, static_cast<unsigned>(turn_));
      turn_ = -1;
    }
    if (errors_ != 0) {
      for (unsigned bit = 0; bit < kBits; ++bit) {
        if (random_.below(1'000'000) < errors_) turn(cell, bit);
      }
    }
    if (!has_signal_) cell = {static_cast<std::uint8_t>(random_.below(4)), random_.bits()};
    cells_.push_back(cell);
  }
  Cell take() {
    const Cell cell = cells_.front();
    cells_.pop_front();
    return cell;
  }

 private:
  static constexpr unsigned kBits = 66;
  static void turn(Cell& cell, unsigned bit) {
    if (bit < 64) {
      cell.data ^= std::uint64_t{1} << bit;
    } else {
      cell.kind = static_cast<std::uint8_t>(cell.kind ^ (1U << (bit - 64)));
    }
  }

  Random& random_;
  std::deque<Cell> cells_;
  std::uint32_t errors_ = 0;
  bool has_signal_ = true;
  int turn_ = -1;
};

}  // namespace stopbit::sim
