#include "host/nic/rma/rma.hpp"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "host/nic/rma/memory.hpp"
#include "host/nic/rma/rma_offload.hpp"
#include "host/nic/sync/word.hpp"
#include "host/nic/word_copy.hpp"

namespace stopbit::nic {
namespace {

/// What `early` says of data that have been written; everything else is an Error, and 0 means that it was not asked.
constexpr std::uint8_t kWritten = 0xFF;
/// A page is not here: the packet stays in the link's window, which is the bounce buffer and the credit, and its bytes
/// are written when its turn comes.
constexpr std::uint8_t kBounced = 0xFE;
constexpr std::uint64_t kFetchAhead = 32;  // pages
constexpr std::uint8_t kTransferModifiers =
    kNotifyRequester | kNotifyCompleter | kNotifyResponder | kAcknowledge | kNotifyRefusal;
constexpr unsigned kMaskEventAt = kMaxWordsBytes;  // of PutWords
constexpr std::uint64_t kNlaEnd = std::uint64_t{1} << kNlaBits;

constexpr bool is_transfer(Operation operation) noexcept {
  return operation >= Operation::Put && operation <= kLastOperation && operation != Operation::SendPart;
}
constexpr bool moves_data(Operation operation) noexcept {
  return operation == Operation::Put || operation == Operation::Get;
}
constexpr bool moves_words(Operation operation) noexcept {
  return operation == Operation::PutWords || operation == Operation::GetWords;
}
/// Whether its length is the command's.
constexpr bool has_length(Operation operation) noexcept {
  return moves_data(operation) || moves_words(operation);
}
constexpr std::uint32_t word_bytes(Operation operation) noexcept {
  return operation == Operation::FetchCompareAdd ? sizeof(std::int32_t) : sizeof(std::uint64_t);
}
/// What a notification may call the tag of this command.
constexpr std::uint64_t tag_of(Operation operation, std::uint64_t tag, std::uint32_t length) noexcept {
  return operation == Operation::PutWords && length > 2 * sizeof(std::uint64_t) ? 0 : tag;
}
/// Whether the origin waits for what the target says.
constexpr bool needs_answer(const Command& command) noexcept {
  switch (command.operation) {
    case Operation::Get:
    case Operation::GetWords:
    case Operation::FetchAdd:
    case Operation::CompareSwap:
    case Operation::FetchCompareAdd:
    case Operation::Swap:
    case Operation::Synchronize:
    case Operation::LockWindow:
    case Operation::UnlockWindow: return true;
    default: return (command.modifiers & kAcknowledge) != 0;
  }
}

/// Whether it may leave before an earlier get is answered.
constexpr bool may_pass_gets(const Command& command) noexcept {
  switch (command.operation) {
    case Operation::Put:  // its bytes may be written early in any case
    case Operation::Get:  // the target serves each port's gets in their order
    case Operation::GetWords: return true;
    default: return false;
  }
}

RmaHeader header_of(std::span<const std::byte> packet) noexcept {
  RmaHeader header;
  std::memcpy(&header, packet.data(), sizeof(header));
  return header;
}

}  // namespace

Rma::Rma(Links& links, Atu& atu, Ports& ports, const RmaOptions& options)
    : links_(links),
      atu_(atu),
      ports_(ports),
      windows_(std::clamp<std::size_t>(options.windows, 1, 65'536)),
      ports_state_(ports.count()),
      jobs_(links.nodes()),
      step_bytes_(std::max<std::size_t>(options.step_bytes / 2, 1)),
      put_errors_(links.nodes() * kVpids) {
  if (links.packet_bytes() < 2 * sizeof(RmaHeader)) throw std::invalid_argument("frames too short for a packet");
  busy_.reserve(ports.count());
  for (Jobs& jobs : jobs_) jobs.all.reserve(kJobs);
  for (PortState& port : ports_state_) {
    port.slots.resize(std::clamp<std::size_t>(options.outstanding, 1, 65'536));
    port.late.resize(links.nodes());
    port.marks.resize(links.nodes());
    port.is_broken.resize(links.nodes());
    port.may_lock.resize(links.nodes());
    port.must_leave.resize(links.nodes());
  }
}

Rma::~Rma() = default;

void Rma::set_engine(RmaEngine& engine) {
  if (windows_.size() > RmaEngine::kWindows) throw std::invalid_argument("the engine has fewer windows than the node");
  offload_ = std::make_unique<RmaOffload>(links_, atu_, ports_, engine,
                                          [this](Vpid vpid, std::uint32_t life, NodeId to, Error error) {
                                            PortState& port = ports_state_[vpid];
                                            if (port.life != life) return;
                                            if (to < port.marks.size())
                                              port.marks[to] = links_.sent(to, VirtualChannel::Low);
                                            if (error == Error::RouteBroken) return end_command(vpid, error);
                                            if (error != Error::None)
                                              ++counters_.own_error[static_cast<std::size_t>(error)];
                                            port.is_busy = port.is_offloaded = false;
                                          });
  first_slot_ = RmaEngine::kSlots;
  for (PortState& port : ports_state_)
    port.slots.resize(std::min<std::size_t>(port.slots.size(), 65'536 - first_slot_));
}

std::size_t Rma::data_bytes() const noexcept {
  const std::size_t room = links_.packet_bytes() - sizeof(RmaHeader);
  return offload_ == nullptr ? room : std::min(room, RmaEngine::kDataBytes);
}

void Rma::open_port(Vpid vpid) {
  if (offload_ != nullptr) offload_->set_port(vpid, {true, ports_.domain(vpid), ports_state_[vpid].life});
}

// Windows.

/// It has changed.
void Rma::report(const MemoryWindow& window) {
  if (offload_ == nullptr) return;
  offload_->set_window(static_cast<std::uint16_t>(&window - windows_.data()), window);
}

std::optional<WindowName> Rma::open_window(Vpid owner, Nla first, std::uint64_t bytes, Access access,
                                           std::optional<Pdid> open_to) {
  if (!ports_.is_open(owner) || bytes == 0 || !is_registered(owner, first, bytes, access)) return std::nullopt;
  const auto free = std::find_if_not(windows_.begin(), windows_.end(), [](const MemoryWindow& w) { return w.is_open; });
  if (free == windows_.end()) return std::nullopt;
  Capability capability = 0;
  if (::getrandom(&capability, sizeof(capability), 0) != sizeof(capability)) return std::nullopt;
  *free = {{true, false, owner, access, 0, 0, first, bytes, capability, open_to}, {}};
  report(*free);
  return WindowName{static_cast<std::uint16_t>(free - windows_.begin()), capability};
}

bool Rma::close_window(Vpid owner, std::uint16_t id) {
  if (id >= windows_.size() || !windows_[id].is_open || windows_[id].owner != owner) return false;
  windows_[id] = {};
  report(windows_[id]);
  return true;
}

std::size_t Rma::windows(Vpid owner) const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      windows_, [&](const MemoryWindow& window) { return window.is_open && window.owner == owner; }));
}

WindowUse Rma::use(Vpid owner, std::uint16_t id) const noexcept {
  if (id >= windows_.size() || !windows_[id].is_open || windows_[id].owner != owner) return {};
  return windows_[id].use;
}

bool Rma::break_lock(Vpid owner, std::uint16_t id) {
  if (id >= windows_.size() || !windows_[id].is_open || windows_[id].owner != owner) return false;
  const bool was_locked = std::exchange(windows_[id].is_locked, false);
  report(windows_[id]);
  return was_locked;
}

bool Rma::revoke(Vpid owner, Nla first, std::size_t pages) {
  if (!atu_.revoke(owner, first, pages)) return false;
  const std::uint64_t begin = nla_page(first);
  for (MemoryWindow& window : windows_) {
    const bool touches = nla_page(window.first) < begin + pages && nla_page(window.first + window.bytes - 1) >= begin;
    if (!window.is_open || window.owner != owner || !touches) continue;
    window = {};
    report(window);
  }
  // What the port has under way there must not go on when the addresses are given away again.
  const auto is_there = [&](const Command& command) {
    return moves_data(command.operation) && nla_page(command.address) < begin + pages &&
           nla_page(command.address + command.length - 1) >= begin;
  };
  PortState& port = ports_state_[owner];
  // What the engine has begun, it ends itself when it looks the next page up.
  const bool is_begun = port.is_offloaded && offload_->holds(owner);
  if (port.is_busy && !is_begun && is_there(port.command)) {
    abandon_put(owner, Error::OriginWindow);
    end_command(owner, Error::OriginWindow);
  }
  for (Outstanding& slot : port.slots) {
    if (slot.is_used && slot.error == Error::None && is_there(slot.command)) slot.error = Error::OriginWindow;
  }
  return true;
}

void Rma::close_port(Vpid vpid) {
  for (MemoryWindow& window : windows_) {
    if (!window.is_open || window.owner != vpid) continue;
    window = {};
    report(window);
  }
  free_locks(links_.node(), vpid);
  PortState& port = ports_state_[vpid];
  if (port.is_busy) abandon_put(vpid, Error::OriginVpid);
  for (std::size_t node = 0; node < port.may_lock.size(); ++node) {
    if (!port.may_lock[node]) continue;
    port.may_lock[node] = false;
    if (node == links_.node() || links_.is_lost(static_cast<NodeId>(node)) || port.must_leave[node]) continue;
    port.must_leave[node] = true;
    ++farewells_;
  }
  for (Outstanding& slot : port.slots) {
    if (slot.is_used) {
      slot.is_used = false;
      ++slot.generation;
      links_.expect_less(slot.command.target_node);
    }
  }
  port.is_busy = port.has_slot = port.is_offloaded = false;
  port.waiting = port.reading = 0;
  port.late.assign(port.late.size(), 0);
  ++port.life;
  port.is_broken.assign(port.is_broken.size(), false);
  if (offload_ == nullptr) return;
  offload_->set_port(vpid, {false, 0, port.life});
  offload_->close(vpid);
}

// The requester.

Error Rma::check_command(Vpid vpid, const Command& command) const noexcept {
  if (!ports_.is_open(vpid)) return Error::OriginVpid;
  if (!is_transfer(command.operation) || (command.modifiers & ~kTransferModifiers) != 0) return Error::Command;
  if (command.operation == Operation::Fence) {
    return command.more > static_cast<std::uint64_t>(FenceOf::Writes) ? Error::Command : Error::None;
  }
  if (command.target_node >= links_.nodes()) return Error::Route;
  if (moves_data(command.operation)) {
    if (command.length == 0 || command.length > kMaxTransferBytes) return Error::OriginLength;
    if (command.address >= kNlaEnd || kNlaEnd - command.address < command.length) return Error::OriginWindow;
  }
  if (moves_words(command.operation) && (command.length == 0 || command.length > kMaxWordsBytes)) {
    return Error::OriginLength;
  }
  return Error::None;
}

void Rma::start(Vpid vpid, const Command& command, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  ++counters_.started;
  PortState& port = ports_state_[vpid];
  port.command = command;
  port.is_busy = true;
  port.has_slot = false;
  port.sent = 0;
  // The engine checks what it carries out.
  port.is_offloaded = offload_ != nullptr && offload_->starts(vpid, command);
  Error error = port.is_offloaded ? Error::None : check_command(vpid, command);
  if (error == Error::None && !port.is_offloaded && moves_data(command.operation)) {
    // All of it, before the first byte leaves: a command that is refused changes nothing.
    const Access access = command.operation == Operation::Put ? Access::Read : Access::Write;
    if (!is_registered(vpid, command.address, command.length, access)) error = Error::OriginWindow;
  }
  if (error != Error::None) return end_command(vpid, error);
  (void)advance(vpid, now_ns);
  if (is_busy(vpid) && !port.is_listed) {
    port.is_listed = true;
    busy_.push_back(vpid);
  }
}

bool Rma::advance(Vpid vpid, std::uint64_t now_ns) {
  PortState& port = ports_state_[vpid];
  const Command& command = port.command;
  if (offload_ != nullptr && offload_->holds(vpid)) return false;
  if (command.operation == Operation::Fence) return advance_fence(vpid);
  if (port.is_offloaded) return advance_offloaded(vpid, now_ns);
  const NodeId to = command.target_node;
  if (links_.is_lost(to)) {
    end_command(vpid, Error::RouteBroken);
    return true;
  }
  if (port.must_leave[to]) return false;  // that node must first hear that this VPID's previous owner closed
  if (is_late(vpid, to) && !may_pass_gets(command)) return false;
  if (needs_answer(command) && !port.has_slot) {
    const auto free = std::find_if_not(port.slots.begin(), port.slots.end(), [](const auto& s) { return s.is_used; });
    if (free == port.slots.end()) return false;
    const bool is_get_late =
        command.operation == Operation::Get || (command.operation == Operation::GetWords && is_late(vpid, to));
    *free = {true, is_get_late, free->generation, Error::None, 0, command};
    if (is_get_late) ++port.late[to];
    port.request = static_cast<std::uint32_t>(free - port.slots.begin() + static_cast<std::ptrdiff_t>(first_slot_)) |
                   std::uint32_t{free->generation} << 16U;
    port.has_slot = true;
    ++port.waiting;
    links_.expect(to, now_ns);
    if (is_read(command.operation)) ++port.reading;
  }
  return links_.room(to, VirtualChannel::Low) != 0 && send_piece(vpid, now_ns);
}

/// Gets of the port to this node are not answered.
bool Rma::is_late(Vpid vpid, NodeId to) const noexcept {
  return ports_state_[vpid].late[to] != 0 || (offload_ != nullptr && offload_->is_late(vpid, to));
}

/// Gives the engine its command, when it has no other.
bool Rma::advance_offloaded(Vpid vpid, std::uint64_t now_ns) {
  PortState& port = ports_state_[vpid];
  const NodeId to = port.command.target_node;
  if (offload_->is_busy()) return false;
  if (to < links_.nodes()) {
    if (links_.is_lost(to)) {
      end_command(vpid, Error::RouteBroken);
      return true;
    }
    if (port.must_leave[to] || (is_late(vpid, to) && !may_pass_gets(port.command))) return false;
  }
  offload_->start(vpid, port.life, port.command, now_ns);
  return true;
}

/// False: its memory is being fetched.
bool Rma::send_piece(Vpid vpid, std::uint64_t now_ns) {
  PortState& port = ports_state_[vpid];
  const Command& command = port.command;
  const bool is_put = command.operation == Operation::Put;
  RmaHeader header;
  header.kind = static_cast<std::uint8_t>(command.operation);
  header.modifiers = command.modifiers;
  header.source_vpid = vpid;
  header.target_vpid = command.target_vpid;
  header.window = command.window;
  header.domain = ports_.domain(vpid);
  header.request = port.has_slot ? port.request : port.life;
  header.tag = command.tag;
  header.capability = command.capability;
  header.offset = command.offset;
  header.length = has_length(command.operation) ? command.length : word_bytes(command.operation);
  header.at = command.operation == Operation::PutWords ? command.mask : port.sent;
  header.word = command.address;
  header.more = command.more;
  const std::size_t data = is_put ? std::min<std::size_t>(command.length - port.sent, data_bytes()) : 0;
  const std::span<std::byte> packet = links_.place(command.target_node, VirtualChannel::Low)
                                          .first(sizeof(header) + data);  // the caller has seen the room
  std::memcpy(packet.data(), &header, sizeof(header));
  if (is_put) {
    const Moved moved = read_memory(vpid, command.address + port.sent, packet.subspan(sizeof(header)));
    if (moved == Moved::Absent) {
      ++counters_.held_up;
      fetch_ahead(vpid, command.address + port.sent, command.length - port.sent, Access::Read);
      return false;
    }
    if (moved == Moved::Refused) {  // taken from the port in the meantime
      abandon_put(vpid, Error::OriginWindow);
      end_command(vpid, Error::OriginWindow);
      return true;
    }
  }
  (void)links_.send(command.target_node, VirtualChannel::Low, packet, is_put, now_ns);
  port.marks[command.target_node] = links_.sent(command.target_node, VirtualChannel::Low);
  if (command.operation == Operation::LockWindow) port.may_lock[command.target_node] = true;
  port.sent += static_cast<std::uint32_t>(data);
  if (!is_put || port.sent == command.length) end_command(vpid, Error::None);
  return true;
}

/// The target has some of its bytes, and must not wait for the others. The port starts nothing before it is notified.
void Rma::abandon_put(Vpid vpid, Error error) {
  PortState& port = ports_state_[vpid];
  const Command& command = port.command;
  if (command.operation != Operation::Put || port.sent == 0) return;
  RmaHeader& header = port.abandoned = {};
  header.kind = kPutAbandoned;
  header.modifiers = command.modifiers;
  header.error = error;
  header.source_vpid = vpid;
  header.target_vpid = command.target_vpid;
  header.window = command.window;
  header.domain = ports_.domain(vpid);
  header.tag = command.tag;
  header.capability = command.capability;
  header.offset = command.offset;
  header.length = command.length;
  header.at = port.sent;
  port.abandoned_at = command.target_node;
  port.has_abandoned = true;
}

bool Rma::say_abandoned(PortState& port) {
  if (links_.room(port.abandoned_at, VirtualChannel::Low) == 0) return false;
  std::array<std::byte, sizeof(RmaHeader)> packet;
  std::memcpy(packet.data(), &port.abandoned, sizeof(port.abandoned));
  (void)links_.send(port.abandoned_at, VirtualChannel::Low, packet, false, now_ns_);
  port.has_abandoned = false;
  return true;
}

/// Ports that were closed and may have locked a window elsewhere.
std::size_t Rma::say_farewells() {
  std::size_t work = 0;
  for (std::size_t vpid = 0; farewells_ != 0 && vpid < ports_state_.size(); ++vpid) {
    PortState& port = ports_state_[vpid];
    for (std::size_t i = 0; i < port.must_leave.size(); ++i) {
      const auto node = static_cast<NodeId>(i);
      if (!port.must_leave[i] || links_.room(node, VirtualChannel::Low) == 0) continue;
      RmaHeader header;
      header.kind = kPortGone;
      header.source_vpid = static_cast<Vpid>(vpid);
      std::array<std::byte, sizeof(header)> packet;
      std::memcpy(packet.data(), &header, sizeof(header));
      (void)links_.send(node, VirtualChannel::Low, packet, false, now_ns_);
      port.must_leave[i] = false;
      --farewells_;
      ++work;
    }
  }
  return work;
}

bool Rma::advance_fence(Vpid vpid) {
  PortState& port = ports_state_[vpid];
  const auto of = static_cast<FenceOf>(port.command.more);
  if (of != FenceOf::Writes && (port.reading != 0 || (offload_ && offload_->waits(vpid, true)))) return false;
  if (of != FenceOf::Reads && (port.waiting != port.reading || (offload_ && offload_->waits(vpid, false))))
    return false;
  Error error = Error::None;
  if (of == FenceOf::Reads) {
    end_command(vpid, error);
    return true;
  }
  for (std::size_t node = 0; node < port.marks.size(); ++node) {
    if (links_.taken(static_cast<NodeId>(node), VirtualChannel::Low) < port.marks[node]) return false;
    if (!port.is_broken[node]) continue;
    port.is_broken[node] = false;  // reported once
    error = Error::RouteBroken;
  }
  end_command(vpid, error);
  return true;
}

/// The command has been sent away, or will never be.
void Rma::end_command(Vpid vpid, Error error) {
  PortState& port = ports_state_[vpid];
  const Command& command = port.command;
  port.is_busy = port.is_offloaded = false;
  const bool is_told = error != Error::None || (command.modifiers & kNotifyRequester) != 0;
  if (error != Error::None) {
    ++counters_.own_error[static_cast<std::size_t>(error)];
    if (port.has_slot) {
      free_slot(port, port.slots[slot_index(port.request)]);
    }
  }
  port.has_slot = false;
  if (!is_told) return;
  Notification notification;
  notification.teller = Teller::Requester;
  notification.operation = command.operation;
  notification.error = error;
  notification.node = command.target_node;
  notification.vpid = command.target_vpid;
  notification.tag = tag_of(command.operation, command.tag, command.length);
  notification.offset = command.offset;
  notification.length = has_length(command.operation) ? command.length : 0;
  notification.window = command.window;
  (void)ports_.tell(vpid, notification);
}

void Rma::free_slot(PortState& port, Outstanding& slot) noexcept {
  slot.is_used = false;
  ++slot.generation;
  --port.waiting;
  links_.expect_less(slot.command.target_node);
  if (is_read(slot.command.operation)) --port.reading;
  if (slot.is_late) --port.late[slot.command.target_node];
}

std::size_t Rma::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  std::size_t work = farewells_ == 0 ? 0 : say_farewells();
  if (offload_ != nullptr) work += offload_->step(now_ns);
  if (!busy_.empty()) work += send_pieces(now_ns);
  if (jobs_count_ != 0) work += pump_all();
  flush();
  return work;
}

/// A packet of each port in turn, as long as there is something to send and bytes are left for this step.
std::size_t Rma::send_pieces(std::uint64_t now_ns) {
  std::size_t work = 0;
  left_ = step_bytes_;
  for (bool has_moved = true; has_moved && left_ != 0;) {
    has_moved = false;
    const std::size_t count = busy_.size();
    for (std::size_t i = 0; i < count && left_ != 0; ++i) {
      first_busy_ = first_busy_ < count ? first_busy_ : 0;
      const Vpid vpid = busy_[first_busy_++];
      PortState& port = ports_state_[vpid];
      const std::uint32_t before = port.sent;
      if (port.has_abandoned ? !say_abandoned(port) : !port.is_busy || !advance(vpid, now_ns)) continue;
      const std::size_t bytes = sizeof(RmaHeader) + (port.sent - std::min(port.sent, before));
      left_ -= std::min(left_, bytes);
      has_moved = true;
      ++work;
    }
  }
  std::erase_if(busy_, [&](Vpid vpid) {
    PortState& port = ports_state_[vpid];
    port.is_listed = port.is_busy || port.has_abandoned;
    return !port.is_listed;
  });
  return work;
}

/// The same of what others get.
std::size_t Rma::pump_all() {
  std::size_t work = 0;
  left_ = step_bytes_;
  for (bool has_moved = true; has_moved && left_ != 0;) {
    has_moved = false;
    for (std::size_t i = 0; i < jobs_.size() && left_ != 0; ++i) {
      first_node_ = first_node_ < jobs_.size() ? first_node_ : 0;
      const auto node = static_cast<NodeId>(first_node_++);
      if (jobs_[node].all.empty() || !pump(node)) continue;
      has_moved = true;
      ++work;
    }
  }
  return work;
}

/// One packet, of the first port whose turn it is that can go on.
bool Rma::pump(NodeId to) {
  Jobs& jobs = jobs_[to];
  const std::size_t count = jobs.all.size();
  for (std::size_t tried = 0; tried < count; ++tried) {
    jobs.turn = jobs.turn < count ? jobs.turn : 0;
    const std::size_t at = jobs.turn++;
    const Vpid vpid = jobs.all[at].request.source_vpid;
    const auto end = jobs.all.begin() + static_cast<std::ptrdiff_t>(at);
    const auto is_its = [&](const Job& job) { return job.request.source_vpid == vpid; };
    if (std::any_of(jobs.all.begin(), end, is_its)) continue;  // each port's in their order
    bool is_done = false;
    const bool has_moved = pump(to, *end, is_done);
    if (is_done) {
      jobs.all.erase(end);
      --jobs.turn;
      --jobs_count_;
    }
    if (has_moved) return true;
  }
  return false;
}

void Rma::flush() noexcept {
  // This unit asks the translation unit anew for every packet, so it holds nothing that a flush could mean.
  if (const std::uint64_t flush = atu_.flush_number(); flush != flushed_) {
    flushed_ = flush;
    for (const Unit unit : {Unit::Requester, Unit::Responder, Unit::Completer}) atu_.acknowledge(unit, flush);
  }
}

bool Rma::is_idle() const noexcept {
  return farewells_ == 0 &&
         std::none_of(ports_state_.begin(), ports_state_.end(),
                      [](const PortState& port) { return port.is_busy || port.has_abandoned || port.waiting != 0; }) &&
         jobs_count_ == 0 && (offload_ == nullptr || offload_->is_idle());
}

void Rma::lost(NodeId peer) {
  jobs_count_ -= jobs_[peer].all.size();
  jobs_[peer].all.clear();
  for (MemoryWindow& window : windows_) {
    if (!window.is_locked || window.holder_node != peer) continue;
    window.is_locked = false;
    report(window);
  }
  for (std::size_t vpid = 0; vpid < ports_state_.size(); ++vpid) {
    PortState& port = ports_state_[vpid];
    port.may_lock[peer] = false;  // its locks ended with the session
    if (port.abandoned_at == peer) port.has_abandoned = false;
    if (port.must_leave[peer]) --farewells_;
    port.must_leave[peer] = false;
    if (links_.taken(peer, VirtualChannel::Low) < port.marks[peer]) port.is_broken[peer] = true;
    // The rest of a command must not reach a node that has come back without its beginning.
    const bool is_begun = port.is_offloaded && offload_->holds(static_cast<Vpid>(vpid));
    if (port.is_busy && !is_begun && port.command.operation != Operation::Fence && port.command.target_node == peer) {
      end_command(static_cast<Vpid>(vpid), Error::RouteBroken);
    }
    for (Outstanding& slot : port.slots) {
      if (!slot.is_used || slot.command.target_node != peer) continue;
      finish(static_cast<Vpid>(vpid), slot, Error::RouteBroken, {});
    }
  }
  if (offload_ != nullptr) offload_->lost(peer);
}

// Packets of other nodes: answers (high), requests (low).

std::uint8_t Rma::early(NodeId from, VirtualChannel, std::span<const std::byte> packet) {
  if (packet.size() < sizeof(RmaHeader)) return static_cast<std::uint8_t>(Error::Command);
  const RmaHeader header = header_of(packet);
  // Which of both it is for is known in its turn; it is written then.
  const bool is_request = header.kind < kAnswerData;
  if (offload_ != nullptr && (is_request || RmaOffload::takes_answer(header))) return kBounced;
  const std::uint8_t status = write_packet(from, header, packet.subspan(sizeof(RmaHeader)));
  if (status == kBounced) ++counters_.bounced;
  return status;
}

/// The bytes of a put or of an answer to where they belong, if they may go there.
std::uint8_t Rma::write_packet(NodeId from, const RmaHeader& header, std::span<const std::byte> data) {
  Error error = Error::Command;
  Moved moved = Moved::Done;
  if (data.size() <= header.length && header.at <= header.length - data.size()) {
    if (header.kind == static_cast<std::uint8_t>(Operation::Put)) {
      error = check_window(from, header, Access::Write, header.length);
      if (error == Error::None) {
        const MemoryWindow& window = windows_[header.window];
        moved = write_memory(window.owner, window.first + header.offset + header.at, data);
        if (moved == Moved::Refused) error = Error::TargetTranslation;
      }
    } else if (header.kind == kAnswerData) {
      const Outstanding* slot = find_slot(from, header);
      if (slot != nullptr && slot->command.operation == Operation::Get && header.length == slot->command.length) {
        error = slot->error;
        if (error == Error::None) moved = write_memory(header.target_vpid, slot->command.address + header.at, data);
        if (moved == Moved::Refused) error = Error::OriginWindow;
      }
    }
  }
  if (moved == Moved::Absent) return kBounced;
  return error == Error::None ? kWritten : static_cast<std::uint8_t>(error);
}

bool Rma::ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet, std::uint8_t early_status) {
  if (packet.size() < sizeof(RmaHeader)) {
    ++counters_.malformed;
    return true;
  }
  const RmaHeader header = header_of(packet);
  const std::size_t data = packet.size() - sizeof(RmaHeader);
  const bool is_answer = header.kind >= kAnswerData;
  if (is_answer != (channel == VirtualChannel::High) || data > header.length) {
    ++counters_.malformed;
    return true;
  }
  if (offload_ != nullptr) {
    if (const std::optional<bool> taken = offload(from, channel, header, packet)) return *taken;
  }
  if (early_status == kBounced) {
    early_status = write_packet(from, header, packet.subspan(sizeof(RmaHeader)));
    if (early_status == kBounced) {
      ++counters_.held_up;
      return false;
    }
  }
  ++counters_.packets;
  if (header.kind == kAnswerData) {
    take_data(from, header, data, early_status);
  } else if (header.kind == kAnswerResult) {
    take_result(from, header);
  } else if (header.kind == kAnswerRefusal) {
    take_refusal(from, header);
  } else if (header.kind == kPutAbandoned) {
    put_was_abandoned(from, header);
  } else if (header.kind == kPortGone) {
    free_locks(from, header.source_vpid);
  } else if (!is_transfer(static_cast<Operation>(header.kind)) || header.source_vpid >= kVpids ||
             header.kind == static_cast<std::uint8_t>(Operation::Fence)) {
    ++counters_.malformed;
  } else if (header.kind == static_cast<std::uint8_t>(Operation::Put)) {
    return serve_put(from, header, data, early_status);
  } else {
    return serve(from, header, early_status);
  }
  return true;
}

bool Rma::has_jobs(NodeId from, Vpid vpid) const noexcept {
  return std::ranges::any_of(jobs_[from].all, [&](const Job& job) { return job.request.source_vpid == vpid; });
}

std::optional<bool> Rma::offload(NodeId from, VirtualChannel channel, const RmaHeader& header,
                                 std::span<const std::byte> packet) {
  if (channel == VirtualChannel::High) {
    if (!RmaOffload::takes_answer(header)) return std::nullopt;
  } else {
    if (!offload_->is_free()) return false;  // in the order in which they came
    if (header.source_vpid >= RmaEngine::kPorts) return std::nullopt;
    const MemoryWindow* window = header.window < windows_.size() ? &windows_[header.window] : nullptr;
    if (window != nullptr && (!window->is_open || window->owner != header.target_vpid)) window = nullptr;
    if (links_.room(from, VirtualChannel::High) == 0) return false;  // for its answer
    if (!offload_->takes(from, header, packet.size() - sizeof(RmaHeader), window, has_jobs(from, header.source_vpid))) {
      return std::nullopt;
    }
  }
  ++counters_.packets;
  offload_->take(from, channel, header, packet, now_ns_);
  return true;
}

Error Rma::check_window(NodeId from, const RmaHeader& header, Access access, std::uint64_t length) const noexcept {
  if (!ports_.is_open(header.target_vpid)) return Error::TargetVpid;
  if (header.window >= windows_.size()) return Error::TargetWindowId;
  const MemoryWindow& window = windows_[header.window];
  if (!window.is_open || window.owner != header.target_vpid) return Error::TargetWindowId;
  if (window.capability != header.capability) return Error::Capability;
  if (header.domain != ports_.domain(window.owner) && header.domain != window.open_to) return Error::Domain;
  if (length > window.bytes || header.offset > window.bytes - length || !allows(window.access, access)) {
    return Error::TargetWindow;
  }
  if (window.is_locked && (window.holder_node != from || window.holder != header.source_vpid)) return Error::Locked;
  return Error::None;
}

bool Rma::serve_put(NodeId from, const RmaHeader& header, std::size_t length, std::uint8_t early_status) {
  const bool is_last = header.at + length == header.length;
  const bool is_acknowledged = (header.modifiers & kAcknowledge) != 0;
  const bool is_answered = is_acknowledged || (header.modifiers & kNotifyRefusal) != 0;
  if (is_last && is_answered && links_.room(from, VirtualChannel::High) == 0) return false;
  Error& error = put_errors_[from * kVpids + header.source_vpid];
  if (header.at == 0) error = Error::None;
  if (early_status == 0) ++counters_.malformed;  // a put goes early, or it does not happen
  if (error == Error::None && early_status != kWritten) {
    error = early_status < kErrors && early_status != 0 ? static_cast<Error>(early_status) : Error::Command;
  }
  if (!is_last) return true;
  if (error == Error::None) {
    ++counters_.served;
    ports_.signal(header.target_vpid, header.more);
    if ((header.modifiers & kNotifyCompleter) != 0) (void)note(header.target_vpid, Teller::Completer, from, header, 0);
  } else {
    ++counters_.refused[static_cast<std::size_t>(error)];
  }
  if (is_acknowledged) {
    answer(from, header, error, {});
  } else if (is_answered && error != Error::None) {
    refuse(from, header, error);
  }
  return true;
}

bool Rma::serve(NodeId from, const RmaHeader& header, std::uint8_t early_status) {
  const auto operation = static_cast<Operation>(header.kind);
  Command asked;
  asked.operation = operation;
  asked.modifiers = header.modifiers;
  const bool is_answered = needs_answer(asked);
  const bool may_answer = is_answered || (header.modifiers & kNotifyRefusal) != 0;
  if (may_answer && links_.room(from, VirtualChannel::High) == 0) return false;
  if (early_status != 0) {
    ++counters_.malformed;
    return true;
  }
  // Reads of earlier gets come first: one get may fetch data, and the next the word that says whether they are whole.
  // Gets of other ports continue meanwhile.
  Jobs& jobs = jobs_[from];
  const bool waits = has_jobs(from, header.source_vpid);
  if ((operation == Operation::Get || (operation == Operation::GetWords && waits)) && jobs.all.size() == kJobs) {
    return false;
  }
  if (operation == Operation::GetWords && waits) {
    jobs.all.push_back({header, 0});
    ++jobs_count_;
    return true;
  }
  if (operation == Operation::Get) {
    const Error error = header.length == 0 || header.length > kMaxTransferBytes
                            ? Error::TargetLength
                            : check_window(from, header, Access::Read, header.length);
    if (error == Error::None) {
      jobs.all.push_back({header, 0});
      ++jobs_count_;
      bool is_done = false;
      if (!waits) (void)pump(from, jobs.all.back(), is_done);
      if (is_done) {
        jobs.all.pop_back();
        --jobs_count_;
      }
    } else {
      ++counters_.refused[static_cast<std::size_t>(error)];
      answer(from, header, error, {});
    }
    return true;
  }
  Given given;
  const std::optional<Error> error = execute(from, header, given);
  if (!error) {
    ++counters_.held_up;
    return false;
  }
  if (*error == Error::None) {
    ++counters_.served;
  } else {
    ++counters_.refused[static_cast<std::size_t>(*error)];
  }
  if (is_answered) {
    answer(from, header, *error, given);
  } else if (may_answer && *error != Error::None) {
    refuse(from, header, *error);
  }
  return true;
}

/// Nothing: a page is being fetched, and nothing has happened.
std::optional<Error> Rma::execute(NodeId from, const RmaHeader& header, Given& given) {
  const auto operation = static_cast<Operation>(header.kind);
  switch (operation) {
    case Operation::NotificationPut:
    case Operation::Signal:
      if (!ports_.is_open(header.target_vpid)) return Error::TargetVpid;
      if (ports_.domain(header.target_vpid) != header.domain) return Error::Domain;
      if (operation == Operation::Signal) {
        return ports_.signal(header.target_vpid, header.more) ? Error::None : Error::Command;
      }
      return note(header.target_vpid, Teller::Completer, from, header, header.word) ? Error::None : Error::Full;
    case Operation::LockWindow:
    case Operation::UnlockWindow: return execute_lock(from, header);
    case Operation::PutWords:
    case Operation::GetWords: return execute_words(from, header, given);
    default: return execute_word(from, header, given);
  }
}

Error Rma::execute_lock(NodeId from, const RmaHeader& header) {
  RmaHeader whole = header;
  whole.offset = 0;
  const Error error = check_window(from, whole, Access::Write, 0);
  if (error != Error::None) return error;
  MemoryWindow& window = windows_[header.window];
  const bool locks = static_cast<Operation>(header.kind) == Operation::LockWindow;
  if (!locks && !window.is_locked) return Error::Locked;  // there is nothing that could be the origin's
  window.is_locked = locks;
  window.holder_node = from;
  window.holder = header.source_vpid;
  report(window);
  return Error::None;
}

/// One word, atomic for all processes: those of this host may use the processor's own atomics on it at the same
/// time.
Error Rma::change_word(const RmaHeader& header, std::byte* memory, Given& given) noexcept {
  auto& [value, more, success] = given;
  const auto operation = static_cast<Operation>(header.kind);
  if (operation == Operation::FetchCompareAdd) {
    const std::atomic_ref<std::uint32_t> word(*reinterpret_cast<std::uint32_t*>(memory));
    const auto limit = static_cast<std::int32_t>(header.word);
    std::uint32_t seen = word.load();
    for (;;) {
      success = static_cast<std::int32_t>(seen) <= limit;
      if (!success) break;
      const std::uint32_t sum = seen + static_cast<std::uint32_t>(header.more);
      if (word.compare_exchange_weak(seen, sum)) {
        seen = sum;
        break;
      }
    }
    value = seen;
    return Error::None;
  }
  const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(memory));
  switch (operation) {
    case Operation::FetchAdd: value = word.fetch_add(header.word); break;
    case Operation::CompareSwap:
      value = header.word;
      success = word.compare_exchange_strong(value, header.more);
      break;
    case Operation::Swap: value = word.exchange(header.word); break;
    case Operation::Synchronize: {
      value = word.load();
      SyncChange change;
      do {
        change = make_step(to_state(value), std::bit_cast<SyncRequest>(header.word));
        if (change.outcome == SyncOutcome::Refused) return Error::Command;
      } while (!word.compare_exchange_weak(value, to_word(change.after)));
      break;
    }
    default: word.store(header.word, std::memory_order_release); break;  // ImmediatePut
  }
  return Error::None;
}

/// Nothing: its page is being fetched.
std::optional<Error> Rma::execute_word(NodeId from, const RmaHeader& header, Given& given) {
  const auto operation = static_cast<Operation>(header.kind);
  const std::uint32_t bytes = word_bytes(operation);
  const Access access = is_atomic(operation) ? Access::ReadWrite : Access::Write;
  const Error error = check_window(from, header, access, bytes);
  if (error != Error::None) return error;
  const MemoryWindow& window = windows_[header.window];
  const Nla nla = window.first + header.offset;
  if (nla % bytes != 0) return Error::TargetOffset;
  given.success = is_atomic(operation);
  Error result = Error::None;
  const Moved moved = use_page(atu_.translate(window.owner, nla, access), access,
                               [&](std::byte* page) { result = change_word(header, page + nla % kPageBytes, given); });
  if (moved == Moved::Absent) return std::nullopt;
  if (moved == Moved::Refused) return Error::TargetTranslation;
  if (result != Error::None) return result;
  if (is_atomic(operation)) ++counters_.memory_reads;
  ++counters_.memory_writes;
  if (is_atomic(operation)) {
    if ((header.modifiers & kNotifyResponder) != 0)
      (void)note(window.owner, Teller::Responder, from, header, given.value);
  } else {
    tell_of_words(from, header, window.owner, header.more);
  }
  return Error::None;
}

/// Words from the command have been written.
void Rma::tell_of_words(NodeId from, const RmaHeader& header, Vpid owner, std::uint64_t event) {
  ports_.signal(owner, event);
  if ((header.modifiers & kNotifyCompleter) != 0) (void)note(owner, Teller::Completer, from, header, header.word);
}

/// Nothing: a page is being fetched; what was written before it will be written again.
std::optional<Error> Rma::execute_words(NodeId from, const RmaHeader& header, Given& given) {
  const bool is_put = static_cast<Operation>(header.kind) == Operation::PutWords;
  if (header.length == 0 || header.length > kMaxWordsBytes) return Error::TargetLength;
  const Error error = check_window(from, header, is_put ? Access::Write : Access::Read, header.length);
  if (error != Error::None) return error;
  const Vpid owner = windows_[header.window].owner;
  std::array<std::uint64_t, 3> words{};
  if (is_put) words = {header.word, header.more, header.tag};
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(words)).first(header.length);
  if (!is_put) order_reads();
  const Moved moved = move_words(owner, windows_[header.window].first + header.offset, header, bytes);
  if (moved == Moved::Absent) return std::nullopt;
  if (moved == Moved::Refused) return Error::TargetTranslation;
  if (is_put) {
    ++counters_.memory_writes;
    tell_of_words(from, header, owner, header.at >> kMaskEventAt);
  } else {
    ++counters_.memory_reads;
    given = {words[0], {words[1], words[2]}, false};
    if ((header.modifiers & kNotifyResponder) != 0) (void)note(owner, Teller::Responder, from, header, 0);
  }
  return Error::None;
}

/// Between memory and `bytes`. An aligned word that is moved as a whole is moved in one piece, and in order: processes
/// of this host may use it at the same time.
Moved Rma::move_words(Vpid who, Nla nla, const RmaHeader& header, std::span<std::byte> bytes) noexcept {
  const bool is_put = static_cast<Operation>(header.kind) == Operation::PutWords;
  const Access access = is_put ? Access::Write : Access::Read;
  if (!is_one_or_registered(who, nla, bytes.size(), access)) return Moved::Refused;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  for (std::size_t done = 0; done < bytes.size();) {
    const Nla to = nla + done;
    const std::size_t piece = std::min<std::size_t>(bytes.size() - done, kWord - to % kWord);
    const std::uint32_t skipped = is_put ? header.at >> done & ((1U << piece) - 1) : 0;
    const std::span<std::byte> part = bytes.subspan(done, piece);
    const Moved moved = use_page(atu_.translate(who, to, access), access, [&](std::byte* page) {
      std::byte* const memory = page + to % kPageBytes;
      if (piece == kWord && skipped == 0) {
        const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(memory));
        std::uint64_t value = 0;
        if (is_put) {
          std::memcpy(&value, part.data(), kWord);
          word.store(value, std::memory_order_release);
        } else {
          value = word.load(std::memory_order_acquire);
          std::memcpy(part.data(), &value, kWord);
        }
        return;
      }
      for (std::size_t i = 0; i < piece; ++i) {
        if (!is_put) part[i] = memory[i];
        if (is_put && (skipped >> i & 1U) == 0) memory[i] = part[i];
      }
    });
    if (moved != Moved::Done) return moved;
    done += piece;
  }
  return Moved::Done;
}

/// The rest of a put will not come. Notifies its owner if the owner would have been notified of the data.
void Rma::put_was_abandoned(NodeId from, const RmaHeader& header) {
  const bool is_known = header.error != Error::None && static_cast<std::uint8_t>(header.error) < kErrors;
  const Error error = is_known ? header.error : Error::Command;
  ++counters_.refused[static_cast<std::size_t>(error)];
  if ((header.modifiers & kNotifyCompleter) == 0) return;
  if (check_window(from, header, Access::Write, header.length) != Error::None) return;
  RmaHeader put = header;
  put.kind = static_cast<std::uint8_t>(Operation::Put);
  (void)note(header.target_vpid, Teller::Completer, from, put, 0, error);
}

/// Their holder has closed or died.
void Rma::free_locks(NodeId node, Vpid holder) {
  for (MemoryWindow& window : windows_) {
    if (!window.is_locked || window.holder_node != node || window.holder != holder) continue;
    window.is_locked = false;
    report(window);
  }
}

/// Goes on with the answer to a get, as far as there is room.
/// False: it cannot go on now.
bool Rma::pump(NodeId to, Job& job, bool& is_done) {
  const RmaHeader& request = job.request;
  if (links_.room(to, VirtualChannel::High) == 0) return false;
  // Reads of earlier gets come first: one may fetch data, and the next the word that says whether they are whole.
  if (job.done == 0) order_reads();
  if (static_cast<Operation>(request.kind) == Operation::GetWords) {
    Given given;
    const std::optional<Error> error = execute(to, request, given);
    if (!error) {
      ++counters_.held_up;
      return false;
    }
    is_done = true;
    left_ -= std::min(left_, sizeof(RmaHeader));
    ++(*error == Error::None ? counters_.served : counters_.refused[static_cast<std::size_t>(*error)]);
    answer(to, request, *error, given);
    return true;
  }
  // The window may have been closed, or locked, in the meantime.
  Error error = check_window(to, request, Access::Read, request.length);
  const std::size_t data = std::min<std::size_t>(request.length - job.done, data_bytes());
  const std::span<std::byte> packet = links_.place(to, VirtualChannel::High).first(sizeof(RmaHeader) + data);
  if (error == Error::None) {
    const MemoryWindow& window = windows_[request.window];
    const Nla from = window.first + request.offset + job.done;
    const Moved moved = read_memory(window.owner, from, packet.subspan(sizeof(RmaHeader)));
    if (moved == Moved::Absent) {
      ++counters_.held_up;
      fetch_ahead(window.owner, from, request.length - job.done, Access::Read);
      return false;
    }
    if (moved == Moved::Refused) error = Error::TargetTranslation;
  }
  left_ -= std::min(left_, packet.size());
  if (error != Error::None) {
    is_done = true;
    ++counters_.refused[static_cast<std::size_t>(error)];
    answer(to, request, error, {});
    return true;
  }
  RmaHeader header;
  header.kind = kAnswerData;
  header.source_vpid = request.target_vpid;
  header.target_vpid = request.source_vpid;
  header.request = request.request;
  header.length = request.length;
  header.at = job.done;
  std::memcpy(packet.data(), &header, sizeof(header));
  (void)links_.send(to, VirtualChannel::High, packet, true, now_ns_);
  job.done += static_cast<std::uint32_t>(data);
  if (job.done != request.length) return true;
  is_done = true;
  ++counters_.served;
  WindowUse& use = windows_[request.window].use;
  ++use.gets;
  use.bytes += request.length;
  if ((request.modifiers & kNotifyResponder) != 0) (void)note(request.target_vpid, Teller::Responder, to, request, 0);
  return true;
}

/// The caller has seen that there is room.
void Rma::answer(NodeId to, const RmaHeader& request, Error error, const Given& given) {
  RmaHeader header;
  header.kind = kAnswerResult;
  header.error = error;
  header.source_vpid = request.target_vpid;
  header.target_vpid = request.source_vpid;
  header.window = given.success ? 1 : 0;
  header.request = request.request;
  header.word = given.value;
  header.more = given.more[0];
  header.tag = given.more[1];
  std::array<std::byte, sizeof(header)> packet;
  std::memcpy(packet.data(), &header, sizeof(header));
  (void)links_.send(to, VirtualChannel::High, packet, false, now_ns_);
}

/// The caller has seen that there is room.
void Rma::refuse(NodeId to, const RmaHeader& request, Error error) {
  RmaHeader header = request;
  header.kind = kAnswerRefusal;
  header.error = error;
  header.source_vpid = request.target_vpid;
  header.target_vpid = request.source_vpid;
  header.capability = 0;
  header.tag = tag_of(static_cast<Operation>(request.kind), request.tag, request.length);
  header.word = request.kind;
  std::array<std::byte, sizeof(header)> packet;
  std::memcpy(packet.data(), &header, sizeof(header));
  (void)links_.send(to, VirtualChannel::High, packet, false, now_ns_);
}

bool Rma::note(Vpid vpid, Teller teller, NodeId node, const RmaHeader& header, std::uint64_t value, Error error) {
  Notification notification;
  notification.teller = teller;
  notification.operation = static_cast<Operation>(header.kind);
  notification.error = error;
  notification.node = node;
  notification.vpid = header.source_vpid;
  notification.tag = tag_of(notification.operation, header.tag, header.length);
  notification.value = value;
  notification.offset = header.offset;
  notification.length = header.length;
  notification.window = header.window;
  return ports_.tell(vpid, notification);
}

// Answers.

Rma::Outstanding* Rma::find_slot(NodeId from, const RmaHeader& header) noexcept {
  if (header.target_vpid >= ports_state_.size()) return nullptr;
  PortState& port = ports_state_[header.target_vpid];
  const std::size_t index = slot_index(header.request);
  if (index >= port.slots.size()) return nullptr;
  Outstanding& slot = port.slots[index];
  const bool is_it = slot.is_used && slot.generation == header.request >> 16U && slot.command.target_node == from &&
                     slot.command.target_vpid == header.source_vpid;
  return is_it ? &slot : nullptr;
}

void Rma::take_data(NodeId from, const RmaHeader& header, std::size_t length, std::uint8_t early_status) {
  Outstanding* const slot = find_slot(from, header);
  if (slot == nullptr || slot->command.operation != Operation::Get || length == 0) {
    ++counters_.stale;
    return;
  }
  if (early_status != kWritten && slot->error == Error::None) {
    slot->error = early_status < kErrors && early_status != 0 ? static_cast<Error>(early_status) : Error::Command;
  }
  const std::uint32_t missing = slot->command.length - slot->received;
  slot->received += static_cast<std::uint32_t>(std::min<std::size_t>(length, missing));
  if (slot->received == slot->command.length) finish(header.target_vpid, *slot, slot->error, {});
}

void Rma::take_result(NodeId from, const RmaHeader& header) {
  Outstanding* const slot = find_slot(from, header);
  if (slot == nullptr) {
    ++counters_.stale;
    return;
  }
  Error error = static_cast<std::uint8_t>(header.error) < kErrors ? header.error : Error::Command;
  if (slot->command.operation == Operation::Get && error == Error::None) error = Error::Command;  // it needs data
  finish(header.target_vpid, *slot, error, {header.word, {header.more, header.tag}, header.window == 1});
}

/// For a command that waits for no answer: notifies the port, if it is still the same.
void Rma::take_refusal(NodeId from, const RmaHeader& header) {
  const auto operation = static_cast<Operation>(header.word);
  const bool is_known = header.word <= static_cast<std::uint64_t>(kLastOperation) && is_transfer(operation) &&
                        header.error != Error::None && static_cast<std::uint8_t>(header.error) < kErrors;
  if (!is_known) {
    ++counters_.malformed;
    return;
  }
  if (!ports_.is_open(header.target_vpid) || ports_state_[header.target_vpid].life != header.request) {
    ++counters_.stale;
    return;
  }
  ++counters_.own_error[static_cast<std::size_t>(header.error)];
  Notification notification;
  notification.teller = Teller::Acknowledge;
  notification.operation = operation;
  notification.error = header.error;
  notification.node = from;
  notification.vpid = header.source_vpid;
  notification.tag = header.tag;
  notification.offset = header.offset;
  notification.length = has_length(operation) ? header.length : 0;
  notification.window = header.window;
  (void)ports_.tell(header.target_vpid, notification);
}

void Rma::finish(Vpid vpid, Outstanding& slot, Error error, const Given& given) {
  const Command& command = slot.command;
  const bool gives = is_read(command.operation);
  const std::uint8_t wanted = gives ? kNotifyCompleter | kAcknowledge : kAcknowledge;
  if (error != Error::None) ++counters_.own_error[static_cast<std::size_t>(error)];
  if (error != Error::None || (command.modifiers & wanted) != 0) {
    Notification notification;
    notification.teller = wanted == kAcknowledge ? Teller::Acknowledge : Teller::Completer;
    notification.operation = command.operation;
    notification.error = error;
    notification.success = given.success ? 1 : 0;
    notification.node = command.target_node;
    notification.vpid = command.target_vpid;
    notification.tag = tag_of(command.operation, command.tag, command.length);
    notification.value = given.value;
    if (command.operation == Operation::GetWords) {
      notification.more[0] = given.more[0];
      notification.more[1] = given.more[1];
    }
    notification.offset = command.offset;
    notification.length = has_length(command.operation) ? command.length : 0;
    notification.window = command.window;
    (void)ports_.tell(vpid, notification);
  }
  free_slot(ports_state_[vpid], slot);
}

// Memory.

bool Rma::is_registered(Vpid who, Nla first, std::uint64_t bytes, Access access) noexcept {
  if (first >= kNlaEnd || bytes > kNlaEnd - first || bytes == 0) return false;
  const std::uint64_t last = nla_page(first + bytes - 1);
  for (std::uint64_t page = nla_page(first); page <= last; ++page) {
    const Translation translation = atu_.translate(who, page * kPageBytes, access);
    if (!translation.ok) return false;
    // Unpinned memory is registered as a whole.
    if (translation.paged != nullptr) return last - page < translation.paged->pages() - translation.page;
  }
  return true;
}

/// Whether a copy that cannot be done to its end is noticed before it begins: one page needs no look ahead.
bool Rma::is_one_or_registered(Vpid who, Nla first, std::uint64_t bytes, Access access) noexcept {
  return nla_page(first) == nla_page(first + bytes - 1) || is_registered(who, first, bytes, access);
}

Moved Rma::read_memory(Vpid who, Nla from, std::span<std::byte> into) noexcept {
  if (into.empty() || !is_one_or_registered(who, from, into.size(), Access::Read)) return Moved::Refused;
  for (std::size_t done = 0; done < into.size();) {
    const std::size_t in_page = (from + done) % kPageBytes;
    const std::size_t piece = std::min(into.size() - done, kPageBytes - in_page);
    const Moved moved = use_page(atu_.translate(who, from + done, Access::Read), Access::Read,
                                 [&](std::byte* page) { std::memcpy(into.data() + done, page + in_page, piece); });
    if (moved != Moved::Done) return moved;
    done += piece;
  }
  counters_.moved_bytes += into.size();
  ++counters_.memory_reads;
  return Moved::Done;
}

Moved Rma::write_memory(Vpid who, Nla to, std::span<const std::byte> bytes) noexcept {
  if (bytes.empty() || !is_one_or_registered(who, to, bytes.size(), Access::Write)) return Moved::Refused;
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t in_page = (to + done) % kPageBytes;
    const std::size_t piece = std::min(bytes.size() - done, kPageBytes - in_page);
    const Moved moved = use_page(atu_.translate(who, to + done, Access::Write), Access::Write,
                                 [&](std::byte* page) { std::memcpy(page + in_page, bytes.data() + done, piece); });
    if (moved != Moved::Done) return moved;
    done += piece;
  }
  counters_.moved_bytes += bytes.size();
  ++counters_.memory_writes;
  return Moved::Done;
}

/// Asks for the next pages of what a transfer will need.
void Rma::fetch_ahead(Vpid who, Nla first, std::uint64_t bytes, Access access) noexcept {
  const std::uint64_t last = nla_page(first + bytes - 1);
  for (std::uint64_t page = nla_page(first); page <= last; ++page) {
    const Translation translation = atu_.translate(who, page * kPageBytes, access);
    if (translation.paged == nullptr) return;
    if (page - nla_page(first) >= std::min(kFetchAhead, translation.paged->pages_ahead())) return;
    translation.paged->want(translation.page);
  }
}

}  // namespace stopbit::nic
