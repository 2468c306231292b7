// Windows close, and missing numbers become gaps.

#include "host/feed/arbitrate/arbiter.hpp"

#include <algorithm>

namespace stopbit::arbitrate {

void Arbiter::end_gathering(Sink& sink) noexcept {
  gathering_ = false;
  if (undecided_ != next_) {
    const std::uint64_t first = undecided_;
    const std::uint64_t oldest = table_.oldest();
    for (std::uint64_t number = before(first, oldest) ? oldest : first; before(number, next_); ++number) lose(number);
    undecided_ = next_;
    evidence_.reason = skipped_as_;
    declare(first, next_ - first, sink);
  }
  drain(sink);
}

void Arbiter::give_up_to(std::uint64_t limit, Sink& sink) noexcept {
  if (options_.ordered && undecodable_.is_awaited) return settle_undecodable(sink);
  const GapReason reason = evidence_.reason;
  const auto is_missing = [&] { return !before(limit, next_) && !(held_.has(next_) && table_.is_whole(next_)); };
  while (is_missing()) {
    const std::uint64_t first = next_;
    const bool found_no_room = had_no_room(first);
    while (is_missing() && had_no_room(next_) == found_no_room) lose(next_++);
    undecided_ = next_;
    evidence_.reason = found_no_room ? GapReason::Room : reason;
    declare(first, next_ - first, sink);
  }
  evidence_.reason = reason;
  drain(sink);
}

/// Whether the number came, and was dropped for want of room: with what is about to be believed, or with what the run
/// comes up to by itself.
bool Arbiter::had_no_room(std::uint64_t number) const noexcept {
  if (table_[number].had_no_room != 0) return true;
  return std::ranges::any_of(strangers_, [&](const Stranger& stranger) {
    return stranger.fit == Fit::Ahead && stranger.has_dropped && stranger.sender == sender_ &&
           distance(stranger.lowest_dropped, number) <= 0 && distance(stranger.highest_dropped, number) >= 0;
  });
}

void Arbiter::lose(std::uint64_t number) noexcept {
  Entry& known = table_[number];
  while (known.held != 0) {
    slots_.free(held_.take_first(number));
    ++run_.packets.incomplete;
  }
  known.state = Entry::State::Lost;
  known.t_ns = latest_t_ns_;
}

void Arbiter::declare(std::uint64_t first, std::uint64_t count, Sink& sink) noexcept {
  run_.numbers.lost += count;
  ++gaps_;
  Gap gap{.first = wire(first),
          .count = count,
          .epoch = epoch_,
          .reason = evidence_.reason,
          .wall_ns = evidence_.wall_ns + (evidence_.reason == GapReason::Window ? options_.window_ns : 0),
          .after_t_ns = evidence_.t_ns,
          .lines = {}};
  if (before(first_, first) && table_.remembers(first) && table_[first - 1].state == Entry::State::Delivered) {
    gap.before_t_ns = table_[first - 1].t_ns;
  } else if (leapt_.has_leapt && leapt_.from == first) {
    gap.before_t_ns = leapt_.before_t_ns;  // a long leap has taken its entry
  }
  for (std::size_t i = 0; i < gap.lines.size(); ++i) gap.lines[i] = book_.had(i, first + count);
  sink.gap(gap);
}

void Arbiter::close_oldest(GapReason reason, Sink& sink) noexcept {
  const Slot& oldest = held_.oldest();
  evidence_ = {reason, oldest.packet.arrival_ns, oldest.packet.t_ns};
  if (gathering_) {
    end_gathering(sink);
  } else {
    give_up_to(oldest.number, sink);
  }
}

void Arbiter::close_windows(bool everything, Sink& sink) noexcept {
  while (!held_.empty() || undecodable_.is_awaited) {
    if (undecodable_.is_awaited && (everything || undecodable_.t_ns + options_.window_ns <= until_t_ns_)) {
      settle_undecodable(sink);
    } else if (held_.empty()) {
      break;
    } else if (everything) {
      close_oldest(GapReason::End, sink);
    } else if (held_.oldest().packet.t_ns + options_.window_ns <= until_t_ns_) {
      close_oldest(GapReason::Window, sink);
    } else if (held_.count() >= options_.window_packets && held_.newest().packet.t_ns < until_t_ns_) {
      close_oldest(GapReason::Count, sink);
    } else {
      break;
    }
  }
  if (everything && gathering_) end_gathering(sink);
}

}  // namespace stopbit::arbitrate
