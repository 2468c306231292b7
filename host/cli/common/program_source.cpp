#include "host/cli/common/program_source.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <limits>

#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/load.hpp"
#include "templates/compiler.hpp"

namespace stopbit::tools {
namespace {

constexpr templates::FileLimits kDefaultFileLimits;

void set(std::uint32_t& limit, const std::optional<std::uint64_t>& value, std::string_view name, std::uint32_t most) {
  if (!value) return;
  if (*value > most) throw ToolError(kExitUsage, fmt::format("{}: at most {}", name, most));
  limit = static_cast<std::uint32_t>(*value);
}

templates::CompileOptions compile_options(const TemplateArguments& arguments) {
  templates::CompileOptions options;
  options.session_control = arguments.session_control;
  if (arguments.template_id) {
    if (*arguments.template_id > std::numeric_limits<std::uint32_t>::max()) {
      throw ToolError(kExitUsage, "--template-id: must fit in 32 bits");
    }
    options.template_id = static_cast<std::uint32_t>(*arguments.template_id);
  }
  if (arguments.string_capacity) {
    if (*arguments.string_capacity == 0 || *arguments.string_capacity > limits::kMaxStringCapacity) {
      throw ToolError(kExitUsage, fmt::format("--string-capacity: 1 to {} bytes", limits::kMaxStringCapacity));
    }
    options.string_capacity = static_cast<std::uint32_t>(*arguments.string_capacity);
  }
  if (arguments.fields) {
    options.fields = arguments.fields->starts_with('@')
                         ? read_text(arguments.fields->substr(1))
                         : std::make_shared<const SourceBuffer>("--fields", *arguments.fields);
  }
  constexpr templates::FileLimits kMost = templates::kHardFileLimits;
  set(options.limits.file_bytes, arguments.max_file_bytes, "--max-template-bytes", kMost.file_bytes);
  set(options.limits.nesting, arguments.max_nesting, "--max-template-nesting", kMost.nesting);
  set(options.limits.templates, arguments.max_templates, "--max-templates", kMost.templates);
  set(options.limits.fields, arguments.max_fields, "--max-fields", kMost.fields);
  set(options.limits.instructions, arguments.max_instructions, "--max-expanded", kMost.instructions);
  return options;
}

Option limit_option(const char* name, const char* value, std::string_view what, std::uint32_t usual, std::uint32_t most,
                    std::optional<std::uint64_t>& target) {
  const std::string range =
      usual == most ? fmt::format("default and maximum {}", usual) : fmt::format("default {}, at most {}", usual, most);
  return {.names = name,
          .value = value,
          .help = fmt::format("{}; {}. Exceeding it is error T1.", what, range),
          .target = &target,
          .is_limit = true};
}

Option template_id_option(std::optional<std::uint64_t>& target) {
  return {.names = "--template-id",
          .value = "N",
          .help = "Identifier of a file's only template, if the file does not give one.",
          .target = &target};
}

}  // namespace

std::vector<Option> template_options(TemplateArguments& target) {
  constexpr templates::FileLimits kMost = templates::kHardFileLimits;
  return {
      template_id_option(target.template_id),
      {.names = "--session-control",
       .value = "",
       .help = "Adds the messages of the FAST Session Control Protocol 1.1: hello, alert, reset, template "
               "definitions. They are decoded and reported; templates defined by a sender are never compiled.",
       .target = &target.session_control},
      limit_option("--max-template-bytes", "BYTES", "Maximum length of a template file", kDefaultFileLimits.file_bytes,
                   kMost.file_bytes, target.max_file_bytes),
      limit_option("--max-template-nesting", "N",
                   "Maximum nesting of elements in a template file, and of groups, including those in definitions and "
                   "references",
                   kDefaultFileLimits.nesting, kMost.nesting, target.max_nesting),
      limit_option("--max-templates", "N", "Maximum number of templates in all files", kDefaultFileLimits.templates,
                   kMost.templates, target.max_templates),
      limit_option("--max-fields", "N",
                   "Maximum number of fields, groups and references in a template, including the templates it refers "
                   "to",
                   kDefaultFileLimits.fields, kMost.fields, target.max_fields),
      limit_option("--max-expanded", "N", "Likewise, for all templates together", kDefaultFileLimits.instructions,
                   kMost.instructions, target.max_instructions),
  };
}

Option string_capacity_option(std::optional<std::uint64_t>& target) {
  return {
      .names = "--string-capacity",
      .value = "BYTES",
      .help = fmt::format("Maximum length of a string in a dictionary entry; default {}, at most {}. A longer one is "
                          "error X3.",
                          limits::kDefaultStringCapacity, limits::kMaxStringCapacity),
      .target = &target};
}

Option fields_option(std::optional<std::string>& target) {
  return {.names = "--fields",
          .value = "NAME,...",
          .help = "Fields to keep in records, or @FILE with one name per line. Default: all fields.",
          .target = &target,
          .hint = file_hint({})};
}

std::string fields_text() {
  return "Names in --fields are those of the template files. A plain name selects every field of that name. A path, "
         "Template/Name, Sequence/Name or Template/Sequence/Name, selects only the fields in that place; * matches "
         "any name, and a number is the id attribute, as in MDEntries/270. A group or a sequence is stored with all "
         "its fields, unless the list selects only some of them. The name of a length field stores the number of "
         "elements. In a file, # begins a comment.\n"
         "\n"
         "All fields are still decoded, for the dictionary and for errors. A message without a selected field becomes "
         "a record without fields. Such records cannot be encoded again.";
}

Option image_option(std::string& target) {
  return {.names = "",
          .value = "FEED.sbf",
          .help = "The firmware image; - is stdin.",
          .target = &target,
          .hint = file_hint({".sbf"}),
          .required = true};
}

std::vector<Option> program_options(ProgramSource& source) {
  std::vector<Option> options = {
      {.names = "--templates",
       .value = "TEMPLATES.xml",
       .help = "Template files, compiled as one set. All following arguments that end in .xml belong to the list.",
       .target = &source.templates,
       .hint = file_hint({".xml"}),
       .or_next = true,
       .more_suffix = ".xml"},
      {.names = "--firmware",
       .value = "FEED.sbf",
       .help = "A firmware image, made by `stopbit compile` or `stopbit asm`.",
       .target = &source.firmware,
       .hint = file_hint({".sbf"})},
  };
  for (Option& option : template_options(source.compile)) options.push_back(std::move(option));
  return options;
}

Program compile_files(const std::vector<std::string>& paths, const TemplateArguments& arguments) {
  const templates::CompileOptions options = compile_options(arguments);
  std::vector<std::shared_ptr<const SourceBuffer>> sources;
  sources.reserve(paths.size());
  for (const std::string& path : paths) sources.push_back(read_text(path));

  Diagnostics diagnostics;
  std::optional<Program> program = templates::compile(sources, options, diagnostics);
  write_stderr(diagnostics.format());
  if (!program) throw ToolError(kExitRejected, fmt::format("{} error(s) in the templates", diagnostics.errors()));
  return *std::move(program);
}

Program image_from(std::string_view bytes, const std::string& name) {
  Result<Program> program = image::read(as_bytes(bytes), name);
  if (!program) throw ToolError(kExitRejected, program.message());
  return std::move(program).value();
}

Program read_image(const std::string& path) {
  return image_from(read_file(path, limits::kMaxImageBytes), path);
}

void require_verified(const Program& program, const std::string& name) {
  if (const Status safe = verify::require_safe(program, name); !safe) throw ToolError(kExitRejected, safe.message());
}

Program load_program(const ProgramSource& source) {
  if (source.templates.empty() == source.firmware.empty()) {
    throw ToolError(kExitUsage, "give either --templates or --firmware");
  }
  if (!source.templates.empty()) return compile_files(source.templates, source.compile);
  if (source.compile.template_id) throw ToolError(kExitUsage, "--template-id needs --templates");
  if (source.compile.fields) throw ToolError(kExitUsage, "--fields needs --templates");
  if (source.compile.session_control) throw ToolError(kExitUsage, "--session-control needs --templates");
  Program program = read_image(source.firmware);
  require_verified(program, source.firmware);
  return program;
}

record::Schema schema_of(const Program& program) {
  Result<record::Schema> schema = record::Schema::make(program);
  if (!schema) throw ToolError(kExitRejected, schema.message());
  return std::move(schema).value();
}

Option framing_option(std::string& target) {
  std::vector<std::string> choices;
  for (const net::FramingPreset& preset : net::framing_presets()) choices.emplace_back(preset.name);
  choices.emplace_back("custom:");
  return {.names = "--framing",
          .value = "FRAMING",
          .help = "Preamble of the datagrams; see above.",
          .target = &target,
          .hint = open_choice_hint(std::move(choices)),
          .required = true};
}

net::Framing framing_from(const std::string& text) {
  Result<net::Framing> framing = net::parse_framing(text);
  if (!framing) throw ToolError(kExitUsage, "--framing: " + framing.message());
  return std::move(framing).value();
}

Option reset_option(std::string& target) {
  return {.names = "--reset",
          .value = "RULE",
          .help =
              "When the dictionary is reset: before every packet, by templates with the reset attribute, or never. "
              "Default: the framing's rule; template for framing none.",
          .target = &target,
          .hint = choice_hint([] {
            std::vector<std::string> names;
            names.reserve(std::size(kResetRules));
            for (const auto& [name, rule] : kResetRules) names.emplace_back(name);
            return names;
          }())};
}

void set_reset_rule(std::string_view rule, net::Framing& framing) {
  framing.reset = parse_reset_rule(rule).value_or(framing.reset);
}

namespace {
std::string_view reset_text(ResetRule rule) {
  switch (rule) {
    case ResetRule::Packet: return "every packet";
    case ResetRule::Template: return "by templates with the reset attribute";
    case ResetRule::Never: return "never";
  }
  return "";
}
}  // namespace

std::string framing_text() {
  constexpr std::size_t kNameColumns = 8;
  std::string presets;
  for (const net::FramingPreset& preset : net::framing_presets()) {
    const std::string after_name(preset.name.size() <= kNameColumns ? kNameColumns - preset.name.size() + 1 : 0, ' ');
    presets += "  " + std::string(preset.name) + after_name;
    if (after_name.empty()) presets += '\n' + std::string(kNameColumns + 3, ' ');
    presets += std::string(preset.before) + "; ";
    presets += reset_text(net::parse_framing(preset.name).value().reset);
    presets += '\n';
  }
  return "Framings, and when the dictionary is reset:\n" + presets +
         "  custom:KEY=VALUE,...\n"
         "           skip=N                 bytes before the first message\n"
         "           seq=u32be@OFFSET       the sequence number; u16, u32, u64, be or le\n"
         "           len=u16be@OFFSET       length of the data after the preamble, if present\n"
         "           blocks=yes             the data consists of blocks, each with its size\n"
         "           reset=packet           or template, or never\n"
         "\n"
         "With reset by template or never, previous values persist from packet to packet. After an error the packets "
         "of that group are dropped and counted until the next reset, because their values could be wrong.";
}

}  // namespace stopbit::tools
