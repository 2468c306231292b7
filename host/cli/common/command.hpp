#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The parts of the `stopbit` command. Each subcommand describes itself by one table of options; parsing, help, manual
/// pages and shell completion all come from that table.
namespace stopbit::tools {

inline constexpr int kExitDone = 0;
inline constexpr int kExitRejected = 1;     ///< The input is wrong: template, assembly, image, packet.
inline constexpr int kExitUsage = 2;        ///< The command line is wrong.
inline constexpr int kExitEnvironment = 3;  ///< A file that cannot be read, a full disk, no shared memory.

inline constexpr int kExitInterrupted = 130;  ///< 128 and SIGINT; SIGTERM makes it 143. See signals.hpp.

/// Ends the command: main prints the message, if there is one, and exits with the status. Only tools throw it;
/// libraries return their errors.
class ToolError : public std::runtime_error {
 public:
  ToolError(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

/// The kind of a value, so that a shell can complete it.
struct Hint {
  enum class Kind : std::uint8_t { None, File, Folder, Choice, Command };
  Kind kind = Kind::None;
  std::vector<std::string> words;  ///< Choice: the values. File: suffixes, none = any file. Command: of stopbit, which
                                   ///< prints the values.
  bool open = false;               ///< Choice: other values are legal too.
};
[[nodiscard]] Hint file_hint(std::vector<std::string> suffixes = {});
[[nodiscard]] Hint folder_hint();
[[nodiscard]] Hint choice_hint(std::vector<std::string> choices);
[[nodiscard]] Hint open_choice_hint(std::vector<std::string> choices);
/// Names of rings, and of appliances, that this machine has when the shell completes.
[[nodiscard]] Hint ring_hint();
[[nodiscard]] Hint appliance_hint();

/// Where the value goes. A vector takes one value each time the option is given, or all remaining arguments.
using Target = std::variant<bool*, std::string*, std::optional<std::string>*, std::optional<std::uint64_t>*,
                            std::vector<std::string>*>;

/// An option, or an argument without a name.
struct Option {
  std::string names;  ///< "-o,--output"; empty for an argument.
  std::string value;  ///< "FILE"; empty for a flag.
  std::string help;   ///< Sentences, without markup.
  Target target;
  Hint hint = {};
  bool required = false;
  bool or_next = false;          ///< This option or the next one has to be given; the command checks it.
  bool is_limit = false;         ///< Shown by --help-limits, not by --help.
  std::string more_suffix = {};  ///< The option also takes the arguments that follow its value and end in this.

  [[nodiscard]] bool is_argument() const noexcept { return names.empty(); }
  [[nodiscard]] bool is_flag() const noexcept { return value.empty(); }
  [[nodiscard]] bool repeats() const noexcept { return std::holds_alternative<std::vector<std::string>*>(target); }
  [[nodiscard]] std::vector<std::string> name_list() const;  ///< "-o", "--output".
};

struct Example {
  std::string command;
  std::string what;
};

struct Command {
  std::string name;
  std::string summary;          ///< One line without a full stop.
  std::string description;      ///< Paragraphs, separated by empty lines.
  std::vector<Option> options;  ///< Arguments first. --help is added to every command.
  std::vector<Example> examples;
  std::function<int()> run;  ///< Gives the exit status. Owns the targets of the options.
  /// Work without an end: SIGINT and SIGTERM end it in good order. Elsewhere they leave the work undone.
  bool runs_until_stopped = false;
};

/// All commands in the order of the help.
[[nodiscard]] const std::vector<Command>& commands();
/// Null if there is none.
[[nodiscard]] const Command* find_command(std::string_view name);

/// Whether some of its options are shown by --help-limits only.
[[nodiscard]] bool has_limits(const Command& command);

/// Fills the targets. Throws a ToolError of kExitUsage. @returns false if help was requested.
[[nodiscard]] bool parse_arguments(const Command& command, std::vector<std::string> arguments);

/// The commit from which the program was built; main knows it.
void set_program_commit(std::string_view commit) noexcept;
[[nodiscard]] std::string_view program_commit() noexcept;
/// "stopbit 1.2.3 (0123456789ab)"; no brackets if the commit is empty, that is unknown.
[[nodiscard]] std::string version_text(std::string_view commit);
/// "stopbit tail RING [--wait]"; what may be left out is [OPTION]... if it is much.
[[nodiscard]] std::string usage_line(const Command& command);
[[nodiscard]] std::string overview_text();
[[nodiscard]] std::string help_text(const Command& command);
/// What --help-limits prints.
[[nodiscard]] std::string limits_text(const Command& command);
/// The manual page stopbit(1), and those of the commands, stopbit-NAME(1), in roff.
[[nodiscard]] std::string overview_man_page();
[[nodiscard]] std::string man_page(const Command& command);

/// Completion script; empty for a shell that is not known.
[[nodiscard]] std::string completion_script(std::string_view shell);

}  // namespace stopbit::tools
