#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

/// The firmware image (.sbf): sections with length and CRC-32C, little-endian, versioned. Byte layout: image.md.
namespace stopbit::image {

/// The bytes of the image. The same program always gives the same bytes.
[[nodiscard]] std::vector<std::byte> write(const Program& program);

/// Reads any bytes. Trusts no length: a count is checked against the bytes that follow before anything is reserved. A
/// good result is well-formed, not yet safe to run: verify::check decides that. Accepts only what `write` would have
/// written, so write(read(x)) == x.
[[nodiscard]] Result<Program> read(std::span<const std::byte> bytes);
/// The same; a failure begins with the name.
[[nodiscard]] Result<Program> read(std::span<const std::byte> bytes, std::string_view name);

}  // namespace stopbit::image
