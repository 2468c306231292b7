#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "htax_packet.hpp"

/// What the benches of the host's bus have in common.
namespace stopbit::sim::htax {

/// Bytes by their address, as far as they were written.
using Bytes = std::map<std::uint64_t, std::uint8_t>;

inline void write_word(Bytes& bytes, std::uint64_t address, std::uint64_t word, std::uint8_t mask) {
  for (unsigned i = 0; i < 8; ++i) {
    if ((mask >> i & 1) != 0) bytes[address + i] = static_cast<std::uint8_t>(word >> 8 * i);
  }
}
/// What memory has where nothing was written.
inline std::uint64_t first_word(std::uint64_t address) {
  return address * 0x9E37'79B9'7F4A'7C15U;
}

/// Collects what comes phit after phit.
class Collector {
 public:
  /// True when the packet is whole.
  bool put(std::uint64_t phit) {
    if (is_whole_) packet_.clear();
    packet_.push_back(phit);
    is_whole_ = packet_.size() == from_phit(packet_[0]).length + 1;
    return is_whole_;
  }
  [[nodiscard]] const Packet& packet() const { return packet_; }
  [[nodiscard]] bool is_within() const { return !is_whole_; }

 private:
  Packet packet_;
  bool is_whole_ = true;
};

}  // namespace stopbit::sim::htax
