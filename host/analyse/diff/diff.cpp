#include "host/analyse/diff/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "host/analyse/diff/facts.hpp"

namespace stopbit::diff {
namespace {

constexpr std::size_t kNone = SIZE_MAX;

/// The things of two lists that belong together, in the order of the second; then what only the first has.
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Pairs by `key`, each thing once, in order among those of the same key. Things without key stay for the next.
template <class Key>
void pair_by(const std::vector<std::size_t>& before, const std::vector<std::size_t>& after, Key key,
             std::map<std::size_t, std::size_t>& partner, std::map<std::size_t, bool>& is_taken) {
  using Value = std::decay_t<decltype(*key(true, std::size_t{}))>;
  std::map<Value, std::vector<std::size_t>> known;
  for (auto it = before.rbegin(); it != before.rend(); ++it) {
    if (is_taken[*it]) continue;
    if (const auto value = key(true, *it)) known[*value].push_back(*it);
  }
  for (const std::size_t item : after) {
    if (partner.contains(item)) continue;
    const auto value = key(false, item);
    const auto found = value ? known.find(*value) : known.end();
    if (found == known.end() || found->second.empty()) continue;
    partner[item] = found->second.back();
    is_taken[found->second.back()] = true;
    found->second.pop_back();
  }
}

template <class Name, class Id>
Pairs pair_up(const std::vector<std::size_t>& before, const std::vector<std::size_t>& after, Name name, Id id) {
  std::map<std::size_t, std::size_t> partner;  // of what is in `after`
  std::map<std::size_t, bool> is_taken;
  pair_by(before, after, name, partner, is_taken);
  pair_by(before, after, id, partner, is_taken);
  Pairs pairs;
  for (const std::size_t item : after) {
    const auto found = partner.find(item);
    pairs.emplace_back(found != partner.end() ? found->second : kNone, item);
  }
  for (const std::size_t item : before) {
    if (!is_taken[item]) pairs.emplace_back(item, kNone);
  }
  return pairs;
}

void compare_lists(const Facts::List& before, const Facts::List& after, bool in_layout, std::vector<Change>& changes) {
  const auto find = [](const Facts::List& list, std::string_view name) {
    const auto it = std::find_if(list.begin(), list.end(), [&](const auto& fact) { return fact.first == name; });
    return it != list.end() ? it->second : std::string();
  };
  for (const auto& [name, text] : after) {
    if (const std::string old = find(before, name); old != text) changes.push_back({name, old, text, in_layout});
  }
  for (const auto& [name, text] : before) {
    const bool is_known =
        std::any_of(after.begin(), after.end(), [&, &key = name](const auto& fact) { return fact.first == key; });
    if (!is_known && !text.empty()) changes.push_back({name, text, {}, in_layout});
  }
}

std::vector<Change> changes_of(const Facts& before, const Facts& after) {
  std::vector<Change> changes;
  compare_lists(before.layout, after.layout, true, changes);
  compare_lists(before.decoder, after.decoder, false, changes);
  return changes;
}

/// Describes a part that exists on one side only.
std::string about(const Facts& facts) {
  std::string out;
  for (const auto* list : {&facts.layout, &facts.decoder}) {
    for (const auto& [key, text] : *list) {
      const std::string_view name = key;
      if (text.empty() || name == "name" || (name.starts_with("operator") && text == "none")) continue;
      if (!out.empty()) out += ", ";
      if (name != "type" && name != "presence" && name != "place") out += fmt::format("{} ", name);
      out += text;
    }
  }
  return out;
}

class Comparison {
 public:
  Comparison(const Program& before, const Program& after) : before_(before), after_(after) {}

  Report run() {
    Report report;
    report.layout_before = layout_hash(before_.program());
    report.layout_after = layout_hash(after_.program());
    const auto all = [](const Program& program) {
      std::vector<std::size_t> list(program.templates.size());
      for (std::size_t i = 0; i < list.size(); ++i) list[i] = i;
      return list;
    };
    const auto item = [&](bool is_before, std::size_t i) -> const Template& {
      return side(is_before).program().templates[i];
    };
    const Pairs pairs = pair_up(
        all(before_.program()), all(after_.program()),
        [&](bool is_before, std::size_t i) {
          const Program& program = side(is_before).program();
          return std::optional(
              std::pair(program.name(item(is_before, i).name), program.name(item(is_before, i).name_space)));
        },
        [&](bool is_before, std::size_t i) {
          const std::uint32_t id = item(is_before, i).id;
          return id != 0 ? std::optional(id) : std::nullopt;
        });
    for (const auto& [old, now] : pairs) report.templates.push_back(of_template(old, now));
    return report;
  }

 private:
  [[nodiscard]] const Describer& side(bool is_before) const { return is_before ? before_ : after_; }

  TemplateDiff of_template(std::size_t old, std::size_t now) {
    TemplateDiff diff;
    const auto describe = [&](const Describer& side, std::size_t index, std::string& where) {
      const Template& item = side.program().templates[index];
      diff.name = std::string(side.program().name(item.name));
      diff.id = item.id;
      where = side.where(item.source, item.line);
    };
    if (old != kNone) describe(before_, old, diff.where_before);
    if (now != kNone) describe(after_, now, diff.where_after);
    if (old == kNone || now == kNone) {
      diff.kind = old == kNone ? Kind::Added : Kind::Removed;
      return diff;
    }
    diff.changes = changes_of(before_.of_template(old), after_.of_template(now));
    const Template& before = before_.program().templates[old];
    const Template& after = after_.program().templates[now];
    of_children({before.first_node, before.end_node}, {after.first_node, after.end_node}, {}, diff.items);
    if (!diff.changes.empty() || !diff.items.empty()) diff.kind = Kind::Changed;
    return diff;
  }

  struct Range {
    std::size_t first = 0;
    std::size_t end = 0;
  };

  static std::vector<std::size_t> children(const Program& program, Range range) {
    std::vector<std::size_t> list;
    for (std::size_t i = range.first; i < range.end; i = program.nodes[i].end) list.push_back(i);
    return list;
  }

  /// Nesting is bounded by limits::kMaxNodeDepth.
  void of_children(Range before, Range after, const std::string& path, std::vector<Item>& items) {
    const auto node = [&](bool is_before, std::size_t i) -> const SchemaNode& {
      return side(is_before).program().nodes[i];
    };
    const Pairs pairs = pair_up(
        children(before_.program(), before), children(after_.program(), after),
        [&](bool is_before, std::size_t i) {
          const Program& program = side(is_before).program();
          return std::optional(std::tuple(node(is_before, i).kind, program.name(node(is_before, i).name),
                                          program.name(node(is_before, i).name_space)));
        },
        [&](bool is_before, std::size_t i) {
          const SchemaNode& item = node(is_before, i);
          return item.id != 0 ? std::optional(std::pair(item.kind, item.id)) : std::nullopt;
        });
    for (const auto& [old, now] : pairs) of_node(old, now, path, items);
    note_order(pairs, path, items);
  }

  void of_node(std::size_t old, std::size_t now, const std::string& path, std::vector<Item>& items) {
    Item item;
    const Describer& named = now != kNone ? after_ : before_;
    item.path = join(path, named, now != kNone ? now : old);
    if (old != kNone) item.where_before = where(before_, old);
    if (now != kNone) item.where_after = where(after_, now);
    if (old == kNone || now == kNone) {
      item.kind = old == kNone ? Kind::Added : Kind::Removed;
      item.about = about(named.of_node(now != kNone ? now : old));
    } else {
      item.changes = changes_of(before_.of_node(old), after_.of_node(now));
    }
    const std::string inner = item.path;
    if (item.kind != Kind::Changed || !item.changes.empty()) items.push_back(std::move(item));
    // The content of a new or removed part is listed, too.
    const auto range = [](const Describer& side, std::size_t index) {
      return index != kNone ? Range{index + 1, side.program().nodes[index].end} : Range{};
    };
    of_children(range(before_, old), range(after_, now), inner, items);
  }

  /// The order of words follows from their places; constants and fields without a word have none.
  void note_order(const Pairs& pairs, const std::string& path, std::vector<Item>& items) {
    const bool breaks = std::any_of(items.begin(), items.end(), [](const Item& item) { return item.in_layout(); });
    if (breaks) return;
    std::size_t last = 0;
    for (const auto& [old, now] : pairs) {
      if (old == kNone || now == kNone) continue;
      if (old < last) {
        Item item;
        item.path = path.empty() ? "(order)" : path;
        item.changes.push_back({"order", "", join({}, after_, now) + " comes later than before", true});
        items.push_back(std::move(item));
        return;
      }
      last = old;
    }
  }

  static std::string join(const std::string& path, const Describer& side, std::size_t index) {
    const SchemaNode& node = side.program().nodes[index];
    std::string name(node.kind == NodeKind::Reference ? "templateRef" : side.program().name(node.name));
    if (name.empty()) name = "(value)";  // of a vector
    return path.empty() ? name : path + '.' + name;
  }

  static std::string where(const Describer& side, std::size_t index) {
    return side.where(side.program().nodes[index].source, side.program().nodes[index].line);
  }

  Describer before_;
  Describer after_;
};

bool any_in_layout(const std::vector<Change>& changes) {
  return std::any_of(changes.begin(), changes.end(), [](const Change& change) { return change.in_layout; });
}

}  // namespace

bool Item::in_layout() const {
  return kind != Kind::Changed || any_in_layout(changes);
}

bool TemplateDiff::breaks_view() const {
  if (kind == Kind::Added) return false;
  return kind == Kind::Removed || any_in_layout(changes) ||
         std::any_of(items.begin(), items.end(), [](const Item& item) { return item.in_layout(); });
}

bool Report::breaks_views() const {
  return std::any_of(templates.begin(), templates.end(), [](const TemplateDiff& item) { return item.breaks_view(); });
}

Report compare(const Program& before, const Program& after) {
  return Comparison(before, after).run();
}

}  // namespace stopbit::diff
