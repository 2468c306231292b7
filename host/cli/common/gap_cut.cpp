#include "host/cli/common/gap_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "host/analyse/explain/explain.hpp"
#include "host/appliance/appliance.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/text.hpp"
#include "host/os/readable.hpp"
#include "host/ports/merger.hpp"
#include "host/ports/out/frame.hpp"
#include "microcode/base/printable.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint64_t kAroundNs = 60 * kNsPerSecond;  ///< A gap's packets arrive within this time of its entry.
constexpr std::size_t kMostRows = 65'536;
constexpr std::size_t kMostTableLines = 200;
constexpr std::size_t kMostExplained = 8;
constexpr std::size_t kMostCuts = 200;  ///< Each has an open file while its packets come.
constexpr std::array<std::string_view, 2> kLineNames = {"A", "B"};

/// A name that every file system takes.
std::string file_base(const appliance::GapEntry& gap) {
  constexpr std::size_t kMaxBytes = 100;
  std::string base = gap.channel.substr(0, kMaxBytes);
  std::replace_if(
      base.begin(), base.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-'; }, '_');
  base += '-' + appliance::range_text(gap);
  // Numbers recur after a reset.
  return gap.epoch == 0 ? base : fmt::format("{}-epoch-{}", base, gap.epoch);
}

/// Whether packets come from captures: then the entry of a gap and its packets have times of their own.
bool has_captures(const appliance::Settings& settings) {
  return std::any_of(settings.ports.begin(), settings.ports.end(),
                     [](const appliance::PortSettings& port) { return !port.source->is_live(); });
}

/// Of its own, though numbers and epochs recur.
std::string gap_file_base(const appliance::GapEntry& gap, std::set<std::string>& taken) {
  const std::string base = file_base(gap);
  std::string free = base;
  for (int i = 2; !taken.insert(free).second; ++i) free = fmt::format("{}-{}", base, i);
  return free;
}

std::string range_of(std::uint64_t first, std::uint64_t last) {
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

}  // namespace

GapCut::GapCut(const appliance::GapEntry& gap, const CutOptions& options, const std::string& base_name) : gap_(gap) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  first_ = gap.first - std::min(gap.first, options.around);
  const std::uint64_t end = gap.count > kMost - gap.first ? kMost : gap.first + gap.count - (gap.count != 0 ? 1 : 0);
  last_ = options.around > kMost - end ? kMost : end + options.around;
  const std::string base = options.folder + "/" + base_name;
  capture_ = base + ".pcapng";
  text_file_ = base + ".txt";
  const std::uint64_t numbers = last_ - first_;
  rows_.resize(numbers < kMostRows ? static_cast<std::size_t>(numbers) + 1 : kMostRows);
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].sequence = first_ + i;
}

bool GapCut::wants(std::uint64_t sequence, std::uint64_t time_ns) const noexcept {
  const std::uint64_t apart = time_ns > gap_.time_ns ? time_ns - gap_.time_ns : gap_.time_ns - time_ns;
  return sequence >= first_ && sequence <= last_ && (ignores_times_ || apart <= kAroundNs);
}

GapCut::Row* GapCut::row_of(std::uint64_t sequence) noexcept {
  const std::uint64_t at = sequence - first_;
  return at < rows_.size() ? &rows_[static_cast<std::size_t>(at)] : nullptr;
}

void GapCut::open() {
  out_.emplace(Output::replace(capture_));
  constexpr std::string_view kNames[] = {"A", "B"};
  writer_ = std::make_unique<recorder::PcapngWriter>(
      [this](std::span<const std::byte> bytes) {
        out_->buffer().append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        out_->flush_if_full();
      },
      kNames);
}

std::string GapCut::comment_on(std::uint32_t line, std::uint64_t sequence, std::uint64_t time_ns) const {
  if (is_missing(sequence) && ignores_times_) {
    return fmt::format("stopbit: {} of the gap {} on line {}", sequence, appliance::range_text(gap_), kLineNames[line]);
  }
  if (is_missing(sequence)) {
    const bool is_late = time_ns > gap_.time_ns;
    return fmt::format("stopbit: {} of the gap {} on line {}: {} {} it was given up", sequence,
                       appliance::range_text(gap_), kLineNames[line],
                       os::delay_text(is_late ? time_ns - gap_.time_ns : gap_.time_ns - time_ns),
                       is_late ? "after" : "before");
  }
  const bool is_next = sequence == gap_.first + gap_.count;
  if (!is_next && sequence + 1 != gap_.first) return {};
  return fmt::format("stopbit: {} on line {}, the {} the gap {}", sequence, kLineNames[line],
                     is_next ? "first number after" : "last number before", appliance::range_text(gap_));
}

void GapCut::add(std::uint32_t line, std::uint64_t sequence, const ingest::Packet& packet,
                 const net::Datagram& datagram) {
  if (!writer_) open();
  const std::string comment = comment_on(line, sequence, packet.arrival_ns);
  if (packet.link == net::LinkType::Ethernet) {
    writer_->write(line, packet.frame, packet.arrival_ns, comment);
  } else {
    egress::FrameBuilder frames(datagram.source, datagram.destination);
    writer_->write(line, frames.build(datagram.payload), packet.arrival_ns, comment);
  }
  ++packets_[line];
  Row* const row = row_of(sequence);
  if (row == nullptr || row->lines[line].time_ns != 0) return;
  row->lines[line] = {.time_ns = packet.arrival_ns, .place = packets_[0] + packets_[1]};
}

void GapCut::close() {
  if (out_) out_->close();
}

std::vector<std::uint64_t> GapCut::remarkable() const {
  std::vector<std::uint64_t> places;
  const auto add = [&](const Row& row) {
    for (const Seen& seen : row.lines) {
      if (seen.place == 0 || places.size() >= kMostExplained) continue;
      places.push_back(seen.place);
      return;  // both lines have the same bytes
    }
  };
  const auto is_seen = [](const Row& row) { return row.lines[0].place + row.lines[1].place != 0; };
  const auto before = std::find_if(rows_.rbegin(), rows_.rend(),
                                   [&](const Row& row) { return row.sequence < gap_.first && is_seen(row); });
  if (before != rows_.rend()) add(*before);
  for (const Row& row : rows_) {
    if (is_missing(row.sequence)) add(row);
  }
  const auto after = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return row.sequence > gap_.first && !is_missing(row.sequence) && is_seen(row);
  });
  if (after != rows_.end()) add(*after);
  return places;
}

std::string GapCut::conclusion() const {
  std::array<std::uint64_t, 2> recorded{};
  std::uint64_t on_none = 0;
  std::uint64_t latest_ns = 0;
  for (const Row& row : rows_) {
    if (!is_missing(row.sequence)) continue;
    std::uint64_t first_ns = 0;
    for (std::size_t line = 0; line < 2; ++line) {
      const std::uint64_t time_ns = row.lines[line].time_ns;
      if (time_ns == 0) continue;
      ++recorded[line];
      first_ns = first_ns == 0 ? time_ns : std::min(first_ns, time_ns);
    }
    if (first_ns == 0) ++on_none;
    latest_ns = std::max(latest_ns, first_ns);
  }
  if (packets_[0] + packets_[1] == 0) {
    return "The recordings have no packet of this channel around the gap: nothing was recorded then, or the files are "
           "deleted.\n";
  }
  if (recorded[0] + recorded[1] == 0) {
    return "The recordings have none of the numbers: no line brought them to the recorder. They were lost before it: "
           "at "
           "the sender, in the network, or in the card or kernel of this machine, whose drops `stopbit stat` shows.\n";
  }
  std::string text;
  for (std::size_t line = 0; line < 2; ++line) {
    if (recorded[line] != 0)
      text += fmt::format("Line {} brought {} of the numbers. ", kLineNames[line], recorded[line]);
  }
  if (on_none != 0) text += fmt::format("{} came on no line. ", on_none);
  if (ignores_times_) {
    text += "The recordings have the times of a capture, so it is not known how late that was.";
  } else if (latest_ns > gap_.time_ns) {
    text += fmt::format(
        "The last of them came {} after the gap was given up: a window longer by that, or with more packets, would "
        "have "
        "waited for it.",
        os::delay_text(latest_ns - gap_.time_ns));
  } else if (on_none == 0) {
    text += "They arrived before the gap was given up, so they were on this machine: look at its drops and stalls.";
  }
  return text + "\n";
}

std::string GapCut::table() const {
  std::string text = fmt::format("{:>25}  {:<27}  line B\n", "number", "line A");
  std::size_t lines = 0;
  const auto is_same = [](const Row& left, const Row& right) {
    return left.lines[0].time_ns + left.lines[1].time_ns + right.lines[0].time_ns + right.lines[1].time_ns == 0;
  };
  for (std::size_t i = 0; i < rows_.size();) {
    std::size_t end = i + 1;
    while (end < rows_.size() && is_same(rows_[i], rows_[end]) &&
           is_missing(rows_[i].sequence) == is_missing(rows_[end].sequence)) {
      ++end;
    }
    if (++lines > kMostTableLines) return text + fmt::format("{:>25}\n", "...");
    text += fmt::format("{:>25}", range_of(rows_[i].sequence, rows_[end - 1].sequence));
    for (std::size_t line = 0; line < 2; ++line) {
      const std::uint64_t time_ns = rows_[i].lines[line].time_ns;
      text += fmt::format("  {:<27}", !gap_.lines[line].exists ? "" : time_ns == 0 ? "-" : os::time_text(time_ns));
    }
    if (is_missing(rows_[i].sequence)) text += "  missing";
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
    i = end;
  }
  if (last_ - first_ >= kMostRows) text += fmt::format("{:>25}\n", "...");
  return text;
}

std::string GapCut::account() const {
  std::string text = fmt::format("Gap {} of channel {}, {} {}\n", appliance::range_text(gap_), plain(gap_.channel),
                                 gap_.count, gap_.count == 1 ? "number" : "numbers");
  text += fmt::format("Given up {}; feed {}, epoch {}\n", os::time_text(gap_.time_ns), plain(gap_.feed), gap_.epoch);
  text += fmt::format("Cause: {}: {}\n", appliance::to_text(gap_.cause), appliance::lines_text(gap_));
  if (gap_.came_late != 0) {
    text +=
        fmt::format("{} of the numbers arrived up to {} late\n", gap_.came_late, os::duration_text(gap_.late_by_ns));
  }
  if (const std::string books = appliance::books_text(gap_); !books.empty()) text += "Books: " + books + "\n";
  text += '\n' + conclusion();
  if (packets_[0] + packets_[1] == 0) return text;
  return text +
         fmt::format("\n{} packets of line A and {} of line B are in {}.\n\n", packets_[0], packets_[1],
                     plain(std::filesystem::path(capture_).filename().string())) +
         table();
}

namespace {

/// The channel of a gap in the settings; null if they have none of that name.
struct GapChannel {
  const appliance::FeedSettings* feed = nullptr;
  const feed::Channel* channel = nullptr;
  std::vector<std::string> lines;  ///< How its recorded files begin.
};

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

/// The recordings of a channel, a source for each line.
Sources sources_of(const GapChannel& of, const std::vector<recorder::RecordedFile>& files, std::uint64_t since_ns) {
  Sources sources;
  for (const std::string& line : of.lines) {
    std::vector<recorder::RecordedFile> own;
    for (const recorder::RecordedFile& file : files) {
      // A compressed file was written long after its packets.
      if (file.name.line == line && file.written_ns + kAroundNs >= since_ns) own.push_back(file);
    }
    sources.push_back(std::make_unique<RecordedSource>(std::move(own)));
  }
  return sources;
}

void cut_channel(const GapChannel& of, const std::vector<recorder::RecordedFile>& files,
                 const std::vector<GapCut*>& cuts) {
  const Sources sources = sources_of(of, files, cuts.front()->gap().time_ns);
  const feed::LineTable lines = lines_of({of.channel});
  ingest::Merger merger(sources);
  ingest::Packet packet;
  for (ingest::Next next = merger.next(packet); next != ingest::Next::End && !stop_requested();
       next = merger.next(packet)) {
    net::Datagram datagram;
    if (next == ingest::Next::Fault ||
        net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted) {
      continue;
    }
    const feed::LineTarget* const line = lines.find(datagram.destination, datagram.source.address);
    if (line == nullptr) continue;
    const net::Preamble preamble = net::read_preamble(of.channel->framing, datagram.payload);
    if (preamble.error != ErrorCode::None) continue;
    for (GapCut* const cut : cuts) {
      if (cut->wants(preamble.sequence, packet.arrival_ns)) {
        cut->add(static_cast<std::uint32_t>(line->line), preamble.sequence, packet, datagram);
      }
    }
  }
  for (const auto& source : sources) {
    for (const std::string& fault : static_cast<const RecordedSource&>(*source).faults()) {
      print_stderr("{}\n", printable(fault));
    }
  }
}

std::vector<GapCut*> all_of(const std::vector<std::unique_ptr<GapCut>>& cuts) {
  std::vector<GapCut*> all;
  for (const auto& cut : cuts) all.push_back(cut.get());
  return all;
}

/// What the packets at the edges of the gap, and those of its numbers that came, say.
std::string explanations(const GapCut& cut, const GapChannel& of) {
  const std::vector<std::uint64_t> places = cut.remarkable();
  if (places.empty()) return {};
  Diagnostics diagnostics;
  const auto program = appliance::load_image(of.feed->description.images[of.channel->image], diagnostics);
  if (!program) return "\nThe packets are not explained, because the image of the channel cannot be loaded.\n";
  const record::Schema schema = schema_of(*program);
  replay::Options options;
  options.framing = of.channel->framing;
  std::string text;
  for (const std::uint64_t place : places) {
    const auto explanation = explain::explain(schema, options, open_capture(cut.capture()), place);
    text += '\n';
    text += explanation ? explain::to_text(explanation.value(), false) : explanation.message() + "\n";
  }
  return text;
}

}  // namespace

CutReport cut_gaps(const std::vector<appliance::GapEntry>& gaps, const appliance::Settings& settings,
                   const CutOptions& options) {
  const std::vector<recorder::RecordedFile> files = recordings_in(recording_folder(settings));
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error) throw ToolError(kExitEnvironment, printable(options.folder) + ": " + error.message());
  CutReport report;
  const bool captures = has_captures(settings);
  const std::size_t skipped = gaps.size() - std::min(gaps.size(), kMostCuts);
  std::set<std::string> taken;
  std::map<std::string, std::vector<std::unique_ptr<GapCut>>> by_channel;
  for (std::size_t i = skipped; i < gaps.size(); ++i) {
    by_channel[gaps[i].channel].push_back(std::make_unique<GapCut>(gaps[i], options, gap_file_base(gaps[i], taken)));
  }
  for (auto& [name, cuts] : by_channel) {
    const GapChannel of = channel_of_gap(name, settings);
    if (of.channel != nullptr) cut_channel(of, files, all_of(cuts));
    std::vector<GapCut*> empty;
    for (const auto& cut : cuts) {
      if (captures && cut->packets(0) + cut->packets(1) == 0) empty.push_back(cut.get());
    }
    for (GapCut* cut : empty) cut->ignore_times();
    if (of.channel != nullptr && !empty.empty()) cut_channel(of, files, empty);
    for (const auto& cut : cuts) {
      cut->close();
      const bool is_empty = cut->packets(0) + cut->packets(1) == 0;
      report.empty += is_empty ? 1 : 0;
      std::string text = cut->account();
      if (of.channel == nullptr) text += "The settings no longer have this channel.\n";
      replace_file(cut->text_file(), is_empty ? text : text + explanations(*cut, of));
      report.text += fmt::format("{}: {} packets of line A, {} of line B\n", printable(cut->text_file()),
                                 cut->packets(0), cut->packets(1));
      if (stop_requested()) return report;
    }
  }
  if (skipped != 0) {
    report.text +=
        fmt::format("the newest {} of {} gaps were cut; --since and --channel choose others\n", kMostCuts, gaps.size());
  }
  return report;
}

}  // namespace stopbit::tools
