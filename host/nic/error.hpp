#pragma once

#include <cstdint>

namespace stopbit::nic {

/// Why a command was not carried out; the 5-bit code of a notification.
enum class Error : std::uint8_t {
#define STOPBIT_NIC_ERROR(enumerator, code, name, meaning) enumerator = code,  ///< meaning
#include "host/nic/error.def"
#undef STOPBIT_NIC_ERROR
};
inline constexpr std::uint8_t kErrors = 22;

/// "ERR_TWINID_CAPA"; "ERR_?" for a number that is none.
[[nodiscard]] const char* to_name(Error error) noexcept;
/// "wrong capability".
[[nodiscard]] const char* to_meaning(Error error) noexcept;

}  // namespace stopbit::nic
