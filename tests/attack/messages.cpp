#include <fmt/format.h>

#include "tests/attack/attacks.hpp"
#include "tests/attack/change_entities.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/attack/round_trip.hpp"
#include "tests/property/random_case.hpp"

namespace stopbit::attack {
namespace {

constexpr std::uint64_t kQuickCases = 4'000;
constexpr std::uint64_t kCases = 20'000;
constexpr std::size_t kQuickChanges = 6;  ///< Of each packet.
constexpr std::size_t kChanges = 200;
constexpr unsigned kRoundTripPercent = 10;  ///< Of the changed packets.

}  // namespace

void attack_with_messages(const Plan& plan, Counts& counts) {
  Progress progress("messages");
  const std::uint64_t count = plan.is_long ? kCases * plan.times : kQuickCases;
  const std::size_t changes = plan.is_long ? kChanges : kQuickChanges;
  const std::uint64_t first = plan.seed * 1'000'000;
  std::set<cases::Cell> missed = cases::legal_cells();
  counts.cells = missed.size();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const cases::RandomCase made = cases::random_case(seed);
    const auto feed = make_feed(fmt::format("seed-{}", seed), made.template_text);
    feed->reset = made.reset;
    feed->strict = seed % 2 == 1;
    feed->is_traced = seed % 4 < 2;
    ++counts.targets;
    progress.tell(counts, feed->name);

    const std::vector<verify::TemplateCost> costs = verify::check(feed->program).costs;
    Target target(*feed, costs, counts);
    RoundTrip round_trip(*feed);
    std::vector<Bytes> datagrams = datagrams_of(made);
    check_values(made, round_trip);
    for (const cases::Cell& cell : made.cells) missed.erase(cell);

    cases::Random random(seed);
    for (std::size_t last = 0; last < datagrams.size(); ++last) {
      std::vector<Bytes> sent(datagrams.begin(), datagrams.begin() + static_cast<std::ptrdiff_t>(last));
      sent.emplace_back();
      for (std::size_t change = 0; change < changes; ++change) {
        sent.back() = change_entities(made.packets, last, random);
        target.reset();
        for (std::size_t i = 0; i < last; ++i) {
          require(target.decode(sent[i]).error == ErrorCode::None, "a good packet stays good");
        }
        (void)target.attack(sent.back());
        if (random.chance(kRoundTripPercent)) round_trip.check(sent);
      }
    }
  }
  if (!missed.empty())
    fail("every cell of FAST 1.1 is tried",
         fmt::format("{} missed, the first: {}", missed.size(), cases::cell_text(*missed.begin())));
}

}  // namespace stopbit::attack
