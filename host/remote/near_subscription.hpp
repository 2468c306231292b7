#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/remote/slot_writer.hpp"
#include "host/remote/subscription.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::remote {

/// A subscription of the publisher's own host: the publisher makes the subscriber's ring and writes it, out of the
/// published one. No memory of the subscriber is mapped here, so it can do the publisher no harm; all that it does is
/// to answer a beat now and then.
///
/// A lossless one is written at most half a ring ahead of the position that the subscriber has confirmed: a beat that
/// was answered confirms the position at which the ring was when the beat was sent. So credits are answers to our own
/// beats, and no position written by another process is trusted.
///
/// The tables of instruments and states beside the published ring get the near ring's name, too: both rings have the
/// same ones. The ring ends with the published one; its names are taken away with the subscription. Of the node's
/// thread. After `make` there is no allocation, lock or system call per record.
class NearSubscription final : public Subscription {
 public:
  /// The ring's reader, and the port that reaches the subscriber; the port must outlive the subscription.
  struct From {
    std::shared_ptr<Source> source;
    NodePort* port = nullptr;
    ring::Reader reader;
    std::uint64_t silence_ns = 0;  ///< A subscriber that answers no beat for this time has died.
    RingPosition begin = {};       ///< Of the published ring: the subscriber has had all before.
  };
  /// `replaces`: this subscriber's one before, whose ring may have the same name; or null. `why` and the failure's text
  /// are for the subscriber.
  [[nodiscard]] static Result<std::unique_ptr<NearSubscription>> make(From from, const Subscribe& request,
                                                                      const Peer& peer,
                                                                      const NearSubscription* replaces,
                                                                      std::uint64_t now_ns, Refusal& why);
  ~NearSubscription() override;

  [[nodiscard]] const Peer& peer() const noexcept override { return peer_; }
  [[nodiscard]] std::uint64_t session() const noexcept override { return request_.session; }
  [[nodiscard]] bool is_lossless() const noexcept override { return request_.is_lossless; }
  [[nodiscard]] std::vector<std::byte> answer() const override;

  /// Of the near ring.
  [[nodiscard]] const std::string& name() const noexcept { return request_.near->name; }
  /// The subscriber asks anew for the same ring: it goes on where it is. False: it is another one, or has ended.
  [[nodiscard]] bool resume(const Subscribe& request, const Source& source, std::uint64_t now_ns);
  /// The subscriber has heard a beat.
  void hear(const Echo& echo, std::uint64_t now_ns) noexcept;

  std::size_t step(std::uint64_t now_ns) override;
  void beat(std::uint64_t now_ns) override;
  void forgive(std::uint64_t ns) noexcept override;
  /// In the published ring: the near ring has all before it.
  [[nodiscard]] RingPosition reached() const noexcept;
  [[nodiscard]] std::uint64_t epoch() const noexcept { return source_->fixed().epoch(); }

  [[nodiscard]] const std::string& end() const noexcept override { return end_; }
  [[nodiscard]] std::uint64_t stuck_since_ns() const noexcept override { return stuck_since_ns_; }
  [[nodiscard]] SubscriptionStatus status() const override;
  [[nodiscard]] std::uint64_t refused_records() const noexcept override;

 private:
  NearSubscription(From from, const Subscribe& request, const Peer& peer, ring::Writer writer, std::uint64_t now_ns);

  [[nodiscard]] static Status take_names(ring::Writer& writer, const Source& source, const std::string& name,
                                         const NearSubscription* replaces);
  [[nodiscard]] bool has_credit() const noexcept;
  void look_at_credit(std::uint64_t now_ns, bool has_moved) noexcept;
  [[nodiscard]] ring::Poll copy_next();
  [[nodiscard]] ring::Poll skip_to_begin();
  [[nodiscard]] ring::Poll copy_if_it_passes();
  void write_lost(std::uint64_t records);
  void tell(std::uint64_t now_ns);

  static constexpr std::size_t kRecordsPerStep = 256;
  static constexpr std::uint64_t kTellAgainNs = 200'000'000;
  static constexpr std::size_t kTold = 8;  ///< Beats that may be answered late.
  /// A beat, and where the near ring was then.
  struct Told {
    std::uint64_t number = 0;
    std::uint64_t head = 0;
  };

  std::shared_ptr<Source> source_;
  NodePort* port_;
  ring::Reader reader_;
  std::unique_ptr<RecordFilter> filter_;  ///< Null: everything passes.
  Subscribe request_;
  Peer peer_;
  ring::Writer ring_;
  SlotWriter applier_;
  RingPosition begin_;         ///< Earlier records are not copied.
  std::uint64_t history_end_;  ///< Records published when the subscriber joined.
  bool has_history_ = false;
  std::uint8_t how_ = 0;        ///< The published ring has ended: a ring::WriterState.
  std::uint64_t end_beat_ = 0;  ///< The number of the first beat that has reported the end; 0: none has.
  bool has_news_ = false;       ///< The subscriber must get a beat at once.
  std::uint64_t silence_ns_;
  std::uint64_t beats_ = 0;
  std::uint64_t told_ns_ = 0;  ///< When the last one was sent.
  std::uint64_t heard_ = 0;    ///< The last one that was answered,
  std::uint64_t heard_ns_;     ///< and when.
  std::array<Told, kTold> told_{};
  std::uint64_t seen_;  ///< Of the near ring: a beat that was sent there was answered.
  std::uint64_t stuck_since_ns_ = 0;
  std::uint64_t fetched_ = 0;  ///< Of the records: published before the subscriber came.
  std::string end_;
  SubscriptionStatus counted_;
};

}  // namespace stopbit::remote
