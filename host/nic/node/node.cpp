#include "host/nic/node/node.hpp"

#include <algorithm>
#include <cstring>

#include "host/nic/rma/memory.hpp"

namespace stopbit::nic {
namespace {

constexpr unsigned kTypeAt = 8;  // in the tag of FastSend and Send

constexpr bool is_message(Operation operation) noexcept {
  return operation == Operation::FastSend || operation == Operation::Send || operation == Operation::SendPart;
}

}  // namespace

Node::Node(Transport& transport, const NodeOptions& options)
    : transport_(transport),
      options_(options),
      links_(transport, options.link),
      atu_(options.atu),
      ports_(options.ports),
      rma_(links_, atu_, ports_, options.rma),
      messages_(links_, ports_, transport.node(), transport.nodes()),
      buffer_(kMaxMessageBytes) {
  services_.attach(Service::Rma, rma_);
  services_.attach(Service::Message, messages_);
  open_.reserve(options.ports);
}

std::optional<Vpid> Node::open_port(const Page& page, Pdid domain, const MessagePort& how) {
  for (std::size_t tried = 0; tried < ports_.count(); ++tried) {
    const auto vpid = static_cast<Vpid>(next_vpid_++ % ports_.count());
    if (!ports_.open(vpid, page, domain)) continue;
    rma_.open_port(vpid);
    (void)messages_.open(vpid, page, how);
    open_.push_back(std::make_unique<OpenPort>(page, vpid, options_.combine_patience_ns));
    open_.back()->asked_ns = now_ns_;
    std::swap(open_.back(), open_[awake_++]);
    page.word(PageWord::State).store(static_cast<std::uint64_t>(PortState::Enabled), std::memory_order_relaxed);
    page.word(PageWord::Magic).store(kPageMagic, std::memory_order_release);
    return vpid;
  }
  return std::nullopt;
}

void Node::close_port(Vpid vpid) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const std::unique_ptr<OpenPort>& port) { return port->vpid == vpid; });
  if (found == open_.end()) return;
  OpenPort& port = **found;
  port.page.word(PageWord::State).store(static_cast<std::uint64_t>(PortState::Closed), std::memory_order_release);
  // Tells the receiver of a partial message that it was cut short, if its mailbox has room.
  for (Ring& ring : port.rings) {
    const bool is_high = &ring == &port.rings.front();
    const auto send_last = [&](const std::optional<Combined>& message) {
      if (message) (void)send_combined(port, *message, is_high, now_ns_);
      return message.has_value();
    };
    (void)send_last(ring.combined);
    (void)send_last(ring.expired);
    while (send_last(ring.combiner.give_up())) {
    }
  }
  rma_.close_port(vpid);
  messages_.close(vpid);
  ports_.close(vpid);
  if (static_cast<std::size_t>(found - open_.begin()) < awake_) --awake_;
  open_.erase(found);
}

void Node::enable_port(Vpid vpid, bool on) {
  for (const std::unique_ptr<OpenPort>& port : open_) {
    if (port->vpid != vpid) continue;
    port->is_enabled = on;
    messages_.enable(vpid, on);
    port->page.word(PageWord::State)
        .store(static_cast<std::uint64_t>(on ? PortState::Enabled : PortState::Disabled), std::memory_order_release);
  }
}

std::size_t Node::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  std::size_t work = ports_.begin_step();
  // What ports ask for leaves before anything is received, and what arrives is the last thing done: neither waits for
  // the rest.
  work += serve_ports(now_ns);
  if (now_ns >= expires_ns_) look_for_expired(now_ns);
  work += rma_.step(now_ns);
  work += links_.step(services_, now_ns);
  work += messages_.step(now_ns);
  return work;
}

std::size_t Node::serve_ports(std::uint64_t now_ns) {
  std::size_t work = 0;
  if (first_ >= awake_) first_ = 0;
  for (std::size_t i = first_; i < awake_; ++i) work += serve(*open_[i], now_ns);
  for (std::size_t i = 0; i < first_; ++i) work += serve(*open_[i], now_ns);
  // One of them may go to rest in each step.
  if (awake_ != 0 && now_ns - open_[first_]->asked_ns >= options_.rest_ns) {
    std::swap(open_[first_], open_[--awake_]);
  } else {
    ++first_;
  }
  for (std::size_t looks = std::min(kRestingLooks, open_.size() - awake_); looks != 0; --looks) {
    if (resting_ < awake_ || resting_ >= open_.size()) resting_ = awake_;
    OpenPort& port = *open_[resting_];
    work += serve(port, now_ns);
    if (port.asked_ns == now_ns) std::swap(open_[resting_], open_[awake_++]);
    ++resting_;
  }
  return work;
}

std::size_t Node::serve(OpenPort& port, std::uint64_t now_ns) {
  if (!port.is_enabled) return 0;
  std::size_t work = 0;
  for (Ring& ring : port.rings) {
    if (!ring.has_command && !ring.source.has_next()) continue;
    port.asked_ns = now_ns;
    work += serve(port, ring, &ring == &port.rings.front(), now_ns);
  }
  return work;
}

bool Node::is_idle() const noexcept {
  const bool has_none = std::all_of(open_.begin(), open_.end(), [](const std::unique_ptr<OpenPort>& port) {
    return std::none_of(port->rings.begin(), port->rings.end(), [](const Ring& ring) { return ring.has_command; });
  });
  return has_none && links_.is_idle() && rma_.is_idle() && messages_.is_idle();
}

std::size_t Node::serve(OpenPort& port, Ring& ring, bool is_high, std::uint64_t now_ns) {
  std::size_t work = 0;
  for (std::size_t bytes = 0; work < kCommandsPerTurn && bytes < kBytesPerTurn; ++work) {
    if (ring.has_transfer && rma_.is_busy(port.vpid)) break;
    ring.has_transfer = false;
    if (!ring.has_command) {
      if (!ring.source.take(ring.command)) break;
      ring.has_command = true;
      ++counters_.commands;
    }
    if (run(port, ring, is_high, now_ns) == Done::Later) break;
    ring.has_command = false;
    bytes += bytes_at_once(ring.command);
  }
  return work;
}

/// What a command moves in its port's turn.
std::size_t Node::bytes_at_once(const Command& command) const noexcept {
  const bool is_long = command.operation == Operation::Send || command.operation == Operation::Put;
  return is_long ? std::min<std::size_t>(command.length, links_.packet_bytes()) : kLineBytes;
}

Node::Done Node::run(OpenPort& port, Ring& ring, bool is_high, std::uint64_t now_ns) {
  const Command& command = ring.command;
  if (!is_message(command.operation)) {
    if (rma_.is_busy(port.vpid)) return Done::Later;
    rma_.start(port.vpid, command, now_ns);
    ring.has_transfer = true;
    return Done::Yes;
  }
  if ((command.modifiers & kAbort) != 0 && command.operation != Operation::SendPart) {
    tell(port.vpid, command, Error::Command);
    return Done::Yes;
  }
  const auto type = static_cast<std::uint8_t>(command.tag >> kTypeAt & 3U);
  if (command.operation == Operation::FastSend) {
    const auto* const payload = reinterpret_cast<const std::byte*>(&command) + kPayloadAt;
    const std::size_t length = std::min<std::size_t>(command.window, kMaxFastBytes + 1);
    if (length > kMaxFastBytes) {
      tell(port.vpid, command, Error::OriginLength);
      return Done::Yes;
    }
    return send(port, command, type, {payload, length}, is_high, now_ns);
  }
  if (command.operation == Operation::Send) {
    if (command.length == 0 || command.length > messages_.max_bytes()) {
      tell(port.vpid, command, Error::OriginLength);
      return Done::Yes;
    }
    const Moved moved = read_memory(port.vpid, command.address, command.length);
    if (moved == Moved::Absent) return Done::Later;
    if (moved == Moved::Refused) {
      tell(port.vpid, command, Error::OriginWindow);
      return Done::Yes;
    }
    return send(port, command, type, std::span<const std::byte>(buffer_).first(command.length), is_high, now_ns);
  }
  if (!ring.combined) {
    if (send_expired(port, ring, is_high, now_ns) == Done::Later) return Done::Later;
    const WriteCombiner::Outcome outcome = ring.combiner.take(command, now_ns);
    if (outcome.error != Error::None) tell(port.vpid, command, outcome.error);
    if (const auto expires = ring.combiner.expires_ns()) expires_ns_ = std::min(expires_ns_, *expires);
    if (!outcome.message) return Done::Yes;
    ring.combined = outcome.message;
  }
  const Done done = send_combined(port, *ring.combined, is_high, now_ns);
  if (done == Done::Yes) ring.combined.reset();
  return done;
}

Node::Done Node::send_combined(OpenPort& port, const Combined& message, bool is_high, std::uint64_t now_ns) {
  if (!message.is_cut) return send(port, message.header, message.part.type, message.payload, is_high, now_ns);
  Command header = message.header;
  header.modifiers |= kAbort;
  const std::size_t bytes = std::min(message.payload.size(), messages_.max_bytes());
  return send(port, header, message.part.type, message.payload.first(bytes), is_high, now_ns);
}

Node::Done Node::send_expired(OpenPort& port, Ring& ring, bool is_high, std::uint64_t now_ns) {
  while (ring.expired || (ring.expired = ring.combiner.expire(now_ns))) {
    // Its sender gets the outcome, and nothing else.
    ring.expired->header.modifiers &= static_cast<std::uint8_t>(~(kAcknowledge | kNotifyRequester));
    if (send_combined(port, *ring.expired, is_high, now_ns) == Done::Later) return Done::Later;
    tell(port.vpid, ring.expired->header, Error::Truncated);
    ring.expired.reset();
  }
  return Done::Yes;
}

/// A message whose parts do not come any more waits for no other command of its port.
void Node::look_for_expired(std::uint64_t now_ns) {
  expires_ns_ = ~std::uint64_t{0};
  for (const std::unique_ptr<OpenPort>& port : open_) {
    for (Ring& ring : port->rings) {
      if (send_expired(*port, ring, &ring == &port->rings.front(), now_ns) == Done::Later) expires_ns_ = now_ns;
      if (const auto expires = ring.combiner.expires_ns()) expires_ns_ = std::min(expires_ns_, *expires);
    }
  }
}

Node::Done Node::send(OpenPort& port, const Command& command, std::uint8_t type, std::span<const std::byte> payload,
                      bool is_high, std::uint64_t now_ns) {
  if (command.modifiers > kAllMessageModifiers || (command.modifiers & kNotifyResponder) != 0) {
    tell(port.vpid, command, Error::Command);
    return Done::Yes;
  }
  MessageUnit::Message message;
  message.node = command.target_node;
  message.target = command.target_vpid;
  message.is_group = (command.modifiers & kGroup) != 0;
  message.priority = is_high || (command.modifiers & kHighPriority) != 0 ? Priority::High : Priority::Low;
  message.acknowledges = (command.modifiers & kAcknowledge) != 0;
  message.announces = (command.modifiers & kNotifyCompleter) != 0;
  message.is_erroneous = (command.modifiers & kAbort) != 0;
  message.type = type;
  message.tag = command.tag;
  const MessageUnit::Sending sending = messages_.send(port.vpid, message, payload, now_ns);
  switch (sending.outcome) {
    case MessageUnit::Outcome::Busy: return Done::Later;
    case MessageUnit::Outcome::Refused: tell(port.vpid, command, sending.error); break;
    case MessageUnit::Outcome::Sent:
      if ((command.modifiers & kNotifyRequester) != 0) tell(port.vpid, command, Error::None);
      break;
  }
  return Done::Yes;
}

void Node::tell(Vpid vpid, const Command& command, Error error) {
  if (error != Error::None) ++counters_.refused[static_cast<std::size_t>(error)];
  Notification notification;
  notification.teller = Teller::Requester;
  notification.operation = command.operation;
  notification.error = error;
  notification.node = command.target_node;
  notification.vpid = command.target_vpid;
  notification.tag = command.tag;
  ports_.tell(vpid, notification);
}

Moved Node::read_memory(Vpid vpid, Nla from, std::size_t length) {
  for (std::size_t done = 0; done < length;) {
    const std::size_t in_page = static_cast<std::size_t>((from + done) % kPageBytes);
    const std::size_t bytes = std::min(length - done, kPageBytes - in_page);
    if (from + done < from) return Moved::Refused;
    const Moved moved = use_page(atu_.translate(vpid, from + done, Access::Read), Access::Read,
                                 [&](std::byte* page) { std::memcpy(buffer_.data() + done, page + in_page, bytes); });
    if (moved != Moved::Done) return moved;
    done += bytes;
  }
  return Moved::Done;
}

}  // namespace stopbit::nic
