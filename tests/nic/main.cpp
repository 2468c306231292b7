// Runs the cases of the network interface on every carrier. Exit 0: all passed, 1: some failed, 2: usage.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"
#include "tests/nic/carrier.hpp"
#include "tests/nic/script.hpp"
#include "tests/nic/units.hpp"
#include "tests/runner/report.hpp"

namespace stopbit::cases {
namespace {

/// Refusals are what a case named bad- is about.
bool is_refusal(const std::string& line) {
  for (const std::string_view word :
       {": refused", ": lost", ": fault", ": invalid", ": forbidden", ": disabled", ": ERR_"}) {
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

enum class Verdict : std::uint8_t { Passed, Failed, Skipped };

/// Quick: a bad network once, UDP sealed, libfabric over one provider, and in this process.
std::vector<nic::Carrier> carriers(bool quick, bool large) {
  if (large) return nic::large_carriers();
  std::vector<nic::Carrier> all = nic::carriers();
  if (quick) {
    std::erase_if(all, [](const nic::Carrier& carrier) {
      return carrier.name == "model, bad network, another seed" || carrier.name == "fabric, tcp, isolated" ||
             carrier.name == "fabric, shm" || carrier.name == "udp";
    });
  }
  return all;
}

/// The units that a file says are in hardware for some cases, and what went through them.
struct Hardware {
  bool is_there = false;
  std::vector<nic::UnitRow> rows;
  std::map<std::string, nic::Transactions> transactions;                ///< By unit.
  std::map<std::pair<std::string, std::string>, std::size_t> left_out;  ///< Cases, by unit and reason.
};

Verdict run_file(const std::filesystem::path& path, std::span<const nic::Carrier> carriers, Hardware& hardware,
                 bool update) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<const SourceBuffer>(path.string(), testing::file_text(path));
  const std::optional<CaseFile> file = CaseFile::parse(source, diagnostics);
  if (!file) {
    std::printf("FAIL %s\n%s", path.c_str(), diagnostics.format().c_str());
    return Verdict::Failed;
  }
  Report report(*file);
  bool refuses = false;
  const auto run = [&](const nic::Carrier& carrier, const nic::Units& units, std::string_view name) {
    nic::Said said = nic::run_steps(file->lines(file->find("steps")), carrier, units);
    if (!said.failure.empty()) report.fail(said.failure);
    if (said.skipped.empty() && said.lines.empty()) report.fail("the steps say nothing");
    if (said.skipped.empty()) report.compare("stdout", said.lines, name);
    return said;
  };
  const nic::Units software = nic::software_units();
  for (const nic::Carrier& carrier : carriers) {
    const nic::Said said = run(carrier, software, carrier.name);
    if (!said.skipped.empty()) {
      std::printf("SKIPPED %s: %s\n", path.c_str(), said.skipped.c_str());
      return Verdict::Skipped;
    }
    for (const std::string& line : said.lines) refuses = refuses || is_refusal(line);
  }
  for (const std::string_view unit : nic::kHardwareUnits) {
    if (!hardware.is_there) break;
    const nic::UnitRow* const row = nic::row_of(hardware.rows, path.filename().string(), unit);
    if (row == nullptr && unit == "node") report.fail("units.txt does not say whether it runs on a whole node");
    if (row == nullptr) continue;
    if (row->place == nic::UnitRow::Place::Software || (row->place == nic::UnitRow::Place::Long && !is_long_form())) {
      ++hardware.left_out[{row->unit, row->place == nic::UnitRow::Place::Long ? "long" : row->reason}];
      continue;
    }
    nic::Transactions& transactions = hardware.transactions[row->unit];
    const std::uint64_t before = transactions.messages;
    try {
      (void)run(carriers.front(), nic::hardware_units(unit, transactions), row->unit + " in hardware");
    } catch (const std::runtime_error& error) {
      report.fail(row->unit + " in hardware: " + error.what());
    }
    if (transactions.messages == before) report.fail("nothing went through the unit in hardware");
    ++transactions.cases;
  }
  if (path.filename().string().starts_with("bad-") != refuses) {
    report.fail("a case in which something is refused, and no other, is named bad-...");
  }
  if (update && !report.differences().empty()) {
    std::ofstream(path, std::ios::binary) << report.updated_text();
    std::printf("UPDATED %s\n", path.c_str());
    return report.failures().empty() ? Verdict::Passed : Verdict::Failed;
  }
  if (report.ok()) return Verdict::Passed;
  std::printf("FAIL %s\n", path.c_str());
  for (const std::string& difference : report.differences()) std::printf("  %s", difference.c_str());
  for (const std::string& failure : report.failures()) std::printf("  %s\n", failure.c_str());
  return Verdict::Failed;
}

}  // namespace
}  // namespace stopbit::cases

int main(int argc, char** argv) {
  const bool update = argc == 3 && std::string_view(argv[1]) == "--update";
  const bool quick = argc == 3 && std::string_view(argv[1]) == "--quick";
  const bool large = argc == 3 && std::string_view(argv[1]) == "--large";
  if (argc != 2 && !update && !quick && !large) {
    std::fputs("usage: stopbit_nic_cases [--update|--quick|--large] FOLDER|FILE\n", stderr);
    return 2;
  }
  const std::filesystem::path path = argv[argc - 1];
  const std::vector<stopbit::nic::Carrier> carriers = stopbit::cases::carriers(quick, large);
  stopbit::cases::Hardware hardware;
  const std::string why_not_hardware = stopbit::nic::why_not_hardware();
  if (why_not_hardware.empty()) {
    std::string problem;
    auto rows = stopbit::nic::read_unit_rows(STOPBIT_NIC_UNITS, problem);
    if (!rows) {
      std::fprintf(stderr, "stopbit_nic_cases: %s\n", problem.c_str());
      return 2;
    }
    hardware.rows = std::move(*rows);
    hardware.is_there = true;
  }
  std::size_t count = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;
  for (const auto& file : std::filesystem::is_directory(path) ? stopbit::cases::find_cases(path) : std::vector{path}) {
    ++count;
    const stopbit::cases::Verdict verdict = stopbit::cases::run_file(file, carriers, hardware, update);
    if (verdict == stopbit::cases::Verdict::Failed) ++failed;
    if (verdict == stopbit::cases::Verdict::Skipped) ++skipped;
  }
  std::printf("%zu cases, %zu failed, %zu skipped; each on:", count, failed, skipped);
  for (const stopbit::nic::Carrier& carrier : carriers) {
    std::printf(" [%.*s]", static_cast<int>(carrier.name.size()), carrier.name.data());
  }
  std::printf("\n");
  if (why_not_hardware.empty()) {
    for (const auto& [unit, transactions] : hardware.transactions) {
      std::printf(
          "unit in hardware: %s, %llu cases, %llu messages, %llu reads and %llu writes of memory\n", unit.c_str(),
          static_cast<unsigned long long>(transactions.cases), static_cast<unsigned long long>(transactions.messages),
          static_cast<unsigned long long>(transactions.reads), static_cast<unsigned long long>(transactions.writes));
    }
    for (const auto& [which, cases] : hardware.left_out) {
      std::printf("unit not in hardware: %s, %zu cases: %s\n", which.first.c_str(), cases, which.second.c_str());
    }
  } else {
    std::printf("without units in hardware: %s\n", why_not_hardware.c_str());
  }
  if (const std::string& why = stopbit::nic::why_not_fabric(); !why.empty()) {
    std::printf("without the carrier fabric: %s\n", why.c_str());
  }
  return count != 0 && failed == 0 ? 0 : 1;
}
