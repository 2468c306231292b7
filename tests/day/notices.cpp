// What the notices of an agent say beyond what its arbiters do: the causes of gaps, and how much came late.

#include <algorithm>

#include "tests/day/oracle.hpp"

namespace stopbit::day {
namespace {

using arbitrate::GapReason;

constexpr std::uint64_t kDropsExplainNs = 1'300'000'000;  ///< What the agent allows, and the longest stall.

}  // namespace

/// Whether the cause that a person reads is what happened to the numbers. A gap of several may have several: a drop of
/// this machine is told before what the lines did.
void Oracle::check_cause(std::size_t index, const Gap& gap, std::uint64_t first) {
  Channel& channel = channels_[index];
  const Run& run = day_.runs[index][*channel.run];
  const ChannelPlan& plan = day_.channels[index];
  channel.told_gaps.push_back({gap.gap.first, gap.gap.count, gap.gap.epoch, *channel.run, first});

  std::uint64_t in_kernel = 0;
  std::uint64_t in_card = 0;
  std::uint64_t on_down_line = 0;
  std::uint64_t in_hand = 0;
  std::uint64_t known = 0;
  // Strangers make gaps of any length: only what the exchange has sent is looked at.
  for (std::uint64_t at = 0; at < run.numbers.size(); ++at) {
    if (run.first + at - first >= gap.gap.count) continue;
    const Number& number = run.numbers[at];
    if (number.sent_ns == 0 || number.is_tainted) continue;
    const auto has = [&](Fate fate) { return number.fate[0] == fate || number.fate[1] == fate; };
    ++known;
    in_kernel += has(Fate::Kernel) ? 1 : 0;
    in_card += has(Fate::Card) ? 1 : 0;
    on_down_line += has(Fate::LineDown) ? 1 : 0;
    in_hand += number.any_order != ~0U ? 1 : 0;
  }
  const Cause cause = gap.blame.cause;
  const auto fail_with = [&](const char* what) {
    fail(index, fmt::format("the gap of {} at {} is put down to \"{}\": {}", gap.gap.count, gap.gap.first,
                            to_text(cause), what));
  };
  switch (gap.gap.reason) {
    case GapReason::Down:
      if (cause != Cause::Down) fail_with("the appliance was down");
      return;
    case GapReason::Switch:
      if (cause != Cause::Switch) fail_with("another run had the channel");
      return;
    case GapReason::End: return;
    default: break;
  }
  if (cause == Cause::Down || cause == Cause::Switch) fail_with("it was neither");
  const bool drops_explain = kernel_drop_ns_ != 0 && until_ns_ - std::min(until_ns_, kernel_drop_ns_) < kDropsExplainNs;
  if (cause == Cause::LocalDrop && !drops_explain) fail_with("nothing was dropped here");
  if (cause == Cause::Stall && gap.blame.stall_ns == 0) fail_with("there was no stall");
  if (known == 0) return;
  if (in_kernel != 0 && cause != Cause::LocalDrop) fail_with("a socket had no room");
  // Where some of the numbers came and had no room, that is a true cause, too.
  const bool had_no_room = cause == Cause::Room && in_hand != 0;
  // Numbers in front of one that came more than two windows after the pause seem to have been sent after it, too.
  const std::uint64_t at = first - run.first;
  const auto shows = [&](const Span& pause) {
    const std::uint64_t late_ns = pause.end_ns + 2 * plan.options.window_ns;
    return pause.begin_ns < until_ns_ && run.numbers[at - 1].any_low_ns <= late_ns;
  };
  const bool is_before = at > 0 && at <= run.numbers.size() && run.numbers[at - 1].told == Number::Told::Delivered;
  const bool shows_pause = !is_before || std::any_of(day_.pauses.begin(), day_.pauses.end(), shows);
  if (in_card != 0 && cause != Cause::LocalDrop && gap.blame.stall_ns == 0 && !had_no_room && shows_pause)
    fail_with("the card had no room in a pause");
  if (cause == Cause::LineDown && gap.blame.knows_before && on_down_line == 0 && at > 0 && at <= run.numbers.size()) {
    const Number& before = run.numbers[at - 1];
    const auto brought = [&](std::size_t line) { return before.fate[line] == Fate::HandedOut || line >= plan.lines; };
    if (brought(0) && brought(1)) fail_with("every line was up");
  }
}

void Oracle::late_of_gap(std::size_t index, std::uint64_t first, std::uint64_t count, std::uint16_t epoch) {
  tell(index, "late: {} of the gap at {} of run {}", count, first, epoch);
  this->count(Count::Late);
  const std::vector<ToldGap>& gaps = channels_[index].told_gaps;
  const auto told = std::find_if(gaps.rbegin(), gaps.rend(),
                                 [&](const ToldGap& gap) { return gap.first == first && gap.epoch == epoch; });
  if (told == gaps.rend()) return;  // of a stranger
  if (count > told->count) fail(index, fmt::format("of {} numbers from {}, {} came late", told->count, first, count));
  // A long one is a leap: what strangers bring there is told as late, too.
  if (told->count > std::max(64U, day_.channels[index].options.window_packets)) return;
  std::uint64_t came = 0;
  const std::uint64_t mask = channels_[index].mask;
  for (std::uint32_t which = 0; which < day_.runs[index].size(); ++which) {
    // What another run brings with such a number cannot be distinguished from it.
    for (Run& run = day_.runs[index][which]; Number & number : run.numbers) {
      const std::uint64_t at = run.first + static_cast<std::uint64_t>(&number - run.numbers.data());
      if (((at - told->first) & mask) >= told->count) continue;
      // In a batch it was handed out before the gap was told.
      const bool has_come = *std::max_element(number.order.begin(), number.order.begin() + number.chunks) != ~0U;
      if (has_come && which == told->run && number.told == Number::Told::Lost) number.is_told_late = true;
      came += has_come || number.has_broken_copy || number.is_tainted ? 1 : 0;
    }
  }
  for (std::uint64_t at = 0; at < told->count; ++at) {
    came += channels_[index].of_strangers.contains((told->first + at) & mask) ? 1 : 0;
  }
  if (count > came) fail(index, fmt::format("{} numbers from {} are told as late, and {} came", count, first, came));
}

}  // namespace stopbit::day
