#include "host/nic/rma/rma.hpp"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "host/nic/rma/memory.hpp"
#include "host/nic/sync/word.hpp"

namespace stopbit::nic {
namespace {

/// What `early` says of data that have been written; everything else is an Error, and 0 means that it was not asked.
constexpr std::uint8_t kWritten = 0xFF;
/// A page is not here: the packet stays in the link's window, which is the bounce buffer and the credit, and its bytes
/// are written when its turn comes.
constexpr std::uint8_t kBounced = 0xFE;
constexpr std::uint64_t kFetchAhead = 32 * kPageBytes;
constexpr std::uint8_t kTransferModifiers = kNotifyRequester | kNotifyCompleter | kNotifyResponder | kAcknowledge;
constexpr std::uint64_t kNlaEnd = std::uint64_t{1} << kNlaBits;

constexpr bool is_atomic(Operation operation) noexcept {
  return operation == Operation::FetchAdd || operation == Operation::CompareSwap ||
         operation == Operation::FetchCompareAdd || operation == Operation::Swap || operation == Operation::Synchronize;
}
constexpr bool is_transfer(Operation operation) noexcept {
  return operation >= Operation::Put && operation <= kLastOperation && operation != Operation::SendPart;
}
constexpr bool moves_data(Operation operation) noexcept {
  return operation == Operation::Put || operation == Operation::Get;
}
constexpr std::uint32_t word_bytes(Operation operation) noexcept {
  return operation == Operation::FetchCompareAdd ? sizeof(std::int32_t) : sizeof(std::uint64_t);
}
/// Whether the origin waits for what the target says.
constexpr bool needs_answer(const Command& command) noexcept {
  switch (command.operation) {
    case Operation::Get:
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
      put_errors_(links.nodes() * ports.count()) {
  if (links.packet_bytes() < 2 * sizeof(RmaHeader)) throw std::invalid_argument("frames too short for a packet");
  busy_.reserve(ports.count());
  for (PortState& port : ports_state_) {
    port.slots.resize(std::clamp<std::size_t>(options.outstanding, 1, 65'536));
    port.marks.resize(links.nodes());
    port.is_broken.resize(links.nodes());
  }
}

// Windows.

std::optional<WindowName> Rma::open_window(Vpid owner, Nla first, std::uint64_t bytes, Access access,
                                           std::optional<Pdid> open_to) {
  if (!ports_.is_open(owner) || bytes == 0 || !is_registered(owner, first, bytes, access)) return std::nullopt;
  const auto free = std::find_if_not(windows_.begin(), windows_.end(), [](const Window& w) { return w.is_open; });
  if (free == windows_.end()) return std::nullopt;
  Capability capability = 0;
  if (::getrandom(&capability, sizeof(capability), 0) != sizeof(capability)) return std::nullopt;
  *free = {true, false, owner, access, 0, 0, first, bytes, capability, open_to, {}};
  return WindowName{static_cast<std::uint16_t>(free - windows_.begin()), capability};
}

bool Rma::close_window(Vpid owner, std::uint16_t id) noexcept {
  if (id >= windows_.size() || !windows_[id].is_open || windows_[id].owner != owner) return false;
  windows_[id] = {};
  return true;
}

WindowUse Rma::use(Vpid owner, std::uint16_t id) const noexcept {
  if (id >= windows_.size() || !windows_[id].is_open || windows_[id].owner != owner) return {};
  return windows_[id].use;
}

bool Rma::break_lock(Vpid owner, std::uint16_t id) noexcept {
  if (id >= windows_.size() || !windows_[id].is_open || windows_[id].owner != owner) return false;
  return std::exchange(windows_[id].is_locked, false);
}

bool Rma::revoke(Vpid owner, Nla first, std::size_t pages) noexcept {
  if (!atu_.revoke(owner, first, pages)) return false;
  const std::uint64_t begin = nla_page(first);
  for (Window& window : windows_) {
    const bool touches = nla_page(window.first) < begin + pages && nla_page(window.first + window.bytes - 1) >= begin;
    if (window.is_open && window.owner == owner && touches) window = {};
  }
  // What the port has under way there must not go on when the addresses are given away again.
  const auto is_there = [&](const Command& command) {
    return moves_data(command.operation) && nla_page(command.address) < begin + pages &&
           nla_page(command.address + command.length - 1) >= begin;
  };
  PortState& port = ports_state_[owner];
  if (port.is_busy && is_there(port.command)) end_command(owner, Error::OriginWindow);
  for (Outstanding& slot : port.slots) {
    if (slot.is_used && slot.error == Error::None && is_there(slot.command)) slot.error = Error::OriginWindow;
  }
  return true;
}

void Rma::close_port(Vpid vpid) noexcept {
  for (Window& window : windows_) {
    if (window.is_open && window.owner == vpid) window = {};
    if (window.is_locked && window.holder_node == links_.node() && window.holder == vpid) window.is_locked = false;
  }
  PortState& port = ports_state_[vpid];
  for (Outstanding& slot : port.slots) {
    if (slot.is_used) {
      slot.is_used = false;
      ++slot.generation;
    }
  }
  port.is_busy = port.has_slot = false;
  port.waiting = 0;
  port.is_broken.assign(port.is_broken.size(), false);
}

// The requester.

Error Rma::check_command(Vpid vpid, const Command& command) const noexcept {
  if (!ports_.is_open(vpid)) return Error::OriginVpid;
  if (!is_transfer(command.operation) || (command.modifiers & ~kTransferModifiers) != 0) return Error::Command;
  if (command.operation == Operation::Fence) return Error::None;
  if (command.target_node >= links_.nodes()) return Error::Route;
  if (moves_data(command.operation)) {
    if (command.length == 0 || command.length > kMaxTransferBytes) return Error::OriginLength;
    if (command.address >= kNlaEnd || kNlaEnd - command.address < command.length) return Error::OriginWindow;
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
  Error error = check_command(vpid, command);
  if (error == Error::None && moves_data(command.operation)) {
    // All of it, before the first byte leaves: a command that is refused changes nothing.
    const Access access = command.operation == Operation::Put ? Access::Read : Access::Write;
    if (!is_registered(vpid, command.address, command.length, access)) error = Error::OriginWindow;
  }
  if (error != Error::None) return end_command(vpid, error);
  (void)advance(vpid, now_ns);
  if (port.is_busy && !port.is_listed) {
    port.is_listed = true;
    busy_.push_back(vpid);
  }
}

bool Rma::advance(Vpid vpid, std::uint64_t now_ns) {
  PortState& port = ports_state_[vpid];
  const Command& command = port.command;
  if (command.operation == Operation::Fence) return advance_fence(vpid);
  const NodeId to = command.target_node;
  if (links_.is_lost(to)) {
    end_command(vpid, Error::RouteBroken);
    return true;
  }
  if (needs_answer(command) && !port.has_slot) {
    const auto free = std::find_if_not(port.slots.begin(), port.slots.end(), [](const auto& s) { return s.is_used; });
    if (free == port.slots.end()) return false;
    *free = {true, free->generation, Error::None, 0, command};
    port.request = static_cast<std::uint32_t>(free - port.slots.begin()) | std::uint32_t{free->generation} << 16U;
    port.has_slot = true;
    ++port.waiting;
  }
  bool has_sent = false;
  while (port.is_busy && links_.room(to, Channel::Low) != 0 && send_piece(vpid, now_ns)) has_sent = true;
  return has_sent;
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
  header.request = port.has_slot ? port.request : 0;
  header.tag = command.tag;
  header.capability = command.capability;
  header.offset = command.offset;
  header.length = moves_data(command.operation) ? command.length : word_bytes(command.operation);
  header.at = port.sent;
  header.word = command.address;
  header.more = command.more;
  const std::size_t data = is_put ? std::min<std::size_t>(command.length - port.sent, data_bytes()) : 0;
  const std::span<std::byte> packet =
      links_.place(command.target_node, Channel::Low).first(sizeof(header) + data);  // the caller has seen the room
  std::memcpy(packet.data(), &header, sizeof(header));
  if (is_put) {
    const Moved moved = read_memory(vpid, command.address + port.sent, packet.subspan(sizeof(header)));
    if (moved == Moved::Absent) {
      ++counters_.held_up;
      fetch_ahead(vpid, command.address + port.sent, command.length - port.sent, Access::Read);
      return false;
    }
    if (moved == Moved::Refused) {  // taken from the port in the meantime
      end_command(vpid, Error::OriginWindow);
      return true;
    }
  }
  (void)links_.send(command.target_node, Channel::Low, packet, is_put, now_ns);
  port.marks[command.target_node] = links_.sent(command.target_node, Channel::Low);
  port.sent += static_cast<std::uint32_t>(data);
  if (!is_put || port.sent == command.length) end_command(vpid, Error::None);
  return true;
}

bool Rma::advance_fence(Vpid vpid) {
  PortState& port = ports_state_[vpid];
  if (port.waiting != 0) return false;
  Error error = Error::None;
  for (std::size_t node = 0; node < port.marks.size(); ++node) {
    if (links_.taken(static_cast<NodeId>(node), Channel::Low) < port.marks[node]) return false;
    if (!port.is_broken[node]) continue;
    port.is_broken[node] = false;  // told once
    error = Error::RouteBroken;
  }
  end_command(vpid, error);
  return true;
}

/// The command has been sent away, or will never be.
void Rma::end_command(Vpid vpid, Error error) {
  PortState& port = ports_state_[vpid];
  const Command& command = port.command;
  port.is_busy = false;
  const bool is_told = error != Error::None || (command.modifiers & kNotifyRequester) != 0;
  if (error != Error::None) {
    ++counters_.own_error[static_cast<std::size_t>(error)];
    if (port.has_slot) {
      Outstanding& slot = port.slots[port.request & 0xFFFFU];
      slot.is_used = false;
      ++slot.generation;
      --port.waiting;
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
  notification.tag = command.tag;
  notification.offset = command.offset;
  notification.length = moves_data(command.operation) ? command.length : 0;
  notification.window = command.window;
  (void)ports_.tell(vpid, notification);
}

std::size_t Rma::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  std::size_t work = 0;
  if (!busy_.empty()) {
    std::erase_if(busy_, [&](Vpid vpid) {
      PortState& port = ports_state_[vpid];
      if (port.is_busy) work += advance(vpid, now_ns) ? 1 : 0;
      port.is_listed = port.is_busy;
      return !port.is_listed;
    });
  }
  for (std::size_t node = 0; node < jobs_.size(); ++node) {
    if (jobs_[node].is_active) work += pump(static_cast<NodeId>(node)) ? 1 : 0;
  }
  flush();
  return work;
}

void Rma::flush() noexcept {
  // This unit asks the translation unit anew for every packet, so it holds nothing that a flush could mean.
  if (const std::uint64_t flush = atu_.flush_number(); flush != flushed_) {
    flushed_ = flush;
    for (const Unit unit : {Unit::Requester, Unit::Responder, Unit::Completer}) atu_.acknowledge(unit, flush);
  }
}

bool Rma::is_idle() const noexcept {
  return std::none_of(ports_state_.begin(), ports_state_.end(),
                      [](const PortState& port) { return port.is_busy || port.waiting != 0; }) &&
         std::none_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.is_active; });
}

void Rma::lost(NodeId peer) {
  jobs_[peer] = {};
  for (Window& window : windows_) {
    if (window.is_locked && window.holder_node == peer) window.is_locked = false;
  }
  for (std::size_t vpid = 0; vpid < ports_state_.size(); ++vpid) {
    PortState& port = ports_state_[vpid];
    if (links_.taken(peer, Channel::Low) < port.marks[peer]) port.is_broken[peer] = true;
    // The rest of a command must not reach a node that has come back without its beginning.
    if (port.is_busy && port.command.operation != Operation::Fence && port.command.target_node == peer) {
      end_command(static_cast<Vpid>(vpid), Error::RouteBroken);
    }
    for (Outstanding& slot : port.slots) {
      if (!slot.is_used || slot.command.target_node != peer) continue;
      finish(static_cast<Vpid>(vpid), slot, Error::RouteBroken, 0, false);
    }
  }
}

// What comes from other nodes: answers (high), requests (low).

std::uint8_t Rma::early(NodeId from, Channel, std::span<const std::byte> packet) {
  if (packet.size() < sizeof(RmaHeader)) return static_cast<std::uint8_t>(Error::Command);
  const std::uint8_t status = write_packet(from, header_of(packet), packet.subspan(sizeof(RmaHeader)));
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
        const Window& window = windows_[header.window];
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

bool Rma::ordered(NodeId from, Channel channel, std::span<const std::byte> packet, std::uint8_t early_status) {
  if (packet.size() < sizeof(RmaHeader)) {
    ++counters_.malformed;
    return true;
  }
  const RmaHeader header = header_of(packet);
  const std::size_t data = packet.size() - sizeof(RmaHeader);
  const bool is_answer = header.kind >= kAnswerData;
  if (is_answer != (channel == Channel::High) || data > header.length) {
    ++counters_.malformed;
    return true;
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
  } else if (!is_transfer(static_cast<Operation>(header.kind)) || header.source_vpid >= ports_.count() ||
             header.kind == static_cast<std::uint8_t>(Operation::Fence)) {
    ++counters_.malformed;
  } else if (header.kind == static_cast<std::uint8_t>(Operation::Put)) {
    return serve_put(from, header, data, early_status);
  } else {
    return serve(from, header, early_status);
  }
  return true;
}

Error Rma::check_window(NodeId from, const RmaHeader& header, Access access, std::uint64_t length) const noexcept {
  if (!ports_.is_open(header.target_vpid)) return Error::TargetVpid;
  if (header.window >= windows_.size()) return Error::TargetWindowId;
  const Window& window = windows_[header.window];
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
  if (is_last && is_acknowledged && links_.room(from, Channel::High) == 0) return false;
  Error& error = put_errors_[from * ports_.count() + header.source_vpid];
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
  if (is_acknowledged) answer(from, header, error, 0, false);
  return true;
}

bool Rma::serve(NodeId from, const RmaHeader& header, std::uint8_t early_status) {
  const auto operation = static_cast<Operation>(header.kind);
  Command asked;
  asked.operation = operation;
  asked.modifiers = header.modifiers;
  const bool is_answered = needs_answer(asked);
  if (is_answered && links_.room(from, Channel::High) == 0) return false;
  if (early_status != 0) {
    ++counters_.malformed;
    return true;
  }
  if (operation == Operation::Get) {
    if (jobs_[from].is_active) return false;
    const Error error = header.length == 0 || header.length > kMaxTransferBytes
                            ? Error::TargetLength
                            : check_window(from, header, Access::Read, header.length);
    if (error == Error::None) {
      // What an earlier get has read was read before: who gets data, and then the word that says if they are whole.
      std::atomic_thread_fence(std::memory_order_acquire);
      jobs_[from] = {true, header, 0};
      (void)pump(from);
    } else {
      ++counters_.refused[static_cast<std::size_t>(error)];
      answer(from, header, error, 0, false);
    }
    return true;
  }
  std::uint64_t value = 0;
  bool success = false;
  const std::optional<Error> error = execute(from, header, value, success);
  if (!error) {
    ++counters_.held_up;
    return false;
  }
  if (*error == Error::None) {
    ++counters_.served;
  } else {
    ++counters_.refused[static_cast<std::size_t>(*error)];
  }
  if (is_answered) answer(from, header, *error, value, success);
  return true;
}

/// Nothing: a page is being fetched, and nothing has happened.
std::optional<Error> Rma::execute(NodeId from, const RmaHeader& header, std::uint64_t& value, bool& success) {
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
    default: return execute_word(from, header, value, success);
  }
}

Error Rma::execute_lock(NodeId from, const RmaHeader& header) {
  RmaHeader whole = header;
  whole.offset = 0;
  const Error error = check_window(from, whole, Access::Write, 0);
  if (error != Error::None) return error;
  Window& window = windows_[header.window];
  const bool locks = static_cast<Operation>(header.kind) == Operation::LockWindow;
  if (!locks && !window.is_locked) return Error::Locked;  // there is nothing that could be the origin's
  window.is_locked = locks;
  window.holder_node = from;
  window.holder = header.source_vpid;
  return Error::None;
}

/// One word, in one piece for everybody: the processes of this host may use the processor's own atomics on it at the
/// same time.
Error Rma::change_word(const RmaHeader& header, std::byte* memory, std::uint64_t& value, bool& success) noexcept {
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
std::optional<Error> Rma::execute_word(NodeId from, const RmaHeader& header, std::uint64_t& value, bool& success) {
  const auto operation = static_cast<Operation>(header.kind);
  const std::uint32_t bytes = word_bytes(operation);
  const Access access = is_atomic(operation) ? Access::ReadWrite : Access::Write;
  const Error error = check_window(from, header, access, bytes);
  if (error != Error::None) return error;
  const Window& window = windows_[header.window];
  const Nla nla = window.first + header.offset;
  if (nla % bytes != 0) return Error::TargetOffset;
  success = is_atomic(operation);
  Error result = Error::None;
  const Moved moved = use_page(atu_.translate(window.owner, nla, access), access, [&](std::byte* page) {
    result = change_word(header, page + nla % kPageBytes, value, success);
  });
  if (moved == Moved::Absent) return std::nullopt;
  if (moved == Moved::Refused) return Error::TargetTranslation;
  if (result != Error::None) return result;
  if (is_atomic(operation)) ++counters_.memory_reads;
  ++counters_.memory_writes;
  if (is_atomic(operation)) {
    if ((header.modifiers & kNotifyResponder) != 0) (void)note(window.owner, Teller::Responder, from, header, value);
  } else {
    ports_.signal(window.owner, header.more);
    if ((header.modifiers & kNotifyCompleter) != 0) {
      (void)note(window.owner, Teller::Completer, from, header, header.word);
    }
  }
  return Error::None;
}

/// Goes on with the answer to a get, as far as there is room.
bool Rma::pump(NodeId to) {
  Job& job = jobs_[to];
  const RmaHeader& request = job.request;
  bool has_sent = false;
  while (links_.room(to, Channel::High) != 0) {
    // The window may have been closed, or locked, in the meantime.
    Error error = check_window(to, request, Access::Read, request.length);
    const std::size_t data = std::min<std::size_t>(request.length - job.done, data_bytes());
    const std::span<std::byte> packet = links_.place(to, Channel::High).first(sizeof(RmaHeader) + data);
    if (error == Error::None) {
      const Window& window = windows_[request.window];
      const Nla from = window.first + request.offset + job.done;
      const Moved moved = read_memory(window.owner, from, packet.subspan(sizeof(RmaHeader)));
      if (moved == Moved::Absent) {
        ++counters_.held_up;
        fetch_ahead(window.owner, from, request.length - job.done, Access::Read);
        return has_sent;
      }
      if (moved == Moved::Refused) error = Error::TargetTranslation;
    }
    has_sent = true;
    if (error != Error::None) {
      job.is_active = false;
      ++counters_.refused[static_cast<std::size_t>(error)];
      answer(to, request, error, 0, false);
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
    (void)links_.send(to, Channel::High, packet, true, now_ns_);
    job.done += static_cast<std::uint32_t>(data);
    if (job.done == request.length) {
      job.is_active = false;
      ++counters_.served;
      WindowUse& use = windows_[request.window].use;
      ++use.gets;
      use.bytes += request.length;
      if ((request.modifiers & kNotifyResponder) != 0)
        (void)note(request.target_vpid, Teller::Responder, to, request, 0);
      return true;
    }
  }
  return has_sent;
}

/// The caller has seen that there is room.
void Rma::answer(NodeId to, const RmaHeader& request, Error error, std::uint64_t value, bool success) {
  RmaHeader header;
  header.kind = kAnswerResult;
  header.error = error;
  header.source_vpid = request.target_vpid;
  header.target_vpid = request.source_vpid;
  header.window = success ? 1 : 0;
  header.request = request.request;
  header.word = value;
  std::array<std::byte, sizeof(header)> packet;
  std::memcpy(packet.data(), &header, sizeof(header));
  (void)links_.send(to, Channel::High, packet, false, now_ns_);
}

bool Rma::note(Vpid vpid, Teller teller, NodeId node, const RmaHeader& header, std::uint64_t value) {
  Notification notification;
  notification.teller = teller;
  notification.operation = static_cast<Operation>(header.kind);
  notification.node = node;
  notification.vpid = header.source_vpid;
  notification.tag = header.tag;
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
  const std::size_t index = header.request & 0xFFFFU;
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
  if (slot->received == slot->command.length) finish(header.target_vpid, *slot, slot->error, 0, false);
}

void Rma::take_result(NodeId from, const RmaHeader& header) {
  Outstanding* const slot = find_slot(from, header);
  if (slot == nullptr) {
    ++counters_.stale;
    return;
  }
  Error error = static_cast<std::uint8_t>(header.error) < kErrors ? header.error : Error::Command;
  if (slot->command.operation == Operation::Get && error == Error::None) error = Error::Command;  // data were asked for
  finish(header.target_vpid, *slot, error, header.word, header.window == 1);
}

void Rma::finish(Vpid vpid, Outstanding& slot, Error error, std::uint64_t value, bool success) {
  const Command& command = slot.command;
  const bool has_result = moves_data(command.operation) || is_atomic(command.operation);
  const std::uint8_t wanted =
      command.operation != Operation::Put && has_result ? kNotifyCompleter | kAcknowledge : kAcknowledge;
  if (error != Error::None) ++counters_.own_error[static_cast<std::size_t>(error)];
  if (error != Error::None || (command.modifiers & wanted) != 0) {
    Notification notification;
    notification.teller = wanted == kAcknowledge ? Teller::Acknowledge : Teller::Completer;
    notification.operation = command.operation;
    notification.error = error;
    notification.success = success ? 1 : 0;
    notification.node = command.target_node;
    notification.vpid = command.target_vpid;
    notification.tag = command.tag;
    notification.value = value;
    notification.offset = command.offset;
    notification.length = moves_data(command.operation) ? command.length : 0;
    notification.window = command.window;
    (void)ports_.tell(vpid, notification);
  }
  slot.is_used = false;
  ++slot.generation;
  --ports_state_[vpid].waiting;
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
  ++counters_.memory_writes;
  return Moved::Done;
}

/// Asks for the next pages of what a transfer will need.
void Rma::fetch_ahead(Vpid who, Nla first, std::uint64_t bytes, Access access) noexcept {
  const std::uint64_t last = nla_page(first + std::min(bytes, kFetchAhead) - 1);
  for (std::uint64_t page = nla_page(first); page <= last; ++page) {
    const Translation translation = atu_.translate(who, page * kPageBytes, access);
    if (translation.paged != nullptr) translation.paged->want(translation.page);
  }
}

}  // namespace stopbit::nic
