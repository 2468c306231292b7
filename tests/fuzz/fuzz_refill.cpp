// A replay service that does what the bytes say: closes, stalls, floods, lies about lengths and numbers. Each number
// that was wanted comes once or is given up once, and no quota is exceeded.

#include "tests/fuzz/checks.hpp"
#include "tests/lib/replay_service.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  cases::Random random(std::span(data, size));
  const std::string wrong = testing::play_replays(random, std::min<std::size_t>(size, 2'000));
  fuzz::require(wrong.empty(), "the client keeps its promises", wrong);
  return 0;
}
