#include "tests/nic/hosts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <sstream>
#include <thread>

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kStepNs = 1'000;
constexpr std::uint64_t kPatienceNs = 200'000'000;

std::uint8_t modifiers_of(const Arguments& arguments) {
  std::uint8_t modifiers = 0;
  if (arguments.has("requester")) modifiers |= kNotifyRequester;
  if (arguments.has("completer")) modifiers |= kNotifyCompleter;
  if (arguments.has("responder")) modifiers |= kNotifyResponder;
  if (arguments.has("acknowledge")) modifiers |= kAcknowledge;
  if (arguments.has("refusal")) modifiers |= kNotifyRefusal;
  return modifiers;
}

/// "1,2,-,4": what goes into a PutWords, and where nothing goes.
bool put_bytes_into(Command& command, const std::string& text, Arguments& arguments) {
  std::array<std::uint64_t, 3> words{};
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(words));
  std::istringstream in(text);
  for (std::string byte; std::getline(in, byte, ','); ++command.length) {
    if (command.length == bytes.size()) return false;
    if (byte == "-") {
      command.mask |= 1U << command.length;
    } else {
      bytes[command.length] = static_cast<std::byte>(arguments.to_number(byte));
    }
  }
  command.address = words[0];
  command.more = words[1];
  if (command.length > 2 * sizeof(std::uint64_t)) command.tag = words[2];
  if (arguments.has("event"))
    command.mask |= static_cast<std::uint32_t>(arguments.number_after("event")) << kMaxWordsBytes;
  return true;
}

}  // namespace

bool HostsScript::run(const std::string& step, Arguments& arguments) {
  if (step == "hosts") {
    const std::uint64_t nodes = arguments.number(1);
    if (nodes < 1 || nodes > 16) return false;
    options_ = {};
    if (arguments.has("windows")) options_.windows = arguments.number_after("windows");
    if (arguments.has("outstanding")) options_.outstanding = arguments.number_after("outstanding");
    channels_.clear();
    syncs_ = std::make_unique<Syncs>();
    barriers_ = {};
    hosts_.clear();
    forget_segments();
    memories_.clear();  // unpinned memory outlives the node that uses it
    network_ = carrier_.connect(nodes);
    for (std::size_t node = 0; node < nodes; ++node) {
      hosts_.push_back(make_host(static_cast<NodeId>(node), nodes));
    }
    return true;
  }
  if (hosts_.empty() || !skipped_.empty()) return !hosts_.empty();
  if (step == "settle") return settle();
  if (step == "do") return run_command(arguments);
  if (step == "notices") {
    if (arguments.size() > 1) await_notifications(arguments.number(1));
    say_notifications();
    return true;
  }
  return run_port(step, arguments) || run_memory(step, arguments) || run_window(step, arguments) ||
         run_channel(step, arguments) || run_message(step, arguments) || run_segments(step, arguments) ||
         run_sync(step, arguments) || run_barrier(step, arguments);
}

void HostsScript::step_hosts() {
  network_->set_time(now_ += kStepNs);
  for (auto& [name, memory] : memories_) {
    if (memory.unpinned) memory.unpinned->step();
  }
  for (const auto& host : hosts_) host->step(now_);
}

/// Its memory goes with it; the names of its windows stay with those who have heard of them.
void HostsScript::restart(NodeId node) {
  channels_.clear();
  syncs_ = std::make_unique<Syncs>();
  barriers_ = {};
  std::erase_if(memories_, [&](const auto& memory) { return memory.second.place.node == node; });
  hosts_[node].reset();
  network_->restart(node);
  hosts_[node] = make_host(node, hosts_.size());
}

std::unique_ptr<Host> HostsScript::make_host(NodeId node, std::size_t nodes) const {
  return std::make_unique<Host>(network_->port(node), LinkOptions{}, options_,
                                units_.messages ? units_.messages(node, nodes) : nullptr,
                                units_.rma ? units_.rma(node, nodes) : nullptr);
}

bool HostsScript::run_channel(const std::string& step, Arguments& arguments) {
  if (step == "channel") {
    Place from;
    Place to;
    const ChannelLayout layout{static_cast<std::uint32_t>(arguments.number_after("slots")),
                               static_cast<std::uint32_t>(arguments.number_after("bytes"))};
    if (!layout.is_sound()) {
      say(arguments.at(1), ": refused");
      return true;
    }
    if (layout.max_message() < 8 || !parse(arguments.after("from"), from, arguments) ||
        !parse(arguments.after("to"), to, arguments) || port_at(from) == nullptr || port_at(to) == nullptr) {
      return false;
    }
    const auto event = static_cast<std::uint8_t>(channels_.size() + 1);  // of both ends
    channels_[arguments.at(1)] = std::make_unique<NumberedChannel>(*hosts_[from.node], from.vpid, from.node,
                                                                   *hosts_[to.node], to.vpid, to.node, layout, event);
    return true;
  }
  if (step != "stall" && step != "unstall" && step != "stream") return false;
  const auto channel = channels_.find(arguments.at(1));
  if (channel == channels_.end()) return false;
  if (step != "stream") {
    channel->second->is_stalled = step == "stall";
    return true;
  }
  // All channels at once: "stream A 100" gives A 100 more, while the others only read.
  const std::uint64_t wanted = arguments.number(2);
  std::uint64_t sent = 0;
  ChannelResult result = ChannelResult::Done;
  std::uint64_t quiet = 0;
  bool in_order = true;
  const auto arrived = [&] { return channel->second->received() == channel->second->sent(); };
  while (quiet < 1'000 && (sent < wanted || !arrived())) {
    ++quiet;
    while (sent < wanted && (result = channel->second->send()) == ChannelResult::Done) {
      ++sent;
      quiet = 0;
    }
    step_hosts();
    for (const auto& [name, each] : channels_) {
      const std::uint64_t before = each->received();
      if (!each->is_stalled && !each->receive()) in_order = false;
      if (each->received() != before) quiet = 0;
    }
  }
  say(arguments.at(1), ": sent ", sent, " of ", wanted, result == ChannelResult::NoCredit ? ", no credit" : "",
      ", received ", channel->second->received(), in_order ? "" : ", OUT OF ORDER");
  return true;
}

bool HostsScript::run_port(const std::string& step, Arguments& arguments) {
  Place place;
  if (step == "cut" || step == "mend" || step == "restart") {
    const std::uint64_t number = arguments.number(1);
    if (number >= hosts_.size()) return false;
    const auto node = static_cast<NodeId>(number);
    if (step == "cut") network_->cut(node);
    if (step == "mend") network_->mend(node);
    if (step == "restart") restart(node);
  } else if (step == "pass") {
    for (const std::uint64_t end = now_ + arguments.number(1) * 1'000; now_ < end;) step_hosts();
  } else if (step == "open") {
    if (!parse(arguments.at(1), place, arguments)) return false;
    const auto domain = arguments.has("domain") ? static_cast<Pdid>(arguments.number_after("domain")) : Pdid{0};
    (void)hosts_[place.node]->open_client(place.vpid, domain, scratch_.folder());
  } else if (step == "close") {
    if (!parse(arguments.at(1), place, arguments) || port_at(place) == nullptr) return false;
    syncs_->kill({place.node, place.vpid});
    barriers_.kill({place.node, place.vpid});
    hosts_[place.node]->close(place.vpid);
  } else if (step == "events") {
    if (!parse(arguments.at(1), place, arguments)) return false;
    HostPort* const port = port_at(place);
    const std::uint64_t event = arguments.number(2);
    if (port == nullptr || event == 0 || event >= EventLayout::kEvents) return false;
    std::uint64_t count = 0;
    while (port->events.poll(event)) ++count;
    say("event ", event, " of ", arguments.at(1), ": ", count);
  } else {
    return false;
  }
  return true;
}

bool HostsScript::add_memory(const std::string& step, Arguments& arguments) {
  Memory memory;
  const std::uint64_t pages = arguments.number_after("pages");
  if (!parse(arguments.at(1), memory.place, arguments) || pages == 0 || pages > 1024) return false;
  Host& host = *hosts_[memory.place.node];
  memory.bytes = pages * kPageBytes;
  const Access access = access_of(arguments);
  if (step == "memory") {
    memory.registered = host.add_memory(memory.place.vpid, pages, access);
    if (!memory.registered) return false;
    memory.nla = memory.registered->nla;
  } else {
    if (!Unpinned::can_be()) {
      skipped_ = "the kernel has no userfaultfd for this process";
      return true;
    }
    memory.unpinned = Unpinned::make(pages, access);
    if (!memory.unpinned) return false;
    const auto nla = host.atu.register_paged(memory.place.vpid, memory.unpinned->memory(), access);
    if (!nla) return false;
    memory.nla = *nla;
  }
  memories_[arguments.at(2)] = std::move(memory);
  return true;
}

bool HostsScript::run_memory(const std::string& step, Arguments& arguments) {
  if (step == "memory" || step == "unpinned") return add_memory(step, arguments);
  const auto is_of_memory = [&](const char* other) { return step == other; };
  if (std::ranges::none_of(std::array{"pager", "fill", "show", "word", "compare", "revoke-memory"}, is_of_memory)) {
    return false;
  }
  const At at = parse_at(arguments.at(1), arguments);
  std::vector<std::byte> bytes;
  if (step == "pager") {
    Memory* const memory = memory_at(at, 1);
    if (memory == nullptr || !memory->unpinned) return false;
    memory->unpinned->is_asleep = arguments.at(2) == "sleeps";
  } else if (step == "fill") {
    std::uint64_t value = arguments.number(3);
    bytes.resize(std::min<std::uint64_t>(arguments.number(2), std::uint64_t{1} << 22U));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(value++ % 251);
    return write_bytes(at, bytes);
  } else if (step == "show") {
    bytes.resize(std::min<std::uint64_t>(arguments.number(2), kPageBytes));
    if (!read_bytes(at, bytes)) return false;
    std::ostringstream out;
    for (const std::byte byte : bytes) out << ' ' << static_cast<unsigned>(byte);
    say(arguments.at(1), ":", out.str());
  } else if (step == "word") {
    bytes.resize(sizeof(std::uint64_t));
    if (!read_bytes(at, bytes)) return false;
    std::int64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    say(arguments.at(1), " = ", word);
  } else if (step == "compare") {
    bytes.resize(std::min<std::uint64_t>(arguments.number(3), std::uint64_t{1} << 22U));
    std::vector<std::byte> there(bytes.size());
    if (!read_bytes(at, bytes) || !read_bytes(parse_at(arguments.at(2), arguments), there)) return false;
    const auto where = std::mismatch(bytes.begin(), bytes.end(), there.begin()).first;
    say(arguments.at(1), " and ", arguments.at(2), ": ",
        where == bytes.end() ? "equal" : "differ at byte " + std::to_string(where - bytes.begin()));
  } else if (step == "revoke-memory") {
    const Memory* const memory = memory_at(at, 1);
    if (memory == nullptr) return false;
    const Place owner = memory->place;
    const bool ok = hosts_[owner.node]->rma.revoke(owner.vpid, memory->nla, memory->bytes / kPageBytes);
    say(at.name, ok ? ": revoked" : ": refused");
  } else {
    return false;
  }
  return true;
}

bool HostsScript::run_window(const std::string& step, Arguments& arguments) {
  if (step == "window") {
    WindowOf window;
    if (!parse(arguments.at(1), window.place, arguments)) return false;
    const At at = parse_at(arguments.after("of"), arguments);
    const auto memory = memories_.find(at.name);
    if (memory == memories_.end()) return false;
    const auto name = hosts_[window.place.node]->rma.open_window(
        window.place.vpid, memory->second.nla + at.offset, arguments.number_after("bytes"), access_of(arguments),
        arguments.has("domain") ? std::optional(static_cast<Pdid>(arguments.number_after("domain"))) : std::nullopt);
    if (name) {
      window.name = *name;
      windows_[arguments.at(2)] = window;
    }
    say(arguments.at(2), name ? ": open" : ": refused");
    return true;
  }
  if (step != "close-window" && step != "break-lock") return false;
  const auto window = windows_.find(arguments.at(1));
  if (window == windows_.end()) return false;
  Rma& rma = hosts_[window->second.place.node]->rma;
  const Vpid by = arguments.has("by") ? static_cast<Vpid>(arguments.number_after("by")) : window->second.place.vpid;
  const bool ok =
      step == "break-lock" ? rma.break_lock(by, window->second.name.id) : rma.close_window(by, window->second.name.id);
  say(arguments.at(1), ok ? (step == "break-lock" ? ": lock broken" : ": closed") : ": refused");
  return true;
}

bool HostsScript::run_command(Arguments& arguments) {
  Place by;
  if (!parse(arguments.at(1), by, arguments)) return false;
  HostPort* const port = port_at(by);
  if (port == nullptr) return false;
  const std::string& what = arguments.at(2);
  Command command;
  command.modifiers = modifiers_of(arguments);
  if (arguments.has("tag")) command.tag = arguments.number_after("tag");
  if (arguments.has("event")) command.more = arguments.number_after("event");
  std::string target;  // a window, or a port
  bool is_window = true;
  if (what == "put" || what == "get") {
    command.operation = what == "put" ? Operation::Put : Operation::Get;
    const At at = parse_at(arguments.at(3), arguments);
    const auto memory = memories_.find(at.name);
    if (memory == memories_.end()) return false;
    command.address = memory->second.nla + at.offset;
    command.length = static_cast<std::uint32_t>(arguments.number(4));
    target = arguments.at(5);
  } else if (what == "word") {
    command.operation = Operation::ImmediatePut;
    command.address = arguments.signed_number(3);
    target = arguments.at(4);
  } else if (what == "add") {
    command.operation = Operation::FetchAdd;
    command.address = arguments.signed_number(3);
    target = arguments.at(4);
  } else if (what == "swap" || what == "lock") {
    command.operation = what == "swap" ? Operation::CompareSwap : Operation::FetchCompareAdd;
    command.address = arguments.signed_number(3);
    command.more = arguments.signed_number(4);
    target = arguments.at(5);
  } else if (what == "replace" || what == "synchronize") {
    command.operation = what == "replace" ? Operation::Swap : Operation::Synchronize;
    command.address = arguments.signed_number(3);
    target = arguments.at(4);
  } else if (what == "lock-window" || what == "unlock-window") {
    command.operation = what == "lock-window" ? Operation::LockWindow : Operation::UnlockWindow;
    target = arguments.at(3);
  } else if (what == "notice" || what == "signal") {
    command.operation = what == "notice" ? Operation::NotificationPut : Operation::Signal;
    (what == "notice" ? command.address : command.more) = arguments.number(3);
    target = arguments.at(4);
    is_window = false;
  } else if (what == "put-words") {
    command.operation = Operation::PutWords;
    if (!put_bytes_into(command, arguments.at(3), arguments)) return false;
    target = arguments.at(4);
  } else if (what == "get-words") {
    command.operation = Operation::GetWords;
    command.length = static_cast<std::uint32_t>(arguments.number(3));
    target = arguments.at(4);
  } else if (what == "fence") {
    command.operation = Operation::Fence;
    command.modifiers |= kNotifyRequester;
    const FenceOf of = arguments.has("reads")    ? FenceOf::Reads
                       : arguments.has("writes") ? FenceOf::Writes
                                                 : FenceOf::All;
    command.more = static_cast<std::uint64_t>(of);
  } else if (what == "nonsense") {
    command.operation = Operation::Put;
    command.modifiers = 0xFF;
  } else {
    return false;
  }
  if (!target.empty()) {
    Place to;
    if (is_window) {
      const At at = parse_at(target, arguments);
      const auto window = windows_.find(at.name);
      if (window == windows_.end()) return false;
      to = window->second.place;
      command.window = window->second.name.id;
      command.capability = window->second.name.capability;
      command.offset = at.offset;
    } else {
      const std::size_t dot = target.find('.');
      if (dot == std::string::npos) return false;
      to = {static_cast<NodeId>(arguments.to_number(std::string_view(target).substr(0, dot))),
            static_cast<Vpid>(arguments.to_number(std::string_view(target).substr(dot + 1)))};
    }
    command.target_node = to.node;
    command.target_vpid = to.vpid;
  }
  if (arguments.has("forged")) command.capability ^= 1;
  if (arguments.has("as-window")) command.window = static_cast<std::uint16_t>(arguments.number_after("as-window"));
  if (arguments.has("as-port")) command.target_vpid = static_cast<Vpid>(arguments.number_after("as-port"));
  const std::uint64_t times = arguments.has("times") ? arguments.number_after("times") : 1;
  for (std::uint64_t i = 0; i < times; ++i) {
    for (const std::uint64_t end = now_ + kPatienceNs; port->queue.insert({&command, 1}).reply == Reply::Full;) {
      if (now_ >= end) return false;
      step_hosts();
    }
  }
  return true;
}

bool HostsScript::settle() {
  const auto is_idle = [&] {
    return std::all_of(hosts_.begin(), hosts_.end(), [](const auto& host) { return host->is_idle(); });
  };
  for (const std::uint64_t end = now_ + kPatienceNs;;) {
    step_hosts();
    barriers_.step();
    if (!syncs_->step() && is_idle()) break;
    if (now_ >= end) {
      say("DOES NOT SETTLE");
      break;
    }
  }
  say_notifications();
  for (const std::string& line : syncs_->news()) said_.push_back(line);
  for (const std::string& line : barriers_.news()) said_.push_back(line);
  return true;
}

/// "members 0.1,1.2": open ports.
std::optional<std::vector<Syncs::Place>> HostsScript::members_of(Arguments& arguments) {
  std::vector<Syncs::Place> members;
  std::istringstream in(arguments.after("members"));
  for (std::string text; std::getline(in, text, ',');) {
    Place place;
    if (!parse(text, place, arguments) || port_at(place) == nullptr) return std::nullopt;
    members.emplace_back(place.node, place.vpid);
  }
  return members.empty() ? std::nullopt : std::optional(members);
}

bool HostsScript::run_barrier(const std::string& step, Arguments& arguments) {
  if (step == "barrier") {
    const auto members = members_of(arguments);
    if (!members) return false;
    const auto event = static_cast<std::uint8_t>(arguments.number_after("event"));
    if (!barriers_.make(arguments.at(1), event, *members, hosts_)) say(arguments.at(1), ": refused");
    return true;
  }
  Place place;
  return step == "arrive" && parse(arguments.at(2), place, arguments) &&
         barriers_.arrive(arguments.at(1), {place.node, place.vpid});
}

bool HostsScript::run_sync(const std::string& step, Arguments& arguments) {
  if (step == "lock" || step == "queue" || step == "semaphore") {
    Place home;
    const auto members = members_of(arguments);
    if (!members || !parse(arguments.after("home"), home, arguments)) return false;
    const auto kind = step == "lock"    ? Syncs::Kind::Lock
                      : step == "queue" ? Syncs::Kind::Queue
                                        : Syncs::Kind::Semaphore;
    const std::uint64_t count = arguments.has("count") ? arguments.number_after("count") : 0;
    const Access access = arguments.has("read") ? Access::Read : Access::ReadWrite;
    return syncs_->make(arguments.at(1), kind, static_cast<std::uint16_t>(count), {home.node, home.vpid}, access,
                        *members, hosts_);
  }
  if (step == "close-home") return syncs_->close_home(arguments.at(1), hosts_);
  if (step == "impatience") {
    syncs_->grow_impatient();
    return settle();
  }
  if (step != "acquire" && step != "release-lock" && step != "wait" && step != "wake") return false;
  Place place;
  if (!parse(arguments.at(2), place, arguments)) return false;
  return syncs_->begin(arguments.at(1), {place.node, place.vpid}, step == "release-lock" ? "release" : step);
}

/// Moves what has arrived to `arrived_`, as text.
void HostsScript::take_notifications() {
  for (std::size_t node = 0; node < hosts_.size(); ++node) {
    for (auto& [vpid, port] : hosts_[node]->of_port) {
      Notification told;
      while (port->notifications.take(told)) {
        std::ostringstream out;
        out << node << '.' << vpid << ": " << to_text(told.teller) << ' ' << to_text(told.operation);
        // The tag of a message has 8 bits; above them the notification has those of the command's.
        const bool is_message = told.operation == Operation::FastSend || told.operation == Operation::SendPart;
        if (const std::uint64_t tag = is_message ? told.tag & 0xFFU : told.tag; tag != 0) out << " tag " << tag;
        if (told.operation != Operation::Fence) out << ", with " << told.node << '.' << told.vpid;
        if (told.length != 0) out << ", " << told.length << " bytes";
        if (told.value != 0 && told.operation != Operation::GetWords)
          out << ", value " << static_cast<std::int64_t>(told.value);
        const bool is_atomic = told.operation == Operation::CompareSwap || told.operation == Operation::FetchCompareAdd;
        if (is_atomic && told.teller == Teller::Completer && told.error == Error::None) {
          out << (told.success != 0 ? ", done" : ", not done");
        }
        if (told.operation == Operation::GetWords && told.teller == Teller::Completer && told.error == Error::None) {
          const std::array words{told.value, told.more[0], told.more[1]};
          out << ':';
          for (const std::byte byte : std::as_bytes(std::span(words)).first(std::min<std::size_t>(told.length, 24))) {
            out << ' ' << static_cast<unsigned>(byte);
          }
        }
        if (told.error != Error::None) out << ": " << to_name(told.error);
        arrived_[{node, vpid}].push_back(out.str());
      }
    }
  }
}

void HostsScript::say_notifications() {
  take_notifications();
  for (auto& [port, lines] : arrived_) said_.insert(said_.end(), lines.begin(), lines.end());
  arrived_.clear();
}

/// Real carriers take their own time: so many must arrive, whenever that is.
void HostsScript::await_notifications(std::uint64_t count) {
  const auto has_all = [&] {
    take_notifications();
    std::uint64_t arrived = 0;
    for (const auto& [port, lines] : arrived_) arrived += lines.size();
    return arrived >= count;
  };
  for (const std::uint64_t end = now_ + kPatienceNs; !has_all() && now_ < end;) {
    step_hosts();
    std::this_thread::yield();
  }
}

bool HostsScript::parse(const std::string& text, Place& place, Arguments& arguments) const {
  const std::size_t dot = text.find('.');
  if (dot == std::string::npos) return false;
  const std::uint64_t node = arguments.to_number(std::string_view(text).substr(0, dot));
  const std::uint64_t vpid = arguments.to_number(std::string_view(text).substr(dot + 1));
  if (node >= hosts_.size() || vpid >= Host::kPorts) return false;
  place = {static_cast<NodeId>(node), static_cast<Vpid>(vpid)};
  return true;
}

HostsScript::At HostsScript::parse_at(const std::string& text, Arguments& arguments) const {
  const std::size_t plus = text.find('+');
  if (plus == std::string::npos) return {text, 0};
  return {text.substr(0, plus), arguments.to_number(std::string_view(text).substr(plus + 1))};
}

HostsScript::Memory* HostsScript::memory_at(const At& at, std::uint64_t bytes) {
  const auto memory = memories_.find(at.name);
  if (memory == memories_.end()) return nullptr;
  const std::uint64_t size = memory->second.bytes;
  return at.offset <= size && bytes <= size - at.offset ? &memory->second : nullptr;
}

bool HostsScript::read_bytes(const At& at, std::vector<std::byte>& into) {
  Memory* const memory = memory_at(at, into.size());
  if (memory == nullptr) return false;
  if (memory->unpinned) return memory->unpinned->read(at.offset, into);
  std::ranges::copy(memory->registered->bytes().subspan(at.offset, into.size()), into.begin());
  return true;
}

bool HostsScript::write_bytes(const At& at, std::span<const std::byte> bytes) {
  Memory* const memory = memory_at(at, bytes.size());
  if (memory == nullptr) return false;
  if (memory->unpinned) return memory->unpinned->write(at.offset, bytes);
  std::ranges::copy(bytes, memory->registered->bytes().begin() + static_cast<std::ptrdiff_t>(at.offset));
  return true;
}

HostPort* HostsScript::port_at(const Place& place) {
  const auto port = hosts_[place.node]->of_port.find(place.vpid);
  return port == hosts_[place.node]->of_port.end() ? nullptr : port->second.get();
}

}  // namespace stopbit::nic
