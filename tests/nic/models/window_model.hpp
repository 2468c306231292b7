#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/nic/link/links.hpp"
#include "tests/lib/model_check/random_runs.hpp"
#include "tests/lib/model_check/search.hpp"
#include "tests/lib/model_check/state_bytes.hpp"

/// Two nodes with the windows and sessions that run (link/links.hpp), and a network that loses, doubles and swaps what
/// it carries and may have no room. Time is whatever suits: each timer may have run out at any moment, or not yet.
namespace stopbit::nic {

/// The state of a node towards the other one, as bytes, without times.
template <std::uint32_t kSize>
struct LinksInside {
  using Windows = BasicLinks<kSize>;
  using Peer = typename Windows::Peer;
  using PacketWindow = typename Windows::PacketWindow;
  static constexpr std::size_t kPacketBytes = 6;

  Windows& links;

  [[nodiscard]] Peer& peer() const { return links.peers_[1 - links.node()]; }
  [[nodiscard]] PacketWindow& window() const { return peer().windows[0]; }
  [[nodiscard]] static std::uint64_t bit_of(std::uint32_t sequence) { return Windows::bit_of(sequence); }
  [[nodiscard]] const LinkCounters& counters() const { return links.counters_; }

  /// As it is when it was made; what was drawn does not come again.
  void restart() const {
    links.forget(peer());
    links.attention_.assign(links.attention_.size(), 0);
    peer().is_lost = false;
    for (PacketWindow& window : peer().windows) window.sent_count = window.taken_count = 0;
  }
  void begin(std::uint64_t seed) const {
    links.random_ = seed;
    restart();
  }
  /// Both are in a session, and have already sent and received the numbers given.
  static void join(const LinksInside& a, const LinksInside& b, std::uint32_t from_a, std::uint32_t from_b) {
    for (const LinksInside* inside : {&a, &b}) {
      Peer& peer = inside->peer();
      peer.is_up = peer.is_confirmed = true;
      peer.fresh = inside->links.draw();
      peer.theirs = (inside == &a ? b : a).peer().own;
      const std::uint32_t sent = inside == &a ? from_a : from_b;
      inside->window().base = inside->window().next = sent;
      inside->window().cursor = sent ^ from_a ^ from_b;
    }
  }

  template <class Bytes>
  void visit(Bytes& bytes) const {
    Peer& peer = this->peer();
    bytes(peer.is_lost);
    bytes(peer.is_up);
    bytes(peer.is_confirmed);
    bytes(peer.has_asked);
    bytes(peer.own);
    bytes(peer.theirs);
    bytes(peer.fresh);
    bytes(links.random_);
    bytes(links.attention_.front());
    PacketWindow& window = this->window();
    bytes(window.base);
    bytes(window.next);
    bytes(window.cursor);
    bytes(window.waits);
    bytes(window.here);
    bytes(window.owed);
    bytes(window.is_stalled);
    bytes(window.is_urgent);
    bytes(window.sent_count);
    bytes(window.taken_count);
    for (std::uint32_t slot = 0; slot < kSize; ++slot) {
      if ((window.waits & bit_of(slot)) != 0) {
        bytes(window.sent[slot].has_left);
        bytes(window.sent[slot].length);
        std::byte* const frame = window.frames.data() + slot * links.stride_;
        bytes(window.sent[slot].flags);
        for (std::size_t i = 0; i < kPacketBytes; ++i) bytes(frame[sizeof(LinkHeader) + i]);
      }
      if ((window.here & bit_of(slot)) != 0) {
        bytes(window.arrived[slot].early_status);
        bytes(window.arrived[slot].length);
        for (std::size_t i = 0; i < kPacketBytes; ++i) bytes(window.packets[slot * links.stride_ + i]);
      }
    }
  }

  // Timers.
  void all_run(std::uint64_t now_ns) const {
    Peer& peer = this->peer();
    peer.heard_ns = peer.asked_ns = peer.begun_ns = now_ns;
    PacketWindow& window = this->window();
    window.owed_since_ns = now_ns;
    window.look_ns = ~std::uint64_t{0};
    for (auto& sent : window.sent) sent.first_ns = sent.last_ns = now_ns;
  }
  [[nodiscard]] bool waits(std::uint32_t slot) const { return (window().waits & bit_of(slot)) != 0; }
  void expire_packet(std::uint32_t slot) const { window().look_ns = window().sent[slot].last_ns = 0; }
  void expire_acknowledgement() const { window().owed_since_ns = 0; }
  void expire_question() const { peer().asked_ns = 0; }
  void expire_all() const {
    for (std::uint32_t slot = 0; slot < kSize; ++slot) expire_packet(slot);
    expire_acknowledgement();
    expire_question();
  }
  void expire_patience() const {
    Peer& peer = this->peer();
    peer.heard_ns = peer.begun_ns = window().look_ns = 0;
    for (auto& sent : window().sent) sent.first_ns = sent.last_ns = 0;
  }
};

namespace window_model {

using model_check::Draw;
using model_check::Findings;

/// What must not go unnoticed.
enum class Fault : std::uint8_t {
  None,
  AcknowledgesTooMuch,    ///< By one.
  AcknowledgesTooLittle,  ///< By one.
  ShiftsBitMap,           ///< The first bit is the packet after next.
  ShiftsBitMapBack,
  AnySession,     ///< The numbers of sessions are not compared.
  NoWindow,       ///< The sender does not look whether there is room.
  TakesTwice,     ///< The receiver forgets what it has out of order.
  DropsDoubles,   ///< A packet that comes again is not acknowledged again.
  NoticeTooSoon,  ///< `ordered` before `early`.
};

struct Scenario {
  std::array<std::uint32_t, 2> packets{};  ///< Packets that each sends; every second one is early.
  std::array<unsigned, 2> capacity{};      ///< Of the network, from each node.
  bool in_session = true;
  std::array<std::uint32_t, 2> first = {0xFFFF'FFFE, 3};  ///< Numbers of their first packets, if in session.
  bool blocks = false;                                    ///< Node 1 takes nothing now and then.
  unsigned restarts = 0;                                  ///< Of node 1.
  unsigned silences = 0;                                  ///< How often a node loses patience.
};

inline constexpr std::size_t kEpochs = 24;
/// Old frames and impatience can make sessions for ever; from those with more no further states are looked for.
inline constexpr std::size_t kExploredEpochs = 16;

template <std::uint32_t kSize>
class Model {
 public:
  using Inside = LinksInside<kSize>;

  Model(const Scenario& scenario, Fault fault) : scenario_(scenario), fault_(fault) {
    for (std::size_t n = 0; n < 2; ++n) inside(n).begin(n + 1);
    if (scenario.in_session) Inside::join(inside(0), inside(1), scenario.first[0], scenario.first[1]);
    ghost_.restarts = static_cast<std::uint8_t>(scenario.restarts);
    ghost_.silences = static_cast<std::uint8_t>(scenario.silences);
    for (std::size_t n = 0; n < 2; ++n) inside(n).all_run(kNow);
  }

  [[nodiscard]] const std::string& failure() const { return failure_; }

  /// The state, and back.
  void save(std::vector<std::byte>& into) {
    into.clear();
    model_check::StateWriter writer{into};
    visit(writer);
    for (std::size_t n = 0; n < 2; ++n) {
      std::ranges::sort(nodes_[n].out);
      into.push_back(static_cast<std::byte>(nodes_[n].out.size()));
      for (const Frame& frame : nodes_[n].out) {
        writer(frame.size);
        into.insert(into.end(), frame.bytes.begin(), frame.bytes.begin() + frame.size);
      }
    }
  }
  void load(std::span<const std::byte> from) {
    model_check::StateReader reader{from};
    visit(reader);
    for (std::size_t n = 0; n < 2; ++n) {
      inside(n).all_run(kNow);
      std::uint8_t size = 0;
      reader(size);
      nodes_[n].out.resize(size);
      for (Frame& frame : nodes_[n].out) {
        frame = {};
        reader(frame.size);
        for (std::size_t i = 0; i < frame.size; ++i) reader(frame.bytes[i]);
      }
    }
  }

  // Actions of each node: send; step; an acknowledgement is due; a question is due; patience ends; restart; block; then
  // a packet is due, for each slot; then each frame on its way to the node is lost, arrives and is removed, or arrives
  // and stays.
  enum Action : std::size_t { kSend, kStep, kAcknowledge, kAsk, kLose, kRestart, kBlock, kResend };
  static constexpr std::size_t kFrames = kResend + kSize;
  [[nodiscard]] std::size_t actions(std::size_t n) const { return kFrames + 3 * nodes_[1 - n].out.size(); }
  /// Those of both nodes.
  [[nodiscard]] std::size_t actions() const {
    return std::ranges::max(ghost_.epoch) > kExploredEpochs ? 0 : actions(0) + actions(1);
  }
  bool apply(std::size_t action) { return action < actions(0) ? apply(0, action) : apply(1, action - actions(0)); }
  /// False: it cannot happen now, or would change nothing.
  bool apply(std::size_t n, std::size_t action) {
    if (action >= kFrames) return carry(n, (action - kFrames) / 3, (action - kFrames) % 3);
    if (action >= kResend) {
      const auto slot = static_cast<std::uint32_t>(action - kResend);
      if (!inside(n).waits(slot)) return false;
      inside(n).expire_packet(slot);
      return step(n);
    }
    switch (action) {
      case kSend: return send(n);
      case kStep: return step(n);
      case kAcknowledge:
        if (inside(n).window().owed == 0) return false;
        inside(n).expire_acknowledgement();
        return step(n);
      case kAsk: inside(n).expire_question(); return step(n);
      case kLose:
        if (ghost_.silences == 0 || inside(n).peer().is_lost) return false;
        --ghost_.silences;
        inside(n).expire_patience();
        return step(n);
      case kRestart:
        if (ghost_.restarts == 0 || n == 0) return false;
        --ghost_.restarts;
        inside(n).restart();
        inside(n).all_run(kNow);
        forget(n);
        return true;
      default:
        if (!scenario_.blocks || n == 0) return false;
        ghost_.is_blocked ^= 1U;
        return true;
    }
  }
  /// From here on nothing goes wrong any more: all that is to be sent arrives and is acknowledged.
  void close() {
    ghost_.is_blocked = 0;
    ghost_.silences = ghost_.restarts = 0;
    for (std::uint32_t round = 0; round < 60 + 4 * kSize && failure_.empty(); ++round) {
      bool is_done = true;
      for (std::size_t n = 0; n < 2; ++n) {
        while (send(n)) {
        }
        for (auto& to_me = nodes_[1 - n].out; !to_me.empty() && failure_.empty();) (void)carry(n, 0, 1);
        inside(n).expire_all();
        (void)step(n);
        // A node that has lost the other keeps asking, though the network may have had no room for it just now.
        is_done = is_done && ghost_.sent[n] == scenario_.packets[n] && !(inside(n).peer().is_lost && sends());
      }
      for (const Node& node : nodes_) is_done = is_done && node.out.empty() && node.links.is_idle();
      if (is_done) return check_end();
    }
    fail("it goes on for ever, or not at all");
  }
  /// No more packets than were sent so far.
  void send_no_more() { scenario_.packets = ghost_.sent; }
  [[nodiscard]] std::size_t under_way(std::size_t n) const { return nodes_[n].out.size(); }
  /// Packets that were delivered.
  [[nodiscard]] std::uint64_t work() const { return ghost_.taken[0] + ghost_.taken[1]; }

 private:
  static constexpr std::uint64_t kNow = std::uint64_t{1} << 40U;
  static constexpr std::size_t kFrameBytes = kLinkBytes + Inside::kPacketBytes;

  struct Frame {
    std::uint8_t size = 0;
    std::array<std::byte, kFrameBytes> bytes{};
    auto operator<=>(const Frame&) const = default;
  };
  struct Packet {
    std::uint32_t index = 0;
    std::uint16_t epoch = 0;
  };

  /// A node's end of the network.
  struct Carrier final : Transport {
    Carrier(Model& of, NodeId self) : model(of), id(self) {}
    [[nodiscard]] NodeId node() const noexcept override { return id; }
    [[nodiscard]] std::size_t nodes() const noexcept override { return 2; }
    [[nodiscard]] std::size_t frame_bytes() const noexcept override { return kFrameBytes; }
    [[nodiscard]] bool is_exact() const noexcept override { return true; }
    [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override {
      return to != id && model.put(id, frame);
    }
    [[nodiscard]] std::size_t receive(std::span<std::byte> into) override {
      const std::size_t size = arriving.size;
      std::copy_n(arriving.bytes.begin(), size, into.begin());
      arriving.size = 0;
      return size;
    }
    Model& model;
    NodeId id;
    Frame arriving;
  };
  /// Receives the packets of a node, and knows which must come.
  struct Taker final : PacketSink {
    Taker(Model& of, std::size_t self) : model(of), id(self) {}
    [[nodiscard]] std::uint8_t early(NodeId, VirtualChannel, std::span<const std::byte> packet) override {
      return model.take_early(id, packet);
    }
    [[nodiscard]] bool ordered(NodeId, VirtualChannel, std::span<const std::byte> packet,
                               std::uint8_t status) override {
      return model.take_ordered(id, packet, status);
    }
    void lost(NodeId) override { model.forget(id); }
    Model& model;
    std::size_t id;
  };
  struct Node {
    Node(Model& model, NodeId id) : carrier(model, id), taker(model, id), links(carrier, kOptions) {}
    Carrier carrier;
    Taker taker;
    BasicLinks<kSize> links;
    std::vector<Frame> out;  ///< On their way from here.
  };
  static constexpr LinkOptions kOptions{1000, 1'000'000, 100};

  /// The observer's knowledge. An epoch of a node is what it sends until it loses the other, or starts anew; a life
  /// is the same for what it receives.
  struct Ghost {
    std::array<std::uint32_t, 2> sent{};  ///< In all,
    std::array<std::uint32_t, 2> next{};  ///< in this epoch,
    std::array<std::uint32_t, 2> taken{};
    std::array<std::uint16_t, 2> epoch{};
    std::array<std::uint8_t, 2> life{};
    std::array<std::uint16_t, 2> last_epoch{};                       ///< Of the other, that anything came of.
    std::array<std::array<std::uint32_t, kEpochs>, 2> delivered{};   ///< Of each epoch of the sender,
    std::array<std::array<std::uint64_t, kEpochs>, 2> early{};       ///< which came early, modulo the window,
    std::array<std::array<std::uint8_t, kEpochs>, 2> life_taking{};  ///< and in which life, plus 1.
    std::uint8_t is_blocked = 0;
    std::uint8_t restarts = 0;
    std::uint8_t silences = 0;
  };

  template <class Bytes>
  void visit(Bytes& bytes) {
    for (std::size_t n = 0; n < 2; ++n) {
      inside(n).visit(bytes);
      bytes(ghost_.sent[n]);
      bytes(ghost_.next[n]);
      bytes(ghost_.epoch[n]);
      bytes(ghost_.life[n]);
      bytes(ghost_.last_epoch[n]);
      // Reading, the epochs are those that were just read.
      for (std::size_t e = 0; e < kEpochs && e <= ghost_.epoch[n]; ++e) {
        bytes(ghost_.delivered[n][e]);
        bytes(ghost_.early[n][e]);
        bytes(ghost_.life_taking[n][e]);
      }
      for (std::size_t e = ghost_.epoch[n] + 1U; e < kEpochs; ++e) {
        ghost_.delivered[n][e] = 0;
        ghost_.early[n][e] = ghost_.life_taking[n][e] = 0;
      }
    }
    bytes(ghost_.is_blocked);
    bytes(ghost_.restarts);
    bytes(ghost_.silences);
  }

  [[nodiscard]] bool sends() const { return scenario_.packets[0] + scenario_.packets[1] != 0; }
  [[nodiscard]] Inside inside(std::size_t n) { return {nodes_[n].links}; }
  void fail(const char* what) {
    if (failure_.empty()) failure_ = what;
  }
  static bool is_early(std::uint32_t index) { return index % 2 != 0; }

  bool send(std::size_t n) {
    if (ghost_.sent[n] >= scenario_.packets[n]) return false;
    BasicLinks<kSize>& links = nodes_[n].links;
    const auto to = static_cast<NodeId>(1 - n);
    Packet packet{ghost_.next[n], ghost_.epoch[n]};
    std::array<std::byte, Inside::kPacketBytes> bytes{};
    std::memcpy(bytes.data(), &packet, bytes.size());
    const bool has_room = links.room(to, VirtualChannel::Low) != 0;
    auto& window = inside(n).window();
    const std::uint32_t base = window.base;
    if (fault_ == Fault::NoWindow && !has_room) window.base = window.next;
    const SendResult result = links.send(to, VirtualChannel::Low, bytes, is_early(packet.index), kNow);
    if (fault_ == Fault::NoWindow && !has_room) window.base = base;
    if (!has_room && result != SendResult::Full && fault_ != Fault::NoWindow) fail("sent although there was no room");
    inside(n).all_run(kNow);
    if (result != SendResult::Sent) return false;
    ++ghost_.sent[n];
    ++ghost_.next[n];
    check();
    return true;
  }
  bool step(std::size_t n) {
    const std::size_t work = nodes_[n].links.step(nodes_[n].taker, kNow);
    inside(n).all_run(kNow);
    check();
    return work != 0;
  }
  bool carry(std::size_t n, std::size_t index, std::size_t how) {
    std::vector<Frame>& out = nodes_[1 - n].out;
    const Frame frame = out[index];
    if (how < 2) out.erase(out.begin() + static_cast<std::ptrdiff_t>(index));
    if (how == 0) return true;
    nodes_[n].carrier.arriving = frame;
    if (fault_ != Fault::None) change_arriving(n, nodes_[n].carrier.arriving);
    return step(n);
  }
  [[nodiscard]] static std::size_t received_bytes(const LinkHeader& header) {
    return (header.flags & kLinkHasReceived) != 0 ? sizeof(std::uint64_t) : 0;
  }
  void change_arriving(std::size_t n, Frame& frame) {
    LinkHeader header;
    std::memcpy(&header, frame.bytes.data(), sizeof(header));
    if (fault_ == Fault::AnySession && inside(n).peer().is_up) {
      header.session = inside(n).peer().theirs;
      header.peer_session = inside(n).peer().own;
    }
    const bool has_packet = frame.size == sizeof(header) + Inside::kPacketBytes + received_bytes(header);
    if (fault_ == Fault::TakesTwice && has_packet) {
      inside(n).window().here &= ~Inside::bit_of(header.sequence);
    }
    std::memcpy(frame.bytes.data(), &header, sizeof(header));
    const bool is_double = static_cast<std::int32_t>(header.sequence - inside(n).window().cursor) < 0;
    if (fault_ == Fault::DropsDoubles && has_packet && is_double) frame.size = 0;
  }
  /// What a node gives to the network. The network has as many as it carries, each once: it may deliver it again.
  bool put(std::size_t n, std::span<const std::byte> bytes) {
    if (nodes_[n].out.size() >= scenario_.capacity[n]) return false;
    Frame frame;
    frame.size = static_cast<std::uint8_t>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), frame.bytes.begin());
    LinkHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (fault_ == Fault::AcknowledgesTooMuch) ++header.acknowledged;
    if (fault_ == Fault::AcknowledgesTooLittle) --header.acknowledged;
    std::memcpy(frame.bytes.data(), &header, sizeof(header));
    if (received_bytes(header) != 0) {
      std::byte* const at = frame.bytes.data() + frame.size - sizeof(std::uint64_t);
      std::uint64_t received = 0;
      std::memcpy(&received, at, sizeof(received));
      if (fault_ == Fault::ShiftsBitMap) received <<= 1U;
      if (fault_ == Fault::ShiftsBitMapBack) received >>= 1U;
      std::memcpy(at, &received, sizeof(received));
    }
    if (std::ranges::find(nodes_[n].out, frame) == nodes_[n].out.end()) nodes_[n].out.push_back(frame);
    return true;
  }

  /// The epoch of a packet for node n, if one may come of it now.
  std::optional<Packet> look_at(std::size_t n, std::span<const std::byte> bytes) {
    Packet packet;
    if (bytes.size() != Inside::kPacketBytes) {
      fail("a packet of another length");
      return std::nullopt;
    }
    std::memcpy(&packet, bytes.data(), bytes.size());
    const std::size_t from = 1 - n;
    if (packet.epoch > ghost_.epoch[from] || packet.epoch >= kEpochs) {
      fail("a packet that nobody sent");
      return std::nullopt;
    }
    std::uint8_t& life = ghost_.life_taking[from][packet.epoch];
    if (life == 0) life = static_cast<std::uint8_t>(ghost_.life[n] + 1);
    if (life != ghost_.life[n] + 1) fail("packets of one session come in two");
    if (packet.epoch < ghost_.last_epoch[n]) fail("a packet of a session that has ended");
    ghost_.last_epoch[n] = packet.epoch;
    return packet;
  }
  std::uint8_t take_early(std::size_t n, std::span<const std::byte> bytes) {
    const std::optional<Packet> packet = look_at(n, bytes);
    if (!packet) return 0;
    const std::uint64_t bit = Inside::bit_of(packet->index);
    std::uint64_t& early = ghost_.early[1 - n][packet->epoch];
    if (!is_early(packet->index)) fail("a packet is early that is not");
    if ((early & bit) != 0 || packet->index < ghost_.delivered[1 - n][packet->epoch]) fail("early data come twice");
    early |= bit;
    return status_of(packet->index);
  }
  static std::uint8_t status_of(std::uint32_t index) { return static_cast<std::uint8_t>(index % 251 + 1); }
  bool take_ordered(std::size_t n, std::span<const std::byte> bytes, std::uint8_t status) {
    if (n == 1 && ghost_.is_blocked != 0) return false;
    const std::optional<Packet> packet = look_at(n, bytes);
    if (!packet) return true;
    std::uint32_t& delivered = ghost_.delivered[1 - n][packet->epoch];
    if (packet->index < delivered) fail("a packet comes twice");
    if (packet->index > delivered) fail("a packet is left out");
    std::uint64_t& early = ghost_.early[1 - n][packet->epoch];
    const std::uint64_t bit = Inside::bit_of(packet->index);
    if (fault_ == Fault::NoticeTooSoon) early &= ~bit;
    if (is_early(packet->index) && (early & bit) == 0) fail("notice before the data");
    if (status != (is_early(packet->index) ? status_of(packet->index) : 0)) fail("what `early` said is not passed on");
    early &= ~bit;
    ++delivered;
    ++ghost_.taken[n];
    return true;
  }
  /// Node n has lost the other, or itself.
  void forget(std::size_t n) {
    ++ghost_.life[n];
    ghost_.next[n] = 0;
    if (++ghost_.epoch[n] == kEpochs) fail("too many sessions for this model");
  }

  /// What must hold at any moment.
  void check() {
    for (std::size_t n = 0; n < 2; ++n) {
      const LinkCounters& counters = inside(n).counters();
      if (counters.outside + counters.foreign + counters.damaged + counters.forged != 0) fail("a frame is refused");
      const auto& from = inside(n).window();
      if (from.next - from.base > kSize) fail("more under way than the window has room for");
      if (from.sent_count - from.taken_count != from.next - from.base) fail("sent and taken do not add up");
      const auto& sender = inside(n).peer();
      const auto& receiver = inside(1 - n).peer();
      if (!sender.is_up || !receiver.is_up || sender.own != receiver.theirs || sender.theirs != receiver.own) continue;
      const auto& to = inside(1 - n).window();
      if (to.cursor - from.base > kSize || from.next - to.cursor > kSize) fail("acknowledged, but not delivered");
      for (std::uint32_t sequence = from.base; sequence != from.next; ++sequence) {
        if ((from.waits & Inside::bit_of(sequence)) != 0) continue;
        const bool is_delivered = to.cursor - from.base > sequence - from.base;
        if (!is_delivered && (to.here & Inside::bit_of(sequence)) == 0) fail("acknowledged, but not here");
      }
    }
  }
  void check_end() {
    for (std::size_t n = 0; n < 2; ++n) {
      const auto& window = inside(n).window();
      if (window.base != window.next || window.waits != 0) fail("something waits for ever");
      if (ghost_.epoch[n] < kEpochs && ghost_.delivered[n][ghost_.epoch[n]] != ghost_.next[n]) fail("a packet is lost");
    }
  }

  Scenario scenario_;
  Fault fault_;
  Ghost ghost_;
  std::string failure_;
  std::array<Node, 2> nodes_ = {Node(*this, 0), Node(*this, 1)};
};

/// Visits every state that can be reached, and checks from each that all comes to a good end.
template <std::uint32_t kSize>
Findings explore(const Scenario& scenario, Fault fault = Fault::None) {
  Model<kSize> model(scenario, fault);
  return model_check::explore_states(model);
}

/// A random run, with much more of some actions than of others.
template <std::uint32_t kSize>
struct RandomRun : Model<kSize> {
  using Base = Model<kSize>;
  using Base::Base;
  [[nodiscard]] bool turn(Draw& draw) {
    const std::size_t n = draw(2);
    const std::size_t frames = this->under_way(1 - n);
    const unsigned kind = draw(1024);
    std::size_t action = Base::kStep;
    if (kind < 4) {
      action = kind < 2 ? Base::kRestart : Base::kLose;
    } else if (kind < 20) {
      action = Base::kBlock;
    } else if (kind < 60) {
      action = kind < 40 ? Base::kAsk : Base::kAcknowledge;
    } else if (kind < 140) {
      action = Base::kResend + draw(kSize);
    } else if (kind < 450) {
      action = Base::kSend;
    } else if (kind < 960 && frames != 0) {
      const unsigned how = draw(8);
      action = Base::kFrames + 3 * draw(frames) + (how < 2 ? 2 * how : 1);
    }
    return this->apply(n, action);
  }
  void close() {
    this->send_no_more();
    Base::close();
  }
};

/// Takes random steps, `steps` of them, in runs that each come to an end.
template <std::uint32_t kSize>
Findings wander(std::uint64_t seed, std::uint64_t steps, Fault fault = Fault::None) {
  return model_check::wander(seed, steps, 2'000, [&](Draw& draw) {
    Scenario scenario;
    for (std::size_t n = 0; n < 2; ++n) {
      scenario.packets[n] = draw(4) == 0 ? 0 : draw(800);
      scenario.capacity[n] = 1 + draw(kSize + kSize / 4);
      scenario.first[n] = draw(2) == 0 ? 0 - draw(200) : static_cast<std::uint32_t>(draw.number());
    }
    scenario.in_session = draw(4) != 0;
    scenario.blocks = draw(2) != 0;
    scenario.restarts = draw(3);
    scenario.silences = draw(3);
    return RandomRun<kSize>(scenario, fault);
  });
}

}  // namespace window_model
}  // namespace stopbit::nic
