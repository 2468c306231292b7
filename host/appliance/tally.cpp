#include "host/appliance/tally.hpp"

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
  }
  return "unknown";
}

void TallyBuilder::add(counters::Counter& handle, std::string_view family, Labels labels, std::string_view help,
                       Kind kind, Unit unit) {
  const auto id = schema_.add(kind, family, labels, help, unit);
  binders_.push_back([&handle, id](const counters::Segment& segment) { handle = segment.counter(id); });
}

void TallyBuilder::histogram(counters::Histogram& handle, std::string_view family, Labels labels, std::string_view help,
                             Unit unit) {
  const auto id = schema_.add(Kind::Histogram, family, labels, help, unit);
  binders_.push_back([&handle, id](const counters::Segment& segment) { handle = segment.histogram(id); });
}

void TallyBuilder::text(counters::Text& handle, std::string_view family, Labels labels, std::string_view help) {
  const auto id = schema_.add(Kind::Text, family, labels, help);
  binders_.push_back([&handle, id](const counters::Segment& segment) { handle = segment.text(id); });
}

template <class Rows, class Tally>
void TallyBuilder::add_rows(const Rows& rows, Tally& tally, Labels labels) {
  for (const auto& row : rows) {
    if (row.counter != nullptr) add(tally.*row.counter, row.name, labels, row.help, row.kind, row.unit);
  }
}

void TallyBuilder::agent(AgentTally& tally, std::string_view name) {
  constexpr std::uint16_t kDistinctErrors = 64;
  const Labels labels = {{"agent", name}};
  schema_.writer();
  add_rows(kAgentRows, tally, labels);
  histogram(tally.batch, "agent_batch_datagrams", labels, "Datagrams returned by one poll of a port.", Unit::Number);
  histogram(tally.latency, "agent_latency", labels,
            "Time from the arrival of the first datagram of a batch to the publication of its last record.",
            Unit::Nanoseconds);
  const auto id =
      schema_.add(Kind::Errors, "errors", labels, "Decode errors, each distinct one with its first example.",
                  Unit::Number, kDistinctErrors);
  binders_.push_back([&tally, id](const counters::Segment& segment) { tally.errors = segment.errors(id); });
}

void TallyBuilder::port(PortTally& tally, std::string_view name) {
  add_rows(kPortRows, tally, {{"port", name}});
  for (std::size_t i = 0; i < tally.verdicts.size(); ++i) {
    const auto verdict = static_cast<net::Verdict>(i);
    add(tally.verdicts[i], "port_verdicts", {{"port", name}, {"verdict", net::verdict_text(verdict)}},
        "Frames by the result of the checks before decoding.");
  }
}

void TallyBuilder::clock_steps(counters::Counter& counter) {
  add(counter, "clock_steps", {}, "Steps of the wall clock.");
}

void TallyBuilder::outlet(OutletTally& tally, std::string_view name) {
  const Labels labels = {{"ring", name}};
  add_rows(kRingRows, tally, labels);
  add(tally.other, "messages", {{"ring", name}, {"template", ""}}, kMessagesHelp);
  text(tally.image, "image", labels, "Name of the image in use.");
}

void TallyBuilder::templates(counters::Counter& counter, std::string_view outlet, std::string_view name) {
  add(counter, "messages", {{"ring", outlet}, {"template", name}}, kMessagesHelp);
}

void TallyBuilder::channel(ChannelTally& tally, std::string_view name, bool has_b) {
  for (std::size_t i = 0; i < (has_b ? 2 : 1); ++i) {
    LineTally& line = tally.lines[i];
    const Labels of_line = {{"channel", name}, {"line", i == 0 ? "A" : "B"}};
    add_rows(kLineRows, line, of_line);
    histogram(line.skew, "line_skew", of_line,
              "Delay of packets after their copies on the other line, in powers of two.", Unit::Nanoseconds);
  }
  add_rows(kChannelRows, tally, {{"channel", name}});
}

void TallyBuilder::record(RecordTally& tally, std::string_view channel, bool is_b) {
  add_rows(kRecordRows, tally, {{"channel", channel}, {"line", is_b ? "B" : "A"}});
}

void TallyBuilder::recorder(RecorderTally& tally) {
  add_rows(kRecorderRows, tally, {});
  text(tally.problem, "recorder_problem", {}, "Latest error of the operating system while recording.");
}

void TallyBuilder::record_queue(RecordQueueTally& tally, std::string_view agent) {
  add_rows(kRecordQueueRows, tally, {{"agent", agent}});
}

void TallyBuilder::keeper(KeeperTally& tally) {
  add_rows(kKeeperRows, tally, {});
}

void TallyBuilder::nic(NicTally& tally) {
  schema_.writer();
  add_rows(kNicRows, tally, {});
}

void TallyBuilder::units(UnitsTally& tally, std::string_view carrier) {
  add_rows(kUnitsRows, tally, {{"carrier", carrier}});
}

void TallyBuilder::fabric(FabricTally& tally) {
  add_rows(kFabricRows, tally, {{"carrier", "fabric"}});
}

void TallyBuilder::offer(OfferTally& tally, std::string_view name) {
  add_rows(kOfferRows, tally, {{"offer", name}});
}

void TallyBuilder::publisher(PublisherTally& tally, std::string_view carrier) {
  add_rows(kPublisherRows, tally, {{"carrier", carrier}});
  for (std::size_t i = 0; i < tally.refusals.size(); ++i) {
    const char* const why = remote::to_name(static_cast<remote::Refusal>(i + 1));
    add(tally.refusals[i], "publisher_refusals", {{"carrier", carrier}, {"why", why}},
        "Subscriptions refused or revoked, by reason.");
  }
  for (std::size_t i = 0; i < tally.places.size(); ++i) {
    SubscriberTally& place = tally.places[i];
    const std::string number = std::to_string(i);
    const Labels of_place = {{"carrier", carrier}, {"place", number}};
    add_rows(kSubscriberRows, place, of_place);
    text(place.who, "subscriber", of_place, "Node and port of the subscriber.");
    text(place.ring, "subscriber_ring", of_place, "Ring of the subscription.");
  }
}

void TallyBuilder::info(counters::Counter& counter, std::string_view family, Labels labels, std::string_view help) {
  add(counter, family, labels, help, Kind::Gauge);
}

Result<counters::Segment> TallyBuilder::build(std::string_view name) {
  Result<counters::Segment> segment =
      name.empty() ? counters::Segment::create_private(schema_) : counters::Segment::create(name, schema_);
  if (!segment) return segment;
  for (const auto& bind : binders_) bind(segment.value());
  binders_.clear();
  return segment;
}

}  // namespace stopbit::appliance
