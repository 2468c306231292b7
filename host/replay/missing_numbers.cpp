#include "host/replay/missing_numbers.hpp"

namespace stopbit::replay {
namespace {

/// A number further ahead is of another run, as after a night.
constexpr std::uint64_t kMostMissing = 1U << 20;
/// A number further back is of another run.
constexpr std::uint64_t kMostAgain = 4'096;
/// This many numbers in order, all of which had come before, are a run that began anew.
constexpr std::uint64_t kAgainInOrder = 16;

std::uint64_t mask_of(const net::Framing& framing) noexcept {
  constexpr unsigned kOtherBits = 32;  // b3, t7
  const unsigned bits = framing.kind == net::FramingKind::Fixed ? 8U * framing.sequence.bytes : kOtherBits;
  return bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
}

}  // namespace

NumberCount& NumberCount::operator+=(const NumberCount& other) noexcept {
  missing += other.missing;
  gaps += other.gaps;
  late += other.late;
  again += other.again;
  runs += other.runs;
  return *this;
}

MissingNumbers::MissingNumbers(const net::Framing& framing, std::size_t channels)
    : mask_(mask_of(framing)), channels_(mask_ == 0 ? 0 : channels) {}

void MissingNumbers::take(std::size_t channel, const net::Preamble& preamble) noexcept {
  // The chunks of a message share its number.
  if (mask_ == 0 || preamble.chunk > 1) return;
  take_number(run_of(channels_[channel], preamble.sender), preamble.sequence);
}

NumberCount MissingNumbers::count(std::size_t channel) const noexcept {
  if (mask_ == 0) return {};
  NumberCount sum = channels_[channel].forgotten;
  for (std::size_t i = 0; i < channels_[channel].used; ++i) sum += channels_[channel].runs[i].count;
  return sum;
}

MissingNumbers::Run& MissingNumbers::run_of(Channel& channel, std::uint64_t sender) noexcept {
  for (std::size_t i = 0; i < channel.used; ++i) {
    if (channel.runs[i].sender == sender) return channel.runs[i];
  }
  const std::size_t place = channel.used < kSenders ? channel.used++ : channel.oldest++ % kSenders;
  Run& run = channel.runs[place];
  channel.forgotten += run.count;
  run = {};
  run.sender = sender;
  return run;
}

void MissingNumbers::begin(Run& run, std::uint64_t number, std::uint64_t mask) noexcept {
  ++run.count.runs;
  run.next = (number + 1) & mask;
  run.again_in_order = 0;
  run.missing = {};
}

void MissingNumbers::remember(Run& run, Range range) noexcept {
  run.missing[run.oldest++ % run.missing.size()] = range;
}

/// Whether the number was missing, which it is no more.
bool MissingNumbers::fill(Run& run, std::uint64_t number) const noexcept {
  for (Range& range : run.missing) {
    const std::uint64_t size = (range.end - range.begin) & mask_;
    if (((number - range.begin) & mask_) >= size) continue;
    const Range before{range.begin, number};
    const Range after{(number + 1) & mask_, range.end};
    const bool has_before = before.begin != before.end;
    const bool has_after = after.begin != after.end;
    range = has_before ? before : after;
    if (has_before && has_after) {
      remember(run, after);
      ++run.count.gaps;
    } else if (!has_before && !has_after) {
      --run.count.gaps;
    }
    --run.count.missing;
    ++run.count.late;
    return true;
  }
  return false;
}

void MissingNumbers::take_number(Run& run, std::uint64_t number) const noexcept {
  if (run.count.runs == 0) return begin(run, number, mask_);
  const std::uint64_t ahead = (number - run.next) & mask_;
  const std::uint64_t behind = (run.next - number) & mask_;
  if (ahead == 0 || (ahead <= kMostMissing && ahead < behind)) {
    if (ahead != 0) {
      ++run.count.gaps;
      run.count.missing += ahead;
      remember(run, {run.next, number});
    }
    run.next = (number + 1) & mask_;
    run.again_in_order = 0;
    return;
  }
  if (fill(run, number)) {
    run.again_in_order = 0;
    return;
  }
  constexpr std::uint64_t kLastOfFirst = 1;  // runs begin with 0 or 1
  const bool is_anew = number <= kLastOfFirst && behind > kLastOfFirst + 1;
  run.again_in_order = run.again_in_order != 0 && number == ((run.last + 1) & mask_) ? run.again_in_order + 1 : 1;
  run.last = number;
  if (is_anew || behind > kMostAgain || run.again_in_order > kAgainInOrder) return begin(run, number, mask_);
  ++run.count.again;
}

}  // namespace stopbit::replay
