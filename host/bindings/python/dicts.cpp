#include "host/bindings/python/dicts.hpp"

#include <utility>

#include "decoder/record/json.hpp"
#include "decoder/record/text.hpp"
#include "decoder/record/views.hpp"

namespace stopbit::python {
namespace {

constexpr std::size_t kCachedDecimals = 4'096;

py::object owned(PyObject* object) {
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

void set(PyObject* dict, const py::object& key, const py::object& value) {
  if (PyDict_SetItem(dict, key.ptr(), value.ptr()) != 0) throw py::error_already_set();
}

py::str text_of(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

/// Builds the dict while the record is walked.
class DictMaker::Writer : public record::Visitor {
 public:
  explicit Writer(DictMaker& maker) : maker_(maker) {}

  py::dict begin_message(std::size_t template_index) {
    const Template& item = maker_.firmware_->program().templates[template_index];
    py::dict message;
    py::dict fields;
    set(message.ptr(), maker_.template_key_, maker_.template_names_[template_index]);
    set(message.ptr(), maker_.id_key_, owned(PyLong_FromUnsignedLong(item.id)));
    set(message.ptr(), maker_.fields_key_, fields);
    open_.push_back(std::move(fields));
    return message;
  }

  void field(const SchemaNode& node, const record::Value& value) {
    const py::object& known = maker_.constants_[schema().index_of(node)];
    put(node, known ? known : maker_.value_of(node, value));
  }
  void begin_group(const SchemaNode& node) { open(node, py::dict()); }
  void end_group(const SchemaNode&) { open_.pop_back(); }
  void begin_sequence(const SchemaNode& node, std::uint32_t) { open(node, py::list()); }
  void end_sequence(const SchemaNode&) { open_.pop_back(); }
  void begin_element(const SchemaNode& node, std::uint32_t) {
    if (schema().is_vector(node)) return;
    py::dict element;
    append(element);
    open_.push_back(std::move(element));
  }
  void end_element(const SchemaNode& node) {
    if (!schema().is_vector(node)) open_.pop_back();
  }
  void begin_reference(const SchemaNode& node, const Template& item) {
    const auto index = static_cast<std::size_t>(&item - maker_.firmware_->program().templates.data());
    const py::object outer = open_.back();
    set(outer.ptr(), maker_.keys_[schema().index_of(node)], begin_message(index));
  }
  void end_reference(const SchemaNode&) { open_.pop_back(); }

 private:
  [[nodiscard]] const record::Schema& schema() const noexcept { return maker_.firmware_->schema(); }
  void append(const py::object& value) {
    if (PyList_Append(open_.back().ptr(), value.ptr()) != 0) throw py::error_already_set();
  }
  void put(const SchemaNode& node, const py::object& value) {
    PyObject* const to = open_.back().ptr();
    if (PyList_CheckExact(to)) return append(value);
    set(to, maker_.keys_[schema().index_of(node)], value);
  }
  void open(const SchemaNode& node, py::object container) {
    put(node, container);
    open_.push_back(std::move(container));
  }

  DictMaker& maker_;
  std::vector<py::object> open_;
};

DictMaker::DictMaker(consumer::FirmwarePtr firmware, Decimals decimals, bool with_header)
    : firmware_(std::move(firmware)),
      reader_(firmware_->schema()),
      decimals_(decimals),
      with_header_(with_header),
      decimal_type_(py::module_::import("decimal").attr("Decimal")),
      cache_(kCachedDecimals) {
  const Program& program = firmware_->program();
  const record::Schema& schema = firmware_->schema();
  for (const std::string& key : record::json_keys(schema)) {
    PyObject* text = text_of(key).release().ptr();
    PyUnicode_InternInPlace(&text);
    keys_.push_back(py::reinterpret_steal<py::str>(text));
  }
  for (const Template& item : program.templates) template_names_.push_back(text_of(schema.name(item.name)));
  for (const SchemaNode& node : program.nodes) {
    const bool is_constant = node.kind == NodeKind::Field && node.constant;
    const bool is_list = node.type == FieldType::Set;  // a new one each time, because the caller may change it
    constants_.push_back(is_constant && !is_list ? value_of(node, record::Reader::constant(schema, node))
                                                 : py::object());
  }
}

py::object DictMaker::value_of(const SchemaNode& node, const record::Value& value) {
  switch (node.type) {
    case FieldType::Decimal: return decimal(value.as_signed(), value.exponent);
    case FieldType::Ascii:
      return owned(PyUnicode_DecodeLatin1(value.bytes.data(), static_cast<Py_ssize_t>(value.bytes.size()), nullptr));
    case FieldType::Unicode:
      text_.clear();
      record::append_utf8(text_, value.bytes, false);
      return text_of(text_);
    case FieldType::ByteVector: return py::bytes(value.bytes.data(), value.bytes.size());
    case FieldType::Enum: return text_of(firmware_->schema().element_name(node, value.bits));
    case FieldType::Set: {
      py::list names;
      for (std::uint32_t i = 0; i < firmware_->schema().element_count(node); ++i) {
        if ((value.bits >> i & 1) != 0) names.append(text_of(firmware_->schema().element_name(node, i)));
      }
      return names;
    }
    case FieldType::Boolean: return py::bool_(value.bits != 0);
    default:
      return owned(record::is_signed(node.type) ? PyLong_FromLongLong(value.as_signed())
                                                : PyLong_FromUnsignedLongLong(value.bits));
  }
}

py::object DictMaker::decimal(std::int64_t mantissa, std::int32_t exponent) {
  const auto hash =
      (static_cast<std::uint64_t>(mantissa) * 64 + static_cast<std::uint64_t>(exponent + 63)) * 0x9E37'79B9'7F4A'7C15;
  CachedDecimal& cached = cache_[hash >> 52];
  static_assert(kCachedDecimals == 1U << (64 - 52));
  if (cached.value && cached.mantissa == mantissa && cached.exponent == exponent) return cached.value;
  text_.clear();
  record::append_decimal(text_, mantissa, exponent);
  py::object value =
      decimals_ == Decimals::Exact ? decimal_type_(text_of(text_)) : owned(PyFloat_FromString(text_of(text_).ptr()));
  cached = {mantissa, exponent, value};
  return value;
}

py::dict DictMaker::make(std::span<const record::Slot> slots) {
  record::ReadError error = reader_.open(slots);
  py::dict result;
  if (error == record::ReadError::None) {
    const record::HeaderView view(slots[0]);
    if (view.is_event()) {
      result = event(slots);
    } else if (firmware_->schema().find(view.template_index()) == nullptr) {
      error = record::ReadError::UnknownTemplate;
    } else {
      Writer writer(*this);
      result = writer.begin_message(view.template_index());
      error = reader_.read(slots, writer);
    }
  }
  if (error != record::ReadError::None) {
    throw consumer::Failed(consumer::Fault::Input,
                           "a record cannot be read: " + std::string(record::error_text(error)));
  }
  if (with_header_) result["header"] = header(slots[0]);
  return result;
}

py::dict DictMaker::event(std::span<const record::Slot> slots) const {
  const record::EventView view(slots[0]);
  const record::EventKind kind = view.kind();
  py::dict result;
  if (kind == record::EventKind::DecodeError) {
    result["error"] = text_of(code_text(view.code()));
  } else {
    result["event"] = text_of(record::event_name(kind));
    result["channel"] = record::HeaderView(slots[0]).channel();
  }
  if (kind == record::EventKind::Gap) {
    result["first"] = view.first_missing();
    result["missing"] = view.missing();
  } else if (kind == record::EventKind::Lost) {
    result["missing"] = view.missing();
  } else {
    result["packet"] = view.packet_number();
  }
  if (kind == record::EventKind::DecodeError || kind == record::EventKind::Dropped) {
    result["offset"] = view.offset_bytes();
  }
  const record::EventPlace place = record::event_place(firmware_->schema(), view);
  if (!place.template_name.empty()) result["template"] = text_of(place.template_name);
  if (!place.field_name.empty()) result["field"] = text_of(place.field_name);
  if (place.line != 0) {
    result["file"] = text_of(place.file);
    result["line"] = place.line;
  }
  result["detail"] = record::event_detail(view);
  return result;
}

py::dict DictMaker::header(const record::Slot& slot) const {
  const record::HeaderView view(slot);
  py::dict result;
  result["arrival_ns"] = view.arrival_ns();
  result["sequence"] = view.sequence();
  result["channel"] = view.channel();
  if (!view.is_market_event()) {
    result["message_index"] = view.message_index();
    result["sender_epoch"] = view.sender_epoch();
  }
  result["flags"] = view.flags();
  return result;
}

}  // namespace stopbit::python
