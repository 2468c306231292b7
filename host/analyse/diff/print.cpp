#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "decoder/record/text.hpp"
#include "host/analyse/diff/diff.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::diff {
namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_text(Kind kind) {
  switch (kind) {
    case Kind::Same: return "same";
    case Kind::Changed: return "changed";
    case Kind::Added: return "added";
    case Kind::Removed: return "removed";
  }
  return "?";
}

/// Texts come from files: nothing in them may disturb a terminal or a line.
std::string line_of(std::string_view text) {
  return printable(text);
}

std::string or_none(const std::string& text) {
  return text.empty() ? "none" : line_of(text);
}

/// Lines of both sides, as far as they are known.
std::string places(const std::string& before, const std::string& after) {
  if (before.empty() && after.empty()) return {};
  const std::string_view arrow = before.empty() || after.empty() ? "" : " -> ";
  return fmt::format("  [{}{}{}]", line_of(before), arrow, line_of(after));
}

/// A changed name or place has a word of its own.
std::string_view headline(const Item& item) {
  if (item.kind != Kind::Changed) return kind_text(item.kind);
  const auto only = [&](std::string_view what) {
    return std::all_of(item.changes.begin(), item.changes.end(),
                       [&](const Change& change) { return change.what == what; });
  };
  if (only("place")) return "moved";
  const bool is_renamed =
      std::any_of(item.changes.begin(), item.changes.end(), [](const Change& change) { return change.what == "name"; });
  return is_renamed ? "renamed" : "changed";
}

void append(std::string& out, const Change& change, std::string_view indent) {
  out += fmt::format("{}{}: {} -> {}{}\n", indent, change.what, or_none(change.before), or_none(change.after),
                     change.in_layout ? "" : "  (decoder only)");
}

void append(std::string& out, const Item& item) {
  out += fmt::format("  {:<8} {}{}\n", headline(item), line_of(item.path), places(item.where_before, item.where_after));
  if (!item.about.empty()) out += fmt::format("           {}\n", line_of(item.about));
  for (const Change& change : item.changes) append(out, change, "           ");
}

std::string name_of(const TemplateDiff& item) {
  return fmt::format("{} (id {})", line_of(item.name), item.id);
}

Json changes_json(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const Change& change : changes) {
    list.push_back(
        {{"what", change.what}, {"before", change.before}, {"after", change.after}, {"in_layout", change.in_layout}});
  }
  return list;
}

}  // namespace

std::string to_text(const Report& report) {
  std::string out;
  std::size_t same = 0;
  std::size_t valid = 0;
  std::string broken;
  std::size_t broken_count = 0;
  for (const TemplateDiff& item : report.templates) {
    if (item.kind == Kind::Added) {
      out += fmt::format("template {}: added{}\n\n", name_of(item), places({}, item.where_after));
      continue;
    }
    if (item.breaks_view()) {
      ++broken_count;
      broken += fmt::format("{}{}", broken.empty() ? "" : ", ", name_of(item));
    } else {
      ++valid;
    }
    if (item.kind == Kind::Same) {
      ++same;
      continue;
    }
    const std::string_view verdict = item.kind == Kind::Removed ? "removed, its view breaks"
                                     : item.breaks_view()       ? "its view breaks"
                                                                : "its view stays valid";
    out += fmt::format("template {}: {}{}\n", name_of(item), verdict, places(item.where_before, item.where_after));
    for (const Change& change : item.changes) append(out, change, "  ");
    for (const Item& inner : item.items) append(out, inner);
    out += '\n';
  }
  out += fmt::format("templates unchanged: {}\nviews that stay valid: {}\nviews that break: {}{}{}\n", same, valid,
                     broken_count, broken.empty() ? "" : ": ", broken);
  if (report.layout_before == report.layout_after) {
    out += fmt::format("layout {:016x} on both sides: generated headers and rings remain compatible\n",
                       report.layout_after);
  } else {
    out += fmt::format(
        "layout {:016x} -> {:016x}: programs built with headers of the old layout reject rings of the new one; "
        "generate the headers again\n",
        report.layout_before, report.layout_after);
  }
  return out;
}

std::string to_json(const Report& report) {
  Json templates = Json::array();
  for (const TemplateDiff& item : report.templates) {
    Json items = Json::array();
    for (const Item& inner : item.items) {
      items.push_back({{"kind", headline(inner)},
                       {"path", inner.path},
                       {"about", inner.about},
                       {"before", inner.where_before},
                       {"after", inner.where_after},
                       {"changes", changes_json(inner.changes)}});
    }
    templates.push_back({{"kind", kind_text(item.kind)},
                         {"name", item.name},
                         {"id", item.id},
                         {"view_breaks", item.breaks_view()},
                         {"before", item.where_before},
                         {"after", item.where_after},
                         {"changes", changes_json(item.changes)},
                         {"items", std::move(items)}});
  }
  const Json all = {{"layout_before", fmt::format("{:016x}", report.layout_before)},
                    {"layout_after", fmt::format("{:016x}", report.layout_after)},
                    {"views_break", report.breaks_views()},
                    {"templates", std::move(templates)}};
  return all.dump() + '\n';
}

}  // namespace stopbit::diff
