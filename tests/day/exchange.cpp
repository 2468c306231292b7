// The exchange of a simulated day: what its channels send, and when each copy arrives where.

#include <algorithm>
#include <cstdlib>

#include "host/lab/impair/random.hpp"
#include "tests/day/model.hpp"

namespace stopbit::day {
namespace {

using impair::Random;

constexpr std::uint64_t kUs = 1'000;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kS = 1'000'000'000;
constexpr std::uint64_t kPacketsOfChannel = 2'500;

template <class T>
T one_of(Random& random, std::initializer_list<T> values) {
  return *(values.begin() + random.below(values.size()));
}

std::uint64_t between(Random& random, std::uint64_t least, std::uint64_t most) {
  return least + random.below(most - least + 1);
}

ChannelPlan plan_channel(Random& random, std::size_t ports) {
  ChannelPlan plan;
  const char* const framing = one_of(random, {"custom:seq=u64be@0",
                                              "cme",
                                              "moex",
                                              "b3",
                                              "t7",
                                              "t7",
                                              "t7",
                                              "none",
                                              "custom:seq=u16be@0",
                                              "custom:seq=u16be@0",
                                              "custom:seq=u16be@0",
                                              "custom:seq=u16be@0",
                                              "custom:seq=u16le@2,skip=6",
                                              "custom:seq=u16le@2,skip=6",
                                              "custom:seq=u16le@2,skip=6",
                                              "custom:seq=u64be@0",
                                              "custom:seq=u64be@0",
                                              "custom:seq=u64be@0",
                                              "custom:seq=u64be@0",
                                              "custom:seq=u64be@0",
                                              "custom:seq=u64be@0",
                                              "custom:seq=u32le@4,len=u16le@2,skip=8"});
  auto parsed = net::parse_framing(framing);
  if (!parsed) std::abort();
  plan.framing = std::move(parsed).value();
  plan.options = arbitrate::options_for(plan.framing);
  plan.mode = one_of(random, {Mode::Ordered, Mode::Ordered, Mode::Ordered, Mode::Fast, Mode::Carousel});
  if (plan.framing.kind == net::FramingKind::T7 && plan.mode == Mode::Carousel) plan.mode = Mode::Ordered;
  if (plan.options.sequence_bits == 0) plan.mode = Mode::Ordered;
  if (plan.options.sequence_bits != 32 && plan.mode == Mode::Carousel && random.happens(0.8)) plan.mode = Mode::Fast;
  plan.lines = plan.options.sequence_bits == 0 || random.happens(0.15) ? 1 : 2;
  for (std::uint8_t& port : plan.port) port = static_cast<std::uint8_t>(random.below(ports));
  if (ports > 1 && random.happens(0.7)) plan.port[1] = static_cast<std::uint8_t>((plan.port[0] + 1) % ports);

  plan.interval_ns = one_of(random, {40 * kUs, 100 * kUs, 200 * kUs, 500 * kUs, 1 * kMs});
  arbitrate::Options& options = plan.options;
  options.ordered = plan.mode != Mode::Fast;
  options.carousel = plan.mode == Mode::Carousel;
  options.window_packets = one_of(random, {16U, 64U, 64U, 200U});
  options.window_ns = one_of(random, {1 * kMs, 2 * kMs, 5 * kMs});
  options.room_packets = std::max(options.window_packets, one_of(random, {32U, 32U, 128U, 256U, 1'024U}));
  options.datagram_bytes = 128;
  options.switch_silence_ns = one_of(random, {60 * kMs, 100 * kMs, 200 * kMs});
  options.lines = {true, plan.lines == 2};

  plan.jitter_ns = one_of(random, {0 * kUs, 10 * kUs, 100 * kUs});
  plan.delay_ns[random.below(2)] = one_of(random, {0 * kUs, 50 * kUs, 300 * kUs, 700 * kUs});
  for (std::size_t line = 0; line < 2; ++line) {
    plan.loss[line] = one_of(random, {0.0, 0.005, 0.03, 0.1});
    plan.burst[line] = one_of(random, {1.0, 1.0, 4.0, 20.0});
  }
  plan.duplicate = one_of(random, {0.0, 0.0, 0.05});
  plan.reorder = one_of(random, {0.0, 0.02, 0.1});
  // A packet that overtakes the first of its cycle, or is far back in it, is of another cycle for all that can be
  // known.
  if (plan.mode == Mode::Carousel) plan.reorder = 0;
  return plan;
}

/// Sends the packets of one channel.
class Sender {
 public:
  Sender(std::uint64_t seed, std::uint8_t index, Day& day, Counts& counts)
      : random_(seed),
        addresses_(seed ^ 0xADD2E55),
        index_(index),
        day_(day),
        plan_(day.channels[index]),
        runs_(day.runs[index]),
        counts_(counts) {
    const std::uint8_t bits = plan_.options.sequence_bits;
    mask_ = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    now_ns_ = kBegin + 5 * kMs + random_.below(20 * kMs);
    silence_ns_ = plan_.options.switch_silence_ns;
  }

  void send_day() {
    if (plan_.mode == Mode::Carousel) {
      send_carousel();
    } else if (plan_.options.sequence_bits == 0) {
      begin_run(1, 0);
      while (sent_ < kPacketsOfChannel) send_some(50);
    } else {
      send_runs();
    }
    quiet(3 * silence_ns_);
    day_.end_ns = std::max(day_.end_ns, now_ns_);
  }

  /// When nothing else may happen to the appliance than what happens here.
  std::vector<Span> delicate;

 private:
  // ------------------------------------------------------------------------------------------------------- the script

  void send_runs() {
    // Near the end of the numbers: they wrap in this run.
    const std::uint64_t before_wrap = 65 + random_.below(150);
    begin_run(1, random_.happens(0.95) ? mask_ + 1 - before_wrap : 1 + random_.below(5'000));
    send_some(60);
    while (sent_ < kPacketsOfChannel) {
      episode();
      send_some(between(random_, 20, 60));
    }
    send_some(40);
  }

  void episode() {
    if (addresses_.happens(0.1)) {
      move();
      send_some(25);
    }
    switch (random_.below(27)) {
      case 0: return lose_on_both(1 + random_.below(8));
      case 1: return lose_on_both(70 + random_.below(60));
      case 2:
      case 3: return line_down(random_.happens(0.5));
      case 4:
      case 5: return line_late();
      case 6:
      case 7: return reset(random_.happens(0.5) ? 0 : silence_ns_ * 3 / 2, false);
      case 8: return reset(random_.below(3) * silence_ns_, true);
      case 9:
      case 10: return fail_over();
      case 11:
      case 12:
      case 13: return strangers();
      case 14:
      case 15: return wild();
      case 16:
      case 17: return wrong_switch();
      case 18: return alter(Body::Truncated);
      case 19: return alter(Body::Oversized);
      case 20: return alter(random_.happens(0.5) ? Body::Headless : Body::Fragment);
      case 21:
      case 22:
      case 23: return fail_over();
      case 24: return reset(random_.below(3) * silence_ns_, true);
      case 25: return line_down(random_.happens(0.5));
      default: return differ();
    }
  }

  void send_carousel() {
    std::uint64_t cycles = 0;
    while (sent_ < kPacketsOfChannel) {
      begin_run(1, 1);
      ++cycles;
      const std::uint64_t length = between(random_, 40, 120);
      for (std::uint64_t i = 0; i < length; ++i) {
        send_next();
        if (i > 10 && i + 10 < length && random_.happens(0.01)) wild();
      }
      quiet(random_.happens(0.5) ? 3 * plan_.options.window_ns + kMs : 20 * kMs);
    }
  }

  /// The same numbers go on from another address: of one line, or of both.
  void move() {
    const auto which = addresses_.below(3);
    for (std::uint64_t line = 0; line < plan_.lines; ++line) {
      if (which != line) ++home_[line];
    }
    count(Count::Moves);
  }

  void lose_on_both(std::uint64_t numbers) {
    drop_all_ = true;
    for (std::uint64_t i = 0; i < numbers; ++i) send_next();
    drop_all_ = false;
  }

  void line_down(bool is_membership) {
    const std::size_t line = random_.below(plan_.lines);
    down_[line] = true;
    const double loss = plan_.loss[1 - line];
    if (random_.happens(0.5)) plan_.loss[1 - line] = std::max(loss, 0.05);
    send_some(between(random_, 20, 150));
    plan_.loss[1 - line] = loss;
    down_[line] = false;
    count(is_membership ? Count::Memberships : Count::LinesDown);
  }

  /// A line is later than the window, and the other one not reliable.
  void line_late() {
    const std::size_t line = random_.below(plan_.lines);
    const double loss = plan_.loss[1 - line];
    extra_ns_[line] = plan_.options.window_ns * between(random_, 2, 4);
    plan_.loss[1 - line] = std::max(loss, 0.05);
    send_some(between(random_, 30, 100));
    plan_.loss[1 - line] = loss;
    extra_ns_[line] = 0;
    count(Count::LinesLate);
  }

  /// The numbers begin anew, after a pause or at once.
  void reset(std::uint64_t pause_ns, bool is_announced) {
    const std::uint64_t begin = now_ns_;
    // Far enough from both ends to be seen as a reset, not as the next few numbers or a second copy.
    const std::uint64_t margin = 300 + plan_.options.window_packets + random_.below(400);
    for (int i = 0; i < 600 && (next_ & mask_) < margin; ++i) send_next();
    if ((next_ & mask_) < margin || (next_ & mask_) > mask_ - (mask_ == 0xFFFF ? 3'000 : 30'000)) return;
    if (is_announced) {
      announces_ = 1;
      send_some(4);
      announces_ = 0;
      count(Count::Announced);
    }
    quiet(pause_ns);
    if (addresses_.happens(0.3)) move();
    begin_run(runs_[run_].sender, is_announced ? 1 : 1 + random_.below(8));
    alone_for(2 * silence_ns_);
    delicate.push_back({begin - silence_ns_, now_ns_ + silence_ns_});
  }

  /// Another sender takes over, and the first one comes back: where it was, or from the beginning.
  void fail_over() {
    if (plan_.framing.kind != net::FramingKind::T7) return reset(silence_ns_ / 2, false);
    const std::uint64_t begin = now_ns_;
    const std::uint32_t old_run = run_;
    const std::uint64_t old_next = next_;
    const std::uint32_t sender = runs_[run_].sender;
    const auto old_home = home_;
    if (random_.happens(0.5)) quiet(random_.below(2 * silence_ns_));
    for (std::uint32_t& home : home_) ++home;
    begin_run(sender + 1, random_.happens(0.5) ? 1 : old_next);
    alone_for(2 * silence_ns_);
    if (random_.happens(0.7)) {
      if (random_.happens(0.5)) quiet(random_.below(2 * silence_ns_));
      home_ = old_home;
      if (random_.happens(0.5)) {
        begin_run(sender, 1 + random_.below(4));
      } else {
        go_on_with(old_run, old_next);
      }
      alone_for(2 * silence_ns_);
    }
    delicate.push_back({begin - silence_ns_, now_ns_ + silence_ns_});
  }

  /// The run is silent, a stranger gets the channel, and then the run goes on.
  void wrong_switch() {
    const std::uint64_t begin = now_ns_;
    quiet(plan_.options.window_ns * 2);
    stranger_.number = stranger_base();
    choose_stranger();
    const std::uint64_t until = now_ns_ + silence_ns_ * 3 / 2;
    const std::uint64_t step = silence_ns_ / between(random_, 10, 60);
    while (now_ns_ < until) {
      send_stranger(stranger_.number++, static_cast<std::uint8_t>(random_.below(plan_.lines)), false);
      quiet(step);
    }
    if (random_.happens(0.3)) quiet(silence_ns_ * 2);
    if (addresses_.happens(0.5)) lose_on_both((spoofs_ ? 3 : 1) + addresses_.below(6));  // they pass meanwhile
    alone_for(3 * silence_ns_);
    delicate.push_back({begin - silence_ns_, now_ns_ + silence_ns_});
  }

  /// Somebody else sends to the group while the run goes on.
  void strangers() {
    const std::uint64_t begin = now_ns_;
    const std::uint64_t rate = one_of<std::uint64_t>(random_, {1, 2, 10, 1'000, 10'000});
    stranger_ = {
        .until_ns = now_ns_ + std::max(40 * plan_.interval_ns, rate >= 10'000 ? 30 * kMs : 3 * silence_ns_ / 2),
        .every_ns = std::min(kS / rate, silence_ns_ / 3),
        .next_ns = now_ns_,
        .number = stranger_base(),
        .is_sequential = random_.happens(0.6),
        .lines = plan_.lines == 1 ? 1U : static_cast<unsigned>(1 + random_.below(3))};
    choose_stranger();
    // The line that is left keeps the run alive.
    const std::size_t line = random_.below(2);
    down_[line] = plan_.lines == 2 && random_.happens(0.4);
    if (down_[line]) count(Count::LinesDown);
    send_until([&] { return now_ns_ >= stranger_.until_ns; });
    down_[line] = false;
    stranger_.every_ns = 0;
    alone_for(silence_ns_);
    delicate.push_back({begin - silence_ns_, now_ns_ + 2 * silence_ns_});
  }

  void wild() {
    choose_stranger();
    if (addresses_.happens(0.5)) spoofs_ = true;  // damaged on its way
    const auto line = static_cast<std::uint8_t>(random_.below(plan_.lines));
    // In a carousel a near one looks like the next cycle's end: see the limits on the page.
    switch (plan_.mode == Mode::Carousel ? 1 + random_.below(2) : random_.below(4) % 3) {
      case 0:
        send_stranger(next_ + between(random_, 2, 30), line, true);
        // The true packet of that number looks like a reset to it, until the run has gone on for a while.
        if (plan_.mode != Mode::Carousel) alone_for(silence_ns_ / 2);
        return count(Count::WildNear);
      case 1: send_stranger(next_ + (mask_ == 0xFFFF ? 9'000 : 20'000), line, false); return count(Count::WildFar);
      default:
        const unsigned bits = plan_.options.sequence_bits;
        send_stranger(next_ ^ std::uint64_t{1} << (bits - 1 - random_.below(3)), line, false);
        return count(Count::WildTurned);
    }
  }

  void choose_stranger() {
    stranger_home_ = 1 + static_cast<std::uint32_t>(addresses_.below(200));
    spoofs_ = addresses_.happens(0.1);
    if (spoofs_) count(Count::Spoofers);
  }

  /// Datagrams of one line that are not what they should be.
  void alter(Body body) {
    const std::size_t line = random_.below(plan_.lines);
    for (int i = 0; i < 6; ++i) {
      body_[line] = body;
      send_next();
      body_[line] = Body::Whole;
      send_some(3);
    }
  }

  void differ() {
    if (plan_.lines == 1) return;
    for (int i = 0; i < 6; ++i) {
      differs_ = true;
      send_next();
      differs_ = false;
      send_some(2);
    }
  }

  // ---------------------------------------------------------------------------------------------------------- packets

  void begin_run(std::uint32_t sender, std::uint64_t first) {
    run_ = static_cast<std::uint32_t>(runs_.size());
    runs_.push_back({.sender = sender, .first = first, .numbers = {}, .sources = {}});
    next_ = first;
  }
  void go_on_with(std::uint32_t run, std::uint64_t next) {
    run_ = run;
    next_ = next;
  }
  /// The run of the moment alone, for at least this long.
  void alone_for(std::uint64_t ns) {
    const std::uint64_t until = now_ns_ + ns;
    // Slower, if it would take too many packets.
    const std::uint64_t interval = plan_.interval_ns;
    plan_.interval_ns = std::max(interval, ns / 150);
    send_until([&] { return now_ns_ >= until; });
    plan_.interval_ns = interval;
  }
  void send_some(std::uint64_t packets) {
    for (std::uint64_t i = 0; i < packets; ++i) send_next();
  }
  template <class Condition>
  void send_until(const Condition& condition) {
    while (!condition()) send_next();
  }
  void quiet(std::uint64_t ns) { now_ns_ += ns; }

  void send_next() {
    const std::uint64_t number = next_++;
    Run& run = runs_[run_];
    Number truth;
    truth.sent_ns = now_ns_;
    truth.is_altered = differs_;
    if (plan_.options.chunks && random_.happens(0.3)) truth.chunks = static_cast<std::uint8_t>(between(random_, 2, 4));
    for (std::size_t line = 0; line < plan_.lines; ++line) truth.fate[line] = Fate::Network;
    if (run.numbers.size() <= number - run.first) run.numbers.resize(number - run.first + 1);
    truth.is_tainted = run.numbers[number - run.first].is_tainted;
    run.numbers[number - run.first] = truth;
    for (std::uint8_t chunk = 1; chunk <= truth.chunks; ++chunk) {
      ++sent_;
      count(Count::Packets);
      for (std::size_t line = 0; line < plan_.lines; ++line) send_on(line, number, chunk, truth.chunks);
      pass_time();
    }
  }

  void pass_time() {
    const std::uint64_t mean = plan_.interval_ns;
    now_ns_ += random_.happens(0.3) ? mean / 20 : between(random_, mean / 2, mean * 2);
    while (stranger_.every_ns != 0 && stranger_.next_ns <= now_ns_) {
      stranger_.next_ns += stranger_.every_ns;
      const std::uint64_t number = stranger_.is_sequential ? stranger_.number++ : random_.next() & mask_;
      for (std::uint8_t line = 0; line < plan_.lines; ++line) {
        if ((stranger_.lines & 1U << line) != 0) send_stranger(number, line, false);
      }
    }
  }

  [[nodiscard]] bool is_lost(std::size_t line) {
    const double burst = plan_.burst[line];
    const double rate = plan_.loss[line];
    if (rate == 0) return false;
    bool& bad = is_bad_[line];
    bad = bad ? !random_.happens(1 / burst) : random_.happens(rate / burst / (1 - rate));
    return bad;
  }

  void send_on(std::size_t line, std::uint64_t number, std::uint8_t chunk, std::uint8_t chunks) {
    Number& truth = runs_[run_].numbers[number - runs_[run_].first];
    const bool lost = is_lost(line);
    if (down_[line]) {
      truth.fate[line] = Fate::LineDown;
      return;
    }
    if (drop_all_ || lost) return;
    Copy copy{.t_ns = now_ns_ + plan_.delay_ns[line] + extra_ns_[line],
              .number = number,
              .run = run_,
              .salt = differs_ ? static_cast<std::uint32_t>(line) : 0,
              .sender = runs_[run_].sender,
              .source = address(line),
              .channel = index_,
              .line = static_cast<std::uint8_t>(line),
              .chunk = chunk,
              .chunks = chunks,
              .body = body_[line],
              .announces = announces_};
    if (plan_.jitter_ns != 0) copy.t_ns += random_.below(plan_.jitter_ns);
    copy.t_ns = std::max(copy.t_ns, last_ns_[line]);
    // A line that was late and no longer is does not overtake itself.
    if (extra_ns_[line] == 0 && random_.happens(plan_.reorder)) {
      copy.t_ns += random_.below(6 * plan_.interval_ns);
    } else {
      last_ns_[line] = copy.t_ns;
    }
    push(copy);
    if (random_.happens(plan_.duplicate)) {
      copy.t_ns += random_.below(300 * kUs);
      count(Count::Duplicates);
      push(copy);
    }
  }

  /// Far from every number that the run has or comes to.
  std::uint64_t stranger_base() {
    if (random_.happens(0.3) && (next_ & mask_) > 9'000 && (next_ & mask_) < mask_ - 30'000)
      return 1;  // as after a reset
    return next_ + (mask_ == 0xFFFF ? between(random_, 16'000, 40'000) : between(random_, 10'000, 1'000'000));
  }

  void send_stranger(std::uint64_t number, std::uint8_t line, bool is_near) {
    count(Count::StrangerPackets);
    number &= mask_;
    const bool is_t7 = plan_.framing.kind == net::FramingKind::T7;
    const bool other_sender = is_t7 && !is_near && random_.happens(0.5);
    Copy copy{.t_ns = now_ns_ + plan_.delay_ns[line],
              .number = number,
              .run = kStranger,
              .salt = static_cast<std::uint32_t>(random_.below(1'000)),
              .sender = other_sender ? 77 : runs_[run_].sender,
              .source = spoofs_ ? address(line) : 0x0A63'0000U + stranger_home_,
              .channel = index_,
              .line = line};
    // Numbers by chance near the run's.
    const std::uint64_t ahead = (number - next_ + 250) & mask_;
    if (!other_sender && ahead < 700) {
      copy.is_near = true;
      copy.number = next_ + ahead - 250;
      Run& run = runs_[run_];
      const std::uint64_t at = copy.number - run.first;
      if (at < 1'000'000) {
        if (run.numbers.size() <= at) run.numbers.resize(at + 1);
        run.numbers[at].is_tainted = true;
      }
      copy.salt = run_;
    }
    push(copy);
  }

  [[nodiscard]] std::uint32_t address(std::size_t line) const {
    return 0x0A00'0000U + static_cast<std::uint32_t>(line << 16) + home_[line];
  }
  void push(const Copy& copy) { day_.copies[plan_.port[copy.line]].push_back(copy); }
  void count(Count what) { ++counts_[static_cast<std::size_t>(what)]; }

  struct Stranger {
    std::uint64_t until_ns = 0;
    std::uint64_t every_ns = 0;  ///< 0 = there is none.
    std::uint64_t next_ns = 0;
    std::uint64_t number = 0;
    bool is_sequential = true;
    unsigned lines = 3;
  };

  Random random_;
  Random addresses_;  ///< Of its own: addresses change nothing in the rest of the day.
  std::uint8_t index_;
  Day& day_;
  ChannelPlan plan_;  ///< What is so at the moment.
  std::vector<Run>& runs_;
  Counts& counts_;
  std::uint64_t mask_ = 0;
  std::uint64_t silence_ns_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t run_ = 0;
  std::uint64_t next_ = 0;
  Stranger stranger_;
  std::array<std::uint32_t, 2> home_{1, 1};  ///< Address of the line's sender.
  std::uint32_t stranger_home_ = 1;
  bool spoofs_ = false;
  std::array<bool, 2> is_bad_{};
  std::array<bool, 2> down_{};
  std::array<std::uint64_t, 2> extra_ns_{};
  std::array<std::uint64_t, 2> last_ns_{};
  std::array<Body, 2> body_{};
  bool drop_all_ = false;
  bool differs_ = false;
  std::uint8_t announces_ = 0;
};

/// Times that are not delicate for any channel.
std::vector<Span> pick(Random& random, const Day& day, const std::vector<Span>& delicate, std::size_t count,
                       std::uint64_t least_ns, std::uint64_t most_ns) {
  std::vector<Span> spans;
  for (int tries = 0; tries < 60 && spans.size() < count; ++tries) {
    const std::uint64_t length = between(random, least_ns, most_ns);
    const std::uint64_t begin = between(random, kBegin + 30 * kMs, day.end_ns - length);
    const Span span{begin, begin + length};
    const bool is_free = std::none_of(delicate.begin(), delicate.end(), [&](const Span& other) {
      return span.begin_ns < other.end_ns && other.begin_ns < span.end_ns;
    });
    if (is_free) spans.push_back(span);
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
  return spans;
}

}  // namespace

Day make_day(std::uint64_t seed, Counts& counts) {
  Random random(Random(seed).next());
  Day day;
  day.seed = seed;
  const std::size_t ports = 1 + random.below(kMaxPorts);
  const std::size_t channels = 3 + random.below(2);
  for (std::size_t i = 0; i < ports; ++i) {
    day.ports.push_back({.has_stamps = random.happens(0.7),
                         .buffer = one_of<std::size_t>(random, {64, 256, 4'096}),
                         .ring = one_of<std::size_t>(random, {32, 128, 512})});
  }
  day.copies.resize(ports);
  day.batch = one_of<std::size_t>(random, {4, 32, 32, 128});
  for (std::size_t i = 0; i < channels; ++i) day.channels.push_back(plan_channel(random, ports));
  day.runs.resize(channels);
  std::vector<Span> delicate;
  for (std::size_t i = 0; i < channels; ++i) {
    Sender sender(random.next(), static_cast<std::uint8_t>(i), day, counts);
    sender.send_day();
    delicate.insert(delicate.end(), sender.delicate.begin(), sender.delicate.end());
  }
  const auto count = [&](Count what, std::size_t by) { counts[static_cast<std::size_t>(what)] += by; };

  // Interfaces that go down take all their lines with them.
  for (std::size_t port = 0; port < ports; ++port) {
    for (const Span& span : pick(random, day, delicate, random.below(3), 2 * kMs, 20 * kMs)) {
      count(Count::PortsDown, 1);
      std::erase_if(day.copies[port], [&](const Copy& copy) {
        if (!span.has(copy.t_ns)) return false;
        if (copy.run != kStranger) {
          Run& run = day.runs[copy.channel][copy.run];
          run.numbers[copy.number - run.first].fate[copy.line] = Fate::LineDown;
        }
        return true;
      });
    }
  }
  for (auto& copies : day.copies) {
    std::stable_sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.t_ns < b.t_ns; });
  }
  day.stalls = pick(random, day, {}, 2 + random.below(4), 100 * kUs, 30 * kMs);
  day.pauses = pick(random, day, {}, 1 + random.below(3), 1 * kMs, 60 * kMs);
  day.kills = pick(random, day, delicate, 1 + random.below(2), 5 * kMs, 50 * kMs);
  for (std::size_t i = 2 + random.below(3); i > 0; --i) {
    constexpr auto kSecond = static_cast<std::int64_t>(kS);
    day.steps.push_back({between(random, kBegin, day.end_ns),
                         one_of<std::int64_t>(random, {-37 * kSecond, 37 * kSecond, -3'600 * kSecond, -kSecond, kSecond,
                                                       3'600 * kSecond, -kSecond / 2})});
  }
  // Some while packets wait to be read: their stamps are of another time then.
  for (const Span& stall : day.stalls) {
    if (random.happens(0.3)) day.steps.push_back({(stall.begin_ns + stall.end_ns) / 2, -37'000'000'000});
  }
  std::sort(day.steps.begin(), day.steps.end(), [](const Step& a, const Step& b) { return a.t_ns < b.t_ns; });
  count(Count::Stalls, day.stalls.size());
  count(Count::Pauses, day.pauses.size());
  count(Count::Kills, day.kills.size());
  count(Count::ClockSteps, day.steps.size());
  return day;
}

}  // namespace stopbit::day
