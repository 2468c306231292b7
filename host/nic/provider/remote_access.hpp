#pragma once

#include <rdma/fabric.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/nic/provider/atomics.hpp"
#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/outgoing.hpp"
#include "host/nic/provider/pieces.hpp"
#include "host/nic/provider/store.hpp"
#include "host/nic/provider/wire.hpp"

namespace stopbit::nic::provider {

struct Counter;
struct Endpoint;
struct Region;

/// One call of FI_RMA or FI_ATOMIC.
struct RemoteCall {
  Kind kind = Kind::Write;  ///< Or Read, Atomic.
  Pieces from;              ///< Bytes to write; operands.
  Pieces compare;
  Pieces into;        ///< For what is read, or found.
  AtomicCode atomic;  ///< Of an Atomic.
  fi_addr_t to = FI_ADDR_UNSPEC;
  std::uint64_t address = 0;
  std::uint64_t key = 0;
  bool has_data = false;
  std::uint64_t data = 0;
  bool is_inject = false;     ///< Without completion, unless it fails.
  std::uint64_t options = 0;  ///< FI_* of the operation.
  void* context = nullptr;
};

/// Remote memory access and atomics of an endpoint: its own operations, and those of peers on this process's regions.
///
/// The target does everything: it checks key, rights and range when a request arrives, applies it in the order of
/// sending, and answers. So every completion says what has happened at the target, a region that is closed is closed
/// for everybody at once, and atomics need no more than the processor's own. Up to Domain::eager_bytes bytes travel
/// in the packets. Longer writes the target copies out of the writer's memory; longer reads the reader copies, and the
/// target confirms that the region was there all the time. Where the kernel forbids that, the bytes come in pieces.
class RemoteAccess {
 public:
  explicit RemoteAccess(Endpoint& endpoint);
  /// Peers whose operations are under way hear that they have failed.
  ~RemoteAccess();
  RemoteAccess(const RemoteAccess&) = delete;
  RemoteAccess& operator=(const RemoteAccess&) = delete;

  [[nodiscard]] ssize_t start(const RemoteCall& call);
  /// A packet of remote access for this endpoint. False: a request that finds no room now.
  [[nodiscard]] bool take(const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  /// Null: there is no such transfer, or none any more.
  [[nodiscard]] Outgoing* outgoing(Kind kind, std::uint32_t request) noexcept;
  /// The last piece has been sent.
  void streamed(Kind kind, std::uint32_t request);
  void lost(NodeId node);
  void closed(const Region& region);

 private:
  /// Requests of each peer that are under way at once, so that one that makes no calls holds up nobody else.
  static constexpr std::size_t kPerNode = 8;

  /// One of this endpoint's own. `out.from` are the bytes of a write.
  struct Operation {
    Outgoing out;
    Pieces into;
    void* context = nullptr;
    std::uint64_t report = 0;  ///< Flags of its completion.
    bool completes = false;
    bool reads = false;  ///< It ends with bytes for `into`, not with Done alone.
    bool is_granted = false;
    bool is_copied = false;
    std::uint64_t got = 0;
  };
  /// A peer's write that comes in pieces. Null `region`: it was closed, and the rest is read and dropped.
  struct Arrival {
    Region* region = nullptr;
    Head head;
    PeerName from;
    std::byte* into = nullptr;
    std::uint64_t length = 0;
    std::uint64_t got = 0;
  };
  /// A peer's read that it copies, or gets in pieces.
  struct Serving {
    Region* region = nullptr;
    Outgoing out;
    std::uint32_t request = 0;  ///< The reader's number.
    bool is_granted = false;
  };

  [[nodiscard]] bool take_write(const Head& head, const PeerName& from, const RemoteBody& body,
                                std::span<const std::byte> bytes);
  [[nodiscard]] bool take_long_write(const Head& head, const PeerName& from, const RemoteBody& body,
                                     std::span<const std::byte> bytes);
  [[nodiscard]] bool take_read(const Head& head, const PeerName& from, const RemoteBody& body,
                               std::span<const std::byte> bytes);
  [[nodiscard]] bool serve(const Head& head, const PeerName& from, Region& region, std::byte* at,
                           const OfferBody& wanted);
  [[nodiscard]] bool take_atomic(const Head& head, const PeerName& from, const RemoteBody& body,
                                 std::span<const std::byte> bytes);
  void take_write_piece(const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  void take_copied(const Head& head, const PeerName& from);

  void take_ask(const Head& head, const PeerName& from);
  void take_grant(const Head& head, const PeerName& from);
  void take_read_piece(const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  void take_result(const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  void take_done(const Head& head, const PeerName& from);

  /// A slot for the data that a write brings, if it does. False: the queue is full now.
  [[nodiscard]] bool reserve_data(const Head& head);
  void release_data(const Head& head);
  void wrote(const Head& head, const PeerName& from, Region* region, std::uint64_t length);
  void count_read(Region* region, std::uint64_t bytes);
  /// Where a Result may be made; empty: not now.
  [[nodiscard]] std::span<std::byte> place_of_result(const Head& head, const PeerName& from);
  void tell_done(const PeerName& to, std::uint32_t request, int error);
  void malformed();
  [[nodiscard]] Operation* find(const Head& head, const PeerName& from) noexcept;
  void end(std::uint32_t id, int error);
  void end_arrival(std::uint32_t id);
  void end_serving(std::uint32_t id);

  Endpoint& endpoint_;
  Domain& domain_;
  Store<Operation> operations_;
  Store<Arrival> arrivals_;
  Store<Serving> servings_;
  std::vector<std::uint16_t> arriving_;  ///< Of each node.
  std::vector<std::uint16_t> serving_;
};

}  // namespace stopbit::nic::provider
