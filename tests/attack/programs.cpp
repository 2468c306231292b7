#include <fmt/format.h>

#include <iterator>

#include "tests/attack/attacks.hpp"
#include "tests/attack/change_program.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/feeds.hpp"

namespace stopbit::attack {
namespace {

constexpr std::uint64_t kQuickPrograms = 4'000;
constexpr std::uint64_t kPrograms = 400'000;
constexpr std::size_t kDatagrams = 40;
constexpr std::uint64_t kMaxChanges = 4;

Program make_program(const Feeds& feeds, cases::Random& random) {
  if (random.chance(10)) return noise_program(random);
  Program program = random.pick(feeds)->program;
  if (random.chance(50)) reshape_program(program, random);
  for (std::uint64_t left = random.below(kMaxChanges + 1); left > 0; --left) change_program(program, random);
  return program;
}

/// Message after message, now and then more than a datagram may have.
Bytes long_datagram(Chatter& chatter, cases::Random& random) {
  constexpr std::uint64_t kMaxBytes = 70'000;
  const auto size = static_cast<std::size_t>(random.below(kMaxBytes));
  Bytes bytes;
  while (bytes.size() < size) {
    const Bytes& more = chatter.next();
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

}  // namespace

void attack_with_programs(const Plan& plan, Counts& counts) {
  Feeds feeds = fixed_feeds();
  feeds.push_back(sample_feed());
  // The small ones of real exchanges; large ones only take longer to verify.
  constexpr std::size_t kMaxCode = 600;
  for (auto& feed : corpus_feeds()) {
    if (feed->program.code.size() <= kMaxCode) feeds.push_back(std::move(feed));
  }
  Feeds more = random_feeds(plan.seed, 60);
  std::move(more.begin(), more.end(), std::back_inserter(feeds));
  more = cell_feeds();
  std::move(more.begin(), more.end(), std::back_inserter(feeds));

  Progress progress("programs");
  cases::Random random(plan.seed);
  const std::uint64_t programs = plan.is_long ? kPrograms * plan.times : kQuickPrograms;
  for (std::uint64_t number = 0; number < programs; ++number) {
    Feed feed;
    feed.name = fmt::format("seed-{}-number-{}", plan.seed, number);
    feed.program = make_program(feeds, random);
    feed.reset = random.chance(50) ? ResetRule::Never : ResetRule::Packet;
    feed.strict = random.chance(30);
    feed.is_traced = random.chance(30);
    if (random.chance(20)) feed.limits = some_limits(random);
    ++counts.targets;
    const verify::Report report = verify::check(feed.program);
    if (!report.ok()) {
      require(!report.findings[0].rule.empty() && !report.findings[0].message.empty(), "a refusal names its rule");
      ++counts.refused;
      continue;
    }
    ++counts.accepted;
    Target target(feed, report.costs, counts);
    Chatter chatter(feed.program, random);
    for (std::size_t i = 0; i < kDatagrams; ++i) {
      if (random.chance(30)) target.reset();
      const bool is_long = random.below(1'000) == 0;
      (void)target.attack(is_long ? long_datagram(chatter, random) : chatter.next());
    }
    progress.tell(counts, feed.name);
  }
}

}  // namespace stopbit::attack
