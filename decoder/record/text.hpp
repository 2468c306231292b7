#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decoder/record/reader.hpp"

/// Values as text, appended to a string. Shared by JSON and CSV.
namespace stopbit::record {

void append_signed(std::string& out, std::int64_t value);
void append_unsigned(std::string& out, std::uint64_t value);

/// Exactly, the exponent kept: 141150, -2 gives 1411.50; 1, 1 gives 1e1. `exponent` must be in -63..63.
void append_decimal(std::string& out, std::int64_t mantissa, std::int32_t exponent);

/// Lower-case, two digits per byte.
void append_hex(std::string& out, std::string_view bytes);

/// As valid UTF-8. An ASCII field's bytes above 0x7F become the characters U+0080 to U+00FF; in a Unicode field each
/// byte that is not part of a well-formed character becomes U+FFFD.
void append_utf8(std::string& out, std::string_view bytes, bool is_ascii);

/// With quotes; the same characters as append_utf8, those of an ASCII field above 0x7F as \u00XX.
void append_json_string(std::string& out, std::string_view bytes, bool is_ascii);
[[nodiscard]] std::string json_string(std::string_view bytes, bool is_ascii);

/// As one cell of CSV: in quotes if it needs them (RFC 4180).
void append_csv_cell(std::string& out, std::string_view text);

/// As JSON has it, but without quotes and escapes: UTF-8, the elements of a set with a space between.
void append_bare_value(std::string& out, const Schema& schema, const SchemaNode& node, const Value& value);

/// As a template file writes it: "uInt32", "string", "byteVector"; "unicode" for a string of that character set.
[[nodiscard]] std::string_view type_name(FieldType type) noexcept;

/// "error", "dropped", "gap", ...
[[nodiscard]] std::string_view event_name(EventKind kind) noexcept;

/// Meaning of the error code, with details of the event (the identifier of D9). For other events a description.
[[nodiscard]] std::string event_detail(const EventView& event);

/// The template and field of an error event; empty if it has none.
struct EventPlace {
  std::string_view template_name;
  std::string_view field_name;
  std::string_view file;   ///< Where the template file declares the field, or else the template.
  std::uint32_t line = 0;  ///< 0 = unknown, and then there is no file.
};
[[nodiscard]] EventPlace event_place(const Schema& schema, const EventView& event);

/// Maximum length of the text of a record, so that a forged record cannot produce gigabytes.
inline constexpr std::size_t kMaxRecordText = std::size_t{64} << 20;

/// Used in place of the missing name of a dynamic template reference.
inline constexpr std::string_view kReferenceName = "templateRef";

}  // namespace stopbit::record
