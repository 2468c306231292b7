#include "switch_bench.hpp"

namespace stopbit::sim {
namespace {

/// A unit and a neighbour that do what they must not, and software that looks into the streams.
class NetworkPortPeer : public NetworkPortTest {
 protected:
  enum Register : std::uint8_t { Hold, Data, Push, Take };
  enum Stream : std::uint8_t { Sending, Coming };
  static constexpr std::uint64_t kWaits = 1U << 8;
  static constexpr std::uint64_t kBusy = 1U << 9;
  static constexpr std::uint64_t kRefused = 1U << 10;

  static std::uint8_t address_of(Stream stream, Register at) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(stream) * 4 + static_cast<unsigned>(at));
  }
  void write(Stream stream, Register at, std::uint64_t data) {
    model().debug_write_i = 1;
    model().debug_address_i = address_of(stream, at);
    model().debug_data_i = data;
    cycle();
    model().debug_write_i = 0;
  }
  std::uint64_t read(Stream stream, Register at) {
    model().debug_address_i = address_of(stream, at);
    unit_.bench().settle();
    return model().debug_data_o;
  }
  void push(Stream stream, const Word& word, std::uint64_t channel = 0) {
    write(stream, Data, word.data);
    write(stream, Push,
          std::uint64_t{word.is_first} | std::uint64_t{word.is_last} << 1U | std::uint64_t{word.is_bad} << 2U |
              channel << 4U);
    run([&] { return (read(stream, Push) & kBusy) == 0; });
  }
  void push(Stream stream, const Packet& packet) {
    for (const Word& word : words_of(packet)) push(stream, word, Start::of(packet.start).channel());
  }
  /// The packet that waits in a held stream.
  std::optional<Packet> take(Stream stream) {
    std::optional<Packet> packet;
    for (;;) {
      for (int i = 0; (read(stream, Push) & kWaits) == 0; ++i) {
        if (i == 100) return std::nullopt;
        cycle();
      }
      const std::uint64_t flags = read(stream, Push);
      const std::uint64_t data = read(stream, Data);
      EXPECT_EQ((flags & 1) != 0, !packet.has_value());
      EXPECT_EQ(flags & 8, 0U);
      write(stream, Take, 0);
      cycle();  // the unit offers its next word
      if (packet) packet->payload.push_back(data);
      if (!packet) packet = Packet{data, {}, false};
      if (stream == Coming) {
        EXPECT_EQ(flags >> 4 & 0xF, Start::of(packet->start).channel());
      }
      if ((flags & 2) != 0) {
        packet->is_bad = (flags & 4) != 0;
        return packet;
      }
    }
  }
  /// All works as it should.
  void works() {
    const Counts before = unit_.counts;
    for (int i = 0; i < 40; ++i) {
      send(packets_.any());
      come(packets_.any());
    }
    finish();
    Counts after = unit_.counts;
    after.sent = before.sent;
    EXPECT_EQ(after, before);
  }
};

// ---- the unit

TEST_F(NetworkPortPeer, refuses_starts_that_say_what_they_must_not) {
  model().last_node_i = 99;
  model().last_unit_i = 3;
  channels_ = 0b001'000'100'011;  // class 2 may not send at all, class 1 only on the channel that is not for groups
  model().channels_i = static_cast<std::uint16_t>(channels_);
  struct Case {
    Start start;
    bool is_right;
  };
  const std::vector<Case> cases{
      {{.node = 99, .unit = 3}, true},
      {{.node = 100}, false},
      {{.node = 0xFFFF}, false},
      {{.unit = 4}, false},
      {{.unit = 7}, false},
      {{.traffic_class = 2}, false},
      {{.traffic_class = 1}, true},
      {{.node = 255, .traffic_class = 0, .is_multicast = true}, true},
      {{.node = 256, .traffic_class = 0, .is_multicast = true}, false},
      {{.node = 1, .unit = 4, .is_multicast = true}, false},
      {{.node = 1, .traffic_class = 1, .is_multicast = true}, false},
      {{.node = 1, .traffic_class = 3, .is_multicast = true}, true},
      {{.node = 0, .vc = 3, .marker = 0x3FFF}, true},  // the port says these
  };
  std::uint64_t refused = 0;
  for (int turn = 0; turn < 3; ++turn) {
    for (const Case& each : cases) {
      const Packet packet = packets_.packet(each.start, random_.below(12));
      refused += !each.is_right;
      if (each.is_right) {
        send(packet);
      } else {
        unit_.send(packet);
      }
    }
  }
  finish();
  EXPECT_EQ(unit_.counts.refused, refused);
  EXPECT_EQ(unit_.counts.broken, 0U);
}

TEST_F(NetworkPortPeer, words_that_are_no_packet_leave_nothing) {
  const auto words = [this](std::size_t cells, bool with_start, bool with_last) {
    auto all = words_of(packets_.packet(std::size_t{3}, cells));
    if (!with_start) all.erase(all.begin());
    if (!with_last) all.back().is_last = false;
    for (const Word& word : all) unit_.send(word);
  };
  std::uint64_t broken = 0;
  for (const std::size_t cells : {1U, 2U, 9U, 32U}) {
    words(cells, false, true);  // no start, twice
    words(cells, false, true);
    broken += 2;
    send(packets_.any());
    words(cells, true, false);  // no end, then another packet
    broken += 1;
    send(packets_.packet(std::size_t{3}, 4));
    words(cells, true, false);
    broken += 1;
    send(packets_.packet(std::size_t{9}, 4));
  }
  for (const std::size_t cells : {33U, 34U, 100U}) {
    words(cells, true, true);  // too long: the rest goes with it
    broken += 1;
    send(packets_.packet(std::size_t{3}, 32));
  }
  finish();
  EXPECT_EQ(unit_.counts.broken, broken);
  EXPECT_EQ(unit_.counts.refused, 0U);
  works();
}

TEST_F(NetworkPortPeer, a_unit_that_stops_in_a_packet_has_sent_nothing_of_it) {
  auto words = words_of(packets_.packet(std::size_t{0}, 20));
  words.resize(10);
  for (const Word& word : words) unit_.send(word);
  run_for(500);
  EXPECT_TRUE(sent_.empty());
  for (int i = 0; i < 50; ++i) come(packets_.any());
  run([this] { return due_in_ == 0 && packets_in_.empty(); });
  EXPECT_EQ(theirs_.used(), 0U);
  send(packets_.any());
  finish();
  EXPECT_EQ(unit_.counts.broken, 1U);
}

TEST_F(NetworkPortPeer, does_not_believe_credits_for_slots_it_has_not_used) {
  for (std::size_t channel = 0; channel < 16; ++channel) {
    free_too_much(channel);
    cycle();
  }
  EXPECT_EQ(unit_.counts.excess, 16U);
  // Every channel has its reserve and the pool, not more.
  hold(0);
  channels_ = 1;
  model().channels_i = 1;
  for (int i = 0; i < 200; ++i) unit_.send(packets_.packet(std::size_t{0}, 0));
  expected_out_[0].clear();
  std::uint64_t begun = 0;
  for (int i = 0; i < 2000; ++i) {
    model().freed_i = 0;
    model().valid_i = 0;
    model().send_valid_i = 1;
    model().send_first_i = 1;
    model().send_last_i = 1;
    model().send_bad_i = 0;
    model().send_data_i = Start{}.data();
    unit_.bench().settle();
    if (model().valid_o && model().kind_o == Cell::Start) ++begun;
    unit_.bench().step();
  }
  EXPECT_EQ(begun, kReserve + kPool - kMostSlots + 1);
}

// ---- the neighbour

TEST_F(NetworkPortPeer, cells_outside_of_a_packet_are_counted_and_left_out) {
  for (const bool cut_through : {false, true}) {
    model().cut_through_i = cut_through;
    const Counts before = unit_.counts;
    for (int i = 0; i < 5; ++i) inject({Cell::Payload, random_.bits()});
    inject({Cell::End, 0});
    inject({Cell::Control, random_.bits()});
    run_for(30);
    EXPECT_EQ(unit_.counts.stray - before.stray, 7U);
    EXPECT_TRUE(unit_.came().empty());
    works();
    unit_.came().clear();
  }
}

TEST_F(NetworkPortPeer, packets_that_do_not_end_in_order_are_cut) {
  for (const bool cut_through : {false, true}) {
    model().cut_through_i = cut_through;
    model().patience_i = 100;
    unit_.came().clear();
    const Counts before = unit_.counts;
    const auto without_end = [this](std::size_t cells) {
      auto all = cells_of(packets_.packet(std::size_t{7}, cells));
      all.pop_back();
      for (std::size_t i = 0; i < slots_of(std::min<std::size_t>(cells, kMaxPayload)); ++i) mine_.use(7);
      inject(all);
    };
    std::uint64_t cut = 0;
    for (const std::size_t cells : {0U, 1U, 7U, 8U, 9U, 32U}) {
      without_end(cells);  // and another begins
      Packet right = packets_.packet(std::size_t{7}, 3);
      mine_.use(7);
      inject(cells_of(right));
      run_for(200);
      without_end(cells);  // and nothing more comes
      run_for(200);
      cut += 2;
    }
    for (const std::size_t cells : {33U, 34U, 60U}) {
      without_end(cells);
      inject({Cell::End, 0});
      run_for(200);
      cut += 1;
    }
    EXPECT_EQ(unit_.counts.cut - before.cut, cut);
    EXPECT_EQ(unit_.counts.stray, before.stray) << "the rest of a packet goes with it";
    EXPECT_EQ(unit_.counts.dropped - before.dropped, cut_through ? 0 : cut);
    const auto bad = std::count_if(unit_.came().begin(), unit_.came().end(), [](const Packet& p) { return p.is_bad; });
    EXPECT_EQ(static_cast<std::uint64_t>(bad), cut_through ? cut : 0);
    EXPECT_EQ(unit_.came().size() - static_cast<std::size_t>(bad), 6U);
    EXPECT_EQ(mine_.used(), 0U) << "all slots came back";
    for (const Packet& packet : unit_.came()) EXPECT_LE(packet.payload.size(), kMaxPayload);
    works();
  }
}

TEST_F(NetworkPortPeer, silence_in_a_packet_is_borne_as_long_as_the_setting_says) {
  model().cut_through_i = 0;
  const auto half = [this] {
    auto all = cells_of(packets_.packet(std::size_t{1}, 4));
    mine_.use(1);
    return all;
  };
  auto all = half();
  inject(std::vector<Cell>(all.begin(), all.begin() + 3));
  run_for(5000);
  EXPECT_EQ(unit_.counts.cut, 0U) << "0: for ever";
  inject(std::vector<Cell>(all.begin() + 3, all.end()));
  run_for(50);
  EXPECT_EQ(unit_.came().size(), 1U);

  model().patience_i = 40;
  for (const std::uint64_t gap : {39U, 40U, 80U}) {
    const std::uint64_t cut = unit_.counts.cut;
    all = half();
    inject(std::vector<Cell>(all.begin(), all.begin() + 3));
    run_for(3 + gap);
    EXPECT_EQ(unit_.counts.cut - cut, gap > 42 ? 1U : 0U) << "before anything more comes";
    inject(std::vector<Cell>(all.begin() + 3, all.end()));
    run_for(100);
    EXPECT_EQ(unit_.counts.cut - cut, gap > 42 ? 1U : 0U) << gap;
  }
  EXPECT_EQ(unit_.came().size(), 3U);
  EXPECT_EQ(mine_.used(), 0U);
  works();
}

TEST_F(NetworkPortPeer, a_channel_that_there_is_not_is_malformed) {
  for (unsigned of = 0; of < kClasses; ++of) {
    Start start = packets_.start();
    start.traffic_class = of;
    start.vc = 3;
    inject(cells_of(packets_.packet(start, 9)));
  }
  run_for(100);
  EXPECT_EQ(unit_.counts.malformed, 4U);
  EXPECT_EQ(unit_.counts.stray, 0U);
  EXPECT_TRUE(unit_.came().empty());
  works();
}

TEST_F(NetworkPortPeer, a_neighbour_without_credits_takes_nothing_from_other_channels) {
  for (const bool cut_through : {false, true}) {
    model().cut_through_i = cut_through;
    model().accepts_i = static_cast<std::uint16_t>(kAllChannels & ~(1U << 6));
    const Counts before = unit_.counts;
    unit_.came().clear();
    constexpr std::size_t kMost = kReserve + kPool;
    checks_credits_ = false;
    for (std::size_t i = 0; i < kMost + 20; ++i) inject(cells_of(packets_.packet(std::size_t{6}, 1)));
    run_for(3 * (kMost + 20) + 20);
    EXPECT_EQ(unit_.counts.overrun - before.overrun, 20U);
    // ... in the middle of a packet: two slots are left.
    model().accepts_i = static_cast<std::uint16_t>(kAllChannels);
    run([&] { return unit_.came().size() >= 2; });
    model().accepts_i = static_cast<std::uint16_t>(kAllChannels & ~(1U << 6));
    run_for(30);
    const std::size_t free = unit_.came().size();
    ASSERT_LT(free, 4U);
    inject(cells_of(packets_.packet(std::size_t{6}, 32)));
    run_for(100);
    EXPECT_EQ(unit_.counts.overrun - before.overrun, 21U);
    EXPECT_EQ(unit_.counts.cut - before.cut, 1U);
    // Others have what is theirs.
    for (std::size_t channel = 0; channel < kChannels; ++channel) {
      if (channel == 6) continue;
      for (int i = 0; i < 5; ++i) {
        const Packet packet = packets_.packet(channel, 32);
        inject(cells_of(packet));
        expected_in_[channel].push_back(packet);
        ++due_in_;
        run([this] { return due_in_ == 0; });
      }
    }
    EXPECT_EQ(unit_.counts.overrun - before.overrun, 21U);
    model().accepts_i = static_cast<std::uint16_t>(kAllChannels);
    run_for(1000);
    const auto came = std::count_if(unit_.came().begin(), unit_.came().end(),
                                    [](const Packet& p) { return Start::of(p.start).channel() == 6; });
    EXPECT_EQ(came, static_cast<std::ptrdiff_t>(kMost + (cut_through ? 1 : 0)));
    checks_credits_ = true;
    works();
  }
}

TEST_F(NetworkPortPeer, anything_at_all_leaves_only_what_is_well_formed_and_ends) {
  model().patience_i = 50;
  checks_credits_ = false;
  for (int turn = 0; turn < 6; ++turn) {
    model().cut_through_i = turn % 2 == 0;
    unit_.set_stalls(20, static_cast<std::uint32_t>(turn) * 15);
    for (int i = 0; i < 6000; ++i) {
      if (random_.chance(20)) {
        inject(cells_of(packets_.any()));
      } else {
        inject({static_cast<std::uint8_t>(random_.below(4)), random_.bits()});
      }
      Word word{random_.bits(), random_.chance(10), random_.chance(10), random_.chance(20)};
      if (unit_.waiting() < 20) {
        model().last_node_i = 0x7FFF;
        if (word.is_first) word.data = Start::of(word.data).data();
        unit_.send(word);
      }
      // What is sent is not known: it is only well formed.
      unknown_out_ = true;
      cycle();
      if (HasFailure()) return;
    }
    raw_.clear();
    run_for(2000);
  }
  EXPECT_GT(unit_.counts.sent, 100U);
  EXPECT_GT(unit_.counts.refused, 100U);
  EXPECT_GT(unit_.counts.broken, 100U);
  EXPECT_GT(unit_.counts.stray, 100U);
  EXPECT_GT(unit_.counts.cut, 100U);
  EXPECT_GT(unit_.counts.malformed, 100U);
  EXPECT_GT(unit_.counts.dropped, 100U);
  // The rest of what the unit has begun is its own matter: a start ends it.
  unknown_out_ = false;
  unit_.send(Word{0, false, true, false});
  run([this] { return unit_.waiting() == 0; });
  run_for(200);
  model().last_node_i = 0xFFFF;
  unit_.came().clear();
  checks_credits_ = true;
  works();
}

TEST_F(NetworkPortPeer, a_reset_forgets_that_something_was_left_out) {
  unit_.send(Word{0, false, false, false});
  Start start;
  start.vc = 3;
  inject({Cell::Start, start.data()});
  run_for(10);
  EXPECT_EQ(unit_.counts.broken + unit_.counts.malformed, 2U);
  reset();
  unit_.send(Word{0, false, true, false});
  inject({Cell::End, 0});
  run_for(10);
  EXPECT_EQ(unit_.counts.broken, 1U);
  EXPECT_EQ(unit_.counts.stray, 1U);
}

// ---- software

TEST_F(NetworkPortPeer, packets_are_put_into_the_network_by_registers) {
  write(Sending, Hold, 1);
  EXPECT_EQ(read(Sending, Hold), 1U);
  for (const std::size_t cells : {0U, 3U, 32U}) {
    for (const bool is_bad : {false, true}) {
      Packet packet = packets_.packet(random_.below(kChannels), cells);
      packet.is_bad = is_bad;
      expected_out_[Start::of(packet.start).traffic_class].push_back(packet);
      ++due_out_;
      push(Sending, packet);
    }
  }
  run([this] { return due_out_ == 0; });
  EXPECT_EQ(read(Sending, Push) & kRefused, 0U);
  write(Sending, Hold, 0);
  works();
}

TEST_F(NetworkPortPeer, what_a_unit_sends_is_taken_out_by_registers) {
  write(Sending, Hold, 1);
  std::vector<Packet> sent;
  for (const std::size_t cells : {0U, 3U, 20U}) sent.push_back(packets_.packet(random_.below(kChannels), cells));
  sent[1].is_bad = true;
  for (const Packet& packet : sent) unit_.send(packet);
  for (const Packet& packet : sent) EXPECT_EQ(take(Sending), packet);
  EXPECT_TRUE(sent_.empty());
  write(Sending, Hold, 0);
  works();
}

TEST_F(NetworkPortPeer, a_unit_that_hangs_is_drained_without_loss) {
  for (const bool cut_through : {false, true}) {
    model().cut_through_i = cut_through;
    unit_.stop_reading(true);
    model().accepts_i = 0;
    std::vector<Packet> packets;
    for (std::size_t i = 0; i < 6; ++i) packets.push_back(packets_.packet(i, i * 6));
    for (const Packet& packet : packets) come(packet);
    run_for(200);
    model().accepts_i = 1;  // a word is offered, which nobody takes
    run_for(20);
    write(Coming, Hold, 1);
    std::vector<Packet> taken;
    for (std::size_t i = 0; i < packets.size(); ++i) {
      const auto packet = take(Coming);
      ASSERT_TRUE(packet);
      taken.push_back(*packet);
    }
    EXPECT_EQ(read(Coming, Push) & kWaits, 0U);
    run_for(5);
    EXPECT_EQ(mine_.used(), 0U) << "the network has its room again";
    // When the unit works again it gets them: channels may have changed their order.
    unit_.stop_reading(false);
    model().accepts_i = static_cast<std::uint16_t>(kAllChannels);
    for (const Packet& packet : taken) push(Coming, packet);
    write(Coming, Hold, 0);
    finish();
    works();
  }
}

TEST_F(NetworkPortPeer, says_what_it_did_not_do) {
  EXPECT_EQ(read(Sending, Push), 0U);
  write(Sending, Push, 3);
  EXPECT_NE(read(Sending, Push) & kRefused, 0U) << "the stream is not held";
  write(Sending, Hold, 1);
  EXPECT_EQ(read(Sending, Push) & kRefused, 0U);
  write(Sending, Take, 0);
  EXPECT_NE(read(Sending, Push) & kRefused, 0U) << "nothing waits";
  write(Sending, Hold, 0);
  write(Sending, Take, 0);
  EXPECT_NE(read(Sending, Push) & kRefused, 0U) << "not held";

  unit_.stop_reading(true);
  write(Coming, Hold, 1);
  EXPECT_EQ(read(Coming, Push), 0U) << "the streams have nothing to do with each other";
  const Packet packet = packets_.packet(std::size_t{2}, 0);
  write(Coming, Data, packet.start);
  write(Coming, Push, 3U | 2U << 4U);
  write(Coming, Data, 1);
  write(Coming, Push, 3);
  EXPECT_EQ(read(Coming, Push), kBusy | kRefused) << "the one before still waits";
  write(Coming, Hold, 0);
  EXPECT_EQ(read(Coming, Push), kBusy);
  unit_.stop_reading(false);
  run_for(3);
  EXPECT_EQ(read(Coming, Push), 0U);
  ASSERT_EQ(unit_.came().size(), 1U);
  EXPECT_EQ(unit_.came().front(), packet);
  works();
}

}  // namespace
}  // namespace stopbit::sim
