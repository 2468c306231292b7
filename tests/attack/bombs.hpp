#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stopbit::attack {

/// Ten bytes that claim a sequence of millions of elements.
struct Bomb {
  std::string name;
  std::vector<std::byte> bytes;
};

/// Of each length, for elements with a presence map, with fields alone, and without any byte.
[[nodiscard]] std::vector<Bomb> make_bombs();
[[nodiscard]] const char* bomb_templates();

}  // namespace stopbit::attack
