#include "tests/lib/wire_encoder.hpp"

#include <algorithm>

namespace stopbit::cases {
namespace {

constexpr std::uint8_t kStopBit = 0x80;

/// Seven bits of `value` per byte, the least significant last; `done` says when the rest needs no byte.
template <class Done>
Bytes encode_integer(Int128 value, std::size_t redundant, Done done) {
  Bytes bytes;
  Int128 rest = value;
  do {
    bytes.push_back(static_cast<std::uint8_t>(rest & 0x7F));
    rest >>= 7;
  } while (!done(rest, bytes.back()));
  bytes.insert(bytes.end(), redundant, static_cast<std::uint8_t>(rest & 0x7F));
  std::reverse(bytes.begin(), bytes.end());
  bytes.back() |= kStopBit;
  return bytes;
}

}  // namespace

Bytes encode_signed(Int128 value, std::size_t redundant) {
  return encode_integer(value, redundant, [](Int128 rest, std::uint8_t byte) {
    const bool sign = (byte & 0x40) != 0;  // what the reader would extend
    return rest == (sign ? -1 : 0);
  });
}

Bytes encode_unsigned(Int128 value, std::size_t redundant) {
  return encode_integer(value, redundant, [](Int128 rest, std::uint8_t) { return rest == 0; });
}

Int128 to_nullable(std::optional<Int128> value) {
  if (!value) return 0;
  return *value >= 0 ? *value + 1 : *value;
}

Bytes encode_presence_map(std::string_view bits) {
  Bytes bytes;
  for (std::size_t at = 0; at < bits.size(); at += 7) {
    unsigned byte = 0;
    for (std::size_t i = at; i < at + 7; ++i) byte = byte << 1 | (i < bits.size() && bits[i] == '1' ? 1U : 0U);
    bytes.push_back(static_cast<std::uint8_t>(byte));
  }
  while (bytes.size() > 1 && bytes.back() == 0) bytes.pop_back();
  if (bytes.empty()) bytes.push_back(0);
  bytes.back() |= kStopBit;
  return bytes;
}

std::optional<Bytes> encode_ascii(std::optional<std::string_view> text, bool nullable) {
  if (!text) return Bytes{kStopBit};
  Bytes bytes;
  if (text->empty() || *text == std::string_view("\0", 1)) {
    // The zero preamble: "" is one zero less than "\0", and both move by one where NULL takes the shortest place.
    bytes.assign(text->size() + (nullable ? 2U : 1U), 0);
  } else {
    if (text->front() == '\0') return std::nullopt;
    for (const char c : *text) {
      if (static_cast<unsigned char>(c) > 0x7F) return std::nullopt;
      bytes.push_back(static_cast<std::uint8_t>(c));
    }
  }
  bytes.back() |= kStopBit;
  return bytes;
}

Bytes encode_vector(std::optional<std::string_view> text, bool nullable) {
  std::optional<Int128> length;
  if (text) length = static_cast<Int128>(text->size());
  Bytes bytes = encode_unsigned(nullable ? to_nullable(length) : length.value_or(0));
  if (text) bytes.insert(bytes.end(), text->begin(), text->end());
  return bytes;
}

Bytes encode_bits(const std::vector<std::pair<unsigned, Int128>>& fields) {
  std::string bits;
  for (const auto& [width, value] : fields) {
    for (unsigned bit = width; bit-- > 0;) bits += (value >> bit & 1) != 0 ? '1' : '0';
  }
  bits.resize((bits.size() + 6) / 7 * 7, '0');
  Bytes bytes;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (i % 7 == 0) bytes.push_back(0);
    bytes.back() = static_cast<std::uint8_t>(bytes.back() << 1 | (bits[i] - '0'));
  }
  bytes.back() |= kStopBit;
  return bytes;
}

}  // namespace stopbit::cases
