#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "decoder/record/text.hpp"
#include "host/analyse/check_host/check.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"

namespace stopbit::tools {
namespace {

struct CheckHostArguments {
  std::vector<std::string> interfaces;
  bool no_dpdk = false;
  bool json = false;
};

std::string_view state_text(check::State state) {
  switch (state) {
    case check::State::Good: return "good";
    case check::State::Change: return "change";
    case check::State::Unknown: return "unknown";
  }
  return {};
}

std::string to_json(const std::vector<check::Finding>& findings) {
  std::string text = "[";
  for (const check::Finding& finding : findings) {
    text += text.size() > 1 ? ",\n {" : "\n {";
    const auto member = [&text](std::string_view key, std::string_view value, bool last = false) {
      text += fmt::format("\"{}\":", key);
      record::append_json_string(text, value, false);
      text += last ? "}" : ",";
    };
    member("name", finding.name);
    member("state", state_text(finding.state));
    member("found", finding.found);
    member("wanted", finding.wanted);
    member("why", finding.why);
    member("how", finding.how, true);
  }
  return text + "\n]\n";
}

std::string to_text(const std::vector<check::Finding>& findings) {
  std::string text;
  for (const check::Finding& finding : findings) {
    const std::string found = finding.state == check::State::Unknown ? "unknown on this machine" : finding.found;
    text += fmt::format("{:<8}{}: {}\n", state_text(finding.state), finding.name, found);
    if (finding.state != check::State::Change) continue;
    text += fmt::format("        wanted: {}\n        why:    {}\n        how:    {}\n", finding.wanted, finding.why,
                        finding.how);
  }
  return text;
}

int check_host(const CheckHostArguments& arguments) {
  check::Options options;
  options.interfaces = arguments.interfaces;
  options.dpdk = !arguments.no_dpdk;
  const std::vector<check::Finding> findings = check::look(options);
  Output out = Output::open("-");
  out.write(arguments.json ? to_json(findings) : to_text(findings));
  out.close();
  const auto changes = std::count_if(findings.begin(), findings.end(), [](const check::Finding& finding) {
    return finding.state == check::State::Change;
  });
  return changes == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command check_host_command() {
  const auto arguments = std::make_shared<CheckHostArguments>();
  return {
      .name = "check-host",
      .summary = "Checks whether this machine is set up for live feeds",
      .description =
          "Checks the settings that cost latency or packets: clock, frequencies and sleep states of the cores, "
          "isolation and interrupts, huge pages, socket limits, rings, filters and NUMA nodes of the network "
          "interfaces, drivers for DPDK. For each setting to change it prints the wanted value, the reason and the "
          "command. It changes nothing and needs no privileges. A setting that cannot be read is reported as unknown.\n"
          "\n"
          "The exit status is 1 if a setting should be changed.",
      .options = {{.names = "--interface",
                   .value = "NAME",
                   .help = "A network interface that receives feeds; may be given several times.",
                   .target = &arguments->interfaces},
                  {.names = "--no-dpdk",
                   .value = "",
                   .help = "Skips the checks that matter to DPDK only.",
                   .target = &arguments->no_dpdk},
                  {.names = "--json", .value = "", .help = "Prints a JSON array.", .target = &arguments->json}},
      .examples = {{"stopbit check-host --interface eth1 --interface eth2",
                    "before you receive lines A and B on two "
                    "interfaces"},
                   {"stopbit check-host --json | jq '.[] | select(.state == \"change\")'", "for a script"}},
      .run = [arguments] { return check_host(*arguments); },
  };
}

}  // namespace stopbit::tools
