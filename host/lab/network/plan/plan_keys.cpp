#include "host/lab/network/plan/plan_parts.hpp"
#include "host/os/config/keys.hpp"

namespace stopbit::network {
namespace {

using config::choice_key;
using config::duration_key;
using config::flag_key;
using config::integer_key;
using config::integers_key;
using config::Key;
using config::real_key;
using config::table_key;
using config::TableKeys;
using config::tables_key;
using config::text_key;
using config::texts_key;

constexpr std::uint64_t kMostSwitches = 1U << 30;  // so that the error says how much memory it would need
constexpr std::uint64_t kLastHost = kNone;         // of the largest network; that of a file is checked by its reader
constexpr const char* kOfModel = "that of the model";

/// A key of tables that say this, too.
Key only_with(const char* what, Key key) {
  key.when = what;
  key.is_required = false;
  return key;
}

TableKeys topology_keys() {
  return {{choice_key("kind", {"single", "ring", "mesh", "torus", "fat-tree", "graph"}, "Shape of the network.")
               .required()
               .such_as("\"single\""),
           integer_key("hosts", {1, kMaxPorts}, "Hosts of each switch; a single switch has at least 2.")
               .unless("1")
               .shown()
               .such_as("2"),
           only_with("kind = \"mesh\"", integers_key("extent", {2, kMostSwitches}, {1, 3},
                                                     "Switches in each dimension, of a mesh or torus.")
                                            .such_as("[4, 4]")),
           only_with("kind = \"graph\"",
                     integer_key("nodes", {1, kMostSwitches}, "Switches, of a graph or ring.").such_as("3")),
           only_with("kind = \"graph\"", texts_key("links", {0, 65'536}, "Pairs of switches that a link connects.")
                                             .such_as("[\"0-1\", \"1-2\"]")),
           only_with("kind = \"fat-tree\"",
                     integer_key("arity", {2, kMaxPorts}, "Ports of each switch of the tree.").such_as("4"))}};
}

TableKeys switch_keys() {
  return {
      {choice_key("model", {"r2", "r1", "atoll"}, "Published switch, which sets what the other keys do not.")
           .otherwise(0),
       real_key("clock_mhz", 100'000, "Clock of switches and links, from 1.").unless(kOfModel).such_as("200"),
       integer_key("latency_cycles", {2, 10'000}, "From the first cell in to the first cell out, without traffic.")
           .unless(kOfModel)
           .such_as("16"),
       integer_key("route_cycles", {1, 9'999}, "Of those: until the packet is in a queue and requests its output.")
           .unless(kOfModel)
           .such_as("10"),
       integer_key("packet_cycles", {1, 10'000}, "Between the starts of two packets of an input or output, at least.")
           .unless(kOfModel)
           .such_as("6"),
       integer_key("cell_bytes", {1, 64}, "Bytes that a link carries in a cycle.").unless(kOfModel).such_as("8"),
       integer_key("overhead_cells", {0, 64}, "Cells of each packet besides its payload.")
           .unless(kOfModel)
           .such_as("2"),
       integer_key("packet_bytes", {1, 4'096}, "Longest payload of a packet.").unless(kOfModel).such_as("256"),
       integer_key("slot_bytes", {32, 4'096}, "Size of a slot of an input's store.").unless(kOfModel).such_as("64"),
       integer_key("slots", {1, 65'535}, "Slots of each input's store.").unless(kOfModel).such_as("128"),
       integer_key("classes", {1, kMaxClasses}, "Traffic classes.").unless(kOfModel).such_as("1"),
       integer_key("vcs", {1, kMaxVcs}, "Virtual channels of each class.").unless(kOfModel).such_as("1"),
       integer_key("reserve", {0, 65'535}, "Slots of each input that no other class or channel can use.")
           .unless("those of the longest packet")
           .such_as("4"),
       choice_key("queues", {"voq", "fifo"}, "Queues of an input: one for each output, or one.")
           .unless(kOfModel)
           .such_as("\"voq\""),
       flag_key("store_and_forward", false, "A packet is routed when its tail has arrived."),
       integer_key("almost_full", {1, 1'000}, "Packets in a queue from which on adaptive packets avoid it.")
           .unless(kOfModel)
           .such_as("4"),
       integer_key("escape_cycles", {1, 1'000'000},
                   "Cycles that an adaptive packet waits before it takes the deterministic path.")
           .unless(kOfModel)
           .such_as("64")}};
}

TableKeys link_keys() {
  const LinkOptions usual;
  return {
      {integer_key("cycles", {1, 100'000}, "Cycles between two switches, each way.").otherwise(usual.cycles),
       integer_key("host_cycles", {1, 100'000}, "Cycles between a host and its switch.").otherwise(usual.host_cycles),
       real_key("bit_error_rate", 0.01, "Bit errors of links between switches.").otherwise(0),
       flag_key("retransmit", true, "Links repeat damaged packets. Else these are lost at the end of their path."),
       integer_key("attempts", {1, 1'000}, "Attempts after which a packet travels on damaged.")
           .otherwise(usual.attempts)}};
}

TableKeys routing_keys() {
  return {
      {choice_key("order", {"dimension", "reverse", "random", "west-first", "shortest", "up-down", "tree", "edge-wrap"},
                  "Paths that packets take; edge-wrap is for a torus of one channel.")
           .unless("dimension for a ring, mesh or torus, tree for a fat tree, else up-down")
           .such_as("\"dimension\""),
       choice_key("by", {"computed", "table", "two-level", "interval", "delta"}, "How switches find the paths.")
           .otherwise(0),
       flag_key("adaptive", false, "Packets avoid full queues."),
       integer_key("local_bits", {1, 16}, "Low bits of a switch's number that two-level routing looks up apart.")
           .otherwise(RoutingPlan().local_bits),
       tables_key("route", {0, 65'536},
                  {{integer_key("at", {0, kLastHost}, "Switch whose table has the entry.").required().such_as("0"),
                    integer_key("to", {0, kLastHost}, "Switch to which it leads.").required().such_as("1"),
                    integer_key("port", {0, kMaxPorts - 1}, "Port that it takes.").required().such_as("0"),
                    integer_key("vc", {0, kMaxVcs - 1}, "Virtual channel that it takes.").otherwise(0)}},
                  "An entry of the tables that differs; it needs by = \"table\".")}};
}

TableKeys deadlock_keys() {
  const DeadlockOptions usual;
  return {{choice_key("action", {"ignore", "stop", "recover"}, "What a deadlock does to the run.")
               .otherwise(static_cast<std::uint64_t>(usual.action)),
           integer_key("timer_cycles", {10, 10'000'000}, "Cycles that a request waits for credits before a search.")
               .otherwise(usual.timer_cycles),
           integer_key("recovery_cycles", {1, 10'000'000}, "Cycles until a removed packet is sent again.")
               .otherwise(usual.recovery_cycles)}};
}

TableKeys group_keys() {
  return {{integer_key("source", {0, kLastHost}, "Host that sends.").required().such_as("0"),
           integers_key("members", {0, kLastHost}, {1, 65'536}, "Hosts that receive.").such_as("[1]")}};
}

TableKeys traffic_keys() {
  const char* const fan_out = "kind = \"fan-out\"";
  const char* const hot_spot = "kind = \"hot-spot\"";
  return {
      {choice_key("kind", {"uniform", "hot-spot", "bit-reversal", "transpose", "neighbour", "fan-out"},
                  "Pattern of sources and targets, or datagrams to a group.")
           .otherwise(0),
       integer_key("payload_bytes", {1, 65'535}, "Payload of each packet, of a pattern at most packet_bytes.")
           .unless("64, or packet_bytes if that is less")
           .such_as("64"),
       real_key("load", 2, "Part of each host's link that its packets would take, from 0.0001; not of fan-out.")
           .unless("0.1")
           .such_as("0.1"),
       only_with(hot_spot, integer_key("hot_host", {0, kLastHost}, "Host to which more is sent.").otherwise(0)),
       only_with(hot_spot, real_key("hot_share", 1, "Part of all packets for it.").unless("0.1").such_as("0.1")),
       only_with(fan_out, integer_key("group", {0, 255}, "Number of the [[group]], from 0.").otherwise(0)),
       only_with(
           fan_out,
           choice_key("copies", {"multicast", "unicast"}, "One packet for all members, or one for each.").otherwise(0)),
       only_with(fan_out, text_key("capture", "Capture whose datagrams are sent, instead of those of one length.")
                              .unless("none")
                              .such_as("\"day.pcap\"")),
       only_with(fan_out, real_key("speed", 1e6, "Of the capture, from 0.000001.").otherwise(1)),
       only_with(fan_out, integer_key("datagrams", {1, 10'000'000}, "Datagrams of payload_bytes.").otherwise(1'000)),
       only_with(fan_out, duration_key("every", {1, 60'000'000'000}, "Time between two of these.").otherwise(1'000))}};
}

TableKeys run_keys() {
  constexpr std::uint64_t kMost = 1'000'000'000'000;
  return {{integer_key("packets", {1, kMost}, "Packets that are sent.")
               .unless("no limit with cycles, else 100000")
               .such_as("100000"),
           integer_key("cycles", {1, kMost}, "Cycles that are simulated.").unless("no limit").such_as("1000000"),
           integer_key("warmup", {0, kMost}, "Cycles of these that do not count.").otherwise(0)}};
}

TableKeys sweep_keys() {
  return {{real_key("from", 1, "Load of the first run, from 0.0001.").unless("0.05").such_as("0.05"),
           real_key("to", 1, "Load of the last run.").unless("0.95").such_as("0.95"),
           integer_key("steps", {2, 1'000}, "Runs.").otherwise(10)}};
}

}  // namespace

const config::TableKeys& plan_keys() {
  static const TableKeys keys = {
      {integer_key("seed", {}, "The same settings and seed give the same output.").otherwise(1),
       table_key("topology", topology_keys(), "Switches and how they are connected.").required(),
       table_key("switch", switch_keys(), "What all switches are like."),
       table_key("link", link_keys(), "What all links are like."),
       table_key("routing", routing_keys(), "Paths that packets take, and how switches find them."),
       table_key("deadlock", deadlock_keys(), "What happens when packets wait for each other in a circle."),
       tables_key("group", {0, 256}, group_keys(), "A source and the members to which a fan-out sends."),
       table_key("traffic", traffic_keys(), "What hosts send."), table_key("run", run_keys(), "How long a run takes."),
       Key(table_key("sweep", sweep_keys(), "A run for each load; it needs cycles of [run].")).unless("one run")}};
  return keys;
}

}  // namespace stopbit::network
