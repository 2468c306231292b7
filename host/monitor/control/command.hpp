#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "microcode/base/result.hpp"

namespace stopbit::control {

/// Commands to a running appliance.
struct Command {
  enum class Kind : std::uint8_t { Status, Load, Rollback, Reload, Freeze, Entitle, Publish, Stop };
  Kind kind = Kind::Status;
  std::string image;  ///< Load, Rollback.
};

/// How a command is written, and what it does.
struct CommandWord {
  std::string_view word;
  std::string_view argument;  ///< Empty: it takes none.
  std::string_view help;
  Command::Kind kind;
};
inline constexpr std::array kCommandWords = {
    CommandWord{"status", "", "prints a JSON object, as `stopbit stat --json` does", Command::Kind::Status},
    CommandWord{"load", "IMAGE",
                "reads the files of an image again; the new image starts between two datagrams, or is refused",
                Command::Kind::Load},
    CommandWord{"rollback", "IMAGE", "brings back the image that ran before the last load; it is still in memory",
                Command::Kind::Rollback},
    CommandWord{"reload", "",
                "reads the settings again, with tokens, certificates and images, applies what can change, and names "
                "what needs a restart",
                Command::Kind::Reload},
    CommandWord{"freeze", "", "keeps what was recorded around this moment", Command::Kind::Freeze},
    CommandWord{"entitle", "", "reads the file of entitlements again; they hold from then on, or are refused",
                Command::Kind::Entitle},
    CommandWord{"publish", "",
                "reads [[publish]] of the settings again; it holds from then on, or is refused as a whole",
                Command::Kind::Publish},
    CommandWord{"stop", "", "ends the appliance in good order", Command::Kind::Stop},
};

/// The word of a kind.
[[nodiscard]] std::string_view word_of(Command::Kind kind) noexcept;

inline constexpr std::size_t kMaxCommandBytes = 1'024;

/// Reads a line without its end. Any bytes are fine; the failure says what is legal.
[[nodiscard]] Result<Command> parse_command(std::string_view line);

}  // namespace stopbit::control
