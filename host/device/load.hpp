#pragma once

#include <cstdint>
#include <span>

#include "host/device/firmware/device.hpp"
#include "host/device/kernel.hpp"

namespace stopbit::device {

/// The bank that engines run from.
inline constexpr std::uint32_t kEngineBank = 0;

/// Loads words into that bank, and verifies them.
[[nodiscard]] Status load_words(Kernel& kernel, std::span<const firmware::Word> words);

}  // namespace stopbit::device
