// The impairment matrix: cells from a seed, one line each. Exit status 1 if any is not as its log implies.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>

#include "tests/matrix/cell.hpp"

int main(int argc, char** argv) {
  std::size_t count = 24;
  std::uint64_t packets = 100'000;
  std::uint64_t seed = 1;
  std::optional<std::size_t> only;
  CLI::App app("Arbitrates streams on two bad lines and compares what is told with what the impairer's log implies.");
  app.add_option("--cells", count, "How many cells")->check(CLI::Range(1, 100'000));
  app.add_option("--packets", packets, "Packets sent in each")
      ->check(CLI::Range(stopbit::matrix::kMinPackets, std::uint64_t{100'000'000}));
  app.add_option("--seed", seed, "Of the choice of cells and of the impairments");
  app.add_option("--only", only, "One cell, by its number");
  CLI11_PARSE(app, argc, argv);

  using namespace stopbit::matrix;
  const std::vector<Cell> all = cells(count, seed);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t failed = 0;
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (only && *only != i) continue;
    const Outcome outcome = run(all[i], packets, seed * 1'000'003 + i);
    received += outcome.received;
    lost += outcome.lost;
    failed += outcome.differences != 0 ? 1 : 0;
    fmt::print(
        "{:4} {}  received {} delivered {} duplicate {} late {} malformed {} incomplete {} lost {} in {} gaps: {}\n", i,
        to_text(all[i]), outcome.received, outcome.delivered, outcome.duplicate, outcome.late, outcome.malformed,
        outcome.incomplete, outcome.lost, outcome.gaps,
        outcome.differences == 0
            ? "equal"
            : fmt::format("{} DIFFERENCES, the first: {}", outcome.differences, outcome.first_difference));
    std::fflush(stdout);
  }
  const Coverage pairs = coverage(all);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "{} cells of {} packets, seed {}: {} failed; {} packets received, {} numbers lost and told; {} of {} pairs "
      "of values met; {:.0f} s\n",
      only ? 1 : all.size(), packets, seed, failed, received, lost, pairs.seen, pairs.pairs, seconds);
  return failed == 0 ? 0 : 1;
}
