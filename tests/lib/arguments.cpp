#include "tests/lib/arguments.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace stopbit::testing {

void Arguments::text(const std::string& name, std::string& target, const std::string& about, bool is_required) {
  add({.name = name,
       .about = about,
       .take =
           [&target](const std::string& text) {
             target = text;
             return true;
           },
       .is_required = is_required});
}

void Arguments::flag(const std::string& name, bool& target, const std::string& about) {
  add({.name = name, .about = about, .take = [&target](const std::string&) { return target = true; }, .is_flag = true});
}

void Arguments::word(const std::string& name, std::string& target, const std::string& about,
                     std::vector<std::string> choices) {
  add({.name = name,
       .about = about,
       .take =
           [&target, choices = std::move(choices)](const std::string& text) {
             target = text;
             return choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
           },
       .is_word = true,
       .is_required = true});
}

std::optional<int> Arguments::read(int argc, const char* const* argv) {
  const auto fails = [&](const std::string& name, const char* problem) {
    std::fprintf(stderr, "%s: %s: %s; see --help\n", argv[0], name.c_str(), problem);
    return 2;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string said = argv[i];
    if (said == "--help" || said == "-h") {
      print_help(argv[0]);
      return 0;
    }
    const bool is_name = said.starts_with("--");
    const auto found = std::find_if(arguments_.begin(), arguments_.end(), [&](const Argument& one) {
      return is_name ? !one.is_word && one.name == said : one.is_word && !one.is_given;
    });
    if (found == arguments_.end()) return fails(said, "nothing of this kind is expected");
    if (is_name && !found->is_flag && ++i == argc) return fails(said, "a value is missing");
    if (!found->take(argv[i])) return fails(found->name, "not such a value");
    found->is_given = true;
  }
  for (const Argument& one : arguments_) {
    if (one.is_required && !one.is_given) return fails(one.name, "is missing");
  }
  return std::nullopt;
}

void Arguments::print_help(const char* program) const {
  std::printf("%s\n\nusage: %s [OPTION...]", about_.c_str(), program);
  for (const Argument& one : arguments_) {
    if (one.is_word) std::printf(" %s", one.name.c_str());
  }
  std::puts("\n");
  for (const Argument& one : arguments_) std::printf("  %-18s %s\n", one.name.c_str(), one.about.c_str());
}

}  // namespace stopbit::testing
