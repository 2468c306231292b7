// stopbit_witness: reads a ring, and whichever ring has its name next, until it gets a signal, and writes down which
// packet numbers have come: JSON lines for each gap, and for each writer the files it has left when it has ended.

#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "host/ring/reader.hpp"
#include "host/ring/reader_registration.hpp"
#include "tests/soak/numbers.hpp"

namespace stopbit::soak {
namespace {

using namespace std::chrono_literals;

volatile sig_atomic_t stop_asked = 0;

void ask_to_stop(int /*signal*/) {
  stop_asked = 1;
}

/// The packets of one writer.
class Life {
 public:
  Life(const ring::Reader& reader, std::ofstream& log) : log_(log) {
    log_ << fmt::format(R"({{"event":"open","writer":{}}})", reader.writer_pid()) << '\n' << std::flush;
  }

  void take(std::span<const record::Slot> slots) {
    const record::HeaderView header(slots.front());
    if (!header.is_event()) {
      ++by_quality_[static_cast<std::size_t>(header.time_quality())];
    } else if (record::EventView(slots.front()).kind() == record::EventKind::Reset) {
      ++resets_;
    }
    const auto gap = numbers_.take(slots);
    if (!gap) return;
    log_ << fmt::format(R"({{"event":"gap","first":{},"count":{},"time_ns":{},"seen_ns":{}}})", gap->first, gap->count,
                        gap->time_ns, wall_ns())
         << '\n';
  }

  void end(const ring::Reader& reader) {
    const Numbers::Counts& seen = numbers_.counts();
    log_
        << fmt::format(
               R"({{"event":"life","writer":{},"finished":{},"first":{},"last":{},"packets":{},"missing":{},"messages":{},)"
               R"("decode_errors":{},"broken":{},"overrun":{},"resets":{},"time_quality":[{},{},{},{}]}})",
               reader.writer_pid(), reader.writer() == ring::WriterState::Finished, seen.first, seen.next - 1,
               seen.packets, seen.missing, seen.messages, seen.errors, seen.broken, reader.total_lost_records(),
               resets_, by_quality_[0], by_quality_[1], by_quality_[2], by_quality_[3])
        << '\n'
        << std::flush;
  }
  void damaged() { numbers_.damaged(); }

 private:
  /// The machine's, whatever clock the writer has.
  static std::int64_t wall_ns() {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  std::ofstream& log_;
  Numbers numbers_;
  std::uint64_t resets_ = 0;
  std::array<std::uint64_t, 4> by_quality_{};  ///< Messages, by record::TimeQuality.
};

/// Until the writer has ended, or a signal stops us. The writer's status shows us as "witness".
void follow(ring::Reader& reader, std::ofstream& log) {
  auto sign = ring::ReaderRegistration::create(reader.path(), "witness");
  if (!sign) throw std::runtime_error(sign.message());
  Life life(reader, log);
  for (bool ended = false;;) {
    const ring::Poll poll = reader.poll();
    if (poll == ring::Poll::Record) life.take(reader.record());
    if (poll == ring::Poll::Damaged) {
      life.damaged();
      break;
    }
    if (poll != ring::Poll::Nothing) continue;
    sign.value().show(reader);
    if (ended || stop_asked != 0) break;
    // The last records may have come between that poll and the writer's end: once more after it.
    ended = reader.writer() != ring::WriterState::Running;
    if (!ended) std::this_thread::sleep_for(1ms);
  }
  life.end(reader);
}

int run(const std::string& name, const std::string& path) {
  ::signal(SIGTERM, ask_to_stop);
  std::ofstream log(path, std::ios::trunc);
  std::uint64_t last_epoch = 0;
  bool has_read = false;
  while (stop_asked == 0) {
    auto reader = ring::Reader::open(name);
    if (!reader || (has_read && reader.value().epoch() == last_epoch)) {
      std::this_thread::sleep_for(5ms);
      continue;
    }
    last_epoch = reader.value().epoch();
    has_read = true;
    follow(reader.value(), log);
  }
  log.close();
  return log ? 0 : 3;
}

}  // namespace
}  // namespace stopbit::soak

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: stopbit_witness RING LOG\n", stderr);
    return 2;
  }
  try {
    return stopbit::soak::run(argv[1], argv[2]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "stopbit_witness: %s\n", failure.what());
    return 3;
  }
}
