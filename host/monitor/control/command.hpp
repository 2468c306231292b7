#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::control {

/// Commands to a running appliance.
struct Command {
  enum class Kind : std::uint8_t {
    Status,   ///< `status`: a JSON object, as `stopbit stat --json` prints.
    Load,     ///< `load IMAGE`: reads its files again; the new image starts between two datagrams, or is refused.
    Freeze,   ///< `freeze`: what was recorded around this moment stays.
    Entitle,  ///< `entitle`: reads the file of entitlements again; they hold from then on, or are refused.
    Publish,  ///< `publish`: reads [[publish]] of the settings again; it holds from then on, or is refused as a whole.
    Stop,     ///< `stop`: ends the appliance in good order.
  };
  Kind kind = Kind::Status;
  std::string image;  ///< Load.
};

inline constexpr std::size_t kMaxCommandBytes = 1'024;

/// Reads a line without its end. Any bytes are fine; the failure says what is legal.
[[nodiscard]] Result<Command> parse_command(std::string_view line);

}  // namespace stopbit::control
