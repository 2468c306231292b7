#include "host/bindings/python/arrays.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "decoder/record/text.hpp"
#include "microcode/base/error_code.hpp"

namespace stopbit::python {
namespace {

namespace py = pybind11;

/// Longer texts are Python objects: one long name must not make every row as long.
constexpr std::size_t kMaxFixedBytes = 64;

std::vector<py::ssize_t> shape_of(std::size_t rows) {
  return {static_cast<py::ssize_t>(rows)};
}

/// An array over the vector's memory, which it owns from now on.
template <class T>
py::array array_of(std::vector<T>&& values, const py::dtype& type) {
  const std::size_t count = values.size() * sizeof(T) / static_cast<std::size_t>(type.itemsize());
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  const void* data = kept->data();
  const py::capsule owner(kept.get(), [](void* vector) { delete static_cast<std::vector<T>*>(vector); });
  (void)kept.release();  // NOLINT(bugprone-unused-return-value): the capsule has it
  return {type, shape_of(count), {type.itemsize()}, data, owner};
}

template <class T>
py::array array_of(std::vector<T>&& values) {
  return array_of(std::move(values), py::dtype::of<T>());
}

py::array flags_of(std::vector<std::uint8_t>&& values) {
  return array_of(std::move(values), py::dtype::of<bool>());
}

/// Of objects, all None at first.
py::array objects(std::size_t count) {
  py::array array(py::dtype("O"), shape_of(count));
  auto** items = static_cast<PyObject**>(array.mutable_data());
  for (std::size_t i = 0; i < count; ++i) {
    Py_XDECREF(items[i]);
    items[i] = Py_NewRef(Py_None);
  }
  return array;
}

void set_object(py::array& array, std::size_t index, const py::object& value) {
  auto** items = static_cast<PyObject**>(array.mutable_data());
  Py_DECREF(items[index]);
  items[index] = Py_NewRef(value.ptr());
}

py::dtype dtype_of(FieldType type) {
  switch (type) {
    case FieldType::Int8: return py::dtype::of<std::int8_t>();
    case FieldType::UInt8: return py::dtype::of<std::uint8_t>();
    case FieldType::Int16: return py::dtype::of<std::int16_t>();
    case FieldType::UInt16: return py::dtype::of<std::uint16_t>();
    case FieldType::Int32: return py::dtype::of<std::int32_t>();
    case FieldType::UInt32:
    case FieldType::Enum: return py::dtype::of<std::uint32_t>();
    case FieldType::Int64:
    case FieldType::Timestamp: return py::dtype::of<std::int64_t>();
    case FieldType::Boolean: return py::dtype::of<bool>();
    default: return py::dtype::of<std::uint64_t>();
  }
}

py::str text_of(std::string_view text) {
  return {text.data(), text.size()};
}

/// Fixed width if all values are short, and none ends with a zero byte, which such an array does not keep.
py::array texts(const Column& column, std::vector<Column::Piece>& pieces) {
  std::size_t width = 1;
  bool is_fixed = column.type() != FieldType::ByteVector;
  for (const Column::Piece& piece : pieces) {
    const std::string_view text = column.piece(piece);
    width = std::max(width, text.size());
    is_fixed = is_fixed && (text.empty() || text.back() != '\0');
  }
  if (is_fixed && width <= kMaxFixedBytes) {
    std::vector<char> bytes(pieces.size() * width);
    for (std::size_t row = 0; row < pieces.size(); ++row) {
      const std::string_view text = column.piece(pieces[row]);
      std::memcpy(bytes.data() + row * width, text.data(), text.size());
    }
    return array_of(std::move(bytes), py::dtype("S" + std::to_string(width)));
  }
  py::array array = objects(pieces.size());
  for (std::size_t row = 0; row < pieces.size(); ++row) {
    const std::string_view text = column.piece(pieces[row]);
    set_object(array, row, py::bytes(text.data(), text.size()));
  }
  return array;
}

/// The names of numbers; None for a row without.
template <class Number>
py::array names(const std::vector<Number>& numbers, const std::vector<py::object>& names_of_numbers,
                const std::vector<std::uint8_t>* present = nullptr) {
  py::array array = objects(numbers.size());
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (present != nullptr && (*present)[row] == 0) continue;
    if (numbers[row] < names_of_numbers.size()) set_object(array, row, names_of_numbers[numbers[row]]);
  }
  return array;
}

std::vector<py::object> element_names(const record::Schema& schema, const SchemaNode& node) {
  std::vector<py::object> result;
  for (std::size_t i = 0; i < schema.element_count(node); ++i) result.push_back(text_of(schema.element_name(node, i)));
  return result;
}

std::vector<py::object> template_names(const record::Schema& schema) {
  std::vector<py::object> result;
  for (const Template& item : schema.program().templates) result.push_back(text_of(schema.name(item.name)));
  return result;
}

/// One value, as often as there are rows, in the memory of one.
py::object repeated(const record::Schema& schema, const Column& column, std::size_t rows) {
  const SchemaNode& node = column.node();
  const record::Value value = record::Reader::constant(schema, node);
  py::object one;
  if (record::is_text(node.type)) {
    one = py::bytes(value.bytes.data(), value.bytes.size());
  } else if (node.type == FieldType::Decimal) {
    std::string text;
    record::append_decimal(text, value.as_signed(), value.exponent);
    one = py::float_(py::str(text));
  } else if (node.type == FieldType::Enum) {
    one = text_of(schema.element_name(node, value.bits));
  } else if (record::is_signed(node.type)) {
    one = py::int_(value.as_signed());
  } else {
    one = py::int_(value.bits);
  }
  const py::module_ numpy = py::module_::import("numpy");
  py::object type = py::none();
  if (node.type == FieldType::Decimal) {
    type = py::dtype::of<double>();
  } else if (node.type == FieldType::Enum || node.type == FieldType::ByteVector) {
    type = py::dtype("O");
  } else if (!record::is_text(node.type)) {
    type = dtype_of(node.type);
  }
  return numpy.attr("broadcast_to")(numpy.attr("array")(one, type), py::make_tuple(rows));
}

class TableArrays {
 public:
  TableArrays(const record::Schema& schema, const std::vector<py::object>& templates)
      : schema_(schema), templates_(templates) {}

  py::dict make(Table& table, bool has_references) {
    arrays_ = py::dict();
    if (table.is_template) {
      set("@record", array_of(std::move(table.record)));
      set("@arrival_ns", array_of(std::move(table.arrival_ns)));
      set("@sequence", array_of(std::move(table.sequence)));
      set("@channel", array_of(std::move(table.channel)));
      set("@line", array_of(std::move(table.line)));
      set("@flags", array_of(std::move(table.flags)));
      set("@message", array_of(std::move(table.message)));
      if (has_references) set("@reference", flags_of(std::move(table.is_reference)));
    } else {
      set("@parent", array_of(std::move(table.parent), py::dtype::of<std::int64_t>()));
    }
    for (Column& column : table.columns) add(column, table.rows);
    return std::move(arrays_);
  }

 private:
  void add(Column& column, std::size_t rows) {
    const std::string& name = column.name();
    switch (column.kind()) {
      case Column::Kind::Number: add_number(column); break;
      case Column::Kind::Decimal:
        set(name, array_of(std::move(column.floats())));
        set(name + ":mantissa", array_of(std::move(column.bytes()), py::dtype::of<std::int64_t>()));
        set(name + ":exponent", array_of(std::move(column.exponents())));
        break;
      case Column::Kind::Text: set(name, texts(column, column.pieces())); break;
      case Column::Kind::Count: set(name, array_of(std::move(column.bytes()), py::dtype::of<std::uint32_t>())); break;
      case Column::Kind::Group: break;
      case Column::Kind::Reference:
        set(name, array_of(std::move(column.bytes()), py::dtype::of<std::int64_t>()));
        set(name + ":template",
            names(column.templates(), templates_, column.may_be_absent() ? &column.present() : nullptr));
        break;
      case Column::Kind::Constant: set(name, repeated(schema_, column, rows)); break;
    }
    if (column.may_be_absent()) set(name + ":present", flags_of(std::move(column.present())));
  }

  void add_number(Column& column) {
    const std::string& name = column.name();
    const std::size_t count = column.bytes().size() / column.item_bytes();
    if (column.type() == FieldType::Enum) {
      std::vector<std::uint32_t> numbers(count);
      if (count > 0) std::memcpy(numbers.data(), column.bytes().data(), column.bytes().size());
      set(name,
          names(numbers, element_names(schema_, column.node()), column.may_be_absent() ? &column.present() : nullptr));
      set(name + ":index", array_of(std::move(numbers)));
      return;
    }
    if (column.type() == FieldType::Set) {
      std::vector<std::uint64_t> masks(count);
      if (count > 0) std::memcpy(masks.data(), column.bytes().data(), column.bytes().size());
      for (std::uint32_t i = 0; i < schema_.element_count(column.node()); ++i) {
        std::vector<std::uint8_t> has(count);
        for (std::size_t row = 0; row < count; ++row) has[row] = static_cast<std::uint8_t>(masks[row] >> i & 1);
        set(name + ":" + std::string(schema_.element_name(column.node(), i)), flags_of(std::move(has)));
      }
    }
    set(name, array_of(std::move(column.bytes()), dtype_of(column.type())));
  }

  void set(const std::string& name, const py::object& array) { arrays_[text_of(name)] = array; }

  const record::Schema& schema_;
  const std::vector<py::object>& templates_;
  py::dict arrays_;
};

/// Where an error happened, by row; None where it is no field's or no template's.
py::dict event_arrays(EventTable& events, const record::Schema& schema, const std::vector<py::object>& templates) {
  const std::size_t rows = events.record.size();
  py::array kinds = objects(rows);
  py::array codes = objects(rows);
  py::array fields = objects(rows);
  py::array places = objects(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    set_object(kinds, row, text_of(record::event_name(events.kind[row])));
    if (events.kind[row] != record::EventKind::DecodeError) continue;
    set_object(codes, row, text_of(code_text(events.code[row])));
    const std::uint16_t index = events.template_index[row];
    if (index >= templates.size()) continue;
    set_object(places, row, templates[index]);
    const SchemaNode* owner = schema.owner(index, events.block[row], events.word[row]);
    if (owner != nullptr) set_object(fields, row, text_of(schema.owner_name(*owner)));
  }
  py::dict arrays;
  arrays["@record"] = array_of(std::move(events.record));
  arrays["@arrival_ns"] = array_of(std::move(events.arrival_ns));
  arrays["@sequence"] = array_of(std::move(events.sequence));
  arrays["@channel"] = array_of(std::move(events.channel));
  arrays["kind"] = kinds;
  arrays["code"] = codes;
  arrays["template"] = places;
  arrays["field"] = fields;
  arrays["packet"] = array_of(std::move(events.packet));
  arrays["offset"] = array_of(std::move(events.offset));
  return arrays;
}

}  // namespace

py::dict to_arrays(Columns& columns, const record::Schema& schema) {
  const std::vector<py::object> templates = template_names(schema);
  const auto is_seen = [&](const Table& table) { return columns.tables()[table.template_table].rows != 0; };
  std::vector<bool> seen;
  for (const Table& table : columns.tables()) seen.push_back(is_seen(table));
  TableArrays arrays(schema, templates);
  py::dict result;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Table& table = columns.tables()[i];
    if (seen[i]) result[text_of(table.name)] = arrays.make(table, columns.has_references());
  }
  result["@events"] = event_arrays(columns.events(), schema, templates);
  return result;
}

py::dict to_arrays(MarketColumns&& columns) {
  py::dict arrays;
  // Truth values are kept as bytes, which numpy shows as bool.
#define STOPBIT_EVENT_COLUMN(name, type, none, value, what)                                             \
  arrays[#name] = std::is_same_v<type, bool> ? array_of(std::move(columns.name), py::dtype::of<bool>()) \
                                             : array_of(std::move(columns.name));
#include "host/market/event/columns.def"
#undef STOPBIT_EVENT_COLUMN
  return arrays;
}

py::dict to_arrays(BookColumns&& columns) {
  py::dict arrays;
  arrays["price"] = array_of(std::move(columns.price));
  arrays["quantity"] = array_of(std::move(columns.quantity));
  arrays["orders"] = array_of(std::move(columns.orders));
  arrays["is_known"] = flags_of(std::move(columns.is_known));
  return arrays;
}

}  // namespace stopbit::python
