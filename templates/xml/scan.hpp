#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"
#include "templates/file_limits.hpp"
#include "templates/report.hpp"

/// Reads XML text once without building anything: refuses what must not reach the tree builder, and notes positions.
/// The tree builder forgives much that XML does not.
namespace stopbit::templates::xml {

struct AttributePlace {
  std::uint32_t offset = 0;  ///< From the name ...
  std::uint32_t length = 0;  ///< ... to the closing quote.
};

/// A start tag or empty-element tag.
struct TagPlace {
  std::uint32_t offset = 0;  ///< Of '<'.
  std::uint32_t length = 0;  ///< To '>'.
  std::uint32_t first_attribute = 0;
  std::uint32_t attributes = 0;
  std::uint32_t text = 0;  ///< Where the first character data in the element that is not blank begins; 0 = none.
};

struct Places {
  std::vector<TagPlace> tags;  ///< In document order.
  std::vector<AttributePlace> attributes;
};

/// Elements and attributes of a file together.
inline constexpr std::size_t kMaxTagsAndAttributes = 1U << 18;
inline constexpr std::size_t kMaxAttributesOfElement = 64;

/// Nothing if the text is not well-formed, has a document type declaration (T3), or exceeds a limit (T1); the report
/// says why. Work and memory are linear in the text; no recursion.
[[nodiscard]] std::optional<Places> scan(const std::shared_ptr<const SourceBuffer>& source, const FileLimits& limits,
                                         Report& report);

}  // namespace stopbit::templates::xml
