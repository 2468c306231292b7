// Exchanges with true books, on lines that lose much, through the appliance's agent: from a seed on. Exit status 1 if
// any goes wrong, or anything occurs too seldom.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "tests/venue/schedule.hpp"

int main(int argc, char** argv) {
  std::uint64_t schedules = 100;
  std::uint64_t seed = 1;
  std::uint64_t least = 0;
  int story = -1;
  CLI::App app("Plays days of simulated exchanges, and compares books with those of the exchange.");
  app.add_option("--schedules", schedules, "How many, of one seed each");
  app.add_option("--seed", seed, "Of the first");
  app.add_option("--least", least, "How often each kind of thing must occur");
  app.add_option("--story", story, "Prints what happens to this instrument");
  CLI11_PARSE(app, argc, argv);

  using namespace stopbit::venue_test;
  Counts counts{};
  const auto start = std::chrono::steady_clock::now();
  std::uint64_t faults = 0;
  for (std::uint64_t done = 0; done < schedules; ++done) {
    if (done % 1'000 == 999) fmt::print(stderr, "{} schedules; go on with --seed {}\n", done + 1, seed + done + 1);
    const std::string fault = play(seed + done, counts, story);
    if (fault.empty()) continue;
    fmt::print("seed {}: {}\n", seed + done, fault);
    std::fflush(stdout);
    ++faults;
  }
  std::uint64_t seldom = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool is_seldom = counts[i] < least;
    seldom += is_seldom ? 1 : 0;
    fmt::print("{:12}  {}{}\n", counts[i], to_text(static_cast<Count>(i)), is_seldom ? "  TOO SELDOM" : "");
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} schedules from seed {}: {} went wrong; {:.1f} s; go on with --seed {}\n", schedules, seed, faults,
             seconds, seed + schedules);
  return faults == 0 && seldom == 0 ? 0 : 1;
}
