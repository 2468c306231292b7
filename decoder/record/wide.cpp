#include "decoder/record/wide.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "microcode/base/nearest.hpp"

namespace stopbit::record {
namespace {

std::string utf8(std::string_view name) {
  std::string out;
  append_utf8(out, name, false);
  return out;
}

/// What is left of `path` after `name` and a slash; nothing if it begins with something else.
std::optional<std::string_view> after(std::string_view path, std::string_view name) {
  if (!path.starts_with(name)) return std::nullopt;
  path.remove_prefix(name.size());
  if (path.empty()) return path;
  if (path.front() != '/') return std::nullopt;
  return path.substr(1);
}

/// A sequence that is the next part of a path, and the rest of the path. A name may have slashes of its own: the
/// longest that fits wins.
struct Step {
  std::size_t node = 0;
  std::string_view rest;
  std::size_t length = 0;  ///< Of the name; 0: none was found.
};

class Finder {
 public:
  Finder(const Schema& schema, std::string_view path) : schema_(schema), path_(path) {}

  /// Among the nodes of a template, an element or a group.
  void look(std::size_t first, std::size_t end, const std::string& prefix) {
    for (std::size_t i = first; i < end && name_bytes_ <= WideTable::kMaxNameBytes; i = schema_.node(i).end) {
      const SchemaNode& node = schema_.node(i);
      if (node.unstored || (node.kind != NodeKind::Group && node.kind != NodeKind::Sequence)) continue;
      const std::string name = prefix + utf8(schema_.name(node.name));
      name_bytes_ += name.size();
      if (node.kind == NodeKind::Group) {
        look(i + 1, node.end, name + '.');
        continue;
      }
      if (names_.size() < kMostNames) names_.push_back(name);
      const std::optional<std::string_view> rest = after(path_, name);
      if (rest && name.size() > step_.length) step_ = {.node = i, .rest = *rest, .length = name.size()};
    }
  }
  [[nodiscard]] const Step& step() const noexcept { return step_; }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  static constexpr std::size_t kMostNames = 1'024;

  const Schema& schema_;
  std::string_view path_;
  Step step_;
  std::vector<std::string> names_;
  std::size_t name_bytes_ = 0;
};

/// " The templates are A, B, ...": of many, the first.
std::string list_of(std::string_view noun, std::span<const std::string> names) {
  constexpr std::size_t kMost = 12;
  if (names.empty()) return "; there are no " + std::string(noun);
  std::string out = "; the " + std::string(noun) + " are ";
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) out += (i == 0 ? "" : ", ") + names[i];
  return out + (names.size() > kMost ? ", and " + std::to_string(names.size() - kMost) + " more" : "");
}

std::string advice(std::string_view wanted, std::string_view noun, std::span<const std::string> names) {
  const std::string near = did_you_mean(wanted.substr(0, wanted.find('/')), names);
  return near.empty() ? list_of(noun, names) : near;
}

/// A template by its name or its identifier, and the rest of the path.
Result<std::pair<std::uint16_t, std::string_view>> find_template(const Schema& schema, std::string_view path) {
  const std::vector<Template>& templates = schema.program().templates;
  std::optional<std::pair<std::uint16_t, std::string_view>> found;
  std::size_t longest = 0;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < templates.size(); ++i) {
    const std::string name = utf8(schema.name(templates[i].name));
    if (!templates[i].supplied) names.push_back(name);
    for (const std::string& one : {name, std::to_string(templates[i].id)}) {
      const std::optional<std::string_view> rest = after(path, one);
      if (!rest || one.size() <= longest) continue;
      longest = one.size();
      found.emplace(static_cast<std::uint16_t>(i), *rest);
    }
  }
  if (found) return *found;
  return Failure{"no template is named '" + std::string(path.substr(0, path.find('/'))) + "'" +
                 advice(path, "templates", names)};
}

/// The second `Name` becomes `Name_2`.
void make_unique(std::vector<WideTable::Column>& columns) {
  std::unordered_map<std::string, std::size_t> taken;
  for (WideTable::Column& column : columns) {
    std::string name = column.name;
    while (!taken.emplace(name, 1).second) name = column.name + '_' + std::to_string(++taken[column.name]);
    column.name = std::move(name);
  }
}

bool is_number(const SchemaNode& node) {
  return node.type != FieldType::Enum && node.type != FieldType::Set && !is_text(node.type);
}

}  // namespace

Result<WideTable> WideTable::make(const Schema& schema, std::string_view name) {
  const auto found = find_template(schema, name);
  if (!found) return Failure{found.message()};
  WideTable table(schema);
  auto [index, rest] = found.value();
  table.template_ = index;
  const Template& item = schema.program().templates[index];
  std::size_t first = item.first_node;
  std::size_t end = item.end_node;
  table.first_node_ = first;
  table.column_of_.assign(end - first, kNoColumn);
  while (!rest.empty()) {
    Finder finder(schema, rest);
    finder.look(first, end, "");
    const Step& step = finder.step();
    if (step.length == 0) {
      return Failure{"no sequence is named '" + std::string(rest.substr(0, rest.find('/'))) + "' in '" +
                     std::string(name.substr(0, name.size() - rest.size() - 1)) + "'" +
                     advice(rest, "sequences", finder.names())};
    }
    table.path_.push_back(step.node);
    table.levels_.push_back('@' + std::string(rest.substr(0, step.length)));
    first = step.node + 1;
    end = schema.node(step.node).end;
    rest = step.rest;
  }
  if (!table.add_columns(first, end, "")) return Failure{"the names of its fields are longer than 1 MiB"};
  make_unique(table.columns_);
  table.cells_.resize(table.columns_.size());
  return table;
}

bool WideTable::add_columns(std::size_t first, std::size_t end, const std::string& prefix) {
  const Schema& schema = reader_.schema();
  for (std::size_t i = first; i < end; i = schema.node(i).end) {
    const SchemaNode& node = schema.node(i);
    if (node.unstored) continue;
    const std::string_view plain = node.kind == NodeKind::Reference ? kReferenceName : schema.name(node.name);
    // Only the values of a vector have no name.
    const std::string name = prefix + (plain.empty() && node.kind == NodeKind::Field ? "value" : utf8(plain));
    bool is_added = true;
    switch (node.kind) {
      case NodeKind::Field: is_added = add_column(i, name, is_number(node)); break;
      case NodeKind::Group: is_added = count_name(name) && add_columns(i + 1, node.end, name + '.'); break;
      case NodeKind::Sequence: is_added = add_column(i, name, true); break;
      case NodeKind::Reference: is_added = add_column(i, name, false); break;
    }
    if (!is_added) return false;
  }
  return true;
}

bool WideTable::add_column(std::size_t node, const std::string& name, bool is_number) {
  if (!count_name(name)) return false;
  column_of_[node - first_node_] = static_cast<std::uint32_t>(columns_.size());
  columns_.push_back({.name = name, .is_number = is_number});
  return true;
}

std::string WideCsvPrinter::title() const {
  std::string out = "message,";
  out += kCsvHeadTitle;
  const auto cell = [&](std::string_view name) {
    append_csv_cell(out, name);
    out += ',';
  };
  for (const std::string& level : table_.levels()) cell(level);
  for (const WideTable::Column& column : table_.columns()) cell(column.name);
  out.back() = '\n';
  return out;
}

ReadError WideCsvPrinter::print(std::span<const Slot> slots, std::string& out) {
  const std::size_t begin = out.size();
  if (!slots.empty()) {
    begin_.clear();
    append_unsigned(begin_, messages_ + 1);
    begin_ += ',';
    append_csv_head(begin_, HeaderView(slots[0]), style_, true);
  }
  const auto on_row = [&](std::span<const std::uint32_t> indices, std::span<const WideTable::Cell> cells) {
    out += begin_;
    for (const std::uint32_t index : indices) {
      append_unsigned(out, index);
      out += ',';
    }
    for (const WideTable::Cell& cell : cells) {
      if (cell.is_present && cell.text.empty()) {
        out += "\"\"";
      } else {
        append_csv_cell(out, cell.text);
      }
      out += ',';
    }
    out.back() = '\n';
  };
  const ReadError error = table_.read(slots, on_row);
  if (error != ReadError::None) {
    out.resize(begin);
    return error;
  }
  if (!HeaderView(slots[0]).is_event()) ++messages_;
  return ReadError::None;
}

}  // namespace stopbit::record
