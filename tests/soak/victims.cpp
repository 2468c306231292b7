// stopbit_victims: readers of a ring, in processes of their own, each of which is killed (-9) at a random moment: while
// it opens the ring, while it makes its sign, while it reads, waits, or is stopped. What a reader saw up to its death
// has to be right. Says in one line of JSON what was seen; status 1 if anything was not as promised.

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "host/ring/reader.hpp"
#include "host/ring/reader_registration.hpp"
#include "tests/lib/arguments.hpp"
#include "tests/soak/numbers.hpp"

namespace stopbit::soak {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kAlive = 16;  ///< At a time, at most.
constexpr std::size_t kNames = 8;   ///< Half of the readers have one of these, so some live at the same time under one.

/// How far a reader has come.
enum class Stage : std::uint8_t { Begins, Signs, Waits, Reads };
constexpr std::array kStages = {"begins", "signs", "waits", "reads"};

/// What a reader has seen, in memory that outlives it.
struct Seen {
  std::atomic<Stage> stage = Stage::Begins;
  std::atomic<bool> without_ring = false;
  std::atomic<bool> without_sign = false;
  std::atomic<std::uint64_t> records = 0;
  std::atomic<std::uint64_t> lost = 0;
  std::atomic<std::uint64_t> broken = 0;
  std::atomic<std::uint64_t> miscounted = 0;
};

std::string name_of(std::size_t number) {
  return fmt::format("victim-{}", number);
}

/// In a process of its own, until it is killed.
[[noreturn]] void read(const std::string& ring, ring::Start start, const std::optional<std::string>& name, Seen& seen) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto reader = ring::Reader::open(ring, start);
  if (!reader) {
    seen.without_ring = true;  // between two lives of the writer
    for (;;) ::pause();
  }
  std::optional<ring::ReaderRegistration> sign;
  if (name) {
    seen.stage = Stage::Signs;
    auto made = ring::ReaderRegistration::create(ring, *name);
    seen.without_sign = !made;
    if (!made) std::fprintf(stderr, "%s\n", made.message().c_str());
    if (made) sign.emplace(std::move(made).value());
  }
  Numbers numbers;
  for (ring::Reader& from = reader.value();;) {
    seen.stage = Stage::Reads;
    switch (from.poll_batch()) {
      case ring::Poll::Record:
        for (const std::span<const record::Slot> record : from.records()) numbers.take(record);
        break;
      case ring::Poll::Lost: numbers.lose(); break;
      case ring::Poll::Damaged: numbers.damaged(); break;
      case ring::Poll::Nothing: seen.stage = Stage::Waits; std::this_thread::sleep_for(1ms);
    }
    if (sign) sign->show(from);
    seen.records = from.delivered();
    seen.lost = from.total_lost_records();
    seen.broken = numbers.counts().broken;
    if (from.first_record() + from.delivered() + from.total_lost_records() != from.next_record()) ++seen.miscounted;
  }
}

struct Victim {
  pid_t process = -1;
  Clock::time_point stops{};  ///< Is stopped from then on; never, if that is when it dies.
  Clock::time_point dies{};
};

struct Totals {
  std::uint64_t killed = 0;
  std::uint64_t stopped = 0;
  std::uint64_t ended = 0;  ///< By themselves, which none should.
  std::uint64_t without_ring = 0;
  std::uint64_t without_sign = 0;
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  std::uint64_t broken = 0;
  std::uint64_t miscounted = 0;
  std::uint64_t left_over = 0;  ///< Files of readers when all have exited.
  std::array<std::uint64_t, kStages.size()> killed_while{};
};

class Victims {
 public:
  Victims(std::string ring, std::uint64_t seed, bool is_memory_short)
      : ring_(std::move(ring)), is_memory_short_(is_memory_short), random_(seed) {
    void* const memory =
        ::mmap(nullptr, sizeof(Seen) * kAlive, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
    seen_ = static_cast<Seen*>(memory);
  }

  /// Starts readers until `kills` of them have died or ended, each as soon as the pace allows it.
  Totals kill(std::uint64_t kills, std::chrono::duration<double> within) {
    const Clock::time_point begin = Clock::now();
    for (std::uint64_t begun = 0; totals_.killed + totals_.ended < kills;) {
      const Clock::time_point now = Clock::now();
      const Clock::time_point due = begin + std::chrono::duration_cast<Clock::duration>(
                                                within * static_cast<double>(begun) / static_cast<double>(kills));
      Clock::time_point next = now + 10ms;
      if (begun < kills) next = std::min(next, std::max(due, now));
      bool has_room = false;
      for (std::size_t i = 0; i < kAlive; ++i) {
        Victim& victim = victims_[i];
        if (victim.process < 0) {
          if (begun < kills && now >= due && !has_room) {
            begin_one(i);
            ++begun;
          }
          has_room = true;
          continue;
        }
        if (now >= victim.dies) {
          end_one(i);
        } else if (now >= victim.stops) {
          ::kill(victim.process, SIGSTOP);
          ++totals_.stopped;
          victim.stops = victim.dies;
        }
        if (victim.process >= 0) next = std::min(next, std::min(victim.stops, victim.dies));
      }
      if (next > now) std::this_thread::sleep_until(next);
    }
    totals_.left_over = clear();
    return totals_;
  }

 private:
  std::uint64_t up_to(std::uint64_t most) { return std::uniform_int_distribution<std::uint64_t>(0, most)(random_); }

  void begin_one(std::size_t index) {
    new (&seen_[index]) Seen;
    const ring::Start start = up_to(3) == 0 ? ring::Start::Oldest : ring::Start::Newest;
    std::optional<std::string> name;
    if (up_to(1) == 0) name = name_of(up_to(kNames - 1));
    // Half of them die within the time that it takes to come.
    const auto life = std::chrono::microseconds(up_to(1) == 0 ? up_to(2'000) : up_to(100'000));
    const pid_t process = ::fork();
    if (process < 0) throw std::runtime_error("fork failed");
    if (process == 0) read(ring_, start, name, seen_[index]);
    Victim& victim = victims_[index];
    victim.process = process;
    victim.dies = Clock::now() + life;
    victim.stops = victim.dies;
    if (up_to(7) == 0) victim.dies += 50ms;
  }

  void end_one(std::size_t index) {
    Victim& victim = victims_[index];
    const Seen& seen = seen_[index];
    ::kill(victim.process, SIGKILL);
    int status = 0;
    ::waitpid(victim.process, &status, 0);
    victim.process = -1;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
      ++totals_.ended;
      return;
    }
    ++totals_.killed;
    ++totals_.killed_while[static_cast<std::size_t>(seen.stage.load())];
    totals_.without_ring += seen.without_ring ? 1 : 0;
    totals_.without_sign += seen.without_sign ? 1 : 0;
    totals_.records += seen.records;
    totals_.lost += seen.lost;
    totals_.broken += seen.broken;
    totals_.miscounted += seen.miscounted;
  }

  /// A reader of each name comes and leaves in good order. @returns how many files of readers with these names there
  /// are after that.
  std::uint64_t clear() {
    for (std::size_t i = 0; i < kNames; ++i) {
      const Clock::time_point end = Clock::now() + (is_memory_short_ ? 60s : 0s);
      bool is_signed = false;
      while (!(is_signed = static_cast<bool>(ring::ReaderRegistration::create(ring_, name_of(i)))) &&
             Clock::now() < end) {
        std::this_thread::sleep_for(10ms);
      }
      totals_.without_sign += is_signed ? 0 : 1;
    }
    const std::filesystem::path path(ring_);
    const std::string begins = path.filename().string() + ".by-victim-";
    std::uint64_t files = 0;
    for (const std::filesystem::path& folder : {path.parent_path(), path.parent_path() / ".readers"}) {
      std::error_code none;  // there need not be a folder of signs
      for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
        files += entry.path().filename().string().starts_with(begins) ? 1 : 0;
      }
    }
    return files;
  }

  const std::string ring_;
  const bool is_memory_short_;  ///< At times: a reader may be without a sign then.
  std::mt19937_64 random_;
  Seen* seen_ = nullptr;
  std::array<Victim, kAlive> victims_;
  Totals totals_;
};

int run(const std::string& ring, std::uint64_t kills, double seconds, std::uint64_t seed, bool is_memory_short) {
  Victims victims(ring, seed, is_memory_short);
  const Totals seen = victims.kill(kills, std::chrono::duration<double>(seconds));
  std::string stages;
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    stages += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", kStages[i], seen.killed_while[i]);
  }
  fmt::print(
      R"({{"killed":{},"stopped":{},"ended":{},"killed_while":{{{}}},"without_ring":{},"without_sign":{},"records":{},)"
      R"("lost":{},"broken":{},"miscounted":{},"left_over":{}}})"
      "\n",
      seen.killed, seen.stopped, seen.ended, stages, seen.without_ring, seen.without_sign, seen.records, seen.lost,
      seen.broken, seen.miscounted, seen.left_over);
  const std::uint64_t unexplained = is_memory_short ? 0 : seen.without_sign;
  const bool good = seen.ended + unexplained + seen.broken + seen.miscounted + seen.left_over == 0;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace stopbit::soak

int main(int argc, char** argv) {
  stopbit::testing::Arguments arguments("Readers of a ring that are killed at random moments.");
  std::string ring;
  std::uint64_t kills = 1'000;
  double seconds = 10;
  std::uint64_t seed = 1;
  bool is_memory_short = false;
  arguments.word("RING", ring, "Path of the ring");
  arguments.number("--kills", kills, "So many readers", std::uint64_t{1});
  arguments.number("--seconds", seconds, "Within this time, if the machine is quick enough", 0.0);
  arguments.number("--seed", seed, "Of lives, names and places");
  arguments.flag("--memory-is-short", is_memory_short,
                 "Somebody fills /dev/shm at times: readers may be without a sign");
  if (const auto status = arguments.read(argc, argv)) return *status;
  try {
    return stopbit::soak::run(ring, kills, seconds, seed, is_memory_short);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "stopbit_victims: %s\n", failure.what());
    return 3;
  }
}
