#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"

namespace stopbit::cases {

/// A part of a case file: a line `-- name argument`, and the lines up to the next such line.
struct Section {
  std::string name;
  std::string argument;    ///< The rest of the header line, e.g. a file name; usually empty.
  std::size_t header = 0;  ///< Offset of the header line.
  std::size_t begin = 0;   ///< Body [begin, end), empty lines at its end left out.
  std::size_t end = 0;
};

/// A case: one text file, read into sections. Owns its text.
class CaseFile {
 public:
  /// Nothing if there were errors: no sections, an unknown or doubled one, text before the first one.
  [[nodiscard]] static std::optional<CaseFile> parse(std::shared_ptr<const SourceBuffer> source,
                                                     Diagnostics& diagnostics);

  [[nodiscard]] const std::shared_ptr<const SourceBuffer>& source() const noexcept { return source_; }
  [[nodiscard]] const std::vector<Section>& sections() const noexcept { return sections_; }
  /// The first section of that name, or null.
  [[nodiscard]] const Section* find(std::string_view name) const noexcept;
  [[nodiscard]] std::string_view text(const Section& section) const;
  /// Lines of the section without white space at their ends; none if it is null.
  [[nodiscard]] std::vector<std::string> lines(const Section* section) const;
  /// The section's text as a file of its own: its lines and columns count from the section's first line.
  [[nodiscard]] std::shared_ptr<const SourceBuffer> as_file(const Section& section,
                                                            std::string_view default_name) const;

  /// The whole text with the body of a section replaced, or the section appended if there is none. Empty lines of the
  /// body drop an existing section.
  [[nodiscard]] std::string with(std::string_view name, const std::vector<std::string>& lines) const;

 private:
  std::shared_ptr<const SourceBuffer> source_;
  std::vector<Section> sections_;
};

[[nodiscard]] std::string_view without_trailing_space(std::string_view text);

/// Every *.case below `folder`, sorted.
[[nodiscard]] std::vector<std::filesystem::path> find_cases(const std::filesystem::path& folder);

}  // namespace stopbit::cases
