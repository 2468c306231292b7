// Any bytes as the file of the numbers that an appliance before delivered last: what is found there is what its own
// check confirms, the file is one of these channels afterwards, and is read again as it is.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "host/appliance/known_runs.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/lib/file_text.hpp"

namespace {

constexpr std::array<std::string_view, 3> kChannels = {"seven", "eight", ""};

/// A folder of this process alone, in memory if there is /dev/shm.
const std::string& folder() {
  static const std::string made = [] {
    std::string name = std::filesystem::exists("/dev/shm") ? "/dev/shm/fuzz-runs-XXXXXX" : "/tmp/fuzz-runs-XXXXXX";
    stopbit::fuzz::require(::mkdtemp(name.data()) != nullptr, "a folder");
    return name;
  }();
  static const struct Removes {
    ~Removes() { std::filesystem::remove_all(folder_); }
    std::string folder_;
  } removes{made};
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  using appliance::KnownRuns;
  const std::string path = folder() + "/runs";
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));

  KnownRuns runs;
  const auto opened = runs.open(folder(), kChannels);
  if (!opened) {
    fuzz::require(opened.message().find(path) != std::string::npos, "a refusal names the file", opened.message());
    fuzz::require(runs.place(0) == nullptr, "nothing is kept of what was refused");
    const std::string left = testing::file_text(path);
    fuzz::require(std::equal(left.begin(), left.end(), data, data + size,
                             [](char one, std::uint8_t other) { return static_cast<std::uint8_t>(one) == other; }),
                  "what was refused stays as it was");
    return 0;
  }
  fuzz::require(std::filesystem::file_size(path) >= 64 * (1 + kChannels.size()), "each channel has its place");
  KnownRuns again;
  fuzz::require(again.open(folder(), kChannels).ok(), "what was made is read again");
  for (std::size_t i = 0; i < kChannels.size(); ++i) {
    fuzz::require(again.known(i).has_value() == runs.known(i).has_value(), "a number is still known");
    if (!runs.known(i)) continue;
    fuzz::require(again.known(i)->last == runs.known(i)->last && again.known(i)->run == runs.known(i)->run,
                  "a number is read as written");
  }
  fuzz::require(!runs.known(kChannels.size()) && runs.place(kChannels.size()) == nullptr, "there are no others");
  return 0;
}
