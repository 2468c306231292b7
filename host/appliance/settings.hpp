#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/select/make_engine.hpp"
#include "host/appliance/calendar.hpp"
#include "host/feed/channel/channel_options.hpp"
#include "host/feed/description/description.hpp"
#include "host/market/stage/recovery_options.hpp"
#include "host/multicast/options.hpp"
#include "host/nic/node/broker.hpp"
#include "host/nic/transport/udp/udp_options.hpp"
#include "host/ports/igmp/station.hpp"
#include "host/ports/port_source.hpp"
#include "host/refill/client.hpp"
#include "host/refill/dialects.hpp"
#include "microcode/base/diagnostic.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::config {
struct TableKeys;
}

/// An appliance: ports, threads, feeds and rings, as appliance.toml says. doc/appliance-settings.md has every key.
namespace stopbit::appliance {

inline constexpr std::size_t kMaxAgents = 64;
inline constexpr std::size_t kMaxPorts = 64;
inline constexpr std::size_t kMaxFeeds = 64;
inline constexpr std::size_t kMaxPublished = 64;
inline constexpr std::size_t kMaxReplays = 64;
inline constexpr std::size_t kMaxMulticasts = 16;
inline constexpr std::size_t kMaxAllowed = 1'024;  ///< Prefixes of a publication.

/// What a thread does when there is nothing to do.
enum class Idle : std::uint8_t {
  Spin,     ///< Looks again at once: the lowest latency, a core of its own.
  Yield,    ///< Lets others run first.
  Sleep,    ///< Sleeps for AgentSettings::sleep_ns.
  Backoff,  ///< Spins for a while, then yields for a while, then blocks until something comes.
};

struct AgentSettings {
  std::string name;
  std::optional<std::uint32_t> core;  ///< Pinned to this one; nothing = wherever.
  Idle idle = Idle::Sleep;
  std::uint64_t sleep_ns = 50'000;
  std::size_t batch = 32;  ///< Datagrams asked for at a time.
};

struct PortSettings {
  std::string name;
  std::size_t agent = 0;  ///< Index of Settings::agents.
  std::shared_ptr<ingest::PortSource>
      source;  ///< Never null. Copies of the settings share it; nothing changes it later.
};

struct FeedSettings {
  std::string file;
  feed::Description description;
  std::array<std::size_t, 2> ports{};        ///< Index of Settings::ports, for lines A and B.
  std::size_t agent = 0;                     ///< That of its ports.
  std::vector<std::string> channels;         ///< Of the description only these; empty = it has all of its file.
  std::string calendar_file;                 ///< Empty: it always speaks.
  std::shared_ptr<const Calendar> calendar;  ///< Null: likewise.
};

/// A user who may give some commands only.
struct CommandPermission {
  std::uint32_t user = 0;
  std::vector<std::string> commands;
};

/// Control socket and HTTP of a running appliance.
struct ControlSettings {
  std::string socket;                      ///< Path of the Unix socket for commands; empty: none.
  std::vector<std::uint32_t> users;        ///< Users who may use it, besides root and the user of the process.
  std::vector<CommandPermission> allowed;  ///< Others, who may give some commands.
  std::optional<net::Endpoint> http;       ///< Metrics, status and the page.
  std::string token_file;                  ///< Holds the token that HTTP clients have to know; empty: none.
  std::vector<std::string> allowed_hosts;  ///< See control::Options.
  // TLS, files in PEM. Without a certificate there is none.
  std::string certificate;
  std::string key;
  std::string client_ca;  ///< Certificate authority of the clients' certificates; empty: clients need none.
};

/// The packets of every line on disk, within a size.
struct RecorderSettings {
  std::string folder;
  std::uint64_t file_bytes = 64U << 20;
  std::uint64_t line_bytes = 1ULL << 30;     ///< Of each line, not frozen.
  std::uint64_t frozen_bytes = 1ULL << 30;   ///< Of each line, frozen.
  std::uint64_t queue_bytes = 64U << 20;     ///< Of each agent.
  std::uint64_t before_ns = 30'000'000'000;  ///< Time frozen before a gap,
  std::uint64_t after_ns = 30'000'000'000;   ///< and after it.
};

/// Where a card's datagrams come from.
enum class CardIngress : std::uint8_t {
  Host,  ///< The host's ports; the card decodes.
  Port,  ///< Its own network port; the card receives, arbitrates and decodes.
};

/// Where the arrival times of a card's own port come from.
enum class CardClock : std::uint8_t {
  Card,  ///< Its clock, which follows that of the host.
  Mac,   ///< Its MAC's, which something else disciplines (PTP).
};

/// A card decodes instead of software. It has either an xclbin or a device.
struct CardSettings {
  // Opened by XRT:
  std::string xclbin;  ///< A file, or "sim".
  std::uint32_t index = 0;
  // or by VFIO:
  std::string device;  ///< A PCI function, or "sim"; empty: by XRT.
  std::uint32_t bar = 0;
  std::uint64_t offset = 0;
  bool fallback = true;  ///< Software does what the card cannot; else the appliance does not start.
  CardIngress ingress = CardIngress::Host;
  // Of its own port:
  CardClock clock = CardClock::Card;
  /// Its address of Ethernet: with one, it joins its groups, and nothing else has to.
  std::optional<ingest::MacAddress> mac = {};
  std::uint32_t address = 0;  ///< Of IPv4, for IGMP and ARP; 0: none.
  bool fcs = false;           ///< Frames end with their FCS, which the card checks; else its MAC has.

  /// What logs and counters call it.
  [[nodiscard]] std::string label() const { return device.empty() ? std::to_string(index) : device; }
};

/// A ring as others know it: the name that clients of the broker attach it by.
struct OfferedRing {
  std::string name;
  std::string ring;
  friend bool operator==(const OfferedRing&, const OfferedRing&) = default;
};

/// A ring that subscribers may have in memory of their own.
struct PublishSettings {
  std::string name;  ///< What subscribers ask for.
  std::string ring;
  bool to_shm = true;                     ///< Processes of this host and user, by NicSettings::network.
  bool to_fabric = false;                 ///< Those who come to NicSettings::listen,
  bool to_udp = false;                    ///< and to that of UdpSettings.
  std::string token_file;                 ///< Holds what subscribers have to know; empty: nothing.
  std::vector<nic::AddressPrefix> allow;  ///< Where those of other hosts may come from; none: from anywhere.
  bool lossless = false;                  ///< The ring's agent waits for subscribers and readers who want all of it.
  std::uint64_t detach_after_ns = 0;   ///< A subscriber that takes no records for this time while some are waiting is
                                       ///< detached; 0: lossless subscribers after kPatienceNs, others never.
  std::uint64_t bytes_per_second = 0;  ///< To each subscriber; 0: no limit.
};
/// How long a lossless ring waits for a reader that does not move, if nothing else is said.
inline constexpr std::uint64_t kPatienceNs = 5'000'000'000;

/// The carrier to other hosts over UDP.
struct UdpSettings {
  std::string listen;        ///< HOST:PORT of a UDP socket, and of a TCP socket with the same number.
  std::string token_file;    ///< Holds the token of the network; empty: none.
  bool is_encrypted = true;  ///< Else other hosts need no token, and read and forge what they like.
  std::size_t frame_bytes = nic::UdpOptions().frame_bytes;
  std::uint64_t bytes_per_second = 0;  ///< To each host; 0: no limit.
  friend bool operator==(const UdpSettings&, const UdpSettings&) = default;
};

/// The node of the user-level network interface, through which other processes reach the rings.
struct NicSettings {
  std::string network;                        ///< Its carrier between processes of this host: segments NETWORK.NODE.
  std::string broker;                         ///< Path of the Unix socket for clients of this host; empty: none.
  std::size_t clients = 64;                   ///< Of the broker, at once.
  std::uint64_t resident_bytes = 256U << 20;  ///< Of files that they share, here at once.
  std::string entitlements_file;              ///< What they may.
  std::vector<nic::Entitlement> entitlements;
  AgentSettings thread;
  std::vector<OfferedRing> rings;           ///< All rings of the appliance.
  std::string listen;                       ///< HOST:PORT of the carrier to other hosts; empty: none.
  std::string provider;                     ///< Of it, as libfabric calls it; empty: TCP.
  std::optional<UdpSettings> udp;           ///< Another carrier to other hosts.
  std::size_t subscribers = 16;             ///< Of all published rings, at once, on each carrier;
  std::size_t subscribers_per_address = 0;  ///< of one address of another host; 0: no limit,
  std::uint32_t requests_per_second = 100;  ///< and what it may ask; 0: no limit.
  std::vector<PublishSettings> publish;

  [[nodiscard]] std::vector<std::string> ring_names() const {
    std::vector<std::string> names;
    for (const OfferedRing& ring : rings) names.push_back(ring.name);
    return names;
  }
  /// Time for which the writer of a ring waits for a reader that does not move; nothing: it never waits.
  [[nodiscard]] std::optional<std::uint64_t> patience_ns(const std::string& ring) const {
    std::optional<std::uint64_t> patience;
    for (const PublishSettings& published : publish) {
      if (published.ring != ring || !published.lossless) continue;
      const std::uint64_t own_ns = published.detach_after_ns != 0 ? published.detach_after_ns : kPatienceNs;
      patience = std::max(patience.value_or(0), own_ns);
    }
    return patience;
  }
};

/// A ring that goes out on two multicast lines.
struct MulticastSettings {
  std::string name;                                                            ///< In the log and in counters.
  multicast::PublisherOptions publisher;                                       ///< Without its epoch.
  std::array<std::optional<multicast::LineOptions>, multicast::kLines> lines;  ///< A, and B if there is one.
  std::optional<multicast::RefillOptions> refill;                              ///< Nothing: packets are not sent again.
  AgentSettings thread;
};

/// Room for instruments and books, for each ring of market events.
struct BookSettings {
  std::uint32_t instruments = 16'384;
  std::uint32_t orders = 1'048'576;                        ///< In all books by order or position together.
  std::uint32_t levels = 0;                                ///< Rows a side in the state table, beside the best.
  std::uint32_t queue = market::RecoveryOptions().queued;  ///< Events that wait for what is missing before them.
  market::Policy policy = market::RecoveryOptions().policy;
  bool refresh = market::RecoveryOptions().refresh;
  std::uint64_t save_ns = 0;  ///< How often they are saved for the next start; 0: never.
};

/// A service of an exchange that sends lost messages again, for the channels of a feed that have a `replay`.
struct ReplaySettings {
  std::string name;
  std::size_t feed = 0;  ///< Index of Settings::feeds.
  net::Endpoint address;
  refill::DialectKind dialect = refill::DialectKind::Moex;
  std::string sender;
  std::string target;
  std::string user;           ///< Empty: none.
  std::string password_file;  ///< Its first line is the password; empty: none.
  refill::Limits limits;
};

struct Settings {
  std::string file;  ///< That they were read from; "-" is standard input. Empty: they come from no file.
  /// What they say, by key: "http.listen", "feed[moex].a"; keys of the file of a feed after its path: "moex.toml:
  /// name".
  std::map<std::string, std::string> said;
  std::string name;          ///< Of the counters: /dev/shm/stopbit-NAME.counters.
  std::string state_folder;  ///< Gaps of the last days, and what else outlives the process.
  std::uint32_t keep_days = 7;
  EngineKind engine = EngineKind::Native;  ///< Of what no card decodes.
  std::optional<CardSettings> card;
  bool strict = false;
  EngineLimits limits;
  std::uint64_t slots = 65'536;                ///< Of a ring.
  std::map<std::string, std::uint64_t> rings;  ///< Slots of those that want another number.
  std::uint64_t silence_ns = 5'000'000'000;    ///< A line is silent if it has received nothing for this time.
  /// Datagrams that fail one after another before the channel is called stale.
  std::uint32_t stale_after = feed::ChannelOptions().stale_after;
  BookSettings books;
  bool lock_memory = false;
  std::uint64_t dpdk_memory = 256U << 20;  ///< For the frames of all its ports.
  bool confined = true;                    ///< Gives up privileges, files and system calls once everything is set up.
  ControlSettings control;
  std::optional<RecorderSettings> recorder;
  std::optional<NicSettings> nic;

  std::vector<AgentSettings> agents;
  std::vector<PortSettings> ports;
  std::vector<FeedSettings> feeds;
  std::vector<ReplaySettings> replays;
  std::vector<MulticastSettings> multicasts;

  [[nodiscard]] std::uint64_t slots_of(const std::string& ring) const {
    const auto found = rings.find(ring);
    return found != rings.end() ? found->second : slots;
  }
};

/// The servers that ports with sessions connect to, in the order of lines.
[[nodiscard]] std::vector<net::Endpoint> servers_of(const Settings& settings);

/// The rows of appliance.toml (host/os/config/keys.hpp).
[[nodiscard]] const config::TableKeys& settings_keys();

/// Reads appliance.toml and the feed files that it names, whose paths are relative to its folder. Nothing after an
/// error; all of them are in `diagnostics`.
[[nodiscard]] std::optional<Settings> load(const std::string& path, Diagnostics& diagnostics);
/// The same, with another way to read files: a confined process asks its opener.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;
[[nodiscard]] std::optional<Settings> load(const std::string& path, const ReadFile& read, Diagnostics& diagnostics);
/// The same for an opener: calendars, maps and entitlements are not read, because they name nothing that it opens.
[[nodiscard]] std::optional<Settings> load_names(const std::string& path, const ReadFile& read,
                                                 Diagnostics& diagnostics);
/// The same of a text. `folder` is where relative paths begin; feed files are read from there.
[[nodiscard]] std::optional<Settings> parse(std::string file, std::string text, const std::string& folder,
                                            Diagnostics& diagnostics);

}  // namespace stopbit::appliance
