#include "host/cli/common/gap_desk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "host/analyse/explain/explain.hpp"
#include "host/analyse/guess/sample.hpp"
#include "host/cli/common/error_desk.hpp"
#include "host/cli/common/gap_account.hpp"
#include "host/cli/common/gap_scan.hpp"
#include "host/os/readable.hpp"
#include "host/ports/out/frame.hpp"

namespace stopbit::tools {
namespace {

/// A text of JSON; names and files may have any bytes.
std::string gap_text(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string gap_error(const std::string& why) {
  return gap_text({{"error", why}});
}

}  // namespace

/// A gap whose packets are looked for.
struct GapDesk::Work {
  Work(const appliance::GapEntry& gap, std::string_view name) : key(name), account(gap, kAround) {}

  /// A reload replaces the feeds of the settings, while this reads on.
  void own() {
    feed = *channel.feed;
    description = *channel.channel;
    channel.feed = &feed;
    channel.channel = &description;
  }
  /// Whether there is more to read: stops at the end, or long after the gap.
  bool read(std::chrono::steady_clock::time_point until, bool knows_times);
  void take(const GapPacket& found);
  [[nodiscard]] nlohmann::json answer() const;

  struct Explained {
    std::uint64_t number = 0;
    std::string role, text;
  };

  std::string key;
  GapAccount account;
  GapChannel channel;
  appliance::FeedSettings feed;
  feed::Channel description;
  std::vector<recorder::RecordedFile> files;
  std::shared_ptr<const Program> program;
  std::optional<record::Schema> schema;
  std::optional<GapScan> scan;
  bool ignores_times = false;
  std::uint64_t packets = 0;  ///< Read so far.
  guess::Sample kept;
  std::vector<std::uint64_t> sequences;  ///< Of the packets kept.
  std::vector<std::string> roles;        ///< What each is to the gap.
  std::vector<std::uint64_t> to_explain;
  std::vector<Explained> explained;
  std::string note;
};

bool GapDesk::Work::read(std::chrono::steady_clock::time_point until, bool knows_times) {
  constexpr std::uint64_t kBetweenLooks = 64;
  GapPacket found;
  for (;;) {
    const GapScan::Step step = scan->next(found);
    if (step == GapScan::Step::End) return false;
    if (++packets >= kMostPackets) {
      note =
          fmt::format("Stopped after {} packets of the recordings; `stopbit gaps --cut` reads all of them.", packets);
      return false;
    }
    if (knows_times && found.packet.arrival_ns > account.gap().time_ns + kAroundGapNs) return false;
    if (step == GapScan::Step::Found && account.wants(found.sequence, found.packet.arrival_ns)) take(found);
    if (packets % kBetweenLooks == 0 && std::chrono::steady_clock::now() >= until) return true;
  }
}

void GapDesk::Work::take(const GapPacket& found) {
  const bool has_room = kept.packets.size() < kMostKept && kept.bytes + found.packet.frame.size() <= kMostBytes;
  account.note(found.line, found.sequence, found.packet.arrival_ns, has_room ? kept.packets.size() + 1 : 0);
  if (!has_room) {
    note = "There are more packets of this gap than are kept here; `stopbit gaps --cut` has all of them.";
    return;
  }
  sequences.push_back(found.sequence);
  constexpr std::string_view kOurs = "stopbit: ";  // for captures, whose comments may be of others
  std::string role = account.comment_on(found.line, found.sequence, found.packet.arrival_ns);
  roles.push_back(role.starts_with(kOurs) ? role.substr(kOurs.size()) : role);
  kept.add(found.packet);
  kept.packets.back().number = kept.packets.size();
}

nlohmann::json GapDesk::Work::answer() const {
  bool is_whole = true;
  nlohmann::json rows = nlohmann::json::array();
  const auto time = [](std::uint64_t ns) {
    return ns == 0 ? nlohmann::json(nullptr) : nlohmann::json(os::time_text(ns));
  };
  for (const GapAccount::Row& row : account.rows(kMostRows, is_whole)) {
    rows.push_back({{"first", std::to_string(row.first)},
                    {"last", std::to_string(row.last)},
                    {"a", time(row.time_ns[0])},
                    {"b", time(row.time_ns[1])},
                    {"missing", row.is_missing}});
  }
  nlohmann::json packets_json = nlohmann::json::array();
  for (const Explained& one : explained) {
    packets_json.push_back({{"sequence", std::to_string(one.number)}, {"role", one.role}, {"explanation", one.text}});
  }
  nlohmann::json notes = nlohmann::json::array();
  if (!note.empty()) notes.push_back(note);
  for (const std::string& fault : scan->faults()) notes.push_back(fault);
  return {{"state", "done"},
          {"head", account.head()},
          {"conclusion", account.conclusion()},
          {"packets", {{"a", account.packets(0)}, {"b", account.packets(1)}}},
          {"rows", std::move(rows)},
          {"rows_are_whole", is_whole},
          {"explained", std::move(packets_json)},
          {"notes", std::move(notes)}};
}

GapDesk::GapDesk(const appliance::Appliance& appliance, const appliance::Housekeeper& housekeeper)
    : appliance_(appliance), housekeeper_(housekeeper) {}
GapDesk::~GapDesk() = default;

std::string GapDesk::key_of(const appliance::GapEntry& gap) {
  return fmt::format("{}-{}-{}", gap.time_ns, gap.epoch, gap.first);
}

const appliance::GapEntry* GapDesk::find(std::string_view channel, std::string_view key) const {
  for (const appliance::GapEntry& gap : housekeeper_.recent_gaps()) {
    if (gap.channel == channel && key_of(gap) == key) return &gap;
  }
  return nullptr;
}

std::string GapDesk::page(std::string_view channel, std::string_view key) {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(answers_, [&](const Answer& answer) { return now - answer.made >= kAnswerAge; });
  for (const Answer& answer : answers_) {
    if (answer.channel == channel && answer.key == key) return answer.text;
  }
  if (work_) {
    const bool is_it = work_->key == key && work_->account.gap().channel == channel;
    return is_it ? gap_text({{"state", "reading"}, {"packets", work_->packets}}) : gap_text({{"state", "waiting"}});
  }
  const appliance::GapEntry* const gap = find(channel, key);
  if (gap == nullptr) return gap_error("this gap is not among the latest ones; `stopbit gaps` lists all");
  return begin(*gap, key);
}

std::string GapDesk::begin(const appliance::GapEntry& gap, std::string_view key) {
  const appliance::Settings& settings = appliance_.settings();
  if (!settings.recorder) return gap_error("nothing is recorded; [recorder] in the settings makes it");
  auto work = std::make_unique<Work>(gap, key);
  work->channel = channel_of_gap(gap.channel, settings);
  if (work->channel.channel == nullptr) return gap_error("the settings no longer have this channel");
  work->own();
  std::error_code problem;
  work->files = recorder::recorded_files(settings.recorder->folder, problem);
  if (problem) return gap_error("the folder of recordings: " + problem.message());
  work->program = appliance_.program_of(gap.channel);
  if (work->program) {
    if (auto schema = record::Schema::make(*work->program)) work->schema.emplace(std::move(schema).value());
  }
  work->kept.name = "gap";
  work->scan.emplace(work->channel, work->files, gap.time_ns);
  work_ = std::move(work);
  return gap_text({{"state", "reading"}, {"packets", 0}});
}

void GapDesk::step() {
  if (!work_) return;
  Work& work = *work_;
  const bool captures = plays_captures(appliance_.settings());
  if (work.to_explain.empty() && work.explained.empty()) {
    if (work.read(std::chrono::steady_clock::now() + kStep, !captures)) return;
    if (captures && work.account.is_empty() && !work.ignores_times && work.note.empty()) {
      work.ignores_times = true;
      work.account.ignore_times();
      work.scan.emplace(work.channel, work.files, work.account.gap().time_ns);
      return;
    }
    work.to_explain = work.account.remarkable();
    std::reverse(work.to_explain.begin(), work.to_explain.end());
  }
  if (!work.to_explain.empty()) {
    const std::uint64_t place = work.to_explain.back();
    work.to_explain.pop_back();
    std::string text = "Not explained: there is no image.\n";
    if (work.schema) {
      replay::Options options;
      options.framing = work.channel.channel->framing;
      options.strict = appliance_.settings().strict;
      options.limits = appliance_.settings().limits;
      const auto explanation =
          explain::explain(*work.schema, options, std::make_unique<guess::SampleSource>(work.kept), place, false);
      text = explanation ? explain::to_text(explanation.value(), false) : explanation.message() + "\n";
    }
    work.explained.push_back({work.sequences[place - 1], work.roles[place - 1], shortened(text, kMostTextBytes)});
  }
  if (work.to_explain.empty()) finish();
}

void GapDesk::finish() {
  answers_.push_back(
      {work_->account.gap().channel, work_->key, gap_text(work_->answer()), std::chrono::steady_clock::now()});
  if (answers_.size() > kMostAnswers) answers_.pop_front();
  work_.reset();
}

}  // namespace stopbit::tools
