#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "microcode/base/diagnostic.hpp"

namespace stopbit::cases {

/// One thing done to an engine: a datagram for a channel, or a reset of the channel.
struct Step {
  enum class Kind : std::uint8_t { Datagram, Reset };
  Kind kind = Kind::Datagram;
  std::uint16_t channel = 0;
  std::vector<std::byte> bytes;

  bool operator==(const Step&) const = default;
};

/// Reads bytes [begin, end) of `source` as byte notation; tests/lib/README.md is the page for people.
/// Nothing if there were errors: they are in `diagnostics`, with places in `source`.
[[nodiscard]] std::optional<std::vector<Step>> parse_bytes(std::shared_ptr<const SourceBuffer> source,
                                                           std::size_t begin, std::size_t end,
                                                           Diagnostics& diagnostics);

/// The same for a text of its own.
[[nodiscard]] std::optional<std::vector<Step>> parse_bytes(std::string_view text, Diagnostics& diagnostics);

}  // namespace stopbit::cases
