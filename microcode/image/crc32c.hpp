#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stopbit::image {

/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78) of the bytes; "123456789" gives 0xE3069283.
/// To continue over several pieces, pass the value so far.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t so_far = 0) noexcept;

}  // namespace stopbit::image
