#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/hex_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/signals.hpp"

namespace stopbit::tools {
namespace {

struct DecodeArguments {
  std::string input = "-";
  ProgramSource program;
  std::string framing = "none";
  std::string reset;
  std::string format = "jsonl";
  StyleArguments style;
  std::string engine;
  EngineArguments engine_arguments;
};

int decode(const DecodeArguments& arguments) {
  const PrintStyle style = style_from(format_from(arguments.format), arguments.style);
  replay::Options options;
  options.framing = framing_from(arguments.framing);
  set_reset_rule(arguments.reset, options.framing);
  apply(arguments.engine_arguments, options);

  const Program program = load_program(arguments.program);
  const record::Schema schema = schema_of(program);
  const std::unique_ptr<Engine> engine = engine_for(arguments.engine, program, options, false);
  check_table(style, {&schema, 1});
  RecordPrinter printer(schema, style, Output::open("-"));

  Sources sources;
  auto lines = std::make_unique<HexSource>(InputFile::open(arguments.input), [&printer] { printer.flush(); });
  const HexSource& hex = *lines;
  sources.push_back(std::move(lines));

  catch_stop_signals();
  const replay::Summary summary =
      run_pipeline({.program = program, .engine = *engine, .options = std::move(options), .output = &printer}, sources);
  printer.finish();
  hex.rethrow_error();
  for (const std::string& message : summary.session) print_stderr("session control: {}\n", message);
  print_problems(summary);
  return summary.error_count() == 0 && hex.bad_lines() == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command decode_command() {
  const auto arguments = std::make_shared<DecodeArguments>();
  std::vector<Option> options = {{.names = "",
                                  .value = "FILE",
                                  .help = "The datagrams; - is stdin, the default.",
                                  .target = &arguments->input,
                                  .hint = file_hint()}};
  for (Option& option : program_options(arguments->program)) options.push_back(std::move(option));
  options.push_back(fields_option(arguments->program.compile.fields));
  options.back().help += " Needs --templates; see `stopbit compile --help`.";
  Option framing = framing_option(arguments->framing);
  framing.required = false;
  framing.help += " Default none.";
  options.push_back(std::move(framing));
  options.push_back(reset_option(arguments->reset));
  options.push_back(engine_option(arguments->engine));
  options.push_back(format_option(arguments->format, "Output format. Default jsonl."));
  for (Option& option : style_options(arguments->style)) options.push_back(std::move(option));
  for (Option& option : engine_options(arguments->engine_arguments)) options.push_back(std::move(option));
  return {
      .name = "decode",
      .summary = "Decodes datagrams written in hex",
      .description =
          "Decodes datagrams written in hex, one per line. Blanks between bytes, empty lines, and comments that start "
          "with # are ignored. Messages and errors are printed as by `stopbit replay`. A line that is not hex is "
          "reported on stderr with line and column; decoding continues with the next line.\n"
          "\n"
          "The exit status is 1 if a datagram could not be decoded.\n"
          "\n" +
          framing_text() + "\n\n" + format_text(),
      .options = std::move(options),
      .examples = {{"echo 'e0 81 81 82 83' | stopbit decode --templates tests/data/sample/templates.xml",
                    "one datagram from stdin"},
                   {"stopbit decode messages.hex --firmware feed.sbf --reset packet",
                    "resets the dictionary before "
                    "each line"}},
      .run = [arguments] { return decode(*arguments); },
  };
}

}  // namespace stopbit::tools
