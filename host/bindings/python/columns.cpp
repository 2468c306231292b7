#include "host/bindings/python/columns.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "decoder/record/json.hpp"
#include "decoder/record/text.hpp"

namespace stopbit::python {
namespace {

std::size_t bytes_of(Column::Kind kind, FieldType type) {
  if (kind == Column::Kind::Count) return sizeof(std::uint32_t);
  if (kind != Column::Kind::Number) return sizeof(std::uint64_t);
  switch (type) {
    case FieldType::Int8:
    case FieldType::UInt8:
    case FieldType::Boolean: return 1;
    case FieldType::Int16:
    case FieldType::UInt16: return 2;
    case FieldType::Int32:
    case FieldType::UInt32:
    case FieldType::Enum: return 4;
    default: return 8;
  }
}

template <class T>
void put_at(std::vector<T>& values, std::size_t row, T value) {
  if (row == values.size()) return values.push_back(value);
  if (row > values.size()) values.resize(row + 1);
  values[row] = value;
}

constexpr std::array kPowers = [] {
  std::array<double, 23> powers{};
  double power = 1;
  for (double& each : powers) {
    each = power;
    power *= 10;
  }
  return powers;
}();

/// The double that is nearest to mantissa * 10^exponent.
double to_double(std::int64_t mantissa, std::int32_t exponent) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const std::size_t power = static_cast<std::size_t>(std::abs(exponent));
  if (mantissa >= -kExact && mantissa <= kExact && power < kPowers.size()) {
    // Both factors are exact, so the one rounding is right.
    const auto whole = static_cast<double>(mantissa);
    return exponent < 0 ? whole / kPowers[power] : whole * kPowers[power];
  }
  std::string text;
  record::append_decimal(text, mantissa, exponent);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

Column::Column(std::string name, Kind kind, const SchemaNode& node, bool may_be_absent)
    : name_(std::move(name)),
      kind_(kind),
      node_(&node),
      may_be_absent_(may_be_absent),
      item_bytes_(bytes_of(kind, node.type)) {}

void Column::put_number(std::size_t row, std::uint64_t value) {
  const std::size_t at = row * item_bytes_;
  if (bytes_.size() < at + item_bytes_) bytes_.resize(at + item_bytes_);
  std::byte* to = bytes_.data() + at;
  switch (item_bytes_) {  // little-endian: the low bytes
    case 1: std::memcpy(to, &value, 1); break;
    case 2: std::memcpy(to, &value, 2); break;
    case 4: std::memcpy(to, &value, 4); break;
    default: std::memcpy(to, &value, 8); break;
  }
  if (may_be_absent_) put_present(row);
}

void Column::put(std::size_t row, const record::Value& value) {
  switch (kind_) {
    case Kind::Text:
      put_at(pieces_, row, Piece{pool_.size(), value.bytes.size()});
      pool_ += value.bytes;
      if (may_be_absent_) put_present(row);
      return;
    case Kind::Constant:
      if (may_be_absent_) put_present(row);
      return;
    case Kind::Decimal: put_at(exponents_, row, static_cast<std::int8_t>(value.exponent)); [[fallthrough]];
    default: put_number(row, value.bits);
  }
}

void Column::put_reference(std::size_t row, std::uint64_t child_row, std::uint16_t template_index) {
  put_number(row, child_row);
  put_at(templates_, row, template_index);
}

void Column::put_present(std::size_t row) {
  put_at(present_, row, std::uint8_t{1});
}

void Column::finish(std::size_t rows) {
  if (may_be_absent_) present_.resize(rows);
  switch (kind_) {
    case Kind::Text: pieces_.resize(rows); break;
    case Kind::Constant:
    case Kind::Group: break;
    case Kind::Decimal:
      exponents_.resize(rows);
      bytes_.resize(rows * item_bytes_);
      make_floats();
      break;
    case Kind::Reference: templates_.resize(rows); [[fallthrough]];
    default: bytes_.resize(rows * item_bytes_);
  }
}

void Column::make_floats() {
  floats_.resize(exponents_.size());
  for (std::size_t row = 0; row < floats_.size(); ++row) {
    std::int64_t mantissa = 0;
    std::memcpy(&mantissa, bytes_.data() + row * sizeof(mantissa), sizeof(mantissa));
    const bool is_there = !may_be_absent_ || present_[row] != 0;
    floats_[row] = is_there ? to_double(mantissa, exponents_[row]) : std::numeric_limits<double>::quiet_NaN();
  }
}

/// Puts the values of a record into the rows that it begins.
class Columns::Taker : public record::Visitor {
 public:
  Taker(Columns& columns, const record::HeaderView& header)
      : columns_(columns), header_(header), rows_(columns.open_rows_) {
    rows_.clear();
  }

  void begin_message(std::size_t template_index, bool is_reference) {
    Table& table = columns_.tables_[template_index];
    table.record.push_back(columns_.records_);
    table.arrival_ns.push_back(header_.arrival_ns());
    table.sequence.push_back(header_.sequence());
    table.channel.push_back(header_.channel());
    table.line.push_back(static_cast<std::uint8_t>(header_.source()));
    table.flags.push_back(header_.flags());
    table.message.push_back(header_.message_index());
    if (columns_.has_references_) table.is_reference.push_back(is_reference ? 1 : 0);
    rows_.push_back(table.rows++);
  }

  void field(const SchemaNode& node, const record::Value& value) { column(node).put(rows_.back(), value); }
  void begin_group(const SchemaNode& node) {
    if (node.optional) column(node).put_present(rows_.back());
  }
  void begin_sequence(const SchemaNode& node, std::uint32_t count) { column(node).put_number(rows_.back(), count); }
  void begin_element(const SchemaNode& node, std::uint32_t) {
    Table& table = columns_.tables_[place(node).element_table];
    table.parent.push_back(rows_.back());
    rows_.push_back(table.rows++);
  }
  void end_element(const SchemaNode&) { rows_.pop_back(); }
  void begin_reference(const SchemaNode& node, const Template& item) {
    const auto index = static_cast<std::uint16_t>(&item - columns_.schema_.program().templates.data());
    column(node).put_reference(rows_.back(), columns_.tables_[index].rows, index);
    begin_message(index, true);
  }
  void end_reference(const SchemaNode&) { rows_.pop_back(); }

 private:
  [[nodiscard]] const Place& place(const SchemaNode& node) const {
    return columns_.places_[columns_.schema_.index_of(node)];
  }
  [[nodiscard]] Column& column(const SchemaNode& node) const {
    const Place& at = place(node);
    return columns_.tables_[at.table].columns[at.column];
  }

  Columns& columns_;
  const record::HeaderView& header_;
  std::vector<std::size_t>& rows_;  ///< Of the message, element or reference that is open, and of those around it.
};

Columns::Columns(const record::Schema& schema)
    : schema_(schema), reader_(schema), keys_(record::json_keys(schema)), places_(schema.program().nodes.size()) {
  const Program& program = schema_.program();
  has_references_ = std::any_of(program.nodes.begin(), program.nodes.end(),
                                [](const SchemaNode& node) { return node.kind == NodeKind::Reference; });
  tables_.resize(program.templates.size());
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    const Template& item = program.templates[i];
    tables_[i].name = schema_.name(item.name);
    tables_[i].is_template = true;
    tables_[i].template_table = i;
    make_columns(i, item.first_node, item.end_node, "", false);
  }
}

void Columns::make_columns(std::size_t table, std::size_t first, std::size_t end, const std::string& prefix,
                           bool may_be_absent) {
  for (std::size_t i = first; i < end; i = schema_.node(i).end) {
    const SchemaNode& node = schema_.node(i);
    if (node.unstored) continue;
    const std::string name = prefix + keys_[i];
    Place& place = places_[i];
    place.table = table;
    switch (node.kind) {
      case NodeKind::Field: {
        const Column::Kind kind = node.constant                     ? Column::Kind::Constant
                                  : record::is_text(node.type)      ? Column::Kind::Text
                                  : node.type == FieldType::Decimal ? Column::Kind::Decimal
                                                                    : Column::Kind::Number;
        const bool is_value = i == first && end == first + 1 && i > 0 && schema_.is_vector(schema_.node(i - 1));
        place.column = add_column(table, is_value ? "value" : name, kind, node, may_be_absent || node.optional);
        break;
      }
      case NodeKind::Group:
        if (node.optional) place.column = add_column(table, name, Column::Kind::Group, node, true);
        make_columns(table, i + 1, node.end, name + ".", may_be_absent || node.optional);
        break;
      case NodeKind::Sequence: {
        place.column = add_column(table, name, Column::Kind::Count, node, may_be_absent || node.optional);
        place.element_table = tables_.size();
        Table& elements = tables_.emplace_back();
        elements.name = tables_[table].name + "/" + name;
        elements.template_table = tables_[table].template_table;
        make_columns(place.element_table, i + 1, node.end, "", false);
        break;
      }
      case NodeKind::Reference:
        place.column = add_column(table, name, Column::Kind::Reference, node, may_be_absent);
        break;
    }
  }
}

std::size_t Columns::add_column(std::size_t table, const std::string& name, Column::Kind kind, const SchemaNode& node,
                                bool may_be_absent) {
  names_.resize(tables_.size());
  std::unordered_map<std::string, std::size_t>& names = names_[table];
  std::string free = name;
  while (!names.emplace(free, 1).second) free = name + "_" + std::to_string(++names[name]);
  std::vector<Column>& columns = tables_[table].columns;
  columns.emplace_back(std::move(free), kind, node, may_be_absent);
  return columns.size() - 1;
}

record::ReadError Columns::add(std::span<const record::Slot> slots) {
  if (const record::ReadError error = reader_.open(slots); error != record::ReadError::None) return error;
  const record::HeaderView header(slots[0]);
  if (header.is_event()) {
    const record::EventView event(slots[0]);
    const bool is_gap = event.kind() == record::EventKind::Gap;
    events_.record.push_back(records_++);
    events_.arrival_ns.push_back(header.arrival_ns());
    events_.sequence.push_back(header.sequence());
    events_.channel.push_back(header.channel());
    events_.kind.push_back(event.kind());
    events_.code.push_back(event.code());
    events_.packet.push_back(is_gap ? event.missing() : event.packet_number());
    events_.offset.push_back(is_gap ? event.first_missing() : event.offset_bytes());
    events_.template_index.push_back(event.template_index());
    events_.block.push_back(event.block());
    events_.word.push_back(event.word());
    return record::ReadError::None;
  }
  if (schema_.find(header.template_index()) == nullptr) return record::ReadError::UnknownTemplate;
  Taker taker(*this, header);
  taker.begin_message(header.template_index(), false);
  const record::ReadError error = reader_.read(slots, taker);
  ++records_;
  return error;
}

void Columns::finish() {
  for (Table& table : tables_) {
    for (Column& column : table.columns) column.finish(table.rows);
  }
}

}  // namespace stopbit::python
