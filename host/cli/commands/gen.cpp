#include <memory>

#include "decoder/record/json.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/feed_source.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/market/event/sbe.hpp"
#include "host/market/event/schema.hpp"
#include "templates/emit/c/c_view.hpp"
#include "templates/emit/cpp/cpp_view.hpp"
#include "templates/emit/cpp/identifiers.hpp"
#include "templates/emit/python/python_view.hpp"
#include "templates/emit/schema/json_schema.hpp"

namespace stopbit::tools {
namespace {

struct GenArguments {
  std::string what;
  ProgramSource program;
  FeedArguments feed;
  std::string output = "-";
  std::optional<std::string> name_space;
  bool market = false;
  bool sbe = false;
};

Program program_of(const GenArguments& arguments) {
  if (!arguments.feed.is_given()) return load_program(arguments.program);
  refuse_beside_feed(arguments.program, "", "");
  return load_program(feed_part(load_feed(arguments.feed.feed), arguments.feed, arguments.program.compile).program);
}

std::string generate(const GenArguments& arguments) {
  if (arguments.market || arguments.sbe) {
    const std::string option = arguments.sbe ? "--sbe" : "--market";
    if (arguments.market && arguments.sbe) throw ToolError(kExitUsage, "--market and --sbe: give one");
    if (arguments.what != "schema" || arguments.name_space) throw ToolError(kExitUsage, option + " is for schema");
    if (!arguments.program.templates.empty() || !arguments.program.firmware.empty() || arguments.feed.is_given()) {
      throw ToolError(kExitUsage, option + ": market events are the same for every feed; give no templates");
    }
    return arguments.sbe ? market::sbe_schema() : market::market_schema();
  }
  if (arguments.what == "schema") {
    if (arguments.name_space) throw ToolError(kExitUsage, "--namespace needs cpp or c");
    return emit::json_schema(program_of(arguments));
  }
  const Program program = program_of(arguments);
  if (arguments.what == "python") {
    if (arguments.name_space)
      throw ToolError(kExitUsage, "--namespace needs cpp or c; the name of a module is its file's");
    const record::Schema schema = schema_of(program);
    return emit::python_view(program, record::json_keys(schema));
  }
  emit::CppOptions options;
  if (arguments.name_space) options.name_space = *arguments.name_space;
  if (arguments.what == "c") {
    if (emit::identifier(options.name_space) != options.name_space) {
      throw ToolError(kExitUsage, "--namespace: '" + options.name_space + "' is not a C identifier");
    }
    return emit::c_view(program, options.name_space);
  }
  if (!emit::is_namespace(options.name_space)) {
    throw ToolError(kExitUsage, "--namespace: '" + options.name_space + "' is not a C++ namespace");
  }
  return emit::cpp_view(program, options);
}

int gen(const GenArguments& arguments) {
  const std::string text = generate(arguments);
  std::vector<std::string> inputs = arguments.program.templates;
  if (arguments.feed.is_given()) inputs.push_back(arguments.feed.feed);
  if (!arguments.program.firmware.empty()) inputs.push_back(arguments.program.firmware);
  write_file(arguments.output, text, inputs);
  return kExitDone;
}

}  // namespace

Command gen_command() {
  const auto arguments = std::make_shared<GenArguments>();
  std::vector<Option> options = {
      {.names = "",
       .value = "WHAT",
       .help =
           "cpp, c: a header with typed views of the records. python: a module with typed columns. schema: the JSON "
           "schema of the lines.",
       .target = &arguments->what,
       .hint = choice_hint({"cpp", "c", "python", "schema"}),
       .required = true}};
  for (Option& option : program_or_feed_options(arguments->program, arguments->feed))
    options.push_back(std::move(option));
  options.push_back(fields_option(arguments->program.compile.fields));
  options.back().help += " Needs --templates; see `stopbit compile --help`.";
  const std::vector<Option> more = {
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Output file; - is stdout, the default.",
       .target = &arguments->output,
       .hint = file_hint()},
      {.names = "--market",
       .value = "",
       .help = "With schema: of the lines of market events, books and instruments, which "
               "are the same for every feed.",
       .target = &arguments->market},
      {.names = "--sbe",
       .value = "",
       .help = "With schema: the XML schema of market events in FIX Simple Binary "
               "Encoding, as --format sbe writes them.",
       .target = &arguments->sbe},
      {.names = "--namespace",
       .value = "NAME",
       .help = "Namespace of the C++ header, for instance a::b, or the beginning of every name of the C "
               "header; default feed.",
       .target = &arguments->name_space}};
  options.insert(options.end(), more.begin(), more.end());
  return {
      .name = "gen",
      .summary = "Generates typed views of the records of a feed in C++, C or Python, or the JSON schema of its lines",
      .description =
          "gen cpp writes a C++20 header with a view per template, whose accessors read a record at constant offsets. "
          "The header needs the headers of decoder/record and no library. A view knows its layout: it rejects a ring "
          "with another layout, and checks records before it reads them.\n"
          "\n"
          "gen c writes the same as a C99 header, for programs that use the C library: accessors are inline functions, "
          "which trust a record that stopbit_record_check has accepted. gen python writes a module with a dataclass "
          "for "
          "each template and sequence, whose attributes are the numpy arrays of stopbit.columns().\n"
          "\n"
          "gen schema writes the JSON schema (2020-12) of the lines that replay, decode and tail print: every "
          "template, errors and events. gen schema --market writes that of the lines of `replay --events`, `book` and "
          "`instruments`, gen schema --sbe the XML schema of the messages of --format sbe; they need no templates.",
      .options = std::move(options),
      .examples = {{"stopbit gen cpp --firmware feed.sbf -o feed.hpp", "namespace feed, in feed.hpp"},
                   {"stopbit gen cpp --templates cme.xml --namespace cme::mdp -o cme.hpp",
                    "straight from the template file"},
                   {"stopbit gen cpp --feed feed.toml --channel 310 -o feed.hpp", "of the image of a channel"},
                   {"stopbit gen c --firmware feed.sbf -o feed.h", "names begin with feed_"},
                   {"stopbit gen python --firmware feed.sbf -o feed.py", "`import feed` in a notebook"},
                   {"stopbit gen schema --firmware feed.sbf -o feed.schema.json", "for a validator of JSON"},
                   {"stopbit gen schema --market -o market.schema.json", "of events and books"},
                   {"stopbit gen schema --sbe -o market.xml", "for a decoder of SBE"}},
      .run = [arguments] { return gen(*arguments); },
  };
}

}  // namespace stopbit::tools
