#pragma once

#include <vector>

#include "tests/attack/target.hpp"

namespace stopbit::attack {

/// The data of a capture's datagrams, without preambles, and what decodes them.
struct Captured {
  Feed feed;
  std::vector<Bytes> datagrams;
};

/// The bundled sample, and the captures of STOPBIT_CORPUS if it is set.
[[nodiscard]] std::vector<Captured> captures();

}  // namespace stopbit::attack
