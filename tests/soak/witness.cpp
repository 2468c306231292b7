// stopbit_witness: reads a ring, and whichever ring has its name next, as long as it is told to, and writes down which
// packet numbers have come: JSON lines for each gap, and for each writer what it has left behind when it has ended.

#include <signal.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "decoder/record/layout.hpp"
#include "decoder/record/views.hpp"
#include "host/ring/name.hpp"
#include "host/ring/reader.hpp"

namespace stopbit::soak {
namespace {

using namespace std::chrono_literals;

volatile sig_atomic_t stop_asked = 0;

void ask_to_stop(int /*signal*/) {
  stop_asked = 1;
}

/// The packets of one writer. Numbers have to go on without a hole: each is in a record or in a gap, never in both.
class Life {
 public:
  Life(const ring::Reader& reader, std::ofstream& log) : log_(log) {
    log_ << fmt::format(R"({{"event":"open","writer":{}}})", reader.writer_pid()) << '\n' << std::flush;
  }

  void take(std::span<const record::Slot> slots) {
    const record::HeaderView header(slots.front());
    if (!header.is_event()) {
      ++messages_;
      return see(header.sequence());
    }
    const record::EventView event(slots.front());
    switch (event.kind()) {
      case record::EventKind::Gap: return miss(event.first_missing(), event.missing(), header.arrival_ns());
      case record::EventKind::DecodeError:
      case record::EventKind::Dropped: ++errors_; return see(header.sequence());
      default: return;
    }
  }

  void end(const ring::Reader& reader) {
    log_
        << fmt::format(
               R"({{"event":"life","writer":{},"finished":{},"first":{},"last":{},"packets":{},"missing":{},"messages":{},)"
               R"("decode_errors":{},"broken":{},"overrun":{}}})",
               reader.writer_pid(), reader.writer() == ring::WriterState::Finished, first_, next_ - 1, packets_,
               missing_, messages_, errors_, broken_, reader.total_lost_records())
        << '\n'
        << std::flush;
  }
  void damaged() { ++broken_; }

 private:
  void see(std::uint64_t sequence) {
    if (has_begun_ && sequence + 1 == next_ && !last_was_missing_) return;  // another message of the packet
    step(sequence, 1);
    ++packets_;
    last_was_missing_ = false;
  }
  void miss(std::uint64_t first, std::uint64_t count, std::uint64_t time_ns) {
    step(first, count);
    missing_ += count;
    last_was_missing_ = true;
    log_ << fmt::format(R"({{"event":"gap","first":{},"count":{},"time_ns":{}}})", first, count, time_ns) << '\n';
  }
  void step(std::uint64_t first, std::uint64_t count) {
    if (!has_begun_) first_ = first;
    if (has_begun_ && first != next_) ++broken_;
    has_begun_ = true;
    next_ = first + count;
  }

  std::ofstream& log_;
  std::uint64_t first_ = 1;
  std::uint64_t next_ = 1;
  bool has_begun_ = false;
  bool last_was_missing_ = false;
  std::uint64_t packets_ = 0;
  std::uint64_t missing_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t errors_ = 0;
  std::uint64_t broken_ = 0;
};

/// Until the writer has ended, or somebody wants us to stop.
void follow(ring::Reader& reader, std::ofstream& log) {
  Life life(reader, log);
  for (bool ended = false;;) {
    const ring::Poll poll = reader.poll();
    if (poll == ring::Poll::Record) life.take(reader.record());
    if (poll == ring::Poll::Damaged) {
      life.damaged();
      break;
    }
    if (poll != ring::Poll::Nothing) continue;
    if (ended || stop_asked != 0) break;
    // What was written last may have come between that poll and the writer's end: once more after it.
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
  return stopbit::soak::run(argv[1], argv[2]);
}
