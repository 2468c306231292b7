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

#include "tests/lib/wire_encoder.hpp"

namespace stopbit::cases {
namespace {

enum class Kind : std::uint8_t { U32, I32, U64, I64, Exponent, Mantissa, Decimal, Ascii, Unicode, Bytes };
enum class Op : std::uint8_t { None, Constant, Default, Copy, Increment, Delta, Tail };

constexpr int kMaxExponent = 63;

bool is_text(Kind kind) {
  return kind >= Kind::Ascii;
}
bool is_integer(Kind kind) {
  return kind < Kind::Decimal;
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

std::string hex(std::string_view bytes, std::string_view between = {}) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    if (!text.empty()) text += between;
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

/// As the JSON lines have it.
std::string printed(Kind kind, const Value& value) {
  if (is_integer(kind)) return digits(value.number);
  if (kind == Kind::Bytes) return '"' + hex(value.text) + '"';
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
  if (is_integer(kind)) return digits(value.number);
  if (kind == Kind::Bytes) return hex(value.text);
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
  enum class Shape : std::uint8_t { Field, SplitDecimal, Group, Sequence };
  Shape shape = Shape::Field;
  Kind kind = Kind::U32;
  bool optional = false;
  std::string name;
  Operator op;        ///< Field; exponent of a split decimal; length of a sequence.
  Operator mantissa;  ///< Split decimal.
  std::vector<Node> children;
  bool has_map = false;  ///< Group, element: something inside needs a bit.
};

struct Template {
  std::string name;
  std::uint32_t id = 0;
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
  explicit Maker(Random& random) : random_(random) {}

  RandomCase make() {
    RandomCase result;
    make_templates();
    result.template_text = template_text();
    result.reset_per_packet = chance(50);
    for (std::uint64_t packet = 0, packets = 1 + below(3); packet < packets; ++packet) {
      if (result.reset_per_packet) {
        dictionary_.clear();
        last_id_.reset();
      }
      result.packets.emplace_back();
      for (std::uint64_t i = 0, messages = 1 + below(6); i < messages; ++i) {
        result.packets.back().push_back(message(result.records.emplace_back()));
      }
    }
    return result;
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool chance(unsigned percent) { return random_.chance(percent); }

  // Templates.

  void make_templates() {
    if (chance(50)) default_dictionary_ = chance(50) ? "template" : "mine";
    for (std::uint32_t i = 0, count = 1 + static_cast<std::uint32_t>(below(3)); i < count; ++i) {
      Template item;
      item.name = "T" + std::to_string(i);
      item.id = i * 90 + 1;
      current_ = item.name;
      item.nodes = make_nodes(0);
      templates_.push_back(std::move(item));
    }
  }

  std::vector<Node> make_nodes(int depth) {
    std::vector<Node> nodes;
    for (std::uint64_t i = 0, count = 1 + below(6); i < count; ++i) nodes.push_back(make_node(depth));
    return nodes;
  }

  Node make_node(int depth) {
    Node node;
    node.name = "F" + std::to_string(++names_);
    node.optional = chance(50);
    const std::uint64_t shape = below(10);
    if (shape == 0 && depth < 3) {
      node.shape = Node::Shape::Group;
      node.children = make_nodes(depth + 1);
      node.has_map = needs_map(node.children);
    } else if (shape == 1 && depth < 3) {
      node.shape = Node::Shape::Sequence;
      node.kind = Kind::U32;
      node.op = make_operator(Kind::U32, node.optional, node.name + ".length");
      node.op.key.clear();
      node.op.dictionary.clear();
      node.op.entry = node.name + ".length";
      if (node.op.initial) node.op.initial->number = static_cast<Int128>(below(4));
      node.children = make_nodes(depth + 1);
      // An element takes a byte, so that every length below the rest of the datagram is good.
      Node first;
      first.name = "E" + std::to_string(++names_);
      node.children.insert(node.children.begin(), first);
      node.has_map = needs_map(node.children);
    } else if (shape == 2) {
      node.shape = Node::Shape::SplitDecimal;
      node.op = make_operator(Kind::Exponent, node.optional, node.name + ".exponent");
      node.mantissa = make_operator(Kind::Mantissa, false, node.name + ".mantissa");
    } else {
      constexpr std::array kKinds = {Kind::U32,     Kind::I32,   Kind::U64,     Kind::I64,
                                     Kind::Decimal, Kind::Ascii, Kind::Unicode, Kind::Bytes};
      node.kind = kKinds[below(kKinds.size())];
      node.op = make_operator(node.kind, node.optional, node.name);
    }
    return node;
  }

  Operator make_operator(Kind kind, bool optional, const std::string& name) {
    Operator result;
    do {
      result.op = static_cast<Op>(below(7));
    } while ((result.op == Op::Increment && !is_integer(kind)) || (result.op == Op::Tail && !is_text(kind)));
    const bool needs_value = result.op == Op::Constant || (result.op == Op::Default && !optional);
    if (needs_value || (result.op != Op::None && chance(50))) result.initial = initial_value(kind);
    if (result.op < Op::Copy) return result;

    if (chance(20)) result.dictionary = std::array{"global", "template", "mine", "yours"}[below(4)];
    // Only fields of one type share a key, and deltas only with deltas: they have no way out of an empty previous
    // value.
    if (chance(30) && kind != Kind::Exponent && kind != Kind::Mantissa) {
      result.key =
          "k" + std::to_string(static_cast<int>(kind)) + (result.op == Op::Delta ? "d" : "") + std::to_string(below(2));
    }
    std::string dictionary = result.dictionary.empty() ? default_dictionary_ : result.dictionary;
    if (dictionary.empty()) dictionary = "global";
    if (dictionary == "template") dictionary += ":" + current_;
    result.entry = dictionary + "/" + (result.key.empty() ? name : result.key);
    return result;
  }

  static bool needs_bit(const Operator& op, bool optional) {
    return op.op == Op::Constant ? optional : op.op != Op::None && op.op != Op::Delta;
  }

  static bool needs_map(const std::vector<Node>& nodes) {
    return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
      if (node.shape == Node::Shape::Group) return node.optional;
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

  static std::string node_text(const Node& node, const std::string& indent) {
    constexpr std::array kElements = {"uInt32", "int32",   "uInt64", "int64",  "",
                                      "",       "decimal", "string", "string", "byteVector"};
    const std::string attributes = " name=\"" + node.name + "\"" + (node.optional ? " presence=\"optional\"" : "");
    switch (node.shape) {
      case Node::Shape::Field: {
        const std::string element = kElements[static_cast<std::size_t>(node.kind)];
        const std::string charset = node.kind == Kind::Unicode ? " charset=\"unicode\"" : "";
        return indent + "<" + element + attributes + charset + ">" + operator_text(node.kind, node.op) + "</" +
               element + ">\n";
      }
      case Node::Shape::SplitDecimal:
        return indent + "<decimal" + attributes + "><exponent>" + operator_text(Kind::Exponent, node.op) +
               "</exponent><mantissa>" + operator_text(Kind::Mantissa, node.mantissa) + "</mantissa></decimal>\n";
      case Node::Shape::Group:
      case Node::Shape::Sequence: break;
    }
    const bool is_group = node.shape == Node::Shape::Group;
    const std::string element = is_group ? "group" : "sequence";
    std::string text = indent + "<" + element + attributes + ">\n";
    if (!is_group) text += indent + "  <length>" + operator_text(Kind::U32, node.op) + "</length>\n";
    for (const Node& child : node.children) text += node_text(child, indent + "  ");
    return text + indent + "</" + element + ">\n";
  }

  std::string template_text() const {
    std::string text = "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.1\"";
    if (!default_dictionary_.empty()) text += " dictionary=\"" + default_dictionary_ + "\"";
    text += ">\n";
    for (const Template& item : templates_) {
      text += "  <template name=\"" + item.name + "\" id=\"" + std::to_string(item.id) + "\">\n";
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
      text += kind == Kind::Bytes ? static_cast<char>(below(256)) : static_cast<char>('A' + below(26));
    }
    return text;
  }

  Int128 random_number(Range range) {
    switch (below(6)) {
      case 0: return range.min;
      case 1: return range.max;
      case 2: return range.max - 1;
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

  std::vector<Bytes> message(std::string& record) {
    const Template& item = templates_[below(templates_.size())];
    Segment segment;
    const bool copied = last_id_ == item.id && chance(70);
    segment.bits = copied ? "0" : "1";
    if (!copied) segment.append(encode_unsigned(item.id));
    last_id_ = item.id;
    record = item.name + " " + nodes(item.nodes, segment);
    return finish(segment, true);
  }

  static std::vector<Bytes> finish(Segment& segment, bool has_map) {
    if (has_map) segment.entities.insert(segment.entities.begin(), encode_presence_map(segment.bits));
    return std::move(segment.entities);
  }

  /// Encodes the fields and returns the object they print as.
  std::string nodes(const std::vector<Node>& list, Segment& segment) {
    std::string text;
    for (const Node& node : list) {
      const std::optional<std::string> value = encode(node, segment);
      if (value) text += (text.empty() ? " " : ", ") + node.name + ": " + *value;
    }
    return "{" + text + " }";
  }

  std::optional<std::string> encode(const Node& node, Segment& segment) {
    switch (node.shape) {
      case Node::Shape::Field: {
        const std::optional<Value> value = field(node.kind, node.optional, node.op, segment);
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
        is_length_ = true;
        const std::optional<Value> length = field(Kind::U32, node.optional, node.op, segment);
        is_length_ = false;
        if (!length) return std::nullopt;
        std::string text;
        for (Int128 i = 0; i < length->number; ++i) text += (i == 0 ? "" : ", ") + inner(node, segment);
        return "[" + text + "]";
      }
    }
    return std::nullopt;
  }

  std::string inner(const Node& node, Segment& segment) {
    Segment own;
    std::string text = nodes(node.children, own);
    segment.append(finish(own, node.has_map));
    return text;
  }

  std::optional<Value> some_value(Kind kind, bool optional) {
    if (optional && chance(25)) return std::nullopt;
    Value value = random_value(kind);
    if (is_length_) value.number = static_cast<Int128>(below(4));
    return value;
  }

  static void write(Kind kind, bool nullable, const std::optional<Value>& value, Segment& segment) {
    if (kind == Kind::Ascii) {
      segment.append(*encode_ascii(value ? std::optional<std::string_view>(value->text) : std::nullopt, nullable));
    } else if (is_text(kind)) {
      segment.append(encode_vector(value ? std::optional<std::string_view>(value->text) : std::nullopt, nullable));
    } else {
      const std::optional<Int128> number = value ? std::optional(value->number) : std::nullopt;
      const Int128 wire = nullable ? to_nullable(number) : *number;
      const bool is_unsigned = kind == Kind::U32 || kind == Kind::U64;
      segment.append(is_unsigned ? encode_unsigned(wire) : encode_signed(wire));
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
      value.number = value.number == range_of(kind).max ? range_of(kind).min : value.number + 1;
    }
    return {true, value};
  }

  std::optional<Value> field(Kind kind, bool optional, const Operator& op, Segment& segment) {
    switch (op.op) {
      case Op::None: {
        const std::optional<Value> value = some_value(kind, optional);
        write(kind, optional, value, segment);
        return value;
      }
      case Op::Constant: {
        if (!optional) return op.initial;
        const bool present = chance(60);
        segment.bits += present ? '1' : '0';
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
    } else {
      segment.bits += '1';
      value = some_value(kind, optional);
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
      segment.append(encode_signed(0));
      return std::nullopt;
    }
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
      if (is_length_) to.number = static_cast<Int128>(below(4));
      segment.append(encode_signed(subtract(to.number - from.number)));
      if (kind == Kind::Decimal) segment.append(encode_signed(to.mantissa - from.mantissa));
    }
    dictionary_[op.entry] = {false, to};
    return to;
  }

  Random& random_;
  std::string default_dictionary_;
  std::string current_;  ///< Template that is being made.
  int names_ = 0;
  std::vector<Template> templates_;
  std::map<std::string, Entry> dictionary_;  ///< No entry = undefined.
  std::optional<std::uint32_t> last_id_;
  bool is_length_ = false;
};

}  // namespace

RandomCase random_case(Random& random) {
  return Maker(random).make();
}

RandomCase random_case(std::uint64_t seed) {
  Random random(seed);
  return random_case(random);
}

std::string case_text(const RandomCase& made) {
  std::string text = "-- about\nMade up.\n-- options\nreset " +
                     std::string(made.reset_per_packet ? "packet" : "never") + "\n-- template\n" + made.template_text +
                     "-- bytes\n";
  for (const RandomCase::Packet& packet : made.packets) {
    text += "packet\n";
    for (const RandomCase::Message& message : packet) {
      for (const Bytes& entity : message) {
        text += hex({reinterpret_cast<const char*>(entity.data()), entity.size()}, " ") + " ";
      }
      text.back() = '\n';
    }
  }
  text += "-- records\n";
  for (const std::string& record : made.records) text += record + "\n";
  return text;
}

}  // namespace stopbit::cases
