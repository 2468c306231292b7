// The impairment matrix: cells from a seed, one line each. Exit status 1 if any is not as its log implies.

#include <fmt/format.h>

#include <chrono>
#include <limits>

#include "tests/lib/arguments.hpp"
#include "tests/matrix/cell.hpp"

int main(int argc, char** argv) {
  std::size_t count = 24;
  std::uint64_t packets = 100'000;
  std::uint64_t seed = 1;
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::size_t only = kAll;
  stopbit::testing::Arguments arguments(
      "Arbitrates streams on two bad lines and compares what is told with what the impairer's log implies.");
  arguments.number("--cells", count, "How many cells", std::size_t{1}, std::size_t{100'000});
  arguments.number("--packets", packets, "Packets sent in each", std::uint64_t{stopbit::matrix::kMinPackets},
                   std::uint64_t{100'000'000});
  arguments.number("--seed", seed, "Of the choice of cells and of the impairments");
  arguments.number("--only", only, "One cell, by its number");
  if (const auto status = arguments.read(argc, argv)) return *status;

  using namespace stopbit::matrix;
  const std::vector<Cell> all = cells(count, seed);
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t failed = 0;
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (only != kAll && only != i) continue;
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
      only != kAll ? 1 : all.size(), packets, seed, failed, received, lost, pairs.seen, pairs.pairs, seconds);
  return failed == 0 ? 0 : 1;
}
