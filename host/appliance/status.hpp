#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/appliance/clocks.hpp"
#include "host/appliance/counter_set.hpp"
#include "host/monitor/counters/reader.hpp"
#include "host/remote/subscription_state.hpp"
#include "host/ring/reader_registration.hpp"

/// What the counters of an appliance say, put together by channel, line, port and ring. Everything that shows an
/// appliance to people begins here. The counters of each structure are rows of counters.def.
namespace stopbit::appliance {

struct LineStatus {
  bool exists = false;
  std::string address;  ///< "224.0.0.1:1000 from 10.1.2.3"
#define STOPBIT_LINE(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
  std::uint64_t age_ns = 0;  ///< Since the latest packet; 0 = never.
  bool is_silent = false;
  counters::Distribution skew;
};

struct ChannelStatus {
  std::string name;
  std::string number;
  std::string feed;
  std::string role;
  std::string mode;
  std::string ring;
  std::string image;
  std::uint64_t window_packets = 0;
  std::uint64_t window_ns = 0;
  ChannelState state = ChannelState::Waiting;
  std::array<LineStatus, 2> lines;
#define STOPBIT_CHANNEL(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"

  [[nodiscard]] std::uint64_t received() const noexcept {
    return lines[0].packets + lines[1].packets + replayed;
  }
  /// Both identities hold. While packets flow the counters may be read in the middle of a change.
  [[nodiscard]] bool is_balanced() const noexcept;
  /// How long after A its copies came on B, if that is positive, else how long after B on A: the part given.
  [[nodiscard]] std::uint64_t skew_ns(double part) const noexcept;
  /// Decodes, and all its lines bring something.
  [[nodiscard]] bool is_ready() const noexcept;
};

struct PortStatus {
  std::string name;
#define STOPBIT_PORT(member, ...) std::uint64_t member = 0;
#define STOPBIT_PORT_DERIVED(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
};

struct RingStatus {
  std::string name;
  std::string image;
#define STOPBIT_RING(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
  std::vector<std::pair<std::string, std::uint64_t>> templates;  ///< Messages of each.
  std::vector<ring::SeenReader> readers;                         ///< Those with a name.
};

/// Market events of a record output: its instruments and their books.
struct MarketStatus {
  std::string name;  ///< Of the ring of events.
#define STOPBIT_MARKET(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
  std::vector<std::pair<std::string, std::uint64_t>> counts;  ///< Those that are not 0.
  std::vector<std::pair<std::string, std::uint64_t>> faults;  ///< Of books, likewise.
  std::vector<ring::SeenReader> readers;                      ///< Those of the ring, with a name.
};

/// A replay service.
struct ReplayStatus {
  std::string name;
#define STOPBIT_REPLAY(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
};

struct AgentStatus {
  std::string name;
#define STOPBIT_AGENT(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
  counters::Distribution batch, latency;
};

/// How much was dropped at one place.
struct Drop {
  std::string place;  ///< "NIC", "kernel", ...: always the same words. "overrun" is of a reader with a name.
  std::string reader, ring;
  std::uint32_t pid = 0;
  std::uint64_t count = 0;  ///< Packets; of "lost numbers" numbers, of "overrun" records.

  /// The place in one piece: "overrun of READER at RING".
  [[nodiscard]] std::string text() const { return reader.empty() ? place : place + " of " + reader + " at " + ring; }
};

/// A ring that clients of the broker attach.
struct OfferStatus {
  std::string name;
#define STOPBIT_OFFER(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
};

struct SubscriberStatus {
  std::string who, ring;
  remote::SubscriptionState state = remote::SubscriptionState::None;
#define STOPBIT_SUBSCRIBER(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
};

/// A carrier that rings are published by.
struct PublisherStatus {
  std::string carrier;
  bool is_cut_off = false;  ///< Serves no host until the appliance is restarted.
#define STOPBIT_PUBLISHER(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
  std::map<std::string, std::uint64_t> refusals;  ///< Of `refused`, by the reason; those that there were.
  std::vector<SubscriberStatus> subscribers;      ///< Those that there are.
};

/// A card that receives from its own port.
struct CardStatus {
  bool exists = false;
#define STOPBIT_CARD(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
};

/// The carrier udp.
struct UdpStatus {
  bool exists = false;
#define STOPBIT_UDP(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
};

/// A ring on two multicast lines.
struct MulticastStatus {
  std::string name;
#define STOPBIT_MULTICAST(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
};

/// The node and its broker.
struct NicStatus {
  bool exists = false;
#define STOPBIT_NIC(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
  std::vector<OfferStatus> offers;
  std::vector<PublisherStatus> publishers;
  UdpStatus udp;
};

/// Recording to disk, summed over all lines.
struct RecorderStatus {
  bool exists = false;
#define STOPBIT_RECORD(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
#define STOPBIT_RECORD_QUEUE(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
#define STOPBIT_RECORDER(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"
  std::string problem;  ///< What the system said last; empty: nothing was wrong so far.
};

struct StatusReport {
  std::string name;
  std::string state_folder;
  std::string control_socket;      ///< Empty: it has none.
  std::string settings_file;       ///< Empty: its settings came from standard input.
  std::uint64_t now_ns = 0;        ///< Wall clock: for people.
  std::uint64_t monotonic_ns = 0;  ///< When it was read: for rates.
  std::uint64_t started_ns = 0;
  std::uint64_t heartbeat_ns = 0;
  std::uint32_t pid = 0;
  counters::Reader::Writer writer = counters::Reader::Writer::Running;
  std::vector<ChannelStatus> channels;
  std::vector<PortStatus> ports;
  std::vector<RingStatus> rings;
  std::vector<MarketStatus> markets;
  std::vector<ReplayStatus> replays;
  std::vector<MulticastStatus> multicasts;
  std::vector<AgentStatus> agents;
  CardStatus card;
  RecorderStatus recorder;
  NicStatus nic;
  std::vector<counters::SeenError> errors;
  std::uint64_t errors_beyond = 0;
#define STOPBIT_HOUSEKEEPER(member, ...) std::uint64_t member = 0;
#include "host/appliance/counters.def"

  /// Calls take(name, readers) for each ring of records, then for each of market events.
  template <class Take>
  void for_each_ring(const Take& take) const {
    for (const RingStatus& ring : rings) take(ring.name, ring.readers);
    for (const MarketStatus& market : markets) take(market.name, market.readers);
  }

  /// Drops by place, in the order of the data path; every place is listed, with 0 if nothing was dropped. Named readers
  /// follow, one entry per process.
  [[nodiscard]] std::vector<Drop> drops() const;
};

/// From the counters, and from the signs of readers at the rings. Ages are counted to `now`. With
/// `watch` the signs are what it has seen last, and no folder is read here.
[[nodiscard]] StatusReport read_status(const counters::Reader& reader, const Now& now,
                                       const class ReaderWatch* watch = nullptr);
/// From the counters alone: rings have no readers.
[[nodiscard]] StatusReport read_counters(const counters::Reader& reader, const Now& now);
/// Which counters are of something that there is: not of a channel or ring that a reload has removed, nor what a
/// channel was before. `reader` outlives it.
[[nodiscard]] std::function<bool(const counters::Metric&)> present_in(const counters::Reader& reader,
                                                                      const StatusReport& status);
/// Where the rings of an appliance lie, in the order of for_each_ring, for ring::find_readers.
[[nodiscard]] std::vector<std::string> ring_places(const StatusReport& status, const counters::Reader& reader);

/// A window for a channel, from what its lines have been seen to do.
struct ProposedWindow {
  std::uint64_t copies = 0;   ///< On how many copies it rests.
  std::uint64_t skew_ns = 0;  ///< 99.99 % of them came no later than this.
  std::uint64_t time_ns = 0;  ///< That and a quarter more, two digits.
  std::uint64_t packets = 0;  ///< Packets in eight such times at the mean rate, at least 16; a power of two.
};
/// Nothing if no copy came yet.
[[nodiscard]] std::optional<ProposedWindow> propose_window(const ChannelStatus& channel, std::uint64_t running_ns);

/// The names of the appliances that have counters in shared memory.
[[nodiscard]] std::vector<std::string> find_appliances();

/// A distinct error, as `to_json` has it.
[[nodiscard]] nlohmann::json error_json(const counters::SeenError& error);
/// All of it as JSON, one object.
[[nodiscard]] std::string to_json(const StatusReport& status);

}  // namespace stopbit::appliance
