#include "host/standby/pair_reader.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::standby {
namespace {

std::string other_layout(const std::string& name) {
  return "its records have another layout than those of '" + name + "'";
}

}  // namespace

PairReader::PairReader(std::string first, std::string second, const MergeOptions& options, Output& output,
                       os::Accepted accepted)
    : accepted_(std::move(accepted)),
      longest_turn_ns_(std::max<std::uint64_t>(options.patience_ns / kTurnsOfPatience, 1)),
      merge_(options, output) {
  sides_[0].name = std::move(first);
  sides_[1].name = std::move(second);
}

std::size_t PairReader::poll(std::uint64_t now_ns) {
  // Patience is for what the other ring may still bring, not for what it has and was not read: a reader that was
  // stopped, or whose output was blocked, would report losses that are none.
  merge_ns_ += std::min(now_ns - std::min(now_ns, polled_ns_), longest_turn_ns_);
  polled_ns_ = now_ns;
  for (const Side side : {Side::First, Side::Second}) {
    if (!of(side).reader && now_ns >= of(side).next_open_ns) open(side, now_ns);
  }
  std::size_t count = 0;
  for (const Side side : {Side::First, Side::Second}) {
    if (of(side).reader) count += read(side, now_ns);
  }
  merge_.tick(merge_ns_);
  return count;
}

void PairReader::open(Side side, std::uint64_t now_ns) {
  Ring& ring = of(side);
  ring.next_open_ns = now_ns + kOpenNs;
  Result<ring::Reader> opened = ring::Reader::open(ring.name, ring::Start::Oldest, accepted_);
  if (!opened) {
    ring.problem = opened.message();
    return;
  }
  ring::Reader& reader = opened.value();
  if (reader.epoch() == ring.epoch) return;  // it was read to its end
  if (of(other(side)).reader && reader.epoch() == of(other(side)).epoch) {
    ring.problem = "it is the same ring as '" + of(other(side)).name + "'";
    return;
  }
  if (images_ == 0 || reader.layout_hash() != layout_) {
    if (of(other(side)).reader) {
      if (!yields_to(side, reader, now_ns)) {
        ring.problem = other_layout(of(other(side)).name);
        return;
      }
      // From its first record again.
      opened = ring::Reader::open(ring.name, ring::Start::Oldest, accepted_);
      if (!opened) {
        ring.problem = opened.message();
        return;
      }
    }
    image_.assign(reader.image().begin(), reader.image().end());
    layout_ = reader.layout_hash();
    ++images_;
  }
  ring.problem.clear();
  ring.epoch = reader.epoch();
  ring.reader.emplace(std::move(opened).value());
  ring.writer_has_ended = ring.writer_has_died = ring.has_records = false;
  ring.next_look_ns = now_ns;
  merge_.began(side);
}

/// A ring that has been silent so far does not decide which layout the stream has: it is closed for one of another
/// layout that has records, and looked for again later.
bool PairReader::yields_to(Side side, ring::Reader& reader, std::uint64_t now_ns) {
  Ring& silent = of(other(side));
  if (silent.has_records || reader.poll_batch() != ring::Poll::Record) return false;
  close(other(side), other_layout(of(side).name), now_ns);
  silent.epoch = 0;
  return true;
}

std::size_t PairReader::read(Side side, std::uint64_t now_ns) {
  Ring& ring = of(side);
  std::size_t count = 0;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    switch (ring.reader->poll_batch()) {
      case ring::Poll::Record:
        for (const std::span<const record::Slot> record : ring.reader->records()) {
          if (record::HeaderView(record[0]).is_market_event()) {
            has_market_events_ = true;
            close(side, "it carries market events", now_ns);
            return count;
          }
          ring.has_records = true;
          merge_.take(side, record, merge_ns_);
          ++count;
        }
        continue;
      case ring::Poll::Lost:
        ring.lost += ring.reader->lost_records();
        merge_.hole(side);
        continue;
      case ring::Poll::Damaged:
        ring.writer_has_died = true;
        close(side, ring.reader->damage(), now_ns);
        return count;
      case ring::Poll::Nothing: break;
    }
    // Its last records may have come between the last poll and the writer's end: it is closed at the next one.
    if (ring.writer_has_ended) {
      close(side, ring.writer_has_died ? "its writer died" : "its writer has ended", now_ns);
    } else if (now_ns >= ring.next_look_ns) {
      ring.next_look_ns = now_ns + kLookNs;
      const ring::WriterState writer = ring.reader->writer();
      ring.writer_has_ended = writer != ring::WriterState::Running;
      ring.writer_has_died = writer == ring::WriterState::Dead;
    }
    break;
  }
  return count;
}

void PairReader::close(Side side, std::string problem, std::uint64_t now_ns) {
  of(side).reader.reset();
  of(side).problem = std::move(problem);
  of(side).next_open_ns = now_ns;
  merge_.ended(side, merge_ns_);
}

}  // namespace stopbit::standby
