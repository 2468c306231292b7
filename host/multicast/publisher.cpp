#include "host/multicast/publisher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/market/event/event.hpp"

namespace stopbit::multicast {
namespace {

/// The number of a record's first slot, whose lower half is in it: at or after `from`. Padding may come between.
std::uint64_t number_of(const record::Slot& first, std::uint64_t from) noexcept {
  return from + static_cast<std::uint32_t>(record::HeaderView(first).stamp() - static_cast<std::uint32_t>(from));
}

}  // namespace

Publisher::Publisher(PublisherOptions options, Lines lines, std::function<void(const std::string&)> tell)
    : options_(std::move(options)),
      lines_(std::move(lines)),
      tell_(std::move(tell)),
      history_(options_.history_bytes),
      room_(std::clamp(options_.packet_bytes, kMinPacketBytes, kMaxPacketBytes)),
      rate_(options_.bytes_per_second) {
  head_ = {.sequence = first_sequence(options_.epoch_ns), .epoch = options_.epoch_ns, .sent_ns = options_.epoch_ns};
  messages_.reserve(room_.size());
  if (options_.keeps_state) books_.emplace(options_.books);
}

std::size_t Publisher::step(std::uint64_t now_ns, std::uint64_t wall_ns) {
  now_ns_ = now_ns;
  head_.sent_ns = wall_ns;
  const std::uint64_t before = counts_.packets;
  while (send_waiting(now_ns) && counts_.packets - before < kMostPackets) {
    if (!rate_.has_room(now_ns)) {
      if (!std::exchange(is_limited_, true)) ++counts_.limited;
      break;
    }
    is_limited_ = false;
    if (open_ring(now_ns) && collect(now_ns)) continue;
    if (last_sent_ns_ == 0 || now_ns - last_sent_ns_ >= options_.heartbeat_ns) {
      ++counts_.heartbeats;
      send(writer_.heartbeat(head_), now_ns);
    }
    break;
  }
  return static_cast<std::size_t>(counts_.packets - before);
}

void Publisher::finish(const std::function<std::uint64_t()>& monotonic, std::uint64_t wall_ns, std::uint64_t until_ns) {
  std::uint64_t now_ns = monotonic();
  // The ring's writer has ended, or this process ends before it.
  for (; reader_ && !has_ended_ && now_ns < until_ns; now_ns = monotonic()) {
    if (step(now_ns, wall_ns) == 0 && waiting_.empty()) next_look_ns_ = 0;
  }
  // A number after the last packet, so that its loss is seen.
  for (; now_ns < until_ns && !send_waiting(now_ns); now_ns = monotonic()) {
  }
  if (!waiting_.empty()) return;
  ++counts_.heartbeats;
  send(writer_.heartbeat(head_), now_ns);
}

/// True: no packet waits for room on a line.
bool Publisher::send_waiting(std::uint64_t now_ns) {
  if (waiting_.empty()) return true;
  bool waits = false;
  for (std::size_t i = 0; i < kLines; ++i) {
    if (!awaits_[i]) continue;
    switch (lines_[i]->send(waiting_)) {
      case Line::Outcome::Full:
        if (now_ns < waits_until_ns_) {
          waits = true;
          continue;
        }
        ++counts_.lines[i].full;
        leave_out(i);
        break;
      case Line::Outcome::Refused:
        ++counts_.lines[i].refused;
        if (lines_[i]->error() != std::exchange(told_errors_[i], lines_[i]->error())) {
          tell_(fmt::format("line {}: the kernel refuses packets: {}", "AB"[i], std::strerror(told_errors_[i])));
        }
        leave_out(i);
        break;
      case Line::Outcome::Sent:
        ++counts_.lines[i].packets;
        counts_.lines[i].bytes += waiting_.size();
        told_errors_[i] = 0;
        break;
    }
    awaits_[i] = false;
  }
  if (waits) return false;
  waiting_ = {};
  return true;
}

void Publisher::leave_out(std::size_t line) noexcept {
  ++misses_;
  const std::size_t lines = lines_[1] != nullptr ? kLines : 1;
  if (misses_ == lines) ++counts_.missed;
  (void)line;
}

void Publisher::send(std::span<const std::byte> packet, std::uint64_t now_ns) {
  rate_.take(packet.size());
  history_.add(head_.sequence, packet);
  ++counts_.packets;
  ++head_.sequence;
  last_sent_ns_ = now_ns;
  waiting_ = packet;
  misses_ = 0;
  waits_until_ns_ = now_ns + options_.patience_ns;
  for (std::size_t i = 0; i < kLines; ++i) awaits_[i] = lines_[i] != nullptr;
  if (!send_waiting(now_ns)) ++counts_.waited;
}

relay::Head Publisher::head_at(relay::Kind kind, const Place& at) const noexcept {
  relay::Head head;
  head.kind = kind;
  head.epoch = reader_->epoch();
  head.layout = layout_;
  head.first = head.end = at.number;
  head.records = at.records;
  return head;
}

void Publisher::mark(relay::Kind kind, const Place& from, const Place& to, relay::Ending ending) {
  relay::Head head = head_at(kind, from);
  head.end = to.number;
  head.count = to.records - from.records;
  head.ending = ending;
  send(writer_.records(head_, head, {}), now_ns_);
}

bool Publisher::open_ring(std::uint64_t now_ns) {
  if (reader_ && !has_ended_) return true;
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + kLookNs;
  Result<ring::Reader> opened = ring::Reader::open(options_.ring);
  if (!opened) {
    tell_once(opened.message() + "; waiting for it");
    return false;
  }
  if (reader_ && opened.value().epoch() == reader_->epoch()) return false;
  reader_.emplace(std::move(opened).value());
  layout_ = relay::name_of_layout(reader_->image());
  instruments_.reset();
  if (auto table = market::InstrumentView::open(options_.ring);
      table && table.value().ring_epoch() == reader_->tables_epoch()) {
    instruments_.emplace(std::move(table).value());
  }
  key_row_ = 0;
  next_ = {reader_->position(), reader_->next_record()};
  state_.reset();
  if (books_) books_->begin(instruments_ ? &*instruments_ : nullptr, next_.records == 0);
  batch_ = {};
  part_ = 0;
  has_ended_ = false;
  ending_ = relay::Ending::None;
  ++counts_.rings;
  told_.clear();
  mark(relay::Kind::Begin, next_, next_);
  return true;
}

/// @returns whether a packet was made.
bool Publisher::collect(std::uint64_t now_ns) {
  // The packet that began the ring may wait for room.
  if (!waiting_.empty()) return true;
  if (!batch_.empty()) {
    pack();
    return true;
  }
  switch (reader_->poll_batch()) {
    case ring::Poll::Nothing: {
      const bool was_ended = has_ended_;
      look_for_end(now_ns);
      return has_ended_ != was_ended;
    }
    case ring::Poll::Damaged:
      tell_(reader_->damage());
      end_ring(relay::Ending::Damaged);
      return true;
    case ring::Poll::Lost: {
      const Place now{reader_->position(), reader_->next_record()};
      counts_.lost += now.records - next_.records;
      tell_once(fmt::format("{} records lost, from record {} on: the ring no longer has them",
                            now.records - next_.records, next_.records + 1));
      mark(relay::Kind::Lost, next_, now);
      next_ = now;
      if (books_) books_->lose();
      return true;
    }
    case ring::Poll::Record: break;
  }
  batch_ = reader_->slots();
  next_ = {reader_->record_number(), reader_->record_index()};
  pack();
  return true;
}

void Publisher::look_for_end(std::uint64_t now_ns) {
  // The ring was empty after its writer had ended.
  if (ending_ != relay::Ending::None) return end_ring(ending_);
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookNs;
  const ring::WriterState writer = reader_->writer();
  if (writer == ring::WriterState::Running) return;
  ending_ = writer == ring::WriterState::Finished ? relay::Ending::Finished : relay::Ending::Died;
}

void Publisher::end_ring(relay::Ending ending) {
  has_ended_ = true;
  next_look_ns_ = 0;
  mark(relay::Kind::End, next_, next_, ending);
}

bool Publisher::begins_with_event() const noexcept {
  return part_ == 0 && record::HeaderView(batch_.front()).is_market_event();
}

void Publisher::take_front() noexcept {
  const std::size_t slots = record::HeaderView(batch_.front()).slots();
  next_.number += slots;
  ++next_.records;
  ++counts_.records;
  batch_ = batch_.subspan(slots);
  part_ = 0;
}

/// One packet with as many records as are ready and fit. Between them the ring has no padding.
void Publisher::pack() {
  if (part_ == 0) next_.number = number_of(batch_.front(), next_.number);
  if (begins_with_event()) return pack_events();
  relay::Head head = head_at(relay::Kind::Records, {next_.number + part_, next_.records + (part_ != 0 ? 1 : 0)});
  head.part = part_;
  const std::span<const record::Slot> from = batch_.subspan(part_);
  std::size_t slots = 0;
  for (const std::size_t most = slots_in(room_.size()); slots < most && !batch_.empty();) {
    if (part_ == 0 && (begins_with_event() || number_of(batch_.front(), next_.number) != next_.number)) break;
    const std::size_t rest = record::HeaderView(batch_.front()).slots() - std::size_t{part_};
    if (part_ == 0 && rest <= slots_in(room_.size()) && rest > most - slots) break;
    if (part_ == 0) ++head.count;
    const std::size_t taken = std::min(rest, most - slots);
    slots += taken;
    if (taken == rest) {
      take_front();
    } else {
      part_ = static_cast<std::uint16_t>(part_ + taken);
      head.is_open = true;
    }
  }
  head.end = head.first + slots;
  send(writer_.records(head_, head, from.first(slots)), now_ns_);
}

void Publisher::pack_events() {
  relay::Head head = head_at(relay::Kind::Records, next_);
  messages_.clear();
  const std::size_t most = events_in(room_.size());
  while (head.count < most && !batch_.empty() && begins_with_event() &&
         number_of(batch_.front(), next_.number) == next_.number) {
    const market::Event event = market::Event::from(batch_.front());
    market::append_sbe(
        event, messages_,
        {.instrument = key_of(event), .quantity_decimals = instruments_ ? instruments_->quantity_decimals() : 0});
    ++head.count;
    take_front();
    if (books_) follow(event);
  }
  head.end = head.first + head.count;
  send(writer_.events(head_, head, std::as_bytes(std::span(messages_))), now_ns_);
}

void Publisher::follow(const market::Event& event) {
  try {
    books_->take(event);
  } catch (const std::bad_alloc&) {
    keep_no_state();
  }
}

/// The lines go on without it.
void Publisher::keep_no_state() {
  books_.reset();
  state_.reset();
  tell_("there is not enough memory for the state of the books: none is kept; lower [books] instruments or orders");
}

std::shared_ptr<const State> Publisher::state(std::uint64_t now_ns) {
  if (!books_ || !reader_ || !instruments_) return nullptr;
  if (state_ != nullptr && now_ns - state_ns_ < kStateNs) return state_;
  try {
    return make_state(now_ns);
  } catch (const std::bad_alloc&) {
    keep_no_state();
    return nullptr;
  }
}

std::shared_ptr<const State> Publisher::make_state(std::uint64_t now_ns) {
  auto made = std::make_shared<State>();
  made->head = {.sequence = head_.sequence, .ring_epoch = reader_->epoch(), .records = next_.records};
  books_->for_each_event([&](const market::Event& event) {
    market::append_sbe(event, made->messages,
                       {.instrument = key_of(event), .quantity_decimals = instruments_->quantity_decimals()});
  });
  state_ = std::move(made);
  state_ns_ = now_ns;
  return state_;
}

/// A key never changes, so that of the last row is still right.
std::string_view Publisher::key_of(const market::Event& event) {
  const std::uint32_t row = event.instrument();
  if (row == market::kAllInstruments || !instruments_) return {};
  if (row != key_row_) {
    key_row_ = instruments_->read(row, key_) ? row : 0;
    if (key_row_ == 0) return {};
  }
  return market::key_of(key_);
}

void Publisher::tell_once(const std::string& line) {
  if (std::exchange(told_, line) != line) tell_(line);
}

}  // namespace stopbit::multicast
