#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stopbit::cases {

/// One JSON line of a record as cases write it:
///   {"template":"Quote","id":1,"fields":{"Px":942755,"S":["A"]}}  ->  Quote { Px: 942755, S: ["A"] }
/// The value of a dynamic template reference likewise: templateRef: Quote { Px: 1 }.
/// Values stay as they are, to the character. Nothing if the line is not such a JSON object.
[[nodiscard]] std::optional<std::string> record_text(std::string_view json_line);

}  // namespace stopbit::cases
