#include "host/cli/common/recorded_refill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "decoder/record/views.hpp"
#include "host/appliance/recording.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/os/shm/name.hpp"
#include "host/ring/protocol.hpp"
#include "microcode/base/printable.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/load.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint64_t kPhaseBit = std::uint64_t{1} << 63;
constexpr std::size_t kChunkSlots = 16'384;
constexpr int kMostTries = 4;
constexpr std::chrono::milliseconds kNap(500);  ///< The recorder writes some milliseconds later.

/// Without what numbers the slots of a ring: the stamp and the phases.
bool is_same_record(std::span<const record::Slot> a, std::span<const record::Slot> b) noexcept {
  if (a.empty() || a.size() > b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t word = 0; word < record::kSlotWords; ++word) {
      std::uint64_t differs = a[i].words[word] ^ b[i].words[word];
      if (i == 0 && word == 0) differs &= 0xFFFF'FFFF;
      if (word == record::kTagWord) differs &= ~kPhaseBit;
      if (differs != 0) return false;
    }
  }
  return true;
}

/// A file without a name, which goes with the process.
class Spool final : public relay::FoundRecords {
 public:
  static Result<std::unique_ptr<Spool>> make() {
    auto spool = std::make_unique<Spool>();
    spool->file_.reset(std::tmpfile());
    if (spool->file_ == nullptr) return Failure{"cannot make a temporary file: " + error_text()};
    return spool;
  }
  /// False: the disk is full, or failing.
  bool write(std::span<const record::Slot> slots) noexcept {
    return std::fwrite(slots.data(), sizeof(record::Slot), slots.size(), file_.get()) == slots.size();
  }
  Status rewind() {
    if (std::fflush(file_.get()) != 0) return Failure{"cannot write a temporary file: " + error_text()};
    std::rewind(file_.get());
    return Done{};
  }
  Result<std::span<const record::Slot>> next() override {
    slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(given_));
    const std::size_t had = slots_.size();
    slots_.resize(had + kChunkSlots);
    slots_.resize(had + std::fread(slots_.data() + had, sizeof(record::Slot), kChunkSlots, file_.get()));
    if (std::ferror(file_.get()) != 0) return Failure{"cannot read a temporary file: " + error_text()};
    given_ = 0;
    while (given_ < slots_.size()) {
      const std::size_t slots = record::HeaderView(slots_[given_]).slots();
      if (slots == 0 || given_ + slots > slots_.size()) break;
      given_ += slots;
    }
    if (given_ == 0 && !slots_.empty()) return Failure{"a temporary file ends in a record"};
    return std::span<const record::Slot>(slots_).first(given_);
  }
  static std::string error_text() { return std::error_code(errno, std::generic_category()).message(); }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<record::Slot> slots_;
  std::size_t given_ = 0;  ///< Slots at the beginning that the caller has had.
};

/// Where the missing records are among all that the recording gives.
class Search final : public record::RecordSink {
 public:
  explicit Search(const relay::MissingRecords& missing) : missing_(missing), slots_(missing.max_record_slots) {}

  [[nodiscard]] Place open() noexcept override { return {slots_.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    slots_.front() = first;
    if (place_) return;
    if (is_same_record(std::span<const record::Slot>(slots_).first(slots), missing_.after)) place_ = count_;
    ++count_;
  }
  /// Records before the one after the missing ones; nothing: that was not found.
  [[nodiscard]] const std::optional<std::uint64_t>& place() const noexcept { return place_; }

 private:
  const relay::MissingRecords& missing_;
  std::vector<record::Slot> slots_;
  std::uint64_t count_ = 0;
  std::optional<std::uint64_t> place_;
};

/// Writes the missing records, numbered as in the ring.
class Fetch final : public record::RecordSink {
 public:
  /// `skip`: records before the first missing one.
  Fetch(const relay::MissingRecords& missing, std::uint64_t skip, Spool& spool)
      : missing_(missing), spool_(spool), slots_(missing.max_record_slots), skip_(skip), number_(missing.first) {}

  [[nodiscard]] Place open() noexcept override {
    if (skip_ == 0) number_ = after_padding();
    return {slots_.data(), static_cast<std::uint32_t>(number_), ring::phase_of(number_, missing_.slot_count)};
  }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    if (skip_ != 0) {
      --skip_;
      return;
    }
    if (is_done()) return;
    slots_.front() = first;
    if (!spool_.write(std::span<const record::Slot>(slots_).first(slots))) failed_ = errno != 0 ? errno : EIO;
    number_ += slots;
    ++count_;
  }
  [[nodiscard]] bool is_done() const noexcept { return count_ == missing_.count || failed_ != 0; }
  /// Whether they take the slots of the missing ones.
  [[nodiscard]] bool is_exact() const noexcept { return count_ == missing_.count && after_padding() == missing_.end; }
  [[nodiscard]] int failed() const noexcept { return failed_; }

 private:
  /// As the ring's writer does it: the longest record must fit before the end of the ring.
  [[nodiscard]] std::uint64_t after_padding() const noexcept {
    const std::uint64_t rest = missing_.slot_count - (number_ & (missing_.slot_count - 1));
    return rest < missing_.max_record_slots ? number_ + rest : number_;
  }

  const relay::MissingRecords& missing_;
  Spool& spool_;
  std::vector<record::Slot> slots_;
  std::uint64_t skip_;
  std::uint64_t number_;
  std::uint64_t count_ = 0;
  int failed_ = 0;  ///< errno
};

/// The packets of a line from a time on, which is that of the ring: it has no records of older ones.
class Later final : public ingest::PacketSource {
 public:
  Later(std::vector<recorder::RecordedFile> files, std::uint64_t since_ns)
      : source_(std::move(files)), since_ns_(since_ns) {}

  [[nodiscard]] ingest::Next next(ingest::Packet& packet) noexcept override {
    for (;;) {
      const ingest::Next next = source_.next(packet);
      if (next != ingest::Next::Packet || packet.arrival_ns >= since_ns_) return next;
    }
  }
  [[nodiscard]] std::string_view name() const noexcept override { return source_.name(); }
  [[nodiscard]] const ingest::Fault& fault() const noexcept override { return source_.fault(); }
  [[nodiscard]] ingest::SourceProgress progress() const noexcept override { return source_.progress(); }
  [[nodiscard]] record::TimeQuality time_quality() const noexcept override { return source_.time_quality(); }

 private:
  RecordedSource source_;
  std::uint64_t since_ns_;
};

std::string name_of_ring(const std::string& name) {
  const Result<std::string> path = os::path_of(name);
  return path ? path.value() : name;
}

}  // namespace

RecordedRefill::RecordedRefill(appliance::Settings settings, const std::string& ring) : settings_(std::move(settings)) {
  (void)recording_folder(settings_);
  const std::string path = name_of_ring(ring);
  for (const appliance::RecordedLine& line : appliance::recorded_lines(settings_)) {
    const feed::Channel& channel = settings_.feeds[line.feed].description.channels[line.channel];
    if (channel.ring.empty() || name_of_ring(channel.ring) != path) continue;
    lines_.push_back(line.name);
    if (std::find(channels_.begin(), channels_.end(), &channel) == channels_.end()) channels_.push_back(&channel);
  }
  if (channels_.empty()) {
    throw ToolError(kExitRejected,
                    fmt::format("the settings have no channel whose records go to the ring '{}'", printable(ring)));
  }
}

Result<std::unique_ptr<relay::FoundRecords>> RecordedRefill::find(const relay::MissingRecords& missing) {
  Result<Program> program = image::read(missing.image);
  if (!program) return Failure{"the ring's image cannot be used: " + program.message()};
  if (const Status safe = verify::require_safe(program.value(), "the ring's image"); !safe) return safe.failure();
  replay::Options options;
  options.feed = channels_;
  options.merge = true;
  options.strict = settings_.strict;
  options.limits = settings_.limits;
  options.channel_options.stale_after = settings_.stale_after;
  options.image_generation = static_cast<std::uint16_t>(missing.image_generation);
  // A ring that came with another image has no records of the packets before it. Times of a port that plays a capture
  // are of another day.
  const bool is_of_now = record::HeaderView(missing.after.front()).arrival_ns() >= missing.epoch;
  const std::uint64_t since_ns = is_of_now ? missing.epoch : 0;
  const auto decode = [&](record::RecordSink& sink, const std::function<bool()>& is_done) {
    const std::vector<recorder::RecordedFile> files = recordings_in(settings_.recorder->folder);
    Sources sources;
    for (const std::string& line : lines_) {
      std::vector<recorder::RecordedFile> own;
      std::copy_if(files.begin(), files.end(), std::back_inserter(own), [&](const recorder::RecordedFile& file) {
        return file.name.line == line && file.written_ns >= missing.epoch;
      });
      sources.push_back(std::make_unique<Later>(std::move(own), since_ns));
    }
    const std::unique_ptr<Engine> engine = engine_for("", program.value(), options, false);
    (void)run_pipeline(
        Pipeline{
            .program = program.value(), .engine = *engine, .options = options, .ring = &sink, .has_failed = is_done},
        sources);
  };
  try {
    std::optional<std::uint64_t> place;
    for (int i = 0; i < kMostTries && !place && !stop_requested(); ++i) {
      if (i != 0) std::this_thread::sleep_for(kNap);
      Search search(missing);
      decode(search, [&search] { return search.place().has_value(); });
      place = search.place();
    }
    if (stop_requested()) return Failure{"stopped"};
    if (!place) return Failure{"the record after them is not in it"};
    if (*place < missing.count) return Failure{fmt::format("it begins {} records later", missing.count - *place)};
    auto spool = Spool::make();
    if (!spool) return spool.failure();
    Fetch fetch(missing, *place - missing.count, *spool.value());
    decode(fetch, [&fetch] { return fetch.is_done(); });
    if (stop_requested()) return Failure{"stopped"};
    if (fetch.failed() != 0) {
      return Failure{"cannot write a temporary file: " +
                     std::error_code(fetch.failed(), std::generic_category()).message()};
    }
    if (!fetch.is_exact()) return Failure{"its records take other slots than those of the ring"};
    if (const Status rewound = spool.value()->rewind(); !rewound) return rewound.failure();
    return std::unique_ptr<relay::FoundRecords>(std::move(spool).value());
  } catch (const ToolError& error) {
    return Failure{error.what()};
  }
}

}  // namespace stopbit::tools
