#include "host/nic/rma/rma_offload.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);

constexpr bool is_word_operation(Operation operation) noexcept {
  return operation == Operation::ImmediatePut || operation == Operation::FetchAdd ||
         operation == Operation::CompareSwap || operation == Operation::FetchCompareAdd || operation == Operation::Swap;
}
constexpr bool needs_slot(const Command& command) noexcept {
  return is_read(command.operation) || (command.modifiers & kAcknowledge) != 0;
}
constexpr bool has_data(std::uint8_t kind) noexcept {
  return kind == static_cast<std::uint8_t>(Operation::Put) || kind == kAnswerData;
}

}  // namespace

RmaOffload::RmaOffload(Links& links, Atu& atu, Ports& ports, RmaEngine& engine, Ended ended)
    : links_(links),
      atu_(atu),
      ports_(ports),
      engine_(engine),
      on_ended_(std::move(ended)),
      lives_(ports.count()),
      puts_(links.nodes() * kVpids) {
  if (ports.count() > RmaEngine::kPorts || links.packet_bytes() < sizeof(RmaHeader) + RmaEngine::kDataBytes) {
    throw std::invalid_argument("the engine has fewer ports, or longer packets, than the node");
  }
  engine_.attach(*this);
}

void RmaOffload::set_port(Vpid vpid, const RmaEngine::Port& port) {
  lives_[vpid] = port.life;
  engine_.set_port(vpid, port);
}

void RmaOffload::close(Vpid vpid) {
  engine_.end_port(vpid);
  for (Slot& slot : slots_) {
    if (slot.is_used && slot.vpid == vpid) free_slot(slot);
  }
  end_current();
}

void RmaOffload::lost(NodeId peer) {
  if (current_ && current_->command.target_node == peer) current_->is_lost = true;
  if (request_from_ == peer) is_request_lost_ = true;
  engine_.end_node(peer);
  for (Slot& slot : slots_) {
    if (slot.is_used && slot.node == peer) slot.is_used = false;  // the links have forgotten what it owed
  }
  engine_.run();
  end_current();
}

// Commands.

bool RmaOffload::is_unpinned(Vpid owner, Nla nla, Access access) const noexcept {
  return atu_.translate(owner, nla, access).paged != nullptr;
}

bool RmaOffload::starts(Vpid vpid, const Command& command) const noexcept {
  if (is_word_operation(command.operation) || command.operation == Operation::NotificationPut) return true;
  if (command.operation != Operation::Put && command.operation != Operation::Get) return false;
  const Access access = command.operation == Operation::Put ? Access::Read : Access::Write;
  return command.length % kWord == 0 && command.address % kWord == 0 && !is_unpinned(vpid, command.address, access);
}

void RmaOffload::start(Vpid vpid, std::uint32_t life, const Command& command, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  current_ = {vpid, life, command, std::nullopt, false};
  engine_.start(vpid, command);
  end_current();
}

void RmaOffload::end_current() {
  if (!ended_error_) return;
  Error error = *std::exchange(ended_error_, std::nullopt);
  const Current ended = *std::exchange(current_, std::nullopt);
  if (error != Error::None && ended.slot && slots_[*ended.slot].is_used) free_slot(slots_[*ended.slot]);
  if (ended.is_lost) {
    // Its slot may have been taken after the others of that node had been ended; they notify, others do not.
    engine_.end_node(ended.command.target_node);
    if (error == Error::None && !needs_slot(ended.command)) error = Error::RouteBroken;
  }
  on_ended_(ended.vpid, ended.life, ended.command.target_node, error);
}

// Packets of other nodes.

bool RmaOffload::takes(NodeId from, const RmaHeader& header, std::size_t data, const RmaEngine::Window* window,
                       bool software_waits) {
  const std::size_t put = from * kVpids + header.source_vpid;
  if (header.kind == kPutAbandoned) return puts_[put];
  const auto operation = static_cast<Operation>(header.kind);
  if (operation == Operation::Put && header.at != 0) return puts_[put];
  bool is_its = false;
  const Nla nla = window == nullptr ? 0 : window->first + header.offset;
  switch (operation) {
    case Operation::Put:
      is_its = header.length % kWord == 0 && data % kWord == 0 && data <= RmaEngine::kDataBytes && nla % kWord == 0;
      break;
    case Operation::Get: is_its = header.length % kWord == 0 && nla % kWord == 0 && !software_waits; break;
    case Operation::NotificationPut: return !ports_.is_full(header.target_vpid);
    default: is_its = is_word_operation(operation);
  }
  if (window != nullptr && is_unpinned(window->owner, window->first, window->access)) is_its = false;
  if (operation == Operation::Put) puts_[put] = is_its;
  return is_its;
}

bool RmaOffload::takes_answer(const RmaHeader& header) noexcept {
  return header.kind == kAnswerRefusal || ((header.kind == kAnswerData || header.kind == kAnswerResult) &&
                                           (header.request & 0xFFFFU) < RmaEngine::kSlots);
}

void RmaOffload::take(NodeId from, VirtualChannel channel, const RmaHeader& header, std::span<const std::byte> packet,
                      std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (channel == VirtualChannel::Low) {
    request_from_ = from;
    is_request_lost_ = false;
  } else if (Slot* const slot = header.kind == kAnswerRefusal ? nullptr : find_slot(from, header); slot != nullptr) {
    const auto length = static_cast<std::uint32_t>(packet.size() - sizeof(RmaHeader));
    if (header.kind == kAnswerResult) {
      free_slot(*slot);
    } else if (slot->operation == Operation::Get) {
      slot->received += length;
      if (slot->received >= slot->length) free_slot(*slot);
    }
  }
  engine_.take(from, channel, packet);
  end_current();
}

std::size_t RmaOffload::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  const bool may_send = current_ && has_room(VirtualChannel::Low);
  const bool may_answer = !engine_.is_free() && has_room(VirtualChannel::High);
  if (!may_send && !may_answer) return 0;
  const std::size_t before = sent_;
  engine_.run();
  end_current();
  return sent_ - before;
}

// What waits.

RmaOffload::Slot* RmaOffload::find_slot(NodeId from, const RmaHeader& header) noexcept {
  const std::size_t index = header.request & 0xFFFFU;
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  const bool is_it = slot.is_used && slot.request == header.request && slot.node == from &&
                     slot.target == header.source_vpid && slot.vpid == header.target_vpid;
  return is_it ? &slot : nullptr;
}

void RmaOffload::free_slot(Slot& slot) noexcept {
  slot.is_used = false;
  links_.expect_less(slot.node);
}

bool RmaOffload::waits(Vpid vpid, bool for_reads) const noexcept {
  return std::ranges::any_of(slots_, [&](const Slot& slot) {
    return slot.is_used && slot.vpid == vpid && is_read(slot.operation) == for_reads;
  });
}

bool RmaOffload::is_late(Vpid vpid, NodeId to) const noexcept {
  return std::ranges::any_of(slots_, [&](const Slot& slot) {
    return slot.is_used && slot.vpid == vpid && slot.node == to && slot.operation == Operation::Get;
  });
}

bool RmaOffload::is_idle() const {
  return !current_ && std::ranges::none_of(slots_, &Slot::is_used) && engine_.is_free() && !engine_.waits();
}

// What the engine asks for.

bool RmaOffload::has_room(VirtualChannel channel) {
  if (channel == VirtualChannel::High) return is_request_lost_ || links_.room(request_from_, channel) != 0;
  if (!current_ || current_->is_lost || current_->command.target_node >= links_.nodes()) return true;
  return links_.room(current_->command.target_node, channel) != 0;
}

void RmaOffload::send(NodeId to, VirtualChannel channel, std::span<const std::byte> packet) {
  ++sent_;
  RmaHeader header;
  std::memcpy(static_cast<void*>(&header), packet.data(), sizeof(header));
  if (channel == VirtualChannel::High) {
    if (!is_request_lost_) (void)links_.send(to, channel, packet, has_data(header.kind), now_ns_);
    return;
  }
  if (current_->is_lost) return;
  if (needs_slot(current_->command) && !current_->slot && header.kind != kPutAbandoned) {
    const std::size_t index = header.request & 0xFFFFU;
    if (index >= slots_.size()) throw std::runtime_error("the engine numbers a command that it cannot have");
    current_->slot = index;
    slots_[index] = {.is_used = true,
                     .vpid = current_->vpid,
                     .node = to,
                     .target = header.target_vpid,
                     .operation = current_->command.operation,
                     .request = header.request,
                     .length = header.length};
    links_.expect(to, now_ns_);
  }
  (void)links_.send(to, channel, packet, has_data(header.kind), now_ns_);
}

std::optional<PageNumber> RmaOffload::translate(Vpid who, Nla nla, Access access) {
  const Translation translation = atu_.translate(who, nla, access);
  if (!translation.ok || translation.paged != nullptr) return std::nullopt;
  return translation.page;
}

void RmaOffload::tell(Vpid vpid, const Notification& notification) {
  // The port that began the command has been closed; another one may have its number.
  const bool is_of_command = notification.teller == Teller::Requester;
  if (is_of_command && current_ && current_->vpid == vpid && current_->life != lives_[vpid]) return;
  (void)ports_.tell(vpid, notification);
}

}  // namespace stopbit::nic
