#include "host/multicast/refill_message.hpp"

#include <cstring>

#include "host/market/event/sbe.hpp"

namespace stopbit::multicast {
namespace {

constexpr std::uint32_t kRequestMagic = 0x51'52'42'53;  ///< "SBRQ"
constexpr std::uint32_t kAnswerMagic = 0x41'52'42'53;   ///< "SBRA"

struct RequestBytes {
  std::uint32_t magic;
  std::uint8_t version, kind;
  std::uint16_t zero;
  std::uint64_t first, end, more;
};
static_assert(sizeof(RequestBytes) == kRequestBytes);
struct AnswerBytes {
  std::uint32_t magic;
  std::uint8_t version, kind;
  std::uint16_t zero;
  std::uint32_t bytes, more;
};
static_assert(sizeof(AnswerBytes) == kAnswerHeadBytes);
struct CompletionBytes {
  std::uint64_t status, epoch, oldest, next;
};
static_assert(sizeof(CompletionBytes) == kDoneBytes);

static_assert(sizeof(StateHead) == kStateHeadBytes);

template <class T>
T read(std::span<const std::byte> from) noexcept {
  T value;
  std::memcpy(&value, from.data(), sizeof(value));
  return value;
}

}  // namespace

void encode(const Request& request, std::span<std::byte, kRequestBytes> to) noexcept {
  const RequestBytes bytes{kRequestMagic, kVersion, static_cast<std::uint8_t>(request.kind), 0, request.first,
                           request.end,   0};
  std::memcpy(to.data(), &bytes, sizeof(bytes));
}

void encode(const AnswerHead& head, std::span<std::byte, kAnswerHeadBytes> to) noexcept {
  const AnswerBytes bytes{kAnswerMagic, kVersion, static_cast<std::uint8_t>(head.kind), 0, head.bytes, 0};
  std::memcpy(to.data(), &bytes, sizeof(bytes));
}

void encode(const Completion& done, std::span<std::byte, kDoneBytes> to) noexcept {
  const CompletionBytes bytes{static_cast<std::uint64_t>(done.status), done.epoch, done.oldest, done.next};
  std::memcpy(to.data(), &bytes, sizeof(bytes));
}

std::optional<Request> decode_request(std::span<const std::byte, kRequestBytes> from) noexcept {
  const auto bytes = read<RequestBytes>(from);
  if (bytes.magic != kRequestMagic || bytes.version != kVersion || bytes.zero != 0 || bytes.more != 0) return {};
  const auto kind = static_cast<Request::Kind>(bytes.kind);
  const bool is_possible =
      (kind == Request::Kind::Packets && bytes.end >= bytes.first && bytes.end - bytes.first <= kMostRequested) ||
      (kind == Request::Kind::Layout && bytes.end == 0) ||
      (kind == Request::Kind::State && bytes.first == 0 && bytes.end == 0);
  if (!is_possible) return {};
  return Request{kind, bytes.first, bytes.end};
}

std::optional<AnswerHead> decode_answer_head(std::span<const std::byte, kAnswerHeadBytes> from) noexcept {
  const auto bytes = read<AnswerBytes>(from);
  if (bytes.magic != kAnswerMagic || bytes.version != kVersion || bytes.zero != 0 || bytes.more != 0) return {};
  const auto kind = static_cast<AnswerHead::Kind>(bytes.kind);
  const bool is_possible =
      (kind == AnswerHead::Kind::Packet && bytes.bytes >= kHeadBytes && bytes.bytes <= kMaxPacketBytes) ||
      (kind == AnswerHead::Kind::Layout && bytes.bytes != 0 && bytes.bytes <= limits::kMaxImageBytes) ||
      (kind == AnswerHead::Kind::Done && bytes.bytes == kDoneBytes) ||
      (kind == AnswerHead::Kind::State && bytes.bytes >= kStateHeadBytes && bytes.bytes <= kMostStateBytes);
  if (!is_possible) return {};
  return AnswerHead{kind, bytes.bytes};
}

std::optional<Completion> decode_done(std::span<const std::byte, kDoneBytes> from) noexcept {
  const auto bytes = read<CompletionBytes>(from);
  if (bytes.status > static_cast<std::uint64_t>(Completion::Status::Unknown) || bytes.next < bytes.oldest) return {};
  return Completion{static_cast<Completion::Status>(bytes.status), bytes.epoch, bytes.oldest, bytes.next};
}

void encode(const StateHead& head, std::span<std::byte, kStateHeadBytes> to) noexcept {
  std::memcpy(to.data(), &head, sizeof(head));
}

std::optional<StateHead> decode_state(std::span<const std::byte> item) noexcept {
  if (item.size() < kStateHeadBytes || (item.size() - kStateHeadBytes) % kEventBytes != 0) return {};
  for (std::size_t at = kStateHeadBytes; at < item.size(); at += kEventBytes) {
    if (!market::read_sbe(item.subspan(at, kEventBytes))) return {};
  }
  return read<StateHead>(item);
}

}  // namespace stopbit::multicast
