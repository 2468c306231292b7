#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/frame.hpp"

namespace stopbit::nic {

/// The endpoint, as the membership sees it.
class FabricWires {
 public:
  FabricWires() = default;
  FabricWires(const FabricWires&) = delete;
  FabricWires& operator=(const FabricWires&) = delete;
  virtual ~FabricWires() = default;

  /// kNoHandle: the provider refuses this address. An address added twice has one handle and must be removed twice.
  [[nodiscard]] virtual FabricHandle add(std::span<const std::byte> address) = 0;
  virtual void remove(FabricHandle handle) = 0;
  /// `share`: out of which node's part of the pool; nodes() is one more, for those that are none. False: not now.
  [[nodiscard]] virtual bool send(std::size_t share, FabricHandle to, std::span<const std::byte> frame) = 0;
};

/// Membership of a network over libfabric: at node 0 the table of slots, elsewhere a copy of it.
///
/// States of a place at node 0: free → offered (its node has asked; the offer goes to the address it named) → member
/// (it has said the ticket in that offer, from that address) → free, when it leaves or its lease ends. Each change has
/// a number, the stamp; a member reports the one it knows, and receives all later ones.
///
/// A member: asking → in (offered, and answered) → asking again when node 0 is silent for a lease. It keeps what it
/// knows of the others meanwhile.
///
/// No input makes it allocate. One thread.
class Membership {
 public:
  struct Self {
    std::vector<std::byte> address;  ///< Of the own endpoint.
    std::vector<std::byte> host;     ///< Of node 0; empty: this is it.
    std::uint64_t incarnation = 0;
    bool knows_sources = true;  ///< The endpoint identifies the sender of a frame if its address was added.
  };

  /// `wires` must outlive it. The options have been checked.
  Membership(FabricWires& wires, const FabricOptions& options, Self self, FabricCounters& counters);

  /// Takes a frame. @returns who sent it, if it is one of Links, from a member, and to be believed.
  [[nodiscard]] std::optional<NodeId> take(FabricHandle source, std::span<const std::byte> whole, std::uint64_t now_ns);
  /// What time brings.
  void step(std::uint64_t now_ns);
  /// Says goodbye, without waiting.
  void leave();
  /// A frame was sent to that node, or could not be: it should be heard of within a quarter of a lease.
  void asked(NodeId node, std::uint64_t now_ns) noexcept {
    if (places_[node].asked_ns == 0) places_[node].asked_ns = now_ns;
  }

  [[nodiscard]] bool is_host() const noexcept { return self_.host.empty(); }
  [[nodiscard]] NodeId node() const noexcept { return node_; }
  [[nodiscard]] bool is_joined() const noexcept { return is_in_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// Why node 0 has not let this node in yet, though it may still.
  [[nodiscard]] FabricRefusal last_refusal() const noexcept { return last_refusal_; }
  /// In front of own frames.
  [[nodiscard]] FabricHead head() const noexcept;
  /// kNoHandle: no member.
  [[nodiscard]] FabricHandle handle(NodeId node) const noexcept {
    return node < places_.size() && places_[node].state == MemberState::Member ? places_[node].handle : kNoHandle;
  }
  /// The address of a member, from which its frames come: the endpoint says so, and node 0 has asked there. Empty: no
  /// member, or the endpoint does not know.
  [[nodiscard]] std::span<const std::byte> where(NodeId node) const noexcept {
    return handle(node) != kNoHandle && self_.knows_sources ? places_[node].where() : std::span<const std::byte>();
  }

 private:
  enum class MemberState : std::uint8_t { Free, Offered, Member };
  struct MemberSlot {
    MemberState state = MemberState::Free;
    FabricHandle handle = kNoHandle;
    std::uint64_t incarnation = 0;
    std::uint64_t heard_ns = 0;    ///< Node 0: since when the lease runs, or the offer.
    std::uint64_t told_ns = 0;     ///< Node 0: when it was last offered.
    std::uint64_t ticket = 0;      ///< Node 0.
    std::uint64_t changed_at = 0;  ///< Node 0: stamp of the last change.
    std::uint64_t told = 0;        ///< Node 0: changes up to this one were sent to it.
    std::uint64_t asked_ns = 0;    ///< When the first frame was sent to it since it was heard; 0: none was.
    std::uint16_t address_bytes = 0;
    std::array<std::byte, kFabricAddressBytes> address{};
    [[nodiscard]] std::span<const std::byte> where() const noexcept { return std::span(address).first(address_bytes); }
  };
  /// A node that is not let in, and has to hear it.
  struct Refusal {
    FabricHandle handle = kNoHandle;
    FabricRefused frame;
    bool is_bare = false;  ///< It knows no checksum.
    bool is_sent = false;
    std::uint64_t until_ns = 0;
  };

  // Node 0.
  void take_join(FabricHandle source, std::span<const std::byte> frame, std::uint64_t now_ns);
  [[nodiscard]] FabricRefusal judge(const FabricJoin& join) const noexcept;
  [[nodiscard]] MemberSlot* place_for(const FabricJoin& join) noexcept;
  void refuse(const FabricJoin& join, std::span<const std::byte> address, FabricRefusal reason, std::uint64_t now_ns);
  void offer(MemberSlot& place, std::uint64_t now_ns);
  void hear_member(const FabricAlive& alive, std::uint64_t now_ns);
  void tell_changes(MemberSlot& place);
  void change(MemberSlot& place) noexcept;
  void tell_everybody();
  void step_host(std::uint64_t now_ns);

  // Others.
  void take_refused(const FabricRefused& refused, std::uint64_t now_ns);
  void take_offer(const FabricOffer& offer, std::uint64_t now_ns);
  void take_answer(const FabricAlive& alive, std::uint64_t now_ns);
  void take_peer(std::span<const std::byte> frame, std::uint64_t now_ns);
  void ask();
  void step_member(std::uint64_t now_ns);

  void renew_silent(std::uint64_t now_ns);
  void tell(Refusal& refusal);
  /// With its checksum. False: not now.
  [[nodiscard]] bool say(std::size_t share, FabricHandle to, std::span<const std::byte> body);
  void set_place(MemberSlot& place, MemberState state, std::uint64_t incarnation, std::span<const std::byte> address,
                 FabricHandle handle) noexcept;
  void clear(MemberSlot& place);
  [[nodiscard]] NodeId number_of(const MemberSlot& place) const noexcept {
    return static_cast<NodeId>(&place - places_.data());
  }
  [[nodiscard]] bool is_from(FabricHandle source, const MemberSlot& place) const noexcept {
    return !self_.knows_sources || (source != kNoHandle && source == place.handle);
  }

  FabricWires& wires_;
  FabricOptions options_;
  Self self_;
  FabricCounters& counters_;
  std::vector<MemberSlot> places_;
  NodeId node_ = kNoNode;
  bool is_in_ = false;
  bool has_been_in_ = false;  ///< The place is its own from then on: links and rings go by its number.
  std::string problem_;

  // Node 0.
  std::uint64_t stamp_ = 0;  ///< Of the newest change; elsewhere, of the newest one that is known.
  std::array<Refusal, 4> refusals_;

  // Others.
  FabricHandle host_ = kNoHandle;
  std::uint64_t ticket_ = 0;  ///< 0: there is no place.
  FabricRefusal last_refusal_ = FabricRefusal::None;
  std::uint64_t heard_ns_ = 0;
  std::uint64_t said_ns_ = 0;
  std::uint64_t refused_ns_ = 0;
  std::uint64_t taken_ns_ = 0;  ///< Since when node 0 says that our slot is taken; 0: it does not.
};

}  // namespace stopbit::nic
