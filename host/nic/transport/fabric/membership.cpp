#include "host/nic/transport/fabric/membership.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kAskEveryNs = 20'000'000;
constexpr std::uint64_t kOfferNs = 2'000'000'000;    // an offer that no node takes
constexpr std::uint64_t kRefusalNs = 1'000'000'000;  // for the connection, and for the frame to arrive

std::uint64_t draw() noexcept {
  std::uint64_t number = 0;
  // Without random numbers no node is admitted: a ticket of 0 fits nothing.
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) return 0;
  return number;
}

template <class Frame>
Frame frame_of(std::span<const std::byte> bytes) noexcept {
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof(frame));
  return frame;
}
template <class Frame>
std::span<const std::byte> bytes_of(const Frame& frame) noexcept {
  return std::as_bytes(std::span(&frame, 1));
}

std::array<char, kFabricNameBytes> padded(const std::string& name) noexcept {
  std::array<char, kFabricNameBytes> result{};
  std::copy_n(name.begin(), std::min(name.size(), result.size()), result.begin());
  return result;
}

}  // namespace

Membership::Membership(FabricWires& wires, const FabricOptions& options, Self self, FabricCounters& counters)
    : wires_(wires), options_(options), self_(std::move(self)), counters_(counters), places_(options.nodes) {
  if (is_host()) {
    node_ = 0;
    is_in_ = true;
    set_place(places_[0], MemberState::Member, self_.incarnation, self_.address, wires_.add(self_.address));
  } else {
    host_ = wires_.add(self_.host);
    if (host_ == kNoHandle) problem_ = "the provider cannot reach the address of node 0";
  }
}

bool Membership::say(std::size_t share, FabricHandle to, std::span<const std::byte> body) {
  std::array<std::byte, sizeof(FabricJoin) + kFabricAddressBytes + kFabricChecksumBytes> frame;
  static_assert(sizeof(FabricJoin) >= sizeof(FabricPeer));
  const std::uint32_t checksum = fabric_checksum(body);
  std::copy(body.begin(), body.end(), frame.begin());
  std::memcpy(frame.data() + body.size(), &checksum, sizeof(checksum));
  return wires_.send(share, to, std::span(frame).first(body.size() + sizeof(checksum)));
}

FabricHead Membership::head() const noexcept {
  FabricHead head;
  head.node = node_;
  head.incarnation = self_.incarnation;
  return head;
}

void Membership::set_place(MemberSlot& place, MemberState state, std::uint64_t incarnation,
                           std::span<const std::byte> address, FabricHandle handle) noexcept {
  place.state = state;
  place.incarnation = incarnation;
  place.handle = handle;
  place.address_bytes = static_cast<std::uint16_t>(address.size());
  std::copy(address.begin(), address.end(), place.address.begin());
}

void Membership::clear(MemberSlot& place) {
  if (place.handle != kNoHandle) wires_.remove(place.handle);
  place.handle = kNoHandle;
  place.state = MemberState::Free;
  place.incarnation = 0;
  place.ticket = 0;
  place.told = 0;
  place.asked_ns = 0;
  place.address_bytes = 0;
}

std::optional<NodeId> Membership::take(FabricHandle source, std::span<const std::byte> whole, std::uint64_t now_ns) {
  const FabricRead read = read_head(whole);
  const std::span<const std::byte> frame = read.body;
  if (read.fault != FabricFault::None) {
    ++(read.fault == FabricFault::Version ? counters_.version : counters_.malformed);
    return std::nullopt;
  }
  const FabricHead& head = read.head;
  if (head.kind == FabricKind::Join) {
    if (is_host()) {
      take_join(source, frame, now_ns);
    } else {
      ++counters_.strangers;
    }
    return std::nullopt;
  }
  const bool is_from_host = head.kind == FabricKind::Refused || head.kind == FabricKind::Offer ||
                            head.kind == FabricKind::Peer || (head.kind == FabricKind::Alive && !is_host());
  if (is_from_host) {
    // kNoHandle belongs to no node, even while there is no handle for node 0.
    if (is_host() || (self_.knows_sources && (source == kNoHandle || source != host_))) {
      ++counters_.forged;
      return std::nullopt;
    }
    places_[0].asked_ns = 0;
    switch (head.kind) {
      case FabricKind::Refused: take_refused(frame_of<FabricRefused>(frame), now_ns); break;
      case FabricKind::Offer: take_offer(frame_of<FabricOffer>(frame), now_ns); break;
      case FabricKind::Peer: take_peer(frame, now_ns); break;
      default: take_answer(frame_of<FabricAlive>(frame), now_ns); break;
    }
    return std::nullopt;
  }
  if (head.node >= places_.size() || places_[head.node].state == MemberState::Free) {
    ++counters_.strangers;
    return std::nullopt;
  }
  MemberSlot& place = places_[head.node];
  if (!is_from(source, place)) {
    ++counters_.forged;
    return std::nullopt;
  }
  if (place.incarnation != head.incarnation) {
    ++counters_.stale;
    return std::nullopt;
  }
  if (place.handle != kNoHandle) place.asked_ns = 0;
  if (head.kind == FabricKind::Alive) {
    hear_member(frame_of<FabricAlive>(frame), now_ns);
  } else if (head.kind == FabricKind::Leave) {
    if (!is_host() || head.node == 0 || place.ticket == 0 || frame_of<FabricLeave>(frame).ticket != place.ticket) {
      ++counters_.forged;
      return std::nullopt;
    }
    ++counters_.left;
    clear(place);
    change(place);
    tell_everybody();
  } else if (place.state == MemberState::Member && place.handle != kNoHandle) {
    return head.node;
  } else {
    ++counters_.strangers;
  }
  return std::nullopt;
}

void Membership::step(std::uint64_t now_ns) {
  renew_silent(now_ns);
  if (is_host()) {
    step_host(now_ns);
  } else if (problem_.empty()) {
    step_member(now_ns);
  }
}

/// A connection on which bits were lost is stuck: its reader waits for the rest of a frame of a wrong length. So a node
/// that does not answer gets a new connection, and so does one whose address could not be added.
void Membership::renew_silent(std::uint64_t now_ns) {
  for (MemberSlot& place : places_) {
    if (place.asked_ns == 0 || now_ns - place.asked_ns < options_.lease_ns / 4) continue;
    const bool is_to_host = !is_host() && &place == &places_[0];
    FabricHandle& handle = is_to_host ? host_ : place.handle;
    if (handle != kNoHandle && !self_.knows_sources) continue;
    place.asked_ns = 0;
    if (!is_to_host && place.state != MemberState::Member) continue;
    if (handle != kNoHandle) wires_.remove(handle);
    handle = wires_.add(is_to_host ? std::span<const std::byte>(self_.host) : place.where());
    if (place.state == MemberState::Member) place.handle = handle;
    if (handle == kNoHandle) place.asked_ns = now_ns;  // not now: nothing else would try it again
    ++counters_.renewed;
  }
}

// Node 0.

FabricRefusal Membership::judge(const FabricJoin& join) const noexcept {
  if (join.head.version != kFabricVersion) return FabricRefusal::Version;
  if (join.network != padded(options_.network)) return FabricRefusal::Network;
  if (join.nodes != options_.nodes || join.frame_bytes != options_.frame_bytes) return FabricRefusal::Shape;
  return FabricRefusal::None;
}

void Membership::take_join(FabricHandle source, std::span<const std::byte> frame, std::uint64_t now_ns) {
  const auto join = frame_of<FabricJoin>(frame);
  const std::span<const std::byte> address = address_in(frame);
  if (const FabricRefusal reason = judge(join); reason != FabricRefusal::None) {
    return refuse(join, address, reason, now_ns);
  }
  // A node that has a slot at this address already: it asks again, or has started again at the same address.
  const auto same = std::find_if(places_.begin(), places_.end(), [&](const MemberSlot& place) {
    return place.state != MemberState::Free && std::ranges::equal(place.where(), address);
  });
  if (same != places_.end()) {
    if (same != places_.begin() && same->incarnation == join.head.incarnation) return offer(*same, now_ns);
    if (same == places_.begin() || !is_from(source, *same)) {
      ++counters_.forged;  // it names the address of another node
      return;
    }
    const bool was_member = same->state == MemberState::Member;
    clear(*same);
    if (was_member) {
      ++counters_.expired;
      change(*same);
      tell_everybody();
    }
  }
  MemberSlot* const place = place_for(join);
  if (place == nullptr) {
    return refuse(join, address, join.wanted == kNoNode ? FabricRefusal::Full : FabricRefusal::Taken, now_ns);
  }
  const FabricHandle handle = wires_.add(address);
  if (handle == kNoHandle) {
    ++counters_.refused;  // there is no path for an answer
    return;
  }
  set_place(*place, MemberState::Offered, join.head.incarnation, address, handle);
  place->ticket = draw();
  place->heard_ns = now_ns;
  place->told = 0;
  offer(*place, now_ns);
}

Membership::MemberSlot* Membership::place_for(const FabricJoin& join) noexcept {
  if (join.wanted != kNoNode) {
    if (join.wanted == 0 || join.wanted >= places_.size()) return nullptr;
    MemberSlot& place = places_[join.wanted];
    return place.state == MemberState::Free ? &place : nullptr;
  }
  // The one that has been free for longest, so that a node that comes back finds its own.
  MemberSlot* best = nullptr;
  for (MemberSlot& place : places_) {
    if (place.state == MemberState::Free && (best == nullptr || place.changed_at < best->changed_at)) best = &place;
  }
  return best;
}

void Membership::refuse(const FabricJoin& join, std::span<const std::byte> address, FabricRefusal reason,
                        std::uint64_t now_ns) {
  const auto free =
      std::find_if(refusals_.begin(), refusals_.end(), [](const Refusal& r) { return r.handle == kNoHandle; });
  const bool is_told = std::any_of(refusals_.begin(), refusals_.end(), [&](const Refusal& r) {
    return r.handle != kNoHandle && r.frame.to == join.head.incarnation;
  });
  if (is_told) return;
  ++counters_.refused;
  if (free == refusals_.end()) return;  // it asks again
  const FabricHandle handle = wires_.add(address);
  if (handle == kNoHandle) return;
  *free = {handle, {}, join.head.version == kFabricBareVersion, false, now_ns + kRefusalNs};
  free->frame.head = head();
  free->frame.head.kind = FabricKind::Refused;
  free->frame.reason = reason;
  free->frame.to = join.head.incarnation;
}

void Membership::tell(Refusal& refusal) {
  const std::span<const std::byte> frame = bytes_of(refusal.frame);
  refusal.is_sent =
      refusal.is_bare ? wires_.send(places_.size(), refusal.handle, frame) : say(places_.size(), refusal.handle, frame);
}

void Membership::offer(MemberSlot& place, std::uint64_t now_ns) {
  FabricOffer offer;
  offer.head = head();
  offer.head.kind = FabricKind::Offer;
  offer.to = place.incarnation;
  offer.ticket = place.ticket;
  offer.node = number_of(place);
  place.told_ns = now_ns;
  (void)say(number_of(place), place.handle, bytes_of(offer));
}

void Membership::change(MemberSlot& place) noexcept {
  place.changed_at = ++stamp_;
}

void Membership::hear_member(const FabricAlive& alive, std::uint64_t now_ns) {
  MemberSlot& place = places_[alive.head.node];
  if (place.ticket == 0 || alive.proof != place.ticket || alive.stamp > stamp_) {
    ++counters_.forged;
    return;
  }
  place.heard_ns = now_ns;
  place.told = alive.stamp;
  if (place.state == MemberState::Offered) {
    place.state = MemberState::Member;
    ++counters_.joined;
    change(place);
    tell_everybody();
  } else {
    tell_changes(place);
  }
  FabricAlive answer;
  answer.head = head();
  answer.head.kind = FabricKind::Alive;
  answer.proof = place.incarnation;
  answer.stamp = stamp_;
  (void)say(number_of(place), place.handle, bytes_of(answer));
}

void Membership::tell_everybody() {
  for (MemberSlot& place : places_) {
    if (place.state == MemberState::Member && number_of(place) != 0) tell_changes(place);
  }
}

/// The changes it does not know, oldest first, as far as there is room. What gets lost is missing when it says next
/// what it knows.
void Membership::tell_changes(MemberSlot& place) {
  while (place.told < stamp_) {
    const MemberSlot* next = nullptr;
    for (const MemberSlot& other : places_) {
      if (other.changed_at > place.told && (next == nullptr || other.changed_at < next->changed_at)) next = &other;
    }
    if (next == nullptr) {
      place.told = stamp_;
      return;
    }
    std::array<std::byte, sizeof(FabricPeer) + kFabricAddressBytes> frame;
    FabricPeer peer;
    peer.head = head();
    peer.head.kind = FabricKind::Peer;
    peer.to = place.incarnation;
    peer.after = place.told;
    peer.stamp = next->changed_at;
    peer.node = number_of(*next);
    if (next->state == MemberState::Member) {
      peer.incarnation = next->incarnation;
      peer.address_bytes = next->address_bytes;
    }
    std::memcpy(frame.data(), &peer, sizeof(peer));
    std::copy_n(next->address.begin(), peer.address_bytes, frame.begin() + sizeof(peer));
    if (!say(number_of(place), place.handle, std::span(frame).first(sizeof(peer) + peer.address_bytes))) return;
    place.told = next->changed_at;
  }
}

void Membership::step_host(std::uint64_t now_ns) {
  bool has_changed = false;
  for (MemberSlot& place : places_) {
    if (number_of(place) == 0 || place.state == MemberState::Free) continue;
    if (place.state == MemberState::Offered) {
      if (now_ns - place.heard_ns >= kOfferNs) {
        clear(place);
      } else if (now_ns - place.told_ns >= kAskEveryNs) {
        offer(place, now_ns);
      }
    } else if (now_ns - place.heard_ns >= options_.lease_ns) {
      ++counters_.expired;
      clear(place);
      change(place);
      has_changed = true;
    }
  }
  if (has_changed) tell_everybody();
  for (Refusal& refusal : refusals_) {
    if (refusal.handle == kNoHandle) continue;
    if (!refusal.is_sent) tell(refusal);
    if (now_ns >= refusal.until_ns) {
      wires_.remove(refusal.handle);
      refusal.handle = kNoHandle;
    }
  }
}

// Others.

void Membership::take_refused(const FabricRefused& refused, std::uint64_t now_ns) {
  if (refused.to != self_.incarnation || ticket_ != 0) {
    ++counters_.stale;
    return;
  }
  // The holder of the slot may be dead without node 0 knowing it yet. But our own slot is lost for good, unless it is
  // in an offer that no node takes.
  last_refusal_ = refused.reason;
  if (refused.reason == FabricRefusal::Taken || refused.reason == FabricRefusal::Full) {
    if (taken_ns_ == 0 || now_ns - refused_ns_ >= kOfferNs) taken_ns_ = now_ns;
    refused_ns_ = now_ns;
    if (node_ == kNoNode || now_ns - taken_ns_ < 2 * kOfferNs) return;
  }
  problem_ = std::string("node 0 refuses: ") + to_text(refused.reason);
  if (refused.reason == FabricRefusal::Version) {
    problem_ += ", " + std::to_string(refused.head.version) + ", this node " + std::to_string(kFabricVersion);
  }
}

void Membership::take_offer(const FabricOffer& offer, std::uint64_t now_ns) {
  const bool is_for_us = offer.to == self_.incarnation && offer.head.node == 0 && offer.ticket != 0 &&
                         offer.node != 0 && offer.node < places_.size();
  if (!is_for_us || (node_ != kNoNode && offer.node != node_)) {
    ++counters_.stale;
    return;
  }
  if (offer.ticket == ticket_) return;
  if (places_[0].incarnation != offer.head.incarnation) stamp_ = 0;  // another table than the one we knew
  node_ = offer.node;
  if (places_[node_].state == MemberState::Member) clear(places_[node_]);  // clears the previous owner of the slot
  ticket_ = offer.ticket;
  taken_ns_ = 0;
  places_[0].state = MemberState::Member;
  places_[0].handle = host_;
  places_[0].incarnation = offer.head.incarnation;
  heard_ns_ = now_ns;
  said_ns_ = 0;
}

void Membership::take_answer(const FabricAlive& alive, std::uint64_t now_ns) {
  if (ticket_ == 0 || alive.proof != self_.incarnation || alive.head.incarnation != places_[0].incarnation) {
    ++counters_.stale;
    return;
  }
  heard_ns_ = now_ns;
  if (alive.stamp == stamp_) is_in_ = has_been_in_ = true;
}

void Membership::take_peer(std::span<const std::byte> frame, std::uint64_t now_ns) {
  const auto peer = frame_of<FabricPeer>(frame);
  if (ticket_ == 0 || peer.to != self_.incarnation || peer.head.incarnation != places_[0].incarnation ||
      peer.node >= places_.size()) {
    ++counters_.stale;
    return;
  }
  // A missing entry is sent again, with all after it.
  if (peer.after > stamp_ || peer.stamp <= stamp_) return;
  stamp_ = peer.stamp;
  if (peer.node == 0 || peer.node == node_) return;
  MemberSlot& place = places_[peer.node];
  const std::span<const std::byte> address = address_in(frame);
  const bool is_same = place.state == MemberState::Member && place.incarnation == peer.incarnation &&
                       std::ranges::equal(place.where(), address);
  if (is_same) return;
  clear(place);
  if (peer.incarnation == 0) return;
  set_place(place, MemberState::Member, peer.incarnation, address, wires_.add(address));
  // Node 0 does not repeat it, so the address is kept, and tried again. Meanwhile the list goes on.
  if (place.handle == kNoHandle) place.asked_ns = now_ns;
}

void Membership::ask() {
  std::array<std::byte, sizeof(FabricJoin) + kFabricAddressBytes> frame;
  FabricJoin join;
  join.head = head();
  join.head.kind = FabricKind::Join;
  join.wanted = node_ != kNoNode ? node_ : options_.node.value_or(kNoNode);
  join.nodes = static_cast<std::uint16_t>(options_.nodes);
  join.frame_bytes = static_cast<std::uint32_t>(options_.frame_bytes);
  join.network = padded(options_.network);
  join.address_bytes = static_cast<std::uint16_t>(self_.address.size());
  std::memcpy(frame.data(), &join, sizeof(join));
  std::copy(self_.address.begin(), self_.address.end(), frame.begin() + sizeof(join));
  (void)say(0, host_, std::span(frame).first(sizeof(join) + self_.address.size()));
}

void Membership::step_member(std::uint64_t now_ns) {
  if (ticket_ != 0 && now_ns - heard_ns_ >= options_.lease_ns) {  // it has forgotten us, or has died
    ticket_ = 0;
    is_in_ = false;
    if (!has_been_in_) {  // nothing here goes by the number that was offered, and another node may have it by now
      node_ = kNoNode;
      stamp_ = 0;
    }
  }
  const std::uint64_t pause_ns = ticket_ != 0 && is_in_ ? options_.lease_ns / 8 : kAskEveryNs;
  if (said_ns_ != 0 && now_ns - said_ns_ < pause_ns) return;
  said_ns_ = now_ns;
  asked(0, now_ns);
  if (ticket_ == 0) return ask();
  FabricAlive alive;
  alive.head = head();
  alive.head.kind = FabricKind::Alive;
  alive.proof = ticket_;
  alive.stamp = stamp_;
  (void)say(0, host_, bytes_of(alive));
}

void Membership::leave() {
  if (is_host() || ticket_ == 0) return;
  FabricLeave leave;
  leave.head = head();
  leave.head.kind = FabricKind::Leave;
  leave.ticket = ticket_;
  (void)say(0, host_, bytes_of(leave));
}

}  // namespace stopbit::nic
