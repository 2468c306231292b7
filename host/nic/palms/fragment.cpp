#include "host/nic/palms/fragment.hpp"

#include <bit>
#include <cstring>

namespace stopbit::nic::palms {
namespace {

static_assert(std::endian::native == std::endian::little, "the numbers of a fragment are little-endian");

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kFirst = 1, kLast = 2;

struct Bytes {
  std::uint8_t version, kind, flags, zero;
  std::uint32_t connection, sequence, tag;
  std::uint16_t header_bytes, data_bytes;
  std::uint32_t zero_too;
  std::uint64_t total;
};
static_assert(sizeof(Bytes) == kFragmentHeadBytes);

}  // namespace

void encode(const Fragment& fragment, std::span<std::byte, kFragmentHeadBytes> to) noexcept {
  const Bytes bytes{
      .version = kVersion,
      .kind = static_cast<std::uint8_t>(fragment.kind),
      .flags = static_cast<std::uint8_t>((fragment.is_first ? kFirst : 0U) | (fragment.is_last ? kLast : 0U)),
      .zero = 0,
      .connection = fragment.connection,
      .sequence = fragment.sequence,
      .tag = fragment.tag,
      .header_bytes = fragment.header_bytes,
      .data_bytes = fragment.data_bytes,
      .zero_too = 0,
      .total = fragment.total};
  std::memcpy(to.data(), &bytes, sizeof(bytes));
}

std::optional<Fragment> decode_fragment(std::span<const std::byte> message) noexcept {
  if (message.size() < kFragmentHeadBytes || message.size() > kFragmentBytes) return {};
  Bytes bytes;
  std::memcpy(&bytes, message.data(), sizeof(bytes));
  if (bytes.version != kVersion || bytes.zero != 0 || bytes.zero_too != 0 || bytes.connection == 0) return {};
  if (bytes.kind < static_cast<std::uint8_t>(Fragment::Kind::Hello) ||
      bytes.kind > static_cast<std::uint8_t>(Fragment::Kind::Close) || bytes.flags > (kFirst | kLast)) {
    return {};
  }
  const std::size_t payload = message.size() - kFragmentHeadBytes;
  if (std::size_t{bytes.header_bytes} + bytes.data_bytes != payload || bytes.header_bytes > kMostHeaderBytes) return {};
  const Fragment fragment{.kind = static_cast<Fragment::Kind>(bytes.kind),
                          .is_first = (bytes.flags & kFirst) != 0,
                          .is_last = (bytes.flags & kLast) != 0,
                          .connection = bytes.connection,
                          .sequence = bytes.sequence,
                          .tag = bytes.tag,
                          .header_bytes = bytes.header_bytes,
                          .data_bytes = bytes.data_bytes,
                          .total = bytes.total};
  if (fragment.kind != Fragment::Kind::Piece) {
    if (payload != 0 || bytes.flags != 0 || bytes.sequence != 0 || bytes.tag != 0 || bytes.total != 0) return {};
    return fragment;
  }
  if (bytes.total > kMostMessageBytes || bytes.data_bytes > bytes.total) return {};
  if (!fragment.is_first && bytes.header_bytes != 0) return {};
  return fragment;
}

Sequence::Taken Sequence::take(const Fragment& piece) noexcept {
  if (piece.sequence != next_) {
    return static_cast<std::int32_t>(piece.sequence - next_) < 0 ? Taken::Repeated : Taken::Early;
  }
  const std::uint64_t begin = piece.is_first ? 0 : taken_;
  const std::uint64_t end = begin + piece.data_bytes;
  if (piece.is_first == is_within_ || end > piece.total || piece.is_last != (end == piece.total)) {
    return Taken::Impossible;
  }
  if (!piece.is_first && (piece.total != total_ || piece.tag != tag_ || piece.data_bytes == 0)) {
    return Taken::Impossible;
  }
  ++next_;
  is_within_ = !piece.is_last;
  total_ = piece.total;
  tag_ = piece.tag;
  offset_ = begin;
  taken_ = end;
  return Taken::Next;
}

}  // namespace stopbit::nic::palms
