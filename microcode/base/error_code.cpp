#include "microcode/base/error_code.hpp"

#include <array>

namespace stopbit {
namespace {

struct Entry {
  std::string_view code;
  std::string_view meaning;
};

constexpr Entry kEntries[] = {
    {"", ""},
#define STOPBIT_ERROR(enumerator, code, meaning) {code, meaning},
#include "microcode/base/error_code.def"
#undef STOPBIT_ERROR
};

}  // namespace

std::string_view code_text(ErrorCode code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(kEntries) ? kEntries[index].code : std::string_view{};
}

std::string_view code_meaning(ErrorCode code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(kEntries) ? kEntries[index].meaning : std::string_view{};
}

std::optional<ErrorCode> code_from_text(std::string_view text) noexcept {
  for (std::size_t i = 1; i < std::size(kEntries); ++i) {
    if (kEntries[i].code == text) return static_cast<ErrorCode>(i);
  }
  return std::nullopt;
}

}  // namespace stopbit
