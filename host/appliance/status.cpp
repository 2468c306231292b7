#include "host/appliance/status.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "host/appliance/counter_rows.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/appliance/reader_watch.hpp"
#include "host/os/disk/disk.hpp"
#include "host/os/shm/folder.hpp"

namespace stopbit::appliance {
namespace {

using counters::Metric;
using counters::Reader;

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Metrics by their first label, so that each is looked at once however many channels there are.
class Index {
 public:
  explicit Index(const Reader& of) : reader(of) {
    for (const Metric& metric : of.metrics()) {
      if (!metric.name.labels.empty()) metrics_[metric.name.labels.front()].push_back(&metric);
    }
  }
  [[nodiscard]] const std::vector<const Metric*>& find(const char* key, const std::string& value) const {
    static const std::vector<const Metric*> nothing;
    const auto found = metrics_.find({key, value});
    return found != metrics_.end() ? found->second : nothing;
  }
  const Reader& reader;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<const Metric*>> metrics_;
};

/// The metrics of one thing, by family.
class Group {
 public:
  Group(const Index& index, const char* key, const std::string& value) : reader_(index.reader) {
    for (const Metric* metric : index.find(key, value)) metrics_.emplace(metric->name.family, metric);
  }
  [[nodiscard]] const Metric* find(const std::string& family) const {
    const auto found = metrics_.find(family);
    return found != metrics_.end() ? found->second : nullptr;
  }
  [[nodiscard]] std::uint64_t value(const std::string& family) const {
    const Metric* metric = find(family);
    return metric != nullptr ? reader_.value(*metric) : 0;
  }
  [[nodiscard]] const std::multimap<std::string, const Metric*>& metrics() const { return metrics_; }

 private:
  const Reader& reader_;
  std::multimap<std::string, const Metric*> metrics_;
};

/// Fills the values of a group of counters; `value_of` finds one by its name.
template <class Rows, class Shown, class ValueOf>
void read_rows(const Rows& rows, Shown& status, const ValueOf& value_of) {
  for (const auto& row : rows) {
    if (row.counter != nullptr) status.*row.value = value_of(row.name);
  }
}

LineStatus read_line(const Reader& reader, const Group& group, std::string_view line, std::string address,
                     std::uint64_t now_ns, std::uint64_t silence_ns) {
  LineStatus status;
  status.address = std::move(address);
  status.exists = !status.address.empty();
  if (!status.exists) return status;
  std::map<std::string, std::uint64_t> values;
  for (const auto& [family, metric] : group.metrics()) {
    if (metric->name.label("line") != line) continue;
    values[family] = reader.value(*metric);
    if (metric->kind == counters::Kind::Histogram) status.skew = reader.distribution(*metric);
  }
  read_rows(kLineRows, status, [&](const char* name) { return values[name]; });
  const bool was_heard = status.last_arrival_ns != 0;
  status.age_ns = was_heard && now_ns > status.last_heard_ns ? now_ns - status.last_heard_ns : 0;
  status.is_silent = !was_heard || status.age_ns > silence_ns;
  return status;
}

/// Up to when the lines are known: what came while the agents did not run is still to be read. An agent that has not
/// looked for seconds hangs or has ended, and says nothing about the others' lines.
std::uint64_t last_look_ns(const Reader& reader, std::uint64_t now_ns) {
  constexpr std::uint64_t kHangsNs = 5'000'000'000;
  std::uint64_t look_ns = now_ns;
  for (const Metric& metric : reader.metrics()) {
    if (metric.name.family != "agent_last_alive") continue;
    const std::uint64_t alive_ns = reader.value(metric);
    if (alive_ns < look_ns && now_ns - alive_ns < kHangsNs) look_ns = alive_ns;
  }
  return look_ns;
}

/// Outside of a session, and for the time of silence after its begin, a line may say nothing.
void take_session(ChannelStatus& status, std::uint64_t since_ns, std::uint64_t now_ns, std::uint64_t silence_ns) {
  if (since_ns == kAlwaysOpen) return;
  const bool may_be_silent = since_ns == kNoSession || now_ns < since_ns || now_ns - since_ns <= silence_ns;
  for (LineStatus& line : status.lines) line.is_silent = line.is_silent && !may_be_silent;
  if (since_ns == kNoSession) status.state = ChannelState::Closed;
}

ChannelStatus read_channel(const Index& index, const Metric& info, std::uint64_t now_ns, std::uint64_t silence_ns) {
  const auto label = [&](std::string_view key) { return std::string(info.name.label(key)); };
  ChannelStatus status;
  status.name = label("channel");
  status.number = label("number");
  status.feed = label("feed");
  status.role = label("role");
  status.mode = label("mode");
  status.ring = label("ring");
  status.image = label("image");
  status.window_packets = number(label("window_packets"));
  status.window_ns = number(label("window_ns"));
  const Group group(index, "channel", status.name);
  status.lines[0] = read_line(index.reader, group, "A", label("a"), now_ns, silence_ns);
  status.lines[1] = read_line(index.reader, group, "B", label("b"), now_ns, silence_ns);
  read_rows(kChannelRows, status, [&](const char* name) { return group.value(name); });
  status.state = status.state_code <= 2 ? static_cast<ChannelState>(status.state_code) : ChannelState::Waiting;
  if (const Metric* session = group.find("channel_session"))
    take_session(status, index.reader.value(*session), now_ns, silence_ns);
  const bool all_silent = std::all_of(status.lines.begin(), status.lines.end(),
                                      [](const LineStatus& line) { return !line.exists || line.is_silent; });
  if (all_silent && status.state == ChannelState::Live) status.state = ChannelState::Silent;
  return status;
}

RecorderStatus read_recorder(const Reader& reader) {
  RecorderStatus status;
  const Metric* const problem = reader.find("recorder_problem");
  status.exists = problem != nullptr && problem->kind == counters::Kind::Text;
  if (!status.exists) return status;
  status.problem = reader.text(*problem);
  const auto sum = [&](const char* name) { return reader.sum(name); };
  read_rows(kRecordRows, status, sum);
  read_rows(kRecordQueueRows, status, sum);
  read_rows(kRecorderRows, status, sum);
  return status;
}

NicStatus read_nic(const Reader& reader) {
  NicStatus status;
  status.exists = reader.find("nic_commands") != nullptr;
  if (!status.exists) return status;
  const auto sum = [&](const char* name) { return reader.sum(name); };
  read_rows(kNicRows, status, sum);
  status.udp.exists = reader.find("nic_udp_members") != nullptr;
  read_rows(kUdpRows, status.udp, sum);
  return status;
}

PublisherStatus read_publisher(const Index& index, const std::string& carrier) {
  PublisherStatus status;
  status.carrier = carrier;
  std::map<std::uint64_t, std::map<std::string, const Metric*>> places;
  const Group group(index, "carrier", carrier);
  read_rows(kPublisherRows, status, [&](const char* name) { return group.value(name); });
  status.is_cut_off = group.value("nic_carrier_cut_off") != 0;
  for (const auto& [family, metric] : group.metrics()) {
    if (family == "publisher_refusals" && index.reader.value(*metric) != 0) {
      status.refusals[std::string(metric->name.label("why"))] = index.reader.value(*metric);
    }
    if (const auto place = metric->name.label("place"); !place.empty()) places[number(place)][family] = metric;
  }
  for (const auto& [place, metrics] : places) {
    const auto value = [&metrics = metrics, &index](const char* family) {
      const auto found = metrics.find(family);
      return found != metrics.end() ? index.reader.value(*found->second) : 0;
    };
    const auto text = [&metrics = metrics, &index](const char* family) {
      const auto found = metrics.find(family);
      const bool is_text = found != metrics.end() && found->second->kind == counters::Kind::Text;
      return is_text ? index.reader.text(*found->second) : std::string();
    };
    const std::uint64_t state = value("subscriber_state");
    if (state == 0 || state > static_cast<std::uint64_t>(remote::SubscriptionState::Slowed)) continue;
    SubscriberStatus& subscriber = status.subscribers.emplace_back();
    subscriber.who = text("subscriber");
    subscriber.ring = text("subscriber_ring");
    subscriber.state = static_cast<remote::SubscriptionState>(state);
    read_rows(kSubscriberRows, subscriber, value);
  }
  return status;
}

/// Whether frames with this verdict were for us and could not be used.
bool is_damage(std::string_view text) {
  for (std::size_t i = 0; i < net::kVerdicts; ++i) {
    const auto verdict = static_cast<net::Verdict>(i);
    const net::VerdictClass kind = net::verdict_class(verdict);
    if (net::verdict_text(verdict) == text) return kind == net::VerdictClass::Damaged || kind == net::VerdictClass::Cut;
  }
  return false;
}

std::uint64_t two_digits_up(std::uint64_t value) {
  std::uint64_t unit = 1;
  while (value / unit >= 100) unit *= 10;
  return (value + unit - 1) / unit * unit;
}

nlohmann::json quantiles(const counters::Distribution& distribution) {
  return {{"count", distribution.count},
          {"p50", distribution.quantile(0.5)},
          {"p99", distribution.quantile(0.99)},
          {"p999", distribution.quantile(0.999)},
          {"largest", distribution.largest}};
}

/// [largest value, how many] of each bucket that has any.
nlohmann::json buckets(const counters::Distribution& distribution) {
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < counters::kBuckets; ++i) {
    if (distribution.buckets[i] == 0) continue;
    list.push_back({std::min(counters::bucket_last(i), distribution.largest), distribution.buckets[i]});
  }
  return list;
}

}  // namespace

bool ChannelStatus::is_balanced() const noexcept {
  return received() == delivered + duplicate + late + held + malformed + incomplete &&
         numbers == numbers_delivered + numbers_recovered + numbers_lost + numbers_held;
}

std::uint64_t ChannelStatus::skew_ns(double part) const noexcept {
  counters::Distribution both = lines[0].skew;
  both += lines[1].skew;
  return both.quantile(part);
}

bool ChannelStatus::is_ready() const noexcept {
  if (state == ChannelState::Closed) return true;
  return state == ChannelState::Live &&
         std::none_of(lines.begin(), lines.end(), [](const LineStatus& line) { return line.exists && line.is_silent; });
}

namespace {

StatusReport read_once(const Reader& reader, const Now& now) {
  StatusReport status;
  status.now_ns = now.wall_ns;
  status.monotonic_ns = now.monotonic_ns;
  status.started_ns = reader.epoch();
  status.heartbeat_ns = reader.heartbeat_ns();
  status.pid = reader.writer_pid();
  status.writer = reader.writer();
  std::uint64_t silence_ns = 0;
  if (const Metric* info = reader.find("appliance_info")) {
    status.name = info->name.label("name");
    status.state_folder = info->name.label("state");
    silence_ns = number(info->name.label("silence_ns"));
  }
  if (const Metric* info = reader.find("control_info")) status.control_socket = info->name.label("socket");
  if (const Metric* info = reader.find("settings_info")) status.settings_file = info->name.label("file");
  status.nic = read_nic(reader);
  const Index index(reader);
  const std::uint64_t look_ns = last_look_ns(reader, now.monotonic_ns);
  for (const Metric& metric : reader.metrics()) {
    const std::string& family = metric.name.family;
    if (family == "channel_info") {
      if (reader.value(metric) == 0) continue;  // its description has changed, or it was removed
      status.channels.push_back(read_channel(index, metric, look_ns, silence_ns));
    } else if (family == "port_frames") {
      PortStatus& port = status.ports.emplace_back();
      port.name = metric.name.label("port");
      const Group group(index, "port", port.name);
      read_rows(kPortRows, port, [&](const char* name) { return group.value(name); });
      const auto [begin, end] = group.metrics().equal_range("port_verdicts");
      for (auto i = begin; i != end; ++i) {
        if (is_damage(i->second->name.label("verdict"))) port.damaged += reader.value(*i->second);
      }
    } else if (family == "ring_records") {
      if (reader.value("ring_ended", {{"ring", metric.name.label("ring")}}) != 0) continue;
      RingStatus& ring = status.rings.emplace_back();
      ring.name = metric.name.label("ring");
      const Group group(index, "ring", ring.name);
      read_rows(kRingRows, ring, [&](const char* name) { return group.value(name); });
      const auto [begin, end] = group.metrics().equal_range("messages");
      for (auto i = begin; i != end; ++i) {
        ring.templates.emplace_back(i->second->name.label("template"), reader.value(*i->second));
      }
      if (const Metric* image = group.find("image")) ring.image = reader.text(*image);
    } else if (family == "market_instruments") {
      if (reader.value("market_ended", {{"events", metric.name.label("events")}}) != 0) continue;
      MarketStatus& market = status.markets.emplace_back();
      market.name = metric.name.label("events");
      const Group group(index, "events", market.name);
      read_rows(kMarketRows, market, [&](const char* name) { return group.value(name); });
      const auto read_list = [&](const char* list, const char* label, auto& to) {
        const auto [begin, end] = group.metrics().equal_range(list);
        for (auto i = begin; i != end; ++i) {
          const std::uint64_t value = reader.value(*i->second);
          if (value != 0) to.emplace_back(i->second->name.label(label), value);
        }
      };
      read_list("market_counts", "what", market.counts);
      read_list("book_faults", "fault", market.faults);
    } else if (family == "replay_quota") {
      ReplayStatus& replay = status.replays.emplace_back();
      replay.name = metric.name.label("service");
      const Group group(index, "service", replay.name);
      read_rows(kReplayRows, replay, [&](const char* name) { return group.value(name); });
    } else if (family == "multicast_sequence") {
      MulticastStatus& multicast = status.multicasts.emplace_back();
      multicast.name = metric.name.label("multicast");
      const Group group(index, "multicast", multicast.name);
      read_rows(kMulticastRows, multicast, [&](const char* name) { return group.value(name); });
    } else if (family == "agent_turns") {
      AgentStatus& agent = status.agents.emplace_back();
      agent.name = metric.name.label("agent");
      const Group group(index, "agent", agent.name);
      read_rows(kAgentRows, agent, [&](const char* name) { return group.value(name); });
      if (const Metric* batch = group.find("agent_batch_datagrams")) agent.batch = reader.distribution(*batch);
      if (const Metric* latency = group.find("agent_latency")) agent.latency = reader.distribution(*latency);
    } else if (family == "offer_attachments") {
      OfferStatus& offer = status.nic.offers.emplace_back();
      offer.name = metric.name.label("offer");
      const Group group(index, "offer", offer.name);
      read_rows(kOfferRows, offer, [&](const char* name) { return group.value(name); });
    } else if (family == "publisher_subscribers") {
      status.nic.publishers.push_back(read_publisher(index, std::string(metric.name.label("carrier"))));
    } else if (family == "errors") {
      const std::vector<counters::SeenError> errors = reader.errors(metric);
      status.errors.insert(status.errors.end(), errors.begin(), errors.end());
      status.errors_beyond += reader.errors_beyond(metric);
    }
  }
  status.card.exists = reader.find("card_receiving") != nullptr;
  read_rows(kCardRows, status.card, [&](const char* name) { return reader.sum(name); });
  status.recorder = read_recorder(reader);
  read_rows(kHousekeeperRows, status, [&](const char* name) { return reader.sum(name); });
  return status;
}

}  // namespace

StatusReport read_counters(const Reader& reader, const Now& now) {
  constexpr int kTries = 100;
  const Metric* const version = reader.find("channels_version");
  const auto is_stable = [&](std::uint64_t before) {
    return version == nullptr || (before % 2 == 0 && reader.value(*version) == before);
  };
  StatusReport status;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = version != nullptr ? reader.value(*version) : 0;
    status = read_once(reader, now);
    if (is_stable(before)) break;
  }
  return status;
}

std::function<bool(const Metric&)> present_in(const Reader& reader, const StatusReport& status) {
  using Names = std::set<std::string, std::less<>>;
  const auto names_of = [](const auto& list) {
    Names names = {""};  // of counters without the label
    for (const auto& one : list) names.insert(one.name);
    return names;
  };
  return [&reader, channels = names_of(status.channels), rings = names_of(status.rings),
          markets = names_of(status.markets)](const Metric& metric) {
    if (metric.name.family == "channel_info") return reader.value(metric) != 0;
    return channels.contains(metric.name.label("channel")) && rings.contains(metric.name.label("ring")) &&
           markets.contains(metric.name.label("events"));
  };
}

std::vector<std::string> ring_places(const StatusReport& status, const Reader& reader) {
  // Rings with plain names lie beside the counters, in the folder of the appliance's user.
  const std::size_t slash = reader.path().rfind('/');
  const std::string folder = slash == std::string::npos ? "" : reader.path().substr(0, slash + 1);
  std::vector<std::string> places;
  status.for_each_ring([&](const std::string& name, const auto& /*readers*/) {
    places.push_back(name.find('/') == std::string::npos ? folder + name : name);
  });
  return places;
}

StatusReport read_status(const Reader& reader, const Now& now, const ReaderWatch* watch) {
  StatusReport status = read_counters(reader, now);
  const std::vector<std::string> places = ring_places(status, reader);
  const std::vector<ring::SeenReader> readers = watch != nullptr ? watch->seen(places) : ring::find_readers(places);
  for (const ring::SeenReader& seen : readers) {
    const std::size_t records = status.rings.size();
    if (seen.ring < records) {
      status.rings[seen.ring].readers.push_back(seen);
    } else if (seen.ring - records < status.markets.size()) {
      status.markets[seen.ring - records].readers.push_back(seen);
    }
  }
  return status;
}

std::vector<Drop> StatusReport::drops() const {
  std::vector<Drop> all;
  const auto add = [&](const auto& rows, const auto& list) {
    for (const auto& row : rows) {
      if (*row.drop == 0) continue;
      Drop& drop = all.emplace_back();
      drop.place = row.drop;
      for (const auto& item : list) drop.count += item.*row.value;
    }
  };
  add(kPortRows, ports);
  add(kChannelRows, channels);
  for_each_ring([&](const std::string& ring, const std::vector<ring::SeenReader>& readers) {
    for (const ring::SeenReader& seen : readers) {
      all.push_back(
          {.place = "overrun", .reader = seen.name, .ring = ring, .pid = seen.pid, .count = seen.lost_records});
    }
  });
  return all;
}

std::optional<ProposedWindow> propose_window(const ChannelStatus& channel, std::uint64_t running_ns) {
  ProposedWindow window;
  window.copies = channel.lines[0].skew.count + channel.lines[1].skew.count;
  if (window.copies == 0) return std::nullopt;
  window.skew_ns = channel.skew_ns(0.9999);
  window.time_ns = std::max<std::uint64_t>(1'000, two_digits_up(window.skew_ns + window.skew_ns / 4));
  const double rate = running_ns != 0 ? static_cast<double>(channel.received()) / static_cast<double>(running_ns) : 0;
  const double packets = std::clamp(8 * rate * static_cast<double>(window.time_ns), 16.0, 65'536.0);
  window.packets = std::bit_ceil(static_cast<std::uint64_t>(packets));
  return window;
}

std::vector<std::string> find_appliances() {
  constexpr std::string_view kEnd = ".counters";
  std::vector<std::string> names;
  std::error_code error;
  for (const os::UserFolder& folder : os::folders_of(os::Accepted().users())) {
    for (const std::string& name : disk::names_in(folder.path, error)) {
      if (name.ends_with(kEnd) && name.size() > kEnd.size()) names.push_back(name.substr(0, name.size() - kEnd.size()));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

nlohmann::json error_json(const counters::SeenError& error) {
  return {{"code", code_text(error.code)},    {"meaning", code_meaning(error.code)},
          {"channel", error.channel},         {"count", error.count},
          {"first_ns", error.first_ns},       {"last_ns", error.last_ns},
          {"sequence", error.sequence},       {"template_index", error.template_index},
          {"template_id", error.template_id}, {"offset", error.offset}};
}

namespace {

using nlohmann::json;

/// Puts the values of a group of counters into the JSON of what they belong to.
template <class Rows, class Shown>
void put_rows(json& object, const Rows& rows, const Shown& status) {
  for (const auto& row : rows) {
    if (*row.json != 0) object[json::json_pointer("/" + std::string(row.json))] = status.*row.value;
  }
}

json line_json(const LineStatus& line) {
  json item = {{"address", line.address},
               {"silent", line.is_silent},
               {"age_ns", line.age_ns},
               {"skew_ns", quantiles(line.skew)}};
  put_rows(item, kLineRows, line);
  return item;
}

json channel_json(const ChannelStatus& channel) {
  json item = {{"name", channel.name},
               {"number", number(channel.number)},
               {"feed", channel.feed},
               {"role", channel.role},
               {"mode", channel.mode},
               {"ring", channel.ring},
               {"image", channel.image},
               {"state", to_text(channel.state)},
               {"ready", channel.is_ready()},
               {"lines", json::object()},
               {"packets", {{"received", channel.received()}}}};
  put_rows(item, kChannelRows, channel);
  for (std::size_t i = 0; i < channel.lines.size(); ++i) {
    if (channel.lines[i].exists) item["lines"][i == 0 ? "A" : "B"] = line_json(channel.lines[i]);
  }
  return item;
}

json port_json(const PortStatus& port) {
  json item = {{"name", port.name}};
  put_rows(item, kPortRows, port);
  return item;
}

json readers_json(const std::vector<ring::SeenReader>& readers) {
  json list = json::array();
  for (const ring::SeenReader& seen : readers) {
    list.push_back({{"name", seen.name},
                    {"pid", seen.pid},
                    {"running", seen.is_running},
                    {"delivered", seen.delivered},
                    {"lost_records", seen.lost_records},
                    {"lost_slots", seen.lost_slots}});
  }
  return list;
}

json ring_json(const RingStatus& ring) {
  json item = {{"name", ring.name},
               {"image", ring.image},
               {"messages", json::object()},
               {"readers", readers_json(ring.readers)}};
  put_rows(item, kRingRows, ring);
  for (const auto& [name, messages] : ring.templates) item["messages"][name] = messages;
  return item;
}

json market_json(const MarketStatus& market) {
  json item = {{"events", market.name},
               {"counts", json::object()},
               {"faults", json::object()},
               {"readers", readers_json(market.readers)}};
  put_rows(item, kMarketRows, market);
  for (const auto& [what, count] : market.counts) item["counts"][what] = count;
  for (const auto& [fault, count] : market.faults) item["faults"][fault] = count;
  return item;
}

json replay_json(const ReplayStatus& replay) {
  json item = {{"service", replay.name}};
  put_rows(item, kReplayRows, replay);
  return item;
}

json multicast_json(const MulticastStatus& multicast) {
  json item = {{"name", multicast.name}};
  put_rows(item, kMulticastRows, multicast);
  return item;
}

json agent_json(const AgentStatus& agent) {
  json item = {{"name", agent.name},
               {"batch", quantiles(agent.batch)},
               {"latency_ns", quantiles(agent.latency)},
               {"latency_buckets", buckets(agent.latency)}};
  put_rows(item, kAgentRows, agent);
  return item;
}

json recorder_json(const RecorderStatus& recorder) {
  json item = {{"problem", recorder.problem}};
  put_rows(item, kRecordRows, recorder);
  put_rows(item, kRecordQueueRows, recorder);
  put_rows(item, kRecorderRows, recorder);
  return item;
}

json publisher_json(const PublisherStatus& publisher) {
  json item = {{"carrier", publisher.carrier},
               {"cut_off", publisher.is_cut_off},
               {"refusals", publisher.refusals},
               {"subscribers", json::array()}};
  put_rows(item, kPublisherRows, publisher);
  for (const SubscriberStatus& subscriber : publisher.subscribers) {
    json one = {{"who", subscriber.who}, {"ring", subscriber.ring}, {"state", to_text(subscriber.state)}};
    put_rows(one, kSubscriberRows, subscriber);
    item["subscribers"].push_back(std::move(one));
  }
  return item;
}

json nic_json(const NicStatus& nic) {
  json item = {{"offers", json::array()}, {"publishers", json::array()}};
  put_rows(item, kNicRows, nic);
  for (const OfferStatus& offer : nic.offers) {
    json one = {{"name", offer.name}};
    put_rows(one, kOfferRows, offer);
    item["offers"].push_back(std::move(one));
  }
  for (const PublisherStatus& publisher : nic.publishers) item["publishers"].push_back(publisher_json(publisher));
  if (nic.udp.exists) {
    item["udp"] = json::object();
    put_rows(item["udp"], kUdpRows, nic.udp);
  }
  return item;
}

json drop_json(const Drop& drop) {
  json item = {{"place", drop.place}, {"count", drop.count}};
  if (!drop.reader.empty()) {
    item["reader"] = drop.reader;
    item["ring"] = drop.ring;
    item["pid"] = drop.pid;
  }
  return item;
}

template <class List, class ToJson>
json list_json(const List& list, const ToJson& item_json) {
  json items = json::array();
  for (const auto& item : list) items.push_back(item_json(item));
  return items;
}

}  // namespace

std::string to_json(const StatusReport& status) {
  json root = {{"name", status.name},
               {"state_folder", status.state_folder},
               {"settings_file", status.settings_file},
               {"time_ns", status.now_ns},
               {"monotonic_ns", status.monotonic_ns},
               {"started_ns", status.started_ns},
               {"heartbeat_ns", status.heartbeat_ns},
               {"pid", status.pid},
               {"running", status.writer == Reader::Writer::Running},
               {"channels", list_json(status.channels, channel_json)},
               {"ports", list_json(status.ports, port_json)},
               {"rings", list_json(status.rings, ring_json)},
               {"markets", list_json(status.markets, market_json)},
               {"replays", list_json(status.replays, replay_json)},
               {"multicasts", list_json(status.multicasts, multicast_json)},
               {"agents", list_json(status.agents, agent_json)},
               {"errors", list_json(status.errors, error_json)},
               {"errors_beyond", status.errors_beyond},
               {"drops", list_json(status.drops(), drop_json)}};
  put_rows(root, kHousekeeperRows, status);
  if (status.card.exists) {
    root["card"] = json::object();
    put_rows(root["card"], kCardRows, status.card);
  }
  if (status.recorder.exists) root["recorder"] = recorder_json(status.recorder);
  if (status.nic.exists) root["nic"] = nic_json(status.nic);
  // Invalid UTF-8 in a hostile segment must not end the program.
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace stopbit::appliance
