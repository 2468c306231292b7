#pragma once

#include <cstdint>

#include "host/appliance/status.hpp"
#include "host/appliance/tally.hpp"
#include "host/monitor/counters/layout.hpp"
#include "host/remote/subscription_state.hpp"

/// counters.def as tables: what makes, reads and shows counters goes through these rows.
namespace stopbit::appliance {

/// The tables of `stopbit stat` with columns of counters.
enum class Table : std::uint8_t {
  None,
  Agents,
  Ports,
  Rings,
  Lines,
  Packets,
  Numbers,
  Recorder,
  Sentence,  ///< No table: a line of its own, if the value is not 0.
  Broker,
  Files,
  Offers,
  Publishers,
  Subscribers,
};

/// A counter of a group: its handle, its value in the status, and where it is shown.
template <class Tally, class Shown>
struct CounterRow {
  counters::Counter Tally::*counter;  ///< Null: derived from other counters.
  std::uint64_t Shown::*value;        ///< Null: not in the status.
  counters::Kind kind;
  counters::Unit unit;
  const char* name;
  const char* help;
  const char* json = "";
  Table table = Table::None;
  const char* heading = "";
  const char* drop = "";
};

#define STOPBIT_ROW(Tally, Shown, member, kind, unit, name, help, json, table, heading, drop) \
  CounterRow<Tally, Shown>{&Tally::member,                                                    \
                           &Shown::member,                                                    \
                           counters::Kind::kind,                                              \
                           counters::Unit::unit,                                              \
                           name,                                                              \
                           help,                                                              \
                           json,                                                              \
                           Table::table,                                                      \
                           heading,                                                           \
                           drop},
#define STOPBIT_METRIC_ROW(Tally, member, kind, unit, name, help) \
  CounterRow<Tally, StatusReport>{&Tally::member, nullptr, counters::Kind::kind, counters::Unit::unit, name, help},

inline constexpr CounterRow<AgentTally, AgentStatus> kAgentRows[] = {
#define STOPBIT_AGENT(...) STOPBIT_ROW(AgentTally, AgentStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<PortTally, PortStatus> kPortRows[] = {
#define STOPBIT_PORT(...) STOPBIT_ROW(PortTally, PortStatus, __VA_ARGS__)
#define STOPBIT_PORT_DERIVED(member, json, table, heading, drop) \
  {nullptr, &PortStatus::member, counters::Kind::Counter, {}, "", "", json, Table::table, heading, drop},
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<OutletTally, RingStatus> kRingRows[] = {
#define STOPBIT_RING(...) STOPBIT_ROW(OutletTally, RingStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<LineTally, LineStatus> kLineRows[] = {
#define STOPBIT_LINE(...) STOPBIT_ROW(LineTally, LineStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<ChannelTally, ChannelStatus> kChannelRows[] = {
#define STOPBIT_CHANNEL(...) STOPBIT_ROW(ChannelTally, ChannelStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<RecordTally, RecorderStatus> kRecordRows[] = {
#define STOPBIT_RECORD(...) STOPBIT_ROW(RecordTally, RecorderStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<RecordQueueTally, RecorderStatus> kRecordQueueRows[] = {
#define STOPBIT_RECORD_QUEUE(...) STOPBIT_ROW(RecordQueueTally, RecorderStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<RecorderTally, RecorderStatus> kRecorderRows[] = {
#define STOPBIT_RECORDER(...) STOPBIT_ROW(RecorderTally, RecorderStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<KeeperTally, StatusReport> kKeeperRows[] = {
#define STOPBIT_KEEPER(...) STOPBIT_ROW(KeeperTally, StatusReport, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<NicTally, NicStatus> kNicRows[] = {
#define STOPBIT_NIC(...) STOPBIT_ROW(NicTally, NicStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<UnitsTally, StatusReport> kUnitsRows[] = {
#define STOPBIT_UNITS(...) STOPBIT_METRIC_ROW(UnitsTally, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<FabricTally, StatusReport> kFabricRows[] = {
#define STOPBIT_FABRIC(...) STOPBIT_METRIC_ROW(FabricTally, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<OfferTally, OfferStatus> kOfferRows[] = {
#define STOPBIT_OFFER(...) STOPBIT_ROW(OfferTally, OfferStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<PublisherTally, PublisherStatus> kPublisherRows[] = {
#define STOPBIT_PUBLISHER(...) STOPBIT_ROW(PublisherTally, PublisherStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};
inline constexpr CounterRow<SubscriberTally, SubscriberStatus> kSubscriberRows[] = {
#define STOPBIT_SUBSCRIBER(...) STOPBIT_ROW(SubscriberTally, SubscriberStatus, __VA_ARGS__)
#include "host/appliance/counters.def"
};

#undef STOPBIT_METRIC_ROW
#undef STOPBIT_ROW

}  // namespace stopbit::appliance
