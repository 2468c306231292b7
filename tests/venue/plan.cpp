#include "host/lab/impair/random.hpp"
#include "tests/venue/schedule.hpp"

namespace stopbit::venue_test {
namespace {

using impair::Random;
using simulate::VenueKind;

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random.below(most - least + 1);
}
double part(Random& random, double most) {
  return most * static_cast<double>(random.below(1'000)) / 1'000;
}

simulate::Settings make_settings(std::uint64_t seed, Random& random) {
  simulate::Settings settings;
  settings.seed = seed;
  settings.start_ns = 1'700'000'000 * kSecond;
  settings.duration_ns = between(random, 30, 80) * kSecond;
  settings.instruments = between(random, 2, 12);
  settings.rate = static_cast<double>(between(random, 10, 70));
  settings.snapshot_every_ns = between(random, 1, 5) * kSecond;
  settings.heartbeat_every_ns = kSecond / 2;
  settings.lines.resize(2);
  settings.lines[0].group = {0xEF010101, 30'001};
  settings.lines[1].group = {0xEF010201, 31'001};
  if (random.below(3) == 0) {
    settings.burst_every_ns = between(random, 2, 9) * kSecond;
    settings.burst_packets = between(random, 5, 80);
    settings.burst_gap_ns = 20'000;
  }
  simulate::MarketSettings& market = settings.market.emplace();
  market.exchange = static_cast<VenueKind>(seed % 5);
  market.depth = between(random, 2, 6);
  market.orders = between(random, 4, 20);
  market.changes = between(random, 1, 5);
  market.fragment = between(random, 2, 8);
  market.definitions_every_ns = 3 * kSecond;
  const bool is_t7 = market.exchange == VenueKind::T7 || market.exchange == VenueKind::T7Mdi;
  settings.products = is_t7 ? between(random, 1, std::min<std::uint64_t>(3, settings.instruments)) : 1;
  const std::uint64_t seconds = settings.duration_ns / kSecond;
  for (std::uint64_t i = random.below(4); i != 0; --i) {
    market.phases.push_back(
        {.at_ns = random.below(seconds) * kSecond, .phase = static_cast<simulate::Phase>(random.below(4))});
  }
  // The day goes on: in the last part there is something to recover with.
  market.phases.push_back({.at_ns = seconds / 2 * kSecond, .phase = simulate::Phase::Open});
  if (random.below(2) == 0) return settings;
  for (std::uint64_t i = between(random, 1, 2); i != 0; --i) {
    simulate::Moment moment = {.at_ns = between(random, 2, seconds / 2) * kSecond, .channel = {}};
    const bool has_both = market.exchange == VenueKind::B3 || market.exchange == VenueKind::Cme;
    moment.empties_books = has_both && random.below(2) == 0;
    std::vector<simulate::Moment>& moments = is_t7 ? settings.failovers : settings.resets;
    // Two at once would send two packets with one number at one time, which the oracle cannot tell apart.
    if (!moments.empty() && moments.back().at_ns == moment.at_ns) moment.at_ns += kSecond;
    moments.push_back(moment);
  }
  return settings;
}

impair::Options make_network(Random& random, double most) {
  impair::Options options;
  options.seed = random.next();
  options.both = {.rate = random.below(2) == 0 ? part(random, most) : 0,
                  .mean_burst = static_cast<double>(between(random, 1, 20))};
  for (impair::LineOptions& line : options.line) {
    line.loss = {.rate = part(random, 0.2), .mean_burst = static_cast<double>(between(random, 1, 5))};
    if (random.below(2) == 0) continue;
    line.duplicate = part(random, 0.05);
    line.reorder = part(random, 0.05);
    line.reorder_depth = static_cast<std::uint32_t>(between(random, 1, 4));
  }
  return options;
}

Outage make_outage(Random& random, std::uint64_t until_ns) {
  static constexpr std::array kLongest = {std::uint64_t{1}, std::uint64_t{5}, std::uint64_t{30}};
  Outage outage;
  outage.begin_ns = random.below(until_ns);
  const std::uint64_t longest = kLongest[random.below(kLongest.size())] * kSecond;
  outage.end_ns = std::min(until_ns, outage.begin_ns + longest / 2 + random.below(longest / 2));
  switch (random.below(4)) {
    case 0: outage.of_a = false; break;
    case 1: outage.of_b = false; break;
    default: break;
  }
  outage.of_snapshots = random.below(2) == 0;
  return outage;
}

}  // namespace

Plan make_plan(std::uint64_t seed) {
  Random random(seed * 0x9E37'79B9'7F4A'7C15U + 1);
  Plan plan;
  plan.settings = make_settings(seed, random);
  const std::uint64_t duration = plan.settings.duration_ns;
  // Three cycles of snapshots, after the silence in which a new run of numbers is not believed.
  plan.quiet_ns = duration - 3 * plan.settings.snapshot_every_ns - 5 * kSecond;
  for (std::size_t i = 0; i < plan.network.size(); ++i) plan.network[i] = make_network(random, i == 0 ? 0.1 : 0.4);
  for (std::uint64_t i = random.below(5); i != 0; --i) plan.outages.push_back(make_outage(random, plan.quiet_ns));
  plan.skew_ns = random.below(3'000'000);
  plan.joins_ns = random.below(2) == 0 ? 0 : random.below(plan.quiet_ns / 2);
  plan.policy = random.below(3) == 0 ? market::Policy::Pessimistic : market::Policy::Optimistic;
  plan.refresh = random.below(2) == 0;
  plan.queued = random.below(4) == 0 ? static_cast<std::uint32_t>(between(random, 4, 64)) : 65'536;
  plan.knows_depth = true;  // a learned depth may be too small: then a latest book lacks its last rows
  (void)random.below(2);    // seeds mean what they did
  plan.batch = random.below(3) == 0 ? 1 : between(random, 2, 32);
  return plan;
}

const char* to_text(Count count) noexcept {
  switch (count) {
    case Count::Packets: return "packets of increments sent";
    case Count::Lost: return "of these, never delivered";
    case Count::Gaps: return "gaps told";
    case Count::Outages: return "outages of both lines";
    case Count::LongOutages: return "of these, of more than 15 s";
    case Count::Resets: return "resets and fail-overs";
    case Count::LatestBooks: return "latest books compared";
    case Count::AheadBooks: return "of these, ahead by a snapshot";
    case Count::SuspectBooks: return "suspect books compared";
    case Count::StaleBooks: return "stale books seen";
    case Count::KnownRows: return "known rows of refreshed books compared";
    case Count::Loads: return "snapshots that became a book";
    case Count::Audits: return "snapshots compared with a book";
    case Count::Refreshes: return "books that went on from nothing";
    case Count::Queued: return "entries that waited";
    case Count::Unqueued: return "times that they found no room";
    case Count::TornSnapshots: return "torn snapshots";
    case Count::OldSnapshots: return "old snapshots";
    case Count::Healed: return "books that were right again";
  }
  return "";
}

}  // namespace stopbit::venue_test
