#include "host/nic/palms/port.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "host/os/clock.hpp"
#include "host/os/random.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::nic::palms {
namespace {

constexpr unsigned kNumberAt = 16;  ///< In the tag of a command; the bits below go to the receiver.
constexpr std::uint64_t kLeastPauseNs = 20'000;
constexpr std::uint64_t kMostPauseNs = 2'000'000;
/// After this an acknowledgement that has not come may be one that found no room.
constexpr std::uint64_t kOverdueNs = 100'000'000;
constexpr std::uint32_t kBusyTurns = 64;  ///< Without progress, before a waiting call sleeps.
constexpr useconds_t kNapUs = 50;
constexpr std::uint32_t kLookTurns = 1'024;  ///< Between two looks at whether the appliance is there.

constexpr std::size_t fragments_of(std::size_t bytes) noexcept {
  return bytes == 0 ? 1 : (bytes + kPayloadBytes - 1) / kPayloadBytes;
}
constexpr std::uint64_t in_words(std::uint64_t bytes) noexcept {
  return (bytes + 7) / 8 * 8;
}

std::string problem_of(const Options& options) {
  const auto is_power = [](std::size_t value) { return value >= 4 && value <= 1U << 20 && std::has_single_bit(value); };
  if (!is_power(options.send_descriptors) || !is_power(options.receive_descriptors)) {
    return "the tables of descriptors have a power of two of entries, 4 to 1,048,576";
  }
  const auto is_ring = [](std::size_t bytes) { return bytes >= 4 * kFragmentBytes && bytes <= std::size_t{1} << 30; };
  if (!is_ring(options.send_bytes) || !is_ring(options.receive_bytes)) return "a data ring has 4 KiB to 1 GiB";
  if (options.connections == 0 || options.connections > 65'536) return "there are 1 to 65,536 connections";
  const std::size_t most = options.send_bytes / kFragmentBytes * kPayloadBytes;
  if (options.mtu <= kMostHeaderBytes || options.mtu > most) {
    return "the mtu has " + std::to_string(kMostHeaderBytes + 1) + " bytes or more, and at most " +
           std::to_string(most) + ", the send ring's";
  }
  return {};
}

}  // namespace

const char* to_text(Code code) noexcept {
  switch (code) {
    case Code::Ok: return "done";
    case Code::Nothing: return "no message has come whole";
    case Code::Full: return "no room in the rings";
    case Code::TooLong: return "the message is too long";
    case Code::Cut: return "the connection ended within the message";
    case Code::NoPeer: return "there is no such connection";
    case Code::Broken: return "the connection is broken";
    case Code::TimedOut: return "it took too long";
    case Code::PortEnded: return "the appliance has closed the port";
  }
  return "unknown";
}

Port::Port(std::unique_ptr<Client> client, SharedRegion memory, const Options& options)
    : client_(std::move(client)),
      memory_(std::move(memory)),
      options_(options),
      send_descriptors_(options.send_descriptors),
      receive_descriptors_(options.receive_descriptors),
      receive_data_(options.receive_bytes / kPayloadBytes * kPayloadBytes),
      connections_(options.connections) {
  send_table_.size = options.send_descriptors;
  send_data_.size = options.send_bytes / kFragmentBytes;
  receive_table_.size = options.receive_descriptors;
  receive_data_pointers_.size = options.receive_bytes / kPayloadBytes;
  set_watermark(options.watermark);
}

Result<std::unique_ptr<Port>> Port::open(const std::string& broker, const Options& options) {
  if (const std::string problem = problem_of(options); !problem.empty()) return Failure{problem};
  constexpr std::size_t kSlotBytes = 128;
  Result<std::unique_ptr<Client>> client = Client::open(broker, kSlotBytes);
  if (!client) return client.failure();
  Result<SharedRegion> memory = client.value()->share(round_up(options.send_bytes, kPageBytes), Access::Read);
  if (!memory) return memory.failure();
  return std::unique_ptr<Port>(new Port(std::move(client).value(), std::move(memory).value(), options));
}

Port::~Port() {
  for (const Connection& connection : connections_) {
    if (connection.out != 0 && !connection.is_broken) {
      tell(connection.node, connection.vpid, Fragment::Kind::Close, connection.out);
    }
  }
}

// ---- Connections.

std::uint32_t Port::index_of(const Connection& connection) const noexcept {
  return static_cast<std::uint32_t>(&connection - connections_.data());
}

Port::Connection* Port::find(Handle handle) noexcept {
  if (handle.index >= connections_.size()) return nullptr;
  Connection& connection = connections_[handle.index];
  return connection.is_used && connection.use == handle.use ? &connection : nullptr;
}
const Port::Connection* Port::find(Handle handle) const noexcept {
  return const_cast<Port*>(this)->find(handle);
}

/// The place of a port, or a new one. If all are taken, that of a port that only sent to this one, of which nothing is
/// left to read, and which is silent for longest: it learns that when it sends again. Null: there is none.
Port::Connection* Port::place_for(NodeId node, Vpid vpid) noexcept {
  Connection* unused = nullptr;
  Connection* oldest = nullptr;
  for (Connection& one : connections_) {
    if (one.is_used && one.node == node && one.vpid == vpid) return &one;
    if (!one.is_used) {
      if (unused == nullptr) unused = &one;
    } else if (!one.is_ours && one.pieces == 0 && !one.is_receiving && one.outstanding == 0 &&
               (oldest == nullptr || one.heard < oldest->heard)) {
      oldest = &one;
    }
  }
  Connection* const place = unused != nullptr ? unused : oldest;
  if (place == nullptr) return nullptr;
  const std::uint32_t use = place->use + 1;
  *place = Connection();
  place->use = use;
  place->is_used = true;
  place->node = node;
  place->vpid = vpid;
  return place;
}

Result<Handle> Port::connect(NodeId node, Vpid vpid, std::uint64_t patience_ns) {
  const std::uint64_t until_ns = os::monotonic_clock_ns() + patience_ns;
  Wait waits{.until_ns = until_ns};
  Connection* connection = place_for(node, vpid);
  if (connection != nullptr && connection->out != 0 && !connection->is_broken) {
    return Handle{index_of(*connection), connection->use};
  }
  // What was sent on a connection of before may still be under way: the interface reads its memory.
  for (; connection != nullptr && connection->outstanding != 0; connection = place_for(node, vpid)) {
    if (!wait(waits)) return Failure{to_text(waits.code)};
  }
  if (connection == nullptr) return Failure{"all connections of this port are in use"};
  connection->is_ours = true;
  connection->is_ending = connection->is_greeted = connection->is_broken = connection->goes_back = false;
  connection->why = Error::None;
  connection->next_sequence = connection->given = connection->most_given = connection->acknowledged_sequence = 0;
  connection->pause_ns = connection->retry_ns = 0;
  do {
    connection->out = static_cast<std::uint32_t>(os::random_word());
  } while (connection->out == 0);
  Result<Handle> greeted = greet(*connection, until_ns);
  if (!greeted) {
    connection->is_ending = true;
    break_off(*connection, connection->why);
  }
  return greeted;
}

Result<Handle> Port::greet(Connection& connection, std::uint64_t until_ns) {
  Wait waits{.until_ns = until_ns};
  const auto failure = [&](const std::string& why) {
    return Failure{"port " + std::to_string(connection.vpid) + " of node " + std::to_string(connection.node) +
                   " takes no connection: " + why};
  };
  for (;;) {
    const std::uint64_t now_ns = os::monotonic_clock_ns();
    if (connection.outstanding == 0 && now_ns >= connection.retry_ns && outstanding_ < kMostOutstanding) {
      const Fragment hello{.kind = Fragment::Kind::Hello, .connection = connection.out};
      (void)give(connection, command_for(connection.node, connection.vpid, hello), {}, true, now_ns);
    }
    if (!wait(waits)) return failure(to_text(waits.code));
    if (connection.is_broken) return failure(to_meaning(connection.why));
    if (connection.is_greeted) return Handle{index_of(connection), connection.use};
  }
}

void Port::disconnect(Handle handle) noexcept {
  Connection* const connection = find(handle);
  if (connection == nullptr || connection->out == 0) return;
  if (!connection->is_broken) tell(connection->node, connection->vpid, Fragment::Kind::Close, connection->out);
  connection->is_ending = true;
  break_off(*connection, Error::None);
}

void Port::break_off(Connection& connection, Error why) noexcept {
  connection.is_broken = true;
  connection.why = why;
  settle(connection);
}

/// What a connection that has ended leaves, as soon as nothing of it is under way any more.
void Port::settle(Connection& connection) noexcept {
  if (connection.is_broken && connection.outstanding == 0) {
    drop_unsent(connection);
    if (connection.is_ending) {
      connection.out = 0;
      connection.is_ours = connection.is_ending = false;
    }
  }
  if (connection.out == 0 && connection.in == 0 && connection.pieces == 0 && connection.outstanding == 0) {
    connection.is_used = false;
  }
}

void Port::drop_unsent(Connection& connection) noexcept {
  for (std::uint64_t number = connection.acknowledged.descriptor; number != kNone;) {
    SendDescriptor& descriptor = sending(number);
    number = descriptor.next_of_peer_;
    descriptor.is_done_ = true;
  }
  connection.acknowledged = connection.next = {};
  connection.last = kNone;
  connection.goes_back = false;
  free_sent();
}

Code Port::state(Handle handle) const noexcept {
  const Connection* const connection = find(handle);
  if (connection == nullptr || connection->out == 0 || connection->is_ending) return Code::NoPeer;
  return connection->is_broken ? Code::Broken : Code::Ok;
}

Error Port::why(Handle handle) const noexcept {
  const Connection* const connection = find(handle);
  return connection == nullptr ? Error::None : connection->why;
}

// ---- Sending.

std::byte* Port::send_block(std::uint64_t number) const noexcept {
  return memory_.memory.span().data() + number % send_data_.size * kFragmentBytes;
}

SendDescriptor* Port::send_malloc(Handle to, std::size_t header_bytes, std::size_t data_bytes, Code* code) noexcept {
  Code ignored = Code::Ok;
  Code& why = code != nullptr ? *code : ignored;
  why = state(to);
  if (why != Code::Ok) return nullptr;
  const std::size_t fragments = fragments_of(header_bytes + data_bytes);
  if (header_bytes > kMostHeaderBytes || data_bytes > options_.mtu || fragments > send_data_.size) {
    why = Code::TooLong;
    return nullptr;
  }
  if (send_table_.written == send_table_.read) {
    // Empty: it may begin anywhere, so that the longest message always finds room in the end.
    send_data_.written = send_data_.read = send_data_.told = send_data_.written / send_data_.size * send_data_.size;
  }
  const std::size_t left = send_data_.size - static_cast<std::size_t>(send_data_.written % send_data_.size);
  const std::size_t skipped = fragments <= left ? 0 : left;
  if (send_table_.room() == 0 || send_data_.room() < skipped + fragments) {
    why = Code::Full;
    return nullptr;
  }
  SendDescriptor& made = sending(send_table_.written);
  made = SendDescriptor();
  made.to_ = to;
  made.header_bytes_ = static_cast<std::uint16_t>(header_bytes);
  made.data_bytes_ = static_cast<std::uint32_t>(data_bytes);
  made.total_ = data_bytes;
  made.number_ = send_table_.written++;
  made.skipped_ = skipped;
  made.block_ = send_data_.written + skipped;
  made.fragments_ = static_cast<std::uint32_t>(fragments);
  made.next_of_peer_ = kNone;
  send_data_.written += skipped + fragments;
  return &made;
}

/// `at`: in header and data together.
bool Port::copy_into(SendDescriptor& to, std::size_t at, std::span<const std::byte> from) noexcept {
  const std::size_t end = std::size_t{to.header_bytes_} + to.data_bytes_;
  if (at > end || from.size() > end - at || to.is_committed_) return false;
  while (!from.empty()) {
    const std::size_t place = at % kPayloadBytes;
    const std::size_t part = std::min(from.size(), kPayloadBytes - place);
    std::memcpy(send_block(to.block_ + at / kPayloadBytes) + kFragmentHeadBytes + place, from.data(), part);
    from = from.subspan(part);
    at += part;
  }
  return true;
}

bool Port::copy_h(SendDescriptor& to, std::span<const std::byte> from, std::size_t at) noexcept {
  if (at > to.header_bytes_ || from.size() > to.header_bytes_ - at) return false;
  return copy_into(to, at, from);
}

bool Port::copy(SendDescriptor& to, std::span<const std::byte> from, std::size_t at) noexcept {
  if (at > to.data_bytes_ || from.size() > to.data_bytes_ - at) return false;
  return copy_into(to, to.header_bytes_ + at, from);
}

bool Port::copyv(SendDescriptor& to, std::span<const std::span<const std::byte>> from) noexcept {
  std::size_t at = 0;
  for (const std::span<const std::byte> part : from) {
    if (!copy(to, part, at)) return false;
    at += part.size();
  }
  return true;
}

void Port::send_commit(SendDescriptor& descriptor) noexcept {
  if (descriptor.is_committed_) return;
  descriptor.is_committed_ = true;
  Connection* const connection = find(descriptor.to_);
  if (connection == nullptr || connection->out == 0 || connection->is_broken) {
    descriptor.is_done_ = true;  // it has failed meanwhile
    return free_sent();
  }
  const std::size_t all = std::size_t{descriptor.header_bytes_} + descriptor.data_bytes_;
  for (std::uint32_t i = 0; i < descriptor.fragments_; ++i) {
    const std::size_t bytes = std::min(all - std::size_t{i} * kPayloadBytes, kPayloadBytes);
    const std::uint16_t header = i == 0 ? descriptor.header_bytes_ : std::uint16_t{0};
    const Fragment piece{.kind = Fragment::Kind::Piece,
                         .is_first = descriptor.is_first_ && i == 0,
                         .is_last = descriptor.is_last_ && i + 1 == descriptor.fragments_,
                         .connection = connection->out,
                         .sequence = connection->next_sequence++,
                         .tag = descriptor.tag_,
                         .header_bytes = header,
                         .data_bytes = static_cast<std::uint16_t>(bytes - header),
                         .total = descriptor.total_};
    encode(piece, std::span<std::byte, kFragmentHeadBytes>(send_block(descriptor.block_ + i), kFragmentHeadBytes));
  }
  const std::uint64_t number = descriptor.number_;
  if (connection->last != kNone) sending(connection->last).next_of_peer_ = number;
  connection->last = number;
  if (connection->acknowledged.descriptor == kNone) connection->acknowledged = {number, 0};
  if (connection->next.descriptor == kNone) connection->next = {number, 0};
  ++counts_.sent;
}

/// In the order of the ring: the interface's read pointers.
void Port::free_sent() noexcept {
  while (send_table_.read != send_table_.written) {
    const SendDescriptor& oldest = sending(send_table_.read);
    if (!oldest.is_done_) break;
    send_data_.read += oldest.skipped_ + oldest.fragments_;
    ++send_table_.read;
  }
  send_table_.told = send_table_.read;
  send_data_.told = send_data_.read;
}

Code Port::send(Handle to, std::span<const std::byte> data, std::uint32_t tag, std::span<const std::byte> header,
                std::uint64_t patience_ns) noexcept {
  return send(to, std::span<const std::span<const std::byte>>(&data, 1), tag, header, patience_ns);
}

Code Port::send(Handle to, std::span<const std::span<const std::byte>> data, std::uint32_t tag,
                std::span<const std::byte> header, std::uint64_t patience_ns) noexcept {
  std::uint64_t total = 0;
  for (const std::span<const std::byte> part : data) total += part.size();
  if (total > kMostMessageBytes || header.size() > kMostHeaderBytes) return Code::TooLong;
  Wait waits{.until_ns = os::monotonic_clock_ns() + patience_ns};
  std::size_t part = 0;
  std::size_t at = 0;  // in that part
  for (std::uint64_t done = 0; done == 0 || done < total;) {
    const bool is_first = done == 0;
    const std::size_t room = options_.mtu - (is_first ? header.size() : 0);
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(total - done, room));
    Code code = Code::Ok;
    SendDescriptor* const made = send_malloc(to, is_first ? header.size() : 0, bytes, &code);
    if (made == nullptr) {
      if (code == Code::Full && wait(waits)) continue;
      if (code == Code::Full) code = waits.code;
      // The peer has the beginning of a message that has no end.
      if (Connection* const connection = find(to); !is_first && connection != nullptr && !connection->is_broken) {
        break_off(*connection, Error::Full);
      }
      return code;
    }
    made->set_tag(tag);
    made->is_first_ = is_first;
    made->is_last_ = done + bytes == total;
    made->total_ = total;
    if (is_first) (void)copy_h(*made, header);
    for (std::size_t filled = 0; filled < bytes;) {
      const std::size_t count = std::min(bytes - filled, data[part].size() - at);
      (void)copy(*made, data[part].subspan(at, count), filled);
      filled += count;
      at += count;
      if (at == data[part].size()) {
        ++part;
        at = 0;
      }
    }
    send_commit(*made);
    (void)transmit();
    done += bytes;
    if (total == 0) break;
  }
  return Code::Ok;
}

Code Port::fast_send(Handle to, std::uint32_t operand) noexcept {
  Code code = Code::Ok;
  SendDescriptor* const made = send_malloc(to, 0, 0, &code);
  if (made == nullptr) return code;
  made->set_tag(operand);
  send_commit(*made);
  (void)transmit();
  return Code::Ok;
}

Port::Multicast Port::multicast(std::span<const Handle> to, std::span<const std::byte> data, std::uint32_t tag,
                                std::uint64_t patience_ns) noexcept {
  Multicast result;
  for (const Handle one : to) {
    const Code code = send(one, data, tag, {}, patience_ns);
    if (code == Code::Ok) {
      ++result.sent;
    } else if (result.code == Code::Ok) {
      result.code = code;
    }
  }
  return result;
}

Code Port::flush(Handle to, std::uint64_t patience_ns) noexcept {
  Wait waits{.until_ns = os::monotonic_clock_ns() + patience_ns};
  for (;;) {
    const Connection* const connection = find(to);
    const Code now = state(to);
    if (connection == nullptr || now != Code::Ok) return now;
    if (connection->acknowledged.descriptor == kNone) return Code::Ok;
    if (!wait(waits)) return waits.code;
  }
}

// ---- The interface.

Command Port::command_for(NodeId node, Vpid vpid, const Fragment& fragment) noexcept {
  Command command;
  command.operation = Operation::FastSend;
  command.target_node = node;
  command.target_vpid = vpid;
  command.window = kFragmentHeadBytes;
  encode(fragment, std::span<std::byte, kFragmentHeadBytes>(reinterpret_cast<std::byte*>(&command) + kPayloadAt,
                                                            kFragmentHeadBytes));
  return command;
}

/// Without a promise that it arrives: if it does not, the peer asks again by what it sends next.
void Port::tell(NodeId node, Vpid vpid, Fragment::Kind kind, std::uint32_t connection) noexcept {
  const Command command = command_for(node, vpid, {.kind = kind, .connection = connection});
  (void)client_->queue(CommandRing::Low).insert({&command, 1});
}

bool Port::give(Connection& connection, Command command, const Cursor& fragment, bool is_greeting,
                std::uint64_t now_ns) noexcept {
  while (flights_[next_flight_ % flights_.size()].is_used) ++next_flight_;
  command.modifiers = kAcknowledge;
  command.tag = next_flight_ << kNumberAt;
  if (client_->queue(CommandRing::Low).insert({&command, 1}).reply != Reply::NoError) return false;
  flights_[next_flight_ % flights_.size()] = {.is_used = true,
                                              .is_greeting = is_greeting,
                                              .number = next_flight_,
                                              .connection = index_of(connection),
                                              .sent_ns = now_ns,
                                              .fragment = fragment};
  ++next_flight_;
  ++outstanding_;
  ++connection.outstanding;
  ++counts_.transmitted;
  return true;
}

bool Port::transmit() noexcept {
  const std::uint64_t now_ns = os::monotonic_clock_ns();
  bool has_sent = false;
  // A fragment of each peer in turn.
  for (std::size_t idle = 0; idle < connections_.size() && outstanding_ < kMostOutstanding;) {
    Connection& connection = connections_[next_turn_];
    next_turn_ = next_turn_ + 1 == connections_.size() ? 0 : next_turn_ + 1;
    const bool may_send = connection.is_greeted && !connection.is_broken && !connection.goes_back &&
                          connection.next.descriptor != kNone && connection.outstanding < kMostOutstandingOf &&
                          now_ns >= connection.retry_ns;
    if (!may_send) {
      ++idle;
      continue;
    }
    if (!transmit_next(connection, now_ns)) break;
    idle = 0;
    has_sent = true;
  }
  return has_sent;
}

bool Port::transmit_next(Connection& connection, std::uint64_t now_ns) noexcept {
  const SendDescriptor& descriptor = sending(connection.next.descriptor);
  const std::uint64_t number = descriptor.block_ + connection.next.fragment;
  const std::size_t all = std::size_t{descriptor.header_bytes_} + descriptor.data_bytes_;
  const std::size_t bytes =
      kFragmentHeadBytes + std::min(all - std::size_t{connection.next.fragment} * kPayloadBytes, kPayloadBytes);
  Command command;
  command.target_node = connection.node;
  command.target_vpid = connection.vpid;
  if (bytes <= kMaxFastBytes) {
    command.operation = Operation::FastSend;
    command.window = static_cast<std::uint16_t>(bytes);
    std::memcpy(reinterpret_cast<std::byte*>(&command) + kPayloadAt, send_block(number), bytes);
  } else {
    command.operation = Operation::Send;
    command.address = memory_.address + number % send_data_.size * kFragmentBytes;
    command.length = static_cast<std::uint32_t>(bytes);
  }
  if (!give(connection, command, connection.next, false, now_ns)) return false;
  if (static_cast<std::int32_t>(connection.given - connection.most_given) < 0) {
    ++counts_.sent_again;
  } else {
    connection.most_given = connection.given + 1;
  }
  ++connection.given;
  if (++connection.next.fragment == descriptor.fragments_) connection.next = {descriptor.next_of_peer_, 0};
  return true;
}

bool Port::reap() noexcept {
  bool has_any = false;
  Notification told;
  while (client_->notifications().take(told)) {
    if (!is_of_own_command(told)) continue;
    Flight& flight = flights_[(told.tag >> kNumberAt) % flights_.size()];
    if (!flight.is_used || flight.number != told.tag >> kNumberAt) continue;
    has_any = true;
    land(flight, told.error, true);
  }
  // Others can notify this port, too, and so displace acknowledgements.
  const std::uint64_t dropped = client_->notifications().dropped();
  if (dropped == dropped_notifications_) return has_any;
  const std::uint64_t now_ns = os::monotonic_clock_ns();
  bool is_waiting = false;
  for (Flight& flight : flights_) {
    if (!flight.is_used) continue;
    if (now_ns - flight.sent_ns < kOverdueNs) {
      is_waiting = true;
      continue;
    }
    ++counts_.unknown_outcomes;
    land(flight, Error::None, false);
  }
  if (!is_waiting) dropped_notifications_ = dropped;
  return has_any;
}

/// The interface has told what became of a fragment, or it is not `is_known`.
void Port::land(Flight& flight, Error error, bool is_known) noexcept {
  Connection& connection = connections_[flight.connection];
  flight.is_used = false;
  --outstanding_;
  --connection.outstanding;
  const std::uint64_t now_ns = os::monotonic_clock_ns();
  if (error == Error::Full) {
    ++counts_.refused_full;
    connection.pause_ns = std::clamp(2 * connection.pause_ns, kLeastPauseNs, kMostPauseNs);
    connection.retry_ns = now_ns + connection.pause_ns;
  }
  if (connection.is_broken) {
    // Only to know when nothing is under way.
  } else if (error != Error::None && error != Error::Full) {
    break_off(connection, error);
  } else if (flight.is_greeting) {
    connection.is_greeted = is_known && error == Error::None;
  } else if (error == Error::Full || !is_known || connection.goes_back ||
             flight.fragment.descriptor != connection.acknowledged.descriptor ||
             flight.fragment.fragment != connection.acknowledged.fragment) {
    // The receiver takes no piece before those that are missing.
    connection.goes_back = true;
  } else {
    connection.pause_ns = 0;
    acknowledge(connection, flight.fragment);
  }
  if (connection.goes_back && connection.outstanding == 0) {
    connection.goes_back = false;
    connection.next = connection.acknowledged;
    connection.given = connection.acknowledged_sequence;
  }
  settle(connection);
}

void Port::acknowledge(Connection& connection, const Cursor& fragment) noexcept {
  SendDescriptor& descriptor = sending(fragment.descriptor);
  ++connection.acknowledged_sequence;
  if (fragment.fragment + 1 != descriptor.fragments_) {
    ++connection.acknowledged.fragment;
    return;
  }
  connection.acknowledged = {descriptor.next_of_peer_, 0};
  if (connection.last == fragment.descriptor) connection.last = kNone;
  descriptor.is_done_ = true;
  free_sent();
}

bool Port::progress() noexcept {
  const bool has_landed = reap();
  const bool has_taken = take_messages();
  const bool has_sent = transmit();
  return has_landed || has_taken || has_sent;
}

bool Port::wait(Wait& wait) noexcept {
  const bool has_moved = progress();
  if (os::monotonic_clock_ns() >= wait.until_ns) {
    wait.code = Code::TimedOut;
    return false;
  }
  if (has_moved) {
    wait.quiet = 0;
    return true;
  }
  if (++wait.quiet < kBusyTurns) return true;
  if (wait.quiet % kLookTurns == 0 && !client_->is_open()) {
    wait.code = Code::PortEnded;
    return false;
  }
  ::usleep(kNapUs);
  return true;
}

// ---- Receiving.

const std::byte* Port::receive_block(std::uint64_t number) const noexcept {
  return receive_data_.data() + number % receive_data_pointers_.size * kPayloadBytes;
}

/// Of one piece. The read pointers are written now only if that is what is missing.
bool Port::has_room() noexcept {
  const auto is_there = [&] { return receive_table_.room() != 0 && receive_data_pointers_.room() != 0; };
  if (!is_there() && freed_ != 0) write_pointers();
  return is_there();
}

/// What has no room stays in the mailbox, whose node refuses more to its senders.
bool Port::take_messages() noexcept {
  constexpr int kBatch = 64;
  int count = 0;
  for (; count < kBatch && has_room(); ++count) {
    const std::optional<MessageHead> head = client_->receive(message_);
    if (!head) break;
    take(*head, std::span<const std::byte>(message_).first(head->length));
  }
  return count != 0;
}

void Port::take(const MessageHead& head, std::span<const std::byte> message) noexcept {
  const std::optional<Fragment> fragment = decode_fragment(message);
  if (!fragment) {
    ++counts_.malformed;
    return;
  }
  ++heard_;
  if (fragment->kind == Fragment::Kind::Hello) return take_hello(head, *fragment);
  if (fragment->kind == Fragment::Kind::Piece) {
    return take_piece(head, *fragment, message.subspan(kFragmentHeadBytes));
  }
  for (Connection& connection : connections_) {
    if (!connection.is_used || connection.node != head.node || connection.vpid != head.vpid) continue;
    if (fragment->kind == Fragment::Kind::Close && connection.in == fragment->connection) connection.in = 0;
    if (fragment->kind == Fragment::Kind::Reset && connection.out == fragment->connection && !connection.is_broken) {
      return break_off(connection, Error::None);
    }
    return settle(connection);
  }
}

void Port::take_hello(const MessageHead& head, const Fragment& fragment) noexcept {
  Connection* const connection = place_for(head.node, head.vpid);
  if (connection == nullptr) {
    ++counts_.refused;
    return tell(head.node, head.vpid, Fragment::Kind::Reset, fragment.connection);
  }
  connection->heard = heard_;
  if (connection->in == fragment.connection) return;  // it greets again
  connection->in = fragment.connection;
  connection->sequence = Sequence();
}

void Port::take_piece(const MessageHead& head, const Fragment& fragment, std::span<const std::byte> payload) noexcept {
  const auto found = std::find_if(connections_.begin(), connections_.end(), [&](const Connection& one) {
    return one.is_used && one.node == head.node && one.vpid == head.vpid && one.in == fragment.connection;
  });
  if (found == connections_.end()) {
    ++counts_.strays;
    return tell(head.node, head.vpid, Fragment::Kind::Reset, fragment.connection);
  }
  found->heard = heard_;
  switch (found->sequence.take(fragment)) {
    case Sequence::Taken::Next: break;
    case Sequence::Taken::Repeated:
    case Sequence::Taken::Early: ++counts_.repeated; return;
    case Sequence::Taken::Impossible:
      ++counts_.malformed;
      found->in = 0;
      tell(head.node, head.vpid, Fragment::Kind::Reset, fragment.connection);
      return settle(*found);
  }
  ReceiveDescriptor& made = receiving(receive_table_.written++);
  made = ReceiveDescriptor();
  made.from = {index_of(*found), found->use};
  made.node = head.node;
  made.vpid = head.vpid;
  made.tag = fragment.tag;
  made.header_bytes = fragment.header_bytes;
  made.data_bytes = fragment.data_bytes;
  made.offset = found->sequence.offset();
  made.total = fragment.total;
  made.is_first = fragment.is_first;
  made.is_last = fragment.is_last;
  made.connection_ = fragment.connection;
  made.block_ = receive_data_pointers_.written;
  if (!payload.empty()) {
    std::memcpy(const_cast<std::byte*>(receive_block(made.block_)), payload.data(), payload.size());
    ++receive_data_pointers_.written;
  }
  ++found->pieces;
  ++counts_.pieces;
}

/// The oldest piece that is not freed.
std::uint64_t Port::oldest() noexcept {
  match_from_ = std::max(match_from_, receive_table_.read);
  while (match_from_ != receive_table_.written && receiving(match_from_).is_freed_) ++match_from_;
  return match_from_;
}

const ReceiveDescriptor* Port::match(std::optional<Handle> from) noexcept {
  for (std::uint64_t number = oldest(); number != receive_table_.written; ++number) {
    const ReceiveDescriptor& piece = receiving(number);
    if (!piece.is_freed_ && (!from || piece.from == *from)) return &piece;
  }
  return nullptr;
}

std::size_t Port::copy_h(const ReceiveDescriptor& from, std::span<std::byte> to) const noexcept {
  const std::size_t bytes = std::min<std::size_t>(from.header_bytes, to.size());
  if (bytes != 0) std::memcpy(to.data(), receive_block(from.block_), bytes);
  return bytes;
}

std::size_t Port::copy(const ReceiveDescriptor& from, std::span<std::byte> to) const noexcept {
  return copyv(from, std::span<const std::span<std::byte>>(&to, 1));
}

std::size_t Port::copyv(const ReceiveDescriptor& from, std::span<const std::span<std::byte>> to,
                        std::uint64_t skip) const noexcept {
  const std::byte* const data = receive_block(from.block_) + from.header_bytes;
  std::size_t done = 0;
  for (const std::span<std::byte> one : to) {
    if (skip >= one.size()) {
      skip -= one.size();
      continue;
    }
    const std::size_t bytes = std::min(one.size() - static_cast<std::size_t>(skip), from.data_bytes - done);
    if (bytes != 0) std::memcpy(one.data() + skip, data + done, bytes);
    done += bytes;
    skip = 0;
    if (done == from.data_bytes) break;
  }
  return done;
}

void Port::free(const ReceiveDescriptor& descriptor) noexcept {
  if (descriptor.is_freed_) return;
  const_cast<ReceiveDescriptor&>(descriptor).is_freed_ = true;
  ++counts_.freed;
  if (Connection* const connection = find(descriptor.from)) {
    --connection->pieces;
    if (connection->pieces == 0) settle(*connection);
  }
  if (++freed_ >= options_.watermark) write_pointers();
}

/// Over all that is freed up to the oldest piece that is not.
void Port::write_pointers() noexcept {
  freed_ = 0;
  ++counts_.pointer_writes;
  for (; receive_table_.read != receive_table_.written; ++receive_table_.read) {
    const ReceiveDescriptor& oldest = receiving(receive_table_.read);
    if (!oldest.is_freed_) break;
    if (oldest.header_bytes + oldest.data_bytes != 0) ++receive_data_pointers_.read;
  }
  receive_table_.told = receive_table_.read;
  receive_data_pointers_.told = receive_data_pointers_.read;
}

Received Port::end(Reception& reception, Code code) noexcept {
  if (reception.has_begun_) {
    if (Connection* const connection = find(reception.received_.from)) connection->is_receiving = false;
  }
  reception.is_over_ = true;
  reception.received_.code = code;
  return reception.received_;
}

void Port::abandon(Reception& reception) noexcept {
  if (!reception.is_over_) (void)end(reception, Code::Nothing);
}

Received Port::try_receive(Reception& reception) noexcept {
  (void)progress();
  return take_next(reception);
}

Received Port::take_next(Reception& reception) noexcept {
  Received& received = reception.received_;
  while (!reception.is_over_) {
    const ReceiveDescriptor* piece = nullptr;
    if (reception.has_begun_) {
      piece = match(received.from);
      const Connection* const connection = find(received.from);
      const bool is_cut = piece != nullptr ? piece->is_first || piece->connection_ != reception.connection_
                                           : connection == nullptr || connection->in != reception.connection_;
      if (is_cut) return end(reception, Code::Cut);
    } else {
      // The rest of a message that another reception is taking is no beginning.
      for (std::uint64_t number = oldest(); number != receive_table_.written && piece == nullptr; ++number) {
        const ReceiveDescriptor& one = receiving(number);
        if (one.is_freed_ || (reception.from_ && one.from != *reception.from_)) continue;
        const Connection* const connection = find(one.from);
        if (connection != nullptr && connection->is_receiving) continue;
        if (one.is_first) {
          piece = &one;
        } else {
          ++counts_.abandoned;
          free(one);
        }
      }
    }
    if (piece == nullptr) return {};
    if (!reception.has_begun_) {
      reception.has_begun_ = true;
      reception.connection_ = piece->connection_;
      received.from = piece->from;
      received.node = piece->node;
      received.vpid = piece->vpid;
      received.tag = piece->tag;
      received.length = piece->total;
      received.size = in_words(piece->total);
      received.header_length = piece->header_bytes;
      received.header_size = in_words(piece->header_bytes);
      (void)copy_h(*piece, reception.header_);
      if (Connection* const connection = find(piece->from)) connection->is_receiving = true;
    }
    const std::size_t copied = copyv(*piece, reception.data_, piece->offset);
    const bool is_last = piece->is_last;
    reception.is_cut_short_ = reception.is_cut_short_ || copied != piece->data_bytes ||
                              (!reception.header_.empty() && piece->header_bytes > reception.header_.size());
    free(*piece);
    if (!is_last) continue;
    ++counts_.received;
    return end(reception, reception.is_cut_short_ ? Code::TooLong : Code::Ok);
  }
  return {};
}

Received Port::receive(std::optional<Handle> from, std::span<const std::span<std::byte>> data,
                       std::span<std::byte> header, std::uint64_t patience_ns) noexcept {
  Reception reception(from, data, header);
  Wait waits{.until_ns = os::monotonic_clock_ns() + patience_ns};
  for (;;) {
    const Received received = take_next(reception);
    if (received.code != Code::Nothing) return received;
    // Full of others' pieces: what is missing waits after them in the mailbox, and comes only when one of them is freed.
    if (!has_room()) return end(reception, Code::Full);
    if (!wait(waits)) return end(reception, waits.code);
  }
}

Received Port::receive(std::optional<Handle> from, std::span<std::byte> data, std::span<std::byte> header,
                       std::uint64_t patience_ns) noexcept {
  return receive(from, std::span<const std::span<std::byte>>(&data, 1), header, patience_ns);
}

std::optional<std::uint32_t> Port::fast_receive(std::optional<Handle> from) noexcept {
  (void)progress();
  const ReceiveDescriptor* const piece = match(from);
  if (piece == nullptr || !piece->is_first || !piece->is_last || piece->header_bytes + piece->data_bytes != 0) {
    return std::nullopt;
  }
  const std::uint32_t operand = piece->tag;
  ++counts_.received;
  free(*piece);
  return operand;
}

Port::Resources Port::resources() const noexcept {
  return {.send_descriptors = send_table_.room(),
          .send_bytes = send_data_.room() * kPayloadBytes,
          .receive_descriptors =
              receive_table_.size - static_cast<std::size_t>(receive_table_.written - receive_table_.read),
          .receive_bytes = (receive_data_pointers_.size -
                            static_cast<std::size_t>(receive_data_pointers_.written - receive_data_pointers_.read)) *
                           kPayloadBytes};
}

}  // namespace stopbit::nic::palms
