// stopbit_attack: attacks decoder, images and verifier, and says in one line of JSON what it did. A broken promise ends
// it with status 1 and leaves a case file.

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/attack/attacks.hpp"
#include "tests/attack/target.hpp"
#include "tests/lib/arguments.hpp"

namespace stopbit::attack {
namespace {

struct Attack {
  const char* name;
  const char* about;
  void (*run)(const Plan&, Counts&);
};

constexpr Attack kAttacks[] = {
    {"bytes", "every datagram of one and two bytes", attack_with_bytes},
    {"turns", "every bit of real messages turned, every prefix", attack_with_turned_messages},
    {"images", "every bit of images turned", attack_with_turned_images},
    {"programs", "changed and random programs against the verifier", attack_with_programs},
    {"messages", "random templates, messages, changed messages", attack_with_messages},
    {"differential", "every engine on the same datagrams", attack_with_differences},
    {"bombs", "lengths that no datagram can hold", attack_with_bombs},
};

int run(int argc, char** argv) {
  testing::Arguments arguments("Attacks decoder, images and verifier.");
  Plan plan;
  std::string keep = ".";
  std::string name;
  std::string about = "one of these:";
  std::vector<std::string> names;
  for (const Attack& attack : kAttacks) {
    names.emplace_back(attack.name);
    about += std::string("\n    ") + attack.name + ": " + attack.about;
  }
  arguments.word("ATTACK", name, about, names);
  arguments.number("--seed", plan.seed, "another seed makes other random choices");
  arguments.flag("--long", plan.is_long, "the long form");
  arguments.number("--times", plan.times, "so many times the random attempts", decltype(plan.times){1});
  arguments.number("--first", plan.first, "differential: begins with the program of this number");
  arguments.text("--keep", keep, "folder for the case of a failure");
  if (const auto status = arguments.read(argc, argv)) return *status;
  for (const Attack& attack : kAttacks) {
    if (name != attack.name) continue;
    keep_cases_in(keep, attack.name);
    Counts counts;
    const auto begin = std::chrono::steady_clock::now();
    attack.run(plan, counts);
    require(counts.executions > 0, "an attack attacks");
    std::puts(json_line(attack.name, plan.seed, counts, std::chrono::steady_clock::now() - begin).c_str());
  }
  return 0;
}

}  // namespace
}  // namespace stopbit::attack

int main(int argc, char** argv) {
  return stopbit::attack::run(argc, argv);
}
