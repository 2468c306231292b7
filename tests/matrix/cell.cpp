#include "tests/matrix/cell.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "host/feed/arbitrate/arbiter.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/checksum.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/lab/impair/impairer.hpp"
#include "host/lab/impair/random.hpp"
#include "host/ports/out/frame.hpp"

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
constexpr std::size_t kKeys = 3;
/// Values of each factor, in the order of `choices_of`.
constexpr std::array<std::size_t, 11> kValues = {2,
                                                 kLoss.size(),
                                                 kBurst.size(),
                                                 kBoth.size(),
                                                 kDuplicate.size(),
                                                 kReorder.size(),
                                                 kDepth.size(),
                                                 kCorrupt.size(),
                                                 kSkew.size(),
                                                 kScenarios,
                                                 kKeys};
using Choices = std::array<std::size_t, kValues.size()>;
constexpr std::size_t kScenarioAt = 9;
constexpr std::size_t kKeysAt = 10;

constexpr std::uint64_t kSpacingNs = 10'000;     // 100,000 packets a second
constexpr std::uint64_t kPauseNs = 200'000'000;  // before a reset and between cycles
constexpr std::uint64_t kCycles = 4;
constexpr std::size_t kMaxRuns = kCycles;
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
          .scenario = static_cast<Scenario>(choices[kScenarioAt]),
          .keys = static_cast<Keys>(choices[kKeysAt])};
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
          place_of(kSkew, cell.skew_ns),        static_cast<std::size_t>(cell.scenario),
          static_cast<std::size_t>(cell.keys)};
}

/// What a packet is: its run, its number in it, not wrapped, and its place among the packets of the number.
struct Identity {
  std::size_t run = 0;
  std::uint64_t number = 0;
  std::uint8_t chunk = 1;
  std::uint8_t chunks = 1;
};

/// What the sender does: which runs and numbers its packets have, and when it sends them.
class Sender {
 public:
  Sender(const Cell& cell, std::uint64_t packets) : has_chunks_(cell.keys == Keys::Chunks) {
    if (cell.keys == Keys::Carousel) {
      runs_ = kCycles;
      run_packets_ = packets / kCycles;
      first_.fill(1);
    } else {
      const std::uint64_t half = packets / 2 / kChunkPackets * kChunkPackets;
      runs_ = cell.scenario == Scenario::Reset ? 2 : 1;
      run_packets_ = runs_ == 2 ? half : packets;
      first_.fill(1);
      first_[0] = cell.scenario == Scenario::Wrap ? (std::uint64_t{1} << 32) - numbers_in(half) : 1'000'000;
    }
  }
  [[nodiscard]] std::size_t run(std::uint64_t packet) const {
    return std::min<std::size_t>(packet / run_packets_, runs_ - 1);
  }
  [[nodiscard]] Identity identity(std::uint64_t packet) const {
    Identity identity;
    identity.run = run(packet);
    const std::uint64_t place = packet - identity.run * run_packets_;
    if (!has_chunks_) {
      identity.number = first_[identity.run] + place;
      return identity;
    }
    // Numbers of 1, 2, 3 and 4 packets in turns.
    std::uint8_t rest = static_cast<std::uint8_t>(place % kChunkPackets);
    while (rest >= identity.chunks) rest = static_cast<std::uint8_t>(rest - identity.chunks++);
    identity.chunk = static_cast<std::uint8_t>(rest + 1);
    identity.number = first_[identity.run] + place / kChunkPackets * kChunkNumbers + identity.chunks - 1;
    return identity;
  }
  [[nodiscard]] std::uint8_t chunks(std::size_t run, std::uint64_t number) const {
    return has_chunks_ ? static_cast<std::uint8_t>((number - first_[run]) % kChunkNumbers + 1) : 1;
  }
  [[nodiscard]] std::uint64_t time_ns(std::uint64_t packet) const {
    return kStartNs + packet * kSpacingNs + run(packet) * kPauseNs;
  }

 private:
  static constexpr std::uint64_t kChunkNumbers = 4;
  static constexpr std::uint64_t kChunkPackets = 1 + 2 + 3 + 4;
  [[nodiscard]] std::uint64_t numbers_in(std::uint64_t packets) const {
    return has_chunks_ ? packets / kChunkPackets * kChunkNumbers : packets;
  }

  bool has_chunks_;
  std::size_t runs_;
  std::uint64_t run_packets_;
  std::array<std::uint64_t, kMaxRuns> first_{};  ///< Numbers, by run.
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
  Range range;  ///< All of its numbers.
  std::uint64_t packets = 0;
  std::uint64_t late = 0;
  std::uint64_t incomplete = 0;
};

/// Its outcome.
struct Seen {
  std::vector<std::uint64_t> delivered;
  std::vector<Range> gaps;
  std::uint64_t packets = 0;
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
    const Identity identity = sender_.identity(event.packet);
    arrivals_[identity.run].push_back({identity.number, identity.chunk, event.line});
  }

  [[nodiscard]] std::uint64_t out(std::size_t line) const { return out_[line]; }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

  [[nodiscard]] std::uint64_t intact() const {
    std::uint64_t sum = 0;
    for (const auto& arrivals : arrivals_) sum += arrivals.size();
    return sum;
  }
  /// Packets of which an intact copy came.
  [[nodiscard]] std::uint64_t distinct() const {
    std::uint64_t sum = 0;
    for (const auto& arrivals : arrivals_) sum += keys_of(arrivals, {true, true}).size();
    return sum;
  }

  /// Every number that came whole is delivered in order; the rest between the first and the last is missing.
  [[nodiscard]] Expected ordered(std::size_t run) const {
    Expected expected;
    const std::vector<std::uint64_t> keys = keys_of(arrivals_[run], {true, true});
    if (keys.empty()) return expected;
    const std::uint64_t first = number_of(keys.front());
    const std::uint64_t last = number_of(keys.back());
    expected.range = {first, last + 1 - first};
    expected.delivered = whole(run, keys);
    std::uint64_t next = first;
    for (const std::uint64_t number : expected.delivered) {
      if (number != next) expected.gaps.emplace_back(next, number - next);
      next = number + 1;
      expected.packets += sender_.chunks(run, number);
    }
    if (next != last + 1) expected.gaps.emplace_back(next, last + 1 - next);
    expected.incomplete = keys.size() - expected.packets;
    return expected;
  }

  /// A number that becomes whole and is higher than all before is delivered; what it leaves out is missing.
  [[nodiscard]] Expected fast(std::size_t run, bool is_reset) const {
    std::vector<Arrival> arrivals = arrivals_[run];
    Expected expected;
    if (arrivals.empty()) return expected;
    if (is_reset) sort_first_two(arrivals);
    const auto by_number = [](const Arrival& left, const Arrival& right) { return left.number < right.number; };
    const auto [lowest, highest] = std::minmax_element(arrivals.begin(), arrivals.end(), by_number);
    const std::uint64_t base = lowest->number;
    std::vector<std::uint8_t> came(highest->number + 1 - base);  // a bit for each packet of a number
    const std::uint64_t first = arrivals.front().number;
    std::uint64_t next = first;
    std::uint64_t top = first;
    for (const Arrival& arrival : arrivals) {
      std::uint8_t& parts = came[arrival.number - base];
      const auto part = static_cast<std::uint8_t>(1U << (arrival.chunk - 1));
      const bool is_copy = (parts & part) != 0;
      parts |= part;
      top = std::max(top, arrival.number);
      if (is_copy) continue;
      if (arrival.number < next) {
        ++expected.late;
        continue;
      }
      const std::uint8_t chunks = sender_.chunks(run, arrival.number);
      if (parts != (1U << chunks) - 1) continue;
      if (arrival.number != next) add_number(expected.gaps, next, arrival.number - next);
      expected.delivered.push_back(arrival.number);
      expected.packets += chunks;
      next = arrival.number + 1;
    }
    if (next <= top) add_number(expected.gaps, next, top + 1 - next);
    expected.range = {first, top + 1 - first};
    expected.incomplete = keys_of(arrivals, {true, true}).size() - expected.packets - expected.late;
    return expected;
  }

  /// Numbers of the run's range that did not come whole on the line, and how many of these were delivered.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> missing(std::size_t run, std::uint8_t line,
                                                                const Expected& expected) const {
    const std::vector<std::uint64_t> brought = whole(run, keys_of(arrivals_[run], {line == 0, line == 1}));
    const auto begin = std::lower_bound(brought.begin(), brought.end(), expected.range.first);
    const std::uint64_t in_range = static_cast<std::uint64_t>(brought.end() - begin);
    std::uint64_t saved = 0;
    for (const std::uint64_t number : expected.delivered) {
      saved += std::binary_search(begin, brought.end(), number) ? 0 : 1;
    }
    return {expected.range.second - in_range, saved};
  }

 private:
  struct Arrival {
    std::uint64_t number = 0;
    std::uint8_t chunk = 1;
    std::uint8_t line = 0;
  };
  static constexpr unsigned kChunkBits = 3;
  static std::uint64_t number_of(std::uint64_t key) { return key >> kChunkBits; }

  /// Numbers and chunks that came, each once, in order.
  static std::vector<std::uint64_t> keys_of(const std::vector<Arrival>& arrivals, std::array<bool, 2> lines) {
    std::vector<std::uint64_t> keys;
    for (const Arrival& arrival : arrivals) {
      if (lines[arrival.line]) keys.push_back(arrival.number << kChunkBits | arrival.chunk);
    }
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  /// The numbers whose chunks have all arrived.
  [[nodiscard]] std::vector<std::uint64_t> whole(std::size_t run, const std::vector<std::uint64_t>& keys) const {
    std::vector<std::uint64_t> numbers;
    std::size_t count = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t number = number_of(keys[i]);
      count = i != 0 && number_of(keys[i - 1]) == number ? count + 1 : 1;
      if (count == sender_.chunks(run, number)) numbers.push_back(number);
    }
    return numbers;
  }

  /// A reset is believed when a second packet confirms it; the two go on in order. A second copy on one line is none.
  static void sort_first_two(std::vector<Arrival>& arrivals) {
    for (std::size_t i = 1; i < arrivals.size(); ++i) {
      if (arrivals[i].number == arrivals[0].number && arrivals[i].chunk == arrivals[0].chunk &&
          arrivals[i].line == arrivals[0].line) {
        continue;
      }
      if (arrivals[i].number < arrivals[0].number) std::swap(arrivals[i], arrivals[0]);
      return;
    }
  }

  const Sender& sender_;
  std::array<std::vector<Arrival>, kMaxRuns> arrivals_;  ///< By run.
  std::array<std::uint64_t, 2> out_{};
  std::uint64_t damaged_ = 0;
};

/// Keeps what the arbiter says; numbers are unwrapped by going on from the one before.
class Collector final : public arbitrate::Sink {
 public:
  explicit Collector(std::uint64_t first) : near_(first) {}

  bool deliver(const arbitrate::Packet& packet, std::uint16_t /*epoch*/) noexcept override {
    ++seen[run].packets;
    // Chunks of a number come one after another.
    if (packet.preamble.chunk == packet.preamble.chunks) {
      seen[run].delivered.push_back(unwrapped(packet.preamble.sequence));
    }
    return true;
  }
  void gap(const arbitrate::Gap& gap) noexcept override { add_number(seen[run].gaps, unwrapped(gap.first), gap.count); }
  void epoch(const arbitrate::NewRun& begun) noexcept override {
    if (begun.reason == arbitrate::NewRun::Reason::Start) return;
    ++cycles;
    begin(begun);
  }
  void reset(const arbitrate::NewRun& begun) noexcept override {
    ++resets;
    begin(begun);
  }

  std::array<Seen, kMaxRuns> seen;
  std::size_t run = 0;
  std::uint64_t resets = 0;
  std::uint64_t cycles = 0;

 private:
  void begin(const arbitrate::NewRun& begun) noexcept {
    run = std::min(run + 1, kMaxRuns - 1);
    near_ = begun.sequence;
  }
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
  packet.arrival_ns = packet.t_ns = copy.time_ns;
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
  constexpr std::array kKeyNames = {"numbers", "chunks", "carousel"};
  return fmt::format(
      "{:7} loss {:6} burst {:3} both {:6} duplicate {:4} reorder {:4}/{:<2} corrupt {:6} skew {:7} {} {}",
      cell.ordered ? "ordered" : "fast", cell.loss, cell.mean_burst, cell.both, cell.duplicate, cell.reorder,
      cell.depth, cell.corrupt, cell.skew_ns, kNames[static_cast<std::size_t>(cell.scenario)],
      kKeyNames[static_cast<std::size_t>(cell.keys)]);
}

std::vector<Cell> cells(std::size_t count, std::uint64_t seed) {
  impair::Random random(seed);
  std::vector<Cell> result;
  for (std::size_t i = 0; i < count; ++i) {
    Choices choices;
    for (std::size_t factor = 0; factor < choices.size(); ++factor) {
      choices[factor] = static_cast<std::size_t>(random.below(kValues[factor]));
    }
    Cell cell = cell_of(choices);
    if (cell.keys == Keys::Carousel) cell.scenario = Scenario::Plain;
    result.push_back(cell);
  }
  return result;
}

Coverage coverage(const std::vector<Cell>& cells) {
  Coverage result;
  for (std::size_t left = 0; left < kValues.size(); ++left) {
    for (std::size_t right = left + 1; right < kValues.size(); ++right) {
      result.pairs += kValues[left] * kValues[right];
      if (left == kScenarioAt && right == kKeysAt) result.pairs -= kScenarios - 1;  // of carousels
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
  const net::Framing framing = net::parse_framing(cell.keys == Keys::Chunks ? "b3" : "cme").value();
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
  options.carousel = cell.keys == Keys::Carousel;
  // A line whose number 1 was lost is known by how far it goes back: less than a cycle.
  options.window_packets =
      options.carousel ? std::min<std::uint32_t>(kWindowPackets, static_cast<std::uint32_t>(packets / kCycles / 3))
                       : kWindowPackets;
  options.window_ns = kWindowNs;
  options.switch_silence_ns = kPauseNs / 2;
  options.datagram_bytes = 64;
  arbitrate::Arbiter arbiter(options);
  Collector collector(sender.identity(0).number);

  Outcome outcome;
  Differences differences(outcome);
  const auto receive_until = [&](std::uint64_t until_ns) {
    while (const impair::Copy* copy = impairer.pop(until_ns)) {
      const arbitrate::Packet packet = receive(*copy, framing);
      arbiter.tick(copy->time_ns, collector);
      arbiter.offer(packet, collector);
      if (!arbiter.account().balanced() || !arbiter.total().balanced()) differences.add("the account is not balanced");
    }
  };
  egress::FrameBuilder frames({0x0A010203, 20'000}, {0xE0001F01, 10'001});
  std::array<std::byte, 18> payload{};
  for (std::uint64_t packet = 0; packet < packets; ++packet) {
    const std::uint64_t now = sender.time_ns(packet);
    if (packet != 0 && sender.run(packet) != sender.run(packet - 1)) {
      impairer.flush(sender.time_ns(packet - 1));  // nothing stays under way for as long as the sender pauses
    }
    receive_until(now);
    const Identity identity = sender.identity(packet);
    net::store_be(payload.data(), static_cast<std::uint32_t>(identity.number));
    if (cell.keys == Keys::Chunks) {
      net::store_be(payload.data() + 4, std::uint16_t{identity.chunks});
      net::store_be(payload.data() + 6, std::uint16_t{identity.chunk});
      net::store_be(payload.data() + 8, static_cast<std::uint16_t>(sizeof(packet)));
    }
    net::store_be(payload.data() + 10, packet);
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
  std::uint64_t late = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t lost = 0;
  for (std::size_t run = 0; run < kMaxRuns; ++run) {
    const bool is_reset = cell.scenario == Scenario::Reset && run == 1;
    const Expected expected = cell.ordered ? log.ordered(run) : log.fast(run, is_reset);
    differences.expect_equal("numbers delivered", collector.seen[run].delivered, expected.delivered);
    differences.expect_equal("gaps", collector.seen[run].gaps, expected.gaps);
    differences.expect_equal("packets delivered", collector.seen[run].packets, expected.packets);
    delivered += expected.packets;
    late += expected.late;
    incomplete += expected.incomplete;
    for (const Range& gap : expected.gaps) lost += gap.second;
    for (std::uint8_t line = 0; line < 2; ++line) {
      const auto [missing_of_run, saved_of_run] = log.missing(run, line, expected);
      missing[line].first += missing_of_run;
      missing[line].second += saved_of_run;
    }
  }
  differences.expect_equal("resets", collector.resets, cell.scenario == Scenario::Reset ? 1U : 0U);
  differences.expect_equal("cycles", collector.cycles, cell.keys == Keys::Carousel ? kCycles - 1 : 0U);
  differences.expect_equal("received on A", total.packets.received[0], log.out(0));
  differences.expect_equal("received on B", total.packets.received[1], log.out(1));
  differences.expect_equal("malformed", total.packets.malformed, log.damaged());
  differences.expect_equal("delivered", total.packets.delivered, delivered);
  differences.expect_equal("late", total.packets.late, late);
  differences.expect_equal("incomplete", total.packets.incomplete, incomplete);
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
  outcome.incomplete = total.packets.incomplete;
  outcome.lost = total.numbers.lost;
  outcome.gaps = arbiter.gaps();
  return outcome;
}

}  // namespace stopbit::matrix
