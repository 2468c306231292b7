#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "host/nic/channel/channel.hpp"
#include "host/nic/remote/port.hpp"
#include "host/nic/remote/protocol.hpp"
#include "host/nic/remote/record_filter.hpp"
#include "host/nic/remote/source.hpp"
#include "host/ring/reader.hpp"

namespace stopbit::nic::remote {

/// For status pages.
struct SubscriptionStatus {
  enum class State : std::uint8_t {
    Running,
    Waiting,  ///< There are records for it, but it has no room for them.
    Ending,   ///< The ring has ended; the last records are on their way.
  };
  State state = State::Running;
  std::string ring;
  NodeId node = 0;
  Vpid vpid = 0;
  bool is_lossless = false;
  bool has_filter = false;
  std::uint64_t since_ns = 0;  ///< Of the clock that the publisher is stepped with.
  std::uint64_t records = 0;   ///< Sent, events of the publisher's own included.
  std::uint64_t slots = 0;     ///< Of them.
  std::uint64_t messages = 0;  ///< That they were sent in.
  std::uint64_t filtered = 0;  ///< Records that the filter kept back.
  std::uint64_t lost = 0;    ///< Records that the writer wrote over before they could be sent; told to the subscriber.
  std::uint64_t behind = 0;  ///< Records that were published and not sent or filtered yet.
  std::uint64_t gets = 0;    ///< Of image and older records, by the subscriber,
  std::uint64_t fetched_bytes = 0;  ///< and what they brought.
};
[[nodiscard]] const char* to_text(SubscriptionStatus::State state) noexcept;

/// The publisher's side of one subscriber: one more reader of the ring, and a channel to the subscriber's landing
/// memory. It has a port of its own, so that a subscriber that cannot be reached holds up no other.
///
/// Of the node's thread. After `make` there is no allocation, lock or system call per record.
class Subscription {
 public:
  struct Peer {
    NodeId node = 0;
    Vpid vpid = 0;
    [[nodiscard]] friend bool operator==(const Peer&, const Peer&) = default;
  };
  /// What is published, through which port's windows it is shown, and by which reader it is read. One of a lossless
  /// ring has its seat, if somebody relies on it.
  struct From {
    std::shared_ptr<Source> source;
    Vpid owner = 0;
    ring::Reader reader;
  };
  /// `why` and the failure's text are for the subscriber.
  [[nodiscard]] static Result<std::unique_ptr<Subscription>> make(Node& node, Pdid domain, From from,
                                                                  const Subscribe& request, const Peer& peer,
                                                                  std::uint64_t now_ns, Refusal& why);
  ~Subscription();
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  [[nodiscard]] const Peer& peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint64_t session() const noexcept { return accept_.session; }
  [[nodiscard]] const Accept& accept() const noexcept { return accept_; }
  [[nodiscard]] const Source& source() const noexcept { return *source_; }
  [[nodiscard]] bool is_lossless() const noexcept { return is_lossless_; }

  /// Sends what is there, as far as there is room. Returns how much it did.
  std::size_t step(std::uint64_t now_ns);
  /// Now and then: asks the subscriber's node whether the landing memory is still there, and shows it that the
  /// publisher is.
  void beat();

  /// Why it is to be forgotten; empty if it is not.
  [[nodiscard]] const std::string& end() const noexcept { return end_; }
  /// Since when records wait and nothing moves; 0: that is not so.
  [[nodiscard]] std::uint64_t stuck_since_ns() const noexcept { return stuck_since_ns_; }
  [[nodiscard]] SubscriptionStatus status() const;

 private:
  Subscription(std::shared_ptr<Source> source, std::unique_ptr<Port> port, ring::Reader reader,
               const Subscribe& request, const Peer& peer, std::uint64_t now_ns);

  void hear();
  [[nodiscard]] bool fill(std::span<std::byte> message);
  [[nodiscard]] bool next_record();
  [[nodiscard]] bool send_staged();
  void stage(std::span<std::byte> message, const BatchHead& head);

  static constexpr std::size_t kMessagesPerStep = 8;
  static constexpr std::size_t kRecordsPerStep = 4096;  ///< That may be looked at; more if none is filtered.

  std::shared_ptr<Source> source_;
  std::unique_ptr<Port> port_;
  PortMemory staging_;
  ring::Reader reader_;
  std::unique_ptr<RecordFilter> filter_;  ///< Null: everything passes.
  std::optional<ChannelSender> sender_;
  Peer peer_;
  Accept accept_;
  ChannelLayout layout_;
  WindowName landing_;
  bool is_lossless_ = false;

  ring::Records::Iterator record_{std::span<const record::Slot>()};  ///< What the reader has given and is not looked
  ring::Records::Iterator records_end_{std::span<const record::Slot>()};  ///< at yet.
  Place next_;                                                            ///< Of the record that is looked at next.
  std::span<const record::Slot> rest_;                                    ///< Of the record that is being sent.
  record::Slot event_{};                                                  ///< A record of the publisher's own.
  Place after_;                                                           ///< Behind that record.
  Place reached_;           ///< Behind the last one that was sent or filtered.
  std::uint64_t told_ = 0;  ///< The number of `reached_` in the last message.
  std::size_t budget_ = 0;
  std::size_t staged_bytes_ = 0;  ///< Of a message that waits for room in the command ring.
  bool has_sent_end_ = false;
  bool has_asked_end_ = false;  ///< The word behind the end is on its way.
  std::uint64_t beats_ = 0;
  bool is_asked_ = false;  ///< A beat that is not answered yet.
  Links::Session link_;    ///< With the subscriber's node: what was under way in another one may be lost.
  std::uint64_t stuck_since_ns_ = 0;
  std::string end_;
  SubscriptionStatus counted_;
};

}  // namespace stopbit::nic::remote
