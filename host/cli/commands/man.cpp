#include <memory>

#include "host/cli/common/command.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"

namespace stopbit::tools {

Command man_command() {
  const auto folder = std::make_shared<std::string>();
  return {
      .name = "man",
      .summary = "Writes the manual pages into a folder",
      .description = "Writes stopbit.1 and a page for each command, stopbit-COMMAND.1, from the same texts as --help.",
      .options = {{.names = "",
                   .value = "FOLDER",
                   .help = "An existing folder, for example man1 in a folder of your MANPATH.",
                   .target = folder.get(),
                   .hint = folder_hint(),
                   .required = true}},
      .examples = {{"stopbit man /usr/local/share/man/man1", "then `man stopbit-replay` works"}},
      .run =
          [folder] {
            write_file(*folder + "/stopbit.1", overview_man_page());
            for (const Command& command : commands()) {
              write_file(*folder + "/stopbit-" + command.name + ".1", man_page(command));
            }
            return kExitDone;
          },
  };
}

}  // namespace stopbit::tools
