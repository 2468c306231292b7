#pragma once

#include <cstdint>

#include "host/market/book/book_set.hpp"
#include "host/market/stage/counts.hpp"
#include "host/market/stage/event_writer.hpp"
#include "host/market/stage/message.hpp"
#include "host/market/stage/picture.hpp"
#include "host/market/stage/shapes.hpp"
#include "host/market/stage/snapshot_place.hpp"
#include "host/market/stage/state_writer.hpp"

namespace stopbit::market {

/// Snapshots of feeds without increments: each one is the whole book. One thread; allocates when it is made only.
class Replacements {
 public:
  /// `room`: entries of a snapshot; 0: the feed has none of them.
  Replacements(const Message& message, EventWriter& writer, const BookSet& books, StateWriter& states, Shapes& shapes,
               MarketCounts& counts, std::uint32_t room)
      : message_(message),
        writer_(writer),
        books_(books),
        states_(states),
        shapes_(shapes),
        counts_(counts),
        has_any_(room != 0),
        picture_(room) {}

  /// A message of a snapshot. True: its entries go to picture(), and end_part() follows.
  [[nodiscard]] bool part(const SnapshotPart& part) noexcept {
    const SnapshotPlace::Step step = place_.take(message_, part);
    const bool follows = is_open_ && row_ == part.row && number_ == part.number && step.at == at_ + 1;
    if (is_open_ && (step.begins || !follows)) ++counts_.torn_snapshots;
    is_open_ = step.begins || follows;
    row_ = part.row;
    number_ = part.number;
    at_ = step.at;
    is_last_ = part.is_last;
    if (!is_open_) return false;
    if (!shapes_.is_defined(part.row)) shapes_.define(part.row, message_.channel);
    if (step.begins) picture_.begin(part.row);
    return true;
  }
  void end_part() noexcept;
  [[nodiscard]] Picture& picture() noexcept { return picture_; }
  /// Messages of the channel were lost: each book may be old until its next snapshot.
  void lose(std::uint64_t first) noexcept {
    if (!has_any_) return;
    Content suspect = message_.content(Kind::Suspect, kAllInstruments);
    suspect.level = static_cast<std::uint16_t>(Cause::Gap);
    suspect.book = BookOf::Implied;
    suspect.id = first;
    writer_.emit(suspect);
  }

 private:
  const Message& message_;
  EventWriter& writer_;
  const BookSet& books_;
  StateWriter& states_;
  Shapes& shapes_;
  MarketCounts& counts_;
  const bool has_any_;
  Picture picture_;
  SnapshotPlace place_;
  bool is_open_ = false;
  bool is_last_ = false;
  std::uint32_t row_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t at_ = 0;
};

inline void Replacements::end_part() noexcept {
  if (!is_open_ || !is_last_) return;
  is_open_ = false;
  if (!picture_.is_whole()) {
    ++counts_.torn_snapshots;
    return;
  }
  const auto say = [&](Kind kind) {
    Content event = message_.content(kind, row_);
    event.id = number_;
    writer_.emit(event);
  };
  say(Kind::SnapshotBegin);
  for (const Event& event : picture_.events()) {
    if (event.kind() != Kind::State) {
      writer_.emit(event);
    } else if (states_.now(row_) != event.state().state) {
      states_.tell(event);
    }
  }
  say(Kind::SnapshotEnd);
  ++counts_.loads;
  writer_.flush(false);
  if (books_.standing(row_) == Standing::Latest || writer_.has_faulty()) return;
  Content latest = message_.content(Kind::Latest, row_);
  latest.flags &= static_cast<std::uint8_t>(~record::kFlagSnapshot);
  latest.id = number_;
  writer_.emit(latest);
}

}  // namespace stopbit::market
