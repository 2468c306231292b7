#include "templates/projection/projection.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "templates/projection/names.hpp"

namespace stopbit::templates::projection {
namespace {

constexpr std::size_t kMaxHints = 20;  ///< Names for which others are sought that come near.
constexpr std::size_t kNearNames = 3;
constexpr std::size_t kMaxComparedBytes = 128;  ///< Longer names are near to nothing.

/// Names without a slash are found by their text; the others are tried one by one.
class Matcher {
 public:
  explicit Matcher(std::vector<FieldName>& names) {
    for (FieldName& name : names) {
      if (name.parts.size() > 1) {
        paths_.push_back(&name);
      } else if (name.parts.front().is_any()) {
        any_.push_back(&name);
      } else {
        by_text_[name.parts.front().text].push_back(&name);
        if (name.parts.front().number) by_number_[*name.parts.front().number].push_back(&name);
      }
    }
  }

  /// Whether the list names the last of `path`: labels of the template, and of what is around it.
  bool take(const std::vector<Label>& path) {
    bool found = use(any_);
    if (const auto at = by_text_.find(path.back().text); at != by_text_.end()) found |= use(at->second);
    if (const auto at = by_number_.find(path.back().id); at != by_number_.end() && path.back().id != 0) {
      found |= use(at->second);
    }
    for (FieldName* name : paths_) {
      const bool matches = name->parts.size() <= path.size() &&
                           std::equal(name->parts.rbegin(), name->parts.rend(), path.rbegin(),
                                      [](const Part& part, const Label& label) { return part.matches(label); });
      name->is_used |= matches;
      found |= matches;
    }
    return found;
  }

 private:
  static bool use(const std::vector<FieldName*>& names) {
    for (FieldName* name : names) name->is_used = true;
    return !names.empty();
  }

  std::vector<FieldName*> any_;
  std::unordered_map<std::string_view, std::vector<FieldName*>> by_text_;
  std::unordered_map<std::uint32_t, std::vector<FieldName*>> by_number_;
  std::vector<FieldName*> paths_;
};

/// Goes over everything that has a name, with what is around it: the message, then groups and sequences.
template <class Visit>
void for_each_item(ir::Module& module, Visit visit) {
  std::vector<Label> path;
  std::vector<std::size_t> open;  // groups and sequences around the item
  for (ir::Message& message : module.messages) {
    path.assign(1, {message.of->name.text, *message.of->id});
    open.clear();
    for (std::size_t i = 0; i < message.items.size(); ++i) {
      while (!open.empty() && message.items[open.back()].end == i) {
        open.pop_back();
        path.pop_back();
      }
      const ir::Item& item = message.items[i];
      Label label;
      if (item.field != nullptr) label = {item.field->name.text, item.field->id};
      if (item.group != nullptr) label = {item.group->name.text, item.group->id};
      path.push_back(label);
      visit(message, i, path, open);
      if (item.group != nullptr) {
        open.push_back(i);
      } else {
        path.pop_back();
      }
    }
  }
}

Label length_of(const ir::Item& item) {
  return item.length->name ? Label{item.length->name->text, item.length->id} : Label{{}, item.length->id};
}

void mark(ir::Module& module, Matcher& matcher) {
  std::vector<bool> is_whole;  // by item: it is stored with all that is in it
  for_each_item(module, [&](ir::Message& message, std::size_t index, std::vector<Label>& path,
                            const std::vector<std::size_t>& open) {
    if (index == 0) is_whole.assign(message.items.size(), false);
    ir::Item& item = message.items[index];
    const bool is_reference = item.kind == NodeKind::Reference;
    const bool is_named = !is_reference && matcher.take(path);
    is_whole[index] = is_named || (!open.empty() && is_whole[open.back()]);
    item.is_stored = is_whole[index] || is_reference;
    if (item.length != nullptr) {
      const Label name = std::exchange(path.back(), length_of(item));
      item.is_stored |= (!path.back().text.empty() || path.back().id != 0) && matcher.take(path);
      path.back() = name;
    }
    if (!item.is_stored) return;
    for (const std::size_t around : open) message.items[around].is_stored = true;
  });
}

std::string joined(const std::vector<Label>& path) {
  std::string out;
  for (const Label& label : path) {
    if (!out.empty()) out += '/';
    out += label.text;
  }
  return out;
}

/// The names that come nearest to one that names nothing.
class Hints {
 public:
  explicit Hints(ir::Module& module) {
    for_each_item(module, [&](ir::Message& message, std::size_t index, std::vector<Label>& path,
                              const std::vector<std::size_t>& /*open*/) {
      add(path);
      const ir::Item& item = message.items[index];
      if (item.length == nullptr) return;
      const Label name = std::exchange(path.back(), length_of(item));
      add(path);
      path.back() = name;
    });
  }

  /// "; near to it: 'A' and 'B'", or nothing.
  [[nodiscard]] std::string of(const FieldName& name) const {
    const bool is_path = name.parts.size() > 1;
    std::vector<std::string> near;
    if (is_path) near = elsewhere(name.parts.back().text);
    if (near.empty()) near = nearest(name.text(), is_path ? paths_ : names_);
    std::string out;
    for (std::size_t i = 0; i < near.size(); ++i) {
      out += i == 0 ? "; did you mean " : i + 1 == near.size() ? " and " : ", ";
      out += quoted(near[i]);
    }
    return out;
  }

 private:
  void add(const std::vector<Label>& path) {
    if (path.back().text.empty()) return;
    names_.emplace(path.back().text);
    paths_.insert(joined(path));
  }

  /// Paths that end in the name.
  [[nodiscard]] std::vector<std::string> elsewhere(std::string_view name) const {
    std::vector<std::string> out;
    for (const std::string& path : paths_) {
      if (out.size() < kNearNames && path.size() > name.size() && path.ends_with(name) &&
          path[path.size() - name.size() - 1] == '/') {
        out.push_back(path);
      }
    }
    return out;
  }

  static std::vector<std::string> nearest(std::string_view name, const std::set<std::string>& known) {
    if (name.size() > kMaxComparedBytes) return {};
    const std::size_t bound = std::max<std::size_t>(2, name.size() / 3);
    std::vector<std::pair<std::size_t, std::string_view>> found;
    for (const std::string& other : known) {
      const std::size_t away = distance(name, other, bound);
      if (away <= bound) found.emplace_back(away, other);
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min(found.size(), kNearNames));
    std::vector<std::string> out;
    out.reserve(found.size());
    for (const auto& [away, other] : found) out.emplace_back(other);
    return out;
  }

  std::set<std::string> names_;
  std::set<std::string> paths_;
};

void report_unused(const std::vector<FieldName>& names, ir::Module& module, Report& report) {
  const auto is_unused = [](const FieldName& name) { return !name.is_used; };
  if (std::none_of(names.begin(), names.end(), is_unused)) return;
  const Hints hints(module);
  std::size_t hinted = 0;
  for (const FieldName& name : names) {
    if (name.is_used) continue;
    const std::string hint = hinted++ < kMaxHints ? hints.of(name) : std::string();
    report.error(ErrorCode::None, name.range,
                 "no field, group, sequence or length is called " + quoted(name.text()) + hint);
  }
}

}  // namespace

void apply(const std::shared_ptr<const SourceBuffer>& fields, ir::Module& module, Report& report) {
  std::vector<FieldName> names = parse(fields, report);
  if (report.has_errors()) return;
  Matcher matcher(names);
  mark(module, matcher);
  report_unused(names, module, report);
}

}  // namespace stopbit::templates::projection
