#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decoder/record/schema.hpp"
#include "decoder/wire/stop_bit.hpp"

/// Values as a person reads them. Whatever they hold, the texts are printable UTF-8 of one line and of bounded length.
namespace stopbit::explain {

/// A name or text without quotes.
[[nodiscard]] std::string plain(std::string_view text);
/// With quotes; a long one is cut, with its length after it.
[[nodiscard]] std::string quoted(std::string_view text, bool is_ascii);
/// "4142, 2 bytes"-like text for byte vectors; a long one is cut.
[[nodiscard]] std::string hex(std::string_view bytes);

[[nodiscard]] std::string number_text(wire::Int128 value);
/// An integer, an element of an enumeration with its number, the elements of a set, ... A null node: an unsigned
/// number.
[[nodiscard]] std::string value_text(const record::Schema& schema, const SchemaNode* node, std::uint64_t value);
[[nodiscard]] std::string string_text(const SchemaNode* node, std::string_view value);
/// The value of a mandatory constant.
[[nodiscard]] std::string constant_text(const record::Schema& schema, const SchemaNode& node);

}  // namespace stopbit::explain
