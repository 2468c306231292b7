// Templates and messages that fit them, both made from choices that the input steers; then the messages, changed entity
// by entity. Messages that were sent come out, whatever comes out can be encoded, and everything else is an error with
// a name.

#include "tests/attack/change_entities.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/attack/round_trip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  constexpr std::size_t kMaxChanges = 8;
  cases::Random random(std::span(data, size));
  const std::size_t changes = random.below(kMaxChanges + 1);
  const bool is_strict = random.chance(50);
  const cases::RandomCase made = cases::random_case(random);
  const auto feed = attack::make_feed("fuzz", made.template_text);
  feed->reset = made.reset;
  feed->strict = is_strict;
  attack::RoundTrip round_trip(*feed);
  attack::check_values(made, round_trip);

  attack::Counts counts;
  const std::vector<verify::TemplateCost> costs = verify::check(feed->program).costs;
  attack::Target target(*feed, costs, counts);
  for (std::size_t change = 0; change < changes; ++change) {
    const std::vector<attack::Bytes> datagrams = {attack::change_entities(made.packets, 0, random)};
    target.reset();
    (void)target.attack(datagrams[0]);
    round_trip.check(datagrams);
  }
  return 0;
}
