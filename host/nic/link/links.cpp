#include "host/nic/link/links.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "microcode/image/crc32c.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint8_t kHasPacket = 1;
constexpr std::uint8_t kIsEarly = 2;
constexpr std::uint8_t kIsOffer = 4;  // the sender has not begun this session; it does when the receiver answers
constexpr std::uint8_t kAsks = 8;     // the sender wants to hear anything of this session
constexpr std::uint8_t kAllFlags = 15;
constexpr std::size_t kFramesPerStep = 64;

/// A set of numbers modulo `size`, each of them `by` higher.
template <std::uint32_t size>
constexpr std::uint64_t turn(std::uint64_t set, std::uint32_t by) noexcept {
  if constexpr (size == 64) {
    return std::rotl(set, static_cast<int>(by % size));
  } else {
    constexpr std::uint64_t kAll = (std::uint64_t{1} << size) - 1;
    set &= kAll;
    return (set << by % size | set >> (size - by % size)) & kAll;
  }
}

}  // namespace

template <std::uint32_t kSize>
void BasicLinks<kSize>::Free::operator()(std::byte* memory) const noexcept {
  std::free(memory);
}

template <std::uint32_t kSize>
BasicLinks<kSize>::BasicLinks(Transport& transport, const LinkOptions& options)
    : transport_(transport),
      options_(options),
      peers_(transport.nodes()),
      stride_(transport.frame_bytes() + kLineBytes),
      buffer_(transport.frame_bytes()) {
  const std::size_t set = kWindow * stride_;
  const std::size_t bytes = peers_.size() * kChannels * 2 * set;
  memory_.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));  // pages that nobody touches take no memory
  if (!memory_) throw std::bad_alloc();
  std::span<std::byte> rest(memory_.get(), bytes);
  if (::getrandom(&random_, sizeof(random_), 0) != sizeof(random_)) {
    throw std::system_error(errno, std::generic_category(), "no random numbers");
  }
  for (Peer& peer : peers_) {
    for (Window& window : peer.windows) {
      window.frames = rest.first(set);
      window.packets = rest.subspan(set, set);
      rest = rest.subspan(2 * set);
    }
    peer.own = peer.fresh = draw();
  }
  // A node has nothing to agree about with itself.
  Peer& self = peers_[transport.node()];
  self.is_up = self.is_confirmed = true;
  self.theirs = self.own;
  self.fresh = draw();
}

/// Numbers that do not come again (splitmix64).
template <std::uint32_t kSize>
std::uint32_t BasicLinks<kSize>::draw() noexcept {
  for (;;) {
    std::uint64_t number = random_ += 0x9E37'79B9'7F4A'7C15;
    number = (number ^ number >> 30U) * 0xBF58'476D'1CE4'E5B9;
    number = (number ^ number >> 27U) * 0x94D0'49BB'1331'11EB;
    const auto result = static_cast<std::uint32_t>(number ^ number >> 31U);
    if (result != 0) return result;
  }
}

template <std::uint32_t kSize>
std::uint32_t BasicLinks<kSize>::room(NodeId to, Channel channel) const noexcept {
  const Window& window = peers_[to].windows[static_cast<std::size_t>(channel)];
  return kWindow - (window.next - window.base);
}

template <std::uint32_t kSize>
bool BasicLinks<kSize>::is_idle() const noexcept {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    if (peer.is_lost) return true;
    if (peer.is_up && !peer.is_confirmed) return false;
    return std::all_of(peer.windows.begin(), peer.windows.end(), [](const Window& window) {
      return window.base == window.next && window.owed == 0 && (window.here & bit_of(window.cursor)) == 0;
    });
  });
}

template <std::uint32_t kSize>
std::span<std::byte> BasicLinks<kSize>::frame_of(Window& window, std::uint32_t sequence) const noexcept {
  return {window.frames.data() + sequence % kWindow * stride_, transport_.frame_bytes()};
}

template <std::uint32_t kSize>
std::uint32_t BasicLinks<kSize>::checksum(std::span<const std::byte> frame) const noexcept {
  return transport_.is_exact() ? 0 : image::crc32c(frame.subspan(sizeof(std::uint32_t)));
}

template <std::uint32_t kSize>
std::span<std::byte> BasicLinks<kSize>::place(NodeId to, Channel channel) noexcept {
  if (room(to, channel) == 0) return {};
  Window& out = window(to, static_cast<std::size_t>(channel));
  return frame_of(out, out.next).subspan(sizeof(LinkHeader));
}

template <std::uint32_t kSize>
SendResult BasicLinks<kSize>::send(NodeId to, Channel channel, std::span<const std::byte> packet, bool early,
                                   std::uint64_t now_ns) {
  if (peers_[to].is_lost) return SendResult::Lost;
  const std::span<std::byte> place = this->place(to, channel);
  if (place.empty()) return SendResult::Full;
  const auto index = static_cast<std::size_t>(channel);
  Window& out = window(to, index);
  const std::uint32_t sequence = out.next++;
  ++out.sent_count;
  if (out.waits == 0) out.look_ns = now_ns + options_.resend_ns;
  out.waits |= bit_of(sequence);
  Sent& sent = out.sent[sequence % kWindow];
  sent = {static_cast<std::uint32_t>(sizeof(LinkHeader) + packet.size()), now_ns, now_ns, false};
  if (packet.data() != place.data()) std::copy(packet.begin(), packet.end(), place.begin());
  ++counters_.sent;
  if (!peers_[to].is_up && !peers_[to].has_asked) ask(to, now_ns);
  const std::span<std::byte> frame = frame_of(out, sequence).first(sent.length);
  const auto flags = static_cast<std::uint8_t>(early ? kHasPacket | kIsEarly : kHasPacket);
  if (out.is_stalled) {
    make_header(to, index, frame, flags, sequence);
  } else {
    sent.has_left = transmit(to, index, frame, flags, sequence);
    out.is_stalled = !sent.has_left;
  }
  return SendResult::Sent;
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::make_header(NodeId to, std::size_t channel, std::span<std::byte> frame, std::uint8_t flags,
                                    std::uint32_t sequence) noexcept {
  Window& window = this->window(to, channel);
  LinkHeader header;
  header.magic = kLinkMagic;
  header.flags = flags;
  header.channel = static_cast<std::uint8_t>(channel);
  header.source = transport_.node();
  header.target = to;
  header.session = peers_[to].own;
  header.peer_session = peers_[to].theirs;
  header.sequence = sequence;
  header.acknowledged = window.cursor;
  // From the set of numbers modulo 64 to the 63 numbers behind `acknowledged`.
  header.received = turn<kWindow>(window.here & ~bit_of(window.cursor), 0 - (window.cursor + 1));
  std::memcpy(frame.data(), &header, sizeof(header));
  header.crc = checksum(frame);
  std::memcpy(frame.data(), &header.crc, sizeof(header.crc));
}

template <std::uint32_t kSize>
bool BasicLinks<kSize>::transmit(NodeId to, std::size_t channel, std::span<std::byte> frame, std::uint8_t flags,
                                 std::uint32_t sequence) {
  make_header(to, channel, frame, flags, sequence);
  if (!peers_[to].is_up || !transport_.send(to, frame)) return false;
  Window& window = this->window(to, channel);
  window.owed = 0;
  window.is_urgent = false;
  return true;
}

/// A frame about the session, which says nothing of packets.
template <std::uint32_t kSize>
void BasicLinks<kSize>::transmit_session(NodeId to, std::uint8_t flags, std::uint32_t session,
                                         std::uint32_t peer_session) {
  LinkHeader header;
  header.magic = kLinkMagic;
  header.flags = flags;
  header.source = transport_.node();
  header.target = to;
  header.session = session;
  header.peer_session = peer_session;
  std::array<std::byte, sizeof(header)> frame;
  std::memcpy(frame.data(), &header, sizeof(header));
  header.crc = checksum(frame);
  std::memcpy(frame.data(), &header.crc, sizeof(header.crc));
  (void)transport_.send(to, frame);
}

/// Whether the node is there, and has begun the session.
template <std::uint32_t kSize>
void BasicLinks<kSize>::ask(NodeId to, std::uint64_t now_ns) {
  Peer& peer = peers_[to];
  peer.has_asked = true;
  peer.asked_ns = now_ns;
  if (peer.is_up) {
    transmit_session(to, kAsks, peer.own, peer.theirs);
  } else {
    transmit_session(to, kIsOffer, peer.fresh, 0);
  }
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::forget(Peer& peer) noexcept {
  for (Window& window : peer.windows) {
    window.taken_count = window.sent_count;
    window.base = window.next = window.cursor = window.owed = 0;
    window.waits = window.here = 0;
    window.is_stalled = window.is_urgent = false;
  }
  peer.is_up = peer.is_confirmed = peer.has_asked = false;
  peer.own = peer.fresh = draw();
  peer.theirs = 0;
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::give_up(NodeId id, PacketSink& sink) {
  Peer& peer = peers_[id];
  peer.is_lost = true;
  ++counters_.lost;
  sink.lost(id);
  forget(peer);
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::begin(NodeId id, std::uint32_t theirs, PacketSink& sink, std::uint64_t now_ns) {
  Peer& peer = peers_[id];
  const std::uint32_t own = peer.fresh;
  if (peer.is_up) give_up(id, sink);
  peer.is_up = true;
  peer.own = own;
  peer.fresh = draw();
  peer.theirs = theirs;
  peer.heard_ns = peer.begun_ns = now_ns;
  if (peer.is_lost) {
    peer.is_lost = false;
    ++counters_.rejoined;
    sink.rejoined(id);
  }
  for (Window& window : peer.windows) window.is_stalled = window.waits != 0;  // what was given to it before
}

/// Whether the frame is of the session with its sender; begins one if that is what it is for.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::take_session(const LinkHeader& header, PacketSink& sink, std::uint64_t now_ns) {
  Peer& peer = peers_[header.source];
  const bool is_offer = (header.flags & kIsOffer) != 0;
  if (peer.is_up && header.session == peer.theirs && header.peer_session == peer.own) {
    peer.is_confirmed = peer.is_confirmed || !is_offer;
    return !is_offer;
  }
  if (header.session != 0 && header.peer_session == peer.fresh && header.source != transport_.node()) {
    begin(header.source, header.session, sink, now_ns);
    peer.is_confirmed = !is_offer;
    // It hears at once that the session has begun here; who only offered it must say that it knows.
    transmit_session(header.source, is_offer ? kAsks : 0, peer.own, peer.theirs);
    peer.asked_ns = now_ns;
    return !is_offer;
  }
  // It asked before it knew, or never heard, that there is a session.
  if (peer.is_up && header.session == peer.theirs && header.peer_session == 0) {
    transmit_session(header.source, 0, peer.own, peer.theirs);
    return false;
  }
  // Who does not know us, or knows us by a session that it alone has left, is shown how to begin. Everybody else sent
  // this before the session we have.
  if (header.session != 0 && (header.peer_session == 0 || !peer.is_up || header.peer_session == peer.own)) {
    transmit_session(header.source, kIsOffer, peer.fresh, header.session);
    if (header.peer_session == 0) return false;
  }
  ++counters_.stale;
  return false;
}

/// Whether there is anything to do for a window that nothing has come for.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::wants_look(const Window& window, std::uint64_t now_ns) noexcept {
  return (window.here & bit_of(window.cursor)) != 0 || window.owed != 0 || window.is_urgent ||
         (window.waits != 0 && (window.is_stalled || now_ns >= window.look_ns));
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::step(PacketSink& sink, std::uint64_t now_ns) {
  std::size_t work = 0;
  for (; work < kFramesPerStep; ++work) {
    const std::size_t length = transport_.receive(buffer_);
    if (length == 0) break;
    take(std::span<const std::byte>(buffer_).first(length), sink, now_ns);
  }
  for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
    work += look_after_session(static_cast<NodeId>(peer), sink, now_ns);
    for (std::size_t channel = 0; channel < kChannels && !peers_[peer].is_lost; ++channel) {
      if (wants_look(peers_[peer].windows[channel], now_ns)) {
        work += look_after(static_cast<NodeId>(peer), channel, sink, now_ns);
      }
    }
  }
  return work;
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::take(std::span<const std::byte> frame, PacketSink& sink, std::uint64_t now_ns) {
  LinkHeader header;
  if (frame.size() < sizeof(header)) {
    ++counters_.damaged;
    return;
  }
  std::memcpy(&header, frame.data(), sizeof(header));
  if (header.crc != checksum(frame)) {
    ++counters_.damaged;
    return;
  }
  if (header.magic != kLinkMagic || header.target != transport_.node() || header.source >= peers_.size() ||
      header.channel >= kChannels || header.reserved != 0 || header.flags > kAllFlags) {
    ++counters_.foreign;
    return;
  }
  if (const std::optional<NodeId> sender = transport_.sender(); sender && *sender != header.source) {
    ++counters_.forged;
    return;
  }
  if (!take_session(header, sink, now_ns)) return;
  peers_[header.source].heard_ns = now_ns;
  if ((header.flags & kAsks) != 0) {
    window(header.source, 0).is_urgent = true;  // an acknowledgement is an answer
    return;
  }
  Window& in = window(header.source, header.channel);
  take_acknowledgement(in, header);
  if ((header.flags & kHasPacket) == 0) return;

  const std::uint32_t ahead = header.sequence - in.cursor;
  if (ahead >= kWindow) {
    if (static_cast<std::int32_t>(ahead) < 0) {
      ++counters_.duplicates;
      in.is_urgent = true;
    } else {
      ++counters_.outside;
    }
    return;
  }
  if ((in.here & bit_of(header.sequence)) != 0) {
    ++counters_.duplicates;
    in.is_urgent = true;
    return;
  }
  const std::span<const std::byte> packet = frame.subspan(sizeof(header));
  Arrived& arrived = in.arrived[header.sequence % kWindow];
  arrived = {static_cast<std::uint32_t>(packet.size()), 0};
  in.here |= bit_of(header.sequence);
  if (in.owed++ == 0) in.owed_since_ns = now_ns;
  if ((header.flags & kIsEarly) != 0) {
    arrived.early_status = sink.early(header.source, static_cast<Channel>(header.channel), packet);
  }
  // Only what cannot be given out at once is kept.
  if (ahead == 0 && deliver_one(header.source, header.channel, sink, packet)) {
    (void)deliver(header.source, header.channel, sink);
  } else {
    std::copy(packet.begin(), packet.end(),
              in.packets.begin() + static_cast<std::ptrdiff_t>(header.sequence % kWindow * stride_));
  }
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::take_acknowledgement(Window& to, const LinkHeader& header) noexcept {
  const std::uint32_t under_way = to.next - to.base;
  const std::uint32_t released = header.acknowledged - to.base;
  if (released > under_way) return;  // older than what is known, or nonsense
  for (; to.base != header.acknowledged; ++to.base) to.waits &= ~bit_of(to.base);
  to.taken_count += released;
  // The last bit would be `acknowledged` itself. What was never sent waits for nothing, so its bits change nothing.
  to.waits &= ~turn<kWindow>(header.received << 1U, header.acknowledged);
}

/// The oldest packet, if the sink takes it.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::deliver_one(NodeId from, std::size_t channel, PacketSink& sink,
                                    std::span<const std::byte> packet) {
  Window& in = window(from, channel);
  if (!sink.ordered(from, static_cast<Channel>(channel), packet, in.arrived[in.cursor % kWindow].early_status)) {
    return false;
  }
  in.here &= ~bit_of(in.cursor);
  ++in.cursor;
  ++counters_.delivered;
  return true;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::deliver(NodeId from, std::size_t channel, PacketSink& sink) {
  Window& in = window(from, channel);
  std::size_t count = 0;
  for (; (in.here & bit_of(in.cursor)) != 0; ++count) {
    const std::span<const std::byte> packet(in.packets.data() + in.cursor % kWindow * stride_,
                                            in.arrived[in.cursor % kWindow].length);
    if (!deliver_one(from, channel, sink, packet)) break;
  }
  return count;
}

/// The packets that have waited for their acknowledgement for too long, and those that the carrier had no room for.
template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::send_again(NodeId peer, std::size_t channel, PacketSink& sink, std::uint64_t now_ns) {
  Window& window = this->window(peer, channel);
  std::size_t work = 0;
  window.look_ns = now_ns + options_.resend_ns;
  window.is_stalled = false;
  for (std::uint32_t sequence = window.base; sequence != window.next; ++sequence) {
    if ((window.waits & bit_of(sequence)) == 0) continue;
    Sent& sent = window.sent[sequence % kWindow];
    if (sent.has_left && now_ns - sent.last_ns < options_.resend_ns) {
      window.look_ns = std::min(window.look_ns, sent.last_ns + options_.resend_ns);
      continue;
    }
    if (now_ns - std::max(sent.first_ns, peers_[peer].heard_ns) >= options_.silence_ns) {
      give_up(peer, sink);
      return work + 1;
    }
    const std::span<std::byte> frame = frame_of(window, sequence).first(sent.length);
    LinkHeader header;
    std::memcpy(&header, frame.data(), sizeof(header));
    if (!transmit(peer, channel, frame, header.flags, sequence)) {
      window.is_stalled = true;
      break;
    }
    if (sent.has_left) ++counters_.resent;
    sent.has_left = true;
    sent.last_ns = now_ns;
    ++work;
  }
  return work;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::look_after_session(NodeId id, PacketSink& sink, std::uint64_t now_ns) {
  Peer& peer = peers_[id];
  if (peer.is_up && peer.is_confirmed) return 0;
  if (peer.is_up && now_ns - peer.begun_ns >= options_.silence_ns) {  // it offered, and was not heard of again
    give_up(id, sink);
    return 1;
  }
  const bool wants = peer.is_up || peer.windows[0].waits != 0 || peer.windows[1].waits != 0;
  if (!wants && !peer.is_lost) return 0;
  if (peer.has_asked && now_ns - peer.asked_ns < (wants ? options_.resend_ns : options_.silence_ns)) return 0;
  ask(id, now_ns);
  return 1;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::look_after(NodeId peer, std::size_t channel, PacketSink& sink, std::uint64_t now_ns) {
  Window& window = this->window(peer, channel);
  // What was held up is delivered: its sender has room again.
  std::size_t work = deliver(peer, channel, sink);
  if (work != 0 && window.owed == 0) window.owed_since_ns = now_ns;
  window.owed += static_cast<std::uint32_t>(work);
  if (window.waits != 0 && (window.is_stalled || now_ns >= window.look_ns))
    work += send_again(peer, channel, sink, now_ns);
  if (peers_[peer].is_lost) return work;
  const bool is_due = window.owed >= kAcknowledgeEvery || window.is_urgent ||
                      (window.owed != 0 && now_ns - window.owed_since_ns >= options_.acknowledge_ns);
  if (is_due) {
    std::array<std::byte, sizeof(LinkHeader)> frame{};
    transmit(peer, channel, frame, 0, 0);
    ++work;
  }
  return work;
}

template class BasicLinks<64>;
template class BasicLinks<4>;  // small enough for a test to go through all of its states

}  // namespace stopbit::nic
