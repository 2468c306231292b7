#include "host/cli/common/resend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "host/cli/common/messages.hpp"
#include "host/cli/common/signals.hpp"
#include "host/os/readable.hpp"
#include "host/ports/merger.hpp"
#include "host/ports/out/socket/copying_sender.hpp"
#include "host/replay/pacer.hpp"
#include "microcode/base/printable.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint64_t kNapNs = 50'000'000;               ///< A signal is seen after this time.
constexpr std::uint64_t kToldLateNs = kNsPerSecond / 100;  ///< Below, lateness is no news.
constexpr std::size_t kMostGroups = 4'096;                 ///< Listed one by one; a capture may have any number.

bool is_multicast(net::Endpoint endpoint) {
  return endpoint.address >> 28 == 0xE;
}

std::uint64_t order_of(net::Endpoint endpoint) {
  return std::uint64_t{endpoint.address} << 16 | endpoint.port;
}

/// Packets of some sources, one source after the other or merged by time.
class PacketOrder {
 public:
  PacketOrder(const Sources& sources, bool merge) : sources_(sources), merge_(merge), merger_(sources) {}

  ingest::Next next(ingest::Packet& packet) {
    if (merge_) return merger_.next(packet);
    while (at_ < sources_.size()) {
      const ingest::Next next = sources_[at_]->next(packet);
      if (next != ingest::Next::End) return next;
      ++at_;
    }
    return ingest::Next::End;
  }
  [[nodiscard]] const ingest::Fault& fault() const { return sources_[merge_ ? merger_.source() : at_]->fault(); }

 private:
  const Sources& sources_;
  bool merge_;
  ingest::Merger merger_;
  std::size_t at_ = 0;
};

class Resender {
 public:
  Resender(const ResendArguments& arguments, const ResendJob& job) : job_(job), pacer_(job.speed) {
    for (const std::string& text : arguments.renames) {
      const Result<GroupRename> rename = parse_group_rename(text);
      if (!rename) throw ToolError(kExitUsage, "--rename: " + rename.message());
      const auto& [from, to] = rename.value();
      if (!renames_.emplace(order_of(from), Rename{.from = from, .to = to}).second) {
        throw ToolError(kExitUsage, "--rename: " + net::to_text(rename.value().from) + " has two new names");
      }
    }
    constexpr std::uint64_t kMostTtl = 255;
    if (arguments.ttl.value_or(1) < 1 || arguments.ttl.value_or(1) > kMostTtl) {
      throw ToolError(kExitUsage, "--ttl: from 1 to 255");
    }
    egress::UdpSenderOptions options;
    options.interface = arguments.interface;
    options.ttl = static_cast<std::uint8_t>(arguments.ttl.value_or(1));
    options.loop = true;
    options.on_refusal = [this](std::size_t place) { waiting_[place].is_refused = true; };
    Result<egress::CopyingSender> opened = egress::CopyingSender::open(options);
    if (!opened) throw ToolError(kExitEnvironment, opened.message());
    sender_.emplace(std::move(opened).value());
  }

  /// False: the limit is reached, or a signal has come.
  bool take(const ingest::Packet& packet) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted ||
        !is_multicast(datagram.destination)) {
      ++skipped_;
      return true;
    }
    if (!job_.groups.empty() &&
        std::find(job_.groups.begin(), job_.groups.end(), datagram.destination) == job_.groups.end()) {
      ++of_other_groups_;
      return true;
    }
    if (!wait_for(packet.arrival_ns)) return false;
    const auto renamed = renames_.find(order_of(datagram.destination));
    if (renamed != renames_.end()) renamed->second.is_used = true;
    const net::Endpoint group = renamed != renames_.end() ? renamed->second.to : datagram.destination;
    waiting_.push_back({.from = datagram.destination, .to = group, .bytes = datagram.payload.size()});
    sender_->add(group, datagram.payload);
    if (sender_->socket().waiting() == 0) count_sent();
    ++added_;
    return job_.limit == 0 || added_ < job_.limit;
  }
  void fault(const std::string& message) {
    print_stderr("{}\n", printable(message));
    is_damaged_ = true;
  }

  int finish() {
    flush();
    const egress::UdpSender& socket = sender_->socket();
    if (!job_.quiet) write_stderr(report());
    if (socket.refused() != 0) {
      print_stderr("stopbit: the system refused to send {} datagrams: {}\n", socket.refused(),
                   std::strerror(socket.last_error()));
      return kExitEnvironment;
    }
    std::size_t unused = 0;
    for (const auto& [order, rename] : renames_) {
      if (rename.is_used) continue;
      print_stderr("stopbit: --rename: no packet of the captures goes to {}\n", net::to_text(rename.from));
      ++unused;
    }
    if (added_ == 0) print_stderr("stopbit: no packet of the captures goes to one of the multicast groups\n");
    return is_damaged_ || added_ == 0 || unused != 0 ? kExitRejected : kExitDone;
  }

 private:
  struct Rename {
    net::Endpoint from;
    net::Endpoint to;
    bool is_used = false;
  };
  struct Sent {
    net::Endpoint from;
    net::Endpoint to;
    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;
    std::uint64_t refused = 0;
  };
  /// A datagram of the batch.
  struct Waiting {
    net::Endpoint from;
    net::Endpoint to;
    std::size_t bytes = 0;
    bool is_refused = false;
  };

  /// What is due together leaves with one system call.
  bool wait_for(std::uint64_t arrival_ns) {
    if (job_.speed <= 0) return !stop_requested();
    static const std::atomic<bool> kNever = false;
    if (pacer_.due(arrival_ns, 0, kNever)) return !stop_requested();
    flush();
    while (!pacer_.due(arrival_ns, kNapNs, kNever)) {
      if (stop_requested()) return false;
    }
    return true;
  }
  void flush() {
    sender_->flush();
    count_sent();
  }
  /// After the batch has gone.
  void count_sent() {
    for (const Waiting& one : waiting_) count(one);
    waiting_.clear();
  }
  void count(const Waiting& one) {
    const auto found = sent_.find(order_of(one.from));
    if (found == sent_.end() && sent_.size() >= kMostGroups) return;
    Sent& sent = found != sent_.end() ? found->second : sent_[order_of(one.from)];
    sent.from = one.from;
    sent.to = one.to;
    if (one.is_refused) {
      ++sent.refused;
      return;
    }
    ++sent.datagrams;
    sent.bytes += one.bytes;
  }
  [[nodiscard]] std::string report() const {
    std::string text;
    for (const auto& [order, sent] : sent_) {
      text += fmt::format("{:>12}  datagrams, {} bytes, to {}", sent.datagrams, os::thousands(sent.bytes),
                          net::to_text(sent.to));
      if (sent.refused != 0) text += fmt::format("; {} were refused", sent.refused);
      if (sent.from != sent.to) text += ", captured as " + net::to_text(sent.from);
      text += '\n';
    }
    if (of_other_groups_ != 0) text += fmt::format("{:>12}  packets of other groups were not sent\n", of_other_groups_);
    if (skipped_ != 0)
      text += fmt::format("{:>12}  packets are no whole UDP datagrams to a multicast group\n", skipped_);
    if (pacer_.latest_ns() > kToldLateNs) {
      text += fmt::format("stopbit: datagrams were sent up to {} late: this machine is too slow for the pace\n",
                          os::duration_text(pacer_.latest_ns()));
    }
    return text;
  }

  const ResendJob& job_;
  replay::Pacer pacer_;
  std::map<std::uint64_t, Rename> renames_;  ///< By the old group.
  std::optional<egress::CopyingSender> sender_;
  std::vector<Waiting> waiting_;        ///< The batch.
  std::map<std::uint64_t, Sent> sent_;  ///< By the captured group.
  std::uint64_t added_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t of_other_groups_ = 0;
  bool is_damaged_ = false;
};

}  // namespace

Result<GroupRename> parse_group_rename(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return Failure{"write OLD=NEW, as 224.0.31.1:10001=239.1.1.1:30001"};
  const Result<net::Endpoint> from = net::parse_endpoint(text.substr(0, equals));
  if (!from) return from.failure();
  const Result<net::Endpoint> to = net::parse_endpoint(text.substr(equals + 1));
  if (!to) return to.failure();
  if (!is_multicast(to.value())) {
    return Failure{net::to_text(to.value()) +
                   " is no multicast group, whose address is from 224.0.0.0 to "
                   "239.255.255.255"};
  }
  return GroupRename{from.value(), to.value()};
}

void ResendArguments::check_absent() const {
  const char* const given = !interface.empty() ? "--interface"
                            : !renames.empty() ? "--rename"
                            : ttl              ? "--ttl"
                                               : nullptr;
  if (given != nullptr) throw ToolError(kExitUsage, std::string(given) + " is for --to udp");
}

std::vector<Option> resend_options(ResendArguments& target) {
  return {{.names = "--to",
           .value = "PLACE",
           .help = "udp: sends the multicast datagrams of the captures to the network, undecoded, at the pace of the "
                   "capture. Needs --interface; takes --group or --feed, which say what is sent, --merge, --pace, "
                   "--limit and the next three.",
           .target = &target.to,
           .hint = choice_hint({"udp"})},
          {.names = "--interface",
           .value = "NAME",
           .help = "With --to udp: the interface that multicast leaves through. Nothing is sent without it; lo keeps "
                   "the packets on this machine.",
           .target = &target.interface},
          {.names = "--rename",
           .value = "OLD=NEW",
           .help = "With --to udp: datagrams to the group OLD go to NEW, for instance "
                   "224.0.31.1:10001=239.1.1.1:30001. May be repeated.",
           .target = &target.renames},
          {.names = "--ttl",
           .value = "N",
           .help = "With --to udp: routers that the packets may pass, plus one. Default 1: they stay on their network.",
           .target = &target.ttl}};
}

int resend(const ResendArguments& arguments, const ResendJob& job, const Sources& sources) {
  if (arguments.interface.empty()) {
    throw ToolError(kExitUsage,
                    "--to udp needs --interface, so that no packet of a capture reaches a real network by mistake; lo "
                    "keeps them on this machine");
  }
  Resender resender(arguments, job);
  catch_stop_signals();
  PacketOrder packets(sources, job.merge);
  ingest::Packet packet;
  for (ingest::Next next = packets.next(packet); next != ingest::Next::End && !stop_requested();
       next = packets.next(packet)) {
    if (next == ingest::Next::Fault) {
      resender.fault(packets.fault().message);
      continue;
    }
    if (!resender.take(packet)) break;
  }
  return resender.finish();
}

}  // namespace stopbit::tools
