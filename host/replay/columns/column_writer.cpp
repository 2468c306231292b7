#include "host/replay/columns/column_writer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "decoder/record/cursor.hpp"
#include "decoder/record/frame.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/text.hpp"
#include "host/replay/columns/index_text.hpp"
#include "host/replay/columns/row_buffer.hpp"

namespace stopbit::replay {
namespace {

using record::append_json_string;
using record::append_unsigned;

struct NumberType {
  std::string_view dtype;
  std::uint8_t bytes;
};

NumberType number_type(FieldType type) {
  switch (type) {
    case FieldType::Int8: return {"|i1", 1};
    case FieldType::UInt8: return {"|u1", 1};
    case FieldType::Int16: return {"<i2", 2};
    case FieldType::UInt16: return {"<u2", 2};
    case FieldType::Int32: return {"<i4", 4};
    case FieldType::UInt32:
    case FieldType::Enum: return {"<u4", 4};
    case FieldType::Int64:
    case FieldType::Timestamp: return {"<i8", 8};
    case FieldType::Boolean: return {"|b1", 1};
    default: return {"<u8", 8};
  }
}

constexpr NumberType kFlag = {"|b1", 1};

void append_names(std::string& out, const record::Schema& schema, const SchemaNode& node) {
  append_key(out, "elements");
  out += '[';
  for (std::uint32_t i = 0; i < schema.element_count(node); ++i) {
    if (i != 0) out += ',';
    append_json_string(out, schema.element_name(node, i), false);
  }
  out += ']';
}

void append_constant(std::string& out, const record::Schema& schema, const SchemaNode& node) {
  const record::Value value = record::Reader::constant(schema, node);
  append_key(out, "constant");
  switch (node.type) {
    case FieldType::Decimal:
      out += '"';
      record::append_decimal(out, value.as_signed(), value.exponent);
      out += '"';
      return;
    case FieldType::Ascii:
    case FieldType::Unicode:
    case FieldType::ByteVector:
      out += '"';
      record::append_hex(out, value.bytes);
      out += '"';
      return;
    default:
      return record::is_signed(node.type) ? record::append_signed(out, value.as_signed())
                                          : append_unsigned(out, value.bits);
  }
}

}  // namespace

/// Files of the values of a column.
struct ColumnWriter::Files {
  enum class Kind : std::uint8_t { Number, Decimal, Text, Count, Group, Reference, Constant };
  Kind kind = Kind::Number;
  ColumnFile* values = nullptr;    ///< Numbers, mantissas, counts, rows; the bytes of texts.
  ColumnFile* second = nullptr;    ///< Exponents; offsets of texts; templates of references.
  ColumnFile* lengths = nullptr;   ///< Of texts.
  ColumnFile* presence = nullptr;  ///< If it can be absent.
};

/// A field, sequence length, optional group or reference of a table.
struct ColumnWriter::Column : Files {
  std::string name;
  const SchemaNode* node = nullptr;
};

/// What to do with a word of a record, or with a constant that may be absent: where its values go. Small, because a
/// record has hundreds.
struct ColumnWriter::Step {
  enum class Kind : std::uint8_t {
    Number1,
    Number2,
    Number4,
    Number8,
    Limited,
    Decimal,
    Text,
    Sequence,
    Group,
    Reference,
    Constant
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  Kind kind = Kind::Number8;
  bool is_optional = false;
  std::uint8_t word = 0;
  std::uint8_t tag = 0;
  std::uint16_t block = 0;
  std::uint16_t node = 0;
  std::uint32_t presence = kNone;  ///< Cells of the table's RowBuffer.
  std::uint32_t values = kNone;
  std::uint32_t second = kNone;
  std::uint32_t lengths = kNone;
  std::uint32_t end = 0;  ///< Of a group: its steps.
};

/// All messages of a template, or all elements of a sequence.
struct ColumnWriter::Table {
  Table(ColumnFolder& folder, std::string table_name) : name(std::move(table_name)), rows(folder) {}

  std::string name;
  std::vector<Column> columns;
  std::vector<std::pair<std::string, ColumnFile*>> head;  ///< "@record", ...
  std::unordered_map<std::string, std::size_t> names;     ///< Of columns; how many wanted it.
  RowBuffer rows;
  std::vector<Step> steps;  ///< Of a row.
  std::uint32_t parent = Step::kNone;

  [[nodiscard]] ColumnFile& add_head(ColumnFolder& folder, const std::string& column, NumberType type) {
    head.emplace_back(column, &folder.add(name + "." + column.substr(1), type.dtype, type.bytes));
    rows.add(*head.back().second);
    return *head.back().second;
  }
  [[nodiscard]] std::uint32_t cell(const ColumnFile* file) { return file == nullptr ? Step::kNone : rows.cell(*file); }
};

/// The tables of one image. A template's tables are made when its first message comes.
class ColumnWriter::Tables {
 public:
  Tables(ColumnFolder& folder, Image image)
      : folder_(folder),
        name_(std::move(image.name)),
        schema_(image.schema),
        keys_(record::json_keys(schema_)),
        templates_(schema_.program().templates.size()),
        files_(schema_.program().nodes.size()),
        elements_(schema_.program().nodes.size()) {
    for (const SchemaNode& node : schema_.program().nodes) has_references_ |= node.kind == NodeKind::Reference;
  }

  [[nodiscard]] record::ReadError add(std::span<const record::Slot> record, std::uint64_t number) {
    header_.emplace(record[0]);
    number_ = number;
    const Template* const item = schema_.find(header_->template_index());
    if (item == nullptr) return ReadError::UnknownTemplate;
    elements_left_ = record::kMaxElements;
    visits_left_ = record::kMaxVisits;
    references_ = 0;
    if (const ReadError error = cursor_.open(record); error != ReadError::None) return error;
    if (const ReadError error = open_block(item->root_block, record::kHeaderWords); error != ReadError::None) {
      return error;
    }
    if (const ReadError error = take_message(header_->template_index(), false); error != ReadError::None) return error;
    return cursor_.at_end() ? ReadError::None : ReadError::LeftOver;
  }

  void append_index(std::string& out) const {
    if (!name_.empty()) append_text(out, "image", name_);
    append_key(out, "templates");
    out += '[';
    for (std::size_t i = 0; i < templates_.size(); ++i) {
      if (i != 0) out += ',';
      append_json_string(out, schema_.name(schema_.program().templates[i].name), false);
    }
    out += ']';
    append_key(out, "tables");
    out += '[';
    for (const auto& table : tables_) {
      if (out.back() != '[') out += ',';
      append_table(out, *table);
    }
    out += ']';
  }

 private:
  using ReadError = record::ReadError;
  using Row = RowBuffer::Row;
  using Kind = Step::Kind;

  /// Cells.
  struct MessageHead {
    std::uint32_t record;
    std::uint32_t arrival;
    std::uint32_t sequence;
    std::uint32_t channel;
    std::uint32_t line;
    std::uint32_t flags;
    std::uint32_t message;
    std::uint32_t reference;
  };
  struct TemplateTable {
    Table* table = nullptr;
    MessageHead head = {};
  };

  /// A row for the message, or dynamic reference, whose root block is open.
  [[nodiscard]] ReadError take_message(std::uint16_t index, bool is_reference) {
    const TemplateTable& item = template_table(index);
    const MessageHead& head = item.head;
    Row row = item.table->rows.begin_row();
    row.put(head.record, number_);
    row.put(head.arrival, header_->arrival_ns());
    row.put(head.sequence, header_->sequence());
    row.put(head.channel, header_->channel());
    row.put(head.line, static_cast<std::uint8_t>(header_->source()));
    row.put(head.flags, header_->flags());
    row.put(head.message, header_->message_index());
    if (head.reference != Step::kNone) row.put(head.reference, static_cast<std::uint8_t>(is_reference ? 1 : 0));
    return take(*item.table, row);
  }

  /// Puts the values of the open block, and of what follows it, into the row.
  [[nodiscard]] ReadError take(const Table& table, Row& row) {
    const std::vector<Step>& steps = table.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      if (visits_left_-- == 0) return ReadError::TooMuchWork;
      std::uint64_t raw = 0;
      ReadError error = ReadError::None;
      if (step.kind < Kind::Reference) {
        if (step.block != open_block_) [[unlikely]] {
          error = open_block(step.block, 0);
          if (error != ReadError::None) return error;
        }
        bool present = false;
        error = cursor_.load(places_[step.word], step.tag, raw, present);
        if (error != ReadError::None) return error;
        if (!present) {
          if (!step.is_optional) return ReadError::MissingValue;
          if (step.kind == Kind::Group) i = step.end - std::size_t{1};
          if (step.kind == Kind::Sequence) open_block_ = kNoBlock;
          continue;
        }
      }
      if (step.presence != Step::kNone) row.put(step.presence, std::uint8_t{1});
      switch (step.kind) {
        case Kind::Number1: row.put(step.values, static_cast<std::uint8_t>(raw)); break;
        case Kind::Number2: row.put(step.values, static_cast<std::uint16_t>(raw)); break;
        case Kind::Number4: row.put(step.values, static_cast<std::uint32_t>(raw)); break;
        case Kind::Number8: row.put(step.values, raw); break;
        case Kind::Limited: error = take_limited(step, row, raw); break;
        case Kind::Decimal: error = take_decimal(step, row, raw); break;
        case Kind::Text: error = take_text(step, row, raw); break;
        case Kind::Sequence: error = take_sequence(step, row, raw); break;
        case Kind::Reference: error = take_reference(step, row); break;
        case Kind::Group:
        case Kind::Constant: break;
      }
      if (error != ReadError::None) return error;
    }
    return ReadError::None;
  }

  [[nodiscard]] ReadError take_limited(const Step& step, Row& row, std::uint64_t raw) {
    const SchemaNode& node = schema_.node(step.node);
    const bool has_elements = node.type != FieldType::Boolean;
    if (!record::is_in_range(node.type, has_elements ? schema_.element_count(node) : 0, raw))
      return ReadError::BadValue;
    switch (node.type) {
      case FieldType::Boolean: row.put(step.values, static_cast<std::uint8_t>(raw)); break;
      case FieldType::Enum: row.put(step.values, static_cast<std::uint32_t>(raw)); break;
      default: row.put(step.values, raw);
    }
    return ReadError::None;
  }

  [[nodiscard]] ReadError take_decimal(const Step& step, Row& row, std::uint64_t raw) {
    if (!record::is_in_range(FieldType::Decimal, 0, raw)) return ReadError::BadValue;
    row.put(step.second, static_cast<std::int8_t>(raw));
    bool present = false;
    const std::size_t word = step.word + std::size_t{1};
    if (const ReadError error = cursor_.load(places_[word], tags_[word], raw, present); error != ReadError::None) {
      return error;
    }
    if (!present) return ReadError::MissingValue;
    row.put(step.values, raw);
    return ReadError::None;
  }

  [[nodiscard]] ReadError take_text(const Step& step, Row& row, std::uint64_t raw) {
    ColumnFile& bytes = *files_[step.node].values;
    row.put(step.second, bytes.rows());
    const auto short_bytes = static_cast<std::size_t>(raw >> 56);
    if (short_bytes < 8) {
      row.put(step.lengths, static_cast<std::uint32_t>(short_bytes));
      bytes.append_word(raw, short_bytes);
      return ReadError::None;
    }
    std::string_view text;
    if (const ReadError error = cursor_.text(raw, text); error != ReadError::None) return error;
    row.put(step.lengths, static_cast<std::uint32_t>(text.size()));
    bytes.append(text);
    return ReadError::None;
  }

  [[nodiscard]] ReadError take_sequence(const Step& step, Row& row, std::uint64_t count) {
    if (count > elements_left_) return ReadError::TooManyElements;
    elements_left_ -= count;
    row.put(step.values, static_cast<std::uint32_t>(count));
    Table& table = *elements_[step.node];
    const std::uint16_t block = schema_.node(step.node).element_block;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (const ReadError error = open_block(block, 0); error != ReadError::None) return error;
      Row element = table.rows.begin_row();
      element.put(table.parent, row.number());
      if (const ReadError error = take(table, element); error != ReadError::None) return error;
    }
    open_block_ = kNoBlock;
    row.refresh();
    return ReadError::None;
  }

  [[nodiscard]] ReadError take_reference(const Step& step, Row& row) {
    if (references_ == limits::kMaxCallDepth) return ReadError::TooDeep;
    std::uint64_t index = 0;
    if (const ReadError error = cursor_.reference(index); error != ReadError::None) return error;
    const auto narrow = static_cast<std::uint16_t>(index);
    const Template* const item = narrow == index ? schema_.find(narrow) : nullptr;
    if (item == nullptr) return ReadError::UnknownTemplate;
    if (const ReadError error = open_block(item->root_block, record::kReferenceWords); error != ReadError::None) {
      return error;
    }
    row.put(step.values, template_table(narrow).table->rows.rows());
    row.put(step.second, narrow);
    ++references_;
    if (const ReadError error = take_message(narrow, true); error != ReadError::None) return error;
    --references_;
    open_block_ = kNoBlock;
    row.refresh();
    return ReadError::None;
  }

  [[nodiscard]] ReadError open_block(std::uint16_t index, std::size_t base) {
    const Block& block = schema_.block(index);
    places_ = record::kWordPlaces.data() + base;
    tags_ = record::kValueTags.data() + block.first_word % record::kMaxValueTag;
    open_block_ = index;
    return cursor_.open_block(block, base);
  }

  TemplateTable& template_table(std::uint16_t index) {
    TemplateTable& item = templates_[index];
    if (item.table == nullptr) [[unlikely]]
      make_template(item, schema_.program().templates[index]);
    return item;
  }

  void make_template(TemplateTable& to, const Template& item) {
    Table& table = add_table(std::string(schema_.name(item.name)));
    const auto add = [&](const char* name, NumberType type) { return &table.add_head(folder_, name, type); };
    const ColumnFile* const number = add("@record", {"<u8", 8});
    const ColumnFile* const arrival = add("@arrival_ns", {"<u8", 8});
    const ColumnFile* const sequence = add("@sequence", {"<u4", 4});
    const ColumnFile* const channel = add("@channel", {"<u2", 2});
    const ColumnFile* const line = add("@line", {"|u1", 1});
    const ColumnFile* const flags = add("@flags", {"|u1", 1});
    const ColumnFile* const message = add("@message", {"<u2", 2});
    const ColumnFile* const reference = has_references_ ? add("@reference", kFlag) : nullptr;
    make_columns(table, item.first_node, item.end_node, "", false);
    add_steps(table, item.first_node, item.end_node);
    to.head = {table.cell(number), table.cell(arrival), table.cell(sequence), table.cell(channel),
               table.cell(line),   table.cell(flags),   table.cell(message),  table.cell(reference)};
    to.table = &table;
  }

  Table& add_table(std::string name) {
    tables_.push_back(std::make_unique<Table>(folder_, std::move(name)));
    return *tables_.back();
  }

  void make_columns(Table& table, std::size_t first, std::size_t end, const std::string& prefix, bool may_be_absent) {
    for (std::size_t i = first; i < end; i = schema_.node(i).end) {
      const SchemaNode& node = schema_.node(i);
      if (node.unstored) continue;
      const std::string name = prefix + keys_[i];
      const bool is_optional = may_be_absent || node.optional;
      Files& place = files_[i];
      switch (node.kind) {
        case NodeKind::Field: {
          const Column::Kind kind = node.constant                     ? Column::Kind::Constant
                                    : record::is_text(node.type)      ? Column::Kind::Text
                                    : node.type == FieldType::Decimal ? Column::Kind::Decimal
                                                                      : Column::Kind::Number;
          const bool is_value = i == first && end == first + 1 && i > 0 && schema_.is_vector(schema_.node(i - 1));
          add_column(place, table, is_value ? "value" : name, kind, node, is_optional);
          break;
        }
        case NodeKind::Group:
          if (node.optional) add_column(place, table, name, Column::Kind::Group, node, true);
          make_columns(table, i + 1, node.end, name + ".", is_optional);
          break;
        case NodeKind::Sequence: {
          add_column(place, table, name, Column::Kind::Count, node, is_optional);
          Table& elements = add_table(table.name + "/" + name);
          elements_[i] = &elements;
          const ColumnFile& parent = elements.add_head(folder_, "@parent", {"<i8", 8});
          make_columns(elements, i + 1, node.end, "", false);
          add_steps(elements, i + 1, node.end);
          elements.parent = elements.cell(&parent);
          break;
        }
        case NodeKind::Reference: add_column(place, table, name, Column::Kind::Reference, node, may_be_absent); break;
      }
    }
  }

  void add_column(Files& place, Table& table, const std::string& name, Column::Kind kind, const SchemaNode& node,
                  bool may_be_absent) {
    std::string free = name;
    while (!table.names.emplace(free, 1).second) free = name + "_" + std::to_string(++table.names[name]);
    Column column;
    column.kind = kind;
    column.name = std::move(free);
    column.node = &node;
    const auto file = [&](NumberType type, std::string_view what = {}) {
      return &folder_.add(table.name + "." + column.name + std::string(what), type.dtype, type.bytes);
    };
    switch (kind) {
      case Column::Kind::Number: column.values = file(number_type(node.type)); break;
      case Column::Kind::Decimal:
        column.values = file({"<i8", 8}, ".mantissa");
        column.second = file({"|i1", 1}, ".exponent");
        break;
      case Column::Kind::Text:
        column.values = file({"|u1", 1}, ".bytes");
        column.second = file({"<u8", 8}, ".offsets");
        column.lengths = file({"<u4", 4}, ".lengths");
        break;
      case Column::Kind::Count: column.values = file({"<u4", 4}); break;
      case Column::Kind::Reference:
        column.values = file({"<i8", 8});
        column.second = file({"<u2", 2}, ".template");
        break;
      case Column::Kind::Group:
      case Column::Kind::Constant: break;
    }
    if (may_be_absent) column.presence = file(kFlag, ".present");
    for (ColumnFile* const each : {column.values, column.second, column.lengths, column.presence}) {
      const bool is_bytes = kind == Column::Kind::Text && each == column.values;
      if (each != nullptr && !is_bytes) table.rows.add(*each);
    }
    place = column;
    table.columns.push_back(std::move(column));
  }

  /// After make_columns: the steps of a row.
  void add_steps(Table& table, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; i = schema_.node(i).end) {
      const SchemaNode& node = schema_.node(i);
      if (node.unstored) continue;
      const Files& files = files_[i];
      Step step;
      step.is_optional = node.optional;
      step.word = node.word;
      step.block = node.block;
      step.node = static_cast<std::uint16_t>(i);
      if (node.block != kNoBlock)
        step.tag = record::value_tag(schema_.block(node.block).first_word + std::size_t{node.word});
      step.presence = table.cell(files.presence);
      const bool is_text = files.kind == Column::Kind::Text;
      step.values = is_text ? Step::kNone : table.cell(files.values);
      step.second = table.cell(files.second);
      step.lengths = table.cell(files.lengths);
      switch (node.kind) {
        case NodeKind::Field: step.kind = kind_of(node, files); break;
        case NodeKind::Group: step.kind = Kind::Group; break;
        case NodeKind::Sequence: step.kind = Kind::Sequence; break;
        case NodeKind::Reference: step.kind = Kind::Reference; break;
      }
      const bool is_certain = step.kind == Kind::Constant || (step.kind == Kind::Group && !node.optional);
      const std::size_t at = table.steps.size();
      if (!is_certain || step.presence != Step::kNone) table.steps.push_back(step);
      if (node.kind != NodeKind::Group) continue;
      add_steps(table, i + 1, node.end);
      if (node.optional) table.steps[at].end = static_cast<std::uint32_t>(table.steps.size());
    }
  }

  [[nodiscard]] static Kind kind_of(const SchemaNode& node, const Files& files) {
    switch (files.kind) {
      case Column::Kind::Constant: return Kind::Constant;
      case Column::Kind::Text: return Kind::Text;
      case Column::Kind::Decimal: return Kind::Decimal;
      default: break;
    }
    const bool is_limited =
        node.type == FieldType::Enum || node.type == FieldType::Set || node.type == FieldType::Boolean;
    if (is_limited) return Kind::Limited;
    switch (files.values->item_bytes()) {
      case 1: return Kind::Number1;
      case 2: return Kind::Number2;
      case 4: return Kind::Number4;
      default: return Kind::Number8;
    }
  }

  void append_table(std::string& out, const Table& table) const {
    out += '{';
    append_text(out, "name", table.name);
    append_key(out, "rows");
    append_unsigned(out, table.rows.rows());
    append_key(out, "head");
    out += '{';
    for (const auto& [name, file] : table.head) append_file(out, name, file);
    out += '}';
    append_key(out, "columns");
    out += '[';
    for (const Column& column : table.columns) {
      if (out.back() != '[') out += ',';
      append_column(out, column);
    }
    out += "]}";
  }

  void append_column(std::string& out, const Column& column) const {
    constexpr std::string_view kKinds[] = {"number", "decimal", "text", "count", "group", "reference", "constant"};
    const SchemaNode& node = *column.node;
    out += '{';
    append_text(out, "name", column.name);
    append_text(out, "kind", kKinds[static_cast<std::size_t>(column.kind)]);
    if (node.kind == NodeKind::Field) append_text(out, "type", record::type_name(node.type));
    if (node.id != 0) {
      append_key(out, "id");
      append_unsigned(out, node.id);
    }
    switch (column.kind) {
      case Column::Kind::Decimal:
        append_file(out, "mantissa", column.values);
        append_file(out, "exponent", column.second);
        break;
      case Column::Kind::Text:
        append_file(out, "bytes", column.values);
        append_file(out, "offsets", column.second);
        append_file(out, "lengths", column.lengths);
        break;
      case Column::Kind::Reference:
        append_file(out, "file", column.values);
        append_file(out, "template", column.second);
        break;
      case Column::Kind::Constant: append_constant(out, schema_, node); break;
      default: append_file(out, "file", column.values);
    }
    if (node.kind == NodeKind::Field && (node.type == FieldType::Enum || node.type == FieldType::Set)) {
      append_names(out, schema_, node);
    }
    append_file(out, "present", column.presence);
    out += '}';
  }

  ColumnFolder& folder_;
  std::string name_;
  record::Schema schema_;
  std::vector<std::string> keys_;  ///< By node: as in a JSON line.
  std::vector<TemplateTable> templates_;
  std::vector<Files> files_;      ///< By node.
  std::vector<Table*> elements_;  ///< By node: of sequences.
  std::vector<std::unique_ptr<Table>> tables_;
  bool has_references_ = false;
  // Of the record that is being added.
  std::optional<record::HeaderView> header_;
  std::uint64_t number_ = 0;
  record::Cursor cursor_;
  const record::WordPlace* places_ = nullptr;  ///< By word of the open block; likewise `tags_`.
  const std::uint8_t* tags_ = nullptr;
  std::uint16_t open_block_ = kNoBlock;
  std::uint64_t elements_left_ = 0;
  std::uint64_t visits_left_ = 0;
  std::size_t references_ = 0;  ///< Open ones.
};

/// Events of all images.
class ColumnWriter::Events {
 public:
  explicit Events(ColumnFolder& folder) {
    const auto add = [&](std::string_view name, NumberType type) {
      files_.emplace_back(name, &folder.add("events." + std::string(name), type.dtype, type.bytes));
    };
    add("@record", {"<u8", 8});
    add("@arrival_ns", {"<u8", 8});
    add("@sequence", {"<u4", 4});
    add("@channel", {"<u2", 2});
    add("@image", {"<u2", 2});
    add("kind", {"|u1", 1});
    add("code", {"|u1", 1});
    add("template", {"<u2", 2});
    add("packet", {"<u8", 8});
    add("offset", {"<u8", 8});
  }

  void add(const record::Slot& slot, std::uint64_t number, std::size_t image) {
    const record::HeaderView header(slot);
    const record::EventView event(slot);
    const bool is_gap = event.kind() == record::EventKind::Gap;
    const std::uint64_t values[] = {number,
                                    header.arrival_ns(),
                                    header.sequence(),
                                    header.channel(),
                                    image,
                                    static_cast<std::uint64_t>(event.kind()),
                                    static_cast<std::uint64_t>(event.code()),
                                    event.template_index(),
                                    is_gap ? event.missing() : event.packet_number(),
                                    is_gap ? event.first_missing() : event.offset_bytes()};
    for (std::size_t i = 0; i < files_.size(); ++i) files_[i].second->put(values[i]);
  }

  void append_index(std::string& out) const {
    append_key(out, "events");
    out += '{';
    append_key(out, "rows");
    append_unsigned(out, files_.front().second->rows());
    append_key(out, "kinds");
    out += '{';
    for (unsigned kind = 1; kind <= static_cast<unsigned>(record::EventKind::Lost); ++kind) {
      append_text(out, std::to_string(kind), record::event_name(static_cast<record::EventKind>(kind)));
    }
    out += '}';
    append_key(out, "columns");
    out += '{';
    for (const auto& [name, file] : files_) append_file(out, name, file);
    out += "}}";
  }

 private:
  std::vector<std::pair<std::string, ColumnFile*>> files_;
};

ColumnWriter::ColumnWriter(ColumnFolder& folder, std::vector<Image> images)
    : folder_(folder), events_(std::make_unique<Events>(folder)) {
  for (Image& image : images) images_.push_back(std::make_unique<Tables>(folder, std::move(image)));
}

ColumnWriter::~ColumnWriter() = default;

record::ReadError ColumnWriter::add(std::size_t image, std::span<const record::Slot> record) {
  const std::uint64_t number = records_++;
  if (record.empty()) return record::ReadError::Truncated;
  if (!record::HeaderView(record[0]).is_event()) return images_[image]->add(record, number);
  if (const record::ReadError error = record::check_frame(record); error != record::ReadError::None) return error;
  events_->add(record[0], number, image);
  return record::ReadError::None;
}

Status ColumnWriter::finish(bool is_whole) {
  std::string index = begin_index(is_whole);
  append_key(index, "records");
  append_unsigned(index, records_);
  append_key(index, "images");
  index += '[';
  for (const auto& image : images_) {
    if (index.back() != '[') index += ',';
    index += '{';
    image->append_index(index);
    index += '}';
  }
  index += ']';
  events_->append_index(index);
  index += "}\n";
  return folder_.finish(index);
}

}  // namespace stopbit::replay
