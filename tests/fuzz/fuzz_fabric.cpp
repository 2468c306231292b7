// Whatever frames reach the membership of a network over libfabric, as node 0 and as another node, from whomever: it
// adds no more addresses than there is room for, keeps its places, believes no member from another's connection, and a
// node that asks honestly is still let in if there is a free place.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/membership.hpp"

namespace {

using namespace stopbit::nic;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::size_t kNodes = 4;
using Address = std::vector<std::byte>;

Address address_of(std::uint8_t name) {
  return Address(4, std::byte{name});
}

/// Appends the checksum to a frame; one of Links has none.
void seal(std::vector<std::byte>& frame) {
  if (frame.size() < sizeof(FabricHead) || frame[offsetof(FabricHead, kind)] == std::byte{0}) return;
  const std::uint32_t checksum = fabric_checksum(frame);
  frame.resize(frame.size() + sizeof(checksum));
  std::memcpy(frame.data() + frame.size() - sizeof(checksum), &checksum, sizeof(checksum));
}

/// Counts what is added, and keeps what was sent last to each.
class Wires final : public FabricWires {
 public:
  [[nodiscard]] FabricHandle add(std::span<const std::byte> address) override {
    require(!address.empty() && address.size() <= kFabricAddressBytes);
    // As a provider whose addresses have one length.
    if (address.size() != 4 || !std::ranges::equal(address, address_of(static_cast<std::uint8_t>(address[0])))) {
      return kNoHandle;
    }
    const auto name = static_cast<std::uint8_t>(address.front());
    const auto [known, is_new] = handles.emplace(name, handles.size());
    ++uses[known->second];
    ++added;
    require(added <= kNodes + 8);
    return known->second;
  }
  void remove(FabricHandle handle) override {
    require(uses[handle] > 0);
    --uses[handle];
    --added;
  }
  [[nodiscard]] bool send(std::size_t share, FabricHandle to, std::span<const std::byte> frame) override {
    require(share <= kNodes && uses[to] > 0);
    const FabricRead read = read_head(frame);
    require(read.head.version == kFabricVersion);
    // A peer without checksums gets its answer without one.
    const bool is_bare = frame.size() == sizeof(FabricRefused) && read.head.kind == FabricKind::Refused;
    require(read.fault == FabricFault::None || is_bare);
    last[to].assign(frame.begin(), frame.end());
    return !is_full;
  }
  std::map<std::uint8_t, FabricHandle> handles;  ///< By the first byte of the address.
  std::map<FabricHandle, std::size_t> uses;
  std::map<FabricHandle, Address> last;
  std::size_t added = 0;
  bool is_full = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  FabricOptions options;
  options.nodes = kNodes;
  options.network = "n";
  FabricCounters counters;
  Wires wires;
  const bool is_host = (data[0] & 1U) != 0;
  Membership::Self self;
  self.address = address_of(200);
  if (!is_host) self.host = address_of(201);
  self.incarnation = 77;
  self.knows_sources = (data[0] & 2U) != 0;
  Membership membership(wires, options, self, counters);
  std::uint64_t now = 1'000'000'000;
  std::uint64_t frames = 0;
  // Chunks: how long it is, what is done with it, and the chunk.
  for (std::size_t at = 1; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    std::vector<std::byte> frame(length);
    if (length != 0) std::memcpy(frame.data(), data + at + 2, length);
    at += 2 + length;
    wires.is_full = (kind & 128U) != 0;
    const bool is_bare = (kind & 96U) == 96U;
    const FabricHandle source = (kind & 7U) == 7 ? kNoHandle : kind & 7U;
    if (frame.size() >= sizeof(FabricHead) && (kind & 8U) != 0) {  // an honest head, and what it answers to
      FabricHead head;
      std::memcpy(&head, frame.data(), sizeof(head));
      head.magic = kFabricMagic;
      head.version = is_bare ? kFabricBareVersion : kFabricVersion;
      head.kind = static_cast<FabricKind>(static_cast<std::uint8_t>(head.kind) % 7);
      head.incarnation = head.incarnation % 4 + 1;
      std::memcpy(frame.data(), &head, sizeof(head));
      if (head.kind == FabricKind::Join && frame.size() >= sizeof(FabricJoin)) {
        FabricJoin join;
        std::memcpy(&join, frame.data(), sizeof(join));
        join.nodes = kNodes;
        join.frame_bytes = static_cast<std::uint32_t>(options.frame_bytes);
        join.network = {'n'};
        join.wanted %= 8;
        if (join.wanted > 5) join.wanted = kNoNode;
        join.address_bytes = static_cast<std::uint16_t>(frame.size() - sizeof(join));
        std::memset(join.reserved, 0, sizeof(join.reserved));
        std::memcpy(frame.data(), &join, sizeof(join));
      }
      // A peer that has heard the ticket, or knows the incarnation.
      if ((kind & 16U) != 0 && frame.size() >= 24) {
        std::uint64_t proof = self.incarnation;
        const auto& heard = wires.last[source];
        if (is_host && heard.size() == sizeof(FabricOffer) + kFabricChecksumBytes)
          std::memcpy(&proof, heard.data() + 24, sizeof(proof));
        std::memcpy(frame.data() + sizeof(FabricHead), &proof, sizeof(proof));
      }
    }
    if ((kind & 8U) != 0 && !is_bare) seal(frame);
    const std::optional<NodeId> from = membership.take(source, frame, now);
    if (from) {
      ++frames;
      require(*from < kNodes && membership.handle(*from) != kNoHandle);
      require(!self.knows_sources || membership.handle(*from) == source);
    }
    now += std::uint64_t{kind} << 20U;
    membership.step(now);
    require(!is_host || membership.node() == 0);
  }
  if (!is_host) return 0;
  // When all leases have ended, there is a place.
  wires.is_full = false;
  for (int i = 0; i < 3; ++i) membership.step(now += 10'000'000'000);
  FabricJoin join;
  join.head.kind = FabricKind::Join;
  join.head.incarnation = 1'000;
  join.nodes = kNodes;
  join.frame_bytes = static_cast<std::uint32_t>(options.frame_bytes);
  join.network = {'n'};
  join.address_bytes = 4;
  Address frame(sizeof(join) + 4, std::byte{222});
  std::memcpy(frame.data(), &join, sizeof(join));
  seal(frame);
  (void)membership.take(kNoHandle, frame, now);
  const FabricHandle honest = wires.handles.at(222);
  FabricOffer offer;
  require(wires.last[honest].size() == sizeof(offer) + kFabricChecksumBytes);
  std::memcpy(&offer, wires.last[honest].data(), sizeof(offer));
  require(offer.head.kind == FabricKind::Offer && offer.to == 1'000 && offer.node != 0 && offer.node < kNodes);
  FabricAlive alive;
  alive.head.kind = FabricKind::Alive;
  alive.head.node = offer.node;
  alive.head.incarnation = 1'000;
  alive.proof = offer.ticket;
  frame.resize(sizeof(alive));
  std::memcpy(frame.data(), &alive, sizeof(alive));
  seal(frame);
  (void)membership.take(honest, frame, now);
  require(membership.handle(offer.node) == honest);
  return 0;
}
