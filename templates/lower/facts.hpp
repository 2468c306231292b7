#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "templates/ir/flow.hpp"

/// Facts about a field that do not depend on the stream.
namespace stopbit::templates::lower {

/// A mandatory constant has neither instruction nor word: it is schema.
[[nodiscard]] bool is_schema_constant(const ast::Field& field);

/// Words of the record the field owns.
[[nodiscard]] std::size_t words_of(const ast::Field& field);

/// Most bits the item takes from the presence map of the segment around it.
[[nodiscard]] std::size_t presence_bits(const ir::Item& item);
/// The same for the items from `begin` to `end`, which are one segment or a part of it.
[[nodiscard]] std::size_t presence_bits(const std::vector<ir::Item>& items, std::size_t begin, std::size_t end);

/// Fewest bytes the items from `begin` to `end` take from the stream, presence maps of groups included.
[[nodiscard]] std::size_t min_bytes(const std::vector<ir::Item>& items, std::size_t begin, std::size_t end);

}  // namespace stopbit::templates::lower
