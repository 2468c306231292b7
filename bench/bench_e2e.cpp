// From a datagram in memory to a record that another process has: e2e/<workload>/<engine>/...
//
//   decode         the engine alone, records to private memory
//   visible        engine and ring: until the other process sees slot 0 of the record
//   read           until it has a copy of the whole record, by ring::Reader
//   further-slot   what each slot behind the first adds to that
//   visible-lines  (visible - decode), in transfers of a cache line between the two processors
//   slot-lines     further-slot, in the same unit
//   load10 ...     visible, at 10, 50, 80 and 95 % of what writer and reader can do; the clock begins when a datagram
//   is due
//
// Decoding alone and decoding to the ring take turns within a burst, and the plain line transfer is measured before and
// behind it, so that all meet the same machine.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
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
#include "bench/lib/report.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"
#include "bench/workloads/workload.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::bench {
namespace {

constexpr const char* kWorkloads[] = {"complex30000", "cme-mdp-2012", "moex-asts-trades-2019", "sample", "ab"};
constexpr int kLoads[] = {10, 50, 80, 95};
constexpr double kIdleNs = 2'000;               ///< Between two datagrams, when writer and reader are to be idle.
constexpr std::size_t kMaxRecords = 2'000'000;  ///< Of a burst.
constexpr int kRounds = 15;
constexpr int kQuickRounds = 3;
constexpr double kRoundSeconds = 0.08;  ///< Of each part of a round.

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
  alignas(128) std::atomic<std::uint32_t> end{0};    ///< The burst whose last record is in the ring.
  alignas(128) std::atomic<std::uint32_t> done{0};   ///< The burst that the reader has read to its end.
  alignas(128) std::uint64_t sightings = 0;
  std::uint64_t lost = 0;
  std::uint64_t early = 0;  ///< Seen before they were due.
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

/// Looks whether a record is there, as ring.md tells everyone to.
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
int read_ring(const std::string& name, int processor, Shared& shared) {
  auto opened = ring::Reader::open(name, ring::Start::Newest);
  if (!opened) return EXIT_FAILURE;
  ring::Reader& reader = opened.value();
  const auto peephole = Peephole::open(reader);
  if (!peephole || !pin(processor)) return EXIT_FAILURE;

  for (std::uint32_t burst = 1;; ++burst) {
    shared.ready.store(burst, std::memory_order_release);
    while (shared.begin.load(std::memory_order_acquire) < burst) {
      if (reader.writer() != ring::WriterState::Running) return EXIT_SUCCESS;
      ::usleep(1'000);
    }
    const Undisturbed undisturbed;
    std::uint64_t count = 0;
    bool was_last = false;
    for (;;) {
      constexpr int kLooks = 10'000;  // then the reader has a look: at the end of the burst, or when it was overtaken
      Peephole::Look look = Peephole::Look::Nothing;
      for (int looks = 0; looks < kLooks && look == Peephole::Look::Nothing; ++looks) {
        look = peephole->look(reader.position());
      }
      const std::uint64_t visible = ticks_end();  // not before the look is over
      const ring::Poll found = reader.poll();
      const std::uint64_t read = ticks_end();
      if (found == ring::Poll::Record) {
        const std::uint64_t due = reader.record()[0].words[1];
        if (count < kMaxRecords) {
          // Behind padding, or when the looks were over, poll was the first to see it.
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
    shared.done.store(burst, std::memory_order_release);
  }
}

/// One reader process for as long as it lives.
class ReaderProcess {
 public:
  ReaderProcess(const std::string& name, int processor, Shared& shared) : child_(::fork()) {
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it may spin, and nobody else would end it
      ::_exit(read_ring(name, processor, shared));
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

/// What the figures of one engine are made of.
struct Figures {
  std::vector<Histogram> decode;
  std::vector<Histogram> visible;
  std::vector<Histogram> read;
  std::vector<double> line_ns;
  std::vector<double> slot_ns;
};

class EndToEnd {
 public:
  EndToEnd(const TickClock& clock, const Workload& work, Engine& engine, ring::Writer& writer, Shared& shared,
           const ReaderProcess& process)
      : clock_(clock),
        work_(work),
        engine_(engine),
        private_sink_(work.program.max_record_slots, ignore, ring_slots(work)),
        writer_(writer),
        shared_(shared),
        process_(process) {}

  /// Datagrams with idle time between them. Every other block of them goes to private memory, timed: what the engine
  /// takes alone, at the same moments on the same machine. False if the reader is gone.
  [[nodiscard]] bool idle_burst(Histogram& decode_times) {
    constexpr std::uint64_t kBlock = 64;
    std::uint64_t sent = 0;
    return burst(clock_.ticks_of(kIdleNs), [&](PacketInfo& info, std::span<const std::byte> datagram) {
      if (sent++ / kBlock % 2 != 0) {
        info.arrival_ns = ticks();
        note(engine_.decode(datagram, info, writer_));
        return;
      }
      const std::uint64_t begin = ticks_begin();
      note(engine_.decode(datagram, info, private_sink_));
      decode_times.record(clock_.between(begin, ticks_end()));
    });
  }

  /// All to the ring. Arrival times are those at which datagrams are due.
  [[nodiscard]] bool loaded_burst(double interval) {
    return burst(interval, [&](PacketInfo& info, std::span<const std::byte> datagram) {
      note(engine_.decode(datagram, info, writer_));
    });
  }

  /// Ticks a datagram takes if the next is always due, of the slower of writer and reader; 0 if the reader is gone.
  [[nodiscard]] double service_ticks() {
    const std::uint64_t lost = shared_.lost;
    const std::uint64_t messages = messages_;
    if (!loaded_burst(0) || shared_.sightings == 0) return 0;
    shared_.lost = lost;  // a writer that nothing holds back may well be too fast
    const auto sent = static_cast<double>(messages_ - messages);
    const auto slower = std::min(sent, static_cast<double>(shared_.sightings));
    return last_burst_ticks_ / static_cast<double>(last_burst_datagrams_) * sent / slower;
  }

  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_; }

 private:
  template <class Decode>
  bool burst(double interval, Decode decode) {
    if (!wait_for(shared_.ready, ++burst_, process_)) return false;
    {
      shared_.begin.store(burst_, std::memory_order_release);
      ::usleep(2'000);  // the reader sleeps for one
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
    std::uint64_t messages = messages_;
    for (std::uint64_t now = begin; now < end && messages_ - messages < kMaxRecords - 100; ++count) {
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
  void note(const Outcome& outcome) noexcept {
    messages_ += outcome.messages;
    if (outcome.error != ErrorCode::None) ++errors_;
  }

  const TickClock& clock_;
  const Workload& work_;
  Engine& engine_;
  record::BufferSink<void (*)(std::span<const record::Slot>)> private_sink_;
  ring::Writer& writer_;
  Shared& shared_;
  const ReaderProcess& process_;
  std::size_t next_ = 0;
  std::uint32_t burst_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t errors_ = 0;
  double last_burst_ticks_ = 0;
  std::uint64_t last_burst_datagrams_ = 0;
};

/// Of the last burst.
void add_sightings(const TickClock& clock, const Shared& shared, Figures& figures) {
  Histogram visible;
  Histogram read;
  std::vector<double> slot_ns;
  for (std::size_t i = 0; i < shared.sightings; ++i) {
    const Sighting& one = shared.seen[i];
    visible.record(one.visible);
    read.record(one.read);
    if (one.slots > 1) slot_ns.push_back(clock.ns(one.read - one.visible) / (one.slots - 1));
  }
  figures.visible.push_back(std::move(visible));
  figures.read.push_back(std::move(read));
  figures.slot_ns.push_back(median(std::move(slot_ns)));
}

/// The host of a virtual machine moves its processors: between line transfers this different, two machines were
/// measured, and the figures mean nothing.
bool same_machine(double line_before_ns, double line_behind_ns) {
  constexpr double kMostDrift = 1.2;
  return std::max(line_before_ns, line_behind_ns) < kMostDrift * std::min(line_before_ns, line_behind_ns);
}

std::vector<double> divide(const std::vector<double>& values, const std::vector<double>& by) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back(values[i] / by[i]);
  return result;
}

std::string measure(const TickClock& clock, const Workload& work, const Subject& subject,
                    std::pair<int, int> processors, bool quick, Report& report) {
  const std::string name = "e2e/" + work.name + '/' + subject.engine_name;
  const std::string ring_name = "bench-" + std::to_string(::getpid());
  const int rounds = quick ? kQuickRounds : kRounds;
  auto created = ring::Writer::create(ring_name, work.program);
  if (!created) return created.message();
  auto writer = std::make_unique<ring::Writer>(std::move(created).value());
  const std::string path = writer->path();
  const SharedMemory memory;
  if (!memory.ok()) return "no shared memory";
  Shared& shared = memory.get();
  std::string fault;
  {
    const ReaderProcess process(ring_name, processors.first, shared);
    pin(processors.second);
    EndToEnd run(clock, work, *subject.engine, *writer, shared, process);
    Figures figures;
    Histogram warm_up;
    bool is_well = run.idle_burst(warm_up);
    const auto line_ns = [&] {
      return measure_line_transfer(clock, processors.second, processors.first, 1).median_ns();
    };
    double line_before = line_ns();
    for (int i = 0; i < rounds && is_well; ++i) {
      Histogram decode;
      is_well = run.idle_burst(decode);
      const double line_behind = line_ns();
      const double line = (line_before + line_behind) / 2;
      const bool is_steady = same_machine(line_before, line_behind);
      line_before = line_behind;
      if (!is_well || !is_steady) continue;
      figures.line_ns.push_back(line);
      figures.decode.push_back(std::move(decode));
      add_sightings(clock, shared, figures);
    }
    if (is_well && figures.line_ns.empty()) report.note(name + ": the line transfer was never steady");
    if (!figures.line_ns.empty()) {
      report.add(name + "/decode", "ns", figures.decode, clock.ns_per_tick());
      report.add(name + "/visible", "ns", figures.visible, clock.ns_per_tick());
      report.add(name + "/read", "ns", figures.read, clock.ns_per_tick());
      report.add(name + "/further-slot", "ns/slot", figures.slot_ns);
      std::vector<double> behind_decode;
      for (std::size_t i = 0; i < figures.visible.size(); ++i) {
        behind_decode.push_back(clock.ns(static_cast<double>(figures.visible[i].percentile(0.5)) -
                                         static_cast<double>(figures.decode[i].percentile(0.5))));
      }
      report.add(name + "/visible-lines", "lines", divide(behind_decode, figures.line_ns));
      report.add(name + "/slot-lines", "lines", divide(figures.slot_ns, figures.line_ns));
      report.add(name + "/line", "ns", figures.line_ns);
    }
    for (const int load : kLoads) {
      Figures loaded;
      for (int i = 0; i < rounds && is_well; ++i) {
        const double service = run.service_ticks();
        is_well = service > 0 && run.loaded_burst(service * 100 / load);
        const double line_behind = line_ns();
        const bool is_steady = same_machine(line_before, line_behind);
        line_before = line_behind;
        if (is_well && is_steady) add_sightings(clock, shared, loaded);
      }
      if (!loaded.visible.empty()) {
        report.add(name + "/load" + std::to_string(load), "ns", loaded.visible, clock.ns_per_tick());
      }
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
  const LineTransfer line =
      measure_line_transfer(clock, processors->second, processors->first, arguments.quick ? 3 : 15);
  report.add("machine/line-transfer", "ns", line.half_round_trip_ns);
  report.add("machine/clock-offset", "ns", line.clock_offset_ns);
  for (const WorkloadSource& source : workload_sources()) {
    if (std::find(std::begin(kWorkloads), std::end(kWorkloads), source.name) == std::end(kWorkloads)) continue;
    if (!arguments.wants(source.name)) continue;
    const auto work = source.make();
    if (!work) {
      report.problem(source.name + ": " + work.message());
      continue;
    }
    for (const Subject& subject : make_subjects(*work.value(), report)) {
      const std::string fault = measure(clock, *work.value(), subject, *processors, arguments.quick, report);
      if (!fault.empty()) report.problem("e2e/" + source.name + '/' + subject.engine_name + ": " + fault);
    }
  }
  return report.finish(arguments.json);
}
