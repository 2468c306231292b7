#include "templates/emit/c/c_view.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "templates/emit/cpp/identifiers.hpp"
#include "templates/emit/cpp/view_model.hpp"

namespace stopbit::emit {
namespace {

/// Each part of a body (of a template, an element or a group) is a type, whose functions take it by value. C has one
/// scope: types come first, then the functions that find the end of a part, which call each other, then the others.
class CView : private ViewModel {
 public:
  CView(const Program& program, std::string prefix) : ViewModel(program), prefix_(std::move(prefix)) {}

  std::string run() {
    element_lists_ = std::vector<std::string>(program_.type_infos.size());
    for (const ElementList& list : element_lists()) enumeration(list);
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      templates_.push_back(names_.unique(prefix_ + '_' + std::string(text(program_.templates[i].name))));
    }
    for (std::size_t i = 0; i < program_.templates.size(); ++i) message(i);
    if (has_references_) any_end();
    return head() + enumerations_ + types_ + '\n' + ends_ + '\n' + functions_ + foot();
  }

 private:
  /// Where lines of functions go.
  template <class... Arguments>
  static void line(std::string& to, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(to), format, std::forward<Arguments>(arguments)...);
    to += '\n';
  }
  template <class... Arguments>
  void function(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    line(functions_, format, std::forward<Arguments>(arguments)...);
  }
  /// A function that others call before it is defined.
  void end_function(const std::string& signature, const std::string& body) {
    line(ends_, "static inline {};", signature);
    function("static inline {} {{\n{}}}\n", signature, body);
  }

  [[nodiscard]] std::string head() const {
    std::string out;
    line(out, "/* Typed views of records, made by `stopbit gen c`. Do not edit; generate it again.\n *");
    for (const Source& source : program_.sources) {
      line(out, " * from {}, {} bytes, FNV-1a {:016x}", comment(text(source.name)), source.bytes, source.hash);
    }
    line(out,
         " *\n * A view is a pair of pointers into a record. Look at one only after stopbit_record_check has accepted");
    line(out, " * the record, of a program or ring whose layout hash is {}_layout_hash(). See stopbit_view.h. */",
         prefix_);
    std::string guard = prefix_ + "_STOPBIT_VIEWS_H";
    line(out, "#ifndef {0}\n#define {0}\n\n#include \"stopbit_view.h\"\n", guard);
    line(out, "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n");
    line(out, "/* That of the records: stopbit_program_layout_hash, stopbit_ring_layout_hash. */");
    line(out, "static inline uint64_t {}_layout_hash(void) {{ return UINT64_C(0x{:016x}); }}\n", prefix_,
         layout_hash(program_));
    return out;
  }
  static std::string foot() { return "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"; }

  [[nodiscard]] std::string about(const SchemaNode& item, std::string_view what, std::uint32_t id) const {
    std::string out = fmt::format("/* {} `{}`", what, comment(text(item.name)));
    if (id != 0) out += fmt::format(", tag {}", id);
    if (item.optional) out += ", optional";
    if (item.line != 0) out += fmt::format("; line {}", item.line);
    return out + ". */";
  }

  // -- places ---------------------------------------------------------------------------------------------------------

  /// A word of a block, counted from the block's first slot.
  [[nodiscard]] std::string place(std::uint16_t index, std::size_t word) const {
    if (!is_root(index)) return std::to_string(word);
    return has_references_ ? fmt::format("view.place.base + {}", word) : std::to_string(kRecordBase + word);
  }
  [[nodiscard]] std::string slots_of(std::uint16_t index) const {
    if (index == kNoBlock) return "0";
    const std::size_t words = block(index).words;
    if (is_root(index) && has_references_) return fmt::format("(view.place.base + {}) / 7", words + kSlotValues - 1);
    return std::to_string(((is_root(index) ? kRecordBase : 0) + words + kSlotValues - 1) / kSlotValues);
  }
  /// The place after the block of a part.
  [[nodiscard]] std::string after_block(const Part& part) const {
    return fmt::format("stopbit_view_skip(view.place, {})", slots_of(part.block));
  }

  // -- enumerations ---------------------------------------------------------------------------------------------------

  void enumeration(const ElementList& list) {
    const std::string name = names_.unique(prefix_ + '_' + std::string(list.name));
    for (const std::size_t type_info : list.type_infos) element_lists_[type_info] = name;
    std::string& out = enumerations_;
    line(out, "typedef enum {} {{", name);
    std::string names;
    for (std::uint32_t i = 0; i < list.info->element_count; ++i) {
      const Element& item = program_.elements[list.info->first_element + i];
      const std::string_view shown = text(item.label.length != 0 ? item.label : item.name);
      line(out, "  {} = {},", names_.unique(name + '_' + std::string(shown)), i);
      names += fmt::format("    {},\n", literal(text(item.name)));
    }
    line(out, "}} {};", name);
    line(out, "/* The FIX value of an element; NULL if there is none. */");
    line(out, "static inline const char* {}(uint32_t element) {{", names_.unique(name + "_text"));
    line(out, "  static const char* const kTexts[] = {{\n{}  }};", names);
    line(out, "  return element < {} ? kTexts[element] : NULL;\n}}\n", list.info->element_count);
  }

  // -- fields ---------------------------------------------------------------------------------------------------------

  /// Its type, and how a word becomes a value of it.
  static std::pair<std::string, std::string> scalar(FieldType type) {
    switch (type) {
      case FieldType::Int8: return {"int8_t", "(int8_t)"};
      case FieldType::UInt8: return {"uint8_t", "(uint8_t)"};
      case FieldType::Int16: return {"int16_t", "(int16_t)"};
      case FieldType::UInt16: return {"uint16_t", "(uint16_t)"};
      case FieldType::Int32: return {"int32_t", "(int32_t)"};
      case FieldType::UInt32: return {"uint32_t", "(uint32_t)"};
      case FieldType::Int64:
      case FieldType::Timestamp: return {"int64_t", "(int64_t)"};
      case FieldType::Boolean: return {"bool", "(bool)"};
      default: return {"uint64_t", ""};
    }
  }
  [[nodiscard]] std::string type_of(const SchemaNode& item) const {
    switch (item.type) {
      case FieldType::Decimal: return "stopbit_decimal";
      case FieldType::Ascii:
      case FieldType::Unicode:
      case FieldType::ByteVector: return "stopbit_text";
      case FieldType::Enum: return element_lists_[item.type_info];
      default: return scalar(item.type).first;
    }
  }
  /// `word`: of the block of `view.place`, an expression.
  [[nodiscard]] std::string value_of(const SchemaNode& item, const std::string& word) const {
    switch (item.type) {
      case FieldType::Decimal: return fmt::format("stopbit_view_decimal(view.place, {})", word);
      case FieldType::Ascii:
      case FieldType::Unicode:
      case FieldType::ByteVector: return fmt::format("stopbit_view_text(view.place, {})", word);
      case FieldType::Enum: return fmt::format("({})stopbit_view_word(view.place, {})", type_of(item), word);
      default: return fmt::format("{}stopbit_view_word(view.place, {})", scalar(item.type).second, word);
    }
  }

  /// Of a mandatory constant.
  [[nodiscard]] std::string constant_of(const SchemaNode& item) const {
    const Constant& value = program_.constants[item.constant_index];
    const auto number = [](std::uint64_t bits) {
      const auto one = static_cast<std::int64_t>(bits);
      // The smallest has no literal of its own.
      return one == INT64_MIN ? std::string("INT64_MIN") : fmt::format("INT64_C({})", one);
    };
    switch (item.type) {
      case FieldType::Decimal:
        return fmt::format("stopbit_view_number({}, {})",
                           number(program_.constants[item.constant_index + std::size_t{1}].value),
                           static_cast<std::int64_t>(value.value));
      case FieldType::Ascii:
      case FieldType::Unicode:
      case FieldType::ByteVector: {
        const std::string_view bytes = program_.constant_bytes(value.bytes());
        return fmt::format("stopbit_view_literal({}, {})", literal(bytes), bytes.size());
      }
      case FieldType::UInt64:
      case FieldType::Set: return fmt::format("UINT64_C({})", value.value);
      default: return fmt::format("({}){}", type_of(item), number(value.value));
    }
  }

  void getter(const std::string& type, const std::string& name, const std::string& view, const std::string& value) {
    function("static inline {} {}({} view) {{ return {}; }}", type, names_.unique(name), view, value);
  }
  void has(const std::string& view, const SchemaNode& item) {
    getter("bool", view + "_has_" + std::string(text(item.name)), view,
           fmt::format("stopbit_view_has(view.place, {})", place(item.block, item.word)));
  }
  [[nodiscard]] std::string named(const std::string& view, const SchemaNode& item) const {
    return view + '_' + std::string(text(item.name));
  }

  void field(const std::string& view, const SchemaNode& item) {
    function("{}", about(item, item.constant ? "Constant" : "Field", item.id));
    if (item.constant) {
      function("static inline {} {}({} view) {{\n  (void)view;\n  return {};\n}}", type_of(item),
               names_.unique(named(view, item)), view, constant_of(item));
      return;
    }
    if (item.optional) has(view, item);
    getter(type_of(item), named(view, item), view, value_of(item, place(item.block, item.word)));
  }

  struct Group {
    std::string type;
    std::string getter;
  };
  Group group(const std::string& view, std::size_t index, const Part& part) {
    const SchemaNode& item = node(index);
    const std::string type = names_.unique(named(view, item) + "Group");
    body(type, index + 1, item.end, part.block);
    function("{}", about(item, "Group", item.id));
    if (item.optional) has(view, item);
    std::string getter = names_.unique(named(view, item));
    function("static inline {0} {1}({2} view) {{\n  const {0} inner = {{view.place}};\n  return inner;\n}}", type,
             getter, view);
    return {type, std::move(getter)};
  }

  /// The names of the functions that `past` needs.
  struct Sequence {
    std::string count;
    std::string begin;
    std::string element;
    std::string next;
  };
  Sequence sequence(const std::string& view, std::size_t index, const Part& part) {
    const SchemaNode& item = node(index);
    Sequence made;
    function("{}", about(item, "Sequence", item.length_id));
    if (item.optional) has(view, item);
    made.count = names_.unique(named(view, item) + "_count");
    function("static inline uint32_t {}({} view) {{ return (uint32_t)stopbit_view_word(view.place, {}); }}", made.count,
             view, place(item.block, item.word));
    if (is_vector(index)) {
      const SchemaNode& value = node(index + 1);
      made.element = names_.unique(named(view, item) + "Element");
      type(made.element);
      function("/* A value of those; `index` is below their count. */");
      function("static inline {} {}({} of, uint32_t index) {{", type_of(value),
               names_.unique(named(view, item) + "_at"), view);
      function("  const {} whole = of;\n  {} view;", view, made.element);
      function("  view.place = stopbit_view_skip(whole.place, {} + (size_t)index);", slots_text(part, "whole"));
      function("  return {};\n}}", value_of(value, std::to_string(value.word)));
      return made;
    }
    made.element = names_.unique(named(view, item) + "Element");
    body(made.element, index + 1, item.end, item.element_block);
    made.begin = names_.unique(named(view, item) + "_begin");
    function("/* The first element, if there is one; the next ones by {}_next. */", made.element);
    function("static inline {0} {1}({2} view) {{\n  const {0} first = {{{3}}};\n  return first;\n}}", made.element,
             made.begin, view, after_block(part));
    made.next = names_.unique(made.element + "_next");
    const std::string next = is_flat(index) ? fmt::format("stopbit_view_skip(view.place, {})", stride(item))
                                            : fmt::format("{}(view)", end_of(made.element));
    function("static inline {0} {1}({0} view) {{\n  const {0} next = {{{2}}};\n  return next;\n}}", made.element,
             made.next, next);
    return made;
  }
  /// slots_of a block, of a variable that is not called `view`.
  [[nodiscard]] std::string slots_text(const Part& part, std::string_view variable) const {
    std::string out = slots_of(part.block);
    const std::size_t at = out.find("view.");
    return at == std::string::npos ? out : out.replace(at, 4, variable);
  }

  void reference(const std::string& view, const Part& part) {
    function("/* The template that is at this place: `{}_..._at` makes it a view. */", prefix_);
    function("static inline stopbit_place {}({} view) {{ return stopbit_view_reference({}); }}",
             names_.unique(view + "_templateRef"), view, after_block(part));
  }

  // -- bodies ---------------------------------------------------------------------------------------------------------

  void type(const std::string& name) { line(types_, "typedef struct {0} {{ stopbit_place place; }} {0};", name); }
  static std::string end_of(const std::string& type) { return type + "_end_"; }  // no name of the feed ends in _
  static std::string tail_of(const std::string& type) { return type + "_tail_"; }

  /// The block that is open where a body ends, as far as that does not depend on the record.
  [[nodiscard]] std::uint16_t open_at_end(std::size_t first, std::size_t end, std::uint16_t open_block) const {
    const std::vector<Part> parts = split(first, end, open_block);
    const Part& last = parts.back();
    if (!last.leaver) return last.block;
    const SchemaNode& item = node(*last.leaver);
    if (item.unstored || item.kind != NodeKind::Group || item.optional) return kNoBlock;
    return open_at_end(*last.leaver + 1, item.end, last.block);
  }

  void body(const std::string& name, std::size_t first, std::size_t end, std::uint16_t open_block) {
    const std::vector<Part> parts = split(first, end, open_block);
    std::vector<std::string> types = {name};
    type(name);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      types.push_back(names_.unique(name + "_After_" + leaver_name(parts[i - 1])));
      type(types.back());
    }
    for (std::size_t i = parts.size(); i-- > 0;) part(parts, i, types);
  }

  [[nodiscard]] std::string leaver_name(const Part& part) const {
    const SchemaNode& item = node(*part.leaver);
    return item.kind == NodeKind::Reference ? "templateRef" : std::string(text(item.name));
  }

  void part(const std::vector<Part>& parts, std::size_t index, const std::vector<std::string>& types) {
    const Part& part = parts[index];
    const std::string& view = types[index];
    std::string past = fmt::format("  return {};\n", after_block(part));  // of the last node, if it leaves the block
    std::string tail;
    for (const std::size_t i : part.nodes) {
      const SchemaNode& item = node(i);
      const bool leaves = part.leaver == i;
      switch (item.kind) {
        case NodeKind::Field: field(view, item); break;
        case NodeKind::Group: {
          const Group made = group(view, i, part);
          if (!leaves) break;
          past = (item.optional ? fmt::format("  if (!stopbit_view_has(view.place, {})) return {};\n",
                                              place(item.block, item.word), after_block(part))
                                : std::string()) +
                 fmt::format("  return {}({}(view));\n", end_of(made.type), made.getter);
          if (!item.optional && open_at_end(i + 1, item.end, part.block) != kNoBlock) {
            tail = fmt::format("{}({}(view))", tail_of(made.type), made.getter);
          }
          break;
        }
        case NodeKind::Sequence: {
          const Sequence made = sequence(view, i, part);
          if (leaves) past = past_sequence(i, part, made);
          break;
        }
        case NodeKind::Reference:
          reference(view, part);
          if (leaves)
            past = fmt::format("  return {}_end_of_any_(stopbit_view_reference({}));\n", prefix_, after_block(part));
          break;
      }
    }
    finish(parts, index, types, past, tail);
  }

  [[nodiscard]] std::string past_sequence(std::size_t index, const Part& part, const Sequence& made) const {
    const SchemaNode& item = node(index);
    if (is_vector(index) || is_flat(index)) {
      return fmt::format("  return stopbit_view_skip(view.place, {} + (size_t){}(view) * {});\n", slots_of(part.block),
                         made.count, stride(item));
    }
    return fmt::format(
        "  uint32_t left = {0}(view);\n  {1} element = {2}(view);\n  for (; left != 0; --left) element = "
        "{3}(element);\n"
        "  return element.place;\n",
        made.count, made.element, made.begin, made.next);
  }

  /// The functions that find what comes after a part.
  void finish(const std::vector<Part>& parts, std::size_t index, const std::vector<std::string>& types,
              const std::string& past, const std::string& tail) {
    const Part& part = parts[index];
    const std::string& view = types[index];
    if (!part.goes_on) {
      end_function(fmt::format("stopbit_place {}({} view)", end_of(view), view), past);
      const std::string open = part.leaver ? tail : "view.place";
      if (!open.empty()) {
        end_function(fmt::format("stopbit_place {}({} view)", tail_of(view), view), "  return " + open + ";\n");
      }
      return;
    }
    const std::string& next = types[index + 1];
    const std::string past_name = view + "_past_";
    end_function(fmt::format("stopbit_place {}({} view)", past_name, view), past);
    const std::size_t leaver = *part.leaver;
    const bool is_open = !tail.empty() && parts[index + 1].block != kNoBlock &&
                         open_at_end(leaver + 1, node(leaver).end, part.block) == parts[index + 1].block;
    function("/* What follows. */");
    const std::string after = names_.unique(view + "_after_" + leaver_name(part));
    function("static inline {0} {1}({2} view) {{\n  const {0} next = {{{3}}};\n  return next;\n}}", next, after, view,
             is_open ? tail : fmt::format("{}(view)", past_name));
    end_function(fmt::format("stopbit_place {}({} view)", end_of(view), view),
                 fmt::format("  return {}({}(view));\n", end_of(next), after));
    if (!has_tail(parts)) return;
    end_function(fmt::format("stopbit_place {}({} view)", tail_of(view), view),
                 fmt::format("  return {}({}(view));\n", tail_of(next), after));
  }
  [[nodiscard]] bool has_tail(const std::vector<Part>& parts) const {
    const Part& last = parts.back();
    if (!last.leaver) return true;
    const SchemaNode& item = node(*last.leaver);
    return !item.unstored && item.kind == NodeKind::Group && !item.optional &&
           open_at_end(*last.leaver + 1, item.end, last.block) != kNoBlock;
  }

  void message(std::size_t index) {
    const Template& item = program_.templates[index];
    const std::string& name = templates_[index];
    function("/* Template `{}`, id {}; line {}. */", comment(text(item.name)), item.id, item.line);
    function("enum {{ {} = {} }};", names_.unique(name + "_index"), index);
    function("static inline uint32_t {}(void) {{ return UINT32_C({}); }}", names_.unique(name + "_template_id"),
             item.id);
    body(name, item.first_node, item.end_node, item.root_block);
    function("/* The view of the slots of a checked record; false if it is of another template. */");
    function("static inline bool {}(const void* slots, {}* view) {{", names_.unique(name + "_from"), name);
    function("  view->place = stopbit_view_root(slots);\n  return stopbit_view_template(slots) == {};\n}}", index);
    if (!has_references_) return;
    function("/* The same at a place of a dynamic reference. */");
    function("static inline bool {}(stopbit_place place, {}* view) {{", names_.unique(name + "_at"), name);
    function("  view->place = place;\n  return stopbit_view_template(place.block) == {};\n}}", index);
  }

  /// The end of whatever template a dynamic reference has.
  void any_end() {
    std::string body = "  switch (stopbit_view_template(place.block)) {\n";
    for (std::size_t i = 0; i < templates_.size(); ++i) {
      body += fmt::format("    case {}: {{\n      const {} view = {{place}};\n      return {}(view);\n    }}\n", i,
                          templates_[i], end_of(templates_[i]));
    }
    end_function(fmt::format("stopbit_place {}_end_of_any_(stopbit_place place)", prefix_),
                 body + "    default: return place;\n  }\n");
  }

  std::string prefix_;
  Scope names_;
  std::vector<std::string> templates_;
  std::vector<std::string> element_lists_;  ///< By type_info: its enumeration.
  std::string enumerations_;
  std::string types_;
  std::string ends_;
  std::string functions_;
};

}  // namespace

std::string c_view(const Program& program, const std::string& prefix) {
  return CView(program, prefix).run();
}

}  // namespace stopbit::emit
