#include "templates/lower/lower.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "microcode/base/hash.hpp"
#include "microcode/base/limits.hpp"
#include "templates/lower/code.hpp"
#include "templates/lower/facts.hpp"
#include "templates/lower/layout.hpp"
#include "templates/lower/tables.hpp"

namespace stopbit::templates::lower {
namespace {

constexpr std::uint32_t kFastResetId = 120;
constexpr std::size_t kMaxDispatchEntries = limits::kMaxInstructions;

bool uses_callers_type(const ast::Operator& op) {
  const bool has_slot = op.kind != isa::Operator::Non && op.kind != isa::Operator::Con && op.kind != isa::Operator::Def;
  return has_slot && op.dictionary == "type";
}

/// Whether code of the item has a slot in the dictionary of its caller's application type.
bool uses_callers_type(const ir::Item& item) {
  if (item.type != ir::kCallersType) return false;
  if (item.kind == NodeKind::Sequence) return uses_callers_type(item.length->op);
  if (item.kind == NodeKind::Group) return item.group->is_bits && uses_callers_type(item.group->op);
  if (item.kind != NodeKind::Field) return false;
  if (!item.field->parts) return uses_callers_type(item.field->op);
  return uses_callers_type(item.field->parts->exponent) || uses_callers_type(item.field->parts->mantissa);
}

bool calls_with_callers_type(const ir::Item& item) {
  return item.type == ir::kCallersType && item.kind == NodeKind::Reference;
}

template <class Predicate>
bool any_item(const ir::Message& message, Predicate predicate) {
  return std::any_of(message.items.begin(), message.items.end(), predicate);
}

std::string_view part_name(SlotTable::Part part) {
  switch (part) {
    case SlotTable::Part::Exponent: return " exponent";
    case SlotTable::Part::Mantissa:
    case SlotTable::Part::WholeMantissa: return " mantissa";
    case SlotTable::Part::Length: return " length";
    case SlotTable::Part::Whole: break;
  }
  return "";
}

class Lowering {
 public:
  Lowering(const ir::Module& module, const ast::TemplateSet& set,
           const std::vector<std::shared_ptr<const SourceBuffer>>& sources, const Options& options, Report& report)
      : module_(module), set_(set), sources_(sources), options_(options), report_(report) {}

  std::optional<Program> run() {
    add_templates();
    if (report_.has_errors()) return std::nullopt;
    add_code();
    if (report_.has_errors()) return std::nullopt;
    for (std::size_t i = 0; i < module_.messages.size(); ++i) add_nodes(i);
    if (Template& last = program_.templates.back(); last.supplied) {
      last.first_node = last.end_node = static_cast<std::uint16_t>(program_.nodes.size());
    }
    add_slots();
    add_sources();
    program_.max_record_slots = options_.max_record_slots;
    check_limit(names_.bytes() + constants_.bytes(), limits::kMaxStringPoolBytes, "bytes of names and constants");
    check_limit(constants_.size(), limits::kMaxConstants, "constants");
    if (report_.has_errors()) return std::nullopt;
    program_.names = names_.take();
    constants_.move_to(program_);
    return canonical(program_);
  }

 private:
  void check_limit(std::size_t count, std::size_t limit, const char* what) {
    if (count <= limit) return;
    report_.error(ErrorCode::T1, {},
                  "the templates need " + std::to_string(count) + ' ' + what + "; the instruction set allows " +
                      std::to_string(limit));
  }

  void add_templates() {
    bool has_reset = false;
    for (const ir::Message& message : module_.messages) {
      const ast::Template& of = *message.of;
      const Report::Scope scope(report_, of.range, "in template " + quoted(of.name.text));
      const auto index = static_cast<std::uint16_t>(program_.templates.size());
      Layout layout = lay_out(message, index, program_.blocks, report_);
      Template& out = program_.templates.emplace_back();
      out.id = *of.id;
      out.name = names_.intern(of.name.text);
      out.name_space = names_.intern(of.name.name_space);
      out.reset = of.reset || (out.id == kFastResetId && message.items.empty());
      out.root_block = layout.root_block;
      out.words = layout.words;
      out.source = of.source;
      set_place(of.range, out);
      layouts_.push_back(std::move(layout));
      if (report_.has_errors() && program_.blocks.size() == limits::kMaxBlocks) return;
      has_reset = has_reset || out.id == kFastResetId;
    }
    if (options_.supply_fast_reset && !has_reset) supply_fast_reset();
    check_limit(program_.templates.size(), limits::kMaxTemplates, "templates");
    check_limit(program_.blocks.size(), limits::kMaxBlocks, "record blocks");
  }

  void supply_fast_reset() {
    Template& out = program_.templates.emplace_back();
    out.id = kFastResetId;
    out.name = names_.intern("FastReset");
    out.reset = out.supplied = true;
    out.root_block = static_cast<std::uint16_t>(program_.blocks.size());
    Block block;
    block.template_index = static_cast<std::uint16_t>(program_.templates.size() - 1);
    program_.blocks.push_back(block);
  }

  void add_code() {
    const bool by_type = std::any_of(module_.messages.begin(), module_.messages.end(), [](const ir::Message& message) {
      return any_item(message, [](const ir::Item& item) { return uses_callers_type(item); });
    });
    CallerTables tables(by_type);
    CodeMaker maker(module_, set_, constant_maker_, slots_, tables, program_.code);
    std::vector<std::uint16_t> first_entries;
    for (std::size_t table = 0; table < tables.types().size(); ++table) {
      for (std::size_t i = 0; i < module_.messages.size(); ++i) {
        const ir::Message& message = module_.messages[i];
        const bool differs = any_item(
            message, [](const ir::Item& item) { return uses_callers_type(item) || calls_with_callers_type(item); });
        const bool is_made = table == 0 || differs;
        const std::uint16_t entry =
            is_made ? maker.make(message, layouts_[i], tables.types()[table]) : first_entries[i];
        if (!has_room(maker.segments(), message)) return;
        if (table == 0) first_entries.push_back(entry);
        dispatch(table, i, entry);
      }
      if (program_.templates.size() > module_.messages.size()) {
        if (table == 0) first_entries.push_back(maker.make_empty());
        dispatch(table, module_.messages.size(), first_entries.back());
      }
      if (program_.dispatch.size() > kMaxDispatchEntries) break;
    }
    check_limit(program_.code.size(), limits::kMaxInstructions, "instructions");
    check_limit(slots_.entries().size() + 1, limits::kMaxSlots, "dictionary slots");
    check_limit(program_.dispatch.size(), kMaxDispatchEntries, "dispatch entries");
    std::sort(program_.dispatch.begin(), program_.dispatch.end(), [](const DispatchEntry& a, const DispatchEntry& b) {
      return std::pair(a.table, a.id) < std::pair(b.table, b.id);
    });
  }

  bool has_room(std::size_t segments, const ir::Message& message) {
    const auto check = [&](std::size_t count, std::size_t limit, const char* what) {
      if (count <= limit) return true;
      report_.error(ErrorCode::T1, message.of->range,
                    "the templates up to " + quoted(message.of->name.text) + " need more than " +
                        std::to_string(limit) + ' ' + what);
      return false;
    };
    return check(program_.code.size(), limits::kMaxInstructions, "instructions") &&
           check(segments, limits::kMaxSegments, "presence maps") &&
           check(constants_.size(), limits::kMaxConstants, "constants") &&
           check(slots_.entries().size() + 1, limits::kMaxSlots, "dictionary slots");
  }

  void dispatch(std::size_t table, std::size_t template_index, std::uint16_t entry) {
    program_.dispatch.push_back({static_cast<std::uint16_t>(table), program_.templates[template_index].id,
                                 static_cast<std::uint16_t>(template_index), entry});
  }

  void add_nodes(std::size_t message_index) {
    const ir::Message& message = module_.messages[message_index];
    const std::size_t base = program_.nodes.size();
    for (std::size_t i = 0; i < message.items.size(); ++i) {
      const ir::Item& item = message.items[i];
      const ItemPlacement& place = layouts_[message_index].places[i];
      SchemaNode& node = program_.nodes.emplace_back();
      node.kind = item.kind;
      node.unstored = !item.is_stored;
      node.block = place.block;
      node.word = place.word;
      node.element_block = place.element_block;
      node.end = static_cast<std::uint16_t>(base + item.end);
      node.source = set_.templates[item.template_index].source;
      set_place(*item.range, node);
      if (item.field) describe(*item.field, node);
      if (item.group) describe(*item.group, node);
      if (item.length) {
        if (item.length->name) node.length_name = names_.intern(item.length->name->text);
        node.length_id = item.length->id;
      }
    }
    program_.templates[message_index].first_node = static_cast<std::uint16_t>(base);
    program_.templates[message_index].end_node = static_cast<std::uint16_t>(program_.nodes.size());
  }

  void describe(const ast::Field& field, SchemaNode& node) {
    node.type = field.type;
    node.optional = field.optional;
    node.unit = field.unit;
    node.epoch = names_.intern(field.epoch);
    node.id = field.id;
    node.name = names_.intern(field.name.text);
    node.name_space = names_.intern(field.name.name_space);
    if (is_schema_constant(field)) {
      node.constant = true;
      node.constant_index = constant_maker_.schema(field);
    }
    if (field.enumeration != ast::kNoEnumeration) node.type_info = type_info(field.enumeration);
  }

  void describe(const ast::Group& group, SchemaNode& node) {
    node.optional = group.optional;
    node.id = group.id;
    node.name = names_.intern(group.name.text);
    node.name_space = names_.intern(group.name.name_space);
  }

  template <class T>
  static void set_place(const SourceRange& range, T& out) {
    const SourceBuffer::Position position = range.source->position(range.offset);
    out.line = position.line;
    out.column = position.column;
  }

  std::uint16_t type_info(std::size_t enumeration) {
    const auto [place, is_new] =
        type_infos_.try_emplace(enumeration, static_cast<std::uint16_t>(program_.type_infos.size()));
    if (!is_new) return place->second;
    const ast::Enumeration& from = set_.enumerations[enumeration];
    TypeInfo& info = program_.type_infos.emplace_back();
    info.name = names_.intern(from.name);
    info.first_element = static_cast<std::uint32_t>(program_.elements.size());
    info.element_count = static_cast<std::uint32_t>(from.elements.size());
    for (const ast::EnumerationElement& element : from.elements) {
      program_.elements.push_back({names_.intern(element.name), names_.intern(element.label)});
    }
    return place->second;
  }

  void add_slots() {
    const std::vector<SlotTable::Entry>& entries = slots_.entries();
    const std::vector<std::uint16_t> old_numbers = number_slots(program_.code, entries.size());
    program_.slots.resize(entries.size() + 1);
    program_.slots[0].name = names_.intern("template identifier");
    for (std::size_t i = 1; i < program_.slots.size(); ++i) {
      const SlotTable::Entry& entry = entries[old_numbers[i] - 1U];
      const std::string name =
          entry.key.dictionary + '/' + entry.key.name.text + std::string(part_name(entry.key.part));
      program_.slots[i].name = names_.intern(name);
      if (entry.holds_string) program_.slots[i].string_capacity = static_cast<std::uint16_t>(options_.string_capacity);
    }
  }

  void add_sources() {
    for (const auto& source : sources_) {
      program_.sources.push_back({names_.intern(source->name()), source->text().size(), fnv1a(source->text())});
    }
  }

  const ir::Module& module_;
  const ast::TemplateSet& set_;
  const std::vector<std::shared_ptr<const SourceBuffer>>& sources_;
  const Options& options_;
  Report& report_;
  Program program_;
  NameTable names_;
  ConstantTable constants_;
  ConstantMaker constant_maker_{constants_, set_};
  SlotTable slots_;
  std::vector<Layout> layouts_;
  std::map<std::size_t, std::uint16_t> type_infos_;
};

}  // namespace

std::optional<Program> to_program(const ir::Module& module, const ast::TemplateSet& set,
                                  const std::vector<std::shared_ptr<const SourceBuffer>>& sources,
                                  const Options& options, Report& report) {
  return Lowering(module, set, sources, options, report).run();
}

}  // namespace stopbit::templates::lower
