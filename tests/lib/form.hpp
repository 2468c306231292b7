// Tests that take minutes have a short form, which `./dev test` runs, and a long one, which `./dev nightly tests` runs
// with STOPBIT_LONG=1 in the environment. With sanitizers, which make code several times as slow, random tests are
// shorter still where the preset `release` runs them as well.
#pragma once

#include <cstdlib>
#include <string_view>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STOPBIT_SANITIZED 1
#elif defined(__has_feature)
#define STOPBIT_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define STOPBIT_SANITIZED 0
#endif

namespace stopbit {

/// The program has the runtime of a sanitizer, which is slow, allocates, and makes system calls of its own.
inline constexpr bool kSanitized = STOPBIT_SANITIZED;

[[nodiscard]] inline bool is_long_form() {
  const char* const said = std::getenv("STOPBIT_LONG");
  return said != nullptr && *said != '\0' && std::string_view(said) != "0";
}

template <typename T>
[[nodiscard]] T by_form(T in_short, T in_long) {
  return is_long_form() ? in_long : in_short;
}

template <typename T>
[[nodiscard]] T by_form(T sanitized, T in_short, T in_long) {
  return by_form(kSanitized ? sanitized : in_short, in_long);
}

}  // namespace stopbit
