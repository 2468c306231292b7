#include "templates/ir/flow.hpp"

#include <map>
#include <string>

namespace stopbit::templates::ir {
namespace {

class Expander {
 public:
  Expander(const ast::TemplateSet& set, const FileLimits& limits, Report& report)
      : set_(set), limits_(limits), report_(report) {
    module_.types.emplace_back();
  }

  Module run() {
    for (std::size_t i = 0; i < set_.templates.size() && !stopped_; ++i) {
      const ast::Template& item = set_.templates[i];
      if (!item.id) continue;
      const Report::Scope scope(report_, item.range, "in template " + quoted(item.name.text));
      Message& message = module_.messages.emplace_back();
      message.of = &item;
      message.template_index = static_cast<std::uint32_t>(i);
      items_ = &message.items;
      fields_ = 0;
      enter(item, message.template_index, kCallersType, 0);
    }
    return std::move(module_);
  }

 private:
  void enter(const ast::Template& item, std::uint32_t index, std::uint32_t type, std::size_t depth) {
    body(item.body, index, item.type ? number(*item.type) : type, depth + 1);
  }

  // Recursion is bounded by limits_.nesting.
  void body(const std::vector<ast::Instruction>& instructions, std::uint32_t index, std::uint32_t type,
            std::size_t depth) {
    for (const ast::Instruction& instruction : instructions) {
      if (stopped_) return;
      if (const auto* field = std::get_if<ast::Field>(&instruction.of)) {
        if (Item* item = add(NodeKind::Field, field->range, index, type)) item->field = field;
      } else if (const auto* group = std::get_if<ast::Group>(&instruction.of)) {
        compound(*group, nullptr, index, type, depth);
      } else if (const auto* sequence = std::get_if<ast::Sequence>(&instruction.of)) {
        compound(sequence->group, &sequence->length, index, type, depth);
      } else {
        reference(std::get<ast::TemplateRef>(instruction.of), index, type, depth);
      }
    }
  }

  void compound(const ast::Group& group, const ast::Length* length, std::uint32_t index, std::uint32_t type,
                std::size_t depth) {
    Item* item = add(length ? NodeKind::Sequence : NodeKind::Group, group.range, index, type);
    if (!item || !may_nest(group.range, depth)) return;
    item->group = &group;
    item->length = length;
    const std::size_t place = items_->size() - 1;
    body(group.body, index, group.type ? number(*group.type) : type, depth + 1);
    (*items_)[place].end = static_cast<std::uint32_t>(items_->size());
  }

  void reference(const ast::TemplateRef& ref, std::uint32_t index, std::uint32_t type, std::size_t depth) {
    if (!ref.name) {
      add(NodeKind::Reference, ref.range, index, type);
    } else if (count(ref.range) && may_nest(ref.range, depth)) {
      enter(set_.templates[ref.target], static_cast<std::uint32_t>(ref.target), type, depth);
    }
  }

  Item* add(NodeKind kind, const SourceRange& range, std::uint32_t index, std::uint32_t type) {
    if (!count(range)) return nullptr;
    Item item;
    item.kind = kind;
    item.range = &range;
    item.template_index = index;
    item.type = type;
    item.end = static_cast<std::uint32_t>(items_->size() + 1);
    items_->push_back(item);
    return &items_->back();
  }

  /// References are counted, too: they can expand to nothing, exponentially often.
  bool count(const SourceRange& range) {
    if (fields_++ == limits_.fields) {
      stop(range, "the template has more than " + std::to_string(limits_.fields) +
                      " fields, groups and references, with those of the templates it refers to");
      return false;
    }
    if (steps_++ == limits_.instructions) {
      stop(range, "the templates expand to more than " + std::to_string(limits_.instructions) +
                      " fields, groups and references");
      return false;
    }
    return true;
  }

  bool may_nest(const SourceRange& range, std::size_t depth) {
    if (depth < limits_.nesting) return true;
    stop(range, "groups and template references are nested more than " + std::to_string(limits_.nesting) + " deep");
    return false;
  }

  void stop(const SourceRange& range, const std::string& message) {
    report_.error(ErrorCode::T1, range, message);
    stopped_ = true;
  }

  std::uint32_t number(const ast::Name& type) {
    const auto [place, is_new] = type_numbers_.try_emplace(type, static_cast<std::uint32_t>(module_.types.size()));
    if (is_new) module_.types.push_back(type);
    return place->second;
  }

  const ast::TemplateSet& set_;
  const FileLimits& limits_;
  Report& report_;
  Module module_;
  std::vector<Item>* items_ = nullptr;
  std::map<ast::Name, std::uint32_t> type_numbers_;
  std::size_t fields_ = 0;  ///< Of the message.
  std::size_t steps_ = 0;
  bool stopped_ = false;
};

}  // namespace

Module expand(const ast::TemplateSet& set, const FileLimits& limits, Report& report) {
  return Expander(set, limits, report).run();
}

}  // namespace stopbit::templates::ir
