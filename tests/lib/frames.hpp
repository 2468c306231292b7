#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

/// Builds frames byte by byte; lengths are right unless a test spoils them.
namespace stopbit::net::testing {

using ByteVector = std::vector<std::byte>;

inline ByteVector bytes(std::initializer_list<int> values) {
  ByteVector result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

inline ByteVector bytes(std::string_view text) {
  ByteVector result;
  for (const char c : text) result.push_back(static_cast<std::byte>(c));
  return result;
}

inline ByteVector operator+(ByteVector left, const ByteVector& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline ByteVector be16(std::size_t value) {
  return bytes({static_cast<int>(value >> 8 & 0xFF), static_cast<int>(value & 0xFF)});
}

inline ByteVector be32(std::size_t value) {
  return be16(value >> 16) + be16(value);
}

/// From 10.1.2.3:20000 to 224.0.31.1:10001.
inline ByteVector udp(const ByteVector& payload) {
  return be16(20000) + be16(10001) + be16(8 + payload.size()) + be16(0) + payload;
}

inline ByteVector ipv4(const ByteVector& body, const ByteVector& options = {}, int protocol = 17,
                       std::size_t fragment = 0x4000) {
  return bytes({static_cast<int>(0x45 + options.size() / 4), 0}) + be16(20 + options.size() + body.size()) + be16(7) +
         be16(fragment) + bytes({16, protocol}) + be16(0) + bytes({10, 1, 2, 3, 224, 0, 31, 1}) + options + body;
}

inline ByteVector ethernet(const ByteVector& body, const ByteVector& tags_and_type = be16(0x0800)) {
  return bytes({1, 0, 0x5E, 0, 31, 1, 2, 0, 0, 0, 0, 1}) + tags_and_type + body;
}

}  // namespace stopbit::net::testing
