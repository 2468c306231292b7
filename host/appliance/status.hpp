#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/appliance/tally.hpp"
#include "host/counters/reader.hpp"
#include "host/ring/sign.hpp"

/// What the counters of an appliance say, put together by channel, line, port and ring. Everything that shows an
/// appliance to people begins here.
namespace stopbit::appliance {

struct LineStatus {
  bool exists = false;
  std::string address;  ///< "224.0.0.1:1000 from 10.1.2.3"
  std::uint64_t packets = 0;
  std::uint64_t missing = 0;
  std::uint64_t saved = 0;
  std::uint64_t first = 0;
  std::uint64_t last_sequence = 0;
  std::uint64_t last_arrival_ns = 0;  ///< 0 = never.
  std::uint64_t age_ns = 0;           ///< Since then; 0 = never.
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
  std::uint64_t delivered = 0, duplicate = 0, late = 0, held = 0, malformed = 0, incomplete = 0;
  std::uint64_t numbers = 0, numbers_delivered = 0, numbers_recovered = 0, numbers_lost = 0, numbers_held = 0;
  std::uint64_t gaps = 0, epoch = 0, next_sequence = 0, last_delivery_ns = 0;
  std::uint64_t datagrams = 0, messages = 0, decode_errors = 0, unknown_template = 0, waiting_for_reset = 0;

  [[nodiscard]] std::uint64_t received() const noexcept { return lines[0].packets + lines[1].packets; }
  /// Both identities hold. While packets flow the counters may be read in the middle of a change.
  [[nodiscard]] bool is_balanced() const noexcept;
  /// How long after A its copies came on B, if that is positive, else how long after B on A: the part given.
  [[nodiscard]] std::uint64_t skew_ns(double part) const noexcept;
  /// Decodes, and all its lines bring something.
  [[nodiscard]] bool is_ready() const noexcept;
};

struct PortStatus {
  std::string name;
  std::uint64_t frames = 0, bytes = 0, nic = 0, kernel = 0, failures = 0, foreign = 0;
  std::uint64_t damaged = 0;  ///< Frames that cannot be right, or are cut.
};

struct RingStatus {
  std::string name;
  std::string image;
  std::uint64_t records = 0, events = 0, slots = 0, generation = 0, layout_hash = 0;
  std::vector<std::pair<std::string, std::uint64_t>> templates;  ///< Messages of each.
  std::vector<ring::SeenReader> readers;                         ///< Those with a name.
};

struct AgentStatus {
  std::string name;
  std::uint64_t turns = 0, busy_turns = 0, last_turn_ns = 0, notices_lost = 0;
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
  std::uint64_t attachments = 0, attached = 0, refused = 0, gets = 0, bytes = 0;
};

/// What a publisher is doing for a subscriber.
enum class SubscriberState : std::uint8_t {
  None = 0,
  Running = 1,
  Waiting = 2,  ///< There are records for it, but it has no room for them.
  Ending = 3,   ///< The ring has ended.
  Slowed = 4,   ///< It has had as many bytes as it may in this time.
};
[[nodiscard]] std::string_view to_text(SubscriberState state) noexcept;

struct SubscriberStatus {
  std::string who, ring;
  SubscriberState state = SubscriberState::None;
  std::uint64_t since_ns = 0, records = 0, slots = 0, filtered = 0, lost = 0, behind = 0;
};

/// A carrier that rings are published by.
struct PublisherStatus {
  std::string carrier;
  bool is_cut_off = false;  ///< Serves nobody, until the appliance is restarted.
  std::uint64_t admitted = 0, refused = 0, ended = 0, detached = 0, malformed = 0;
  std::map<std::string, std::uint64_t> refusals;  ///< Of `refused`, by the reason; those that there were.
  std::vector<SubscriberStatus> subscribers;      ///< Those that there are.
};

/// The node and its broker.
struct NicStatus {
  bool exists = false;
  std::uint64_t commands = 0, clients = 0, ports_opened = 0, ports_gone = 0, turned_away = 0, malformed = 0,
                refused = 0, shared_bytes = 0, lines_kept = 0;
  std::uint64_t unpinned = 0, unpinned_bytes = 0, resident_bytes = 0, pages_fetched = 0, pages_evicted = 0,
                pages_written = 0, pages_failed = 0;
  std::vector<OfferStatus> offers;
  std::vector<PublisherStatus> publishers;
};

/// What is written to disk, over all lines.
struct RecorderStatus {
  bool exists = false;
  std::uint64_t recorded = 0;
  std::uint64_t failed = 0;   ///< Could not be written.
  std::uint64_t no_room = 0;  ///< The disk was too slow.
  std::uint64_t frozen_files = 0, refused_freezes = 0;
  std::uint64_t failing_lines = 0;  ///< Now.
  std::string problem;              ///< What the system said last; empty: nothing was wrong so far.
};

struct Status {
  std::string name;
  std::string state_folder;
  std::uint64_t now_ns = 0;
  std::uint64_t started_ns = 0;
  std::uint64_t heartbeat_ns = 0;
  std::uint32_t pid = 0;
  counters::Reader::Writer writer = counters::Reader::Writer::Running;
  std::vector<ChannelStatus> channels;
  std::vector<PortStatus> ports;
  std::vector<RingStatus> rings;
  std::vector<AgentStatus> agents;
  RecorderStatus recorder;
  NicStatus nic;
  std::vector<counters::SeenError> errors;
  std::uint64_t errors_beyond = 0;

  /// What was dropped, by place in the order of the way through the appliance; every place is there, with 0 if nothing
  /// was. At the end the readers with a name that are there, each process by itself.
  [[nodiscard]] std::vector<Drop> drops() const;
};

/// From the counters, and from the signs of readers beside the rings. `now_ns` is the time that ages are counted to.
[[nodiscard]] Status read_status(const counters::Reader& reader, std::uint64_t now_ns);

/// A window for a channel, from what its lines have been seen to do.
struct ProposedWindow {
  std::uint64_t copies = 0;   ///< On how many copies it rests.
  std::uint64_t skew_ns = 0;  ///< 99.99 % of them came no later than this.
  std::uint64_t time_ns = 0;  ///< That and a quarter more, two digits.
  std::uint64_t packets = 0;  ///< So many come in eight such times at the mean rate, at least 16; a power of two.
};
/// Nothing if no copy came yet.
[[nodiscard]] std::optional<ProposedWindow> propose_window(const ChannelStatus& channel, std::uint64_t running_ns);

/// The names of the appliances that have counters in shared memory.
[[nodiscard]] std::vector<std::string> find_appliances();

/// A distinct error, as `to_json` has it.
[[nodiscard]] nlohmann::json error_json(const counters::SeenError& error);
/// All of it as JSON, one object.
[[nodiscard]] std::string to_json(const Status& status);

}  // namespace stopbit::appliance
