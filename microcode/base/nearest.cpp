#include "microcode/base/nearest.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stopbit {
namespace {

constexpr std::size_t kMaxNameBytes = 64;

/// Insertions, deletions and replacements of a letter. Both are at most kMaxNameBytes long.
std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::size_t, kMaxNameBytes + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

bool equals_in_other_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string nearest(std::string_view wanted, std::span<const std::string> known) {
  for (const std::string& name : known) {
    if (name != wanted && equals_in_other_case(name, wanted)) return name;
  }
  if (wanted.size() > kMaxNameBytes) return {};
  const std::size_t most = wanted.size() < 4 ? 1 : std::max<std::size_t>(2, wanted.size() / 3);
  std::size_t least = most + 1;
  std::string found;
  for (const std::string& name : known) {
    if (name.size() > kMaxNameBytes) continue;
    const std::size_t steps = distance(wanted, name);
    if (steps >= least) continue;
    least = steps;
    found = name;
  }
  return found;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string> known) {
  const std::string near = nearest(wanted, known);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

}  // namespace stopbit
