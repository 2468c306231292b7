#include "decoder/record/csv.hpp"

#include <vector>

#include "decoder/record/text.hpp"

namespace stopbit::record {

class CsvPrinter::Writer : public Visitor {
 public:
  Writer(CsvPrinter& printer, std::string_view head, std::uint64_t message, std::uint32_t sequence)
      : printer_(printer), schema_(printer.reader_.schema()), pieces_(printer.pieces_), out_(printer.rows_) {
    out_.clear();
    printer.path_.clear();
    printer.lengths_.clear();
    prefix().clear();
    prefix().append(head);
    prefix().append_unsigned(message);
    prefix().put(',');
    prefix().append_unsigned(sequence);
    prefix().put(',');
  }

  /// Names that only lengthen the path count too: they take time.
  [[nodiscard]] bool is_full() const { return out_.size() + path_work_ > kMaxRecordText; }

  void begin_message(const Template& item) { prefix().append(pieces_, printer_.templates_[template_index(item)]); }
  void end_message() {
    if (out_.size() != 0) return;
    begin_row();
    end_row();
  }

  void field(const SchemaNode& node, const Value& value) {
    if (is_full()) return;
    const Name& name = printer_.names_[schema_.index_of(node)];
    path_work_ += node.name.length;
    if (is_quoted_ || name.is_quoted) [[unlikely]] {
      push(name);
      begin_row();
      pop();
    } else {
      out_.append(prefix().text());
      out_.append(path().text());
      append_name(out_, name, path().size() == 0);
      out_.put(',');
    }
    append(node, value);
    end_row();
  }
  void begin_group(const SchemaNode& node) { push(node); }
  void end_group(const SchemaNode&) { pop(); }
  void begin_sequence(const SchemaNode& node, std::uint32_t count) {
    push(node);
    if (is_full()) return;
    begin_row();
    out_.append_unsigned(count);
    end_row();
  }
  void begin_element(const SchemaNode&, std::uint32_t index) {
    printer_.lengths_.push_back(path().size());
    path().put('[');
    path().append_unsigned(index);
    path().put(']');
  }
  void end_element(const SchemaNode&) { pop(); }
  void end_sequence(const SchemaNode&) { pop(); }
  void begin_reference(const SchemaNode& node, const Template& item) {
    push(node);
    if (is_full()) return;
    begin_row();
    out_.append(pieces_, printer_.templates_[template_index(item)]);
    out_.resize(out_.size() - 1);  // its comma
    end_row();
  }
  void end_reference(const SchemaNode&) { pop(); }

 private:
  [[nodiscard]] TextBuffer& prefix() const { return printer_.prefix_; }
  [[nodiscard]] TextBuffer& path() const { return printer_.path_; }
  [[nodiscard]] std::size_t template_index(const Template& item) const {
    return static_cast<std::size_t>(&item - schema_.program().templates.data());
  }

  void push(const SchemaNode& node) {
    const Name& name = printer_.names_[schema_.index_of(node)];
    push(name);
    path_work_ += name.text.length;
  }
  void push(const Name& name) {
    printer_.lengths_.push_back(path().size());
    if (is_full()) return;
    append_name(path(), name, path().size() == 0);
    // From here to the end of the message: it costs a look at each cell, no more.
    is_quoted_ |= name.is_quoted;
  }
  void pop() {
    path().resize(printer_.lengths_.back());
    printer_.lengths_.pop_back();
  }
  void append_name(TextBuffer& to, const Name& name, bool is_first) const {
    if (name.text.length == 0) return;  // a value of a vector: the path to its element is enough
    const std::uint32_t skipped = is_first ? 1 : 0;
    to.append(pieces_, {name.text.begin + skipped, name.text.length - skipped});
  }

  void begin_row() {
    out_.append(prefix().text());
    if (is_quoted_) [[unlikely]] {
      printer_.rare_.clear();
      append_csv_cell(printer_.rare_, path().text());
      out_.append(printer_.rare_);
    } else {
      out_.append(path().text());
    }
    out_.put(',');
  }
  void end_row() { out_.put('\n'); }

  void append(const SchemaNode& node, const Value& value) {
    switch (node.type) {
      case FieldType::Decimal: return out_.append_decimal(value.as_signed(), value.exponent);
      case FieldType::Ascii:
      case FieldType::Unicode:
        if (out_.append_bare(value.bytes, ',', '"')) return;
        break;
      case FieldType::Enum:
        return out_.append(pieces_, printer_.elements_[schema_.program().type_infos[node.type_info].first_element +
                                                       static_cast<std::size_t>(value.bits)]);
      case FieldType::ByteVector:
      case FieldType::Set: break;
      case FieldType::Boolean:
        return out_.append(value.bits != 0 ? std::string_view("true") : std::string_view("false"));
      default: return is_signed(node.type) ? out_.append_signed(value.as_signed()) : out_.append_unsigned(value.bits);
    }
    std::string& text = printer_.rare_;
    text.clear();
    append_bare_value(text, schema_, node, value);
    const std::size_t length = text.size();
    append_csv_cell(text, std::string(text));
    out_.append(std::string_view(text).substr(length));
  }

  CsvPrinter& printer_;
  const Schema schema_;
  const Pieces& pieces_;
  TextBuffer& out_;
  std::size_t path_work_ = 0;
  bool is_quoted_ = false;
};

CsvPrinter::CsvPrinter(const Schema& schema) : reader_(schema) {
  const Program& program = schema.program();
  const auto cell = [this](std::string_view name, std::string_view after) {
    std::string text;
    append_utf8(text, name, false);
    std::string quoted;
    append_csv_cell(quoted, text);
    return pieces_.add(quoted += after);
  };
  templates_.reserve(program.templates.size());
  for (const Template& item : program.templates) templates_.push_back(cell(schema.name(item.name), ","));
  // Only the elements that nodes use: the schema bounds the length of their names, once for each node.
  elements_.resize(program.elements.size());
  names_.reserve(program.nodes.size());
  for (const SchemaNode& node : program.nodes) {
    const std::string_view name = node.kind == NodeKind::Reference ? kReferenceName : schema.name(node.name);
    std::string text;
    if (!name.empty()) {
      text = '.';
      append_utf8(text, name, false);
    }
    names_.push_back({pieces_.add(text), text.find_first_of(",\"\r\n") != std::string::npos});
    if (node.kind != NodeKind::Field || node.type != FieldType::Enum) continue;
    for (std::uint32_t i = 0; i < schema.element_count(node); ++i) {
      elements_[program.type_infos[node.type_info].first_element + i] = cell(schema.element_name(node, i), "");
    }
  }
}

ReadError CsvPrinter::print(std::span<const Slot> slots, std::string& out, std::string_view head) {
  if (!slots.empty() && HeaderView(slots[0]).is_event()) {
    if (const ReadError error = reader_.open(slots); error != ReadError::None) return error;
    print_event(slots[0], out, head);
    return ReadError::None;
  }
  if (slots.empty()) return ReadError::Truncated;
  const HeaderView header(slots[0]);
  Writer writer(*this, head, messages_ + 1, header.sequence());
  if (const Template* item = reader_.schema().find(header.template_index())) writer.begin_message(*item);
  if (const ReadError error = reader_.read(slots, writer); error != ReadError::None) return error;
  if (writer.is_full()) return ReadError::TooLong;
  writer.end_message();
  out += rows_.text();
  ++messages_;
  return ReadError::None;
}

void CsvPrinter::print_event(const Slot& slot, std::string& out, std::string_view head) const {
  const EventView event(slot);
  const EventPlace place = event_place(reader_.schema(), event);
  out += head;
  out += ',';
  append_unsigned(out, HeaderView(slot).sequence());
  out += ',';
  std::string text;
  append_utf8(text, place.template_name, false);
  append_csv_cell(out, text);
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
  append_csv_cell(out, text);
  out += '\n';
}

}  // namespace stopbit::record
