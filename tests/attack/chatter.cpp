#include "tests/attack/chatter.hpp"

#include <utility>

namespace stopbit::attack {
namespace {

constexpr std::uint64_t kStopBit = 0x80;
constexpr std::uint64_t kIdBit = 0x40;  ///< The first bit of a map.

}  // namespace

Chatter::Chatter(const Program& program, cases::Random& random) : random_(random) {
  for (const DispatchEntry& entry : program.dispatch) {
    if (entry.table == 0) ids_.push_back(entry.id);
  }
}

const Bytes& Chatter::next() {
  return next(ids_.empty() ? 0 : random_.pick(ids_));
}

const Bytes& Chatter::next(std::uint32_t template_id) {
  (void)start(template_id);
  for (std::uint64_t left = random_.below(random_.chance(95) ? 24 : 120); left > 0; --left) {
    if (!ids_.empty() && random_.chance(3)) {
      map();
      identifier(random_.pick(ids_));
    } else {
      entity();
    }
  }
  return bytes_;
}

const Bytes& Chatter::start(std::uint32_t template_id) {
  bytes_.clear();
  map();
  identifier(template_id);
  return bytes_;
}

void Chatter::map() {
  const std::uint64_t style = random_.below(4);
  const auto seven = [&] { return style == 0 ? 0x7F : style == 1 ? 0 : random_.below(128); };
  std::uint64_t bits = seven() | kIdBit;
  for (std::uint64_t more = random_.chance(30) ? random_.below(4) : 0; more > 0; --more) {
    byte(bits);
    bits = seven();
  }
  byte(bits | kStopBit);
}

void Chatter::identifier(std::uint32_t id) {
  unsigned shift = 28;
  while (shift > 0 && id >> shift == 0) shift -= 7;
  for (; shift > 0; shift -= 7) byte(id >> shift & 0x7F);
  byte((id & 0x7F) | kStopBit);
}

void Chatter::entity() {
  const std::uint64_t form = random_.below(16);
  if (form < 8) {
    byte(kStopBit | random_.below(4));
  } else if (form < 11) {
    byte(kStopBit | random_.below(128));
  } else if (form < 13) {
    for (std::uint64_t left = random_.below(10); left > 0; --left) byte(random_.below(128));
    byte(kStopBit | random_.below(128));
  } else if (form == 13) {  // redundant bytes, zeros or signs
    const std::uint64_t padding = random_.chance(50) ? 0 : 0x7F;
    for (std::uint64_t left = random_.below(12); left > 0; --left) byte(padding);
    byte(kStopBit | random_.below(128));
  } else if (form == 14) {  // a vector
    const std::uint64_t length = random_.below(20);
    byte(kStopBit | length);
    for (std::uint64_t left = length; left > 0; --left) byte(random_.below(256));
  } else {
    byte(random_.below(256));
  }
}

std::optional<Bytes> find_good_message(Target& target, std::uint32_t template_id, std::size_t attempts,
                                       Chatter& chatter) {
  const auto decode = [&](std::span<const std::byte> bytes) {
    target.reset();
    return target.decode(bytes);
  };
  std::optional<Bytes> best;
  std::uint32_t most_fields = 0;
  for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
    const Bytes& bytes = chatter.next(template_id);
    if (decode(bytes).messages == 0) continue;
    // The shortest prefix that is a message.
    std::size_t low = 1;
    std::size_t high = bytes.size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (decode(std::span(bytes).first(middle)).messages == 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const Outcome outcome = decode(std::span(bytes).first(low));
    if (outcome.messages != 1 || (best && outcome.fields <= most_fields)) continue;
    most_fields = outcome.fields;
    best.emplace(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(low));
  }
  target.reset();
  return best;
}

}  // namespace stopbit::attack
