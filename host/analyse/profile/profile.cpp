#include "host/analyse/profile/profile.hpp"

namespace stopbit::profile {

Resolved resolve(const Profile& profile, const Program& program) {
  std::map<Name, std::uint16_t> numbers;
  for (const auto& [segment, name] : name_parts(program).segments) numbers.emplace(name, segment);
  Resolved out;
  for (const auto& [name, counts] : profile.segments) {
    const auto number = numbers.find(name);
    if (number == numbers.end()) {
      out.unknown.push_back(name);
    } else {
      out.counts.emplace(number->second, counts);
    }
  }
  return out;
}

std::string name_text(const Name& name) {
  std::string out = name.template_name;
  for (const std::string& step : name.path) out += '/' + step;
  return name.occurrence == 0 ? out : out + '#' + std::to_string(name.occurrence + 1);
}

std::string map_text(std::uint64_t map) {
  std::string out;
  do {
    out += map >> 63 != 0 ? '1' : '0';
    map <<= 1;
  } while (map != 0);
  return out;
}

}  // namespace stopbit::profile
