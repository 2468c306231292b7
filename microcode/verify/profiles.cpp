#include <algorithm>
#include <map>

#include "microcode/profile/straight_line.hpp"
#include "microcode/verify/findings.hpp"

namespace stopbit::verify {
namespace {

/// Pairs are the operand check's.
bool same(isa::Instruction a, isa::Instruction b) {
  a.pair = b.pair = false;
  return a == b;
}

}  // namespace

void check_profile_programs(const Program& program, Findings& findings) {
  // Each program ends where the next one begins, so that no instruction is looked at twice, or never.
  std::map<std::size_t, std::size_t> programs;  // index of the entry, by address
  for (std::size_t i = 0; i < program.profiles.size(); ++i) {
    const bool is_new = programs.emplace(program.profiles[i].entry, i).second;
    findings.require(is_new, "profile-entry", "profiles", i, "the program belongs to another map");
  }
  if (programs.empty() || !findings.empty()) return;

  const std::map<std::uint16_t, std::size_t> begins = profile::segment_begins(program);
  for (auto at = programs.begin(); at != programs.end(); ++at) {
    const auto& [address, index] = *at;
    const ProfileEntry& entry = program.profiles[index];
    const auto begin = begins.find(entry.segment);
    if (!findings.require(begin != begins.end(), "profile-segment", "profiles", index,
                          "no such segment, or several, or its map is that of a template identifier")) {
      continue;
    }
    const std::size_t end = std::next(at) == programs.end() ? program.code.size() : std::next(at)->first;
    const auto wanted = profile::straight_line(program, begin->second, entry.presence_bits, address, end - address);
    const bool is_it = wanted && wanted->taken == entry.taken && wanted->code.size() == end - address &&
                       std::equal(wanted->code.begin(), wanted->code.end(),
                                  program.code.begin() + static_cast<std::ptrdiff_t>(address), same);
    findings.require(is_it, "profile-code", "profiles", index,
                     "the program differs from the general program for this map");
  }
}

}  // namespace stopbit::verify
