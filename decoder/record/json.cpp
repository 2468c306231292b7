#include "decoder/record/json.hpp"

#include "decoder/record/text.hpp"

namespace stopbit::record {
namespace {

void append_value(const Schema& schema, const Node& node, const Value& value, std::string& out) {
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

/// Puts commas where the text so far asks for them: it ends with a bracket where a list begins.
class JsonPrinter::Writer : public Visitor {
 public:
  Writer(const JsonPrinter& printer, std::string& out) : printer_(printer), out_(out), begin_(out.size()) {}

  [[nodiscard]] bool is_full() const { return out_.size() - begin_ > kMaxRecordText; }

  void begin_message(const Template& item) { out_ += printer_.templates_[template_index(item)]; }
  void end_message() { out_ += "}}"; }

  void field(const Node& node, const Value& value) {
    if (is_full()) return;
    key(node);
    if (!node.constant) append_value(schema(), node, value, out_);
  }
  void begin_group(const Node& node) {
    if (is_full()) return;
    key(node);
    out_ += '{';
  }
  void end_group(const Node&) { close('}'); }
  void begin_sequence(const Node& node, std::uint32_t) {
    if (is_full()) return;
    key(node);
    out_ += '[';
  }
  void begin_element(const Node& node, std::uint32_t) {
    if (is_full() || schema().is_vector(node)) return;
    separate();
    out_ += '{';
  }
  void end_element(const Node& node) {
    if (!schema().is_vector(node)) close('}');
  }
  void end_sequence(const Node&) { close(']'); }
  void begin_reference(const Node& node, const Template& item) {
    if (is_full()) return;
    key(node);
    begin_message(item);
  }
  void end_reference(const Node&) {
    if (!is_full()) end_message();
  }

 private:
  [[nodiscard]] const Schema& schema() const { return printer_.reader_.schema(); }
  [[nodiscard]] std::size_t template_index(const Template& item) const {
    return static_cast<std::size_t>(&item - schema().program().templates.data());
  }
  void separate() {
    if (out_.back() != '{' && out_.back() != '[') out_ += ',';
  }
  void key(const Node& node) {
    separate();
    out_ += printer_.keys_[schema().index_of(node)];
  }
  void close(char bracket) {
    if (!is_full()) out_ += bracket;
  }

  const JsonPrinter& printer_;
  std::string& out_;
  std::size_t begin_;
};

JsonPrinter::JsonPrinter(const Schema& schema) : reader_(schema) {
  const Program& program = schema.program();
  templates_.reserve(program.templates.size());
  for (const Template& item : program.templates) {
    std::string& text = templates_.emplace_back("{\"template\":");
    append_json_string(text, schema.name(item.name), false);
    text += ",\"id\":";
    append_unsigned(text, item.id);
    text += ",\"fields\":{";
  }

  const std::vector<std::string> keys = json_keys(schema);
  keys_.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Node& node = program.nodes[i];
    const bool is_element = i > 0 && schema.is_vector(program.nodes[i - 1]);  // a value of a vector: no key
    if (!is_element) {
      append_json_string(keys_[i], keys[i], false);
      keys_[i] += ':';
    }
    if (node.kind == NodeKind::Field && node.constant) {
      append_value(schema, node, Reader::constant(schema, node), keys_[i]);
    }
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
      const Node& node = program.nodes[i];
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
  const std::size_t begin = out.size();
  if (!slots.empty() && HeaderView(slots[0]).is_event()) {
    if (const ReadError error = reader_.open(slots); error != ReadError::None) return error;
    print_event(slots[0], out);
    return ReadError::None;
  }
  Writer writer(*this, out);
  if (const Template* item = slots.empty() ? nullptr : reader_.schema().find(HeaderView(slots[0]).template_index())) {
    writer.begin_message(*item);
  }
  ReadError error = reader_.read(slots, writer);
  if (error == ReadError::None && writer.is_full()) error = ReadError::TooLong;
  if (error != ReadError::None) {
    out.resize(begin);
    return error;
  }
  writer.end_message();
  out += '\n';
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
