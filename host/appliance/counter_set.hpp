#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "host/market/book/fault.hpp"
#include "host/market/stage/counts.hpp"
#include "host/monitor/counters/writer.hpp"
#include "host/remote/protocol.hpp"

/// The handles of the counters of an appliance. Names, help and where they are shown: counters.def, one row each.
namespace stopbit::appliance {

/// What a channel is doing.
enum class ChannelState : std::uint8_t {
  Waiting = 0,  ///< Nothing has come yet.
  Live = 1,
  Stale = 2,   ///< Its datagrams do not decode.
  Silent = 3,  ///< Nothing comes on any line. Told by readers, from the ages of the lines.
  Closed = 4,  ///< No session of the feed is open, so nothing has to come. Told by readers.
};
[[nodiscard]] std::string_view to_text(ChannelState state) noexcept;

/// Values of the counter channel_session, which else is the start of the open session by the monotonic clock in ns.
inline constexpr std::uint64_t kNoSession = 0;   ///< None is open.
inline constexpr std::uint64_t kAlwaysOpen = 1;  ///< The feed has no calendar.

// The counters of each are rows of counters.def.

struct LineCounterSet {
#define STOPBIT_LINE(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  counters::Histogram skew;
};

struct ChannelCounterSet {
  std::array<LineCounterSet, 2> lines;
#define STOPBIT_CHANNEL(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  /// All values become 0.
  void clear() const noexcept;
};

struct PortCounterSet {
#define STOPBIT_PORT(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  std::array<counters::Counter, net::kVerdicts> verdicts;
};

struct RecordOutputCounterSet {
#define STOPBIT_RING(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  counters::Text image;
  counters::Counter other;  ///< Messages of templates that came with a later image.
};

/// Market events, instruments and books of a record output.
struct MarketCounterSet {
#define STOPBIT_MARKET(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  std::array<counters::Counter, market::kMarketCounts> counts;  ///< By row of market/stage/counts.def.
  std::array<counters::Counter, market::kFaults> faults;        ///< By market::Fault.
};

struct AgentCounterSet {
#define STOPBIT_AGENT(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  counters::Histogram batch, latency;
  counters::Errors errors;
};

/// A replay service.
struct ReplayCounterSet {
#define STOPBIT_REPLAY(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// One line on disk.
struct RecordCounterSet {
#define STOPBIT_RECORD(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// What an agent hands to the disk.
struct RecordQueueCounterSet {
#define STOPBIT_RECORD_QUEUE(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// The recorder as a whole.
struct RecorderCounterSet {
#define STOPBIT_RECORDER(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  counters::Text problem;
};

/// What the thread that looks after the appliance has seen.
struct HousekeeperCounterSet {
#define STOPBIT_HOUSEKEEPER(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// The node and its broker.
struct NicCounterSet {
#define STOPBIT_NIC(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// What the units of the node on one carrier did.
struct UnitsCounterSet {
#define STOPBIT_UNITS(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// A card that receives from its own port.
struct CardCounterSet {
#define STOPBIT_CARD(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// The carrier udp to other hosts.
struct UdpCounterSet {
#define STOPBIT_UDP(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};
/// The carrier fabric.
struct FabricCounterSet {
#define STOPBIT_FABRIC(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// A ring on two multicast lines.
struct MulticastCounterSet {
#define STOPBIT_MULTICAST(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// A ring that clients of the broker attach.
struct OfferCounterSet {
#define STOPBIT_OFFER(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// A slot for a subscriber of a published ring. `who` is empty while the slot is free.
struct SubscriberCounterSet {
  counters::Text who, ring;
#define STOPBIT_SUBSCRIBER(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
};

/// A carrier that rings are published by.
struct PublisherCounterSet {
#define STOPBIT_PUBLISHER(member, ...) counters::Counter member;
#include "host/appliance/counters.def"
  std::array<counters::Counter, remote::kRefusals - 1> refusals;  ///< Of `refused`, by remote::Refusal.
  std::vector<SubscriberCounterSet> places;                       ///< One for each subscriber there may be.
};

/// Collects what there is, then makes the segment and fills the handles, which must stay where they are until then.
class CounterSetBuilder {
 public:
  using Labels = std::initializer_list<counters::Label>;

  void agent(AgentCounterSet& counter_set, std::string_view name);
  void port(PortCounterSet& counter_set, std::string_view name);
  void clock_steps(counters::Counter& counter);
  void output(RecordOutputCounterSet& counter_set, std::string_view name);
  /// Messages of one template.
  void templates(counters::Counter& counter, std::string_view output, std::string_view name);
  void market(MarketCounterSet& counter_set, std::string_view events);
  void replay(ReplayCounterSet& counter_set, std::string_view service);
  void channel(ChannelCounterSet& counter_set, std::string_view name, bool has_b);
  void record(RecordCounterSet& counter_set, std::string_view channel, bool is_b);
  void recorder(RecorderCounterSet& counter_set);
  /// Packets of an agent that found no room on their way to the disk.
  void record_queue(RecordQueueCounterSet& counter_set, std::string_view agent);
  void housekeeper(HousekeeperCounterSet& counter_set);
  void nic(NicCounterSet& counter_set);
  void units(UnitsCounterSet& counter_set, std::string_view carrier);
  void fabric(FabricCounterSet& counter_set);
  void card(CardCounterSet& counter_set);
  void udp(UdpCounterSet& counter_set);
  void multicast(MulticastCounterSet& counter_set, std::string_view name);
  void offer(OfferCounterSet& counter_set, std::string_view name);
  void publisher(PublisherCounterSet& counter_set, std::string_view carrier);
  /// A gauge that is always 1: its labels are what there is to say.
  void info(counters::Counter& counter, std::string_view family, Labels labels, std::string_view help);
  void writer() noexcept { schema_.writer(); }

  /// Room for counters that are added later.
  void keep_room(counters::Schema::Room room) noexcept { schema_.keep_room(room); }
  /// In shared memory under the name; in private memory if it is empty.
  [[nodiscard]] Result<counters::Segment> build(std::string_view name);
  /// Adds the counters to a segment instead; those that it has already are found. On failure none is added.
  [[nodiscard]] Status extend(counters::Segment& segment);

 private:
  /// All counters of the rows of a group.
  template <class Rows, class CounterSet>
  void add_rows(const Rows& rows, CounterSet& counter_set, Labels labels);
  void add(counters::Counter& handle, std::string_view family, Labels labels, std::string_view help,
           counters::Kind kind = counters::Kind::Counter, counters::Unit unit = counters::Unit::Number);
  void histogram(counters::Histogram& handle, std::string_view family, Labels labels, std::string_view help,
                 counters::Unit unit);
  void text(counters::Text& handle, std::string_view family, Labels labels, std::string_view help);

  counters::Schema schema_;
  /// Fill a handle each; the identifiers are those of the segment, in the order of the schema.
  using Ids = std::vector<counters::Schema::Id>;
  std::vector<std::function<void(const counters::Segment&, const Ids&)>> binders_;
};

}  // namespace stopbit::appliance
