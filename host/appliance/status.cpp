#include "host/appliance/status.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "host/appliance/gap_log.hpp"

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
  status.packets = values["line_packets"];
  status.missing = values["line_missing"];
  status.saved = values["line_saved"];
  status.first = values["line_first"];
  status.last_sequence = values["line_last_sequence"];
  status.last_arrival_ns = values["line_last_arrival_time"];
  const bool was_heard = status.last_arrival_ns != 0;
  status.age_ns = was_heard && now_ns > status.last_arrival_ns ? now_ns - status.last_arrival_ns : 0;
  status.is_silent = !was_heard || status.age_ns > silence_ns;
  return status;
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
  status.delivered = group.value("packets_delivered");
  status.duplicate = group.value("packets_duplicate");
  status.late = group.value("packets_late");
  status.held = group.value("packets_held");
  status.malformed = group.value("packets_malformed");
  status.incomplete = group.value("packets_incomplete");
  status.numbers = group.value("numbers_expected");
  status.numbers_delivered = group.value("numbers_delivered");
  status.numbers_recovered = group.value("numbers_recovered");
  status.numbers_lost = group.value("numbers_lost");
  status.numbers_held = group.value("numbers_held");
  status.gaps = group.value("gaps");
  status.epoch = group.value("epoch");
  status.next_sequence = group.value("next_sequence");
  status.last_delivery_ns = group.value("last_delivery_time");
  status.datagrams = group.value("datagrams");
  status.messages = group.value("channel_messages");
  status.decode_errors = group.value("decode_errors");
  status.unknown_template = group.value("unknown_template");
  status.waiting_for_reset = group.value("waiting_for_reset");
  const std::uint64_t state = group.value("channel_state");
  status.state = state <= 2 ? static_cast<ChannelState>(state) : ChannelState::Waiting;
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
  status.failing_lines = reader.sum("recorder_failing_lines");
  status.no_room = reader.sum("recorder_no_room");
  status.recorded = reader.sum("record_packets");
  status.failed = reader.sum("record_packets_failed");
  status.frozen_files = reader.sum("record_frozen_files");
  status.refused_freezes = reader.sum("record_refused_freezes");
  return status;
}

NicStatus read_nic(const Reader& reader) {
  NicStatus status;
  status.exists = reader.find("nic_commands") != nullptr;
  if (!status.exists) return status;
  status.commands = reader.sum("nic_commands");
  status.clients = reader.sum("broker_clients");
  status.ports_opened = reader.sum("broker_ports_opened");
  status.ports_gone = reader.sum("broker_ports_gone");
  status.turned_away = reader.sum("broker_turned_away");
  status.malformed = reader.sum("broker_malformed");
  status.refused = reader.sum("broker_refused");
  status.shared_bytes = reader.sum("broker_shared");
  status.unpinned = reader.sum("broker_unpinned");
  status.unpinned_bytes = reader.sum("broker_unpinned_file");
  status.resident_bytes = reader.sum("broker_unpinned_resident");
  status.pages_fetched = reader.sum("broker_pages_fetched");
  status.pages_evicted = reader.sum("broker_pages_evicted");
  status.pages_written = reader.sum("broker_pages_written");
  status.pages_failed = reader.sum("broker_pages_failed");
  status.lines_kept = reader.sum("nic_lines_kept");
  return status;
}

PublisherStatus read_publisher(const Index& index, const std::string& carrier) {
  PublisherStatus status;
  status.carrier = carrier;
  std::map<std::uint64_t, std::map<std::string, const Metric*>> places;
  for (const Metric* metric : index.find("carrier", carrier)) {
    const std::string& family = metric->name.family;
    if (family == "nic_carrier_cut_off") status.is_cut_off = index.reader.value(*metric) != 0;
    if (family == "publisher_admitted") status.admitted = index.reader.value(*metric);
    if (family == "publisher_refused") status.refused = index.reader.value(*metric);
    if (family == "publisher_ended") status.ended = index.reader.value(*metric);
    if (family == "publisher_detached") status.detached = index.reader.value(*metric);
    if (family == "publisher_refusals" && index.reader.value(*metric) != 0) {
      status.refusals[std::string(metric->name.label("why"))] = index.reader.value(*metric);
    }
    if (family == "publisher_malformed") status.malformed = index.reader.value(*metric);
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
    if (state == 0 || state > static_cast<std::uint64_t>(SubscriberState::Slowed)) continue;
    SubscriberStatus& subscriber = status.subscribers.emplace_back();
    subscriber.who = text("subscriber");
    subscriber.ring = text("subscriber_ring");
    subscriber.state = static_cast<SubscriberState>(state);
    subscriber.since_ns = value("subscriber_since_time");
    subscriber.records = value("subscriber_records");
    subscriber.slots = value("subscriber_slots");
    subscriber.filtered = value("subscriber_filtered");
    subscriber.lost = value("subscriber_lost");
    subscriber.behind = value("subscriber_behind");
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

std::string_view to_text(SubscriberState state) noexcept {
  switch (state) {
    case SubscriberState::None: return "none";
    case SubscriberState::Running: return "running";
    case SubscriberState::Waiting: return "waiting";
    case SubscriberState::Ending: return "ending";
    case SubscriberState::Slowed: return "slowed";
  }
  return "unknown";
}

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
  return state == ChannelState::Live &&
         std::none_of(lines.begin(), lines.end(), [](const LineStatus& line) { return line.exists && line.is_silent; });
}

Status read_status(const Reader& reader, std::uint64_t now_ns) {
  Status status;
  status.now_ns = now_ns;
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
  status.nic = read_nic(reader);
  const Index index(reader);
  for (const Metric& metric : reader.metrics()) {
    const std::string& family = metric.name.family;
    if (family == "channel_info") {
      status.channels.push_back(read_channel(index, metric, now_ns, silence_ns));
    } else if (family == "port_frames") {
      PortStatus& port = status.ports.emplace_back();
      port.name = metric.name.label("port");
      const Group group(index, "port", port.name);
      port.frames = group.value("port_frames");
      port.bytes = group.value("port_bytes");
      port.nic = group.value("port_dropped_by_nic");
      port.kernel = group.value("port_dropped_by_kernel");
      port.failures = group.value("port_failures");
      port.foreign = group.value("port_foreign");
      const auto [begin, end] = group.metrics().equal_range("port_verdicts");
      for (auto i = begin; i != end; ++i) {
        if (is_damage(i->second->name.label("verdict"))) port.damaged += reader.value(*i->second);
      }
    } else if (family == "ring_records") {
      RingStatus& ring = status.rings.emplace_back();
      ring.name = metric.name.label("ring");
      const Group group(index, "ring", ring.name);
      ring.records = group.value("ring_records");
      ring.events = group.value("ring_events");
      ring.slots = group.value("ring_slots");
      ring.generation = group.value("image_generation");
      ring.layout_hash = group.value("image_layout_hash");
      const auto [begin, end] = group.metrics().equal_range("messages");
      for (auto i = begin; i != end; ++i) {
        ring.templates.emplace_back(i->second->name.label("template"), reader.value(*i->second));
      }
      if (const Metric* image = group.find("image")) ring.image = reader.text(*image);
    } else if (family == "agent_turns") {
      AgentStatus& agent = status.agents.emplace_back();
      agent.name = metric.name.label("agent");
      const Group group(index, "agent", agent.name);
      agent.turns = group.value("agent_turns");
      agent.busy_turns = group.value("agent_busy_turns");
      agent.last_turn_ns = group.value("agent_last_turn_time");
      agent.notices_lost = group.value("agent_notices_lost");
      if (const Metric* batch = group.find("agent_batch_datagrams")) agent.batch = reader.distribution(*batch);
      if (const Metric* latency = group.find("agent_latency")) agent.latency = reader.distribution(*latency);
    } else if (family == "offer_attachments") {
      OfferStatus& offer = status.nic.offers.emplace_back();
      offer.name = metric.name.label("offer");
      const Group group(index, "offer", offer.name);
      offer.attachments = group.value("offer_attachments");
      offer.attached = group.value("offer_attached");
      offer.refused = group.value("offer_refused");
      offer.gets = group.value("offer_gets");
      offer.bytes = group.value("offer_bytes");
    } else if (family == "publisher_subscribers") {
      status.nic.publishers.push_back(read_publisher(index, std::string(metric.name.label("carrier"))));
    } else if (family == "errors") {
      const std::vector<counters::SeenError> errors = reader.errors(metric);
      status.errors.insert(status.errors.end(), errors.begin(), errors.end());
      status.errors_beyond += reader.errors_beyond(metric);
    }
  }
  status.recorder = read_recorder(reader);
  std::vector<std::string> names;
  for (const RingStatus& ring : status.rings) names.push_back(ring.name);
  for (ring::SeenReader& seen : ring::find_readers(names)) {
    status.rings[seen.ring].readers.push_back(std::move(seen));
  }
  return status;
}

std::vector<Drop> Status::drops() const {
  std::vector<Drop> all;
  const auto add = [&](const char* place, const auto& list, auto member) {
    Drop& drop = all.emplace_back();
    drop.place = place;
    for (const auto& item : list) drop.count += item.*member;
  };
  add("NIC", ports, &PortStatus::nic);
  add("kernel", ports, &PortStatus::kernel);
  add("damaged frame", ports, &PortStatus::damaged);
  add("foreign", ports, &PortStatus::foreign);
  add("malformed", channels, &ChannelStatus::malformed);
  add("duplicate", channels, &ChannelStatus::duplicate);
  add("late", channels, &ChannelStatus::late);
  add("incomplete", channels, &ChannelStatus::incomplete);
  add("lost numbers", channels, &ChannelStatus::numbers_lost);
  add("decode error", channels, &ChannelStatus::decode_errors);
  add("unknown template", channels, &ChannelStatus::unknown_template);
  add("waiting for reset", channels, &ChannelStatus::waiting_for_reset);
  for (const RingStatus& ring : rings) {
    for (const ring::SeenReader& seen : ring.readers) {
      all.push_back(
          {.place = "overrun", .reader = seen.name, .ring = ring.name, .pid = seen.pid, .count = seen.lost_records});
    }
  }
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
  constexpr std::string_view kBegin = "stopbit-";
  constexpr std::string_view kEnd = ".counters";
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kBegin) && name.ends_with(kEnd) && name.size() > kBegin.size() + kEnd.size()) {
      names.push_back(name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

nlohmann::json error_json(const counters::SeenError& error) {
  return {{"code", code_text(error.code)},    {"meaning", code_meaning(error.code)},
          {"channel", error.channel},         {"count", error.count},
          {"first_ns", error.first_ns},       {"last_ns", error.last_ns},
          {"sequence", error.sequence},       {"template_index", error.template_index},
          {"template_id", error.template_id}, {"offset", error.offset}};
}

std::string to_json(const Status& status) {
  using nlohmann::json;
  json root = {{"name", status.name},
               {"state_folder", status.state_folder},
               {"time_ns", status.now_ns},
               {"started_ns", status.started_ns},
               {"heartbeat_ns", status.heartbeat_ns},
               {"pid", status.pid},
               {"running", status.writer == counters::Reader::Writer::Running},
               {"channels", json::array()},
               {"ports", json::array()},
               {"rings", json::array()},
               {"agents", json::array()},
               {"errors", json::array()},
               {"errors_beyond", status.errors_beyond},
               {"drops", json::array()}};
  for (const ChannelStatus& channel : status.channels) {
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
                 {"packets",
                  {{"received", channel.received()},
                   {"delivered", channel.delivered},
                   {"duplicate", channel.duplicate},
                   {"late", channel.late},
                   {"held", channel.held},
                   {"malformed", channel.malformed},
                   {"incomplete", channel.incomplete}}},
                 {"numbers",
                  {{"expected", channel.numbers},
                   {"delivered", channel.numbers_delivered},
                   {"recovered", channel.numbers_recovered},
                   {"lost", channel.numbers_lost},
                   {"held", channel.numbers_held}}},
                 {"gaps", channel.gaps},
                 {"epoch", channel.epoch},
                 {"next_sequence", channel.next_sequence},
                 {"last_delivery_ns", channel.last_delivery_ns},
                 {"messages", channel.messages},
                 {"decode_errors", channel.decode_errors},
                 {"unknown_template", channel.unknown_template},
                 {"waiting_for_reset", channel.waiting_for_reset}};
    for (std::size_t i = 0; i < channel.lines.size(); ++i) {
      const LineStatus& line = channel.lines[i];
      if (!line.exists) continue;
      item["lines"][i == 0 ? "A" : "B"] = {{"address", line.address},
                                           {"packets", line.packets},
                                           {"missing", line.missing},
                                           {"saved", line.saved},
                                           {"first", line.first},
                                           {"last_sequence", line.last_sequence},
                                           {"last_arrival_ns", line.last_arrival_ns},
                                           {"silent", line.is_silent},
                                           {"skew_ns", quantiles(line.skew)}};
    }
    root["channels"].push_back(std::move(item));
  }
  for (const PortStatus& port : status.ports) {
    root["ports"].push_back({{"name", port.name},
                             {"frames", port.frames},
                             {"bytes", port.bytes},
                             {"dropped_by_nic", port.nic},
                             {"dropped_by_kernel", port.kernel},
                             {"damaged", port.damaged},
                             {"foreign", port.foreign},
                             {"failures", port.failures}});
  }
  for (const RingStatus& ring : status.rings) {
    json readers = json::array();
    for (const ring::SeenReader& seen : ring.readers) {
      readers.push_back({{"name", seen.name},
                         {"pid", seen.pid},
                         {"running", seen.is_running},
                         {"delivered", seen.delivered},
                         {"lost_records", seen.lost_records},
                         {"lost_slots", seen.lost_slots}});
    }
    json templates = json::object();
    for (const auto& [name, messages] : ring.templates) templates[name] = messages;
    root["rings"].push_back({{"name", ring.name},
                             {"image", ring.image},
                             {"generation", ring.generation},
                             {"layout_hash", ring.layout_hash},
                             {"records", ring.records},
                             {"events", ring.events},
                             {"slots", ring.slots},
                             {"messages", std::move(templates)},
                             {"readers", std::move(readers)}});
  }
  for (const AgentStatus& agent : status.agents) {
    root["agents"].push_back({{"name", agent.name},
                              {"turns", agent.turns},
                              {"busy_turns", agent.busy_turns},
                              {"last_turn_ns", agent.last_turn_ns},
                              {"notices_lost", agent.notices_lost},
                              {"batch", quantiles(agent.batch)},
                              {"latency_ns", quantiles(agent.latency)},
                              {"latency_buckets", buckets(agent.latency)}});
  }
  if (const RecorderStatus& recorder = status.recorder; recorder.exists) {
    root["recorder"] = {{"recorded", recorder.recorded},
                        {"failed", recorder.failed},
                        {"no_room", recorder.no_room},
                        {"frozen_files", recorder.frozen_files},
                        {"refused_freezes", recorder.refused_freezes},
                        {"failing_lines", recorder.failing_lines},
                        {"problem", recorder.problem}};
  }
  if (const NicStatus& nic = status.nic; nic.exists) {
    json offers = json::array();
    for (const OfferStatus& offer : nic.offers) {
      offers.push_back({{"name", offer.name},
                        {"attachments", offer.attachments},
                        {"attached", offer.attached},
                        {"refused", offer.refused},
                        {"gets", offer.gets},
                        {"bytes", offer.bytes}});
    }
    json publishers = json::array();
    for (const PublisherStatus& publisher : nic.publishers) {
      json subscribers = json::array();
      for (const SubscriberStatus& subscriber : publisher.subscribers) {
        subscribers.push_back({{"who", subscriber.who},
                               {"ring", subscriber.ring},
                               {"state", to_text(subscriber.state)},
                               {"since_ns", subscriber.since_ns},
                               {"records", subscriber.records},
                               {"slots", subscriber.slots},
                               {"filtered", subscriber.filtered},
                               {"lost", subscriber.lost},
                               {"behind", subscriber.behind}});
      }
      publishers.push_back({{"carrier", publisher.carrier},
                            {"cut_off", publisher.is_cut_off},
                            {"admitted", publisher.admitted},
                            {"refused", publisher.refused},
                            {"refusals", publisher.refusals},
                            {"detached", publisher.detached},
                            {"ended", publisher.ended},
                            {"malformed", publisher.malformed},
                            {"subscribers", std::move(subscribers)}});
    }
    root["nic"] = {{"commands", nic.commands},
                   {"clients", nic.clients},
                   {"ports_opened", nic.ports_opened},
                   {"ports_gone", nic.ports_gone},
                   {"turned_away", nic.turned_away},
                   {"malformed", nic.malformed},
                   {"refused", nic.refused},
                   {"shared_bytes", nic.shared_bytes},
                   {"unpinned", nic.unpinned},
                   {"unpinned_bytes", nic.unpinned_bytes},
                   {"resident_bytes", nic.resident_bytes},
                   {"pages_fetched", nic.pages_fetched},
                   {"pages_evicted", nic.pages_evicted},
                   {"pages_written", nic.pages_written},
                   {"pages_failed", nic.pages_failed},
                   {"lines_kept", nic.lines_kept},
                   {"offers", std::move(offers)},
                   {"publishers", std::move(publishers)}};
  }
  for (const counters::SeenError& error : status.errors) {
    root["errors"].push_back(error_json(error));
  }
  for (const Drop& drop : status.drops()) {
    json item = {{"place", drop.place}, {"count", drop.count}};
    if (!drop.reader.empty()) {
      item["reader"] = drop.reader;
      item["ring"] = drop.ring;
      item["pid"] = drop.pid;
    }
    root["drops"].push_back(std::move(item));
  }
  // What is not UTF-8 in a hostile segment must not end the program.
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace stopbit::appliance
