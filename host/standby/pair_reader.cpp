#include "host/standby/pair_reader.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::standby {

PairReader::PairReader(std::string first, std::string second, const MergeOptions& options, Output& output,
                       os::Accepted accepted)
    : accepted_(std::move(accepted)), merge_(options, output) {
  sides_[0].name = std::move(first);
  sides_[1].name = std::move(second);
}

std::size_t PairReader::poll(std::uint64_t now_ns) {
  std::size_t count = 0;
  for (const Side side : {Side::First, Side::Second}) {
    Ring& ring = of(side);
    if (!ring.reader && now_ns >= ring.next_open_ns) open(side, now_ns);
    if (ring.reader) count += read(side, now_ns);
  }
  merge_.tick(now_ns);
  return count;
}

void PairReader::open(Side side, std::uint64_t now_ns) {
  Ring& ring = of(side);
  ring.next_open_ns = now_ns + kOpenNs;
  Result<ring::Reader> opened = ring::Reader::open(ring.name, ring::Start::Oldest, accepted_);
  if (!opened || (ring.epoch != 0 && opened.value().epoch() == ring.epoch)) return;
  const std::span<const std::byte> image = opened.value().image();
  if (!image_.empty() && !std::equal(image.begin(), image.end(), image_.begin(), image_.end())) {
    ring.problem = "the ring has another image than the other one";
    return;
  }
  image_.assign(image.begin(), image.end());
  ring.problem.clear();
  ring.epoch = opened.value().epoch();
  ring.reader.emplace(std::move(opened).value());
  ring.writer_has_ended = false;
  ring.next_look_ns = now_ns;
  merge_.restarted(side);
  if (merge_.active() != side && !of(other(side)).reader) merge_.switch_over();
  has_begun_ = true;
}

std::size_t PairReader::read(Side side, std::uint64_t now_ns) {
  Ring& ring = of(side);
  std::size_t count = 0;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    switch (ring.reader->poll_batch()) {
      case ring::Poll::Record:
        for (const std::span<const record::Slot> record : ring.reader->records()) {
          merge_.take(side, record, now_ns);
          ++count;
        }
        continue;
      case ring::Poll::Lost:
        ring.lost += ring.reader->lost_records();
        // The other side may have what was overwritten.
        if (merge_.active() == side && of(other(side)).reader) merge_.switch_over();
        continue;
      case ring::Poll::Damaged: close(side); return count;
      case ring::Poll::Nothing: break;
    }
    if (ring.writer_has_ended) {
      close(side);
    } else if (now_ns >= ring.next_look_ns) {
      look(side, now_ns);
    }
    break;
  }
  return count;
}

/// Its last records may have come between the last poll and its end: it is closed at the next one.
void PairReader::look(Side side, std::uint64_t now_ns) {
  Ring& ring = of(side);
  ring.next_look_ns = now_ns + kLookNs;
  ring.writer_has_ended = ring.reader->writer() != ring::WriterState::Running;
}

void PairReader::close(Side side) {
  of(side).reader.reset();
  if (merge_.active() == side) merge_.switch_over();
}

}  // namespace stopbit::standby
