#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decoder/record/reader.hpp"
#include "decoder/record/schema.hpp"

/// The values of many records by field instead of by message. Knows nothing of Python.
namespace stopbit::python {

/// The values of one field over the rows of a table. Values of rows in which the field was absent are 0 or empty.
class Column {
 public:
  enum class Kind : std::uint8_t {
    Number,     ///< `bytes()`: numbers of item_bytes() each.
    Decimal,    ///< `bytes()`: mantissas of 8 bytes; `exponents()`.
    Text,       ///< `pool()` and `pieces()`.
    Count,      ///< Elements of a sequence, 4 bytes each.
    Group,      ///< Of an optional group: nothing but `present()`.
    Reference,  ///< Of a dynamic template reference: 8 bytes, row in the table of its template; `templates()`.
    Constant,   ///< `constant()`, in every row in which its group is present.
  };
  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };

  Column(std::string name, Kind kind, const SchemaNode& node, bool may_be_absent);

  void put(std::size_t row, const record::Value& value);
  void put_number(std::size_t row, std::uint64_t value);
  void put_reference(std::size_t row, std::uint64_t child_row, std::uint16_t template_index);
  void put_present(std::size_t row);
  /// Makes all of it as long as its table.
  void finish(std::size_t rows);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] const SchemaNode& node() const noexcept { return *node_; }
  [[nodiscard]] FieldType type() const noexcept { return node_->type; }
  [[nodiscard]] bool may_be_absent() const noexcept { return may_be_absent_; }
  [[nodiscard]] std::size_t item_bytes() const noexcept { return item_bytes_; }

  // After finish. The caller may take them to make arrays.
  [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::int8_t>& exponents() noexcept { return exponents_; }
  [[nodiscard]] std::vector<double>& floats() noexcept { return floats_; }  ///< Decimals; NaN where absent.
  [[nodiscard]] std::vector<Piece>& pieces() noexcept { return pieces_; }
  [[nodiscard]] std::vector<std::uint16_t>& templates() noexcept { return templates_; }
  [[nodiscard]] std::vector<std::uint8_t>& present() noexcept { return present_; }  ///< 1 or 0; if it may be absent.
  [[nodiscard]] std::string_view piece(const Piece& piece) const noexcept {
    return std::string_view(pool_).substr(piece.offset, piece.length);
  }

 private:
  void make_floats();

  std::string name_;
  Kind kind_;
  const SchemaNode* node_;
  bool may_be_absent_;
  std::size_t item_bytes_;
  std::vector<std::byte> bytes_;
  std::vector<std::int8_t> exponents_;
  std::vector<double> floats_;
  std::string pool_;
  std::vector<Piece> pieces_;
  std::vector<std::uint16_t> templates_;
  std::vector<std::uint8_t> present_;
};

/// All occurrences of a template, or all elements of a sequence.
struct Table {
  std::string name;  ///< "Book", "Book/Entries", "Book/Entries/Orders"
  bool is_template = false;
  std::size_t template_table = 0;  ///< That of the template it belongs to.
  std::size_t rows = 0;
  std::vector<Column> columns;

  // By row. Of templates:
  std::vector<std::uint64_t> record;      ///< Number of the record among all, from 0.
  std::vector<std::uint64_t> arrival_ns;  ///< Of its datagram.
  std::vector<std::uint32_t> sequence;
  std::vector<std::uint16_t> channel;
  std::vector<std::uint8_t> line;  ///< As in the folder of `stopbit replay --columns`.
  std::vector<std::uint8_t> flags;
  std::vector<std::uint16_t> message;      ///< Index in the datagram.
  std::vector<std::uint8_t> is_reference;  ///< 1: not a message, but the dynamic reference of one.
  // Of sequences:
  std::vector<std::uint64_t> parent;  ///< Row of the table that holds the sequence.
};

/// Events, by row.
struct EventTable {
  std::vector<std::uint64_t> record;
  std::vector<std::uint64_t> arrival_ns;
  std::vector<std::uint32_t> sequence;
  std::vector<std::uint16_t> channel;
  std::vector<record::EventKind> kind;
  std::vector<ErrorCode> code;
  std::vector<std::uint64_t> packet;  ///< Gap: how many sequence numbers are missing.
  std::vector<std::uint64_t> offset;  ///< Gap: the first one.
  std::vector<std::uint16_t> template_index;
  std::vector<std::uint16_t> block;
  std::vector<std::uint8_t> word;
};

/// Takes records apart into tables. There are as many as templates and sequences in the schema, whatever the records
/// are, and memory grows with the rows. The schema's program must outlive it.
class Columns {
 public:
  explicit Columns(const record::Schema& schema);

  /// Appends a record, message or event. An error leaves the rows of the part that could be read.
  [[nodiscard]] record::ReadError add(std::span<const record::Slot> slots);
  /// After the last record.
  void finish();

  /// The first ones are the templates, by index.
  [[nodiscard]] std::vector<Table>& tables() noexcept { return tables_; }
  [[nodiscard]] EventTable& events() noexcept { return events_; }
  [[nodiscard]] bool has_references() const noexcept { return has_references_; }

 private:
  class Taker;

  struct Place {
    std::size_t table = 0;
    std::size_t column = 0;
    std::size_t element_table = 0;  ///< Of a sequence.
  };

  void make_columns(std::size_t table, std::size_t first, std::size_t end, const std::string& prefix,
                    bool may_be_absent);
  std::size_t add_column(std::size_t table, const std::string& name, Column::Kind kind, const SchemaNode& node,
                         bool may_be_absent);

  record::Schema schema_;
  record::Reader reader_;
  std::vector<std::string> keys_;  ///< By node: as in a JSON line.
  std::vector<Table> tables_;
  std::vector<Place> places_;                                        ///< By node.
  std::vector<std::unordered_map<std::string, std::size_t>> names_;  ///< Of columns, by table; how many wanted it.
  std::vector<std::size_t> open_rows_;
  EventTable events_;
  std::uint64_t records_ = 0;
  bool has_references_ = false;
};

}  // namespace stopbit::python
