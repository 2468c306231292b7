#pragma once

#include <string_view>

/// The files of presets/, inside the program.
namespace stopbit::simulate {

/// Null if there is no such file.
[[nodiscard]] const std::string_view* find_embedded(std::string_view file_name) noexcept;

}  // namespace stopbit::simulate
