#include "bench/lib/arguments.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace stopbit::bench {
namespace {

constexpr int kUsage = 2;

}  // namespace

Arguments read_arguments(int argc, char** argv, const std::string& about) {
  Arguments arguments;
  std::string filter;
  CLI::App app(about);
  app.add_option("--json", arguments.json, "Write the figures as JSON to this file (-: stdout)");
  app.add_option("--filter", filter, "Only workloads whose name has a match of this regular expression");
  app.add_option("--pace", arguments.pace_ns, "The best pace that an earlier program of this run has seen, in ns")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--quick", arguments.quick, "A few repetitions, to see that it runs");
  try {
    app.parse(argc, argv);
    if (!filter.empty()) arguments.workloads.emplace(filter);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? EXIT_SUCCESS : kUsage);
  } catch (const std::regex_error& error) {
    std::fprintf(stderr, "--filter: %s\n", error.what());
    std::exit(kUsage);
  }
  return arguments;
}

}  // namespace stopbit::bench
