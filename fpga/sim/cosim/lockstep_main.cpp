#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "fpga/sim/cosim/lockstep.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/workloads/workload.hpp"
#include "tests/runner/case_program.hpp"

/// Core and interpreter over a case of tests/cases/decode, or a folder with templates.xml and capture.pcap, instruction
/// by instruction. Ends at the first that does something else.
namespace stopbit::sim {
namespace {

constexpr int kSame = 0;
constexpr int kDifferent = 1;
constexpr int kUsage = 2;
constexpr int kEnvironment = 3;

int tell(std::uint64_t number, const Divergence& found) {
  fmt::print("datagram {}: {}\n", number, found.text);
  return kDifferent;
}

int run_case(const std::string& path) {
  Diagnostics diagnostics;
  const auto text = testing::file_text_if_any(path);
  if (!text) throw std::runtime_error("cannot read '" + path + "'");
  const auto source = std::make_shared<const SourceBuffer>(path, *text);
  const auto file = cases::CaseFile::parse(source, diagnostics);
  const cases::Section* const bytes = file ? file->find("bytes") : nullptr;
  if (bytes == nullptr) throw std::runtime_error("'" + path + "' is no case with bytes\n" + diagnostics.format());
  cases::Report report(*file);
  const cases::CaseOptions options = cases::read_options(*file, report);
  const auto program = cases::program_of(*file, options);
  if (!program) throw std::runtime_error("'" + path + "' has no program that can run");
  const auto steps = cases::parse_bytes(source, bytes->begin, bytes->end, diagnostics);
  if (!steps) throw std::runtime_error(diagnostics.format());
  LockStep lock_step(*program, options.engine, {});
  PacketInfo info;
  for (const cases::Step& step : *steps) {
    if (step.kind == cases::Step::Kind::Reset) {
      lock_step.reset(step.channel);
      continue;
    }
    ++info.number;
    info.channel = step.channel;
    if (const auto found = lock_step.decode({step.bytes, info})) return tell(info.number, *found);
  }
  fmt::print("{} datagrams, each instruction the same\n", info.number);
  return kSame;
}

int run_capture(const std::string& folder, const std::string& framing, std::size_t most) {
  const auto work = bench::load_workload(folder, folder, framing);
  if (!work) throw std::runtime_error(work.message());
  const bench::Workload& found = *work.value();
  const std::size_t count = std::min(most, found.datagrams.size());
  LockStep lock_step(found.program, found.options, {});
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto other = lock_step.decode({found.datagram(i), found.datagrams[i].info})) {
      return tell(found.datagrams[i].info.number, *other);
    }
  }
  fmt::print("{} datagrams, each instruction the same\n", count);
  return kSame;
}

}  // namespace
}  // namespace stopbit::sim

int main(int argc, char** argv) {
  using namespace stopbit::sim;
  try {
    if (argc == 2 && !std::filesystem::is_directory(argv[1])) return run_case(argv[1]);
    char* end = nullptr;
    const std::size_t most = argc == 4 ? std::strtoull(argv[3], &end, 10) : ~std::size_t{0};
    if ((argc == 3 || (argc == 4 && *end == '\0' && most != 0)) && std::filesystem::is_directory(argv[1])) {
      return run_capture(argv[1], argv[2], most);
    }
  } catch (const std::exception& error) {
    std::fputs(fmt::format("stopbit_rtl_lockstep: {}\n", error.what()).c_str(), stderr);
    return kEnvironment;
  }
  std::fputs("usage: stopbit_rtl_lockstep CASE | FOLDER FRAMING [DATAGRAMS]\n", stderr);
  return kUsage;
}
