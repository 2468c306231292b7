#include "decoder/record/json.hpp"

#include <bit>

#include "decoder/record/text.hpp"

namespace stopbit::record {
namespace {

void append_value(const Schema& schema, const SchemaNode& node, const Value& value, std::string& out) {
  switch (node.type) {
    case FieldType::Decimal: return append_decimal(out, value.as_signed(), value.exponent);
    case FieldType::Ascii:
    case FieldType::Unicode: return append_json_string(out, value.bytes, node.type == FieldType::Ascii);
    case FieldType::ByteVector:
      out += '"';
      append_hex(out, value.bytes);
      out += '"';
      return;
    case FieldType::Enum: return append_json_string(out, schema.element_name(node, value.bits), false);
    case FieldType::Set: {
      out += '[';
      for (std::uint32_t i = 0; i < schema.element_count(node); ++i) {
        if ((value.bits >> i & 1) == 0) continue;
        if (out.back() != '[') out += ',';
        append_json_string(out, schema.element_name(node, i), false);
      }
      out += ']';
      return;
    }
    case FieldType::Boolean: out += value.bits != 0 ? "true" : "false"; return;
    default: return is_signed(node.type) ? append_signed(out, value.as_signed()) : append_unsigned(out, value.bits);
  }
}

}  // namespace

/// Puts commas where the text so far asks for them: not where a list begins.
class JsonPrinter::Writer : public Visitor {
 public:
  explicit Writer(JsonPrinter& printer)
      : schema_(printer.reader_.schema()), printer_(printer), pieces_(printer.pieces_), out_(printer.line_) {
    out_.clear();
  }

  [[nodiscard]] bool is_full() const { return out_.size() > kMaxRecordText; }

  void begin_message(const Template& item) {
    out_.append(pieces_, printer_.templates_[static_cast<std::size_t>(&item - schema_.program().templates.data())]);
    begins_list_ = true;
  }
  void end_message() { out_.append("}}"); }

  void field(const SchemaNode& node, const Value& value) {
    if (is_full()) return;
    key(node);
    if (!node.constant) append(node, value);
  }
  void begin_group(const SchemaNode& node) {
    if (is_full()) return;
    key(node);
    open('{');
  }
  void end_group(const SchemaNode&) { close('}'); }
  void begin_sequence(const SchemaNode& node, std::uint32_t) {
    if (is_full()) return;
    key(node);
    open('[');
  }
  void begin_element(const SchemaNode& node, std::uint32_t) {
    if (is_full() || schema_.is_vector(node)) return;
    if (!begins_list_) out_.put(',');
    open('{');
  }
  void end_element(const SchemaNode& node) {
    if (!schema_.is_vector(node)) close('}');
  }
  void end_sequence(const SchemaNode&) { close(']'); }
  void begin_reference(const SchemaNode& node, const Template& item) {
    if (is_full()) return;
    key(node);
    begin_message(item);
  }
  void end_reference(const SchemaNode&) {
    if (is_full()) return;
    end_message();
    begins_list_ = false;
  }

 private:
  void open(char bracket) {
    out_.put(bracket);
    begins_list_ = true;
  }
  void close(char bracket) {
    if (is_full()) return;
    out_.put(bracket);
    begins_list_ = false;
  }
  void key(const SchemaNode& node) {
    separated(printer_.keys_[schema_.index_of(node)]);
    begins_list_ = false;
  }
  /// A piece that begins with a comma.
  void separated(Pieces::Piece piece) {
    const std::uint32_t skipped = begins_list_ ? 1 : 0;
    out_.append(pieces_, {piece.begin + skipped, piece.length - skipped});
  }

  void append(const SchemaNode& node, const Value& value) {
    switch (node.type) {
      case FieldType::Decimal: return out_.append_decimal(value.as_signed(), value.exponent);
      case FieldType::Ascii:
      case FieldType::Unicode:
        if (out_.append_plain(value.bytes, '"', '\\')) return;
        [[fallthrough]];
      case FieldType::ByteVector:
        printer_.rare_.clear();
        append_value(schema_, node, value, printer_.rare_);
        return out_.append(printer_.rare_);
      case FieldType::Enum: return out_.append_rest(pieces_, element(node, value.bits));
      case FieldType::Set:
        open('[');
        for (std::uint64_t bits = value.bits; bits != 0; bits &= bits - 1) {
          separated(element(node, static_cast<std::size_t>(std::countr_zero(bits))));
          begins_list_ = false;
        }
        return close(']');
      case FieldType::Boolean:
        return out_.append(value.bits != 0 ? std::string_view("true") : std::string_view("false"));
      default: return is_signed(node.type) ? out_.append_signed(value.as_signed()) : out_.append_unsigned(value.bits);
    }
  }
  /// `index` is below the count of the node's elements: the reader has checked it.
  [[nodiscard]] Pieces::Piece element(const SchemaNode& node, std::size_t index) const {
    return printer_.elements_[schema_.program().type_infos[node.type_info].first_element + index];
  }

  const Schema schema_;
  JsonPrinter& printer_;
  const Pieces& pieces_;
  TextBuffer& out_;
  bool begins_list_ = false;
};

JsonPrinter::JsonPrinter(const Schema& schema) : reader_(schema) {
  const Program& program = schema.program();
  std::string text;
  templates_.reserve(program.templates.size());
  for (const Template& item : program.templates) {
    text = "{\"template\":";
    append_json_string(text, schema.name(item.name), false);
    text += ",\"id\":";
    append_unsigned(text, item.id);
    text += ",\"fields\":{";
    templates_.push_back(pieces_.add(text));
  }
  // Only the elements that nodes use: the schema bounds the length of their names, once for each node.
  elements_.resize(program.elements.size());
  for (const SchemaNode& node : program.nodes) {
    if (node.kind != NodeKind::Field || (node.type != FieldType::Enum && node.type != FieldType::Set)) continue;
    for (std::uint32_t i = 0; i < schema.element_count(node); ++i) {
      Pieces::Piece& piece = elements_[program.type_infos[node.type_info].first_element + i];
      if (piece.length != 0) continue;
      text = ',';
      append_json_string(text, schema.element_name(node, i), false);
      piece = pieces_.add(text);
    }
  }

  const std::vector<std::string> keys = json_keys(schema);
  keys_.reserve(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const SchemaNode& node = program.nodes[i];
    const bool is_element = i > 0 && schema.is_vector(program.nodes[i - 1]);  // a value of a vector: no key
    text = ',';
    if (!is_element) {
      append_json_string(text, keys[i], false);
      text += ':';
    }
    if (node.kind == NodeKind::Field && node.constant) {
      append_value(schema, node, Reader::constant(schema, node), text);
    }
    keys_.push_back(pieces_.add(text));
  }
}

std::vector<std::string> json_keys(const Schema& schema) {
  const Program& program = schema.program();
  std::vector<std::string> keys(program.nodes.size());
  std::vector<std::size_t> references(program.nodes.size() + 1);  // met so far, by parent
  for (const Template& item : program.templates) {
    std::vector<std::size_t> open;  // groups and sequences around the node
    for (std::size_t i = item.first_node; i < item.end_node; ++i) {
      while (!open.empty() && program.nodes[open.back()].end == i) open.pop_back();
      const SchemaNode& node = program.nodes[i];
      keys[i] = schema.name(node.name);
      if (node.kind == NodeKind::Reference) {
        std::size_t& number = references[open.empty() ? item.first_node : open.back() + 1];
        keys[i] = kReferenceName;
        if (++number > 1) append_unsigned(keys[i], number);
      }
      if (node.kind == NodeKind::Group || node.kind == NodeKind::Sequence) open.push_back(i);
    }
  }
  return keys;
}

ReadError JsonPrinter::print(std::span<const Slot> slots, std::string& out) {
  if (!slots.empty() && HeaderView(slots[0]).is_event()) {
    if (const ReadError error = reader_.open(slots); error != ReadError::None) return error;
    print_event(slots[0], out);
    return ReadError::None;
  }
  Writer writer(*this);
  if (const Template* item = slots.empty() ? nullptr : reader_.schema().find(HeaderView(slots[0]).template_index())) {
    writer.begin_message(*item);
  }
  if (const ReadError error = reader_.read(slots, writer); error != ReadError::None) return error;
  if (writer.is_full()) return ReadError::TooLong;
  writer.end_message();
  line_.put('\n');
  out += line_.text();
  return ReadError::None;
}

void JsonPrinter::print_event(const Slot& slot, std::string& out) const {
  const Schema& schema = reader_.schema();
  const EventView event(slot);
  if (event.kind() == EventKind::DecodeError) {
    out += "{\"error\":";
    append_json_string(out, code_text(event.code()), false);
  } else {
    out += "{\"event\":";
    append_json_string(out, event_name(event.kind()), false);
    out += ",\"channel\":";
    append_unsigned(out, HeaderView(slot).channel());
  }
  if (event.kind() == EventKind::Gap) {
    out += ",\"first\":";
    append_unsigned(out, event.first_missing());
    out += ",\"missing\":";
    append_unsigned(out, event.missing());
  } else if (event.kind() == EventKind::Lost) {
    out += ",\"missing\":";
    append_unsigned(out, event.missing());
  } else {
    out += ",\"packet\":";
    append_unsigned(out, event.packet_number());
  }
  if (event.kind() == EventKind::DecodeError || event.kind() == EventKind::Dropped) {
    out += ",\"offset\":";
    append_unsigned(out, event.offset_bytes());
  }
  const EventPlace place = event_place(schema, event);
  if (!place.template_name.empty()) {
    out += ",\"template\":";
    append_json_string(out, place.template_name, false);
  }
  if (!place.field_name.empty()) {
    out += ",\"field\":";
    append_json_string(out, place.field_name, false);
  }
  if (place.line != 0) {
    out += ",\"file\":";
    append_json_string(out, place.file, false);
    out += ",\"line\":";
    append_unsigned(out, place.line);
  }
  out += ",\"detail\":";
  append_json_string(out, event_detail(event), false);
  out += "}\n";
}

}  // namespace stopbit::record
