#include "tests/nic/script.hpp"

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <sstream>

#include "host/nic/link/links.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "tests/nic/arguments.hpp"
#include "tests/nic/hosts.hpp"
#include "tests/nic/tags.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kStepNs = 1'000;
constexpr std::uint64_t kPatienceNs = 30'000'000;  // of one step of a script

/// Numbers the packets of each way, and sees that they come as they were sent.
class Counter final : public PacketSink {
 public:
  [[nodiscard]] std::uint8_t early(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) override {
    ++early_packets[{from, channel}];
    return static_cast<std::uint8_t>(number_of(packet));
  }
  [[nodiscard]] bool ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet,
                             std::uint8_t early_status) override {
    if (holds && channel == VirtualChannel::Low) return false;
    const std::uint64_t number = number_of(packet);
    if (number != packets[{from, channel}]++ || (early_status != 0 && early_status != number % 256)) in_order = false;
    return true;
  }
  void lost(NodeId peer) override {
    lost_peers.push_back(peer);
    forgotten.push_back(peer);
  }
  void rejoined(NodeId peer) override {
    back.push_back(peer);
    for (const VirtualChannel channel : {VirtualChannel::Low, VirtualChannel::High}) {
      packets.erase({peer, channel});
      early_packets.erase({peer, channel});
    }
  }

  std::map<std::pair<NodeId, VirtualChannel>, std::uint64_t> packets;
  std::map<std::pair<NodeId, VirtualChannel>, std::uint64_t> early_packets;
  std::vector<NodeId> lost_peers;
  std::vector<NodeId> back;
  std::vector<NodeId> forgotten;  ///< Whose packets are to be numbered from 0 again.
  bool holds = false;
  bool in_order = true;

 private:
  static std::uint64_t number_of(std::span<const std::byte> packet) {
    std::uint64_t number = ~std::uint64_t{0};
    if (packet.size() == sizeof(number)) std::memcpy(&number, packet.data(), sizeof(number));
    return number;
  }
};

class Script {
 public:
  Script(const Carrier& carrier, const Units& units)
      : carrier_(carrier), units_(units), hosts_(carrier, units, said), tags_(said, units) {}

  /// False: there is no such step, or it is written wrongly.
  [[nodiscard]] bool run(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    const std::string step = words.front();
    Arguments arguments(std::move(words));
    return (run_queue(step, arguments) || run_atu(step, arguments) || run_links(step, arguments) ||
            hosts_.run(step, arguments) || tags_.run(step, arguments)) &&
           !arguments.is_wrong();
  }

  [[nodiscard]] const std::string& skipped() const noexcept { return hosts_.skipped(); }
  std::vector<std::string> said;

 private:
  template <class... Parts>
  void say(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    said.push_back(out.str());
  }

  bool run_queue(const std::string& step, Arguments& arguments) {
    if (step == "port") {
      const std::string& state = arguments.at(1);
      commands_->set_state(state == "enabled"    ? PortState::Enabled
                           : state == "disabled" ? PortState::Disabled
                                                 : PortState::Closed);
    } else if (step == "insert") {
      std::vector<Command> commands(std::min<std::uint64_t>(arguments.number(1), 1000));
      for (std::size_t i = 0; i < commands.size(); ++i) {
        commands[i].operation = Operation::NotificationPut;
        commands[i].tag = next_tag_ + i;
      }
      if (arguments.has("bad")) {
        const std::uint64_t bad = arguments.number_after("bad");
        if (bad >= commands.size()) return false;
        commands[bad].operation = Operation{};
      }
      const Issue issue = commands_->insert(commands);
      next_tag_ += issue.accepted;
      say("accepted ", issue.accepted, " of ", commands.size(), ": ", to_text(issue.reply));
    } else if (step == "take") {
      Command command;
      std::uint64_t count = 0;
      std::uint64_t first = 0;
      const std::uint64_t wanted = arguments.number(1);
      while (count < wanted && commands_->take(command)) {
        if (count++ == 0) first = command.tag;
        if (command.tag != first + count - 1) say("out of order: ", command.tag);
      }
      if (count == 0) {
        say("took nothing");
      } else {
        say("took ", first, " to ", command.tag);
      }
    } else {
      return false;
    }
    return true;
  }

  bool run_atu(const std::string& step, Arguments& arguments) {
    if (step == "atu") {
      atu_ = units_.translation(AtuOptions{arguments.number_after("tables"), arguments.number_after("entries"),
                                           arguments.number_after("cached"), 55});
      return true;
    }
    if (step != "register" && step != "translate" && step != "revoke" && step != "acknowledge" && step != "flushed") {
      return false;
    }
    if (!atu_) return false;
    const std::string& name = arguments.at(1);
    if (step == "acknowledge") {
      atu_->acknowledge(name == "requester"   ? Unit::Requester
                        : name == "responder" ? Unit::Responder
                                              : Unit::Completer);
    } else if (step == "register") {
      const std::vector<PageNumber> pages = numbers(arguments, arguments.after("pages"));
      const auto nla =
          atu_->register_pages(static_cast<Vpid>(arguments.number_after("owner")), pages, access_of(arguments));
      if (nla) {
        regions_[name] = {*nla, pages.size()};
        say(name, ": table ", *nla >> 30U, ", entry ", *nla / kPageBytes % (1U << kEntryBits));
      } else {
        say(name, ": refused");
      }
    } else if (step == "translate") {
      const std::size_t plus = name.find('+');
      const auto region = regions_.find(name.substr(0, plus));
      if (region == regions_.end()) return false;
      const std::uint64_t offset = plus == std::string::npos ? 0 : arguments.to_number(name.substr(plus + 1));
      const Translation translation = atu_->translate(static_cast<Vpid>(arguments.number_after("by")),
                                                      region->second.nla + offset, access_of(arguments));
      if (translation.ok) {
        say(name, ": page ", translation.page, ", ", translation.cycles, " cycles");
      } else {
        say(name, ": fault, ", translation.cycles, " cycles");
      }
    } else {
      const auto region = regions_.find(name);
      if (region == regions_.end()) return false;
      if (step == "flushed") {
        say(name, atu_->is_flushed(region->second.nla) ? ": flushed" : ": in use");
      } else {
        const auto owner = static_cast<Vpid>(arguments.number_after("by"));
        say(name, atu_->revoke(owner, region->second.nla, region->second.pages) ? ": revoked" : ": refused");
      }
    }
    return true;
  }

  bool run_links(const std::string& step, Arguments& arguments) {
    if (step == "nodes") {
      const std::uint64_t nodes = arguments.number(1);
      if (nodes < 1 || nodes > 16) return false;
      network_ = carrier_.connect(nodes);
      links_.clear();
      sinks_.clear();
      for (std::size_t node = 0; node < nodes; ++node) {
        links_.push_back(std::make_unique<Links>(network_->port(static_cast<NodeId>(node)), LinkOptions{}));
        sinks_.emplace_back();
      }
      return true;
    }
    if (step == "run") {
      run_until([&] { return is_idle(); });
      report();
      return true;
    }
    if (step == "pass" && !links_.empty()) {
      const std::uint64_t end = now_ + arguments.number(1) * 1'000;
      run_until([&] { return now_ >= end; });
      return true;
    }
    const bool is_of_links =
        step == "send" || step == "hold" || step == "release" || step == "cut" || step == "mend" || step == "restart";
    const std::uint64_t node = is_of_links && !links_.empty() ? arguments.number(1) : links_.size();
    if (node >= links_.size()) return false;
    if (step == "cut") {
      network_->cut(static_cast<NodeId>(node));
    } else if (step == "mend") {
      network_->mend(static_cast<NodeId>(node));
    } else if (step == "restart") {
      links_[node].reset();
      network_->restart(static_cast<NodeId>(node));
      links_[node] = std::make_unique<Links>(network_->port(static_cast<NodeId>(node)), LinkOptions{});
      std::destroy_at(&sinks_[node]);
      std::construct_at(&sinks_[node]);
      std::erase_if(sent_, [&](const auto& way) { return way.first[0] == node; });
    } else if (step != "send") {
      sinks_[node].holds = step == "hold";
    } else {
      const std::uint64_t to = arguments.number(2);
      if (to >= links_.size()) return false;
      const VirtualChannel channel = arguments.at(3) == "high" ? VirtualChannel::High : VirtualChannel::Low;
      const std::uint64_t wanted = arguments.number(4);
      std::uint64_t sent = 0;
      SendResult result = SendResult::Sent;
      run_until([&] {
        while (sent < wanted) {
          std::uint64_t& number = sent_[{node, to, static_cast<std::uint64_t>(channel)}];
          std::array<std::byte, sizeof(number)> packet;
          std::memcpy(packet.data(), &number, sizeof(number));
          result = links_[node]->send(static_cast<NodeId>(to), channel, packet, arguments.has("early"), now_);
          if (result != SendResult::Sent) break;
          ++number;
          ++sent;
        }
        return sent == wanted || result == SendResult::Lost;
      });
      say("sent ", sent, " of ", wanted,
          result == SendResult::Sent   ? ""
          : result == SendResult::Full ? ": full"
                                       : ": lost");
    }
    return true;
  }

  void report() {
    for (std::size_t node = 0; node < sinks_.size(); ++node) {
      const Counter& sink = sinks_[node];
      for (const auto& [way, count] : sink.packets) {
        const auto early = sink.early_packets.find(way);
        say("node ", node, " has ", count, " from ", way.first, way.second == VirtualChannel::High ? " high" : " low",
            early == sink.early_packets.end() ? "" : ", early " + std::to_string(early->second));
      }
      if (!sink.in_order) say("node ", node, ": OUT OF ORDER");
      for (const NodeId lost : sink.lost_peers) say("node ", node, " lost ", lost);
      for (const NodeId back : sink.back) say("node ", node, " has ", back, " again");
    }
  }

  template <class Done>
  void run_until(Done done) {
    for (const std::uint64_t end = now_ + kPatienceNs; !done() && now_ < end;) {
      now_ += kStepNs;
      network_->set_time(now_);
      for (std::size_t node = 0; node < links_.size(); ++node) {
        (void)links_[node]->step(sinks_[node], now_);
        for (const NodeId peer : sinks_[node].forgotten) {
          std::erase_if(sent_, [&](const auto& way) { return way.first[0] == node && way.first[1] == peer; });
        }
        sinks_[node].forgotten.clear();
      }
    }
  }
  [[nodiscard]] bool is_idle() const {
    for (const auto& links : links_) {
      if (!links->is_idle()) return false;
    }
    return true;
  }
  static std::vector<PageNumber> numbers(Arguments& arguments, const std::string& text) {
    std::vector<PageNumber> result;
    std::istringstream in(text);
    for (std::string number; std::getline(in, number, ',');) result.push_back(arguments.to_number(number));
    return result;
  }

  struct Region {
    Nla nla = 0;
    std::size_t pages = 0;
  };

  const Carrier& carrier_;
  const Units& units_;
  HostsScript hosts_;
  TagsScript tags_;
  std::unique_ptr<CommandUnit> commands_ = units_.commands();
  std::uint64_t next_tag_ = 0;
  std::unique_ptr<TranslationUnit> atu_;
  std::map<std::string, Region> regions_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Links>> links_;
  std::deque<Counter> sinks_;
  std::map<std::array<std::uint64_t, 3>, std::uint64_t> sent_;
  std::uint64_t now_ = 0;
};

}  // namespace

Said run_steps(const std::vector<std::string>& steps, const Carrier& carrier, const Units& units) {
  Script script(carrier, units);
  Said result;
  for (const std::string& line : steps) {
    const std::string step = line.substr(0, line.find('#'));
    if (step.find_first_not_of(" \t") == std::string::npos) continue;
    if (!script.run(step)) {
      result.failure = "cannot run '" + line + "'";
      break;
    }
  }
  result.lines = std::move(script.said);
  result.skipped = script.skipped();
  return result;
}

}  // namespace stopbit::nic
