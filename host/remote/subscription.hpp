#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/remote/admission.hpp"
#include "host/remote/node_port.hpp"
#include "host/remote/protocol.hpp"
#include "host/remote/record_filter.hpp"
#include "host/remote/source.hpp"
#include "host/remote/subscription_state.hpp"
#include "host/ring/reader.hpp"

namespace stopbit::remote {

/// For status pages.
struct SubscriptionStatus {
  SubscriptionState state = SubscriptionState::Running;
  std::string ring;
  nic::NodeId node = 0;
  nic::Vpid vpid = 0;
  std::optional<nic::HostAddress> address;  ///< Of the node, when it subscribed.
  bool is_near = false;                     ///< The publisher writes its ring, a NearSubscription.
  bool is_lossless = false;
  bool has_filter = false;
  std::uint64_t since_ns = 0;  ///< Of the clock that the publisher is stepped with.
  std::uint64_t records = 0;   ///< Sent, or written into the near ring, events of the publisher's own included.
  std::uint64_t slots = 0;     ///< Of them.
  std::uint64_t messages = 0;  ///< That they were sent in; of a near one 0.
  std::uint64_t filtered = 0;  ///< Records that the filter kept back.
  std::uint64_t lost =
      0;  ///< Records that the writer wrote over before they could be sent; reported to the subscriber.
  std::uint64_t behind = 0;  ///< Records that were published and not sent or filtered yet.
  std::uint64_t kept = 0;    ///< Of a lossless one that is not near: slots of the ring that it has said it has.
  bool has_all = false;    ///< The ring has ended, and the subscriber, if it is lossless, has said that it has read it.
  std::uint64_t gets = 0;  ///< Of image and older records, by the subscriber,
  std::uint64_t fetched_bytes = 0;  ///< and what they brought.
};

/// The publisher's side of one subscriber: one more reader of the ring. Of the node's thread.
class Subscription {
 public:
  struct Peer {
    nic::NodeId node = 0;
    nic::Vpid vpid = 0;
    [[nodiscard]] friend bool operator==(const Peer&, const Peer&) = default;
  };
  /// What the publisher lets it have.
  struct Terms {
    std::optional<nic::HostAddress> address;  ///< Of its node, when it subscribed.
    bool is_client = false;                   ///< It was admitted (PublishedRing::is_for_clients).
    std::uint64_t bytes_per_second = 0;       ///< 0: no limit.
    std::uint64_t detach_after_ns = 0;        ///< PublishedRing.
  };
  Subscription() = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  virtual ~Subscription() = default;

  [[nodiscard]] virtual const Peer& peer() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t session() const noexcept = 0;
  [[nodiscard]] virtual bool is_lossless() const noexcept = 0;
  /// Takes effect at once. A subscriber whose rate does not change keeps its saved credit.
  void set_terms(const Terms& terms) noexcept {
    if (terms.bytes_per_second != terms_.bytes_per_second) rate_ = ByteRate(terms.bytes_per_second);
    terms_ = terms;
  }
  [[nodiscard]] const Terms& terms() const noexcept { return terms_; }
  /// What accepts the subscriber: a message for it.
  [[nodiscard]] virtual std::vector<std::byte> answer() const = 0;

  /// Hands on the records that have arrived, as far as there is room. Returns how much it did.
  virtual std::size_t step(std::uint64_t now_ns) = 0;
  /// Now and then: looks whether the subscriber is still there, and shows it that the publisher is.
  virtual void beat(std::uint64_t now_ns) = 0;

  /// The publisher was not stepped for `ns`: this time counts against no deadline.
  virtual void forgive(std::uint64_t ns) noexcept = 0;

  /// Why it is to be forgotten; empty if it is not.
  [[nodiscard]] virtual const std::string& end() const noexcept = 0;
  /// Since when records wait and nothing moves; 0: that is not so.
  [[nodiscard]] virtual std::uint64_t stuck_since_ns() const noexcept = 0;
  [[nodiscard]] virtual SubscriptionStatus status() const = 0;
  /// Refuse::records.
  [[nodiscard]] virtual std::uint64_t refused_records() const noexcept = 0;

 protected:
  /// Whether it may have more bytes now; if not, its state shows it.
  [[nodiscard]] bool may_send(std::uint64_t now_ns) noexcept {
    is_slowed_ = !rate_.has_room(now_ns);
    return !is_slowed_;
  }
  void has_sent(std::size_t bytes) noexcept { rate_.take(bytes); }
  [[nodiscard]] bool is_slowed() const noexcept { return is_slowed_; }

 private:
  Terms terms_;
  ByteRate rate_{0};
  bool is_slowed_ = false;
};

/// The request's filter, for a ring of that layout; null: everything passes. `why` and the failure's text are for the
/// subscriber.
[[nodiscard]] Result<std::unique_ptr<RecordFilter>> make_filter(const Source& source, const Subscribe& request,
                                                                Refusal& why);

}  // namespace stopbit::remote
