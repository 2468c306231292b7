#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/layout.hpp"
#include "microcode/base/result.hpp"

/// Messages of a stream into which a relay copies a ring: a head of 64 bytes, then whole slots as they are in the ring.
/// doc/relay.md describes the bytes.
namespace stopbit::relay {

inline constexpr std::size_t kMessageSlots = 64;  ///< A message carries at most this many.
inline constexpr std::size_t kHeadBytes = 64;
inline constexpr std::size_t kMessageBytes = kHeadBytes + kMessageSlots * record::kSlotBytes;

enum class Kind : std::uint8_t {
  Records = 1,  ///< Slots.
  Begin = 2,    ///< The stream has the ring's records from here on.
  Lost = 3,     ///< The relay did not get the records between `first` and `end`.
  End = 4,      ///< No more records of this ring follow.
};

/// Why no more follow.
enum class Ending : std::uint8_t { None = 0, Finished = 1, Died = 2, Damaged = 3 };

inline constexpr std::uint64_t kUnknownCount = ~std::uint64_t{0};

struct Head {
  Kind kind = Kind::Records;
  Ending ending = Ending::None;  ///< Of an End.
  /// The last record of the message goes on in the next one.
  bool is_open = false;
  std::uint16_t part = 0;     ///< Slots of the first record that earlier messages carry.
  std::uint16_t channel = 0;  ///< Of all records in the message.
  std::uint64_t epoch = 0;    ///< Of the ring.
  std::uint64_t first = 0;    ///< Number of the first slot.
  std::uint64_t end = 0;      ///< Number of the slot after the last one.
  std::uint64_t records = 0;  ///< Records of the ring that began before `first`.
  std::uint64_t count = 0;    ///< Records that begin in the message, or are lost; of the latter maybe kUnknownCount.
  std::uint64_t layout = 0;   ///< Name of the ring's image: `name_of_layout`.

  /// Records that began before `end`.
  [[nodiscard]] std::uint64_t records_after() const noexcept {
    return count == kUnknownCount ? records : records + count;
  }
  [[nodiscard]] std::size_t slots() const noexcept { return kind == Kind::Records ? end - first : 0; }
  [[nodiscard]] std::size_t bytes() const noexcept { return kHeadBytes + slots() * record::kSlotBytes; }
};

/// Writes the head in front of the slots, which are in place already: `message` has head.bytes() bytes.
void encode_head(const Head& head, std::span<std::byte> message) noexcept;
/// Checks everything that can be checked without knowing the messages before: lengths, numbers, checksum.
[[nodiscard]] Result<Head> decode_message(std::span<const std::byte> message);

/// Why the numbers of a head with this many slots are not possible together; empty: they are.
[[nodiscard]] const char* contradiction(const Head& head, std::size_t slots) noexcept;

/// Makes the checksum of anything right, for tests of what comes after it.
void repair_sum(std::span<std::byte> message) noexcept;

/// What identifies a message in its stream: kind, epoch, first slot and end. The end is part of it because the next
/// message has to follow exactly this one: two runs of a relay may cut the same records differently.
[[nodiscard]] std::string id_of(const Head& head);

[[nodiscard]] std::uint64_t name_of_layout(std::span<const std::byte> image) noexcept;

/// A piece of an image, which lies beside the stream: a head of 32 bytes, then the bytes.
struct LayoutPart {
  std::uint64_t name = 0;    ///< name_of_layout of the whole.
  std::uint64_t offset = 0;  ///< Of these bytes in the image.
  std::uint64_t total = 0;   ///< Bytes of the image.
  std::span<const std::byte> bytes;
};
inline constexpr std::size_t kPartHeadBytes = 32;
inline constexpr std::size_t kPartBytes = 256 * 1024;  ///< Of the image in a part; the last one has less.
[[nodiscard]] std::vector<std::byte> encode_part(const LayoutPart& part);
/// Checked but for the name, which only the whole image shows.
[[nodiscard]] Result<LayoutPart> decode_part(std::span<const std::byte> message);

/// Last part of the subject: the channel, or "ring" for what is about the ring.
[[nodiscard]] std::string topic_of(const Head& head);

}  // namespace stopbit::relay
