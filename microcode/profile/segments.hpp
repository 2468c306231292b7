#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "microcode/program.hpp"

namespace stopbit::profile {

/// Readable name of a part of a template, stable across compilations: the names of the groups and sequences that lead
/// to it. `occurrence` counts equal ones in the order of the code: a template may use a name twice, and its code may
/// occur several times.
struct Name {
  std::uint32_t template_id = 0;
  std::string template_name;
  std::string template_space;
  std::vector<std::string> path;  ///< Empty: the template's body.
  std::uint32_t occurrence = 0;
  auto operator<=>(const Name&) const = default;
};

/// The parts of a verified program that profiles count.
struct Names {
  std::map<std::uint16_t, Name> segments;   ///< By number, as in ProfileEntry: those that can have profile programs.
  std::map<std::uint16_t, Name> sequences;  ///< By address of the SEQ.
  std::map<std::uint16_t, Name> strings;    ///< By address of the instruction; the last name is the field's.
};
[[nodiscard]] Names name_parts(const Program& program);

/// The address after the POP of a group's PMAP.
[[nodiscard]] std::size_t behind_group(const Program& program, std::size_t pmap);

}  // namespace stopbit::profile
