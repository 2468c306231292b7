// stopbit_ring_soak: processes that use a ring are killed and stopped at random instructions, thousands of them, and
// says in one line of JSON what was seen. A torn record, a writer that waited or a wrong count ends it with status 1.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/os/shm/name.hpp"
#include "host/ring/cursor.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/spin.hpp"
#include "host/ring/writer.hpp"
#include "tests/lib/arguments.hpp"

namespace stopbit::ring {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kMaxRecordSlots = 8;
constexpr std::uint64_t kSlots = 4096;
constexpr std::uint64_t kSmallSlots = 512;  ///< Readers are overtaken all the time.

std::uint64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Opening a ring takes less of the processor's time, whatever is in the ring; on a busy machine, with cold caches, one
/// of ten may take more.
constexpr std::uint64_t kLongestOpenNs = 10'000'000;

/// What all processes count together.
struct Tally {
  std::atomic<std::uint64_t> records = 0;  ///< Read and found whole.
  std::atomic<std::uint64_t> lost = 0;
  std::atomic<std::uint64_t> torn = 0;
  std::atomic<std::uint64_t> miscounted = 0;
  std::atomic<std::uint64_t> damaged = 0;
  std::atomic<std::uint64_t> opened = 0;
  std::atomic<std::uint64_t> not_opened = 0;
  std::atomic<std::uint64_t> slowest_open_ns = 0;  ///< Of the processor's time.
  std::atomic<std::uint64_t> slow_opens = 0;       ///< That took more of it than kLongestOpenNs.
  std::atomic<std::uint64_t> written = 0;
  std::atomic<std::uint64_t> waits = 0;  ///< Of the writer.
  std::atomic<bool> stop = false;

  static Tally& make() {
    void* memory = ::mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    return *new (memory) Tally;
  }
};

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 31) * 0x9E37'79B9'7F4A'7C15;
  return value ^ value >> 29;
}

constexpr std::uint32_t slots_of(std::uint64_t seed) {
  return static_cast<std::uint32_t>(1 + seed * 2654435761 % kMaxRecordSlots);
}

/// Fills the slots of a record whose every word follows from its number and its ring, as an engine does.
/// @returns the first, which is not in its place.
record::Slot fill(record::Slot* slots, bool phase, std::uint32_t stamp, std::uint64_t salt, std::uint64_t number) {
  const std::uint32_t length = slots_of(number);
  record::Slot first;
  for (std::uint32_t i = 0; i < length; ++i) {
    record::Slot& slot = i == 0 ? first : slots[i];
    for (std::size_t word = 0; word < record::kValueWords; ++word) {
      record::store_word(slot.words[word], mix(salt + number * 64 + i * 8 + word));
    }
    record::store_word(slot.words[record::kTagWord], i == 0 ? first_slot_tags(phase) : record::tag_word_base(phase, i));
  }
  first.words[0] = std::uint64_t{length} << 16 | std::uint64_t{stamp} << 32;
  return first;
}

void write(Writer& writer, std::uint64_t salt, std::uint64_t number) {
  const record::RecordSink::Place place = writer.open();
  writer.commit(fill(place.slots, place.phase(), place.stamp(), salt, number), slots_of(number));
}

bool is_whole(std::span<const record::Slot> record, std::uint64_t salt, std::uint64_t number) {
  if (record.size() != slots_of(number)) return false;
  for (std::size_t i = 0; i < record.size(); ++i) {
    for (std::size_t word = i == 0 ? 1 : 0; word < record::kValueWords; ++word) {
      if (record[i].words[word] != mix(salt + number * 64 + i * 8 + word)) return false;
    }
  }
  return true;
}

/// Reads one batch and checks it. False if there was nothing.
bool read(Reader& reader, Tally& tally) {
  switch (reader.poll_batch()) {
    case Poll::Nothing: return false;
    case Poll::Damaged: ++tally.damaged; return false;
    case Poll::Lost: tally.lost += reader.lost_records(); break;
    case Poll::Record: {
      std::uint64_t number = reader.record_index();
      for (const std::span<const record::Slot> record : reader.records()) {
        if (!is_whole(record, reader.epoch(), number++)) ++tally.torn;
      }
      tally.records += number - reader.record_index();
      break;
    }
  }
  if (reader.first_record() + reader.delivered() + reader.total_lost_records() != reader.next_record()) {
    ++tally.miscounted;
  }
  return true;
}

pid_t start(const auto& run) {
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  if (child == 0) {
    run();
    ::_exit(0);
  }
  return child;
}

void end(pid_t child, int signal) {
  ::kill(child, signal);
  ::waitpid(child, nullptr, 0);
}

/// A reader of a process that is about to be killed.
void read_for_ever(const std::string& name, Tally& tally, Start where) {
  const std::uint64_t begin = cpu_ns();
  Result<Reader> reader = Reader::open(name, where);
  const std::uint64_t took = cpu_ns() - begin;
  if (!reader) {
    ++tally.not_opened;
    return;
  }
  ++tally.opened;
  if (took >= kLongestOpenNs) ++tally.slow_opens;
  std::uint64_t slowest = tally.slowest_open_ns;
  while (took > slowest && !tally.slowest_open_ns.compare_exchange_weak(slowest, took)) {
  }
  for (Spin spin;;) read(reader.value(), tally) ? spin.found() : spin.wait();
}

void write_until_stopped(const std::string& name, Tally& tally, std::uint64_t slots) {
  Program program;
  program.max_record_slots = kMaxRecordSlots;
  Result<Writer> made = Writer::create(name, program, {.slot_count = slots});
  if (!made) {
    std::fprintf(stderr, "%s\n", made.message().c_str());
    ::_exit(1);
  }
  Writer& writer = made.value();
  const std::uint64_t salt = writer.epoch();
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  for (std::uint64_t number = 0; !tally.stop.load(std::memory_order_relaxed); ++number) write(writer, salt, number);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  // A writer that waits gives up its processor of its own will.
  tally.waits += static_cast<std::uint64_t>(after.ru_nvcsw - before.ru_nvcsw);
  tally.written += writer.records();
}

struct Plan {
  std::uint64_t kills = 300;  ///< threads: records.
  std::uint64_t seed = 1;
};

std::string ring_name() {
  return "soak-" + std::to_string(::getpid());
}

void await(const std::string& name) {
  while (!os::exists(name)) std::this_thread::sleep_for(1ms);
}

/// Readers are killed or stopped at random points while a writer writes as fast as it can.
void kill_readers(const Plan& plan, Tally& tally) {
  std::mt19937_64 random(plan.seed);
  const std::string name = ring_name();
  const pid_t writer = start([&] { write_until_stopped(name, tally, kSmallSlots); });
  await(name);
  std::vector<pid_t> stopped;
  for (std::uint64_t i = 0; i < plan.kills; ++i) {
    const std::uint64_t before = tally.records;
    const pid_t child = start([&] { read_for_ever(name, tally, i % 2 == 0 ? Start::Oldest : Start::Newest); });
    // On a busy machine the random time alone would end most of them before they have opened the ring.
    if (i % 8 < 2) {
      while (tally.records == before && tally.not_opened == 0) std::this_thread::sleep_for(100us);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
    if (random() % 4 == 0) {
      ::kill(child, SIGSTOP);
      stopped.push_back(child);
    } else {
      end(child, SIGKILL);
    }
    if (stopped.size() > 8) {
      // Half of them go on, laps later, and count what they have missed.
      const pid_t old = stopped.front();
      stopped.erase(stopped.begin());
      if (random() % 2 == 0) {
        ::kill(old, SIGCONT);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
      }
      end(old, SIGKILL);
    }
  }
  for (const pid_t child : stopped) end(child, SIGKILL);
  tally.stop = true;
  ::waitpid(writer, nullptr, 0);
}

/// Writers are killed at random points; readers follow the name from one to the next.
void kill_writers(const Plan& plan, Tally& tally) {
  std::mt19937_64 random(plan.seed);
  const std::string name = ring_name();
  std::vector<pid_t> readers;
  const auto follow = [&] {
    while (!tally.stop) {
      Result<Reader> opened = Reader::open(name);
      if (!opened) {
        std::this_thread::sleep_for(100us);
        continue;
      }
      ++tally.opened;
      Reader& reader = opened.value();
      for (bool ended = false; !tally.stop;) {
        if (read(reader, tally)) continue;
        if (ended) break;
        ended = reader.writer() != WriterState::Running;
      }
      while (!tally.stop && !reader.replaced()) std::this_thread::sleep_for(50us);
    }
  };
  for (int i = 0; i < 2; ++i) readers.push_back(start(follow));
  for (std::uint64_t i = 0; i < plan.kills; ++i) {
    const pid_t writer = start([&] { write_until_stopped(name, tally, random() % 2 == 0 ? kSmallSlots : kSlots); });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    end(writer, SIGKILL);
  }
  // After all of them the name can be written and read as on the first day.
  Tally& rest = Tally::make();
  const pid_t last = start([&] { write_until_stopped(name, rest, kSmallSlots); });
  const auto is_read = [&] {
    const Result<Reader> reader = Reader::open(name);
    return reader && reader.value().writer_pid() == static_cast<std::uint32_t>(last) && reader.value().published() > 0;
  };
  while (!is_read()) std::this_thread::sleep_for(1ms);
  rest.stop = true;
  ::waitpid(last, nullptr, 0);
  tally.stop = true;
  for (const pid_t reader : readers) ::waitpid(reader, nullptr, 0);
}

/// Readers of a lossless ring are killed and stopped; the one that is not gets every record.
void kill_attached(const Plan& plan, Tally& tally) {
  std::mt19937_64 random(plan.seed);
  const std::string name = ring_name();
  const auto write_lossless = [&] {
    Program program;
    program.max_record_slots = kMaxRecordSlots;
    Patience patience{.stuck_ns = 20'000'000, .on_event = {}, .keep_waiting = {}};
    Result<Writer> made = Writer::create(name, program, {.slot_count = kSlots, .lossless = std::move(patience)});
    if (!made || !made.value().wait_for_readers(1)) ::_exit(1);
    const std::uint64_t salt = made.value().epoch();
    std::uint64_t number = 0;
    for (; !tally.stop.load(std::memory_order_relaxed); ++number) write(made.value(), salt, number);
    tally.written += number;
  };
  const auto read_all = [&](bool is_steady) {
    Result<Reader> opened = Reader::attach(name);
    if (!opened) {
      if (is_steady) ++tally.not_opened;
      return;
    }
    Reader& reader = opened.value();
    ++tally.opened;
    for (bool ended = false;;) {
      if (read(reader, tally)) continue;
      if (ended) break;
      ended = reader.writer() != WriterState::Running;
    }
    // A busy machine can make it look stuck: then it was notified, and counted.
    if (is_steady && !reader.is_detached() && (reader.total_lost() != 0 || reader.delivered() != reader.published())) {
      ++tally.miscounted;
    }
  };
  const pid_t writer = start(write_lossless);
  await(name);
  const pid_t steady = start([&] { read_all(true); });
  // The writer begins with the first reader that has a seat: it has to be this one.
  while (tally.opened == 0 && tally.not_opened == 0) std::this_thread::sleep_for(1ms);
  std::vector<pid_t> stopped;
  for (std::uint64_t i = 0; i < plan.kills; ++i) {
    const pid_t victim = start([&] { read_all(false); });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    if (random() % 8 == 0) {
      ::kill(victim, SIGSTOP);
      stopped.push_back(victim);
    } else {
      end(victim, SIGKILL);
    }
  }
  for (const pid_t child : stopped) end(child, SIGKILL);
  tally.stop = true;
  ::waitpid(writer, nullptr, 0);
  ::waitpid(steady, nullptr, 0);
}

/// One record after the other through memory that writer and readers see at the same addresses, so that ThreadSanitizer
/// can compare what they do. First the writer waits for no reader, then for both.
void pass_between_threads(const Plan& plan, Tally& tally) {
  constexpr Geometry kGeometry{.slot_count = 1024, .max_record_slots = kMaxRecordSlots, .claim_step = 16};
  constexpr std::size_t kReaders = 2;
  for (const bool is_lossless : {false, true}) {
    Header header{};
    std::vector<record::Slot> slots(kGeometry.slot_count);
    std::vector<Cursor> cursors(kReaders);
    WriterCore<SharedMemory> core(header, slots.data(), kGeometry);
    for (Cursor& cursor : cursors) store_position<SharedMemory>(cursor, kGeometry.slot_count);
    const std::uint64_t records = plan.kills / 2;

    std::vector<std::thread> threads;
    for (Cursor& cursor : cursors) {
      threads.emplace_back([&] {
        ReaderCore<SharedMemory> reader(header, slots.data(), kGeometry);
        reader.begin_at({.number = kGeometry.slot_count, .records = 0});
        std::vector<record::Slot> copy(kMaxRecordSlots);
        std::uint64_t read = 0;
        std::uint64_t lost = 0;
        for (Spin spin; reader.next_record() < records;) {
          std::uint64_t length = 0;
          const Poll poll = reader.poll(copy.data(), length);
          store_position<SharedMemory>(cursor, reader.position());
          if (poll == Poll::Nothing) {
            spin.wait();
            std::this_thread::yield();
            continue;
          }
          spin.found();
          if (poll == Poll::Damaged) {
            ++tally.damaged;
            return;
          }
          if (poll == Poll::Lost) lost += reader.lost().records;
          if (poll != Poll::Record) continue;
          ++read;
          if (!is_whole({copy.data(), length}, 0, reader.next_record() - 1)) ++tally.torn;
        }
        if (read + lost != records || (is_lossless && lost != 0)) ++tally.miscounted;
        ++tally.opened;
        tally.records += read;
        tally.lost += lost;
      });
    }
    const auto gate = [&](std::uint64_t need, std::uint64_t want) {
      for (;;) {
        std::uint64_t least = ~std::uint64_t{0};
        for (const Cursor& cursor : cursors) least = std::min(least, load_position<SharedMemory>(cursor));
        const std::uint64_t granted = claimable(want, is_lossless ? least : ~std::uint64_t{0}, kGeometry.slot_count);
        if (granted >= need) return granted;
        std::this_thread::yield();
      }
    };
    for (std::uint64_t number = 0; number < records; ++number) {
      if (!core.has_room()) core.make_room(gate);
      const bool phase = phase_of(core.number(), kGeometry.slot_count);
      const record::Slot first =
          fill(&core.slot(core.number()), phase, static_cast<std::uint32_t>(core.number()), 0, number);
      core.commit(first, slots_of(number));
    }
    tally.written += records;
    for (std::thread& thread : threads) thread.join();
  }
}

struct Form {
  const char* name;
  const char* about;
  void (*run)(const Plan&, Tally&);
  std::uint64_t short_kills;
  std::uint64_t long_kills;
};

constexpr Form kForms[] = {
    {"threads", "records pass from one thread to two others", pass_between_threads, 200'000, 20'000'000},
    {"readers", "readers are killed and stopped while a writer writes", kill_readers, 300, 10'000},
    {"writers", "writers are killed while readers follow the name", kill_writers, 150, 10'000},
    {"attached", "readers of a lossless ring are killed and stopped", kill_attached, 60, 2'000},
};

void clean_up() {
  const std::string path = os::path_of(ring_name()).value();
  std::error_code ignored;
  std::filesystem::remove_all(readers_folder(path), ignored);
  // A writer that was killed while it made its segment leaves the file.
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path(), ignored)) {
    if (entry.path().string().starts_with(path)) std::filesystem::remove(entry.path(), ignored);
  }
}

int run(int argc, char** argv) {
  testing::Arguments arguments("Kills and stops processes that use a ring.");
  Plan plan;
  bool is_long = false;
  std::uint64_t kills = 0;
  std::string name;
  std::string about = "one of these:";
  std::vector<std::string> names;
  for (const Form& form : kForms) {
    names.emplace_back(form.name);
    about += std::string("\n    ") + form.name + ": " + form.about;
  }
  arguments.word("FORM", name, about, names);
  arguments.flag("--long", is_long, "the long form");
  arguments.number("--kills", kills, "so many processes; threads: records");
  arguments.number("--seed", plan.seed, "another seed makes other random choices");
  if (const auto status = arguments.read(argc, argv)) return *status;
  for (const Form& form : kForms) {
    if (name != form.name) continue;
    plan.kills = kills != 0 ? kills : is_long ? form.long_kills : form.short_kills;
    Tally& tally = Tally::make();
    const auto begin = std::chrono::steady_clock::now();
    form.run(plan, tally);
    const auto seconds =
        std::chrono::duration_cast<std::chrono::duration<double>>(std::chrono::steady_clock::now() - begin).count();
    clean_up();
    const auto count = [](const std::atomic<std::uint64_t>& value) {
      return static_cast<unsigned long long>(value.load());
    };
    std::printf(
        "{\"soak\":\"%s\",\"seed\":%llu,\"kills\":%llu,\"records_read\":%llu,\"records_lost\":%llu,\"torn\":%llu,"
        "\"miscounted\":%llu,\"damaged\":%llu,\"opened\":%llu,\"not_opened\":%llu,\"slowest_open_ms\":%.3f,"
        "\"records_written\":%llu,\"writer_waits\":%llu,\"seconds\":%.1f}\n",
        form.name, static_cast<unsigned long long>(plan.seed), static_cast<unsigned long long>(plan.kills),
        count(tally.records), count(tally.lost), count(tally.torn), count(tally.miscounted), count(tally.damaged),
        count(tally.opened), count(tally.not_opened), static_cast<double>(tally.slowest_open_ns) / 1e6,
        count(tally.written), count(tally.waits), seconds);
    const bool is_good = tally.torn == 0 && tally.miscounted == 0 && tally.damaged == 0 && tally.not_opened == 0 &&
                         tally.waits == 0 && tally.records > 0 && tally.opened > 0 &&
                         10 * tally.slow_opens <= tally.opened;
    if (!is_good) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace stopbit::ring

int main(int argc, char** argv) {
  return stopbit::ring::run(argc, argv);
}
