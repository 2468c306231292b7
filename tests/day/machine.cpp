#include "tests/day/machine.hpp"

#include <algorithm>

namespace stopbit::day {

std::uint64_t Clock::wall(std::uint64_t t_ns) const {
  std::int64_t by_ns = 0;
  for (const Step& step : steps_) {
    if (step.t_ns <= t_ns) by_ns += step.by_ns;
  }
  return kWallBegin + (t_ns - kBegin) + static_cast<std::uint64_t>(by_ns);
}

bool Clock::stepped_since(std::uint64_t from_ns) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return step.t_ns > from_ns && step.t_ns <= now_ns; });
}

net::Endpoint group_of(std::uint8_t channel, std::uint8_t line) {
  return {0xE000'0001U + 2U * channel + line, static_cast<std::uint16_t>(10'000 + channel)};
}

ModelPort::ModelPort(const Day& day, std::size_t index, Clock& clock, OnHandOut on_hand_out, OnDrop on_drop)
    : day_(day),
      copies_(day.copies[index]),
      plan_(day.ports[index]),
      clock_(clock),
      on_hand_out_(std::move(on_hand_out)),
      on_drop_(std::move(on_drop)) {}

/// What has arrived by now goes to the kernel's buffer, or is dropped on the way.
void ModelPort::receive() {
  for (; next_ < copies_.size() && copies_[next_].t_ns <= clock_.now_ns; ++next_) {
    const Copy& copy = copies_[next_];
    while (pause_ < day_.pauses.size() && day_.pauses[pause_].end_ns <= copy.t_ns) {
      ++pause_;
      in_ring_ = 0;
    }
    if (pause_ < day_.pauses.size() && day_.pauses[pause_].has(copy.t_ns) && ++in_ring_ > plan_.ring) {
      on_drop_(copy, Fate::Card);
    } else if (copy.body == Body::Fragment) {
      counters_.frames.add(1);
      counters_.verdicts[static_cast<std::size_t>(net::Verdict::Fragment)].add(1);
      on_drop_(copy, Fate::Refused);
    } else if (queue_.size() >= plan_.buffer) {
      counters_.dropped_by_kernel.add(1);
      on_drop_(copy, Fate::Kernel);
    } else {
      queue_.push_back(&copy);
    }
  }
}

std::size_t ModelPort::poll(std::span<ingest::Arrival> batch) noexcept {
  receive();
  const std::uint64_t now = clock_.now_ns;
  const std::size_t count = std::min(batch.size(), queue_.size());
  if (given_.size() < count) given_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Copy& copy = *queue_.front();
    queue_.pop_front();
    write_datagram(day_.channels[copy.channel], copy, given_[i].bytes);
    // As a socket's port does it: the stamp is of the wall clock, which may have been stepped since.
    const std::uint64_t arrival_ns = plan_.has_stamps ? clock_.wall(copy.t_ns) : clock_.wall();
    const std::uint64_t guess = now - (clock_.wall() - arrival_ns);
    const auto off = static_cast<std::int64_t>(guess - now);
    std::uint64_t t_ns = off > 0 ? now : guess < empty_ns_ ? empty_ns_ : guess;
    if (off > 1'000'000 || (off <= 0 && guess + 1'000'000 < empty_ns_)) counters_.clamped.add(1);
    t_ns = std::max(t_ns, last_t_ns_);
    last_t_ns_ = t_ns;
    const bool is_exact = plan_.has_stamps && !clock_.stepped_since(copy.t_ns);
    on_hand_out_({&copy, is_exact ? copy.t_ns : empty_ns_, is_exact ? std::max(copy.t_ns, t_ns) : now});
    batch[i] = {.payload = given_[i].bytes,
                .source = {copy.source, 5'000},
                .destination = group_of(copy.channel, copy.line),
                .arrival_ns = arrival_ns,
                .t_ns = t_ns,
                .time_quality = plan_.has_stamps ? record::TimeQuality::Kernel : record::TimeQuality::Poll};
    counters_.frames.add(1);
    counters_.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].add(1);
  }
  if (queue_.empty()) empty_ns_ = now;
  complete_until_ns_ = std::max(complete_until_ns_, queue_.empty() ? now : last_t_ns_);
  return count;
}

void ModelPort::idle_until(std::uint64_t t_ns) {
  if (!queue_.empty() || next_arrival() <= t_ns) return;
  empty_ns_ = std::max(empty_ns_, t_ns);
  complete_until_ns_ = std::max(complete_until_ns_, t_ns);
}

void ModelPort::forget() {
  for (; next_ < copies_.size() && copies_[next_].t_ns <= clock_.now_ns; ++next_) on_drop_(copies_[next_], Fate::Down);
  for (const Copy* copy : queue_) on_drop_(*copy, Fate::Down);
  queue_.clear();
  empty_ns_ = last_t_ns_ = complete_until_ns_ = clock_.now_ns;
}

std::uint64_t ModelPort::next_arrival() const {
  return next_ < copies_.size() ? copies_[next_].t_ns : kNever;
}

}  // namespace stopbit::day
