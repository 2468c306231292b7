#include <algorithm>
#include <utility>

#include "host/market/stage/translator.hpp"

namespace stopbit::market {

struct Translator::OnMessage {
  Translator& self;
  void begin() noexcept { self.begin(); }
  [[gnu::always_inline]] void entry() noexcept { self.entry(); }
  void depth() noexcept { self.depth_element(); }
};

// Events of an entry. What each entry goes through becomes one function: calls would cost as much as what they do.

inline void Translator::book_entry(const Route& route, std::uint32_t row, Side side, bool is_also) noexcept {
  const CompiledEntry& rule = *route.rule;
  const CompiledBook& book = map_.books[rule.book];
  if (route.is_unknown) [[unlikely]] {
    // What it does to the book is not known, so nothing of the book is.
    ++counts_.unknown_actions;
    is_unknown_ = true;
    return made_.add_plain(Event::of(message_.content(Kind::Other, row)));
  }
  bool is_wide = false;
  bool is_hashed = false;  // an order is found by its hash: nothing of the row is missing
  // A trade's own price and quantity are not those of the order that it leaves.
  const std::int64_t price = amounts_.price(is_also ? book.price : rule.price, is_wide);
  const std::int64_t quantity = amounts_.quantity(is_also ? book.quantity : rule.quantity, is_wide);
  std::uint16_t level = kNoLevel;
  std::uint64_t id = 0;
  switch (book.kind) {
    case BookKind::Level:
      level = book.position == kNoSlot     ? 1
              : values_.has(book.position) ? as_level(amounts_.integer(book.position))
                                           : kNoLevel;
      id = values_.has(book.count) ? amounts_.integer(book.count) : kNoCount;
      break;
    case BookKind::Price: id = values_.has(book.count) ? amounts_.integer(book.count) : kNoCount; break;
    case BookKind::Position:
      level = values_.has(book.position) ? as_level(amounts_.integer(book.position)) : kNoLevel;
      id = amounts_.identifier(book.id, is_hashed);
      break;
    case BookKind::Order: id = amounts_.identifier(book.id, is_hashed); break;
    case BookKind::None: break;
  }
  Event& event = made_.add_book();
  event.assign(head_);
  event.set_instrument(row);
  event.set_entry(route.kind, side, book.of, level, price, quantity, id);
  if (is_wide) event.add_flags(kFlagWide);
}

[[gnu::noinline]] void Translator::plain_entry(const Route& route, Kind kind, std::uint32_t row) noexcept {
  const CompiledEntry& rule = *route.rule;
  bool is_wide = false;
  Content event = message_.content(kind, row);
  event.side = route.side;
  event.price = amounts_.price(rule.price, is_wide);
  event.quantity = amounts_.quantity(rule.quantity, is_wide);
  if (rule.id != kNoSlot) event.id = amounts_.identifier(rule.id, is_wide);
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
  made_.add_plain(Event::of(event));
}

inline void Translator::make_events(const Route& route, std::uint32_t row) noexcept {
  const CompiledEntry& rule = *route.rule;
  switch (rule.role) {
    case EntryRole::Book: return book_entry(route, row, route.side, false);
    case EntryRole::Trade: plain_entry(route, Kind::Trade, row); break;
    case EntryRole::Bust: plain_entry(route, Kind::Bust, row); break;
    case EntryRole::Empty:
      // Within a snapshot the book is empty already.
      if (!message_.is_snapshot()) {
        Content clear = message_.content(Kind::Clear, row);
        clear.id = static_cast<std::uint64_t>(Cause::Exchange);
        made_.add_book() = Event::of(clear);
      }
      break;
    case EntryRole::Statistic: plain_entry(route, Kind::Statistic, row); break;
    case EntryRole::Index: plain_entry(route, Kind::Index, row); break;
    case EntryRole::QuoteRequest: plain_entry(route, Kind::QuoteRequest, row); break;
    case EntryRole::Other: plain_entry(route, Kind::Other, row); break;
  }
  if (rule.also_book) book_entry(route, row, rule.also_side, true);
}

// Increments.

/// Whether the entry is one of its instrument's channel.
inline bool Translator::begin_increment(std::uint32_t row) noexcept {
  if (increments_ == nullptr || !recovery_.settle(row, *increments_, true)) {
    ++counts_.strayed;
    return false;
  }
  if (scope_ == ScopeOf::Product) increments_->attach(row, product_);
  return true;
}

/// An entry without the number that orders it. Its events are written, but the book cannot be right any more.
void Translator::send_unnumbered(std::uint32_t row) noexcept {
  (void)begin_session(row, 0);
  made_.for_each([this](const Event& event) { writer_.emit(event); });
  if (made_.for_book().empty() && !is_unknown_) return;
  if (increments_->picture().row() == row) increments_->picture().spoil();
  if (increments_->sync().mark(row).state != SyncState::Stale) increments_->distrust(row, Cause::Contradiction);
  if (is_unknown_) end_unknown(row);
}

/// An entry has changed the book in a way that the map does not know.
void Translator::end_unknown(std::uint32_t row) noexcept {
  increments_->distrust(row, Cause::Contradiction);
  Content clear = message_.content(Kind::Clear, row);
  clear.id = static_cast<std::uint64_t>(Cause::Contradiction);
  writer_.emit(clear);
}

inline void Translator::send_increment(std::uint32_t row) noexcept {
  if (scope_ == ScopeOf::Instrument && !values_.has(map_.entry_number)) return send_unnumbered(row);
  const std::uint64_t number = scope_ == ScopeOf::Instrument ? amounts_.integer(map_.entry_number) : 0;
  if (scope_ == ScopeOf::Instrument && !restarts_.has_rows()) check_restored(row, number);
  if (restarts_.has_rows()) restart_if_new(row, number);
  const bool skips_session = begin_session(row, number);
  if (increments_->entry(row, number, made_.for_book())) {
    made_.for_each([this](const Event& event) { writer_.emit(event); });
  } else if (increments_->sync().is_new_entry()) {
    for (const Event& event : made_.others()) writer_.emit(event);
  }
  if (restarts_.has_rows() && increments_->sync().is_new_entry()) {
    restarts_.note(row, std::max(number, restarts_.last(row)), increments_->losses(),
                   message_.exchange_time().value_or(0));
  }
  if (skips_session) increments_->sync().need(row, number);
  if (is_unknown_) end_unknown(row);
}

template <bool kIsSnapshot>
inline void Translator::market_entry() noexcept {
  if (is_void_) [[unlikely]] {
    ++counts_.voided;
    return;
  }
  const TypedRules& typed = *message_.typed;
  const Route& route = routes_.find(typed, kIsSnapshot);
  const CompiledEntry* const rule = route.rule;
  const Key key = directory_.find();
  if (tracer_ != nullptr) [[unlikely]] {
    const std::ptrdiff_t number = rule == nullptr ? -1 : rule - typed.entries.data();
    tracer_->entry(values_, *message_.plan, static_cast<int>(number), key.row);
  }
  if (kIsSnapshot && (picture_ == nullptr || key.row != picture_->row())) return;
  if (rule == nullptr) ++counts_.unmapped;
  if (key.row == 0) [[unlikely]]
    return rowless_entry(route, key);
  made_.clear();
  is_unknown_ = false;
  if (kIsSnapshot && !message_.rule->entry_states.empty()) {
    states(message_.slots->entry_states, typed.entry_states, message_.rule->entry_states, true);
  }
  if (!kIsSnapshot && !begin_increment(key.row)) return;
  if (rule == nullptr) {
    made_.add_plain(Event::of(message_.content(Kind::Other, key.row)));
  } else {
    make_events(route, key.row);
  }
  if (!kIsSnapshot) return send_increment(key.row);
  made_.for_each([this](const Event& event) { picture_->add(event); });
}

/// It names no instrument, or one without a row.
void Translator::rowless_entry(const Route& route, const Key& key) noexcept {
  if (key.exists()) {
    ++counts_.refused;
    return;
  }
  const bool is_for_all =
      key.found == Key::Found::Nothing && route.rule != nullptr && route.rule->role == EntryRole::Empty;
  if (is_for_all) return empty_all();
  ++counts_.nameless;
  writer_.emit(message_.content(Kind::Other, kAllInstruments));
}

inline void Translator::entry() noexcept {
  ++counts_.entries;
  number_product();
  if (message_.plan->kind == MessageKind::Incremental && tracer_ == nullptr) [[likely]]
    return market_entry<false>();
  any_entry();
}

void Translator::any_entry() noexcept {
  switch (message_.plan->kind) {
    case MessageKind::Incremental: market_entry<false>(); break;
    case MessageKind::Snapshot: market_entry<true>(); break;
    case MessageKind::Definition: return definition();
    case MessageKind::State:
      return states(message_.slots->entry_states, message_.typed->entry_states, message_.rule->entry_states, false);
    case MessageKind::Other: return other();
    default: return;
  }
  if (tracer_ != nullptr) tracer_->entry_end();
}

void Translator::read_message(std::span<const record::Slot> slots) noexcept {
  const TemplatePlan& plan = *message_.plan;
  message_.rule = &map_.source.messages[plan.rule];
  message_.slots = &map_.messages[plan.rule];
  message_.typed = &map_.typed[plan.typed];
  has_cleared_ = is_void_ = is_numbered_ = false;
  picture_ = nullptr;
  product_ = 0;
  std::fill(std::begin(depth_), std::end(depth_), std::uint16_t{0});
  OnMessage handler{*this};
  if (extractor_.run(plan, slots, handler) != record::ReadError::None) {
    // What came after the error is missing.
    ++counts_.unreadable;
    if (picture_ != nullptr) picture_->spoil();
    if (plan.kind == MessageKind::Incremental) lose_packet(true);
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
      if (increments_ != nullptr && afford(kResetRounds * instruments_.view().capacity())) {
        increments_->forget(Cause::Reset);
      }
      return;
    case MessageKind::Other:
      if (!plan.has_entries) other();
      return;
    default: return;
  }
}

bool Translator::change_session(std::uint32_t row, std::uint64_t number) noexcept {
  const std::uint64_t session = values_.bits(message_.slots->session);
  const std::uint64_t before = instruments_.row(row).session;
  instruments_.change(row, [&](InstrumentRow& to) { to.session = session; });
  if (before == 0) return false;
  if (!increments_->sync().follows(row, number)) return true;
  Content clear = message_.content(Kind::Clear, row);
  clear.id = static_cast<std::uint64_t>(Cause::Session);
  made_.end_session(Event::of(clear));
  return false;
}

/// The exchange may begin an instrument's numbers again without a word.
void Translator::restart_if_new(std::uint32_t row, std::uint64_t number) noexcept {
  if (!restarts_.restarts(row, number, increments_->losses(), message_.exchange_time())) return;
  increments_->restart(row);
}

/// The books of all instruments of the channel are empty.
void Translator::empty_all() noexcept {
  if (increments_ == nullptr) {
    ++counts_.strayed;
    return;
  }
  // Twice in a row says nothing new, and costs time for each instrument.
  const Event* const pending = writer_.pending();
  if (pending != nullptr && pending->kind() == Kind::Clear && pending->instrument() == kAllInstruments) return;
  if (!afford(kResetRounds * instruments_.view().capacity())) return;
  if (std::exchange(has_cleared_, true)) {
    // No exchange empties its books, fills them and empties them in one message. The time that it costs must not grow
    // with the entries, so nothing is known of the books from here on.
    is_void_ = true;
    return increments_->forget(Cause::Contradiction);
  }
  increments_->reset();
}

// Snapshots.

void Translator::begin_snapshot() noexcept {
  const Key key = directory_.find();
  if (!key.exists()) {
    ++counts_.nameless;
    return;
  }
  if (key.row == 0) {
    ++counts_.refused;
    return;
  }
  if (values_.has(map_.complex) && instruments_.row(key.row).complex == 0) directory_.join_group(key.row, map_.product);
  const MessageRule& rule = *message_.rule;
  const TypedRules& typed = *message_.typed;
  const auto integer_of = [this](std::uint8_t slot) { return values_.has(slot) ? amounts_.integer(slot) : 0; };
  const SnapshotPart part = {.row = key.row,
                             .number = integer_of(message_.slots->number),
                             .message = integer_of(message_.slots->processed),
                             .has_first = !rule.first.empty(),
                             .is_first = holds(typed.first),
                             .has_last = !rule.last.empty(),
                             .is_last = holds(typed.last),
                             .replaces = !rule.refresh.empty() && holds(typed.refresh)};
  if (rule.replaces) {
    if (replacements_.part(part)) picture_ = &replacements_.picture();
    return;
  }
  snapshot_of_ = recovery_.of_snapshot(key.row, message_.channel);
  if (snapshot_of_ == nullptr) {
    ++counts_.homeless;
    return;
  }
  if (!recovery_.settle(key.row, *snapshot_of_, false)) {
    ++counts_.strayed;
    return;
  }
  if (scope_ == ScopeOf::Product && !snapshot_of_->attach_snapshot(key.row, product_)) {
    ++counts_.old_snapshots;
    return;
  }
  if (!snapshot_of_->part(part)) return;
  picture_ = &snapshot_of_->picture();
  if (values_.has(message_.slots->session)) picture_->set_session(values_.bits(message_.slots->session));
}

void Translator::end_snapshot() noexcept {
  if (picture_ == nullptr) return;
  states(message_.slots->states, message_.typed->states, message_.rule->states, true);
  if (message_.rule->replaces) return replacements_.end_part();
  snapshot_of_->end_part();
}

}  // namespace stopbit::market
