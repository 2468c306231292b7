#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nic/node/broker.hpp"
#include "host/remote/admission.hpp"
#include "host/remote/near_subscription.hpp"
#include "host/remote/node_port.hpp"
#include "host/remote/protocol.hpp"
#include "host/remote/source.hpp"
#include "host/remote/subscription.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::remote {

/// A ring of this host that others may subscribe to.
struct PublishedRing {
  std::string name;   ///< What subscribers call it, 1 to kMaxNameBytes.
  std::string ring;   ///< Its name on this host (host/os/shm/name.hpp). It need not be there yet, and may be replaced.
  std::string token;  ///< Without it a subscriber is answered as if the ring did not exist; up to kMaxTokenBytes.
  bool is_for_clients = false;  ///< Only for admitted clients; near.
  /// Where subscribers may come from; none: from anywhere. If there are some, a node whose carrier knows no address for
  /// it may not.
  std::vector<nic::AddressPrefix> allow = {};
  bool allows_lossless = true;         ///< Subscribers may make the ring's writer wait, if it is one that waits.
  std::uint64_t detach_after_ns = 0;   ///< A subscriber that takes nothing for this time, while there is something, is
                                       ///< detached; 0: a lossless one after PublisherOptions::stuck_ns, others never.
  std::uint64_t bytes_per_second = 0;  ///< To each subscriber, heads of messages included; 0: no limit.
};

struct PublisherOptions {
  nic::Pdid domain = 0;  ///< Of its ports: subscribers have the same.
  std::vector<PublishedRing> rings;
  std::size_t subscribers = 16;             ///< Of all rings, at once.
  std::size_t subscribers_per_address = 0;  ///< Of one HostAddress::customer; 0: no limit. As the next one, it holds
                                            ///< for nodes whose carrier knows their address.
  std::uint32_t requests_per_second = 0;    ///< Of one HostAddress::customer; 0: no limit.
  std::uint64_t beat_ns = 50'000'000;       ///< How often subscribers and writers are looked after.
  std::size_t near_rings = 16;  ///< That are made here for subscribers, of all those; others get their records sent.
  std::vector<std::string> reserved;          ///< Names of rings of this host that no subscriber's ring gets, besides
                                              ///< those that are published.
  std::uint64_t silence_ns = 10'000'000'000;  ///< A near subscriber that answers nothing for this time has died, and so
                                              ///< has a lossless one that was lost and has not come back.
  std::uint64_t stuck_ns = 5'000'000'000;     ///< A lossless subscriber without progress for this time is detached.
  std::function<void(const std::string&)> log;  ///< One line for each subscriber that comes or goes, and at most
                                                ///< one per beat for those that are refused.
};

struct PublisherCounters {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::array<std::uint64_t, kRefusals> refused_by{};  ///< By Refusal.
  std::uint64_t ended = 0;      ///< Subscriptions: by the subscriber, by the ring's end, or because one was lost.
  std::uint64_t detached = 0;   ///< Of those, because the subscriber made no progress.
  std::uint64_t malformed = 0;  ///< Messages that no subscriber of this version sends.
};

/// Publishes rings of this host to subscribers on other nodes: remote rings. Protocol: doc/remote-ring-protocol.md.
///
/// It reads a ring as any reader does, so the ring's writer does not notice it. Of the node's thread: step both in
/// turn. After a subscriber was accepted there is no allocation, lock or system call per record; each `beat_ns` there
/// are some system calls per ring.
class Publisher final : public nic::FeedPublisher {
 public:
  /// Opens a port of the node; the node must outlive the publisher. Subscribers have to know the port: on a node of
  /// its own it is 0, because it is the first one.
  [[nodiscard]] static Result<std::unique_ptr<Publisher>> open(nic::Node& node, const PublisherOptions& options);
  ~Publisher() override;

  [[nodiscard]] nic::Vpid vpid() const noexcept { return port_->vpid(); }

  /// Lets a port of this node, of any domain, have near copies of a ring that is for clients.
  [[nodiscard]] std::optional<nic::Vpid> admit(nic::Vpid client, nic::Pdid domain, const std::string& ring) override;
  void dismiss(nic::Vpid client, const std::string& ring) override;

  /// Whether these rings can be published together.
  [[nodiscard]] static Status check(const std::vector<PublishedRing>& rings);
  /// Publishes these from now on instead, all of them as they say here; they passed `check`. Subscribers of a
  /// ring that they still may have go on where they are, under its limits of now. The others get the reason, and
  /// are forgotten, as are those whose token is not the ring's token of now.
  void republish(std::vector<PublishedRing> rings);
  /// As PublisherOptions::reserved, instead of those.
  void reserve(std::vector<std::string> rings) { options_.reserved = std::move(rings); }

  /// Answers, reads, sends. Returns how much it did. `now_ns` must not go back.
  std::size_t step(std::uint64_t now_ns);

  [[nodiscard]] std::vector<SubscriptionStatus> status() const;
  [[nodiscard]] const PublisherCounters& counters() const noexcept { return counters_; }

 private:
  struct Ring {
    PublishedRing what;
    std::shared_ptr<Source> source;  ///< Null: it is not there.
  };
  /// A lossless subscriber whose reader has no seat yet. It asks again.
  struct Waiting {
    Subscription::Peer peer;
    std::uint64_t session = 0;
    std::uint64_t since_ns = 0;
    std::shared_ptr<Source> source;
    ring::Reader reader;
  };
  /// A port of this node that needs no token.
  struct Admitted {
    nic::Vpid client = 0;
    nic::Pdid domain = 0;
    std::string ring;
  };
  using Subscribers = std::vector<std::unique_ptr<Subscription>>;
  /// Where a lossless near ring ended before the published one did: the next one of its subscriber begins there.
  struct Left {
    std::uint64_t session = 0;
    std::uint64_t epoch = 0;
    RingPosition reached;
  };
  /// Kept for a lossless subscriber since its last session.
  struct Kept {
    std::shared_ptr<Source> source;      ///< Far; null: nothing.
    std::optional<ring::Reader> reader;  ///< With its seat.
    RingPosition begin;                  ///< Near; 0: nothing.
  };

  Publisher(nic::Node& node, const PublisherOptions& options, std::unique_ptr<NodePort> port);
  [[nodiscard]] std::size_t hear(NodePort& door, std::uint64_t now_ns);
  void subscribe(NodePort& door, const Subscription::Peer& peer, std::span<const std::byte> bytes,
                 std::uint64_t now_ns);
  [[nodiscard]] Ring* find_ring(const NodePort& door, const Subscription::Peer& peer, const Subscribe& request);
  [[nodiscard]] Result<std::unique_ptr<Subscription>> make(NodePort& door, const Ring& ring,
                                                           const Subscription::Peer& peer, const Subscribe& request,
                                                           ring::Reader reader, const NearSubscription* before,
                                                           const RingPosition& begin, Refusal& why);
  [[nodiscard]] Kept take_kept(const Subscription::Peer& peer, const Ring& ring, const Subscribe& request);
  [[nodiscard]] Subscribers::iterator find_session(std::uint64_t session);
  void forgive(std::uint64_t ns) noexcept;
  void remember(const Subscription& subscription);
  [[nodiscard]] static Refuse goodbye(const Subscription& subscription, Refusal why);
  [[nodiscard]] Status check_near(const Subscription::Peer& peer, const Subscribe& request) const;
  [[nodiscard]] bool is_in_time(const Subscription::Peer& peer, std::uint64_t now_ns);
  [[nodiscard]] Refusal judge(const Ring& ring, const Subscription::Peer& peer, const Subscribe& request) const;
  [[nodiscard]] static Refusal judge_right(const PublishedRing& ring, const std::optional<nic::HostAddress>& address,
                                           bool is_lossless);
  [[nodiscard]] Refusal judge_again(const std::vector<Ring>& before, const Subscription& subscriber) const;
  [[nodiscard]] static const Ring* ring_of(const std::vector<Ring>& rings, const Subscription& subscriber);
  [[nodiscard]] Refusal find_source(Ring& ring, std::string& text);
  [[nodiscard]] Result<std::optional<ring::Reader>> find_reader(const Ring& ring, const Subscription::Peer& peer,
                                                                const Subscribe& request);
  void leave(const Subscription::Peer& peer, std::uint64_t session);
  void echo(const Subscription::Peer& peer, std::span<const std::byte> bytes);
  void reached(const Subscription::Peer& peer, std::span<const std::byte> bytes);
  void refuse(NodePort& door, const Subscription::Peer& peer, std::uint64_t session, Refusal why,
              const std::string& text, std::uint64_t now_ns);
  void look_after(std::uint64_t now_ns);
  [[nodiscard]] NodePort& port_of(const Subscription::Peer& peer);
  [[nodiscard]] Subscribers::iterator find(const Subscription::Peer& peer);
  void detach(Subscribers::iterator which, Refusal code, const std::string& why);
  void end(Subscribers::iterator which, const std::string& why);
  void log(const std::string& line) const;

  static constexpr std::size_t kMessagesPerStep = 4;
  static constexpr std::size_t kLeft = 64;
  static constexpr std::uint64_t kStallBeats = 4;  ///< Without a step for this many beats, the process was stopped.

  nic::Node& node_;
  PublisherOptions options_;
  std::unique_ptr<NodePort> port_;
  std::map<nic::Pdid, std::unique_ptr<NodePort>> doors_;  ///< Of other domains, for those that were admitted.
  std::vector<Admitted> admitted_;
  std::vector<Ring> rings_;
  Subscribers subscribers_;
  std::vector<Waiting> waiting_;
  std::vector<Left> left_;  ///< The newest kLeft.
  RequestRates rates_;
  std::size_t first_ = 0;  ///< Subscriber served first in the next step.
  std::uint64_t next_beat_ns_ = 0;
  std::uint64_t next_refusal_ns_ = 0;  ///< Refusals are not logged before: any peer can cause them.
  std::uint64_t now_ns_ = 0;
  PublisherCounters counters_;
  std::array<std::byte, nic::kMaxMessageBytes> message_;
};

}  // namespace stopbit::remote
