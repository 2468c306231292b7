#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workloads/workload.hpp"
#include "fpga/firmware/device.hpp"
#include "fpga/sim/cosim/core.hpp"

/// Prints what the decode core needs for the bundled sample, the generated workloads and the captures of
/// STOPBIT_CORPUS: stopbit_rtl_cycles [DATAGRAMS], so many of each (default 2000). Records are compared with the
/// interpreter's first: figures of a core that decodes wrong are not printed.
namespace stopbit::sim {
namespace {

constexpr std::size_t kAlone = 50;  ///< Datagrams that are measured one by one.

/// False if it decodes wrong.
bool print_figures(const bench::Workload& work, std::size_t most, std::uint32_t stall) {
  std::vector<Datagram> datagrams;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < std::min(most, work.datagrams.size()); ++i) {
    datagrams.push_back({work.datagram(i), work.datagrams[i].info});
    bytes += datagrams.back().bytes.size();
  }
  const CoreOptions options{.seed = 1, .input_stall = stall, .output_stall = stall};
  Reference reference(work.program, work.options);
  CoreFigures figures;
  {
    Core core(work.program, work.options, options);
    const std::string wrong = difference(reference.decode(datagrams), core.decode(datagrams));
    if (!wrong.empty()) {
      std::fputs(fmt::format("{}: {}\n", work.name, wrong).c_str(), stderr);
      return false;
    }
    figures = core.figures();
  }

  // Datagrams by themselves: from the beat that goes in first to the slot that comes out last.
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most_cycles = 0;
  std::uint64_t sum = 0;
  Core alone(work.program, work.options, options);  // one model at a time: Verilator's run-time library wants it so
  const std::size_t singles = std::min(kAlone, datagrams.size());
  for (std::size_t i = 0; i < singles; ++i) {
    const std::uint64_t before = alone.figures().cycles;
    if (alone.decode(std::span(datagrams).subspan(i, 1)).empty() && !datagrams[i].bytes.empty()) continue;
    const std::uint64_t cycles = alone.figures().cycles - before;
    least = std::min(least, cycles);
    most_cycles = std::max(most_cycles, cycles);
    sum += cycles;
  }

  const auto cycles = static_cast<double>(figures.cycles);
  const auto per = [&](std::uint64_t count) { return count == 0 ? 0.0 : cycles / static_cast<double>(count); };
  fmt::print("{:24} {:3} % {:8} {:8} {:10.2f} {:8.3f} {:8.3f} {:8.3f} {:8.2f} {:6} {:8.1f} {:6}\n", work.name, stall,
             datagrams.size(), reference.messages(), per(reference.messages()), per(reference.fields()),
             per(reference.words()), per(figures.instructions), static_cast<double>(bytes) / cycles, least,
             static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(1, singles)), most_cycles);
  return true;
}

int run(std::size_t datagrams) {
  fmt::print("{:24} {:>5} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:^22}\n", "", "stall", "data-", "messages",
             "cycles per", "per", "per", "per in-", "bytes", "a datagram alone:");
  fmt::print("{:24} {:>5} {:>8} {:>8} {:>10} {:>8} {:>8} {:>8} {:>8} {:>6} {:>8} {:>6}\n", "", "", "grams", "",
             "message", "value", "word", "struction", "a cycle", "least", "mean", "most");
  int status = 0;
  for (const bench::WorkloadSource& source : bench::workload_sources()) {
    const auto work = source.make();
    if (!work.ok()) {
      std::fputs(fmt::format("{}: {}\n", source.name, work.message()).c_str(), stderr);
      status = 1;
      continue;
    }
    const std::vector<std::string> reasons = firmware::obstacles(work.value()->program, work.value()->options);
    if (!reasons.empty()) {
      fmt::print("{:24} not run by the device: {}\n", source.name, reasons.front());
      continue;
    }
    std::fflush(stdout);
    for (const std::uint32_t stall : {0U, 50U}) {
      if (!print_figures(*work.value(), datagrams, stall)) status = 1;
    }
  }
  return status;
}

}  // namespace
}  // namespace stopbit::sim

int main(int argc, char** argv) {
  const std::string_view help = "usage: stopbit_rtl_cycles [DATAGRAMS]\n";
  char* end = nullptr;
  const unsigned long datagrams = argc == 2 ? std::strtoul(argv[1], &end, 10) : 2'000;
  if (argc > 2 || (argc == 2 && (end == argv[1] || *end != '\0' || datagrams == 0))) {
    std::fputs(help.data(), stderr);
    return 2;
  }
  try {
    return stopbit::sim::run(datagrams);
  } catch (const std::exception& error) {
    std::fputs(fmt::format("stopbit_rtl_cycles: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
