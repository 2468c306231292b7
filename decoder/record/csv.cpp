#include "decoder/record/csv.hpp"

#include <vector>

#include "decoder/record/text.hpp"

namespace stopbit::record {
namespace {

void append_cell(std::string& out, std::string_view text) {
  bool is_plain = true;
  for (const char c : text) is_plain &= c != ',' && c != '"' && c != '\r' && c != '\n';
  if (is_plain) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_cell(const Schema& schema, const Node& node, const Value& value, std::string& out) {
  switch (node.type) {
    case FieldType::Decimal: return append_decimal(out, value.as_signed(), value.exponent);
    case FieldType::Ascii:
    case FieldType::Unicode: return append_utf8(out, value.bytes, node.type == FieldType::Ascii);
    case FieldType::ByteVector: return append_hex(out, value.bytes);
    case FieldType::Enum: return append_utf8(out, schema.element_name(node, value.bits), false);
    case FieldType::Set:
      for (std::uint32_t i = 0; i < schema.element_count(node); ++i) {
        if ((value.bits >> i & 1) == 0) continue;
        if (!out.empty()) out += ' ';
        append_utf8(out, schema.element_name(node, i), false);
      }
      return;
    case FieldType::Boolean: out += value.bits != 0 ? "true" : "false"; return;
    default: return is_signed(node.type) ? append_signed(out, value.as_signed()) : append_unsigned(out, value.bits);
  }
}

}  // namespace

class CsvPrinter::Writer : public Visitor {
 public:
  Writer(const Schema& schema, std::uint64_t message, std::uint32_t sequence, std::string& out)
      : schema_(schema), out_(out), begin_(out.size()) {
    append_unsigned(prefix_, message);
    prefix_ += ',';
    append_unsigned(prefix_, sequence);
    prefix_ += ',';
  }

  /// Names that only lengthen the path count too: they take time.
  [[nodiscard]] bool is_full() const { return out_.size() - begin_ + path_work_ > kMaxRecordText; }
  [[nodiscard]] bool is_empty() const { return out_.size() == begin_; }

  void begin_message(const Template& item) {
    std::string name;
    append_utf8(name, schema_.name(item.name), false);
    append_cell(prefix_, name);
    prefix_ += ',';
  }
  void end_message() {
    if (is_empty()) row();
  }

  void field(const Node& node, const Value& value) {
    push(schema_.name(node.name));
    if (!is_full()) {
      append_cell(schema_, node, value, value_);
      row();
    }
    pop();
  }
  void begin_group(const Node& node) { push(schema_.name(node.name)); }
  void end_group(const Node&) { pop(); }
  void begin_sequence(const Node& node, std::uint32_t count) {
    push(schema_.name(node.name));
    append_unsigned(value_, count);
    row();
  }
  void begin_element(const Node&, std::uint32_t index) {
    lengths_.push_back(path_.size());
    path_ += '[';
    append_unsigned(path_, index);
    path_ += ']';
  }
  void end_element(const Node&) { pop(); }
  void end_sequence(const Node&) { pop(); }
  void begin_reference(const Node&, const Template& item) {
    push(kReferenceName);
    if (!is_full()) append_utf8(value_, schema_.name(item.name), false);
    row();
  }
  void end_reference(const Node&) { pop(); }

 private:
  void push(std::string_view name) {
    lengths_.push_back(path_.size());
    if (is_full()) return;
    if (name.empty()) return;  // a value of a vector: the path to its element is enough
    if (!path_.empty()) path_ += '.';
    append_utf8(path_, name, false);
    path_work_ += name.size();
  }
  void pop() {
    path_.resize(lengths_.back());
    lengths_.pop_back();
  }
  void row() {
    if (!is_full()) {
      out_ += prefix_;
      append_cell(out_, path_);
      out_ += ',';
      append_cell(out_, value_);
      out_ += '\n';
    }
    value_.clear();
  }

  const Schema& schema_;
  std::string& out_;
  std::size_t begin_;
  std::string prefix_;
  std::string path_;
  std::string value_;
  std::vector<std::size_t> lengths_;  ///< Of the path around each open node.
  std::size_t path_work_ = 0;
};

ReadError CsvPrinter::print(std::span<const Slot> slots, std::string& out) {
  const std::size_t begin = out.size();
  if (!slots.empty() && HeaderView(slots[0]).is_event()) {
    if (const ReadError error = reader_.open(slots); error != ReadError::None) return error;
    print_event(slots[0], out);
    return ReadError::None;
  }
  if (slots.empty()) return ReadError::Truncated;
  const HeaderView header(slots[0]);
  Writer writer(reader_.schema(), messages_ + 1, header.sequence(), out);
  if (const Template* item = reader_.schema().find(header.template_index())) writer.begin_message(*item);
  ReadError error = reader_.read(slots, writer);
  if (error == ReadError::None && writer.is_full()) error = ReadError::TooLong;
  if (error != ReadError::None) {
    out.resize(begin);
    return error;
  }
  writer.end_message();
  ++messages_;
  return ReadError::None;
}

void CsvPrinter::print_event(const Slot& slot, std::string& out) const {
  const EventView event(slot);
  const EventPlace place = event_place(reader_.schema(), event);
  out += ',';
  append_unsigned(out, HeaderView(slot).sequence());
  out += ',';
  std::string text;
  append_utf8(text, place.template_name, false);
  append_cell(out, text);
  out += ",!";
  out += event_name(event.kind());
  out += ',';
  text.clear();
  switch (event.kind()) {
    case EventKind::Gap:
      append_unsigned(text, event.missing());
      text += " from ";
      append_unsigned(text, event.first_missing());
      break;
    case EventKind::Lost: append_unsigned(text, event.missing()); break;
    case EventKind::DecodeError:
      text += code_text(event.code());
      text += " at ";
      append_unsigned(text, event.offset_bytes());
      text += " in packet ";
      append_unsigned(text, event.packet_number());
      if (!place.field_name.empty()) {
        text += ", field ";
        append_utf8(text, place.field_name, false);
      }
      break;
    default:
      text += "packet ";
      append_unsigned(text, event.packet_number());
      break;
  }
  text += ": ";
  text += event_detail(event);
  append_cell(out, text);
  out += '\n';
}

}  // namespace stopbit::record
