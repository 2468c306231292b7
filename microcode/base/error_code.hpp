#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stopbit {

/// Why an input was refused. The enumerators are the codes that users see; the list with its meanings is
/// error_code.def. Values are part of the record layout (event records carry them): append, never renumber.
enum class ErrorCode : std::uint8_t {
  None = 0,
#define STOPBIT_ERROR(enumerator, code, meaning) enumerator,
#include "microcode/base/error_code.def"
#undef STOPBIT_ERROR
};

/// "D2"; empty for None and for values outside the list.
[[nodiscard]] std::string_view code_text(ErrorCode code) noexcept;

/// One sentence without a full stop; empty for None and for values outside the list.
[[nodiscard]] std::string_view code_meaning(ErrorCode code) noexcept;

/// The code written as `text` ("D2"), if there is one.
[[nodiscard]] std::optional<ErrorCode> code_from_text(std::string_view text) noexcept;

}  // namespace stopbit
