#include "host/market/stage/sync_channel.hpp"

#include <array>

namespace stopbit::market {

SyncChannel::SyncChannel(const Market& market, const SyncOptions& options, std::uint32_t picture, std::uint16_t index)
    : market_(market),
      index_(index),
      sync_(options, *this),
      picture_(picture),
      cycle_(options.cycle_ns, options.instruments) {}

// Numbers.

std::uint64_t SyncChannel::extend(std::uint64_t wire) noexcept {
  const arbitrate::Numbering numbering(sequence_bits_ == 0 ? 64 : sequence_bits_);
  if (!has_number_) return numbering.wire(wire);
  const std::int64_t step = numbering.distance(wire, number_);
  const bool is_before_all = step < 0 && arbitrate::magnitude(step) > number_;
  return is_before_all ? 0 : number_ + static_cast<std::uint64_t>(step);
}

void SyncChannel::enter() noexcept {
  const std::uint32_t packet = market_.message.sequence;
  if (is_in_packet_ && packet == packet_) return;
  leave();
  is_in_packet_ = true;
  packet_ = packet;
  std::uint64_t number = extend(packet);
  if (is_resumed_) [[unlikely]]
    number = judge_resumed(number);
  number_ = has_number_ ? std::max(number_, number) : number;
  has_number_ = true;
  begin(number);
}

void SyncChannel::enter(std::uint64_t number) noexcept {
  leave();
  is_in_packet_ = true;
  packet_ = market_.message.sequence;
  begin(number);
}

void SyncChannel::begin(std::uint64_t number) noexcept {
  const std::uint64_t losses = sync_.losses();
  sync_.begin(number);
  if (sync_.losses() != losses) [[unlikely]]
    end_refreshes();
}

void SyncChannel::leave() noexcept {
  if (is_in_packet_) sync_.end();
  is_in_packet_ = false;
}

void SyncChannel::product(std::uint32_t product, std::uint64_t number) noexcept {
  const std::uint64_t holes = sync_.holes();
  (void)sync_.product(product, number);
  if (sync_.holes() == holes) return;
  market_.products.for_each(product, [this](std::uint32_t row) { end_refresh(row); });
}

void SyncChannel::attach(std::uint32_t row, std::uint32_t product) noexcept {
  if (product == 0 || market_.products.of(row) == product) return;
  sync_.attach(row, product);
  market_.products.put(row, product);
}

bool SyncChannel::attach_snapshot(std::uint32_t row, std::uint32_t product) noexcept {
  const std::uint32_t now = market_.products.of(row);
  const bool is_of_another = product != 0 && product != now;
  if (is_of_another && sync_.is_numbered(now) && !sync_.is_numbered(product)) return false;
  attach(row, product);
  return true;
}

// Losses.

void SyncChannel::gap(std::uint64_t first, std::uint64_t count) noexcept {
  leave();
  if (count == 0) return;
  std::uint64_t from = extend(first);
  if (is_resumed_) from = judge_resumed(from);
  const std::uint64_t last = from + std::min(count, std::uint64_t{1} << 62) - 1;
  number_ = has_number_ ? std::max(number_, last) : last;
  has_number_ = true;
  sync_.loss(from, last, market_.message.arrival_ns);
  end_refreshes();
}

/// A book without a snapshot has rows that are known, and of which nothing says that a loss has ended that.
void SyncChannel::end_refresh(std::uint32_t row) noexcept {
  const std::uint64_t missing = sync_.end_refresh(row);
  if (missing != 0) empty(row, Cause::Gap, missing);
}
/// Nothing of the book is known. `missing`: the number to say, 0 if it has been said.
void SyncChannel::empty(std::uint32_t row, Cause cause, std::uint64_t missing) noexcept {
  if (missing != 0) state(row, {SyncState::Stale, cause, Basis::None, missing});
  Content clear = content(Kind::Clear, row);
  clear.id = static_cast<std::uint64_t>(cause);
  market_.writer.emit(clear);
}
void SyncChannel::end_refreshes() noexcept {
  if (sync_.scope() != ScopeOf::Channel) return;
  for (std::uint32_t row = 1; row <= market_.instruments.count(); ++row) end_refresh(row);
}

/// The numbers of an instrument have begun anew without a word.
void SyncChannel::end_numbers(std::int64_t sent_ns) noexcept {
  ++era_;
  sync_.refuse_before(sent_ns);
}

void SyncChannel::damage() noexcept {
  // Without numbers of packets or messages nothing shows later what is missing.
  if (!is_in_packet_) return forget(Cause::Gap);
  sync_.damage(market_.message.arrival_ns);
  end_refreshes();
}

std::int64_t SyncChannel::newest_sent_ns() const noexcept {
  const auto arrival = static_cast<std::int64_t>(market_.message.arrival_ns);
  if (const auto sent = market_.message.exchange_time()) return std::max(*sent, sent_ns_);
  if (sent_ns_ == 0) return arrival;
  // The exchange's clock, as far from ours as in its last message.
  return std::max(sent_ns_, arrival - delay_ns_);
}

void SyncChannel::reset() noexcept {
  // The rest of the message comes after the reset, and has its number.
  const std::uint64_t number = std::max<std::uint64_t>(sync_.newest(), 1);
  const bool was_in_packet = is_in_packet_;
  market_.restarts.forget(market_.instruments.count());
  ++era_;
  place_.forget_messages();
  sync_.reset(market_.message.sent_ns(), number - 1);
  if (was_in_packet) sync_.begin(number);
}

void SyncChannel::forget(Cause cause) noexcept {
  is_in_packet_ = has_number_ = is_resumed_ = false;
  ++era_;
  ++market_.counts.gaps;
  market_.asked.forget(channel_);
  market_.restarts.forget(market_.instruments.count());
  place_.forget_messages();
  sync_.forget(cause, newest_sent_ns());
}

void SyncChannel::restart(std::uint32_t row) noexcept {
  Content clear = content(Kind::Clear, row);
  clear.id = static_cast<std::uint64_t>(Cause::Reset);
  market_.writer.emit(clear);
  market_.restarts.restart(row, market_.message.exchange_time());
  ++era_;
  sync_.restart(row);
}

void SyncChannel::distrust(std::uint32_t row, Cause cause) noexcept {
  market_.writer.flush(false);
  const InstrumentStatus status = market_.books.status(row);
  silent_row_ = status.standing == Standing::Stale && status.cause == cause ? row : 0;
  sync_.distrust(row, cause);
  silent_row_ = 0;
}

void SyncChannel::introduce(std::uint32_t row) noexcept {
  const Mark mark = sync_.mark(row);
  if (mark.is_like(Mark())) return market_.writer.healing().note_row(row, market_.message.arrival_ns);
  if (sync_.has_book(row)) {
    // It was not known when the exchange said that all books are empty. In doubt, too: what ends the doubt does not say
    // so again.
    Content clear = content(Kind::Clear, row);
    clear.id = static_cast<std::uint64_t>(Cause::Exchange);
    market_.writer.emit(clear);
  }
  state(row, mark);
}

// Over a restart of the process.

bool SyncChannel::resume_after(std::uint64_t newest, std::uint64_t last) noexcept {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;  // numbers do not wrap after it
  if (newest > kMost || sequence_bits_ == 0 || sync_.is_joined() || has_number_ != is_resumed_) return false;
  const arbitrate::Numbering numbering(sequence_bits_);
  const std::int64_t step = numbering.distance(numbering.wire(last), newest);
  const std::uint64_t number = newest + static_cast<std::uint64_t>(step);
  if (step < 0 || (is_resumed_ && number != number_)) return false;
  number_ = number;
  has_number_ = is_resumed_ = true;
  return true;
}

/// The first number of this process. Those of an exchange that has begun anew are lower than those before.
std::uint64_t SyncChannel::judge_resumed(std::uint64_t number) noexcept {
  is_resumed_ = false;
  if (number > number_) return number;
  const bool was_in_packet = is_in_packet_;
  forget(Cause::Reset);
  is_in_packet_ = was_in_packet;
  return extend(number);
}

bool SyncChannel::restore(std::uint32_t row, const Synchroniser::Pictured& at, std::span<const Event> events) noexcept {
  picture_.begin(row);
  const Message& message = market_.message;
  for (const Event& event : events) {
    Content own = event.content();
    own.instrument = row;
    own.arrival_ns = message.arrival_ns;
    own.sequence = message.sequence;
    own.channel = message.channel;
    picture_.add(Event::of(own));
  }
  if (!picture_.is_whole() || !market_.beside.build(picture_, market_.books.shape(row))) return false;
  const bool is_taken = sync_.part({.row = row,
                                    .place = 0,
                                    .number = at.number,
                                    .message = at.message,
                                    .sent_ns = 0,
                                    .is_first = true,
                                    .is_last = true,
                                    .replaces = false});
  if (is_taken) sync_.part_end();
  return is_taken;
}

// Snapshots.

bool SyncChannel::part(const SnapshotPart& part) noexcept {
  const Message& message = market_.message;
  sync_.expect_snapshots();
  const SnapshotPlace::Step step = place_.take(message, part);
  if (step.is_new_cycle) {
    sync_.cycle(message.arrival_ns);
    cycle_.begin(message.arrival_ns);
  }
  if (step.begins) cycle_.note(part.row, message.arrival_ns);
  is_last_part_ = part.is_last;
  is_taken_ = false;
  if (market_.restarts.is_outdated(part.row, message.sent_ns())) {
    ++market_.counts.old_snapshots;
    return false;
  }
  // That of an instrument without an entry says no number: it was made after the cycle before.
  const bool is_blank = part.number == 0 && part.message == 0;
  is_taken_ = sync_.part({.row = part.row,
                          .place = step.at,
                          .number = part.number,
                          .message = is_blank ? step.not_before : part.message,
                          .sent_ns = message.sent_ns(),
                          .is_first = step.begins,
                          .is_last = part.is_last,
                          .replaces = part.replaces});
  if (is_taken_) place_.note_taken(part);
  if (is_taken_ && step.begins) picture_.begin(part.row);
  return is_taken_;
}

void SyncChannel::end_part() noexcept {
  if (!is_taken_ || !is_last_part_) return;
  is_taken_ = false;
  market_.writer.flush(false);  // what comes is compared with the book
  if (!picture_.is_whole() || !market_.beside.build(picture_, market_.books.shape(picture_.row()))) {
    ++market_.counts.torn_snapshots;
    return;
  }
  const std::uint64_t returns = sync_.returns();
  sync_.part_end();
  if (sync_.returns() != returns) end_numbers(market_.message.sent_ns());
}

void SyncChannel::load(std::uint32_t row, std::uint64_t number) noexcept {
  market_.writer.healing().note_cycle(cycle_.begun());
  Content begin = market_.message.content(Kind::SnapshotBegin, row);
  begin.id = number;
  market_.writer.emit(begin);
  if (picture_.session() != 0) {
    market_.instruments.change(row, [&](InstrumentRow& to) { to.session = picture_.session(); });
  }
  for (const Event& event : picture_.events()) {
    if (event.kind() != Kind::State) {
      market_.writer.emit(event);
    } else if (market_.states.now(row) != event.state().state) {
      market_.states.tell(event);
    }
  }
  Content end = market_.message.content(Kind::SnapshotEnd, row);
  end.id = number;
  market_.writer.emit(end);
  if (market_.restarts.has_rows()) {
    market_.restarts.note(row, number, sync_.losses(), market_.message.sent_ns());
  }
}

bool SyncChannel::audit(std::uint32_t row, std::uint64_t /*number*/) noexcept {
  return market_.beside.is_like(market_.books, row);
}

// What the synchroniser says.

Content SyncChannel::content(Kind kind, std::uint32_t row) const noexcept {
  Content content = market_.message.content(kind, row);
  content.channel = channel_;
  content.flags &= static_cast<std::uint8_t>(~record::kFlagSnapshot);
  return content;
}

void SyncChannel::apply(const Event& event) noexcept {
  market_.writer.emit(event);
}

void SyncChannel::refresh(std::uint32_t row, Cause cause, std::uint64_t missing) noexcept {
  market_.writer.flush(false);
  // Before an instrument's first entry there is nothing to forget.
  const auto is_unknown = [&](Side side) {
    std::array<Row, 1> any;
    return market_.books.rows(row, side, any) == 0 && !market_.books.extent(row, side).is_whole;
  };
  if (cause == Cause::Join && is_unknown(Side::Bid) && is_unknown(Side::Ask)) return;
  // A clear with cause reset says that the book is empty. Here numbers have begun anew, and nothing is known.
  empty(row, cause == Cause::Reset ? Cause::Gap : cause, missing);
}

void SyncChannel::restarted() noexcept {
  has_doubts_ = false;
  Content clear = content(Kind::Clear, kAllInstruments);
  clear.id = static_cast<std::uint64_t>(Cause::Exchange);
  market_.writer.emit(clear);
}

void SyncChannel::forgotten(Cause cause) noexcept {
  has_doubts_ = false;
  Content event = content(Kind::Stale, kAllInstruments);
  event.level = static_cast<std::uint16_t>(cause);
  market_.writer.emit(event);
}

void SyncChannel::state(std::uint32_t row, const Mark& mark) noexcept {
  if (row == silent_row_) return;
  const bool is_latest = mark.state == SyncState::Latest;
  const Kind kind = is_latest ? Kind::Latest : mark.state == SyncState::Suspect ? Kind::Suspect : Kind::Stale;
  Content event = content(kind, row);
  event.id = is_latest ? sync_.reached(row) : mark.since;
  if (mark.basis == Basis::Channel) has_doubts_ = true;
  if (!is_latest) {
    event.level = static_cast<std::uint16_t>(mark.cause);
    event.book = mark.basis == Basis::Channel ? BookOf::Implied : BookOf::Direct;
  }
  market_.writer.emit(event);
}

void SyncChannel::state_of(std::uint32_t scope, const Mark& mark) noexcept {
  if (scope == 0) {
    has_doubts_ = true;
    Content event = content(mark.state == SyncState::Suspect ? Kind::Suspect : Kind::Stale, kAllInstruments);
    event.level = static_cast<std::uint16_t>(mark.cause);
    event.book = BookOf::Implied;
    event.id = mark.since;
    return market_.writer.emit(event);
  }
  // Readers do not know which instruments share numbers.
  market_.writer.flush(false);
  market_.products.for_each(scope, [&](std::uint32_t row) {
    const InstrumentStatus now = market_.books.status(row);
    const bool is_worse = now.standing == Standing::Latest || (now.counts_messages && mark.basis == Basis::Scope);
    if (is_worse) state(row, mark);
  });
}

void SyncChannel::healed(std::uint32_t scope, Basis basis, std::uint64_t to, const Mark& mark) noexcept {
  if (scope == 0) {
    if (!has_doubts_) return;
    Content event = content(Kind::Latest, kAllInstruments);
    event.id = to;
    return market_.writer.emit(event);
  }
  market_.writer.flush(false);
  market_.products.for_each(scope, [&](std::uint32_t row) {
    const InstrumentStatus now = market_.books.status(row);
    const bool has_basis = now.standing != Standing::Latest && now.counts_messages == (basis == Basis::Channel);
    // A row without a book is marked with no basis, and none heals it but a snapshot.
    if (has_basis && now.since > to && sync_.mark(row).is_like(mark)) state(row, mark);
  });
}

}  // namespace stopbit::market
