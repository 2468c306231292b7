#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "decoder/engine/engine.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/record/sink.hpp"
#include "host/feed/channel/decode_health.hpp"
#include "host/feed/channel/watcher.hpp"
#include "host/feed/framing/framing.hpp"

namespace stopbit::feed {

class SessionStage;

/// The engine of the datagrams of some channels, and where their records go. Its owner may change it between two
/// datagrams, for another image; then each channel calls invalidate().
struct Target {
  Engine* engine = nullptr;            ///< Made with engine_rule() of the channels' framing.
  record::RecordSink* sink = nullptr;  ///< The first stage, or the ring.
  record::Builder* builder = nullptr;  ///< Of the engine's program; writes events.
  std::uint16_t image_generation = 0;
  SessionStage* session = nullptr;  ///< One of the stages, if the program has messages that it looks for.
};

/// The reset rule that an engine for this framing needs. A datagram of blocks is several runs of the engine, so
/// DatagramDecoder resets the dictionary before them.
[[nodiscard]] inline ResetRule engine_rule(const net::Framing& framing) noexcept {
  return framing.blocks && framing.reset == ResetRule::Packet ? ResetRule::Template : framing.reset;
}

/// Writes an event record of the channel with that number.
void write_event(const Target& target, std::uint16_t channel, const PacketInfo& info,
                 const record::Event& event) noexcept;

/// Datagrams of one channel, in the order in which they are to be decoded:
///
///     datagram ─► chunks ─► blocks ─► Engine ─► Target::sink
///                               └ error, stale, recovered ─► events ─┘
///
/// One thread. Allocates when it is made, never later.
class DatagramDecoder {
 public:
  /// All references must outlive it. After `stale_after` consecutive datagrams that do not decode, the channel is
  /// stale, and an event says so; the same number of datagrams that decode ends it. 0: never stale.
  DatagramDecoder(const net::Framing& framing, std::uint16_t channel, const Target& target, Counts& counts,
                  Watcher& watcher, std::uint32_t stale_after = 0);

  /// Outcome of a datagram.
  struct Answer {
    bool is_good = true;         ///< It decoded, waits for other chunks, or waits for a reset.
    std::uint32_t messages = 0;  ///< Published, before an error if there was one.
  };
  /// Decodes a datagram whose preamble was read without an error. `info` has everything but the data offset. Its first
  /// `skipped` messages are not published.
  Answer decode(std::span<const std::byte> datagram, const net::Preamble& preamble, PacketInfo& info,
                std::uint32_t skipped = 0) noexcept;
  /// Whether another copy of a datagram that did not decode can be decoded in its place.
  [[nodiscard]] bool can_decode_again() const noexcept {
    return framing_.reset == ResetRule::Packet && !framing_.blocks && !chunks_;
  }

  /// Counts and reports a datagram whose preamble is wrong (X9), and loses its data: the channel is invalid, unless it
  /// is reset with each datagram. For datagrams that nothing can replace.
  void lose(std::span<const std::byte> datagram, PacketInfo& info) noexcept;

  /// Reports such a datagram, and nothing else: an event record, and the watcher.
  void report_malformed(std::span<const std::byte> datagram, const PacketInfo& info) noexcept;

  /// Data of the channel is missing: unless it is reset with each datagram, it now waits for a reset.
  void invalidate() noexcept {
    if (framing_.reset != ResetRule::Packet) target_.engine->invalidate(channel_);
  }
  /// A stream begins that has nothing to do with what was decoded of this channel before.
  void reset() noexcept { target_.engine->reset(channel_); }
  /// Another image decodes from here on: nothing is known of how well.
  void image_changed() noexcept {
    health_.forget();
    invalidate();
  }

  void write_event(const PacketInfo& info, const record::Event& event) noexcept {
    feed::write_event(target_, channel_, info, event);
  }

  [[nodiscard]] std::uint16_t channel() const noexcept { return channel_; }
  [[nodiscard]] const net::Framing& framing() const noexcept { return framing_; }
  [[nodiscard]] Quality quality() const noexcept { return health_.quality(); }
  /// Chunked messages that have begun and are not complete.
  [[nodiscard]] std::uint64_t open_messages() const noexcept { return chunks_ ? chunks_->open_messages() : 0; }

 private:
  void run_blocks(std::span<const std::byte> data, PacketInfo& info) noexcept;
  /// False: the rest of the datagram is dropped.
  [[gnu::always_inline]] bool run_engine(std::span<const std::byte> datagram, const PacketInfo& info,
                                         record::RecordSink& sink) noexcept;
  void note_error(const Outcome& outcome, const PacketInfo& info, std::span<const std::byte> datagram) noexcept;
  void note_success(const PacketInfo& info) noexcept;

  const net::Framing& framing_;
  const std::uint16_t channel_;
  const Target& target_;
  Counts& counts_;
  Watcher& watcher_;
  std::unique_ptr<net::ChunkAssembler> chunks_;  ///< b3 only.
  std::uint64_t errors_ = 0;
  DecodeHealth health_;
};

}  // namespace stopbit::feed
