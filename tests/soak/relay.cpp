// stopbit_relay: a bad network between two interfaces of one namespace. Joins the lines A and B of a channel on one,
// does to each what host/lab/impair does from a seed, and sends what is left out of the other, to the same groups. Its
// log says which numbers did not go out on which line, and which came only after a later number had been there for
// longer than a window, so a listener after it must report exactly the others.

#include <signal.h>
#include <time.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "host/feed/framing/framing.hpp"
#include "host/lab/impair/impairer.hpp"
#include "host/os/clock.hpp"
#include "host/ports/out/socket/udp_sender.hpp"
#include "host/ports/socket/socket_port.hpp"
#include "tests/lib/arguments.hpp"

namespace stopbit::soak {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr long kIdleNs = 50'000;
constexpr int kLastPolls = 100;
constexpr std::array<char, 2> kLineNames = {'A', 'B'};

volatile sig_atomic_t stop_asked = 0;

void ask_to_stop(int /*signal*/) {
  stop_asked = 1;
}

struct Arguments {
  std::string in;
  std::string out;
  std::array<std::string, 2> groups;
  std::string framing = "cme";
  std::string log;
  std::uint64_t seed = 1;
  impair::LineOptions line;  ///< Both; line A alone dies, line B alone is late.
  std::uint64_t delay_ms = 0;
  std::uint64_t dies_at = impair::kNever;
  std::uint64_t returns_at = impair::kNever;
  std::uint64_t window_ms = 0;  ///< Of the listener; 0: nothing is late.
};

/// Numbers that went out, on any line, only after the window of a later one had closed. On a machine that is busy
/// this program itself waits for a processor between two packets.
class Punctuality {
 public:
  Punctuality(std::uint64_t window_ns, std::ofstream& log) : window_ns_(window_ns), log_(log) {}

  /// A number has gone out at some time from `before_ns` to `after_ns`.
  void sent(std::uint64_t number, std::uint64_t before_ns, std::uint64_t after_ns) {
    if (last_sent_ns_ != 0) longest_silence_ns_ = std::max(longest_silence_ns_, before_ns - last_sent_ns_);
    last_sent_ns_ = after_ns;
    if (next_ == 0) next_ = number;
    if (number >= next_) {
      for (; next_ < number; ++next_) overtaken_.emplace(next_, before_ns);
      ++next_;
    } else if (const auto found = overtaken_.find(number); found != overtaken_.end()) {
      if (window_ns_ != 0 && after_ns > found->second + window_ns_) note(number, after_ns - found->second, after_ns);
      overtaken_.erase(found);
    }
    // Those that are left did not go out on any line.
    while (!overtaken_.empty() && overtaken_.begin()->second + kForgotten < before_ns) {
      overtaken_.erase(overtaken_.begin());
    }
  }
  [[nodiscard]] std::uint64_t late() const { return late_; }
  [[nodiscard]] std::uint64_t longest_silence_ns() const { return longest_silence_ns_; }

 private:
  static constexpr std::uint64_t kForgotten = 60'000 * kNsPerMs;

  void note(std::uint64_t number, std::uint64_t late_by_ns, std::uint64_t time_ns) {
    ++late_;
    log_ << fmt::format(R"({{"line":"both","event":"late","first":{},"count":1,"late_by_ns":{},"time_ns":{}}})", number,
                        late_by_ns, time_ns)
         << '\n';
  }

  std::uint64_t window_ns_;
  std::ofstream& log_;
  std::map<std::uint64_t, std::uint64_t> overtaken_;  ///< Numbers that are still out, and when a later one was sent.
  std::uint64_t next_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t last_sent_ns_ = 0;
  std::uint64_t longest_silence_ns_ = 0;
};

/// One line: what comes in, its impairer, and what did not go out.
class Line {
 public:
  Line(const Arguments& arguments, std::size_t index, net::Endpoint group, const net::Framing& framing,
       std::ofstream& log)
      : index_(index),
        group_(group),
        framing_(framing),
        log_(log),
        impairer_(options(arguments, index), [this](const auto& event) { note(event); }) {}

  [[nodiscard]] net::Endpoint group() const { return group_; }

  void take(std::span<const std::byte> payload, std::uint64_t now) {
    const net::Preamble preamble = net::read_preamble(framing_, payload);
    if (preamble.error != ErrorCode::None) {
      ++strange_;
      return;
    }
    sequence_ = preamble.sequence;
    if (has_begun_ && sequence_ < next_) {
      ++strange_;  // the cable keeps the order
      return;
    }
    if (has_begun_ && sequence_ > next_) write("missing", next_, sequence_ - next_, now);
    if (!has_begun_) first_ = sequence_;
    has_begun_ = true;
    next_ = sequence_ + 1;
    ++in_;
    impairer_.push(payload, now);
  }

  void send(egress::UdpSender& sender, std::uint64_t until, Punctuality& punctuality) {
    while (const impair::Copy* copy = impairer_.pop(until)) {
      const std::uint64_t before = os::wall_clock_ns();
      sender.add(group_, copy->bytes);
      sender.flush();  // the copy is valid until the next pop
      punctuality.sent(net::read_preamble(framing_, copy->bytes).sequence, before, os::wall_clock_ns());
    }
  }

  void flush(std::uint64_t now) { impairer_.flush(now); }

  /// What this line has seen and sent, as a JSON object.
  [[nodiscard]] std::string summary() const {
    return fmt::format(
        R"({{"in":{},"first":{},"last":{},"out":{},"lost":{},"dead":{},"doubled":{},"held_back":{},"damaged":{},"strange":{}}})",
        in_, first_, next_ - 1, count(impair::Event::Kind::Out), count(impair::Event::Kind::Lost),
        count(impair::Event::Kind::Dead), count(impair::Event::Kind::Doubled), count(impair::Event::Kind::HeldBack),
        count(impair::Event::Kind::Damaged), strange_);
  }
  [[nodiscard]] std::uint64_t out() const { return count(impair::Event::Kind::Out); }

 private:
  static impair::Options options(const Arguments& arguments, std::size_t index) {
    impair::Options options;
    options.seed = arguments.seed + index;
    options.lines = 1;
    options.line[0] = arguments.line;
    if (index == 0) {
      options.line[0].dies_at = arguments.dies_at;
      options.line[0].returns_at = arguments.returns_at;
    } else {
      options.line[0].delay_ns = arguments.delay_ms * kNsPerMs;
    }
    // A checksum is made anew when a copy is sent, so damage is that of a sender; numbers stay, or no observer could
    // say what has to come.
    const auto framing = net::parse_framing(arguments.framing);
    options.corrupt_from = framing ? framing.value().skip : 0;
    return options;
  }

  void note(const impair::Event& event) {
    ++counts_[static_cast<std::size_t>(event.kind)];
    switch (event.kind) {
      case impair::Event::Kind::Lost:
      case impair::Event::Kind::LostOnBoth:
      case impair::Event::Kind::Dead: write(impair::to_text(event.kind), sequence_, 1, event.time_ns); return;
      default: return;
    }
  }

  void write(const char* what, std::uint64_t first, std::uint64_t numbers, std::uint64_t time_ns) {
    log_ << fmt::format(R"({{"line":"{}","event":"{}","first":{},"count":{},"time_ns":{}}})", kLineNames[index_], what,
                        first, numbers, time_ns)
         << '\n';
  }

  [[nodiscard]] std::uint64_t count(impair::Event::Kind kind) const { return counts_[static_cast<std::size_t>(kind)]; }

  std::size_t index_;
  net::Endpoint group_;
  const net::Framing& framing_;
  std::ofstream& log_;
  std::array<std::uint64_t, 7> counts_{};
  impair::Impairer impairer_;
  std::uint64_t sequence_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t next_ = 1;
  bool has_begun_ = false;
  std::uint64_t in_ = 0;
  std::uint64_t strange_ = 0;  ///< Without a number, or with one that has passed.
};

int fail(const std::string& why) {
  fmt::print(stderr, "stopbit_relay: {}\n", why);
  return 3;
}

int relay(const Arguments& arguments) {
  const auto framing = net::parse_framing(arguments.framing);
  if (!framing) return fail(framing.message());
  if (framing.value().kind != net::FramingKind::Fixed) return fail("a framing with its number at a fixed place");
  std::ofstream log(arguments.log, std::ios::trunc);
  ingest::SocketPortOptions in;
  in.interface = arguments.in;
  in.times = ingest::ArrivalTimes::Poll;
  auto port = ingest::open_socket_port(in);
  if (!port) return fail(port.message());
  egress::UdpSenderOptions out;
  out.interface = arguments.out;
  out.batch = 1;
  auto sender = egress::UdpSender::open(out);
  if (!sender) return fail(sender.message());

  std::vector<std::unique_ptr<Line>> lines;
  for (std::size_t i = 0; i < arguments.groups.size(); ++i) {
    const auto group = net::parse_endpoint(arguments.groups[i]);
    if (!group) return fail(group.message());
    if (auto joined = port.value()->join({group.value(), std::nullopt}); !joined) return fail(joined.message());
    lines.push_back(std::make_unique<Line>(arguments, i, group.value(), framing.value(), log));
  }
  Punctuality punctuality(arguments.window_ms * kNsPerMs, log);
  ::signal(SIGTERM, ask_to_stop);
  ::signal(SIGINT, ask_to_stop);
  fmt::print(stderr, "stopbit_relay: started\n");

  std::vector<ingest::Arrival> batch(64);
  // After a signal to stop it still sends what has arrived, until this many polls in a row have found nothing.
  for (int empty_polls = 0; stop_asked == 0 || empty_polls < kLastPolls;) {
    const std::size_t count = port.value()->poll(batch);
    empty_polls = count == 0 ? empty_polls + 1 : 0;
    const std::uint64_t now = os::wall_clock_ns();
    for (const ingest::Arrival& arrival : std::span(batch).first(count)) {
      for (const auto& line : lines) {
        if (arrival.destination == line->group()) line->take(arrival.payload, now);
      }
    }
    for (const auto& line : lines) line->send(sender.value(), now, punctuality);
    if (count != 0) continue;
    const timespec nap{0, kIdleNs};
    (void)::nanosleep(&nap, nullptr);
  }
  for (const auto& line : lines) {
    line->flush(os::wall_clock_ns());
    line->send(sender.value(), impair::kNever, punctuality);
  }
  log << fmt::format(R"({{"event":"end","A":{},"B":{},"refused":{},"dropped":{},"late":{},"longest_silence_ns":{}}})",
                     lines[0]->summary(), lines[1]->summary(), sender.value().refused(),
                     port.value()->counters().dropped_by_kernel.value(), punctuality.late(),
                     punctuality.longest_silence_ns())
      << '\n';
  log.close();
  return log ? 0 : fail(arguments.log + " cannot be written");
}

}  // namespace
}  // namespace stopbit::soak

int main(int argc, char** argv) {
  stopbit::soak::Arguments arguments;
  stopbit::testing::Arguments line(
      "Joins two lines on one interface and sends them, impaired, out of another, until SIGTERM.");
  line.text("--in", arguments.in, "Interface that both lines come from", true);
  line.text("--out", arguments.out, "Interface that they leave through", true);
  line.text("--a", arguments.groups[0], "Group and port of line A", true);
  line.text("--b", arguments.groups[1], "Group and port of line B", true);
  line.text("--log", arguments.log, "What did not go out: JSON lines, the last one is a summary", true);
  line.text("--framing", arguments.framing, "Of a fixed place. Default cme");
  line.number("--seed", arguments.seed, "Default 1");
  line.number("--loss", arguments.line.loss.rate, "Part of the packets of each line", 0.0, 1.0);
  line.number("--burst", arguments.line.loss.mean_burst, "Mean number lost in a row", 1.0, 1e6);
  line.number("--duplicate", arguments.line.duplicate, "Part that comes twice", 0.0, 1.0);
  line.number("--reorder", arguments.line.reorder, "Part that is held back", 0.0, 1.0);
  line.number("--depth", arguments.line.reorder_depth, "Behind so many at most", 1U, 65'536U);
  line.number("--corrupt", arguments.line.corrupt, "Part with a bit turned behind the preamble", 0.0, 1.0);
  line.number("--delay-ms", arguments.delay_ms, "Of line B", std::uint64_t{0}, std::uint64_t{60'000});
  line.number("--window-ms", arguments.window_ms,
              "Of who listens: the log says which numbers came later than this after a later one. 0: none",
              std::uint64_t{0}, std::uint64_t{60'000});
  line.number("--dies-at", arguments.dies_at, "From this packet of line A on it is dead, counted from 0");
  line.number("--returns-at", arguments.returns_at, "From this one on it is there again");
  if (const auto status = line.read(argc, argv)) return *status;
  return stopbit::soak::relay(arguments);
}
