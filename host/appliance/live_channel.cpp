#include "host/appliance/live_channel.hpp"

#include <algorithm>
#include <utility>

#include "host/feed/channel/error_text.hpp"

namespace stopbit::appliance {
namespace {

ChannelState state_of(feed::Quality quality) noexcept {
  switch (quality) {
    case feed::Quality::Unknown: return ChannelState::Waiting;
    case feed::Quality::Good: return ChannelState::Live;
    case feed::Quality::Stale: return ChannelState::Stale;
  }
  return ChannelState::Waiting;
}

}  // namespace

LiveChannel::LiveChannel(const feed::Channel& description, std::uint32_t index, RecordOutput& output,
                         const ChannelCounterSet& counter_set, Shared& shared, KnownRun* run)
    : description_(description),
      index_(index),
      output_(output),
      target_(output.target(feed::engine_rule(description.framing))),
      counter_set_(counter_set),
      shared_(shared),
      decoder_(description_, shared.channel_options, target_, counts_, *this),
      run_(run) {}

void LiveChannel::begin(const LiveChannel* before, bool goes_on) noexcept {
  counter_set_.clear();
  if (before != nullptr) decoder_.go_on_from(before->decoder_, goes_on);
  if (goes_on) return;
  decoder_.reset();
  leave();
}

void LiveChannel::leave() noexcept {
  if (description_.map.empty()) return;
  if (market::Translator* const translator = output_.translator()) {
    translator->begin_anew(description_.number, shared_.newest_ns);
  }
}

void LiveChannel::note_beside_card(std::span<const std::byte> datagram) noexcept {
  if (description_.framing.kind != net::FramingKind::T7) return;  // no other preamble names its sender
  const net::Preamble preamble = net::read_preamble(description_.framing, datagram);
  if (preamble.error == ErrorCode::None) sender_beside_card_ = preamble.sender;
}

void LiveChannel::leave_card() noexcept {
  if (!is_on_card()) return;
  has_left_card_ = has_just_left_ = true;
  decoder_.image_changed();  // the dictionary is the card's
  const std::uint32_t messages = messages_left_open_ = card_->take_back();
  const auto last = card_->last();
  if (last) decoder_.resume_after(sender_beside_card_, *last, card_->epoch(), shared_.now_ns);
  if (last && messages != 0) decoder_.expect_rest(*last + 1, card_->epoch(), messages);
}

LiveChannel::Offer LiveChannel::offer(std::span<const record::Slot> record, Patience patience) noexcept {
  const record::HeaderView header(record[0]);
  const record::EventView event(record[0]);
  const bool is_gap = header.is_event() && event.kind() == record::EventKind::Gap;
  const bool is_of_datagram = !header.is_event() || event.kind() == record::EventKind::Dropped ||
                              (event.kind() == record::EventKind::DecodeError && event.code() != ErrorCode::X9);
  if (card_->fault_in_itself(record) != CardFault::None) return Offer::Wrong;
  if (!is_gap && !is_of_datagram) return Offer::Passed;
  const auto next = next_sequence();
  if (!next) {
    return_to_card(header, std::nullopt, true);
    return Offer::Taken;
  }
  const std::uint16_t epoch = decoder_.arbiter().epoch();
  if (!is_of_run_beside(header.sender_epoch())) {
    overlaps_in_.reset();
    return Offer::Passed;
  }
  const auto last = static_cast<std::uint32_t>(*next - 1);
  const std::uint32_t first = header.sequence();
  const std::uint32_t end = is_gap ? first + static_cast<std::uint32_t>(event.missing()) - 1 : first;
  const auto ahead = static_cast<std::int32_t>(end - last);
  const bool is_end = header.is_event() || (header.flags() & record::kFlagLastOfPacket) != 0;
  // If numbers have begun anew since, this may be one of before, which only its neighbours tell.
  const bool is_sure = epoch == epoch_at_return_;
  if (ahead < 0 || (ahead == 0 && !(is_end && is_sure))) {
    overlaps_in_ = epoch;
    return Offer::Passed;
  }
  if (static_cast<std::int32_t>(first - last) > static_cast<std::int32_t>(CardChannel::kMostUnseen)) {
    overlaps_in_.reset();
    return Offer::Passed;  // no card on the channel would be believed that
  }
  // The card may have published the beginning of this datagram before it failed, and software nothing since.
  const std::uint32_t begun = ahead == 1 && !decoder_.arbiter().next_sequence() ? messages_left_open_ : 0;
  if (!header.is_event() && header.message_index() < begun) return Offer::Passed;
  // Software may have what the card has missed. The rest of a datagram is of use to nothing but its beginning.
  const bool is_rest = !header.is_event() && header.message_index() != begun;
  const bool overlaps = ahead == 0 || (!is_gap && ahead == 1 && is_sure) || overlaps_in_ == epoch;
  if (ahead > 0 && (is_gap || is_rest || !overlaps)) {
    if (patience == Patience::Wait) return Offer::Waits;
    const bool is_part = is_rest || (is_gap && static_cast<std::int32_t>(first - last) <= 0);
    if (patience == Patience::Pass || is_part || !is_sure) {
      overlaps_in_.reset();
      return Offer::Passed;
    }
  }
  decoder_.finish();
  // Packets that were set aside had the next numbers.
  if (next_sequence() != next) return offer(record, patience);
  return_to_card(header, last, overlaps);
  return ahead == 0 ? Offer::Passed : Offer::Taken;
}

/// Numbers of two senders say nothing about each other. A card says that the sender has changed, not to which one; so
/// card and software are in one run again once both have changed it.
bool LiveChannel::is_of_run_beside(std::uint16_t epoch_of_card) noexcept {
  const std::uint64_t sender = decoder_.arbiter().next_sequence() ? decoder_.arbiter().sender() : sender_beside_card_;
  if (beside_) {
    const bool card_has_changed = epoch_of_card != beside_->epoch_of_card;
    if (card_has_changed != (sender != beside_->sender)) return false;
  }
  beside_ = {.epoch_of_card = epoch_of_card, .sender = sender};
  return true;
}

void LiveChannel::return_to_card(const record::HeaderView& first, std::optional<std::uint32_t> last,
                                 bool is_sure) noexcept {
  if (decoder_.arbiter().next_sequence()) sender_beside_card_ = decoder_.arbiter().sender();
  if (last) card_->go_on_after(*last, decoder_.arbiter().epoch(), first.sender_epoch(), is_sure);
  decoder_.hand_over();
  has_left_card_ = false;
}

bool LiveChannel::is_after_card(std::span<const std::byte> datagram) const noexcept {
  if (!has_just_left_) return false;
  // A carousel's numbers come again: its next cycle brings everything.
  if (!card_ || !card_->has_numbers() || description_.role == feed::Role::Carousel) return false;
  const net::Preamble preamble = net::read_preamble(description_.framing, datagram);
  if (preamble.error != ErrorCode::None) return false;
  const auto last = card_->last();
  return !last || static_cast<std::int32_t>(static_cast<std::uint32_t>(preamble.sequence) - *last) > 0;
}

std::optional<std::uint64_t> LiveChannel::next_sequence() const noexcept {
  const auto next = decoder_.arbiter().next_sequence();
  if (next || !card_ || !card_->last()) return next;
  return std::uint64_t{*card_->last() + 1};
}

arbitrate::Account LiveChannel::account() const noexcept {
  arbitrate::Account account = decoder_.arbiter().total();
  if (card_) account += card_->account();
  return account;
}

void LiveChannel::remember() noexcept {
  if (run_ == nullptr) return;
  const auto next = next_sequence();
  const std::uint64_t era = output_.era(description_.number);
  if (!next || counts_.last_delivery_ns == 0 || (*next == remembered_ && era == remembered_era_)) return;
  remembered_ = *next;
  remembered_era_ = era;
  const std::uint64_t sender = is_on_card() ? sender_beside_card_ : decoder_.arbiter().sender();
  run_->store({.sender = sender, .day = day_of_ns(counts_.last_delivery_ns)}, *next - 1, era);
}

void LiveChannel::decode_error(const Outcome& outcome, const PacketInfo& info,
                               std::span<const std::byte> datagram) noexcept {
  (outcome.error == ErrorCode::D9 ? counter_set_.unknown_template : counter_set_.decode_errors).add();
  note_error(outcome, info, datagram);
}

void LiveChannel::malformed(const Outcome& outcome, const PacketInfo& info,
                            std::span<const std::byte> datagram) noexcept {
  note_error(outcome, info, datagram);
}

void LiveChannel::note_error(const Outcome& outcome, const PacketInfo& info,
                             std::span<const std::byte> datagram) noexcept {
  const feed::Excerpt bytes = feed::excerpt(datagram, outcome.offset_bytes);
  const counters::ErrorFact fact{.time_ns = info.arrival_ns,
                                 .channel = info.channel,
                                 .template_index = outcome.template_index,
                                 .block = outcome.block,
                                 .word = outcome.word,
                                 .code = static_cast<std::uint8_t>(outcome.error),
                                 .sequence = info.sequence,
                                 .template_id = outcome.template_id,
                                 .offset = outcome.offset_bytes,
                                 .sample_begin = bytes.begin,
                                 .sample = std::span(bytes.bytes).first(bytes.size)};
  // A card keeps the bytes to itself.
  if (shared_.counter_set.errors.add(fact) && !is_on_card()) keep_error_sample(fact, info.data_offset, datagram);
}

/// Another thread explains it. Keeps one copy for each kind of error, up to the number of slots for kinds.
void LiveChannel::keep_error_sample(const counters::ErrorFact& fact, std::uint32_t data_offset,
                                    std::span<const std::byte> datagram) noexcept {
  ErrorSample sample;
  sample.channel = index_;
  sample.generation = output_.generation();
  sample.template_index = fact.template_index;
  sample.block = fact.block;
  sample.word = fact.word;
  sample.code = static_cast<ErrorCode>(fact.code);
  sample.is_joined = description_.framing.kind == net::FramingKind::B3 && data_offset != 0;
  sample.time_ns = fact.time_ns;
  sample.data_offset = data_offset;
  sample.size = static_cast<std::uint32_t>(datagram.size());
  const auto kept = datagram.first(std::min(datagram.size(), ErrorSample::kMaxBytes));
  std::copy(kept.begin(), kept.end(), sample.bytes.begin());
  shared_.error_samples.push(sample);
}

void LiveChannel::stale(ErrorCode code, std::uint32_t datagrams, const PacketInfo& info) noexcept {
  counter_set_.stale_events.add();
  shared_.notices.push({.kind = AgentEvent::Kind::Stale,
                        .channel = index_,
                        .time_ns = info.arrival_ns,
                        .count = datagrams,
                        .detail = static_cast<std::uint8_t>(code)});
}

void LiveChannel::recovered(const PacketInfo& info) noexcept {
  shared_.notices.push({.kind = AgentEvent::Kind::Recovered, .channel = index_, .time_ns = info.arrival_ns});
}

/// How long the thread did not run while the numbers of the gap passed. Packets without a stamp have the time at which
/// they were read, at most two windows after a stall. What shows a leap may have waited long, or have come before the
/// last number of the run did: the numbers between may have passed at any time up to now.
std::uint64_t LiveChannel::stall_of(const arbitrate::Gap& gap) const noexcept {
  const std::uint64_t begin = gap.before_t_ns != 0 ? gap.before_t_ns : gap.after_t_ns;
  const bool has_waited = gap.reason == arbitrate::GapReason::Leap || gap.before_t_ns > gap.after_t_ns;
  const std::uint64_t end = has_waited ? shared_.now_ns : gap.after_t_ns + description_.window.time_ns;
  std::uint64_t longest = 0;
  for (const Shared::Stall& stall : shared_.stalls) {
    if (stall.end_ns + 2 * description_.window.time_ns <= begin || stall.begin_ns >= end || stall.end_ns == 0) continue;
    longest = std::max(longest, stall.end_ns - stall.begin_ns);
  }
  return longest;
}

void LiveChannel::gap(const arbitrate::Gap& gap) noexcept {
  RememberedGap& remembered = gaps_[next_gap_++ % kRememberedGaps];
  tell_late(remembered);
  remembered = {.first = gap.first, .count = gap.count, .epoch = gap.epoch};
  const std::uint64_t dropped_ns = shared_.dropped_here_ns;
  shared_.notices.push({.kind = AgentEvent::Kind::Gap,
                        .channel = index_,
                        .time_ns = shared_.is_live ? gap.wall_ns : 0,
                        .first = gap.first,
                        .count = gap.count,
                        .epoch = gap.epoch,
                        .detail = static_cast<std::uint8_t>(gap.reason),
                        .lines = gap.lines,
                        .before_t_ns = gap.before_t_ns,
                        .after_t_ns = gap.after_t_ns,
                        .read_until_ns = shared_.is_live ? shared_.read_until_ns : ~std::uint64_t{0},
                        .stall_ns = stall_of(gap),
                        .dropped_here = dropped_ns != 0 && shared_.now_ns - dropped_ns <= kDropsExplainNs});
  freeze();
  // Else the books say what they miss.
  if (description_.map.empty()) want(gap.first, gap.first + gap.count - 1);
}

void LiveChannel::want(std::uint64_t first, std::uint64_t last) noexcept {
  if (link_ == nullptr || last < first) return;
  const std::uint64_t wrap = arbitrate::options_for(description_.framing).sequence_bits < 64 ? ~std::uint32_t{0} : 0;
  const std::uint64_t count = last - first;
  if (wrap != 0) first &= wrap;
  // No service knows numbers that wrap: what comes before that is asked for.
  if (wrap != 0 && count > wrap - first) {
    last = wrap;
  } else {
    last = first + count;
  }
  is_asking_ = true;
  (void)link_->wants.push({.kind = ReplayWant::Kind::Missing,
                           .channel = key_,
                           .epoch = decoder_.arbiter().epoch(),
                           .first = first,
                           .last = last});
}

void LiveChannel::look_if_healed() noexcept {
  if (!is_asking_ || !output_.has_healed()) return;
  is_asking_ = false;
  (void)link_->wants.push({.kind = ReplayWant::Kind::Healed, .channel = key_, .epoch = decoder_.arbiter().epoch()});
}

bool LiveChannel::recover(const ReplayAnswer& answer) noexcept {
  const bool is_of_use = decoder_.recover({.message = answer.message,
                                           .sequence = answer.number,
                                           .epoch = answer.epoch,
                                           .arrival_ns = answer.arrival_ns,
                                           .number = ++shared_.datagrams});
  if (!is_of_use) return false;
  for (RememberedGap& gap : gaps_) {
    if (answer.number - gap.first >= gap.count) continue;
    ++gap.replayed;
    if (gap.replayed == gap.count) tell_late(gap);
    break;
  }
  return true;
}

/// Of a replay that is under way, so often that people can follow it.
void LiveChannel::tell_replayed(std::uint64_t now_ns) noexcept {
  if (link_ == nullptr || now_ns - told_replayed_ns_ < kTellReplayedNs) return;
  told_replayed_ns_ = now_ns;
  for (RememberedGap& gap : gaps_) {
    if (gap.replayed != gap.told_replayed) tell_late(gap);
  }
}

/// Keeps the packets around the present one on disk.
void LiveChannel::freeze() noexcept {
  if (shared_.recorder == nullptr) return;
  // In the time of the packets, which need not be that of the clock.
  for (const std::uint32_t line : record_as) {
    if (line != kNotRecorded) shared_.recorder->freeze(shared_.newest_ns, line);
  }
}

void LiveChannel::conflict(const arbitrate::Conflict& conflict) noexcept {
  if (std::exchange(has_told_conflict_, true)) return;
  shared_.notices.push({.kind = AgentEvent::Kind::Conflict,
                        .channel = index_,
                        .time_ns = conflict.wall_ns,
                        .first = conflict.sequence,
                        .detail = static_cast<std::uint8_t>(conflict.line)});
  freeze();
}

void LiveChannel::run_begins(const arbitrate::NewRun& run, bool is_reset) noexcept {
  if (is_reset || run.reason == arbitrate::NewRun::Reason::Cycle) {
    for (RememberedGap& gap : gaps_) tell_late(gap);
    gaps_ = {};  // their numbers come again
  }
  const bool is_first = run.reason == arbitrate::NewRun::Reason::Start;
  if (const auto sender = std::exchange(books_sender_, std::nullopt); is_first && sender && *sender != run.sender) {
    if (market::Translator* const translator = output_.translator()) {
      translator->begin_anew(description_.number, run.wall_ns);
    }
  }
  // A carousel begins a cycle every second or so: not worth a notice.
  if (run.reason == arbitrate::NewRun::Reason::Cycle) return;
  has_told_conflict_ = false;
  if (link_ != nullptr && !is_first) {
    is_asking_ = false;
    (void)link_->wants.push({.kind = ReplayWant::Kind::Forget, .channel = key_, .epoch = run.epoch});
  }
  shared_.notices.push({.kind = AgentEvent::Kind::Run,
                        .channel = index_,
                        .time_ns = run.wall_ns,
                        .first = run.sequence,
                        .epoch = run.epoch,
                        .detail = static_cast<std::uint8_t>(run.reason)});
}

/// Whether a late packet brings, or completes, the number at this place of the gap for the first time. Lines bring what
/// was given up twice, and other senders bring it again.
bool LiveChannel::RememberedGap::is_new(std::uint64_t at, const net::Preamble& preamble) noexcept {
  if (at < came.size() ? came[at] : at < beyond) return false;
  if (preamble.chunks > 1) {
    if (chunked != preamble.sequence) chunks = 0;
    chunked = preamble.sequence;
    chunks |= std::uint64_t{1} << (preamble.chunk - 1);
    if (chunks != ~std::uint64_t{0} >> (64 - preamble.chunks)) return false;
  }
  if (at < came.size()) {
    came.set(at);
  } else {
    beyond = at + 1;
  }
  return true;
}

void LiveChannel::late(const arbitrate::Packet& packet, std::uint64_t late_ns) noexcept {
  for (RememberedGap& gap : gaps_) {
    if (packet.preamble.sequence - gap.first >= gap.count) continue;
    if (!gap.is_new(packet.preamble.sequence - gap.first, packet.preamble)) return;
    ++gap.late;
    gap.late_by_ns = std::max(gap.late_by_ns, late_ns);
    // A notice for the first one, then for twice as many each time: a line that is late for good must not fill the log.
    if (gap.late >= 2 * gap.told_late) tell_late(gap);
    return;
  }
}

void LiveChannel::tell_late(RememberedGap& gap) noexcept {
  if (gap.late == gap.told_late && gap.replayed == gap.told_replayed) return;
  gap.told_late = gap.late;
  gap.told_replayed = gap.replayed;
  shared_.notices.push({.kind = AgentEvent::Kind::Late,
                        .channel = index_,
                        .time_ns = shared_.newest_ns,
                        .first = gap.first,
                        .count = gap.late,
                        .replayed = gap.replayed,
                        .epoch = gap.epoch,
                        .stall_ns = gap.late_by_ns});
}

void LiveChannel::tell(const market::LossEffect& effect) noexcept {
  shared_.notices.push({.kind = AgentEvent::Kind::Books,
                        .channel = index_,
                        .time_ns = shared_.is_live ? shared_.newest_ns : 0,
                        .first = effect.first,
                        .epoch = effect.epoch,
                        .effect = effect});
}

/// Packets that come although nothing is delivered, for longer than two windows: a channel that looks alive and is not.
/// Windows end by the time of the packets, which in a slow capture passes more slowly than that of this thread.
void LiveChannel::watch_for_silence(const arbitrate::Account& account) noexcept {
  const arbitrate::Packets& packets = account.packets;
  const std::uint64_t in_vain = packets.late + packets.malformed + packets.incomplete + packets.held;
  if (packets.delivered != last_delivered_) {
    last_delivered_ = packets.delivered;
    last_in_vain_ = in_vain;
    in_vain_since_ns_ = 0;
    if (!std::exchange(is_blind_, false)) return;
    shared_.notices.push({.kind = AgentEvent::Kind::Recovered, .channel = index_, .time_ns = shared_.newest_ns});
  } else if (in_vain != last_in_vain_) {
    last_in_vain_ = in_vain;
    if (in_vain_since_ns_ == 0) in_vain_since_ns_ = newest_t_ns_;
    if (is_blind_ || newest_t_ns_ - in_vain_since_ns_ <= 2 * description_.window.time_ns) return;
    is_blind_ = true;
    counter_set_.stale_events.add();
    shared_.notices.push({.kind = AgentEvent::Kind::Blind,
                          .channel = index_,
                          .time_ns = shared_.newest_ns,
                          .count = newest_t_ns_ - in_vain_since_ns_});
  }
}

void LiveChannel::finish() noexcept {
  decoder_.finish();
  remember();
  for (RememberedGap& gap : gaps_) tell_late(gap);
  publish(shared_.now_ns);
}

void LiveChannel::publish(std::uint64_t now_ns) noexcept {
  const arbitrate::Arbiter& arbiter = decoder_.arbiter();
  const arbitrate::Account account = this->account();
  watch_for_silence(account);
  tell_replayed(now_ns);
  for (std::size_t i = 0; i < 2; ++i) {
    if (description_.lines[i]) publish_line(i, account);
  }
  counter_set_.replayed.set(account.packets.received[static_cast<std::size_t>(arbitrate::Line::Replay)]);
  counter_set_.delivered.set(account.packets.delivered);
  counter_set_.duplicate.set(account.packets.duplicate);
  counter_set_.late.set(account.packets.late);
  counter_set_.held.set(account.packets.held);
  counter_set_.malformed.set(account.packets.malformed);
  counter_set_.incomplete.set(account.packets.incomplete);
  counter_set_.numbers.set(account.numbers.expected);
  counter_set_.numbers_delivered.set(account.numbers.delivered);
  counter_set_.numbers_recovered.set(account.numbers.recovered);
  counter_set_.numbers_lost.set(account.numbers.lost);
  counter_set_.numbers_held.set(account.numbers.held);
  counter_set_.gaps.set(arbiter.gaps() + (card_ ? card_->gaps() : 0));
  counter_set_.conflicts.set(arbiter.conflicts());
  if (card_) {
    counter_set_.on_card.set(is_on_card() ? 1 : 0);
    counter_set_.card_packets.set(card_->account().packets.delivered);
    counter_set_.card_gaps.set(card_->gaps());
    counter_set_.card_lost.set(card_->account().numbers.lost);
  }
  counter_set_.epoch.set(is_on_card() ? card_->epoch() : arbiter.epoch());
  counter_set_.next_sequence.set(next_sequence().value_or(0));
  const feed::Quality quality = is_on_card() ? card_->quality() : decoder_.decoder().quality();
  counter_set_.state_code.set(static_cast<std::uint64_t>(is_blind_ ? ChannelState::Stale : state_of(quality)));
  counter_set_.last_delivery_ns.set(counts_.last_delivery_ns);
  counter_set_.datagrams.set(counts_.datagrams);
  counter_set_.messages.set(counts_.messages);
  counter_set_.waiting_for_reset.set(counts_.dropped);
}

void LiveChannel::publish_line(std::size_t line, const arbitrate::Account& account) noexcept {
  const LineCounterSet& to = counter_set_.lines[line];
  const arbitrate::LineStats& from = decoder_.arbiter().line(static_cast<arbitrate::Line>(line));
  const arbitrate::LineStats of_card = card_ ? card_->line(line) : arbitrate::LineStats();
  const arbitrate::LineStats& latest = from.last_arrival_ns >= of_card.last_arrival_ns ? from : of_card;
  to.packets.set(account.packets.received[line]);
  to.missing.set(from.missing);
  to.saved.set(from.saved);
  to.first.set(from.first_copies + of_card.first_copies);
  to.last_sequence.set(latest.last_sequence);
  to.last_arrival_ns.set(latest.last_arrival_ns);
  to.last_heard_ns.set(heard_ns_[line]);
  for (std::size_t b = 0; b < from.behind.buckets.size(); ++b) {
    if (from.behind.buckets[b] == 0) continue;
    to.skew.set_bucket(b == 0 ? 0 : b < 64 ? (std::uint64_t{1} << b) - 1 : ~std::uint64_t{0}, from.behind.buckets[b]);
  }
}

}  // namespace stopbit::appliance
