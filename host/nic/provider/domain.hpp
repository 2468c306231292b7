#pragma once

#include <rdma/fi_domain.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/link/links.hpp"
#include "host/nic/provider/carrier.hpp"
#include "host/nic/provider/limits.hpp"
#include "host/nic/provider/parameters.hpp"
#include "host/nic/provider/pieces.hpp"
#include "host/nic/provider/regions.hpp"
#include "host/nic/provider/wire.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic::provider {

struct Endpoint;

struct Counters {
#define STOPBIT_PROVIDER_COUNTER(name, meaning) std::uint64_t name = 0;
#include "host/nic/provider/counters.def"
#undef STOPBIT_PROVIDER_COUNTER
};

/// A node of a network, and what its endpoints share: links, progress, death of peers.
///
/// Progress is made by the program's calls, and by a thread if the program wants one, or where frames may be lost. A peer is
/// dead when its process has ended, as the carrier knows. In shared memory none is given up because it is silent: a
/// rank may compute for as long as it likes. Over a network, silence for the time that the user has chosen is death.
class Domain final : public fid_domain, public PacketSink {
 public:
  static constexpr std::size_t kEndpoints = 64;

  struct Options {
    bool is_shared = true;           ///< Threads call at the same time.
    bool has_basic_regions = false;  ///< FI_MR_BASIC.
    bool has_thread = false;         ///< FI_PROGRESS_AUTO. Implies is_shared.
  };
  [[nodiscard]] static Result<std::unique_ptr<Domain>> open(const Parameters& parameters, const Options& options,
                                                            void* context);
  ~Domain() override;
  [[nodiscard]] static Domain& of(fid_domain* fid) noexcept { return *static_cast<Domain*>(fid); }

  class Guard {
   public:
    explicit Guard(Domain& domain) noexcept : mutex_(domain.is_shared_ ? &domain.mutex_ : nullptr) {
      if (mutex_ != nullptr) mutex_->lock();
    }
    ~Guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    std::mutex* mutex_;
  };

  /// Queues, vectors, endpoints that use it.
  void retain() noexcept { ++users_; }
  void release() noexcept { --users_; }
  [[nodiscard]] std::size_t users() const noexcept { return users_; }

  /// Returns how much it did.
  std::size_t progress();
  /// Until everything has left for its receivers that are alive, or for a while.
  void flush();

  /// Nothing: too many.
  [[nodiscard]] bool add(Endpoint& endpoint);
  /// Null: no endpoint has this number now.
  [[nodiscard]] Endpoint* find(std::uint16_t number) const noexcept;
  void remove(Endpoint& endpoint);

  [[nodiscard]] bool is_name(const Name& name) const noexcept;
  /// Of an endpoint of this process.
  [[nodiscard]] Name own_full_name(std::uint16_t endpoint) const noexcept;
  [[nodiscard]] PeerName own_name(std::uint16_t endpoint) const noexcept {
    return {carrier_->transport().node(), endpoint, birth_};
  }
  /// The program knows it now: if an earlier process with its number has died, this one may be sent to.
  void meet(const PeerName& peer);
  [[nodiscard]] bool is_dead(const PeerName& peer) const noexcept { return nodes_[peer.node].dead_birth == peer.birth; }

  /// A system call.
  [[nodiscard]] bool is_alive(NodeId node) { return carrier_->is_alive(node); }

  /// Place for a packet to a node; empty: no room now. Makes progress once to find some.
  [[nodiscard]] std::span<std::byte> place(NodeId node);
  /// The packet that was made there, on the low channel. False: the node is lost.
  [[nodiscard]] bool send_placed(const PeerName& to, std::span<const std::byte> packet);
  /// On the high channel, now or as soon as there is room.
  void answer(const PeerName& to, const Head& head);
  /// Place for an answer that is more than a head, on the high channel; empty: no room now.
  [[nodiscard]] std::span<std::byte> place_of_answer(NodeId node) { return links_.place(node, VirtualChannel::High); }
  void send_answer(NodeId node, std::span<const std::byte> packet);
  /// What the endpoint holds under this number goes out in pieces.
  void stream(Endpoint& endpoint, Kind kind, std::uint32_t request);
  /// Sends and receives that wait for a node: it is watched meanwhile.
  void expect(NodeId node) noexcept {
    ++nodes_[node].expected;
    if (asks_the_silent_) links_.expect(node, now_ns_);
  }
  void expect_less(NodeId node) noexcept {
    --nodes_[node].expected;
    if (asks_the_silent_) links_.expect_less(node);
  }
  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size(); }

  [[nodiscard]] std::size_t packet_bytes() const noexcept { return links_.packet_bytes(); }
  [[nodiscard]] std::size_t eager_bytes() const noexcept { return eager_bytes_; }
  [[nodiscard]] std::size_t atomic_bytes() const noexcept { return provider::atomic_bytes(links_.packet_bytes()); }
  [[nodiscard]] std::uint32_t process() const noexcept { return process_; }
  [[nodiscard]] std::uint32_t process_space() const noexcept { return process_space_; }
  /// Whether messages may be copied out of a process of that space.
  [[nodiscard]] bool copies_from(std::uint32_t space) const noexcept { return copies_once_ && space == process_space_; }
  /// Says where a buffer is, to a peer that may copy it; one in several pieces has to be asked for. Nothing of it is
  /// for another host.
  void locate(const Pieces& buffer, OfferBody& offer) const noexcept;
  /// Copies `bytes` out of the peer's process. False: the kernel does not allow it, there is no such memory, or the
  /// peer names a process that is not its own.
  [[nodiscard]] bool copy(const Pieces& into, const PeerName& peer, const OfferBody& from, std::uint64_t bytes);
  [[nodiscard]] Regions& regions() noexcept { return regions_; }
  /// No peer reaches it any more.
  void close(const Region& region);
  [[nodiscard]] Counters& counters() noexcept { return counters_; }

 private:
  struct NodeState {
    std::uint32_t birth = 0;       ///< Of the process that was sent to last.
    std::uint32_t dead_birth = 0;  ///< Of the last one that died.
    std::size_t expected = 0;
    std::size_t answers = 0;          ///< That wait for room to it.
    std::uint64_t dead_at_step = 0;   ///< When its death was seen; 0: it was not.
    std::uint32_t process = 0;        ///< As the kernel says; 0: it does not.
    std::uint32_t process_birth = 0;  ///< For which it was asked.
  };
  struct Answer {
    PeerName to;
    Head head;
  };
  struct Stream {
    std::uint16_t endpoint = 0;
    Kind kind = {};
    std::uint32_t request = 0;
  };

  Domain(const Parameters& parameters, std::unique_ptr<Carrier> carrier, const Options& options, void* context);

  [[nodiscard]] std::uint8_t early(NodeId, VirtualChannel, std::span<const std::byte>) override { return 0; }
  [[nodiscard]] bool ordered(NodeId from, VirtualChannel channel, std::span<const std::byte> packet,
                             std::uint8_t early_status) override;
  void lost(NodeId node) override;

  void send_answers();
  void send_pieces();
  void look_for_dead(bool asks_all);
  [[nodiscard]] std::uint32_t process_of(const PeerName& peer);
  [[nodiscard]] bool is_waited_for(NodeId node) const noexcept;
  void report();
  void run();
  void stand_in();

  std::string counters_file_;
  std::uint32_t birth_ = 0;
  std::uint32_t process_ = 0;
  std::uint32_t process_space_ = 0;
  bool copies_once_;
  bool is_shared_;
  std::mutex mutex_;
  std::atomic<std::size_t> users_ = 0;
  std::unique_ptr<Carrier> carrier_;
  Links links_;
  std::size_t eager_bytes_;
  bool asks_the_silent_;  ///< The carrier may lose an answer, or the peer, without a word.
  bool has_own_thread_;   ///< The program, or its user, wants one.
  std::vector<NodeState> nodes_;
  std::vector<Endpoint*> endpoints_;  ///< By their numbers modulo kEndpoints.
  std::vector<std::uint16_t> uses_;   ///< Of each place: the rest of a number, so that no late packet finds the next.
  std::deque<Answer> answers_;
  std::deque<Stream> streams_;
  Regions regions_;
  std::uint64_t now_ns_ = 0;    ///< Of the links: it passes slowly while this process makes no calls.
  std::uint64_t clock_ns_ = 0;  ///< As last read.
  std::uint64_t steps_ = 0;
  std::uint64_t next_look_ns_ = 0;
  Counters counters_;
  std::atomic<bool> is_closing_ = false;
  std::thread thread_;  ///< Last: it uses everything else.
};

[[nodiscard]] int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);

}  // namespace stopbit::nic::provider
