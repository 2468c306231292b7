#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

/// What ports of PALMS send each other in messages of the network interface. The receiver's node says whose a message
/// is; nothing in it is believed.
namespace stopbit::nic::palms {

inline constexpr std::size_t kFragmentBytes = 1024;  ///< Of the longest, so that every carrier takes it.
inline constexpr std::size_t kFragmentHeadBytes = 32;
inline constexpr std::size_t kPayloadBytes = kFragmentBytes - kFragmentHeadBytes;
inline constexpr std::size_t kMostHeaderBytes = 256;  ///< Of a message's header segment.
inline constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 40;

struct Fragment {
  enum class Kind : std::uint8_t {
    Hello = 1,  ///< A connection begins, with sequence 0. One of before is over.
    Piece = 2,  ///< Of a message.
    Reset = 3,  ///< The receiver does not have this connection: it ended, or there was no room for it.
    Close = 4,  ///< The sender ends the connection.
  };
  Kind kind = Kind::Piece;
  bool is_first = false;           ///< The message begins.
  bool is_last = false;            ///< The message ends.
  std::uint32_t connection = 0;    ///< Chosen at random by its sender; never 0.
  std::uint32_t sequence = 0;      ///< One more with each piece of a connection.
  std::uint32_t tag = 0;           ///< The message's.
  std::uint16_t header_bytes = 0;  ///< In the first piece.
  std::uint16_t data_bytes = 0;    ///< After them.
  std::uint64_t total = 0;         ///< Data of the whole message.
};

void encode(const Fragment& fragment, std::span<std::byte, kFragmentHeadBytes> to) noexcept;
/// The head of a message of the network interface. Nothing: it is no fragment, or its lengths are not those of
/// `message`.
[[nodiscard]] std::optional<Fragment> decode_fragment(std::span<const std::byte> message) noexcept;

/// The pieces of one connection in their order: what is missing, repeated or impossible.
class Sequence {
 public:
  enum class Taken : std::uint8_t {
    Next,        ///< The next piece.
    Repeated,    ///< It was here before.
    Early,       ///< One before it is missing: its sender sends both again.
    Impossible,  ///< No sender of this library sends it: the connection is of no use any more.
  };
  [[nodiscard]] Taken take(const Fragment& piece) noexcept;
  /// Where the data of the piece that was taken last begin in its message.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

 private:
  std::uint32_t next_ = 0;
  bool is_within_ = false;  ///< A message has begun and not ended.
  std::uint64_t total_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t offset_ = 0;
  std::uint32_t tag_ = 0;
};

}  // namespace stopbit::nic::palms
