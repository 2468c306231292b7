#include "host/appliance/entitlements.hpp"
#include "host/appliance/settings.hpp"
#include "host/market/state/layout.hpp"
#include "host/os/config/keys.hpp"
#include "host/remote/admission.hpp"
#include "host/ring/layout.hpp"
#include "microcode/base/limits.hpp"
#include "microcode/base/time.hpp"

/// The rows of appliance.toml. Defaults are those of the structs that the reader fills.
namespace stopbit::appliance {
namespace {

using config::bytes_key;
using config::choice_key;
using config::duration_key;
using config::flag_key;
using config::integer_key;
using config::integers_key;
using config::Key;
using config::names_key;
using config::table_key;
using config::TableKeys;
using config::tables_key;
using config::text_key;
using config::texts_key;

constexpr std::uint64_t kMaxNumber = 0xFFFF'FFFF;

std::vector<Key> thread_keys() {
  constexpr std::uint32_t kMaxCore = 4'095;
  const AgentSettings usual;
  return {integer_key("core", {0, kMaxCore}, "The processor to pin the thread to.").unless("not pinned").such_as("2"),
          choice_key("idle", {"spin", "yield", "sleep", "backoff"},
                     "What the thread does while there is nothing to do; backoff spins, then yields, then blocks until "
                     "something comes.")
              .otherwise(static_cast<std::uint64_t>(usual.idle)),
          duration_key("sleep", {1'000, kNsPerSecond}, "How long it sleeps at a time.").otherwise(usual.sleep_ns)};
}

Key limits_table() {
  const EngineLimits usual;
  const auto limit = [](const char* name, std::uint32_t value, std::uint64_t most, const char* meaning) {
    return integer_key(name, {1, most}, meaning).otherwise(value);
  };
  return table_key(
      "limits",
      {.keys = {flag_key("strict", false, "Also reports the errors that FAST lets a decoder overlook."),
                limit("elements", usual.elements, kMaxNumber, "Entries of the sequences of one message."),
                limit("empty_elements", usual.empty_elements, kMaxNumber,
                      "Entries of one sequence whose entries may take no bytes."),
                limit("nesting", usual.nesting, usual.nesting, "Nesting of sequences and of dynamic references."),
                limit("string_bytes", usual.string_bytes, kMaxNumber, "Bytes of a string."),
                limit("datagram_bytes", usual.datagram_bytes, limits::kMaxDatagramBytes, "Bytes of a datagram.")}},
      "What one message may ask for.");
}

Key control_table() {
  return table_key("control",
                   {.keys = {text_key("socket", "Path of the Unix socket for `stopbit ctl`.")
                                 .required()
                                 .such_as("\"/run/stopbit/control\""),
                             integers_key("users", {0, kMaxNumber - 1}, {.least = 0, .most = 64},
                                          "Numbers of users who may use it, besides root and the user of the process.")
                                 .such_as("[1000]")
                                 .live(),
                             tables_key("allow", {.least = 0, .most = 64},
                                        {.keys = {integer_key("user", {0, kMaxNumber - 1}, "Number of the user.")
                                                      .required()
                                                      .such_as("997"),
                                                  texts_key("commands", {.least = 1, .most = 16},
                                                            "The commands that this user may give.")
                                                      .required()
                                                      .such_as("[\"status\", \"freeze\"]")}},
                                        "Other users, who may give some commands only.")
                                 .unless("none")
                                 .live()}},
                   "The control socket.")
      .unless("none");
}

Key http_table() {
  return table_key(
             "http",
             {.keys = {text_key("listen", "Address and port. If other hosts can reach it, it needs a token or TLS.")
                           .required()
                           .such_as("\"127.0.0.1:9464\""),
                       text_key("token_file", "Its first line is the token that clients must know.")
                           .unless("no token")
                           .such_as("\"token\"")
                           .live(),
                       texts_key("allowed_hosts", {.least = 0, .most = 64},
                                 "Names, without a port, by which browsers may reach the page besides its address.")
                           .such_as("[\"md1.example.com\"]")
                           .live(),
                       text_key("certificate", "Certificate of the server, PEM. Needs `key`.")
                           .unless("no TLS")
                           .such_as("\"server.pem\"")
                           .live(),
                       text_key("key", "Private key of the certificate, PEM.")
                           .unless("no TLS")
                           .such_as("\"server.key\"")
                           .live(),
                       text_key("client_ca", "Certificate authority of the clients' certificates, PEM.")
                           .unless("clients need no certificate")
                           .such_as("\"clients.pem\"")
                           .live()}},
             "Metrics, status and page by HTTP.")
      .unless("none");
}

Key recorder_table() {
  constexpr std::uint64_t kHour = 3'600 * kNsPerSecond;
  constexpr std::uint64_t kMaxBytes = 1ULL << 50;
  const RecorderSettings usual;
  return table_key(
             "recorder",
             {.keys =
                  {text_key("folder", "Folder of the recordings. It belongs to one appliance.")
                       .required()
                       .such_as("\"/var/lib/stopbit/recordings\""),
                   bytes_key("file", {1U << 20, 1ULL << 40}, "Size of a file.").otherwise(usual.file_bytes),
                   bytes_key("line", {2U << 20, kMaxBytes},
                             "Size of all files of a line that are not frozen; at least two files.")
                       .otherwise(usual.line_bytes),
                   bytes_key("frozen", {0, kMaxBytes}, "Size of the frozen files of a line.")
                       .otherwise(usual.frozen_bytes),
                   duration_key("before", {0, kHour}, "Time before a gap that is frozen.").otherwise(usual.before_ns),
                   duration_key("after", {0, kHour}, "Time after a gap that is frozen.").otherwise(usual.after_ns),
                   bytes_key("queue", {1U << 20, 1ULL << 36}, "Memory for an agent's packets that are not yet written.")
                       .otherwise(usual.queue_bytes)}},
             "Records the packets of every line.")
      .unless("nothing is recorded");
}

Key rings_table() {
  const auto slots = [](const char* name, const char* meaning) {
    return integer_key(name, {ring::kMinSlotCount, ring::kMaxSlotCount}, meaning);
  };
  return table_key(
      "rings",
      {.keys = {slots("slots", "Slots of a ring, a power of two.").otherwise(Settings().slots),
                names_key("special", slots("", "Slots of the ring of this name, a power of two.").such_as("1048576"),
                          "Rings with another number of slots.")
                    .such_as("{ cme = 1048576 }")}},
      "Size of the rings.");
}

Key books_table() {
  const BookSettings usual;
  return table_key(
      "books",
      {.keys = {integer_key("instruments", {1, 1U << 20}, "Instruments; further ones are only counted.")
                    .otherwise(usual.instruments),
                integer_key("orders", {1'024, 1U << 26},
                            "Orders in all books by order or position; an instrument without room is stale.")
                    .otherwise(usual.orders),
                integer_key("levels", {0, market::state::kMaxLevels},
                            "Prices a side in the state table; 0: the best only.")
                    .otherwise(usual.levels),
                choice_key(
                    "policy", {"optimistic", "pessimistic"},
                    "Instruments that a loss may have hit or not: suspect, and their books go on (optimistic), or "
                    "stale, and their entries wait until it is known (pessimistic).")
                    .otherwise(static_cast<std::uint64_t>(usual.policy)),
                integer_key("queue", {1'024, 1U << 24},
                            "Entries that wait for what is missing before them, of all channels of the ring; without "
                            "room the oldest are dropped, and a snapshot heals the book.")
                    .otherwise(usual.queue),
                flag_key("refresh", usual.refresh,
                         "A stale book goes on from nothing with what the feed sends, until its snapshot; else it does "
                         "not change until it is right again."),
                duration_key("save", {kNsPerSecond, 600 * kNsPerSecond},
                             "How often instruments, books and numbers are saved in the state folder, and at the end; "
                             "the next start goes on from them.")
                    .otherwise(0)
                    .unless("never: books begin anew with each start")
                    .such_as("\"10s\"")}},
      "Room of each ring of market events, and how its books are kept right.");
}

Key card_table() {
  const CardSettings usual;
  return table_key(
             "card",
             {.keys =
                  {text_key("xclbin", "For a card of XRT, its program: a file, or sim. A card has this or a device.")
                       .unless("a device")
                       .such_as("\"sim\""),
                   integer_key("index", {0, 0xFFFF}, "For a card of XRT, its number.").otherwise(usual.index),
                   text_key("device",
                            "For a card of VFIO, the address of its PCI function, which vfio-pci drives; or "
                            "sim.")
                       .unless("an xclbin")
                       .such_as("\"0000:81:00.0\""),
                   integer_key("bar", {0, 5}, "The BAR of the function that has the kernel's registers.")
                       .otherwise(usual.bar),
                   bytes_key("offset", {0, std::uint64_t{1} << 40}, "Where they begin in it.").otherwise(usual.offset),
                   flag_key("fallback", usual.fallback,
                            "Software does what the card cannot; else the appliance does not start."),
                   choice_key("ingress", {"host", "port"},
                              "Where the card's datagrams come from: the ports of the host, or the card's "
                              "own network port, which it receives, arbitrates and decodes.")
                       .otherwise(0),
                   choice_key("clock", {"card", "mac"},
                              "Arrival times of its own port: the card's clock, which follows that of the "
                              "host, or the MAC's.")
                       .otherwise(0),
                   text_key("mac",
                            "The Ethernet address of its own port: with it the card joins the groups. No "
                            "other station may have it. Without: the switch sends the groups by itself.")
                       .unless("none")
                       .such_as("\"02:1b:00:00:00:07\""),
                   text_key("address", "The IPv4 address of its own port, for IGMP and ARP.")
                       .unless("0.0.0.0")
                       .such_as("\"10.1.2.3\""),
                   flag_key("fcs", usual.fcs,
                            "Frames of its own port end with their FCS, which the card checks; else the MAC "
                            "has checked it.")}},
             "The card.")
      .unless("no card");
}

Key agents() {
  TableKeys keys{.keys = {text_key("name", "Name of the thread.").required().such_as("\"left\"")}, .any = {}};
  for (Key& key : thread_keys()) keys.keys.push_back(std::move(key));
  keys.keys.push_back(
      integer_key("batch", {1, ingest::kMaxBatch}, "Datagrams asked for at a time.").otherwise(AgentSettings().batch));
  return tables_key("agent", {.least = 1, .most = kMaxAgents}, std::move(keys),
                    "A thread that reads ports and decodes their feeds.");
}

Key ports() {
  TableKeys keys{
      .keys = {text_key("name", "Name of the port.").required().such_as("\"card-0\""),
               text_key("agent", "Name of the thread that reads it.").unless("the only agent").such_as("\"left\"")},
      .any = {}};
  for (Key& key : ingest::port_keys()) keys.keys.push_back(std::move(key));
  return tables_key("port", {.least = 1, .most = kMaxPorts}, std::move(keys), "A source of datagrams.");
}

Key feeds() {
  return tables_key(
             "feed", {.least = 1, .most = kMaxFeeds},
             {.keys = {text_key("file", "Description of the feed, see stopbit-feed.toml(5).")
                           .required()
                           .such_as("\"feed.toml\""),
                       text_key("a", "Port of its lines A.").required().such_as("\"card-0\""),
                       text_key("b", "Port of its lines B, of the same agent.")
                           .unless("the port of A")
                           .such_as("\"card-1\""),
                       text_key("calendar",
                                "When the feed speaks, see stopbit-calendar.toml(5): outside of its sessions a silent "
                                "line is no fault.")
                           .unless("always")
                           .such_as("\"calendar.toml\""),
                       texts_key(
                           "channels", {.least = 0, .most = feed::kMaxChannels},
                           "Names of the channels of the file to receive, so that several [[feed]] can divide it.")
                           .unless("all")
                           .such_as("[\"1\", \"2\"]")}},
             "A feed, and the ports it is received by.")
      .live();
}

std::vector<std::string> dialect_names() {
  std::vector<std::string> names;
  for (const refill::DialectRow& row : refill::dialect_rows()) names.emplace_back(row.name);
  return names;
}

/// Of each dialect, in one sentence.
std::string dialect_meanings() {
  std::string text;
  for (const refill::DialectRow& row : refill::dialect_rows()) {
    text += std::string(text.empty() ? "" : ". ") + std::string(row.name) + ": " + std::string(row.meaning);
  }
  return text + ".";
}

/// "moex: MOEX, cme: CME", without those that have no usual one.
std::string dialect_targets() {
  std::string text;
  for (const refill::DialectRow& row : refill::dialect_rows()) {
    if (row.target.empty()) continue;
    text += std::string(text.empty() ? "" : ", ") + std::string(row.name) + ": " + std::string(row.target);
  }
  return text;
}

Key replays() {
  constexpr std::uint64_t kHour = 3'600 * kNsPerSecond;
  constexpr std::uint64_t kDay = 24 * kHour;
  const refill::Limits usual;
  return tables_key(
             "replay", {.least = 0, .most = kMaxReplays},
             {.keys = {text_key("name", "Name of the service, in the log and in counters.")
                           .required()
                           .such_as("\"moex-fx\""),
                       text_key("feed", "Name of the feed whose channels have a `replay`, see stopbit-feed.toml(5).")
                           .unless("the only feed")
                           .such_as("\"moex-fx\""),
                       text_key("address", "IPv4 address and TCP port of the service.")
                           .required()
                           .such_as("\"10.1.2.3:9001\""),
                       choice_key("dialect", dialect_names(),
                                  "How the service is spoken to; all are unproven, because no session of another "
                                  "program was at hand to compare with. " +
                                      dialect_meanings())
                           .otherwise(0),
                       text_key("sender", "SenderCompID of the log-on.").required().such_as("\"FIRM\""),
                       text_key("target", "TargetCompID of the log-on.").unless(dialect_targets()).such_as("\"MOEX\""),
                       text_key("user", "User name of the log-on.").unless("none").such_as("\"user0\""),
                       text_key("password_file", "Its first line is the password of the log-on.")
                           .unless("no password")
                           .such_as("\"password\""),
                       integer_key("connections", {1, 1'000'000},
                                   "Connections that the exchange allows a day. They are counted over restarts.")
                           .required()
                           .such_as("100"),
                       integer_key("requests", {1, 1'000'000}, "Requests that the exchange allows a connection.")
                           .otherwise(usual.requests_a_connection),
                       integer_key("messages", {1, 1'000'000}, "Messages that the exchange allows a request.")
                           .otherwise(usual.messages_a_request),
                       duration_key("day", {0, kDay - 1}, "When the exchange's day begins, after midnight UTC.")
                           .otherwise(0)
                           .unless("midnight UTC")
                           .such_as("\"21h\""),
                       duration_key(
                           "wait", {0, 60 * kNsPerSecond},
                           "From a loss to the connection: further losses share it, and a snapshot may come first.")
                           .otherwise(20'000'000),
                       duration_key("patience", {10'000'000, 60 * kNsPerSecond},
                                    "A connection that brings nothing useful for this long is closed.")
                           .otherwise(usual.patience_ns),
                       duration_key("retry", {10'000'000, kHour},
                                    "Between two connections; twice as long after each that brought nothing.")
                           .otherwise(usual.retry_ns),
                       integer_key("attempts", {1, 1'000},
                                   "Connections in a row that bring nothing before what they asked for is given up.")
                           .otherwise(usual.attempts)}},
             "A replay service of an exchange, asked for messages that are missing on both lines.")
      .unless("none");
}

Key udp_table() {
  const UdpSettings usual;
  return table_key(
             "udp",
             {.keys = {text_key("listen",
                                "One address of this host, and a port: of UDP, and of TCP, by which hosts join.")
                           .required()
                           .such_as("\"10.1.2.3:7701\""),
                       text_key("token_file", "Its first line, 16 to 64 characters, is what hosts must know to join.")
                           .unless("no token, only for 127.0.0.1 and ::1 or without encryption")
                           .such_as("\"network-token\""),
                       choice_key("encryption", {"on", "off"},
                                  "With off, any host that reaches the port joins without a token, reads and forges.")
                           .otherwise(0),
                       integer_key(
                           "frame", {256, 65'000},
                           "Bytes of a frame: at most the path's MTU less 68, with IPv6 less 88. Subscribers follow.")
                           .otherwise(usual.frame_bytes),
                       bytes_key("bytes_per_second", {64U << 10, 1ULL << 36}, "To each host.")
                           .otherwise(0)
                           .unless("no limit")
                           .such_as("\"100MiB\"")},
              .any = {}},
             "A carrier to other hosts over UDP, encrypted.")
      .unless("none");
}

Key nic_table() {
  const NicSettings usual;
  TableKeys keys{
      .keys =
          {text_key("network", "Name of the network of this host's processes.")
               .unless("the appliance's name")
               .such_as("\"moex\""),
           text_key("listen", "One address of this host, and a port, for other hosts, by libfabric.")
               .unless("this host only")
               .such_as("\"10.1.2.3:7700\""),
           text_key("provider", "Provider of libfabric.").unless("TCP").such_as("\"tcp;ofi_rxm\""), udp_table(),
           integer_key("subscribers", {1, 256}, "Subscribers at once, on each carrier.").otherwise(usual.subscribers),
           integer_key("subscribers_per_address", {0, 256}, "Of one address of another host; 0: no further limit.")
               .otherwise(usual.subscribers_per_address),
           integer_key("requests_per_second", {0, 1'000'000}, "Of one address of another host; 0: no limit.")
               .otherwise(usual.requests_per_second),
           text_key("broker", "Path of the socket for processes of other users. Needs `entitlements`.")
               .unless("no broker")
               .such_as("\"/run/stopbit/broker\""),
           text_key("entitlements", "File that says what each client of the broker may do.")
               .unless("no broker")
               .such_as("\"entitlements.toml\""),
           integer_key("clients", {1, 1'024}, "Clients of the broker at once.").otherwise(usual.clients),
           bytes_key("resident", {64U << 10, 1ULL << 36}, "Memory for files that the broker's clients share.")
               .otherwise(usual.resident_bytes)},
      .any = {}};
  for (Key& key : thread_keys()) keys.keys.push_back(std::move(key));
  return table_key("nic", std::move(keys), "Rings for other processes and hosts.").unless("none");
}

Key publications() {
  constexpr std::uint64_t kHour = 3'600 * kNsPerSecond;
  return tables_key(
             "publish", {.least = 0, .most = kMaxPublished},
             {.keys =
                  {text_key("ring", "Last part of the name of a ring.").required().such_as("\"cme\""),
                   text_key("as", "The name that subscribers use.").unless("that of the ring").such_as("\"cme-live\""),
                   texts_key("to", {.least = 0, .most = 3},
                             "Any of shm, for this host, and udp and fabric, for others.")
                       .unless("all that exist")
                       .such_as("[\"udp\"]"),
                   text_key("token_file", "Its first line, 16 to 64 characters, is what subscribers must know.")
                       .unless("no token")
                       .such_as("\"token\""),
                   texts_key("allow", {.least = 0, .most = kMaxAllowed},
                             "Addresses and prefixes from which subscribers of other hosts may come.")
                       .unless("all")
                       .such_as("[\"10.1.0.0/16\"]"),
                   flag_key("lossless", false,
                            "The writer waits for subscribers; only for agents that have captures alone."),
                   duration_key("detach_after", {kNsPerSecond / 10, kHour},
                                "A subscriber that takes nothing for this long loses its place.")
                       .otherwise(0)
                       .unless("never; 5s if lossless")
                       .such_as("\"30s\""),
                   bytes_key("bytes_per_second", {64U << 10, remote::ByteRate::kMost}, "To each subscriber.")
                       .otherwise(0)
                       .unless("no limit")
                       .such_as("\"20MiB\"")}},
             "A ring that others may have. Needs [nic].")
      .unless("none")
      .live();
}

Key multicasts() {
  constexpr std::size_t kIpAndUdp = 28;
  const multicast::PublisherOptions usual;
  const multicast::LineOptions line;
  const multicast::RefillOptions refill;
  TableKeys keys{
      .keys =
          {text_key("ring", "Last part of the name of a ring, of records or market events.")
               .required()
               .such_as("\"cme\""),
           text_key("name", "Its name in the log and in counters.").unless("that of the ring").such_as("\"cme-out\""),
           text_key("a", "Multicast group and port of line A.").required().such_as("\"239.255.7.1:7001\""),
           text_key("b", "Multicast group and port of line B, for the same packets.")
               .unless("no line B")
               .such_as("\"239.255.7.2:7002\""),
           text_key("interface_a", "Interface that line A leaves through.")
               .unless("the kernel's choice")
               .such_as("\"eth1\""),
           text_key("interface_b", "Interface that line B leaves through.")
               .unless("the kernel's choice")
               .such_as("\"eth2\""),
           integer_key("ttl", {1, 255}, "Routers that a packet may pass, plus one.").otherwise(line.ttl),
           integer_key("dscp", {0, 63}, "Differentiated services code point of the packets.").otherwise(line.dscp),
           flag_key("loop", line.loop, "Programs of this host that listen to the groups get the packets, too."),
           integer_key("mtu", {multicast::kMinPacketBytes + kIpAndUdp, multicast::kMaxPacketBytes + kIpAndUdp},
                       "Bytes of the longest packet with headers of IP and UDP; longer ones would be refused.")
               .otherwise(usual.packet_bytes + kIpAndUdp),
           duration_key("heartbeat", {1'000'000, 10 * kNsPerSecond}, "A packet is sent at least this often.")
               .otherwise(usual.heartbeat_ns),
           bytes_key("bytes_per_second", {64U << 10, remote::ByteRate::kMost},
                     "On each line, without headers of IP and UDP.")
               .otherwise(0)
               .unless("no limit")
               .such_as("\"20MiB\""),
           bytes_key("buffer", {64U << 10, 1ULL << 30}, "Socket buffer of each line.").otherwise(line.buffer_bytes),
           duration_key("patience", {0, kNsPerSecond},
                        "How long a packet waits for a full socket buffer before its line goes without it.")
               .otherwise(usual.patience_ns),
           text_key("refill", "One address of this host and a TCP port, for readers that lack packets or begin late.")
               .unless("packets are not sent again")
               .such_as("\"10.1.2.3:7003\""),
           bytes_key("history", {1ULL << 20, 1ULL << 34}, "Packets that are kept for `refill`.").otherwise(16ULL << 20),
           flag_key("state", usual.keeps_state,
                    "Keeps the books of a ring of market events for `refill`, so that late readers begin with them. "
                    "Takes as much memory as the books of the feed, with the room of [books]."),
           integer_key("refill_clients", {1, 256}, "Clients of `refill` at once.").otherwise(refill.clients),
           integer_key("refill_clients_per_address", {1, 256}, "Of one address.").otherwise(refill.clients_per_address),
           bytes_key("refill_bytes_per_second", {64U << 10, remote::ByteRate::kMost}, "To each client of `refill`.")
               .otherwise(0)
               .unless("no limit")
               .such_as("\"20MiB\"")},
      .any = {}};
  for (Key& key : thread_keys()) keys.keys.push_back(std::move(key));
  return tables_key("multicast", {.least = 0, .most = kMaxMulticasts}, std::move(keys),
                    "A ring that goes out on two multicast lines, in the framing stopbit.")
      .unless("none");
}

}  // namespace

const TableKeys& settings_keys() {
  static const TableKeys keys = [] {
    constexpr std::uint64_t kHour = 3'600 * kNsPerSecond;
    const Settings usual;
    return TableKeys{
        .keys = {text_key("name", "Name of the appliance; its counters are NAME.counters in the folder of rings.")
                     .required()
                     .such_as("\"moex\""),
                 text_key(
                     "state",
                     "Folder for gaps and what else outlives the process. It belongs to one appliance. A path that "
                     "begins with ~/ is in the home folder of the user.")
                     .required()
                     .such_as("\"/var/lib/stopbit/moex\""),
                 integer_key("keep_days", {1, 366}, "Days for which gaps are kept.").otherwise(usual.keep_days),
                 choice_key("engine", {"native", "quick", "interp", "card", "xrt"},
                            "What decodes; card is a card, and xrt its older name.")
                     .otherwise(0),
                 duration_key("silence", {1'000'000, kHour},
                              "A line or sender that brings nothing for this long counts as silent.")
                     .otherwise(usual.silence_ns),
                 integer_key("stale_after", {1, 1'000'000},
                             "Datagrams in a row that do not decode before a channel is stale.")
                     .otherwise(usual.stale_after),
                 flag_key("lock_memory", usual.lock_memory, "No page of the process is swapped."),
                 flag_key("confined", usual.confined, "Gives up privileges when everything is open."),
                 limits_table(),
                 control_table(),
                 http_table(),
                 recorder_table(),
                 rings_table(),
                 books_table(),
                 table_key("dpdk",
                           {.keys = {bytes_key("memory", {64U << 20, 1ULL << 36}, "For the frames of all DPDK ports.")
                                         .otherwise(usual.dpdk_memory)}},
                           "Ports of kind dpdk."),
                 card_table(),
                 agents(),
                 ports(),
                 feeds(),
                 replays(),
                 nic_table(),
                 publications(),
                 multicasts()},
        .any = {}};
  }();
  return keys;
}

}  // namespace stopbit::appliance
