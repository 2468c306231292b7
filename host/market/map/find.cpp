#include "host/market/map/find.hpp"

#include "microcode/base/nearest.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace stopbit::market {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders() {
  std::vector<fs::path> found;
  if (const char* const own = std::getenv("STOPBIT_MAPS"); own != nullptr && *own != '\0') found.emplace_back(own);
  // Once: a confined process, which reads settings again, may not look.
  static const fs::path program = [] {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error);
  }();
  if (!program.empty()) found.push_back(program.parent_path().parent_path() / "share/stopbit/maps");
  return found;
}

}  // namespace

std::vector<std::string> installed_maps() {
  std::vector<std::string> names;
  for (const fs::path& folder : folders()) {
    std::error_code error;
    for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
      if (file->path().extension() == ".toml") names.push_back(file->path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<std::string> find_map(const std::string& name) {
  if (name.find('/') != std::string::npos || name.ends_with(".toml") || name == "-") return name;
  for (const fs::path& folder : folders()) {
    const fs::path file = folder / (name + ".toml");
    std::error_code error;
    if (fs::is_regular_file(file, error)) return file.string();
  }
  std::string known;
  for (const std::string& one : installed_maps()) known += (known.empty() ? "" : ", ") + one;
  if (known.empty()) return Failure{"there is no map '" + name + "'; none are installed: give the path of a file"};
  const std::string near = did_you_mean(name, installed_maps());
  return Failure{"there is no map '" + name + "'" + near + (near.empty() ? "; there are: " : " There are: ") + known};
}

}  // namespace stopbit::market
