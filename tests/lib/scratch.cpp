#include "tests/lib/scratch.hpp"
#include "tests/lib/file_text.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace stopbit::testing {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

}  // namespace

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "stopbit-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail(pattern);
  folder_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Scratch::write(std::string_view name, std::string_view content) const {
  const std::filesystem::path path = folder_ / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (!file.flush()) fail(path);
  return path;
}

std::string Scratch::read(std::string_view name) const {
  return file_text(folder_ / name);
}

}  // namespace stopbit::testing
