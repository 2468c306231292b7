#pragma once

#include <rdma/fi_endpoint.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "host/nic/provider/outgoing.hpp"
#include "host/nic/provider/pieces.hpp"
#include "host/nic/provider/remote_access.hpp"
#include "host/nic/provider/store.hpp"
#include "host/nic/provider/wire.hpp"
#include "host/nic/tag/tags.hpp"

namespace stopbit::nic::provider {

class Domain;
struct AddressVector;
struct CompletionQueue;
struct Counter;

/// What an endpoint has room for, and what fi_getinfo says about it.
struct EndpointLimits {
  static constexpr std::size_t kSends = 1024;      ///< That wait for their receiver.
  static constexpr std::size_t kReceives = 16384;  ///< That are posted, or being filled.
  static constexpr std::size_t kUnexpected = 16384;
  static constexpr std::size_t kBlocks = 4096;  ///< For unexpected messages that are longer than kShort.
  static constexpr std::size_t kShort = 128;
  static constexpr std::size_t kMaxMessage = std::size_t{1} << 40U;
  static constexpr std::size_t kMinMultiReceive = 16384;  ///< Unless the program sets another.
};

/// A message to be sent.
struct SendCall {
  Pieces from;
  fi_addr_t to = FI_ADDR_UNSPEC;
  std::uint8_t flags = 0;  ///< kTagged, kHasData.
  bool is_inject = false;  ///< Without completion; at most kInject bytes.
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint64_t options = 0;  ///< FI_* of the operation.
  void* context = nullptr;
};

struct ReceiveCall {
  Pieces into;
  fi_addr_t from = FI_ADDR_UNSPEC;
  bool is_tagged = false;
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;
  std::uint64_t options = 0;
  void* context = nullptr;
};

/// A send that waits for its receiver.
struct Sending {
  Outgoing out;
  void* context = nullptr;
  std::uint64_t report = 0;  ///< Flags of its completion.
  bool completes = false;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
};

/// What a completion of the sending side says.
struct Report {
  void* context = nullptr;
  std::uint64_t flags = 0;
  std::uint64_t tag = 0;
};

struct Receiving {
  Pieces into;
  void* context = nullptr;
  bool is_tagged = false;
  bool completes = false;
  bool is_arriving = false;  ///< Pieces come; everything from here on is the message's.
  PeerName from;
  std::uint8_t flags = 0;
  std::uint64_t tag = 0;
  std::uint64_t data = 0;
  std::uint32_t request = 0;  ///< The sender's number.
  std::uint64_t length = 0;
  std::uint64_t got = 0;
  /// Of a message in a buffer for many: the receive that has the buffer.
  std::optional<std::uint32_t> shared;
  // Of a receive whose buffer takes many messages, one after the other.
  bool is_multi = false;
  bool is_exhausted = false;  ///< It takes no more, and ends with the last that is under way.
  bool is_cancelled = false;
  std::size_t used = 0;       ///< Of the buffer.
  std::size_t under_way = 0;  ///< Messages that have their part of it.
};

/// A message that came before its receive.
struct Unexpected {
  static constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};
  Head head;
  PeerName from;
  bool is_offer = false;
  OfferBody offer;  ///< `length` also of a message that is here.
  std::uint32_t block = kNoBlock;
  std::array<std::byte, EndpointLimits::kShort> bytes;
};

/// A reliable endpoint (FI_EP_RDM): messages and tagged messages.
///
/// A message that fits into a packet travels with it, in the order of sending, and waits at the receiver for its
/// receive; when the fixed store is full, the link holds up its sender, who gets FI_EAGAIN. A longer one is offered;
/// its receiver copies it out of the sender's memory, or asks for it in pieces. A matching unit (tag/) pairs messages
/// and receives: by sender, kind and tag.
struct Endpoint : fid_ep, TagSink {
  Endpoint(Domain& domain, const fi_info& info, void* context);
  ~Endpoint() override;
  [[nodiscard]] static Endpoint& of(fid_ep* fid) noexcept { return *static_cast<Endpoint*>(fid); }

  [[nodiscard]] int bind(struct fid* to, std::uint64_t flags);
  [[nodiscard]] int enable();
  [[nodiscard]] ssize_t send(const SendCall& call);
  [[nodiscard]] ssize_t receive(const ReceiveCall& call);
  [[nodiscard]] ssize_t cancel(void* context);
  /// FI_PEEK, FI_CLAIM, FI_DISCARD.
  [[nodiscard]] ssize_t look(const ReceiveCall& call);

  /// A packet for this endpoint. False: there is no room for the message now.
  [[nodiscard]] bool take(const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  /// What goes out in pieces of this kind; null: nothing has the number any more.
  [[nodiscard]] Outgoing* outgoing(Kind kind, std::uint32_t request) noexcept;
  /// Writes its next bytes, and returns the length of the packet.
  [[nodiscard]] std::size_t write_piece(Outgoing& outgoing, std::span<std::byte> into);
  /// The last one has been sent.
  void streamed(Kind kind, std::uint32_t request);
  /// Of an operation that holds a slot in the queue. Null `counter`: none is bound.
  void report_sent(Counter* counter, const Report& report, bool completes, int error);
  void lost(NodeId node);

  Domain& domain;
  std::uint16_t number = 0;
  bool is_enabled = false;
  bool directs_receives;  ///< FI_DIRECTED_RECV: else the address of a receive is ignored.
  std::uint64_t send_options;
  std::uint64_t receive_options;
  AddressVector* peers = nullptr;
  CompletionQueue* send_queue = nullptr;
  CompletionQueue* receive_queue = nullptr;
  bool selects_sends = false;  ///< FI_SELECTIVE_COMPLETION.
  bool selects_receives = false;
  std::size_t min_multi_receive = EndpointLimits::kMinMultiReceive;
  Counter* send_counter = nullptr;
  Counter* receive_counter = nullptr;
  Counter* read_counter = nullptr;  ///< Of remote access: own operations,
  Counter* write_counter = nullptr;
  Counter* remote_read_counter = nullptr;  ///< and those of peers.
  Counter* remote_write_counter = nullptr;

  Tags tags;
  Store<Sending> sends;
  Store<Receiving> receives;
  Store<Unexpected> unexpected;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> blocks;  ///< Pages that are never used take no memory.
  std::vector<std::uint32_t> free_blocks;
  std::unordered_map<void*, std::uint32_t> claimed;  ///< Unexpected messages, by the context of the claim.
  RemoteAccess remote;

 private:
  void matched(const TagReceive& receive, const TagRecord& record) override;
  [[nodiscard]] ssize_t receive_many(const ReceiveCall& call, TagReceive receive);
  /// A receive for one message in the next part of a buffer for many. Nothing: no room for it, or its completion, now.
  [[nodiscard]] std::optional<std::uint32_t> take_part(std::uint32_t whole, std::uint64_t length);
  /// Of a message that has ended. Returns whether the buffer is the program's again with it.
  [[nodiscard]] bool end_part(std::uint32_t whole);

  [[nodiscard]] bool take_message(const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  [[nodiscard]] bool store(const Head& head, const PeerName& from, std::span<const std::byte> bytes,
                           const OfferBody& offer);
  void take_ask(const Head& head, const PeerName& from);
  void take_piece(const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  void take_done(const Head& head, const PeerName& from);
  [[nodiscard]] TagReceive wanted(const ReceiveCall& call, std::uint32_t id, bool& is_valid) const;

  void begin(Receiving& receiving, const Head& head, const PeerName& from, std::uint64_t length);
  void fill(std::uint32_t id, const Head& head, const PeerName& from, std::span<const std::byte> bytes);
  void fetch(std::uint32_t id, const Head& head, const PeerName& from, const OfferBody& offer);
  void take_stored(std::uint32_t receive, std::uint32_t stored);
  void discard(std::uint32_t stored);
  void forget(std::uint32_t stored);
  [[nodiscard]] std::span<const std::byte> bytes_of(const Unexpected& message) const noexcept;
  void tell_done(const PeerName& to, std::uint32_t request, int error);

  void end_send(std::uint32_t id, int error);
  void end_receive(std::uint32_t id, int error);
  /// `is_last`: of a buffer for many messages, which is the program's again.
  void report_received(const Receiving& receiving, std::uint64_t excess, int error, bool is_last);
};

[[nodiscard]] int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);

}  // namespace stopbit::nic::provider
