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

/// What elements inherit from those around them.
struct Scope {
  std::string name_space;
  std::string template_name_space;
  std::string dictionary = "global";

  [[nodiscard]] Scope inside(const xml::Element& element) const {
    Scope scope = *this;
    if (const xml::Attribute* ns = element.find("ns")) scope.name_space = ns->value;
    if (const xml::Attribute* ns = element.find("templateNs")) scope.template_name_space = ns->value;
    if (const xml::Attribute* named = element.find("dictionary")) scope.dictionary = named->value;
    return scope;
  }
};

struct Definition {
  Name name;
  const xml::Element* element;
};

class Builder {
 public:
  explicit Builder(Report& report) : report_(report), reader_(report) {}

  TemplateSet run(const std::vector<xml::Element>& documents) {
    for (std::size_t i = 0; i < documents.size(); ++i) {
      collect(documents[i], static_cast<std::uint16_t>(i));
    }
    for (const Definition& definition : definitions_) check(definition);
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
      return error(root.range,
                   "the root element has the namespace " + quoted(root.name_space) + ", which is not FAST's");
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

  /// Finds what is wrong with a definition even if nothing uses it.
  void check(const Definition& definition) {
    std::vector<const xml::Element*> layers{definition.element};
    const Scope scope{"", definition.name.name_space, "global"};
    if (resolve_type(layers, {definition.name.text}, scope)) build_type(layers, scope);
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
      if (!out.id) error(id->range, "a template identifier is a number from 0 to 4294967295");
    }
    for (const xml::Attribute& attribute : element.attributes) {
      if (!is_reset(attribute)) continue;
      const std::optional<bool> reset = yes_or_no(attribute.value);
      if (!reset) error(attribute.range, "reset must be 'yes' or 'no'");
      out.reset = reset.value_or(false);
    }
    build_body(element, scope, out.type, out.body, nullptr);
    set_.templates.push_back(std::move(out));
  }

  // --- Bodies of templates, groups and sequences. Recursion is bounded by the nesting of elements.

  void build_body(const xml::Element& parent, const Scope& scope, std::optional<Name>& type,
                  std::vector<Instruction>& body, Length* length) {
    bool has_length = false;
    for (const xml::Element& child : parent.children) {
      if (!is_fast(child)) continue;
      if (child.name == "typeRef") {
        reader_.check_leaf(child);
        if (type) error(child.range, "a second typeRef");
        type = Name{required_name(child), scope.inside(child).name_space};
      } else if (child.name == "length" && length) {
        if (std::exchange(has_length, true)) error(child.range, "a second length");
        if (!body.empty()) error(child.range, "the length of a sequence comes before its fields");
        build_length(child, scope, *length);
      } else if (child.name == "group") {
        Group group = build_group(child, scope);
        const Scope inner = scope.inside(child);
        build_body(child, inner, group.type, group.body, nullptr);
        body.push_back({std::move(group)});
      } else if (child.name == "sequence") {
        Sequence sequence{build_group(child, scope), {}};
        const Scope inner = scope.inside(child);
        sequence.length.op.dictionary = inner.dictionary;
        build_body(child, inner, sequence.group.type, sequence.group.body, &sequence.length);
        body.push_back({std::move(sequence)});
      } else if (child.name == "templateRef") {
        reader_.check_leaf(child);
        TemplateRef ref;
        ref.range = child.range;
        if (child.find("name")) ref.name = Name{required_name(child), scope.inside(child).template_name_space};
        body.push_back({std::move(ref)});
      } else if (child.name == "field" || type_from(child.name)) {
        if (std::optional<Field> field = build_field(child, scope.inside(child))) body.push_back({std::move(*field)});
      } else {
        reader_.unexpected(child, parent);
      }
    }
  }

  Group build_group(const xml::Element& element, const Scope& scope) {
    reader_.check(element);
    Group group;
    group.range = element.range;
    group.name = {required_name(element), scope.inside(element).name_space};
    group.id = tag_of(element);
    group.optional = presence_of(element).value_or(false);
    return group;
  }

  void build_length(const xml::Element& element, const Scope& scope, Length& length) {
    const Scope inner = scope.inside(element);
    if (element.find("name")) length.name = Name{required_name(element), inner.name_space};
    length.id = tag_of(element);
    if (const xml::Element* op = reader_.content_of(element).op) length.op = build_operator(*op, inner);
  }

  static Operator build_operator(const xml::Element& element, const Scope& outer) {
    const Scope scope = outer.inside(element);
    Operator op;
    op.kind = *operator_from(element.name);
    op.range = op.text_range = element.range;
    op.dictionary = scope.dictionary;
    if (const xml::Attribute* key = element.find("key")) op.key = Name{key->value, scope.name_space};
    if (const xml::Attribute* value = element.find("value")) {
      op.text = value->value;
      op.text_range = value->range;
    }
    return op;
  }

  // --- Fields. A field may be one element, or layers: <field>, <type>, and the content of the type's definition.

  std::optional<Field> build_field(const xml::Element& element, const Scope& scope) {
    const Name name{required_name(element), scope.name_space};
    std::vector<const xml::Element*> layers{&element};
    if (!resolve_type(layers, {}, scope)) return std::nullopt;
    Field field = build_type(layers, scope);
    field.name = name;
    field.id = tag_of(element);
    field.range = element.range;
    return field;
  }

  /// Adds the layers below the last one, down to a type. `chain` names the definitions gone through.
  bool resolve_type(std::vector<const xml::Element*>& layers, std::vector<std::string> chain, const Scope& scope) {
    while (!type_from(layers.back()->name)) {
      const xml::Element& layer = *layers.back();
      const Content& content = reader_.content_of(layer);
      if (layer.name != "type" && !content.type) error(layer.range, "element " + quoted(layer.name) + " has no type");
      const xml::Element* next = layer.name == "type" ? find_definition(layer, chain, scope) : content.type;
      if (!next) return false;
      layers.push_back(next);
    }
    return true;
  }

  const xml::Element* find_definition(const xml::Element& type, std::vector<std::string>& chain, const Scope& scope) {
    const std::string name = required_name(type);
    if (name.empty()) return nullptr;
    const auto found = definition_index_.find(Name{name, scope.inside(type).template_name_space});
    if (found == definition_index_.end()) {
      error(type.range, "no type " + quoted(name) + " is defined");
      return nullptr;
    }
    const bool cycle = std::find(chain.begin(), chain.end(), name) != chain.end();
    chain.push_back(name);
    if (cycle || chain.size() > kMaxTypeChain) {
      std::string text = chain.front();
      for (std::size_t i = 1; i < chain.size(); ++i) text += " -> " + chain[i];
      error(
          type.range,
          (cycle ? "the definition of a type refers to itself: " : "type definitions are nested too deeply: ") + text);
      return nullptr;
    }
    return definitions_[found->second].element;
  }

  /// A field without a name from layers that end in a type. What an outer layer says hides what an inner one says.
  Field build_type(const std::vector<const xml::Element*>& layers, const Scope& scope) {
    const xml::Element& innermost = *layers.back();
    Field field;
    field.range = layers.front()->range;
    field.type = *type_from(innermost.name);
    field.op.dictionary = scope.dictionary;
    std::optional<bool> optional;
    const xml::Element* op = nullptr;
    for (const xml::Element* layer : layers) {
      const std::optional<bool> presence = presence_of(*layer);
      if (!optional) optional = presence;
      if (!op) op = reader_.content_of(*layer).op;
    }
    field.optional = optional.value_or(false);
    if (op) {
      field.op = build_operator(*op, scope);
    } else {
      field.parts = build_parts(reader_.content_of(innermost), scope);
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
    field.unit = TimeUnit::Millisecond;
    field.epoch = "unix";
    if (const xml::Attribute* unit = element.find("unit")) {
      const std::optional<TimeUnit> known = unit_from(unit->value);
      if (!known) error(unit->range, "unit must be 'day', 'second', 'millisecond', 'microsecond' or 'nanosecond'");
      field.unit = known.value_or(TimeUnit::Millisecond);
    }
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

  Report& report_;
  ContentReader reader_;
  TemplateSet set_;
  std::vector<Root> roots_;
  std::vector<Definition> definitions_;
  std::map<Name, std::size_t> definition_index_;
  std::map<const xml::Element*, std::size_t> enumeration_index_;
};

}  // namespace

TemplateSet build(const std::vector<xml::Element>& documents, Report& report) {
  return Builder(report).run(documents);
}

}  // namespace stopbit::templates::ast
