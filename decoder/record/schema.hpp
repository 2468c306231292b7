#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::record {

/// The part of a program needed to read records: templates, nodes, blocks, types, constants. A checked view.
///
/// The program must outlive the schema and everything made from it, and must not change. Copies are cheap. Any number
/// of threads may use one schema.
class Schema {
 public:
  /// Checks everything a walk over a record relies on, even if the program is otherwise invalid, so that neither record
  /// nor schema has to be trusted. Allocates nothing.
  [[nodiscard]] static Result<Schema> make(const Program& program);

  [[nodiscard]] const Program& program() const noexcept { return *program_; }
  [[nodiscard]] const Template* find(std::uint16_t template_index) const noexcept {
    return template_index < program_->templates.size() ? &program_->templates[template_index] : nullptr;
  }
  [[nodiscard]] const SchemaNode& node(std::size_t index) const noexcept { return program_->nodes[index]; }
  [[nodiscard]] std::size_t index_of(const SchemaNode& node) const noexcept {
    return static_cast<std::size_t>(&node - program_->nodes.data());
  }
  [[nodiscard]] const Block& block(std::uint16_t index) const noexcept { return program_->blocks[index]; }
  [[nodiscard]] std::string_view name(TextRef ref) const { return program_->name(ref); }

  /// Element `index` of an enumeration or a set; `index` must be below element_count(node).
  [[nodiscard]] std::string_view element_name(const SchemaNode& node, std::size_t index) const {
    return name(program_->elements[program_->type_infos[node.type_info].first_element + index].name);
  }
  [[nodiscard]] std::uint32_t element_count(const SchemaNode& node) const noexcept {
    return program_->type_infos[node.type_info].element_count;
  }

  /// Whether a sequence is a vector: its elements are values, of one field without a name. False if records do not
  /// contain the values.
  [[nodiscard]] bool is_vector(const SchemaNode& node) const noexcept {
    const std::size_t first = index_of(node) + 1;
    return node.kind == NodeKind::Sequence && node.end == first + 1 && program_->nodes[first].kind == NodeKind::Field &&
           program_->nodes[first].name.length == 0 && !program_->nodes[first].unstored;
  }

  /// The field or sequence length that owns the word, null if there is none. Takes time in proportion to the template.
  [[nodiscard]] const SchemaNode* owner(std::uint16_t template_index, std::uint16_t block,
                                        std::uint8_t word) const noexcept;
  /// The name shown to users: a field's name; for a length its own name or else that of its sequence; for the values of
  /// a vector the vector's name.
  [[nodiscard]] std::string_view owner_name(const SchemaNode& node) const;

 private:
  explicit Schema(const Program& program) : program_(&program) {}

  const Program* program_;
};

constexpr bool is_text(FieldType type) {
  return type == FieldType::Ascii || type == FieldType::Unicode || type == FieldType::ByteVector;
}

/// Whether a value's 64 bits are two's complement. True for time stamps, which count from their epoch.
constexpr bool is_signed(FieldType type) {
  return type == FieldType::Int8 || type == FieldType::Int16 || type == FieldType::Int32 || type == FieldType::Int64 ||
         type == FieldType::Timestamp;
}

}  // namespace stopbit::record
