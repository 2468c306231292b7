#include "host/cli/common/gap_scan.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "host/appliance/recording.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/gap_account.hpp"
#include "host/cli/common/recordings.hpp"

namespace stopbit::tools {
namespace {

/// A source for each line of the channel.
std::vector<std::unique_ptr<ingest::PacketSource>> sources_of(const GapChannel& of,
                                                              const std::vector<recorder::RecordedFile>& files,
                                                              std::uint64_t since_ns) {
  std::vector<std::unique_ptr<ingest::PacketSource>> sources;
  for (const std::string& line : of.lines) {
    std::vector<recorder::RecordedFile> own;
    for (const recorder::RecordedFile& file : files) {
      // A compressed file was written long after its packets.
      if (file.name.line == line && file.written_ns + kAroundGapNs >= since_ns) own.push_back(file);
    }
    sources.push_back(std::make_unique<RecordedSource>(std::move(own)));
  }
  return sources;
}

}  // namespace

GapChannel channel_of_gap(const std::string& name, const appliance::Settings& settings) {
  GapChannel found;
  for (const appliance::RecordedLine& line : appliance::recorded_lines(settings)) {
    const appliance::FeedSettings& feed = settings.feeds[line.feed];
    const feed::Channel& channel = feed.description.channels[line.channel];
    if (channel.name != name) continue;
    found.feed = &feed;
    found.channel = &channel;
    found.lines.push_back(line.name);
  }
  return found;
}

bool plays_captures(const appliance::Settings& settings) {
  return std::any_of(settings.ports.begin(), settings.ports.end(),
                     [](const appliance::PortSettings& port) { return !port.source->is_live(); });
}

GapScan::GapScan(const GapChannel& of, const std::vector<recorder::RecordedFile>& files, std::uint64_t since_ns)
    : of_(of), sources_(sources_of(of, files, since_ns)), lines_(lines_of({of.channel})), merger_(sources_) {}

GapScan::Step GapScan::next(GapPacket& found) {
  const ingest::Next next = merger_.next(found.packet);
  if (next == ingest::Next::End) return Step::End;
  if (next == ingest::Next::Fault ||
      net::parse_frame(found.packet.link, found.packet.frame, found.packet.original_bytes, found.datagram) !=
          net::Verdict::Accepted) {
    return Step::Other;
  }
  const feed::LineTarget* const line = lines_.find(found.datagram.destination, found.datagram.source.address);
  if (line == nullptr) return Step::Other;
  const net::Preamble preamble = net::read_preamble(of_.channel->framing, found.datagram.payload);
  if (preamble.error != ErrorCode::None) return Step::Other;
  found.line = static_cast<std::uint32_t>(line->line);
  found.sequence = preamble.sequence;
  return Step::Found;
}

std::vector<std::string> GapScan::faults() const {
  std::vector<std::string> all;
  for (const auto& source : sources_) {
    const auto& own = static_cast<const RecordedSource&>(*source).faults();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace stopbit::tools
