#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "decoder/record/buffer_sink.hpp"
#include "host/appliance/evidence.hpp"
#include "host/appliance/notice.hpp"
#include "host/appliance/outlet.hpp"
#include "host/appliance/recording.hpp"
#include "host/appliance/tally.hpp"
#include "host/arbitrate/arbiter.hpp"
#include "host/feed/description.hpp"
#include "host/ingest/port.hpp"
#include "host/net/framing.hpp"

namespace stopbit::appliance {

/// What a channel shares with the others of its thread.
struct Shared {
  Queue<Notice>& notices;
  Queue<Evidence>& evidence;
  const AgentTally& tally;
  std::uint64_t silence_ns = 0;
  std::uint32_t stale_after = 3;
  std::uint64_t datagrams = 0;             ///< Of all channels: numbers the packets.
  std::uint64_t dropped_here_ns = 0;       ///< When a drop by card or kernel was last seen on the ports of the thread.
  std::uint64_t newest_ns = 0;             ///< Arrival of the datagram that came last.
  recorder::Recorder* recorder = nullptr;  ///< Null: nothing is recorded.
};

/// One channel, from a datagram of one of its lines to records in its outlet:
///
///     take ─► preamble ─► Arbiter ─► chunks, blocks ─► Engine ─► Stage ─► ring
///
/// What is lost, reset or stale becomes an event record in the same ring, in its place. One thread; allocates when it
/// is made, never later.
class Channel final : private arbitrate::Sink {
 public:
  /// `index` names it in notices. The outlet, the tally and what is shared must outlive it.
  Channel(const feed::Channel& description, std::uint32_t index, Outlet& outlet, const ChannelTally& tally,
          Shared& shared);

  void take(arbitrate::Line line, const ingest::Arrival& arrival, std::uint64_t now_ns) noexcept;
  void tick(std::uint64_t now_ns) noexcept { arbiter_.tick(now_ns, *this); }
  [[nodiscard]] std::optional<std::uint64_t> next_deadline() const noexcept { return arbiter_.next_deadline(); }
  /// The end: what waits goes on, what is missing is lost.
  void finish() noexcept;
  /// Another image runs from here on: what was remembered of messages is gone.
  void image_changed() noexcept;
  /// Brings the counters up to date. What needs no packet to change is in them, too.
  void publish() const noexcept;

  [[nodiscard]] const arbitrate::Arbiter& arbiter() const noexcept { return arbiter_; }

  // For the thread.
  RecordLines record_as = {kNotRecorded, kNotRecorded};
  bool is_dirty = false;    ///< Its counters are behind.
  bool is_waiting = false;  ///< It has, or had, a deadline.

 private:
  void deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept override;
  void gap(const arbitrate::Gap& gap) noexcept override;
  void epoch(const arbitrate::NewRun& run) noexcept override;
  void reset(const arbitrate::NewRun& run) noexcept override;

  bool run_engine(std::span<const std::byte> datagram, const PacketInfo& info) noexcept;
  void run_blocks(std::span<const std::byte> datagram, const net::Preamble& preamble, PacketInfo& info) noexcept;
  void take_error(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) noexcept;
  void keep_evidence(const counters::ErrorFact& fact, std::uint32_t data_offset,
                     std::span<const std::byte> datagram) noexcept;
  void note_quality(bool is_good, ErrorCode code, const PacketInfo& info) noexcept;
  void forget_dictionary() noexcept;
  void note_late(const arbitrate::Packet& packet, std::uint64_t now_ns) noexcept;
  void write_event(const PacketInfo& info, const record::Event& event) noexcept;

  struct RememberedGap {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t time_ns = 0;
  };
  static constexpr std::size_t kRememberedGaps = 16;
  /// Cards tell of drops a little later, and windows of what was missed.
  static constexpr std::uint64_t kDropsExplainNs = 1'000'000'000;

  const feed::Channel& description_;
  std::uint32_t index_;
  Outlet& outlet_;
  const ChannelTally& tally_;
  Shared& shared_;
  arbitrate::Arbiter arbiter_;
  std::unique_ptr<net::ChunkAssembler> chunks_;  ///< b3 only.
  ResetRule engine_rule_;
  ChannelState state_ = ChannelState::Waiting;
  std::uint32_t bad_in_a_row_ = 0;
  std::uint32_t good_in_a_row_ = 0;
  std::array<RememberedGap, kRememberedGaps> gaps_{};
  std::size_t next_gap_ = 0;
};

}  // namespace stopbit::appliance
