// Prints the records of a ring as they lie in memory, a record a line, from the oldest on until its writer has ended.
// Left out is what numbers slots in this ring: the stamp of the first slot, and the phase. So the same records in two
// rings are the same lines.
//
//     ring_slots RING [SECONDS]        at most that long, default 60; status 1: it has not ended, or records were lost

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>

#include "host/ring/reader.hpp"

namespace {

using stopbit::record::kTagWord;
using stopbit::record::Slot;

void print(std::span<const Slot> record) {
  for (std::size_t i = 0; i < record.size(); ++i) {
    for (std::size_t w = 0; w < std::size(record[i].words); ++w) {
      std::uint64_t word = record[i].words[w];
      if (i == 0 && w == 0) word &= 0xFFFF'FFFFU;
      if (w == kTagWord) word &= ~(std::uint64_t{1} << 63U);
      std::printf("%s%llx", i + w == 0 ? "" : " ", static_cast<unsigned long long>(word));
    }
  }
  std::putchar('\n');
}

}  // namespace

int main(int argc, char** argv) {
  using namespace std::chrono_literals;
  if (argc < 2) return 2;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(argc > 2 ? std::strtol(argv[2], nullptr, 10) : 60);
  auto opened = stopbit::ring::Reader::open(argv[1]);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.message().c_str());
    return 3;
  }
  stopbit::ring::Reader& reader = opened.value();
  for (bool has_ended = false;;) {
    switch (reader.poll()) {
      case stopbit::ring::Poll::Record: print(reader.record()); continue;
      case stopbit::ring::Poll::Nothing: break;
      default: std::fprintf(stderr, "%s: records lost, or damaged\n", argv[1]); return 1;
    }
    if (has_ended) return 0;
    has_ended = reader.writer() != stopbit::ring::WriterState::Running;
    if (std::chrono::steady_clock::now() > end) {
      std::fprintf(stderr, "%s: the writer has not ended\n", argv[1]);
      return 1;
    }
    std::this_thread::sleep_for(1ms);
  }
}
