#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/record/head.hpp"
#include "decoder/record/reader.hpp"
#include "decoder/record/text.hpp"
#include "microcode/base/result.hpp"

/// Records as wide tables: a row for each message of a template, or for each entry of a sequence, and a column for each
/// field.
namespace stopbit::record {

/// Takes the rows of one table out of records.
///
/// The table is "Template", or "Template/Sequence" and "Template/Sequence/Inner" for the entries of a sequence, whose
/// names are those of a folder of columns. A template's identifier will do in place of its name.
///
/// - Fields of groups are `Group.Field`. A sequence is the number of its entries, a dynamic reference the name of its
///   template. A name that occurs twice becomes `Name_2`.
/// - Absent and empty values differ: see Cell.
/// - Messages of other templates, events, and messages inside dynamic references give no row.
///
/// The schema's program must outlive it. One thread.
class WideTable {
 public:
  struct Column {
    std::string name;  ///< As UTF-8.
    bool is_number = false;
  };
  struct Cell {
    std::string text;  ///< As UTF-8; as JSON without quotes and escapes.
    bool is_present = false;
  };

  /// Longest names of all columns together, so that a hostile schema cannot ask for gigabytes.
  static constexpr std::size_t kMaxNameBytes = 1U << 20;

  /// An error says which tables there are.
  [[nodiscard]] static Result<WideTable> make(const Schema& schema, std::string_view name);

  /// Sequences on the way to the row, from the outermost: `@MDEntries`. A row has the index of its entry in each.
  [[nodiscard]] const std::vector<std::string>& levels() const noexcept { return levels_; }
  [[nodiscard]] const std::vector<Column>& columns() const noexcept { return columns_; }

  /// Calls on_row(indices of levels(), cells of columns()) for each row of the message at the front of `slots`. On an
  /// error some rows may have been given.
  template <class OnRow>
  [[nodiscard]] ReadError read(std::span<const Slot> slots, OnRow&& on_row) {
    if (slots.empty()) return ReadError::Truncated;
    const HeaderView header(slots[0]);
    if (header.is_event()) return reader_.open(slots);
    Taker<OnRow> taker(*this, header.template_index() == template_, on_row);
    const ReadError error = reader_.read(slots, taker);
    if (error != ReadError::None) return error;
    return taker.finish() ? ReadError::None : ReadError::TooLong;
  }

 private:
  static constexpr std::uint32_t kNoColumn = 0xFFFF'FFFF;

  template <class OnRow>
  class Taker;

  explicit WideTable(const Schema& schema) : reader_(schema) {}
  [[nodiscard]] bool add_columns(std::size_t first, std::size_t end, const std::string& prefix);
  [[nodiscard]] bool add_column(std::size_t node, const std::string& name, bool is_number);

  [[nodiscard]] bool count_name(const std::string& name) { return (name_bytes_ += name.size()) <= kMaxNameBytes; }

  Reader reader_;
  std::uint16_t template_ = 0;
  std::vector<std::size_t> path_;  ///< Nodes of the sequences of levels_.
  std::vector<std::string> levels_;
  std::vector<Column> columns_;
  std::size_t name_bytes_ = 0;
  std::size_t first_node_ = 0;            ///< Of the template.
  std::vector<std::uint32_t> column_of_;  ///< By node of the template, from first_node_.
  std::vector<std::uint32_t> indices_;
  std::vector<Cell> cells_;
};

template <class OnRow>
class WideTable::Taker : public Visitor {
 public:
  Taker(WideTable& table, bool is_wanted, OnRow& on_row) : table_(table), on_row_(on_row), ignored_(is_wanted ? 0 : 1) {
    table_.indices_.clear();
    clear();
  }

  /// After the last value. False if the rows are too long.
  [[nodiscard]] bool finish() {
    if (ignored_ == 0 && table_.path_.empty()) give_row();
    return !is_full();
  }

  void field(const SchemaNode& node, const Value& value) {
    if (Cell* cell = cell_of(node)) {
      append_bare_value(cell->text, table_.reader_.schema(), node, value);
      bytes_ += cell->text.size();
    }
  }
  void begin_sequence(const SchemaNode& node, std::uint32_t count) {
    if (Cell* cell = cell_of(node)) append_unsigned(cell->text, count);
  }
  void begin_element(const SchemaNode& node, std::uint32_t index) {
    if (!is_on_path(node)) return;
    table_.indices_.push_back(index);
    if (is_row()) clear();
  }
  void end_element(const SchemaNode& node) {
    if (ignored_ != 0 || open() == 0 || table_.path_[open() - 1] != index_of(node)) return;
    if (is_row()) give_row();
    table_.indices_.pop_back();
  }
  void begin_reference(const SchemaNode& node, const Template& item) {
    if (Cell* cell = cell_of(node)) {
      append_utf8(cell->text, table_.reader_.schema().name(item.name), false);
      bytes_ += cell->text.size();
    }
    ++ignored_;
  }
  void end_reference(const SchemaNode&) { --ignored_; }

 private:
  [[nodiscard]] bool is_full() const { return bytes_ > kMaxRecordText; }
  [[nodiscard]] std::size_t open() const { return table_.indices_.size(); }
  [[nodiscard]] bool is_row() const { return open() == table_.path_.size(); }
  [[nodiscard]] std::size_t index_of(const SchemaNode& node) const { return table_.reader_.schema().index_of(node); }
  [[nodiscard]] bool is_on_path(const SchemaNode& node) const {
    return ignored_ == 0 && open() < table_.path_.size() && table_.path_[open()] == index_of(node);
  }

  /// Null: the value is not of this table.
  [[nodiscard]] Cell* cell_of(const SchemaNode& node) {
    if (ignored_ != 0 || is_full() || !is_row()) return nullptr;
    const std::uint32_t column = table_.column_of_[index_of(node) - table_.first_node_];
    if (column == kNoColumn) return nullptr;
    Cell& cell = table_.cells_[column];
    cell.is_present = true;
    return &cell;
  }
  void clear() {
    for (Cell& cell : table_.cells_) {
      cell.text.clear();
      cell.is_present = false;
    }
  }
  void give_row() {
    constexpr std::size_t kRowBytes = 128;  // for what an output adds
    bytes_ += kRowBytes + table_.cells_.size();
    if (!is_full()) on_row_(std::span<const std::uint32_t>(table_.indices_), std::span<const Cell>(table_.cells_));
  }

  WideTable& table_;
  OnRow& on_row_;
  unsigned ignored_;       ///< Not 0: a message of another template, or inside a dynamic reference.
  std::size_t bytes_ = 0;  ///< Of all rows of the message.
};

/// Rows of a wide table as CSV:
///
///   message,@time,@clock,...,@MDEntries,MDEntryType,MDEntryPx
///
/// - `message` numbers the messages of all templates of the schema, from 1, as the long form of CSV does; then time and
///   place, the index in each sequence on the way, and the fields.
/// - An absent value is an empty cell, an empty text "".
class WideCsvPrinter {
 public:
  WideCsvPrinter(WideTable table, TimeStyle style) : table_(std::move(table)), style_(style) {}

  [[nodiscard]] std::string title() const;
  /// Appends the rows of the record at the front of `slots`. On an error nothing is appended.
  [[nodiscard]] ReadError print(std::span<const Slot> slots, std::string& out);
  /// The next message is number `messages` + 1.
  void count_from(std::uint64_t messages) noexcept { messages_ = messages; }

 private:
  WideTable table_;
  TimeStyle style_;
  std::uint64_t messages_ = 0;
  std::string begin_;  ///< Of each row of the message.
};

}  // namespace stopbit::record
