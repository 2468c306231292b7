// Profiles from a stranger: a reason, or a profile that is written and read again; and programs made with it are safe.
//
// Input: template set, then the file.

#include <string>
#include <string_view>

#include "host/analyse/profile/profile.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  fuzz::Input input({data, size});
  const Program& program = fuzz::fixed_program(input.byte());
  const std::span<const std::byte> rest = input.rest();
  const Result<profile::Profile> read = profile::from_json({reinterpret_cast<const char*>(rest.data()), rest.size()});
  if (!read) {
    fuzz::require(!read.message().empty(), "an error has a reason");
    return 0;
  }
  const std::string text = profile::to_json(read.value());
  const Result<profile::Profile> again = profile::from_json(text);
  fuzz::require(again.ok(), "a profile that was written can be read", text);
  fuzz::require(profile::to_json(again.value()) == text, "a profile gives itself again", text);

  Program profiled = program;
  const profile::Counts counts = profile::resolve(read.value(), program).counts;
  (void)profile::add_profiles(profiled, counts, {.maps = limits::kMaxProfileMaps, .least_share = 0});
  fuzz::require(verify::check(profiled).ok(), "programs for any map are safe", text);
  fuzz::check_round_trips(profiled);
  return 0;
}
