#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "host/refill/client.hpp"
#include "host/refill/dialects.hpp"
#include "tests/lib/fix_field.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/turn.hpp"

/// A replay service, honest or hostile, that a client of replays is tried on, and what the client must never do.
namespace stopbit::testing {

/// What a service sends, in the form of a dialect, written from its page. Bodies of messages in FAST: a letter, and for
/// M the number of the message.
class ServiceVoice {
 public:
  using Bytes = std::vector<std::byte>;
  explicit ServiceVoice(refill::DialectKind kind) : kind_(kind) {}

  /// A (log-on), 5 (log-out), 0 (heartbeat), or anything else.
  [[nodiscard]] Bytes framed(const std::string& body, std::uint64_t number = 0) const {
    switch (kind_) {
      case refill::DialectKind::Moex: return bytes_of(length(body.size(), false) + body);
      case refill::DialectKind::Cme: {
        const std::string preamble = body.empty() ? "" : length(number, true) + std::string(1, '\0');
        return bytes_of(length(preamble.size() + body.size(), true) + preamble + body);
      }
      case refill::DialectKind::B3: return text(body + "|");
    }
    return {};
  }
  [[nodiscard]] Bytes numbered(std::uint64_t number) const {
    return kind_ == refill::DialectKind::B3 ? report({number}) : framed(body_of(number), number);
  }
  /// Of B3: messages in one report.
  [[nodiscard]] static Bytes report(const std::vector<std::uint64_t>& numbers) {
    std::string raw;
    std::string group;
    for (const std::uint64_t number : numbers) {
      const std::string body = body_of(number);
      group += "1181=" + std::to_string(number) + "|1350=" + std::to_string(number) +
               "|10055=" + std::to_string(raw.size()) + "|95=" + std::to_string(body.size()) + "|";
      raw += body;
    }
    return text("URDR|95=" + std::to_string(raw.size()) + "|96=", raw,
                "|911=1|1180=7|1346=1-2|1352=Y|1353=1|10054=" + std::to_string(numbers.size()) + "|" + group);
  }
  /// FIX 4.4, from the value of MsgType on. "|" ends a field of `begin` and `end`; `raw` is as it is.
  [[nodiscard]] static Bytes text(const std::string& begin, const std::string& raw = "", const std::string& end = "") {
    const std::string body = "35=" + ended(begin) + raw + ended(end);
    const std::string whole = ended("8=FIX.4.4|9=" + std::to_string(body.size()) + "|") + body;
    unsigned sum = 0;
    for (const char c : whole) sum += static_cast<unsigned char>(c);
    return bytes_of(whole + ended("10=" + std::to_string(1'000 + sum % 256).substr(1) + "|"));
  }
  [[nodiscard]] static std::string body_of(std::uint64_t number) {
    std::string body = "M";
    body.append(reinterpret_cast<const char*>(&number), sizeof number);
    return body;
  }
  [[nodiscard]] static Bytes bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

 private:
  [[nodiscard]] static std::string ended(std::string text) {
    std::replace(text.begin(), text.end(), '|', '\1');
    return text;
  }
  [[nodiscard]] static std::string length(std::uint64_t value, bool highest_first) {
    std::string out;
    for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * (highest_first ? 3 - i : i))));
    return out;
  }

  refill::DialectKind kind_;
};

/// What a client asks, and what comes of it.
class ReplayService final : public refill::ClientSink {
 public:
  using Answer = refill::Answer;

  // What the client does.
  void connect() override {
    is_connecting = true;
    ++connects;
    check(!is_open, "a second connection");
  }
  void send(std::span<const char> bytes) override {
    check(is_open, "bytes without a connection");
    sent.emplace_back(bytes.begin(), bytes.end());
  }
  void close() override {
    check(is_open || is_connecting, "closes what is closed");
    is_open = is_connecting = false;
  }
  [[nodiscard]] Answer read(std::span<const std::byte> answer) override {
    check(!answer.empty() && answer.size() <= 64, "an answer of a size that is not allowed");
    switch (std::to_integer<char>(answer[0])) {
      case 'A': return {Answer::Kind::LoggedOn};
      case '5': return {Answer::Kind::LoggedOut};
      case '0': return {Answer::Kind::Other};
      case 'Y': return {Answer::Kind::Refused};
      case 'M': {
        Answer message{Answer::Kind::Message};
        if (answer.size() < 9) return {Answer::Kind::Unreadable};
        std::memcpy(&message.number, answer.data() + 1, sizeof message.number);
        return message;
      }
      default: return {Answer::Kind::Unreadable};
    }
  }
  [[nodiscard]] bool message(std::uint64_t number, std::span<const std::byte> /*answer*/) override {
    if (is_full) return false;
    check(wanted.contains(number), "a message that was not wanted");
    check(delivered.insert(number).second, "a message twice");
    check(!lost.contains(number), "a message after it was given up");
    return true;
  }
  void given_up(refill::Range range, refill::GivenUp why) override {
    ++gave_up[why];
    if (range.last - range.first > 100'000) return check(false, "gives up more than was wanted");
    for (std::uint64_t n = range.first; n <= range.last; ++n) {
      check(wanted.contains(n), "gives up what was not wanted");
      check(lost.insert(n).second, "gives up twice");
      check(!delivered.contains(n), "gives up what was delivered");
    }
  }

  void want(refill::Client& client, refill::Range range, const Now& now) {
    for (std::uint64_t n = range.first; n <= range.last; ++n) wanted.insert(n);
    client.want(range, now);
  }
  /// Every number that was wanted is in one of the three places.
  void check_account(const refill::Client& client) {
    std::size_t open = 0;
    for (const refill::Range& range : client.wanted().all()) {
      open += static_cast<std::size_t>(range.last - range.first + 1);
      for (std::uint64_t n = range.first; n <= range.last; ++n) {
        check(wanted.contains(n) && !lost.contains(n) && !delivered.contains(n), "wants what it has, or has given up");
      }
    }
    check(open + delivered.size() + lost.size() == wanted.size(), "a number that is nowhere");
  }
  void check(bool is_right, const char* what) {
    if (!is_right && wrong.empty()) wrong = what;
  }

  // Answers of the Moscow Exchange.
  static std::vector<std::byte> framed(const std::string& body) {
    return ServiceVoice(refill::DialectKind::Moex).framed(body);
  }
  static std::vector<std::byte> numbered(std::uint64_t number) {
    return ServiceVoice(refill::DialectKind::Moex).numbered(number);
  }
  /// The value of a field of the newest message; empty: it has none.
  [[nodiscard]] std::string field(const std::string& tag) const {
    return sent.empty() ? "" : fix_field(sent.back(), tag);
  }
  /// The range of the newest request; nothing of it if the newest message is none.
  [[nodiscard]] refill::Range asked() const {
    if (field("35") != "V" && field("35") != "BW") return {.first = 1, .last = 0};
    return {std::stoull(field("1182")), std::stoull(field("1183"))};
  }

  std::set<std::uint64_t> wanted;
  std::set<std::uint64_t> delivered;
  std::set<std::uint64_t> lost;
  std::map<refill::GivenUp, int> gave_up;
  std::vector<std::string> sent;
  std::uint64_t connects = 0;
  bool is_connecting = false;
  bool is_open = false;
  bool is_full = false;  ///< Takes no message.
  std::string wrong;     ///< The first thing that was.
};

/// FIX that a service of B3 may send, and should not: reports that lie about where their messages are, notices of other
/// requests, a probe.
inline std::vector<std::byte> odd_text(cases::Random& random, refill::Range asked) {
  const std::string about = "1346=1-" + std::to_string(random.below(4)) + "|";
  switch (random.below(5)) {
    case 0: return ServiceVoice::text("BX|" + about + "1348=" + std::to_string(random.below(3)) + "|");
    case 1: return ServiceVoice::text("BY|" + about + "1426=" + std::to_string(random.below(4)) + "|");
    case 2: return ServiceVoice::text("1|112=" + std::string(random.below(2'000), 'x') + "|");
    case 3: {
      std::string group = "|10054=9|";
      for (std::uint64_t i = random.below(5); i != 0; --i) {
        group += "1181=" + std::to_string(asked.first + random.below(5)) +
                 "|10055=" + std::to_string(random.below(40)) + "|95=" + std::to_string(random.below(40)) + "|";
      }
      return ServiceVoice::text("URDR|95=" + std::to_string(random.below(30)) + "|96=",
                                ServiceVoice::body_of(asked.first) + ServiceVoice::body_of(asked.first + 1), group);
    }
    default: {
      std::vector<std::uint64_t> numbers;
      for (std::uint64_t i = random.below(9); i != 0; --i) numbers.push_back(asked.first + random.below(9));
      return ServiceVoice::report(numbers);
    }
  }
}

/// A service that does what the choices say. Returns what the client did wrong; empty: nothing.
inline std::string play_replays(cases::Random& random, std::size_t steps) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const auto kind = static_cast<refill::DialectKind>(random.below(refill::dialect_rows().size()));
  const auto dialect = refill::make_dialect(kind, {.sender = "us", .target = "them", .feed = "OLR"}).value();
  const ServiceVoice voice(kind);
  const refill::Limits limits{.messages_a_request = 1 + random.below(50),
                              .requests_a_connection = static_cast<std::uint32_t>(random.below(4)),
                              .connections_a_day = static_cast<std::uint32_t>(random.below(30)),
                              .ranges = random.below(6),
                              .answer_bytes = 64,
                              .attempts = static_cast<std::uint32_t>(random.below(4)),
                              .strange = static_cast<std::uint32_t>(random.below(10))};
  ReplayService service;
  refill::Client client(*dialect, limits, service);
  Now now{.wall_ns = 1'700'000'000 * kSecond, .monotonic_ns = kSecond};
  std::uint64_t next_wanted = 1;
  std::uint64_t day = now.wall_ns / (86'400 * kSecond);
  std::uint64_t connects_before = 0;
  std::vector<std::byte> bytes;
  const auto add = [&](const std::vector<std::byte>& more) { bytes.insert(bytes.end(), more.begin(), more.end()); };
  for (std::size_t i = 0; i < steps && service.wrong.empty(); ++i) {
    const refill::Range asked = service.asked();
    switch (random.below(12)) {
      case 0: {
        const std::uint64_t first = next_wanted + random.below(4);
        next_wanted = first + 1 + random.below(80);
        service.want(client, {first, next_wanted - 1}, now);
        break;
      }
      case 1:
      case 2:
        if (service.is_connecting && random.chance(80)) {
          service.is_connecting = false;
          service.is_open = true;
          client.connected(now);
        }
        break;
      case 3: add(voice.framed("A")); break;
      case 4:
      case 5:
        for (std::uint64_t n = asked.first; n <= asked.last && n - asked.first < 60; ++n) {
          if (!random.chance(5)) add(voice.numbered(n));
        }
        break;
      case 6: add(voice.numbered(random.below(2) == 0 ? random.bits() : asked.first + random.below(100))); break;
      case 7: {
        const char* const bodies[] = {"5", "0", "M", "?", "", "Y"};
        add(voice.framed(bodies[random.below(6)]));
        if (kind == refill::DialectKind::B3) add(odd_text(random, asked));
        break;
      }
      case 8:
        for (std::uint64_t left = random.below(6); left != 0; --left)
          bytes.push_back(static_cast<std::byte>(random.below(256)));
        break;
      case 9:
        if (service.is_open && random.chance(30)) {
          service.is_open = false;
          bytes.clear();
          client.closed(now);
        } else if (service.is_connecting && random.chance(30)) {
          client.failed(now);
        }
        break;
      default:
        turn(now, random.below(20) == 0 ? 40'000 * kSecond : random.below(3 * kSecond));
        if (const std::uint64_t today = now.wall_ns / (86'400 * kSecond); today != day) {
          day = today;
          connects_before = service.connects;
        }
        client.tick(now);
        service.check(service.connects - connects_before <= limits.connections_a_day,
                      "more connections than a day has");
    }
    service.is_full = random.chance(5);
    while (service.is_open && !bytes.empty() && random.chance(70)) {
      const auto part = static_cast<std::ptrdiff_t>(1 + random.below(bytes.size()));
      const std::vector<std::byte> some(bytes.begin(), bytes.begin() + part);
      bytes.erase(bytes.begin(), bytes.begin() + part);
      client.bytes(some, now);
    }
    if (!service.is_open) bytes.clear();
    if (!service.field("1182").empty()) {
      service.check(service.asked().last - service.asked().first < limits.messages_a_request, "asks for too many");
    }
    service.check(client.is_idle() == (!service.is_open && !service.is_connecting), "a connection that it forgets");
    if (i % 8 == 0) service.check_account(client);
  }
  // In the end nothing is wanted: it came, or was given up.
  for (int i = 0; i < 5'000 && service.wrong.empty() && !client.wanted().empty(); ++i) {
    turn(now, 120 * kSecond);
    client.tick(now);
    if (service.is_connecting) client.failed(now);
    if (std::exchange(service.is_open, false)) client.closed(now);
  }
  service.check(client.wanted().empty(), "numbers that are wanted for ever");
  service.check_account(client);
  return service.wrong;
}

}  // namespace stopbit::testing
