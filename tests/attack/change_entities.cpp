#include "tests/attack/change_entities.hpp"

#include <array>
#include <limits>
#include <utility>

#include "tests/lib/wire_encoder.hpp"

namespace stopbit::attack {
namespace {

using Entity = cases::Bytes;
using Message = cases::RandomCase::Message;
using Packet = cases::RandomCase::Packet;

constexpr std::uint8_t kStopBit = 0x80;
constexpr std::uint64_t kMaxChanges = 4;

/// A number at a limit of a type, or one beside it.
Entity number_at_a_limit(cases::Random& random) {
  constexpr std::array<cases::Int128, 16> kLimits = {0,
                                                     63,
                                                     127,
                                                     128,
                                                     255,
                                                     32'767,
                                                     65'535,
                                                     std::numeric_limits<std::int32_t>::max(),
                                                     std::numeric_limits<std::uint32_t>::max(),
                                                     std::numeric_limits<std::int64_t>::max(),
                                                     std::numeric_limits<std::uint64_t>::max(),
                                                     -64,
                                                     -128,
                                                     -32'768,
                                                     std::numeric_limits<std::int32_t>::min(),
                                                     std::numeric_limits<std::int64_t>::min()};
  const cases::Int128 limit = random.pick(kLimits);
  const cases::Int128 value = limit + static_cast<cases::Int128>(random.below(5)) - 2;
  const std::size_t redundant = random.chance(20) ? random.below(4) : 0;
  return value < 0 || random.chance(50) ? cases::encode_signed(value, redundant)
                                        : cases::encode_unsigned(value, redundant);
}

Entity noise(cases::Random& random) {
  Entity bytes(1 + random.below(6));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return bytes;
}

void change(Packet& packet, const std::vector<Packet>& packets, cases::Random& random) {
  if (packet.empty()) return;
  Message& message = random.pick(packet);
  if (message.empty()) return;
  const auto at = static_cast<std::size_t>(random.below(message.size()));
  const auto place = message.begin() + static_cast<std::ptrdiff_t>(at);
  Entity& entity = message[at];
  switch (random.below(14)) {
    case 0: message.erase(place); break;
    case 1: message.insert(place, Entity(entity)); break;
    case 2: std::swap(entity, random.pick(message)); break;
    case 3:
      if (const Packet& other = random.pick(packets); !other.empty()) {
        if (const Message& from = random.pick(other); !from.empty()) entity = random.pick(from);
      }
      break;
    case 4:
    case 5: entity = number_at_a_limit(random); break;
    case 6: message.insert(place, number_at_a_limit(random)); break;
    case 7: entity = {kStopBit}; break;
    case 8: {
      const std::uint8_t padding = random.chance(70) ? 0 : 0x7F;
      entity.insert(entity.begin(), 1 + random.below(3), padding);
      break;
    }
    case 9:
      if (!entity.empty()) entity.back() ^= kStopBit;
      break;
    case 10: entity = noise(random); break;
    case 11:
      if (const Packet& other = random.pick(packets); !other.empty()) packet.push_back(random.pick(other));
      break;
    default:
      if (!entity.empty()) random.pick(entity) ^= static_cast<std::uint8_t>(1U << random.below(8));
  }
}

}  // namespace

Bytes joined(const Packet& packet) {
  Bytes bytes;
  for (const Message& message : packet) {
    for (const Entity& entity : message) {
      for (const std::uint8_t byte : entity) bytes.push_back(static_cast<std::byte>(byte));
    }
  }
  return bytes;
}

Bytes change_entities(const std::vector<Packet>& packets, std::size_t which, cases::Random& random) {
  Packet packet = packets[which];
  for (std::uint64_t left = 1 + random.below(kMaxChanges); left > 0; --left) change(packet, packets, random);
  Bytes bytes = joined(packet);
  if (random.chance(10)) bytes.resize(random.below(bytes.size() + 1));
  return bytes;
}

}  // namespace stopbit::attack
