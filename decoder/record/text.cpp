#include "decoder/record/text.hpp"

#include <array>

#include "decoder/record/digits.hpp"
#include "microcode/base/hex.hpp"
#include "microcode/base/printable.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::record {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// "\u202e", of two halves beyond the first plane.
void append_code_point(std::string& out, char32_t value) {
  constexpr char32_t kFirstPlane = 0x10000;
  if (value >= kFirstPlane) {
    value -= kFirstPlane;
    append_code_point(out, 0xD800 + (value >> 10));
    value = 0xDC00 + (value & 0x3FF);
  }
  out += "\\u";
  stopbit::append_hex(out, value, 4);
}

/// The JSON escape of a character below 0x20, a quote or a backslash, and for others that are not as they look.
void append_escape(std::string& out, unsigned char c) {
  constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs: character, letter
  for (std::size_t i = 0; i < kShort.size(); i += 2) {
    if (static_cast<unsigned char>(kShort[i]) == c) {
      out += '\\';
      out += kShort[i + 1];
      return;
    }
  }
  out += "\\u00";
  stopbit::append_hex(out, c, 2);
}

constexpr bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

}  // namespace

void append_signed(std::string& out, std::int64_t value) {
  std::array<char, kDigitsRoom> text;
  out.append(text.data(), write_signed(text.data(), value));
}

void append_unsigned(std::string& out, std::uint64_t value) {
  std::array<char, kDigitsRoom> text;
  out.append(text.data(), write_unsigned(text.data(), value));
}

void append_decimal(std::string& out, std::int64_t mantissa, std::int32_t exponent) {
  std::array<char, kDigitsRoom> text;
  out.append(text.data(), write_decimal(text.data(), mantissa, exponent));
}

void append_hex(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kHexDigits[byte >> 4];
    out += kHexDigits[byte & 0xF];
  }
}

void append_utf8(std::string& out, std::string_view bytes, bool is_ascii) {
  for (;;) {
    std::size_t plain = 0;
    while (plain < bytes.size() && static_cast<unsigned char>(bytes[plain]) < 0x80) ++plain;
    out.append(bytes, 0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) return;
    const auto c = static_cast<unsigned char>(bytes.front());
    std::size_t length = 1;
    if (is_ascii) {
      out += static_cast<char>(0xC0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (const std::size_t whole = utf8_length(bytes); whole != 0) {
      out.append(bytes, 0, whole);
      length = whole;
    } else {
      out += kReplacement;
    }
    bytes.remove_prefix(length);
  }
}

void append_json_string(std::string& out, std::string_view bytes, bool is_ascii) {
  out += '"';
  while (!bytes.empty()) {
    std::size_t plain = 0;
    while (plain < bytes.size() && is_plain(static_cast<unsigned char>(bytes[plain]))) ++plain;
    out.append(bytes, 0, plain);
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    const auto c = static_cast<unsigned char>(bytes.front());
    std::size_t length = 1;
    if (c < 0x80 || is_ascii) {
      append_escape(out, c);
    } else if (const std::size_t whole = utf8_length(bytes); whole != 0) {
      // Lines of JSON are read on terminals, too.
      if (const char32_t value = utf8_value(bytes.substr(0, whole)); disturbs_terminal(value)) {
        append_code_point(out, value);
      } else {
        out.append(bytes, 0, whole);
      }
      length = whole;
    } else {
      out += kReplacement;
    }
    bytes.remove_prefix(length);
  }
  out += '"';
}

std::string json_string(std::string_view bytes, bool is_ascii) {
  std::string out;
  append_json_string(out, bytes, is_ascii);
  return out;
}

void append_bare_value(std::string& out, const Schema& schema, const SchemaNode& node, const Value& value) {
  switch (node.type) {
    case FieldType::Decimal: return append_decimal(out, value.as_signed(), value.exponent);
    case FieldType::Ascii:
    case FieldType::Unicode: return append_utf8(out, value.bytes, node.type == FieldType::Ascii);
    case FieldType::ByteVector: return append_hex(out, value.bytes);
    case FieldType::Enum: return append_utf8(out, schema.element_name(node, value.bits), false);
    case FieldType::Set: {
      bool is_first = true;
      for (std::uint32_t i = 0; i < schema.element_count(node); ++i) {
        if ((value.bits >> i & 1) == 0) continue;
        if (!is_first) out += ' ';
        is_first = false;
        append_utf8(out, schema.element_name(node, i), false);
      }
      return;
    }
    case FieldType::Boolean: out += value.bits != 0 ? "true" : "false"; return;
    default: return is_signed(node.type) ? append_signed(out, value.as_signed()) : append_unsigned(out, value.bits);
  }
}

namespace {
constexpr std::string_view kTypeNames[] = {
#define STOPBIT_FIELD_TYPE(enumerator, assembly, records, lua) records,
#include "microcode/field_types.def"
};
}  // namespace

void append_csv_cell(std::string& out, std::string_view text) {
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

std::string_view type_name(FieldType type) noexcept {
  const auto index = static_cast<std::size_t>(type);
  return index < std::size(kTypeNames) ? kTypeNames[index] : "?";
}

std::string_view event_name(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::DecodeError: return "error";
    case EventKind::Dropped: return "dropped";
    case EventKind::Gap: return "gap";
    case EventKind::Reset: return "reset";
    case EventKind::Stale: return "stale";
    case EventKind::Recovered: return "recovered";
    case EventKind::LayoutChanged: return "layoutChanged";
    case EventKind::Lost: return "lost";
  }
  return {};
}

std::string event_detail(const EventView& event) {
  switch (event.kind()) {
    case EventKind::DecodeError: {
      std::string detail(code_meaning(event.code()));
      if (event.code() == ErrorCode::D9) {
        detail += ' ';
        append_unsigned(detail, event.template_id());
      }
      return detail;
    }
    case EventKind::Dropped: return "the datagram was not decoded: after an error its channel waits for a reset";
    case EventKind::Gap: return "sequence numbers are missing";
    case EventKind::Reset: return "the feed has reset the dictionary";
    case EventKind::Stale: return "later records may be out of date";
    case EventKind::Recovered: return "later records are up to date again";
    case EventKind::LayoutChanged: return "the records that follow have another layout";
    case EventKind::Lost: return "records were dropped because the ring was full: its reader was too slow";
  }
  return {};
}

EventPlace event_place(const Schema& schema, const EventView& event) {
  EventPlace place;
  if (event.kind() != EventKind::DecodeError) return place;
  const Template* item = schema.find(event.template_index());
  if (item == nullptr) return place;
  place.template_name = schema.name(item->name);
  const auto declared = [&](const auto& at) {
    const std::vector<Source>& sources = schema.program().sources;
    if (at.line == 0 || at.source >= sources.size()) return;
    place.file = schema.name(sources[at.source].name);
    place.line = at.line;
  };
  declared(*item);
  const SchemaNode* owner = schema.owner(event.template_index(), event.block(), event.word());
  if (owner == nullptr) return place;
  place.field_name = schema.owner_name(*owner);
  declared(*owner);
  return place;
}

}  // namespace stopbit::record
