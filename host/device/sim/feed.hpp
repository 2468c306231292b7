#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::sim {

/// Precedes each packet in a feed's socket. Little-endian.
struct FeedHeader {
  std::uint64_t arrival_ns;
  std::uint16_t socket;
  std::uint16_t zero[3];
};
static_assert(sizeof(FeedHeader) == 16);

inline constexpr std::size_t kMaxFeedBytes = 65'536;  ///< Of a packet.

/// Where the simulated card's network comes from: a Unix socket (SOCK_SEQPACKET) that the driver listens at, by the
/// name in the environment variable STOPBIT_SIM_FEED. One packet, one message. Blocks while the card lags. Frames
/// that the card sends come back; it drops them while they are not read.
class Feed {
 public:
  [[nodiscard]] static Result<Feed> connect(const std::string& path);
  /// False, with errno, if the card has closed.
  [[nodiscard]] bool send(std::span<const std::byte> packet, std::uint16_t socket, std::uint64_t arrival_ns);
  /// A frame that the card has sent; empty if there is none at present.
  [[nodiscard]] std::vector<std::byte> receive();

 private:
  Feed() = default;
  os::Descriptor socket_;
};

}  // namespace stopbit::sim
