#include "host/relay/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "microcode/base/hash.hpp"
#include "microcode/base/limits.hpp"
#include "microcode/image/crc32c.hpp"

namespace stopbit::relay {
namespace {

using Words = std::array<std::uint64_t, kHeadBytes / sizeof(std::uint64_t)>;
static_assert(std::endian::native == std::endian::little, "the words of a message are little-endian");

constexpr std::uint64_t kMagic = 0x31'594C'5242'53;  ///< "SBRLY1" in the lower six bytes.
constexpr std::uint64_t kMagicMask = 0xFFFF'FFFF'FFFF;
constexpr std::uint64_t kPartMagic = 0x31'5941'4C42'53;  ///< "SBLAY1".
constexpr unsigned kSumShift = 32;
constexpr std::uint64_t kOpenBit = std::uint64_t{1} << 7;  ///< Beside Ending.
/// Numbers of slots and records stay far below: a ring of a billion slots a second reaches it after 146 years.
constexpr std::uint64_t kMaxNumber = std::uint64_t{1} << 62;

/// Of the whole message, with its own place as zero.
std::uint32_t sum_of(Words words, std::span<const std::byte> slots) noexcept {
  words[7] &= (std::uint64_t{1} << kSumShift) - 1;
  return image::crc32c(slots, image::crc32c(std::as_bytes(std::span(words))));
}

}  // namespace

const char* contradiction(const Head& head, std::size_t slots) noexcept {
  if (head.end < head.first || head.end > kMaxNumber) return "its last slot is before its first";
  if (head.records > kMaxNumber || (head.count > kMaxNumber && head.count != kUnknownCount)) {
    return "it numbers records that no ring has had";
  }
  const bool has_slots = head.kind == Kind::Records;
  if (has_slots ? head.end - head.first != slots || slots == 0 : slots != 0) return "its length is wrong";
  if (has_slots && head.count > slots) return "it counts more records than slots";
  if (has_slots && head.count == 0 && head.part == 0) return "it has slots of no record";
  if (!has_slots && (head.part != 0 || head.is_open)) return "only records have parts";
  if ((head.kind == Kind::Begin || head.kind == Kind::End) && (head.end != head.first || head.count != 0)) {
    return "a mark has no length";
  }
  if ((head.kind == Kind::End) != (head.ending != Ending::None)) return "its ending is wrong";
  return "";
}

void encode_head(const Head& head, std::span<std::byte> message) noexcept {
  Words words{};
  const std::uint64_t flags = static_cast<std::uint64_t>(head.ending) | (head.is_open ? kOpenBit : 0);
  words[0] = kMagic | static_cast<std::uint64_t>(head.kind) << 48 | flags << 56;
  words[1] = head.epoch;
  words[2] = head.first;
  words[3] = head.end;
  words[4] = head.records;
  words[5] = head.count;
  words[6] = head.layout;
  words[7] = head.part | std::uint64_t{head.channel} << 16;
  std::memcpy(message.data(), words.data(), kHeadBytes);
  repair_sum(message);
}

Result<Head> decode_message(std::span<const std::byte> message) {
  Words words{};
  if (message.size() < kHeadBytes || (message.size() - kHeadBytes) % record::kSlotBytes != 0 ||
      message.size() > kMessageBytes) {
    return Failure{fmt::format("it has {} bytes, which no message of a relay has", message.size())};
  }
  std::memcpy(words.data(), message.data(), kHeadBytes);
  if ((words[0] & kMagicMask) != kMagic) return Failure{"no relay wrote it, or one of another version"};
  if (words[7] >> kSumShift != sum_of(words, message.subspan(kHeadBytes))) return Failure{"its checksum is wrong"};
  const auto kind = static_cast<std::uint8_t>(words[0] >> 48);
  const auto flags = static_cast<std::uint8_t>(words[0] >> 56);
  const auto ending = static_cast<std::uint8_t>(flags & ~kOpenBit);
  if (kind < static_cast<std::uint8_t>(Kind::Records) || kind > static_cast<std::uint8_t>(Kind::End) ||
      ending > static_cast<std::uint8_t>(Ending::Damaged)) {
    return Failure{"its kind is unknown"};
  }
  Head head;
  head.kind = static_cast<Kind>(kind);
  head.ending = static_cast<Ending>(ending);
  head.is_open = (flags & kOpenBit) != 0;
  head.epoch = words[1];
  head.first = words[2];
  head.end = words[3];
  head.records = words[4];
  head.count = words[5];
  head.layout = words[6];
  head.part = static_cast<std::uint16_t>(words[7]);
  head.channel = static_cast<std::uint16_t>(words[7] >> 16);
  const char* wrong = contradiction(head, (message.size() - kHeadBytes) / record::kSlotBytes);
  if (*wrong != '\0') return Failure{wrong};
  return head;
}

void repair_sum(std::span<std::byte> message) noexcept {
  Words words{};
  if (message.size() < kHeadBytes) return;
  std::memcpy(words.data(), message.data(), kHeadBytes);
  words[7] &= (std::uint64_t{1} << kSumShift) - 1;
  words[7] |= std::uint64_t{sum_of(words, message.subspan(kHeadBytes))} << kSumShift;
  std::memcpy(message.data(), words.data(), kHeadBytes);
}

std::string id_of(const Head& head) {
  constexpr char kLetters[] = {'?', 'r', 'b', 'l', 'e'};
  return fmt::format("{}{}.{}.{}", kLetters[static_cast<std::size_t>(head.kind)], head.epoch, head.first, head.end);
}

std::uint64_t name_of_layout(std::span<const std::byte> image) noexcept {
  return fnv1a(image);
}

std::vector<std::byte> encode_part(const LayoutPart& part) {
  const std::uint64_t words[] = {kPartMagic, part.name, part.offset, part.total};
  static_assert(sizeof(words) == kPartHeadBytes);
  std::vector<std::byte> message(kPartHeadBytes + part.bytes.size());
  std::memcpy(message.data(), words, kPartHeadBytes);
  std::copy(part.bytes.begin(), part.bytes.end(), message.begin() + kPartHeadBytes);
  return message;
}

Result<LayoutPart> decode_part(std::span<const std::byte> message) {
  std::uint64_t words[kPartHeadBytes / sizeof(std::uint64_t)] = {};
  if (message.size() < kPartHeadBytes) return Failure{"it is too short for a layout"};
  std::memcpy(words, message.data(), kPartHeadBytes);
  const LayoutPart part{words[1], words[2], words[3], message.subspan(kPartHeadBytes)};
  if (words[0] != kPartMagic) return Failure{"no relay wrote it, or one of another version"};
  if (part.total == 0 || part.total > limits::kMaxImageBytes || part.offset % kPartBytes != 0 ||
      part.offset >= part.total || part.bytes.size() != std::min<std::uint64_t>(kPartBytes, part.total - part.offset)) {
    return Failure{"its lengths are wrong"};
  }
  return part;
}

std::string topic_of(const Head& head) {
  return head.kind == Kind::Records ? std::to_string(head.channel) : "ring";
}

}  // namespace stopbit::relay
