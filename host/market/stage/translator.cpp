#include "host/market/stage/translator.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "decoder/record/frame.hpp"
#include "host/market/stage/condition.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::market {
namespace {

/// A level or a depth of the wire, cut to what an event has.
std::uint16_t as_level(std::uint64_t value) noexcept {
  return value < kLevelBehind ? static_cast<std::uint16_t>(value) : kLevelBehind;
}

/// A decimal number below 2^64 without leading zeros.
bool read_decimal(std::string_view text, std::uint64_t& value) noexcept {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Whether a packet is `before` or the next one. Packet numbers of 16 bits go round in a session, wider ones do not.
bool goes_on(std::uint32_t before, std::uint32_t now) noexcept {
  return now - before <= 1 || (before == 0xFFFF && now == 0);
}

}  // namespace

struct Translator::OnMessage {
  Translator& self;
  void begin() noexcept { self.begin(); }
  void entry() noexcept { self.entry(); }
  void depth() noexcept { self.depth_element(); }
};

Translator::Translator(const Map& map, const Program& program, InstrumentTable& instruments, BookSet& books,
                       Publisher& publisher, std::uint64_t salt)
    : map_(map),
      program_(program),
      instruments_(instruments),
      books_(books),
      publisher_(publisher),
      extractor_(map, program),
      values_(extractor_.values()),
      keys_(instruments.view().capacity(), salt),
      continuity_(instruments.view().capacity(), map.source.restarts_at_one),
      groups_(instruments.view().capacity(), salt),
      rows_(std::make_unique<RowState[]>(std::size_t{instruments.view().capacity()} + 1)),
      channels_(std::make_unique<ChannelState[]>(kChannels)) {}

void Translator::take(std::span<const record::Slot> slots) noexcept {
  if (slots.empty()) return;
  const record::HeaderView header(slots[0]);
  // The packet of an event that waits has ended, though its last message did not say so.
  if (has_pending_ && (header.sequence() != pending_.sequence() || header.channel() != pending_.channel())) flush(true);
  arrival_ns_ = header.arrival_ns();
  sequence_ = header.sequence();
  channel_ = header.channel();
  flags_ = static_cast<std::uint8_t>(header.flags() & ~(kFlagLastOfEvent | kFlagBestChanged | kFlagWide));
  delay_ns_ = kNoDelay;
  plan_ = nullptr;
  if (header.is_event()) return feed_event(slots[0]);
  if (header.template_index() >= map_.plans.size()) {
    ++counts_.unreadable;
    return;
  }
  ++counts_.records;
  const TemplatePlan& plan = map_.plans[header.template_index()];
  if (plan.rule == kNoIndex) {
    ++counts_.unruled;
  } else if (plan.kind != MessageKind::Heartbeat) {
    read_message(plan, slots);
  }
  channels_[channel_].is_seen = true;
  channels_[channel_].sequence = sequence_;
  const bool ends_packet = (header.flags() & record::kFlagLastOfPacket) != 0;
  if (ends_packet && has_pending_) pending_.add_flags(record::kFlagLastOfPacket);
  switch (map_.source.end) {
    case EndOfEvent::Message: return flush(true);
    case EndOfEvent::Packet:
      if (ends_packet) flush(true);
      return;
    case EndOfEvent::When:
      return flush(plan.rule == kNoIndex || plan.kind == MessageKind::Heartbeat || holds(typed_->end_of_event));
  }
}

void Translator::finish() noexcept {
  flush(true);
}

void Translator::read_message(const TemplatePlan& plan, std::span<const record::Slot> slots) noexcept {
  plan_ = &plan;
  rule_ = &map_.source.messages[plan.rule];
  slots_ = &map_.messages[plan.rule];
  typed_ = &map_.typed[plan.typed];
  has_begun_ = false;
  has_cleared_ = is_void_ = false;
  snapshot_row_ = 0;
  std::fill(std::begin(depth_), std::end(depth_), std::uint16_t{0});
  OnMessage handler{*this};
  if (extractor_.run(plan, slots, handler) != record::ReadError::None) {
    // What came after the error is missing.
    ++counts_.unreadable;
    if (plan.kind == MessageKind::Incremental) lose_some(sequence_);
    if (snapshot_row_ != 0 && rows_[snapshot_row_].picture.is_open) tear(snapshot_row_);
    return;
  }
  begin();
  if (plan.is_entry) entry();
  switch (plan.kind) {
    case MessageKind::Snapshot: return end_snapshot();
    case MessageKind::Definition:
      if (!plan.has_entries) definition();
      return;
    case MessageKind::Reset:
      // On a channel of snapshots it begins a cycle, and means nothing for books.
      if (channels_[channel_].has_increments) lose_all(Cause::Reset, sequence_);
      return;
    case MessageKind::Other:
      if (!plan.has_entries) other();
      return;
    default: return;
  }
}

/// What the message says of itself, before its entries.
void Translator::begin() noexcept {
  if (has_begun_) return;
  has_begun_ = true;
  if (map_.time != kNoSlot && values_.has(map_.time)) {
    const auto time = exchange_ns(integer(map_.time), map_.source.time_format, map_.source.utc_offset_s, arrival_ns_);
    if (time) delay_ns_ = static_cast<std::int64_t>(arrival_ns_ - static_cast<std::uint64_t>(*time));
  }
  switch (plan_->kind) {
    case MessageKind::Snapshot: channels_[channel_].has_snapshots = true; return begin_snapshot();
    case MessageKind::Incremental: channels_[channel_].has_increments = true; return;
    case MessageKind::State: return states(slots_->states, typed_->states, rule_->states, false);
    default: return;
  }
}

void Translator::feed_event(const record::Slot& slot) noexcept {
  const record::EventView event(slot);
  const std::size_t header_channel = channel_;
  switch (event.kind()) {
    case record::EventKind::Gap: return lose_some(event.first_missing());
    case record::EventKind::DecodeError:
    case record::EventKind::Dropped: return lose_some(sequence_);
    case record::EventKind::Lost:
    case record::EventKind::LayoutChanged:
      // The record does not say of which channels the lost ones were.
      for (std::size_t channel = 0; channel < kChannels; ++channel) {
        if (!channels_[channel].has_increments && channel != header_channel) continue;
        channel_ = static_cast<std::uint16_t>(channel);
        lose_some(sequence_);
      }
      return;
    case record::EventKind::Reset:
      // Another sender of snapshots changes nothing for books.
      if (channels_[channel_].has_increments) lose_all(Cause::Reset, sequence_);
      return;
    default: return;
  }
}

template <class Take>
void Translator::for_each_of_channel(Cause cause, std::uint64_t number, const Take& take) noexcept {
  // A channel that has carried neither may be one of increments whose first ones are lost.
  const bool is_of_snapshots = channels_[channel_].has_snapshots && !channels_[channel_].has_increments;
  for (std::uint32_t row = 1; row <= instruments_.count(); ++row) {
    RowState& state = rows_[row];
    if (!state.is_shaped || state.channel != channel_) {
      // Snapshots do not say on which channel the increments of their instrument come.
      if (state.has_increments || is_of_snapshots) continue;
      if (state.footing != Footing::Lost || state.picture.is_open) stale_event(row, cause, number);
    }
    take(row);
  }
}

/// Messages of the channel are missing, and some instruments have lost entries.
void Translator::lose_some(std::uint64_t first) noexcept {
  ++channels_[channel_].losses;
  // Entries with numbers tell themselves which instruments these are.
  if (map_.entry_number == kNoSlot) return lose_all(Cause::Gap, first);
  Content suspect = content(Kind::Suspect, kAllInstruments);
  suspect.level = static_cast<std::uint16_t>(Cause::Gap);
  suspect.id = first;
  emit(suspect);
  flush(true);
}

/// The books of the channel's instruments are not known any more; after a reset their numbers are not either.
void Translator::lose_all(Cause cause, std::uint64_t number) noexcept {
  ++counts_.gaps;
  stale_event(kAllInstruments, cause, number);
  if (cause != Cause::Gap) reset_ns_ = std::max(reset_ns_, exchange_time().value_or(0));
  for_each_of_channel(cause, number, [&](std::uint32_t row) {
    rows_[row].lose();
    if (cause == Cause::Gap) return;
    rows_[row].message = rows_[row].snapshot_message = 0;
    continuity_.set(row, Continuity::kNone);
    mark_reset(rows_[row]);
  });
  flush(true);
}

/// Snapshots that the exchange sent before now have the old numbers: they would be taken for newer ones.
void Translator::mark_reset(RowState& row) noexcept {
  row.picture.skip();
  row.reset_ns = exchange_time().value_or(row.reset_ns);
}

std::optional<std::int64_t> Translator::exchange_time() const noexcept {
  if (delay_ns_ == kNoDelay) return std::nullopt;
  return static_cast<std::int64_t>(arrival_ns_) - delay_ns_;
}

// Snapshots.

bool Translator::is_in_step(std::uint32_t row) const noexcept {
  return rows_[row].footing == Footing::InStep && row <= books_.instruments() &&
         books_.extent(row, Side::Bid).is_whole && books_.extent(row, Side::Ask).is_whole;
}

/// Whether a snapshot says nothing new of the instrument, or less than is known.
bool Translator::is_old(std::uint32_t row, bool has_number, std::uint64_t number) const noexcept {
  const RowState& state = rows_[row];
  if (rule_->replaces) return false;
  if (const auto sent = exchange_time(); sent && state.reset_ns != 0 && *sent <= state.reset_ns) return true;
  if (map_.entry_number != kNoSlot && has_number) {
    const std::uint64_t last = continuity_.last(row);
    return last != Continuity::kNone && (number < last || (number == last && is_in_step(row)));
  }
  return number < state.message || (is_in_step(row) && (rule_->refresh.empty() || !holds(typed_->refresh)));
}

/// What has been built of a snapshot is not a picture.
void Translator::tear(std::uint32_t row) noexcept {
  ++counts_.torn_snapshots;
  stale_event(row, Cause::Gap, rows_[row].picture.number);
}

/// Whether a part without a mark can be the first one: no part before it is missing.
bool Translator::is_whole_from_here() const noexcept {
  const ChannelState& channel = channels_[channel_];
  return rule_->last.empty() || sequence_ <= 1 || (channel.is_seen && goes_on(channel.sequence, sequence_));
}

void Translator::begin_snapshot() noexcept {
  const Key key = instrument();
  if (!key.exists()) {
    ++counts_.nameless;
    return;
  }
  if (key.row == 0) {
    ++counts_.refused;
    return;
  }
  if (values_.has(map_.complex) && instruments_.row(key.row).complex == 0) join_group(key.row, map_.product);
  RowState& row = rows_[key.row];
  const bool has_number = values_.has(slots_->number);
  const std::uint64_t number = has_number ? integer(slots_->number) : 0;
  // Parts of one snapshot have its number, and come one after the other, perhaps in one packet. Without a mark the next
  // snapshot begins where this one has ended, or with another number or cycle.
  const bool is_next = goes_on(row.picture.sequence, sequence_);
  const bool is_same = (row.picture.is_open || row.picture.is_skipped) && number == row.picture.number &&
                       (sequence_ >= row.picture.sequence || is_next);
  const bool begins = rule_->first.empty() ? !is_same && is_whole_from_here() : holds(typed_->first);
  if (row.picture.is_open && (begins || !is_same || !is_next)) tear(key.row);
  if (begins && is_old(key.row, has_number, number)) {
    ++counts_.old_snapshots;
  } else if (begins) {
    if (!row.has_increments) row.channel = channel_;
    shape(key.row);
    Content begin = content(Kind::SnapshotBegin, key.row);
    begin.id = number;
    emit(begin);
    row.picture = {.is_open = true, .has_number = has_number, .sequence = sequence_, .number = number};
  }
  if (!row.picture.is_open) {
    row.picture = {.is_skipped = !holds(typed_->last), .sequence = sequence_, .number = number};
    return;
  }
  row.picture.sequence = sequence_;
  snapshot_row_ = key.row;
  change_session(key.row);
}

void Translator::end_snapshot() noexcept {
  if (snapshot_row_ == 0) return;
  states(slots_->states, typed_->states, rule_->states, true);
  if (!holds(typed_->last)) return;
  flush(false);  // a fault of the last entry ends the picture
  RowState& row = rows_[snapshot_row_];
  if (!row.picture.is_open) return;
  row.picture.is_open = false;
  row.footing = Footing::InStep;
  if (map_.entry_number == kNoSlot) {
    row.snapshot_message = row.picture.number;
    row.message = std::max(row.message, row.snapshot_message);
  } else if (row.picture.has_number) {
    continuity_.set(snapshot_row_, row.picture.number);
    row.number_ns = exchange_time().value_or(0);
  }
  Content end = content(Kind::SnapshotEnd, snapshot_row_);
  end.id = row.picture.number;
  emit(end);
}

// Entries.

void Translator::entry() noexcept {
  ++counts_.entries;
  switch (plan_->kind) {
    case MessageKind::Incremental:
    case MessageKind::Snapshot:
      market_entry();
      if (tracer_ != nullptr) tracer_->entry_end();
      return;
    case MessageKind::Definition: return definition();
    case MessageKind::State: return states(slots_->entry_states, typed_->entry_states, rule_->entry_states, false);
    case MessageKind::Other: return other();
    default: return;
  }
}

bool Translator::holds(const CompiledCondition& condition) const noexcept {
  return market::holds(map_, condition, values_);
}

int Translator::rule_for() const noexcept {
  std::size_t place = 256;
  if (values_.has(typed_->decisive)) place = values_.bits(typed_->decisive) & 0xFF;
  for (std::uint64_t left = typed_->candidates[place]; left != 0; left &= left - 1) {
    const int rule = __builtin_ctzll(left);
    if (holds(typed_->entries[static_cast<std::size_t>(rule)].when)) return rule;
  }
  return -1;
}

void Translator::market_entry() noexcept {
  if (is_void_) {
    ++counts_.voided;
    return;
  }
  const bool is_snapshot = plan_->kind == MessageKind::Snapshot;
  const int number = rule_for();
  const Key key = instrument();
  if (tracer_ != nullptr) tracer_->entry(values_, *plan_, number, key.row);
  if (is_snapshot && (snapshot_row_ == 0 || key.row != snapshot_row_)) return;
  if (number < 0) ++counts_.unmapped;
  const CompiledEntry* const rule = number < 0 ? nullptr : &typed_->entries[static_cast<std::size_t>(number)];
  if (!key.exists()) {
    const bool is_for_all = key.found == Key::Found::Nothing && rule != nullptr && rule->role == EntryRole::Empty;
    if (is_for_all) return empty_entry(key);
    ++counts_.nameless;
    return emit(content(Kind::Other, kAllInstruments));
  }
  if (key.row == 0) {
    ++counts_.refused;
    return;
  }
  if (!is_snapshot) {
    if (!follow(key.row)) return;
  } else if (!rule_->entry_states.empty()) {
    states(slots_->entry_states, typed_->entry_states, rule_->entry_states, true);
  }
  if (rule == nullptr) return emit(content(Kind::Other, key.row));
  Side side = rule->side;
  if (rule->side_slot != kNoSlot && values_.has(rule->side_slot)) {
    side = static_cast<Side>(map_.translate(rule->sides, values_.bits(rule->side_slot)).value_or(0));
  }
  switch (rule->role) {
    case EntryRole::Book: return book_entry(*rule, key.row, side, false);
    case EntryRole::Trade: plain_entry(*rule, Kind::Trade, key.row); break;
    case EntryRole::Bust: plain_entry(*rule, Kind::Bust, key.row); break;
    case EntryRole::Empty:
      // Within a snapshot the book is empty already.
      if (!is_snapshot) empty_entry(key);
      break;
    case EntryRole::Statistic: plain_entry(*rule, Kind::Statistic, key.row); break;
    case EntryRole::Index: plain_entry(*rule, Kind::Index, key.row); break;
    case EntryRole::QuoteRequest: plain_entry(*rule, Kind::QuoteRequest, key.row); break;
    case EntryRole::Other: plain_entry(*rule, Kind::Other, key.row); break;
  }
  if (rule->also_book) book_entry(*rule, key.row, rule->also_side, true);
}

/// Puts an entry of an increment in its place after those before it. Returns whether it is to be applied.
bool Translator::follow(std::uint32_t number) noexcept {
  RowState& row = rows_[number];
  if (!row.has_increments) {
    row.has_increments = true;
    row.channel = channel_;
    shape(number);
  } else if (row.channel != channel_) {
    // Its numbers count the entries of one channel.
    ++counts_.strayed;
    return false;
  }
  const std::uint64_t message = values_.has(map_.message_number) ? integer(map_.message_number) : 0;
  const bool has_entry = values_.has(map_.entry_number);
  const std::uint64_t entry = has_entry ? integer(map_.entry_number) : message;
  const auto sent = exchange_time();
  const bool is_after_loss = row.losses != channels_[channel_].losses && sent && *sent > row.number_ns;
  if (row.picture.is_open) {
    // What the snapshot has is dropped. A book that lacks the snapshot's other parts cannot take anything newer, nor
    // what begins the numbers again or has none.
    const bool is_numbered = has_entry || (map_.entry_number == kNoSlot && message != 0);
    const bool restarts = has_entry && continuity_.restarts(number, entry, is_after_loss);
    if (is_numbered && !restarts && entry <= row.picture.number) {
      ++counts_.repeats;
      return false;
    }
    tear(number);
  }
  if (map_.entry_number == kNoSlot && message != 0 && (message <= row.snapshot_message || message < row.message)) {
    ++counts_.repeats;
    return false;
  }
  row.message = std::max(row.message, message);
  if (has_entry) {
    const std::uint64_t before = continuity_.last(number);
    switch (continuity_.entry(number, entry, is_after_loss)) {
      case Continuity::Verdict::Next: break;
      case Continuity::Verdict::Repeat: ++counts_.repeats; return false;
      case Continuity::Verdict::Gap:
        ++counts_.gaps;
        stale_event(number, Cause::Gap, before + 1);
        break;
      case Continuity::Verdict::Restart: {
        Content clear = content(Kind::Clear, number);
        clear.id = static_cast<std::uint64_t>(Cause::Reset);
        emit(clear);
        mark_reset(row);
        if (entry == 1) break;
        ++counts_.gaps;
        stale_event(number, Cause::Gap, 1);
        break;
      }
    }
    row.number_ns = sent.value_or(0);
    row.losses = channels_[channel_].losses;
  }
  change_session(number);
  if (row.footing == Footing::Lost) row.footing = Footing::Follows;
  return true;
}

void Translator::book_entry(const CompiledEntry& rule, std::uint32_t row, Side side, bool is_also) noexcept {
  const CompiledBook& book = map_.books[rule.book];
  Kind kind = Kind::New;
  if (plan_->kind != MessageKind::Snapshot && book.action != kNoSlot) {
    const auto operation =
        values_.has(book.action) ? map_.translate(typed_->actions[rule.book], values_.bits(book.action)) : std::nullopt;
    if (!operation) {
      // What it does to the book is not known, so nothing of the book is.
      ++counts_.unknown_actions;
      emit(content(Kind::Other, row));
      return stale_event(row, Cause::Contradiction, sequence_);
    }
    kind = static_cast<Kind>(*operation);
  }
  bool is_wide = false;
  bool is_hashed = false;  // an order is found by its hash: nothing of the row is missing
  Content event = content(kind, row);
  event.side = side;
  event.book = book.of;
  // A trade's own price and quantity are not those of the order that it leaves.
  const std::uint8_t own_price = is_also ? kNoSlot : rule.price;
  const std::uint8_t own_quantity = is_also ? kNoSlot : rule.quantity;
  event.price = price(own_price != kNoSlot ? own_price : book.price, is_wide);
  event.quantity = quantity(own_quantity != kNoSlot ? own_quantity : book.quantity, is_wide);
  switch (book.kind) {
    case BookKind::Level:
      event.level = book.position == kNoSlot     ? 1
                    : values_.has(book.position) ? as_level(integer(book.position))
                                                 : kNoLevel;
      event.id = values_.has(book.count) ? integer(book.count) : kNoCount;
      break;
    case BookKind::Price: event.id = values_.has(book.count) ? integer(book.count) : kNoCount; break;
    case BookKind::Position:
      event.level = values_.has(book.position) ? as_level(integer(book.position)) : kNoLevel;
      event.id = identifier(book.id, is_hashed);
      break;
    case BookKind::Order: event.id = identifier(book.id, is_hashed); break;
    case BookKind::None: break;
  }
  if (is_wide) event.flags |= kFlagWide;
  emit(event);
}

void Translator::plain_entry(const CompiledEntry& rule, Kind kind, std::uint32_t row) noexcept {
  bool is_wide = false;
  Content event = content(kind, row);
  event.side = rule.side;
  if (rule.side_slot != kNoSlot && values_.has(rule.side_slot)) {
    event.side = static_cast<Side>(map_.translate(rule.sides, values_.bits(rule.side_slot)).value_or(0));
  }
  const CompiledBook* const book = map_.books.empty() ? nullptr : &map_.books[rule.book];
  event.price = price(rule.price != kNoSlot || book == nullptr ? rule.price : book->price, is_wide);
  event.quantity = quantity(rule.quantity != kNoSlot || book == nullptr ? rule.quantity : book->quantity, is_wide);
  if (rule.id != kNoSlot) event.id = identifier(rule.id, is_wide);
  if (kind == Kind::Statistic) {
    Statistic statistic = rule.statistic;
    if (values_.has(rule.statistic_slot)) {
      const auto known = map_.translate(rule.statistics, values_.bits(rule.statistic_slot));
      statistic = static_cast<Statistic>(known.value_or(static_cast<std::uint16_t>(rule.statistic)));
      // Which one it is where the map has no word for it: the exchange's code.
      if (!known && rule.id == kNoSlot) event.id = values_.bits(rule.statistic_slot);
    }
    event.level = static_cast<std::uint16_t>(statistic);
  }
  if (is_wide) event.flags |= kFlagWide;
  emit(event);
}

/// An empty book: of the instrument, or of all of them.
void Translator::empty_entry(const Key& key) noexcept {
  Content clear = content(Kind::Clear, key.row);
  clear.id = static_cast<std::uint64_t>(Cause::Exchange);
  if (!key.exists()) {
    // Twice in a row says nothing new, and costs time for each instrument.
    if (has_pending_ && pending_.kind() == Kind::Clear && pending_.instrument() == kAllInstruments) return;
    if (std::exchange(has_cleared_, true)) {
      // No exchange empties its books, fills them and empties them in one message. The time that it costs must not grow
      // with the entries, so nothing is known of the books from here on.
      is_void_ = true;
      return lose_all(Cause::Contradiction, sequence_);
    }
    const std::uint64_t message = values_.has(map_.message_number) ? integer(map_.message_number) : 0;
    reset_ns_ = std::max(reset_ns_, exchange_time().value_or(0));
    for_each_of_channel(Cause::Reset, sequence_, [&](std::uint32_t row) {
      RowState& state = rows_[row];
      state.message = std::max(state.message, message);
      // Books that are known to be empty are at 0: the next entry is the first.
      const bool is_reached = state.is_shaped && state.channel == channel_;
      continuity_.set(row, is_reached ? 0 : Continuity::kNone);
      mark_reset(state);
    });
  }
  emit(clear);
}

// Definitions, states.

void Translator::definition() noexcept {
  const Key key = instrument();
  if (!key.exists() || key.row == 0) {
    ++(key.exists() ? counts_.refused : counts_.nameless);
    forget_depths();
    return;
  }
  RowState& state = rows_[key.row];
  const bool is_removed = !rule_->removed.empty() && holds(typed_->removed);
  bool is_wide = false;
  const std::int64_t tick = values_.has(slots_->step) ? price(slots_->step, is_wide) : kNoPrice;
  bool has_depth = false;
  if (!rule_->depth.entries && values_.has(slots_->depth)) depth_[0] = as_level(integer(slots_->depth));
  for (std::size_t i = 0; i < kMaxBooks; ++i) {
    // A depth of 65,535 is none that an exchange has.
    if (depth_[i] == 0 || depth_[i] == kLevelBehind || depth_[i] == state.depth[i]) continue;
    state.depth[i] = depth_[i];
    has_depth = true;
  }
  forget_depths();
  bool has_moved = false;
  const std::uint8_t product = slots_->product != kNoSlot ? slots_->product : map_.product;
  instruments_.change(key.row, [&](InstrumentRow& row) {
    std::array<char, 8> room;
    if (values_.has(slots_->name) && record::is_text(values_.type(slots_->name))) {
      instruments_.set_name(row, values_.text(slots_->name, room));
    }
    if (tick > 0) {
      has_moved = row.tick != 0 && row.tick != tick;
      row.tick = tick;
    }
    for (std::size_t i = 0; i < map_.books.size(); ++i) {
      if (state.depth[i] != 0) row.depth[static_cast<std::size_t>(map_.books[i].of)] = state.depth[i];
    }
    if (has_moved) row.flags |= kRowTickMoved;
    if (rule_->adds_rows) row.flags |= kRowDefined;
    if (is_removed) row.state = static_cast<std::uint8_t>(TradingState::Ended);
    row.flags = is_removed ? row.flags | kRowRemoved : row.flags & ~kRowRemoved;
    row.definition_ns = arrival_ns_;
    row.definition_sequence = sequence_;
    row.definition_channel = channel_;
  });
  if (has_moved) ++counts_.tick_moves;
  // A ladder that has orders keeps its tick; it works with any.
  if (!state.is_shaped && tick > 0) state.tick = tick;
  if (state.is_shaped && has_depth) {
    shape(key.row);
    stale_event(key.row, Cause::Join, 0);  // books of another depth begin anew
  }
  join_group(key.row, product);
  emit(content(is_removed ? Kind::Removed : Kind::Definition, key.row));
  if (is_removed) return;
  states(slots_->states, typed_->states, rule_->states, true);
  if (plan_->has_entries) states(slots_->entry_states, typed_->entry_states, rule_->entry_states, true);
}

/// The depths of an entry are not those of the next one. A list of the message itself is for all its entries.
void Translator::forget_depths() noexcept {
  if (plan_->depth_in_entries) std::fill(std::begin(depth_), std::end(depth_), std::uint16_t{0});
}

void Translator::depth_element() noexcept {
  if (!values_.has(slots_->depth)) return;
  std::uint16_t book = 0;
  if (slots_->depth_type != kNoSlot) {
    if (!values_.has(slots_->depth_type)) return;
    const auto known = map_.translate(typed_->depth_books, values_.bits(slots_->depth_type));
    if (!known) return;
    book = *known;
  }
  // A list without types may have several feeds' depths. The greatest one drops no row that the exchange has.
  depth_[book] = std::max(depth_[book], as_level(integer(slots_->depth)));
}

/// The states in some slots: of the instrument whose key is there, else of a group, else of all. The last field whose
/// value its scale has counts.
void Translator::states(std::span<const std::uint8_t> slots, std::span<const Span> scales,
                        std::span<const StateField> fields, bool only_if_new) noexcept {
  bool has_any = false;
  bool has_known = false;
  TradingState state = TradingState::Unknown;
  std::uint64_t code = 0;
  std::uint8_t scale = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!values_.has(slots[i])) continue;
    const auto known = map_.translate(scales[i], values_.bits(slots[i]));
    if (!known && has_any) continue;
    has_any = true;
    has_known = has_known || known;
    state = static_cast<TradingState>(known.value_or(0));
    code = values_.bits(slots[i]);
    scale = fields[i].scale;
  }
  const bool resets = plan_->kind == MessageKind::State && !rule_->statistics_reset.empty() && !plan_->has_entries &&
                      holds(typed_->statistics_reset);
  if (!has_any && !resets) return;
  const auto take = [&](std::uint32_t row) {
    if (has_any && !(only_if_new && (!has_known || trading_state(row) == state))) {
      state_event(row, state, code, scale);
    }
    if (resets) {
      Content reset = content(Kind::Statistic, row);
      reset.level = static_cast<std::uint16_t>(Statistic::Reset);
      emit(reset);
    }
  };
  const bool is_of_group = plan_->kind == MessageKind::State && slots.data() == slots_->states.data();
  const Key key = instrument();
  if (key.exists()) {
    if (key.row == 0) {
      ++counts_.refused;
      return;
    }
    return take(key.row);
  }
  if (!is_of_group) return;
  if (values_.has(slots_->group)) {
    const std::uint64_t group = values_.bits(slots_->group);
    const bool is_limited = values_.has(slots_->within);
    // A later instrument may be outside the limit.
    if (has_any && !is_limited) groups_.set_state(group, state, code, scale);
    const std::uint64_t within = is_limited ? values_.bits(slots_->within) + 1 : 0;
    const bool is_simple = is_limited && !rule_->simple.empty() && holds(typed_->simple);
    return groups_.for_each(group, [&](std::uint32_t row) {
      const std::uint64_t complex = instruments_.row(row).complex;
      if (!is_limited || complex == within || (complex == 0 && is_simple)) take(row);
    });
  }
  if (slots_->group != kNoSlot || key.found == Key::Found::Part) {
    ++counts_.nameless;
    return;
  }
  if (has_any) instruments_.set_channel_state(static_cast<std::uint32_t>(state));
  take(kAllInstruments);
}

void Translator::state_event(std::uint32_t row, TradingState state, std::uint64_t code, std::uint8_t scale) noexcept {
  Content event = content(Kind::State, row);
  event.id = StateCode{state, static_cast<std::uint32_t>(code), scale}.packed();
  emit(event);
  const auto change = [&](std::uint32_t one) {
    const InstrumentRow& known = instruments_.row(one);
    if (known.state == static_cast<std::uint8_t>(state) && known.state_code == static_cast<std::uint32_t>(code)) return;
    instruments_.change(one, [&](InstrumentRow& to) {
      to.state = static_cast<std::uint8_t>(state);
      to.state_code = static_cast<std::uint32_t>(code);
      to.state_scale = scale;
    });
  };
  if (row != kAllInstruments) return change(row);
  for (std::uint32_t one = 1; one <= std::min(instruments_.count(), books_.instruments()); ++one) {
    if (books_.is_of_channel(one, channel_)) change(one);
  }
}

/// That of the events so far, of which the table of instruments has not all.
TradingState Translator::trading_state(std::uint32_t row) const noexcept {
  return row <= books_.instruments() ? books_.trading_state(row)
                                     : static_cast<TradingState>(instruments_.row(row).state);
}

void Translator::other() noexcept {
  if (rule_->event == Kind::Other) return;
  const Key key = instrument();
  if (key.exists() && key.row == 0) {
    ++counts_.refused;
    return;
  }
  emit(content(rule_->event, key.row));
}

// Instruments.

Translator::Key Translator::instrument() noexcept {
  KeyBits bits{};
  bool has_long = false;
  std::size_t present = 0;
  for (std::size_t i = 0; i < slots_->key_count; ++i) {
    const std::uint8_t slot = slots_->key[i];
    if (!values_.has(slot)) continue;
    ++present;
    bits[i] = values_.bits(slot);
    has_long = has_long || values_.is_long_text(slot);
  }
  if (present == 0) return {};
  if (present != slots_->key_count) return {Key::Found::Part, 0};
  if (last_row_ != 0 && bits == last_key_ && !has_long) return {Key::Found::Whole, last_row_};
  std::uint32_t row = keys_.find(bits);
  if (row != 0 && has_long) {
    // Hashes may agree by chance, or because a sender wants it.
    std::array<char, 256> room;
    bool is_cut = false;
    if (key_of(instruments_.row(row)) != key_text(room, is_cut)) row = 0;
    if (row == 0) return {Key::Found::Whole, 0};
  }
  if (row == 0) row = add_instrument(bits);
  last_key_ = bits;
  last_row_ = row;
  return {Key::Found::Whole, row};
}

std::uint32_t Translator::add_instrument(const KeyBits& key) noexcept {
  std::array<char, 256> room;
  bool is_cut = false;
  const std::string_view text = key_text(room, is_cut);
  const std::uint32_t number = instruments_.add(text, [&](InstrumentRow& row) {
    row.channel = channel_;
    row.flags = is_cut ? kRowKeyCut : 0;
    row.first_ns = arrival_ns_;
    if (map_.entry_number != kNoSlot && values_.has(map_.entry_number)) row.first_number = integer(map_.entry_number);
    for (const CompiledBook& book : map_.books) {
      row.book_kind[static_cast<std::size_t>(book.of)] = static_cast<std::uint8_t>(book.kind);
      row.depth[static_cast<std::size_t>(book.of)] = static_cast<std::uint16_t>(book.depth);
    }
  });
  if (number == 0) return 0;
  rows_[number].reset_ns = reset_ns_;
  keys_.add(key, number);
  join_group(number, map_.product);
  return number;
}

/// The key fields as text, with / between them. What is too long ends in a hash of the whole.
std::string_view Translator::key_text(std::array<char, 256>& room, bool& is_cut) const noexcept {
  std::size_t size = 0;
  std::uint64_t hash = kFnv1aBegin;
  for (std::size_t i = 0; i < slots_->key_count; ++i) {
    const std::uint8_t slot = slots_->key[i];
    if (i != 0 && size < room.size()) room[size++] = '/';
    hash = fnv1a(hash, values_.bits(slot));
    if (record::is_text(values_.type(slot))) {
      std::array<char, 8> inner;
      const std::string_view text = values_.text(slot, inner);
      const std::size_t bytes = std::min(text.size(), room.size() - size);
      std::memcpy(room.data() + size, text.data(), bytes);
      size += bytes;
      is_cut = is_cut || bytes != text.size() || text.size() == Values::kTextBytes;
    } else {
      char* const from = room.data() + size;
      const auto [end, error] =
          record::is_signed(values_.type(slot))
              ? std::to_chars(from, room.data() + room.size(), static_cast<std::int64_t>(values_.bits(slot)))
              : std::to_chars(from, room.data() + room.size(), values_.bits(slot));
      if (error == std::errc()) size += static_cast<std::size_t>(end - from);
    }
  }
  if (size <= kInstrumentKeyBytes && !is_cut) return {room.data(), size};
  is_cut = true;
  constexpr std::size_t kKept = kInstrumentKeyBytes - 17;
  const std::size_t kept = std::min(size, kKept);
  room[kept] = '~';
  for (std::size_t i = 0; i < 16; ++i) room[kept + 1 + i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 0xF];
  return {room.data(), kept + 17};
}

void Translator::join_group(std::uint32_t row, std::uint8_t slot) noexcept {
  const bool has_complex = values_.has(map_.complex);
  if (values_.has(slot) || has_complex) {
    const InstrumentRow& known = instruments_.row(row);
    const std::uint64_t complex = has_complex ? values_.bits(map_.complex) + 1 : known.complex;
    std::array<char, 24> digits;
    std::array<char, 8> room;
    std::string_view text = product_of(known);
    if (values_.has(slot)) {
      if (record::is_text(values_.type(slot))) {
        text = values_.text(slot, room);
      } else {
        const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), values_.bits(slot));
        text = {digits.data(), error == std::errc() ? end : digits.data()};
      }
    }
    if (text.substr(0, kInstrumentProductBytes) != product_of(known) || complex != known.complex) {
      instruments_.change(row, [&](InstrumentRow& to) {
        InstrumentTable::set_product(to, text);
        to.complex = complex;
      });
    }
  }
  if (!values_.has(slot)) return;
  const Groups::Known* const group = groups_.join(row, values_.bits(slot));
  if (group != nullptr && instruments_.row(row).state == 0) state_event(row, group->state, group->code, group->scale);
}

/// Says what books the instrument has; the same as before changes nothing.
void Translator::shape(std::uint32_t number) noexcept {
  RowState& row = rows_[number];
  const bool is_first = !row.is_shaped;
  row.is_shaped = true;
  InstrumentShape shape;
  shape.channel = row.channel;
  for (std::size_t i = 0; i < map_.books.size(); ++i) {
    const CompiledBook& book = map_.books[i];
    BookShape& one = book.of == BookOf::Direct ? shape.direct : shape.implied;
    one.kind = book.kind;
    one.depth = row.depth[i] != 0 ? row.depth[i] : static_cast<std::uint16_t>(book.depth);
    if (book.kind == BookKind::Order) one.tick = row.tick;
  }
  if (books_.define(number, shape) != Fault::None && is_first) ++counts_.no_book;
  // Readers learn from the table which channel's events concern the instrument.
  if (instruments_.row(number).channel != row.channel) {
    instruments_.change(number, [&](InstrumentRow& to) { to.channel = row.channel; });
  }
}

/// Another session than before: the books of the old one are gone.
void Translator::change_session(std::uint32_t number) noexcept {
  if (!values_.has(slots_->session)) return;
  const std::uint64_t session = values_.bits(slots_->session);
  const std::uint64_t before = instruments_.row(number).session;
  if (session == before) return;
  instruments_.change(number, [&](InstrumentRow& row) { row.session = session; });
  // A book of which something is missing may lack entries of the new session: it is not known to be empty.
  if (before == 0 || snapshot_row_ != 0 || rows_[number].footing == Footing::Lost) return;
  Content clear = content(Kind::Clear, number);
  clear.id = static_cast<std::uint64_t>(Cause::Session);
  emit(clear);
}

// Values.

std::int64_t Translator::number(std::uint8_t slot, std::int32_t unit, std::int32_t of_integers, std::int64_t none,
                                bool& is_wide) const noexcept {
  if (!values_.has(slot)) return none;
  const FieldType type = values_.type(slot);
  const std::uint64_t bits = values_.bits(slot);
  std::optional<std::int64_t> value;
  if (type == FieldType::Decimal) {
    value = fixed(static_cast<std::int64_t>(bits), values_.exponent(slot), unit);
  } else if (!record::is_text(type) && (record::is_signed(type) || bits <= INT64_MAX)) {
    value = fixed(static_cast<std::int64_t>(bits), of_integers, unit);
  }
  if (value) return *value;
  is_wide = true;
  return none;
}

std::int64_t Translator::price(std::uint8_t slot, bool& is_wide) const noexcept {
  return number(slot, -9, -static_cast<std::int32_t>(map_.source.price_decimals), kNoPrice, is_wide);
}

std::int64_t Translator::quantity(std::uint8_t slot, bool& is_wide) const noexcept {
  return number(slot, -static_cast<std::int32_t>(map_.source.quantity_decimals), 0, kNoQuantity, is_wide);
}

std::uint64_t Translator::identifier(std::uint8_t slot, bool& is_wide) const noexcept {
  if (!values_.has(slot)) return 0;
  if (!record::is_text(values_.type(slot))) return values_.bits(slot);
  std::array<char, 8> room;
  const std::string_view text = values_.text(slot, room);
  std::uint64_t value = 0;
  if (read_decimal(text, value)) return value;
  is_wide = true;
  return values_.is_long_text(slot) ? values_.bits(slot) : fnv1a(text);
}

std::uint64_t Translator::integer(std::uint8_t slot) const noexcept {
  if (!record::is_text(values_.type(slot))) return values_.bits(slot);
  std::array<char, 8> room;
  std::uint64_t value = 0;
  return read_decimal(values_.text(slot, room), value) ? value : 0;
}

// Events.

Content Translator::content(Kind kind, std::uint32_t row) const noexcept {
  const bool is_snapshot = plan_ != nullptr && plan_->kind == MessageKind::Snapshot && has_begun_;
  return {.arrival_ns = arrival_ns_,
          .sequence = sequence_,
          .channel = channel_,
          .flags = static_cast<std::uint8_t>((flags_ & ~record::kFlagLastOfPacket) |
                                             (is_snapshot ? record::kFlagSnapshot : 0U)),
          .instrument = row,
          .delay_ns = delay_ns_,
          .kind = kind};
}

void Translator::stale_event(std::uint32_t row, Cause cause, std::uint64_t number) noexcept {
  if (cause != Cause::Gap) ++counts_.stale;
  rows_[row].lose();
  Content event = content(Kind::Stale, row);
  event.level = static_cast<std::uint16_t>(cause);
  event.id = number;
  emit(event);
}

void Translator::emit(const Content& content) noexcept {
  flush(false);
  pending_ = Event::of(content);
  has_pending_ = true;
  if (tracer_ != nullptr) tracer_->made();
}

void Translator::flush(bool is_last) noexcept {
  if (!has_pending_) {
    // The rest of an event was not applied: readers still have to learn that it ends.
    if (!is_last || !channels_[channel_].is_open) return;
    pending_ = Event::of(content(Kind::Other, kAllInstruments));
  }
  has_pending_ = false;
  if (is_last) pending_.add_flags(kFlagLastOfEvent);
  channels_[pending_.channel()].is_open = !is_last;
  if (pending_.has(kFlagWide)) ++counts_.wide;
  ++counts_.events;
  (void)publisher_.take(pending_, [this](std::uint32_t row) {
    rows_[row].lose();
    ++counts_.stale;
  });
}

}  // namespace stopbit::market
