#pragma once

#include <cstddef>
#include <string>

namespace stopbit::testing {

/// The value of a field of a FIX message; empty: it has none. By hand, so that no reader of ours says what is right.
[[nodiscard]] inline std::string fix_field(const std::string& message, const std::string& tag) {
  const std::size_t at = message.find('\1' + tag + '=');
  if (at == std::string::npos) return {};
  const std::size_t begin = at + tag.size() + 2;
  return message.substr(begin, message.find('\1', begin) - begin);
}

}  // namespace stopbit::testing
