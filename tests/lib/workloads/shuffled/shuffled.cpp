#include "tests/lib/workloads/shuffled/shuffled.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "tests/lib/random.hpp"
#include "tests/lib/workloads/feed_writer.hpp"
#include "tests/lib/workloads/json_line.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint64_t kSeed = 20'261'121;
constexpr std::size_t kMessages = 20'000;
constexpr std::size_t kRepeated = 32;
constexpr std::uint64_t kMaxEntries = 5;

/// Draws every choice anew, so that no history tells the next one.
class Shuffler {
 public:
  explicit Shuffler(std::uint64_t seed) : random_(seed) {}

  std::string_view next() {
    line_.begin("BookUpdate", 1);
    line_.text("Version", "1.0");
    line_.text("MsgType", "X");
    line_.unsigned_number("MsgSeqNum", magnitude());
    line_.unsigned_number("SendingTime", magnitude());
    line_.unsigned_number("TradeDate", magnitude());
    line_.begin_sequence("Entries");
    previous_ = {};
    for (std::uint64_t left = 1 + random_.below(kMaxEntries); left > 0; --left) entry();
    line_.end_sequence();
    return line_.end();
  }

 private:
  /// Values of the entry before, for the operators.
  struct Previous {
    std::uint64_t action = 1;
    std::uint64_t security = 0;
    std::uint64_t sequence = 0;
    std::uint64_t time = 0;
    std::int64_t price = 0;
    std::int64_t size = 0;
    std::int64_t orders = 0;
    std::int64_t change = 0;
    std::string type = "0";
  };

  bool coin() { return random_.chance(50); }

  /// Of one to five bytes on the wire: 55, 20, 12, 8 and 5 of a hundred.
  std::uint64_t magnitude() {
    const std::uint64_t draw = random_.below(100);
    const unsigned bytes = draw < 55 ? 1 : draw < 75 ? 2 : draw < 87 ? 3 : draw < 95 ? 4 : 5;
    const unsigned bits = std::min(7 * bytes, 31U);  // one less than a uInt32 has: nullable, and int32 as well
    const std::uint64_t low = bytes == 1 ? 0 : std::uint64_t{1} << 7 * (bytes - 1);
    return low + random_.below((std::uint64_t{1} << bits) - low);
  }
  std::optional<std::uint64_t> optional_magnitude() { return coin() ? std::optional(magnitude()) : std::nullopt; }

  /// `before` plus or minus something, if that is in low..high.
  std::int64_t moved(std::int64_t before, std::int64_t low, std::int64_t high) {
    const auto by = static_cast<std::int64_t>(magnitude());
    const std::int64_t after = coin() ? before + by : before - by;
    return after < low || after > high ? before : after;
  }

  std::string_view word() {
    constexpr std::size_t kLongest = 6;
    word_.clear();
    for (std::uint64_t left = 1 + (coin() ? 0 : random_.below(kLongest)); left > 0; --left) {
      word_ += static_cast<char>('A' + random_.below(26));
    }
    return word_;
  }
  /// Absent, the initial value, or another.
  std::optional<std::string_view> word_or(std::optional<std::string_view> initial) {
    return coin() ? initial : coin() ? std::optional(word()) : std::nullopt;
  }

  void entry() {
    constexpr std::int64_t kMaxInt32 = 0x7FFF'FFFF;
    constexpr std::int64_t kMaxMantissa = std::int64_t{1} << 40;
    Previous& last = previous_;
    line_.begin_element();
    if (coin()) last.action = magnitude();
    line_.unsigned_number("Action", last.action);
    line_.unsigned_number("Level", coin() ? std::optional<std::uint64_t>(1) : optional_magnitude());
    if (coin()) last.type = word();
    line_.text("EntryType", last.type);
    line_.unsigned_number("Flag", optional_magnitude());
    line_.unsigned_number("IDSource", 9);
    if (coin()) last.security = magnitude();
    line_.unsigned_number("SecurityID", last.security);
    last.sequence = coin() ? last.sequence + 1 : magnitude();
    line_.unsigned_number("RptSeq", last.sequence);
    last.price = moved(last.price, -kMaxMantissa, kMaxMantissa);
    line_.decimal("Price", last.price, coin() ? 0 : -static_cast<std::int32_t>(random_.below(9)));
    if (coin()) last.time = magnitude();
    line_.unsigned_number("EntryTime", last.time);
    if (coin()) line_.number("Size", last.size = moved(last.size, -kMaxInt32, kMaxInt32));
    if (coin()) line_.number("Orders", last.orders = moved(last.orders, 0, kMaxInt32));
    line_.text("Session", word_or("2"));
    if (coin()) {
      last.change = moved(last.change, -kMaxMantissa, kMaxMantissa);
      line_.decimal("NetChange", last.change, -static_cast<std::int32_t>(random_.below(9)));
    }
    line_.unsigned_number("Volume", optional_magnitude());
    line_.text("TradeCondition", word_or(std::nullopt));
    line_.text("TickDirection", word_or(std::nullopt));
    line_.text("QuoteCondition", word_or(std::nullopt));
    line_.unsigned_number("Aggressor", optional_magnitude());
    line_.text("MatchEvent", word_or("1"));
    line_.end_element();
  }

  cases::Random random_;
  JsonLine line_;
  Previous previous_;
  std::string word_;
};

Result<std::unique_ptr<Workload>> make(const std::string& name, std::size_t distinct) {
  FeedWriter feed(name, compile_file(STOPBIT_WORKLOADS_FOLDER "/shuffled/templates.xml"));
  Shuffler shuffler(kSeed);
  std::vector<FeedWriter::Datagram> datagrams;
  for (std::size_t i = 0; i < distinct; ++i) {
    feed.add(shuffler.next());
    datagrams.push_back(feed.take());
  }
  for (std::size_t i = 0; i < kMessages; ++i) feed.arrive(datagrams[i % distinct], {});
  return feed.finish();
}

}  // namespace

Result<std::unique_ptr<Workload>> make_shuffled() {
  return make("shuffled", kMessages);
}

Result<std::unique_ptr<Workload>> make_repeated() {
  return make("repeated", kRepeated);
}

}  // namespace stopbit::bench
