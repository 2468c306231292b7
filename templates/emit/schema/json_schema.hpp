#pragma once

#include <string>

#include "microcode/program.hpp"

namespace stopbit::emit {

/// The JSON Schema, draft 2020-12, of the lines that record::JsonPrinter makes of this program's records: messages of
/// every template, errors and events. `program` must have passed verify::check. The same program gives the same text.
[[nodiscard]] std::string json_schema(const Program& program);

}  // namespace stopbit::emit
