#include "host/market/stage/translator.hpp"

#include <algorithm>

#include "decoder/record/frame.hpp"
#include "host/market/stage/condition.hpp"

namespace stopbit::market {
namespace {

/// What the map's numbers count.
ScopeOf scope_of(const Map& map) noexcept {
  if (map.entry_number != kNoSlot) return ScopeOf::Instrument;
  return map.source.scope.empty() ? ScopeOf::Channel : ScopeOf::Product;
}

std::uint32_t replacement_room(const Map& map, const RecoveryOptions& options) noexcept {
  const auto& rules = map.source.messages;
  return std::any_of(rules.begin(), rules.end(), [](const MessageRule& rule) { return rule.replaces; })
             ? options.picture
             : 0;
}

}  // namespace

Translator::Translator(const Map& map, const Program& program, InstrumentTable& instruments, BookSet& books,
                       Publisher& publisher, std::uint64_t salt, const RecoveryOptions& recovery,
                       const BookRoom& beside)
    : map_(map),
      instruments_(instruments),
      books_(books),
      extractor_(map, program),
      values_(extractor_.values()),
      scope_(scope_of(map)),
      amounts_(map, values_),
      routes_(map, values_),
      exchange_clock_(map.source.time_format, map.source.utc_offset_s),
      writer_(publisher, books, message_, counts_),
      states_(instruments, books, writer_, message_),
      directory_(map, values_, amounts_, message_, instruments, states_, salt),
      shapes_(map, instruments, books, counts_),
      products_(recovery.products, instruments.view().capacity(), salt),
      restarts_(map.source.restarts_at_one ? instruments.view().capacity() : 0),
      beside_(beside),
      recovery_(recovery, scope_,
                {message_, writer_, books, instruments, states_, products_, restarts_, beside_, counts_, asked_},
                shapes_),
      replacements_(message_, writer_, books, states_, shapes_, counts_, replacement_room(map, recovery)),
      restored_(std::make_unique<std::uint64_t[]>(
          std::size_t{std::max(recovery.products, instruments.view().capacity())} + 1)) {}

void Translator::take(std::span<const record::Slot> slots) noexcept {
  if (slots.empty()) return;
  const record::HeaderView header(slots[0]);
  message_ = {.arrival_ns = header.arrival_ns(),
              .sequence = header.sequence(),
              .channel = header.channel(),
              .epoch = header.sender_epoch(),
              .flags = static_cast<std::uint8_t>(header.flags() & ~(kFlagLastOfEvent | kFlagBestChanged | kFlagWide))};
  writer_.begin_record();
  note_time(message_.arrival_ns);
  if (message_.arrival_ns - ticked_ns_ >= kTickNs) {
    ticked_ns_ = message_.arrival_ns;
    recovery_.tick(ticked_ns_);
  }
  increments_ = recovery_.of(message_.channel);
  if (header.is_event()) {
    return feed_event(slots[0]);
  }
  if (header.template_index() >= map_.plans.size()) {
    ++counts_.unreadable;
    return;
  }
  begin_packet(header);
  if (is_packet_void_) [[unlikely]] {
    ++counts_.voided;
    if (has_packet_ended_) writer_.flush(true);
    return;
  }
  ++counts_.records;
  const TemplatePlan& plan = map_.plans[header.template_index()];
  message_.plan = &plan;
  if (increments_ != nullptr && increments_->has_packet_numbers()) increments_->enter();
  if (plan.rule == kNoIndex) {
    ++counts_.unruled;
  } else if (plan.kind != MessageKind::Heartbeat) {
    read_message(slots);
  }
  end_record(header);
}

void Translator::begin_packet(const record::HeaderView& header) noexcept {
  // Each block of a packet says that it ends. A carousel may have one packet, again and again.
  const bool may_be_next = has_packet_ended_ && header.sequence() == 0;
  const bool is_same =
      packet_ == header.sequence() && packet_channel_ == header.channel() && packet_epoch_ == header.sender_epoch();
  if (may_be_next || !is_same) {
    packet_ = header.sequence();
    packet_channel_ = header.channel();
    packet_epoch_ = header.sender_epoch();
    is_packet_void_ = false;
    spent_ = 0;
  }
  has_packet_ended_ = (header.flags() & record::kFlagLastOfPacket) != 0;
}

bool Translator::afford(std::uint64_t rows) noexcept {
  if (is_packet_void_) return false;
  spent_ += rows;
  if (spent_ <= kMostRounds * instruments_.view().capacity()) return true;
  is_packet_void_ = is_void_ = true;
  // What is not read is missing.
  if (increments_ != nullptr) increments_->forget(Cause::Contradiction);
  return false;
}

void Translator::end_record(const record::HeaderView& header) noexcept {
  const TemplatePlan& plan = *message_.plan;
  const bool ends_packet = (header.flags() & record::kFlagLastOfPacket) != 0;
  if (ends_packet && increments_ != nullptr) increments_->leave();
  if (writer_.has_faulty()) recovery_.distrust_faulty();
  if (ends_packet) writer_.end_packet();
  switch (map_.source.end) {
    case EndOfEvent::Message: writer_.flush(true); break;
    case EndOfEvent::Packet:
      if (ends_packet) writer_.flush(true);
      break;
    case EndOfEvent::When:
      writer_.flush(plan.rule == kNoIndex || plan.kind == MessageKind::Heartbeat ||
                    holds(message_.typed->end_of_event));
      break;
  }
  if (writer_.has_faulty()) {
    recovery_.distrust_faulty();
    writer_.flush(true);
  }
}

MarketDelays Translator::delays() const noexcept {
  MarketDelays delays{.stale_ns = writer_.healing().stale_ns(now_ns_),
                      .joining_ns = writer_.healing().joining_ns(now_ns_)};
  if (const SnapshotCycle* const cycle = recovery_.slowest_cycle(now_ns_)) {
    delays.cycle_ns = cycle->length_ns(now_ns_);
    delays.announced_cycle_ns = cycle->announced_ns();
  }
  return delays;
}

void Translator::finish() noexcept {
  writer_.flush(true);
}

void Translator::trace(Tracer* tracer) noexcept {
  tracer_ = tracer;
  if (tracer == nullptr) return writer_.trace(nullptr, nullptr);
  writer_.trace([](void* of) { static_cast<Tracer*>(of)->made(); }, tracer);
}

/// What the message says of itself, before its entries.
void Translator::begin() noexcept {
  if (message_.has_begun) return;
  message_.has_begun = true;
  if (map_.time != kNoSlot && values_.has(map_.time)) {
    const std::int64_t time = exchange_clock_.ns(amounts_.integer(map_.time), message_.arrival_ns);
    if (time != ExchangeClock::kNone) {
      message_.delay_ns = static_cast<std::int64_t>(message_.arrival_ns - static_cast<std::uint64_t>(time));
      if (increments_ != nullptr) increments_->note_time();
    }
  }
  if (message_.plan->kind == MessageKind::Incremental && increments_ == nullptr) {
    increments_ = recovery_.of_increments(message_.channel);
    if (increments_ != nullptr && increments_->has_packet_numbers()) increments_->enter();
  }
  number_message();
  number_product();
  head_ = Event::of(message_.content(Kind::Other, kAllInstruments));
  switch (message_.plan->kind) {
    case MessageKind::Snapshot: return begin_snapshot();
    case MessageKind::State:
      return states(message_.slots->states, message_.typed->states, message_.rule->states, false);
    default: return;
  }
}

/// Of a channel whose packets have no numbers: the message's own, or the next one.
void Translator::number_message() noexcept {
  if (increments_ == nullptr || increments_->has_packet_numbers()) return;
  const bool has_number = scope_ != ScopeOf::Product && message_.plan->numbered && values_.has(map_.message_number);
  if (!has_number && message_.plan->kind != MessageKind::Incremental) return;
  increments_->enter(has_number ? amounts_.integer(map_.message_number) : increments_->sync().newest() + 1);
}

void Translator::number_in_product() noexcept {
  const MessageSlots& slots = *message_.slots;
  KeyBits name{};
  for (std::size_t i = 0; i < slots.scope_count; ++i) {
    if (!values_.has(slots.scope[i])) return;
    name[i] = values_.bits(slots.scope[i]);
  }
  is_numbered_ = true;
  product_ = products_.find_or_add(name);
  if (product_ == 0 || increments_ == nullptr || !values_.has(map_.message_number)) return;
  const std::uint64_t number = amounts_.integer(map_.message_number);
  check_restored(product_, number);
  increments_->product(product_, number);
}

void Translator::feed_event(const record::Slot& slot) noexcept {
  const record::EventView event(slot);
  switch (event.kind()) {
    case record::EventKind::Gap:
      writer_.losses().begin(message_.channel, message_.epoch, event.first_missing(), message_.arrival_ns,
                             increments_ != nullptr ? increments_->cycle().begun() : 0);
      if (increments_ != nullptr) {
        increments_->gap(event.first_missing(), event.missing());
      } else {
        replacements_.lose(event.first_missing());
      }
      break;
    case record::EventKind::DecodeError:
      // The number of a datagram whose preamble is wrong is still missing: the arbiter will say so.
      if (event.code() == ErrorCode::X9 && increments_ != nullptr && increments_->has_packet_numbers()) return;
      lose_packet(false);
      break;
    case record::EventKind::Dropped: lose_packet(false); break;
    case record::EventKind::Lost:
    case record::EventKind::LayoutChanged:
      // The record does not say of which channels the lost ones were.
      recovery_.forget(Cause::Gap);
      break;
    case record::EventKind::Reset:
      // Another sender of snapshots changes nothing for books.
      if (increments_ == nullptr) return;
      increments_->forget(Cause::Reset);
      break;
    default: return;
  }
  if (writer_.has_faulty()) recovery_.distrust_faulty();
  writer_.flush(true);
  writer_.losses().end();
}

/// Of the packet something cannot be read. `has_number`: its number is known to the synchroniser.
void Translator::lose_packet(bool has_number) noexcept {
  if (increments_ == nullptr) return replacements_.lose(message_.sequence);
  if (!has_number && increments_->has_packet_numbers()) increments_->enter();
  increments_->damage();
}

void Translator::other() noexcept {
  if (message_.rule->event == Kind::Other) return;
  const Key key = directory_.find();
  if (key.exists() && key.row == 0) {
    ++counts_.refused;
    return;
  }
  writer_.emit(message_.content(message_.rule->event, key.row));
}

bool Translator::holds(const CompiledCondition& condition) const noexcept {
  return market::holds(map_, condition, values_);
}

}  // namespace stopbit::market
