#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stopbit {

/// Returns the name that needs the fewest single-letter changes to become `wanted`; empty if none is similar. One that
/// differs in upper and lower case only comes first. Names longer than 64 bytes never match.
[[nodiscard]] std::string nearest(std::string_view wanted, std::span<const std::string> known);

/// "; did you mean 'NAME'?" for the end of an error; empty if no name is similar.
[[nodiscard]] std::string did_you_mean(std::string_view wanted, std::span<const std::string> known);

}  // namespace stopbit
