#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "assembler/assembler.hpp"
#include "host/analyse/profile/profile.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/text.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::tools {
namespace {

struct CompileArguments {
  std::vector<std::string> inputs;
  std::string image;
  std::string listing;
  std::string profile;
  std::optional<std::uint64_t> profile_maps;
  TemplateArguments templates;
};

profile::Profile read_profile(const std::string& path) {
  Result<profile::Profile> read = profile::from_json(read_file(path, profile::kMaxFileBytes));
  if (!read) throw ToolError(kExitRejected, path + ": " + read.message());
  return std::move(read).value();
}

/// Coverage by programs, a line per segment.
std::string coverage_text(const std::vector<profile::Coverage>& rows, const Program& program) {
  const profile::Names names = profile::name_parts(program);
  std::uint64_t maps = 0;
  std::uint64_t covered = 0;
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  std::string out = "      maps  covered  programs  steps  instead of  segment\n";
  for (const profile::Coverage& row : rows) {
    const auto name = names.segments.find(row.segment);
    if (row.maps == 0 || name == names.segments.end()) continue;
    maps += row.maps;
    covered += row.covered;
    const auto steps = [&](double mean) { return row.programs == 0 ? "-" : fmt::format("{:.1f}", mean); };
    out += fmt::format("{:>10}  {:>5.1f} %  {:>8}  {:>5}  {:>10}  {}\n", row.maps, share(row.covered, row.maps),
                       row.programs, steps(row.profile_steps), steps(row.general_steps),
                       plain(profile::name_text(name->second)));
  }
  return out + fmt::format("{:>10}  {:>5.1f} %  together\n", maps, share(covered, maps));
}

/// Adds programs for the profile's frequent maps, and prints how many maps they cover.
void use_profile(const CompileArguments& arguments, Program& program) {
  profile::AddOptions options;
  if (arguments.profile_maps) {
    if (*arguments.profile_maps > limits::kMaxProfileMaps) {
      throw ToolError(kExitUsage, fmt::format("--profile-maps: at most {}", limits::kMaxProfileMaps));
    }
    options.maps = static_cast<std::size_t>(*arguments.profile_maps);
  }
  const profile::Profile profile = read_profile(arguments.profile);
  const bool has_other_layout = profile.layout_hash != layout_hash(program);
  if (has_other_layout && !is_projected(program)) {  // what is stored does not change the maps
    print_stderr("{}: warning: made with other templates; maps that do not fit these templates are ignored\n",
                 arguments.profile);
  }
  const profile::Resolved resolved = profile::resolve(profile, program);
  for (const profile::Name& name : resolved.unknown) {
    print_stderr("{}: warning: the templates have no segment '{}'\n", arguments.profile,
                 plain(profile::name_text(name)));
  }
  const std::size_t general = program.code.size();
  const std::vector<profile::Coverage> rows = profile::add_profiles(program, resolved.counts, options);
  write_stderr(coverage_text(rows, program));
  print_stderr("{} profile programs, {} instructions\n", program.profiles.size(), program.code.size() - general);
}

int compile(const CompileArguments& arguments) {
  if (arguments.image == "-" && arguments.listing == "-") {
    throw ToolError(kExitUsage, "-o and --listing cannot both be stdout");
  }
  if (arguments.profile_maps && arguments.profile.empty()) {
    throw ToolError(kExitUsage, "--profile-maps needs --profile");
  }
  Program program = compile_files(arguments.inputs, arguments.templates);
  if (!arguments.profile.empty()) use_profile(arguments, program);
  require_verified(program, "compiler");  // our own output gets no free pass
  const std::vector<std::byte> image = image::write(program);
  std::vector<std::string> taken = arguments.inputs;
  taken.push_back(arguments.profile);
  if (arguments.templates.fields && arguments.templates.fields->starts_with('@')) {
    taken.push_back(arguments.templates.fields->substr(1));
  }
  if (!arguments.image.empty()) {
    write_file(arguments.image, {reinterpret_cast<const char*>(image.data()), image.size()}, taken);
  }
  if (!arguments.listing.empty()) {
    taken.push_back(arguments.image);
    write_file(arguments.listing, assembler::disassemble(program), taken);
  }
  print_stderr("{} templates, {} instructions, {} dictionary slots, {} bytes of firmware\n", program.templates.size(),
               program.code.size(), program.slots.size(), image.size());
  return kExitDone;
}

}  // namespace

Command compile_command() {
  const auto arguments = std::make_shared<CompileArguments>();
  Command command{
      .name = "compile",
      .summary = "Compiles template files into a firmware image",
      .description =
          "Compiles FAST template files into firmware for the decode engine. Several files are compiled as one set, "
          "so their templates may refer to each other. Every error is reported with file, line and column. Without -o "
          "and --listing the files are only checked.\n"
          "\n"
          "Many feeds send template 120 (FastReset) and few files declare it; the compiler adds it if it is missing.\n"
          "\n" +
          fields_text(),
      .options = {{.names = "",
                   .value = "TEMPLATES.xml",
                   .help = "Template files; - is stdin.",
                   .target = &arguments->inputs,
                   .hint = file_hint({".xml"}),
                   .required = true},
                  {.names = "-o,--output",
                   .value = "FEED.sbf",
                   .help = "Writes the firmware image; - is stdout.",
                   .target = &arguments->image,
                   .hint = file_hint({".sbf"})},
                  {.names = "--listing",
                   .value = "FEED.sbasm",
                   .help = "Writes the assembly listing; - is stdout.",
                   .target = &arguments->listing,
                   .hint = file_hint({".sbasm"})},
                  {.names = "--profile",
                   .value = "FEED.profile.json",
                   .help = "Adds straight-line programs for the presence maps that `stopbit profile` found to be "
                           "frequent. Records and errors stay the same. Prints the coverage on stderr.",
                   .target = &arguments->profile,
                   .hint = file_hint({".json"})},
                  {.names = "--profile-maps",
                   .value = "N",
                   .help = fmt::format("Maximum number of programs per segment; default {}, at most {}.",
                                       profile::AddOptions().maps, limits::kMaxProfileMaps),
                   .target = &arguments->profile_maps},
                  string_capacity_option(arguments->templates.string_capacity),
                  fields_option(arguments->templates.fields)},
      .examples = {{"stopbit compile templates.xml -o feed.sbf", "firmware for `stopbit replay --firmware feed.sbf`"},
                   {"stopbit compile templates.xml --fields SecurityID,MDEntryPx,MDEntrySize -o feed.sbf",
                    "shorter records: only these fields, and the lengths of the sequences they are in"},
                   {"stopbit compile templates.xml --listing -", "shows the program as text"},
                   {"stopbit compile templates.xml --profile feed.profile.json -o feed.sbf",
                    "with programs for frequent presence maps"},
                   {"stopbit compile opra.xml --template-id 1", "checks a file whose only template has no id"}},
      .run = [arguments] { return compile(*arguments); },
  };
  for (Option& option : template_options(arguments->templates)) command.options.push_back(std::move(option));
  return command;
}

}  // namespace stopbit::tools
