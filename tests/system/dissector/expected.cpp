#include "tests/system/dissector/expected.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <stdexcept>

#include "decoder/record/text.hpp"
#include "microcode/base/error_code.hpp"

namespace stopbit::dissector {
namespace {

/// The character of the escape "\\uXXXX", or of two that make a pair, at `at`, which moves past it.
char32_t unescaped(std::string_view json, std::size_t& at) {
  const auto unit = [&] {
    const auto value = static_cast<char32_t>(std::stoul(std::string(json.substr(at + 2, 4)), nullptr, 16));
    at += 6;
    return value;
  };
  const char32_t first = unit();
  return first >= 0xD800 && first < 0xDC00 ? 0x10000 + ((first - 0xD800) << 10) + (unit() - 0xDC00) : first;
}

std::string utf8(char32_t character) {
  const auto byte = [](char32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto next = [&](int shift) { return byte(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x800) return {byte(0xC0 | character >> 6), next(0)};
  if (character < 0x10000) return {byte(0xE0 | character >> 12), next(6), next(0)};
  return {byte(0xF0 | character >> 18), next(12), next(6), next(0)};
}

/// A string as the dissector shows it: as in JSON, but quotes stay as they are, and so do characters of Unicode text
/// that JSON has escaped.
std::string shown_text(std::string_view bytes, bool is_ascii) {
  std::string json;
  record::append_json_string(json, bytes, is_ascii);
  std::string out;
  for (std::size_t i = 1; i + 1 < json.size();) {
    if (json[i] == '\\' && json[i + 1] == 'u') {
      const std::size_t begin = i;
      const char32_t character = unescaped(json, i);
      out += is_ascii || character < 0x80 ? json.substr(begin, i - begin) : utf8(character);
      continue;
    }
    if (json[i] == '\\' && json[++i] != '"') out += '\\';
    out += json[i++];
  }
  return out;
}

std::string date_of(const record::Schema& schema, const SchemaNode& node, std::int64_t value) {
  if (schema.name(node.epoch) != "unix") return {};
  const double units = node.unit == TimeUnit::Day           ? 1.0 / 86'400
                       : node.unit == TimeUnit::Second      ? 1
                       : node.unit == TimeUnit::Microsecond ? 1e6
                       : node.unit == TimeUnit::Nanosecond  ? 1e9
                                                            : 1e3;
  const double seconds = std::floor(static_cast<double>(value) / units);
  if (seconds < 0 || seconds > 253'402'300'799.0) return {};
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, " (%Y-%m-%d %H:%M:%S UTC)", &parts)};
}

std::string title_of(const record::Schema& schema, const Template& item) {
  return fmt::format("{} (id {})", schema.name(item.name), item.id);
}

}  // namespace

class Expectation::Rows : public record::Visitor {
 public:
  Rows(const Expectation& owner, std::vector<Row>& rows) : schema_(owner.schema_), names_(owner.names_), rows_(rows) {}

  void field(const SchemaNode& node, const record::Value& value) {
    const std::string shown = text_of(node, value);
    const std::string name = schema_.name(node.name).empty() ? fmt::format("[{}]", element_) : name_of(node);
    const std::string date = node.type == FieldType::Timestamp ? date_of(schema_, node, value.as_signed()) : "";
    add(node, fmt::format("{}: {}{}", name, shown, date), filtered(node, value, shown));
  }
  void begin_group(const SchemaNode& node) {
    add(node, name_of(node), "");
    ++depth_;
  }
  void end_group(const SchemaNode&) { --depth_; }
  void begin_sequence(const SchemaNode& node, std::uint32_t count) {
    const std::string length = node.length_name.length == 0 ? "" : fmt::format(" ({})", schema_.name(node.length_name));
    add(node, fmt::format("{}{}: {}", name_of(node), length, count), std::to_string(count));
    ++depth_;
  }
  void begin_element(const SchemaNode& node, std::uint32_t index) {
    element_ = index + 1;
    if (is_vector(node)) return;
    rows_.push_back({depth_, "", fmt::format("{}[{}]", name_of(node), index + 1), ""});
    ++depth_;
  }
  void end_element(const SchemaNode& node) {
    if (!is_vector(node)) --depth_;
  }
  void end_sequence(const SchemaNode&) { --depth_; }
  void begin_reference(const SchemaNode& node, const Template& item) {
    add(node, "templateRef: " + title_of(schema_, item), std::string(schema_.name(item.name)));
    ++depth_;
  }
  void end_reference(const SchemaNode&) { --depth_; }

 private:
  [[nodiscard]] std::string name_of(const SchemaNode& node) const { return std::string(schema_.name(node.name)); }

  /// The values of a vector have no elements around them.
  [[nodiscard]] bool is_vector(const SchemaNode& node) const {
    const std::size_t index = schema_.index_of(node);
    return node.end == index + 2 && schema_.node(index + 1).kind == NodeKind::Field &&
           schema_.node(index + 1).name.length == 0;
  }

  void add(const SchemaNode& node, std::string label, std::string value) {
    rows_.push_back({depth_, names_.nodes[schema_.index_of(node)], std::move(label), std::move(value)});
  }

  [[nodiscard]] std::string text_of(const SchemaNode& node, const record::Value& value) const {
    std::string out;
    switch (node.type) {
      case FieldType::Decimal: record::append_decimal(out, value.as_signed(), value.exponent); return out;
      case FieldType::Ascii:
      case FieldType::Unicode: return shown_text(value.bytes, node.type == FieldType::Ascii);
      case FieldType::ByteVector: record::append_hex(out, value.bytes); return out;
      case FieldType::Boolean: return value.bits != 0 ? "true" : "false";
      case FieldType::Enum: {
        const Program& program = schema_.program();
        const Element& element =
            program.elements[program.type_infos[node.type_info].first_element + static_cast<std::size_t>(value.bits)];
        out = schema_.name(element.name);
        if (element.label.length != 0) out += fmt::format(" ({})", schema_.name(element.label));
        return out;
      }
      case FieldType::Set:
        for (std::uint32_t i = 0; i < schema_.element_count(node); ++i) {
          if ((value.bits >> i & 1) == 0) continue;
          out += (out.empty() ? "" : ", ") + std::string(schema_.element_name(node, i));
        }
        return "[" + out + "]";
      default: return record::is_signed(node.type) ? std::to_string(value.as_signed()) : std::to_string(value.bits);
    }
  }

  [[nodiscard]] static std::string filtered(const SchemaNode& node, const record::Value& value,
                                            const std::string& shown) {
    switch (node.type) {
      case FieldType::Decimal: {
        const auto mantissa = static_cast<double>(value.as_signed());
        const double power = std::pow(10.0, std::abs(value.exponent));
        return fmt::format("{:.15g}", value.exponent < 0 ? mantissa / power : mantissa * power);
      }
      case FieldType::Enum:
      case FieldType::Set:
      case FieldType::Boolean: return std::to_string(value.bits);
      default: return shown;
    }
  }

  const record::Schema& schema_;
  const emit::FilterNames& names_;
  std::vector<Row>& rows_;
  int depth_ = 1;
  std::uint32_t element_ = 0;
};

Expectation::Expectation(const Program& program)
    : schema_(record::Schema::make(program).value()),
      reader_(std::make_unique<record::Reader>(schema_)),
      names_(emit::filter_names(program)) {}

Event Expectation::event(std::span<const record::Slot> slots) {
  const record::HeaderView header(slots[0]);
  if (header.is_event()) {
    const record::EventView event(slots[0]);
    return {event.kind() == record::EventKind::Dropped ? "dropped" : error_title(event), {}};
  }
  Event event;
  event.title = title_of(schema_, *schema_.find(header.template_index()));
  if (const record::ReadError error = reader_->read(slots, Rows(*this, event.rows)); error != record::ReadError::None) {
    throw std::runtime_error(std::string(record::error_text(error)));
  }
  return event;
}

std::string Expectation::error_title(const record::EventView& event) const {
  std::string title = fmt::format("error {} at {}", code_text(event.code()), event.offset_bytes());
  const Template* const item = schema_.find(event.template_index());
  if (item == nullptr) return title;
  title += fmt::format(" in {}", schema_.name(item->name));
  const SchemaNode* const owner = schema_.owner(event.template_index(), event.block(), event.word());
  if (owner == nullptr) return title;
  const std::size_t index = schema_.index_of(*owner);
  title += " field ";
  for (std::size_t i = item->first_node; i < index; ++i) {
    const SchemaNode& node = schema_.node(i);
    if (node.kind != NodeKind::Field && node.end > index) title += fmt::format("{}.", schema_.name(node.name));
  }
  const std::string_view name = schema_.name(owner->name);
  return title + std::string(name.empty() ? "value" : name);
}

}  // namespace stopbit::dissector
