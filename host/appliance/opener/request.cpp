#include "host/appliance/opener/request.hpp"

#include <cstring>

namespace stopbit::opener {
namespace {

constexpr std::uint32_t kMagic = 0x4F50'5453;  // "STPO"
constexpr std::array<std::string_view, kKinds> kTexts = {"socket", "read",    "append", "create", "keep",
                                                         "remove", "connect", "renew",  "tell"};

/// As it lies in memory: both ends are processes of one host.
struct Wire {
  std::uint32_t magic;
  std::uint16_t kind;
  std::uint16_t zero;
  std::uint32_t index;
  std::uint32_t zeros;
  std::uint64_t number;
};
static_assert(sizeof(Wire) == kRequestBytes);

bool has_number(RequestKind kind) noexcept {
  return kind == RequestKind::Append || kind == RequestKind::Create || kind == RequestKind::Keep ||
         kind == RequestKind::Remove;
}

/// The largest number of a request of the kind.
std::uint64_t most_of(RequestKind kind) noexcept {
  if (kind == RequestKind::Tell) return static_cast<std::uint64_t>(ListKind::Sets);
  return has_number(kind) ? kMaxNumber : 0;
}

}  // namespace

std::string_view to_text(RequestKind kind) noexcept {
  const auto number = static_cast<std::size_t>(kind);
  return number >= 1 && number <= kKinds ? kTexts[number - 1] : "unknown";
}

RequestBytes encode(const Request& request) noexcept {
  const Wire wire{.magic = kMagic,
                  .kind = static_cast<std::uint16_t>(request.kind),
                  .zero = 0,
                  .index = request.index,
                  .zeros = 0,
                  .number = request.number};
  RequestBytes bytes;
  std::memcpy(bytes.data(), &wire, sizeof(wire));
  return bytes;
}

std::optional<Request> parse_request(std::span<const std::byte> bytes) noexcept {
  Wire wire{};
  if (bytes.size() != sizeof(wire)) return std::nullopt;
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  if (wire.magic != kMagic || wire.kind < 1 || wire.kind > kKinds || wire.zero != 0 || wire.zeros != 0) {
    return std::nullopt;
  }
  const auto kind = static_cast<RequestKind>(wire.kind);
  if (wire.number > most_of(kind)) return std::nullopt;
  return Request{.kind = kind, .index = wire.index, .number = wire.number};
}

}  // namespace stopbit::opener
