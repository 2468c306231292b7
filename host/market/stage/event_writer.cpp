#include "host/market/stage/event_writer.hpp"

namespace stopbit::market {

void EventWriter::flush(bool is_last) noexcept {
  if (!has_pending_) {
    // The rest of an event was not applied: readers still have to learn that it ends.
    if (!is_last || !is_open_[message_.channel]) return;
    channel_ = message_.channel;
    pending_ = Event::of(message_.content(Kind::Other, kAllInstruments));
  } else if (is_last && pending_.channel() != channel_) {
    // An event of one channel does not end within a message of another.
    Content end = pending_.content();
    end = {.arrival_ns = end.arrival_ns, .sequence = packet_, .channel = channel_, .kind = Kind::Other};
    write(pending_);
    pending_ = Event::of(end);
  }
  has_pending_ = false;
  if (is_last) pending_.add_flags(kFlagLastOfEvent);
  is_open_[channel_] = !is_last;
  write(pending_);
}

void EventWriter::write(Event& event) noexcept {
  if (event.has(kFlagWide)) ++counts_.wide;
  ++counts_.events;
  (void)publisher_.take(event, [&](std::uint32_t row) {
    ++counts_.stale;
    healing_.note_row(row, event.arrival_ns());
    if (faulty_[row] != 0) return;
    faulty_[row] = first_faulty_;
    first_faulty_ = row;
  });
  if (event.kind() >= Kind::Clear) healing_.note(event);
}

}  // namespace stopbit::market
