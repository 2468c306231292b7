#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "host/market/event/event.hpp"

namespace stopbit::market {

inline constexpr std::pair<std::uint8_t, std::string_view> kFlagNames[] = {
    {record::kFlagLastOfPacket, "last_of_packet"},
    {record::kFlagSnapshot, "snapshot"},
    {record::kFlagStale, "stale"},
    {record::kFlagRecovered, "recovered"},
    {record::kFlagPossibleDuplicate, "possible_duplicate"},
    {kFlagLastOfEvent, "last_of_event"},
    {kFlagBestChanged, "best_changed"},
    {kFlagWide, "wide"},
};

/// Tells an event field by field, under the names and in the order of its JSON line (print.hpp). Fields without a value
/// are left out. `to` has
///
///     named(key, name, number)      a value of a list; `name` is empty if it has none
///     number(key, value)            a signed or unsigned integer
///     instrument(row)
///     price(value), quantity(value)
///     flags(bits)                   not 0
template <class To>
void visit_fields(const Event& event, To& to) {
  const auto named = [&](std::string_view key, auto value) {
    to.named(key, name_of(value), static_cast<unsigned>(value));
  };
  named("event", event.kind());
  to.number("channel", std::uint64_t{event.channel()});
  to.number("sequence", std::uint64_t{event.sequence()});
  to.instrument(event.instrument());
  if (event.side() != Side::None) named("side", event.side());
  if (event.book() == BookOf::Implied && !event.counts_messages()) named("book", event.book());
  if (event.kind() == Kind::Statistic) {
    named("statistic", event.statistic());
  } else if (event.level() != kNoLevel && event.kind() != Kind::Stale && event.kind() != Kind::Suspect) {
    to.number("level", std::uint64_t{event.level()});
  }
  if (event.price() != kNoPrice) to.price(event.price());
  if (event.quantity() != kNoQuantity) to.quantity(event.quantity());
  switch (event.kind()) {
    case Kind::State: {
      const StateCode code = event.state();
      named("state", code.state);
      to.number("code", std::uint64_t{code.exchange_code});
      to.number("scale", std::uint64_t{code.scale});
      break;
    }
    case Kind::Clear: named("cause", event.cause()); break;
    case Kind::Stale:
    case Kind::Suspect: named("cause", event.cause()); [[fallthrough]];
    case Kind::Latest:
    case Kind::SnapshotEnd:
      to.number("number", event.id());
      if (event.counts_messages()) to.named("counts", "messages", 0);
      break;
    default:
      // Entries addressed by a level may carry how many orders it has; whether they do is the map's to say.
      if (event.id() != 0 && !(is_entry(event.kind()) && event.id() == kNoCount)) to.number("id", event.id());
  }
  to.number("time", event.arrival_ns());
  if (event.delay_ns() != kNoDelay) to.number("delay", event.delay_ns());
  if (event.flags() != 0) to.flags(event.flags());
}

}  // namespace stopbit::market
