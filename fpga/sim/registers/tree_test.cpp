#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tree_bench.hpp"

namespace stopbit::sim {
namespace {

namespace map = device::network_registers;
using Kind = device::RegisterKind;
using Row = device::RegisterRow;
using Periods = std::array<std::uint64_t, kClocks>;

// Bus, crossbar, links: equal, slower and faster ones, and such as never fall together for long.
constexpr Periods kEqual{5'000, 5'000, 5'000, 5'000, 5'000, 5'000, 5'000, 5'000};
constexpr Periods kMixed{4'000, 5'000, 2'560, 3'200, 6'400, 31'000, 4'001, 3'999};
constexpr Periods kSlowBus{21'000, 5'000, 2'560, 2'560, 3'333, 6'400, 19'999, 21'001};
constexpr std::array kAllPeriods{kEqual, kMixed, kSlowBus};

std::uint64_t mask(unsigned width) {
  return width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}
std::uint32_t link(std::uint32_t index, std::uint32_t offset) {
  return map::link::base(index) + offset;
}

TEST(RegisterTree, each_register_is_at_its_address_and_at_its_wires) {
  for (const Periods& periods : kAllPeriods) {
    TreeBench tree(11, periods);
    std::map<std::uint32_t, std::uint64_t> written;
    for (const Row& row : map::kRegisters) {
      SCOPED_TRACE(testing::Message() << row.block << '[' << row.index << "]." << row.name);
      const std::uint64_t value = tree.random().bits() & mask(row.width);
      const auto low = static_cast<std::uint32_t>(value);
      const auto high = static_cast<std::uint32_t>(value >> 32);
      std::optional<std::uint64_t> expected;
      switch (row.kind) {
        case Kind::Constant: expected = row.value; break;
        case Kind::Read:
          tree.give(row.address, value);
          expected = value;
          break;
        case Kind::Write:
          ASSERT_FALSE(
              tree.write(row.address, low | (row.width < 32 ? ~low & ~static_cast<std::uint32_t>(mask(row.width)) : 0))
                  .error);
          if (row.bits == 64) {
            ASSERT_EQ(tree.written(row.address), 0U) << "before its upper half";
            ASSERT_FALSE(tree.write(row.address + 4, high).error);
          }
          written[row.address] = value;
          expected = value;
          break;
        case Kind::Command: {
          const std::uint64_t before = tree.commands;
          ASSERT_FALSE(tree.write(row.address, low).error);
          ASSERT_EQ(tree.commands, before + 1);
          expected = 0;
          break;
        }
        case Kind::Table: {
          const auto index = static_cast<std::uint32_t>(tree.random().below(row.words));
          for (const std::uint32_t at : {index, row.words - 1, 0U}) {
            ASSERT_FALSE(tree.write(row.address + 4 * at, low + at).error);
          }
          for (const std::uint32_t at : {index, row.words - 1, 0U}) {
            const auto answer = tree.read(row.address + 4 * at);
            ASSERT_FALSE(answer.error);
            ASSERT_EQ(answer.data, static_cast<std::uint32_t>(low + at));
          }
          break;
        }
        case Kind::Sticky:
          tree.give(row.address, value);
          tree.edges(200);
          tree.give(row.address, 0);
          expected = value;
          break;
        case Kind::Counter:
        case Kind::Kept: break;  // below, and in the benches of blocks
      }
      if (expected) {
        const auto got = tree.read(row.address);
        ASSERT_FALSE(got.error);
        ASSERT_EQ(got.data, static_cast<std::uint32_t>(*expected));
        if (row.bits == 64) {
          tree.give(row.kind == Kind::Read ? row.address : map::crossbar::kBase + map::crossbar::kTapWord,
                    0);  // comes between
          ASSERT_EQ(tree.read(row.address + 4).data, static_cast<std::uint32_t>(*expected >> 32));
        }
      }
      for (const auto& [address, is] : written) ASSERT_EQ(tree.written(address), is) << std::hex << address;
    }
    EXPECT_EQ(tree.errors, 0U);
    // Two reads of a value that has 64 bits are of the same moment.
    const std::uint32_t word = map::crossbar::kBase + map::crossbar::kTapWord;
    tree.give(word, 0x1111'1111'FFFF'FFFFULL);
    ASSERT_EQ(tree.read(word).data, 0xFFFF'FFFFU);
    tree.give(word, 0x1111'1112'0000'0000ULL);
    ASSERT_EQ(tree.read(word + 4).data, 0x1111'1111U);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RegisterTree, what_is_no_register_gets_an_error_and_changes_nothing) {
  TreeBench tree(5, kMixed);
  std::set<std::uint32_t> known;
  std::set<std::uint32_t> writable;
  for (const Row& row : map::kRegisters) {
    for (std::uint32_t at = row.address; at < row.address + row.bits / 8 * row.words; at += 4) {
      known.insert(at);
      const bool is_counter = row.kind == Kind::Counter && row.clear == device::RegisterClear::Write;
      const bool may =
          row.kind == Kind::Write || row.kind == Kind::Command || row.kind == Kind::Sticky || row.kind == Kind::Table;
      if (may || is_counter) writable.insert(at);
    }
  }
  std::set<std::uint32_t> tried;
  for (const std::uint32_t at : known) {
    for (const std::uint32_t other : {at - 4, at + 4}) tried.insert(other & 0xFFFF);
  }
  for (int i = 0; i < 300; ++i) tried.insert(static_cast<std::uint32_t>(tree.random().below(0x4000) * 4));
  std::uint64_t errors = 0;
  for (const std::uint32_t at : tried) {
    if (tree.random().chance(60) && known.contains(at) && at >= 0x4400 && at < 0x6000) continue;  // tables are long
    const auto got = tree.read(at);
    ASSERT_EQ(got.error, !known.contains(at)) << std::hex << at;
    if (got.error) {
      ASSERT_EQ(got.data, 0U);
    }
    errors += got.error ? 1 : 0;
    const std::uint64_t commands = tree.commands;
    const auto wrote = tree.write(at, 0x5A5A'A5A5);
    ASSERT_EQ(wrote.error, !writable.contains(at)) << std::hex << at;
    if (wrote.error) {
      ASSERT_EQ(tree.commands, commands);
      ++errors;
    }
  }
  // Between words, and parts of words.
  for (const Row& row : map::kRegisters) {
    if (row.kind != Kind::Write || row.bits != 32) continue;
    const std::uint64_t before = tree.written(row.address);
    for (const std::uint32_t offset : {1U, 2U, 3U}) {
      ASSERT_TRUE(tree.read(row.address + offset).error);
      ASSERT_TRUE(tree.write(row.address + offset, 0).error);
    }
    const auto strobe = static_cast<std::uint8_t>(tree.random().below(15));
    ASSERT_TRUE(tree.access({.write = true, .address = row.address, .data = ~0U, .strobe = strobe}).error)
        << int{strobe};
    ASSERT_EQ(tree.written(row.address), before);
    errors += 7;
  }
  EXPECT_GT(errors, 500U);
  EXPECT_EQ(tree.refused, errors);
  EXPECT_EQ(tree.gave_up, 0U);
}

TEST(RegisterTree, a_block_whose_clock_is_stopped_gets_an_error_in_time_and_holds_up_no_other) {
  for (const Periods& periods : kAllPeriods) {
    for (std::size_t clock = kCrossbarClock; clock < kClocks; ++clock) {
      SCOPED_TRACE(testing::Message() << "clock " << clock);
      TreeBench tree(20 + clock, periods);
      const auto at = [](std::size_t of) {
        return of == kCrossbarClock ? map::crossbar::kBase + map::crossbar::kPatience
                                    : link(static_cast<std::uint32_t>(of - kLinkClock), map::link::kControl);
      };
      ASSERT_FALSE(tree.write(at(clock), 1).error);
      tree.clocks().stop(clock, true);
      for (int i = 0; i < 3; ++i) {
        const auto answer = tree.write(at(clock), 0);
        ASSERT_TRUE(answer.error);
        ASSERT_GE(answer.cycles, kPatience);
        ASSERT_TRUE(tree.read(at(clock)).error);
        for (std::size_t other = kCrossbarClock; other < kClocks; ++other) {
          if (other == clock) continue;
          const auto value = static_cast<std::uint32_t>(tree.random().below(2));
          ASSERT_FALSE(tree.write(at(other), value).error);
          ASSERT_EQ(tree.read(at(other)).data, value);
        }
      }
      EXPECT_EQ(tree.gave_up, 6U);
      // The clock runs again: what was given up while it was stopped is not done.
      tree.clocks().stop(clock, false);
      tree.edges(300);
      ASSERT_EQ(tree.written(at(clock)), 1U);
      ASSERT_EQ(tree.read(at(clock)).data, 1U);
      ASSERT_FALSE(tree.write(at(clock), 0).error);
      ASSERT_EQ(tree.written(at(clock)), 0U);
      EXPECT_EQ(tree.gave_up, 6U);
      EXPECT_EQ(tree.refused, 0U);
    }
  }
}

TEST(RegisterTree, a_block_in_reset_refuses_at_once_and_begins_anew) {
  for (std::size_t clock = kCrossbarClock; clock < kClocks; ++clock) {
    TreeBench tree(40 + clock, kMixed);
    const std::uint32_t at = clock == kCrossbarClock
                                 ? map::crossbar::kBase + map::crossbar::kPatience
                                 : link(static_cast<std::uint32_t>(clock - kLinkClock), map::link::kControl);
    ASSERT_FALSE(tree.write(at, 1).error);
    tree.set_reset(clock, true);
    for (int i = 0; i < 4; ++i) {
      const auto answer = i % 2 == 0 ? tree.write(at, 1) : tree.read(at);
      ASSERT_TRUE(answer.error);
      ASSERT_LT(answer.cycles, kPatience);
    }
    EXPECT_EQ(tree.refused, 4U);
    tree.set_reset(clock, false);
    tree.edges(100);
    const auto answer = tree.read(at);
    ASSERT_FALSE(answer.error);
    ASSERT_EQ(answer.data, 0U);
    ASSERT_FALSE(tree.write(at, 1).error);
    ASSERT_EQ(tree.written(at), 1U);
    EXPECT_EQ(tree.gave_up, 0U);
  }
}

/// With an event in each cycle, so that none may be lost beside an access.
TEST(RegisterTree, counters_lose_nothing_and_a_snapshot_is_of_one_moment) {
  for (const Periods& periods : kAllPeriods) {
    for (const std::uint32_t i : {0U, 3U, 5U}) {
      TreeBench tree(60 + i, periods);
      const std::size_t clock = kLinkClock + i;
      const auto read = [&](std::uint32_t offset) {
        const std::uint64_t low = tree.read(link(i, offset)).data;
        return low | std::uint64_t{tree.read(link(i, offset + 4)).data} << 32;
      };
      ASSERT_EQ(read(map::link::kStarved), 0U);
      const std::uint64_t from = tree.cycles(clock);
      for (const std::uint32_t offset : {map::link::kSent, map::link::kAnswered, map::link::kResent, map::link::kUps}) {
        tree.give(link(i, offset), 1);
      }
      tree.give(link(i, map::link::kStarved), 13);
      tree.give(link(i, map::link::kEvents), 0x15);
      std::uint64_t starved = 0;
      std::uint64_t ups = 0;
      std::uint64_t before = 0;
      for (int round = 0; round < 60; ++round) {
        starved += read(map::link::kStarved);
        ups += tree.read(link(i, map::link::kUps)).data;
        ASSERT_EQ(read(map::link::kSent), before) << "before the next snapshot";
        const std::uint64_t first = tree.cycles(clock) - from;
        ASSERT_FALSE(tree.write(link(i, map::link::kSnapshot), 0).error);
        const std::uint64_t last = tree.cycles(clock) - from;
        const std::uint64_t sent = read(map::link::kSent);
        ASSERT_GE(sent, first);
        ASSERT_LE(sent, last);
        ASSERT_EQ(read(map::link::kAnswered), sent);
        ASSERT_EQ(tree.read(link(i, map::link::kResent)).data, sent);
        before = sent;
        ASSERT_FALSE(tree.write(link(i, map::link::kEvents), 0x1F).error);
        ASSERT_EQ(tree.read(link(i, map::link::kEvents)).data, 0x15U);
      }
      const std::uint64_t cycles = tree.cycles(clock) - from;
      for (const std::uint32_t offset : {map::link::kSent, map::link::kAnswered, map::link::kResent, map::link::kUps,
                                         map::link::kStarved, map::link::kEvents}) {
        tree.give(link(i, offset), 0);
      }
      starved += read(map::link::kStarved);
      ups += tree.read(link(i, map::link::kUps)).data;
      EXPECT_EQ(starved, 13 * cycles);
      EXPECT_EQ(ups, cycles);
      ASSERT_FALSE(tree.write(link(i, map::link::kEvents), 0x1F).error);
      EXPECT_EQ(tree.read(link(i, map::link::kEvents)).data, 0U);
      if (testing::Test::HasFailure()) return;
    }
  }
}

/// What each register that the host writes may be, while clocks stop and blocks and the bus are reset under way.
class Turmoil {
 public:
  Turmoil(std::uint64_t seed, const Periods& periods, std::uint32_t stall) : tree_(seed, periods, stall) {
    for (const Row& row : map::kRegisters) {
      if (row.kind == Kind::Write && row.bits == 32) may_be_[row.address] = {&row, {0}};
      if (row.kind == Kind::Command || row.kind == Kind::Table) commands_.push_back(&row);
    }
    for (const auto& [address, place] : may_be_) addresses_.push_back(address);
    tree_.on_edge = [this](std::uint32_t edges) { pass(edges); };
  }

  void run(int edges, bool troubles) {
    troubles_ = troubles;
    for (int i = 0; i < edges && !testing::Test::HasFailure(); ++i) {
      if (waiting_ < 2 && random().chance(30)) offer();
      if (troubles && random().below(150) == 0) trouble();
      tree_.edge();
    }
  }
  /// All clocks run, no reset, nothing under way: each register is what it may be.
  void settle() {
    troubles_ = false;
    for (std::size_t i = kCrossbarClock; i < kClocks; ++i) tree_.clocks().stop(i, false);
    for (int i = 0; i < 20'000 && (is_troubled() || !tree_.is_idle()); ++i) tree_.edge();
    ASSERT_FALSE(is_troubled());
    ASSERT_TRUE(tree_.is_idle());
    for (auto& [address, place] : may_be_) {
      const auto answer = tree_.read(address);
      ASSERT_FALSE(answer.error) << std::hex << address;
      ASSERT_TRUE(place.values.contains(answer.data)) << std::hex << address;
      ASSERT_EQ(tree_.written(address), answer.data);
      place.values = {answer.data};
    }
  }
  TreeBench& tree() { return tree_; }
  Random& random() { return tree_.random(); }
  std::uint64_t bus_resets = 0;

 private:
  struct Place {
    const Row* row = nullptr;
    std::set<std::uint32_t> values;
  };
  struct Trouble {
    bool is_on = false;
    int edges_left = 0;      // of the clock itself, in reset
    int bus_edges_left = 0;  // stopped
    std::uint64_t resets = 0;
  };

  bool is_troubled() const {
    return std::ranges::any_of(troubles_of_,
                               [](const Trouble& trouble) { return trouble.is_on || trouble.bus_edges_left > 0; });
  }
  void offer() {
    const std::uint64_t kind = random().below(10);
    TreeBench::Request request;
    request.data = static_cast<std::uint32_t>(random().bits());
    if (kind < 7) {
      request.write = kind < 4;
      request.address = addresses_[random().below(addresses_.size())];
      if (random().chance(5)) request.strobe = static_cast<std::uint8_t>(random().below(16));
      if (random().chance(3)) request.address += static_cast<std::uint32_t>(random().below(4));
    } else if (kind < 9) {
      const Row& row = *commands_[random().below(commands_.size())];
      request.write = true;
      request.address = row.address + static_cast<std::uint32_t>(4 * random().below(row.words));
    } else {
      request.write = random().chance(50);
      request.address = static_cast<std::uint32_t>(random().below(0x10000)) & ~3U;
      if (request.write && request.address >= 0x8000 && request.address < 0x8600)
        request.address |= 0x40;  // no register
      if (request.write && request.address < 0x8000) request.address = 0xC000;
    }
    ++waiting_;
    const std::uint64_t resets = troubles_of_[TreeBench::clock_of(request.address)].resets;
    tree_.offer(request, [this, resets](const TreeBench::Request& got, const TreeBench::Answer& answer) {
      see(got, answer, resets);
    });
  }
  /// A reset since the request was offered may have come before the access, or after it.
  void see(const TreeBench::Request& request, const TreeBench::Answer& answer, std::uint64_t resets) {
    --waiting_;
    const auto found = may_be_.find(request.address);
    if (found == may_be_.end()) return;
    Place& place = found->second;
    const bool was_reset = troubles_of_[TreeBench::clock_of(request.address)].resets != resets;
    const auto value = static_cast<std::uint32_t>(request.data & mask(place.row->width));
    if (request.write && request.strobe != 0xF) {
      ASSERT_TRUE(answer.error);
    } else if (request.write) {
      if (!answer.error && !was_reset) place.values.clear();
      place.values.insert(value);
    } else if (!answer.error) {
      ASSERT_TRUE(was_reset || place.values.contains(answer.data)) << std::hex << request.address;
      if (!was_reset) place.values = {answer.data};
    }
  }
  void trouble() {
    const std::size_t clock = random().below(8) == 0 ? kBusClock : kCrossbarClock + random().below(kClocks - 1);
    Trouble& at = troubles_of_[clock];
    if (at.is_on || at.bus_edges_left > 0) return;
    if (clock != kBusClock && random().chance(50)) {
      tree_.clocks().stop(clock, true);
      at.bus_edges_left = static_cast<int>(random().below(3 * kPatience));
      return;
    }
    at.is_on = true;
    at.edges_left = 10 + static_cast<int>(random().below(30));
    ++at.resets;
    if (clock == kBusClock) {
      reset_bus();
    } else {
      for (auto& [address, place] : may_be_) {
        if (TreeBench::clock_of(address) == clock) place.values.insert(0);
      }
    }
    tree_.set_reset(clock, true);
  }
  /// Any write that was offered may have been done.
  void reset_bus() {
    ++bus_resets;
    waiting_ = 0;
    for (auto& [address, place] : may_be_) {
      if (TreeBench::clock_of(address) == kBusClock) place.values = {0};
    }
    for (const TreeBench::Request& request : tree_.forget()) {
      const auto found = may_be_.find(request.address);
      if (found == may_be_.end() || !request.write) continue;
      found->second.values.insert(static_cast<std::uint32_t>(request.data & mask(found->second.row->width)));
    }
  }
  void pass(std::uint32_t edges) {
    for (std::size_t i = 0; i < kClocks; ++i) {
      Trouble& at = troubles_of_[i];
      if ((edges & 1) != 0 && at.bus_edges_left > 0 && --at.bus_edges_left == 0) tree_.clocks().stop(i, false);
      if (!at.is_on || (edges >> i & 1) == 0 || --at.edges_left > 0) continue;
      at.is_on = false;
      tree_.set_reset(i, false);
      for (auto& [address, place] : may_be_) {
        if (i != kBusClock && TreeBench::clock_of(address) == i) place.values = {0};
      }
    }
  }

  TreeBench tree_;
  std::map<std::uint32_t, Place> may_be_;
  std::vector<std::uint32_t> addresses_;
  std::vector<const Row*> commands_;
  std::array<Trouble, kClocks> troubles_of_{};
  int waiting_ = 0;
  bool troubles_ = false;
};

TEST(RegisterTree, answers_each_access_once_and_in_time_while_clocks_stop_and_blocks_are_reset) {
  std::uint64_t gave_up = 0;
  std::uint64_t refused = 0;
  std::uint64_t answers = 0;
  std::uint64_t commands = 0;
  std::uint64_t bus_resets = 0;
  std::uint64_t seed = 100;
  for (const Periods& periods : kAllPeriods) {
    for (const std::uint32_t stall : {0U, 40U, 80U}) {
      SCOPED_TRACE(testing::Message() << "bus " << periods[0] << " ps, stalls " << stall);
      Turmoil turmoil(++seed, periods, stall);
      for (int round = 0; round < 4; ++round) {
        turmoil.run(4'000, false);
        turmoil.run(12'000, true);
        turmoil.settle();
        if (testing::Test::HasFailure()) return;
      }
      // A reset of the bus may come between an error and its answer.
      EXPECT_LE(turmoil.tree().errors, turmoil.tree().gave_up + turmoil.tree().refused);
      EXPECT_LE(turmoil.tree().gave_up + turmoil.tree().refused, turmoil.tree().errors + turmoil.bus_resets);
      gave_up += turmoil.tree().gave_up;
      refused += turmoil.tree().refused;
      answers += turmoil.tree().answers;
      commands += turmoil.tree().commands;
      bus_resets += turmoil.bus_resets;
    }
  }
  std::printf("%llu answers, %llu refused, %llu given up; %llu commands; %llu resets of the bus\n",
              static_cast<unsigned long long>(answers), static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(gave_up), static_cast<unsigned long long>(commands),
              static_cast<unsigned long long>(bus_resets));
  EXPECT_GT(answers, 5'000U);
  EXPECT_GT(refused, 300U);
  EXPECT_GT(gave_up, 50U);
  EXPECT_GT(commands, 500U);
  EXPECT_GT(bus_resets, 20U);
}

}  // namespace
}  // namespace stopbit::sim
