#pragma once

#include <verilated.h>

#include <cstdint>
#include <type_traits>

#include "bits.hpp"

/// Wires between a register block and its unit, in the ports of Verilated models of any width.
namespace stopbit::sim {

enum class Bundle : std::uint8_t { Written, Command, Shown, Raised, Counted, Kept };

/// Where a register is in a port: the lowest of its bits, the bit that says that it is written, the index of a table.
template <class Port>
struct RegisterWire {
  std::uint32_t address = 0;
  Port port{};
  Bundle bundle = Bundle::Written;
  unsigned at = 0;
  unsigned width = 0;
  unsigned valid = 0;
  unsigned index = 0;
  unsigned index_width = 0;
};

template <class Signal>
std::uint64_t wire_bits(const Signal& signal, unsigned at, unsigned width) {
  if constexpr (std::is_integral_v<Signal>) {
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    return std::uint64_t{signal} >> at & mask;
  } else {
    return bits_at(signal, at, width);
  }
}

template <class Signal>
void set_wire(Signal& signal, unsigned at, unsigned width, std::uint64_t value) {
  for (unsigned i = 0; i < width; ++i) {
    const bool bit = (value >> i & 1) != 0;
    if constexpr (std::is_integral_v<Signal>) {
      const Signal mask = static_cast<Signal>(Signal{1} << (at + i));
      signal = static_cast<Signal>(bit ? signal | mask : signal & ~mask);
    } else {
      std::uint32_t& word = signal[(at + i) / 32];
      const std::uint32_t mask = 1U << (at + i) % 32;
      word = bit ? word | mask : word & ~mask;
    }
  }
}

}  // namespace stopbit::sim
