#include "templates/emit/cpp/view_model.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace stopbit::emit {

ViewModel::ViewModel(const Program& program)
    : program_(program),
      has_references_(std::any_of(program.nodes.begin(), program.nodes.end(),
                                  [](const SchemaNode& node) { return node.kind == NodeKind::Reference; })) {}

bool ViewModel::is_vector(std::size_t index) const {
  const SchemaNode& sequence = node(index);
  return sequence.kind == NodeKind::Sequence && sequence.end == index + 2 && node(index + 1).kind == NodeKind::Field &&
         node(index + 1).name.length == 0 && !node(index + 1).constant && !node(index + 1).optional &&
         !node(index + 1).unstored;
}

bool ViewModel::leaves_block(std::size_t first, std::size_t end) const {
  return std::any_of(program_.nodes.begin() + static_cast<std::ptrdiff_t>(first),
                     program_.nodes.begin() + static_cast<std::ptrdiff_t>(end), [](const SchemaNode& inner) {
                       return inner.kind == NodeKind::Sequence || inner.kind == NodeKind::Reference;
                     });
}

std::optional<std::uint16_t> ViewModel::first_block(std::size_t first, std::size_t end) const {
  for (std::size_t i = first; i < end; i = node(i).end) {
    const SchemaNode& item = node(i);
    if (item.unstored) continue;
    switch (item.kind) {
      case NodeKind::Field:
        if (!item.constant) return item.block;
        break;
      case NodeKind::Sequence: return item.block;
      case NodeKind::Reference: return kNoBlock;
      case NodeKind::Group:
        if (item.optional) return item.block;
        if (const auto inner = first_block(i + 1, item.end)) return inner;
        break;
    }
  }
  return std::nullopt;
}

std::vector<Part> ViewModel::split(std::size_t first, std::size_t end, std::uint16_t open_block) const {
  std::vector<Part> parts(1);
  parts.back().block = open_block;
  std::optional<std::size_t> leaver;
  for (std::size_t i = first; i < end; i = node(i).end) {
    if (!node(i).unstored) {
      const std::uint16_t block = leaver ? first_block(i, end).value_or(kNoBlock) : kNoBlock;
      // A mandatory group that begins with something that is not stored has its fields in one block.
      const bool is_same = block != kNoBlock && block == parts.back().block;
      if (leaver && !is_same) {
        parts.back().goes_on = true;
        parts.back().leaver = *leaver;
        parts.push_back({block, {}});
      }
      leaver.reset();
      parts.back().nodes.push_back(i);
    }
    if (!leaver && leaves_block(i, node(i).end)) leaver = i;
  }
  parts.back().leaver = leaver;
  return parts;
}

std::vector<ElementList> ViewModel::element_lists() const {
  std::vector<ElementList> lists;
  std::map<std::string, std::size_t> known;  // content to list
  std::vector<bool> seen(program_.type_infos.size());
  for (const SchemaNode& item : program_.nodes) {
    if (item.kind != NodeKind::Field || (item.type != FieldType::Enum && item.type != FieldType::Set)) continue;
    if (seen[item.type_info]) continue;
    seen[item.type_info] = true;
    const TypeInfo& info = program_.type_infos[item.type_info];
    const std::string_view name = text(info.name.length != 0 ? info.name : item.name);
    std::string content = std::to_string(name.size()).append(":").append(name);
    for (std::uint32_t i = 0; i < info.element_count; ++i) {
      const Element& element = program_.elements[info.first_element + i];
      for (const std::string_view part : {text(element.name), text(element.label)}) {
        content.append(",").append(std::to_string(part.size())).append(":").append(part);
      }
    }
    const auto [found, is_new] = known.try_emplace(std::move(content), lists.size());
    if (is_new) lists.push_back({name, &info, {}});
    lists[found->second].type_infos.push_back(item.type_info);
  }
  return lists;
}

}  // namespace stopbit::emit
