#include "host/relay/relay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "decoder/record/views.hpp"

namespace stopbit::relay {
namespace {

constexpr std::uint64_t kLookNs = 100'000'000;    ///< For a ring of the name.
constexpr std::uint64_t kEndLookNs = 10'000'000;  ///< Whether the writer has ended: a system call.

bool is_same(const std::optional<Head>& a, const std::optional<Head>& b) {
  return a.has_value() == b.has_value() && (!a || id_of(*a) == id_of(*b));
}

/// The number of a record's first slot, whose lower half is in it: at or after `from`. Padding may come between.
std::uint64_t number_of(const record::Slot& first, std::uint64_t from) noexcept {
  return from + static_cast<std::uint32_t>(record::HeaderView(first).stamp() - static_cast<std::uint32_t>(from));
}

}  // namespace

Relay::Relay(Store& store, RelayOptions options, std::function<void(const std::string&)> tell)
    : store_(store),
      options_(std::move(options)),
      tell_(std::move(tell)),
      outbox_(std::max<std::size_t>(options_.outstanding, 4)) {}

Relay::State Relay::step(std::uint64_t now_ns) {
  if (state_ == State::Failed || state_ == State::Done) return state_;
  if (!open_ring(now_ns)) return State::Idle;
  if (!has_session_ && backoff_.is_over(now_ns)) begin_session(now_ns);
  if (state_ == State::Failed) return state_;
  const bool has_collected = is_placed_ && collect(now_ns);
  const bool has_sent = has_session_ && exchange(now_ns, !has_collected);
  if (is_placed_ && has_ended_ && outbox_.is_empty()) follow_next_ring(now_ns);
  if (state_ == State::Failed || state_ == State::Done) return state_;
  return has_collected || has_sent ? State::Busy : State::Idle;
}

void Relay::tell_once(const std::string& line) {
  if (line == told_) return;
  told_ = line;
  if (!line.empty()) tell_(line);
}

void Relay::fail(StoreFailure::Kind kind, std::string message) {
  problem_ = {kind, std::move(message)};
  state_ = State::Failed;
}

/// False: there is no ring of the name yet.
bool Relay::open_ring(std::uint64_t now_ns) {
  if (reader_) return true;
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + kLookNs;
  Result<ring::Reader> opened = ring::Reader::open(options_.ring);
  if (opened && opened.value().mode() == ring::Mode::Lossless && options_.takes_seat) {
    opened = ring::Reader::attach(options_.ring, ring::Reader::kAttachTimeoutNs,
                                  [this] { return !options_.stops || !options_.stops(); });
  }
  if (!opened) {
    tell_once(opened.message() + "; waiting for it");
    return false;
  }
  reader_.emplace(std::move(opened).value());
  // What is not stored yet is what a later relay will need.
  reader_->keep_from(reader_->position());
  layout_ = name_of_layout(reader_->image());
  next_ = {reader_->position(), reader_->next_record()};
  batch_ = {};
  part_ = 0;
  drop_found();
  is_placed_ = has_ended_ = is_drained_ = was_detached_ = has_told_end_ = false;
  ending_ = Ending::None;
  outbox_.clear();
  return true;
}

void Relay::begin_session(std::uint64_t now_ns) {
  Result<std::optional<Head>, StoreFailure> last = store_.begin();
  if (!last) return lose_session(last.failure(), now_ns);
  if (const auto shown = store_.show_layout(layout_, reader_->image()); !shown) {
    return lose_session(shown.failure(), now_ns);
  }
  if (const Status placed = find_place(last.value()); !placed) {
    return fail(StoreFailure::Kind::Refused, placed.message());
  }
  ++counts_.sessions;
  has_session_ = is_placed_ = true;
  stored_ = 0;
  heard_ns_ = now_ns;
}

void Relay::lose_session(const StoreFailure& why, std::uint64_t now_ns) {
  has_session_ = false;
  if (why.kind == StoreFailure::Kind::Refused) return fail(why.kind, why.message);
  backoff_.failed(now_ns);
  tell_once(why.message + "; trying again");
}

Status Relay::find_place(const std::optional<Head>& last) {
  if (is_placed_ && continues_outbox(last)) return Done{};
  if (last && last->epoch == reader_->epoch()) return go_on_after(*last);
  if (last && last->kind != Kind::End && last->epoch > reader_->epoch()) {
    return Failure{
        fmt::format("the stream has records of a ring that was made later, at {} ns since 1970, and has not "
                    "ended; the ring '{}' was made at {}: does another relay write this stream?",
                    last->epoch, options_.ring, reader_->epoch())};
  }
  return begin_ring(last);
}

/// After a session of this process: the stream ends with a message that is waiting here, or with the one before these.
bool Relay::continues_outbox(const std::optional<Head>& last) {
  outbox_.send_all_again();
  if (is_same(last, confirmed_)) return true;
  for (std::size_t i = 0; last && i < outbox_.size(); ++i) {
    if (outbox_.open() == &outbox_.at(i) || !is_same(last, outbox_.at(i).head)) continue;
    take_confirmed(i + 1);
    return true;
  }
  return false;
}

/// Goes on with this ring after what the stream has of it.
Status Relay::go_on_after(const Head& last) {
  if (is_placed_) reopen();
  outbox_.clear();
  confirmed_ = last;
  if (last.kind == Kind::End) {
    has_ended_ = true;
    return Done{};
  }
  const Place after{last.end, last.records_after()};
  seek(after.number);
  const bool is_inside = next_.number < after.number;  // of a record
  const std::uint64_t records = is_inside ? next_.records + 1 : next_.records;
  if (last.layout != layout_ || records < after.records || (is_inside && (batch_.empty() || !last.is_open))) {
    return Failure{
        fmt::format("the stream has other records of the ring '{}' than the ring: up to slot {}, record {}; "
                    "use another stream",
                    options_.ring, after.number, after.records)};
  }
  if (is_inside) {
    part_ = static_cast<std::uint16_t>(after.number - next_.number);
  } else if (next_.records > after.records || last.is_open) {
    // A record that takes several messages begins the first of them.
    const std::uint64_t part = last.part + last.slots();
    const bool is_part = last.is_open && part < reader_->max_record_slots() && part <= last.end && after.records != 0;
    gap_ = is_part ? Gap{after, {after.number - part, after.records - 1}, static_cast<std::uint16_t>(part)}
                   : Gap{after, after, 0};
  }
  return Done{};
}

/// Begins with a ring of which the stream has nothing, or nothing any more.
Status Relay::begin_ring(const std::optional<Head>& last) {
  if (is_placed_) reopen();
  outbox_.clear();
  if (last && last->kind != Kind::End) {
    Head lost = *last;
    lost.kind = Kind::Lost;
    lost.is_open = false;
    lost.part = 0;
    lost.first = last->end;
    lost.records = last->records_after();
    lost.count = kUnknownCount;
    (void)outbox_.add(lost);
    ++counts_.unknown_losses;
    tell_(fmt::format(
        "the ring before this one was replaced while no relay ran: its records after number {} are lost, if "
        "it had any",
        lost.records));
  }
  if (is_placed_ && confirmed_ && confirmed_->epoch == reader_->epoch()) {
    tell_("the stream no longer has its last messages; beginning again after them");
    seek(confirmed_->end);
  }
  confirmed_ = last;
  (void)outbox_.add(head_at(Kind::Begin, next_));
  if (next_.records != 0) tell_(fmt::format("beginning at record {}: the ring has no older one", next_.records + 1));
  return Done{};
}

/// The oldest record that the ring has is the next, if it is still the ring of this name.
void Relay::reopen() {
  Result<ring::Reader> again = reader_->mode() == ring::Mode::Lossless && options_.takes_seat
                                   ? ring::Reader::attach(options_.ring, ring::Reader::kAttachTimeoutNs,
                                                          [this] { return !options_.stops || !options_.stops(); })
                                   : ring::Reader::open(options_.ring);
  if (!again || again.value().epoch() != reader_->epoch()) return;
  *reader_ = std::move(again).value();
  reader_->keep_from(reader_->position());
  next_ = {reader_->position(), reader_->next_record()};
  batch_ = {};
  part_ = 0;
  drop_found();
  has_ended_ = is_drained_ = false;
  ending_ = Ending::None;
}

/// Skips all records that end at or before slot `number`.
void Relay::seek(std::uint64_t number) noexcept {
  part_ = 0;
  for (;;) {
    while (!batch_.empty()) {
      const std::size_t slots = record::HeaderView(batch_.front()).slots();
      next_.number = number_of(batch_.front(), next_.number);
      if (next_.number + slots > number) return;
      next_.number += slots;
      ++next_.records;
      batch_ = batch_.subspan(slots);
    }
    const ring::Poll poll = reader_->poll_batch();
    if (poll == ring::Poll::Record) {
      batch_ = reader_->slots();
      next_ = {reader_->record_number(), reader_->record_index()};
      continue;
    }
    next_ = {reader_->position(), reader_->next_record()};
    if (poll != ring::Poll::Lost) return;
  }
}

Head Relay::head_at(Kind kind, const Place& at) const noexcept {
  Head head;
  head.kind = kind;
  head.epoch = reader_->epoch();
  head.first = head.end = at.number;
  head.records = at.records;
  head.layout = layout_;
  return head;
}

void Relay::mark_lost(const Place& from, const Place& to) {
  Head head = head_at(Kind::Lost, from);
  head.end = to.number;
  head.count = to.records - from.records;
  (void)outbox_.add(head);
  counts_.lost += head.count;
  tell_(fmt::format("{} records lost, from record {} on, slots {} to {}: the ring no longer has them", head.count,
                    from.records + 1, from.number, to.number - 1));
}

void Relay::drop_found() noexcept {
  gap_.reset();
  found_.reset();
  kept_ = {};
}

/// The record after a gap is the next: what is in the gap comes from the refill, or is lost. False: it is not known
/// yet, because this process is to end.
bool Relay::close_gap() {
  const Gap gap = *gap_;
  if (options_.refill != nullptr) {
    tell_(fmt::format("the ring no longer has records {} to {}, slots {} to {}: looking for them in the recording",
                      gap.begin.records + 1, next_.records, gap.from.number, next_.number - 1));
    auto found = options_.refill->find({.epoch = reader_->epoch(),
                                        .image = reader_->image(),
                                        .image_generation = reader_->image_generation(),
                                        .slot_count = reader_->slot_count(),
                                        .max_record_slots = reader_->max_record_slots(),
                                        .first = gap.begin.number,
                                        .end = next_.number,
                                        .count = next_.records - gap.begin.records,
                                        .after = batch_});
    if (found) {
      found_ = std::move(found).value();
      after_found_ = next_;
      kept_ = batch_;
      batch_ = {};
      next_ = gap.begin;
      part_ = gap.part;
      gap_.reset();
      return true;
    }
    if (options_.stops && options_.stops()) return false;
    tell_("the recording does not have them: " + found.message());
  }
  gap_.reset();
  mark_lost(gap.from, next_);
  return true;
}

/// The next batch of what was found, or of the ring after it.
void Relay::take_found() {
  Result<std::span<const record::Slot>> more = found_->next();
  if (more && !more.value().empty() && record::HeaderView(more.value().front()).slots() <= part_) {
    more = Failure{"the stream has more of a record than the recording"};
  }
  if (more && !more.value().empty()) {
    batch_ = more.value();
    return;
  }
  const Place to = std::exchange(after_found_, {});
  if (!more) {
    tell_("the records of the recording cannot be read: " + more.message());
    part_ = 0;
    mark_lost(next_, to);
  } else {
    tell_("the records that the ring no longer had are from the recording");
  }
  next_ = to;
  batch_ = std::exchange(kept_, {});
  found_.reset();
}

void Relay::end_ring(Ending ending) {
  if (gap_) {
    // Without a record after it. The End follows at the next look.
    mark_lost(gap_->from, next_);
    gap_.reset();
    return;
  }
  Head head = head_at(Kind::End, next_);
  head.ending = ending;
  (void)outbox_.add(head);
  has_ended_ = true;
}

/// Fills the outbox from the ring. @returns whether there was something.
bool Relay::collect(std::uint64_t now_ns) {
  bool has_collected = false;
  while (!outbox_.is_full() && !has_ended_) {
    if (!batch_.empty() && gap_) {
      if (!close_gap()) break;
      has_collected = true;
      continue;
    }
    if (!batch_.empty()) {
      pack();
      has_collected = true;
      continue;
    }
    if (found_) {
      take_found();
      has_collected = true;
      continue;
    }
    const ring::Poll poll = reader_->poll_batch();
    is_drained_ = poll == ring::Poll::Nothing;
    if (poll == ring::Poll::Nothing) {
      outbox_.seal();
      look_for_end(now_ns);
      break;
    }
    has_collected = true;
    if (poll == ring::Poll::Damaged) {
      if (!gap_) tell_(reader_->damage());
      end_ring(Ending::Damaged);
    } else if (poll == ring::Poll::Lost) {
      // Where it ends is known with the next record.
      if (!gap_) gap_ = Gap{next_, next_, 0};
      next_ = {reader_->position(), reader_->next_record()};
    } else {
      batch_ = reader_->slots();
      next_ = {reader_->record_number(), reader_->record_index()};
      if (record::HeaderView(batch_.front()).is_market_event()) {
        fail(StoreFailure::Kind::Refused,
             "the ring carries market events, whose instruments are in a table beside it; a "
             "relay copies rings of records");
        return false;
      }
    }
  }
  return has_collected;
}

void Relay::look_for_end(std::uint64_t now_ns) {
  // The ring was empty after its writer had ended.
  if (ending_ != Ending::None) return end_ring(ending_);
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kEndLookNs;
  const ring::WriterState writer = reader_->writer();
  if (writer == ring::WriterState::Running) {
    if (reader_->is_detached() && !std::exchange(was_detached_, true)) {
      tell_("the ring's writer no longer waits for this relay");
    }
    return;
  }
  ending_ = writer == ring::WriterState::Finished ? Ending::Finished : Ending::Died;
}

/// Copies records of the batch into messages, while there is room.
void Relay::pack() {
  while (!batch_.empty() && !outbox_.is_full()) {
    const record::HeaderView view(batch_.front());
    if (part_ == 0) next_.number = number_of(batch_.front(), next_.number);
    const std::span<const record::Slot> rest = batch_.first(view.slots()).subspan(part_);
    Outgoing* to = outbox_.open();
    const bool fits = to != nullptr && part_ == 0 && to->head.channel == view.channel() &&
                      to->head.end == next_.number && to->head.slots() + rest.size() <= kMessageSlots;
    if (!fits) {
      Head head = head_at(Kind::Records, {next_.number + part_, next_.records + (part_ != 0 ? 1 : 0)});
      head.part = part_;
      head.channel = view.channel();
      to = &outbox_.add(head);
    }
    const std::size_t count = std::min(rest.size(), kMessageSlots - to->head.slots());
    Outbox::append(*to, rest.first(count));
    if (part_ == 0) ++to->head.count;
    if (count < rest.size()) {
      part_ = static_cast<std::uint16_t>(part_ + count);
      to->head.is_open = true;
      to->needed_from = needed_from();
      outbox_.seal();
      continue;
    }
    next_.number += view.slots();
    ++next_.records;
    batch_ = batch_.subspan(view.slots());
    part_ = 0;
    if (found_) ++counts_.refilled;
    to->needed_from = needed_from();
  }
}

/// Sends, and takes answers. @returns whether it did something.
bool Relay::exchange(std::uint64_t now_ns, bool waits) {
  if (outbox_.sent() == 0) heard_ns_ = now_ns;
  const std::size_t before = outbox_.sent();
  if (const auto sent = send_all(); !sent) {
    lose_session(sent.failure(), now_ns);
    return true;
  }
  const bool has_sent = outbox_.sent() != before;
  const auto stored = store_.stored(waits && !has_sent && outbox_.sent() != 0 ? 1 : 0);
  if (!stored) {
    lose_session(stored.failure(), now_ns);
    return true;
  }
  const std::uint64_t count = stored.value() - stored_;
  if (count > outbox_.sent()) {
    lose_session({StoreFailure::Kind::Away, "the store confirms messages that were not sent"}, now_ns);
    return true;
  }
  if (count != 0) {
    stored_ = stored.value();
    heard_ns_ = now_ns;
    backoff_.succeeded();
    tell_once("");
    take_confirmed(count);
  } else if (outbox_.sent() != 0 && now_ns - heard_ns_ > options_.answer_ns) {
    lose_session({StoreFailure::Kind::Away,
                  fmt::format("the store has confirmed nothing for {} ms", options_.answer_ns / 1'000'000)},
                 now_ns);
  }
  return has_sent || count != 0;
}

Result<Done, StoreFailure> Relay::send_all() {
  while (const Outgoing* message = outbox_.next()) {
    outbox_.sent_one();
    // The first one's answer has the reason if the store takes nothing; later ones only say that one is missing.
    const bool asks = outbox_.sent() == 1 || outbox_.sent() % kAskEvery == 0 || outbox_.next() == nullptr;
    if (const auto sent = store_.send(*message, asks); !sent) return sent;
  }
  return Done{};
}

/// The oldest messages are stored.
void Relay::take_confirmed(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const Head& head = outbox_.at(i).head;
    ++counts_.messages;
    counts_.slots += head.slots();
    if (head.kind == Kind::Records) counts_.records += head.count;
  }
  const Outgoing& last = outbox_.at(count - 1);
  confirmed_ = last.head;
  if (last.head.epoch == reader_->epoch()) reader_->keep_from(last.needed_from);
  outbox_.confirm(count);
}

void Relay::follow_next_ring(std::uint64_t now_ns) {
  if (!std::exchange(has_told_end_, true)) {
    tell_(fmt::format("the ring made at {} has ended with record {}; all of it that the relay got is stored",
                      reader_->epoch(), confirmed_ ? confirmed_->records_after() : 0));
  }
  if (options_.once) {
    state_ = State::Done;
    return;
  }
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookNs;
  if (!reader_->replaced()) return;
  const Result<ring::Reader> next = ring::Reader::open(options_.ring);
  if (!next || next.value().epoch() == reader_->epoch()) return;
  // The next one begins as after a start of this process.
  reader_.reset();
  has_session_ = false;
  next_look_ns_ = 0;
  backoff_.succeeded();
}

}  // namespace stopbit::relay
