#include "switch_bench.hpp"

namespace stopbit::sim {
namespace {

TEST_F(NetworkPortTest, sends_packets_of_all_lengths_of_all_classes) {
  for (const std::uint32_t stall : {0U, 40U, 85U}) {
    unit_.set_stalls(stall, 0);
    ready_stalls_ = stall / 2;
    for (std::size_t cells = 0; cells <= kMaxPayload; ++cells) {
      for (std::size_t of = 0; of < kClasses; ++of) send(packets_.packet(of * kVcs, cells));
    }
    for (int i = 0; i < 300; ++i) send(packets_.any());
    finish();
  }
  EXPECT_EQ(unit_.counts.sent, 3 * (33 * 4 + 300U));
  EXPECT_EQ(unit_.counts.excess, 0U);
}

TEST_F(NetworkPortTest, receives_packets_of_all_lengths_on_all_channels) {
  for (const bool cut_through : {false, true}) {
    model().cut_through_i = cut_through;
    for (const std::uint32_t stall : {0U, 40U, 85U}) {
      unit_.set_stalls(0, stall);
      set_network_stalls(stall / 2);
      for (std::size_t cells = 0; cells <= kMaxPayload; ++cells) {
        for (std::size_t channel = 0; channel < kChannels; ++channel) come(packets_.packet(channel, cells));
      }
      for (int i = 0; i < 300; ++i) come(packets_.any());
      finish();
    }
  }
  EXPECT_EQ(unit_.came().size(), 6 * (33 * 12 + 300U));
  EXPECT_EQ(unit_.counts, Counts{});
}

TEST_F(NetworkPortTest, does_both_at_once) {
  for (int turn = 0; turn < 12; ++turn) {
    model().cut_through_i = turn % 2 == 0;
    unit_.set_stalls(static_cast<std::uint32_t>(random_.below(80)), static_cast<std::uint32_t>(random_.below(80)));
    set_network_stalls(static_cast<std::uint32_t>(random_.below(50)));
    for (int i = 0; i < 250; ++i) {
      send(packets_.any());
      come(packets_.any());
    }
    finish();
    if (HasFailure()) return;
  }
}

/// From the first word to the start cell: the words of the packet, which is then whole, and three cycles.
TEST_F(NetworkPortTest, sends_after_the_packet_and_three_cycles_and_then_a_cell_a_cycle) {
  for (const std::size_t cells : {0U, 1U, 8U, 9U, 32U}) {
    run_for(20);
    const std::uint64_t begin = cycles();
    send(packets_.packet(0, cells));
    finish();
    EXPECT_EQ(sent_.back().began - begin, cells + 1 + 2) << cells;
    EXPECT_EQ(sent_.back().ended - sent_.back().began, cells + 1) << cells;
  }
  for (const std::size_t cells : {1U, 8U, 32U}) {
    sent_.clear();
    for (int i = 0; i < 60; ++i) send(packets_.packet(random_.below(kChannels), cells));
    finish();
    ASSERT_EQ(sent_.size(), 60U);
    for (std::size_t i = 10; i < 60; ++i) EXPECT_EQ(sent_[i].began - sent_[i - 1].began, cells + 2) << cells;
  }
}

/// From the start cell to the first word: six cycles with cut-through, else those of the rest of the packet, too.
TEST_F(NetworkPortTest, receives_in_six_cycles_or_so_many_after_the_packet) {
  for (const bool cut_through : {true, false}) {
    model().cut_through_i = cut_through;
    for (const std::size_t cells : {0U, 1U, 8U, 9U, 32U}) {
      run_for(20);
      const std::uint64_t begin = cycles();
      come(packets_.packet(5, cells));
      finish();
      EXPECT_EQ(unit_.first_came - begin, cut_through ? 6U : 6 + cells + 1) << cells;
      EXPECT_EQ(unit_.last_came - begin, cut_through ? 6 + cells : unit_.first_came - begin + cells) << cells;
    }
  }
}

TEST_F(NetworkPortTest, receives_a_cell_a_cycle_in_both_modes) {
  for (const bool cut_through : {false, true}) {
    model().cut_through_i = cut_through;
    for (const std::size_t cells : {0U, 1U, 8U, 32U}) {
      constexpr std::size_t kPackets = 300;
      const std::size_t before = unit_.came().size();
      const std::uint64_t begin = cycles();
      for (std::size_t i = 0; i < kPackets; ++i) come(packets_.packet(i % kChannels, cells));
      run([&] { return unit_.came().size() == before + kPackets; });
      EXPECT_LE(cycles() - begin, kPackets * (cells + 2) + 8 + cells) << cells << ", cut through: " << cut_through;
      finish();
    }
  }
}

TEST_F(NetworkPortTest, waits_for_credits_of_a_channel_and_sends_on_the_others) {
  channels_ = 0b100'010'001'001;
  model().channels_i = static_cast<std::uint16_t>(channels_);
  hold(0);  // all of class 0
  for (int i = 0; i < 200; ++i) send(packets_.packet(0, 8));
  run_for(3000);
  EXPECT_EQ(theirs_.used(0), kReserve + kPool - kMostSlots + 1) << "its reserve and the pool";
  EXPECT_EQ(model().send_room_o & 1, 0);
  EXPECT_EQ(model().send_room_o >> 1, 7);
  EXPECT_LT(unit_.counts.sent, 100U);
  hold(std::nullopt);
  finish();
  EXPECT_EQ(unit_.counts.sent, 200U);
  for (const Sent& sent : sent_) EXPECT_EQ(sent.channel, 0U);
}

TEST_F(NetworkPortTest, a_class_without_credits_holds_up_no_other) {
  hold(3);
  channels_ = 0b111'111'001'111;
  model().channels_i = static_cast<std::uint16_t>(channels_);
  // Only what the queue and the credits of class 1 take, so that the unit can go on.
  const std::size_t stuck = kReserve + kPool - kMostSlots + 1;
  for (std::size_t i = 0; i < stuck + 3; ++i) send(packets_.packet(3, 1));
  run([this] { return unit_.waiting() == 0; });
  run_for(200);
  EXPECT_EQ(theirs_.used(3), stuck);
  for (std::size_t i = 0; i < 300; ++i) send(packets_.packet(i % 2 == 0 ? 0 : 9, random_.below(33)));
  run([this] { return expected_out_[0].empty() && expected_out_[3].empty(); });
  EXPECT_EQ(due_out_, 3U);
  hold(std::nullopt);
  finish();
}

/// One channel holds all of the pool: the others begin only when their reserve is free again.
TEST_F(NetworkPortTest, without_a_pool_a_channel_waits_for_its_reserve) {
  channels_ = 0b001'001'001'001;
  model().channels_i = static_cast<std::uint16_t>(channels_);
  hold(3);
  for (std::size_t i = 0; i < (kReserve + kPool) / kMostSlots; ++i) send(packets_.packet(3, 32));
  run([this] { return unit_.waiting() == 0 && expected_out_[1].empty(); });
  EXPECT_EQ(theirs_.left(3), 0U);
  free_stalls_ = 90;
  for (int i = 0; i < 100; ++i) send(packets_.packet(9, random_.below(33)));
  run([this] { return expected_out_[3].empty(); });
  hold(std::nullopt);
  finish();
}

TEST_F(NetworkPortTest, takes_turns_among_the_channels_that_are_allowed) {
  for (int i = 0; i < 90; ++i) send(packets_.packet(0, 1));
  finish();
  std::array<int, kVcs> on{};
  for (const Sent& sent : sent_) ++on.at(sent.channel);
  EXPECT_EQ(on, (std::array<int, kVcs>{30, 30, 30}));
  for (unsigned only = 0; only < kVcs; ++only) {
    channels_ = 1U << only;
    model().channels_i = static_cast<std::uint16_t>(channels_);
    sent_.clear();
    for (int i = 0; i < 20; ++i) send(packets_.packet(0, 1));
    finish();
    for (const Sent& sent : sent_) EXPECT_EQ(sent.channel, only);
  }
}

TEST_F(NetworkPortTest, a_packet_for_many_begins_on_no_adaptive_channel) {
  for (int i = 0; i < 60; ++i) {
    Start start = packets_.start();
    start.is_multicast = true;
    start.node &= 0xFF;
    send(packets_.packet(start, 2));
    send(packets_.packet(packets_.start(), 2));
  }
  std::uint64_t many = 0;
  run([&] {
    if (model().valid_o && model().kind_o == Cell::Start && Start::of(model().data_o).is_multicast) {
      EXPECT_NE(Start::of(model().data_o).vc, 2U);
      ++many;
    }
    return due_out_ == 0;
  });
  EXPECT_EQ(many, 60U);
  finish();
}

TEST_F(NetworkPortTest, gives_a_credit_back_when_the_unit_has_taken_the_slot) {
  model().cut_through_i = 1;
  for (const std::size_t cells : {0U, 1U, 8U, 9U, 20U, 32U}) {
    unit_.stop_reading(true);
    come(packets_.packet(2, cells));
    run_for(80);
    EXPECT_EQ(mine_.used(2), slots_of(cells));
    unit_.stop_reading(false);
    freed_.clear();
    unit_.slots_taken.clear();
    run_for(60);
    EXPECT_EQ(mine_.used(), 0U);
    ASSERT_EQ(freed_.size(), slots_of(cells)) << cells;
    for (std::size_t i = 0; i < freed_.size(); ++i) EXPECT_EQ(freed_[i], unit_.slots_taken.at(i) + 1) << cells;
  }
}

TEST_F(NetworkPortTest, what_is_not_read_holds_up_its_own_channel_only) {
  for (const bool cut_through : {false, true}) {
    model().cut_through_i = cut_through;
    model().accepts_i = static_cast<std::uint16_t>(kAllChannels & ~(1U << 4));
    for (int i = 0; i < 200; ++i) come(packets_.packet(4, random_.below(33)));
    run_for(4000);
    const std::size_t held = mine_.used(4);
    EXPECT_GT(held, kPool);
    for (int i = 0; i < 400; ++i) {
      const std::size_t channel = random_.below(kChannels - 1);
      packets_in_.push_front(packets_.packet(channel < 4 ? channel : channel + 1, random_.below(33)));
    }
    run([this] {
      for (std::size_t i = 0; i < kChannels; ++i) {
        if (i != 4 && !expected_in_[i].empty()) return false;
      }
      return std::all_of(packets_in_.begin(), packets_in_.end(),
                         [](const Packet& packet) { return Start::of(packet.start).channel() == 4; });
    });
    EXPECT_GE(mine_.used(4), held);
    model().accepts_i = static_cast<std::uint16_t>(kAllChannels);
    finish();
  }
}

TEST_F(NetworkPortTest, stored_packets_that_are_bad_leave_nothing) {
  std::uint64_t bad = 0;
  unit_.set_stalls(0, 30);
  for (int i = 0; i < 600; ++i) {
    Packet packet = packets_.any();
    packet.is_bad = random_.chance(30);
    bad += packet.is_bad;
    come(packet);
  }
  finish();
  EXPECT_EQ(unit_.came().size(), 600 - bad);
  EXPECT_EQ(unit_.counts.dropped, bad);
}

TEST_F(NetworkPortTest, packets_that_are_cut_through_and_bad_say_so_at_their_end) {
  model().cut_through_i = 1;
  leaves_nothing_bad_ = false;
  std::uint64_t bad = 0;
  unit_.set_stalls(0, 30);
  for (int i = 0; i < 600; ++i) {
    Packet packet = packets_.any();
    packet.is_bad = random_.chance(30);
    bad += packet.is_bad;
    come(packet);
  }
  finish();
  EXPECT_EQ(unit_.came().size(), 600U);
  EXPECT_EQ(std::count_if(unit_.came().begin(), unit_.came().end(), [](const Packet& packet) { return packet.is_bad; }),
            static_cast<std::ptrdiff_t>(bad));
  EXPECT_EQ(unit_.counts.dropped, 0U);
}

TEST_F(NetworkPortTest, a_change_of_mode_waits_for_the_next_packet) {
  unit_.set_stalls(0, 20);
  for (int i = 0; i < 3000; ++i) {
    if (packets_in_.size() < 4) come(packets_.any());
    if (random_.chance(20)) model().cut_through_i = static_cast<std::uint8_t>(random_.below(2));
    cycle();
  }
  finish();
}

TEST_F(NetworkPortTest, marks_a_packet_that_the_unit_marks) {
  for (int i = 0; i < 100; ++i) {
    Packet packet = packets_.any();
    packet.is_bad = i % 2 == 0;
    send(packet);
  }
  finish();
  EXPECT_EQ(unit_.counts.sent, 100U);
}

TEST_F(NetworkPortTest, begins_anew_after_a_reset_in_the_middle) {
  for (int turn = 0; turn < 60; ++turn) {
    model().cut_through_i = turn % 2 == 0;
    unit_.set_stalls(10, 50);
    for (int i = 0; i < 60; ++i) {
      send(packets_.any());
      come(packets_.any());
    }
    run_for(random_.below(1500));
    due_out_ = 0;
    reset();
    for (int i = 0; i < 20; ++i) {
      send(packets_.any());
      come(packets_.any());
    }
    finish();
    EXPECT_EQ(unit_.came().size(), 20U);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim
