#include "templates/emit/cpp/cpp_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "templates/emit/cpp/identifiers.hpp"
#include "templates/emit/cpp/view_model.hpp"

namespace stopbit::emit {
namespace {

/// Names that every struct declares besides those of the feed.
const std::set<std::string> kStructNames = {"kBase",         "kBlock",         "kEndNode", "kFirstNode", "kTemplateId",
                                            "kTemplateName", "kTemplateIndex", "place",    "header",     "from"};
const std::set<std::string> kNamespaceNames = {"Feed", "detail", "label", "std", "stopbit", "text"};

class CppView : private ViewModel {
 public:
  CppView(const Program& program, const CppOptions& options) : ViewModel(program), name_space_(options.name_space) {}

  std::string run() {
    reserved_.insert(name_space_.substr(0, name_space_.find(':')));
    head();
    tables();
    for (const Template& item : program_.templates) {
      templates_.push_back(names_.unique(text(item.name)));
      // A template that a dynamic reference may hold has two bases: its view is a template of C++, too.
      structs_.push_back(has_references_ ? names_.unique(templates_.back() + "At") : templates_.back());
    }
    enumerations();
    for (std::size_t i = 0; i < program_.templates.size(); ++i) message(i);
    dispatch();
    line("}}  // namespace {}", name_space_);
    line("// NOLINTEND");
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const std::size_t begin = out_.size();
    out_.append(indent_, ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    if (out_.size() == begin + indent_) out_.resize(begin);
    out_ += '\n';
  }
  void blank() { out_ += '\n'; }

  [[nodiscard]] std::string global(std::string_view name) const { return fmt::format("::{}::{}", name_space_, name); }

  [[nodiscard]] std::string base_of(std::uint16_t index) const {
    if (index == kNoBlock || !is_root(index)) return "0";
    return has_references_ ? "kBase" : std::to_string(kRecordBase);
  }
  /// A word of a block, counted from the block's first slot.
  [[nodiscard]] std::string place(std::uint16_t index, std::size_t word) const {
    if (!is_root(index)) return std::to_string(word);
    return has_references_ ? fmt::format("kBase + {}", word) : std::to_string(kRecordBase + word);
  }
  [[nodiscard]] std::string slots_of(std::uint16_t index) const {
    if (index == kNoBlock) return "0";
    const std::size_t words = block(index).words;
    if (is_root(index) && has_references_) return fmt::format("::stopbit::record::block_slots(kBase, {})", words);
    return std::to_string(((is_root(index) ? kRecordBase : 0) + words + kSlotValues - 1) / kSlotValues);
  }

  void head() {
    line("// Typed views of records, made by `stopbit gen cpp`. Do not edit; generate it again.");
    line("//");
    for (const Source& source : program_.sources) {
      line("// from {}, {} bytes, FNV-1a {:016x}", comment(text(source.name)), source.bytes, source.hash);
    }
    line("//");
    line(
        "// A view is a pair of pointers into a record. Look at one only after Feed::check has accepted the record, or "
        "in");
    line("// Feed::read, which checks first. See decoder/record/typed_view.hpp.");
    line("// NOLINTBEGIN: names are those of the feed.");
    line("#pragma once");
    blank();
    line("#include \"decoder/record/typed_view.hpp\"");
    blank();
    line("namespace {} {{", name_space_);
    blank();
  }

  static std::string_view form_of(const SchemaNode& item) {
    if (item.constant || item.unstored) return "Constant";
    switch (item.type) {
      case FieldType::Decimal: return "Decimal";
      case FieldType::Ascii:
      case FieldType::Unicode:
      case FieldType::ByteVector: return "String";
      case FieldType::Enum: return "Enum";
      case FieldType::Set: return "Set";
      case FieldType::Boolean: return "Boolean";
      default: return "Plain";
    }
  }

  static std::string_view kind_of(NodeKind kind) {
    switch (kind) {
      case NodeKind::Field: return "Field";
      case NodeKind::Group: return "Group";
      case NodeKind::Sequence: return "Sequence";
      case NodeKind::Reference: return "Reference";
    }
    return "Field";
  }

  void node_row(std::size_t index) {
    const SchemaNode& item = node(index);
    // A node that is not stored is skipped, with its content: a constant has no slot either.
    const bool is_field = item.kind == NodeKind::Field || item.unstored;
    const bool has_elements =
        item.kind == NodeKind::Field && (item.type == FieldType::Enum || item.type == FieldType::Set);
    line("{{v::Kind::{}, v::Form::{}, {}, {}, {}, {}, {}, {}, {}U}},", kind_of(is_field ? NodeKind::Field : item.kind),
         is_field ? form_of(item) : "Plain", item.optional, is_flat(index), item.word, item.block, item.element_block,
         item.end, has_elements ? program_.type_infos[item.type_info].element_count : 0);
  }

  template <class Row>
  void table(std::string_view type, std::string_view name, std::size_t size, Row row) {
    line("inline constexpr ::std::array<v::{}, {}> {} = {{{}", type, size, name, size == 0 ? "};" : "{");
    if (size == 0) return;
    indent_ += 4;
    for (std::size_t i = 0; i < size; ++i) row(i);
    indent_ -= 4;
    line("}}}};");
  }

  void tables() {
    line("/// The schema as tables, for checks and walks.");
    line("namespace detail {{");
    line("namespace v = ::stopbit::view;");
    table("Node", "kNodes", program_.nodes.size(), [&](std::size_t i) { node_row(i); });
    table("Block", "kBlocks", program_.blocks.size(),
          [&](std::size_t i) { line("{{{}, {}}},", block(i).words, block(i).first_word); });
    table("Template", "kTemplates", program_.templates.size(), [&](std::size_t i) {
      const Template& item = program_.templates[i];
      line("{{{}, {}, {}}},", item.first_node, item.end_node, item.root_block);
    });
    line("inline constexpr v::Shape kShape = {{kNodes, kBlocks, kTemplates}};");
    blank();
    line("struct Dispatch {{");
    line("  template <::std::size_t kBase, class Visitor>");
    line("  static void call(::std::size_t template_index, v::Place place, Visitor& visitor);");
    line("}};");
    line("}}  // namespace detail");
    blank();
  }

  /// Lists of elements that mean the same share an enumeration.
  void enumerations() {
    enumerations_.resize(program_.type_infos.size());
    for (const ElementList& list : element_lists()) {
      const std::string name = names_.unique(list.name);
      enumeration(name, *list.info);
      for (const std::size_t type_info : list.type_infos) enumerations_[type_info] = name;
    }
  }

  void enumeration(const std::string& name, const TypeInfo& info) {
    const auto element = [&](std::uint32_t i) -> const Element& { return program_.elements[info.first_element + i]; };
    line("enum class {} : ::std::uint32_t {{", name);
    Scope scope;
    for (std::uint32_t i = 0; i < info.element_count; ++i) {
      const Element& item = element(i);
      line("  {} = {},", scope.unique(text(item.label.length != 0 ? item.label : item.name)), i);
    }
    line("}};");
    element_texts(name, "text", "The FIX value.", info, &Element::name);
    element_texts(name, "label", "The name for people.", info, &Element::label);
  }

  void element_texts(const std::string& name, std::string_view function, std::string_view what, const TypeInfo& info,
                     TextRef Element::*member) {
    line("/// {}", what);
    line("[[nodiscard]] constexpr ::std::string_view {}({} element) noexcept {{", function, global(name));
    line("  constexpr ::std::string_view kTexts[] = {{");
    for (std::uint32_t i = 0; i < info.element_count; ++i) {
      line("      {},", view_literal(text(program_.elements[info.first_element + i].*member)));
    }
    line("  }};");
    line("  const auto index = static_cast<::std::size_t>(element);");
    line("  return index < {} ? kTexts[index] : ::std::string_view();", info.element_count);
    line("}}");
    blank();
  }

  /// With its length: the text may hold zeros.
  static std::string view_literal(std::string_view bytes) {
    return fmt::format("::std::string_view({}, {})", literal(bytes), bytes.size());
  }

  static std::string_view unit_type(TimeUnit unit) {
    switch (unit) {
      case TimeUnit::Day: return "::stopbit::view::Days";
      case TimeUnit::Second: return "::stopbit::view::Seconds";
      case TimeUnit::Millisecond: return "::stopbit::view::Milliseconds";
      case TimeUnit::Microsecond: return "::stopbit::view::Microseconds";
      case TimeUnit::Nanosecond: return "::stopbit::view::Nanoseconds";
      case TimeUnit::None: break;
    }
    return "::std::int64_t";
  }

  [[nodiscard]] std::string type_of(const SchemaNode& item) const {
    switch (item.type) {
      case FieldType::Int8: return "::std::int8_t";
      case FieldType::UInt8: return "::std::uint8_t";
      case FieldType::Int16: return "::std::int16_t";
      case FieldType::UInt16: return "::std::uint16_t";
      case FieldType::Int32: return "::std::int32_t";
      case FieldType::UInt32: return "::std::uint32_t";
      case FieldType::Int64: return "::std::int64_t";
      case FieldType::UInt64: return "::std::uint64_t";
      case FieldType::Decimal: return "::stopbit::view::Decimal";
      case FieldType::Ascii:
      case FieldType::Unicode: return "::stopbit::view::Text";
      case FieldType::ByteVector: return "::stopbit::view::Bytes";
      case FieldType::Enum: return global(enumerations_[item.type_info]);
      case FieldType::Set: return fmt::format("::stopbit::view::Set<{}>", global(enumerations_[item.type_info]));
      case FieldType::Boolean: return "bool";
      case FieldType::Timestamp: {
        const std::string_view unit = unit_type(item.unit);
        const bool is_unix = text(item.epoch) == "unix" || text(item.epoch) == "UNIX";
        return is_unix && item.unit != TimeUnit::None ? fmt::format("::std::chrono::sys_time<{}>", unit)
                                                      : std::string(unit);
      }
    }
    return "::std::uint64_t";
  }

  /// For people: what the template file says.
  [[nodiscard]] std::string about(const SchemaNode& item, std::string_view what, std::uint32_t id) const {
    std::string out = fmt::format("{} `{}`", what, comment(text(item.name)));
    if (id != 0) out += fmt::format(", tag {}", id);
    if (item.optional) out += ", optional";
    if (item.line != 0) out += fmt::format("; line {}", item.line);
    return out;
  }

  static std::string number(std::uint64_t value, bool is_signed) {
    if (!is_signed) return fmt::format("{}U", value);
    const auto number = static_cast<std::int64_t>(value);
    // The smallest has no literal of its own.
    return number == INT64_MIN ? fmt::format("{} - 1", INT64_MIN + 1) : fmt::format("{}", number);
  }

  /// Type and value of a mandatory constant.
  [[nodiscard]] std::pair<std::string, std::string> constant_of(const SchemaNode& item) const {
    const Constant& value = program_.constants[item.constant_index];
    const std::string type = type_of(item);
    switch (item.type) {
      case FieldType::Ascii:
      case FieldType::Unicode: return {"::std::string_view", view_literal(program_.constant_bytes(value.bytes()))};
      case FieldType::ByteVector: {
        const std::string_view bytes = program_.constant_bytes(value.bytes());
        std::string list;
        for (const char byte : bytes) {
          list += fmt::format("{}::std::byte{{0x{:02x}}}", list.empty() ? "" : ", ", static_cast<unsigned char>(byte));
        }
        std::string array = fmt::format("::std::array<::std::byte, {}>", bytes.size());
        return {array, bytes.empty() ? array + "{}" : fmt::format("{}{{{{{}}}}}", array, list)};
      }
      case FieldType::Decimal:
        return {type, fmt::format("{}{{{}, {}}}", type,
                                  number(program_.constants[item.constant_index + std::size_t{1}].value, true),
                                  number(value.value, true))};
      case FieldType::Boolean: return {type, value.value != 0 ? "true" : "false"};
      case FieldType::Enum: return {type, fmt::format("static_cast<{}>({})", type, value.value)};
      case FieldType::Set: return {type, fmt::format("{}({}U)", type, value.value)};
      case FieldType::Timestamp:
        return {type, type.find("sys_time") == std::string::npos
                          ? fmt::format("{}({})", type, number(value.value, true))
                          : fmt::format("{}({}({}))", type, unit_type(item.unit), number(value.value, true))};
      default: {
        const bool is_signed = item.type == FieldType::Int8 || item.type == FieldType::Int16 ||
                               item.type == FieldType::Int32 || item.type == FieldType::Int64;
        return {type, number(value.value, is_signed)};
      }
    }
  }

  void getter(std::string_view type, std::string_view name, std::string_view body) {
    line("[[nodiscard]] {} {}() const noexcept {{ return {}; }}", type, name, body);
  }

  void field(std::size_t index, Scope& scope) {
    const SchemaNode& item = node(index);
    const std::string name = scope.unique(text(item.name));
    line("/// {}.", about(item, item.constant ? "Constant" : "Field", item.id));
    if (item.constant) {
      const auto [type, value] = constant_of(item);
      line("[[nodiscard]] static constexpr {} {}() noexcept {{ return {}; }}", type, name, value);
      return;
    }
    const std::string type = type_of(item);
    const std::string where = place(item.block, item.word);
    const auto load = [&](const std::string& what, const std::string& called) {
      getter(item.optional ? fmt::format("::std::optional<{}>", what) : what, called,
             fmt::format("::stopbit::view::{}<{}, {}>(place)", item.optional ? "find" : "get", what, where));
    };
    load(type, name);
    if (item.type == FieldType::Timestamp) load("::std::int64_t", scope.unique(name + "_raw"));
  }

  void group(std::size_t index, const Part& part, Scope& scope) {
    const SchemaNode& item = node(index);
    const std::string name = scope.unique(text(item.name));
    const std::string type = scope.unique(name + "Group");
    structs(type, index + 1, item.end, part.block, {});
    line("/// {}.", about(item, "Group", item.id));
    if (item.optional) {
      line("[[nodiscard]] ::std::optional<{}> {}() const noexcept {{", type, name);
      line("  if (!::stopbit::view::has<{}>(place.block)) return ::std::nullopt;", place(item.block, item.word));
      line("  return {}{{place}};", type);
      line("}}");
    } else {
      getter(type, name, type + "{place}");
    }
  }

  void sequence(std::size_t index, Scope& scope) {
    const SchemaNode& item = node(index);
    const std::string name = scope.unique(text(item.name));
    std::string range;
    if (is_vector(index)) {
      range = fmt::format("::stopbit::view::Values<{}>", type_of(node(index + 1)));
    } else {
      const std::string element = scope.unique(name + "Element");
      structs(element, index + 1, item.end, item.element_block,
              {fmt::format("static constexpr ::std::uint16_t kBlock = {};", item.element_block),
               fmt::format("static constexpr ::std::size_t kFirstNode = {};", index + 1),
               fmt::format("static constexpr ::std::size_t kEndNode = {};", item.end)});
      range = is_flat(index) ? fmt::format("::stopbit::view::Elements<{}, {}>", element, stride(item))
                             : fmt::format("::stopbit::view::Walked<{}, detail::kShape>", element);
    }
    line("/// {}.", about(item, "Sequence", item.length_id));
    getter(item.optional ? fmt::format("::stopbit::view::OptionalRange<{}>", range) : range, name,
           fmt::format("::stopbit::view::{}_elements<{}, {}, {}>(place)", item.optional ? "find" : "get", range,
                       place(item.block, item.word), slots_of(item.block)));
  }

  void reference(const Part& part, Scope& scope) {
    const std::string name = scope.unique("templateRef");
    line("/// Calls the visitor with the view of the template at this place.");
    line("template <class Visitor>");
    line("void {}(Visitor&& visitor) const {{", name);
    line("  const auto* slot = place.block + {};", slots_of(part.block));
    line(
        "  detail::Dispatch::call<::stopbit::record::kReferenceWords>(slot->words[0], {{slot, place.strings}}, "
        "visitor);");
    line("}}");
  }

  /// The view of what follows the last node of a part.
  void after(const Part& part, std::uint16_t next_block, std::string_view type, std::string_view name) {
    const std::size_t index = *part.leaver;
    const SchemaNode& item = node(index);
    line("/// The view of the part that follows.");
    std::string where;
    if (item.unstored) {
      where = fmt::format("{{place.block + {}, place.strings}}", slots_of(part.block));
    } else if (item.kind == NodeKind::Sequence && is_flat(index)) {
      where = fmt::format("::stopbit::view::behind_elements<{}, {}, {}>(place)", place(item.block, item.word),
                          slots_of(item.block), stride(item));
    } else {
      where = fmt::format("::stopbit::view::behind(detail::kShape, place, {}, {}, {}, {})", part.block,
                          base_of(part.block), index, next_block);
    }
    getter(type, name, fmt::format("{}{{{}}}", type, where));
  }

  /// The struct of a body's first part, which contains those of the others.
  void structs(const std::string& name, std::size_t first, std::size_t end, std::uint16_t open_block,
               const std::vector<std::string>& head, std::size_t template_index = SIZE_MAX) {
    const std::vector<Part> parts = split(first, end, open_block);
    // Of every struct of the body: so that none of them hides another.
    std::set<std::string> reserved = kStructNames;
    reserved.insert(name);
    std::vector<std::string> types = {name};
    {
      Scope type_names(kStructNames);
      (void)type_names.unique(name);
      for (std::size_t i = 1; i < parts.size(); ++i) {
        types.push_back(type_names.unique("After_" + leaver_name(parts[i - 1])));
      }
    }
    reserved.insert(types.begin(), types.end());
    line("struct {} {{", name);
    indent_ += 2;
    for (const std::string& text : head) line("{}", text);
    for (std::size_t i = parts.size(); i-- > 1;) {
      Scope inner(reserved);
      line("struct {} {{", types[i]);
      indent_ += 2;
      members(parts, i, types, inner);
      indent_ -= 2;
      line("}};");
      blank();
    }
    Scope scope(reserved);
    members(parts, 0, types, scope);
    if (template_index != SIZE_MAX) message_members(template_index);
    indent_ -= 2;
    line("}};");
    blank();
  }

  [[nodiscard]] std::string leaver_name(const Part& part) const {
    const SchemaNode& item = node(*part.leaver);
    return item.kind == NodeKind::Reference ? "templateRef" : std::string(text(item.name));
  }

  void members(const std::vector<Part>& parts, std::size_t index, const std::vector<std::string>& types, Scope& scope) {
    const Part& part = parts[index];
    for (const std::size_t i : part.nodes) {
      switch (node(i).kind) {
        case NodeKind::Field: field(i, scope); break;
        case NodeKind::Group: group(i, part, scope); break;
        case NodeKind::Sequence: sequence(i, scope); break;
        case NodeKind::Reference: reference(part, scope); break;
      }
    }
    if (part.goes_on) {
      after(part, parts[index + 1].block, types[index + 1], scope.unique("after_" + leaver_name(part)));
    }
    blank();
    line("::stopbit::view::Place place;");
  }

  void message_members(std::size_t index) {
    blank();
    line("/// The view of a checked record; nothing if the record is of another template.");
    line(
        "[[nodiscard]] static ::std::optional<{0}> from(::std::span<const ::stopbit::record::Slot> checked) noexcept "
        "{{",
        structs_[index]);
    line("  if (::stopbit::record::HeaderView(checked[0]).template_index() != kTemplateIndex) return ::std::nullopt;");
    line("  return {}{{::stopbit::view::root_of(checked)}};", structs_[index]);
    line("}}");
    line("/// The header of the record.");
    line("[[nodiscard]] ::stopbit::record::HeaderView header() const noexcept {}{{",
         has_references_ ? "requires(kBase == ::stopbit::record::kHeaderWords) " : "");
    line("  return ::stopbit::record::HeaderView(place.block[0]);");
    line("}}");
  }

  void message(std::size_t index) {
    const Template& item = program_.templates[index];
    line("/// Template `{}`, id {}; line {}.", comment(text(item.name)), item.id, item.line);
    if (has_references_) line("template <::std::size_t kBase>");
    structs(structs_[index], item.first_node, item.end_node, item.root_block,
            {fmt::format("static constexpr ::std::uint32_t kTemplateId = {}U;", item.id),
             fmt::format("static constexpr ::std::uint16_t kTemplateIndex = {};", index),
             fmt::format("static constexpr ::std::string_view kTemplateName = {};", view_literal(text(item.name)))},
            index);
    if (has_references_) {
      line("using {} = {}<::stopbit::record::kHeaderWords>;", templates_[index], structs_[index]);
      blank();
    }
  }

  void dispatch() {
    line("template <::std::size_t kBase, class Visitor>");
    line("void detail::Dispatch::call(::std::size_t template_index, v::Place place, Visitor& visitor) {{");
    line("  switch (template_index) {{");
    for (std::size_t i = 0; i < structs_.size(); ++i) {
      line("    case {}: return v::show(visitor, {}{}{{place}});", i, global(structs_[i]),
           has_references_ ? "<kBase>" : "");
    }
    line("    default: return;");
    line("  }}");
    line("}}");
    blank();
    line("/// Opens, checks and visits the records of this layout. See decoder/record/typed_view.hpp.");
    line("using Feed = ::stopbit::view::Feed<0x{:016x}U, detail::kShape, detail::Dispatch>;", layout_hash(program_));
    blank();
  }

  std::string name_space_;
  std::set<std::string> reserved_ = kNamespaceNames;
  Scope names_{reserved_};
  std::vector<std::string> templates_;     ///< By template: its view's name.
  std::vector<std::string> structs_;       ///< By template: the struct, which has a parameter if there are references.
  std::vector<std::string> enumerations_;  ///< By type_info: its name.
  std::string out_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string cpp_view(const Program& program, const CppOptions& options) {
  return CppView(program, options).run();
}

}  // namespace stopbit::emit
