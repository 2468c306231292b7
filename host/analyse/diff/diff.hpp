#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "microcode/program.hpp"

/// Changes between two versions of a feed's templates, and the users whose views of records they break.
namespace stopbit::diff {

enum class Kind : std::uint8_t { Same, Changed, Added, Removed };

/// A property that differs. Empty text: there is none on that side.
struct Change {
  std::string what;  ///< "type", "operator", "place", ...
  std::string before;
  std::string after;
  bool in_layout = false;  ///< Readers of records depend on it; otherwise it is a matter of the decoder alone.
};

/// A field, group, sequence or reference that is not the same on both sides.
struct Item {
  Kind kind = Kind::Changed;
  std::string path;          ///< "Entries.Price"; of the side where it is, the new one if it is on both.
  std::string about;         ///< Added, removed: "optional uInt32, tag 99, operator copy, block 0 word 3 (slot 1.0)".
  std::string where_before;  ///< "feed.xml:12"; empty if it is not there.
  std::string where_after;
  std::vector<Change> changes;

  [[nodiscard]] bool in_layout() const;
};

struct TemplateDiff {
  Kind kind = Kind::Same;
  std::string name;  ///< Of the new side, if it exists there.
  std::uint32_t id = 0;
  std::string where_before;
  std::string where_after;
  std::vector<Change> changes;  ///< Of the template itself.
  std::vector<Item> items;

  /// A view of the old template cannot read records of the new one, or there is no new one.
  [[nodiscard]] bool breaks_view() const;
};

struct Report {
  std::uint64_t layout_before = 0;
  std::uint64_t layout_after = 0;
  std::vector<TemplateDiff> templates;  ///< In the order of the new side; then those that were removed.

  [[nodiscard]] bool breaks_views() const;
};

/// Both programs must have passed verify::check. Templates and what is in them are the same if their names are, and
/// what is left over if their identifiers are: that is a renaming. Blocks are counted within a template, so that a
/// template is not said to change because one before it does.
[[nodiscard]] Report compare(const Program& before, const Program& after);

/// For people: by template, with the lines of both sides. Only what has changed.
[[nodiscard]] std::string to_text(const Report& report);

/// One JSON object, with a line end.
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace stopbit::diff
