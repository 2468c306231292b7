#include <algorithm>
#include <iterator>

#include "tests/attack/attacks.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/feeds.hpp"

namespace stopbit::attack {
namespace {

constexpr std::size_t kQuickTemplates = 25;
constexpr std::size_t kAttempts = 3'000;

/// Calls `run` with every tail of one and two bytes after `start`.
template <class Run>
void for_each_tail(const Bytes& start, Run run) {
  Bytes bytes = start;
  const std::size_t size = start.size();
  for (unsigned first = 0; first < 256; ++first) {
    bytes.resize(size);
    bytes.push_back(static_cast<std::byte>(first));
    run(bytes);
    bytes.push_back({});
    for (unsigned second = 0; second < 256; ++second) {
      bytes[size + 1] = static_cast<std::byte>(second);
      run(bytes);
    }
  }
}

/// `good` is decoded before each attack, and must be decoded as by a fresh engine whatever came before.
void attack_behind(Target& target, const std::optional<Bytes>& good, const Bytes& start) {
  std::uint64_t digest = 0;
  if (good) {
    target.reset();
    require(target.decode(*good).messages == 1, "a good message stays good");
    digest = target.digest();
  }
  for_each_tail(start, [&](const Bytes& bytes) {
    target.reset();
    if (good) {
      (void)target.decode(*good);
      require(target.digest() == digest, "behind an attack an engine decodes as a fresh one");
    }
    (void)target.attack(bytes);
  });
}

}  // namespace

void attack_with_bytes(const Plan& plan, Counts& counts) {
  Feeds feeds = fixed_feeds();
  feeds.push_back(sample_feed());
  Feeds cells = cell_feeds();
  Feeds more = random_feeds(plan.seed, plan.is_long ? 100 : 5);
  std::move(cells.begin(), cells.end(), std::back_inserter(more));
  if (plan.is_long) {
    Feeds corpus = corpus_feeds();
    std::move(corpus.begin(), corpus.end(), std::back_inserter(more));
    std::move(more.begin(), more.end(), std::back_inserter(feeds));
  } else {
    // The fixed sets have every operator on every type; the rest is a sample of the other feeds.
    std::size_t templates = 0;
    for (const auto& feed : feeds) templates += feed->program.templates.size();
    const std::size_t wanted = kQuickTemplates - std::min(kQuickTemplates, templates);
    for (std::size_t i = 0; i < wanted; ++i) feeds.push_back(std::move(more[i * more.size() / wanted]));
  }

  Progress progress("bytes");
  cases::Random random(plan.seed);
  for (const auto& feed : feeds) {
    const std::vector<verify::TemplateCost> costs = verify::check(feed->program).costs;
    Target target(*feed, costs, counts);
    Chatter chatter(feed->program, random);
    attack_behind(target, std::nullopt, {});
    for (const std::uint32_t id : chatter.ids()) {
      ++counts.targets;
      progress.tell(counts, feed->name);
      attack_behind(target, std::nullopt, chatter.start(id));
      const auto good = find_good_message(target, id, kAttempts, chatter);
      if (good) attack_behind(target, good, {});
      if (good && plan.is_long) attack_behind(target, good, chatter.start(id));
    }
  }
}

}  // namespace stopbit::attack
