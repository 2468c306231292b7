#include <Vrtl_link_port.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "link_wire.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kChannels = 12;
constexpr std::size_t kMaxPayload = 32;
constexpr std::size_t kSlotCells = 8;
constexpr std::size_t kRoom = 8;  // slots of a channel
constexpr std::uint64_t kPatience = 5'000'000;

using Packet = std::vector<Cell>;

std::size_t channel_of(const Packet& packet) {
  const std::uint64_t start = packet.front().data;
  return (start >> 17 & 3) * 3 + (start >> 15 & 3);
}
std::size_t slots_of(const Packet& packet) {
  return std::max<std::size_t>(1, (packet.size() - 2 + kSlotCells - 1) / kSlotCells);
}

/// What the link may change of a last cell is left out.
Packet without_frame(Packet packet) {
  packet.back().data &= std::uint64_t{1} << 63;
  return packet;
}

struct Counts {
  std::uint64_t accepted = 0;
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t resent = 0;
  std::uint64_t answered = 0;
  std::uint64_t dropped = 0;
  std::uint64_t damaged = 0;
  std::uint64_t excess = 0;
};

/// A link port with what is around it: packets that wait, and room for those that come.
class Side {
 public:
  Side(Random& random, std::uint64_t seed) : random_(random), bench_(seed) {
    set_stalls(0, 0);
    clear();
  }

  void set_stalls(std::uint32_t in, std::uint32_t out) {
    in_.emplace(random_, in);
    out_.emplace(random_, out);
  }
  /// A channel that does not free its slots.
  void hold(std::optional<std::size_t> channel) { held_ = channel; }
  void stop_reading(bool stops) { reads_ = !stops; }

  void send(Packet packet) { waiting_.push_back(std::move(packet)); }
  [[nodiscard]] const std::deque<Packet>& waiting() const { return waiting_; }
  [[nodiscard]] const std::deque<Packet>& accepted() const { return accepted_; }
  [[nodiscard]] std::deque<Packet>& received() { return received_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] bool is_up() { return bench_->up_o != 0; }
  [[nodiscard]] bool is_idle() const { return waiting_.empty() && !sends_; }
  [[nodiscard]] std::uint64_t cycles() const { return bench_.cycles(); }
  [[nodiscard]] Cell link() { return {bench_->link_kind_o, bench_->link_data_o}; }

  void reset() {
    clear();
    bench_.reset();
    coming_.clear();
    to_free_.clear();
    sends_ = false;
    at_ = 0;
    waiting_.clear();
    accepted_.clear();
    received_.clear();
    counts_ = {};
  }

  void cycle(const Cell& cell, bool has_signal) {
    bench_->link_kind_i = cell.kind;
    bench_->link_data_i = cell.data;
    bench_->link_signal_i = has_signal;
    offer();
    bench_->ready_i = reads_ && out_->open();
    free_one();
    bench_.settle();
    if (bench_->valid_i && bench_->ready_o) accept();
    if (bench_->valid_o && bench_->ready_i) receive({bench_->kind_o, bench_->data_o});
    counts_.sent += bench_->sent_o;
    counts_.resent += bench_->resent_o;
    counts_.answered += bench_->answered_o;
    counts_.dropped += bench_->dropped_o;
    counts_.damaged += bench_->damaged_o;
    counts_.excess += bench_->excess_o;
    bench_.step();
  }

 private:
  void clear() {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->freed_i = 0;
    bench_->freed_channel_i = 0;
    bench_->kind_i = 0;
    bench_->data_i = 0;
    bench_->link_kind_i = 0;
    bench_->link_data_i = 0;
    bench_->link_signal_i = 0;
  }

  /// Any packet that waits and whose channel has room may go; those of a channel stay in order.
  void offer() {
    if (bench_->valid_i && !offered_taken_) return;
    bench_->valid_i = 0;
    if (!in_->open()) return;
    if (!sends_) {
      bench_.settle();
      std::array<bool, kChannels> seen{};
      for (std::size_t i = 0; i < waiting_.size() && !sends_; ++i) {
        const std::size_t channel = channel_of(waiting_[i]);
        if (!seen[channel] && (bench_->may_send_o >> channel & 1) != 0) {
          const auto from = waiting_.begin() + static_cast<std::ptrdiff_t>(i);
          std::rotate(waiting_.begin(), from, from + 1);
          sends_ = true;
          at_ = 0;
        }
        seen[channel] = true;
        if (i > 64) break;
      }
      if (!sends_) return;
    }
    bench_->valid_i = 1;
    bench_->kind_i = waiting_.front()[at_].kind;
    bench_->data_i = waiting_.front()[at_].data;
    offered_taken_ = false;
  }
  void accept() {
    offered_taken_ = true;
    if (++at_ < waiting_.front().size()) return;
    accepted_.push_back(without_frame(waiting_.front()));
    waiting_.pop_front();
    sends_ = false;
    ++counts_.accepted;
  }

  void receive(const Cell& cell) {
    if (cell.kind == Cell::Start) {
      EXPECT_TRUE(coming_.empty()) << "a packet begins in another";
      coming_.clear();
    } else {
      EXPECT_FALSE(coming_.empty()) << "a cell without a packet";
    }
    EXPECT_NE(cell.kind, Cell::Control);
    coming_.push_back(cell);
    if (cell.kind != Cell::End) return;
    const std::size_t channel = channel_of(coming_);
    for (std::size_t i = slots_of(coming_); i > 0; --i) to_free_.push_back(channel);
    received_.push_back(without_frame(coming_));
    coming_.clear();
    ++counts_.received;
  }
  void free_one() {
    bench_->freed_i = 0;
    const auto at =
        std::find_if(to_free_.begin(), to_free_.end(), [this](std::size_t channel) { return channel != held_; });
    if (at == to_free_.end() || random_.chance(20)) return;
    bench_->freed_i = 1;
    bench_->freed_channel_i = static_cast<std::uint8_t>(*at);
    to_free_.erase(at);
  }

  Random& random_;
  Bench<Vrtl_link_port> bench_;
  std::optional<Gate> in_;
  std::optional<Gate> out_;
  std::deque<Packet> waiting_;
  bool sends_ = false;
  bool offered_taken_ = true;
  std::size_t at_ = 0;
  std::deque<Packet> accepted_;
  std::deque<Packet> received_;
  Packet coming_;
  std::deque<std::size_t> to_free_;
  std::optional<std::size_t> held_;
  bool reads_ = true;
  Counts counts_;
};

class LinkPort : public ::testing::Test {
 protected:
  LinkPort() {
    a_.reset();
    b_.reset();
  }

  /// A packet with a payload of `cells`, whose bits are random.
  Packet packet(std::size_t cells, std::optional<std::size_t> channel = std::nullopt) {
    const std::size_t of = channel.value_or(random_.below(kChannels));
    Packet packet;
    const std::uint64_t rest = random_.bits() & ~(std::uint64_t{0xF} << 15);
    packet.push_back({Cell::Start, rest | (of / 3) << 17 | (of % 3) << 15});
    for (std::size_t i = 0; i < cells; ++i) packet.push_back({Cell::Payload, random_.bits()});
    packet.push_back({Cell::End, random_.bits()});
    return packet;
  }
  Packet any_packet() { return packet(random_.below(kMaxPayload + 1)); }

  void cycle() {
    const Cell from_a = a_.link();
    const Cell from_b = b_.link();
    watch_.push_back(from_a);
    if (watch_.size() > 4096) watch_.pop_front();
    to_b_.put(from_a);
    to_a_.put(from_b);
    a_.cycle(to_a_.take(), to_a_.has_signal());
    b_.cycle(to_b_.take(), to_b_.has_signal());
  }
  template <class Until>
  void run(const Until& until) {
    for (std::uint64_t i = 0; !until(); ++i) {
      ASSERT_LT(i, kPatience) << "stuck: " << describe();
      cycle();
      if (HasFailure()) return;
    }
  }
  void come_up() {
    run([this] { return a_.is_up() && b_.is_up(); });
    for (int i = 0; i < 40; ++i) cycle();  // all grants have come
  }
  std::string describe() {
    const auto text = [](const char* name, Side& side) {
      const Counts& c = side.counts();
      return std::string(name) + ": up " + std::to_string(side.is_up()) + ", waiting " +
             std::to_string(side.waiting().size()) + ", accepted " + std::to_string(c.accepted) + ", received " +
             std::to_string(c.received) + ", sent " + std::to_string(c.sent) + ", resent " + std::to_string(c.resent) +
             ", answered " + std::to_string(c.answered) + ", dropped " + std::to_string(c.dropped) + ", damaged " +
             std::to_string(c.damaged) + "; ";
    };
    return text("a", a_) + text("b", b_);
  }
  /// Until all that waits has come, and both know it.
  void finish() {
    run([this] {
      return a_.is_idle() && b_.is_idle() && a_.counts().answered == a_.counts().accepted &&
             b_.counts().answered == b_.counts().accepted && b_.received().size() == a_.accepted().size() &&
             a_.received().size() == b_.accepted().size();
    });
    EXPECT_TRUE(b_.received() == a_.accepted());
    EXPECT_TRUE(a_.received() == b_.accepted());
    EXPECT_EQ(a_.counts().dropped + b_.counts().dropped, 0U);
    EXPECT_EQ(a_.counts().excess + b_.counts().excess, 0U);
    EXPECT_EQ(a_.counts().sent, a_.counts().accepted);
    EXPECT_EQ(b_.counts().sent, b_.counts().accepted);
  }

  Random random_{41};
  Side a_{random_, 5};
  Side b_{random_, 6};
  Wire to_a_{random_};
  Wire to_b_{random_};
  std::deque<Cell> watch_;  ///< What a sends.
};

TEST_F(LinkPort, takes_packets_of_all_lengths_both_ways) {
  come_up();
  for (const std::uint32_t stall : {0U, 30U, 80U}) {
    a_.set_stalls(stall, 0);
    b_.set_stalls(stall / 2, 0);
    for (std::size_t cells = 0; cells <= kMaxPayload; ++cells) {
      a_.send(packet(cells));
      b_.send(packet(kMaxPayload - cells));
    }
    for (int i = 0; i < 200; ++i) {
      a_.send(any_packet());
      b_.send(any_packet());
    }
    finish();
  }
  EXPECT_EQ(a_.counts().resent + b_.counts().resent, 0U) << "nothing was damaged";
  EXPECT_EQ(a_.counts().damaged + b_.counts().damaged, 0U);
}

TEST_F(LinkPort, keeps_the_mark_of_a_packet_that_was_damaged_before) {
  come_up();
  Packet marked = packet(3);
  marked.back().data = std::uint64_t{1} << 63;
  a_.send(marked);
  Packet plain = packet(3);
  plain.back().data = 0;
  a_.send(plain);
  finish();
  ASSERT_EQ(b_.received().size(), 2U);
  EXPECT_EQ(b_.received()[0].back().data >> 63, 1U);
  EXPECT_EQ(b_.received()[1].back().data >> 63, 0U);
}

TEST_F(LinkPort, frames_packets_as_the_page_says) {
  come_up();
  for (int i = 0; i < 300; ++i) a_.send(any_packet());
  Packet open;
  unsigned number = 0;
  unsigned controls = 0;
  std::vector<Packet> seen;
  run([&] {
    const Cell cell = a_.link();
    if (cell.kind == Cell::Control) {
      EXPECT_EQ(closing_crc({}, cell), static_cast<std::uint32_t>(cell.data));
      EXPECT_EQ(cell.data >> 60, 1U) << "a report";
      EXPECT_EQ(cell.data >> 32 & 3, 1U) << "the version";
      EXPECT_LT(cell.data >> 46 & 0xF, kChannels);
      ++controls;
    } else if (cell.kind == Cell::End) {
      EXPECT_EQ(closing_crc(open, cell), static_cast<std::uint32_t>(cell.data));
      EXPECT_EQ(cell.data >> 56 & 0x7F, number++ % 128);
      open.push_back(cell);
      seen.push_back(without_frame(open));
      open.clear();
    } else {
      open.push_back(cell);
    }
    return a_.is_idle() && seen.size() == 300;
  });
  ASSERT_EQ(seen.size(), a_.accepted().size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_TRUE(seen[i] == a_.accepted()[i]) << i;
  EXPECT_GT(controls, 0U);
}

/// Of the cells of a full link this share is payload: 33, 80 and 94 %.
TEST_F(LinkPort, needs_two_cells_more_than_the_payload) {
  for (const std::size_t cells : {1U, 8U, 32U}) {
    for (const bool both : {false, true}) {
      a_.reset();
      b_.reset();
      come_up();
      constexpr std::size_t kPackets = 400;
      for (std::size_t i = 0; i < kPackets; ++i) {
        a_.send(packet(cells, i % kChannels));
        if (both) b_.send(packet(cells, i % kChannels));
      }
      run([this] { return b_.received().size() >= 50; });
      const std::uint64_t begin = a_.cycles();
      const std::size_t before = b_.received().size();
      run([this] { return b_.received().size() >= 350; });
      const std::size_t packets = b_.received().size() - before;
      EXPECT_EQ(a_.cycles() - begin, packets * (cells + 2)) << cells << " cells, both ways: " << both;
    }
  }
}

TEST_F(LinkPort, takes_seven_cycles_and_twice_the_packet_from_end_to_end) {
  come_up();
  for (int i = 0; i < 40; ++i) cycle();
  for (const std::size_t cells : {1U, 8U, 32U}) {
    const std::uint64_t begin = a_.cycles();
    const std::size_t before = b_.received().size();
    a_.send(packet(cells));
    run([&] { return b_.received().size() > before; });
    // Until the end has come out: it waits for the whole packet once, at the receiver, and comes out cell by cell.
    constexpr std::uint64_t kWire = 5;  // of this bench
    EXPECT_EQ(a_.cycles() - begin, kWire + 7 + 2 * (cells + 2)) << cells;
    for (int i = 0; i < 40; ++i) cycle();
  }
}

TEST_F(LinkPort, sends_again_what_was_damaged_whichever_bit_it_is) {
  come_up();
  for (unsigned bit = 0; bit < 66; ++bit) {
    for (unsigned cell = 0; cell < 4; ++cell) {
      for (unsigned i = 0; i < 3; ++i) a_.send(packet(2, i));
      unsigned passed = 0;
      run([&] {
        if (a_.link().kind != Cell::Control && passed++ == cell) to_b_.turn_next(bit);
        return passed > cell;
      });
      finish();
      ASSERT_FALSE(HasFailure()) << "bit " << bit << " of cell " << cell;
    }
  }
  EXPECT_GE(a_.counts().resent, 66U * 4U);
}

TEST_F(LinkPort, loses_nothing_and_keeps_the_order_whatever_share_of_bits_is_wrong) {
  struct Load {
    std::uint32_t errors;  // per million bits
    std::size_t most_cells;
    int packets;
  };
  // One bit of a hundred: a packet of three cells is right once in eight times, and so is its answer in two.
  for (const Load load : {Load{100, 32, 1500}, Load{1'000, 16, 1000}, Load{10'000, 1, 300}}) {
    a_.reset();
    b_.reset();
    to_a_.set_errors(0);
    to_b_.set_errors(0);
    come_up();
    to_a_.set_errors(load.errors);
    to_b_.set_errors(load.errors);
    for (int i = 0; i < load.packets; ++i) {
      a_.send(packet(random_.below(load.most_cells + 1)));
      b_.send(packet(random_.below(load.most_cells + 1)));
    }
    const Counts before = a_.counts();
    run([this] {
      return b_.received().size() == a_.accepted().size() && a_.is_idle() && b_.is_idle() &&
             a_.received().size() == b_.accepted().size();
    });
    EXPECT_TRUE(b_.received() == a_.accepted()) << load.errors;
    EXPECT_TRUE(a_.received() == b_.accepted()) << load.errors;
    EXPECT_GT(a_.counts().resent, before.resent) << load.errors;
    if (HasFailure()) return;
  }
}

TEST_F(LinkPort, goes_on_where_it_stopped_after_the_signal_was_away) {
  come_up();
  a_.set_stalls(10, 5);
  b_.set_stalls(5, 10);
  to_a_.set_errors(50);
  to_b_.set_errors(50);
  for (int turn = 0; turn < 120; ++turn) {
    for (int i = 0; i < 40; ++i) {
      a_.send(any_packet());
      b_.send(any_packet());
    }
    const std::uint64_t with = random_.below(600);
    for (std::uint64_t i = 0; i < with; ++i) cycle();
    const bool both = random_.chance(50);
    to_b_.set_signal(false);
    to_a_.set_signal(!both);
    const std::uint64_t without = 1 + random_.below(300);
    for (std::uint64_t i = 0; i < without; ++i) cycle();
    to_a_.set_signal(true);
    to_b_.set_signal(true);
    if (HasFailure()) return;
  }
  finish();
}

TEST_F(LinkPort, counts_what_is_lost_with_the_memory_of_the_other_side) {
  std::size_t at = 0;
  for (int turn = 0; turn < 40; ++turn) {
    come_up();
    for (int i = 0; i < 30; ++i) {
      a_.send(any_packet());
      b_.send(any_packet());
    }
    const std::uint64_t with = random_.below(900);
    for (std::uint64_t i = 0; i < with; ++i) cycle();
    b_.reset();
    a_.received().clear();
    run([this] { return a_.is_up() && b_.is_up() && a_.is_idle(); });
    run([this] { return a_.counts().accepted == a_.counts().answered + a_.counts().dropped; });
    for (int i = 0; i < 40; ++i) cycle();
    EXPECT_EQ(a_.counts().accepted, a_.counts().answered + a_.counts().dropped);
    // What the new b has are packets of a in their order, none twice.
    for (const Packet& packet : b_.received()) {
      while (at < a_.accepted().size() && a_.accepted()[at] != packet) ++at;
      ASSERT_LT(at, a_.accepted().size()) << "turn " << turn;
      ++at;
    }
    b_.received().clear();
  }
  EXPECT_GT(a_.counts().dropped, 0U);
}

TEST_F(LinkPort, uses_a_slot_for_every_eight_cells) {
  for (const auto& [cells, packets] : {std::pair<std::size_t, std::size_t>{0, 5},
                                       {1, 5},
                                       {8, 5},
                                       {9, 3},
                                       {16, 3},
                                       {17, 2},
                                       {24, 2},
                                       {25, 2},
                                       {32, 2}}) {
    a_.reset();
    b_.reset();
    come_up();
    b_.hold(7);
    for (int i = 0; i < 10; ++i) a_.send(packet(cells, 7));
    for (int i = 0; i < 600; ++i) cycle();
    EXPECT_EQ(b_.received().size(), packets) << cells;
    EXPECT_EQ(a_.counts().resent, 0U) << cells;
    b_.hold(std::nullopt);
    finish();
  }
}

TEST_F(LinkPort, lets_a_full_channel_wait_alone) {
  come_up();
  constexpr std::size_t kHeld = 4;
  b_.hold(kHeld);
  for (int i = 0; i < 20; ++i) a_.send(packet(8, kHeld));
  for (int i = 0; i < 60; ++i) a_.send(packet(8, static_cast<std::size_t>(i) % 3));
  run([this] { return b_.received().size() >= 60; });
  for (int i = 0; i < 2'000; ++i) cycle();
  std::size_t of_held = 0;
  for (const Packet& packet : b_.received()) of_held += channel_of(packet) == kHeld ? 1 : 0;
  // A packet begins if there is room for the longest one: with one slot each, 5 of 8.
  EXPECT_EQ(of_held, kRoom - 3);
  EXPECT_EQ(b_.received().size(), 60 + of_held);
  b_.hold(std::nullopt);
  finish();
}

TEST_F(LinkPort, waits_for_a_reader_that_stops) {
  come_up();
  b_.stop_reading(true);
  for (int i = 0; i < 200; ++i) a_.send(any_packet());
  for (int i = 0; i < 20'000; ++i) cycle();
  EXPECT_LT(a_.counts().accepted, 200U);
  EXPECT_EQ(b_.received().size(), 0U);
  b_.stop_reading(false);
  run([this] { return b_.received().size() == 200; });
  EXPECT_TRUE(b_.received() == a_.accepted());
  EXPECT_EQ(a_.counts().dropped, 0U);
}

/// A peer that says anything: assertions of the model hold, and what comes out is packets.
TEST_F(LinkPort, survives_a_hostile_peer) {
  come_up();
  for (int turn = 0; turn < 20; ++turn) {
    Packet open;
    for (int i = 0; i < 20'000; ++i) {
      if (a_.is_idle()) a_.send(any_packet());
      Cell cell{static_cast<std::uint8_t>(random_.below(4)), random_.bits()};
      if (random_.chance(60)) {
        if (cell.kind == Cell::Control) {
          const std::uint64_t kind = 1 + random_.below(2);
          cell.data = (cell.data & 0x0FFF'FFFC'0000'0000) | kind << 60 | std::uint64_t{1} << 32;
        }
        if (cell.kind == Cell::Start && open.size() > 1 && random_.chance(90)) cell.kind = Cell::Payload;
        if (cell.kind == Cell::Start) open.clear();
        if (cell.kind == Cell::Control) cell.data = (cell.data & ~0xFFFF'FFFFULL) | closing_crc({}, cell);
        if (cell.kind == Cell::End) cell.data = (cell.data & ~0xFFFF'FFFFULL) | closing_crc(open, cell);
        if (cell.kind != Cell::Control) open.push_back(cell);
        if (cell.kind == Cell::End) open.clear();
      }
      a_.cycle(cell, !random_.chance(1));
      ASSERT_FALSE(HasFailure()) << "turn " << turn;
    }
    EXPECT_GT(a_.counts().damaged, 0U);
    a_.reset();
    b_.reset();
  }
  come_up();
  for (int i = 0; i < 100; ++i) a_.send(any_packet());
  run([this] { return b_.received().size() >= 100; });
}

/// The other side of `a_` by hand: each cell is what the test says.
class LinkPeer : public LinkPort {
 protected:
  static constexpr std::uint64_t kVersion = 1;

  struct Report {
    unsigned expected = 0;
    unsigned channel = 0;
    unsigned granted = kRoom;
  };
  static std::uint64_t packed(const Report& report) {
    return std::uint64_t{report.expected} << 16 | std::uint64_t{report.channel} << 12 | report.granted;
  }
  static Cell closed(std::span<const Cell> packet, Cell cell) {
    cell.data = (cell.data & ~0xFFFF'FFFFULL) | closing_crc(packet, cell);
    return cell;
  }
  static Cell report(const Report& report, bool is_lost = false) {
    return closed({}, {Cell::Control,
                       std::uint64_t{1} << 60 | std::uint64_t{is_lost} << 59 | packed(report) << 34 | kVersion << 32});
  }
  static Cell training(bool is_fresh, bool is_seen, unsigned expected = 0) {
    return closed(
        {}, {Cell::Control, std::uint64_t{2} << 60 | std::uint64_t{is_fresh} << 58 | std::uint64_t{is_seen} << 57 |
                                packed({.expected = expected}) << 34 | kVersion << 32});
  }

  struct Said {
    unsigned kind = 0;
    bool is_lost = false;
    bool is_fresh = false;
    bool is_seen = false;
    unsigned expected = 0;
  };
  static std::optional<Said> control_of(const Cell& cell) {
    if (cell.kind != Cell::Control) return std::nullopt;
    return Said{static_cast<unsigned>(cell.data >> 60), (cell.data >> 59 & 1) != 0, (cell.data >> 58 & 1) != 0,
                (cell.data >> 57 & 1) != 0, static_cast<unsigned>(cell.data >> 50 & 0x7F)};
  }

  void say(const Cell& cell) {
    a_.cycle(cell, true);
    const Cell answer = a_.link();
    said_ = answer;
    if (const auto control = control_of(answer); control && control->kind == 1) {
      asked_ += control->is_lost ? 1 : 0;
      expected_ = control->expected;
    }
  }
  void idle(int cycles = 12) {
    for (int i = 0; i < cycles; ++i) say(report(report_));
  }
  void begin(bool is_fresh = true) {
    for (int i = 0; i < 6; ++i) say(training(is_fresh, false));
    for (int i = 0; i < 6; ++i) say(training(is_fresh, true));
    idle();
    ASSERT_TRUE(a_.is_up());
  }
  /// Sends a packet with this number; with `wrong` its CRC is not right.
  void send(Packet packet, unsigned number, bool wrong = false) {
    packet.back().data = std::uint64_t{number} << 56 | packed(report_) << 33;
    packet.back() = closed({packet.data(), packet.size() - 1}, packet.back());
    if (wrong) packet.back().data ^= 1;
    for (const Cell& cell : packet) say(cell);
  }

  Report report_;
  Cell said_;
  unsigned asked_ = 0;  ///< How often a_ wants something again.
  unsigned expected_ = 0;
};

TEST_F(LinkPeer, asks_once_for_what_is_missing_and_not_for_what_it_has) {
  begin();
  unsigned number = 0;
  for (; number < 100; ++number) {
    send(packet(1), number);
    idle();
  }
  EXPECT_EQ(a_.received().size(), 100U);
  EXPECT_EQ(expected_, 100U);
  EXPECT_EQ(asked_, 0U);
  send(packet(1), 99);  // again
  send(packet(1), 60);
  idle();
  EXPECT_EQ(asked_, 0U);
  EXPECT_EQ(a_.received().size(), 100U);
  EXPECT_EQ(a_.counts().damaged, 0U);
  send(packet(1), 101);  // 100 did not come
  send(packet(1), 102);
  idle();
  EXPECT_EQ(asked_, 1U);
  send(packet(1), 100);
  send(packet(1), 101);
  idle();
  EXPECT_EQ(asked_, 1U);
  EXPECT_EQ(expected_, 102U);
  EXPECT_EQ(a_.received().size(), 102U);
}

TEST_F(LinkPeer, asks_anew_after_an_interruption) {
  begin();
  send(packet(1), 0, true);
  idle();
  EXPECT_EQ(asked_, 1U);
  for (const bool is_fresh : {false, true}) {
    for (int i = 0; i < 8; ++i) say(training(is_fresh, false));
    for (int i = 0; i < 8; ++i) say(training(is_fresh, true));
    idle();
    const unsigned before = asked_;
    send(packet(1), 0, true);
    idle();
    EXPECT_EQ(asked_, before + 1) << "fresh: " << is_fresh;
  }
}

TEST_F(LinkPeer, takes_numbers_up_to_a_window_ahead_for_later_ones_and_others_for_old_ones) {
  begin();
  send(packet(1), 64);  // of before, modulo 128
  idle();
  EXPECT_EQ(asked_, 0U);
  send(packet(1), 127);
  idle();
  EXPECT_EQ(asked_, 0U);
  send(packet(1), 63);
  idle();
  EXPECT_EQ(asked_, 1U);
  EXPECT_EQ(a_.received().size(), 0U);
}

TEST_F(LinkPeer, counts_each_damage_once) {
  begin();
  send(packet(2), 0, true);
  idle();
  EXPECT_EQ(a_.counts().damaged, 1U);
  EXPECT_EQ(asked_, 1U);
  say({Cell::Payload, 5});  // of no packet
  idle();
  EXPECT_EQ(a_.counts().damaged, 2U);
  Cell wrong = report({});
  wrong.data ^= std::uint64_t{1} << 40;
  say(wrong);
  idle();
  EXPECT_EQ(a_.counts().damaged, 3U);
  EXPECT_EQ(asked_, 1U);
  send(packet(2), 0);
  idle();
  EXPECT_EQ(a_.received().size(), 1U);
  EXPECT_EQ(expected_, 1U);
}

TEST_F(LinkPeer, refuses_a_packet_that_is_too_long) {
  begin();
  send(packet(kMaxPayload + 1), 0);
  idle();
  EXPECT_EQ(a_.received().size(), 0U);
  EXPECT_EQ(asked_, 1U);
  send(packet(kMaxPayload), 0);
  idle(60);
  EXPECT_EQ(a_.received().size(), 1U);
}

TEST_F(LinkPeer, refuses_a_packet_for_which_it_granted_no_room) {
  begin();
  a_.hold(2);
  for (unsigned i = 0; i < kRoom; ++i) {
    send(packet(1, 2), i);
    idle();
  }
  EXPECT_EQ(a_.received().size(), kRoom);
  send(packet(1, 2), kRoom);
  idle();
  EXPECT_EQ(a_.received().size(), kRoom);
  EXPECT_EQ(asked_, 1U);
  Packet beyond = packet(1);
  beyond.front().data |= std::uint64_t{3} << 15;  // a virtual channel that there is not
  beyond.front().data |= std::uint64_t{3} << 17;
  send(beyond, kRoom);
  idle();
  EXPECT_EQ(a_.received().size(), kRoom);
  a_.hold(std::nullopt);
  idle(60);
  send(packet(1, 2), kRoom);
  idle();
  EXPECT_EQ(a_.received().size(), kRoom + 1);
}

TEST_F(LinkPeer, does_not_believe_a_grant_of_more_than_there_can_be) {
  begin();
  for (unsigned channel = 0; channel < kChannels; ++channel) say(report({.channel = channel}));
  EXPECT_EQ(a_.counts().excess, 0U);
  const auto grant = [this](unsigned channel, unsigned slots) {
    const std::uint64_t before = a_.counts().excess;
    say(report({.channel = channel, .granted = slots}));
    idle(4);
    return a_.counts().excess - before;
  };
  EXPECT_EQ(grant(12, kRoom), 1U) << "a channel that there is not";
  EXPECT_EQ(grant(15, kRoom), 1U);
  EXPECT_EQ(grant(11, kRoom), 0U);
  EXPECT_EQ(grant(0, 2047), 0U) << "the most";
  EXPECT_EQ(grant(1, 2048), 1U);
  EXPECT_EQ(grant(11, kRoom + 2047), 1U);
  EXPECT_EQ(grant(11, kRoom + 2048), 0U) << "an old one";
  EXPECT_EQ(grant(11, kRoom - 1), 0U) << "likewise";
  for (int i = 0; i < 20; ++i) a_.send(packet(1, 1));
  idle(200);
  EXPECT_EQ(a_.counts().accepted, kRoom - 3) << "channel 1 has the room that it had";
}

TEST_F(LinkPeer, answers_a_training_of_the_other_side_and_says_what_it_knows) {
  for (int i = 0; i < 6; ++i) say({Cell::Control, 0});
  auto said = control_of(said_);
  ASSERT_TRUE(said && said->kind == 2);
  EXPECT_TRUE(said->is_fresh);
  EXPECT_FALSE(said->is_seen);
  for (int i = 0; i < 8; ++i) say(training(true, false));
  said = control_of(said_);
  ASSERT_TRUE(said && said->kind == 2);
  EXPECT_TRUE(said->is_seen);
  EXPECT_FALSE(a_.is_up()) << "the other side has not heard it yet";
  say(report({}));
  idle(8);
  EXPECT_TRUE(a_.is_up());
  send(packet(1), 0);
  idle();
  EXPECT_EQ(expected_, 1U);
  // TRAIN cells that have seen ours come late: it stays up.
  for (int i = 0; i < 8; ++i) say(training(false, true));
  EXPECT_TRUE(a_.is_up());
  // The other side begins anew, and has kept its memory.
  for (int i = 0; i < 8; ++i) say(training(false, false));
  said = control_of(said_);
  ASSERT_TRUE(said && said->kind == 2);
  EXPECT_FALSE(said->is_fresh);
  EXPECT_EQ(said->expected, 1U);
  say(report({}));
  idle(8);
  EXPECT_TRUE(a_.is_up());
  // ... and now it has not.
  for (int i = 0; i < 8; ++i) say(training(true, false));
  said = control_of(said_);
  ASSERT_TRUE(said && said->kind == 2);
  EXPECT_EQ(said->expected, 0U);
  for (int i = 0; i < 8; ++i) say(training(true, true));
  EXPECT_TRUE(a_.is_up());
  send(packet(1), 0);
  idle();
  EXPECT_EQ(a_.received().size(), 2U);
}

TEST_F(LinkPeer, sends_again_after_so_many_cycles_without_an_answer_and_gives_up_after_so_many_times) {
  begin();
  for (unsigned channel = 0; channel < kChannels; ++channel) say(report({.channel = channel}));
  a_.send(packet(1, 0));
  std::vector<std::uint64_t> at;
  std::uint64_t cycles = 0;
  while (a_.is_up()) {
    say(report(report_));
    ++cycles;
    if (said_.kind == Cell::End) at.push_back(cycles);
    ASSERT_LT(cycles, 200'000U);
  }
  ASSERT_EQ(at.size(), 400U) << "it gives up when there was no answer to any of 400";
  // From end to end: 200 cycles of patience, and two to begin again.
  for (std::size_t i = 2; i < at.size(); ++i) ASSERT_EQ(at[i] - at[i - 1], 202U);
  // When the link is up again, it still has the packets without an answer.
  for (int i = 0; i < 8; ++i) say(training(false, false));
  bool came = false;
  for (int i = 0; i < 20; ++i) {
    say(i < 8 ? training(false, true) : report(report_));
    came = came || said_.kind == Cell::End;
  }
  EXPECT_TRUE(came);
  EXPECT_EQ(a_.counts().dropped, 0U);
}

}  // namespace
}  // namespace stopbit::sim
