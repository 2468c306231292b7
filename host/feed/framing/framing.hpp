#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "decoder/engine/engine.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/base/limits.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::net {

/// How the bytes before the first FAST message of a datagram are read.
enum class FramingKind : std::uint8_t {
  Fixed,  ///< Fields at fixed offsets, given in Framing: most presets, and custom.
  B3,     ///< u32 sequence, u16 chunks, u16 chunk (from 1), u16 length of the chunk, all big-endian.
  T7,     ///< The first FAST message is the packet header; found by its shape, as its template id differs by interface.
};

/// An unsigned integer at a fixed place of the datagram.
struct PreambleField {
  std::uint32_t offset = 0;
  std::uint8_t bytes = 0;  ///< 2, 4 or 8; 0 = there is no such field.
  bool big_endian = true;
  bool operator==(const PreambleField&) const = default;
};

/// The framing of a feed. Plain data; made by parse_framing.
struct Framing {
  std::string name;  ///< As the user wrote it.
  FramingKind kind = FramingKind::Fixed;
  std::uint32_t skip = 0;  ///< Fixed: bytes before the first message.
  PreambleField sequence;  ///< Fixed.
  PreambleField length;    ///< Fixed: bytes of FAST data after the preamble.
  bool blocks = false;     ///< The data is blocks: a size (FAST unsigned integer), then that many bytes of messages.
  ResetRule reset = ResetRule::Packet;
  bool operator==(const Framing&) const = default;
};

/// A framing with a name: a row of framings.def, which explains the fields.
struct FramingPreset {
  std::string_view name;
  FramingKind kind;
  std::string_view settings;
  std::string_view before;
};
[[nodiscard]] std::span<const FramingPreset> framing_presets() noexcept;

/// Reads a framing: the name of a preset, or
///
///     custom:KEY=VALUE,...
///         skip=N                bytes before the first message (default: up to the end of the last field named here)
///         seq=TYPE@OFFSET       sequence number; TYPE is u16be u16le u32be u32le u64be u64le
///         len=TYPE@OFFSET       bytes of data after the preamble
///         blocks=yes|no         the data is blocks with a size each
///         reset=packet|template|never
///
/// The message of a failure names the place: "custom:skp=4: column 8: unknown key 'skp' (...)".
[[nodiscard]] Result<Framing> parse_framing(std::string_view text);

/// Content of the preamble. The FAST data is datagram[data_begin, data_end).
struct Preamble {
  ErrorCode error = ErrorCode::None;  ///< X9, and then nothing else is set.
  std::uint32_t data_begin = 0;
  std::uint32_t data_end = 0;
  std::uint64_t sequence = 0;
  std::uint16_t chunk = 1;  ///< b3: from 1.
  std::uint16_t chunks = 1;
  std::uint64_t sender = 0;           ///< t7: SenderCompID; another one is another sender after a fail-over.
  std::uint64_t sending_time_ns = 0;  ///< t7: UTC; 0 = unknown.
};

/// Reads the preamble of any bytes; never outside them. Work is bounded by a small constant.
[[nodiscard]] Preamble read_preamble(const Framing& framing, std::span<const std::byte> datagram) noexcept;

/// Walks the blocks of a datagram whose framing has them.
class BlockReader {
 public:
  /// The blocks of datagram[begin, end).
  BlockReader(std::span<const std::byte> datagram, std::uint32_t begin, std::uint32_t end) noexcept
      : datagram_(datagram.first(end)), at_(begin) {}

  struct Block {
    ErrorCode error = ErrorCode::None;  ///< D12: size zero. X1: the datagram ends inside the size or the block.
    std::uint32_t begin = 0;            ///< Of the messages; on an error, of the size.
    std::uint32_t end = 0;
  };
  /// Nothing after the last block or after an error.
  [[nodiscard]] std::optional<Block> next() noexcept;

 private:
  std::span<const std::byte> datagram_;
  std::size_t at_;
};

/// Puts the chunks of b3 messages together, per channel.
///
/// The chunks of a message share a sequence number and must come in order, 1 to n, on one channel. Whatever else
/// arrives on the channel before the last one gives the message up. One buffer per channel, allocated when it is made
/// and touched only by channels that send chunks; a message may have limits::kMaxDatagramBytes, the preamble of its
/// first chunk included.
class ChunkAssembler {
 public:
  explicit ChunkAssembler(std::uint16_t channels);

  enum class State : std::uint8_t {
    Complete,  ///< The datagram, or the message just completed, is in `whole`.
    Waiting,   ///< Chunks are still missing.
    Orphan,    ///< A chunk without the ones before it.
    TooLong,   ///< The message exceeds the buffer.
  };
  struct Answer {
    State state = State::Complete;
    bool gave_up = false;  ///< An incomplete message of this channel was given up before.
    std::span<const std::byte>
        whole;  ///< Preamble of the first chunk, then the data of all. Valid until the next call.
  };

  /// Takes a datagram whose preamble was read without error. `channel` must be below `channels`.
  [[nodiscard]] Answer add(std::uint16_t channel, std::span<const std::byte> datagram,
                           const Preamble& preamble) noexcept;

  /// Messages begun and not completed: to be counted as incomplete at the end.
  [[nodiscard]] std::uint64_t open_messages() const noexcept;

 private:
  struct Pending {
    std::uint64_t sequence = 0;
    std::uint32_t bytes = 0;
    std::uint16_t next_chunk = 0;  ///< 0 = no message is open.
    std::uint16_t chunks = 0;
  };

  std::unique_ptr<Pending[]> pending_;
  std::unique_ptr<std::byte[]> buffers_;  ///< Uninitialised: pages of channels without chunks stay untouched.
  std::uint16_t channels_;
};

}  // namespace stopbit::net
