// Steps about mailboxes of segments.

#include "tests/nic/hosts.hpp"

namespace stopbit::nic {

struct HostsScript::Segments {
  Segments(const Page& page, Priority priority, std::unique_ptr<Registered> memory, std::uint32_t places,
           std::uint32_t slot)
      : list_memory(std::move(memory)),
        list(reinterpret_cast<SegmentDescriptor*>(list_memory->bytes().data()), places),
        slot_bytes(slot),
        reader(page, priority, list, slot) {}

  std::unique_ptr<Registered> list_memory;
  std::span<SegmentDescriptor> list;
  std::uint32_t slot_bytes;
  SegmentReader reader;
  std::vector<std::unique_ptr<Registered>> segments;
};

HostsScript::HostsScript(const Carrier& carrier, const Units& units, std::vector<std::string>& said)
    : carrier_(carrier), units_(units), said_(said) {}
HostsScript::~HostsScript() = default;

void HostsScript::forget_segments() {
  segments_.clear();
}

SegmentReader* HostsScript::segments_at(const Place& place, Priority priority) {
  const auto found = segments_.find({place.node, place.vpid, priority});
  return found == segments_.end() ? nullptr : &found->second->reader;
}

bool HostsScript::run_segments(const std::string& step, Arguments& arguments) {
  if (step != "segments" && step != "segment" && step != "descriptor" && step != "revoke-segment" &&
      step != "revoke-list" && step != "stop-segments") {
    return false;
  }
  Place place;
  if (!parse(arguments.at(1), place, arguments)) return false;
  HostPort* const port = port_at(place);
  if (port == nullptr) return false;
  Host& host = *hosts_[place.node];
  const Priority priority = arguments.at(2) == "high" ? Priority::High : Priority::Low;
  const std::string name = arguments.at(1) + " " + arguments.at(2);
  auto& ring = segments_[{place.node, place.vpid, priority}];
  if (step == "segments") {
    const auto places = static_cast<std::uint32_t>(arguments.number_after("places"));
    const auto slot_bytes = static_cast<std::uint32_t>(arguments.number_after("slot"));
    auto list = host.add_memory(place.vpid, 1, Access::Read);
    if (!list || places > kMaxSegments * 2) return false;
    const SegmentRing asked{list->nla, places, slot_bytes,
                            arguments.has("hold") ? arguments.number_after("hold") * 1'000 : 0};
    const Error error = host.messages.start_ring(place.vpid, priority, asked, host.atu);
    if (error != Error::None) {
      say(name, ": refused, ", to_name(error));
    } else {
      ring = std::make_unique<Segments>(port->page, priority, std::move(list), places, slot_bytes);
    }
    return true;
  }
  if (!ring) return false;
  const auto revoke = [&](Registered& memory) {
    return host.rma.revoke(place.vpid, memory.nla, memory.bytes().size() / kPageBytes);
  };
  if (step == "segment") {
    const std::uint64_t slots = arguments.number(3);
    if (slots == 0 || slots > kMaxSegmentSlots) return false;
    const std::size_t bytes = slots * ring->slot_bytes;
    auto memory = host.add_memory(place.vpid, (bytes + kPageBytes - 1) / kPageBytes, Access::ReadWrite);
    if (!memory) return false;
    if (!ring->reader.add(memory->nla, memory->bytes().first(bytes))) say(name, ": the list is full");
    ring->segments.push_back(std::move(memory));
  } else if (step == "descriptor") {  // of a port that writes what it likes
    const At at = parse_at(arguments.at(3), arguments);
    const auto memory = memories_.find(at.name);
    if (memory == memories_.end()) return false;
    const auto word = port->page.word(posted_word(priority));
    ring->list[word.load() % ring->list.size()] = {
        memory->second.nla + at.offset, static_cast<std::uint32_t>(arguments.number_after("slots")),
        arguments.has("zero") ? static_cast<std::uint32_t>(arguments.number_after("zero")) : 0U};
    word.store(word.load() + 1);
  } else if (step == "revoke-segment") {
    const std::uint64_t number = arguments.number(3);
    if (number >= ring->segments.size()) return false;
    say(name, " segment ", number, revoke(*ring->segments[number]) ? ": revoked" : ": refused");
  } else if (step == "revoke-list") {
    say(name, revoke(*ring->list_memory) ? " list: revoked" : " list: refused");
  } else if (step == "stop-segments") {
    host.messages.stop_ring(place.vpid, priority);
  } else {
    return false;
  }
  return true;
}

}  // namespace stopbit::nic
