#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fpga/sim/cosim/core.hpp"
#include "host/device/firmware/device.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/attack/round_trip.hpp"
#include "tests/property/random_case.hpp"

/// The decode core against the interpreter, for long: random templates, messages that fit them, the same messages with
/// bits turned or cut, and random bytes; both sides of the core stall in 0 to 90 % of the cycles, another number for
/// each program, its input in up to 97 % for some, and pause now and then. Ends at the first slot that differs, and
/// names the seed that shows it again.
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

/// A datagram, and whether its channel is reset before it.
struct Step {
  Bytes bytes;
  bool resets = false;
};

/// Good datagrams first, which build on each other; then what is wrong, with a reset now and then, for which the
/// channel may wait.
std::vector<Step> steps_for(const cases::RandomCase& made, const Program& program, cases::Random& random) {
  std::vector<Step> out;
  for (Bytes& bytes : attack::datagrams_of(made)) out.push_back({std::move(bytes), false});
  const std::size_t good = out.size();
  attack::Chatter chatter(program, random);
  for (std::size_t i = 0; i < good / 4; ++i) {
    Bytes bytes = random.chance(30) ? chatter.next() : out[random.below(good)].bytes;
    if (!bytes.empty() && random.chance(60)) {
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
    } else if (!bytes.empty()) {
      bytes.resize(random.below(bytes.size()));
    }
    if (bytes.size() > limits::kMaxDatagramBytes) bytes.resize(limits::kMaxDatagramBytes);
    out.push_back({std::move(bytes), random.chance(20)});
  }
  return out;
}

/// The part that all datagrams of a program share.
struct Setting {
  const Program& program;
  const EngineOptions& options;
  CoreOptions stalls;
};

/// Runs both sides over the steps; empty if they gave the same. The totals are only right then.
std::string run_steps(const Setting& setting, const std::vector<Step>& steps, Totals& totals) {
  Reference reference(setting.program, setting.options);
  Core core(setting.program, setting.options, setting.stalls);
  for (std::size_t begin = 0; begin < steps.size();) {
    if (steps[begin].resets) {
      reference.reset(0);
      core.reset(0);
    }
    std::vector<Datagram> datagrams;
    do {
      PacketInfo info;
      info.number = begin + 1;
      info.arrival_ns = ~begin;
      info.sequence = static_cast<std::uint32_t>(begin * 7);
      datagrams.push_back({steps[begin].bytes, info});
      ++begin;
    } while (begin < steps.size() && !steps[begin].resets && datagrams.size() < kRun);
    const std::vector<Record> wanted = reference.decode(datagrams);
    try {
      std::string wrong = difference(wanted, core.decode(datagrams));
      if (!wrong.empty()) return wrong;
    } catch (const std::exception& error) {
      return error.what();
    }
    for (const Record& record : wanted) totals.events += (record[0].words[0] & 0xFFFF) == record::kEventIndex ? 1U : 0U;
  }
  ++totals.programs;
  totals.datagrams += steps.size();
  totals.messages += reference.messages();
  totals.values += reference.fields();
  totals.cycles += core.figures().cycles;
  return {};
}

/// Leaves steps out, and bytes of those that stay, as long as something is wrong.
std::vector<Step> shrunk(Setting& setting, std::vector<Step> steps) {
  const auto fails = [&](const std::vector<Step>& tried) {
    Totals ignored;
    return !run_steps(setting, tried, ignored).empty();
  };
  const CoreOptions stalls = setting.stalls;
  setting.stalls.input_stall = setting.stalls.output_stall = 0;
  if (!fails(steps)) setting.stalls = stalls;
  for (std::size_t part = std::max<std::size_t>(1, steps.size() / 2);; part /= 2) {
    for (std::size_t at = 0; at < steps.size() && steps.size() > 1;) {
      std::vector<Step> fewer(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(at));
      const std::size_t end = std::min(at + part, steps.size());
      fewer.insert(fewer.end(), steps.begin() + static_cast<std::ptrdiff_t>(end), steps.end());
      if (!fewer.empty() && fails(fewer)) {
        steps = std::move(fewer);
      } else {
        at += part;
      }
    }
    if (part == 1) break;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (std::size_t part = std::max<std::size_t>(1, steps[i].bytes.size() / 2);; part /= 2) {
      for (std::size_t at = 0; at < steps[i].bytes.size();) {
        std::vector<Step> fewer = steps;
        Bytes& bytes = fewer[i].bytes;
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        bytes.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(part, bytes.size() - at)));
        if (fails(fewer)) {
          steps = std::move(fewer);
        } else {
          at += part;
        }
      }
      if (part <= 1) break;
    }
  }
  return steps;
}

/// What shows it again, as a case.
std::string case_of(const Setting& setting, const std::vector<Step>& steps, std::string_view template_text) {
  std::string text = fmt::format("-- about\nThe core differs, with stalls of {} % and {} %.\n",
                                 setting.stalls.input_stall, setting.stalls.output_stall);
  constexpr std::string_view kRules[] = {"packet", "template", "never"};
  text += fmt::format("-- options\nreset {}\n-- template\n{}\n-- bytes\n",
                      kRules[static_cast<std::size_t>(setting.options.reset)], template_text);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].resets) text += "reset\n";
    if (i != 0) text += "packet\n";
    for (const std::byte byte : steps[i].bytes) text += fmt::format("{:02x} ", std::to_integer<unsigned>(byte));
    text += '\n';
  }
  return text;
}

/// Limits so small that messages reach them.
void tighten(Program& program, EngineOptions& options, cases::Random& random) {
  options.limits.elements = static_cast<std::uint32_t>(1 + random.below(12));
  options.limits.empty_elements = static_cast<std::uint32_t>(1 + random.below(4));
  options.limits.nesting = static_cast<std::uint32_t>(1 + random.below(4));
  options.limits.string_bytes = static_cast<std::uint32_t>(1 + random.below(60));
  const std::uint32_t most = program.max_record_slots;
  program.max_record_slots = static_cast<std::uint32_t>(1 + random.below(12));
  while (program.max_record_slots < most && !verify::check(program).ok()) ++program.max_record_slots;
}

/// Throws a std::runtime_error if something is wrong.
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
  const std::vector<Step> steps = steps_for(made, feed->program, random);
  CoreOptions stalls{.seed = seed,
                     .input_stall = static_cast<std::uint32_t>(random.below(kMostStall + 1)),
                     .output_stall = static_cast<std::uint32_t>(random.below(kMostStall + 1))};
  // Now and then the window nearly always ends inside an entity, and the limits are small.
  if (random.chance(20)) stalls.input_stall = static_cast<std::uint32_t>(kMostStall + random.below(8));
  Program program = feed->program;
  if (random.chance(30)) tighten(program, options, random);
  Setting setting{program, options, stalls};
  if (run_steps(setting, steps, totals).empty()) return;
  const std::vector<Step> fewer = shrunk(setting, steps);
  Totals ignored;
  throw std::runtime_error(run_steps(setting, fewer, ignored) + '\n' + case_of(setting, fewer, made.template_text));
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
