#pragma once

#include <Vrtl_wcb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "bench.hpp"
#include "host/nic/msg/combine.hpp"
#include "host/nic/protocol/protocol.hpp"

/// The write-combining buffer, with the class of each page beside it. Each part that the unit deals with is given to
/// the class at that time, which has to answer the same; what leaves has to be what the class gave.
namespace stopbit::sim {

constexpr std::size_t kPorts = 4;
constexpr std::size_t kPages = 2 * kPorts;  ///< Class and port.
constexpr std::uint16_t kPatience = 200;

/// A part as it is written: to an address, with any number of words.
struct Part {
  std::uint16_t vpid = 0;
  std::uint8_t traffic_class = 0;
  std::vector<std::uint64_t> words;
  nic::Command command;
  bool is_misshapen = false;
};

/// Head, tag, and the words of the payload.
inline Part part_of(std::size_t page, const nic::Command& command) {
  std::array<std::uint64_t, 7> words{};
  std::memcpy(words.data(), &command, sizeof words);
  const std::size_t payload = (command.modifiers & nic::kAbort) != 0 ? 0 : std::min((command.window + 7) / 8, 5);
  const bool is_long = (command.modifiers & nic::kAbort) == 0 && command.window > nic::kMaxFastBytes;
  return {static_cast<std::uint16_t>(page % kPorts), static_cast<std::uint8_t>(page / kPorts),
          std::vector<std::uint64_t>(words.begin(), words.begin() + 2 + static_cast<std::ptrdiff_t>(payload)), command,
          is_long};
}

inline nic::Command command_of(std::uint8_t message, const std::vector<std::byte>& bytes, std::size_t offset,
                               std::size_t length) {
  nic::Command command;
  command.operation = nic::Operation::SendPart;
  command.modifiers = message % 3 == 0 ? nic::kNotifyCompleter : message % 3 == 1 ? nic::kGroup : 0;
  command.target_vpid = static_cast<std::uint16_t>(message * 7);
  command.target_node = static_cast<nic::NodeId>(message + 1000);
  command.window = static_cast<std::uint16_t>(length);
  nic::PartHead head;
  head.tag = static_cast<std::uint8_t>(message ^ 0xA5U);
  head.message = message;
  head.offset = static_cast<std::uint16_t>(offset);
  head.total = static_cast<std::uint16_t>(bytes.size());
  head.type = message % 4;
  command.tag = nic::to_tag(head);
  // What is after the part must not get into the message.
  auto* const payload = reinterpret_cast<std::byte*>(&command) + nic::kPayloadAt;
  std::memset(payload, 0xEE, nic::kMaxFastBytes);
  std::memcpy(payload, bytes.data() + offset, length);
  return command;
}

inline std::vector<std::byte> bytes_of(std::size_t count, Random& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.bits());
  return bytes;
}

/// A message cut at random; with `is_whole`, at every 40 bytes.
inline std::vector<nic::Command> cut(std::uint8_t message, const std::vector<std::byte>& bytes, Random& random,
                                     bool is_whole) {
  std::vector<nic::Command> parts;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(is_whole ? 40 : 8 * (1 + random.below(5)), bytes.size() - at);
    parts.push_back(command_of(message, bytes, at, length));
    at += length;
  }
  return parts;
}

class Wcb {
 public:
  explicit Wcb(std::uint64_t seed, std::uint32_t stall_percent = 0)
      : bench_(seed),
        random_(seed),
        in_gate_(random_, stall_percent),
        out_gate_(random_, stall_percent),
        level_gate_(random_, stall_percent) {
    bench_->patience_i = kPatience;
    bench_->tick_i = 0;
    bench_->set_valid_i = 0;
    bench_->level_ready_i = 1;
    reset();
  }

  void reset() {
    bench_->valid_i = 0;
    bench_.reset();
    sent_.clear();
    in_.clear();
    message_.clear();
    offered_ = false;
    now_ = 0;
    ticks_ = 0;
    last_now_ = 0;
    given_up_ = 0;
    for (std::size_t p = 0; p < kPages; ++p) {
      combiners_[p] = std::make_unique<nic::WriteCombiner>(kPatience);
      expected_[p].clear();
      open_[p] = false;
    }
    for (std::size_t p = 0; p < kPages; ++p) set(p, true);
  }

  void add(Part part) {
    for (std::size_t i = 0; i < part.words.size(); ++i) {
      in_.push_back({part.words[i], part.vpid, part.traffic_class, i == 0, i + 1 == part.words.size()});
    }
    sent_.push_back(std::move(part));
  }
  /// A part whose words come otherwise.
  void note(Part part) { sent_.push_back(std::move(part)); }
  /// Words that are no part.
  void add_stray(std::uint64_t word) { in_.push_back({word, 0, 0, false, true}); }
  /// The beginning of a part that ends where the next one begins.
  void add_begun(std::uint64_t word) { in_.push_back({word, 1, 0, true, false}); }

  void set(std::size_t page, bool open) {
    begin_set(page, open);
    for (int i = 0; i < 5'000 && setting_; ++i) cycle();
    ASSERT_FALSE(setting_) << "page " << page << " is not set";
  }
  /// Offers it; `is_open` says when it was taken.
  void begin_set(std::size_t page, bool open) {
    bench_->set_valid_i = 1;
    bench_->set_page_i = static_cast<std::uint8_t>(page);
    bench_->set_open_i = open;
    setting_ = page;
  }

  void tick() {
    bench_->tick_i = 1;
    cycle();
    bench_->tick_i = 0;
  }
  void set_out(bool open) { out_open_ = open; }
  void set_tick_percent(std::uint32_t percent) { tick_percent_ = percent; }

  void cycle() {
    if (!in_.empty() && (offered_ || in_gate_.open())) {
      offered_ = true;
      const Word& word = in_.front();
      bench_->valid_i = 1;
      bench_->data_i = word.data;
      bench_->vpid_i = word.vpid;
      bench_->class_i = word.traffic_class;
      bench_->first_i = word.first;
      bench_->last_i = word.last;
    } else {
      bench_->valid_i = 0;
    }
    if (tick_percent_ > 0) bench_->tick_i = random_.chance(tick_percent_);
    bench_->ready_i = out_open_ && out_gate_.open();
    bench_->level_ready_i = level_gate_.open();
    bench_.settle();
    now_ += static_cast<std::uint16_t>(bench_->now_o - last_now_);
    last_now_ = bench_->now_o;
    ticks_ += bench_->tick_i;
    if (bench_->event_valid_o) take_event(bench_->event_o);
    if (setting_ && bench_->set_ready_o) {
      open_[*setting_] = bench_->set_open_i != 0;
      setting_.reset();
    }
    if (bench_->valid_i && bench_->ready_o) {
      in_.pop_front();
      offered_ = false;
      ++words_in;
    }
    if (bench_->valid_o && bench_->ready_i) take_word();
    if (bench_->level_valid_o && bench_->level_ready_i) levels.push_back(bench_->level_o);
    strays += bench_->stray_o;
    bench_.step();
    // What is not set is anything.
    if (!setting_) {
      bench_->set_valid_i = 0;
      bench_->set_page_i = static_cast<std::uint8_t>(random_.below(kPages));
      bench_->set_open_i = random_.chance(50);
    }
  }

  /// Until everything is in and what is whole is out.
  void drain() {
    int quiet = 0;
    for (; quiet < 4'000 && (!in_.empty() || !sent_.empty() || waits()); ++quiet) {
      const std::size_t before = in_.size() + sent_.size();
      const std::uint64_t out = words_out;
      cycle();
      if (in_.size() + sent_.size() != before || out != words_out) quiet = 0;
    }
    EXPECT_LT(quiet, 4'000) << "hangs";
    for (int i = 0; i < 10; ++i) cycle();
    expect_counts();
  }
  void expect_counts() const {
    std::uint64_t given_up = 0;
    for (std::size_t p = 0; p < kPages; ++p) given_up += combiners_[p]->given_up();
    EXPECT_EQ(given_up_, given_up);
    EXPECT_LE(now_, ticks_) << "time goes on by itself";
  }

  [[nodiscard]] std::uint64_t cycles() const { return bench_.cycles(); }
  [[nodiscard]] std::size_t pending() const { return sent_.size(); }
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }
  [[nodiscard]] bool is_open(std::size_t page) const { return open_[page]; }
  [[nodiscard]] Random& random() { return random_; }

  std::vector<nic::Error> errors;               ///< Of all parts.
  std::array<std::uint64_t, kPages> refused{};  ///< Parts with an error.
  std::array<std::uint64_t, kPages> whole{};    ///< Messages that left, not cut.
  std::uint64_t cut_short = 0;                  ///< Messages that left, cut.
  std::uint64_t late = 0;
  std::uint64_t words_in = 0;
  std::uint64_t words_out = 0;
  std::uint64_t strays = 0;
  std::uint64_t first_out = 0;  ///< Cycle of the last first word.
  std::vector<std::uint32_t> levels;

 private:
  struct Word {
    std::uint64_t data;
    std::uint16_t vpid;
    std::uint8_t traffic_class;
    bool first;
    bool last;
  };
  struct Expected {
    std::vector<std::uint64_t> words;
    bool is_cut;
  };

  [[nodiscard]] bool waits() const {
    return std::any_of(expected_.begin(), expected_.end(), [](const auto& queue) { return !queue.empty(); });
  }

  void expect(std::size_t page, const nic::Combined& message) {
    using namespace nic::protocol;  // fields of a word
    const nic::Command& header = message.header;
    const bool is_group = (header.modifiers & nic::kGroup) != 0;
    std::vector<std::uint64_t> words(1 + (message.payload.size() + 7) / 8);
    words[0] = kVeloCommandTarget.put(is_group ? header.target_vpid : header.target_node) |
               kVeloCommandMulticast.put(is_group ? 1 : 0) |
               kVeloCommandVpid.put(is_group ? 0 : std::min<std::uint64_t>(header.target_vpid, 1023)) |
               kVeloCommandKind.put(message.part.type) | kVeloCommandTag.put(message.part.tag) |
               kVeloCommandAnnounce.put((header.modifiers & nic::kNotifyCompleter) != 0 ? 1 : 0) |
               kVeloCommandErroneous.put(message.is_cut ? 1 : 0) | kVeloCommandLength.put(message.payload.size());
    std::memcpy(words.data() + 1, message.payload.data(), message.payload.size());
    expected_[page].push_back({std::move(words), message.is_cut});
  }

  void take_event(std::uint32_t event) {
    const std::uint32_t number = event >> 16 & 0xFFF;  // class and VPID
    const bool is_late = (event >> 15 & 1) != 0;
    const auto error = static_cast<nic::Error>(event >> 10 & 31);
    const bool gives_up = (event >> 9 & 1) != 0;
    const bool leaves = (event >> 8 & 1) != 0;
    given_up_ += gives_up ? 1 : 0;
    if (is_late) {
      const std::size_t page = (number >> 10) * kPorts + number % 1024;
      ASSERT_LT(page, kPages);
      ASSERT_TRUE(gives_up);
      ++late;
      // The class gives up both messages of the page at once, in any order.
      const bool is_set = setting_ && *setting_ == page;
      while (const auto message = is_set ? combiners_[page]->give_up() : combiners_[page]->expire(now_)) {
        expect(page, *message);
      }
      return;
    }
    ASSERT_FALSE(sent_.empty()) << "a part that was not sent";
    const Part part = std::move(sent_.front());
    sent_.pop_front();
    errors.push_back(error);
    const bool is_page = part.vpid < kPorts && part.traffic_class < 2;
    const std::size_t page = is_page ? part.traffic_class * kPorts + part.vpid : 0;
    if (is_page && error != nic::Error::None) ++refused[page];
    ASSERT_EQ(number, (part.traffic_class & 1U) << 10 | part.vpid);
    nic::WriteCombiner::Outcome outcome;
    const std::uint64_t before = combiners_[page]->given_up();
    if (!is_page || !open_[page]) {
      outcome.error = nic::Error::OriginVpid;
    } else if (part.command.operation != nic::Operation::SendPart) {
      outcome.error = nic::Error::Command;
    } else if (part.is_misshapen) {
      outcome.error = nic::Error::OriginLength;
    } else {
      outcome = combiners_[page]->take(part.command, now_);
    }
    ASSERT_EQ(error, outcome.error) << "page " << page << ", at " << nic::part_of(part.command.tag).offset << ", "
                                    << part.command.window << " bytes";
    ASSERT_EQ(leaves, outcome.message.has_value());
    ASSERT_EQ(gives_up, combiners_[page]->given_up() != before);
    if (outcome.message) expect(page, *outcome.message);
  }

  void take_word() {
    ++words_out;
    if (bench_->first_o) first_out = bench_.cycles();
    ASSERT_EQ(bench_->first_o != 0, message_.empty());
    const std::size_t page = bench_->class_o * kPorts + bench_->vpid_o;
    ASSERT_LT(page, kPages);
    if (message_.empty()) page_ = page;
    ASSERT_EQ(page, page_);
    message_.push_back(bench_->data_o);
    if (!bench_->last_o) return;
    auto& expected = expected_[page];
    ASSERT_FALSE(expected.empty()) << "nothing was to leave page " << page;
    // Two that are late at once leave in any order.
    std::size_t at = 0;
    if (expected.front().words != message_ && expected.size() > 1 && expected[0].is_cut && expected[1].is_cut) at = 1;
    ASSERT_EQ(message_, expected[at].words) << "page " << page;
    if (expected[at].is_cut) {
      ++cut_short;
    } else {
      ++whole[page];
    }
    expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
    message_.clear();
  }

  Bench<Vrtl_wcb> bench_;
  Random random_;
  Gate in_gate_;
  Gate out_gate_;
  Gate level_gate_;
  std::uint32_t tick_percent_ = 0;
  bool out_open_ = true;
  bool offered_ = false;
  std::deque<Word> in_;
  std::deque<Part> sent_;
  std::optional<std::size_t> setting_;
  std::array<bool, kPages> open_{};
  std::array<std::unique_ptr<nic::WriteCombiner>, kPages> combiners_;
  std::array<std::deque<Expected>, kPages> expected_;
  std::vector<std::uint64_t> message_;
  std::size_t page_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint16_t last_now_ = 0;
  std::uint64_t given_up_ = 0;
};

}  // namespace stopbit::sim
