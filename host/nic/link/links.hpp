#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/nic/transport/transport.hpp"

namespace stopbit::nic {

/// Two parallel channels to every node: packets waiting on the low channel never delay the high one. Requests use the
/// low channel, answers the high one, and an answer can always be processed on arrival, so no deadlock is possible.
enum class VirtualChannel : std::uint8_t { Low = 0, High = 1 };
inline constexpr std::size_t kChannels = 2;

/// Header of every packet, little-endian. According to `flags`, the packet is followed by a 64-bit selective-ack mask
/// (bit i: number acknowledged + 1 + i has arrived) and, on a carrier that is not exact, by a CRC-32C of everything
/// before it. With the usual flags, a message of 8 bytes with its header and the word of a slot fits into one cache
/// line.
struct LinkHeader {
  std::uint16_t magic = 0;
  std::uint8_t flags = 0;
  std::uint8_t channel = 0;
  NodeId source = 0;
  NodeId target = 0;
  std::uint32_t sequence = 0;      ///< Of the packet.
  std::uint32_t acknowledged = 0;  ///< All before it have arrived here.
  std::uint32_t session = 0;       ///< The sender's number for its session with the receiver; never 0.
  std::uint32_t peer_session = 0;  ///< The receiver's number; 0: the sender knows none.
};
static_assert(sizeof(LinkHeader) == 24);
inline constexpr std::uint16_t kLinkMagic = 0x3353;   ///< "S3": another version is another magic.
inline constexpr std::uint8_t kLinkHasReceived = 16;  ///< In `flags`: 64 bits follow the packet.
inline constexpr std::size_t kLinkBytes = 40;         ///< Of a frame, besides its packet, at most; whole words.

struct LinkOptions {
  std::uint64_t resend_ns = 100'000;      ///< A packet that is not acknowledged goes again after this time.
  std::uint64_t silence_ns = 5'000'000;   ///< Silence after which a node that owes an answer is lost.
  std::uint64_t acknowledge_ns = 20'000;  ///< Time for which an acknowledgement waits for a packet to carry it.
  std::uint64_t slowest_resend_ns = 0;    ///< To a node that is silent more and more rarely, down to this; 0: no.
};

struct LinkCounters {
  std::uint64_t sent = 0;       ///< Packets, each once.
  std::uint64_t delivered = 0;  ///< Packets, in order.
  std::uint64_t resent = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t damaged = 0;  ///< Frames with a wrong checksum, or too short, or too long.
  std::uint64_t foreign = 0;  ///< Frames of another version, for another node, or of none that there is.
  std::uint64_t outside =
      0;  ///< Packets with a number that the sender may not use yet, or acknowledged before they were sent.
  std::uint64_t stale = 0;     ///< Frames of a session that has ended.
  std::uint64_t forged = 0;    ///< Frames from another node than they say, of a carrier that knows.
  std::uint64_t lost = 0;      ///< How often a node was given up, or started anew.
  std::uint64_t rejoined = 0;  ///< How often one came back.
};

/// Receives the packets. `packet` is valid during the call.
class PacketSink {
 public:
  PacketSink() = default;
  PacketSink(const PacketSink&) = delete;
  PacketSink& operator=(const PacketSink&) = delete;
  virtual ~PacketSink() = default;

  /// Called once per packet sent with `early`, on arrival, possibly out of order. Its result is passed to `ordered`.
  [[nodiscard]] virtual std::uint8_t early(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) = 0;
  /// Called once per packet, in the order of sending on its channel. False: not now; the packet is offered again in a
  /// later step, and later packets of its channel wait.
  [[nodiscard]] virtual bool ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet,
                                     std::uint8_t early_status) = 0;
  /// The node does not answer, or has restarted: packets in flight to it are dropped, whether received or not, and its
  /// earlier packets are void.
  virtual void lost(NodeId peer) = 0;
  /// A node has connected, or reconnected; both sides start a new session.
  virtual void rejoined(NodeId /*peer*/) {}
};

enum class SendResult : std::uint8_t { Sent, Full, Lost };

/// The windows of a node to all others: 64 packets under way per channel, identified by number (the sequence window of
/// network virtual memory), each kept until it is acknowledged, and sent again if it is not. Acknowledgements travel
/// with packets; alone once for 32, or when they have waited. Every packet is delivered exactly once.
///
/// Two nodes agree on a session before the first packet. Each draws a random number and accepts only frames with both
/// numbers; a node that restarts, or gives the other up, draws a new one. A session begins when the other repeats a
/// number that was drawn for this purpose and never used, so that an old frame, however late, neither begins nor ends
/// one. A lost node is polled from time to time.
///
/// Packets of a node to itself use no carrier: they are delivered from the window.
///
/// One thread; allocates in the constructor only: 512 KiB per node at frames of 2 KiB, of which pages that are never
/// used cost nothing.
///
/// `kSize` is a power of two up to 64; the window that nodes have is `Links`.
template <std::uint32_t kSize>
class BasicLinks {
 public:
  static constexpr std::uint32_t kWindow = kSize;
  static_assert(std::has_single_bit(kSize) && kSize <= 64);

  BasicLinks(Transport& transport, const LinkOptions& options);

  [[nodiscard]] std::size_t packet_bytes() const noexcept { return frame_bytes_ - kLinkBytes; }
  /// The packet is copied. `early`: it may be given to the receiver before those that were sent before it. `to` must be
  /// a node there is, and the packet no longer than packet_bytes().
  [[nodiscard]] SendResult send(NodeId to, VirtualChannel channel, std::span<const std::byte> packet, bool early,
                                std::uint64_t now_ns);
  /// Where the next packet of this way may be made, packet_bytes() long, so that `send` need not copy it. Until the
  /// next `send` there. Empty: there is no room.
  [[nodiscard]] std::span<std::byte> place(NodeId to, VirtualChannel channel) noexcept;
  /// Packets that may still be sent before the window is full.
  [[nodiscard]] std::uint32_t room(NodeId to, VirtualChannel channel) const noexcept {
    const PacketWindow& window = peers_[to].windows[static_cast<std::size_t>(channel)];
    return kWindow - (window.next - window.base);
  }
  /// Packets sent on this channel, and packets the receiver has taken, in order. When a node is lost the second is
  /// smaller during the call of `lost`; then nothing is in flight, and both are equal.
  [[nodiscard]] std::uint64_t sent(NodeId to, VirtualChannel channel) const noexcept {
    return peers_[to].windows[static_cast<std::size_t>(channel)].sent_count;
  }
  [[nodiscard]] std::uint64_t taken(NodeId to, VirtualChannel channel) const noexcept {
    return peers_[to].windows[static_cast<std::size_t>(channel)].taken_count;
  }
  [[nodiscard]] bool is_lost(NodeId node) const noexcept { return peers_[node].is_lost; }
  /// Whether the carrier has accepted every packet to a node at least once: on one that loses nothing, the node will
  /// find them.
  [[nodiscard]] bool has_left(NodeId node) const noexcept;
  /// Gives a node up whose process has ended, as its caller knows. Not during `step`.
  void lose(NodeId node, PacketSink& sink) {
    if (!peers_[node].is_lost) give_up(node, sink);
  }
  /// A lost node may be sent to again: another process has its number now.
  void invite(NodeId node) noexcept { peers_[node].is_lost = false; }
  /// Counts an answer that the node owes. It may take the request and die before it answers, with nothing in flight to
  /// reveal that. So while it owes an answer, a silent node is polled, and is lost if it does not respond within
  /// `silence_ns`.
  void expect(NodeId node, std::uint64_t now_ns) noexcept;
  /// An answer has come, or is not wanted any more. Those of a lost node are forgotten, with or without this call.
  void expect_less(NodeId node) noexcept;
  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] std::size_t nodes() const noexcept { return peers_.size(); }
  /// Receives, delivers, acknowledges, sends again. Returns how much it did.
  std::size_t step(PacketSink& sink, std::uint64_t now_ns);
  /// Nothing is under way that has not been acknowledged.
  [[nodiscard]] bool is_idle() const noexcept;

  /// The own and the other's number of the session with a node; zeros: there is none.
  struct Session {
    std::uint32_t own = 0;
    std::uint32_t theirs = 0;
    [[nodiscard]] friend bool operator==(const Session&, const Session&) = default;
  };
  [[nodiscard]] Session session(NodeId node) const noexcept {
    return peers_[node].is_up ? Session{peers_[node].own, peers_[node].theirs} : Session{};
  }
  [[nodiscard]] const LinkCounters& counters() const noexcept { return counters_; }

 private:
  template <std::uint32_t>
  friend struct LinksInside;  ///< A model check saves and restores the state.

  static constexpr std::uint32_t kAcknowledgeEvery = kWindow / 2;

  struct Sent {
    std::uint32_t length = 0;  ///< Of the packet.
    std::uint8_t flags = 0;
    bool has_left = false;  ///< The carrier has accepted it at least once. For the own node: it was delivered early.
    std::uint8_t early_status = 0;  ///< To the own node.
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
  };
  struct Arrived {
    std::uint32_t length = 0;  ///< Of the packet.
    std::uint8_t early_status = 0;
  };
  /// Of sets of packets, bit i is the one whose number is i modulo kWindow.
  struct PacketWindow {
    std::uint32_t base = 0;     ///< Sending: the oldest not acknowledged,
    std::uint32_t next = 0;     ///< and the next to be sent.
    std::uint64_t waits = 0;    ///< Those between that are not acknowledged.
    std::uint64_t look_ns = 0;  ///< None of them is to be sent again before this time.
    bool is_stalled = false;    ///< The carrier was full for one of them: later ones wait, too.
    std::uint64_t sent_count = 0;
    std::uint64_t taken_count = 0;
    std::uint32_t cursor = 0;  ///< Receiving: the lowest not delivered.
    std::uint64_t here = 0;    ///< Those from there on that have arrived.
    std::uint32_t owed = 0;    ///< Packets that came since the last acknowledgement.
    std::uint64_t owed_since_ns = 0;
    bool is_urgent = false;  ///< A packet came again: its acknowledgement may be lost.
    std::array<Sent, kWindow> sent;
    std::array<Arrived, kWindow> arrived;
    std::span<std::byte> frames;   ///< Of those sent.
    std::span<std::byte> packets;  ///< Of those that arrived.
  };
  struct Peer {
    std::array<PacketWindow, kChannels> windows;
    std::uint64_t heard_ns = 0;
    bool is_lost = false;
    bool is_up = false;         ///< There is a session.
    bool is_confirmed = false;  ///< The other has begun it, too.
    bool has_asked = false;
    std::uint32_t own = 0;
    std::uint32_t theirs = 0;
    std::uint32_t fresh = 0;  ///< A node that repeats it begins a session: random, not yet in use.
    std::uint64_t asked_ns = 0;
    std::uint64_t begun_ns = 0;
    std::uint32_t expected = 0;        ///< Answers that it owes,
    std::uint64_t expected_ns = 0;     ///< since when it owes any,
    std::uint64_t first_asked_ns = 0;  ///< and when it was first asked since it was last heard.
  };
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };

  [[nodiscard]] static constexpr std::uint64_t bit_of(std::uint32_t sequence) noexcept {
    return std::uint64_t{1} << sequence % kWindow;
  }
  [[nodiscard]] PacketWindow& window(NodeId peer, std::size_t channel) noexcept {
    return peers_[peer].windows[channel];
  }
  [[nodiscard]] std::byte* packet_of(PacketWindow& window, std::uint32_t sequence) const noexcept;
  /// Writes header and trailer of a packet of `length` bytes. Returns the whole frame.
  [[nodiscard]] std::span<const std::byte> frame(std::byte* packet, std::size_t length, const LinkHeader& header,
                                                 std::uint64_t received) const noexcept;
  [[nodiscard]] bool has_checksum(std::span<const std::byte> frame) const noexcept;
  /// False: the carrier has no room.
  bool transmit(NodeId to, std::size_t channel, std::byte* packet, std::size_t length, std::uint8_t flags,
                std::uint32_t sequence);
  void transmit_session(NodeId to, std::uint8_t flags, std::uint32_t session, std::uint32_t peer_session);
  void ask(NodeId to, std::uint64_t now_ns);
  [[nodiscard]] std::uint32_t draw() noexcept;
  void take(std::span<const std::byte> frame, PacketSink& sink, std::uint64_t now_ns);
  [[nodiscard]] bool take_session(const LinkHeader& header, PacketSink& sink, std::uint64_t now_ns);
  void begin(NodeId peer, std::uint32_t theirs, PacketSink& sink, std::uint64_t now_ns);
  void give_up(NodeId peer, PacketSink& sink);
  void forget(Peer& peer) noexcept;
  static void take_acknowledgement(PacketWindow& to, std::uint32_t acknowledged, std::uint64_t received) noexcept;
  [[nodiscard]] bool deliver_one(NodeId from, std::size_t channel, PacketSink& sink, std::span<const std::byte> packet);
  std::size_t deliver(NodeId from, std::size_t channel, PacketSink& sink);
  [[nodiscard]] bool must_acknowledge(const PacketWindow& window, std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool wants_look(const PacketWindow& window, std::uint64_t now_ns) const noexcept;
  [[nodiscard]] bool must_ask(const PacketWindow& window, std::uint64_t now_ns) const noexcept;
  std::size_t look_for_answers(NodeId id, PacketSink& sink, std::uint64_t now_ns);
  /// After which a packet goes again.
  [[nodiscard]] std::uint64_t resend_ns(NodeId peer, const Sent& sent, std::uint64_t now_ns) const noexcept;
  std::size_t send_again(NodeId peer, std::size_t channel, PacketSink& sink, std::uint64_t now_ns);
  std::size_t look_after_session(NodeId peer, PacketSink& sink, std::uint64_t now_ns);
  [[nodiscard]] static bool is_quiet(const Peer& peer) noexcept;
  void attend(NodeId peer) noexcept { attention_[peer / kPeersPerWord] |= std::uint64_t{1} << peer % kPeersPerWord; }
  std::size_t look_after(NodeId peer, PacketSink& sink, std::uint64_t now_ns);
  std::size_t look_after(NodeId peer, std::size_t channel, PacketSink& sink, std::uint64_t now_ns);
  /// What this node has sent to itself.
  std::size_t give_out_own(PacketSink& sink);
  std::size_t give_out_own(std::size_t channel, PacketSink& sink);

  Transport& transport_;
  LinkOptions options_;
  NodeId node_;
  std::size_t frame_bytes_;
  bool is_exact_;
  std::vector<Peer> peers_;
  static constexpr std::size_t kPeersPerWord = 64;
  std::vector<std::uint64_t> attention_;       ///< A bit for each node that must be looked after in the next step.
  std::unique_ptr<std::byte[], Free> memory_;  ///< Of all windows.
  std::size_t
      stride_;  ///< From frame to frame in a window; not whole pages, which would all lie in one set of a cache.
  std::vector<std::byte> buffer_;  ///< The frame that has come, whole words.
  std::uint64_t random_ = 0;
  LinkCounters counters_;
};

using Links = BasicLinks<64>;

}  // namespace stopbit::nic
