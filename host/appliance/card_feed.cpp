#include "host/appliance/card_feed.hpp"

#include <numeric>
#include <utility>

namespace stopbit::appliance {

Status CardFeed::begin() {
  counter_set_.receiving.set(1);
  counter_set_.channels.set(channels_on_card_);
  counter_set_.engines.set(card_->engines());
  return card_->begin();
}

void CardFeed::look(std::uint64_t now_ns, bool is_quiet) noexcept {
  const bool is_slow = now_ns - std::exchange(last_turn_ns_, now_ns) > kSlowTurnNs;
  if (!is_live()) return;
  const bool begins = !card_->is_looking() && now_ns - last_look_ns_ >= (is_quiet ? kLookNs : kLatestLookNs);
  if (is_slow || (!begins && !card_->is_looking())) serve(now_ns, is_slow);
  if (!is_live()) return;
  if (begins) last_look_ns_ = now_ns;
  if (!begins && !card_->is_looking()) return;
  Result<bool> done = card_->look(now_ns);
  while (is_slow && done && !done.value()) done = card_->look(now_ns);
  if (!done) return fail(done.message());
  if (!done.value()) return;
  publish();
  watch(now_ns);
}

/// The record that was polled last, of a channel that software has.
LiveChannel::Offer CardFeed::offer_to(LiveChannel& channel, const Turn& turn) noexcept {
  using Offer = LiveChannel::Offer;
  using Patience = LiveChannel::Patience;
  if (!is_live()) return Offer::Passed;  // it is about to be left
  // Others have come meanwhile, and have had the same time: none of them waits once more.
  const bool has_waited =
      waits_since_ns_ && turn.read_until_ns >= *waits_since_ns_ && turn.read_until_ns - *waits_since_ns_ >= kWaitNs;
  const Patience patience = !has_waited                                 ? Patience::Wait
                            : channel.was_heard_after(*waits_since_ns_) ? Patience::Pass
                                                                        : Patience::Lose;
  const Offer offer = channel.offer(card_->record(), patience);
  if (offer == Offer::Waits) {
    if (!waits_since_ns_) waits_since_ns_ = turn.now_ns;
    return offer;
  }
  if (!has_waited) waits_since_ns_.reset();
  if (channel.is_on_card()) counter_set_.channels.set(++channels_on_card_);
  return offer;
}

/// The card's groups: a step, or as in look() what a frame takes.
void CardFeed::serve(std::uint64_t now_ns, bool is_slow) noexcept {
  Result<bool> more = card_->serve(now_ns);
  while (is_slow && more && more.value()) more = card_->serve(now_ns);
  if (!more) fail(more.message());
}

void CardFeed::finish(std::uint64_t now_ns) noexcept {
  if (!is_live()) return;
  card_->end();
  // A look that had begun has counters of before.
  for (int looks = card_->is_looking() ? 2 : 1; looks > 0; --looks) {
    Result<bool> done = card_->look(now_ns);
    while (done && !done.value()) done = card_->look(now_ns);
    if (done) publish();
  }
  card_->leave(now_ns);
  counter_set_.receiving.set(0);
}

void CardFeed::note_beside(std::uint64_t now_ns) noexcept {
  if (beside_++ == 0) first_beside_ns_ = now_ns;
  last_beside_ns_ = now_ns;
}

/// Ports that bring the same datagrams know when the card is deaf: its cable, its switch, its membership of the groups;
/// or numbers that begin anew, which the card takes for late.
void CardFeed::watch(std::uint64_t now_ns) noexcept {
  const std::uint64_t decoded = card_->counters().datagrams_decoded;
  if (std::exchange(decoded_, decoded) != decoded) {
    beside_ = 0;
    return;
  }
  if (beside_ == 0 || last_beside_ns_ - first_beside_ns_ <= kDeafNs) return;
  fail("it has decoded nothing for " + std::to_string((now_ns - first_beside_ns_) / 1'000'000) +
       " ms, in which the ports of its channels received " + std::to_string(beside_) + " datagrams");
}

void CardFeed::publish() const noexcept {
  const device::Counters counters = counters_before_ + card_->counters();
  const auto& verdicts = counters.verdicts;
  port_.frames.set(std::accumulate(verdicts.begin(), verdicts.end(), std::uint64_t{0}));
  port_.bytes.set(counters.datagram_bytes);
  port_.nic.set(verdicts[device::kVerdictOverflow] + counters.datagrams_dropped);
  port_.foreign.set(verdicts[device::kVerdictFiltered]);
  for (std::size_t i = 0; i < net::kVerdicts; ++i) port_.verdicts[i].set(verdicts[i]);
  // Software finds out later that nobody wants a datagram.
  port_.verdicts[0].set(verdicts[0] + verdicts[device::kVerdictFiltered]);
  counter_set_.frames_bad.set(verdicts[device::kVerdictFrameBad]);
  counter_set_.passed.set(counters.line_passed);
  counter_set_.duplicate.set(counters.line_duplicates);
  counter_set_.late.set(counters.line_late);
  counter_set_.gaps.set(counters.gaps);
  counter_set_.missing.set(counters.numbers_missing);
  counter_set_.withdrawn.set(counters.records_withdrawn);
  const std::int64_t error_ns = card_->clock().error_ns();
  counter_set_.clock_error_ns.set(error_ns < 0 ? -static_cast<std::uint64_t>(error_ns)
                                               : static_cast<std::uint64_t>(error_ns));
  counter_set_.clock_jumps.set(jumps_before_ + card_->clock().jumps());
  const device::StationCounters station = card_->station() + station_before_;
  counter_set_.queries.set(station.frames.queries);
  counter_set_.reports.set(station.frames.reports);
  counter_set_.arp_replies.set(station.frames.replies);
  counter_set_.station_refused.set(station.frames.refused);
  counter_set_.station_lost.set(station.lost);
  counter_set_.send_stuck_ns.set(station.stuck_ns);
}

void CardFeed::note(CardFault fault) noexcept {
  counter_set_.faults.set(faults_before_ + ++faults_);
  if (faults_ == 1) first_fault_.store(fault, std::memory_order_relaxed);
  if (faults_ < kMostFaults) return;
  fail("it has sent " + std::to_string(faults_) + " records and events that no working card sends, the last one " +
       std::string(describe(fault)));
}

void CardFeed::fail(std::string why) noexcept {
  if (!is_live()) return;
  problem_ = std::move(why);
  card_->end();
  counters_before_ = counters_before_ + card_->counters();
  station_before_ = card_->station() + station_before_;
  jumps_before_ += card_->clock().jumps();
  faults_before_ += faults_;
  counter_set_.receiving.set(0);
  counter_set_.failures.add();
  is_waiting_ = false;
  waits_since_ns_.reset();
  state_.store(State::Failed, std::memory_order_relaxed);
}

void CardFeed::left(std::uint64_t recalled) noexcept {
  recalled_ = recalled;
  recalled_before_ += recalled;
  counter_set_.recalled.set(recalled_before_);
  channels_on_card_ = 0;
  counter_set_.channels.set(0);
  if (is_over_.load(std::memory_order_relaxed)) channels_ = {};
  state_.store(State::Left, std::memory_order_release);
}

void CardFeed::come_back(std::unique_ptr<device::LiveCard> card) noexcept {
  card_ = std::move(card);
  decoded_ = beside_ = first_beside_ns_ = last_beside_ns_ = 0;
  faults_ = 0;
  has_told_ = false;
  is_new_ = true;
  is_waiting_ = false;
  counter_set_.receiving.set(1);
  counter_set_.returns.add();
  state_.store(State::Live, std::memory_order_release);
}

std::string CardFeed::take_fault() {
  const CardFault fault = first_fault_.load(std::memory_order_relaxed);
  if (fault == CardFault::None || std::exchange(has_told_fault_, true)) return {};
  return std::string(describe(fault));
}

std::string CardFeed::take_failure() {
  if (state_.load(std::memory_order_acquire) != State::Left || std::exchange(has_told_, true)) return {};
  return problem_ + "; software takes over with " + std::to_string(recalled_) + " datagrams of the recorder";
}

}  // namespace stopbit::appliance
