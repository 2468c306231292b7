#pragma once

#include <cstdint>
#include <string>

namespace stopbit::cases {

/// A decode case made up from a seed: random templates, messages that fit them, and the records that the rules demand.
/// The sender is a model of FAST of its own, dictionary included; it shares the stop-bit encoder with the byte notation
/// and nothing with compiler or engine.
[[nodiscard]] std::string random_case(std::uint64_t seed);

}  // namespace stopbit::cases
