// A server of STEP that does what the bytes say: tears messages, lies about lengths, floods, closes. What an honest
// connection brings comes once, in order; nothing is said without a connection. And the bytes as what a server sends
// after the log-on.

#include "tests/fuzz/checks.hpp"
#include "tests/lib/step_server.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const std::string& bytes : {text, testing::StepVoice::message(text), testing::StepVoice::data(text)}) {
    testing::StepServer server;
    fix::StepSession session({.templates = {{"UA3202", 3'202}}}, {}, server);
    const Now now{.wall_ns = 1, .monotonic_ns = 1};
    session.tick(now);
    server.is_connecting = false;
    server.is_open = true;
    session.connected(now);
    (void)server.give(session, testing::StepVoice::log_on() + bytes, now);
    fuzz::require(server.wrong.empty(), "a session keeps its promises", server.wrong);
  }
  cases::Random random(std::span(data, size));
  const std::string wrong = testing::play_step(random, std::min<std::size_t>(size, 2'000));
  fuzz::require(wrong.empty(), "a session keeps its promises", wrong);
  return 0;
}
