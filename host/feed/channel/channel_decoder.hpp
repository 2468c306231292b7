#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/feed/channel/channel_options.hpp"
#include "host/feed/channel/datagram_decoder.hpp"
#include "host/feed/channel/watcher.hpp"
#include "host/feed/description/description.hpp"

/// One channel of a feed, from the datagrams of its lines to records. Used by both `stopbit run` and `stopbit replay`,
/// which differ in the source of datagrams, the destination of records and the watcher. Independent of sockets, files
/// and clocks.
namespace stopbit::feed {

/// A datagram of a line, as it arrived.
struct Received {
  std::span<const std::byte> payload;  ///< Preamble included. Valid during the call.
  std::uint64_t arrival_ns = 0;        ///< Wall clock: for records, gaps and logs.
  std::uint64_t t_ns = 0;              ///< Monotonic clock, or the capture's time: for decisions.
  std::uint64_t number = 0;            ///< In its source, counted from 1; for messages and events about it.
  record::TimeQuality time_quality = record::TimeQuality::Synthetic;
  std::uint32_t source = 0;  ///< IPv4 address that it came from; 0 = unknown.
};

/// Decodes one channel:
///
///     take ─► preamble ─► Arbiter ─► DatagramDecoder: chunks ─► blocks ─► Engine ─► stages ─► ring
///                 │          └ gap, reset                  └ error, stale ─► events ─┘
///                 └ malformed ─► event
///
/// **Malformed datagrams.** A datagram whose preamble is wrong is counted (Packets::malformed) and reported: an error
/// event X9 in the ring when it arrives, and Watcher::malformed. It does not touch the dictionary, because its number
/// is still missing: another line may bring a good copy, and if none does, the number becomes a gap, which invalidates
/// the dictionary. Only where packets have no numbers, nothing would reveal the loss: there the malformed datagram
/// itself invalidates the dictionary, as any decode error. Packets with a sound preamble that the arbiter rejects,
/// because nothing confirms their number, are counted only.
///
/// **Copies.** If the first copy of a packet does not decode, its error is reported and the other line's copy is used,
/// where that is sound: the dictionary is reset with each datagram, and a datagram is one block. Messages before the
/// error were published already and are not published again.
///
/// One thread. Allocates when it is made, never later.
class ChannelDecoder final : private arbitrate::Sink {
 public:
  /// All references must outlive it. The target's engine has room for the channel's number.
  ChannelDecoder(const Channel& description, const ChannelOptions& options, const Target& target, Counts& counts,
                 Watcher& watcher);
  ChannelDecoder(const ChannelDecoder&) = delete;
  ChannelDecoder& operator=(const ChannelDecoder&) = delete;

  /// A datagram of a line.
  void take(arbitrate::Line line, const Received& received) noexcept;
  /// Every datagram with a t below this has been taken: closes the windows that have waited long enough.
  void tick(std::uint64_t until_t_ns) noexcept {
    arbiter_.tick(until_t_ns, *this);
    hear_session();
  }
  /// A message that a replay service has sent.
  struct Replayed {
    std::span<const std::byte> message;  ///< Without a preamble. Valid during the call.
    std::uint64_t sequence = 0;          ///< As on the wire.
    std::uint16_t epoch = 0;             ///< Of the run in which it was asked for.
    std::uint64_t arrival_ns = 0;        ///< Wall clock.
    std::uint64_t number = 0;            ///< As Received.
  };
  /// Decodes it, if its number was given up in the present run. False: it is of no use.
  bool recover(const Replayed& replayed) noexcept;
  /// When tick has something to do; nothing while no packet waits.
  [[nodiscard]] std::optional<std::uint64_t> next_deadline() const noexcept { return arbiter_.next_deadline(); }
  /// The end: what waits is decoded, what is missing is lost.
  void finish() noexcept { arbiter_.finish(*this); }
  /// Before the first datagram: see Arbiter::resume_after.
  void resume_after(std::uint64_t sender, std::uint64_t last_sequence, std::uint16_t epoch = 0,
                    std::uint64_t t_ns = 0) noexcept {
    arbiter_.resume_after(sender, last_sequence, epoch, t_ns);
  }
  /// Something else goes on with the numbers: see Arbiter::hand_over.
  void hand_over() noexcept {
    arbiter_.hand_over(*this);
    failed_ = {};
  }
  /// Before the first datagram: the first messages of this one were published by something else.
  void expect_rest(std::uint32_t sequence, std::uint16_t epoch, std::uint32_t messages) noexcept {
    failed_ = {.exists = true, .epoch = epoch, .sequence = sequence, .messages = messages};
  }
  /// Before the first datagram, in place of another decoder of the channel, which has finished: see
  /// Arbiter::go_on_from.
  void go_on_from(const ChannelDecoder& before, bool same) noexcept { arbiter_.go_on_from(before.arbiter_, same); }
  /// Before the first datagram: nothing is known of its dictionary, whatever channel had its number before.
  void reset() noexcept { decoder_.reset(); }
  /// The target has another image from here on.
  void image_changed() noexcept { decoder_.image_changed(); }

  [[nodiscard]] const Channel& description() const noexcept { return description_; }
  [[nodiscard]] const arbitrate::Arbiter& arbiter() const noexcept { return arbiter_; }
  [[nodiscard]] const DatagramDecoder& decoder() const noexcept { return decoder_; }

 private:
  bool deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept override;
  void gap(const arbitrate::Gap& gap) noexcept override;
  void epoch(const arbitrate::NewRun& run) noexcept override;
  void reset(const arbitrate::NewRun& run) noexcept override;
  void conflict(const arbitrate::Conflict& conflict) noexcept override { watcher_.conflict(conflict); }
  void late(const arbitrate::Packet& packet, std::uint64_t late_ns) noexcept override {
    watcher_.late(packet, late_ns);
  }

  void hear_session() noexcept;
  void take_malformed(const arbitrate::Packet& packet) noexcept;
  [[nodiscard]] PacketInfo info_of(const arbitrate::Packet& packet, std::uint16_t epoch) const noexcept;

  const Channel& description_;
  const bool has_numbers_;
  const Target& target_;
  Counts& counts_;
  Watcher& watcher_;
  arbitrate::Arbiter arbiter_;
  DatagramDecoder decoder_;
  /// A datagram that did not decode, and whose other copy may: how many of its messages were.
  struct Failed {
    bool exists = false;
    std::uint16_t epoch = 0;
    std::uint64_t sequence = 0;
    std::uint32_t messages = 0;
  };
  Failed failed_;
};

}  // namespace stopbit::feed
