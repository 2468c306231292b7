#include "tests/attack/bombs.hpp"

#include <array>
#include <utility>

#include "tests/attack/attacks.hpp"
#include "tests/attack/feeds.hpp"

namespace stopbit::attack {

std::vector<Bomb> make_bombs() {
  struct Length {
    const char* name;
    std::vector<unsigned> bytes;
  };
  constexpr std::size_t kBytes = 10;
  constexpr std::array kTemplates = {"fields", "map", "nothing"};
  const std::array<Length, 3> lengths = {{{"10^7", {0x04, 0x62, 0x5A, 0x80}},
                                          {"2^28-1", {0x7F, 0x7F, 0x7F, 0xFF}},
                                          {"2^31-1", {0x07, 0x7F, 0x7F, 0x7F, 0xFF}}}};
  std::vector<Bomb> bombs;
  for (std::size_t i = 0; i < kTemplates.size(); ++i) {
    for (const Length& length : lengths) {
      Bomb bomb{std::string(kTemplates[i]) + "/" + length.name, {std::byte{0xC0}, static_cast<std::byte>(0x81 + i)}};
      for (const unsigned byte : length.bytes) bomb.bytes.push_back(static_cast<std::byte>(byte));
      bomb.bytes.resize(kBytes, std::byte{0x80});
      bombs.push_back(std::move(bomb));
    }
  }
  return bombs;
}

const char* bomb_templates() {
  return R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Plain" id="1"><sequence name="S"><uInt32 name="A"/><string name="B" presence="optional"/></sequence></template>
  <template name="Map" id="2"><sequence name="S"><uInt32 name="A"><copy value="1"/></uInt32></sequence></template>
  <template name="Nothing" id="3"><sequence name="S"><uInt32 name="A"><constant value="1"/></uInt32></sequence></template>
</templates>
)";
}

void attack_with_bombs(const Plan& plan, Counts& counts) {
  constexpr std::uint64_t kMostInstructions = 8;
  const std::uint64_t rounds = plan.is_long ? 1'000'000 : 1'000;
  const std::unique_ptr<Feed> feed = make_feed("bombs", bomb_templates());
  const std::vector<verify::TemplateCost> costs = verify::check(feed->program).costs;
  Target target(*feed, costs, counts);
  for (const Bomb& bomb : make_bombs()) {
    ++counts.targets;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      target.reset();
      const Outcome outcome = target.attack(bomb.bytes);
      require(outcome.error == ErrorCode::X2 && outcome.instructions <= kMostInstructions,
              "a bomb is refused at its length", bomb.name);
    }
  }
}

}  // namespace stopbit::attack
