#include "host/nic/msg/message_unit.hpp"

#include <algorithm>

#include "host/nic/msg/message_engine.hpp"
#include "host/nic/word_copy.hpp"

namespace stopbit::nic {
namespace {

constexpr unsigned kUseAt = 16;

constexpr VirtualChannel channel_of(Priority priority) noexcept {
  return priority == Priority::High ? VirtualChannel::High : VirtualChannel::Low;
}

bool is_packet(const MessagePacket& packet, std::size_t payload_bytes) noexcept {
  if (packet.flags > MessagePacket::kAllFlags) return false;
  if ((packet.flags & MessagePacket::kIsAnswer) != 0)
    return packet.flags == MessagePacket::kIsAnswer && payload_bytes == 0 && packet.type < kErrors;
  return packet.type <= 3 && packet.length < kMaxMessageBytes && payload_bytes == packet.length + std::size_t{1};
}

}  // namespace

MessageUnit::MessageUnit(Links& links, Ports& ports, NodeId node, std::size_t nodes)
    : links_(links),
      ports_(ports),
      node_(node),
      nodes_(nodes),
      boxes_(ports.count()),
      is_lost_(nodes),
      table_(kWaiting),
      pending_(kWaiting * nodes),
      owed_(nodes),
      asked_(nodes) {}

bool MessageUnit::open(Vpid vpid, const Page& page, const MessagePort& port) {
  if (!ports_.is_open(vpid) || boxes_[vpid]) return false;
  page.word(PageWord::SlotBytes).store(valid_slot_bytes(port.slot_bytes), std::memory_order_relaxed);
  boxes_[vpid] = std::make_unique<ReceivingPort>(page, port);
  if (engine_ != nullptr) engine_->open(vpid, ports_.domain(vpid), page, port);
  return true;
}

void MessageUnit::close(Vpid vpid) {
  if (vpid >= boxes_.size()) return;
  boxes_[vpid].reset();
  if (engine_ != nullptr) engine_->close(vpid);
  for (Waiting& waiting : table_) {
    if (waiting.is_used && waiting.origin == vpid) waiting.is_orphan = true;
  }
  for (auto& [id, group] : groups_) {
    if (std::erase(group.ports, vpid) != 0 && engine_ != nullptr) engine_->set_group(id, group);
  }
}

Error MessageUnit::start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu& atu) {
  if (vpid >= boxes_.size() || !boxes_[vpid]) return Error::OriginVpid;
  if (const Error error = VrbhQueue::check(ring); error != Error::None) return error;
  if (engine_ != nullptr) engine_->start_ring(vpid, priority, ring, atu);
  ReceivingPort& port = *boxes_[vpid];
  port.rings[static_cast<std::size_t>(priority)] = {
      std::make_unique<SegmentWriter>(atu, vpid, port.page, priority, ring), std::nullopt, false};
  return Error::None;
}

void MessageUnit::stop_ring(Vpid vpid, Priority priority) noexcept {
  if (vpid >= boxes_.size() || !boxes_[vpid]) return;
  if (engine_ != nullptr) engine_->stop_ring(vpid, priority);
  boxes_[vpid]->rings[static_cast<std::size_t>(priority)] = {};
}

const SegmentWriter* MessageUnit::ring(Vpid vpid, Priority priority) const noexcept {
  if (vpid >= boxes_.size() || !boxes_[vpid]) return nullptr;
  return boxes_[vpid]->rings[static_cast<std::size_t>(priority)].writer.get();
}

void MessageUnit::enable(Vpid vpid, bool on) noexcept {
  if (vpid >= boxes_.size() || !boxes_[vpid]) return;
  if (engine_ != nullptr) engine_->enable(vpid, on);
  boxes_[vpid]->is_enabled = on;
}

void MessageUnit::set_group(GroupId id, MessageGroup group) {
  std::erase_if(group.nodes, [&](NodeId node) { return node >= nodes_ || node == node_; });
  if (engine_ != nullptr) engine_->set_group(id, group);
  if (group.ports.empty() && group.nodes.empty()) {
    groups_.erase(id);
  } else {
    groups_[id] = std::move(group);
  }
}

std::size_t MessageUnit::max_bytes() const noexcept {
  return std::min(kMaxMessageBytes, links_.packet_bytes() - sizeof(MessagePacket));
}

bool MessageUnit::send_packet(NodeId to, Priority priority, const MessagePacket& packet,
                              std::span<const std::byte> payload, std::uint64_t now_ns) {
  const std::span<std::byte> place = links_.place(to, channel_of(priority));
  if (place.empty()) return false;
  // As two words: that is how the carrier and the completer read it.
  store_word(place.data(), apart(static_cast<std::uint8_t>(packet.service)) | apart(packet.flags) << 8U |
                               apart(packet.tag) << 16U | apart(packet.type) << 24U | apart(packet.source_vpid) << 32U |
                               apart(packet.target) << 48U);
  store_word(place.data() + kWordBytes,
             apart(packet.domain) | apart(packet.length) << 16U | apart(packet.reference) << 32U);
  copy_bytes(place.data() + sizeof(packet), payload.data(), payload.size());
  return links_.send(to, channel_of(priority), place.first(sizeof(packet) + payload.size()), false, now_ns) ==
         SendResult::Sent;
}

MessageUnit::Sending MessageUnit::send(Vpid origin, const Message& message, std::span<const std::byte> payload,
                                       std::uint64_t now_ns) {
  MessagePacket packet;
  std::vector<std::byte> bytes;
  if (engine_ != nullptr) {
    if (message.is_group && message.acknowledges) return {Outcome::Refused, Error::Command};
    const Error error = engine_->request(origin, message, payload, packet, bytes);
    if (error != Error::None) return {Outcome::Refused, error};
    payload = bytes;
  } else {
    const ReceivingPort* const port = origin < boxes_.size() ? boxes_[origin].get() : nullptr;
    if (port == nullptr || !port->is_enabled || !ports_.is_open(origin)) return {Outcome::Refused, Error::OriginVpid};
    if (payload.empty() || payload.size() > max_bytes()) return {Outcome::Refused, Error::OriginLength};
    packet.tag = static_cast<std::uint8_t>(message.tag);
    packet.type = message.type & 3U;
    packet.source_vpid = origin;
    packet.target = message.target;
    packet.domain = ports_.domain(origin);
    packet.length = static_cast<std::uint16_t>(payload.size() - 1);
    packet.flags = static_cast<std::uint8_t>((message.is_group ? MessagePacket::kToGroup : 0) |
                                             (message.is_erroneous ? MessagePacket::kIsErroneous : 0) |
                                             (message.announces ? MessagePacket::kAnnounces : 0));
  }

  if (message.is_group) {
    if (message.acknowledges) return {Outcome::Refused, Error::Command};
    const auto group = groups_.find(message.target);
    if (group == groups_.end()) return {Outcome::Refused, Error::TargetVpid};
    if (group->second.domain != packet.domain) return {Outcome::Refused, Error::Domain};
    // To all of its nodes or to none, so that a copy is never sent twice. A lost node does not count.
    for (const NodeId node : group->second.nodes) {
      if (!is_lost_[node] && links_.room(node, channel_of(message.priority)) == 0) return {Outcome::Busy, Error::None};
    }
    for (const NodeId node : group->second.nodes) {
      if (!is_lost_[node]) (void)send_packet(node, message.priority, packet, payload, now_ns);
    }
    deliver_to_group(node_, message.priority, packet, payload);
    ++counters_.sent;
    return {};
  }

  if (message.node >= nodes_) return {Outcome::Refused, Error::Route};
  if (message.node == node_) {
    const auto [error, is_held] = deliver(message.target, node_, message.priority, packet, payload, true);
    if (is_held) return {Outcome::Busy, Error::None};
    ++counters_.sent;
    if (error != Error::None) supervise(error, node_, packet);
    if (message.acknowledges) tell_sender(origin, node_, message.tag, error);
    return {};
  }
  if (is_lost_[message.node]) return {Outcome::Refused, Error::RouteBroken};
  if (links_.room(message.node, channel_of(message.priority)) == 0) return {Outcome::Busy, Error::None};
  std::size_t place = kWaiting;
  if (message.acknowledges) {
    if (waiting_ == kWaiting || asked_[message.node] == kAsked) return {Outcome::Busy, Error::None};
    for (place = search_from_; table_[place].is_used; place = (place + 1) % kWaiting) {
    }
    packet.flags |= MessagePacket::kAsksAnswer;
    packet.reference = static_cast<std::uint32_t>(place) | std::uint32_t{++table_[place].use} << kUseAt;
  }
  if (!send_packet(message.node, message.priority, packet, payload, now_ns)) return {Outcome::Busy, Error::None};
  if (message.acknowledges) {
    Waiting& waiting = table_[place];
    waiting.is_used = true;
    waiting.is_orphan = false;
    waiting.origin = origin;
    waiting.node = message.node;
    waiting.tag = message.tag;
    ++waiting_;
    ++asked_[message.node];
    links_.expect(message.node, now_ns);
    search_from_ = (place + 1) % kWaiting;
  }
  ++counters_.sent;
  return {};
}

bool MessageUnit::ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> bytes, std::uint8_t) {
  if (bytes.size() < sizeof(MessagePacket)) {
    ++counters_.foreign;
    return true;
  }
  const auto packet = load_words<MessagePacket>(bytes.data());
  const std::span<const std::byte> payload = bytes.subspan(sizeof(packet));
  if (!is_packet(packet, payload.size())) {
    ++counters_.foreign;
    return true;
  }
  if ((packet.flags & MessagePacket::kIsAnswer) != 0) {
    complete(packet, from);
    return true;
  }
  const Priority priority = channel == VirtualChannel::High ? Priority::High : Priority::Low;
  if ((packet.flags & MessagePacket::kToGroup) != 0) {
    deliver_to_group(from, priority, packet, payload);
    return true;
  }
  const auto [error, is_held] = deliver(packet.target, from, priority, packet, payload, true);
  if (is_held) return false;
  if (error != Error::None) supervise(error, from, packet);
  if ((packet.flags & MessagePacket::kAsksAnswer) == 0) return true;
  if (owed_[from] == kWaiting) {
    ++counters_.unanswered;
    return true;
  }
  ++owed_[from];
  pending_[answers_++] = {from, packet.reference, error};
  return true;
}

MessageUnit::Delivery MessageUnit::deliver(Vpid target, NodeId from, Priority priority, const MessagePacket& packet,
                                           std::span<const std::byte> payload, bool may_hold) {
  if (engine_ != nullptr) return deliver_by_engine(from, priority, packet, payload);
  if (const Error error = check(target, from, packet); error != Error::None) return {error};
  MessageHead head;
  head.node = from;
  head.vpid = packet.source_vpid;
  head.tag = packet.tag;
  head.type = packet.type;
  head.length = static_cast<std::uint16_t>(payload.size());
  head.is_erroneous = (packet.flags & MessagePacket::kIsErroneous) != 0;
  const Delivery delivery = put(target, priority, head, payload, may_hold);
  if (!delivery.is_held) account(target, delivery.error, from, packet);
  return delivery;
}

Error MessageUnit::check(Vpid target, NodeId from, const MessagePacket& packet) const noexcept {
  const ReceivingPort* const port = target < boxes_.size() ? boxes_[target].get() : nullptr;
  if (port == nullptr || !ports_.is_open(target)) return Error::TargetVpid;
  if (ports_.domain(target) != packet.domain) return Error::Domain;
  const MessagePort::Origin origin{from, packet.source_vpid};
  if (port->only_from && *port->only_from != origin) return Error::Domain;
  return port->is_enabled ? Error::None : Error::TargetVpid;
}

void MessageUnit::account(Vpid target, Error error, NodeId from, const MessagePacket& packet) {
  if (error != Error::None) {
    const auto word = boxes_[target]->page.word(PageWord::DroppedMessages);
    word.store(word.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  ++counters_.delivered;
  if ((packet.flags & MessagePacket::kAnnounces) == 0) return;
  Notification notification;
  notification.teller = Teller::Completer;
  notification.operation = Operation::FastSend;
  notification.error = (packet.flags & MessagePacket::kIsErroneous) != 0 ? Error::Truncated : Error::None;
  notification.node = from;
  notification.vpid = packet.source_vpid;
  notification.tag = packet.tag;
  notification.length = packet.length + 1U;
  ports_.tell(target, notification);
}

MessageUnit::Delivery MessageUnit::deliver_by_engine(NodeId from, Priority priority, const MessagePacket& packet,
                                                     std::span<const std::byte> payload) {
  const bool is_group = (packet.flags & MessagePacket::kToGroup) != 0;
  const auto delivered = engine_->deliver(from, priority, packet, payload, now_ns_);
  if (!delivered) return {Error::None, true};
  for (const MessageEngine::End& end : delivered->ends) tell_end(end.vpid, end.error, end.culprit);
  for (const MessageEngine::Copy& copy : delivered->copies) {
    if (copy.error != Error::TargetVpid && copy.error != Error::Domain) account(copy.target, copy.error, from, packet);
    if (is_group && copy.error != Error::None) supervise(copy.error, from, packet);
  }
  return {is_group || delivered->copies.empty() ? Error::None : delivered->copies.front().error};
}

void MessageUnit::tell_end(Vpid target, Error error, std::uint64_t culprit) noexcept {
  Notification notification;
  notification.teller = Teller::Supervisor;
  notification.operation = Operation::FastSend;
  notification.error = error;
  notification.node = node_;
  notification.vpid = target;
  notification.value = culprit;
  ports_.tell(target, notification);
}

/// Into the mailbox of an open port.
MessageUnit::Delivery MessageUnit::put(Vpid target, Priority priority, const MessageHead& head,
                                       std::span<const std::byte> payload, bool may_hold) {
  ReceivingPort& port = *boxes_[target];
  ReceivingPort::Ring& ring = port.rings[static_cast<std::size_t>(priority)];
  if (!ring.writer) {
    const bool has_room = port.boxes[static_cast<std::size_t>(priority)].put(head, payload);
    return {has_room ? Error::None : Error::Full};
  }
  const bool had_ended = ring.writer->queue().has_ended();
  const SegmentWriter::Put put = ring.writer->put(head, payload);
  if (!had_ended && ring.writer->queue().has_ended()) {
    tell_end(target, ring.writer->error(), ring.writer->queue().culprit());
  }
  switch (put) {
    case SegmentWriter::Put::Done:
      ring.held_since_ns.reset();
      ring.has_dropped = false;
      return {};
    case SegmentWriter::Put::Ended: return {ring.writer->error()};
    case SegmentWriter::Put::Late: break;
  }
  if (!may_hold || ring.has_dropped || ring.writer->hold_ns() == 0) return {Error::Full};
  if (!ring.held_since_ns) {
    ring.held_since_ns = now_ns_;
    ++counters_.held;
  }
  if (now_ns_ - *ring.held_since_ns < ring.writer->hold_ns()) return {Error::None, true};
  // A port may hold others up only once: it must take something before it may again.
  ring.held_since_ns.reset();
  ring.has_dropped = true;
  return {Error::Full};
}

void MessageUnit::deliver_to_group(NodeId from, Priority priority, const MessagePacket& packet,
                                   std::span<const std::byte> payload) {
  if (engine_ != nullptr) {
    (void)deliver_by_engine(from, priority, packet, payload);
    return;
  }
  const auto group = groups_.find(packet.target);
  if (group == groups_.end()) {
    supervise(Error::TargetVpid, from, packet);
    return;
  }
  for (const Vpid port : group->second.ports) {
    if (from == node_ && port == packet.source_vpid) continue;  // not back to its sender
    const Error error = deliver(port, from, priority, packet, payload, false).error;
    if (error != Error::None) supervise(error, from, packet);
  }
}

void MessageUnit::supervise(Error error, NodeId node, const MessagePacket& packet) noexcept {
  ++(error == Error::Full ? counters_.dropped : counters_.refused);
  if (!supervisor_) return;
  Notification notification;
  notification.teller = Teller::Supervisor;
  notification.operation = Operation::FastSend;
  notification.error = error;
  notification.node = node;
  notification.vpid = packet.source_vpid;
  notification.tag = packet.tag;
  notification.window = packet.target;
  notification.length = packet.length + 1U;
  ports_.tell(*supervisor_, notification);
}

void MessageUnit::tell_sender(Vpid origin, NodeId node, std::uint64_t tag, Error error) noexcept {
  Notification notification;
  notification.teller = Teller::Acknowledge;
  notification.operation = Operation::FastSend;
  notification.error = error;
  notification.node = node;
  notification.tag = tag;
  ports_.tell(origin, notification);
}

void MessageUnit::complete(const MessagePacket& answer, NodeId from) {
  Waiting& waiting = table_[answer.reference % kWaiting];
  const bool is_ours = waiting.is_used && waiting.node == from && answer.reference >> kUseAt == waiting.use &&
                       (answer.reference & 0xFFFFU) < kWaiting;
  if (!is_ours) {
    ++counters_.foreign;
    return;
  }
  waiting.is_used = false;
  --waiting_;
  --asked_[from];
  links_.expect_less(from);
  if (!waiting.is_orphan) tell_sender(waiting.origin, from, waiting.tag, static_cast<Error>(answer.type));
}

void MessageUnit::lost(NodeId peer) {
  is_lost_[peer] = true;
  // If it comes back, it has not asked for these answers.
  const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(answers_);
  answers_ = static_cast<std::size_t>(
      std::remove_if(pending_.begin(), end, [&](const Answer& answer) { return answer.to == peer; }) -
      pending_.begin());
  owed_[peer] = asked_[peer] = 0;
  for (Waiting& waiting : table_) {
    if (!waiting.is_used || waiting.node != peer) continue;
    waiting.is_used = false;
    --waiting_;
    if (!waiting.is_orphan) tell_sender(waiting.origin, peer, waiting.tag, Error::RouteBroken);
  }
}

std::size_t MessageUnit::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < answers_; ++i) {
    const Answer& answer = pending_[i];
    MessagePacket packet;
    packet.flags = MessagePacket::kIsAnswer;
    packet.reference = answer.reference;
    packet.type = static_cast<std::uint8_t>(answer.error);
    if (!is_lost_[answer.to] && !send_packet(answer.to, Priority::High, packet, {}, now_ns)) {
      pending_[kept++] = answer;
    } else {
      --owed_[answer.to];
    }
  }
  const std::size_t sent = answers_ - kept;
  answers_ = kept;
  return sent;
}

}  // namespace stopbit::nic
