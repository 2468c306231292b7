#include "host/nic/link/links.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

#include "host/nic/word_copy.hpp"
#include "microcode/base/round_up.hpp"
#include "microcode/base/splitmix64.hpp"
#include "microcode/image/crc32c.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint8_t kHasPacket = 1;
constexpr std::uint8_t kIsEarly = 2;
constexpr std::uint8_t kIsOffer = 4;  // the sender has not begun this session; it does when the receiver answers
constexpr std::uint8_t kAsks = 8;     // the sender wants to hear anything of this session
constexpr std::uint8_t kAllFlags = 31;
constexpr std::size_t kReceivedBytes = sizeof(std::uint64_t);
constexpr std::size_t kChecksumBytes = sizeof(std::uint32_t);
static_assert(sizeof(LinkHeader) + kReceivedBytes + kChecksumBytes <= kLinkBytes);
constexpr std::size_t kFramesPerStep = 64;
/// In resend intervals: how long the other node may be silent before we ask for a sign of life.
constexpr std::uint64_t kPatience = 4;
constexpr std::size_t kReceivedPerStep = 65'536;  // bytes: the ports here are not to wait for what others send

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
constexpr std::size_t whole_lines(std::size_t bytes) noexcept {
  return round_up(bytes, kLineBytes);
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
      node_(transport.node()),
      frame_bytes_(transport.frame_bytes()),
      is_exact_(transport.is_exact()),
      peers_(transport.nodes()),
      attention_((transport.nodes() + kPeersPerWord - 1) / kPeersPerWord),
      stride_(whole_lines(transport.frame_bytes()) + kLineBytes),
      buffer_(whole_lines(transport.frame_bytes())) {
  const std::size_t set = kWindow * stride_;
  const std::size_t bytes = peers_.size() * kChannels * 2 * set;
  memory_.reset(static_cast<std::byte*>(std::calloc(bytes, 1)));  // pages that are never touched take no memory
  if (!memory_) throw std::bad_alloc();
  std::span<std::byte> rest(memory_.get(), bytes);
  if (::getrandom(&random_, sizeof(random_), 0) != sizeof(random_)) {
    throw std::system_error(errno, std::generic_category(), "cannot get random numbers");
  }
  for (Peer& peer : peers_) {
    for (PacketWindow& window : peer.windows) {
      window.frames = rest.first(set);
      window.packets = rest.subspan(set, set);
      rest = rest.subspan(2 * set);
    }
    peer.own = peer.fresh = draw();
  }
  // A node has nothing to agree about with itself.
  Peer& self = peers_[node_];
  self.is_up = self.is_confirmed = true;
  self.theirs = self.own;
  self.fresh = draw();
}

/// Numbers that do not come again.
template <std::uint32_t kSize>
std::uint32_t BasicLinks<kSize>::draw() noexcept {
  for (;;) {
    const auto result = static_cast<std::uint32_t>(splitmix64(random_));
    if (result != 0) return result;
  }
}

template <std::uint32_t kSize>
bool BasicLinks<kSize>::is_idle() const noexcept {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    if (peer.is_lost) return true;
    if (peer.is_up && !peer.is_confirmed) return false;
    return std::all_of(peer.windows.begin(), peer.windows.end(), [](const PacketWindow& window) {
      return window.base == window.next && window.owed == 0 && (window.here & bit_of(window.cursor)) == 0;
    });
  });
}

template <std::uint32_t kSize>
bool BasicLinks<kSize>::has_left(NodeId node) const noexcept {
  return std::all_of(peers_[node].windows.begin(), peers_[node].windows.end(), [](const PacketWindow& window) {
    for (std::uint32_t sequence = window.base; sequence != window.next; ++sequence) {
      if ((window.waits & bit_of(sequence)) != 0 && !window.sent[sequence % kWindow].has_left) return false;
    }
    return true;
  });
}

template <std::uint32_t kSize>
std::byte* BasicLinks<kSize>::packet_of(PacketWindow& window, std::uint32_t sequence) const noexcept {
  return window.frames.data() + sequence % kWindow * stride_ + sizeof(LinkHeader);
}

template <std::uint32_t kSize>
std::span<std::byte> BasicLinks<kSize>::place(NodeId to, VirtualChannel channel) noexcept {
  if (room(to, channel) == 0) return {};
  PacketWindow& out = window(to, static_cast<std::size_t>(channel));
  return {packet_of(out, out.next), packet_bytes()};
}

template <std::uint32_t kSize>
SendResult BasicLinks<kSize>::send(NodeId to, VirtualChannel channel, std::span<const std::byte> packet, bool early,
                                   std::uint64_t now_ns) {
  Peer& peer = peers_[to];
  if (peer.is_lost) return SendResult::Lost;
  if (room(to, channel) == 0) return SendResult::Full;
  const auto index = static_cast<std::size_t>(channel);
  PacketWindow& out = peer.windows[index];
  const std::uint32_t sequence = out.next++;
  ++out.sent_count;
  Sent& sent = out.sent[sequence % kWindow];
  sent.length = static_cast<std::uint32_t>(packet.size());
  sent.flags = early ? kHasPacket | kIsEarly : kHasPacket;
  sent.has_left = false;
  std::byte* const place = packet_of(out, sequence);
  if (packet.data() != place) copy_bytes(place, packet.data(), packet.size());
  ++counters_.sent;
  if (to == node_) return SendResult::Sent;
  sent.first_ns = sent.last_ns = now_ns;
  if (out.waits == 0) out.look_ns = now_ns + options_.resend_ns;
  out.waits |= bit_of(sequence);
  attend(to);
  if (!peer.is_up && !peer.has_asked) ask(to, now_ns);
  if (!out.is_stalled) {
    sent.has_left = transmit(to, index, place, packet.size(), sent.flags, sequence);
    out.is_stalled = !sent.has_left;
  }
  return SendResult::Sent;
}

template <std::uint32_t kSize>
std::span<const std::byte> BasicLinks<kSize>::frame(std::byte* packet, std::size_t length, const LinkHeader& header,
                                                    std::uint64_t received) const noexcept {
  std::byte* const begin = packet - sizeof(header);
  // Whole words, as the carrier copies them.
  store_word(begin, std::uint64_t{header.magic} | std::uint64_t{header.flags} << 16U |
                        std::uint64_t{header.channel} << 24U | std::uint64_t{header.source} << 32U |
                        std::uint64_t{header.target} << 48U);
  store_word(begin + kWordBytes, std::uint64_t{header.sequence} | std::uint64_t{header.acknowledged} << 32U);
  store_word(begin + 2 * kWordBytes, std::uint64_t{header.session} | std::uint64_t{header.peer_session} << 32U);
  std::size_t size = sizeof(header) + length;
  if ((header.flags & kLinkHasReceived) != 0) {
    std::memcpy(begin + size, &received, kReceivedBytes);
    size += kReceivedBytes;
  }
  if (!is_exact_) {
    const std::uint32_t checksum = image::crc32c(std::span<const std::byte>(begin, size));
    std::memcpy(begin + size, &checksum, kChecksumBytes);
    size += kChecksumBytes;
  }
  return {begin, size};
}

/// Of a frame that is long enough.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::has_checksum(std::span<const std::byte> frame) const noexcept {
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, frame.data() + frame.size() - kChecksumBytes, kChecksumBytes);
  return checksum == image::crc32c(frame.first(frame.size() - kChecksumBytes));
}

template <std::uint32_t kSize>
bool BasicLinks<kSize>::transmit(NodeId to, std::size_t channel, std::byte* packet, std::size_t length,
                                 std::uint8_t flags, std::uint32_t sequence) {
  const Peer& peer = peers_[to];
  if (!peer.is_up) return false;
  PacketWindow& window = this->window(to, channel);
  // From the set of numbers modulo 64 to the 63 numbers after `acknowledged`.
  const std::uint64_t received = turn<kWindow>(window.here & ~bit_of(window.cursor), 0 - (window.cursor + 1));
  if (received != 0) flags |= kLinkHasReceived;
  const LinkHeader header{
      kLinkMagic, flags, static_cast<std::uint8_t>(channel), node_, to, sequence, window.cursor, peer.own, peer.theirs};
  if (!transport_.send(to, frame(packet, length, header, received))) return false;
  window.owed = 0;
  window.is_urgent = false;
  return true;
}

/// A frame about the session. What it acknowledges is as true as in any other frame.
template <std::uint32_t kSize>
void BasicLinks<kSize>::transmit_session(NodeId to, std::uint8_t flags, std::uint32_t session,
                                         std::uint32_t peer_session) {
  std::array<std::byte, kLinkBytes> place;
  const LinkHeader header{kLinkMagic, flags, 0, node_, to, 0, window(to, 0).cursor, session, peer_session};
  (void)transport_.send(to, frame(place.data() + sizeof(header), 0, header, 0));
}

/// Whether the node is up and has begun the session.
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
  for (PacketWindow& window : peer.windows) {
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
  peer.expected = 0;
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
  for (PacketWindow& window : peer.windows) window.is_stalled = window.waits != 0;  // what was given to it before
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
  if (header.session != 0 && header.peer_session == peer.fresh && header.source != node_) {
    begin(header.source, header.session, sink, now_ns);
    peer.is_confirmed = !is_offer;
    // The node learns at once that the session has begun here; if it only offered the session, it must confirm.
    transmit_session(header.source, is_offer ? kAsks : 0, peer.own, peer.theirs);
    peer.asked_ns = now_ns;
    return !is_offer;
  }
  // It asked before it knew, or never heard, that there is a session.
  if (peer.is_up && header.session == peer.theirs && header.peer_session == 0) {
    transmit_session(header.source, 0, peer.own, peer.theirs);
    return false;
  }
  // A node that does not know us, or knows us by a session that it alone has left, is shown how to begin. Any other
  // node sent this before the session we have.
  if (header.session != 0 && (header.peer_session == 0 || !peer.is_up || header.peer_session == peer.own)) {
    transmit_session(header.source, kIsOffer, peer.fresh, header.session);
    if (header.peer_session == 0) return false;
  }
  ++counters_.stale;
  return false;
}

template <std::uint32_t kSize>
bool BasicLinks<kSize>::must_acknowledge(const PacketWindow& window, std::uint64_t now_ns) const noexcept {
  return window.owed >= kAcknowledgeEvery || window.is_urgent ||
         (window.owed != 0 && now_ns - window.owed_since_ns >= options_.acknowledge_ns);
}

/// Whether there is anything to do for a window that nothing has come for.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::wants_look(const PacketWindow& window, std::uint64_t now_ns) const noexcept {
  return (window.here & bit_of(window.cursor)) != 0 || must_acknowledge(window, now_ns) ||
         (window.waits != 0 && (window.is_stalled || now_ns >= window.look_ns)) || must_ask(window, now_ns);
}

/// Whether the other node has reported all packets as received, but for long none as taken: the frame with that report
/// may be lost, and it is sent only once.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::must_ask(const PacketWindow& window, std::uint64_t now_ns) const noexcept {
  return window.waits == 0 && window.base != window.next &&
         now_ns - std::min(now_ns, window.look_ns) >= kPatience * options_.resend_ns;
}

/// Whether a node needs no look until something is sent to it, or comes from it.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::is_quiet(const Peer& peer) noexcept {
  return !peer.is_lost && peer.is_up == peer.is_confirmed && peer.expected == 0 &&
         std::all_of(peer.windows.begin(), peer.windows.end(), [](const PacketWindow& window) {
           return window.base == window.next && window.waits == 0 && window.here == 0 && window.owed == 0 &&
                  !window.is_urgent;
         });
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::step(PacketSink& sink, std::uint64_t now_ns) {
  std::size_t work = 0;
  for (std::size_t bytes = 0; work < kFramesPerStep && bytes < kReceivedPerStep; ++work) {
    const std::size_t length = transport_.receive({buffer_.data(), frame_bytes_});
    if (length == 0) break;
    bytes += length;
    take({buffer_.data(), length}, sink, now_ns);
  }
  if (room(node_, VirtualChannel::Low) + room(node_, VirtualChannel::High) != 2 * kWindow) work += give_out_own(sink);
  for (std::size_t word = 0; word < attention_.size(); ++word) {
    for (std::uint64_t rest = attention_[word]; rest != 0; rest &= rest - 1) {
      const std::size_t peer = word * kPeersPerWord + static_cast<std::size_t>(std::countr_zero(rest));
      work += look_after(static_cast<NodeId>(peer), sink, now_ns);
      if (is_quiet(peers_[peer])) attention_[word] &= ~(rest & (~rest + 1));
    }
  }
  return work;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::give_out_own(PacketSink& sink) {
  std::size_t work = 0;
  // A packet delivered on one channel may be answered on the other.
  for (std::size_t count = 1; count != 0 && work < kFramesPerStep; work += count) {
    count = 0;
    for (std::size_t channel = kChannels; channel-- > 0;) count += give_out_own(channel, sink);
  }
  return work;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::give_out_own(std::size_t channel, PacketSink& sink) {
  PacketWindow& window = this->window(node_, channel);
  std::size_t count = 0;
  for (; window.base != window.next; ++count) {
    Sent& sent = window.sent[window.base % kWindow];
    const std::span<const std::byte> packet(packet_of(window, window.base), sent.length);
    if (!sent.has_left) {
      const bool is_early = (sent.flags & kIsEarly) != 0;
      sent.early_status = is_early ? sink.early(node_, static_cast<VirtualChannel>(channel), packet) : std::uint8_t{0};
      sent.has_left = true;
    }
    if (!sink.ordered(node_, static_cast<VirtualChannel>(channel), packet, sent.early_status)) break;
    ++window.base;
    ++window.taken_count;
    ++counters_.delivered;
  }
  return count;
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::take(std::span<const std::byte> frame, PacketSink& sink, std::uint64_t now_ns) {
  const std::size_t checksum_bytes = is_exact_ ? 0 : kChecksumBytes;
  if (frame.size() < sizeof(LinkHeader) + checksum_bytes || (!is_exact_ && !has_checksum(frame))) {
    ++counters_.damaged;
    return;
  }
  const auto header = load_words<LinkHeader>(frame.data());
  if (header.magic != kLinkMagic || header.target != node_ || header.source >= peers_.size() ||
      header.channel >= kChannels || header.flags > kAllFlags) {
    ++counters_.foreign;
    return;
  }
  if (const std::optional<NodeId> sender = transport_.sender();
      header.source == node_ || (sender && *sender != header.source)) {
    ++counters_.forged;
    return;
  }
  std::span<const std::byte> packet = frame.subspan(sizeof(header), frame.size() - sizeof(header) - checksum_bytes);
  std::uint64_t received = 0;
  if ((header.flags & kLinkHasReceived) != 0) {
    if (packet.size() < kReceivedBytes) {
      ++counters_.damaged;
      return;
    }
    std::memcpy(&received, packet.data() + packet.size() - kReceivedBytes, kReceivedBytes);
    packet = packet.first(packet.size() - kReceivedBytes);
  }
  if (packet.size() > packet_bytes()) {
    ++counters_.damaged;
    return;
  }
  attend(header.source);
  Peer& peer = peers_[header.source];
  const bool is_of_session = peer.is_confirmed && header.session == peer.theirs && header.peer_session == peer.own &&
                             (header.flags & kIsOffer) == 0;  // the usual case, before all others
  if (!is_of_session && !take_session(header, sink, now_ns)) return;
  peer.heard_ns = now_ns;
  if ((header.flags & kAsks) != 0) {
    window(header.source, 0).is_urgent = true;  // an acknowledgement is an answer
    return;
  }
  PacketWindow& in = window(header.source, header.channel);
  if (static_cast<std::int32_t>(header.acknowledged - in.next) > 0) {
    // It has taken what was never sent, and would take what is sent now for doubles: nothing comes of this session.
    ++counters_.outside;
    give_up(header.source, sink);
    return;
  }
  take_acknowledgement(in, header.acknowledged, received);
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
  Arrived& arrived = in.arrived[header.sequence % kWindow];
  arrived = {static_cast<std::uint32_t>(packet.size()), 0};
  in.here |= bit_of(header.sequence);
  if (in.owed++ == 0) in.owed_since_ns = now_ns;
  if ((header.flags & kIsEarly) != 0) {
    arrived.early_status = sink.early(header.source, static_cast<VirtualChannel>(header.channel), packet);
  }
  // Only a packet that cannot be delivered at once is kept.
  if (ahead == 0 && deliver_one(header.source, header.channel, sink, packet)) {
    (void)deliver(header.source, header.channel, sink);
  } else {
    copy_bytes(in.packets.data() + header.sequence % kWindow * stride_, packet.data(), packet.size());
  }
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::take_acknowledgement(PacketWindow& to, std::uint32_t acknowledged,
                                             std::uint64_t received) noexcept {
  const std::uint32_t under_way = to.next - to.base;
  const std::uint32_t released = acknowledged - to.base;
  if (released > under_way) return;  // older than what is known, or nonsense
  for (; to.base != acknowledged; ++to.base) to.waits &= ~bit_of(to.base);
  to.taken_count += released;
  // The last bit would be `acknowledged` itself. Bits of packets that were never sent change nothing.
  to.waits &= ~turn<kWindow>(received << 1U, acknowledged);
}

/// The oldest packet, if the sink takes it.
template <std::uint32_t kSize>
bool BasicLinks<kSize>::deliver_one(NodeId from, std::size_t channel, PacketSink& sink,
                                    std::span<const std::byte> packet) {
  PacketWindow& in = window(from, channel);
  if (!sink.ordered(from, static_cast<VirtualChannel>(channel), packet, in.arrived[in.cursor % kWindow].early_status)) {
    return false;
  }
  in.here &= ~bit_of(in.cursor);
  ++in.cursor;
  ++counters_.delivered;
  return true;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::deliver(NodeId from, std::size_t channel, PacketSink& sink) {
  PacketWindow& in = window(from, channel);
  std::size_t count = 0;
  for (; (in.here & bit_of(in.cursor)) != 0; ++count) {
    const std::span<const std::byte> packet(in.packets.data() + in.cursor % kWindow * stride_,
                                            in.arrived[in.cursor % kWindow].length);
    if (!deliver_one(from, channel, sink, packet)) break;
  }
  return count;
}

/// The other node may make no calls for seconds. Its buffer should not fill with doubles meanwhile.
template <std::uint32_t kSize>
std::uint64_t BasicLinks<kSize>::resend_ns(NodeId peer, const Sent& sent, std::uint64_t now_ns) const noexcept {
  constexpr std::uint64_t kPart = 4;  // of the silence
  const std::uint64_t begun_ns = std::max(sent.first_ns, peers_[peer].heard_ns);
  const std::uint64_t silent_ns = now_ns - std::min(now_ns, begun_ns);
  return std::max(options_.resend_ns, std::min(silent_ns / kPart, options_.slowest_resend_ns));
}

/// The packets that have waited for their acknowledgement for too long, and those that the carrier had no room for.
template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::send_again(NodeId peer, std::size_t channel, PacketSink& sink, std::uint64_t now_ns) {
  PacketWindow& window = this->window(peer, channel);
  std::size_t work = 0;
  window.look_ns = now_ns + options_.resend_ns;
  window.is_stalled = false;
  for (std::uint32_t sequence = window.base; sequence != window.next; ++sequence) {
    if ((window.waits & bit_of(sequence)) == 0) continue;
    Sent& sent = window.sent[sequence % kWindow];
    const std::uint64_t pause_ns = resend_ns(peer, sent, now_ns);
    if (sent.has_left && now_ns - sent.last_ns < pause_ns) {
      window.look_ns = std::min(window.look_ns, sent.last_ns + pause_ns);
      continue;
    }
    if (now_ns - std::max(sent.first_ns, peers_[peer].heard_ns) >= options_.silence_ns) {
      give_up(peer, sink);
      return work + 1;
    }
    if (!transmit(peer, channel, packet_of(window, sequence), sent.length, sent.flags, sequence)) {
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
void BasicLinks<kSize>::expect(NodeId node, std::uint64_t now_ns) noexcept {
  if (node == node_) return;
  Peer& peer = peers_[node];
  if (peer.expected++ == 0) peer.expected_ns = now_ns;
  attend(node);
}

template <std::uint32_t kSize>
void BasicLinks<kSize>::expect_less(NodeId node) noexcept {
  if (peers_[node].expected != 0) --peers_[node].expected;
}

/// Whether a node that owes answers is alive. Its silence counts from the first time we asked it, so that it had a
/// chance to speak, also if this process was stopped.
template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::look_for_answers(NodeId id, PacketSink& sink, std::uint64_t now_ns) {
  Peer& peer = peers_[id];
  const std::uint64_t since_ns = std::max(peer.heard_ns, peer.expected_ns);
  const bool was_asked = peer.asked_ns > since_ns && peer.first_asked_ns > since_ns;
  const std::uint64_t pause_ns = kPatience * options_.resend_ns;
  if (now_ns - std::min(now_ns, was_asked ? peer.asked_ns : since_ns) < pause_ns) return 0;
  if (!was_asked) {
    peer.first_asked_ns = now_ns;
  } else if (now_ns - peer.first_asked_ns >= options_.silence_ns) {
    give_up(id, sink);
    return 1;
  }
  ask(id, now_ns);
  return 1;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::look_after_session(NodeId id, PacketSink& sink, std::uint64_t now_ns) {
  Peer& peer = peers_[id];
  if (peer.is_up && peer.is_confirmed) return peer.expected == 0 ? 0 : look_for_answers(id, sink, now_ns);
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
std::size_t BasicLinks<kSize>::look_after(NodeId peer, PacketSink& sink, std::uint64_t now_ns) {
  std::size_t work = look_after_session(peer, sink, now_ns);
  for (std::size_t channel = 0; channel < kChannels && !peers_[peer].is_lost; ++channel) {
    if (wants_look(peers_[peer].windows[channel], now_ns)) work += look_after(peer, channel, sink, now_ns);
  }
  return work;
}

template <std::uint32_t kSize>
std::size_t BasicLinks<kSize>::look_after(NodeId peer, std::size_t channel, PacketSink& sink, std::uint64_t now_ns) {
  PacketWindow& window = this->window(peer, channel);
  // The blocked packets are delivered: their sender has room again.
  std::size_t work = deliver(peer, channel, sink);
  if (work != 0 && window.owed == 0) window.owed_since_ns = now_ns;
  window.owed += static_cast<std::uint32_t>(work);
  if (must_ask(window, now_ns)) window.waits |= bit_of(window.base);  // a double is always acknowledged
  if (window.waits != 0 && (window.is_stalled || now_ns >= window.look_ns))
    work += send_again(peer, channel, sink, now_ns);
  if (peers_[peer].is_lost) return work;
  if (must_acknowledge(window, now_ns)) {
    std::array<std::byte, kLinkBytes> place;
    transmit(peer, channel, place.data() + sizeof(LinkHeader), 0, 0, 0);
    ++work;
  }
  return work;
}

template class BasicLinks<64>;
template class BasicLinks<4>;  // small enough for a test to go through all of its states

}  // namespace stopbit::nic
