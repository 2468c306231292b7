#pragma once

#include <pybind11/pybind11.h>

#include "host/bindings/python/columns.hpp"
#include "host/bindings/python/market.hpp"

namespace stopbit::python {

/// Finished columns as {table: {column: numpy array}}. Takes their memory; copies only texts. Needs the GIL.
[[nodiscard]] pybind11::dict to_arrays(Columns& columns, const record::Schema& schema);
/// Market events as {column: numpy array}, in the same way.
[[nodiscard]] pybind11::dict to_arrays(MarketColumns&& columns);
[[nodiscard]] pybind11::dict to_arrays(BookColumns&& columns);

}  // namespace stopbit::python
