#include "host/tools/appliance_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/appliance/gap_log.hpp"
#include "host/tools/appliance_name.hpp"
#include "host/tools/text.hpp"

namespace stopbit::tools {
namespace {

using appliance::ChannelStatus;
using appliance::duration_text;
using appliance::LineStatus;
using appliance::Status;

std::string age_text(const LineStatus& line) {
  if (!line.exists) return "-";
  if (line.last_arrival_ns == 0) return "never";
  return duration_text(line.age_ns) + (line.is_silent ? "!" : "");
}

std::string skew_of(const ChannelStatus& channel) {
  const std::uint64_t copies = channel.lines[0].skew.count + channel.lines[1].skew.count;
  return copies == 0 ? "-" : duration_text(channel.skew_ns(0.99));
}

std::string writer_text(const Status& status) {
  switch (status.writer) {
    case counters::Reader::Writer::Running: return "runs";
    case counters::Reader::Writer::Finished: return "has ended";
    case counters::Reader::Writer::Dead: return "is gone without a word";
  }
  return "";
}

std::string head_line(const Status& status) {
  const std::uint64_t until = status.writer == counters::Reader::Writer::Running ? status.now_ns : status.heartbeat_ns;
  return fmt::format("{} {}, process {}, for {}", plain(status.name), writer_text(status), status.pid,
                     clock_text(until > status.started_ns ? until - status.started_ns : 0));
}

/// Columns as wide as their widest cell; numbers to the right.
class Grid {
 public:
  explicit Grid(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text(std::size_t left_columns) const {
    std::vector<std::size_t> widths(rows_[0].size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (i != 0) line += "  ";
        line += i < left_columns ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string errors_text(const Status& status) {
  std::string out;
  for (const counters::SeenError& error : status.errors) {
    out += fmt::format("  {} times  {} {}, channel {}", thousands(error.count), code_text(error.code),
                       code_meaning(error.code), error.channel);
    if (error.code == ErrorCode::D9) out += fmt::format(", identifier {}", error.template_id);
    if (error.template_index != 0xFFFF) out += fmt::format(", template index {}", error.template_index);
    out += fmt::format("; first at {}, sequence {}, byte {}\n", appliance::time_text(error.first_ns), error.sequence,
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

}  // namespace

std::string ready_text(const Status& status) {
  Grid grid({"channel", "state", "A", "B", "sequence", "lost", "skew", "image"});
  for (const ChannelStatus& channel : status.channels) {
    grid.add({plain(channel.name), std::string(to_text(channel.state)), age_text(channel.lines[0]),
              age_text(channel.lines[1]), std::to_string(channel.next_sequence), std::to_string(channel.numbers_lost),
              skew_of(channel), plain(channel.image)});
  }
  return grid.text(2);
}

std::string stat_text(const Status& status) {
  std::string out = head_line(status) + "\n\n";
  Grid lines({"channel", "line", "packets", "missing", "saved", "first", "last number", "age", "skew 50%", "99%"});
  Grid packets({"channel", "received", "delivered", "duplicate", "late", "held", "malformed", "incomplete"});
  Grid numbers({"channel", "expected", "delivered", "recovered", "lost", "held", "gaps", "messages", "accounts"});
  for (const ChannelStatus& channel : status.channels) {
    for (std::size_t i = 0; i < channel.lines.size(); ++i) {
      const LineStatus& line = channel.lines[i];
      if (!line.exists) continue;
      const bool has_skew = line.skew.count != 0;
      lines.add({plain(channel.name), i == 0 ? "A" : "B", thousands(line.packets), thousands(line.missing),
                 thousands(line.saved), thousands(line.first), std::to_string(line.last_sequence), age_text(line),
                 has_skew ? duration_text(line.skew.quantile(0.5)) : "-",
                 has_skew ? duration_text(line.skew.quantile(0.99)) : "-"});
    }
    packets.add({plain(channel.name), thousands(channel.received()), thousands(channel.delivered),
                 thousands(channel.duplicate), thousands(channel.late), thousands(channel.held),
                 thousands(channel.malformed), thousands(channel.incomplete)});
    numbers.add({plain(channel.name), thousands(channel.numbers), thousands(channel.numbers_delivered),
                 thousands(channel.numbers_recovered), thousands(channel.numbers_lost), thousands(channel.numbers_held),
                 thousands(channel.gaps), thousands(channel.messages), channel.is_balanced() ? "exact" : "changing"});
  }
  out += "Lines\n" + lines.text(2) + "\nPackets\n" + packets.text(1) + "\nSequence numbers\n" + numbers.text(1);

  Grid drops({"dropped at", "count"});
  for (const appliance::Drop& drop : status.drops()) drops.add({plain(drop.text()), thousands(drop.count)});
  out += "\nDrops by place\n" + drops.text(1);

  Grid ports({"port", "frames", "bytes", "NIC drops", "kernel drops", "damaged", "foreign", "failures"});
  for (const appliance::PortStatus& port : status.ports) {
    ports.add({plain(port.name), thousands(port.frames), thousands(port.bytes), thousands(port.nic),
               thousands(port.kernel), thousands(port.damaged), thousands(port.foreign), thousands(port.failures)});
  }
  Grid rings({"ring", "image", "generation", "records", "events", "slots"});
  for (const appliance::RingStatus& ring : status.rings) {
    rings.add({plain(ring.name), plain(ring.image), std::to_string(ring.generation), thousands(ring.records),
               thousands(ring.events), thousands(ring.slots)});
  }
  Grid readers({"reader", "ring", "process", "state", "delivered", "lost"});
  bool has_readers = false;
  for (const appliance::RingStatus& ring : status.rings) {
    for (const ring::SeenReader& seen : ring.readers) {
      has_readers = true;
      readers.add({plain(seen.name), plain(ring.name), std::to_string(seen.pid), seen.is_running ? "runs" : "is gone",
                   thousands(seen.delivered), thousands(seen.lost_records)});
    }
  }
  Grid agents({"agent", "turns", "busy", "batch 99%", "latency 50%", "99%", "99.9%", "largest"});
  for (const appliance::AgentStatus& agent : status.agents) {
    const auto latency = [&](double part) {
      return agent.latency.count == 0 ? std::string("-") : duration_text(agent.latency.quantile(part));
    };
    agents.add({plain(agent.name), thousands(agent.turns), thousands(agent.busy_turns),
                std::to_string(agent.batch.quantile(0.99)), latency(0.5), latency(0.99), latency(0.999), latency(1)});
  }
  out += "\nPorts\n" + ports.text(1) + "\nRings\n" + rings.text(2) +
         (has_readers ? "\nReaders with a name\n" + readers.text(2) : std::string()) + "\nAgents\n" + agents.text(1);
  if (const appliance::RecorderStatus& recorder = status.recorder; recorder.exists) {
    Grid disk({"recorded", "not written", "no room", "frozen files", "not frozen", "failing lines"});
    disk.add({thousands(recorder.recorded), thousands(recorder.failed), thousands(recorder.no_room),
              thousands(recorder.frozen_files), thousands(recorder.refused_freezes),
              thousands(recorder.failing_lines)});
    out += "\nRecorder\n" + disk.text(0);
    if (!recorder.problem.empty()) out += "  " + plain(recorder.problem) + '\n';
  }
  if (const appliance::NicStatus& nic = status.nic; nic.exists && !nic.offers.empty()) {
    Grid clients({"clients", "ports opened", "ports gone", "turned away", "refused", "malformed", "shared bytes"});
    clients.add({thousands(nic.clients), thousands(nic.ports_opened), thousands(nic.ports_gone),
                 thousands(nic.turned_away), thousands(nic.refused), thousands(nic.malformed),
                 thousands(nic.shared_bytes)});
    Grid offers({"attached by name", "now", "in all", "refused", "gets", "bytes"});
    for (const appliance::OfferStatus& offer : nic.offers) {
      offers.add({plain(offer.name), thousands(offer.attachments), thousands(offer.attached), thousands(offer.refused),
                  thousands(offer.gets), thousands(offer.bytes)});
    }
    out += "\nBroker\n" + clients.text(0) + '\n' + offers.text(1);
    if (nic.unpinned != 0 || nic.pages_fetched != 0) {
      Grid files({"files shared", "bytes", "here at most", "pages read", "evicted", "written", "failed"});
      files.add({thousands(nic.unpinned), thousands(nic.unpinned_bytes), thousands(nic.resident_bytes),
                 thousands(nic.pages_fetched), thousands(nic.pages_evicted), thousands(nic.pages_written),
                 thousands(nic.pages_failed)});
      out += '\n' + files.text(0);
    }
  }
  Grid publishers({"published by", "admitted", "refused", "ended", "detached", "malformed"});
  Grid refusals({"refused by", "why", "requests"});
  Grid subscribers({"subscriber", "ring", "state", "since", "records", "behind", "lost", "filtered"});
  std::string cut_off;
  bool has_subscribers = false;
  bool has_refusals = false;
  for (const appliance::PublisherStatus& publisher : status.nic.publishers) {
    publishers.add({plain(publisher.carrier), thousands(publisher.admitted), thousands(publisher.refused),
                    thousands(publisher.ended), thousands(publisher.detached), thousands(publisher.malformed)});
    if (publisher.is_cut_off) cut_off += plain(publisher.carrier) + " is cut off: restart the appliance\n";
    for (const auto& [why, count] : publisher.refusals) {
      refusals.add({plain(publisher.carrier), plain(why), thousands(count)});
      has_refusals = true;
    }
    for (const appliance::SubscriberStatus& subscriber : publisher.subscribers) {
      has_subscribers = true;
      const std::uint64_t age = status.now_ns > subscriber.since_ns ? status.now_ns - subscriber.since_ns : 0;
      subscribers.add({plain(subscriber.who), plain(subscriber.ring), std::string(to_text(subscriber.state)),
                       clock_text(age), thousands(subscriber.records), thousands(subscriber.behind),
                       thousands(subscriber.lost), thousands(subscriber.filtered)});
    }
  }
  if (!status.nic.publishers.empty()) out += "\nPublished rings\n" + publishers.text(1);
  out += cut_off;
  if (has_refusals) out += '\n' + refusals.text(2);
  if (has_subscribers) out += "\nSubscribers\n" + subscribers.text(3);
  const std::string errors = errors_text(status);
  if (!errors.empty()) out += "\nDistinct errors\n" + errors;
  return out;
}

std::string skew_text(const Status& status) {
  const std::uint64_t running = status.heartbeat_ns > status.started_ns ? status.heartbeat_ns - status.started_ns : 0;
  Grid grid({"channel", "copies", "skew 50%", "99%", "99.99%", "largest", "window now", "proposed"});
  for (const ChannelStatus& channel : status.channels) {
    const std::string now = fmt::format("{} packets, {}", channel.window_packets, duration_text(channel.window_ns));
    const auto window = appliance::propose_window(channel, running);
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

namespace {

/// The places where anything was dropped, in a line or two.
void add_drops(const Status& status, std::size_t columns, std::vector<std::string>& out) {
  constexpr std::size_t kLines = 2;
  std::vector<std::string> lines = {"drops:"};
  bool has_any = false;
  for (const appliance::Drop& drop : status.drops()) {
    if (drop.count == 0) continue;
    if (has_any) lines.back() += ',';
    const std::string item = fmt::format(" {} {}", plain(drop.text()), short_number(static_cast<double>(drop.count)));
    if (has_any && lines.back().size() + item.size() >= columns) {
      if (lines.size() == kLines) {
        lines.back().resize(std::min(lines.back().size(), columns - 4));
        lines.back() += " ...";
        break;
      }
      lines.emplace_back("      ");
    }
    lines.back() += item;
    has_any = true;
  }
  if (!has_any) lines.back() += " none";
  out.insert(out.end(), lines.begin(), lines.end());
}

}  // namespace

std::string screen_text(const Status& status, const Status& before, std::size_t columns, std::size_t rows) {
  const double seconds = status.now_ns > before.now_ns ? static_cast<double>(status.now_ns - before.now_ns) / 1e9 : 0;
  const auto rate = [&](std::uint64_t now, std::uint64_t then) {
    return seconds > 0 && now >= then ? short_number(static_cast<double>(now - then) / seconds) : std::string("-");
  };
  std::vector<std::string> out;
  out.push_back(head_line(status));
  add_drops(status, columns, out);
  std::string agents;
  for (std::size_t i = 0; i < status.agents.size(); ++i) {
    const appliance::AgentStatus& agent = status.agents[i];
    agents += fmt::format("{}{}: latency 50% {}, 99% {}", i == 0 ? "" : "; ", plain(agent.name),
                          agent.latency.count == 0 ? "-" : duration_text(agent.latency.quantile(0.5)),
                          agent.latency.count == 0 ? "-" : duration_text(agent.latency.quantile(0.99)));
  }
  out.push_back(agents);
  if (status.nic.exists && !status.nic.offers.empty()) {
    std::uint64_t attachments = 0;
    std::uint64_t gets = 0;
    for (const appliance::OfferStatus& offer : status.nic.offers) {
      attachments += offer.attachments;
      gets += offer.gets;
    }
    out.push_back(fmt::format("broker: {} clients, {} attachments, {} gets, {} turned away", status.nic.clients,
                              attachments, short_number(static_cast<double>(gets)), status.nic.turned_away));
  }
  if (!status.nic.publishers.empty()) {
    std::size_t subscribers = 0;
    std::uint64_t behind = 0;
    std::uint64_t lost = 0;
    std::uint64_t refused = 0;
    std::uint64_t detached = 0;
    for (const appliance::PublisherStatus& publisher : status.nic.publishers) {
      subscribers += publisher.subscribers.size();
      refused += publisher.refused;
      detached += publisher.detached;
      for (const appliance::SubscriberStatus& subscriber : publisher.subscribers) {
        behind += subscriber.behind;
        lost += subscriber.lost;
      }
    }
    out.push_back(fmt::format("published: {} subscribers, {} behind, {} lost, {} detached, {} refused", subscribers,
                              short_number(static_cast<double>(behind)), short_number(static_cast<double>(lost)),
                              detached, refused));
  }
  out.push_back({});
  out.push_back(fmt::format("{:<18} {:<7} {:>7} {:>7} {:>6} {:>6} {:>5} {:>8} {:>8}", "channel", "state", "A", "B",
                            "pkt/s", "msg/s", "gaps", "lost", "skew"));
  // Those that need somebody first, then the busy ones.
  std::vector<std::size_t> order(status.channels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return status.channels[a].is_ready() < status.channels[b].is_ready();
  });
  for (const std::size_t i : order) {
    if (out.size() + 1 >= rows && out.size() + order.size() > rows + i) {
      out.push_back(fmt::format("... {} channels in all; `stopbit ready` shows each", order.size()));
      break;
    }
    const ChannelStatus& channel = status.channels[i];
    const ChannelStatus* then = i < before.channels.size() ? &before.channels[i] : &channel;
    out.push_back(fmt::format("{:<18} {:<7} {:>7} {:>7} {:>6} {:>6} {:>5} {:>8} {:>8}",
                              plain(channel.name).substr(0, 18), to_text(channel.state), age_text(channel.lines[0]),
                              age_text(channel.lines[1]), rate(channel.received(), then->received()),
                              rate(channel.messages, then->messages), short_number(static_cast<double>(channel.gaps)),
                              short_number(static_cast<double>(channel.numbers_lost)), skew_of(channel)));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(rows, out.size()); ++i) text += out[i].substr(0, columns) + '\n';
  return text;
}

}  // namespace stopbit::tools
