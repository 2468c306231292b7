#include "host/cli/common/gap_cut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "host/analyse/explain/explain.hpp"
#include "host/appliance/appliance.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/text.hpp"
#include "host/ports/out/frame.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kMostCuts = 200;  ///< Each has an open file while its packets come.

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

/// Of its own, though numbers and epochs recur.
std::string gap_file_base(const appliance::GapEntry& gap, std::set<std::string>& taken) {
  const std::string base = file_base(gap);
  std::string free = base;
  for (int i = 2; !taken.insert(free).second; ++i) free = fmt::format("{}-{}", base, i);
  return free;
}

}  // namespace

GapCut::GapCut(const appliance::GapEntry& gap, const CutOptions& options, const std::string& base_name)
    : account_(gap, options.around) {
  const std::string base = options.folder + "/" + base_name;
  capture_ = base + ".pcapng";
  text_file_ = base + ".txt";
}

void GapCut::open() {
  out_.emplace(Output::replace(capture_));
  writer_ = std::make_unique<recorder::PcapngWriter>(
      [this](std::span<const std::byte> bytes) {
        out_->buffer().append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        out_->flush_if_full();
      },
      kLineNames);
}

void GapCut::add(const GapPacket& found) {
  if (!writer_) open();
  const ingest::Packet& packet = found.packet;
  const std::string comment = account_.comment_on(found.line, found.sequence, packet.arrival_ns);
  if (packet.link == net::LinkType::Ethernet) {
    writer_->write(found.line, packet.frame, packet.arrival_ns, comment);
  } else {
    egress::FrameBuilder frames(found.datagram.source, found.datagram.destination);
    writer_->write(found.line, frames.build(found.datagram.payload), packet.arrival_ns, comment);
  }
  account_.note(found.line, found.sequence, packet.arrival_ns, account_.packets(0) + account_.packets(1) + 1);
}

void GapCut::close() {
  if (out_) out_->close();
}

std::string GapCut::text() const {
  std::string text = account_.head() + '\n' + account_.conclusion();
  if (account_.is_empty()) return text;
  return text +
         fmt::format("\n{} packets of line A and {} of line B are in {}.\n\n", account_.packets(0), account_.packets(1),
                     plain(std::filesystem::path(capture_).filename().string())) +
         account_.table();
}

namespace {

void cut_channel(const GapChannel& of, const std::vector<recorder::RecordedFile>& files,
                 const std::vector<GapCut*>& cuts) {
  GapScan scan(of, files, cuts.front()->account().gap().time_ns);
  GapPacket found;
  for (GapScan::Step step = scan.next(found); step != GapScan::Step::End && !stop_requested();
       step = scan.next(found)) {
    if (step == GapScan::Step::Other) continue;
    for (GapCut* const cut : cuts) {
      if (cut->account().wants(found.sequence, found.packet.arrival_ns)) cut->add(found);
    }
  }
  for (const std::string& fault : scan.faults()) print_stderr("{}\n", printable(fault));
}

std::vector<GapCut*> all_of(const std::vector<std::unique_ptr<GapCut>>& cuts) {
  std::vector<GapCut*> all;
  all.reserve(cuts.size());
  for (const auto& cut : cuts) all.push_back(cut.get());
  return all;
}

/// What the packets at the edges of the gap, and those of its numbers that came, say.
std::string explanations(const GapCut& cut, const GapChannel& of) {
  const std::vector<std::uint64_t> places = cut.account().remarkable();
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
  const bool captures = plays_captures(settings);
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
      if (captures && cut->account().is_empty()) empty.push_back(cut.get());
    }
    for (GapCut* cut : empty) cut->account().ignore_times();
    if (of.channel != nullptr && !empty.empty()) cut_channel(of, files, empty);
    for (const auto& cut : cuts) {
      cut->close();
      const bool is_empty = cut->account().is_empty();
      report.empty += is_empty ? 1 : 0;
      std::string text = cut->text();
      if (of.channel == nullptr) text += "The settings no longer have this channel.\n";
      replace_file(cut->text_file(), is_empty ? text : text + explanations(*cut, of));
      report.text += fmt::format("{}: {} packets of line A, {} of line B\n", printable(cut->text_file()),
                                 cut->account().packets(0), cut->account().packets(1));
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
