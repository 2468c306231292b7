#include "decoder/record/fix.hpp"

#include "decoder/record/text.hpp"
#include "microcode/base/ascii.hpp"
#include "microcode/base/printable.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::record {
namespace {

constexpr char kSoh = '\x01';

constexpr char separator(FixStyle style) {
  return style == FixStyle::Raw ? kSoh : '|';
}

void append_escaped(std::string& out, char byte) {
  out += "\\x";
  append_hex(out, {&byte, 1});
}

constexpr bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

/// So that it cannot end its field or its line, nor trouble a terminal. `also` is escaped, too.
void append_readable(std::string& out, std::string_view bytes, bool is_utf8, char also = '|') {
  while (!bytes.empty()) {
    const char c = bytes.front();
    std::size_t length = 1;
    if (static_cast<unsigned char>(c) >= 0x80) {
      const std::size_t whole = is_utf8 ? utf8_length(bytes) : 0;
      if (whole == 0) {
        append_escaped(out, c);
      } else {
        const std::string_view character = bytes.substr(0, whole);
        if (disturbs_terminal(utf8_value(character))) {
          for (const char byte : character) append_escaped(out, byte);
        } else {
          out += character;
        }
        length = whole;
      }
    } else if (is_control(c) || c == '|' || c == '\\' || c == also) {
      append_escaped(out, c);
    } else {
      out += c;
    }
    bytes.remove_prefix(length);
  }
}

void append_name(std::string& out, std::string_view name) {
  if (!name.empty() && is_digit(name.front())) {
    append_escaped(out, name.front());
    name.remove_prefix(1);
  }
  append_readable(out, name, true, '=');
}

/// FIX has no exponents.
void append_plain_decimal(std::string& out, std::int64_t mantissa, std::int32_t exponent) {
  append_decimal(out, mantissa, exponent > 0 ? 0 : exponent);
  if (exponent > 0 && mantissa != 0) out.append(static_cast<std::size_t>(exponent), '0');
}

}  // namespace

class FixPrinter::Writer : public Visitor {
 public:
  Writer(const Schema& schema, FixStyle style, std::string& out)
      : schema_(schema), style_(style), out_(out), begin_(out.size()) {}

  [[nodiscard]] bool is_full() const { return out_.size() - begin_ > kMaxRecordText; }
  [[nodiscard]] bool is_empty() const { return out_.size() == begin_; }

  void field(const SchemaNode& node, const Value& value) {
    if (is_full()) return;
    // Only the values of a vector have no name: they go by that of the vector, the node before.
    const SchemaNode& named = node.name.length == 0 && node.id == 0 && vector_ != nullptr ? *vector_ : node;
    begin(named.id, schema_.name(named.name));
    append(node, value);
    end();
  }

  void begin_sequence(const SchemaNode& node, std::uint32_t count) {
    if (is_full()) return;
    begin(node.length_id, schema_.owner_name(node));
    append_unsigned(out_, count);
    end();
    vector_ = schema_.is_vector(node) ? &node : nullptr;
  }
  void end_sequence(const SchemaNode&) { vector_ = nullptr; }

 private:
  void begin(std::uint32_t id, std::string_view name) {
    if (id != 0) {
      append_unsigned(out_, id);
    } else {
      append_name(out_, name);
    }
    out_ += '=';
  }
  void end() { out_ += separator(style_); }

  void append_bytes(std::string_view bytes, bool is_utf8) {
    if (style_ == FixStyle::Raw) {
      out_ += bytes;
    } else {
      append_readable(out_, bytes, is_utf8);
    }
  }

  void append(const SchemaNode& node, const Value& value) {
    switch (node.type) {
      case FieldType::Decimal: return append_plain_decimal(out_, value.as_signed(), value.exponent);
      case FieldType::Ascii:
      case FieldType::ByteVector: return append_bytes(value.bytes, false);
      case FieldType::Unicode: return append_bytes(value.bytes, true);
      case FieldType::Enum: return append_bytes(schema_.element_name(node, value.bits), true);
      case FieldType::Set: return append_set(node, value.bits);
      case FieldType::Boolean: out_ += value.bits != 0 ? 'Y' : 'N'; return;
      default: return is_signed(node.type) ? append_signed(out_, value.as_signed()) : append_unsigned(out_, value.bits);
    }
  }

  void append_set(const SchemaNode& node, std::uint64_t bits) {
    bool is_first = true;
    for (std::uint32_t i = 0; i < schema_.element_count(node); ++i) {
      if ((bits >> i & 1) == 0) continue;
      if (!is_first) out_ += ' ';
      is_first = false;
      append_bytes(schema_.element_name(node, i), true);
    }
  }

  const Schema& schema_;
  FixStyle style_;
  std::string& out_;
  std::size_t begin_;
  const SchemaNode* vector_ = nullptr;  ///< The vector around, if the innermost sequence is one.
};

ReadError FixPrinter::print(std::span<const Slot> slots, std::string& out) {
  const std::size_t begin = out.size();
  if (!slots.empty() && HeaderView(slots[0]).is_event()) {
    if (const ReadError error = reader_.open(slots); error != ReadError::None) return error;
    print_event(slots[0], out);
    return ReadError::None;
  }
  const Schema& schema = reader_.schema();
  Writer writer(schema, style_, out);
  ReadError error = reader_.read(slots, writer);
  if (error == ReadError::None && writer.is_full()) error = ReadError::TooLong;
  if (error != ReadError::None) {
    out.resize(begin);
    return error;
  }
  if (writer.is_empty()) {
    const Template& item = *schema.find(HeaderView(slots[0]).template_index());
    out += "#template=";
    append_readable(out, schema.name(item.name), true);
    out += separator(style_);
    out += "id=";
    append_unsigned(out, item.id);
    out += separator(style_);
  }
  out += '\n';
  return ReadError::None;
}

void FixPrinter::print_event(const Slot& slot, std::string& out) const {
  const EventView event(slot);
  const auto number = [&](std::string_view name, std::uint64_t value) {
    out += name;
    append_unsigned(out, value);
    out += separator(style_);
  };
  const auto text = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    out += name;
    append_readable(out, value, true);
    out += separator(style_);
  };
  if (event.kind() == EventKind::DecodeError) {
    text("#error=", code_text(event.code()));
  } else {
    text("#event=", event_name(event.kind()));
    number("channel=", HeaderView(slot).channel());
  }
  if (event.kind() == EventKind::Gap) {
    number("first=", event.first_missing());
    number("missing=", event.missing());
  } else if (event.kind() == EventKind::Lost) {
    number("missing=", event.missing());
  } else {
    number("packet=", event.packet_number());
  }
  if (event.kind() == EventKind::DecodeError || event.kind() == EventKind::Dropped) {
    number("offset=", event.offset_bytes());
  }
  const EventPlace place = event_place(reader_.schema(), event);
  text("template=", place.template_name);
  text("field=", place.field_name);
  text("detail=", event_detail(event));
  out += '\n';
}

}  // namespace stopbit::record
