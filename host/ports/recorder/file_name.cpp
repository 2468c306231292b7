#include "host/ports/recorder/file_name.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "host/os/disk/disk.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::recorder {

std::optional<FileName> parse_file_name(std::string_view name) {
  FileName file;
  if (name.ends_with(kCompressedSuffix)) {
    file.is_compressed = true;
    name.remove_suffix(kCompressedSuffix.size());
  }
  if (name.starts_with(kFrozenPrefix)) {
    file.is_frozen = true;
    name.remove_prefix(kFrozenPrefix.size());
  }
  if (!name.ends_with(kSuffix) || (file.is_compressed && !file.is_frozen)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = name.substr(dash + 1);
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), file.number);
  if (error != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  file.line = name.substr(0, dash);
  return file;
}

std::string to_text(const FileName& name) {
  constexpr std::size_t kDigits = 6;
  std::string number = std::to_string(name.number);
  number.insert(0, number.size() < kDigits ? kDigits - number.size() : 0, '0');
  std::string text(name.is_frozen ? kFrozenPrefix : std::string_view());
  text += name.line + '-' + number;
  text += kSuffix;
  if (name.is_compressed) text += kCompressedSuffix;
  return text;
}

std::vector<RecordedFile> recorded_files(const std::string& folder, std::error_code& error) {
  std::vector<RecordedFile> files;
  for (const std::string& name : disk::names_in(folder, error)) {
    std::optional<FileName> parsed = parse_file_name(name);
    if (!parsed) continue;
    std::string path = folder + "/" + name;
    struct stat status {};
    // One that is renamed or deleted meanwhile is no error: the recorder does that all the time.
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    files.push_back(
        {.name = std::move(*parsed),
         .path = std::move(path),
         .bytes = static_cast<std::uint64_t>(status.st_size),
         .written_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, status.st_mtim.tv_sec)) * kNsPerSecond +
                       static_cast<std::uint64_t>(status.st_mtim.tv_nsec)});
  }
  std::sort(files.begin(), files.end(), [](const RecordedFile& left, const RecordedFile& right) {
    return std::tie(left.name.line, left.name.number) < std::tie(right.name.line, right.name.number);
  });
  return files;
}

std::vector<RecordedFile> without_copies(std::vector<RecordedFile> files) {
  std::set<std::pair<std::string, std::uint64_t>> plain;
  for (const RecordedFile& file : files) {
    if (!file.name.is_compressed) plain.emplace(file.name.line, file.name.number);
  }
  std::erase_if(files, [&](const RecordedFile& file) {
    return file.name.is_compressed && plain.contains({file.name.line, file.name.number});
  });
  return files;
}

}  // namespace stopbit::recorder
