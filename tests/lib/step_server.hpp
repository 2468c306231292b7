#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/fix/step_session.hpp"
#include "tests/lib/fix_field.hpp"
#include "tests/lib/random.hpp"

/// A server of STEP, honest or hostile, that a session is tried on, and what the session must never do.
namespace stopbit::testing {

/// What a server sends.
struct StepVoice {
  /// From the value of MsgType on. "|" ends a field of `begin` and `end`; `raw` is as it is.
  [[nodiscard]] static std::string message(const std::string& begin, const std::string& raw = "",
                                           const std::string& end = "", const std::string& form = "STEP.1.0.0") {
    const std::string body = "35=" + ended(begin) + raw + ended(end);
    const std::string whole = ended("8=" + form + "|9=" + std::to_string(body.size()) + "|") + body;
    unsigned sum = 0;
    for (const char c : whole) sum += static_cast<unsigned char>(c);
    return whole + ended("10=" + std::to_string(1'000 + sum % 256).substr(1) + "|");
  }
  [[nodiscard]] static std::string log_on() { return message("A|49=VDE|56=VSS|34=0|98=0|108=0|"); }
  [[nodiscard]] static std::string data(const std::string& raw, const std::string& type = "UA3202") {
    return message(type + "|49=VDE|56=VSS|34=0|10142=6|10072=1|95=" + std::to_string(raw.size()) + "|96=", raw, "|");
  }
  /// FIXT messages in one of STEP, as Shanghai's level 1 has them.
  [[nodiscard]] static std::string nested(const std::vector<std::string>& raws) {
    std::string inner;
    for (const std::string& raw : raws) {
      inner += message("W|34=1|95=" + std::to_string(raw.size()) + "|96=", raw, "|", "FIXT.1.1");
    }
    return data(inner, "UA5302");
  }
  [[nodiscard]] static std::string ended(std::string text) {
    std::replace(text.begin(), text.end(), '|', '\1');
    return text;
  }
};

class StepServer final : public fix::StepSink {
 public:
  void connect() override {
    check(!is_open && !is_connecting, "a second connection");
    is_connecting = true;
    ++connects;
  }
  [[nodiscard]] bool send(std::span<const char> bytes) override {
    check(is_open, "bytes without a connection");
    check(!bytes.empty(), "a message that does not fit");
    sent.emplace_back(bytes.begin(), bytes.end());
    return !is_deaf;
  }
  void close() override {
    check(is_open || is_connecting, "closes what is closed");
    is_open = is_connecting = is_in = false;
  }
  [[nodiscard]] bool has_room(std::size_t message_bytes) override {
    check(message_bytes <= most_message, "a message longer than allowed");
    return !is_full;
  }
  void packet(std::uint64_t number, std::span<const std::byte> head, std::span<const std::byte> rest) override {
    check(is_open && is_in, "a packet of no session");
    check(!is_full, "a packet without room");
    check(head.size() <= fix::kMostStepHead, "a head that is too long");
    std::vector<std::byte> data(head.begin(), head.end());
    data.insert(data.end(), rest.begin(), rest.end());
    check(!data.empty() && data.size() <= most_data + 5, "a packet of a size that is not allowed");
    const std::uint64_t wanted = last + (is_new && last != 0 ? 2 : 1);
    check(number == wanted, "a number that does not follow");
    last = number;
    is_new = false;
    const std::string text(reinterpret_cast<const char*>(data.data()), data.size());
    if (is_honest) {
      check(!expected.empty() && expected.front() == text, "not the packet that was sent");
      if (!expected.empty()) expected.pop_front();
    }
    packets.emplace_back(number, text);
  }
  void logged_on() override {
    check(is_open && !is_in, "logged on twice");
    is_in = is_new = true;
  }
  void ended(fix::StepEnd why) override {
    ends.push_back(why);
    is_open = is_connecting = is_in = false;
    expected.clear();
  }

  /// The value of a field of the newest message; empty: it has none.
  [[nodiscard]] std::string field(const std::string& tag) const {
    return sent.empty() ? "" : fix_field(sent.back(), tag);
  }
  void check(bool is_right, const char* what) {
    if (!is_right && wrong.empty()) wrong = what;
  }
  /// Gives bytes to the session, as far as it takes them; what is left of them.
  std::string give(fix::StepSession& session, std::string bytes, const Now& now, std::size_t most = 1 << 20) {
    while (is_open && !bytes.empty() && most != 0 && !session.is_blocked()) {
      const std::span<std::byte> room = session.room();
      check(!room.empty(), "no room for bytes");
      const std::size_t count = std::min({room.size(), bytes.size(), most});
      if (count == 0) break;
      const auto from = std::as_bytes(std::span(bytes.data(), count));
      std::copy(from.begin(), from.end(), room.begin());
      most -= count;
      bytes.erase(0, count);
      session.filled(count, now);
    }
    return bytes;
  }

  std::uint64_t connects = 0;
  bool is_connecting = false;
  bool is_open = false;
  bool is_in = false;    ///< Logged on.
  bool is_new = false;   ///< And no packet has come since.
  bool is_full = false;  ///< Takes no packet.
  bool is_deaf = false;  ///< Takes no bytes.
  bool is_honest = false;
  std::size_t most_data = 65'474;
  std::size_t most_message = 65'474 + 4'096;
  std::uint64_t last = 0;
  std::deque<std::string> expected;  ///< Of an honest connection.
  std::vector<std::string> sent;
  std::vector<std::pair<std::uint64_t, std::string>> packets;
  std::vector<fix::StepEnd> ends;
  std::string wrong;  ///< The first thing that was.
};

/// A message that an honest server does not send.
inline std::string odd_step(cases::Random& random) {
  const std::string number = std::to_string(random.below(40));
  switch (random.below(14)) {
    case 0: return StepVoice::message("UA3202|95=" + number + "|96=", "ABCDE", "|");
    case 1: return StepVoice::message("UA3202|95=18446744073709551616|96=", "ABCDE", "|");
    case 2: return StepVoice::message("UA3202|95=-1|96=", "ABCDE", "|");
    case 3: return StepVoice::message("UA3202|95=5|34=0|96=", "ABCDE", "|");
    case 4: return StepVoice::message("UA3202|96=", "ABCDE", "|");
    case 5: return StepVoice::message("UA3202|95=5|");
    case 6: return StepVoice::message("UA3202|95=0|96=", "", "|");
    case 7: return StepVoice::message("1|112=" + std::string(random.below(200), 'x') + "|");
    case 8: return StepVoice::message("1|");
    case 9: return StepVoice::ended("8=STEP.1.0.0|9=" + number + "|");
    case 10: return StepVoice::data("8=FIXT.1.1\1" + std::string(random.below(20), '1'));
    case 11: return std::string(random.below(50), static_cast<char>(random.below(256)));
    case 12: return StepVoice::message(std::string(1, "5j32A4"[random.below(6)]) + "|");
    default: {
      std::string bytes = StepVoice::data("ABCDE");
      char& byte = random.pick(bytes);
      byte = static_cast<char>(byte ^ static_cast<char>(1 + random.below(255)));
      return bytes;
    }
  }
}

/// A server that does what the choices say. Returns what the session did wrong; empty: nothing.
inline std::string play_step(cases::Random& random, std::size_t steps) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const fix::StepLimits limits{.data_bytes = 64, .strange = static_cast<std::uint32_t>(random.below(9))};
  StepServer server;
  server.most_data = limits.data_bytes;
  server.most_message = limits.data_bytes + 4'096;
  fix::StepSession session({.heartbeat_s = static_cast<std::uint32_t>(random.below(4) * 5)}, limits, server);
  Now now{.wall_ns = 1'700'000'000 * kSecond, .monotonic_ns = kSecond};
  std::string bytes;
  std::uint64_t made = 0;
  std::uint64_t prompts = 0;  ///< Messages and moments, each of which a message or two may answer.
  for (std::size_t i = 0; i < steps && server.wrong.empty(); ++i) {
    if (!server.is_open) bytes.clear();
    switch (random.below(12)) {
      case 0:
      case 1:
        if (!server.is_connecting || !random.chance(80)) break;
        server.is_connecting = false;
        server.is_open = server.is_honest = true;
        session.connected(now);
        bytes = StepVoice::log_on();
        break;
      case 2:
      case 3:
      case 4: {
        if (!server.is_open) break;
        std::string raw = "M" + std::to_string(++made) + std::string(random.below(50), '\1');
        bytes += random.chance(20) ? StepVoice::nested({raw}) : StepVoice::data(raw);
        server.expected.push_back(std::move(raw));
        break;
      }
      case 5: bytes += StepVoice::message("0|34=0|"); break;
      case 6:
        if (random.chance(70)) break;
        bytes += odd_step(random);
        server.is_honest = false;
        break;
      case 7: server.is_full = random.chance(30); break;
      case 8:
        if (random.chance(80)) break;
        server.is_deaf = random.chance(30);
        if (server.is_open && random.chance(50)) {
          server.is_open = server.is_in = false;
          session.closed(now);
        } else if (server.is_connecting) {
          server.is_connecting = false;
          session.failed(now);
        }
        break;
      default: {
        const std::uint64_t passed = random.below(3) * (kSecond / 2) * (random.chance(5) ? 60 : 1);
        now.monotonic_ns += passed;
        now.wall_ns += passed;
        const bool may_do = session.is_blocked() || now.monotonic_ns >= session.next_tick_ns();
        const auto doings = [&] { return server.sent.size() + server.ends.size() + server.connects; };
        const std::size_t done = doings();
        session.tick(now);
        server.check(may_do || doings() == done, "does something before the time that it has named");
        server.check(session.next_tick_ns() > now.monotonic_ns, "names a time that has passed");
      }
    }
    ++prompts;
    const std::size_t before = bytes.size();
    bytes = server.give(session, std::move(bytes), now, 1 + static_cast<std::size_t>(random.below(400)));
    prompts += before - bytes.size();
    const bool is_all_taken = bytes.empty() && server.is_open && server.is_in && server.is_honest;
    if (is_all_taken && !session.is_blocked()) server.check(server.expected.empty(), "a packet that was lost");
    server.check(server.sent.size() <= 2 * prompts + server.connects, "sends more than it was asked for");
    const fix::StepCounts& counts = session.counts();
    server.check(counts.packets == server.packets.size(), "packets are counted wrong");
    server.check(counts.connections == server.connects, "connections are counted wrong");
    server.check(session.is_logged_on() == server.is_in, "a session that is none");
  }
  session.stop(now);
  const std::size_t after = server.sent.size();
  session.tick(now);
  server.check(server.sent.size() == after && !server.is_open && !server.is_connecting, "goes on after its end");
  return server.wrong;
}

}  // namespace stopbit::testing
