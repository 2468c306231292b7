// A replay service that does what the bytes say, in each dialect: closes, stalls, floods, lies about lengths and
// numbers. Each number that was wanted comes once or is given up once, and no quota is exceeded. And the bytes as a
// frame: what a dialect finds in it, is in it.

#include "tests/fuzz/checks.hpp"
#include "tests/lib/replay_service.hpp"

namespace {

using namespace stopbit;

void read_frame(refill::DialectKind kind, std::span<const std::byte> bytes) {
  static const auto dialects = [] {
    std::vector<std::unique_ptr<refill::Dialect>> all;
    for (std::size_t i = 0; i < refill::dialect_rows().size(); ++i) {
      all.push_back(
          refill::make_dialect(static_cast<refill::DialectKind>(i), {.sender = "us", .target = "them", .feed = "7"})
              .value());
    }
    return all;
  }();
  const refill::Dialect& dialect = *dialects[static_cast<std::size_t>(kind)];
  const auto size = dialect.frame(bytes);
  if (!size || *size == 0 || *size > bytes.size()) return;
  const std::span<const std::byte> frame = bytes.first(static_cast<std::size_t>(*size));
  std::size_t messages = 0;
  refill::Place place;
  for (std::size_t before = 0; const auto reply = dialect.read(frame, place); before = place.at) {
    fuzz::require(place.at > before && place.at <= frame.size(), "a dialect moves on in its frame");
    if (reply->bytes.empty()) continue;
    fuzz::require(
        reply->bytes.data() >= frame.data() && reply->bytes.data() + reply->bytes.size() <= frame.data() + frame.size(),
        "a message is in its frame");
    messages += reply->kind == refill::Reply::Kind::Message || reply->kind == refill::Reply::Kind::Fast ? 1 : 0;
  }
  fuzz::require(messages <= dialect.most_messages(frame.size()), "a frame has no more messages than it may");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (std::size_t i = 0; i < refill::dialect_rows().size(); ++i) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
    read_frame(static_cast<refill::DialectKind>(i), bytes);
    // A report whose length and sum are right.
    const std::string text(reinterpret_cast<const char*>(data), size);
    read_frame(static_cast<refill::DialectKind>(i), testing::ServiceVoice::text(text));
  }
  cases::Random random(std::span(data, size));
  const std::string wrong = testing::play_replays(random, std::min<std::size_t>(size, 2'000));
  fuzz::require(wrong.empty(), "the client keeps its promises", wrong);
  return 0;
}
