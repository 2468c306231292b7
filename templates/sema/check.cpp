#include "templates/sema/check.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "microcode/base/limits.hpp"
#include "microcode/template_terms.hpp"
#include "templates/ast/vocabulary.hpp"
#include "templates/sema/bits.hpp"
#include "templates/sema/value.hpp"

namespace stopbit::templates::sema {
namespace {

constexpr std::size_t kShownSteps = 8;  ///< At each end of a long chain of references.

using ast::Operator;
using Kind = isa::Operator;

std::string describe(const ast::Template& item) {
  std::string text = "in template " + quoted(item.name.text);
  if (item.id) text += " (id " + std::to_string(*item.id) + ')';
  return text;
}

bool is_string(FieldType type) {
  return type == FieldType::Ascii || type == FieldType::Unicode || type == FieldType::ByteVector;
}
bool is_choice(FieldType type) {
  return type == FieldType::Enum || type == FieldType::Set || type == FieldType::Boolean;
}

bool applies(Kind op, FieldType type) {
  switch (op) {
    case Kind::Inc: return !is_string(type) && !is_choice(type) && type != FieldType::Decimal;
    case Kind::Del: return !is_choice(type);
    case Kind::Tai: return is_string(type);
    default: return true;
  }
}

std::string_view wanted_type(Kind op) {
  switch (op) {
    case Kind::Inc: return "an integer";
    case Kind::Del: return "a number, string or byteVector";
    default: return "a string or byteVector";
  }
}

class Checker {
 public:
  Checker(ast::TemplateSet& set, std::size_t max_initial_bytes, std::size_t max_templates, Report& report)
      : set_(set), max_initial_bytes_(max_initial_bytes), max_templates_(max_templates), report_(report) {}

  void run() {
    names_and_ids();
    references_.resize(set_.templates.size());
    for (std::size_t i = 0; i < set_.templates.size(); ++i) {
      const ast::Template& item = set_.templates[i];
      const Report::Scope scope(report_, item.range, describe(item));
      check(set_.templates[i].body, references_[i]);
    }
    find_cycles();
  }

 private:
  struct Reference {
    std::size_t target;
    const SourceRange* range;
  };

  void names_and_ids() {
    std::map<std::uint32_t, const ast::Template*> ids;
    for (std::size_t i = 0; i < set_.templates.size(); ++i) {
      const ast::Template& item = set_.templates[i];
      const auto [name, name_is_new] = names_.try_emplace(item.name, i);
      names_by_text_.try_emplace(item.name.text, i);
      if (!name_is_new && !item.name.text.empty()) {
        report_.error(ErrorCode::T4, item.range, "a second template has the name " + quoted(item.name.text));
        report_.note(set_.templates[name->second].range, "the first template of this name");
      }
      if (!item.id) continue;
      const auto [id, id_is_new] = ids.try_emplace(*item.id, &item);
      if (id_is_new) continue;
      report_.error(ErrorCode::T4, item.id_range,
                    "template " + quoted(item.name.text) + " has the identifier " + std::to_string(*item.id) +
                        " of template " + quoted(id->second->name.text));
      report_.note(id->second->id_range, "the other template");
    }
    if (set_.templates.size() > max_templates_) {
      report_.error(ErrorCode::T1, set_.templates[max_templates_].range,
                    "there are more than " + std::to_string(max_templates_) + " templates");
    }
  }

  // --- Bodies. Recursion is bounded by the nesting of elements.

  void check(std::vector<ast::Instruction>& body, std::vector<Reference>& references) {
    for (ast::Instruction& instruction : body) {
      if (auto* field = std::get_if<ast::Field>(&instruction.of)) {
        check(*field);
      } else if (auto* group = std::get_if<ast::Group>(&instruction.of)) {
        if (group->is_bits) check_bits(*group);
        if (!group->is_bits) check(group->body, references);
      } else if (auto* sequence = std::get_if<ast::Sequence>(&instruction.of)) {
        check_operator(sequence->length.op, FieldType::UInt32, sequence->group.optional,
                       "the length of " + quoted(sequence->group.name.text));
        convert_value(sequence->length.op, FieldType::UInt32, nullptr, sequence->group.name.text);
        check(sequence->group.body, references);
      } else if (auto* ref = std::get_if<ast::TemplateRef>(&instruction.of); ref && ref->name) {
        const auto target = names_.find(*ref->name);
        if (target != names_.end()) {
          ref->target = target->second;
          references.push_back({target->second, &ref->range});
        } else {
          report_.error(ErrorCode::D8, ref->range,
                        "no template has the name " + quoted(ref->name->text) + namespace_hint(*ref->name));
        }
      }
    }
  }

  // --- Bit groups.

  void check_bits(ast::Group& group) {
    const std::string what = quoted(group.name.text);
    std::size_t bits = 0;
    for (ast::Instruction& instruction : group.body) {
      auto& field = std::get<ast::Field>(instruction.of);
      const bool is_constant = field.op.kind == Kind::Con && !field.optional;
      if (field.op.kind != Kind::Non && !is_constant) {
        report_.error(ErrorCode::S2, field.op.range,
                      "fields of a bit group can have no operator except a mandatory constant, " +
                          quoted(field.name.text) + " has " + quoted(operator_name(field.op.kind)));
      }
      check(field);
      check_small_constant(field);
      field.bits = is_constant ? std::uint8_t{0} : bits_of(field, set_);
      bits += field.bits;
    }
    if (bits == 0) report_.error(ErrorCode::S1, group.range, "bit group " + what + " needs a field that takes bits");
    if (bits > isa::kMaxGroupBits) {
      report_.error(ErrorCode::T1, group.range,
                    "bit group " + what + " has " + std::to_string(bits) + " bits; at most " +
                        std::to_string(isa::kMaxGroupBits) + " are allowed");
    }
    if (group.op.kind == Kind::Tai) {
      report_.error(ErrorCode::S2, group.op.range,
                    "operator 'tail' needs a string or byteVector, " + what + " is a bit group");
    }
    check_value(group.op, false, what);
    if (bits == 0 || bits > isa::kMaxGroupBits) return;
    group.bits = static_cast<std::uint8_t>(bits);
    if (group.op.text) take(group.op, convert_bits(*group.op.text, group, set_), group.name.text);
  }

  void check_small_constant(const ast::Field& field) {
    if (field.small_bits == 0 || !field.op.initial || fits_small(field, field.op.initial->integer)) return;
    report_.error(ErrorCode::S3, field.op.text_range,
                  "the initial value of " + quoted(field.name.text) + " does not convert: it needs more than " +
                      std::to_string(field.small_bits) + " bits");
  }

  std::string namespace_hint(const ast::Name& name) const {
    const auto other = names_by_text_.find(name.text);
    if (other == names_by_text_.end()) return {};
    return " in namespace " + quoted(name.name_space) + " (there is one in " +
           quoted(set_.templates[other->second].name.name_space) + ')';
  }

  void check(ast::Field& field) {
    const ElementIndex* elements = elements_of(field);
    if (!field.parts) {
      check_operator(field.op, field.type, field.optional, quoted(field.name.text));
      convert_value(field.op, field.type, elements, field.name.text);
      return warn_if_ambiguous(field);
    }
    check_operator(field.parts->exponent, FieldType::Int32, field.optional,
                   "the exponent of " + quoted(field.name.text));
    check_operator(field.parts->mantissa, FieldType::Int64, false, "the mantissa of " + quoted(field.name.text));
    convert_exponent_value(field.parts->exponent, field.name.text);
    convert_value(field.parts->mantissa, FieldType::Int64, nullptr, field.name.text);
  }

  const ElementIndex* elements_of(const ast::Field& field) {
    if (field.enumeration == ast::kNoEnumeration) return nullptr;
    const auto place = element_indices_.try_emplace(field.enumeration, set_.enumerations[field.enumeration]).first;
    return &place->second;
  }

  void warn_if_ambiguous(const ast::Field& field) {
    if (field.type != FieldType::Enum || !field.op.initial) return;
    if (!is_ambiguous(*field.op.text, *elements_of(field))) return;
    const ast::Enumeration& enumeration = set_.enumerations[field.enumeration];
    report_.warning(field.op.text_range, "value " + quoted(*field.op.text) +
                                             " is taken as the number on the wire, which means element " +
                                             quoted(enumeration.elements[field.op.initial->integer].name));
  }

  void check_operator(const Operator& op, FieldType type, bool optional, const std::string& what) {
    if (!applies(op.kind, type)) {
      const std::string article =
          type == FieldType::Enum || type == FieldType::Int32 || type == FieldType::Int64 ? "an " : "a ";
      report_.error(ErrorCode::S2, op.range,
                    "operator " + quoted(operator_name(op.kind)) + " needs " + std::string(wanted_type(op.kind)) +
                        ", " + what + " is " + article + std::string(ast::type_name(type)));
    }
    check_value(op, optional, what);
  }

  void check_value(const Operator& op, bool optional, const std::string& what) {
    if (op.text) return;
    if (op.kind == Kind::Con) report_.error(ErrorCode::S4, op.range, what + " is constant and has no value");
    if (op.kind == Kind::Def && !optional) {
      report_.error(ErrorCode::S5, op.range,
                    what + " is mandatory and has the operator 'default', so it needs a value");
    }
  }

  void convert_value(Operator& op, FieldType type, const ElementIndex* elements, const std::string& name) {
    if (!op.text || !applies(op.kind, type)) return;
    take(op, convert(*op.text, type, elements), name);
    if (!op.initial) return;
    const bool has_slot = op.kind != Kind::Con && op.kind != Kind::Def;
    const std::size_t most = has_slot ? max_initial_bytes_ : limits::kMaxStringBytes;
    if (op.initial->bytes.size() > most) {
      report_.error(ErrorCode::T1, op.text_range,
                    "the value has " + std::to_string(op.initial->bytes.size()) + " bytes; at most " +
                        std::to_string(most) + " are allowed here");
    }
  }

  void convert_exponent_value(Operator& op, const std::string& name) {
    if (op.text && applies(op.kind, FieldType::Int32)) take(op, convert_exponent(*op.text), name);
  }

  void take(Operator& op, Result<ast::Value> value, const std::string& name) {
    if (value) {
      op.initial = std::move(value.value());
    } else {
      report_.error(ErrorCode::S3, op.text_range,
                    "the initial value of " + quoted(name) + " does not convert: " + value.message());
    }
  }

  // --- References that lead back. A depth-first search; its depth is bounded by the number of templates.

  enum class Mark : std::uint8_t { New, Open, Done };

  void find_cycles() {
    if (set_.templates.size() > max_templates_) return;
    marks_.assign(set_.templates.size(), Mark::New);
    for (std::size_t i = 0; i < set_.templates.size(); ++i) visit(i);
  }

  void visit(std::size_t index) {
    if (marks_[index] != Mark::New) return;
    marks_[index] = Mark::Open;
    path_.push_back(index);
    for (const Reference& reference : references_[index]) {
      if (marks_[reference.target] == Mark::Open) report_cycle(reference);
      visit(reference.target);
    }
    path_.pop_back();
    marks_[index] = Mark::Done;
  }

  void report_cycle(const Reference& reference) {
    const auto begin =
        static_cast<std::size_t>(std::find(path_.begin(), path_.end(), reference.target) - path_.begin());
    std::string chain;
    for (std::size_t i = begin; i < path_.size(); ++i) {
      if (i == begin + kShownSteps && path_.size() > begin + 2 * kShownSteps) {
        chain += "... -> ";
        i = path_.size() - kShownSteps;
      }
      chain += quoted(set_.templates[path_[i]].name.text) + " -> ";
    }
    const std::string target = quoted(set_.templates[reference.target].name.text);
    report_.error(ErrorCode::T2, *reference.range, "template " + target + " refers to itself: " + chain + target);
  }

  ast::TemplateSet& set_;
  const std::size_t max_initial_bytes_;
  const std::size_t max_templates_;
  Report& report_;
  std::map<ast::Name, std::size_t> names_;
  std::map<std::string_view, std::size_t> names_by_text_;
  std::map<std::size_t, ElementIndex> element_indices_;
  std::vector<std::vector<Reference>> references_;
  std::vector<Mark> marks_;
  std::vector<std::size_t> path_;
};

}  // namespace

void identify(ast::TemplateSet& set, std::optional<std::uint32_t> template_id, Report& report) {
  bool has_id = false;
  for (const ast::Template& item : set.templates) has_id = has_id || item.id.has_value();
  if (has_id) {
    if (template_id) {
      report.warning({}, "identifier " + std::to_string(*template_id) +
                             " is not used: the templates have identifiers of their own");
    }
    return;
  }
  if (report.has_errors()) return;  // A template that could not be read may have had one.
  if (set.templates.empty()) return report.error(ErrorCode::T5, {}, "the files have no template");
  const SourceRange& place = set.templates.front().range;
  if (set.templates.size() > 1) {
    report.error(
        ErrorCode::T5, place,
        "no template has an identifier, so no message can name one; add id=\"...\" to those that are messages");
  } else if (!template_id) {
    report.error(ErrorCode::T5, place,
                 "template " + quoted(set.templates.front().name.text) +
                     " has no identifier; add id=\"...\" or give the compiler the identifier it has in the feed");
  } else {
    set.templates.front().id = template_id;
  }
}

void check(ast::TemplateSet& set, std::size_t max_initial_bytes, std::size_t max_templates, Report& report) {
  Checker(set, max_initial_bytes, max_templates, report).run();
}

}  // namespace stopbit::templates::sema
