// Tests that take minutes have two forms: a short one, which `./dev test` runs, and a long one, which `./dev nightly
// tests` runs with STOPBIT_LONG=1 in the environment.
#pragma once

#include <cstdlib>
#include <string_view>

namespace stopbit {

[[nodiscard]] inline bool is_long_form() {
  const char* const said = std::getenv("STOPBIT_LONG");
  return said != nullptr && *said != '\0' && std::string_view(said) != "0";
}

template <typename T>
[[nodiscard]] T by_form(T in_short, T in_long) {
  return is_long_form() ? in_long : in_short;
}

}  // namespace stopbit
