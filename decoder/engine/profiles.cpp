#include "decoder/engine/profiles.hpp"

#include <algorithm>

namespace stopbit::engine {
namespace {

constexpr unsigned kTries = 1'000;

/// SplitMix64: well mixed numbers, the same on every machine.
std::uint64_t next_factor(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return (z ^ (z >> 31)) | 1;
}

}  // namespace

Profiles::Profiles(const Program& program) {
  if (program.profiles.empty()) return;
  entries_.resize(2);
  std::size_t segments = 0;
  for (const isa::Instruction& in : program.code) {
    if (in.op == isa::DataOp::Pmap) segments = std::max<std::size_t>(segments, in.constant + std::size_t{1});
  }
  segments_.resize(segments);
  bodies_.resize(program.templates.size());
  for (std::size_t first = 0; first < program.profiles.size();) {
    std::size_t last = first;
    while (last < program.profiles.size() && program.profiles[last].segment == program.profiles[first].segment) ++last;
    add(program, first, last);
    first = last;
  }
}

/// Larger and larger tables are tried with a number of factors each. Two maps meet in a table of n places for about one
/// factor in n, so a table with as many places as there are pairs of maps is found soon.
void Profiles::add(const Program& program, std::size_t first, std::size_t last) {
  const std::uint16_t segment = program.profiles[first].segment;
  const bool is_body = (segment & ProfileEntry::kBody) != 0;
  Table& table = is_body ? bodies_[segment & ~ProfileEntry::kBody] : segments_[segment];
  constexpr std::size_t kMostPlaces = 2 * limits::kMaxProfileMaps * limits::kMaxProfileMaps;
  std::uint64_t state = 0;
  std::uint8_t shift = 63;
  for (std::size_t size = 2; size <= kMostPlaces; size *= 2, --shift) {
    if (size < last - first) continue;
    for (unsigned i = 0; i < kTries; ++i) {
      const Table tried{next_factor(state), static_cast<std::uint32_t>(entries_.size()), shift};
      std::vector<Entry> places(size);
      const bool all =
          std::all_of(program.profiles.begin() + static_cast<std::ptrdiff_t>(first),
                      program.profiles.begin() + static_cast<std::ptrdiff_t>(last), [&](const auto& profile) {
                        Entry& place = places[profile.presence_bits * tried.factor >> tried.shift];
                        if (place.bits != kNoMap) return false;
                        place = {profile.presence_bits, profile.entry, profile.taken};
                        return true;
                      });
      if (!all) continue;
      table = tried;
      entries_.insert(entries_.end(), places.begin(), places.end());
      return;
    }
  }
  // Maps that no factor parts: their segment goes on in the general program, which does the same.
}

}  // namespace stopbit::engine
