#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/engine/trace.hpp"
#include "decoder/record/schema.hpp"
#include "host/analyse/explain/explanation.hpp"

namespace stopbit::explain {

/// For each instruction the node of the template tree it is for: of the same program, made once.
class CodeMap {
 public:
  explicit CodeMap(const record::Schema& schema);

  /// The owner of the value of a data-op; null if it has none.
  [[nodiscard]] const SchemaNode* value(std::uint16_t address) const noexcept { return values_[address]; }
  [[nodiscard]] bool is_mantissa(std::uint16_t address) const noexcept { return is_mantissa_[address]; }
  /// The optional group after SKIP, or the reference of CALL; null if it is unknown.
  [[nodiscard]] const SchemaNode* structure(std::uint16_t address) const noexcept { return structures_[address]; }
  /// Rows of a node are indented so deep.
  [[nodiscard]] std::uint8_t depth(const SchemaNode& node) const noexcept { return depths_[schema_.index_of(node)]; }

 private:
  [[nodiscard]] const SchemaNode* group_of(const SchemaNode& node) const noexcept;
  void walk(const DispatchEntry& entry, const std::unordered_map<std::uint32_t, const SchemaNode*>& owners);

  const record::Schema schema_;
  std::vector<const SchemaNode*> values_;
  std::vector<bool> is_mantissa_;
  std::vector<const SchemaNode*> structures_;
  std::vector<std::uint8_t> depths_;
};

/// Turns the events of a tracing engine into rows. One datagram, in one run of the engine or in several (blocks).
/// Keeps all rows with bytes, and kMaxRows without; the rest is counted.
class RowMaker final : public trace::Observer {
 public:
  explicit RowMaker(const record::Schema& schema) : schema_(schema), map_(schema) {}

  /// Events are ignored unless active.
  void set_active(bool is_active) noexcept { is_active_ = is_active; }
  /// After each run of the engine: ends the last row, and marks it if the run ended with an error in it.
  void finish(const Outcome& outcome, std::size_t datagram_bytes);
  [[nodiscard]] std::vector<Row>& rows() noexcept { return rows_; }
  [[nodiscard]] std::uint64_t hidden() const noexcept { return hidden_; }

  void datagram_begins(const state::Dictionary& dictionary) noexcept override { dictionary_ = &dictionary; }
  void message_begins(std::uint32_t offset) noexcept override;
  void message_ends() noexcept override;
  void step(std::uint16_t address, std::uint32_t offset) noexcept override;
  void block_opens(std::uint16_t block, std::size_t first_slot, std::size_t base) noexcept override;
  void map_begins(trace::Extent bytes) noexcept override;
  void bit(bool is_set) noexcept override;
  void map_ends() noexcept override;
  void integer(trace::Extent bytes, wire::Int128 raw) noexcept override;
  void ascii(trace::Extent bytes, std::string_view text, bool is_null) noexcept override;
  void vector(trace::Extent bytes, std::string_view text) noexcept override;
  void value(trace::Source source, std::uint64_t value) noexcept override;
  void text(trace::Source source, std::string_view value) noexcept override;
  void loop_begins(std::uint32_t elements) noexcept override;
  void element_ends(std::uint32_t elements_left) noexcept override;
  void template_begins(std::uint16_t template_index, bool is_reference) noexcept override;
  void reference_ends() noexcept override;
  void resets() noexcept override;

 private:
  static constexpr std::size_t kMaxRows = 50'000;  ///< Without bytes.
  static constexpr std::size_t kMaxBits = 200'000;

  /// A presence map on the stack.
  struct Map {
    std::size_t row = 0;
    std::size_t bits_taken = 0;
  };
  /// The template that runs: a message's, or one that is referred to.
  struct Frame {
    std::size_t next_node = 0;  ///< All nodes before it have been reported.
    std::size_t end_node = 0;
    std::uint8_t depth = 0;
  };
  struct Loop {
    const SchemaNode* node = nullptr;
    std::uint32_t elements = 0;
  };
  struct OpenBlock {
    std::uint16_t block = kNoBlock;
    std::size_t first_slot = 0;
    std::size_t base = 0;
  };

  void push(Row row);
  /// Ends the row of the data-op that runs.
  void flush();
  /// Reports the items before the node that have no instruction: constants, and groups that are always present.
  void advance_to(std::size_t node_index);
  /// The same, and the node itself.
  void pass(std::size_t node_index);
  void begin_element(const Loop& loop, std::uint32_t number);
  void extend(trace::Extent bytes);
  void describe(const isa::DataOpInfo& info, const SchemaNode* node, bool is_mantissa);
  [[nodiscard]] std::string previous_text(std::uint16_t slot, const SchemaNode* node) const;
  [[nodiscard]] std::string source_text(trace::Source source) const;
  [[nodiscard]] RecordPlace place_of(std::uint8_t word) const;
  [[nodiscard]] std::uint8_t depth_of(const SchemaNode& node) const;
  [[nodiscard]] const isa::Instruction& instruction() const noexcept { return schema_.program().code[address_]; }
  [[nodiscard]] std::string_view name(TextRef ref) const { return schema_.name(ref); }

  const record::Schema schema_;
  const CodeMap map_;
  const state::Dictionary* dictionary_ = nullptr;
  bool is_active_ = false;

  std::vector<Row> rows_;
  std::size_t empty_rows_ = 0;
  std::size_t bits_ = 0;
  std::uint64_t hidden_ = 0;
  std::uint32_t messages_ = 0;

  Row row_;  ///< Of the instruction that runs.
  bool has_row_ = false;
  bool has_value_ = false;  ///< Its data-op is done; what follows is its control-op's.
  bool has_entity_ = false;
  std::uint16_t address_ = 0;
  std::uint32_t offset_ = 0;    ///< First byte the instruction may take.
  std::uint32_t position_ = 0;  ///< After the last byte it took.
  std::int64_t exponent_ = 0;
  std::vector<Map> maps_;
  std::vector<Frame> frames_;
  std::vector<Loop> loops_;
  OpenBlock block_;
};

}  // namespace stopbit::explain
