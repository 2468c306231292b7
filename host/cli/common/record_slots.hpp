#pragma once

#include <cstdint>
#include <vector>

#include "decoder/record/schema.hpp"

/// How long the records of a template are.
namespace stopbit::tools {

struct SlotRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// Slots of an element of a sequence, those of inner sequences not counted.
struct ElementSlots {
  const SchemaNode* sequence = nullptr;
  SlotRange slots;
};

/// Long strings, which take slots of their own, are not counted.
struct RecordSlots {
  SlotRange fixed;  ///< Without elements and references.
  std::vector<ElementSlots> elements;
  std::uint32_t references = 0;  ///< Dynamic ones, of which each adds the slots of its template.
};

[[nodiscard]] RecordSlots slots_of(const record::Schema& schema, const Template& item);

}  // namespace stopbit::tools
