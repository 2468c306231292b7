#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "microcode/image/image.hpp"
#include "tests/attack/attacks.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/lib/image_bytes.hpp"

namespace stopbit::attack {
namespace {

constexpr std::size_t kImages = 20;
constexpr std::size_t kDatagrams = 8;
constexpr std::size_t kQuickTurns = 6'000;  ///< Over all images.

/// Small and medium images. Large ones have the same tables, with more of the same entries.
Feeds images(bool is_long, std::uint64_t seed) {
  Feeds feeds = fixed_feeds();
  feeds.push_back(sample_feed());
  if (is_long) {
    constexpr std::size_t kMaxImage = 12'000;
    for (auto& feed : corpus_feeds()) {
      if (feeds.size() < kImages - 5 && image::write(feed->program).size() <= kMaxImage) {
        feeds.push_back(std::move(feed));
      }
    }
  }
  Feeds random = random_feeds(seed, kImages - feeds.size());
  std::move(random.begin(), random.end(), std::back_inserter(feeds));
  return feeds;
}

void run(const Feed& original, std::size_t bit, Program program, cases::Random& random, Counts& counts) {
  const verify::Report report = verify::check(program);
  if (!report.ok()) {
    require(!report.findings[0].rule.empty() && !report.findings[0].message.empty(), "a refusal names its rule");
    ++counts.refused;
    return;
  }
  ++counts.accepted;
  Feed feed;
  feed.name = fmt::format("{}-bit-{}", original.name, bit);
  feed.program = std::move(program);
  Target target(feed, report.costs, counts);
  Chatter chatter(feed.program, random);
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    if (random.chance(50)) target.reset();
    (void)target.attack(chatter.next());
  }
}

}  // namespace

void attack_with_turned_images(const Plan& plan, Counts& counts) {
  Progress progress("images");
  cases::Random random(plan.seed);
  const Feeds feeds = images(plan.is_long, plan.seed);
  for (const auto& feed : feeds) {
    const Bytes bytes = image::write(feed->program);
    const std::size_t bits = bytes.size() * 8;
    const std::size_t step = plan.is_long ? 1 : std::max<std::size_t>(1, bits * feeds.size() / kQuickTurns);
    for (std::size_t bit = plan.seed % step; bit < bits; bit += step) {
      Bytes turned = bytes;
      turned[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto unmended = image::read(turned);
      require(!unmended.ok() && !unmended.message().empty(), "an image with a turned bit is refused by name",
              fmt::format("{}, bit {}", feed->name, bit));
      ++counts.targets;

      cases::mend_checksums(turned);
      auto program = image::read(turned);
      if (!program) {
        require(!program.message().empty(), "a refusal says why");
        ++counts.refused;
        continue;
      }
      require(image::write(program.value()) == turned, "writing an image again gives the same bytes",
              fmt::format("{}, bit {}", feed->name, bit));
      run(*feed, bit, std::move(program).value(), random, counts);
      progress.tell(counts, feed->name);
    }
  }
}

}  // namespace stopbit::attack
