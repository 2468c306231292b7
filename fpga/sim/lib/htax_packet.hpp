#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench.hpp"

/// Packets of stopbit_htax_pkg, for benches.
namespace stopbit::sim::htax {

enum Channel : std::size_t { kPosted, kNonposted, kResponse, kTranslation };

struct Header {
  bool error = false;
  std::size_t channel = 0;
  std::size_t length = 0;  ///< Phits after the header.
  std::size_t origin = 0;
  std::size_t tag = 0;
  std::uint64_t address = 0;
};

inline std::uint64_t to_phit(const Header& header) {
  return std::uint64_t{header.error} << 63 | std::uint64_t{header.channel} << 61 | std::uint64_t{header.length} << 57 |
         std::uint64_t{header.origin} << 53 | std::uint64_t{header.tag} << 48 | header.address;
}
inline Header from_phit(std::uint64_t phit) {
  return {.error = phit >> 63 != 0,
          .channel = phit >> 61 & 3,
          .length = phit >> 57 & 15,
          .origin = phit >> 53 & 15,
          .tag = phit >> 48 & 31,
          .address = phit & 0xFFFF'FFFF'FFFF};
}

using Packet = std::vector<std::uint64_t>;

/// With random phits of data.
inline Packet make(Random& random, const Header& header) {
  Packet packet{to_phit(header)};
  for (std::size_t i = 0; i < header.length; ++i) packet.push_back(random.bits());
  return packet;
}

}  // namespace stopbit::sim::htax
