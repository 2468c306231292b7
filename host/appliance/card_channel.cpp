#include "host/appliance/card_channel.hpp"

#include <algorithm>

#include "decoder/record/views.hpp"
#include "host/device/record_copy.hpp"
#include "host/feed/description/arbiter_options.hpp"

namespace stopbit::appliance {
namespace {

/// Of one gap: what is 2^31 or more ahead counts as lower.
constexpr std::uint64_t kMostMissing = (std::uint64_t{1} << 31) - 2;

}  // namespace

std::string_view describe(CardFault fault) noexcept {
  switch (fault) {
    case CardFault::None: break;
    case CardFault::Channel: return "a record of a channel that it does not have";
    case CardFault::Template: return "a record of a template that its image does not have";
    case CardFault::Event: return "an event that it does not make";
    case CardFault::Number: return "a record whose sequence number cannot follow the last one";
    case CardFault::Gap: return "a gap that cannot follow the last sequence number";
  }
  return {};
}

CardChannel::CardChannel(const feed::Channel& description, const feed::Target& target, feed::Counts& counts,
                         feed::Watcher& watcher, std::uint32_t stale_after, std::size_t templates)
    : description_(description),
      has_numbers_(feed::arbiter_options(description).sequence_bits != 0),
      templates_(templates),
      target_(target),
      counts_(counts),
      watcher_(watcher),
      health_(stale_after) {}

CardFault CardChannel::take(std::span<const record::Slot> record, std::uint64_t now_ns) noexcept {
  if (const CardFault fault = fault_of(record); fault != CardFault::None) {
    is_unsure_ = true;
    return fault;
  }
  const record::Slot& first = record[0];
  const record::HeaderView header(first);
  const record::EventView event(first);
  if (header.is_event() && event.kind() == record::EventKind::Gap) {
    take_gap(first, now_ns);
    return CardFault::None;
  }
  // A malformed preamble has no number that counts; nor has what the card says of its rings.
  const bool is_of_datagram = !header.is_event() || event.kind() == record::EventKind::Dropped ||
                              (event.kind() == record::EventKind::DecodeError && event.code() != ErrorCode::X9);
  if (is_of_datagram) {
    if (known_ && !has_begun_) go_on_after_known(header.sequence(), header.arrival_ns(), now_ns);
    note_number(first, now_ns);
  }
  publish(record);
  if (is_of_datagram) open_messages_ = 0;
  if (header.is_event()) {
    take_event(first);
    return CardFault::None;
  }
  ++counts_.messages;
  if ((header.flags() & record::kFlagLastOfPacket) != 0) {
    note_success(info_of(first));
  } else {
    open_messages_ = header.message_index() + 1U;
  }
  return CardFault::None;
}

CardFault CardChannel::fault_of(std::span<const record::Slot> record) const noexcept {
  if (const CardFault fault = fault_in_itself(record); fault != CardFault::None) return fault;
  const record::Slot& first = record[0];
  const record::EventView event(first);
  if (record::HeaderView(first).is_event()) {
    if (event.kind() == record::EventKind::Gap) return can_follow_gap(first) ? CardFault::None : CardFault::Gap;
    if (event.kind() == record::EventKind::Lost) return CardFault::None;
    if (event.kind() == record::EventKind::DecodeError && event.code() == ErrorCode::X9) return CardFault::None;
  }
  return can_follow(first) ? CardFault::None : CardFault::Number;
}

CardFault CardChannel::fault_in_itself(std::span<const record::Slot> record) const noexcept {
  const record::Slot& first = record[0];
  const record::HeaderView header(first);
  if (!header.is_event()) return header.template_index() < templates_ ? CardFault::None : CardFault::Template;
  if (record.size() != 1) return CardFault::Event;
  const record::EventView event(first);
  switch (event.kind()) {
    case record::EventKind::Gap: {
      const bool is_possible = has_numbers_ && event.first_missing() == header.sequence() && event.missing() != 0 &&
                               event.missing() <= kMostMissing;
      return is_possible ? CardFault::None : CardFault::Gap;
    }
    case record::EventKind::Lost:
    case record::EventKind::Dropped: return CardFault::None;
    case record::EventKind::DecodeError: return code_text(event.code()).empty() ? CardFault::Event : CardFault::None;
    default: return CardFault::Event;
  }
}

/// The card passes no number that is lower than the last one, but on a carousel: the cycle may have begun with
/// datagrams that left no record.
bool CardChannel::can_follow(const record::Slot& first) const noexcept {
  const record::HeaderView header(first);
  if (!has_numbers_ || !has_begun_ || header.sender_epoch() != sender_epoch_) return true;
  const std::uint32_t sequence = header.sequence();
  if (description_.role == feed::Role::Carousel && sequence - 1 <= kMostUnseen) return true;
  return sequence - last_ <= kMostUnseen;
}

bool CardChannel::can_follow_gap(const record::Slot& first) const noexcept {
  const record::HeaderView header(first);
  if (!has_begun_ || header.sender_epoch() != sender_epoch_) return true;
  const std::uint32_t passed = header.sequence() - 1;
  if (description_.role == feed::Role::Carousel && passed - 1 <= kMostUnseen) return true;
  return passed - last_ <= kMostUnseen;
}

std::uint32_t CardChannel::take_back() noexcept {
  const std::uint32_t messages = open_messages_;
  if (messages == 0 || !has_numbers_) return 0;
  open_messages_ = 0;
  --last_;
  --counts_.datagrams;
  --account_.packets.received[last_line_];
  --account_.packets.delivered;
  --account_.numbers.expected;
  --account_.numbers.delivered;
  return messages;
}

/// Numbers go on after those of an earlier process, or begin anew.
void CardChannel::go_on_after_known(std::uint32_t sequence, std::uint64_t arrival_ns, std::uint64_t now_ns) noexcept {
  const std::uint32_t first = *known_ + 1;
  known_.reset();
  const auto missing = static_cast<std::int32_t>(sequence - first);
  if (missing <= 0 || description_.role == feed::Role::Carousel) return;
  lose(first, static_cast<std::uint32_t>(missing), arbitrate::GapReason::Down, arrival_ns, now_ns);
}

/// A datagram has passed; so have those between the last record and this one, or a gap would have been reported.
void CardChannel::note_number(const record::Slot& first, std::uint64_t now_ns) noexcept {
  const record::HeaderView header(first);
  const std::uint32_t sequence = header.sequence();
  const auto line = header.source() == record::SourceLine::LineB ? 1U : 0U;
  counts_.last_delivery_ns = header.arrival_ns();
  std::uint32_t passed = 1;
  if (!has_numbers_) {
    if (header.message_index() != 0 && !header.is_event()) return;
  } else if (!has_begun_ || header.sender_epoch() != sender_epoch_ || static_cast<std::int32_t>(sequence - last_) < 0) {
    begin_run(first, sequence);
  } else {
    passed = sequence - last_;
    if (is_unsure_ && passed > 1) {
      lose(last_ + 1, passed - 1, arbitrate::GapReason::Overtaken, header.arrival_ns(), now_ns);
      passed = 1;
    }
  }
  if (passed != 0) is_unsure_ = false;
  last_ = sequence;
  counts_.datagrams += passed;
  account_.packets.received[line] += passed;
  account_.packets.delivered += passed;
  if (has_numbers_) {
    account_.numbers.expected += passed;
    account_.numbers.delivered += passed;
  }
  if (passed == 0) return;
  last_line_ = static_cast<std::uint8_t>(line);
  lines_[line].first_copies += passed;
  lines_[line].last_sequence = sequence;
  lines_[line].last_arrival_ns = header.arrival_ns();
}

void CardChannel::begin_run(const record::Slot& first, std::uint32_t sequence) noexcept {
  using Reason = arbitrate::NewRun::Reason;
  const record::HeaderView header(first);
  arbitrate::NewRun run{.reason = Reason::Start, .sequence = sequence, .wall_ns = header.arrival_ns(), .before = {}};
  if (has_begun_) {
    ++epoch_;
    run.reason = description_.role == feed::Role::Carousel ? Reason::Cycle
                 : header.sender_epoch() != sender_epoch_  ? Reason::Sender
                                                           : Reason::SequenceReset;
  }
  run.epoch = epoch_;
  has_begun_ = true;
  sender_epoch_ = header.sender_epoch();
  // The start and a carousel's cycles need no event: records carry their epoch.
  const bool is_reset = run.reason == Reason::Sender || run.reason == Reason::SequenceReset;
  if (is_reset) {
    feed::write_event(target_, description_.number,
                      {.arrival_ns = run.wall_ns, .sequence = sequence, .sender_epoch = epoch_},
                      {.kind = record::EventKind::Reset});
  }
  watcher_.run_begins(run, is_reset);
}

void CardChannel::take_gap(const record::Slot& first, std::uint64_t now_ns) noexcept {
  const record::HeaderView header(first);
  std::uint32_t begin = header.sequence();
  auto count = static_cast<std::uint32_t>(record::EventView(first).missing());
  const std::uint32_t before = begin - 1;
  if (known_ && !has_begun_) go_on_after_known(before, header.arrival_ns(), now_ns);
  // Numbers before the gap have passed without a record. So has the start of a run whose first record comes later.
  std::uint32_t passed = 1;
  if (!has_begun_ || header.sender_epoch() != sender_epoch_ || static_cast<std::int32_t>(before - last_) < 0) {
    begin_run(first, before);
  } else {
    passed = before - last_;
    if (is_unsure_) {
      begin -= passed;
      count += passed;
      passed = 0;
    }
  }
  is_unsure_ = false;
  open_messages_ = 0;  // the card has gone on
  counts_.datagrams += passed;
  account_.packets.received[0] += passed;
  account_.packets.delivered += passed;
  account_.numbers.expected += passed;
  account_.numbers.delivered += passed;
  lose(begin, count, arbitrate::GapReason::Overtaken, header.arrival_ns(), now_ns);
  last_ = begin + count - 1;
}

void CardChannel::lose(std::uint32_t first, std::uint32_t count, arbitrate::GapReason reason, std::uint64_t arrival_ns,
                       std::uint64_t now_ns) noexcept {
  ++gaps_;
  account_.numbers.expected += count;
  account_.numbers.lost += count;
  feed::write_event(target_, description_.number, {.arrival_ns = arrival_ns, .sequence = first, .sender_epoch = epoch_},
                    {.kind = record::EventKind::Gap, .word5 = first, .word6 = count});
  watcher_.gap({.first = first,
                .count = count,
                .epoch = epoch_,
                .reason = reason,
                .wall_ns = arrival_ns,
                .after_t_ns = now_ns,
                .lines = {}});
}

void CardChannel::publish(std::span<const record::Slot> record) noexcept {
  record::Slot first = record[0];
  first.words[3] = device::with_bits(first.words[3], 32, 16, epoch_);
  device::copy_record(record, first, *target_.sink);
}

void CardChannel::take_event(const record::Slot& first) noexcept {
  const Outcome outcome = device::outcome_of(record::EventView(first));
  const PacketInfo info = info_of(first);
  if (outcome.dropped) ++counts_.dropped;
  if (outcome.error == ErrorCode::None) return;
  if (outcome.error == ErrorCode::X9) {
    ++account_.packets.received[info.source == record::SourceLine::LineB ? 1 : 0];
    ++account_.packets.malformed;
    return watcher_.malformed(outcome, info, {});
  }
  watcher_.decode_error(outcome, info, {});
  if (!health_.bad()) return;
  feed::write_event(target_, description_.number, info,
                    {.kind = record::EventKind::Stale, .code = outcome.error, .word6 = info.number});
  watcher_.stale(outcome.error, health_.bad_in_a_row(), info);
}

void CardChannel::note_success(const PacketInfo& info) noexcept {
  if (!health_.good()) return;
  feed::write_event(target_, description_.number, info, {.kind = record::EventKind::Recovered, .word6 = info.number});
  watcher_.recovered(info);
}

/// The card's number of the datagram is in event records only.
PacketInfo CardChannel::info_of(const record::Slot& first) const noexcept {
  const record::HeaderView header(first);
  return {.arrival_ns = header.arrival_ns(),
          .number = header.is_event() ? first.words[6] : 0,
          .sequence = header.sequence(),
          .channel = description_.number,
          .sender_epoch = epoch_,
          .source = header.source(),
          .time_quality = header.time_quality()};
}

}  // namespace stopbit::appliance
