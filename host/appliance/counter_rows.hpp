#pragma once

#include <cstdint>

#include "host/appliance/counter_set.hpp"
#include "host/appliance/status.hpp"
#include "host/monitor/counters/layout.hpp"
#include "host/remote/subscription_state.hpp"

/// counters.def as tables: what makes, reads and shows counters goes through these rows.
namespace stopbit::appliance {

/// The tables of `stopbit stat` with columns of counters.
enum class Table : std::uint8_t {
  None,
  Agents,
  Ports,
  Card,
  CardChannels,
  Rings,
  Books,
  Lines,
  Packets,
  Numbers,
  Replays,
  Recorder,
  Sentence,  ///< No table: a line of its own, if the value is not 0.
  Broker,
  Files,
  Offers,
  Publishers,
  Subscribers,
  Udp,
  UdpDatagrams,
  Multicast,
  MulticastLines,
  MulticastRefill,
};

/// A counter of a group: its handle, its value in the status, and where it is shown.
template <class CounterSet, class Shown>
struct CounterRow {
  counters::Counter CounterSet::*counter;  ///< Null: derived from other counters.
  std::uint64_t Shown::*value;             ///< Null: not in the status.
  counters::Kind kind;
  counters::Unit unit;
  const char* name;
  const char* help;
  const char* json = "";
  Table table = Table::None;
  const char* heading = "";
  const char* drop = "";
};

#define STOPBIT_ROW(CounterSet, Shown, member, kind, unit, name, help, json, table, heading, drop) \
  CounterRow<CounterSet, Shown>{&CounterSet::member,                                               \
                                &Shown::member,                                                    \
                                counters::Kind::kind,                                              \
                                counters::Unit::unit,                                              \
                                name,                                                              \
                                help,                                                              \
                                json,                                                              \
                                Table::table,                                                      \
                                heading,                                                           \
                                drop},
#define STOPBIT_METRIC_ROW(CounterSet, member, kind, unit, name, help)                      \
  CounterRow<CounterSet, StatusReport>{&CounterSet::member,  nullptr, counters::Kind::kind, \
                                       counters::Unit::unit, name,    help},

inline constexpr CounterRow<AgentCounterSet, AgentStatus> kAgentRows[] = {
#define STOPBIT_AGENT(...) STOPBIT_ROW(AgentCounterSet, AgentStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<PortCounterSet, PortStatus> kPortRows[] = {
#define STOPBIT_PORT(...) STOPBIT_ROW(PortCounterSet, PortStatus, __VA_ARGS__)
#define STOPBIT_PORT_DERIVED(member, json, table, heading, drop) \
  {nullptr, &PortStatus::member, counters::Kind::Counter, {}, "", "", json, Table::table, heading, drop},
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<RecordOutputCounterSet, RingStatus> kRingRows[] = {
#define STOPBIT_RING(...) STOPBIT_ROW(RecordOutputCounterSet, RingStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<MarketCounterSet, MarketStatus> kMarketRows[] = {
#define STOPBIT_MARKET(...) STOPBIT_ROW(MarketCounterSet, MarketStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<LineCounterSet, LineStatus> kLineRows[] = {
#define STOPBIT_LINE(...) STOPBIT_ROW(LineCounterSet, LineStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<ChannelCounterSet, ChannelStatus> kChannelRows[] = {
#define STOPBIT_CHANNEL(...) STOPBIT_ROW(ChannelCounterSet, ChannelStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<ReplayCounterSet, ReplayStatus> kReplayRows[] = {
#define STOPBIT_REPLAY(...) STOPBIT_ROW(ReplayCounterSet, ReplayStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<RecordCounterSet, RecorderStatus> kRecordRows[] = {
#define STOPBIT_RECORD(...) STOPBIT_ROW(RecordCounterSet, RecorderStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<RecordQueueCounterSet, RecorderStatus> kRecordQueueRows[] = {
#define STOPBIT_RECORD_QUEUE(...) STOPBIT_ROW(RecordQueueCounterSet, RecorderStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<RecorderCounterSet, RecorderStatus> kRecorderRows[] = {
#define STOPBIT_RECORDER(...) STOPBIT_ROW(RecorderCounterSet, RecorderStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<HousekeeperCounterSet, StatusReport> kHousekeeperRows[] = {
#define STOPBIT_HOUSEKEEPER(...) STOPBIT_ROW(HousekeeperCounterSet, StatusReport, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<NicCounterSet, NicStatus> kNicRows[] = {
#define STOPBIT_NIC(...) STOPBIT_ROW(NicCounterSet, NicStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<UnitsCounterSet, StatusReport> kUnitsRows[] = {
#define STOPBIT_UNITS(...) STOPBIT_METRIC_ROW(UnitsCounterSet, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<FabricCounterSet, StatusReport> kFabricRows[] = {
#define STOPBIT_FABRIC(...) STOPBIT_METRIC_ROW(FabricCounterSet, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<CardCounterSet, CardStatus> kCardRows[] = {
#define STOPBIT_CARD(...) STOPBIT_ROW(CardCounterSet, CardStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<UdpCounterSet, UdpStatus> kUdpRows[] = {
#define STOPBIT_UDP(...) STOPBIT_ROW(UdpCounterSet, UdpStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<MulticastCounterSet, MulticastStatus> kMulticastRows[] = {
#define STOPBIT_MULTICAST(...) STOPBIT_ROW(MulticastCounterSet, MulticastStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<OfferCounterSet, OfferStatus> kOfferRows[] = {
#define STOPBIT_OFFER(...) STOPBIT_ROW(OfferCounterSet, OfferStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<PublisherCounterSet, PublisherStatus> kPublisherRows[] = {
#define STOPBIT_PUBLISHER(...) STOPBIT_ROW(PublisherCounterSet, PublisherStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<SubscriberCounterSet, SubscriberStatus> kSubscriberRows[] = {
#define STOPBIT_SUBSCRIBER(...) STOPBIT_ROW(SubscriberCounterSet, SubscriberStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};

#undef STOPBIT_METRIC_ROW
#undef STOPBIT_ROW

}  // namespace stopbit::appliance
