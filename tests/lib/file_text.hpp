#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

namespace stopbit::testing {

/// All bytes of a file; nothing if it cannot be read, for the reason in errno.
[[nodiscard]] inline std::optional<std::string> file_text_if_any(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return std::nullopt;
  return text;
}

/// All bytes of a file. Throws std::system_error if it cannot be read.
[[nodiscard]] inline std::string file_text(const std::filesystem::path& path) {
  std::optional<std::string> text = file_text_if_any(path);
  if (!text) throw std::system_error(errno, std::generic_category(), path.string());
  return std::move(*text);
}

}  // namespace stopbit::testing
