#include "host/replay/columns/column_writer.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "decoder/record/frame.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/text.hpp"
#include "host/replay/columns/index_text.hpp"

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

/// Where the values of a column go.
struct ColumnWriter::Files {
  enum class Kind : std::uint8_t { Number, Decimal, Text, Count, Group, Reference, Constant };
  Kind kind = Kind::Number;
  ColumnFile* values = nullptr;    ///< Numbers, mantissas, counts, rows; the bytes of texts.
  ColumnFile* second = nullptr;    ///< Exponents; offsets of texts; templates of references.
  ColumnFile* lengths = nullptr;   ///< Of texts.
  ColumnFile* presence = nullptr;  ///< If it can be absent.
};

/// A node of a record with the place of its values.
struct ColumnWriter::Step : SchemaNode {
  Files column;
  Table* elements = nullptr;  ///< Of a sequence.
};

/// A field, sequence length, optional group or reference of a table.
struct ColumnWriter::Column : Files {
  std::string name;
  const SchemaNode* node = nullptr;
};

/// All messages of a template, or all elements of a sequence.
struct ColumnWriter::Table {
  std::string name;
  std::uint64_t rows = 0;
  std::vector<Column> columns;
  std::vector<std::pair<std::string, ColumnFile*>> head;  ///< "@record", ...
  std::unordered_map<std::string, std::size_t> names;     ///< Of columns; how many wanted it.

  [[nodiscard]] ColumnFile& add_head(ColumnFolder& folder, const std::string& column, NumberType type) {
    head.emplace_back(column, &folder.add(name + "." + column.substr(1), type.dtype, type.bytes));
    return *head.back().second;
  }
  void finish() {
    for (const Column& column : columns) {
      if (column.presence != nullptr) column.presence->pad_to(rows);
      if (column.values != nullptr && column.kind != Column::Kind::Text) column.values->pad_to(rows);
      if (column.second != nullptr) column.second->pad_to(rows);
      if (column.lengths != nullptr) column.lengths->pad_to(rows);
    }
  }
};

/// The tables of one image. A template's tables are made when its first message comes.
class ColumnWriter::Tables {
 public:
  Tables(ColumnFolder& folder, Image image)
      : folder_(folder),
        name_(std::move(image.name)),
        schema_(image.schema),
        reader_(schema_),
        keys_(record::json_keys(schema_)),
        templates_(schema_.program().templates.size()) {
    steps_.reserve(schema_.program().nodes.size());
    for (const SchemaNode& node : schema_.program().nodes) {
      steps_.push_back({node, {}, nullptr});
      has_references_ |= node.kind == NodeKind::Reference;
    }
  }

  [[nodiscard]] record::ReadError add(std::span<const record::Slot> record, std::uint64_t number) {
    header_.emplace(record[0]);
    number_ = number;
    if (schema_.find(header_->template_index()) == nullptr) return record::ReadError::UnknownTemplate;
    rows_.clear();
    Taker taker(*this);
    taker.begin_message(header_->template_index(), false);
    return reader_.read(record, taker);
  }

  void finish() {
    for (const auto& table : tables_) table->finish();
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
  struct MessageHead {
    ColumnFile* record = nullptr;
    ColumnFile* arrival = nullptr;
    ColumnFile* sequence = nullptr;
    ColumnFile* channel = nullptr;
    ColumnFile* line = nullptr;
    ColumnFile* flags = nullptr;
    ColumnFile* message = nullptr;
    ColumnFile* reference = nullptr;
  };
  struct TemplateTable {
    Table* table = nullptr;
    MessageHead head;
  };

  /// Puts the values of a record into the rows that it begins.
  class Taker : public record::Visitor {
   public:
    explicit Taker(Tables& tables) : tables_(tables) {}

    [[nodiscard]] const Step& node(std::size_t index) const noexcept { return tables_.steps_[index]; }

    void field(const Step& step, const record::Value& value) {
      const Files& column = step.column;
      if (column.presence != nullptr) column.presence->put_at(row_, 1);
      switch (column.kind) {
        case Column::Kind::Constant: return;
        case Column::Kind::Text:
          column.second->put_at(row_, column.values->rows());
          column.lengths->put_at(row_, value.bytes.size());
          column.values->append(value.bytes);
          return;
        case Column::Kind::Decimal:
          column.second->put_at(row_, static_cast<std::uint64_t>(static_cast<std::int64_t>(value.exponent)));
          [[fallthrough]];
        default: column.values->put_at(row_, value.bits);
      }
    }
    void begin_group(const Step& step) {
      if (step.optional) step.column.presence->put_at(row_, 1);
    }
    void begin_sequence(const Step& step, std::uint32_t count) {
      if (step.column.presence != nullptr) step.column.presence->put_at(row_, 1);
      step.column.values->put_at(row_, count);
    }
    void begin_element(const Step& step, std::uint32_t) {
      step.elements->head.front().second->put(row_);
      open_row(step.elements->rows++);
    }
    void end_element(const Step&) { close_row(); }
    void begin_reference(const Step& step, const Template& item) {
      const auto index = static_cast<std::uint16_t>(&item - tables_.schema_.program().templates.data());
      const std::uint64_t child = tables_.template_table(index).table->rows;
      if (step.column.presence != nullptr) step.column.presence->put_at(row_, 1);
      step.column.values->put_at(row_, child);
      step.column.second->put_at(row_, index);
      begin_message(index, true);
    }
    void end_reference(const Step&) { close_row(); }

    void begin_message(std::uint16_t index, bool is_reference) { open_row(tables_.add_message(index, is_reference)); }

   private:
    void open_row(std::uint64_t row) { tables_.rows_.push_back(std::exchange(row_, row)); }
    void close_row() {
      row_ = tables_.rows_.back();
      tables_.rows_.pop_back();
    }

    Tables& tables_;
    std::uint64_t row_ = 0;  ///< Of the message, element or reference that is open.
  };

  /// @returns the message's row.
  std::uint64_t add_message(std::uint16_t index, bool is_reference) {
    TemplateTable& item = template_table(index);
    const MessageHead& head = item.head;
    head.record->put(number_);
    head.arrival->put(header_->arrival_ns());
    head.sequence->put(header_->sequence());
    head.channel->put(header_->channel());
    head.line->put(static_cast<std::uint64_t>(header_->source()));
    head.flags->put(header_->flags());
    head.message->put(header_->message_index());
    if (head.reference != nullptr) head.reference->put(is_reference ? 1 : 0);
    return item.table->rows++;
  }

  TemplateTable& template_table(std::uint16_t index) {
    TemplateTable& item = templates_[index];
    if (item.table == nullptr) [[unlikely]]
      make_template(item, schema_.program().templates[index]);
    return item;
  }

  void make_template(TemplateTable& to, const Template& item) {
    Table& table = add_table(std::string(schema_.name(item.name)));
    to.table = &table;
    MessageHead& head = to.head;
    head.record = &table.add_head(folder_, "@record", {"<u8", 8});
    head.arrival = &table.add_head(folder_, "@arrival_ns", {"<u8", 8});
    head.sequence = &table.add_head(folder_, "@sequence", {"<u4", 4});
    head.channel = &table.add_head(folder_, "@channel", {"<u2", 2});
    head.line = &table.add_head(folder_, "@line", {"|u1", 1});
    head.flags = &table.add_head(folder_, "@flags", {"|u1", 1});
    head.message = &table.add_head(folder_, "@message", {"<u2", 2});
    if (has_references_) head.reference = &table.add_head(folder_, "@reference", kFlag);
    make_columns(table, item.first_node, item.end_node, "", false);
  }

  Table& add_table(std::string name) {
    tables_.push_back(std::make_unique<Table>());
    tables_.back()->name = std::move(name);
    return *tables_.back();
  }

  void make_columns(Table& table, std::size_t first, std::size_t end, const std::string& prefix, bool may_be_absent) {
    for (std::size_t i = first; i < end; i = schema_.node(i).end) {
      const SchemaNode& node = schema_.node(i);
      if (node.unstored) continue;
      const std::string name = prefix + keys_[i];
      const bool is_optional = may_be_absent || node.optional;
      Files& place = steps_[i].column;
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
          steps_[i].elements = &elements;
          (void)elements.add_head(folder_, "@parent", {"<i8", 8});
          make_columns(elements, i + 1, node.end, "", false);
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
    place = column;
    table.columns.push_back(std::move(column));
  }

  void append_table(std::string& out, const Table& table) const {
    out += '{';
    append_text(out, "name", table.name);
    append_key(out, "rows");
    append_unsigned(out, table.rows);
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
  record::Reader reader_;
  std::vector<std::string> keys_;  ///< By node: as in a JSON line.
  std::vector<Step> steps_;        ///< By node.
  std::vector<TemplateTable> templates_;
  std::vector<std::unique_ptr<Table>> tables_;
  bool has_references_ = false;
  std::optional<record::HeaderView> header_;  ///< Of the record that is being added.
  std::uint64_t number_ = 0;
  std::vector<std::uint64_t> rows_;  ///< Of what is around the message, element or reference that is open.
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
    image->finish();
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
