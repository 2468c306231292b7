#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/nic/channel/channel.hpp"
#include "host/remote/subscription.hpp"

namespace stopbit::remote {

/// A subscription of any node: a channel to the subscriber's landing memory. It has a port of its own, so that a
/// subscriber that cannot be reached holds up no other.
///
/// Of the node's thread. After `make` there is no allocation, lock or system call per record.
class FarSubscription final : public Subscription {
 public:
  /// The published ring, the port whose windows show it, and the reader of the ring. The reader of a lossless ring has
  /// its seat if the subscriber relies on it.
  struct From {
    std::shared_ptr<Source> source;
    nic::Vpid owner = 0;
    ring::Reader reader;
    std::uint64_t silence_ns = 0;  ///< How long to wait for a lost lossless subscriber.
  };
  /// `why` and the failure's text are for the subscriber.
  [[nodiscard]] static Result<std::unique_ptr<FarSubscription>> make(nic::Node& node, nic::Pdid domain, From from,
                                                                     const Subscribe& request, const Peer& peer,
                                                                     std::uint64_t now_ns, Refusal& why);
  ~FarSubscription() override;

  [[nodiscard]] const Peer& peer() const noexcept override { return peer_; }
  [[nodiscard]] std::uint64_t session() const noexcept override { return accept_.session; }
  [[nodiscard]] bool is_lossless() const noexcept override { return is_lossless_; }
  [[nodiscard]] std::vector<std::byte> answer() const override { return to_bytes(accept_); }

  std::size_t step(std::uint64_t now_ns) override;
  /// Asks the subscriber's node whether the landing memory is still there.
  void beat(std::uint64_t now_ns) override;
  void forgive(std::uint64_t ns) noexcept override;
  /// What the subscriber says of itself.
  void hear(const Reached& reached, std::uint64_t now_ns) noexcept;
  /// The subscriber goes on at a place in another session: the reader with its seat, at that place. Nothing, and
  /// nothing changed: what comes after the place is not kept for it.
  [[nodiscard]] std::optional<ring::Reader> take_reader(const RingPosition& place);
  [[nodiscard]] const std::shared_ptr<Source>& source() const noexcept { return source_; }

  [[nodiscard]] const std::string& end() const noexcept override { return end_; }
  [[nodiscard]] std::uint64_t stuck_since_ns() const noexcept override { return stuck_since_ns_; }
  [[nodiscard]] SubscriptionStatus status() const override;
  [[nodiscard]] std::uint64_t refused_records() const noexcept override { return source_->fixed().published(); }

 private:
  FarSubscription(std::shared_ptr<Source> source, std::unique_ptr<NodePort> port, ring::Reader reader,
                  const Subscribe& request, const Peer& peer, std::uint64_t now_ns);

  void hear(std::uint64_t now_ns);
  void lose(std::string why, std::uint64_t now_ns);
  void end_when_all_is_there(std::uint64_t now_ns);
  [[nodiscard]] bool fill(std::span<std::byte> message);
  [[nodiscard]] bool next_record();
  [[nodiscard]] bool send_staged();
  void stage(std::span<std::byte> message, const BatchHead& head);

  static constexpr std::size_t kMessagesPerStep = 8;
  static constexpr std::size_t kRecordsPerStep = 4096;  ///< That may be looked at; more if none is filtered.

  std::shared_ptr<Source> source_;
  std::unique_ptr<NodePort> port_;
  PortMemory staging_;
  ring::Reader reader_;
  std::unique_ptr<RecordFilter> filter_;  ///< Null: everything passes.
  std::optional<nic::ChannelSender> sender_;
  Peer peer_;
  Accept accept_;
  nic::ChannelLayout layout_;
  nic::WindowName landing_;
  bool is_lossless_ = false;
  bool tells_reached_ = false;  ///< It is lossless, and says how far it is.

  ring::Records::Iterator record_{std::span<const record::Slot>()};  ///< What the reader has given and is not looked
  ring::Records::Iterator records_end_{std::span<const record::Slot>()};  ///< at yet.
  RingPosition next_;                                                     ///< Of the record that is looked at next.
  std::span<const record::Slot> rest_;                                    ///< Of the record that is being sent.
  record::Slot event_{};                                                  ///< A record of the publisher's own.
  RingPosition after_;                                                    ///< End of that record.
  RingPosition begin_;      ///< Records before it are not for the subscriber: it has them.
  RingPosition kept_;       ///< The subscriber said that it has all before; later records stay in the ring.
  RingPosition reached_;    ///< End of the last record that was sent or filtered.
  std::uint64_t told_ = 0;  ///< The number of `reached_` in the last message.
  std::size_t budget_ = 0;
  std::size_t staged_bytes_ = 0;  ///< Of a message that waits for room in the command ring.
  bool has_sent_end_ = false;
  bool has_asked_end_ = false;  ///< The word after the end is on its way.
  bool has_end_ = false;        ///< The subscriber's memory has the end,
  std::uint64_t ended_ns_ = 0;  ///< since then.
  std::uint64_t beats_ = 0;
  bool is_asked_ = false;     ///< A beat that is not answered yet.
  nic::Links::Session link_;  ///< With the subscriber's node: what was under way in another one may be lost.
  std::uint64_t stuck_since_ns_ = 0;
  std::uint64_t silence_ns_ = 0;
  std::uint64_t lost_since_ns_ = 0;
  std::string lost_;  ///< Why it cannot be reached; it may come back in another session. Empty: it can.
  std::string end_;
  SubscriptionStatus counted_;
};

}  // namespace stopbit::remote
