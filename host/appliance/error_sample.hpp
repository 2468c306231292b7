#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "microcode/base/error_code.hpp"

namespace stopbit::appliance {

/// The first datagram with an error of its kind, on its way to a thread that has the time to explain it. Kinds are
/// those of counters::Errors, so few are ever made.
struct ErrorSample {
  static constexpr std::size_t kMaxBytes = 9'216;

  std::uint32_t channel = 0;  ///< Index in the appliance.
  std::uint16_t generation = 0;
  std::uint16_t template_index = 0xFFFF;
  std::uint16_t block = 0xFFFF;
  std::uint8_t word = 255;
  ErrorCode code = ErrorCode::None;
  bool is_joined = false;  ///< Of chunks: the preamble is that of the first one.
  std::uint64_t time_ns = 0;
  std::uint32_t data_offset = 0;  ///< Where the engine began.
  std::uint32_t size = 0;         ///< Of the datagram; `bytes` has its beginning.
  std::array<std::byte, kMaxBytes> bytes;

  [[nodiscard]] std::span<const std::byte> datagram() const noexcept {
    return std::span(bytes).first(size < kMaxBytes ? size : kMaxBytes);
  }
};

}  // namespace stopbit::appliance
