#include "host/appliance/settings.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include "host/appliance/entitlements.hpp"
#include "host/device/vfio/vfio_device.hpp"
#include "host/market/map/find.hpp"
#include "host/market/state/layout.hpp"
#include "host/monitor/control/command.hpp"
#include "host/os/config/keys.hpp"
#include "host/os/config/nearest.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/read_file.hpp"
#include "host/remote/admission.hpp"
#include "host/ring/layout.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::appliance {

namespace {

/// What a port with sessions puts before each packet.
constexpr std::string_view kSessionFraming = "custom:seq=u64be@0";

constexpr std::uint64_t kMaxPatienceNs = 60 * kNsPerSecond;

/// A name or an address as a Host of HTTP has it, without the port.
bool is_host(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  constexpr std::string_view kOfAddress = "0123456789abcdefABCDEF:.";
  if (text.size() > 2 && text.front() == '[') {
    return text.find_first_not_of(kOfAddress, 1) == text.size() - 1 && text.back() == ']';
  }
  return !text.empty() && text.find_first_not_of(kCharacters) == std::string_view::npos;
}

bool is_command_word(const std::string& text) {
  return std::any_of(control::kCommandWords.begin(), control::kCommandWords.end(),
                     [&](const control::CommandWord& command) { return command.word == text; });
}

/// Why nodes of other hosts cannot be listened to there; empty: they can. Of all addresses libfabric takes the
/// loopback, and UDP may answer from another one than was asked.
std::string listen_problem(const std::string& text) {
  const std::string no_wildcard = "the carrier must listen at one address of this host, not at ";
  if (!text.starts_with('[')) {
    const Result<net::Endpoint> endpoint = net::parse_endpoint(text);
    if (!endpoint) return endpoint.message() + ", nor an IPv6 address and port, like [fd00::1]:7700";
    return endpoint.value().address == 0 ? no_wildcard + "0.0.0.0" : "";
  }
  const std::size_t end = std::min(text.find(']'), text.size());
  const std::string host = text.substr(1, end - 1);
  const Result<nic::AddressPrefix> address = nic::parse_prefix(host);
  // The text after the bracket has the same form as after an IPv4 address.
  const bool has_port = end < text.size() && net::parse_endpoint("127.0.0.1" + text.substr(end + 1)).ok();
  if (!address || host.find('/') != std::string::npos || address.value().address.is_ipv4() || !has_port) {
    return "'" + text + "' is not an IPv6 address and a port, like [fd00::1]:7700";
  }
  return address.value().address == nic::HostAddress() ? no_wildcard + "::" : "";
}

/// Of an address without a listen_problem.
bool is_loopback(const std::string& listen) {
  if (listen.starts_with("127.")) return true;
  const auto address = nic::parse_prefix(std::string_view(listen).substr(1, listen.find(']') - 1));
  return listen.starts_with('[') && address && address.value().address == nic::parse_prefix("::1").value().address;
}

class SettingsReader {
 public:
  /// `read`: reads the files of feeds.
  SettingsReader(config::Table root, std::string folder, const ReadFile& read, bool only_names,
                 Diagnostics& diagnostics)
      : root_(std::move(root)),
        folder_(std::move(folder)),
        read_(read),
        only_names_(only_names),
        diagnostics_(diagnostics) {}

  Settings read() {
    settings_.name = root_.text("name");
    check_name(root_, "name", settings_.name);
    settings_.state_folder = config::in_folder(folder_, in_home("state", root_.text("state")));
    settings_.keep_days = static_cast<std::uint32_t>(root_.integer("keep_days"));
    read_engine();
    settings_.lock_memory = root_.flag("lock_memory");
    settings_.silence_ns = root_.duration_ns("silence");
    settings_.stale_after = static_cast<std::uint32_t>(root_.integer("stale_after"));
    settings_.confined = root_.flag("confined");
    read_limits();
    read_control();
    read_recorder();
    read_rings();
    read_books();
    read_dpdk();
    read_agents();
    read_ports();
    read_feeds();
    read_replays();
    read_nic();
    read_multicasts();
    root_.finish();
    return std::move(settings_);
  }

 private:
  static void check_name(config::Table& table, std::string_view key, const std::string& name) {
    if (name.empty()) return;  // missing: said already
    if (const auto path = os::path_of(name); !path || name.find('/') != std::string::npos) {
      table.error(key, "'" + name +
                           "' is not a valid name: up to 64 letters, digits, '.', '_' and '-', not beginning with "
                           "'.' or '-'");
    }
  }

  void read_engine() {
    enum : std::size_t { kNative, kQuick, kInterp, kCard, kXrt };
    const std::size_t engine = root_.choice("engine");
    if (engine == kQuick) settings_.engine = EngineKind::Quick;
    if (engine == kInterp) settings_.engine = EngineKind::Interp;
    auto table = root_.table("card");
    if (engine != kCard && engine != kXrt) {
      if (table) root_.error("card", "[card] needs engine = \"card\"");
      if (table) (void)read_card(*table);
      return;
    }
    if (!table) {
      root_.error("engine", "a card needs a table [card] with its xclbin or device");
      return;
    }
    settings_.card = read_card(*table);
  }

  CardSettings read_card(config::Table& table) const {
    CardSettings card;
    card.xclbin = table.text("xclbin");
    card.device = table.text("device");
    if (table.has("xclbin") == table.has("device")) {
      table.error("a card has either an 'xclbin', for XRT, or a 'device', for VFIO");
    }
    if (!card.xclbin.empty() && card.xclbin != "sim") card.xclbin = config::in_folder(folder_, card.xclbin);
    if (table.has("index") && table.has("device")) table.error("index", "only a card with an 'xclbin' has an index");
    for (const char* const key : {"bar", "offset"}) {
      if (table.has(key) && !table.has("device")) {
        table.error(key, "[card] has '" + std::string(key) + "' only with a 'device'");
      }
    }
    if (table.has("device") && card.device != "sim" && !device::is_pci_address(card.device)) {
      table.error("device",
                  "'" + card.device + "' is not the address of a PCI function, such as 0000:81:00.0, nor sim");
    }
    card.index = static_cast<std::uint32_t>(table.integer("index"));
    card.bar = static_cast<std::uint32_t>(table.integer("bar"));
    card.offset = table.bytes("offset");
    if (card.offset % 4096 != 0) table.error("offset", "not a multiple of 4096");
    card.fallback = table.flag("fallback");
    card.ingress = static_cast<CardIngress>(table.choice("ingress"));
    card.clock = static_cast<CardClock>(table.choice("clock"));
    card.fcs = table.flag("fcs");
    if (const std::string text = table.text("mac"); !text.empty()) {
      card.mac = ingest::parse_mac(text);
      if (!card.mac)
        table.error("mac", "'" + text + "' is not the Ethernet address of a station, such as 02:1b:00:00:00:07");
    }
    if (const std::string text = table.text("address"); !text.empty()) {
      const std::optional<std::uint32_t> address = feed::parse_address(text);
      if (!address) table.error("address", "'" + text + "' is not an IPv4 address");
      if (!table.has("mac")) table.error("address", "the card has an address only with a 'mac'");
      card.address = address.value_or(0);
    }
    if (card.ingress != CardIngress::Port) {
      for (const char* const key : {"clock", "fcs", "mac", "address"}) {
        if (table.has(key)) table.error(key, "[card] has '" + std::string(key) + "' only with ingress = \"port\"");
      }
    }
    table.finish();
    return card;
  }

  void read_limits() {
    auto table = root_.table("limits");
    if (!table) return;
    EngineLimits& limits = settings_.limits;
    const auto number = [&](std::string_view key) { return static_cast<std::uint32_t>(table->integer(key)); };
    settings_.strict = table->flag("strict");
    limits.elements = number("elements");
    limits.empty_elements = number("empty_elements");
    limits.nesting = number("nesting");
    limits.string_bytes = number("string_bytes");
    limits.datagram_bytes = number("datagram_bytes");
    table->finish();
  }

  void read_control() {
    ControlSettings& control = settings_.control;
    if (auto table = root_.table("control")) {
      control.socket = config::in_folder(folder_, table->text("socket"));
      for (const std::uint64_t user : table->integers("users")) {
        control.users.push_back(static_cast<std::uint32_t>(user));
      }
      for (config::Table& allowed : table->tables("allow")) {
        CommandPermission& permission = control.allowed.emplace_back();
        permission.user = static_cast<std::uint32_t>(allowed.integer("user"));
        permission.commands = allowed.texts("commands");
        for (const std::string& command : permission.commands) {
          if (!is_command_word(command)) allowed.error("commands", "there is no command '" + command + "'");
        }
        allowed.finish();
      }
      table->finish();
    }
    if (auto table = root_.table("http")) {
      const std::string listen = table->text("listen");
      const Result<net::Endpoint> endpoint = net::parse_endpoint(listen);
      if (endpoint) {
        control.http = endpoint.value();
      } else if (!listen.empty()) {
        table->error("listen", endpoint.message());
      }
      control.token_file = config::in_folder(folder_, table->text("token_file"));
      control.allowed_hosts = table->texts("allowed_hosts");
      for (const std::string& host : control.allowed_hosts) {
        if (!is_host(host)) {
          table->error("allowed_hosts", "'" + host + "' is not a host name or address; give it without a port");
        }
      }
      control.certificate = config::in_folder(folder_, table->text("certificate"));
      control.key = config::in_folder(folder_, table->text("key"));
      control.client_ca = config::in_folder(folder_, table->text("client_ca"));
      if (control.certificate.empty() != control.key.empty()) {
        table->error(control.key.empty() ? "certificate" : "key", "TLS needs both a certificate and its key");
      }
      if (control.certificate.empty() && !control.client_ca.empty()) {
        table->error("client_ca", "client certificates need TLS: set certificate and key");
      }
      constexpr std::uint32_t kLoopback = 127;
      if (control.http && control.http->address >> 24 != kLoopback && control.token_file.empty() &&
          control.certificate.empty()) {
        table->error("listen",
                     "an address that other hosts can reach needs a token_file, or TLS: a certificate and a "
                     "key");
      }
      table->finish();
    }
  }

  void read_recorder() {
    auto table = root_.table("recorder");
    if (!table) return;
    RecorderSettings& recorder = settings_.recorder.emplace();
    recorder.folder = config::in_folder(folder_, table->text("folder"));
    recorder.file_bytes = table->bytes("file");
    recorder.line_bytes = table->bytes("line");
    recorder.frozen_bytes = table->bytes("frozen");
    recorder.queue_bytes = table->bytes("queue");
    recorder.before_ns = table->duration_ns("before");
    recorder.after_ns = table->duration_ns("after");
    if (recorder.line_bytes < 2 * recorder.file_bytes) {
      table->error("line", "must be at least twice the size of a file");
    }
    table->finish();
  }

  std::uint64_t slots(config::Table& table, std::string_view key, std::uint64_t fallback) {
    const std::uint64_t slots = table.integer_or(key, fallback);
    if (!std::has_single_bit(slots)) table.error(key, "must be a power of two");
    return slots;
  }

  /// A path that begins with ~ is in the home folder of the user.
  std::string in_home(const char* key, const std::string& path) {
    if (path != "~" && !path.starts_with("~/")) return path;
    const char* const home = std::getenv("HOME");
    if (home != nullptr && home[0] == '/') return home + path.substr(1);
    root_.error(key, "'~' needs the variable HOME, which is not an absolute path here: give the folder itself");
    return path;
  }

  void read_rings() {
    auto table = root_.table("rings");
    if (!table) return;
    settings_.slots = slots(*table, "slots", settings_.slots);
    if (auto special = table->table("special")) {
      for (const std::string& name : special->keys()) {
        settings_.rings[name] = slots(*special, name, settings_.slots);
      }
    }
    table->finish();
  }

  void read_books() {
    auto table = root_.table("books");
    if (!table) return;
    BookSettings& books = settings_.books;
    books.instruments = static_cast<std::uint32_t>(table->integer("instruments"));
    books.orders = static_cast<std::uint32_t>(table->integer("orders"));
    books.levels = static_cast<std::uint32_t>(table->integer("levels"));
    books.queue = static_cast<std::uint32_t>(table->integer("queue"));
    books.policy = static_cast<market::Policy>(table->choice("policy"));
    books.refresh = table->flag("refresh");
    books.save_ns = table->duration_ns("save");
    table->finish();
  }

  void read_dpdk() {
    auto table = root_.table("dpdk");
    if (!table) return;
    settings_.dpdk_memory = table->bytes("memory");
    table->finish();
  }

  static void read_thread(config::Table& table, AgentSettings& thread) {
    if (table.has("core")) thread.core = static_cast<std::uint32_t>(table.integer("core"));
    thread.idle = static_cast<Idle>(table.choice("idle"));
    thread.sleep_ns = table.duration_ns("sleep");
  }

  void read_agents() {
    for (config::Table& table : root_.tables("agent")) {
      AgentSettings& agent = settings_.agents.emplace_back();
      agent.name = table.text("name");
      check_name(table, "name", agent.name);
      const auto is_same = [&](const AgentSettings& other) { return other.name == agent.name; };
      if (std::count_if(settings_.agents.begin(), settings_.agents.end(), is_same) > 1) {
        table.error("name", "two agents have the name '" + agent.name + "'");
      }
      read_thread(table, agent);
      agent.batch = table.integer("batch");
      table.finish();
    }
  }

  /// Index of the item whose name is the value of `key`; 0 after an error.
  template <class Item>
  std::size_t find(config::Table& table, std::string_view key, const std::vector<Item>& items, const char* noun) {
    const std::string name = table.text(key);
    if (name.empty()) return 0;
    std::vector<std::string> names;
    names.reserve(items.size());
    for (const Item& item : items) names.push_back(item.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::string near = config::nearest(name, names);
    table.error(key, std::string("unknown ") + noun + " '" + name + "'" +
                         (near.empty() ? "" : "; did you mean '" + near + "'?"));
    return 0;
  }

  void read_ports() {
    for (config::Table& table : root_.tables("port")) {
      std::vector<ingest::PortAbove> above;
      for (const PortSettings& other : settings_.ports) above.push_back({.name = other.name, .source = *other.source});
      PortSettings port;
      port.name = table.text("name");
      check_name(table, "name", port.name);
      const auto is_same = [&](const PortSettings& other) { return other.name == port.name; };
      if (std::any_of(settings_.ports.begin(), settings_.ports.end(), is_same)) {
        table.error("name", "two ports have the name '" + port.name + "'");
      }
      port.agent =
          table.has("agent") || settings_.agents.size() != 1 ? find(table, "agent", settings_.agents, "agent") : 0;
      port.source = ingest::read_port(table, {.folder = folder_, .above = above});
      table.finish();
      settings_.ports.push_back(std::move(port));
    }
  }

  /// Leaves the channels that the feed asks for.
  void choose_channels(config::Table& table, FeedSettings& feed) {
    std::vector<feed::Channel>& channels = feed.description.channels;
    std::vector<std::string> names;
    names.reserve(channels.size());
    for (const feed::Channel& channel : channels) names.push_back(channel.name);
    for (const std::string& name : feed.channels) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const std::string near = config::nearest(name, names);
      table.error("channels",
                  "the feed has no channel '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    if (feed.channels.empty()) return;
    std::erase_if(channels, [&feed](const feed::Channel& channel) {
      return std::find(feed.channels.begin(), feed.channels.end(), channel.name) == feed.channels.end();
    });
  }

  /// From here on `map` is the path of a file: a confined process looks in no folders.
  static void find_map(config::Table& table, feed::Channel& channel) {
    if (channel.map.empty()) return;
    Result<std::string> path = market::find_map(channel.map);
    if (!path) return table.error("file", "channel '" + channel.name + "': " + path.message());
    channel.map = std::move(path).value();
  }

  /// So that a reload can name a map that has changed. One that cannot be read is an error of its image.
  void note_map(const std::string& path) {
    if (only_names_ || path.empty() || settings_.said.contains(path)) return;
    if (Result<std::string> text = read_(path)) settings_.said[path] = std::move(text).value();
  }

  /// Of a channel whose packets come by a session: the session numbers them.
  void check_session(config::Table& table, const FeedSettings& feed, const feed::Channel& channel) {
    const auto refuse = [&](const std::string& why) { table.error("file", "channel '" + channel.name + "': " + why); };
    const auto has_session = [&](std::size_t line) {
      return channel.lines[line] && settings_.ports[feed.ports[line]].source->has_sessions();
    };
    if (!has_session(0) && !has_session(1)) return;
    if (channel.lines[1])
      refuse("two sessions number packets each in its own way, so a channel of one has no line 'b'");
    if (channel.lines[0]->group.address >> 28 == 0xE) refuse("the 'group' of a session is the address of its server");
    if (!channel.replay.empty()) refuse("its packets are numbered here, so no replay service knows them");
    const net::Framing& framing = channel.framing;
    const net::Framing wanted = net::parse_framing(kSessionFraming).value();
    const bool is_wanted = framing.kind == wanted.kind && framing.sequence == wanted.sequence &&
                           framing.skip == wanted.skip && framing.length == wanted.length &&
                           framing.blocks == wanted.blocks && framing.reset == wanted.reset;
    if (!is_wanted) refuse("a session needs framing = \"" + std::string(kSessionFraming) + '"');
  }

  void read_feed_calendar(config::Table& table, FeedSettings& feed) {
    Result<std::string> text = read_(feed.calendar_file);
    if (!text) return table.error("calendar", text.message());
    CalendarFile read = read_calendar(feed.calendar_file, text.value(), diagnostics_);
    feed.calendar = std::move(read.calendar);
    settings_.said.merge(read.said);
  }

  void read_feeds() {
    std::set<std::string> names;
    std::map<std::string, std::size_t> agent_of_ring;
    for (config::Table& table : root_.tables("feed")) {
      FeedSettings& feed = settings_.feeds.emplace_back();
      feed.file = config::in_folder(folder_, table.text("file"));
      feed.ports[0] = find(table, "a", settings_.ports, "port");
      feed.ports[1] = table.has("b") ? find(table, "b", settings_.ports, "port") : feed.ports[0];
      feed.channels = table.texts("channels");
      if (table.has("calendar")) feed.calendar_file = config::in_folder(folder_, table.text("calendar"));
      table.finish();
      if (diagnostics_.has_errors()) continue;
      feed.agent = settings_.ports[feed.ports[0]].agent;
      if (settings_.ports[feed.ports[1]].agent != feed.agent) {
        table.error("b", "both ports of a feed must belong to one agent: one thread merges the lines of a channel");
      }
      Result<std::string> text = read_(feed.file);
      if (!text) {
        table.error("file", text.message());
        continue;
      }
      if (!feed.calendar_file.empty() && !only_names_) read_feed_calendar(table, feed);
      const auto document = config::Document::parse(feed.file, std::move(text).value(), diagnostics_);
      auto description = feed::load(document, feed.file, diagnostics_);
      if (!description) continue;
      for (auto& [key, value] : document.values()) settings_.said[feed.file + ": " + key] = value;
      feed.description = std::move(*description);
      choose_channels(table, feed);
      for (feed::Channel& channel : feed.description.channels) {
        if (!names.insert(channel.name).second) {
          table.error("file", "another feed has a channel with the name '" + channel.name + "'");
        }
        find_map(table, channel);
        note_map(channel.map);
        check_session(table, feed, channel);
        for (const std::string& ring : {channel.ring, channel.events}) {
          if (ring.empty()) continue;
          const auto [found, is_new] = agent_of_ring.try_emplace(ring, settings_.feeds.size() - 1);
          if (!is_new && found->second != settings_.feeds.size() - 1) {
            table.error("file", "another feed has a ring with the name '" + ring + "': a ring has one feed");
          }
        }
      }
      for (const feed::Channel& channel : feed.description.channels) {
        const auto is_its = [&](const feed::Channel& other) { return other.ring == channel.events; };
        if (!channel.events.empty() &&
            std::any_of(feed.description.channels.begin(), feed.description.channels.end(), is_its)) {
          table.error("file", "the ring '" + channel.events + "' would have both records and market events");
          break;
        }
      }
    }
    for (const auto& [ring, slots] : settings_.rings) {
      if (!diagnostics_.has_errors() && !agent_of_ring.contains(ring)) {
        root_.error("rings", "no feed has a ring with the name '" + ring + "'");
      }
    }
  }

  void read_replays() {
    for (config::Table& table : root_.tables("replay")) {
      ReplaySettings replay;
      replay.name = table.text("name");
      check_name(table, "name", replay.name);
      const auto is_same = [&](const ReplaySettings& other) { return other.name == replay.name; };
      if (std::any_of(settings_.replays.begin(), settings_.replays.end(), is_same)) {
        table.error("name", "two replay services have the name '" + replay.name + "'");
      }
      const std::string address = table.text("address");
      const Result<net::Endpoint> endpoint = net::parse_endpoint(address);
      if (endpoint) {
        replay.address = endpoint.value();
      } else if (!address.empty()) {
        table.error("address", endpoint.message());
      }
      replay.dialect = static_cast<refill::DialectKind>(table.choice("dialect"));
      const refill::DialectRow& dialect = refill::row_of(replay.dialect);
      replay.sender = table.text("sender");
      replay.target = table.text("target", std::string(dialect.target));
      if (replay.target.empty()) {
        table.error("target", "the dialect '" + std::string(dialect.name) + "' needs a 'target': it has no usual one");
      }
      replay.user = table.text("user");
      replay.password_file = config::in_folder(folder_, table.text("password_file"));
      refill::Limits& limits = replay.limits;
      limits.connections_a_day = static_cast<std::uint32_t>(table.integer("connections"));
      limits.requests_a_connection = static_cast<std::uint32_t>(table.integer("requests"));
      if (dialect.requests != 0 && limits.requests_a_connection > dialect.requests) {
        table.error("requests", "the dialect '" + std::string(dialect.name) + "' allows " +
                                    std::to_string(dialect.requests) + " a connection");
      }
      limits.messages_a_request = table.integer("messages");
      limits.day_begins_s = static_cast<std::int64_t>(table.duration_ns("day") / kNsPerSecond);
      limits.wait_ns = table.duration_ns("wait");
      limits.patience_ns = table.duration_ns("patience");
      limits.retry_ns = table.duration_ns("retry");
      limits.attempts = static_cast<std::uint32_t>(table.integer("attempts"));
      limits.answer_bytes = settings_.limits.datagram_bytes;
      const auto is_counted_with = [&](const ReplaySettings& other) {
        return other.address == replay.address && other.sender == replay.sender && other.user == replay.user;
      };
      if (std::any_of(settings_.replays.begin(), settings_.replays.end(), is_counted_with)) {
        table.error("address", "another service has this address, sender and user: they would not share its quota");
      }
      const std::string feed = table.text("feed", "");
      if (!diagnostics_.has_errors()) find_feed(table, feed, replay);
      table.finish();
      settings_.replays.push_back(std::move(replay));
    }
  }

  /// Of the feed that a replay service is for: it must have channels that ask, and no other service.
  void find_feed(config::Table& table, const std::string& wanted, ReplaySettings& replay) {
    std::vector<std::string> names;
    for (const FeedSettings& feed : settings_.feeds) names.push_back(feed.description.name);
    const std::string name = wanted.empty() && names.size() == 1 ? names.front() : wanted;
    const auto found = std::find(names.begin(), names.end(), name);
    if (name.empty()) return table.error("feed", "there are several feeds: name one");
    if (found == names.end()) {
      const std::string near = config::nearest(name, names);
      return table.error("feed",
                         "unknown feed '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    replay.feed = static_cast<std::size_t>(found - names.begin());
    const std::vector<feed::Channel>& channels = settings_.feeds[replay.feed].description.channels;
    if (std::none_of(channels.begin(), channels.end(), [](const feed::Channel& one) { return !one.replay.empty(); })) {
      table.error("feed", "no channel of the feed '" + name + "' has a 'replay'");
    }
    for (const ReplaySettings& other : settings_.replays) {
      if (other.feed == replay.feed) table.error("feed", "'" + other.name + "' is for the feed '" + name + "' already");
    }
  }

  /// Every ring by the last part of its name.
  std::vector<OfferedRing> offered_rings(config::Table& table) {
    std::map<std::string, std::string> by_name;
    for (const FeedSettings& feed : settings_.feeds) {
      for (const feed::Channel& channel : feed.description.channels) {
        for (const std::string& ring : {channel.ring, channel.events}) {
          if (ring.empty()) continue;
          const std::string name = std::filesystem::path(ring).filename().string();
          const auto [found, is_new] = by_name.try_emplace(name, ring);
          if (!is_new && found->second != ring) {
            table.error("the rings '" + found->second + "' and '" + ring + "' would both be named '" + name +
                        "' for other processes");
          }
        }
      }
    }
    std::vector<OfferedRing> rings;
    rings.reserve(by_name.size());
    for (auto& [name, ring] : by_name) rings.push_back({name, ring});
    return rings;
  }

  void read_publications(NicSettings& nic) {
    for (config::Table& table : root_.tables("publish")) {
      PublishSettings published;
      const std::string ring = table.text("ring");
      const auto found = std::find_if(nic.rings.begin(), nic.rings.end(),
                                      [&](const OfferedRing& other) { return other.name == ring; });
      if (found != nic.rings.end()) {
        published.ring = found->ring;
      } else if (!ring.empty() && !diagnostics_.has_errors()) {
        const std::string near = config::nearest(ring, nic.ring_names());
        table.error("ring",
                    "no feed has a ring '" + ring + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
      }
      published.name = table.text("as", ring);
      check_name(table, "as", published.name);
      const auto is_same = [&](const PublishSettings& other) { return other.name == published.name; };
      if (std::any_of(nic.publish.begin(), nic.publish.end(), is_same)) {
        table.error("as", "two rings are published as '" + published.name + "'");
      }
      read_ways(table, nic, published);
      published.token_file = config::in_folder(folder_, table.text("token_file"));
      read_admission(table, nic, published);
      table.finish();
      nic.publish.push_back(std::move(published));
    }
  }

  /// A group that is not to be confused with a host, or with the groups that routers and hosts need themselves.
  static void read_line(config::Table& table, const std::string& key, multicast::LineOptions line,
                        std::optional<multicast::LineOptions>& to) {
    constexpr std::uint32_t kFirst = 0xE000'0100, kLast = 0xEFFF'FFFF;  // 224.0.1.0 to 239.255.255.255
    const std::string text = table.text(key);
    if (text.empty()) return;
    const Result<net::Endpoint> group = net::parse_endpoint(text);
    if (!group) {
      table.error(key, group.message());
    } else if (group.value().address < kFirst || group.value().address > kLast) {
      table.error(key, "'" + text + "' is no multicast group for programs: 224.0.1.0 to 239.255.255.255");
    } else {
      line.group = group.value();
      line.interface = table.text("interface_" + key);
      to = line;
    }
  }

  void read_refill(config::Table& table, MulticastSettings& multicast) const {
    multicast::RefillOptions refill;
    refill.clients = table.integer("refill_clients");
    refill.clients_per_address = table.integer("refill_clients_per_address");
    refill.bytes_per_second = table.bytes("refill_bytes_per_second");
    const std::size_t history = table.bytes("history");
    const bool keeps_state = table.flag("state");
    const std::string listen = table.text("refill");
    if (listen.empty()) {
      for (const char* key :
           {"history", "state", "refill_clients", "refill_clients_per_address", "refill_bytes_per_second"}) {
        if (table.has(key)) table.error(key, "'" + std::string(key) + "' needs 'refill'");
      }
      return;
    }
    const Result<net::Endpoint> endpoint = net::parse_endpoint(listen);
    if (!endpoint) {
      table.error("refill", endpoint.message());
    } else {
      refill.listen = endpoint.value();
      multicast.refill = refill;
      multicast.publisher.history_bytes = history;
      multicast.publisher.keeps_state = keeps_state;
      multicast.publisher.books = {.instruments = settings_.books.instruments, .orders = settings_.books.orders};
    }
  }

  void read_multicasts() {
    std::set<std::pair<std::uint32_t, std::uint16_t>> groups;
    for (config::Table& table : root_.tables("multicast")) {
      MulticastSettings multicast;
      const std::vector<OfferedRing> rings =
          diagnostics_.has_errors() ? std::vector<OfferedRing>() : offered_rings(table);
      const std::string ring = table.text("ring");
      const auto found =
          std::find_if(rings.begin(), rings.end(), [&](const OfferedRing& other) { return other.name == ring; });
      std::vector<std::string> names;
      for (const OfferedRing& other : rings) names.push_back(other.name);
      if (found != rings.end()) {
        multicast.publisher.ring = found->ring;
      } else if (!ring.empty() && !diagnostics_.has_errors()) {
        const std::string near = config::nearest(ring, names);
        table.error("ring",
                    "no feed has a ring '" + ring + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
      }
      multicast.name = table.text("name", ring);
      check_name(table, "name", multicast.name);
      const auto is_same = [&](const MulticastSettings& other) { return other.name == multicast.name; };
      if (std::any_of(settings_.multicasts.begin(), settings_.multicasts.end(), is_same)) {
        table.error(table.has("name") ? "name" : "ring",
                    "two [[multicast]] have the name '" + multicast.name + "': give one a 'name'");
      }
      multicast::LineOptions line;
      line.ttl = static_cast<std::uint8_t>(table.integer("ttl"));
      line.dscp = static_cast<std::uint8_t>(table.integer("dscp"));
      line.loop = table.flag("loop");
      line.buffer_bytes = table.bytes("buffer");
      read_line(table, "a", line, multicast.lines[0]);
      read_line(table, "b", line, multicast.lines[1]);
      if (table.has("interface_b") && !table.has("b")) table.error("interface_b", "there is no line 'b'");
      for (const std::string key : {"a", "b"}) {
        const auto& to = multicast.lines[key == "a" ? 0 : 1];
        if (!to || groups.emplace(to->group.address, to->group.port).second) continue;
        table.error(key, net::to_text(to->group) + " is another line already: its numbers would be mixed");
      }
      constexpr std::size_t kIpAndUdp = 28;
      multicast.publisher.packet_bytes = table.integer("mtu") - kIpAndUdp;
      multicast.publisher.heartbeat_ns = table.duration_ns("heartbeat");
      multicast.publisher.patience_ns = table.duration_ns("patience");
      multicast.publisher.bytes_per_second = table.bytes("bytes_per_second");
      read_refill(table, multicast);
      multicast.thread.name = "multicast";
      read_thread(table, multicast.thread);
      table.finish();
      settings_.multicasts.push_back(std::move(multicast));
    }
  }

  void read_admission(config::Table& table, const NicSettings& nic, PublishSettings& published) {
    // An empty list could mean no address or every address, so it is an error.
    const std::size_t least = table.has("allow") ? 1 : 0;
    for (const std::string& text : table.texts("allow", {.least = least, .most = kMaxAllowed})) {
      const Result<nic::AddressPrefix> prefix = nic::parse_prefix(text);
      if (prefix) {
        published.allow.push_back(prefix.value());
      } else {
        table.error("allow", prefix.message());
      }
    }
    if (table.has("allow") && !published.to_fabric && !published.to_udp) {
      table.error("allow",
                  "'allow' restricts subscribers by 'fabric' and 'udp'; 'shm' is open to the appliance's user only");
    } else if (table.has("allow") && published.to_fabric && nic.provider.starts_with("shm")) {
      table.error("allow", "the provider '" + nic.provider + "' has no addresses");
    }
    published.lossless = table.flag("lossless");
    if (published.lossless && !published.ring.empty()) check_waits(table, published.ring);
    published.detach_after_ns = table.duration_ns("detach_after");
    if (published.lossless && published.detach_after_ns > kMaxPatienceNs) {
      table.error("detach_after", "must be at most 1min: the agent of a lossless ring waits that long at most");
    }
    published.bytes_per_second = table.bytes("bytes_per_second");
  }

  /// While the writer waits for readers it takes nothing from its ports, so only captures may wait.
  void check_waits(config::Table& table, const std::string& ring) {
    for (const FeedSettings& feed : settings_.feeds) {
      const auto& channels = feed.description.channels;
      const auto writes = [&](const auto& channel) { return channel.ring == ring || channel.events == ring; };
      if (std::none_of(channels.begin(), channels.end(), writes)) continue;
      for (const PortSettings& port : settings_.ports) {
        if (port.agent != feed.agent || !port.source->is_live()) continue;
        table.error("lossless", "its agent also reads port '" + port.name +
                                    "', which cannot wait for readers: all ports of a lossless ring's agent must be "
                                    "captures");
        return;
      }
    }
  }

  static void read_ways(config::Table& table, const NicSettings& nic, PublishSettings& published) {
    if (!table.has("to")) {
      published.to_fabric = !nic.listen.empty();
      published.to_udp = nic.udp.has_value();
      return;
    }
    published.to_shm = published.to_fabric = published.to_udp = false;
    for (const std::string& way : table.texts("to", {.least = 1, .most = 3})) {
      if (way == "shm") {
        published.to_shm = true;
      } else if (way == "udp") {
        published.to_udp = true;
        if (!nic.udp) table.error("to", "'udp' needs an address to listen at: add a table [nic.udp] with 'listen'");
      } else if (way == "fabric") {
        published.to_fabric = true;
        if (nic.listen.empty()) table.error("to", "'fabric' needs an address to listen at: set 'listen' of [nic]");
      } else {
        table.error("to", "'to' must have one or more of: shm, fabric, udp");
      }
    }
  }

  void read_udp(config::Table& nic_table, NicSettings& nic) {
    auto table = nic_table.table("udp");
    if (!table) return;
    UdpSettings& udp = nic.udp.emplace();
    udp.listen = table->text("listen");
    udp.token_file = config::in_folder(folder_, table->text("token_file"));
    udp.is_encrypted = table->choice("encryption") == 0;
    udp.frame_bytes = table->integer("frame");
    udp.bytes_per_second = table->bytes("bytes_per_second");
    if (!udp.listen.empty()) {
      const std::string problem = listen_problem(udp.listen);
      if (!problem.empty()) {
        table->error("listen", problem);
      } else if (udp.is_encrypted && udp.token_file.empty() && !is_loopback(udp.listen)) {
        table->error("listen",
                     "other hosts reach this address: set 'token_file', the secret of those that may join, or "
                     "encryption = \"off\", with which any of them can join, read and forge");
      }
    }
    if (!udp.is_encrypted && !udp.token_file.empty()) {
      table->error("token_file", "a token is of no use with encryption = \"off\": leave one of them out");
    }
    table->finish();
  }

  void read_nic() {
    auto table = root_.table("nic");
    if (!table) {
      // Without a node there is nothing to publish with.
      for (config::Table& published : root_.tables("publish")) {
        published.error("publishing needs a table [nic]");
      }
      return;
    }
    NicSettings& nic = settings_.nic.emplace();
    nic.network = table->text("network", settings_.name);
    check_name(*table, "network", nic.network);
    nic.thread.name = "nic";
    read_thread(*table, nic.thread);
    if (!diagnostics_.has_errors()) nic.rings = offered_rings(*table);
    nic.broker = config::in_folder(folder_, table->text("broker"));
    nic.clients = table->integer("clients");
    nic.resident_bytes = table->bytes("resident");
    nic.listen = table->text("listen");
    if (!nic.listen.empty()) {
      const std::string problem = listen_problem(nic.listen);
      if (!problem.empty()) table->error("listen", problem);
    }
    nic.provider = table->text("provider");
    read_udp(*table, nic);
    nic.subscribers = table->integer("subscribers");
    nic.subscribers_per_address = table->integer("subscribers_per_address");
    nic.requests_per_second = static_cast<std::uint32_t>(table->integer("requests_per_second"));
    nic.entitlements_file = config::in_folder(folder_, table->text("entitlements"));
    if (nic.broker.empty() != nic.entitlements_file.empty()) {
      table->error(nic.broker.empty() ? "entitlements" : "broker", "'broker' and 'entitlements' need each other");
    }
    table->finish();
    read_publications(nic);
    if (only_names_ || nic.entitlements_file.empty() || diagnostics_.has_errors()) return;
    auto entitlements = load_entitlements(nic.entitlements_file, nic.ring_names(), diagnostics_);
    if (entitlements) nic.entitlements = std::move(*entitlements);
  }

  config::Table root_;
  std::string folder_;
  const ReadFile& read_;
  const bool only_names_;
  Diagnostics& diagnostics_;
  Settings settings_;
};

std::optional<Settings> read(const config::Document& document, const std::string& folder, const ReadFile& read_file,
                             Diagnostics& diagnostics, bool only_names = false) {
  if (!document.ok()) return std::nullopt;
  Settings settings = SettingsReader(document.root(settings_keys()), folder, read_file, only_names, diagnostics).read();
  if (diagnostics.has_errors()) return std::nullopt;
  settings.said.merge(document.values());
  return settings;
}

Result<std::string> read_directly(const std::string& path) {
  auto text = os::read_file(path, config::kMaxFileBytes);
  if (!text && text.failure().system_error != 0) {
    return Failure{"cannot read " + path + ": " + std::generic_category().message(text.failure().system_error)};
  }
  if (!text) return Failure{text.message()};
  return std::move(text).value();
}

std::string folder_of(const std::string& path) {
  return path == "-" ? "" : std::filesystem::path(path).parent_path().string();
}

}  // namespace

std::optional<Settings> load(const std::string& path, Diagnostics& diagnostics) {
  auto settings = read(config::Document::load(path, diagnostics), folder_of(path), read_directly, diagnostics);
  if (settings) settings->file = path;
  return settings;
}

namespace {

std::optional<Settings> load(const std::string& path, const ReadFile& read_file, bool only_names,
                             Diagnostics& diagnostics) {
  Result<std::string> text = read_file(path);
  if (!text) {
    diagnostics.error(ErrorCode::None, {}, text.message());
    return std::nullopt;
  }
  auto settings = read(config::Document::parse(path, std::move(text).value(), diagnostics), folder_of(path), read_file,
                       diagnostics, only_names);
  if (settings) settings->file = path;
  return settings;
}

}  // namespace

std::optional<Settings> load(const std::string& path, const ReadFile& read_file, Diagnostics& diagnostics) {
  return load(path, read_file, false, diagnostics);
}

std::optional<Settings> load_names(const std::string& path, const ReadFile& read_file, Diagnostics& diagnostics) {
  return load(path, read_file, true, diagnostics);
}

std::optional<Settings> parse(std::string file, std::string text, const std::string& folder, Diagnostics& diagnostics) {
  return read(config::Document::parse(std::move(file), std::move(text), diagnostics), folder, read_directly,
              diagnostics);
}

std::vector<net::Endpoint> servers_of(const Settings& settings) {
  std::vector<net::Endpoint> servers;
  for (const FeedSettings& feed : settings.feeds) {
    for (const feed::Channel& channel : feed.description.channels) {
      for (std::size_t line = 0; line < channel.lines.size(); ++line) {
        if (!channel.lines[line] || !settings.ports[feed.ports[line]].source->has_sessions()) continue;
        servers.push_back(channel.lines[line]->group);
      }
    }
  }
  return servers;
}

}  // namespace stopbit::appliance
