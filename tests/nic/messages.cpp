// Steps about messages.

#include <algorithm>
#include <array>

#include "tests/nic/hosts.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kPatienceNs = 200'000'000;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    if (part != "-") parts.push_back(part);
  }
  return parts;
}

}  // namespace

bool HostsScript::run_message(const std::string& step, Arguments& arguments) {
  if (step == "group") {
    const std::uint64_t node = arguments.number(1);
    if (node >= hosts_.size()) return false;
    MessageGroup group;
    group.domain = static_cast<Pdid>(arguments.number_after("domain"));
    for (const std::string& port : split(arguments.after("ports"))) {
      group.ports.push_back(static_cast<Vpid>(arguments.to_number(port)));
    }
    for (const std::string& other : split(arguments.after("nodes"))) {
      group.nodes.push_back(static_cast<NodeId>(arguments.to_number(other)));
    }
    hosts_[node]->messages.set_group(static_cast<GroupId>(arguments.number(2)), std::move(group));
    return true;
  }
  if (step != "message" && step != "mail" && step != "stop" && step != "start" && step != "supervisor") return false;
  Place place;
  if (!parse(arguments.at(1), place, arguments)) return false;
  HostPort* const port = port_at(place);
  if (port == nullptr) return false;
  Host& host = *hosts_[place.node];
  if (step == "stop" || step == "start") {
    host.node.enable_port(place.vpid, step == "start");
  } else if (step == "supervisor") {
    host.messages.set_supervisor(place.vpid);
  } else if (step == "mail") {
    say_mail(arguments.at(1), place, *port, arguments.at(2) == "high" ? Priority::High : Priority::Low);
  } else {
    return send_message(place, arguments);
  }
  return true;
}

bool HostsScript::send_message(const Place& from, Arguments& arguments) {
  SendHow how;
  how.to_group = arguments.at(2) == "group";
  NodeId node = 0;
  Vpid target = 0;
  std::string words;
  if (how.to_group) {
    target = static_cast<Vpid>(arguments.number(3));
    words = arguments.at(4);
  } else {
    // Also nodes and ports that there are not.
    const std::string& to = arguments.at(2);
    const std::size_t dot = to.find('.');
    if (dot == std::string::npos) return false;
    node = static_cast<NodeId>(arguments.to_number(std::string_view(to).substr(0, dot)));
    target = static_cast<Vpid>(arguments.to_number(std::string_view(to).substr(dot + 1)));
    words = arguments.at(3);
  }
  if (arguments.has("bytes")) words.resize(std::min<std::uint64_t>(arguments.number_after("bytes"), 5000), '.');
  how.priority = arguments.has("high") ? Priority::High : Priority::Low;
  how.acknowledges = arguments.has("acknowledge");
  how.announces = arguments.has("completer");
  if (arguments.has("tag")) how.tag = static_cast<std::uint8_t>(arguments.number_after("tag"));
  if (arguments.has("type")) how.type = static_cast<std::uint8_t>(arguments.number_after("type"));
  Client& client = *port_at(from)->client;
  const auto bytes = std::as_bytes(std::span(words));
  const auto send = [&] {
    if (!arguments.has("erroneous")) return client.send(node, target, bytes, how);
    PartSender parts = client.begin(node, target, bytes.size() + 1, how);  // the last byte never comes
    const Reply reply = parts.append(bytes).reply;
    return reply == Reply::NoError ? parts.abort() : reply;
  };
  const std::uint64_t times = arguments.has("times") ? arguments.number_after("times") : 1;
  for (std::uint64_t i = 0; i < times; ++i) {
    for (const std::uint64_t end = now_ + kPatienceNs;;) {
      const Reply reply = send();
      if (reply == Reply::NoError) break;
      if (reply != Reply::Full) {
        say(arguments.at(1), ": ", to_text(reply));
        return true;
      }
      if (now_ >= end) return false;
      step_hosts();
    }
  }
  return true;
}

/// Equal ones in a row are one line.
void HostsScript::say_mail(const std::string& name, const Place& place, HostPort& port, Priority priority) {
  MailboxReader& page = priority == Priority::High ? port.high : port.low;
  SegmentReader* const segments = segments_at(place, priority);
  const auto erroneous = [&] { return page.erroneous() + (segments != nullptr ? segments->erroneous() : 0); };
  const std::uint64_t erroneous_before = erroneous();
  std::array<std::byte, kMaxMessageBytes> into;
  std::string last;
  std::uint64_t times = 0;
  const auto flush = [&] {
    if (times != 0)
      say(name, priority == Priority::High ? " high" : " low", times == 1 ? "" : " " + std::to_string(times) + " times",
          ": ", last);
    times = 0;
  };
  const auto poll = [&] {
    const auto head = page.poll(into);
    return head || segments == nullptr ? head : segments->poll(into);
  };
  while (const auto head = poll()) {
    std::ostringstream out;
    const std::string words(reinterpret_cast<const char*>(into.data()), head->length);
    const std::size_t padding = words.find_last_not_of('.') + 1;
    out << '"' << words.substr(0, padding) << '"';
    if (padding != words.size()) out << " and " << words.size() - padding << " dots";
    out << " from " << head->node << '.' << head->vpid;
    if (head->tag != 0) out << ", tag " << unsigned{head->tag};
    if (head->type != 0) out << ", type " << unsigned{head->type};
    if (out.str() != last) flush();
    last = out.str();
    ++times;
  }
  flush();
  if (const std::uint64_t cut = erroneous() - erroneous_before; cut != 0) {
    say(name, priority == Priority::High ? " high" : " low", ": ", cut, " erroneous left out");
  }
  if (last.empty()) say(name, priority == Priority::High ? " high" : " low", ": nothing");
}

}  // namespace stopbit::nic
