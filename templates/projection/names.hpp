#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"
#include "templates/report.hpp"

namespace stopbit::templates::projection {

/// A name of the template files, with its `id` attribute; 0 = none.
struct Label {
  std::string_view text;
  std::uint32_t id = 0;
};

/// A part of a name in a list of fields.
struct Part {
  std::string_view text;
  std::optional<std::uint32_t> number;  ///< If the text is one.

  [[nodiscard]] bool is_any() const { return text == "*"; }
  [[nodiscard]] bool matches(const Label& label) const {
    return is_any() || text == label.text || (number && label.id != 0 && *number == label.id);
  }
};

/// "Name", or with names around it, "Template/Sequence/Name". Points into the source.
struct FieldName {
  std::vector<Part> parts;
  SourceRange range;
  bool is_used = false;  ///< Something has this name.

  [[nodiscard]] std::string_view text() const { return range.source->text().substr(range.offset, range.length); }
};

/// The names of a list. Reports parts without a name and more names than allowed.
[[nodiscard]] std::vector<FieldName> parse(const std::shared_ptr<const SourceBuffer>& fields, Report& report);

/// How many letters must be changed, put in or left out to make one text of the other, whatever their case;
/// `bound` + 1 if more than `bound`.
[[nodiscard]] std::size_t distance(std::string_view a, std::string_view b, std::size_t bound);

}  // namespace stopbit::templates::projection
