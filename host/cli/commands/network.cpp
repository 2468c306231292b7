#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <new>
#include <optional>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/signals.hpp"
#include "host/lab/network/result/report.hpp"
#include "host/os/clock.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::tools {
namespace {

struct NetworkArguments {
  std::string settings;
  std::string output = "-";
  std::string svg;
  std::optional<std::uint64_t> seed;
  bool json = false;
  bool check = false;
  bool quiet = false;
};

network::Plan read_network(const NetworkArguments& arguments) {
  Diagnostics diagnostics;
  const config::Document document =
      config::Document::parse(arguments.settings, read_file(arguments.settings, config::kMaxFileBytes), diagnostics);
  std::optional<network::Plan> plan = network::read_plan(document, diagnostics);
  write_stderr(diagnostics.format());
  if (!plan) throw ToolError(kExitRejected, "");
  if (arguments.seed) plan->simulation.seed = plan->traffic.pattern.seed = *arguments.seed;
  if (!plan->traffic.capture.empty() && arguments.settings != "-") {
    const std::string folder = std::filesystem::path(arguments.settings).parent_path().string();
    plan->traffic.capture = config::in_folder(folder, plan->traffic.capture);
  }
  return *std::move(plan);
}

std::unique_ptr<network::Network> make_network(const network::Plan& plan) {
  auto made = network::Network::make(plan);
  if (made) return std::move(made).value();
  Diagnostics diagnostics;
  diagnostics.error(ErrorCode::None, made.failure().place, made.message());
  write_stderr(diagnostics.format());
  throw ToolError(kExitRejected, "");
}

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1U << 20));
}

/// A line on a terminal each second while a run goes on.
class RunProgress {
 public:
  RunProgress(bool is_quiet, double load)
      : is_shown_(!is_quiet && ::isatty(STDERR_FILENO) == 1), load_(load), shown_ns_(os::monotonic_clock_ns()) {}

  bool operator()(network::Cycle cycle, std::uint64_t packets) {
    const std::uint64_t now = os::monotonic_clock_ns();
    if (is_shown_ && now - shown_ns_ >= kNsPerSecond) {
      print_stderr("load {:.4f}: cycle {}, {} packets\n", load_, cycle, packets);
      shown_ns_ = now;
    }
    return !stop_requested();
  }

 private:
  bool is_shown_;
  double load_;
  std::uint64_t shown_ns_;
};

void print_cost(const std::vector<network::RunResult>& results, std::uint64_t took_ns) {
  std::uint64_t events = 0;
  std::uint64_t hops = 0;
  std::uint64_t bytes = 0;
  for (const network::RunResult& result : results) {
    events += result.counts.events;
    hops += result.counts.hops;
    bytes = std::max(bytes, result.packet_bytes);
  }
  const double seconds = static_cast<double>(took_ns) / static_cast<double>(kNsPerSecond);
  print_stderr(
      "took {:.2f} s: {:.2f} million events/s, {:.3f} us for each of {} hops; packets and events took {} of memory\n",
      seconds, static_cast<double>(events) / seconds / 1e6, hops == 0 ? 0 : seconds * 1e6 / static_cast<double>(hops),
      hops, mebibytes(bytes));
}

int run_network(const NetworkArguments& arguments, const network::Plan& plan) {
  const Result<network::TopologySize> size = network::size_of(plan.topology);
  if (!arguments.quiet) {
    print_stderr("{} switches, {} hosts, {} of memory without packets\n", size.value().switches, size.value().hosts,
                 mebibytes(network::memory_of(plan, size.value())));
  }
  const std::unique_ptr<network::Network> network = make_network(plan);
  std::vector<network::RunResult> results;
  if (!arguments.check) {
    const Result<std::vector<network::Datagram>> datagrams = network::datagrams_of(plan);
    if (!datagrams) throw ToolError(kExitRejected, datagrams.message());
    catch_stop_signals();
    const std::vector<double> loads = plan.loads.empty() ? std::vector<double>{plan.traffic.pattern.load} : plan.loads;
    const std::uint64_t begin_ns = os::monotonic_clock_ns();
    for (const double load : loads) {
      std::optional<network::RunResult> result =
          network::run_once(plan, *network, datagrams.value(), load, RunProgress(arguments.quiet, load));
      if (!result) return interrupted_status();
      results.push_back(*std::move(result));
    }
    if (!arguments.quiet) print_cost(results, os::monotonic_clock_ns() - begin_ns);
  }
  std::string text;
  if (arguments.json) {
    for (const network::RunResult& result : results) text += network::report_json(plan, *network, result) + '\n';
  } else {
    text = network::report_text(plan, *network, results);
  }
  write_file(arguments.output, text, {arguments.settings, plan.traffic.capture});
  if (!arguments.svg.empty() && !results.empty()) {
    const std::string drawing = plan.loads.empty() ? network::run_svg(plan, *network, results.front())
                                                   : network::saturation_svg(plan, *network, results);
    write_file(arguments.svg, drawing, {arguments.settings, plan.traffic.capture, arguments.output});
  }
  bool is_complete = arguments.check ? network->cycle().empty() : true;
  for (const network::RunResult& result : results) {
    is_complete = is_complete && result.end != network::End::Deadlock && result.end != network::End::Memory;
  }
  return is_complete ? kExitDone : kExitRejected;
}

int run_network(const NetworkArguments& arguments) {
  if (arguments.check && !arguments.svg.empty()) throw ToolError(kExitUsage, "--svg draws a run, and --check has none");
  const network::Plan plan = read_network(arguments);
  try {
    return run_network(arguments, plan);
  } catch (const std::bad_alloc&) {  // the limit of the settings is more than this machine gives
    throw ToolError(kExitEnvironment,
                    fmt::format("not enough memory: this network needs {} without packets; use a smaller one",
                                mebibytes(network::memory_of(plan, network::size_of(plan.topology).value()))));
  }
}

}  // namespace

Command network_command() {
  const auto arguments = std::make_shared<NetworkArguments>();
  return {
      .name = "network",
      .summary = "Simulates a network of switches and reports latency, throughput, link loads and deadlocks",
      .description =
          "Simulates switches with virtual output queues, virtual channels and credits, their links and hosts, "
          "event by event. The same settings and seed give the same output.\n"
          "\n"
          "Settings are TOML; every key but those of [topology] has a default. stopbit-network.toml(5) explains them, "
          "and "
          "`stopbit config print --defaults network` writes a file to begin with.\n"
          "\n"
          "The exit status is 1 if the settings are wrong, if a deadlock ended a run, or if packets needed more "
          "memory than the limit of 8 GiB; with --check also if routes can deadlock.",
      .options =
          {{.names = "",
            .value = "SIM.toml",
            .help = "Settings; - is stdin.",
            .target = &arguments->settings,
            .hint = file_hint({".toml"}),
            .required = true},
           {.names = "-o,--output",
            .value = "FILE",
            .help = "Output file; - is stdout, the default.",
            .target = &arguments->output,
            .hint = file_hint()},
           {.names = "--svg",
            .value = "FILE",
            .help = "Also draws the latency and the load of each link; of a [sweep], latency and accepted load.",
            .target = &arguments->svg,
            .hint = file_hint({".svg"})},
           {.names = "--json",
            .value = "",
            .help = "Writes a JSON line for each run, with histograms and the load of each link.",
            .target = &arguments->json},
           {.names = "--seed", .value = "N", .help = "Overrides the seed of the settings.", .target = &arguments->seed},
           {.names = "--check",
            .value = "",
            .help = "Only checks settings and routes; nothing is simulated.",
            .target = &arguments->check},
           {.names = "-q,--quiet",
            .value = "",
            .help = "Prints neither progress nor memory on stderr.",
            .target = &arguments->quiet}},
      .examples = {{"stopbit network torus.toml", "one run as text"},
                   {"stopbit network torus.toml --check", "can its routes deadlock?"},
                   {"stopbit network sweep.toml --svg saturation.svg", "a run for each load, and a drawing"},
                   {"stopbit network torus.toml --seed 7 --json | jq .latency", "another seed, for a program"}},
      .run = [arguments] { return run_network(*arguments); },
  };
}

}  // namespace stopbit::tools
