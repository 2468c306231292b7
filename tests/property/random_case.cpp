#include "tests/property/random_case.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/lib/hex.hpp"
#include "tests/lib/wire_encoder.hpp"

namespace stopbit::cases {
namespace {

constexpr int kMaxExponent = 63;

constexpr std::array<std::string_view, 4> kElementNames = {"a", "b", "c", "d"};
constexpr Int128 kEnumElements = 3;
constexpr Int128 kMaxLength = 3;  ///< That a sender writes; operators may lead further.

bool is_text(Kind kind) {
  return kind >= Kind::Ascii && kind <= Kind::ByteVector;
}
bool is_choice(Kind kind) {
  return kind == Kind::Enum || kind == Kind::Set || kind == Kind::Boolean;
}
/// With operators of an integer.
bool is_integer(Kind kind) {
  return kind < Kind::Enum || kind == Kind::Length || kind == Kind::Exponent || kind == Kind::Mantissa;
}
bool is_unsigned(Kind kind) {
  return kind == Kind::U8 || kind == Kind::U16 || kind == Kind::U32 || kind == Kind::U64 || kind == Kind::Length ||
         is_choice(kind);
}
bool applies(Op op, Kind kind) {
  if (kind == Kind::Bits) return op != Op::Tail;
  if (op == Op::Increment) return is_integer(kind);
  if (op == Op::Delta) return !is_choice(kind);
  return op != Op::Tail || is_text(kind);
}

struct Value {
  Int128 number = 0;    ///< Integer; exponent of a decimal.
  Int128 mantissa = 0;  ///< Of a decimal.
  std::string text;     ///< Strings and byte vectors.
};

struct Range {
  Int128 min;
  Int128 max;
};

Range range_of(Kind kind) {
  switch (kind) {
    case Kind::U8: return {0, 255};
    case Kind::I8: return {-128, 127};
    case Kind::U16: return {0, 65'535};
    case Kind::I16: return {-32'768, 32'767};
    case Kind::Enum: return {0, kEnumElements - 1};
    case Kind::Set: return {0, (1 << kElementNames.size()) - 1};
    case Kind::Boolean: return {0, 1};
    case Kind::Length: return {0, kMaxLength};
    case Kind::U32: return {0, std::numeric_limits<std::uint32_t>::max()};
    case Kind::I32: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case Kind::U64: return {0, std::numeric_limits<std::uint64_t>::max()};
    case Kind::Exponent:
    case Kind::Decimal: return {-kMaxExponent, kMaxExponent};
    default: return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

std::string digits(Int128 number) {
  const bool negative = number < 0;
  std::string text;
  do {
    const int digit = static_cast<int>(number % 10);
    text += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    number /= 10;
  } while (number != 0);
  if (negative) text += '-';
  return {text.rbegin(), text.rend()};
}

/// As the JSON lines have it.
std::string printed(Kind kind, const Value& value) {
  if (is_integer(kind)) return digits(value.number);
  if (kind == Kind::Boolean) return value.number != 0 ? "true" : "false";
  if (kind == Kind::Enum) return '"' + std::string(kElementNames[static_cast<std::size_t>(value.number)]) + '"';
  if (kind == Kind::Set) {
    std::string names;
    for (std::size_t i = 0; i < kElementNames.size(); ++i) {
      if ((value.number >> i & 1) == 0) continue;
      names += std::string(names.empty() ? "" : ", ") + '"' + std::string(kElementNames[i]) + '"';
    }
    return "[" + names + "]";
  }
  if (kind == Kind::ByteVector) return '"' + testing::hex(value.text, {}) + '"';
  if (is_text(kind)) return '"' + value.text + '"';
  std::string text = digits(value.mantissa);
  if (value.number > 0) return text + "e" + digits(value.number);
  const auto places = static_cast<std::size_t>(-value.number);
  if (places == 0) return text;
  const bool negative = text[0] == '-';
  text.erase(0, negative ? 1 : 0);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  text.insert(text.size() - places, ".");
  return (negative ? "-" : "") + text;
}

/// As a `value` attribute has it. A decimal is normal already: its mantissa does not end in 0.
std::string attribute(Kind kind, const Value& value) {
  if (is_integer(kind) || is_choice(kind)) return digits(value.number);
  if (kind == Kind::ByteVector) return testing::hex(value.text, {});
  if (is_text(kind)) return value.text;
  if (value.number <= 0) return printed(kind, value);
  return digits(value.mantissa) + std::string(static_cast<std::size_t>(value.number), '0');
}

struct Operator {
  Op op = Op::None;
  std::optional<Value> initial;
  std::string dictionary;  ///< Attribute; empty = inherited.
  std::string key;         ///< Attribute; empty = the name of the field.
  std::string entry;       ///< Where the previous value is: dictionary and key, resolved.
};

struct Node {
  enum class Shape : std::uint8_t { Field, SplitDecimal, Group, Sequence, Static, Dynamic, Bits, Vector };
  Shape shape = Shape::Field;
  Kind kind = Kind::U32;
  bool optional = false;
  std::string name;
  Operator op;        ///< Field; exponent of a split decimal; length of a sequence.
  Operator mantissa;  ///< Split decimal.
  std::vector<Node> children;
  unsigned small = 0;         ///< Of a bit group: bits of an integer's type; 0 = another type.
  unsigned bits = 0;          ///< Of a bit group: bits it takes, 0 if constant. Bit group: bits of its fields.
  bool has_map = false;       ///< Group, element: something inside needs a bit.
  std::string type_ref;       ///< Group, sequence: the application type inside, if it changes.
  std::size_t reference = 0;  ///< Static reference: the template. Dynamic: templates below may be named.
};

struct Template {
  std::string name;
  std::uint32_t id = 0;
  bool reset = false;
  std::string type_ref;
  std::vector<Node> nodes;
};

struct Entry {
  bool empty = false;
  Value value;
};

/// A presence map and the entities that follow it.
struct Segment {
  std::string bits;
  std::vector<Bytes> entities;

  void append(Bytes entity) { entities.push_back(std::move(entity)); }
  void append(std::vector<Bytes> more) {
    entities.insert(entities.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
};

class Maker {
 public:
  Maker(Random& random, const CaseSize& size) : random_(random), size_(size) {}

  RandomCase make() {
    RandomCase result;
    make_templates();
    result.template_text = template_text();
    result.reset = reset_ = std::array{ResetRule::Packet, ResetRule::Template, ResetRule::Never}[below(3)];
    for (std::uint64_t packet = 0, packets = size_.packets != 0 ? size_.packets : 1 + below(3); packet < packets;
         ++packet) {
      if (reset_ == ResetRule::Packet) {
        dictionary_.clear();
        last_id_.reset();
      }
      result.packets.emplace_back();
      for (std::uint64_t i = 0, messages = size_.messages != 0 ? size_.messages : 1 + below(6); i < messages; ++i) {
        if (auto bytes = message(result.records.emplace_back())) {
          result.packets.back().push_back(std::move(*bytes));
        } else {
          result.records.pop_back();
        }
      }
    }
    result.cells = std::move(cells_);
    return result;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool chance(unsigned percent) { return random_.chance(percent); }

  // Templates.

  void make_templates() {
    favourite_ = static_cast<Op>(below(7));
    // Few kinds, so that fields share previous values; in other cases many.
    for (std::uint64_t left = chance(70) ? 1 + below(3) : 24; left > 0; --left) {
      constexpr std::array kKinds = {Kind::U8,        Kind::I8,      Kind::U16,     Kind::I16,
                                     Kind::U32,       Kind::I32,     Kind::U64,     Kind::I64,
                                     Kind::Set,       Kind::Boolean, Kind::Decimal, Kind::Ascii,
                                     Kind::Timestamp, Kind::Enum,    Kind::Unicode, Kind::ByteVector};
      kinds_.push_back(random_.pick(kKinds));
    }
    if (chance(60)) default_dictionary_ = std::array{"template", "mine", "type"}[below(3)];
    for (std::uint32_t i = 0, count = 1 + static_cast<std::uint32_t>(below(3)); i < count; ++i) {
      Template item;
      item.name = "T" + std::to_string(i);
      // Engines find large identifiers by another way than small ones; here both are in one file.
      const bool is_large = favourite_ == Op::Tail && i != 1;
      item.id = i * 90 + (is_large ? 65'500 : 1);
      item.reset = chance(10);
      // Every template has a type of its own, so that a reference does not change the entries of what it names.
      item.type_ref = "Type" + std::to_string(below(kinds_.size() > 4 ? 2 : 1));
      current_ = item.name;
      type_ = item.type_ref;
      item.nodes = make_nodes(0);
      templates_.push_back(std::move(item));
    }
  }

  std::vector<Node> make_nodes(int depth) {
    std::vector<Node> nodes;
    constexpr std::uint64_t kFields = 6;
    const std::uint64_t most = depth == 0 && size_.fields != 0 ? size_.fields : kFields;
    for (std::uint64_t i = 0, count = 1 + below(most); i < count; ++i) nodes.push_back(make_node(depth));
    return nodes;
  }

  Node make_node(int depth) {
    constexpr int kMaxDepth = 3;
    constexpr int kMaxDynamicDepth = 1;  // deeper, messages grow without end
    Node node;
    node.name = "F" + std::to_string(++names_);
    node.optional = chance(50);
    const std::uint64_t shape = below(20);
    if (shape < 4 && depth < kMaxDepth) {
      node.shape = shape < 2 ? Node::Shape::Group : Node::Shape::Sequence;
      if (node.shape == Node::Shape::Sequence) node.op = make_operator(Kind::Length, node.optional, node.name);
      const std::string outer_type = type_;
      if (chance(20)) type_ = node.type_ref = "Type" + std::to_string(below(3));
      node.children = make_nodes(depth + 1);
      type_ = outer_type;
      if (node.shape == Node::Shape::Sequence) {
        // An element takes a byte, so that every length below the rest of the datagram is good.
        Node first;
        first.name = "E" + std::to_string(++names_);
        node.children.insert(node.children.begin(), first);
      }
      node.has_map = needs_map(node.children);
    } else if (shape < 6) {
      node.shape = Node::Shape::SplitDecimal;
      node.op = make_operator(Kind::Exponent, node.optional, node.name);
      node.mantissa = make_operator(Kind::Mantissa, false, node.name);
    } else if (shape == 6 && templates_.size() > referenced_) {
      node.shape = Node::Shape::Static;  // each once: names of an object are unique
      node.reference = referenced_++;
    } else if (shape == 8) {
      make_bits(node);
    } else if (shape == 9) {
      node.shape = Node::Shape::Vector;
      node.kind = std::array{Kind::U32, Kind::I32, Kind::U64, Kind::I64}[below(4)];
    } else if (shape == 7 && depth <= kMaxDynamicDepth && !templates_.empty()) {
      node.shape = Node::Shape::Dynamic;
      node.reference = templates_.size();
    } else {
      node.kind = random_.pick(kinds_);
      node.op = make_operator(node.kind, node.optional, node.name);
    }
    return node;
  }

  // Bit groups.

  static Range range_of_field(const Node& field) {
    if (field.small == 0) return range_of(field.kind);
    const Int128 values = Int128{1} << field.small;
    return field.kind == Kind::I8 ? Range{-values / 2, values / 2 - 1} : Range{0, values - 1};
  }

  /// The fewest bits that hold all values and, if the field is optional, NULL in the place of 0.
  static unsigned bits_of(const Node& field) {
    const unsigned null = field.optional ? 1 : 0;
    if (field.small != 0) return field.small + null;
    if (field.kind == Kind::Set) return static_cast<unsigned>(kElementNames.size()) + null;
    const Int128 values = range_of(field.kind).max + 1 + null;
    unsigned bits = 1;
    while (Int128{1} << bits < values) ++bits;
    return bits;
  }

  /// The entity's number, seven bits for each byte.
  static unsigned entity_bits(const Node& group) { return (group.bits + 6) / 7 * 7; }

  void make_bits(Node& group) {
    group.shape = Node::Shape::Bits;
    for (std::uint64_t left = 1 + below(7); left > 0; --left) {
      Node field;
      field.name = "B" + std::to_string(++names_);
      field.kind = std::array{Kind::Enum, Kind::Set, Kind::Boolean, Kind::U8, Kind::I8}[below(5)];
      if (field.kind == Kind::U8) field.small = 1 + static_cast<unsigned>(below(7));
      if (field.kind == Kind::I8) field.small = 2 + static_cast<unsigned>(below(6));
      const bool is_constant = !group.children.empty() && chance(10);
      field.optional = !is_constant && chance(50);
      if (is_constant) {
        field.op.op = Op::Constant;
        field.op.initial.emplace().number = random_number(range_of_field(field));
      } else {
        field.bits = bits_of(field);
      }
      if (group.bits + field.bits > 63) break;
      group.bits += field.bits;
      group.children.push_back(std::move(field));
    }
    group.op.op = static_cast<Op>(below(6));
    const bool needs_value = group.op.op == Op::Constant || group.op.op == Op::Default;
    if (needs_value || (group.op.op != Op::None && chance(50))) group.op.initial.emplace().number = random_bits(group);
    if (group.op.op >= Op::Copy) resolve(group.op, group.name);
  }

  Int128 random_bits(const Node& group) {
    Int128 number = 0;
    for (const Node& field : group.children) {
      if (field.bits == 0) continue;
      std::optional<Int128> value;
      if (!field.optional || chance(75)) value = random_number(range_of_field(field));
      const Int128 wire = field.optional ? to_nullable(value) : *value;
      number = number << field.bits | (wire & ((Int128{1} << field.bits) - 1));
    }
    return number << (entity_bits(group) - group.bits);
  }

  /// The object the entity stands for; nothing if a field has none of its values.
  static std::optional<std::string> object_of_bits(const Node& group, Int128 number) {
    std::string text;
    unsigned left = entity_bits(group);
    for (const Node& field : group.children) {
      Value value;
      if (field.bits == 0) {
        value = *field.op.initial;
      } else {
        left -= field.bits;
        value.number = number >> left & ((Int128{1} << field.bits) - 1);
        if (field.kind == Kind::I8 && value.number >> (field.bits - 1) != 0) value.number -= Int128{1} << field.bits;
        if (field.optional && value.number == 0) continue;
        if (field.optional && value.number > 0) --value.number;
        const Range range = range_of_field(field);
        if (value.number < range.min || value.number > range.max) return std::nullopt;
      }
      text += (text.empty() ? " " : ", ") + field.name + ": " + printed(field.kind, value);
    }
    return "{" + text + " }";
  }

  std::string encode_bit_group(const Node& group, Segment& segment) {
    const unsigned bits = entity_bits(group);
    const auto entry = dictionary_.find(group.op.entry);
    const bool is_known = group.op.op >= Op::Copy && entry != dictionary_.end();
    const std::optional<Value> before = is_known ? std::optional(entry->second.value) : group.op.initial;
    Int128 number = random_bits(group);
    switch (group.op.op) {
      case Op::None:
        hit(Kind::Bits, false, group.op, Sent::Value);
        segment.append(encode_bits({{bits, number}}));
        break;
      case Op::Constant:
        hit(Kind::Bits, false, group.op, Sent::Implied);
        number = group.op.initial->number;
        break;
      case Op::Delta:
        hit(Kind::Bits, false, group.op, Sent::Value);
        segment.append(encode_signed(number - before.value_or(Value()).number));
        break;
      default: {
        std::optional<Int128> implied;
        if (before) implied = before->number;
        if (is_known && group.op.op == Op::Increment) implied = (*implied + 1) & ((Int128{1} << bits) - 1);
        const bool is_clear = implied && object_of_bits(group, *implied) && chance(50);
        hit(Kind::Bits, false, group.op, is_clear ? Sent::Implied : Sent::Value);
        segment.bits += is_clear ? '0' : '1';
        if (is_clear) number = *implied;
        if (!is_clear) segment.append(encode_bits({{bits, number}}));
      }
    }
    if (group.op.op >= Op::Copy) {
      Value value;
      value.number = number;
      dictionary_[group.op.entry] = {false, value};
    }
    return *object_of_bits(group, number);
  }

  /// An entry in the dictionary that the attributes say.
  void resolve(Operator& op, const std::string& name) const {
    std::string dictionary = op.dictionary.empty() ? default_dictionary_ : op.dictionary;
    if (dictionary.empty()) dictionary = "global";
    if (dictionary == "template") dictionary += ":" + current_;
    if (dictionary == "type") dictionary += ":" + type_;
    op.entry = dictionary + "/" + (op.key.empty() ? name : op.key);
  }

  Operator make_operator(Kind kind, bool optional, const std::string& name) {
    Operator result;
    const bool is_favourite = applies(favourite_, kind) && chance(50);
    do {
      result.op = is_favourite ? favourite_ : static_cast<Op>(below(7));
    } while (!applies(result.op, kind));
    const bool needs_value = result.op == Op::Constant || (result.op == Op::Default && !optional);
    if (needs_value || (result.op != Op::None && chance(50))) result.initial = initial_value(kind);
    if (result.op < Op::Copy) return result;

    const bool has_name = kind != Kind::Exponent && kind != Kind::Mantissa && kind != Kind::Length;
    if (has_name && chance(20)) result.dictionary = std::array{"global", "template", "mine", "type"}[below(4)];
    // Only fields of one type share a key, and deltas only with deltas: they have no way out of an empty previous
    // value.
    if (has_name && chance(kinds_.size() > 4 ? 40 : 70)) {
      result.key = "k" + std::to_string(static_cast<int>(kind)) + (result.op == Op::Delta ? "d" : "") +
                   std::to_string(below(kinds_.size() > 4 ? 2 : 1));
    }
    resolve(result, name);
    if (!has_name) result.entry += "." + std::to_string(static_cast<int>(kind));
    return result;
  }

  static bool needs_bit(const Operator& op, bool optional) {
    return op.op == Op::Constant ? optional : op.op != Op::None && op.op != Op::Delta;
  }

  [[nodiscard]] bool needs_map(const std::vector<Node>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [this](const Node& node) {
      if (node.shape == Node::Shape::Group) return node.optional;
      if (node.shape == Node::Shape::Bits) return node.optional || needs_bit(node.op, false);
      if (node.shape == Node::Shape::Dynamic) return false;
      if (node.shape == Node::Shape::Static) return needs_map(templates_[node.reference].nodes);
      return needs_bit(node.op, node.optional) ||
             (node.shape == Node::Shape::SplitDecimal && needs_bit(node.mantissa, false));
    });
  }

  // Template text.

  static std::string operator_text(Kind kind, const Operator& op) {
    constexpr std::array kNames = {"", "constant", "default", "copy", "increment", "delta", "tail"};
    if (op.op == Op::None) return {};
    std::string text = std::string("<") + kNames[static_cast<std::size_t>(op.op)];
    if (op.initial) text += " value=\"" + attribute(kind, *op.initial) + "\"";
    if (!op.dictionary.empty()) text += " dictionary=\"" + op.dictionary + "\"";
    if (!op.key.empty()) text += " key=\"" + op.key + "\"";
    return text + "/>";
  }

  [[nodiscard]] std::string node_text(const Node& node, const std::string& indent) const {
    constexpr std::array kElements = {"uInt8", "int8",      "uInt16", "int16",  "uInt32",    "int32", "uInt64",
                                      "int64", "timestamp", "enum",   "set",    "boolean",   "",      "",
                                      "",      "decimal",   "string", "string", "byteVector"};
    const std::string attributes = " name=\"" + node.name + "\"" + (node.optional ? " presence=\"optional\"" : "");
    switch (node.shape) {
      case Node::Shape::Field: {
        const std::string element = kElements[static_cast<std::size_t>(node.kind)];
        const std::string charset = node.kind == Kind::Unicode ? " charset=\"unicode\"" : "";
        return indent + "<" + element + attributes + charset + ">" + elements_text(node.kind) +
               operator_text(node.kind, node.op) + "</" + element + ">\n";
      }
      case Node::Shape::SplitDecimal:
        return indent + "<decimal" + attributes + "><exponent>" + operator_text(Kind::Exponent, node.op) +
               "</exponent><mantissa>" + operator_text(Kind::Mantissa, node.mantissa) + "</mantissa></decimal>\n";
      case Node::Shape::Static: return indent + "<templateRef name=\"" + templates_[node.reference].name + "\"/>\n";
      case Node::Shape::Dynamic: return indent + "<templateRef/>\n";
      case Node::Shape::Vector: {
        const std::string element = kElements[static_cast<std::size_t>(node.kind)];
        return indent + "<" + element + "Vector" + attributes + "/>\n";
      }
      case Node::Shape::Bits: {
        std::string text = indent + "<bitGroup" + attributes + ">\n";
        for (const Node& field : node.children) {
          std::string element = kElements[static_cast<std::size_t>(field.kind)];
          if (field.small != 0) element = (field.kind == Kind::I8 ? "int" : "uInt") + std::to_string(field.small);
          text += indent + "  <" + element + " name=\"" + field.name + "\"" +
                  (field.optional ? " presence=\"optional\"" : "") + ">" +
                  (field.small == 0 ? elements_text(field.kind) : "") + operator_text(field.kind, field.op) + "</" +
                  element + ">\n";
        }
        return text + indent + "  " + bits_operator_text(node) + "\n" + indent + "</bitGroup>\n";
      }
      case Node::Shape::Group:
      case Node::Shape::Sequence: break;
    }
    const bool is_group = node.shape == Node::Shape::Group;
    const std::string element = is_group ? "group" : "sequence";
    std::string text = indent + "<" + element + attributes + ">\n";
    if (!node.type_ref.empty()) text += indent + "  <typeRef name=\"" + node.type_ref + "\"/>\n";
    if (!is_group) text += indent + "  <length>" + operator_text(Kind::Length, node.op) + "</length>\n";
    for (const Node& child : node.children) text += node_text(child, indent + "  ");
    return text + indent + "</" + element + ">\n";
  }

  /// The value is that of the fields' bits alone.
  static std::string bits_operator_text(const Node& group) {
    Operator op = group.op;
    if (op.initial) op.initial->number >>= entity_bits(group) - group.bits;
    return operator_text(Kind::U64, op);
  }

  static std::string elements_text(Kind kind) {
    const std::size_t count = kind == Kind::Enum  ? static_cast<std::size_t>(kEnumElements)
                              : kind == Kind::Set ? kElementNames.size()
                                                  : 0;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += "<element name=\"" + std::string(kElementNames[i]) + "\"/>";
    return text;
  }

  std::string template_text() const {
    std::string text = "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.2\"";
    if (!default_dictionary_.empty()) text += " dictionary=\"" + default_dictionary_ + "\"";
    text += ">\n";
    for (const Template& item : templates_) {
      text += "  <template name=\"" + item.name + "\" id=\"" + std::to_string(item.id) + "\"" +
              (item.reset ? " reset=\"yes\"" : "") + ">\n    <typeRef name=\"" + item.type_ref + "\"/>\n";
      for (const Node& node : item.nodes) text += node_text(node, "    ");
      text += "  </template>\n";
    }
    return text + "</templates>\n";
  }

  // Values.

  std::string random_text(Kind kind) {
    const std::uint64_t length = chance(10) ? 40 + below(80) : below(13);
    std::string text;
    for (std::uint64_t i = 0; i < length; ++i) {
      text += kind == Kind::ByteVector ? static_cast<char>(below(256)) : static_cast<char>('A' + below(26));
    }
    return text;
  }

  Int128 random_number(Range range) {
    switch (below(6)) {
      case 0: return range.min;
      case 1: return range.max;
      case 2: return std::max(range.min, range.max - 1);
      case 3: return std::max(range.min, -static_cast<Int128>(below(130)));
      case 4: return std::min(range.max, static_cast<Int128>(below(20'000)));
      default: return range.min + static_cast<Int128>(random_.bits()) % (range.max - range.min + 1);
    }
  }

  Value random_value(Kind kind) {
    Value value;
    if (is_text(kind)) {
      value.text = random_text(kind);
    } else {
      value.number = random_number(range_of(kind));
      if (kind == Kind::Decimal) value.mantissa = random_number(range_of(Kind::Mantissa));
    }
    return value;
  }

  /// A decimal's initial value is normalised: 0 has exponent 0, other mantissas do not end in 0. Its text must be one
  /// that can be read: not longer than a number of 64 bits.
  Value initial_value(Kind kind) {
    Value value = random_value(kind);
    if (kind != Kind::Decimal) return value;
    value.number = -static_cast<Int128>(below(20));
    value.mantissa = static_cast<Int128>(below(2'000'001)) - 1'000'000;
    while (value.mantissa != 0 && value.mantissa % 10 == 0) {
      value.mantissa /= 10;
      ++value.number;
    }
    if (value.mantissa == 0) value.number = 0;
    return value;
  }

  // Messages.

  /// Nothing if a record could not hold it.
  std::optional<std::vector<Bytes>> message(std::string& record) {
    constexpr std::size_t kMaxElements = 1'000;
    constexpr std::size_t kMaxStringSlots = 255;
    const auto dictionary = dictionary_;
    const auto last_id = last_id_;
    elements_ = string_slots_ = 0;
    std::vector<Bytes> bytes = segment_of(random_.pick(templates_), record);
    if (elements_ <= kMaxElements && string_slots_ <= kMaxStringSlots) return bytes;
    dictionary_ = dictionary;
    last_id_ = last_id;
    return std::nullopt;
  }

  /// A message or a dynamic reference.
  std::vector<Bytes> segment_of(const Template& item, std::string& record) {
    Segment segment;
    const bool copied = last_id_ == item.id && chance(70);
    segment.bits = copied ? "0" : "1";
    if (!copied) segment.append(encode_unsigned(item.id));
    if (item.reset && reset_ != ResetRule::Never) dictionary_.clear();
    last_id_ = item.id;
    record = item.name + " " + object(item.nodes, segment);
    return finish(segment, true);
  }

  static std::vector<Bytes> finish(Segment& segment, bool has_map) {
    if (has_map) segment.entities.insert(segment.entities.begin(), encode_presence_map(segment.bits));
    return std::move(segment.entities);
  }

  /// Encodes the fields and returns the object they print as.
  std::string object(const std::vector<Node>& list, Segment& segment) {
    std::string text;
    int references = 0;
    members(list, segment, text, references);
    return "{" + text + " }";
  }

  void members(const std::vector<Node>& list, Segment& segment, std::string& text, int& references) {
    for (const Node& node : list) {
      if (node.shape == Node::Shape::Static) {
        members(templates_[node.reference].nodes, segment, text, references);
        continue;
      }
      std::string name = node.name;
      if (node.shape == Node::Shape::Dynamic) {
        name = "templateRef" + (++references == 1 ? std::string() : std::to_string(references));
      }
      const std::optional<std::string> value = encode(node, segment);
      if (value) text += (text.empty() ? " " : ", ") + name + ": " + *value;
    }
  }

  std::optional<std::string> encode(const Node& node, Segment& segment) {
    switch (node.shape) {
      case Node::Shape::Field: {
        const std::optional<Value> value = field(node.kind, node.optional, node.op, segment);
        constexpr std::size_t kInlineBytes = 7;
        constexpr std::size_t kSlotBytes = 56;
        if (value && value->text.size() > kInlineBytes) {
          string_slots_ += (value->text.size() + kSlotBytes - 1) / kSlotBytes;
        }
        return value ? std::optional(printed(node.kind, *value)) : std::nullopt;
      }
      case Node::Shape::SplitDecimal: {
        std::optional<Value> value = field(Kind::Exponent, node.optional, node.op, segment);
        if (!value) return std::nullopt;
        value->mantissa = field(Kind::Mantissa, false, node.mantissa, segment)->number;
        return printed(Kind::Decimal, *value);
      }
      case Node::Shape::Group: {
        if (node.optional) {
          const bool present = chance(60);
          segment.bits += present ? '1' : '0';
          if (!present) return std::nullopt;
        }
        return inner(node, segment);
      }
      case Node::Shape::Sequence: {
        const std::optional<Value> length = field(Kind::Length, node.optional, node.op, segment);
        if (!length) return std::nullopt;
        std::string text;
        elements_ += static_cast<std::size_t>(length->number);
        for (Int128 i = 0; i < length->number; ++i) text += (i == 0 ? "" : ", ") + inner(node, segment);
        return "[" + text + "]";
      }
      case Node::Shape::Dynamic: {
        std::string text;
        segment.append(segment_of(templates_[below(node.reference)], text));
        return text;
      }
      case Node::Shape::Bits: {
        if (node.optional) {
          const bool present = chance(60);
          segment.bits += present ? '1' : '0';
          if (!present) return std::nullopt;
        }
        return encode_bit_group(node, segment);
      }
      case Node::Shape::Vector: {
        const std::optional<Value> length = field(Kind::Length, node.optional, node.op, segment);
        if (!length) return std::nullopt;
        elements_ += static_cast<std::size_t>(length->number);
        std::string text;
        for (Int128 i = 0; i < length->number; ++i) {
          const Value value = random_value(node.kind);
          write(node.kind, false, value, segment);
          text += (i == 0 ? "" : ", ") + printed(node.kind, value);
        }
        return "[" + text + "]";
      }
      case Node::Shape::Static: break;  // its members are
    }
    return std::nullopt;
  }

  std::string inner(const Node& node, Segment& segment) {
    Segment own;
    std::string text = object(node.children, own);
    segment.append(finish(own, node.has_map));
    return text;
  }

  std::optional<Value> some_value(Kind kind, bool optional) {
    if (optional && chance(25)) return std::nullopt;
    return random_value(kind);
  }

  static void write(Kind kind, bool nullable, const std::optional<Value>& value, Segment& segment) {
    if (kind == Kind::Ascii) {
      segment.append(*encode_ascii(value ? std::optional<std::string_view>(value->text) : std::nullopt, nullable));
    } else if (is_text(kind)) {
      segment.append(encode_vector(value ? std::optional<std::string_view>(value->text) : std::nullopt, nullable));
    } else {
      const std::optional<Int128> number = value ? std::optional(value->number) : std::nullopt;
      const Int128 wire = nullable ? to_nullable(number) : *number;
      segment.append(is_unsigned(kind) ? encode_unsigned(wire) : encode_signed(wire));
      if (kind == Kind::Decimal && value) segment.append(encode_signed(value->mantissa));
    }
  }

  struct Implied {
    bool possible = false;  ///< Otherwise the sender must set the bit.
    std::optional<Value> value;
  };

  /// What a clear presence bit stands for.
  Implied implied(Kind kind, bool optional, const Operator& op) {
    const Implied absent = {optional, std::nullopt};
    const Implied initial = op.initial ? Implied{true, op.initial} : absent;
    if (op.op == Op::Default) return initial;
    const auto entry = dictionary_.find(op.entry);
    if (entry == dictionary_.end()) return initial;
    if (entry->second.empty) return absent;
    Value value = entry->second.value;
    if (op.op == Op::Increment) {
      // An exponent is an int32 on its way from largest to smallest, and leaves -63 to 63 before that.
      if (kind == Kind::Exponent && value.number == kMaxExponent) return {};
      const Range range = range_of(kind == Kind::Length ? Kind::U32 : kind);
      value.number = value.number == range.max ? range.min : value.number + 1;
    }
    return {true, value};
  }

  void hit(Kind kind, bool optional, const Operator& op, Sent sent) {
    Before before = Before::Undefined;
    if (op.op >= Op::Copy) {
      const auto entry = dictionary_.find(op.entry);
      if (entry != dictionary_.end()) before = entry->second.empty ? Before::Empty : Before::Assigned;
    }
    cells_.push_back({kind, op.op, optional, op.initial.has_value(), before, sent});
  }

  std::optional<Value> field(Kind kind, bool optional, const Operator& op, Segment& segment) {
    const auto sent = [](const std::optional<Value>& value) { return value ? Sent::Value : Sent::Null; };
    const auto clear = [](const std::optional<Value>& value) { return value ? Sent::Implied : Sent::Absent; };
    switch (op.op) {
      case Op::None: {
        const std::optional<Value> value = some_value(kind, optional);
        hit(kind, optional, op, sent(value));
        write(kind, optional, value, segment);
        return value;
      }
      case Op::Constant: {
        const bool present = !optional || chance(60);
        hit(kind, optional, op, present ? Sent::Implied : Sent::Absent);
        if (optional) segment.bits += present ? '1' : '0';
        return present ? op.initial : std::nullopt;
      }
      case Op::Delta: return delta(kind, optional, op, segment);
      case Op::Default:
      case Op::Copy:
      case Op::Increment:
      case Op::Tail: break;
    }
    std::optional<Value> value;
    const Implied without = implied(kind, optional, op);
    if (without.possible && chance(50)) {
      segment.bits += '0';
      value = without.value;
      hit(kind, optional, op, clear(value));
    } else {
      segment.bits += '1';
      value = some_value(kind, optional);
      hit(kind, optional, op, sent(value));
      write(kind, optional, value, segment);
      if (op.op == Op::Tail && value) value->text = with_tail(value->text, base(op).text);
    }
    if (op.op != Op::Default) dictionary_[op.entry] = {!value, value.value_or(Value())};
    return value;
  }

  static std::string with_tail(const std::string& tail, const std::string& base) {
    return base.substr(0, base.size() - std::min(base.size(), tail.size())) + tail;
  }

  Value base(const Operator& op) {
    const auto entry = dictionary_.find(op.entry);
    if (entry != dictionary_.end() && !entry->second.empty) return entry->second.value;
    return op.initial.value_or(Value());
  }

  std::optional<Value> delta(Kind kind, bool optional, const Operator& op, Segment& segment) {
    if (optional && chance(25)) {
      hit(kind, optional, op, Sent::Null);
      segment.append(encode_signed(0));
      return std::nullopt;
    }
    hit(kind, optional, op, Sent::Value);
    const Value from = base(op);
    Value to = random_value(kind);
    const auto subtract = [optional](Int128 number) { return optional ? to_nullable(number) : number; };
    if (is_text(kind)) {
      const std::size_t removed = below(from.text.size() + 1);
      const bool at_front = chance(50);
      if (from.text.size() + to.text.size() > 200) to.text.clear();  // a slot holds 256 bytes
      const auto length = static_cast<Int128>(removed);
      segment.append(encode_signed(subtract(at_front ? -length - 1 : length)));
      write(kind, false, to, segment);
      to.text =
          at_front ? to.text + from.text.substr(removed) : from.text.substr(0, from.text.size() - removed) + to.text;
    } else {
      segment.append(encode_signed(subtract(to.number - from.number)));
      if (kind == Kind::Decimal) segment.append(encode_signed(to.mantissa - from.mantissa));
    }
    dictionary_[op.entry] = {false, to};
    return to;
  }

  Random& random_;
  const CaseSize size_;
  std::string default_dictionary_;
  std::string current_;  ///< Template that is being made.
  std::string type_;     ///< Application type of what is being made.
  std::vector<Kind> kinds_;
  Op favourite_ = Op::None;
  std::size_t referenced_ = 0;  ///< Templates that have a static reference to them.
  ResetRule reset_ = ResetRule::Packet;
  std::vector<Cell> cells_;
  std::size_t elements_ = 0;      ///< Of the message.
  std::size_t string_slots_ = 0;  ///< At least those that its record takes.
  int names_ = 0;
  std::vector<Template> templates_;
  std::map<std::string, Entry> dictionary_;  ///< No entry = undefined.
  std::optional<std::uint32_t> last_id_;
};

/// The cells of an operator on a type: what its rules allow, errors left out.
void add_cells(Cell cell, std::set<Cell>& cells) {
  const auto add = [&](Before before, Sent sent) {
    cell.before = before;
    cell.sent = sent;
    cells.insert(cell);
  };
  const auto add_sent = [&](Before before) {
    add(before, Sent::Value);
    if (cell.optional) add(before, Sent::Null);
  };
  const Sent initial = cell.has_initial ? Sent::Implied : Sent::Absent;
  const bool may_be_absent = cell.optional || cell.has_initial;
  switch (cell.op) {
    case Op::None:
      if (!cell.has_initial) add_sent(Before::Undefined);
      return;
    case Op::Constant:
      if (!cell.has_initial) return;
      add(Before::Undefined, Sent::Implied);
      if (cell.optional) add(Before::Undefined, Sent::Absent);
      return;
    case Op::Default:
      if (!may_be_absent) return;
      add_sent(Before::Undefined);
      add(Before::Undefined, initial);
      return;
    case Op::Delta:
      add_sent(Before::Undefined);
      add_sent(Before::Assigned);
      return;
    case Op::Copy:
    case Op::Increment:
    case Op::Tail: break;
  }
  add_sent(Before::Undefined);
  if (may_be_absent) add(Before::Undefined, initial);
  add_sent(Before::Assigned);
  add(Before::Assigned, Sent::Implied);
  // A mandatory field finds an empty previous value only where it shares the key of an optional one.
  const bool shares_keys = cell.kind < Kind::Length || (cell.kind > Kind::Mantissa && cell.kind != Kind::Bits);
  if (!cell.optional && !shares_keys) return;
  add_sent(Before::Empty);
  if (cell.optional) add(Before::Empty, Sent::Absent);
}

}  // namespace

RandomCase random_case(Random& random, const CaseSize& size) {
  return Maker(random, size).make();
}

RandomCase random_case(std::uint64_t seed, const CaseSize& size) {
  Random random(seed);
  return random_case(random, size);
}

std::set<Cell> legal_cells() {
  std::set<Cell> cells;
  for (Kind kind{}; kind <= Kind::Bits; kind = static_cast<Kind>(static_cast<int>(kind) + 1)) {
    for (Op op{}; op <= Op::Tail; op = static_cast<Op>(static_cast<int>(op) + 1)) {
      for (const bool optional : {false, true}) {
        if (!applies(op, kind) || (optional && (kind == Kind::Mantissa || kind == Kind::Bits))) continue;
        for (const bool initial : {false, true}) add_cells({kind, op, optional, initial, {}, {}}, cells);
      }
    }
  }
  return cells;
}

std::string cell_text(const Cell& cell) {
  constexpr std::array kKinds = {"uInt8",    "int8",      "uInt16", "int16",   "uInt32",     "int32",    "uInt64",
                                 "int64",    "timestamp", "enum",   "set",     "boolean",    "length",   "exponent",
                                 "mantissa", "decimal",   "ascii",  "unicode", "byteVector", "bit group"};
  constexpr std::array kOps = {"no operator", "constant", "default", "copy", "increment", "delta", "tail"};
  constexpr std::array kBefore = {"undefined", "empty", "assigned"};
  constexpr std::array kSent = {"a value sent", "NULL sent", "a value implied", "absence implied"};
  const auto name = [](const auto& names, auto value) { return std::string(names[static_cast<std::size_t>(value)]); };
  return name(kKinds, cell.kind) + ", " + name(kOps, cell.op) + (cell.optional ? ", optional" : ", mandatory") +
         (cell.has_initial ? ", initial value" : "") + ", previous value " + name(kBefore, cell.before) + ", " +
         name(kSent, cell.sent);
}

std::string case_text(const RandomCase& made) {
  constexpr std::array kRules = {"packet", "template", "never"};
  std::string text = "-- about\nMade up.\n-- options\nreset " +
                     std::string(kRules[static_cast<std::size_t>(made.reset)]) + "\n-- template\n" +
                     made.template_text + "-- bytes\n";
  for (const RandomCase::Packet& packet : made.packets) {
    text += "packet\n";
    for (const RandomCase::Message& message : packet) {
      for (const Bytes& entity : message) {
        text += testing::hex({reinterpret_cast<const char*>(entity.data()), entity.size()}) + " ";
      }
      text.back() = '\n';
    }
  }
  text += "-- records\n";
  for (const std::string& record : made.records) text += record + "\n";
  return text;
}

}  // namespace stopbit::cases
