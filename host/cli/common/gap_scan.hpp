#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/appliance/settings.hpp"
#include "host/feed/description/line_table.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/merger.hpp"
#include "host/ports/packet_source.hpp"
#include "host/ports/recorder/file_name.hpp"

/// Finds the packets of a channel in what an appliance has recorded.
namespace stopbit::tools {

/// The channel of a gap in the settings, which outlive this; null if they have none of that name.
struct GapChannel {
  const appliance::FeedSettings* feed = nullptr;
  const feed::Channel* channel = nullptr;
  std::vector<std::string> lines;  ///< How its recorded files begin.
};
[[nodiscard]] GapChannel channel_of_gap(const std::string& name, const appliance::Settings& settings);
/// Whether packets come from captures: then the entry of a gap and its packets have times of their own.
[[nodiscard]] bool plays_captures(const appliance::Settings& settings);

/// A packet of the channel, valid until the next one.
struct GapPacket {
  std::uint32_t line = 0;
  std::uint64_t sequence = 0;
  ingest::Packet packet;
  net::Datagram datagram;
};

/// Reads the recordings of a channel, lines merged by time, as far as its caller likes. One thread.
class GapScan {
 public:
  /// Without the files that were complete well before `since_ns`. `of` outlives it.
  GapScan(const GapChannel& of, const std::vector<recorder::RecordedFile>& files, std::uint64_t since_ns);
  GapScan(const GapScan&) = delete;  // its merger has the address of its sources
  GapScan& operator=(const GapScan&) = delete;

  enum class Step : std::uint8_t { Found, Other, End };
  /// The next packet: one of the channel, or another one.
  [[nodiscard]] Step next(GapPacket& found);
  /// What was wrong with files so far.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  const GapChannel& of_;
  std::vector<std::unique_ptr<ingest::PacketSource>> sources_;
  feed::LineTable lines_;
  ingest::Merger merger_;
};

}  // namespace stopbit::tools
