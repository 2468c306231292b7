#include "host/appliance/recording.hpp"
#include "host/ports/recorder/file_name.hpp"
#include "microcode/base/ascii.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <system_error>

namespace stopbit::appliance {
namespace {

/// How long the thread sleeps when it has nothing to write; files lag by at most this time.
constexpr auto kRest = std::chrono::milliseconds(10);

bool is_plain(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
}

}  // namespace

/// Of letters that every file system takes; no two are the same, and none looks like a frozen file.
std::string Recording::file_name(const std::string& channel, bool is_b) {
  constexpr std::size_t kMaxBytes = 100;
  std::string base = channel.substr(0, kMaxBytes);
  std::replace_if(
      base.begin(), base.end(), [](char c) { return !is_plain(c); }, '_');
  if (base.starts_with("frozen-") || base.starts_with('.')) base.insert(0, 1, '_');
  const std::string line = is_b ? "-b" : "-a";
  std::string name = base + line;
  for (std::size_t i = 2; std::find(names_.begin(), names_.end(), name) != names_.end(); ++i) {
    name = base + '.' + std::to_string(i) + line;
  }
  names_.push_back(name);
  return name;
}

RecordLines Recording::add(std::size_t agent, const feed::Channel& channel) {
  RecordLines lines = {kNotRecorded, kNotRecorded};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!channel.lines[i]) continue;
    lines[i] = static_cast<std::uint32_t>(plans_[agent].size());
    plans_[agent].push_back({.file_name = file_name(channel.name, i == 1),
                             .channel = channel.name,
                             .is_b = i == 1,
                             .place = names_.size() - 1});
  }
  return lines;
}

std::vector<RecordedLine> recorded_lines(const Settings& settings) {
  std::vector<RecordedLine> lines;
  if (!settings.recorder) return lines;
  Recording plan(*settings.recorder, settings.agents.size());
  for (std::size_t f = 0; f < settings.feeds.size(); ++f) {
    const FeedSettings& feed = settings.feeds[f];
    for (std::size_t c = 0; c < feed.description.channels.size(); ++c) {
      const feed::Channel& channel = feed.description.channels[c];
      (void)plan.add(feed.agent, channel);
      for (std::size_t line = 0; line < channel.lines.size(); ++line) {
        if (channel.lines[line]) {
          lines.push_back({.feed = f, .channel = c, .is_b = line == 1, .name = plan.names()[lines.size()]});
        }
      }
    }
  }
  return lines;
}

void Recording::add_counters(CounterSetBuilder& builder, const std::vector<AgentSettings>& agents) {
  builder.writer();
  builder.recorder(counter_set_);
  for (std::size_t a = 0; a < plans_.size(); ++a) {
    builder.record_queue(queues_[a], agents[a].name);
    counter_sets_[a].resize(plans_[a].size());
    for (std::size_t i = 0; i < plans_[a].size(); ++i) {
      builder.record(counter_sets_[a][i], plans_[a][i].channel, plans_[a][i].is_b);
    }
  }
}

Status Recording::open(std::span<const ThreadPlacement> places) {
  std::error_code error;
  std::filesystem::create_directories(settings_.folder, error);
  if (error) return Failure{settings_.folder + ": " + error.message()};
  frozen_bytes_ = std::vector<std::atomic<std::uint64_t>>(names_.size() + kSpareLines);
  for (std::size_t a = 0; a < plans_.size(); ++a) {
    const Visit visit(a < places.size() ? places[a] : ThreadPlacement{});
    plans_[a].reserve(plans_[a].size() + kSpareLines);
    counter_sets_[a].reserve(plans_[a].size() + kSpareLines);
    std::vector<recorder::ArchiveOptions> lines;
    for (const Plan& plan : plans_[a]) lines.push_back(archive_of(plan));
    recorders_.push_back(std::make_unique<recorder::Recorder>(std::move(lines), settings_.queue_bytes));
  }
  spare_lines_ = kSpareLines;
  return Done{};
}

recorder::ArchiveOptions Recording::archive_of(const Plan& plan) const {
  return {.folder = settings_.folder,
          .name = plan.file_name,
          .file_bytes = settings_.file_bytes,
          .total_bytes = settings_.line_bytes,
          .frozen_bytes = settings_.frozen_bytes,
          .freeze_before_ns = settings_.before_ns,
          .freeze_after_ns = settings_.after_ns};
}

bool Recording::has_room(std::size_t count, const std::string& file_name) const {
  return count <= spare_lines_ && std::find(names_.begin(), names_.end(), file_name) == names_.end();
}

void Recording::add(const NewRecordedLine& line) {
  const std::size_t agent = line.agent;
  --spare_lines_;
  names_.push_back(line.file_name);
  // Neither moves what the writing thread reads.
  plans_[agent].push_back(
      {.file_name = line.file_name, .channel = line.channel, .is_b = line.is_b, .place = names_.size() - 1});
  counter_sets_[agent].push_back(line.counter_set);
  recorders_[agent]->add_line(archive_of(plans_[agent].back()));
}

void Recording::start(const std::function<void()>& begin) {
  thread_ = std::thread([this, begin] {
    ::pthread_setname_np(::pthread_self(), "recorder");
    if (begin) begin();
    while (!stop_.load(std::memory_order_acquire)) {
      if (do_work() == 0) std::this_thread::sleep_for(kRest);
    }
  });
}

void Recording::stop() {
  stop_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
  while (do_work() != 0) {
  }
}

void Recording::count_frozen() {
  std::error_code error;
  const std::vector<recorder::RecordedFile> files = recorder::recorded_files(settings_.folder, error);
  if (error || frozen_bytes_.empty()) return;  // as it was; the next time
  std::map<std::string_view, std::uint64_t> bytes;
  for (const recorder::RecordedFile& file : files) {
    if (file.name.is_frozen) bytes[file.name.line] += file.bytes;
  }
  for (std::size_t i = 0; i < names_.size(); ++i) frozen_bytes_[i].store(bytes[names_[i]], std::memory_order_relaxed);
  frozen_is_counted_.store(true, std::memory_order_release);
}

std::size_t Recording::do_work() {
  std::size_t done = 0;
  if (frozen_is_counted_.exchange(false, std::memory_order_acquire)) {
    for (std::size_t a = 0; a < recorders_.size(); ++a) {
      for (std::size_t i = 0; i < recorders_[a]->lines(); ++i) {
        recorders_[a]->set_frozen_bytes(i, frozen_bytes_[plans_[a][i].place].load(std::memory_order_relaxed));
      }
    }
  }
  for (const auto& recorder : recorders_) done += recorder->do_work();
  // After the packets: those that the freeze is about are in the files.
  if (freeze_.exchange(false, std::memory_order_relaxed)) {
    for (const auto& recorder : recorders_) recorder->freeze_newest();
  }
  publish();
  return done;
}

void Recording::publish() {
  if (recorders_.empty()) return;  // not open: there are no counters yet
  std::uint64_t failing = 0;
  for (std::size_t a = 0; a < recorders_.size(); ++a) {
    const recorder::Recorder& recorder = *recorders_[a];
    queues_[a].no_room.set(recorder.lost());
    for (std::size_t i = 0; i < recorder.lines(); ++i) {
      const recorder::Archive& archive = recorder.archive(i);
      const RecordCounterSet& to = counter_sets_[a][i];
      to.recorded.set(archive.counts().recorded);
      to.failed.set(archive.counts().not_recorded);
      to.frozen_files.set(archive.counts().frozen_files);
      to.refused_freezes.set(archive.counts().refused_freezes);
      if (!archive.is_failing()) continue;
      // Before the number, which is what people look at first.
      if (failing++ == 0) counter_set_.problem.set(archive.counts().last_error);
    }
  }
  counter_set_.failing_lines.set(failing);
}

}  // namespace stopbit::appliance
