#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "microcode/program.hpp"
#include "templates/ir/flow.hpp"
#include "templates/lower/layout.hpp"
#include "templates/lower/tables.hpp"

namespace stopbit::templates::lower {

/// Dispatch tables by the application type of the caller. Only programs with a dictionary per type need more than one.
class CallerTables {
 public:
  /// `by_type`: whether code differs by caller.
  explicit CallerTables(bool by_type) : by_type_(by_type) {}

  std::uint16_t table_of(std::uint32_t type) {
    if (!by_type_) return 0;
    const auto [place, is_new] = index_.try_emplace(type, static_cast<std::uint16_t>(types_.size()));
    if (is_new) types_.push_back(type);
    return place->second;
  }
  /// Application type by table. Grows while code is made.
  [[nodiscard]] const std::vector<std::uint32_t>& types() const { return types_; }

 private:
  bool by_type_;
  std::vector<std::uint32_t> types_ = {ir::kAnyType};
  std::map<std::uint32_t, std::uint16_t> index_ = {{ir::kAnyType, 0}};
};

/// Constants of a field that the schema or an instruction refers to.
class ConstantMaker {
 public:
  ConstantMaker(ConstantTable& constants, const ast::TemplateSet& set) : constants_(constants), set_(set) {}

  /// Initial value or constant, with the limit of the type; also for a length (UInt32).
  std::uint16_t of(const ast::Operator& op, FieldType type, std::size_t enumeration);
  /// The two of a whole decimal.
  std::uint16_t exponent(const ast::Operator& op);
  std::uint16_t mantissa(const ast::Operator& op);
  /// A bit group: its bits, with the initial value.
  std::uint16_t bit_group(const ast::Group& group);
  /// A field of a bit group: what its bits could exceed.
  std::uint16_t bit_field(const ast::Field& field);
  /// A mandatory constant: value, for a decimal exponent and mantissa in adjacent entries.
  std::uint16_t schema(const ast::Field& field);

 private:
  static Constant number(std::uint64_t value);

  ConstantTable& constants_;
  const ast::TemplateSet& set_;
};

/// Makes the code of messages.
class CodeMaker {
 public:
  CodeMaker(const ir::Module& module, const ast::TemplateSet& set, ConstantMaker& constants, SlotTable& slots,
            CallerTables& tables, std::vector<isa::Instruction>& code);

  /// Code of the message for callers of this application type. @returns its address. Stops growing at a little more
  /// than limits::kMaxInstructions instructions; the code is then not to be used.
  std::uint16_t make(const ir::Message& message, const Layout& layout, std::uint32_t callers_type);
  /// A template without any field.
  std::uint16_t make_empty();

  [[nodiscard]] std::size_t segments() const { return segments_; }

 private:
  struct Value {
    const ast::Operator& op;
    isa::Type type;
    bool optional;
    std::uint8_t word;
    SlotTable::Part part;
    std::uint16_t constant;
  };

  void body(std::size_t begin, std::size_t end);
  void field(const ir::Item& item, const ItemPlacement& place);
  void group(std::size_t index);
  void bit_group(std::size_t index);
  void sequence(std::size_t index);
  void reference(const ir::Item& item);

  isa::Instruction instruction(const ir::Item& item, const ast::Name& name, const Value& value);
  std::uint16_t slot(const ir::Item& item, const ast::Name& name, const Value& value);

  /// Appends; puts the pending BLOCK into its control column, or into a NOP before it.
  std::size_t emit(isa::Instruction instruction);
  void emit_map(std::size_t bits);
  void open(std::uint16_t block);
  void flush_block();
  /// Puts the control-op into the last instruction if that always runs right before this place, else into a NOP.
  /// @returns the instruction's address.
  std::size_t attach(isa::ControlOp control, std::size_t target = 0);
  [[nodiscard]] bool may_attach(isa::ControlOp control) const;
  /// A jump leads to the next instruction.
  void label() { label_ = code_.size(); }
  void land(std::size_t jump);

  const ir::Module& module_;
  const ast::TemplateSet& set_;
  ConstantMaker& constants_;
  SlotTable& slots_;
  CallerTables& tables_;
  std::vector<isa::Instruction>& code_;
  const std::vector<ir::Item>* items_ = nullptr;
  const Layout* layout_ = nullptr;
  std::uint32_t callers_type_ = ir::kAnyType;
  std::size_t label_ = 0;
  std::uint16_t pending_block_ = kNoBlock;
  std::size_t segments_ = 1;  ///< Segment 0 is the message's, at address 0.
  std::size_t reference_bits_ = 1;
};

}  // namespace stopbit::templates::lower
