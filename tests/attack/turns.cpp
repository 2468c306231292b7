#include <algorithm>

#include "tests/attack/attacks.hpp"
#include "tests/attack/captures.hpp"
#include "tests/attack/target.hpp"

namespace stopbit::attack {
namespace {

constexpr std::size_t kMessages = 1'000;
constexpr std::size_t kQuickMessages = 15;

void turn_and_cut(Target& target, const Bytes& good) {
  const auto decode_good = [&] {
    if (target.feed().reset != ResetRule::Packet) target.reset();
    return target.decode(good);
  };
  if (decode_good().error != ErrorCode::None) return;  // it wants a dictionary that earlier ones filled
  const std::uint64_t digest = target.digest();
  const auto attack = [&](std::span<const std::byte> bytes) {
    if (target.feed().reset != ResetRule::Packet) target.reset();
    (void)target.attack(bytes);
    (void)decode_good();
    require(target.digest() == digest, "behind an attack an engine decodes as a fresh one");
  };
  Bytes bytes = good;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const std::byte mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    attack(bytes);
    bytes[bit / 8] ^= mask;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) attack(std::span(bytes).first(size));
}

}  // namespace

void attack_with_turned_messages(const Plan& plan, Counts& counts) {
  std::vector<Captured> materials = captures();
  Progress progress("turns");
  // A capture of a single packet counts for little.
  const auto useful = static_cast<std::size_t>(std::count_if(
      materials.begin(), materials.end(), [](const Captured& material) { return material.datagrams.size() > 1; }));
  const std::size_t wanted = (plan.is_long ? kMessages * plan.times : kQuickMessages) / useful;
  for (Captured& material : materials) {
    for (const bool strict : {false, true}) {
      material.feed.strict = strict;
      const std::vector<verify::TemplateCost> costs = verify::check(material.feed.program).costs;
      Target target(material.feed, costs, counts);
      const std::size_t step = std::max<std::size_t>(1, material.datagrams.size() / wanted);
      for (std::size_t i = plan.seed % step; i < material.datagrams.size(); i += step) {
        turn_and_cut(target, material.datagrams[i]);
        ++counts.targets;
        progress.tell(counts, material.feed.name);
      }
    }
  }
}

}  // namespace stopbit::attack
