#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "fpga/sim/engines/engines_bench.hpp"
#include "tests/lib/workloads/workload.hpp"

/// Prints what four channels of a feed take with one, two and four decode cores: stopbit_rtl_engines [DATAGRAMS
/// [WORKLOAD]]. Then how many bytes wait in front of the cores when the channels come at 10 Gbit/s without a pause, at
/// some clocks. The records are compared with the interpreter's first.
namespace stopbit::sim {
namespace {

constexpr std::array<std::uint64_t, 3> kClocks = {70, 105, 200};  // MHz
constexpr std::size_t kChannels = 4;
constexpr std::size_t kLineOverhead = 66;  // preamble, Ethernet, IPv4, UDP, FCS, gap
constexpr std::size_t kLeastLine = 84;     // a frame of 64 bytes

/// The channels take turns; each plays the workload from its beginning. `cores`: how many of them are used.
std::vector<Arriving> turns(const bench::Workload& work, std::size_t count, std::size_t cores, std::uint64_t mhz,
                            std::uint64_t& line_bytes) {
  std::vector<Arriving> out;
  line_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t of = i / kChannels % work.datagrams.size();
    const std::size_t turn = i % kChannels;
    Arriving one{{work.datagram(of), work.datagrams[of].info}};
    one.datagram.info.channel = static_cast<std::uint16_t>(turn % cores + 4 * (turn / cores));
    one.datagram.info.number = i + 1;
    line_bytes += std::max(one.datagram.bytes.size() + kLineOverhead, kLeastLine);
    one.at = line_bytes * 8 * mhz / 10'000;
    out.push_back(one);
  }
  return out;
}

bool print(const bench::Workload& work, std::size_t count) {
  for (const std::size_t cores : {1U, 2U, 4U}) {
    std::uint64_t line_bytes = 0;
    const std::vector<Arriving> datagrams = turns(work, count, cores, 0, line_bytes);
    std::vector<Datagram> plain;
    std::uint64_t bytes = 0;
    for (const Arriving& one : datagrams) {
      plain.push_back(one.datagram);
      bytes += one.datagram.bytes.size();
    }
    Reference reference(work.program, work.options);
    const std::vector<Record> wanted = reference.decode(plain);
    EnginesFigures figures;
    std::string text;
    for (const std::uint64_t mhz : {std::uint64_t{0}, kClocks[0], kClocks[1], kClocks[2]}) {
      EnginesFigures paced;
      EnginesBench bench(work.program, work.options, {});
      const std::vector<Arriving> at_line = turns(work, count, cores, mhz, line_bytes);
      const std::string wrong = difference_by_channel(wanted, bench.run(at_line, paced));
      if (!wrong.empty()) {
        std::fputs(fmt::format("{}: {}\n", work.name, wrong).c_str(), stderr);
        return false;
      }
      if (mhz == 0) figures = paced;
      if (mhz != 0) text += fmt::format(" {:10}", paced.most_waiting);
    }
    const auto cycles = static_cast<double>(figures.cycles);
    std::size_t slots = 0;
    for (const Record& record : wanted) slots += record.size();
    const std::string a_value =
        reference.fields() == 0 ? "-" : fmt::format("{:.3f}", cycles / static_cast<double>(reference.fields()));
    fmt::print("{:24} {:5} {:8} {:>8} {:8.2f} {:8.2f} {:8.0f} {}\n", work.name, cores, count, a_value,
               static_cast<double>(bytes) / cycles, static_cast<double>(slots) / cycles,
               cycles / (static_cast<double>(line_bytes) * 8 / 10'000), text);
    std::fflush(stdout);
  }
  return true;
}

int run(std::size_t count, std::string_view only) {
  fmt::print("{:24} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8}  {:^32}\n", "", "cores", "data-", "cycles a", "bytes a",
             "slots a", "MHz for", "most bytes that wait at");
  fmt::print("{:24} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} ", "", "", "grams", "value", "cycle", "cycle", "10 Gbit");
  for (const std::uint64_t mhz : kClocks) fmt::print(" {:>6} MHz", mhz);
  fmt::print("\n");
  int status = 0;
  for (const bench::WorkloadSource& source : bench::workload_sources()) {
    if (!only.empty() && source.name != only) continue;
    const auto work = source.make();
    if (!work.ok()) {
      std::fputs(fmt::format("{}: {}\n", source.name, work.message()).c_str(), stderr);
      status = 1;
      continue;
    }
    work.value()->options.channels = 4 * (kChannels - 1) + 1;
    const std::vector<std::string> reasons = firmware::obstacles(work.value()->program, work.value()->options);
    if (!reasons.empty()) {
      fmt::print("{:24} not run by the device: {}\n", source.name, reasons.front());
      continue;
    }
    if (!print(*work.value(), count)) status = 1;
  }
  return status;
}

}  // namespace
}  // namespace stopbit::sim

int main(int argc, char** argv) {
  char* end = nullptr;
  const unsigned long count = argc >= 2 ? std::strtoul(argv[1], &end, 10) : 2'000;
  if (argc > 3 || (argc >= 2 && (end == argv[1] || *end != '\0' || count == 0))) {
    std::fputs("usage: stopbit_rtl_engines [DATAGRAMS [WORKLOAD]]\n", stderr);
    return 2;
  }
  try {
    return stopbit::sim::run(count, argc == 3 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::fputs(fmt::format("stopbit_rtl_engines: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
