#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "fpga/sim/cosim/core.hpp"
#include "host/analyse/profile/counter.hpp"
#include "host/analyse/profile/profile.hpp"
#include "host/device/firmware/device.hpp"
#include "microcode/profile/add.hpp"
#include "tests/lib/workloads/workload.hpp"

/// Prints what the decode core needs for the bundled sample, the generated workloads and the captures of
/// STOPBIT_CORPUS: stopbit_rtl_cycles [DATAGRAMS [WORKLOAD]], that number of each (default 2000) or of one; then the
/// latency of two messages. Records are compared with the interpreter's first: figures of a core that decodes wrong are
/// not printed.
namespace stopbit::sim {
namespace {

constexpr std::size_t kAlone = 50;  ///< Datagrams that are measured one by one.

/// How the core runs.
struct Way {
  std::string_view name;
  std::uint32_t stall = 0;  ///< Percent of cycles, of both sides.
  bool pairs = true;
  bool profiles = false;
};
constexpr Way kWays[] = {
    {.name = "pairs"},
    {.name = "pairs, profiles", .profiles = true},
    {.name = "single", .pairs = false},
    {.name = "pairs", .stall = 50},
    {.name = "pairs, profiles", .stall = 50, .profiles = true},
};

/// The datagrams of a workload that are measured.
struct Part {
  std::vector<Datagram> datagrams;
  std::size_t bytes = 0;
};

std::uint64_t leaves(const nlohmann::json& value) {
  if (!value.is_structured()) return 1;
  return std::transform_reduce(value.begin(), value.end(), std::uint64_t{0}, std::plus<>(), leaves);
}

Part part_of(const bench::Workload& work, std::size_t most) {
  Part part;
  for (std::size_t i = 0; i < std::min(most, work.datagrams.size()); ++i) {
    part.datagrams.push_back({work.datagram(i), work.datagrams[i].info});
    part.bytes += part.datagrams.back().bytes.size();
  }
  return part;
}

/// Values of the first messages of a list of them.
std::uint64_t expected_fields(const std::string& lines, std::uint64_t messages) {
  std::istringstream in(lines);
  std::string line;
  std::uint64_t fields = 0;
  for (std::uint64_t i = 0; i < messages && std::getline(in, line); ++i) {
    fields += leaves(nlohmann::json::parse(line).at("fields"));
  }
  return fields;
}

/// With profile programs for the maps of the datagrams that are measured.
Program profiled(const bench::Workload& work, const Part& part) {
  profile::Counter counter(work.program, work.options, 0, UINT64_MAX);
  record::BufferSink sink(work.program.max_record_slots, [](std::span<const record::Slot>) {});
  for (const Datagram& datagram : part.datagrams) (void)counter.decode(datagram.bytes, datagram.info, sink);
  Program out = work.program;
  (void)profile::add_profiles(out, profile::resolve(counter.take(), work.program).counts, {});
  return out;
}

std::string ratio(std::uint64_t cycles, std::uint64_t count) {
  return count == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(cycles) / static_cast<double>(count));
}

/// False if it decodes wrong.
bool print_figures(const bench::Workload& work, const Program& program, const Part& part, const Way& way) {
  const std::span<const Datagram> datagrams = part.datagrams;
  const CoreOptions options{.seed = 1,
                            .input_stall = way.stall,
                            .output_stall = way.stall,
                            .device = {.pairs = way.pairs, .profiles = way.profiles}};
  Reference reference(program, work.options);
  CoreFigures figures;
  {
    Core core(program, work.options, options);
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
  Core alone(program, work.options, options);  // one model at a time: Verilator's run-time library wants it so
  const std::size_t singles = std::min(kAlone, datagrams.size());
  for (std::size_t i = 0; i < singles; ++i) {
    const std::uint64_t before = alone.figures().cycles;
    if (alone.decode(datagrams.subspan(i, 1)).empty() && !datagrams[i].bytes.empty()) continue;
    const std::uint64_t cycles = alone.figures().cycles - before;
    least = std::min(least, cycles);
    most_cycles = std::max(most_cycles, cycles);
    sum += cycles;
  }

  const std::uint64_t fields =
      work.expected_json ? expected_fields(*work.expected_json, reference.messages()) : std::uint64_t{0};
  fmt::print("{:24} {:16} {:3} % {:8} {:8} {:>9} {:>7} {:>7} {:>7} {:>8} {:7.2f} {:6} {:8.1f} {:6}\n", work.name,
             way.name, way.stall, datagrams.size(), reference.messages(), ratio(figures.cycles, reference.messages()),
             ratio(figures.cycles, fields), ratio(figures.cycles, reference.fields()),
             ratio(figures.cycles, reference.words()), ratio(figures.cycles, figures.instructions),
             static_cast<double>(part.bytes) / static_cast<double>(figures.cycles), least,
             static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(1, singles)), most_cycles);
  return true;
}

/// Prints the latency of a message with a uInt32 field of each length.
bool print_latency(const std::vector<std::size_t>& lengths) {
  std::string text = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="Message" id="1">)";
  std::vector<std::byte> message{std::byte{0xC0}, std::byte{0x81}};
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    text += fmt::format("<uInt32 name=\"Field{}\"/>", i);
    message.insert(message.end(), lengths[i] - 1, std::byte{0x15});
    message.push_back(std::byte{0x95});
  }
  const Result<Program> program = bench::compile_text("latency", text + "</template></templates>");
  if (!program.ok()) {
    std::fputs(program.message().c_str(), stderr);
    return false;
  }
  for (const bool pairs : {true, false}) {
    CoreOptions options;
    options.device.pairs = pairs;
    Core core(program.value(), {}, options);
    const Datagram datagram{message, {}};
    (void)core.decode({&datagram, 1});  // the template's first message is not fetched ahead
    const std::uint64_t first = core.figures().cycles;
    (void)core.decode({&datagram, 1});
    fmt::print("latency, {} bytes, {} fields, {}: {} cycles from the first beat to slot 0; {} for a template's first\n",
               message.size(), lengths.size(), pairs ? "pairs" : "single", core.figures().cycles - first, first);
  }
  return true;
}

int run(std::size_t most, std::string_view only) {
  fmt::print("{:24} {:16} {:>5} {:>8} {:>8} {:>9} {:>7} {:>7} {:>7} {:>8} {:>7} {:^22}\n", "", "", "stall", "data-",
             "messages", "cycles a", "field", "value", "word", "instruc-", "bytes a", "a datagram alone:");
  fmt::print("{:24} {:16} {:>5} {:>8} {:>8} {:>9} {:>7} {:>7} {:>7} {:>8} {:>7} {:>6} {:>8} {:>6}\n", "", "", "",
             "grams", "", "message", "", "decoded", "stored", "tion", "cycle", "least", "mean", "most");
  int status = 0;
  for (const bench::WorkloadSource& source : bench::workload_sources()) {
    if (!only.empty() && source.name != only) continue;
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
    const Part part = part_of(*work.value(), most);
    const Program with_profiles = profiled(*work.value(), part);
    std::fflush(stdout);
    for (const Way& way : kWays) {
      if (!print_figures(*work.value(), way.profiles ? with_profiles : work.value()->program, part, way)) status = 1;
    }
  }
  std::vector<std::size_t> lengths{1, 1, 2, 2, 3, 3, 3, 4};
  if (!print_latency(lengths)) status = 1;
  for (int i = 0; i < 2; ++i) lengths.insert(lengths.end(), {1, 1, 2, 2, 3, 3, 3, 4});
  lengths.insert(lengths.end(), 7, 1);
  if (!print_latency(lengths)) status = 1;
  return status;
}

}  // namespace
}  // namespace stopbit::sim

int main(int argc, char** argv) {
  const std::string_view help = "usage: stopbit_rtl_cycles [DATAGRAMS [WORKLOAD]]\n";
  char* end = nullptr;
  const unsigned long datagrams = argc >= 2 ? std::strtoul(argv[1], &end, 10) : 2'000;
  if (argc > 3 || (argc >= 2 && (end == argv[1] || *end != '\0' || datagrams == 0))) {
    std::fputs(help.data(), stderr);
    return 2;
  }
  try {
    return stopbit::sim::run(datagrams, argc == 3 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::fputs(fmt::format("stopbit_rtl_cycles: {}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
