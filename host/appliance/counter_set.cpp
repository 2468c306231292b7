#include "host/appliance/counter_set.hpp"

#include <numeric>

#include "host/appliance/counter_rows.hpp"

namespace stopbit::appliance {

using counters::Kind;
using counters::Unit;

namespace {
constexpr std::string_view kMessagesHelp =
    "Messages decoded, by template; templates that a later image added share an empty name.";
}  // namespace

std::string_view to_text(ChannelState state) noexcept {
  switch (state) {
    case ChannelState::Waiting: return "waiting";
    case ChannelState::Live: return "live";
    case ChannelState::Stale: return "stale";
    case ChannelState::Silent: return "silent";
    case ChannelState::Closed: return "closed";
  }
  return "unknown";
}

void CounterSetBuilder::add(counters::Counter& handle, std::string_view family, Labels labels, std::string_view help,
                            Kind kind, Unit unit) {
  const auto id = schema_.add(kind, family, labels, help, unit);
  binders_.push_back(
      [&handle, id](const counters::Segment& segment, const Ids& ids) { handle = segment.counter(ids[id]); });
}

void CounterSetBuilder::histogram(counters::Histogram& handle, std::string_view family, Labels labels,
                                  std::string_view help, Unit unit) {
  const auto id = schema_.add(Kind::Histogram, family, labels, help, unit);
  binders_.push_back(
      [&handle, id](const counters::Segment& segment, const Ids& ids) { handle = segment.histogram(ids[id]); });
}

void CounterSetBuilder::text(counters::Text& handle, std::string_view family, Labels labels, std::string_view help) {
  const auto id = schema_.add(Kind::Text, family, labels, help);
  binders_.push_back(
      [&handle, id](const counters::Segment& segment, const Ids& ids) { handle = segment.text(ids[id]); });
}

template <class Rows, class CounterSet>
void CounterSetBuilder::add_rows(const Rows& rows, CounterSet& counter_set, Labels labels) {
  for (const auto& row : rows) {
    if (row.counter != nullptr) add(counter_set.*row.counter, row.name, labels, row.help, row.kind, row.unit);
  }
}

void CounterSetBuilder::agent(AgentCounterSet& counter_set, std::string_view name) {
  constexpr std::uint16_t kDistinctErrors = 64;
  const Labels labels = {{"agent", name}};
  schema_.writer();
  add_rows(kAgentRows, counter_set, labels);
  histogram(counter_set.batch, "agent_batch_datagrams", labels, "Datagrams returned by one poll of a port.",
            Unit::Number);
  histogram(counter_set.latency, "agent_latency", labels,
            "Time from the arrival of the first datagram of a batch to the publication of its last record.",
            Unit::Nanoseconds);
  const auto id =
      schema_.add(Kind::Errors, "errors", labels, "Decode errors, each distinct one with its first example.",
                  Unit::Number, kDistinctErrors);
  binders_.push_back([&counter_set, id](const counters::Segment& segment, const Ids& ids) {
    counter_set.errors = segment.errors(ids[id]);
  });
}

void CounterSetBuilder::port(PortCounterSet& counter_set, std::string_view name) {
  add_rows(kPortRows, counter_set, {{"port", name}});
  for (std::size_t i = 0; i < counter_set.verdicts.size(); ++i) {
    const auto verdict = static_cast<net::Verdict>(i);
    add(counter_set.verdicts[i], "port_verdicts", {{"port", name}, {"verdict", net::verdict_text(verdict)}},
        "Frames by the result of the checks before decoding.");
  }
}

void CounterSetBuilder::clock_steps(counters::Counter& counter) {
  add(counter, "clock_steps", {}, "Steps of the wall clock.");
}

void CounterSetBuilder::output(RecordOutputCounterSet& counter_set, std::string_view name) {
  const Labels labels = {{"ring", name}};
  add_rows(kRingRows, counter_set, labels);
  add(counter_set.other, "messages", {{"ring", name}, {"template", ""}}, kMessagesHelp);
  text(counter_set.image, "image", labels, "Name of the image in use.");
}

void CounterSetBuilder::templates(counters::Counter& counter, std::string_view output, std::string_view name) {
  add(counter, "messages", {{"ring", output}, {"template", name}}, kMessagesHelp);
}

void CounterSetBuilder::market(MarketCounterSet& counter_set, std::string_view events) {
  add_rows(kMarketRows, counter_set, {{"events", events}});
  std::size_t i = 0;
#define STOPBIT_MARKET_COUNT(member, name, what)                                      \
  add(counter_set.counts[i++], "market_counts", {{"events", events}, {"what", name}}, \
      "Entries, events, snapshots and instruments, by what became of them.");
#include "host/market/stage/counts.def"
#undef STOPBIT_MARKET_COUNT
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what)                                     \
  add(counter_set.faults[static_cast<std::size_t>(market::Fault::enumerator)], "book_faults", \
      {{"events", events}, {"fault", name}}, "Events that a book ruled out, by what was wrong.");
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
}

void CounterSetBuilder::channel(ChannelCounterSet& counter_set, std::string_view name, bool has_b) {
  for (std::size_t i = 0; i < (has_b ? 2 : 1); ++i) {
    LineCounterSet& line = counter_set.lines[i];
    const Labels of_line = {{"channel", name}, {"line", i == 0 ? "A" : "B"}};
    add_rows(kLineRows, line, of_line);
    histogram(line.skew, "line_skew", of_line,
              "Delay of packets after their copies on the other line, in powers of two.", Unit::Nanoseconds);
  }
  add_rows(kChannelRows, counter_set, {{"channel", name}});
}

void CounterSetBuilder::replay(ReplayCounterSet& counter_set, std::string_view service) {
  add_rows(kReplayRows, counter_set, {{"service", service}});
}

void CounterSetBuilder::record(RecordCounterSet& counter_set, std::string_view channel, bool is_b) {
  add_rows(kRecordRows, counter_set, {{"channel", channel}, {"line", is_b ? "B" : "A"}});
}

void CounterSetBuilder::recorder(RecorderCounterSet& counter_set) {
  add_rows(kRecorderRows, counter_set, {});
  text(counter_set.problem, "recorder_problem", {}, "Latest error of the operating system while recording.");
}

void CounterSetBuilder::record_queue(RecordQueueCounterSet& counter_set, std::string_view agent) {
  add_rows(kRecordQueueRows, counter_set, {{"agent", agent}});
}

void CounterSetBuilder::housekeeper(HousekeeperCounterSet& counter_set) {
  add_rows(kHousekeeperRows, counter_set, {});
}

void CounterSetBuilder::nic(NicCounterSet& counter_set) {
  schema_.writer();
  add_rows(kNicRows, counter_set, {});
}

void CounterSetBuilder::units(UnitsCounterSet& counter_set, std::string_view carrier) {
  add_rows(kUnitsRows, counter_set, {{"carrier", carrier}});
}

void CounterSetBuilder::fabric(FabricCounterSet& counter_set) {
  add_rows(kFabricRows, counter_set, {{"carrier", "fabric"}});
}

void CounterSetBuilder::card(CardCounterSet& counter_set) {
  schema_.writer();
  add_rows(kCardRows, counter_set, {});
}

void CounterSetBuilder::udp(UdpCounterSet& counter_set) {
  add_rows(kUdpRows, counter_set, {});
}

void CounterSetBuilder::multicast(MulticastCounterSet& counter_set, std::string_view name) {
  add_rows(kMulticastRows, counter_set, {{"multicast", name}});
}

void CounterSetBuilder::offer(OfferCounterSet& counter_set, std::string_view name) {
  add_rows(kOfferRows, counter_set, {{"offer", name}});
}

void CounterSetBuilder::publisher(PublisherCounterSet& counter_set, std::string_view carrier) {
  add_rows(kPublisherRows, counter_set, {{"carrier", carrier}});
  for (std::size_t i = 0; i < counter_set.refusals.size(); ++i) {
    const char* const why = remote::to_name(static_cast<remote::Refusal>(i + 1));
    add(counter_set.refusals[i], "publisher_refusals", {{"carrier", carrier}, {"why", why}},
        "Subscriptions refused or revoked, by reason.");
  }
  for (std::size_t i = 0; i < counter_set.places.size(); ++i) {
    SubscriberCounterSet& place = counter_set.places[i];
    const std::string number = std::to_string(i);
    const Labels of_place = {{"carrier", carrier}, {"place", number}};
    add_rows(kSubscriberRows, place, of_place);
    text(place.who, "subscriber", of_place, "Node and port of the subscriber.");
    text(place.ring, "subscriber_ring", of_place, "Ring of the subscription.");
  }
}

void CounterSetBuilder::info(counters::Counter& counter, std::string_view family, Labels labels,
                             std::string_view help) {
  add(counter, family, labels, help, Kind::Gauge);
}

Result<counters::Segment> CounterSetBuilder::build(std::string_view name) {
  Result<counters::Segment> segment =
      name.empty() ? counters::Segment::create_private(schema_) : counters::Segment::create(name, schema_);
  if (!segment) return segment;
  Ids ids(schema_.items().size());
  std::iota(ids.begin(), ids.end(), counters::Schema::Id{0});
  for (const auto& bind : binders_) bind(segment.value(), ids);
  binders_.clear();
  return segment;
}

Status CounterSetBuilder::extend(counters::Segment& segment) {
  const Result<Ids> ids = segment.add(schema_);
  if (!ids) return ids.failure();
  for (const auto& bind : binders_) bind(segment, ids.value());
  binders_.clear();
  return Done{};
}

void ChannelCounterSet::clear() const noexcept {
  for (const LineCounterSet& line : lines) {
    if (!line.packets.exists()) continue;
    for (const auto& row : kLineRows) (line.*row.counter).set(0);
    line.skew.clear();
  }
  for (const auto& row : kChannelRows) (this->*row.counter).set(0);
}

}  // namespace stopbit::appliance
