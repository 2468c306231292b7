#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"
#include "templates/file_limits.hpp"
#include "templates/report.hpp"

/// XML text to a tree whose every element and attribute knows its place. The only folder that knows the XML library.
namespace stopbit::templates::xml {

struct Attribute {
  std::string name;        ///< Without prefix.
  std::string name_space;  ///< Empty if it has no prefix.
  std::string value;
  SourceRange range;  ///< name="value"
};

/// Longest name of a namespace. Every element carries its own.
inline constexpr std::size_t kMaxNamespaceBytes = 256;

struct Element {
  std::string name;                   ///< Without prefix.
  std::string name_space;             ///< Empty if none applies.
  std::vector<Attribute> attributes;  ///< Namespace declarations are not among them.
  std::vector<Element> children;
  SourceRange range;                ///< The start tag.
  std::optional<SourceRange> text;  ///< The first character data that is not blank.

  /// The attribute without namespace, or null.
  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
};

/// The root element; nothing if the text is not XML (the report says why). At most `limits.nesting` deep.
/// Errors that leave the tree usable (a prefix without namespace, an attribute given twice) are reported, too.
[[nodiscard]] std::optional<Element> parse(const std::shared_ptr<const SourceBuffer>& source, const FileLimits& limits,
                                           Report& report);

}  // namespace stopbit::templates::xml
