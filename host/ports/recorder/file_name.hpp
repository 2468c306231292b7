#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// Names of recorded files: "seven-a-000012.pcapng"; frozen "frozen-seven-a-000012.pcapng"; compressed, which only
/// frozen ones are, "frozen-seven-a-000012.pcapng.zst".
namespace stopbit::recorder {

inline constexpr std::string_view kSuffix = ".pcapng";
inline constexpr std::string_view kCompressedSuffix = ".zst";
inline constexpr std::string_view kFrozenPrefix = "frozen-";

struct FileName {
  std::string line;  ///< "seven-a"
  std::uint64_t number = 0;
  bool is_frozen = false;
  bool is_compressed = false;
};
/// Nothing for a name that no recorder has made.
[[nodiscard]] std::optional<FileName> parse_file_name(std::string_view name);
[[nodiscard]] std::string to_text(const FileName& name);

struct RecordedFile {
  FileName name;
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t written_ns = 0;  ///< Wall clock, when it was last written: no packet in it is newer.
};
/// The recorded files in a folder, by line and number. Other files, links and folders are left out.
[[nodiscard]] std::vector<RecordedFile> recorded_files(const std::string& folder, std::error_code& error);
/// Without compressed files beside which there is the plain one, with the same packets: a compression that was killed
/// has left both.
[[nodiscard]] std::vector<RecordedFile> without_copies(std::vector<RecordedFile> files);

}  // namespace stopbit::recorder
