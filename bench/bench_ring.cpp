// Rings, beside the yardstick of the same run: a cache line handed from one core to another and back (ring/line).
//
//   ring/threads/6_slots            half a round trip of a record: written, seen, read whole, answered by another ring
//   ring/threads/6_slots/lines      the same in line transfers, each measured right before it
//   ring/threads/further_slot/lines what one more slot costs
//   ring/engine/6_slots/readers_4   a writer that works on each record as an engine does, with four readers that
//   spin
//   ring/writer/6_slots/readers_4   a writer that does nothing else, as fast as it goes
//   ring/reader/6_slots/...         a reader that is behind, one by one and in batches
//   ring/publish/6_slots/...        each record by itself, with percentiles: without readers, with four, and with four
//   of which one is killed or stopped every millisecond

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/line_transfer.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/ring_end.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/ticks.hpp"
#include "host/os/shm/name.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/spin.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint32_t kLengths[] = {1, 6, 12};
constexpr std::uint64_t kRoundTrips = 4'000;
constexpr std::size_t kReaders = 4;
constexpr std::uint64_t kBlockSlots = 200'000;

/// Round trips before any is measured: a lap, so that lines lie where they lie in a ring that has been used for long.
std::uint64_t warm_up(std::uint32_t slots) {
  return ring::kDefaultSlotCount / slots + kRoundTrips / 10;
}

void echo(ring::Reader& in, ring::Writer& out, std::uint32_t slots) {
  const Undisturbed undisturbed;
  for (std::uint64_t i = warm_up(slots) + kRoundTrips; i > 0; --i) write(out, slots, read(in));
}

void ping(ring::Writer& out, ring::Reader& in, std::uint32_t slots, Histogram& round_trips) {
  const Undisturbed undisturbed;
  const std::uint64_t begin = warm_up(slots);
  std::uint64_t before = ticks();
  for (std::uint64_t i = 0; i < begin + kRoundTrips; ++i) {
    write(out, slots, i);
    (void)read(in);
    const std::uint64_t after = ticks();
    if (i >= begin) round_trips.record(after - before);
    before = after;
  }
}

/// Round trips in ticks, between this thread and another one, of this process or of one of its own.
Histogram play(std::uint32_t slots, bool is_process, std::pair<int, int> processors) {
  Ring there("a");
  Ring back("b");
  ring::Reader questions = there.reader();
  ring::Reader answers = back.reader();
  const auto answer = [&] {
    pin(processors.second);
    echo(questions, back.writer(), slots);
  };
  Histogram round_trips;
  pin(processors.first);
  if (!is_process) {
    std::thread other(answer);
    ping(there.writer(), answers, slots, round_trips);
    other.join();
    return round_trips;
  }
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    answer();
    ::_exit(0);
  }
  ping(there.writer(), answers, slots, round_trips);
  ::waitpid(child, nullptr, 0);
  return round_trips;
}

/// Half round trips of records, each beside the line transfers of the same moment.
void measure_latency(const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors,
                     std::size_t rounds, Report& report) {
  std::vector<double> lines;
  for (const bool is_process : {false, true}) {
    const std::string side = is_process ? "ring/processes/" : "ring/threads/";
    if (!arguments.wants(side)) continue;
    std::vector<Histogram> bursts[std::size(kLengths)];
    std::vector<double> ratios[std::size(kLengths)];
    std::vector<double> further;
    for (std::size_t round = 0; round < rounds; ++round) {
      const LineTransfer line = measure_line_transfer(clock, processors.first, processors.second, 1);
      lines.push_back(line.median_ns());
      for (std::size_t k = 0; k < std::size(kLengths); ++k) {
        const std::size_t which = round % 2 == 0 ? k : std::size(kLengths) - 1 - k;
        bursts[which].push_back(play(kLengths[which], is_process, processors));
        const double half = clock.ns(static_cast<double>(bursts[which].back().percentile(0.5)) / 2);
        ratios[which].push_back(half / line.median_ns());
      }
      further.push_back((ratios[std::size(kLengths) - 1].back() - ratios[0].back()) /
                        (kLengths[std::size(kLengths) - 1] - kLengths[0]));
    }
    for (std::size_t k = 0; k < std::size(kLengths); ++k) {
      const std::string name = side + std::to_string(kLengths[k]) + "_slots";
      report.add(name, "ns", bursts[k], clock.ns_per_tick() / 2);
      report.add(name + "/lines", "lines", ratios[k]);
    }
    report.add(side + "further_slot/lines", "lines", further);
  }
  if (!lines.empty()) report.add("ring/line", "ns", lines);
}

/// Readers on one processor, of which the first `active_` read.
class Crowd {
 public:
  Crowd(const Ring& ring, int processor) {
    for (std::size_t i = 0; i < kReaders; ++i) {
      threads_.emplace_back([this, &ring, processor, i] {
        pin(processor);
        ring::Reader reader = ring.reader();
        ring::Spin spin;
        for (;;) {
          const std::size_t active = active_.load(std::memory_order_relaxed);
          if (active == kStop) return;
          if (i >= active) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            continue;
          }
          if (reader.poll_batch() == ring::Poll::Nothing) {
            spin.wait();
          } else {
            spin.found();
          }
        }
      });
    }
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    active_ = kStop;
    for (std::thread& thread : threads_) thread.join();
  }

  void let_read(std::size_t readers) {
    active_ = readers;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

 private:
  static constexpr std::size_t kStop = ~std::size_t{0};
  std::atomic<std::size_t> active_ = 0;
  std::vector<std::thread> threads_;
};

/// Keeps the processor busy as the decoding of a short message does: a chain of multiplications.
std::uint64_t work(std::uint64_t value) noexcept {
  for (int i = 0; i < 80; ++i) value = value * 0x9E37'79B9'7F4A'7C15 + 1;
  return value;
}

/// What the writer pays per record with 0, 1 and 4 readers: as fast as it goes, or with work on each record.
void measure_writer(bool works, const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors,
                    std::size_t rounds, Report& report) {
  constexpr std::size_t kCounts[] = {0, 1, kReaders};
  for (const std::uint32_t slots : kLengths) {
    const std::string name = (works ? "ring/engine/" : "ring/writer/") + std::to_string(slots) + "_slots/";
    if (!arguments.wants(name)) continue;
    Ring ring("w");
    Crowd crowd(ring, processors.second);
    pin(processors.first);
    const std::uint64_t records = kBlockSlots / slots;
    std::vector<double> ns[std::size(kCounts)];
    for (std::uint64_t i = 0; i < ring::kDefaultSlotCount; ++i) write(ring.writer(), slots, i);
    for (std::size_t round = 0; round < 4 * rounds; ++round) {
      for (std::size_t k = 0; k < std::size(kCounts); ++k) {
        const std::size_t which = round % 2 == 0 ? k : std::size(kCounts) - 1 - k;
        crowd.let_read(kCounts[which]);
        const Undisturbed undisturbed;
        const std::uint64_t begin = ticks_begin();
        for (std::uint64_t i = 0; i < records; ++i) write(ring.writer(), slots, works ? work(i) : i);
        const std::uint64_t end = ticks_end();
        ns[which].push_back(clock.ns(static_cast<double>(end - begin)) / static_cast<double>(records));
      }
    }
    for (std::size_t k = 0; k < std::size(kCounts); ++k) {
      report.add(name + "readers_" + std::to_string(kCounts[k]), "ns/record", ns[k]);
      std::vector<double> ratios;
      for (std::size_t i = 0; i < ns[k].size(); ++i) ratios.push_back(ns[k][i] / ns[0][i]);
      if (k != 0) report.add(name + "readers_" + std::to_string(kCounts[k]) + "/over_none", "times", ratios);
    }
  }
}

/// A reader's cost per record that is already published, one by one and in batches.
void measure_reader(const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors,
                    std::size_t rounds, Report& report) {
  for (const std::uint32_t slots : kLengths) {
    const std::string name = "ring/reader/" + std::to_string(slots) + "_slots/";
    if (!arguments.wants(name)) continue;
    Ring ring("r");
    pin(processors.first);
    const std::uint64_t records = ring::kDefaultSlotCount / 4 / slots;
    std::vector<double> ns[2];
    for (std::size_t round = 0; round < 2 * rounds; ++round) {
      for (const std::size_t is_batched : {round % 2, 1 - round % 2}) {
        ring::Reader reader = ring.reader();
        for (std::uint64_t i = 0; i < records; ++i) write(ring.writer(), slots, i);
        // On the other core, as in life.
        std::thread([&] {
          pin(processors.second);
          const Undisturbed undisturbed;
          const std::uint64_t begin = ticks_begin();
          while (reader.poll_batch(is_batched != 0 ? ring::Reader::kMaxBatch : 1) == ring::Poll::Record) {
          }
          const std::uint64_t end = ticks_end();
          ns[is_batched].push_back(clock.ns(static_cast<double>(end - begin)) / static_cast<double>(records));
        }).join();
        if (reader.delivered() != records) report.problem(name + ": records were lost");
      }
    }
    report.add(name + "one_by_one", "ns/record", ns[0]);
    report.add(name + "batched", "ns/record", ns[1]);
  }
}

/// Memory of all processes.
struct Orders {
  std::atomic<std::uint32_t> mode{0};
  std::atomic<std::uint64_t> deaths{0};
};

/// Reader processes on one processor. A process of its own keeps them: none, alive, or killed and stopped at random
/// points while others take their places.
class Mortals {
 public:
  enum Mode : std::uint32_t { None, Alive, Dying, End };

  Mortals(const Ring& ring, int processor)
      : orders_(static_cast<Orders*>(
            ::mmap(nullptr, sizeof(Orders), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    if (orders_ == MAP_FAILED) throw std::runtime_error("no shared memory");
    new (orders_) Orders;
    keeper_ = ::fork();
    if (keeper_ < 0) throw std::runtime_error("cannot start a process");
    if (keeper_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      pin(processor);
      keep(ring);
      ::_exit(0);
    }
  }
  Mortals(const Mortals&) = delete;
  Mortals& operator=(const Mortals&) = delete;
  ~Mortals() {
    orders_->mode = End;
    ::waitpid(keeper_, nullptr, 0);
    ::munmap(orders_, sizeof(Orders));
  }

  void set(Mode mode) {
    orders_->mode = mode;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  [[nodiscard]] std::uint64_t deaths() const noexcept { return orders_->deaths; }

 private:
  /// Polls until it is killed.
  static pid_t birth(const Ring& ring) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ring::Reader reader = ring.reader();
    for (ring::Spin spin;;) {
      if (reader.poll_batch() == ring::Poll::Nothing) {
        spin.wait();
      } else {
        spin.found();
      }
    }
  }

  static void death(pid_t& child) {
    if (child <= 0) return;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    child = 0;
  }

  void keep(const Ring& ring) {
    pid_t children[kReaders] = {};
    std::minstd_rand random(1);
    for (std::uint32_t mode = None; mode != End; mode = orders_->mode) {
      for (pid_t& child : children) {
        if (mode == None) death(child);
        if (mode != None && child == 0) child = birth(ring);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2'000));
      if (mode != Dying) continue;
      pid_t& child = children[random() % kReaders];
      if (random() % 2 == 0) {  // or while it is stopped
        ::kill(child, SIGSTOP);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 2'000));
      }
      death(child);
      ++orders_->deaths;
    }
    for (pid_t& child : children) death(child);
  }

  Orders* orders_;
  pid_t keeper_ = -1;
};

/// Each record's publication by itself, from open to commit, while readers live and die.
void measure_publish(const TickClock& clock, Pace& pace, const Arguments& arguments, std::pair<int, int> processors,
                     std::size_t rounds, Report& report) {
  constexpr std::uint32_t kSlots = 6;
  constexpr std::size_t kStretches = 160;
  constexpr std::size_t kStretchRecords = 1'000;
  const std::string name = "ring/publish/" + std::to_string(kSlots) + "_slots/";
  if (!arguments.wants(name)) return;
  constexpr std::pair<Mortals::Mode, const char*> kModes[] = {
      {Mortals::None, "no_readers"}, {Mortals::Alive, "readers_4"}, {Mortals::Dying, "readers_4_dying"}};
  Ring ring("p");
  Mortals mortals(ring, processors.second);
  pin(processors.first);
  for (std::uint64_t i = 0; i < ring::kDefaultSlotCount; ++i) write(ring.writer(), kSlots, i);
  std::vector<PacedBurst> bursts[std::size(kModes)];
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < std::size(kModes); ++k) {
      const std::size_t which = round % 2 == 0 ? k : std::size(kModes) - 1 - k;
      mortals.set(kModes[which].first);
      pace.wait();
      const Undisturbed undisturbed;
      PacedBurst& burst = bursts[which].emplace_back(kStretchRecords);
      burst.begin(pace.probe());
      for (std::size_t stretch = 0; stretch < kStretches; ++stretch) {
        for (std::uint64_t i = 0; i < kStretchRecords; ++i) {
          const std::uint64_t value = work(i);
          const std::uint64_t begin = ticks_begin();
          write(ring.writer(), kSlots, value);
          burst.record(clock.between(begin, ticks_end()));
        }
        burst.end_stretch(pace.probe(), pace);
      }
    }
  }
  for (std::size_t k = 0; k < std::size(kModes); ++k) {
    report.add(name + kModes[k].second, "ns", bursts[k], clock.ns_per_tick());
  }
  report.fact(name + "readers_4_dying", "readers killed", static_cast<double>(mortals.deaths()));
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments =
      read_arguments(argc, argv, "Rings in shared memory, beside the transfer of a cache line.");
  Report report;
  const auto processors = two_processors();
  if (!processors) {
    report.problem("one processor only: nothing can be handed from one to another");
    return report.finish(arguments.json);
  }
  if (!Undisturbed::is_possible()) report.note("without real-time priority: other programs disturb the figures");
  const TickClock clock;
  pin(processors->first);
  Pace pace(clock, arguments.pace_ns);
  const std::size_t rounds = arguments.quick ? 3 : 21;
  try {
    measure_latency(clock, arguments, *processors, rounds, report);
    measure_writer(true, clock, arguments, *processors, rounds, report);
    measure_writer(false, clock, arguments, *processors, rounds, report);
    measure_reader(clock, arguments, *processors, rounds, report);
    measure_publish(clock, pace, arguments, *processors, rounds, report);
  } catch (const std::exception& error) {
    report.problem(error.what());
  }
  report.add("ring", clock, pace);
  return report.finish(arguments.json);
}
