#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "microcode/program.hpp"

namespace stopbit::diff {

/// Facts about a template or node, as pairs of name and text: two sides are compared by them. Everything that
/// layout_hash covers is under `layout`.
struct Facts {
  using List = std::vector<std::pair<std::string, std::string>>;
  List layout;
  List decoder;
};

/// Puts into words what a program says of its templates.
class Describer {
 public:
  explicit Describer(const Program& program);

  [[nodiscard]] Facts of_template(std::size_t index) const;
  [[nodiscard]] Facts of_node(std::size_t index) const;
  /// "feed.xml:12"; empty if that is not known.
  [[nodiscard]] std::string where(std::uint16_t source, std::uint32_t line) const;
  [[nodiscard]] const Program& program() const noexcept { return program_; }

 private:
  [[nodiscard]] std::string text(TextRef ref) const;
  [[nodiscard]] std::string place(std::uint16_t block, std::uint8_t word) const;
  [[nodiscard]] std::string type(const SchemaNode& node) const;
  [[nodiscard]] std::string describe(const TypeInfo& info) const;
  [[nodiscard]] std::string elements(const SchemaNode& node) const;
  [[nodiscard]] std::string constant(const SchemaNode& node) const;
  [[nodiscard]] std::string value(const Constant& constant, FieldType type) const;
  void add_operators(std::size_t index, Facts& facts) const;
  [[nodiscard]] const isa::Instruction* instruction(std::uint16_t block, std::uint8_t word) const;

  /// The instruction that takes the group's entity; null if it is no bit group.
  [[nodiscard]] const isa::Instruction* bit_group(std::size_t index) const;

  const Program& program_;
  std::vector<std::string> types_;                     ///< By type_info: its elements.
  std::vector<std::uint16_t> ranks_;                   ///< By block: its number within its template.
  std::vector<std::vector<std::uint16_t>> addresses_;  ///< By block and word: the instruction that writes it.
  std::map<std::pair<std::uint16_t, std::uint8_t>, std::uint16_t> bit_groups_;  ///< By block and first word.
};

}  // namespace stopbit::diff
