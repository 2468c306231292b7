#include "decoder/record/json_reader.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "decoder/record/convert.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/text.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::record {
namespace {

using Kind = JsonValue::Kind;

constexpr std::uint32_t kNone = 0xFFFFFFFF;
constexpr std::size_t kMaxShownBytes = 60;

struct Range {
  Int128 min;
  Int128 max;
};

template <class T>
constexpr Range range_of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

constexpr Range range_of(FieldType type) {
  switch (type) {
    case FieldType::Int8: return range_of<std::int8_t>();
    case FieldType::UInt8: return range_of<std::uint8_t>();
    case FieldType::Int16: return range_of<std::int16_t>();
    case FieldType::UInt16: return range_of<std::uint16_t>();
    case FieldType::Int32: return range_of<std::int32_t>();
    case FieldType::UInt32: return range_of<std::uint32_t>();
    case FieldType::UInt64: return range_of<std::uint64_t>();
    default: return range_of<std::int64_t>();
  }
}

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::Null: return "null";
    case Kind::False:
    case Kind::True: return "a boolean";
    case Kind::Number: return "a number";
    case Kind::String: return "a string";
    case Kind::Array: return "an array";
    case Kind::Object: return "an object";
  }
  return {};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

/// A piece of the input for a message, cut if it is long.
std::string excerpt(std::string_view text) {
  return json_string(text.substr(0, kMaxShownBytes), false);
}

/// Equal as numbers, whatever the exponents.
bool same_decimal(Value a, Value b) {
  for (Value* value : {&a, &b}) {
    while (value->bits != 0 && value->as_signed() % 10 == 0) {
      value->bits = static_cast<std::uint64_t>(value->as_signed() / 10);
      ++value->exponent;
    }
  }
  return a.bits == b.bits && (a.bits == 0 || a.exponent == b.exponent);
}

/// Calls `visit` with each member or element of a container.
template <class Visit>
bool each(const JsonLine& json, std::size_t container, Visit visit) {
  for (std::size_t i = container + 1; i < json.at(container).end; i = json.at(i).end) {
    if (!visit(i)) return false;
  }
  return true;
}

}  // namespace

JsonReader::JsonReader(const Schema& schema)
    : schema_(schema),
      scopes_(schema.program().templates.size() + schema.program().nodes.size()),
      same_key_(schema.program().nodes.size(), kNone),
      child_(schema.program().nodes.size()),
      has_own_word_(schema.program().nodes.size(), false),
      builder_(schema.program()) {
  const Program& program = schema.program();
  const std::vector<std::string> keys = json_keys(schema);
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    const Template& item = program.templates[i];
    template_of_name_.emplace(schema.name(item.name), static_cast<std::uint16_t>(i));
    template_of_id_.emplace(item.id, static_cast<std::uint16_t>(i));
    add_scopes(item, keys);
  }
}

void JsonReader::add_scopes(const Template& item, const std::vector<std::string>& keys) {
  const Program& program = schema_.program();
  const auto key_of = [](std::size_t block, std::size_t word) { return static_cast<std::uint32_t>(block << 8 | word); };
  std::unordered_set<std::uint32_t> claimed;  // words of fields and lengths
  std::vector<std::size_t> open;
  for (std::size_t i = item.first_node; i < item.end_node; ++i) {
    while (!open.empty() && program.nodes[open.back()].end == i) open.pop_back();
    const std::size_t parent = open.empty() ? template_index(item) : program.templates.size() + open.back();
    Scope& scope = scopes_[parent];
    const SchemaNode& node = program.nodes[i];
    if (node.unstored) continue;
    child_[i] = scope.children++;
    const auto number = static_cast<std::uint32_t>(i);
    const auto [at, is_new] = scope.by_key.emplace(keys[i], Scope::Nodes{number, number});
    if (!is_new) same_key_[std::exchange(at->second.last, number)] = number;
    if (node.kind == NodeKind::Field || node.kind == NodeKind::Sequence) claimed.insert(key_of(node.block, node.word));
    if (node.kind == NodeKind::Group || node.kind == NodeKind::Sequence) open.push_back(i);
  }
  for (std::size_t i = item.first_node; i < item.end_node; ++i) {
    const SchemaNode& node = program.nodes[i];
    has_own_word_[i] =
        node.kind == NodeKind::Group && node.optional && !claimed.contains(key_of(node.block, node.word));
  }
}

JsonReader::Line JsonReader::read(std::string_view line, RecordSink& sink) {
  problem_ = {};
  members_.clear();
  origins_.clear();
  references_ = 0;
  open_block_ = kNoBlock;
  template_ = nullptr;
  if (!json_.parse(line)) {
    fail(json_.problem_offset(), ErrorCode::None, json_.problem());
    return Line::Error;
  }
  if (json_.root().kind != Kind::Object) {
    fail(json_.root().offset, ErrorCode::None,
         "a message must be an object, not " + std::string(kind_name(json_.root().kind)));
    return Line::Error;
  }
  bool is_event = false;
  each(json_, 0, [&](std::size_t i) {
    is_event = is_event || json_.at(i).key == "error" || json_.at(i).key == "event";
    return true;
  });
  if (is_event) return Line::Event;

  static constexpr Header kHeader;
  builder_.begin(sink, kHeader);
  const Template* root = nullptr;
  if (!message(0, root)) return Line::Error;
  if (!builder_.commit(template_index(*root), 0, 0)) {
    fail(0, ErrorCode::X4, std::string(code_meaning(ErrorCode::X4)));
    return Line::Error;
  }
  return Line::Message;
}

std::size_t JsonReader::offset_of(std::size_t slot, std::uint8_t word) const noexcept {
  const auto by_slot = [](const Origin& origin, std::size_t wanted) { return origin.slot < wanted; };
  const auto block = std::lower_bound(origins_.begin(), origins_.end(), slot, by_slot);
  if (block == origins_.end() || block->slot != slot) return json_.root().offset;
  const auto same = [&](const Origin& origin) { return origin.slot != slot || origin.word == word; };
  const auto found = std::find_if(block, origins_.end(), same);
  return found != origins_.end() && found->slot == slot ? found->offset : block->offset;
}

// ---------------------------------------------------------------------------------------------------------------------
// The tree

/// {"template":.., "id":.., "fields":{..}}: a line, or a dynamic reference.
bool JsonReader::message(std::size_t object, const Template*& item) {
  std::size_t name = 0;
  std::size_t id = 0;
  std::size_t body = 0;
  const auto find = [&](std::size_t i) {
    const JsonValue& value = json_.at(i);
    std::size_t* const place = value.key == "template" ? &name
                               : value.key == "id"     ? &id
                               : value.key == "fields" ? &body
                                                       : nullptr;
    if (place == nullptr && template_ == nullptr && value.key == "header") return true;
    if (place == nullptr) {
      return fail(value.key_offset, ErrorCode::None,
                  "a message can have the keys template, id and fields, not " + excerpt(value.key));
    }
    if (*place != 0)
      return fail(value.key_offset, ErrorCode::None, "the key " + excerpt(value.key) + " is given twice");
    *place = i;
    return true;
  };
  if (!each(json_, object, find)) return false;
  item = find_template(object, name, id);
  if (item == nullptr) return false;
  if (body == 0 || json_.at(body).kind != Kind::Object) {
    return fail(json_.at(body == 0 ? object : body).offset, ErrorCode::None, "the message has no object \"fields\"");
  }
  const Template* outer = std::exchange(template_, item);
  if (outer != nullptr && references_++ == limits::kMaxCallDepth) {
    return fail(json_.at(object).offset, ErrorCode::X7, std::string(code_meaning(ErrorCode::X7)));
  }
  if (!open_root(*item, outer != nullptr, object)) return false;
  if (!fields(scopes_[template_index(*item)], item->first_node, item->end_node, body)) return false;
  if (outer != nullptr) --references_;
  template_ = outer;
  return true;
}

const Template* JsonReader::find_template(std::size_t object, std::size_t name, std::size_t id) {
  const auto unknown = [&](std::size_t at, std::string message) {
    fail(json_.at(at).offset, ErrorCode::D9, std::move(message));
    return nullptr;
  };
  const Template* item = nullptr;
  if (id != 0) {
    NumberText number;
    Int128 value = 0;
    const bool is_id = json_.at(id).kind == Kind::Number && read_number(json_.at(id).text, true, number) &&
                       to_integer(number, 0, std::numeric_limits<std::uint32_t>::max(), value) == ErrorCode::None;
    const auto found = is_id ? template_of_id_.find(static_cast<std::uint32_t>(value)) : template_of_id_.end();
    if (found == template_of_id_.end())
      return unknown(id, "no template has the identifier " + std::string(json_.at(id).text));
    item = schema_.find(found->second);
  }
  if (name != 0) {
    const JsonValue& value = json_.at(name);
    if (value.kind != Kind::String) return unknown(name, "the name of a template must be a string");
    if (item != nullptr && schema_.name(item->name) == value.text) return item;
    if (item != nullptr) return unknown(name, "the template of the identifier is not " + excerpt(value.text));
    const auto found = template_of_name_.find(value.text);
    if (found == template_of_name_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, index] : template_of_name_) names.emplace_back(known);
      return unknown(name, "no template has the name " + excerpt(value.text) + did_you_mean(value.text, names));
    }
    item = schema_.find(found->second);
  }
  if (item == nullptr) return unknown(object, "the message names no template");
  return item;
}

bool JsonReader::open_block(std::uint16_t block, std::size_t base, std::size_t value) {
  open_block_ = block;
  base_ = base;
  block_slot_ = static_cast<std::uint32_t>(builder_.next_slot());
  remember_origin(isa::kNoWord, value);
  return builder_.open_block(schema_.block(block), base) ||
         fail(json_.at(value).offset, ErrorCode::X4, std::string(code_meaning(ErrorCode::X4)));
}

bool JsonReader::open_root(const Template& item, bool is_reference, std::size_t value) {
  if (!is_reference) return open_block(item.root_block, kHeaderWords, value);
  open_block_ = item.root_block;
  base_ = kReferenceWords;
  block_slot_ = static_cast<std::uint32_t>(builder_.next_slot());
  remember_origin(isa::kNoWord, value);
  return builder_.open_reference(schema_.block(item.root_block), template_index(item)) ||
         fail(json_.at(value).offset, ErrorCode::X4, std::string(code_meaning(ErrorCode::X4)));
}

bool JsonReader::fields(const Scope& scope, std::size_t first, std::size_t end, std::size_t object) {
  const std::size_t frame = members_.size();
  members_.resize(frame + scope.children);
  if (!match(scope, object, frame)) return false;
  for (std::size_t i = first; i < end; i = schema_.node(i).end) {
    if (schema_.node(i).unstored) continue;
    const std::uint32_t value = members_[frame + child_[i]].value;
    if (!node(schema_.node(i), value, object)) return false;
  }
  members_.resize(frame);
  return true;
}

/// Finds the node of each member.
bool JsonReader::match(const Scope& scope, std::size_t object, std::size_t frame) {
  return each(json_, object, [&](std::size_t i) {
    const JsonValue& value = json_.at(i);
    key_.assign(value.key);
    const auto found = scope.by_key.find(key_);
    if (found == scope.by_key.end()) return fail(value.key_offset, "has no field " + excerpt(value.key));
    const std::uint32_t first = found->second.first;
    Member& head = members_[frame + child_[first]];
    const std::uint32_t node = head.value == 0 ? first : head.next_node;
    if (node == kNone) return fail(value.key_offset, "has the field " + excerpt(value.key) + " once");
    members_[frame + child_[node]].value = static_cast<std::uint32_t>(i);
    head.next_node = same_key_[node];
    return true;
  });
}

/// `value` is 0 if the line has none; `around` is the object that would have it.
bool JsonReader::node(const SchemaNode& node, std::size_t value, std::size_t around) {
  const bool present = value != 0 && json_.at(value).kind != Kind::Null;
  const bool is_constant = node.kind == NodeKind::Field && node.constant;
  if (!present && !node.optional && !is_constant) return fail(around, node, ErrorCode::X11);
  switch (node.kind) {
    case NodeKind::Field:
      return is_constant ? constant(node, present ? value : 0) : field(node, present ? value : 0, around);
    case NodeKind::Group: return group(node, present ? value : 0, around);
    case NodeKind::Sequence: return sequence(node, present ? value : 0, around);
    case NodeKind::Reference: return reference(node, value);
  }
  return false;
}

bool JsonReader::group(const SchemaNode& node, std::size_t value, std::size_t around) {
  if (node.optional && !open_block_of(node, around)) return false;
  if (value == 0) return true;
  if (json_.at(value).kind != Kind::Object) return fail(value, node, ErrorCode::D1, "is a group and must be an object");
  const std::size_t index = schema_.index_of(node);
  if (has_own_word_[index]) builder_.store(place(node, node.word), 1);
  return fields(scope_of(node), index + 1, node.end, value);
}

bool JsonReader::sequence(const SchemaNode& node, std::size_t value, std::size_t around) {
  if (!open_block_of(node, around)) return false;
  if (value != 0) {
    if (json_.at(value).kind != Kind::Array)
      return fail(value, node, ErrorCode::D1, "is a sequence and must be an array");
    std::uint64_t count = 0;
    each(json_, value, [&](std::size_t) { return ++count != 0; });
    builder_.store(place(node, node.word), count);
    remember_origin(node.word, value);
    const std::size_t first = schema_.index_of(node) + 1;
    const bool has_plain_values = schema_.is_vector(node);
    const auto element = [&](std::size_t i) {
      if (!open_block(node.element_block, 0, i)) return false;
      if (has_plain_values) return this->node(schema_.node(first), i, value);
      if (json_.at(i).kind != Kind::Object)
        return fail(i, node, ErrorCode::D1, "is a sequence, and its elements must be objects");
      return fields(scope_of(node), first, node.end, i);
    };
    if (!each(json_, value, element)) return false;
  }
  open_block_ = kNoBlock;
  return true;
}

bool JsonReader::reference(const SchemaNode& node, std::size_t value) {
  if (json_.at(value).kind != Kind::Object)
    return fail(value, node, ErrorCode::D1, "is a template reference and must be an object");
  const Template* item = nullptr;
  if (!message(value, item)) return false;
  open_block_ = kNoBlock;
  return true;
}

bool JsonReader::field(const SchemaNode& node, std::size_t value, std::size_t around) {
  if (!open_block_of(node, around)) return false;
  if (value == 0) return true;
  remember_origin(node.word, value);
  Value converted;
  if (!convert(node, value, converted)) return false;
  if (is_text(node.type)) {
    return builder_.store(place(node, node.word), converted.bytes) || fail(value, node, ErrorCode::X8);
  }
  if (node.type != FieldType::Decimal) {
    builder_.store(place(node, node.word), converted.bits);
    return true;
  }
  builder_.store(place(node, node.word), static_cast<std::uint64_t>(std::int64_t{converted.exponent}));
  builder_.store(place(node, node.word + std::size_t{1}), converted.bits);
  remember_origin(static_cast<std::uint8_t>(node.word + 1), value);
  return true;
}

/// A mandatory constant: schema, no word.
bool JsonReader::constant(const SchemaNode& node, std::size_t value) {
  if (value == 0) return true;
  Value converted;
  if (!convert(node, value, converted)) return false;
  const Value expected = Reader::constant(schema_, node);
  const bool same = is_text(node.type)                ? converted.bytes == expected.bytes
                    : node.type == FieldType::Decimal ? same_decimal(converted, expected)
                                                      : converted.bits == expected.bits;
  return same || fail(value, node, ErrorCode::X12);
}

// ---------------------------------------------------------------------------------------------------------------------
// Conversions

bool JsonReader::convert(const SchemaNode& node, std::size_t value, Value& out) {
  switch (node.type) {
    case FieldType::Ascii:
    case FieldType::Unicode:
    case FieldType::ByteVector: return convert_text(node, value, out);
    case FieldType::Enum: return convert_enum(node, value, out);
    case FieldType::Set: return convert_set(node, value, out);
    case FieldType::Boolean: {
      const Kind kind = json_.at(value).kind;
      out.bits = kind == Kind::True ? 1 : 0;
      return kind == Kind::True || kind == Kind::False || fail(value, node, ErrorCode::D1);
    }
    default: return convert_number(node, value, out);
  }
}

bool JsonReader::convert_number(const SchemaNode& node, std::size_t value, Value& out) {
  const JsonValue& json = json_.at(value);
  const bool is_decimal = node.type == FieldType::Decimal;
  NumberText number;
  if (json.kind == Kind::String) {
    // The syntax of initial values: no exponent, and no point in an integer.
    const std::string_view text = trimmed(json.text);
    const bool has_syntax =
        read_number(text, false, number) && (is_decimal || text.find('.') == std::string_view::npos);
    if (!has_syntax) return fail(value, node, ErrorCode::D11);
  } else if (json.kind != Kind::Number || !read_number(json.text, true, number)) {
    return fail(value, node, ErrorCode::D1);
  }
  if (is_decimal) {
    std::int64_t mantissa = 0;
    if (const ErrorCode code = to_decimal(number, mantissa, out.exponent); code != ErrorCode::None) {
      return fail(value, node, code);
    }
    out.bits = static_cast<std::uint64_t>(mantissa);
    return true;
  }
  const Range range = range_of(node.type);
  Int128 integer = 0;
  if (const ErrorCode code = to_integer(number, range.min, range.max, integer); code != ErrorCode::None) {
    return fail(value, node, code);
  }
  out.bits = static_cast<std::uint64_t>(integer);
  return true;
}

bool JsonReader::convert_text(const SchemaNode& node, std::size_t value, Value& out) {
  const JsonValue& json = json_.at(value);
  if (node.type == FieldType::ByteVector) {
    if (json.kind != Kind::String) return fail(value, node, ErrorCode::D10);
    if (const ErrorCode code = to_bytes(json.text, text_); code != ErrorCode::None) return fail(value, node, code);
    out.bytes = text_;
    return true;
  }
  if (json.kind != Kind::String && json.kind != Kind::Number) return fail(value, node, ErrorCode::D1);
  out.bytes = json.text;
  if (node.type == FieldType::Unicode) return true;
  if (const ErrorCode code = to_ascii(json.text, text_); code != ErrorCode::None) return fail(value, node, code);
  out.bytes = text_;
  return true;
}

const JsonReader::Elements& JsonReader::elements(const SchemaNode& node) {
  const auto [at, is_new] = elements_.try_emplace(node.type_info);
  if (is_new) {
    for (std::uint32_t i = 0; i < schema_.element_count(node); ++i)
      at->second.emplace(schema_.element_name(node, i), i);
  }
  return at->second;
}

/// By name; or by number, as in the stream.
bool JsonReader::convert_enum(const SchemaNode& node, std::size_t value, Value& out) {
  const JsonValue& json = json_.at(value);
  if (json.kind == Kind::String) {
    const Elements& known = elements(node);
    const auto found = known.find(json.text);
    if (found == known.end()) return fail(value, node, ErrorCode::X5);
    out.bits = found->second;
    return true;
  }
  NumberText number;
  if (json.kind != Kind::Number || !read_number(json.text, true, number)) return fail(value, node, ErrorCode::D1);
  Int128 index = 0;
  const ErrorCode code = to_integer(number, 0, Int128{schema_.element_count(node)} - 1, index);
  if (code != ErrorCode::None) return fail(value, node, code == ErrorCode::R4 ? ErrorCode::X5 : code);
  out.bits = static_cast<std::uint64_t>(index);
  return true;
}

bool JsonReader::convert_set(const SchemaNode& node, std::size_t value, Value& out) {
  if (json_.at(value).kind != Kind::Array) return fail(value, node, ErrorCode::D1);
  const Elements& known = elements(node);
  return each(json_, value, [&](std::size_t i) {
    if (json_.at(i).kind != Kind::String) return fail(i, node, ErrorCode::D1);
    const auto found = known.find(json_.at(i).text);
    if (found == known.end()) return fail(i, node, ErrorCode::X6);
    out.bits |= std::uint64_t{1} << found->second;
    return true;
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors

bool JsonReader::fail(std::size_t offset, ErrorCode code, std::string message) {
  problem_ = {code, std::move(message), offset};
  return false;
}

bool JsonReader::fail(std::size_t offset, const std::string& what) {
  return fail(offset, ErrorCode::None, "template " + std::string(schema_.name(template_->name)) + " " + what);
}

bool JsonReader::fail(std::size_t value, const SchemaNode& node, ErrorCode code, std::string_view detail) {
  const JsonValue& json = json_.at(value);
  const std::string shown = json.text.empty() ? std::string(kind_name(json.kind)) : excerpt(json.text);
  std::string message;
  if (!detail.empty()) {
    message = "the field " + std::string(detail) + ": " + shown;
  } else if (code == ErrorCode::D1) {
    message = shown + " does not convert to the type of the field";
  } else {
    message = code_meaning(code);
    if (code != ErrorCode::X11) message += ": " + shown;
  }
  const std::string_view name = node.kind == NodeKind::Field ? schema_.owner_name(node)
                                                             : schema_.name(node.name);  // of a vector's value: its own
  message += ", template " + std::string(schema_.name(template_->name)) + ", field " + std::string(name);
  const std::vector<Source>& sources = schema_.program().sources;
  if (node.line != 0 && node.source < sources.size()) {
    message += " (" + std::string(schema_.name(sources[node.source].name)) + ":" + std::to_string(node.line) + ")";
  }
  return fail(json.offset, code, std::move(message));
}

}  // namespace stopbit::record
