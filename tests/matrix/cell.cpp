#include "tests/matrix/cell.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "host/arbitrate/arbiter.hpp"
#include "host/egress/frame.hpp"
#include "host/impair/impairer.hpp"
#include "host/impair/random.hpp"
#include "host/net/byte_order.hpp"
#include "host/net/checksum.hpp"
#include "host/net/framing.hpp"
#include "host/net/packet.hpp"

namespace stopbit::matrix {
namespace {

constexpr std::array kLoss = {0.0, 0.0001, 0.001, 0.01, 0.05, 0.2};
constexpr std::array kBurst = {1.0, 10.0, 100.0};
constexpr std::array kBoth = {0.0, 0.0001, 0.01};
constexpr std::array kDuplicate = {0.0, 0.01, 0.5};
constexpr std::array kReorder = {0.0, 0.01, 0.1};
constexpr std::array<std::uint32_t, 3> kDepth = {1, 8, 64};
constexpr std::array kCorrupt = {0.0, 0.0001, 0.01};
constexpr std::array<std::uint64_t, 3> kSkew = {0, 100'000, 5'000'000};
constexpr std::size_t kScenarios = 4;
/// Values of each factor, in the order of `choices_of`.
constexpr std::array<std::size_t, 10> kValues = {2,
                                                 kLoss.size(),
                                                 kBurst.size(),
                                                 kBoth.size(),
                                                 kDuplicate.size(),
                                                 kReorder.size(),
                                                 kDepth.size(),
                                                 kCorrupt.size(),
                                                 kSkew.size(),
                                                 kScenarios};
using Choices = std::array<std::size_t, kValues.size()>;

constexpr std::uint64_t kSpacingNs = 10'000;     // 100,000 packets a second
constexpr std::uint64_t kPauseNs = 200'000'000;  // before a reset
constexpr std::uint64_t kWindowNs = 60'000'000;  // more than skew and depth can make of it
constexpr std::uint32_t kWindowPackets = 8'192;
constexpr std::uint64_t kStartNs = 1'700'000'000'000'000'000;
constexpr std::size_t kUdpAt = 14 + 20;

Cell cell_of(const Choices& choices) {
  return {.ordered = choices[0] == 0,
          .loss = kLoss[choices[1]],
          .mean_burst = kBurst[choices[2]],
          .both = kBoth[choices[3]],
          .duplicate = kDuplicate[choices[4]],
          .reorder = kReorder[choices[5]],
          .depth = kDepth[choices[6]],
          .corrupt = kCorrupt[choices[7]],
          .skew_ns = kSkew[choices[8]],
          .scenario = static_cast<Scenario>(choices[9])};
}

template <class Values, class Value>
std::size_t place_of(const Values& values, Value value) {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

Choices choices_of(const Cell& cell) {
  return {cell.ordered ? std::size_t{0} : 1,    place_of(kLoss, cell.loss),
          place_of(kBurst, cell.mean_burst),    place_of(kBoth, cell.both),
          place_of(kDuplicate, cell.duplicate), place_of(kReorder, cell.reorder),
          place_of(kDepth, cell.depth),         place_of(kCorrupt, cell.corrupt),
          place_of(kSkew, cell.skew_ns),        static_cast<std::size_t>(cell.scenario)};
}

/// What the sender does: which run and number its packets have, and when it sends them.
class Sender {
 public:
  Sender(const Cell& cell, std::uint64_t packets) : is_reset_(cell.scenario == Scenario::Reset), half_(packets / 2) {
    first_ = cell.scenario == Scenario::Wrap ? (std::uint64_t{1} << 32) - half_ : 1'000'000;
  }
  [[nodiscard]] std::size_t run(std::uint64_t packet) const { return is_reset_ && packet >= half_ ? 1 : 0; }
  /// Not wrapped.
  [[nodiscard]] std::uint64_t number(std::uint64_t packet) const {
    return run(packet) == 1 ? packet - half_ + 1 : first_ + packet;
  }
  [[nodiscard]] std::uint64_t time_ns(std::uint64_t packet) const {
    return kStartNs + packet * kSpacingNs + (run(packet) == 1 ? kPauseNs : 0);
  }

 private:
  bool is_reset_;
  std::uint64_t half_;
  std::uint64_t first_ = 0;
};

using Range = std::pair<std::uint64_t, std::uint64_t>;  ///< First and count.

/// Adds a number to a list of ranges, the last of which it may continue.
void add_number(std::vector<Range>& ranges, std::uint64_t number, std::uint64_t count = 1) {
  if (!ranges.empty() && ranges.back().first + ranges.back().second == number) {
    ranges.back().second += count;
  } else {
    ranges.emplace_back(number, count);
  }
}

/// What must come of a run.
struct Expected {
  std::vector<std::uint64_t> delivered;  ///< Numbers in order.
  std::vector<Range> gaps;
};

/// What came of it.
struct Seen {
  std::vector<std::uint64_t> delivered;
  std::vector<Range> gaps;
};

/// What the log says: the copies in the order in which they came out.
class Log {
 public:
  explicit Log(const Sender& sender) : sender_(sender) {}

  void take(const impair::Event& event) {
    if (event.kind != impair::Event::Kind::Out) return;
    ++out_[event.line];
    if (event.detail != 0) {
      ++damaged_;
      return;
    }
    arrivals_[sender_.run(event.packet)].push_back({sender_.number(event.packet), event.line});
  }

  [[nodiscard]] std::uint64_t out(std::size_t line) const { return out_[line]; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

  [[nodiscard]] std::uint64_t intact() const { return arrivals_[0].size() + arrivals_[1].size(); }
  /// Numbers of which an intact copy came.
  [[nodiscard]] std::uint64_t distinct() const {
    std::uint64_t sum = 0;
    for (const auto& arrivals : arrivals_) sum += numbers_of(arrivals, {true, true}).size();
    return sum;
  }

  /// Whatever came is delivered in order; the rest between is missing.
  [[nodiscard]] Expected ordered(std::size_t run) const {
    Expected expected;
    expected.delivered = numbers_of(arrivals_[run], {true, true});
    for (std::size_t i = 1; i < expected.delivered.size(); ++i) {
      const std::uint64_t after = expected.delivered[i - 1] + 1;
      if (after != expected.delivered[i]) expected.gaps.emplace_back(after, expected.delivered[i] - after);
    }
    return expected;
  }

  /// What is higher than all before is delivered; what it leaves out is missing.
  [[nodiscard]] Expected fast(std::size_t run) const {
    std::vector<Arrival> arrivals = arrivals_[run];
    if (run == 1) sort_first_two(arrivals);
    Expected expected;
    std::uint64_t next = arrivals.empty() ? 0 : arrivals.front().number;
    for (const Arrival& arrival : arrivals) {
      if (arrival.number < next) continue;
      if (arrival.number != next) add_number(expected.gaps, next, arrival.number - next);
      expected.delivered.push_back(arrival.number);
      next = arrival.number + 1;
    }
    return expected;
  }

  /// Numbers of the run's range of which the line brought no intact copy, and how many of these were delivered.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> missing(std::size_t run, std::uint8_t line,
                                                                const std::vector<std::uint64_t>& delivered) const {
    if (delivered.empty()) return {0, 0};
    const std::vector<std::uint64_t> brought = numbers_of(arrivals_[run], {line == 0, line == 1});
    const std::uint64_t first = delivered.front();
    const auto begin = std::lower_bound(brought.begin(), brought.end(), first);
    const std::uint64_t in_range = static_cast<std::uint64_t>(brought.end() - begin);
    std::uint64_t saved = 0;
    for (const std::uint64_t number : delivered) {
      saved += std::binary_search(begin, brought.end(), number) ? 0 : 1;
    }
    return {delivered.back() + 1 - first - in_range, saved};
  }

 private:
  struct Arrival {
    std::uint64_t number = 0;
    std::uint8_t line = 0;
  };

  static std::vector<std::uint64_t> numbers_of(const std::vector<Arrival>& arrivals, std::array<bool, 2> lines) {
    std::vector<std::uint64_t> numbers;
    for (const Arrival& arrival : arrivals) {
      if (lines[arrival.line]) numbers.push_back(arrival.number);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  /// A reset is believed when a second packet confirms it; the two go on in order. A second copy on one line is none.
  static void sort_first_two(std::vector<Arrival>& arrivals) {
    for (std::size_t i = 1; i < arrivals.size(); ++i) {
      if (arrivals[i].number == arrivals[0].number && arrivals[i].line == arrivals[0].line) continue;
      if (arrivals[i].number < arrivals[0].number) std::swap(arrivals[i], arrivals[0]);
      return;
    }
  }

  const Sender& sender_;
  std::array<std::vector<Arrival>, 2> arrivals_;  ///< By run.
  std::array<std::uint64_t, 2> out_{};
  std::uint64_t damaged_ = 0;
};

/// Keeps what the arbiter says; numbers are unwrapped by going on from the one before.
class Collector final : public arbitrate::Sink {
 public:
  explicit Collector(std::uint64_t first) : near_(first) {}

  void deliver(const arbitrate::Packet& packet, std::uint16_t /*epoch*/) noexcept override {
    seen[run].delivered.push_back(unwrapped(packet.preamble.sequence));
  }
  void gap(const arbitrate::Gap& gap) noexcept override { add_number(seen[run].gaps, unwrapped(gap.first), gap.count); }
  void epoch(const arbitrate::NewRun& /*run*/) noexcept override {}
  void reset(const arbitrate::NewRun& begun) noexcept override {
    ++resets;
    run = 1;
    near_ = begun.sequence;
  }

  std::array<Seen, 2> seen;
  std::size_t run = 0;
  std::uint64_t resets = 0;

 private:
  std::uint64_t unwrapped(std::uint64_t wire) noexcept {
    near_ += static_cast<std::uint64_t>(
        static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(wire - near_))));
    return near_;
  }
  std::uint64_t near_;
};

/// A frame as the arbiter is to see it: malformed unless headers and checksum are right, as a network card or a kernel
/// would have dropped it.
arbitrate::Packet receive(const impair::Copy& copy, const net::Framing& framing) {
  arbitrate::Packet packet;
  packet.line = static_cast<arbitrate::Line>(copy.line);
  packet.arrival_ns = copy.time_ns;
  packet.number = copy.packet + 1;
  packet.preamble.error = ErrorCode::X9;
  net::Datagram datagram;
  const net::Verdict verdict = net::parse_frame(net::LinkType::Ethernet, copy.bytes, copy.bytes.size(), datagram);
  if (verdict != net::Verdict::Accepted || datagram.ignored_bytes != 0) return packet;
  const std::span<const std::byte> frame(copy.bytes);
  const std::uint32_t pseudo_header =
      net::sum_words(frame.subspan(kUdpAt - 8, 8)) + 17 + static_cast<std::uint32_t>(frame.size() - kUdpAt);
  if (net::checksum(pseudo_header + net::sum_words(frame.subspan(kUdpAt))) != 0) return packet;
  packet.payload = datagram.payload;
  packet.preamble = net::read_preamble(framing, datagram.payload);
  return packet;
}

class Differences {
 public:
  explicit Differences(Outcome& outcome) : outcome_(outcome) {}
  template <class Left, class Right>
  void expect_equal(const char* what, const Left& left, const Right& right) {
    if (left == right) return;
    if constexpr (std::is_integral_v<Left>) {
      add(fmt::format("{}: {} instead of {}", what, left, right));
    } else {
      add(what);
    }
  }
  void add(std::string what) {
    if (outcome_.differences++ == 0) outcome_.first_difference = std::move(what);
  }

 private:
  Outcome& outcome_;
};

}  // namespace

std::string to_text(const Cell& cell) {
  constexpr std::array kNames = {"plain", "line-dead", "reset", "wrap"};
  return fmt::format("{:7} loss {:6} burst {:3} both {:6} duplicate {:4} reorder {:4}/{:<2} corrupt {:6} skew {:7} {}",
                     cell.ordered ? "ordered" : "fast", cell.loss, cell.mean_burst, cell.both, cell.duplicate,
                     cell.reorder, cell.depth, cell.corrupt, cell.skew_ns,
                     kNames[static_cast<std::size_t>(cell.scenario)]);
}

std::vector<Cell> cells(std::size_t count, std::uint64_t seed) {
  impair::Random random(seed);
  std::vector<Cell> result;
  for (std::size_t i = 0; i < count; ++i) {
    Choices choices;
    for (std::size_t factor = 0; factor < choices.size(); ++factor) {
      choices[factor] = static_cast<std::size_t>(random.below(kValues[factor]));
    }
    result.push_back(cell_of(choices));
  }
  return result;
}

Coverage coverage(const std::vector<Cell>& cells) {
  Coverage result;
  for (std::size_t left = 0; left < kValues.size(); ++left) {
    for (std::size_t right = left + 1; right < kValues.size(); ++right) {
      result.pairs += kValues[left] * kValues[right];
      std::set<std::pair<std::size_t, std::size_t>> seen;
      for (const Cell& cell : cells) {
        const Choices choices = choices_of(cell);
        seen.emplace(choices[left], choices[right]);
      }
      result.seen += seen.size();
    }
  }
  return result;
}

Outcome run(const Cell& cell, std::uint64_t packets, std::uint64_t seed) {
  const net::Framing framing = net::parse_framing("cme").value();
  const Sender sender(cell, packets);
  Log log(sender);

  impair::Options impairment;
  impairment.seed = seed;
  impairment.both = {cell.both, 1};
  impairment.corrupt_from = kUdpAt;
  for (std::size_t i = 0; i < impairment.line.size(); ++i) {
    impairment.line[i] = {.loss = {cell.loss, cell.mean_burst},
                          .duplicate = cell.duplicate,
                          .reorder = cell.reorder,
                          .reorder_depth = cell.depth,
                          .corrupt = cell.corrupt,
                          .delay_ns = i == 1 ? cell.skew_ns : 0};
  }
  if (cell.scenario == Scenario::LineDead) {
    impairment.line[0].dies_at = packets / 3;
    impairment.line[0].returns_at = packets * 2 / 3;
  }
  impair::Impairer impairer(impairment, [&](const impair::Event& event) { log.take(event); });

  arbitrate::Options options = arbitrate::options_for(framing);
  options.ordered = cell.ordered;
  options.window_packets = kWindowPackets;
  options.window_ns = kWindowNs;
  options.datagram_bytes = 64;
  arbitrate::Arbiter arbiter(options);
  Collector collector(sender.number(0));

  Outcome outcome;
  Differences differences(outcome);
  const auto receive_until = [&](std::uint64_t until_ns) {
    while (const impair::Copy* copy = impairer.pop(until_ns)) {
      const arbitrate::Packet packet = receive(*copy, framing);
      arbiter.offer(packet, copy->time_ns, collector);
      if (!arbiter.account().balanced() || !arbiter.total().balanced()) differences.add("the account is not balanced");
    }
  };
  egress::FrameBuilder frames({0x0A010203, 20'000}, {0xE0001F01, 10'001});
  std::array<std::byte, 16> payload{};
  for (std::uint64_t packet = 0; packet < packets; ++packet) {
    const std::uint64_t now = sender.time_ns(packet);
    if (packet != 0 && sender.run(packet) != sender.run(packet - 1)) {
      impairer.flush(sender.time_ns(packet - 1));  // nothing stays under way for as long as the sender pauses
    }
    receive_until(now);
    net::store_be(payload.data(), static_cast<std::uint32_t>(sender.number(packet)));
    net::store_be(payload.data() + 8, packet);
    impairer.push(frames.build(payload), now);
  }
  impairer.flush(sender.time_ns(packets));
  receive_until(impair::kNever);
  arbiter.finish(collector);

  // The log's word against the arbiter's.
  const arbitrate::Account total = arbiter.total();
  if (!total.balanced()) differences.add("the account at the end is not balanced");
  std::array<std::pair<std::uint64_t, std::uint64_t>, 2> missing{};
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
  for (std::size_t run = 0; run < 2; ++run) {
    const Expected expected = cell.ordered ? log.ordered(run) : log.fast(run);
    differences.expect_equal("numbers delivered", collector.seen[run].delivered, expected.delivered);
    differences.expect_equal("gaps", collector.seen[run].gaps, expected.gaps);
    delivered += expected.delivered.size();
    for (const Range& gap : expected.gaps) lost += gap.second;
    for (std::uint8_t line = 0; line < 2; ++line) {
      const auto [missing_of_run, saved_of_run] = log.missing(run, line, expected.delivered);
      missing[line].first += missing_of_run;
      missing[line].second += saved_of_run;
    }
  }
  differences.expect_equal("resets", collector.resets, cell.scenario == Scenario::Reset ? 1U : 0U);
  differences.expect_equal("received on A", total.packets.received[0], log.out(0));
  differences.expect_equal("received on B", total.packets.received[1], log.out(1));
  differences.expect_equal("malformed", total.packets.malformed, log.damaged());
  differences.expect_equal("delivered", total.packets.delivered, delivered);
  differences.expect_equal("late", total.packets.late, log.distinct() - delivered);
  differences.expect_equal("duplicate", total.packets.duplicate, log.intact() - log.distinct());
  differences.expect_equal("lost numbers", total.numbers.lost, lost);
  for (std::size_t line = 0; line < 2; ++line) {
    const arbitrate::LineStats& stats = arbiter.line(static_cast<arbitrate::Line>(line));
    differences.expect_equal("missing on the line", stats.missing, missing[line].first);
    differences.expect_equal("saved by the other line", stats.saved, missing[line].second);
  }

  outcome.received = total.packets.all_received();
  outcome.delivered = total.packets.delivered;
  outcome.duplicate = total.packets.duplicate;
  outcome.late = total.packets.late;
  outcome.malformed = total.packets.malformed;
  outcome.lost = total.numbers.lost;
  outcome.gaps = arbiter.gaps();
  return outcome;
}

}  // namespace stopbit::matrix
