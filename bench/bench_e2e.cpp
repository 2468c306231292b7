// From a datagram in memory to a record that another process has: e2e/<workload>/<engine>/...
//
//   far/decode         the engine alone, records to private memory
//   far/visible        engine and ring: until the other process sees slot 0 of the record
//   far/read           until it has a copy of the whole record, by ring::Reader
//   far/further-slot   what each slot after the first adds to that
//   far/visible-lines  (visible - decode), in transfers of a cache line between the two processors
//   far/slot-lines     further-slot, in the same unit
//   far/load10 ...     visible, at 10, 50, 80 and 95 % of what writer and reader can do; the clock begins when a
//   datagram is due
//
// Decoding alone and decoding to the ring take turns within a burst, and the plain line transfer is measured before and
// after it, so that all meet the same machine. The host of a virtual machine moves its processors: what was measured
// while they were near each other (they share a cache) and what was measured while they were far are figures apart.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/line_transfer.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/spin.hpp"
#include "host/ring/writer.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

constexpr const char* kWorkloads[] = {"complex30000", "cme-mdp-2012", "moex-asts-trades-2019", "sample", "ab"};
constexpr int kLoads[] = {10, 50, 80, 95};
constexpr double kIdleNs = 2'000;               ///< Between two datagrams, when writer and reader are to be idle.
constexpr std::size_t kMaxRecords = 2'000'000;  ///< Of a burst.
constexpr std::size_t kRounds = 25;
constexpr std::size_t kQuickRounds = 3;
constexpr std::size_t kLoadRounds = 9;
constexpr std::size_t kMostTimes = 2;   ///< As many rounds in all, until one class of lines has enough.
constexpr double kRoundSeconds = 0.03;  ///< Of each part of a round.
constexpr std::uint64_t kStretch = 64;  ///< Datagrams, of either kind, between two probes.
constexpr double kFarNs = 130;          ///< Processors that share a cache hand a line over in less.

void ignore(std::span<const record::Slot> /*record*/) {}

/// What the reader has seen of a record. Ticks since the time in its header, which the writer has set.
struct Sighting {
  std::uint32_t visible = 0;
  std::uint32_t read = 0;
  std::uint32_t slots = 0;
};

/// Memory of both processes.
struct Shared {
  alignas(128) std::atomic<std::uint32_t> ready{0};  ///< The burst that the reader waits for.
  alignas(128) std::atomic<std::uint32_t> begin{0};  ///< The burst that the writer has begun.
  alignas(128) std::atomic<std::uint32_t> looks{0};  ///< The burst that the reader polls for.
  alignas(128) std::atomic<std::uint32_t> end{0};    ///< The burst whose last record is in the ring.
  alignas(128) std::atomic<std::uint32_t> done{0};   ///< The burst that the reader has read to its end.
  alignas(128) std::uint64_t sightings = 0;
  std::uint64_t lost = 0;
  std::uint64_t early = 0;  ///< Seen before they were due.
  double pace_ns = 0;       ///< The slower of the reader's probes before and after the burst.
  Sighting seen[kMaxRecords];
};

/// A mapping that a child process shares; zeros at first.
class SharedMemory {
 public:
  SharedMemory()
      : memory_(
            ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
    if (memory_ != MAP_FAILED) new (memory_) Shared;
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, sizeof(Shared));
  }
  [[nodiscard]] bool ok() const noexcept { return memory_ != MAP_FAILED; }
  [[nodiscard]] Shared& get() const noexcept { return *static_cast<Shared*>(memory_); }

 private:
  void* memory_;
};

/// Looks for a record as ring.md prescribes.
class Peephole {
 public:
  [[nodiscard]] static std::optional<Peephole> open(const ring::Reader& reader) {
    const int fd = ::open(reader.path().c_str(), O_RDONLY | O_CLOEXEC);
    ring::Header header{};
    if (fd < 0 || ::pread(fd, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header))) return std::nullopt;
    void* const memory = ::mmap(nullptr, header.segment_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED) return std::nullopt;
    return Peephole(static_cast<const std::byte*>(memory) + header.slots_offset, header.slot_count);
  }

  enum class Look : std::uint8_t { Nothing, Record, Pad };
  [[nodiscard]] Look look(std::uint64_t number) const noexcept {
    const auto& slot = slots_[number & (slot_count_ - 1)];
    const std::uint64_t tags = __atomic_load_n(&slot.words[record::kTagWord], __ATOMIC_ACQUIRE);
    if ((tags & ring::kFirstSlotMask) != ring::first_slot_tags(ring::phase_of(number, slot_count_))) {
      return Look::Nothing;
    }
    const std::uint64_t word0 = __atomic_load_n(&slot.words[0], __ATOMIC_RELAXED);
    if (word0 >> 32 != (number & 0xFFFF'FFFF)) return Look::Nothing;
    return (word0 & 0xFFFF) == record::kPadIndex ? Look::Pad : Look::Record;
  }

 private:
  Peephole(const std::byte* slots, std::uint64_t slot_count)
      : slots_(reinterpret_cast<const record::Slot*>(slots)), slot_count_(slot_count) {}

  const record::Slot* slots_;
  std::uint64_t slot_count_;
};

/// The reading process. Ends when the writer does.
int read_ring(const TickClock& clock, double best_pace_ns, const std::string& name, int processor, Shared& shared) {
  auto opened = ring::Reader::open(name, ring::Start::Newest);
  if (!opened) return EXIT_FAILURE;
  ring::Reader& reader = opened.value();
  const auto peephole = Peephole::open(reader);
  if (!peephole || !pin(processor)) return EXIT_FAILURE;
  Pace pace(clock, best_pace_ns);

  for (std::uint32_t burst = 1;; ++burst) {
    shared.ready.store(burst, std::memory_order_release);
    while (shared.begin.load(std::memory_order_acquire) < burst) {
      if (reader.writer() != ring::WriterState::Running) return EXIT_SUCCESS;
      ::usleep(1'000);
    }
    const Undisturbed undisturbed;
    (void)pace.probe();  // it has slept
    const double pace_before = pace.probe();
    std::uint64_t count = 0;
    bool was_last = false;
    shared.looks.store(burst, std::memory_order_release);
    for (;;) {
      constexpr int kLooks = 2'000;  // then the reader has a look: at the end of the burst, or when it was overtaken
      Peephole::Look look = Peephole::Look::Nothing;
      for (int looks = 0; looks < kLooks && look == Peephole::Look::Nothing; ++looks) {
        look = peephole->look(reader.position());
        if (look == Peephole::Look::Nothing) ring::Spin::pause();
      }
      const std::uint64_t visible = ticks_end();  // not before the look is over
      const ring::Poll found = reader.poll();
      const std::uint64_t read = ticks_end();
      if (found == ring::Poll::Record) {
        const std::uint64_t due = reader.record()[0].words[1];
        if (count < kMaxRecords) {
          // After padding, or when the looks were over, poll was the first to see it.
          const std::uint64_t first = look == Peephole::Look::Record ? visible : read;
          if (first < due) ++shared.early;
          shared.seen[count++] = {static_cast<std::uint32_t>(first - due), static_cast<std::uint32_t>(read - due),
                                  static_cast<std::uint32_t>(reader.record().size())};
        }
      } else if (found == ring::Poll::Lost) {
        shared.lost += reader.lost();
      } else if (found == ring::Poll::Damaged || was_last) {
        break;
      } else {
        was_last = shared.end.load(std::memory_order_acquire) == burst;
      }
    }
    shared.sightings = count;
    shared.pace_ns = std::max(pace_before, pace.probe());
    shared.done.store(burst, std::memory_order_release);
  }
}

/// One reader process for as long as it lives.
class ReaderProcess {
 public:
  ReaderProcess(const TickClock& clock, double best_pace_ns, const std::string& name, int processor, Shared& shared)
      : child_(::fork()) {
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it may spin, and no other process would end it
      ::_exit(read_ring(clock, best_pace_ns, name, processor, shared));
    }
  }
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;
  ~ReaderProcess() {
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }
  /// False if it has ended.
  [[nodiscard]] bool lives() const { return child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) == 0; }

 private:
  pid_t child_;
};

/// Waits for the reader without disturbing it. False if it has ended before its time.
bool wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t value, const ReaderProcess& process) {
  while (word.load(std::memory_order_acquire) < value) {
    if (!process.lives()) return false;
    ::usleep(1'000);
  }
  return true;
}

/// A piece of a burst between two probes: datagrams to private memory, then to the ring.
struct Stretch {
  std::uint64_t first_record = 0;  ///< In the ring, since the burst began.
  std::uint64_t last_record = 0;
  double pace_ns = 0;  ///< The slower of the two probes.
};

/// What one burst has given, and the line transfer around it.
struct Round {
  static constexpr std::size_t kMostValues = 4'096;

  PacedBurst decode{kMostValues};
  PacedBurst visible{kMostValues};
  PacedBurst read{kMostValues};
  double slot_ns = 0;
  double line_ns = 0;
  double offset_ticks = 0;  ///< By which the reader's clock is ahead of the writer's.
};

class EndToEnd {
 public:
  EndToEnd(const TickClock& clock, Pace& pace, const Workload& work, Engine& engine, ring::Writer& writer,
           Shared& shared, const ReaderProcess& process)
      : clock_(clock),
        pace_(pace),
        work_(work),
        engine_(engine),
        private_sink_(work.program.max_record_slots, ignore, ring::kDefaultSlotCount),
        writer_(writer),
        shared_(shared),
        process_(process) {}

  /// Datagrams with idle time between them. Every other block of them goes to private memory, timed: what the engine
  /// takes alone, at the same moments on the same machine. False if the reader has exited.
  [[nodiscard]] bool idle_burst(Round& round) {
    std::uint64_t sent = 0;
    stretches_.clear();
    const bool is_well = burst(clock_.ticks_of(kIdleNs), [&](PacketInfo& info, std::span<const std::byte> datagram) {
      const std::uint64_t at = sent++ % (2 * kStretch);
      if (at == 0) probe(round.decode);
      if (at >= kStretch) {
        info.arrival_ns = ticks_begin();
        note(engine_.decode(datagram, info, writer_));
        return;
      }
      const std::uint64_t begin = ticks_begin();
      note(engine_.decode(datagram, info, private_sink_), private_messages_);
      round.decode.record(clock_.between(begin, ticks_end()));
    });
    if (is_well) add_sightings(round);
    return is_well;
  }

  /// All to the ring. Arrival times are those at which datagrams are due.
  [[nodiscard]] bool loaded_burst(double interval, Round& round) {
    (void)pace_.probe();  // it has slept
    const double before = pace_.probe();
    if (!plain_burst(interval)) return false;
    (void)pace_.probe();
    stretches_ = {{0, shared_.sightings, std::max(before, pace_.probe())}};
    add_sightings(round);
    return true;
  }

  /// Ticks a datagram takes if the next is always due, of the slower of writer and reader; 0 if the reader has exited.
  [[nodiscard]] double service_ticks() {
    const std::uint64_t lost = shared_.lost;
    if (!plain_burst(0) || shared_.sightings == 0) return 0;
    shared_.lost = lost;  // a writer that nothing holds back may well be too fast
    const auto sent = static_cast<double>(messages_);
    const auto slower = std::min(sent, static_cast<double>(shared_.sightings));
    return last_burst_ticks_ / static_cast<double>(last_burst_datagrams_) * sent / slower;
  }

  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_; }

 private:
  [[nodiscard]] bool plain_burst(double interval) {
    return burst(interval, [&](PacketInfo& info, std::span<const std::byte> datagram) {
      note(engine_.decode(datagram, info, writer_));
    });
  }

  template <class Decode>
  bool burst(double interval, Decode decode) {
    if (!wait_for(shared_.ready, ++burst_, process_)) return false;
    messages_ = private_messages_ = 0;
    {
      shared_.begin.store(burst_, std::memory_order_release);
      if (!wait_for(shared_.looks, burst_, process_)) return false;
      const Undisturbed undisturbed;
      send(interval, decode);
      shared_.end.store(burst_, std::memory_order_release);
    }
    return wait_for(shared_.done, burst_, process_);
  }

  /// Calls `decode` for datagrams that are due every `interval` ticks; their arrival time is when they are due.
  template <class Decode>
  void send(double interval, Decode decode) {
    const std::uint64_t begin = ticks();
    const std::uint64_t end = begin + static_cast<std::uint64_t>(clock_.ticks_of(kRoundSeconds * 1e9));
    std::uint64_t count = 0;
    for (std::uint64_t now = begin; now < end && messages_ < kMaxRecords - 100; ++count) {
      const std::uint64_t due = begin + static_cast<std::uint64_t>(static_cast<double>(count) * interval);
      while ((now = ticks()) < due) {
      }
      PacketInfo info = work_.datagrams[next_].info;
      info.arrival_ns = due;
      decode(info, work_.datagram(next_));
      if (++next_ == work_.datagrams.size()) next_ = 0;
    }
    last_burst_ticks_ = static_cast<double>(ticks() - begin);
    last_burst_datagrams_ = count;
  }

  void note(const Outcome& outcome) noexcept { note(outcome, messages_); }
  void note(const Outcome& outcome, std::uint64_t& messages) noexcept {
    messages += outcome.messages;
    if (outcome.error != ErrorCode::None) ++errors_;
  }

  /// Between two stretches; the last one of a burst is never finished, and not counted.
  void probe(PacedBurst& decode) {
    const double probe_ns = pace_.probe();
    if (stretches_.empty()) {
      decode.begin(probe_ns);
    } else {
      decode.end_stretch(probe_ns, pace_);
      stretches_.back().pace_ns = std::max(stretches_.back().pace_ns, probe_ns);
      stretches_.back().last_record = messages_;
    }
    stretches_.push_back({messages_, messages_, probe_ns});
  }

  /// Of the last burst. Reading the clock costs as much here as it does around a decode, and is taken off; so is what
  /// the two clocks differ by.
  void add_sightings(Round& round) {
    const auto since_due = [&](std::uint32_t ticks) {
      return clock_.between(0, static_cast<std::uint64_t>(std::max(0.0, ticks - round.offset_ticks)));
    };
    std::vector<double> slot_ns;
    for (const Stretch& stretch : stretches_) {
      const double pace_ns = std::max(stretch.pace_ns, shared_.pace_ns);
      round.visible.begin(pace_ns);
      round.read.begin(pace_ns);
      std::uint64_t held = 0;
      for (std::uint64_t i = stretch.first_record; i < std::min(stretch.last_record, shared_.sightings); ++i) {
        const Sighting& one = shared_.seen[i];
        round.visible.record(since_due(one.visible));
        round.read.record(since_due(one.read));
        if (one.slots > 1) slot_ns.push_back(clock_.ns(one.read - one.visible) / (one.slots - 1));
        if (++held % Round::kMostValues != 0) continue;
        round.visible.end_stretch(pace_ns, pace_);
        round.read.end_stretch(pace_ns, pace_);
      }
      round.visible.end_stretch(pace_ns, pace_);
      round.read.end_stretch(pace_ns, pace_);
    }
    round.slot_ns = median(std::move(slot_ns));
  }

  const TickClock& clock_;
  Pace& pace_;
  const Workload& work_;
  Engine& engine_;
  record::BufferSink<void (*)(std::span<const record::Slot>)> private_sink_;
  ring::Writer& writer_;
  Shared& shared_;
  const ReaderProcess& process_;
  std::vector<Stretch> stretches_;
  std::size_t next_ = 0;
  std::uint32_t burst_ = 0;
  std::uint64_t messages_ = 0;          ///< Of this burst, to the ring.
  std::uint64_t private_messages_ = 0;  ///< Of this burst, to private memory.
  std::uint64_t errors_ = 0;
  double last_burst_ticks_ = 0;
  std::uint64_t last_burst_datagrams_ = 0;
};

/// Rounds by where the host had the two processors.
class ByDistance {
 public:
  explicit ByDistance(std::size_t planned) : planned_(planned) {}

  /// Leaves out a round between line transfers this different: the host moved a processor meanwhile.
  void add(Round&& round, double line_before_ns, double line_behind_ns) {
    constexpr double kMostDrift = 1.25;
    ++count_;
    const auto [least, most] = std::minmax(line_before_ns, line_behind_ns);
    if (most > kMostDrift * least || (least < kFarNs) != (most < kFarNs)) return;
    round.line_ns = (least + most) / 2;
    rounds_[round.line_ns < kFarNs ? 0 : 1].push_back(std::move(round));
  }

  [[nodiscard]] bool is_done() const {
    return count_ >= kMostTimes * planned_ ||
           std::any_of(std::begin(rounds_), std::end(rounds_),
                       [&](const std::vector<Round>& all) { return undisturbed(all) >= planned_; });
  }

  /// Calls `add(name, rounds)` for each distance with enough rounds; for the one with most if none has.
  template <class Add>
  void for_each(Add add) const {
    constexpr std::size_t kShare = 4;  // of the planned rounds
    const bool is_nearer = rounds_[0].size() > rounds_[1].size();
    for (const std::size_t distance : {std::size_t{0}, std::size_t{1}}) {
      const std::vector<Round>& all = rounds_[distance];
      const bool is_most = distance == (is_nearer ? 0 : 1);
      if (all.empty() || (!is_most && undisturbed(all) * kShare < planned_)) continue;
      add(distance == 0 ? "near" : "far", all);
    }
  }

 private:
  static std::size_t undisturbed(const std::vector<Round>& all) {
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const Round& round) { return round.visible.is_undisturbed(); }));
  }

  std::size_t planned_;
  std::size_t count_ = 0;
  std::vector<Round> rounds_[2];
};

std::vector<PacedBurst> parts(const std::vector<Round>& rounds, PacedBurst Round::*part) {
  std::vector<PacedBurst> result;
  for (const Round& round : rounds) result.push_back(round.*part);
  return result;
}

void report_idle(const TickClock& clock, const Pace& pace, const std::string& name, const std::vector<Round>& rounds,
                 Report& report) {
  report.add(name + "/decode", "ns", parts(rounds, &Round::decode), clock.ns_per_tick());
  report.add(name + "/visible", "ns", parts(rounds, &Round::visible), clock.ns_per_tick());
  report.add(name + "/read", "ns", parts(rounds, &Round::read), clock.ns_per_tick());
  Repetitions lines(rounds.size());
  Repetitions slots(rounds.size());
  Repetitions offsets(rounds.size());
  Repetitions visible_lines(rounds.size());
  Repetitions slot_lines(rounds.size());
  for (const Round& round : rounds) {
    const bool is_disturbed = !round.visible.is_undisturbed() || !round.decode.is_undisturbed();
    const double pace_ns = is_disturbed ? std::numeric_limits<double>::infinity() : round.visible.pace_ns(false);
    const auto median_of = [&](const PacedBurst& burst) {
      return clock.ns(static_cast<double>((is_disturbed ? burst.all() : burst.undisturbed()).percentile(0.5)));
    };
    lines.add(round.line_ns, pace_ns);
    offsets.add(clock.ns(round.offset_ticks), pace_ns);
    slots.add(round.slot_ns, pace_ns);
    visible_lines.add((median_of(round.visible) - median_of(round.decode)) / round.line_ns, pace_ns);
    slot_lines.add(round.slot_ns / round.line_ns, pace_ns);
  }
  report.add(name + "/further-slot", "ns/slot", slots, pace);
  report.add(name + "/visible-lines", "lines", visible_lines, pace);
  report.add(name + "/slot-lines", "lines", slot_lines, pace);
  report.add(name + "/line", "ns", lines, pace);
  report.add(name + "/clock-offset", "ns", offsets, pace);
}

std::string measure(const TickClock& clock, Pace& pace, const Workload& work, const Subject& subject,
                    std::pair<int, int> processors, bool quick, Report& report) {
  const std::string name = "e2e/" + work.name + '/' + subject.engine_name;
  const std::string ring_name = "bench-" + std::to_string(::getpid());
  auto created = ring::Writer::create(ring_name, work.program);
  if (!created) return created.message();
  auto writer = std::make_unique<ring::Writer>(std::move(created).value());
  const std::string path = writer->path();
  const SharedMemory memory;
  if (!memory.ok()) return "no shared memory";
  Shared& shared = memory.get();
  std::string fault;
  {
    const ReaderProcess process(clock, pace.best_ns(), ring_name, processors.first, shared);
    pin(processors.second);
    EndToEnd run(clock, pace, work, *subject.engine, *writer, shared, process);
    Round warm_up;
    bool is_well = run.idle_burst(warm_up);
    struct Line {
      double ns = 0;
      double offset_ticks = 0;
    };
    const auto measure_line = [&] {
      const LineTransfer line = measure_line_transfer(clock, processors.second, processors.first, 1);
      return Line{line.median_ns(), clock.ticks_of(median(line.clock_offset_ns))};
    };
    Line line_before = measure_line();
    /// Rounds until there are enough.
    const auto rounds_of = [&](std::size_t planned, const auto& burst) {
      ByDistance rounds(planned);
      while (is_well && !rounds.is_done()) {
        pace.wait();
        Round round;
        round.offset_ticks = line_before.offset_ticks;
        is_well = burst(round);
        const Line line_behind = measure_line();
        if (is_well) rounds.add(std::move(round), line_before.ns, line_behind.ns);
        line_before = line_behind;
      }
      return rounds;
    };
    rounds_of(quick ? kQuickRounds : kRounds, [&](Round& round) {
      return run.idle_burst(round);
    }).for_each([&](const char* distance, const std::vector<Round>& rounds) {
      report_idle(clock, pace, name + '/' + distance, rounds, report);
    });
    for (const int load : kLoads) {
      rounds_of(quick ? kQuickRounds : kLoadRounds, [&](Round& round) {
        const double service = run.service_ticks();
        return service > 0 && run.loaded_burst(service * 100 / load, round);
      }).for_each([&](const char* distance, const std::vector<Round>& rounds) {
        report.add(name + '/' + distance + "/load" + std::to_string(load), "ns", parts(rounds, &Round::visible),
                   clock.ns_per_tick());
      });
    }
    if (!is_well) fault = "the reading process has ended";
    if (run.errors() != 0) fault = "a repeated pass had errors";
    if (shared.lost != 0) report.note(name + ": the reader lost " + std::to_string(shared.lost) + " slots under load");
    if (shared.early != 0) fault = std::to_string(shared.early) + " records were seen before they were sent";
    writer.reset();  // the reader ends with it
  }
  ::unlink(path.c_str());
  return fault;
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments =
      read_arguments(argc, argv, "From a datagram in memory to a record that another process has.");
  Report report;
  const TickClock clock;
  const auto processors = two_processors();
  if (!processors) {
    report.note("one processor: nothing from process to process is measured");
    return report.finish(arguments.json);
  }
  if (!Undisturbed::is_possible()) report.note("SCHED_FIFO is not allowed: other processes are in the tails");
  pin(processors->second);
  Pace pace(clock, arguments.pace_ns);
  const LineTransfer line =
      measure_line_transfer(clock, processors->second, processors->first, arguments.quick ? 3 : 15);
  report.add("machine/line-transfer", "ns", line.half_round_trip_ns);
  report.add("machine/clock-offset", "ns", line.clock_offset_ns);
  for_workloads(arguments, report, kWorkloads, [&](const Workload& work) {
    for (const Subject& subject : make_subjects(work, report)) {
      const std::string fault = measure(clock, pace, work, subject, *processors, arguments.quick, report);
      if (!fault.empty()) report.problem("e2e/" + work.name + '/' + subject.engine_name + ": " + fault);
    }
  });
  report.add("e2e", clock, pace);
  return report.finish(arguments.json);
}
