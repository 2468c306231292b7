#include "crossbar_bench.hpp"

/// Neighbours, tables and ports that break the rules: counted, never a hang, and other ports notice nothing.
namespace stopbit::sim {
namespace {

constexpr std::size_t kBad = 7;  // the input, or output, that is at fault
constexpr std::uint64_t kDamaged = std::uint64_t{1} << 63;

class CrossbarHostile : public CrossbarTest {
 protected:
  /// The others have traffic meanwhile, and all of it arrives.
  void others(std::uint64_t packets = 2'000) {
    feed(packets, kBad, kBad);
    run([this] { return !injects(kBad); });
    settle();
  }
  /// The port that was at fault works again, and nobody else has counted anything.
  void recovered() {
    for (std::size_t i = 0; i < kPorts; ++i) {
      if (i != kBad) {
        EXPECT_EQ(events_[i], Events()) << i;
      }
    }
    feed(1'000);
    finish();
  }
  Packet cut(Packet packet, std::size_t cells) {
    packet.resize(1 + cells);
    packet.push_back({Cell::End, kDamaged});
    return packet;
  }
  void expect_cut(const Packet& packet, std::size_t cells, std::size_t out, std::size_t vc = 0) {
    expect_at(kBad, out, vc, cut(packet, cells));
  }
};

TEST_F(CrossbarHostile, drops_a_start_that_was_damaged_and_gives_its_credits_back) {
  constexpr std::uint64_t kTurned = 64;
  for (unsigned bit = 0; bit < kTurned; ++bit) {
    Packet packet = this->packet(to(5, 1, 1), kBad, bit % 20);
    packet.front().data ^= std::uint64_t{1} << bit;
    inject(kBad, packet);
  }
  others();
  EXPECT_EQ(events_[kBad].malformed, kTurned);
  EXPECT_GT(surplus_[kBad], kTurned) << "slots of dropped packets come back";
  recovered();
}

TEST_F(CrossbarHostile, drops_a_channel_that_does_not_exist) {
  Start start = to(5);
  start.vc = 3;
  for (int i = 0; i < 300; ++i) inject(kBad, packet(start, kBad, 1));
  others();
  EXPECT_EQ(events_[kBad].malformed, 300U);
  EXPECT_EQ(surplus_[kBad], 0U) << "a credit of no channel";
  recovered();
}

TEST_F(CrossbarHostile, leaves_out_cells_that_are_in_no_packet) {
  for (int i = 0; i < 30; ++i) {
    inject(kBad, Cell{Cell::Payload, random_.bits()});
    inject(kBad, Cell{Cell::End, random_.bits()});
    inject(kBad, Cell{Cell::Control, random_.bits()});
  }
  others();
  EXPECT_EQ(events_[kBad].stray, 90U);
  recovered();
}

TEST_F(CrossbarHostile, a_reset_forgets_that_a_packet_was_cut) {
  Packet packet = this->packet(to(5), kBad, kMaxPayload + 2);
  packet.pop_back();
  expect_cut(packet, kMaxPayload, 5);
  inject(kBad, packet);
  run([this] { return !injects(kBad); });
  settle(100);
  EXPECT_EQ(events_[kBad].stray, 0U);
  reset();
  inject(kBad, Cell{Cell::Payload, 1});
  settle(100);
  EXPECT_EQ(events_[kBad].stray, 1U);
}

TEST_F(CrossbarHostile, cuts_a_packet_that_is_too_long) {
  for (std::size_t cells = 30; cells <= 36; ++cells) {
    const Packet packet = this->packet(to(5), kBad, cells);
    inject(kBad, packet);
    if (cells > kMaxPayload) {
      expect_cut(packet, kMaxPayload, 5);
    } else {
      expect_at(kBad, 5, 0, packet);
    }
  }
  others();
  EXPECT_EQ(due_, 0U);
  EXPECT_EQ(events_[kBad].cut, 4U);
  EXPECT_EQ(events_[kBad].stray, 0U);
  recovered();
}

TEST_F(CrossbarHostile, cuts_a_packet_in_which_another_begins) {
  for (std::size_t cells = 0; cells < 20; ++cells) {
    Packet first = packet(to(5), kBad, cells);
    expect_cut(first, cells, 5);
    first.pop_back();
    inject(kBad, first);
    const Packet second = packet(to(6), kBad, 2);
    expect_at(kBad, 6, 0, second);
    inject(kBad, second);
  }
  others();
  EXPECT_EQ(due_, 0U);
  EXPECT_EQ(events_[kBad].cut, 20U);
  recovered();
}

TEST_F(CrossbarHostile, cuts_a_packet_whose_sender_falls_silent) {
  model().patience_i = 200;
  Packet silent = packet(to(5), kBad, 12);
  expect_cut(silent, 9, 5);
  silent.resize(10);
  inject(kBad, silent);
  others(3'000);
  EXPECT_EQ(due_, 0U);
  EXPECT_EQ(events_[kBad].cut, 1U);
  // Its rest, when it comes after all, is not taken for another packet.
  inject(kBad, Cell{Cell::Payload, 1});
  inject(kBad, Cell{Cell::End, 2});
  settle();
  EXPECT_EQ(events_[kBad].stray, 0U);
  recovered();
}

TEST_F(CrossbarHostile, a_port_in_reset_ends_its_packet_and_loses_what_is_for_it) {
  Packet open = packet(to(5), kBad, 12);
  expect_cut(open, 6, 5);
  open.resize(7);
  inject(kBad, open);
  run([this] { return !injects(kBad); });
  for (int i = 0; i < 20; ++i) cycle();
  model().up_i = static_cast<std::uint16_t>(model().up_i & ~(1U << kBad));
  // What it says now is not heard, and what is for it is dropped; nobody waits.
  for (int i = 0; i < 50; ++i) inject(kBad, packet(to(6), kBad, 3));
  for (int i = 0; i < 300; ++i) send(0, packet(to(kBad, i % kClasses), 0, 5));
  others();
  run([this] { return waiting_[0].empty(); });
  settle();
  EXPECT_EQ(arrived_[kBad], 0U);
  EXPECT_EQ(due_, 300U);
  EXPECT_EQ(events_[0].discarded, 300U);
  EXPECT_EQ(events_[kBad].cut, 1U);
  EXPECT_EQ(events_[kBad].stray, 0U);
  give_up(kBad);
  events_ = {};
  model().up_i = (1U << kPorts) - 1;
  settle(50);
  recovered();
}

TEST_F(CrossbarHostile, an_output_without_credits_stops_its_channel_only) {
  hold(kBad, true);
  for (int i = 0; i < 3'000; ++i) {
    if (waiting_[0].size() < 8) send(0, packet(to(kBad), 0, 1));
    cycle();
  }
  // Input 0 has filled what channel 0 may use. Its other channels, and all other inputs, go on.
  EXPECT_FALSE(waiting_[0].empty());
  const std::uint64_t before = arrived_[3];
  for (int i = 0; i < 50; ++i) send(0, packet(to(3, 2), 0, 8));
  run([&] { return arrived_[3] == before + 50; });
  others();
  hold(kBad, false);
  finish();
  recovered();
}

TEST_F(CrossbarHostile, an_output_that_never_accepts_is_given_up_after_a_while) {
  model().patience_i = 500;
  hold(kBad, true);
  for (int i = 0; i < 400; ++i) send(0, packet(to(kBad), 0, 1));
  others();
  run([this] { return waiting_[0].empty(); });
  settle(1'200);
  EXPECT_EQ(arrived_[kBad] + events_[0].discarded, 400U);
  EXPECT_GT(events_[0].discarded, 200U);
  EXPECT_EQ(due_, events_[0].discarded);
  give_up(kBad);
  events_ = {};
  // A credit, and it is an output as the others.
  hold(kBad, false);
  settle();
  recovered();
}

/// An output waits for an input that it has passed over for long, but not for one whose sender has fallen silent.
TEST_F(CrossbarHostile, a_packet_that_never_ends_does_not_stop_another_output) {
  constexpr std::size_t kOut = 6;
  hold(kOut, true);
  for (int i = 0; i < 25; ++i) send(0, packet(to(kOut), 0, kMaxPayload));
  settle(100);
  // It waits for the output, and then its input is busy for ever.
  send(kBad, packet(to(kOut), kBad, 1));
  settle(100);
  Packet open = packet(to(5), kBad, 3);
  expect_at(kBad, 5, 0, open);
  const Cell end = open.back();
  open.pop_back();
  inject(kBad, open);
  settle(100);
  hold(kOut, false);
  const std::uint64_t before = arrived_[kOut];
  run([&] {
    while (waiting_[0].size() < 2) send(0, packet(to(kOut), 0, 1));
    return arrived_[kOut] == before + 400;
  });
  EXPECT_GT(due_, 1U);
  inject(kBad, end);
  run([this] { return due_ == 0; });
  recovered();
}

TEST_F(CrossbarHostile, an_output_that_accepts_slowly_is_not_given_up) {
  model().patience_i = 500;
  hold(kBad, true);
  for (int i = 0; i < 60; ++i) send(0, packet(to(kBad), 0, kMaxPayload));
  settle(100);
  const std::uint64_t before = arrived_[kBad];
  // The longest packet needs four slots: it waits for longer than the patience, but no credit does.
  for (int i = 0; i < 20; ++i) {
    hold(kBad, false);
    cycle();
    hold(kBad, true);
    for (int quiet = 0; quiet < 400; ++quiet) cycle();
  }
  EXPECT_GE(arrived_[kBad], before + 4);
  // Nor while a packet takes its time.
  hold(kBad, false);
  finish();
  Packet slow = packet(to(kBad), 0, 12);
  expect_at(0, kBad, 0, slow);
  for (std::size_t i = 0; i < slow.size(); ++i) {
    inject(0, slow[i]);
    if (i == 0) {
      for (int more = 0; more < 5; ++more) send(1, packet(to(kBad, 1), 1, 1));
    }
    for (int quiet = 0; quiet < 200; ++quiet) cycle();
  }
  run([this] { return due_ == 0; });
  EXPECT_EQ(surplus_[0], slots_of(slow));
  recovered();
}

TEST_F(CrossbarHostile, credits_that_were_not_used_do_not_count) {
  for (std::size_t i = 0; i < 1'000; ++i) grant(kBad, i % 16);
  others();
  EXPECT_EQ(events_[kBad].excess, 1'000U);
  // The bench watches that no more slots are used than there are.
  hold(kBad, true);
  for (int i = 0; i < 300; ++i) send(i % kPorts, packet(to(kBad, i % kClasses), i % kPorts, 8));
  settle(2'000);
  EXPECT_LE(arrived_[kBad], kSlots);
  hold(kBad, false);
  finish();
  events_ = {};
  recovered();
}

TEST_F(CrossbarHostile, too_many_credits_in_the_middle_of_a_packet_lose_none_of_the_others) {
  for (int turn = 0; turn < 200; ++turn) {
    send(0, packet(to(kBad), 0, 32));
    const std::uint64_t before = arrived_[kBad];
    const std::uint64_t at = random_.below(70);
    run([&] { return arrived_[kBad] > before || cycles() - first_cell_in_[0] == at; });
    for (int i = 0; i < 6; ++i) grant(kBad, 0);
    run([&] { return arrived_[kBad] > before; });
    settle(60);
  }
  EXPECT_GT(events_[kBad].excess, 0U);
  events_ = {};
  finish();
  recovered();
}

TEST_F(CrossbarHostile, a_sender_without_credits_loses_its_own_packets) {
  hold(5, true);
  checks_ = false;
  keep_received(true);
  constexpr std::uint64_t kPackets = 400;
  std::vector<Packet> packets;
  for (std::uint64_t i = 0; i < kPackets; ++i) {
    packets.push_back(packet(to(5), kBad, i % 30));
    inject(kBad, packets.back());
  }
  run([this] { return !injects(kBad); });
  settle();
  const std::uint64_t lost = events_[kBad].overrun;
  EXPECT_EQ(events_[kBad].stray, 0U) << "the rest of a packet goes with it";
  EXPECT_GT(lost, 100U);
  hold(5, false);
  settle(8'000);
  // What found slots comes whole, or cut where there was none; in order.
  EXPECT_EQ(received_.size(), kPackets - lost + events_[kBad].cut);
  std::size_t at = 0;
  std::uint64_t cut = 0;
  for (const Received& each : received_) {
    Packet got = each.packet;
    const auto is_same = [&](const Packet& sent) {
      for (std::size_t i = 1; i + 1 < got.size(); ++i) {
        if (i + 1 >= sent.size() || sent[i].data != got[i].data) return false;
      }
      return (got.back().data == kDamaged) != (sent.back().data == got.back().data && sent.size() == got.size());
    };
    while (at < packets.size() && !is_same(packets[at])) ++at;
    ASSERT_LT(at, packets.size()) << "a packet that nobody sent";
    cut += got.back().data == kDamaged;
    ++at;
  }
  EXPECT_EQ(cut, events_[kBad].cut);
  checks_ = true;
  recovered();
}

TEST_F(CrossbarHostile, routes_to_nowhere_are_counted_and_give_their_slots_back) {
  configure(Local, 20, entry(0, 0) | 7U << 8);             // class 0: link 7
  configure(Local, 21, entry(0, 0) | 3U << 6);             // class 0: channel 3
  configure(Groups, 5, 0x3F);                              // not valid
  configure(Groups, 6, 1U << 25);                          // to nobody
  configure(Groups, 8, 1U << 25 | 1U << (kBad - kUnits));  // only to where it comes from
  configure(Groups, 7, 1U << 25 | 3U << 19 | 1U << 18);    // to a unit, on channel 3
  const std::uint64_t own = tables_[0].own;
  std::uint64_t all = 0;
  for (int i = 0; i < 60; ++i) {
    for (const Start& start :
         {Start{.node = 0x1400 | 20}, Start{.node = 0x1400 | 21, .vc = 2},
          Start{.node = own, .unit = 4 + random_.below(4)}, Start{.node = 5, .is_multicast = true},
          Start{.node = 6, .vc = 1, .is_multicast = true}, Start{.node = 7, .unit = 1, .is_multicast = true},
          Start{.node = 8, .is_multicast = true}, Start{.node = 5, .vc = 2, .is_multicast = true}}) {
      send(kBad, packet(start, kBad, random_.below(33)));
      ++all;
    }
  }
  others();
  finish();
  EXPECT_EQ(lost_, all);
  EXPECT_EQ(events_[kBad].unroutable, all);
  recovered();
}

/// A cable from a link into itself: what leaves there comes back, and the tables send it there again.
TEST_F(CrossbarHostile, a_packet_in_a_circle_ends) {
  hold(kBad, true);
  checks_ = false;
  loop_ = [this] {
    if ((model().valid_o >> kBad & 1) != 0) {
      inject(kBad, Cell{static_cast<std::uint8_t>(model().kind_o >> 2 * kBad & 3),
                        model().data_o[2 * kBad] | std::uint64_t{model().data_o[2 * kBad + 1]} << 32});
    }
    if ((model().freed_o >> kBad & 1) != 0) grant(kBad, model().freed_channel_o >> 4 * kBad & 15);
  };
  for (int i = 0; i < 10; ++i) send(0, packet(to(kBad), 0, 3));
  run([this] { return events_[kBad].circled == 10; });
  EXPECT_EQ(arrived_[kBad], 10U * 255U);
  for (std::size_t i = 0; i < kPorts; ++i) {
    Events events = events_[i];
    if (i == kBad) events.circled = 0;
    EXPECT_EQ(events, Events()) << i;
  }
}

}  // namespace
}  // namespace stopbit::sim
