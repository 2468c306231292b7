#pragma once

#include "host/cli/common/command.hpp"

/// One function per command, each in a file of its own: the rows of commands.def.
namespace stopbit::tools {

#define STOPBIT_COMMAND(name) [[nodiscard]] Command name##_command();
#include "host/cli/common/commands.def"
#undef STOPBIT_COMMAND

}  // namespace stopbit::tools
