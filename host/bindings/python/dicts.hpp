#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/reader.hpp"
#include "host/bindings/common/firmware.hpp"

namespace stopbit::python {

namespace py = pybind11;

/// How decimals become Python objects.
enum class Decimals : std::uint8_t { Exact, Float };

/// Records to dicts, with the content of a JSON line. Needs the GIL. One thread.
class DictMaker {
 public:
  DictMaker(consumer::FirmwarePtr firmware, Decimals decimals, bool with_header);

  /// Of the record at the front of `slots`, a message or an event. InputError if it is damaged.
  [[nodiscard]] py::dict make(std::span<const record::Slot> slots);
  /// As this maker gives decimals.
  [[nodiscard]] py::object decimal(std::int64_t mantissa, std::int32_t exponent);
  [[nodiscard]] py::dict header(const record::Slot& slot) const;
  [[nodiscard]] bool with_header() const noexcept { return with_header_; }

 private:
  class Writer;

  /// Prices come again and again.
  struct CachedDecimal {
    std::int64_t mantissa = 0;
    std::int32_t exponent = 0;
    py::object value;
  };

  [[nodiscard]] py::object value_of(const SchemaNode& node, const record::Value& value);
  [[nodiscard]] py::dict event(std::span<const record::Slot> slots) const;

  consumer::FirmwarePtr firmware_;
  record::Reader reader_;
  Decimals decimals_;
  bool with_header_;
  std::vector<py::str> keys_;            ///< By node.
  std::vector<py::str> template_names_;  ///< By template.
  std::vector<py::object> constants_;    ///< By node; null if it is none.
  py::str template_key_{"template"};
  py::str id_key_{"id"};
  py::str fields_key_{"fields"};
  py::object decimal_type_;
  std::vector<CachedDecimal> cache_;
  std::string text_;
};

}  // namespace stopbit::python
