#include "templates/ast/build.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "templates/ast/content.hpp"
#include "templates/ast/vocabulary.hpp"

namespace stopbit::templates::ast {
namespace {

constexpr std::size_t kMaxSetElements = 64;
constexpr std::size_t kMaxTypeChain = 32;

/// What definitions may cost where they are used, in bytes of their start tags: each use copies their names and values,
/// and looks at elements that give no field.
constexpr std::size_t kMaxUsedBytes = 32U << 20;
constexpr std::size_t kBytesOfElement = 64;  ///< An element costs at least these, however short its tag.

/// A name, which is copied into all that inherits it. ContentReader has reported one that is cut here.
std::string name_in(const xml::Attribute& attribute) {
  return attribute.value.substr(0, kMaxNameBytes);
}

/// Context of an instruction.
enum class Inside : std::uint8_t { Body, BitGroup };

/// Properties that elements inherit from those around them.
struct Scope {
  std::string name_space;
  std::string template_name_space;
  std::string dictionary = "global";

  [[nodiscard]] Scope inside(const xml::Element& element) const {
    Scope scope = *this;
    if (const xml::Attribute* ns = element.find("ns")) scope.name_space = name_in(*ns);
    if (const xml::Attribute* ns = element.find("templateNs")) scope.template_name_space = name_in(*ns);
    if (const xml::Attribute* named = element.find("dictionary")) scope.dictionary = name_in(*named);
    return scope;
  }
};

struct Definition {
  Name name;
  const xml::Element* element;
};

class Builder {
 public:
  Builder(const FileLimits& limits, Report& report) : limits_(limits), report_(report), reader_(report) {}

  TemplateSet run(const std::vector<xml::Element>& documents) {
    for (std::size_t i = 0; i < documents.size(); ++i) {
      collect(documents[i], static_cast<std::uint16_t>(i));
    }
    is_checked_.resize(definitions_.size());
    is_checking_ = true;
    for (std::size_t i = 0; i < definitions_.size(); ++i) check(i);
    is_checking_ = false;
    for (const Root& root : roots_) build_template(root);
    return std::move(set_);
  }

 private:
  struct Root {
    const xml::Element* element;
    Scope scope;
    std::uint16_t source;
  };

  void error(const SourceRange& range, const std::string& message) { report_.error(ErrorCode::S1, range, message); }

  // --- Attributes.

  std::string required_name(const xml::Element& element) {
    const xml::Attribute* name = element.find("name");
    if (!name) {
      error(element.range, "element " + quoted(element.name) + " needs a name");
    } else if (name->value.empty()) {
      error(name->range, "the name is empty");
    }
    return name ? name->value : std::string();
  }

  /// Other identifiers than FIX tags are legal; records have no use for them.
  static std::uint32_t tag_of(const xml::Element& element) {
    const xml::Attribute* id = element.find("id");
    return id ? number_from(id->value).value_or(0) : 0;
  }

  std::optional<bool> presence_of(const xml::Element& element) {
    const xml::Attribute* presence = element.find("presence");
    if (!presence) return std::nullopt;
    if (presence->value == "optional") return true;
    if (presence->value != "mandatory") error(presence->range, "presence must be 'mandatory' or 'optional'");
    return false;
  }

  // --- Files.

  void collect(const xml::Element& root, std::uint16_t source) {
    if (!is_fast(root)) {
      return error(root.range, "the root element has the namespace " + quoted(root.name_space) +
                                   ", which is not the namespace of "
                                   "FAST");
    }
    if (root.name == "template") return roots_.push_back({&root, Scope(), source});
    if (root.name != "templates") return error(root.range, "the root element must be 'templates' or 'template'");
    reader_.check(root);
    const Scope scope = Scope().inside(root);
    for (const xml::Element& child : root.children) {
      if (!is_fast(child)) continue;
      if (child.name == "template") {
        roots_.push_back({&child, scope, source});
      } else if (child.name == "define") {
        collect_definition(child, scope.inside(child));
      } else {
        reader_.unexpected(child, root);
      }
    }
  }

  void collect_definition(const xml::Element& element, const Scope& scope) {
    reader_.check(element);
    const Name name{required_name(element), scope.template_name_space};
    const auto [place, is_new] = definition_index_.try_emplace(name, definitions_.size());
    if (is_new) return definitions_.push_back({name, &element});
    report_.error(ErrorCode::T4, element.range, "type " + quoted(name.text) + " is defined twice");
    report_.note(definitions_[place->second].element->range, "first defined here");
  }

  /// Finds what is wrong with a definition even if nothing uses it. Those it uses are looked at once, by themselves.
  void check(std::size_t index) {
    if (is_checked_[index]) return;
    is_checked_[index] = true;
    const Definition& definition = definitions_[index];
    const std::size_t open = open_.size();
    if (open == 0 || open_.back() != index) open_.push_back(index);
    const Scope scope{"", definition.name.name_space, "global"};
    std::vector<Instruction> body;
    std::vector<const xml::Element*> layers{definition.element};
    if (resolve_type(layers, scope)) {
      // A field of a bit group is one wherever it is used.
      build_layers(layers, {}, scope, small_bits_from(layers.back()->name) ? Inside::BitGroup : Inside::Body, body);
    }
    open_.resize(open);
  }

  void build_template(const Root& root) {
    const xml::Element& element = *root.element;
    const Scope scope = root.scope.inside(element);
    Template out;
    out.source = root.source;
    out.range = out.id_range = element.range;
    out.name = {required_name(element), scope.template_name_space};
    const Report::Scope note(report_, element.range, "in template " + quoted(out.name.text));
    reader_.check(element);
    if (const xml::Attribute* id = element.find("id")) {
      out.id = number_from(id->value);
      out.id_range = id->range;
      if (!out.id) error(id->range, "a template identifier must be a number from 0 to 4294967295");
    }
    out.reset = asks_for_reset(element);
    fields_ = 0;
    build_body(element, scope, out.type, out.body, nullptr);
    set_.templates.push_back(std::move(out));
  }

  /// An attribute of the session control protocol counts more than one of no namespace, which feeds give meanings of
  /// their own: the Moscow Exchange's derivatives write reset="T" scp:reset="yes".
  bool asks_for_reset(const xml::Element& element) {
    const xml::Attribute* plain = nullptr;
    const xml::Attribute* scp = nullptr;
    for (const xml::Attribute& attribute : element.attributes) {
      if (is_reset(attribute)) (attribute.name_space.empty() ? plain : scp) = &attribute;
    }
    const xml::Attribute* const chosen = scp != nullptr ? scp : plain;
    if (chosen == nullptr) return false;
    const std::optional<bool> reset = yes_or_no(chosen->value);
    if (!reset) error(chosen->range, "reset must be 'yes' or 'no'");
    if (scp != nullptr && plain != nullptr && yes_or_no(plain->value) != reset) {
      report_.warning(plain->range, "reset is " + quoted(plain->value) + " here and " + quoted(scp->value) +
                                        " in the namespace of session control, which takes precedence");
    }
    return reset.value_or(false);
  }

  // --- Bodies of templates, groups and sequences. Recursion is bounded by the nesting of elements.

  void build_body(const xml::Element& parent, const Scope& scope, std::optional<Name>& type,
                  std::vector<Instruction>& body, Length* length) {
    bool has_length = false;
    for (const xml::Element& child : parent.children) {
      if (!may_use(child)) return;
      if (!is_fast(child)) continue;
      if (child.name == "typeRef") {
        reader_.check_leaf(child);
        if (type) error(child.range, "a second typeRef");
        type = Name{required_name(child), scope.inside(child).name_space};
      } else if (child.name == "length" && length) {
        if (std::exchange(has_length, true)) error(child.range, "a second length");
        if (!body.empty()) error(child.range, "the length of a sequence must come before its fields");
        build_length(child, scope, *length);
      } else if (child.name == "templateRef") {
        reader_.check_leaf(child);
        TemplateRef ref;
        ref.range = child.range;
        if (!has_room(child.range)) return;
        if (child.find("name")) ref.name = Name{required_name(child), scope.inside(child).template_name_space};
        body.push_back({std::move(ref)});
      } else if (child.name == "field" || is_type(child.name)) {
        build_instruction(child, scope.inside(child), Inside::Body, body);
      } else {
        reader_.unexpected(child, parent);
      }
    }
  }

  void build_length(const xml::Element& element, const Scope& scope, Length& length) {
    const Scope inner = scope.inside(element);
    if (element.find("name")) length.name = Name{required_name(element), inner.name_space};
    length.id = tag_of(element);
    if (const xml::Element* op = reader_.content_of(element).op) length.op = build_operator(*op, inner);
  }

  Operator build_operator(const xml::Element& element, const Scope& outer) {
    const Scope scope = outer.inside(element);
    Operator op;
    op.kind = *operator_from(element.name);
    op.range = op.text_range = element.range;
    op.dictionary = scope.dictionary;
    if (!may_use(element)) return op;
    if (const xml::Attribute* key = element.find("key")) op.key = Name{key->value, scope.name_space};
    if (const xml::Attribute* value = element.find("value")) {
      op.text = value->value;
      op.text_range = value->range;
    }
    return op;
  }

  // --- Content of a body: fields, vectors, groups, sequences, bit groups. Each may be one element, or layers:
  // <field>, <type>, and the content of the type's definition.

  using Layers = std::vector<const xml::Element*>;

  void build_instruction(const xml::Element& element, const Scope& scope, Inside inside,
                         std::vector<Instruction>& body) {
    if (is_full_) return;
    Layers layers{&element};
    const std::size_t open = open_.size();
    const Name name{required_name(element), scope.name_space};
    if (resolve_type(layers, scope)) {
      const bool is_shared = is_compound(layers.back()->name) && open_.size() > open;
      if (is_checking_ && is_shared) {
        check(open_.back());
      } else {
        build_layers(layers, name, scope, inside, body);
      }
    }
    open_.resize(open);
  }

  void build_layers(const Layers& layers, const Name& name, const Scope& scope, Inside inside,
                    std::vector<Instruction>& body) {
    const xml::Element& type = *layers.back();
    if (!has_room(type.range)) return;
    for (const xml::Element* layer : layers) {
      if (!may_use(*layer)) return;
    }
    if (inside == Inside::BitGroup && !may_be_packed(type.name)) {
      return error(type.range, "element " + quoted(type.name) + " is not allowed in a bit group");
    }
    if (inside == Inside::Body && small_bits_from(type.name)) {
      return error(type.range, "element " + quoted(type.name) + " is allowed in bit groups only");
    }
    const Common common = common_of(layers, name);
    const Scope inner = layers.size() == 1 ? scope : scope.inside(type);
    if (is_compound(type.name)) {
      build_compound(type, common, inner, body);
    } else if (const std::optional<FieldType> element = vector_from(type.name)) {
      refuse_operator(common, type);
      body.push_back({build_vector(*element, common)});
    } else {
      body.push_back({build_field(layers, common, scope)});
    }
  }

  static bool may_be_packed(std::string_view type) {
    return type == "enum" || type == "set" || type == "boolean" || small_bits_from(type);
  }

  /// References to definitions can expand exponentially.
  bool has_room(const SourceRange& range) {
    if (is_full_) return false;
    if (is_checking_) return true;
    const bool is_too_long = ++fields_ > limits_.fields;
    is_full_ = is_too_long || ++steps_ > limits_.instructions;
    if (is_too_long) {
      report_.error(ErrorCode::T1, range,
                    "the template has more than " + std::to_string(limits_.fields) +
                        " fields, groups and references, with those of the definitions it uses");
    } else if (is_full_) {
      report_.error(ErrorCode::T1, range,
                    "the templates hold more than " + std::to_string(limits_.instructions) +
                        " fields, groups and references, with those of the definitions they use");
    }
    return !is_full_;
  }

  /// Counts an element of a definition where it is used. False if nothing more is built.
  bool may_use(const xml::Element& element) {
    if (is_full_) return false;
    if (is_checking_ || open_.empty()) return true;
    used_bytes_ += std::max<std::size_t>(element.range.length, kBytesOfElement);
    is_full_ = used_bytes_ > kMaxUsedBytes;
    if (is_full_) {
      report_.error(ErrorCode::T1, element.range,
                    "the templates hold more than " + std::to_string(kMaxUsedBytes) +
                        " bytes of definitions, each counted as often as it is used");
    }
    return !is_full_;
  }

  /// Common to everything in a body. Operator and presence are in one of the layers.
  struct Common {
    Name name;
    std::uint32_t id = 0;
    bool optional = false;
    const xml::Element* op = nullptr;
    SourceRange range;
  };

  Common common_of(const Layers& layers, const Name& name) {
    Common common{name, tag_of(*layers.front()), false, nullptr, layers.front()->range};
    std::optional<bool> optional;
    for (const xml::Element* layer : layers) {
      if (const std::optional<bool> presence = presence_of(*layer)) {
        if (optional) error(layer->find("presence")->range, "the presence is given twice, in a field and in its type");
        if (!optional) optional = presence;
      }
      if (!is_compound(layer->name)) keep_operator(common.op, reader_.content_of(*layer).op);
    }
    common.optional = optional.value_or(false);
    return common;
  }

  void keep_operator(const xml::Element*& place, const xml::Element* op) {
    if (place && op) error(op->range, "the operator is given twice, in a field and in its type");
    if (!place) place = op;
  }

  void refuse_operator(const Common& common, const xml::Element& type) {
    if (!common.op) return;
    report_.error(
        ErrorCode::S2, common.op->range,
        "operator " + quoted(common.op->name) + " needs a field, " + quoted(common.name.text) + " is a " + type.name);
  }

  /// The recursion over groups ends here.
  void build_compound(const xml::Element& element, const Common& common, const Scope& scope,
                      std::vector<Instruction>& body) {
    if (depth_ == limits_.nesting) {
      is_full_ = true;
      return report_.error(ErrorCode::T1, element.range,
                           "groups are nested more than " + std::to_string(limits_.nesting) + " deep");
    }
    ++depth_;
    reader_.check(element);
    Group group;
    group.name = common.name;
    group.id = common.id;
    group.optional = common.optional;
    group.range = common.range;
    if (element.name == "bitGroup") {
      build_bits(element, common, scope, group);
      body.push_back({std::move(group)});
    } else {
      refuse_operator(common, element);
      if (element.name == "group") {
        build_body(element, scope, group.type, group.body, nullptr);
        body.push_back({std::move(group)});
      } else {
        Sequence sequence{std::move(group), {}};
        sequence.length.op.dictionary = scope.dictionary;
        build_body(element, scope, sequence.group.type, sequence.group.body, &sequence.length);
        body.push_back({std::move(sequence)});
      }
    }
    --depth_;
  }

  void build_bits(const xml::Element& element, const Common& common, const Scope& scope, Group& group) {
    group.is_bits = true;
    group.op.dictionary = scope.dictionary;
    const xml::Element* op = common.op;
    for (const xml::Element& child : element.children) {
      if (!may_use(child)) return;
      if (!is_fast(child)) continue;
      if (operator_from(child.name)) {
        keep_operator(op, &child);
        reader_.check_leaf(child);
      } else if (child.name == "field" || is_type(child.name)) {
        build_instruction(child, scope.inside(child), Inside::BitGroup, group.body);
      } else {
        reader_.unexpected(child, element);
      }
    }
    if (op) group.op = build_operator(*op, scope);
  }

  /// A sequence whose only field has no name.
  static Sequence build_vector(FieldType type, const Common& common) {
    Sequence sequence;
    sequence.group.name = common.name;
    sequence.group.id = common.id;
    sequence.group.optional = common.optional;
    sequence.group.range = common.range;
    Field field;
    field.type = type;
    field.range = common.range;
    sequence.group.body.push_back({std::move(field)});
    return sequence;
  }

  /// Adds the layers below the last one, down to a type.
  bool resolve_type(Layers& layers, const Scope& scope) {
    while (!is_type(layers.back()->name)) {
      const xml::Element& layer = *layers.back();
      const Content& content = reader_.content_of(layer);
      if (layer.name != "type" && !content.type) error(layer.range, "element " + quoted(layer.name) + " has no type");
      const xml::Element* next = layer.name == "type" ? find_definition(layer, scope) : content.type;
      if (!next) return false;
      layers.push_back(next);
    }
    return true;
  }

  const xml::Element* find_definition(const xml::Element& type, const Scope& scope) {
    const std::string name = required_name(type);
    if (name.empty()) return nullptr;
    const auto found = definition_index_.find(Name{name, scope.inside(type).template_name_space});
    if (found == definition_index_.end()) {
      error(type.range, "no type " + quoted(name) + " is defined");
      return nullptr;
    }
    const bool cycle = std::find(open_.begin(), open_.end(), found->second) != open_.end();
    open_.push_back(found->second);
    if (cycle || open_.size() > kMaxTypeChain) {
      std::string text = definitions_[open_.front()].name.text;
      for (std::size_t i = 1; i < open_.size(); ++i) text += " -> " + definitions_[open_[i]].name.text;
      error(
          type.range,
          (cycle ? "the definition of a type refers to itself: " : "type definitions are nested too deeply: ") + text);
      return nullptr;
    }
    return definitions_[found->second].element;
  }

  /// A single field from layers that end in its type.
  Field build_field(const Layers& layers, const Common& common, const Scope& scope) {
    const xml::Element& innermost = *layers.back();
    Field field;
    field.name = common.name;
    field.id = common.id;
    field.range = common.range;
    field.optional = common.optional;
    field.type = *type_from(innermost.name);
    field.small_bits = small_bits_from(innermost.name).value_or(0);
    field.op.dictionary = scope.dictionary;
    field.parts = build_parts(reader_.content_of(innermost), scope);
    if (common.op && field.parts) {
      error(common.op->range, "a decimal can have either one operator or operators for exponent and mantissa");
    } else if (common.op) {
      field.op = build_operator(*common.op, scope);
    }
    read_charset(innermost, field);
    read_timestamp(innermost, field);
    if (field.type == FieldType::Enum || field.type == FieldType::Set) {
      const xml::Element* outer = layers.size() > 1 ? layers[layers.size() - 2] : nullptr;
      field.enumeration = enumeration_of(innermost, outer && outer->name == "define" ? outer : nullptr);
    }
    return field;
  }

  std::optional<DecimalParts> build_parts(const Content& content, const Scope& scope) {
    if (!content.exponent && !content.mantissa) return std::nullopt;
    const auto part = [&](const xml::Element* element) {
      if (element && reader_.content_of(*element).op) return build_operator(*reader_.content_of(*element).op, scope);
      Operator none;
      none.dictionary = scope.dictionary;
      if (element) none.range = element->range;
      return none;
    };
    return DecimalParts{part(content.exponent), part(content.mantissa)};
  }

  void read_charset(const xml::Element& element, Field& field) {
    const xml::Attribute* charset = element.find("charset");
    if (field.type != FieldType::Ascii || !charset) return;
    if (charset->value == "unicode") {
      field.type = FieldType::Unicode;
    } else if (charset->value != "ascii") {
      error(charset->range, "charset must be 'ascii' or 'unicode'");
    }
  }

  void read_timestamp(const xml::Element& element, Field& field) {
    if (field.type != FieldType::Timestamp) return;
    field.unit = element.name == "date" ? TimeUnit::Day : TimeUnit::Millisecond;
    field.epoch = element.name == "time" ? "today" : "unix";
    if (element.name == "date") return read_epoch(element, field);
    if (const xml::Attribute* unit = element.find("unit")) {
      const std::optional<TimeUnit> known = unit_from(unit->value);
      if (!known) error(unit->range, "unit must be 'day', 'second', 'millisecond', 'microsecond' or 'nanosecond'");
      field.unit = known.value_or(TimeUnit::Millisecond);
    }
    if (element.name == "timestamp") read_epoch(element, field);
  }

  static void read_epoch(const xml::Element& element, Field& field) {
    if (const xml::Attribute* epoch = element.find("epoch")) field.epoch = epoch->value;
  }

  std::size_t enumeration_of(const xml::Element& element, const xml::Element* definition) {
    const auto [place, is_new] = enumeration_index_.try_emplace(&element, set_.enumerations.size());
    if (!is_new) return place->second;
    Enumeration out;
    if (const xml::Attribute* name = definition ? definition->find("name") : nullptr) out.name = name->value;
    std::set<std::string_view> names;
    for (const xml::Element& child : element.children) {
      if (!is_fast(child) || child.name != "element") continue;
      const xml::Attribute* label = child.find("id");
      out.elements.push_back({required_name(child), label ? label->value : std::string()});
      const xml::Attribute* name = child.find("name");
      if (name && !names.insert(name->value).second)
        error(name->range, "element " + quoted(name->value) + " is given twice");
    }
    if (out.elements.empty()) error(element.range, "element " + quoted(element.name) + " has no elements");
    if (element.name == "set" && out.elements.size() > kMaxSetElements) {
      report_.error(ErrorCode::T1, element.range,
                    "a set has at most " + std::to_string(kMaxSetElements) + " elements, this one has " +
                        std::to_string(out.elements.size()));
    }
    set_.enumerations.push_back(std::move(out));
    return place->second;
  }

  const FileLimits& limits_;
  Report& report_;
  ContentReader reader_;
  TemplateSet set_;
  std::vector<Root> roots_;
  std::vector<Definition> definitions_;
  std::map<Name, std::size_t> definition_index_;
  std::map<const xml::Element*, std::size_t> enumeration_index_;
  std::vector<bool> is_checked_;   ///< By definition.
  std::vector<std::size_t> open_;  ///< Definitions around what is being built.
  std::size_t depth_ = 0;          ///< Groups around it.
  std::size_t fields_ = 0;         ///< Of the template: fields, groups and references.
  std::size_t steps_ = 0;          ///< The same of all templates.
  std::size_t used_bytes_ = 0;     ///< Of start tags in definitions, where they are used.
  bool is_checking_ = false;       ///< A definition by itself.
  bool is_full_ = false;           ///< A limit is exceeded: nothing more is built.
};

}  // namespace

TemplateSet build(const std::vector<xml::Element>& documents, const FileLimits& limits, Report& report) {
  return Builder(limits, report).run(documents);
}

}  // namespace stopbit::templates::ast
