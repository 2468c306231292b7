#pragma once

#include <cstddef>
#include <string_view>

#include "microcode/program.hpp"

namespace stopbit {

/// Of the names of templates and nodes. Parts of messages are named by all that they lie in, so a long name that an
/// image has once would be copied for each of its fields.
inline constexpr std::size_t kMaxNameBytes = 256;

/// Calls visit(table, index, field, ref) for every reference into `Program::names`, in the order of the tables of an
/// image. This order is also the order of the texts in a canonical pool. `P` is Program or const Program.
template <class P, class Visit>
void for_each_name(P& program, Visit&& visit) {
  const auto each = [](auto& table, auto&& body) {
    for (std::size_t i = 0; i < table.size(); ++i) body(i, table[i]);
  };
  each(program.slots, [&](std::size_t i, auto& slot) { visit("slots", i, "name", slot.name); });
  each(program.templates, [&](std::size_t i, auto& item) {
    visit("templates", i, "name", item.name);
    visit("templates", i, "name_space", item.name_space);
  });
  each(program.nodes, [&](std::size_t i, auto& node) {
    visit("nodes", i, "name", node.name);
    visit("nodes", i, "name_space", node.name_space);
    visit("nodes", i, "length_name", node.length_name);
    visit("nodes", i, "epoch", node.epoch);
  });
  each(program.type_infos, [&](std::size_t i, auto& type) { visit("types", i, "name", type.name); });
  each(program.elements, [&](std::size_t i, auto& element) {
    visit("elements", i, "name", element.name);
    visit("elements", i, "label", element.label);
  });
  each(program.sources, [&](std::size_t i, auto& source) { visit("sources", i, "name", source.name); });
}

/// True if the reference lies inside a pool of `pool_bytes`.
constexpr bool is_inside(TextRef ref, std::size_t pool_bytes) {
  return ref.offset <= pool_bytes && ref.length <= pool_bytes - ref.offset;
}

}  // namespace stopbit
