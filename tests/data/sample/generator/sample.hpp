#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace stopbit::sample {

/// What the lines did to the packets.
struct LineCounts {
  std::uint64_t sent = 0;  ///< In the capture, duplicates included.
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t late = 0;  ///< After a packet with a higher sequence number.
};

/// A capture and what is in it.
struct Sample {
  std::string pcap;                               ///< Nanosecond pcap, Ethernet.
  std::string json_lines;                         ///< What a decoder has to find: one line a message, in capture order.
  std::map<std::string, std::uint64_t> messages;  ///< By template name, in the capture.
  std::uint64_t packets = 0;                      ///< In the capture.
  std::uint64_t other_packets = 0;                ///< Of those, no datagrams of the feed.
  LineCounts lines[2];
  std::uint64_t sequences = 0;  ///< Datagrams published: sequence numbers 1 to this.
  std::uint64_t lost_on_both = 0;
};

/// Makes the sample. The same seed gives the same bytes on every machine.
[[nodiscard]] Sample make_sample(std::uint64_t seed);

/// The seed of the capture that is kept beside the templates.
inline constexpr std::uint64_t kSeed = 20270104;

}  // namespace stopbit::sample
