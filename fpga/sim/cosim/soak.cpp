#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fpga/firmware/device.hpp"
#include "fpga/sim/cosim/core.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/attack/round_trip.hpp"
#include "tests/property/random_case.hpp"

/// The decode core against the interpreter, for long: random templates, messages that fit them, the same messages with
/// bits turned or cut, and random bytes; both sides of the core stall in 0 to 90 % of the cycles, another number for
/// each program, and pause now and then. Ends at the first slot that differs, and names the seed that shows it again.
namespace stopbit::sim {
namespace {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMostStall = 90;  // percent
constexpr std::size_t kRun = 64;          // datagrams without a look at what came out
constexpr auto kTold = std::chrono::seconds(30);

struct Totals {
  std::uint64_t programs = 0;
  std::uint64_t refused = 0;  ///< The device cannot run them.
  std::uint64_t datagrams = 0;
  std::uint64_t messages = 0;  ///< Complete ones.
  std::uint64_t values = 0;
  std::uint64_t events = 0;
  std::uint64_t cycles = 0;

  [[nodiscard]] std::string text() const {
    return fmt::format(
        "{} messages, {} values and {} events of {} datagrams the same, {} programs ({} refused), {} cycles", messages,
        values, events, datagrams, programs, refused, cycles);
  }
};

/// Good datagrams first, which build on each other; then what is wrong.
std::vector<Bytes> datagrams_for(const cases::RandomCase& made, const Program& program, cases::Random& random) {
  std::vector<Bytes> out = attack::datagrams_of(made);
  const std::size_t good = out.size();
  attack::Chatter chatter(program, random);
  for (std::size_t i = 0; i < good / 4; ++i) {
    Bytes bytes = random.chance(30) ? chatter.next() : out[random.below(good)];
    if (!bytes.empty() && random.chance(60)) {
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
    } else if (!bytes.empty()) {
      bytes.resize(random.below(bytes.size()));
    }
    if (bytes.size() > limits::kMaxDatagramBytes) bytes.resize(limits::kMaxDatagramBytes);
    out.push_back(std::move(bytes));
  }
  return out;
}

void run_program(std::uint64_t seed, Totals& totals) {
  cases::Random random(seed);
  cases::CaseSize size;
  size.packets = 160;
  size.messages = 6;
  size.fields = 1 + random.below(16);
  const cases::RandomCase made = cases::random_case(random, size);
  Diagnostics diagnostics;
  const auto feed = attack::try_feed("", made.template_text, {}, diagnostics);
  if (feed == nullptr) throw std::runtime_error(diagnostics.format());
  EngineOptions options;
  options.reset = made.reset;
  if (!firmware::obstacles(feed->program, options).empty()) {
    ++totals.refused;
    return;
  }
  const std::vector<Bytes> bytes = datagrams_for(made, feed->program, random);
  const CoreOptions stalls{.seed = seed,
                           .input_stall = static_cast<std::uint32_t>(random.below(kMostStall + 1)),
                           .output_stall = static_cast<std::uint32_t>(random.below(kMostStall + 1))};
  Reference reference(feed->program, options);
  Core core(feed->program, options, stalls);
  const std::size_t good = attack::datagrams_of(made).size();
  for (std::size_t begin = 0; begin < bytes.size(); begin += kRun) {
    // What is wrong makes the channel wait for a reset: give it one now and then.
    if (begin >= good) {
      reference.reset(0);
      core.reset(0);
    }
    std::vector<Datagram> datagrams;
    for (std::size_t i = begin; i < std::min(begin + kRun, bytes.size()); ++i) {
      PacketInfo info;
      info.number = i + 1;
      info.arrival_ns = random.bits();
      info.sequence = static_cast<std::uint32_t>(random.bits());
      datagrams.push_back({bytes[i], info});
    }
    const std::vector<Record> wanted = reference.decode(datagrams);
    const std::string wrong = difference(wanted, core.decode(datagrams));
    if (!wrong.empty()) {
      throw std::runtime_error(fmt::format("datagrams {} to {}, stalls {} % and {} %: {}\n{}", begin + 1,
                                           begin + datagrams.size(), stalls.input_stall, stalls.output_stall, wrong,
                                           made.template_text));
    }
    for (const Record& record : wanted) totals.events += (record[0].words[0] & 0xFFFF) == record::kEventIndex ? 1U : 0U;
  }
  ++totals.programs;
  totals.datagrams += bytes.size();
  totals.messages += reference.messages();
  totals.values += reference.fields();
  totals.cycles += core.figures().cycles;
}

int run(std::uint64_t messages, std::uint64_t seed) {
  Totals totals;
  const std::uint64_t first = seed;
  Clock::time_point told = Clock::now();
  const Clock::time_point begin = told;
  for (; totals.messages < messages; ++seed) {
    try {
      run_program(seed, totals);
    } catch (const std::exception& error) {
      std::fputs(fmt::format("stopbit_rtl_soak: seed {}: {}\nagain: stopbit_rtl_soak 1 {}\n", seed, error.what(), seed)
                     .c_str(),
                 stderr);
      return 1;
    }
    if (Clock::now() - told < kTold) continue;
    told = Clock::now();
    std::fputs(fmt::format("seed {}: {}\n", seed, totals.text()).c_str(), stderr);
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  fmt::print("seeds {} to {}: {}; {:.0f} s\n", first, seed - 1, totals.text(), seconds);
  return 0;
}

}  // namespace
}  // namespace stopbit::sim

int main(int argc, char** argv) {
  const auto number = [&](int index, std::uint64_t otherwise) -> std::uint64_t {
    if (argc <= index) return otherwise;
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(argv[index], &end, 10);
    return *argv[index] == '\0' || *end != '\0' ? 0 : value;
  };
  const std::uint64_t messages = number(1, 1'000'000);
  const std::uint64_t seed = number(2, 1);
  if (argc > 3 || messages == 0 || seed == 0) {
    std::fputs("usage: stopbit_rtl_soak [MESSAGES [FIRST_SEED]]\n", stderr);
    return 2;
  }
  return stopbit::sim::run(messages, seed);
}
