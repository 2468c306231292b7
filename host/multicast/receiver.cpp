#include "host/multicast/receiver.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/feed/packet/socket_address.hpp"
#include "host/os/clock.hpp"

namespace stopbit::multicast {
namespace {

constexpr std::string_view kPrefix = "multicast://";
constexpr int kReceiveBuffer = 16 << 20;
constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kSwitchSilenceNs = 20'000'000;
/// Beside the window, for the answers of the refill service: to all requests of a look together, so that a slow service
/// holds the reader no longer than the holes could be filled.
constexpr std::uint64_t kRefillNs = 500'000'000;

constexpr std::size_t kMostHoles = 64;  ///< That are asked for at a time.

constexpr std::uint64_t first_of_epoch(std::uint64_t sequence) noexcept {
  return sequence & ~std::uint64_t{0xFFFF'FFFF};
}
constexpr bool is_same_epoch(std::uint64_t one, std::uint64_t other) noexcept {
  return first_of_epoch(one) == first_of_epoch(other);
}

arbitrate::Options arbiter_options(const ReceiverOptions& options, const net::Framing& framing) {
  arbitrate::Options result = arbitrate::options_for(framing);
  result.window_ns = options.refill ? options.window_ns + kRefillNs : options.window_ns;
  result.window_packets = options.refill ? 8'192 : 1'024;
  result.room_packets = 8'192;
  result.datagram_bytes = 9'216;
  result.switch_silence_ns = kSwitchSilenceNs;
  result.lines = {true, options.groups.size() > 1};
  return result;
}

Result<os::Descriptor> join(net::Endpoint group, const std::string& interface) {
  const auto failure = [&](const char* what) {
    return Failure{"multicast from " + net::to_text(group) + (interface.empty() ? "" : " through " + interface) + ": " +
                   what + ": " + std::strerror(errno)};
  };
  os::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.ok()) return failure("socket");
  const auto set = [&](int level, int option, const auto& value) {
    return ::setsockopt(socket.get(), level, option, &value, sizeof(value)) == 0;
  };
  if (!set(SOL_SOCKET, SO_RCVBUFFORCE, kReceiveBuffer)) (void)set(SOL_SOCKET, SO_RCVBUF, kReceiveBuffer);
  // Several readers of a host.
  if (!set(SOL_SOCKET, SO_REUSEADDR, 1)) return failure("SO_REUSEADDR");
  // Only what was joined here, not what any socket of this host has joined.
  if (!set(IPPROTO_IP, IP_MULTICAST_ALL, 0)) return failure("IP_MULTICAST_ALL");
  const sockaddr_in address = net::socket_address(group);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failure("bind");
  ip_mreqn request{};
  request.imr_multiaddr = address.sin_addr;
  if (!interface.empty()) {
    request.imr_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
    if (request.imr_ifindex == 0) return failure("interface");
  }
  if (!set(IPPROTO_IP, IP_ADD_MEMBERSHIP, request)) return failure("join");
  return socket;
}

}  // namespace

bool is_multicast_address(std::string_view text) noexcept {
  return text.starts_with(kPrefix);
}

Result<std::vector<net::Endpoint>> parse_multicast_address(std::string_view text) {
  constexpr std::uint32_t kFirst = 0xE000'0000, kLast = 0xEFFF'FFFF;
  std::vector<net::Endpoint> groups;
  std::string_view rest = text.substr(std::min(text.size(), kPrefix.size()));
  for (bool ends = !is_multicast_address(text); !ends;) {
    const std::size_t comma = rest.find(',');
    const Result<net::Endpoint> group = net::parse_endpoint(rest.substr(0, comma));
    if (!group) return group.failure();
    if (group.value().address < kFirst || group.value().address > kLast) {
      return Failure{net::to_text(group.value()) + " is no multicast group: 224.0.0.0 to 239.255.255.255"};
    }
    groups.push_back(group.value());
    ends = comma == std::string_view::npos;
    rest.remove_prefix(ends ? rest.size() : comma + 1);
  }
  if (groups.empty() || groups.size() > kLines || (groups.size() == kLines && groups[0] == groups[1])) {
    return Failure{"an address is multicast://GROUP:PORT or multicast://GROUP:PORT,GROUP:PORT, two different ones"};
  }
  return groups;
}

Receiver::Receiver(const ReceiverOptions& options, relay::StreamSink& records, EventSink& events,
                   std::function<void(const std::string&)> tell)
    : options_(options),
      records_(records),
      events_(events),
      tell_(std::move(tell)),
      framing_(net::parse_framing("stopbit").value()),
      arbiter_(arbiter_options(options_, framing_)),
      room_(kMaxPacketBytes + 1) {
  if (options_.refill) client_.emplace(*options_.refill);
}

Result<std::unique_ptr<Receiver>> Receiver::open(const ReceiverOptions& options, relay::StreamSink& records,
                                                 EventSink& events, std::function<void(const std::string&)> tell) {
  std::unique_ptr<Receiver> made = without_sockets(options, records, events, std::move(tell));
  for (std::size_t i = 0; i < options.groups.size(); ++i) {
    Result<os::Descriptor> socket = join(options.groups[i], options.interfaces[i]);
    if (!socket) return socket.failure();
    made->sockets_[i] = std::move(socket).value();
  }
  return made;
}

std::unique_ptr<Receiver> Receiver::without_sockets(const ReceiverOptions& options, relay::StreamSink& records,
                                                    EventSink& events, std::function<void(const std::string&)> tell) {
  return std::unique_ptr<Receiver>(new Receiver(options, records, events, std::move(tell)));
}

Receiver::State Receiver::step(std::uint64_t now_ns, std::uint64_t wall_ns) {
  if (!std::exchange(has_begun_, true)) {
    if (options_.from_state) {
      begin_with_state();
    } else if (options_.from_start) {
      begin_early();
    }
  }
  std::size_t work = 0;
  if (early_) {
    ++work;
    take_early(now_ns, wall_ns);
  } else {
    for (std::size_t i = 0; i < options_.groups.size(); ++i) work += receive(i, now_ns, wall_ns);
    if (client_) refill(now_ns, wall_ns);
  }
  arbiter_.tick(now_ns, *this);
  take_delivered();
  if (!problem_.empty()) return State::Failed;
  if (has_ended_ && !options_.follows && !early_) return State::Done;
  return work != 0 ? State::Busy : State::Idle;
}

std::size_t Receiver::receive(std::size_t line, std::uint64_t now_ns, std::uint64_t wall_ns) {
  std::size_t count = 0;
  for (; sockets_[line].ok() && count < kBatch; ++count) {
    const ssize_t bytes = ::recv(sockets_[line].get(), room_.data(), room_.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) break;
    ++counts_.packets[line];
    offer(std::span(room_).first(static_cast<std::size_t>(bytes)), line == 0 ? arbitrate::Line::A : arbitrate::Line::B,
          now_ns, wall_ns);
  }
  return count;
}

void Receiver::offer(std::span<const std::byte> datagram, arbitrate::Line line, std::uint64_t now_ns,
                     std::uint64_t wall_ns) {
  const Result<Packet> packet = decode_packet(datagram);
  if (!packet) {
    ++counts_.malformed;
    // Strangers send what they like: not a line for each, though each has another fault.
    if (now_ns < next_malformed_line_ns_) return;
    next_malformed_line_ns_ = now_ns + kMalformedLineNs;
    tell_("a datagram is dropped: " + packet.message());
    return;
  }
  const std::uint64_t sequence = packet.value().head.sequence;
  note(sequence);
  arbiter_.offer({.payload = datagram,
                  .preamble = net::read_preamble(framing_, datagram),
                  .line = line,
                  .arrival_ns = wall_ns,
                  .t_ns = now_ns,
                  .number = ++number_},
                 *this);
}

void Receiver::begin_early() {
  if (!client_) return;
  const Result<Completion> kept = client_->packets(0, 0, kAnswerNs, [](auto) {});
  if (!kept) return tell_(kept.message());
  const auto [first, end] = std::pair(kept.value().oldest, kept.value().next);
  if (first == end) return;
  if (!is_same_epoch(first, end)) return tell_("the refill service keeps packets of impossible numbers");
  early_ = Numbers{first, end};
}

/// The state is of the moment between two packets. The packet before that moment is taken as well if there is one, and
/// not delivered: so the arbiter knows which number is next.
void Receiver::begin_with_state() {
  if (!client_) return fail("the state of books comes from the refill service: name it");
  const auto answer = client_->state(kStateNs, [this](std::span<const std::byte> messages) {
    for (std::size_t at = 0; at < messages.size(); at += kEventBytes) {
      if (const auto event = market::read_sbe(messages.subspan(at, kEventBytes))) events_.event(*event);
      ++counts_.of_state;
    }
  });
  if (!answer) return fail(answer.message());
  const auto& [head, done] = answer.value();
  const std::uint64_t first = first_of_epoch(head.sequence) + 1;
  if (head.sequence < first || done.next < head.sequence || !is_same_epoch(head.sequence, done.next)) {
    return fail("the refill service keeps packets of impossible numbers");
  }
  after_state_ = head.sequence;
  events_at_ = Place{head.ring_epoch, head.records};
  if (head.sequence != first) early_ = Numbers{head.sequence - 1, done.next};
}

/// A part in each step: a long history, a slow service or one that lies neither fills the memory nor keeps the program
/// from ending.
void Receiver::take_early(std::uint64_t now_ns, std::uint64_t wall_ns) {
  const std::uint64_t first = early_->next;
  const std::uint64_t end = std::min(early_->end, first + kEarlyPart);
  std::uint64_t came = 0;
  const Result<Completion> kept = client_->packets(first, end, kAnswerNs, [&](std::span<const std::byte> packet) {
    ++counts_.refilled;
    ++came;
    offer(packet, arbitrate::Line::Replay, now_ns, wall_ns);
  });
  if (kept) {
    // The oldest packets may have been overwritten meanwhile.
    early_->next = std::max(end, kept.value().oldest);
  } else {
    // They come in order: the rest of the part did not come in time.
    early_->next = first + came;
  }
  const bool goes_on = came != 0 || (kept && kept.value().oldest > first);
  if (!goes_on) tell_(kept ? "the refill service does not send the packets that it keeps" : kept.message());
  if (!goes_on || early_->next >= early_->end) early_.reset();
}

/// Keeps the number for the search for holes.
void Receiver::note(std::uint64_t sequence) {
  if (!client_ || (next_ && is_same_epoch(sequence, *next_) && sequence < *next_)) return;
  // Too far ahead to be asked for. So what has a place is next to what is delivered, and strangers' numbers beyond it
  // do not displace those of the publisher.
  if (next_ && is_same_epoch(sequence, *next_) && sequence - *next_ >= kMostNumbers) return;
  if (waiting_.size() >= kMostNumbers) {
    std::erase_if(waiting_, [this](std::uint64_t other) { return !next_ || !is_same_epoch(other, *next_); });
    if (waiting_.size() >= kMostNumbers) return;
  }
  waiting_.insert(sequence);
}

void Receiver::forget_before(std::uint64_t sequence) {
  waiting_.erase(waiting_.lower_bound(first_of_epoch(sequence)), waiting_.lower_bound(sequence));
}

/// Asks for the numbers that neither line has brought in a window.
void Receiver::refill(std::uint64_t now_ns, std::uint64_t wall_ns) {
  if (now_ns < next_ask_ns_ || waiting_.empty()) return;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> holes;
  std::uint64_t expected = next_ ? *next_ : *waiting_.begin();
  for (const std::uint64_t sequence : waiting_) {
    // What came after the last look may still come by the other line.
    if (sequence > looked_to_ || holes.size() == kMostHoles) break;
    const bool is_hole = is_same_epoch(sequence, expected) && sequence > expected;
    if (is_hole && sequence - expected <= kMostRequested) holes.emplace_back(expected, sequence);
    expected = sequence + 1;
  }
  looked_to_ = *waiting_.rbegin();
  const std::uint64_t began_ns = os::monotonic_clock_ns();
  const std::uint64_t until_ns = began_ns + kRefillNs;
  std::uint64_t pause_ns = options_.window_ns;
  for (const auto& [first, end] : holes) {
    const std::uint64_t left_ns = until_ns - std::min(until_ns, os::monotonic_clock_ns());
    const Result<Completion> done = client_->packets(first, end, left_ns, [&](std::span<const std::byte> packet) {
      ++counts_.refilled;
      offer(packet, arbitrate::Line::Replay, now_ns, wall_ns);
    });
    if (done) continue;
    pause_ns = kRetryNs;
    if (std::exchange(told_, done.message()) != done.message()) tell_(done.message());
    break;
  }
  // The lines are read for as long as they were not: else a slow service would leave them a batch between its answers.
  const std::uint64_t took_ns = os::monotonic_clock_ns() - began_ns;
  next_ask_ns_ = now_ns + took_ns + std::max(pause_ns, took_ns);
}

bool Receiver::deliver(const arbitrate::Packet& packet, std::uint16_t /*epoch*/) noexcept {
  const Result<Packet> decoded = decode_packet(packet.payload);
  if (!decoded) return false;  // it was checked when it came
  const std::uint64_t sequence = decoded.value().head.sequence;
  next_ = sequence + 1;
  forget_before(*next_);
  if (is_same_epoch(sequence, after_state_) && sequence < after_state_) return true;
  if (!decoded.value().messages.empty()) delivered_.emplace_back(packet.payload.begin(), packet.payload.end());
  return true;
}

void Receiver::take_delivered() {
  // What fails ends all; nothing of it is taken twice.
  for (const std::vector<std::byte>& datagram : std::exchange(delivered_, {})) {
    const Result<Packet> packet = decode_packet(datagram);
    if (packet && problem_.empty()) take(packet.value());
  }
}

void Receiver::take(const Packet& packet) {
  const Result<Content> content = decode_messages(packet.messages);
  if (!content) {
    ++counts_.damaged;
    return;
  }
  const relay::Head& ring = content.value().ring;
  if (!content.value().events.empty()) {
    if (!events_at_ || events_at_->ring != ring.epoch) {
      events_at_ = Place{ring.epoch, ring.records};
      has_ended_ = false;  // another one had
    }
    if (ring.records > events_at_->records) counts_.lost += ring.records - events_at_->records;
    events_at_->records = ring.records_after();
    for (std::size_t at = 0; at < content.value().events.size(); at += kEventBytes) {
      if (const auto event = market::read_sbe(content.value().events.subspan(at, kEventBytes))) events_.event(*event);
    }
    counts_.records += ring.count;
    return;
  }
  if (ring.kind == relay::Kind::End) {
    has_ended_ = true;
    if (events_at_ && events_at_->ring == ring.epoch) {
      counts_.lost += ring.records - std::min(ring.records, events_at_->records);
      events_at_.reset();
      return;
    }
  }
  // What a ring carries is not known before its first slots.
  if (ring.kind != relay::Kind::Records && unpacker_.is_of_next_ring(ring)) return;
  if (events_at_ && events_at_->ring == ring.epoch) return;
  if (unpacker_.is_of_next_ring(ring) && !begin_ring(ring)) return;
  const relay::Taken taken = unpacker_.take(ring, content.value().slots);
  counts_.records += taken.records;
  counts_.lost += taken.lost;
  counts_.unknown_losses += taken.lost_unknown ? 1 : 0;
  counts_.damaged += taken.is_damaged ? 1 : 0;
  if (ring.kind == relay::Kind::End) records_.end_ring(ring.ending);
}

bool Receiver::begin_ring(const relay::Head& ring) {
  if (!client_) {
    fail("records need their layout, which only the refill service has: name it");
    return false;
  }
  Result<std::vector<std::byte>> image = client_->layout(ring.layout, kAnswerNs);
  if (!image) image = client_->layout(ring.layout, kAnswerNs);  // over another connection
  if (!image) {
    fail(image.message());
    return false;
  }
  const Result<relay::StreamSink::Place> place = records_.begin_ring(ring, image.value());
  if (!place) {
    fail(place.message());
    return false;
  }
  has_ended_ = false;
  counts_.lost += unpacker_.begin_ring(ring, *place.value().sink, place.value().max_record_slots);
  return true;
}

void Receiver::fail(const std::string& why) {
  if (problem_.empty()) problem_ = why;
}

void Receiver::gap(const arbitrate::Gap& gap) noexcept {
  counts_.missing += gap.count;
  next_ = gap.first + gap.count;
  forget_before(*next_);
}

void Receiver::epoch(const arbitrate::NewRun& run) noexcept {
  reset(run);
}

void Receiver::reset(const arbitrate::NewRun& run) noexcept {
  ++counts_.epochs;
  if (counts_.epochs > 1) tell_(fmt::format("the publisher began again, with number {}", run.sequence));
  next_.reset();
  // Numbers of the run before it are of no use.
  std::erase_if(waiting_, [&](std::uint64_t other) { return !is_same_epoch(other, run.sequence); });
}

}  // namespace stopbit::multicast
