#include "host/os/config/units.hpp"

namespace stopbit::config {

std::string in_units(std::uint64_t value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.size == 0) best = &unit;
  }
  return std::to_string(value / best->size) + std::string(best->name);
}

}  // namespace stopbit::config
