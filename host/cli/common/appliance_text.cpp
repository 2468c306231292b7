#include "host/cli/common/appliance_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/appliance/counter_rows.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/grid.hpp"
#include "host/cli/common/text.hpp"
#include "host/os/readable.hpp"

namespace stopbit::tools {
namespace {

using appliance::ChannelStatus;
using appliance::LineStatus;
using appliance::StatusReport;
using appliance::Table;
using Cells = Grid::Cells;
using os::clock_text;
using os::duration_text;
using os::short_number;
using os::thousands;

std::string writer_text(const StatusReport& status) {
  switch (status.writer) {
    case counters::Reader::Writer::Running: return "runs";
    case counters::Reader::Writer::Finished: return "has ended";
    case counters::Reader::Writer::Dead: return "died";
  }
  return "";
}

/// `cells`, then the headings of the counters that the table shows.
template <class Rows>
Cells headings(Table table, const Rows& rows, Cells cells) {
  for (const auto& row : rows) {
    if (row.table == table) cells.emplace_back(row.heading);
  }
  return cells;
}

/// `cells`, then the values under these headings.
template <class Rows, class Group>
Cells values(Table table, const Rows& rows, const Group& group, Cells cells) {
  for (const auto& row : rows) {
    if (row.table == table) cells.push_back(thousands(group.*row.value));
  }
  return cells;
}

Cells operator+(Cells cells, const Cells& more) {
  cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

std::string errors_text(const StatusReport& status) {
  std::string out;
  for (const counters::SeenError& error : status.errors) {
    out += fmt::format("  {} times  {} {}, channel {}", thousands(error.count), code_text(error.code),
                       code_meaning(error.code), error.channel);
    if (error.code == ErrorCode::D9) out += fmt::format(", identifier {}", error.template_id);
    if (error.template_index != 0xFFFF) out += fmt::format(", template index {}", error.template_index);
    out += fmt::format("; first at {}, sequence {}, byte {}\n", os::time_text(error.first_ns), error.sequence,
                       error.offset);
    if (error.sample_bytes == 0) continue;
    out += fmt::format("    {:04x}:", error.sample_begin);
    for (std::size_t i = 0; i < error.sample_bytes; ++i)
      out += fmt::format(" {:02x}", static_cast<unsigned>(error.sample[i]));
    out += '\n';
  }
  if (status.errors_beyond != 0) out += fmt::format("  and {} of other kinds\n", thousands(status.errors_beyond));
  return out;
}

/// Instruments and books of each ring of market events; empty if no channel has a map.
std::string books_grid(const StatusReport& status) {
  if (status.markets.empty()) return {};
  const auto time = [](std::uint64_t ns) { return ns == 0 ? std::string("-") : duration_text(ns); };
  Grid grid(headings(Table::Books, appliance::kMarketRows, {"events"}) + Cells{"stale for", "cycle", "announced"});
  for (const appliance::MarketStatus& market : status.markets) {
    grid.add(values(Table::Books, appliance::kMarketRows, market, {plain(market.name)}) +
             Cells{time(market.stale_for_ns), time(market.cycle_ns), time(market.announced_cycle_ns)});
  }
  return grid.text(1);
}

/// Replay services; empty if there are none.
std::string replays_grid(const StatusReport& status) {
  if (status.replays.empty()) return {};
  Grid grid(headings(Table::Replays, appliance::kReplayRows, {"service"}));
  for (const appliance::ReplayStatus& replay : status.replays) {
    grid.add(values(Table::Replays, appliance::kReplayRows, replay, {plain(replay.name)}));
  }
  return grid.text(1);
}

}  // namespace

std::string ready_text(const StatusReport& status) {
  Grid grid({"channel", "state", "A", "B", "sequence", "lost", "skew", "image"});
  for (const ChannelStatus& channel : status.channels) {
    grid.add({plain(channel.name), std::string(to_text(channel.state)), age_text(channel.lines[0]),
              age_text(channel.lines[1]), std::to_string(channel.next_sequence), std::to_string(channel.numbers_lost),
              skew_of(channel), plain(channel.image)});
  }
  const std::string books = books_grid(status);
  return grid.text(2) + (books.empty() ? "" : '\n' + books);
}

namespace {

std::string lines_text(const StatusReport& status) {
  using appliance::kLineRows;
  Grid grid(headings(Table::Lines, kLineRows, {"channel", "line"}) + Cells{"last number", "age", "skew 50%", "99%"});
  for (const ChannelStatus& channel : status.channels) {
    for (std::size_t i = 0; i < channel.lines.size(); ++i) {
      const LineStatus& line = channel.lines[i];
      if (!line.exists) continue;
      const auto skew = [&](double part) {
        return line.skew.count != 0 ? duration_text(line.skew.quantile(part)) : "-";
      };
      grid.add(values(Table::Lines, kLineRows, line, {plain(channel.name), i == 0 ? "A" : "B"}) +
               Cells{std::to_string(line.last_sequence), age_text(line), skew(0.5), skew(0.99)});
    }
  }
  return "Lines\n" + grid.text(2);
}

std::string channels_text(const StatusReport& status) {
  using appliance::kChannelRows;
  Grid packets(headings(Table::Packets, kChannelRows, {"channel", "received"}));
  Grid numbers(headings(Table::Numbers, kChannelRows, {"channel"}) + Cells{"accounts"});
  for (const ChannelStatus& channel : status.channels) {
    packets.add(values(Table::Packets, kChannelRows, channel, {plain(channel.name), thousands(channel.received())}));
    numbers.add(values(Table::Numbers, kChannelRows, channel, {plain(channel.name)}) +
                Cells{channel.is_balanced() ? "exact" : "changing"});
  }
  return "\nPackets\n" + packets.text(1) + "\nSequence numbers\n" + numbers.text(1);
}

std::string drops_text(const StatusReport& status) {
  Grid grid({"dropped at", "count"});
  for (const appliance::Drop& drop : status.drops()) grid.add({plain(drop.text()), thousands(drop.count)});
  return "\nDrops by place\n" + grid.text(1);
}

std::string rings_text(const StatusReport& status) {
  using appliance::kRingRows;
  Grid rings(headings(Table::Rings, kRingRows, {"ring", "image", "generation"}));
  Grid readers({"reader", "ring", "process", "state", "delivered", "lost"});
  bool has_readers = false;
  for (const appliance::RingStatus& ring : status.rings) {
    rings.add(
        values(Table::Rings, kRingRows, ring, {plain(ring.name), plain(ring.image), std::to_string(ring.generation)}));
  }
  status.for_each_ring([&](const std::string& ring, const std::vector<ring::SeenReader>& seen_readers) {
    for (const ring::SeenReader& seen : seen_readers) {
      has_readers = true;
      readers.add({plain(seen.name), plain(ring), std::to_string(seen.pid), seen.is_running ? "runs" : "died",
                   thousands(seen.delivered), thousands(seen.lost_records)});
    }
  });
  return "\nRings\n" + rings.text(2) + (has_readers ? "\nReaders with a name\n" + readers.text(2) : std::string());
}

std::string ports_text(const StatusReport& status) {
  Grid grid(headings(Table::Ports, appliance::kPortRows, {"port"}));
  for (const appliance::PortStatus& port : status.ports) {
    grid.add(values(Table::Ports, appliance::kPortRows, port, {plain(port.name)}));
  }
  return "\nPorts\n" + grid.text(1);
}

std::string agents_text(const StatusReport& status) {
  using appliance::kAgentRows;
  Grid grid(headings(Table::Agents, kAgentRows, {"agent"}) +
            Cells{"batch 99%", "latency 50%", "99%", "99.9%", "largest"});
  for (const appliance::AgentStatus& agent : status.agents) {
    const auto latency = [&](double part) {
      return agent.latency.count == 0 ? std::string("-") : duration_text(agent.latency.quantile(part));
    };
    grid.add(
        values(Table::Agents, kAgentRows, agent, {plain(agent.name)}) +
        Cells{std::to_string(agent.batch.quantile(0.99)), latency(0.5), latency(0.99), latency(0.999), latency(1)});
  }
  return "\nAgents\n" + grid.text(1);
}

std::string housekeeper_text(const StatusReport& status) {
  std::string out;
  for (const auto& row : appliance::kHousekeeperRows) {
    if (row.table != Table::Sentence || status.*row.value == 0) continue;
    out += fmt::format("\n{} {}\n", thousands(status.*row.value), row.heading);
  }
  return out;
}

std::string recorder_text(const appliance::RecorderStatus& recorder) {
  if (!recorder.exists) return "";
  Cells heads;
  Cells cells;
  const auto add = [&](const auto& rows) {
    heads = headings(Table::Recorder, rows, std::move(heads));
    cells = values(Table::Recorder, rows, recorder, std::move(cells));
  };
  add(appliance::kRecordRows);
  add(appliance::kRecordQueueRows);
  add(appliance::kRecorderRows);
  Grid grid(std::move(heads));
  grid.add(std::move(cells));
  return "\nRecorder\n" + grid.text(0) + (recorder.problem.empty() ? "" : "  " + plain(recorder.problem) + '\n');
}

std::string broker_text(const appliance::NicStatus& nic) {
  using appliance::kNicRows;
  using appliance::kOfferRows;
  if (!nic.exists || nic.offers.empty()) return "";
  Grid clients(headings(Table::Broker, kNicRows, {}));
  clients.add(values(Table::Broker, kNicRows, nic, {}));
  Grid offers(headings(Table::Offers, kOfferRows, {"attached by name"}));
  for (const appliance::OfferStatus& offer : nic.offers) {
    offers.add(values(Table::Offers, kOfferRows, offer, {plain(offer.name)}));
  }
  std::string out = "\nBroker\n" + clients.text(0) + '\n' + offers.text(1);
  if (nic.unpinned == 0 && nic.pages_fetched == 0) return out;
  Grid files(headings(Table::Files, kNicRows, {}));
  files.add(values(Table::Files, kNicRows, nic, {}));
  return out + '\n' + files.text(0);
}

std::string card_text(const StatusReport& status) {
  using appliance::kChannelRows;
  std::string out;
  if (status.card.exists) {
    Grid grid(headings(Table::Card, appliance::kCardRows, {}));
    grid.add(values(Table::Card, appliance::kCardRows, status.card, {}));
    out = "\nCard\n" + grid.text(0);
  }
  Grid channels(headings(Table::CardChannels, kChannelRows, {"channel"}));
  bool has_channels = false;
  for (const ChannelStatus& channel : status.channels) {
    if (channel.on_card == 0 && channel.card_packets == 0) continue;
    has_channels = true;
    channels.add(values(Table::CardChannels, kChannelRows, channel, {plain(channel.name)}));
  }
  return has_channels ? out + "\nChannels of the card\n" + channels.text(1) : out;
}

std::string udp_text(const appliance::UdpStatus& udp) {
  using appliance::kUdpRows;
  if (!udp.exists) return "";
  Grid hosts(headings(Table::Udp, kUdpRows, {}));
  hosts.add(values(Table::Udp, kUdpRows, udp, {}));
  Grid datagrams(headings(Table::UdpDatagrams, kUdpRows, {}));
  datagrams.add(values(Table::UdpDatagrams, kUdpRows, udp, {}));
  return std::string("\nCarrier udp") + (udp.encrypted != 0 ? "" : ", NOT ENCRYPTED") + '\n' + hosts.text(0) + '\n' +
         datagrams.text(0);
}

std::string multicasts_text(const StatusReport& status) {
  using appliance::kMulticastRows;
  if (status.multicasts.empty()) return "";
  Grid rings(headings(Table::Multicast, kMulticastRows, {"multicast"}));
  Grid lines(headings(Table::MulticastLines, kMulticastRows, {"multicast"}));
  Grid refill(headings(Table::MulticastRefill, kMulticastRows, {"refill of"}));
  for (const appliance::MulticastStatus& multicast : status.multicasts) {
    rings.add(values(Table::Multicast, kMulticastRows, multicast, {plain(multicast.name)}));
    lines.add(values(Table::MulticastLines, kMulticastRows, multicast, {plain(multicast.name)}));
    refill.add(values(Table::MulticastRefill, kMulticastRows, multicast, {plain(multicast.name)}));
  }
  return "\nRings on multicast lines\n" + rings.text(1) + '\n' + lines.text(1) + '\n' + refill.text(1);
}

std::string publishers_text(const StatusReport& status) {
  using appliance::kPublisherRows;
  using appliance::kSubscriberRows;
  if (status.nic.publishers.empty()) return "";
  Grid publishers(headings(Table::Publishers, kPublisherRows, {"published by"}));
  Grid refusals({"refused by", "why", "requests"});
  Grid subscribers(headings(Table::Subscribers, kSubscriberRows, {"subscriber", "ring", "state", "since"}));
  std::string cut_off;
  bool has_subscribers = false;
  bool has_refusals = false;
  for (const appliance::PublisherStatus& publisher : status.nic.publishers) {
    publishers.add(values(Table::Publishers, kPublisherRows, publisher, {plain(publisher.carrier)}));
    if (publisher.is_cut_off)
      cut_off += plain(publisher.carrier) +
                 " is cut off from other hosts: restart the "
                 "appliance\n";
    for (const auto& [why, count] : publisher.refusals) {
      refusals.add({plain(publisher.carrier), plain(why), thousands(count)});
      has_refusals = true;
    }
    for (const appliance::SubscriberStatus& subscriber : publisher.subscribers) {
      has_subscribers = true;
      const std::uint64_t age = status.now_ns > subscriber.since_ns ? status.now_ns - subscriber.since_ns : 0;
      subscribers.add(values(
          Table::Subscribers, kSubscriberRows, subscriber,
          {plain(subscriber.who), plain(subscriber.ring), std::string(to_text(subscriber.state)), clock_text(age)}));
    }
  }
  return "\nPublished rings\n" + publishers.text(1) + cut_off + (has_refusals ? '\n' + refusals.text(2) : "") +
         (has_subscribers ? "\nSubscribers\n" + subscribers.text(3) : "");
}

}  // namespace

std::string age_text(const LineStatus& line) {
  if (!line.exists) return "-";
  if (line.last_arrival_ns == 0) return "never";
  return duration_text(line.age_ns) + (line.is_silent ? "!" : "");
}

std::string skew_of(const ChannelStatus& channel) {
  const std::uint64_t copies = channel.lines[0].skew.count + channel.lines[1].skew.count;
  return copies == 0 ? "-" : duration_text(channel.skew_ns(0.99));
}

std::string head_line(const StatusReport& status) {
  return fmt::format("{} {}, process {}, for {}", plain(status.name), writer_text(status), status.pid,
                     clock_text(status.running_ns));
}

std::string stat_text(const StatusReport& status) {
  const std::string errors = errors_text(status);
  const std::string books = books_grid(status);
  const std::string replays = replays_grid(status);
  return head_line(status) + "\n\n" + lines_text(status) + channels_text(status) + drops_text(status) +
         ports_text(status) + card_text(status) + rings_text(status) +
         (books.empty() ? "" : "\nInstruments and books\n" + books) +
         (replays.empty() ? "" : "\nReplay services\n" + replays) + agents_text(status) + housekeeper_text(status) +
         recorder_text(status.recorder) + broker_text(status.nic) + publishers_text(status) + udp_text(status.nic.udp) +
         multicasts_text(status) + (errors.empty() ? "" : "\nDistinct errors\n" + errors);
}

std::string skew_text(const StatusReport& status) {
  Grid grid({"channel", "copies", "skew 50%", "99%", "99.99%", "largest", "window now", "proposed"});
  for (const ChannelStatus& channel : status.channels) {
    const std::string now = fmt::format("{} packets, {}", channel.window_packets, duration_text(channel.window_ns));
    const auto window = appliance::propose_window(channel, status.running_ns);
    if (!window) {
      grid.add({plain(channel.name), "0", "-", "-", "-", "-", now, "-"});
      continue;
    }
    counters::Distribution both = channel.lines[0].skew;
    both += channel.lines[1].skew;
    grid.add({plain(channel.name), thousands(window->copies), duration_text(both.quantile(0.5)),
              duration_text(both.quantile(0.99)), duration_text(window->skew_ns), duration_text(both.largest), now,
              fmt::format("{} packets, {}", window->packets, duration_text(window->time_ns))});
  }
  return grid.text(1);
}

}  // namespace stopbit::tools
