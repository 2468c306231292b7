#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/record/schema.hpp"
#include "host/cli/common/command.hpp"
#include "host/feed/framing/framing.hpp"
#include "microcode/program.hpp"

/// Shared by the commands that decode: where the program comes from, and the framing.
namespace stopbit::tools {

/// How template files are compiled.
struct TemplateArguments {
  std::optional<std::uint64_t> template_id;
  bool session_control = false;
  std::optional<std::uint64_t> string_capacity;
  std::optional<std::string> fields;  ///< Content of records: names, or @ and a file of names; none: everything.
  std::optional<std::uint64_t> max_file_bytes;
  std::optional<std::uint64_t> max_nesting;
  std::optional<std::uint64_t> max_templates;
  std::optional<std::uint64_t> max_fields;
  std::optional<std::uint64_t> max_instructions;
};

struct ProgramSource {
  std::vector<std::string> templates;
  std::string firmware;
  TemplateArguments compile;
};

/// --templates, --firmware, and those of template_options. `source` must outlive the options.
[[nodiscard]] std::vector<Option> program_options(ProgramSource& source);
/// --template-id, --session-control, and what template files may ask for. `target` must outlive the options.
[[nodiscard]] std::vector<Option> template_options(TemplateArguments& target);
[[nodiscard]] Option string_capacity_option(std::optional<std::uint64_t>& target);
/// --fields. For commands whose records people want to have smaller.
[[nodiscard]] Option fields_option(std::optional<std::string>& target);
/// A paragraph for the description of a command with --fields.
[[nodiscard]] std::string fields_text();

/// Compiles template files as one set; prints errors and warnings to stderr.
[[nodiscard]] Program compile_files(const std::vector<std::string>& paths, const TemplateArguments& arguments);

/// A well-formed image, not verified. `name` is what the message of an error begins with.
[[nodiscard]] Program image_from(std::string_view bytes, const std::string& name);
[[nodiscard]] Program read_image(const std::string& path);

/// Throws unless the program is safe to run. `name` is what the message begins with.
void require_verified(const Program& program, const std::string& name);

/// A verified program from whatever `source` names.
[[nodiscard]] Program load_program(const ProgramSource& source);

/// The part of the program that readers of its records need, which must outlive the schema.
[[nodiscard]] record::Schema schema_of(const Program& program);

/// The image a command reads: its argument without a name.
[[nodiscard]] Option image_option(std::string& target);

[[nodiscard]] Option framing_option(std::string& target);
[[nodiscard]] net::Framing framing_from(const std::string& text);
/// --reset: the framing's rule, replaced.
[[nodiscard]] Option reset_option(std::string& target);
/// `rule` is the option's value; empty leaves the framing's own.
void set_reset_rule(std::string_view rule, net::Framing& framing);
/// Paragraphs for the description of a command with --framing.
[[nodiscard]] std::string framing_text();

}  // namespace stopbit::tools
