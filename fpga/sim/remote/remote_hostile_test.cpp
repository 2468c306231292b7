// Subscribers that do not read, leave, or lie; networks that stall; records that contradict themselves; resets.

#include "decoder/record/buffer_sink.hpp"
#include "host/remote/events.hpp"
#include "remote_card.hpp"
#include "tests/unit/ring/fixture.hpp"

namespace stopbit::sim::remote {
namespace {

using Slots = std::vector<record::Slot>;

constexpr std::uint64_t kRingSlots = 256;
constexpr std::uint32_t kMaxSlots = 9;

/// A record whose words follow from its number.
Slots record_of(std::uint64_t number, std::uint32_t slots) {
  Slots made;
  const auto keep = [&](std::span<const record::Slot> all) { made.assign(all.begin(), all.end()); };
  record::BufferSink sink(slots, keep);
  ring::test::write_record(sink, slots, number);
  return made;
}

class RemoteHostile : public ::testing::Test {
 protected:
  static Wanted everything(std::uint32_t slots = 64) {
    Wanted wanted;
    wanted.on_card = {device::Filter{}};
    wanted.layout.slots = slots;
    return wanted;
  }
  Hardware::Member& subscribe(const Wanted& wanted) {
    copies_.push_back(std::make_unique<Copy>(ring::test::small_program(kMaxSlots), kRingSlots));
    return hardware_.subscribe(wanted);
  }
  void start(std::uint32_t max_slots = kMaxSlots) { hardware_.card.start(8, max_slots); }
  std::uint32_t any_length() { return 1 + static_cast<std::uint32_t>(random_.below(kMaxSlots)); }
  void publish(std::uint64_t records) {
    for (std::uint64_t i = 0; i < records; ++i) {
      hardware_.card.push(record_of(published_++, any_length()));
      if (is_calm_) hardware_.until_sent();
    }
  }
  void take(std::size_t i) {
    for (;;) {
      const std::span<const std::byte> message = hardware_.members[i]->receiver->receive();
      if (message.empty()) break;
      copies_[i]->take(message);
      const Read part = read(copies_[i]->reader);
      got_[i].lost += part.lost;
      got_[i].lost_events += part.lost_events;
      got_[i].records.insert(got_[i].records.end(), part.records.begin(), part.records.end());
    }
    EXPECT_EQ(hardware_.members[i]->receiver->damaged(), 0U);
  }
  void take_all() {
    for (std::size_t i = 0; i < hardware_.members.size(); ++i) take(i);
  }
  /// All that was published since it came is there or reported as lost, once, in order.
  void expect_accounted(std::size_t i) {
    SCOPED_TRACE("subscriber " + std::to_string(i));
    const Progress progress = hardware_.card.progress(i);
    const Read& got = got_[i];
    EXPECT_EQ(got.lost, progress.lost);
    EXPECT_EQ(got.records.size(), progress.records);
    EXPECT_EQ(hardware_.card.losing() >> i & 1, 0U);
    EXPECT_EQ(got.records.size() - got.lost_events + got.lost, hardware_.card.position().records - progress.begun);
    std::uint64_t number = first_[i];
    for (const far::Record& record : got.records) {
      if ((record[0] & 0xFFFF) == record::kEventIndex) {
        EXPECT_EQ(record, event_of(record[6]));
        number += record[6];
      } else {
        EXPECT_EQ(record, far::without_numbers(record_of(number, static_cast<std::uint32_t>(record.size() / 8))));
        ++number;
      }
      if (HasFailure()) return;
    }
  }
  /// As the software makes it, but for the time.
  static far::Record event_of(std::uint64_t lost) {
    record::Slot slot = far::lost_event(lost, kGeneration);
    slot.words[1] = kTime;
    return far::without_numbers({&slot, 1});
  }
  /// A message from a port of a node, which is a credit if all of it is right.
  rma::Packet signal(const Hardware::Member& member) {
    nic::RmaHeader header;
    header.kind = static_cast<std::uint8_t>(nic::Operation::Signal);
    header.source_vpid = member.vpid;
    header.target_vpid = member.entry.port;
    header.domain = kDomain;
    header.more = 1;
    return rma::to_packet(0, header, {});
  }

  Hardware hardware_{seed()};
  Random random_{seed() + 7};
  std::vector<std::unique_ptr<Copy>> copies_;
  std::map<std::size_t, Read> got_;
  std::map<std::size_t, std::uint64_t> first_;  ///< Number of the first record of each.
  std::uint64_t published_ = 0;
  bool is_calm_ = false;  ///< Records come only as fast as the small store has room.
};

TEST_F(RemoteHostile, a_subscriber_that_does_not_read_holds_up_no_other_and_learns_what_it_lost) {
  is_calm_ = true;
  start();
  (void)subscribe(everything(256));
  (void)subscribe(everything());
  for (int i = 0; i < 40; ++i) {
    publish(10);
    hardware_.settle();
    take(0);
  }
  expect_accounted(0);
  EXPECT_EQ(got_[0].lost, 0U);
  EXPECT_EQ(hardware_.card.losing(), 2U);
  // No more than the channel holds.
  EXPECT_EQ(hardware_.card.progress(1).sent, 63U);
  EXPECT_EQ(hardware_.unit.events.refused, 0U);
  take(1);
  hardware_.settle();
  // It is told at once, without another record.
  take(1);
  expect_accounted(1);
  EXPECT_GE(got_[1].lost_events, 1U);
  EXPECT_GT(got_[1].lost, 300U);
  publish(10);
  hardware_.settle();
  take_all();
  expect_accounted(0);
  expect_accounted(1);
}

TEST_F(RemoteHostile, accounts_of_losses_follow_the_rules_of_the_software) {
  // The software loses when its ring is overwritten, the card when a record finds no credit. Either way each record is
  // there, or counted once, in an event at its place.
  Program program = far::market();
  Software software(program, 64);
  Software::Member& member = software.subscribe(everything(40));
  Copy copy(program, 64);
  Read got;
  const auto take_all = [&] {
    for (;;) {
      const std::span<const std::byte> message = member.receiver->receive();
      if (message.empty()) break;
      copy.take(message);
      const Read part = read(copy.reader);
      got.records.insert(got.records.end(), part.records.begin(), part.records.end());
      got.lost += part.lost;
      got.lost_events += part.lost_events;
    }
  };
  for (std::uint64_t i = 0; i < 400; ++i) software.publish(record_of(i, 1 + static_cast<std::uint32_t>(i % 4)));
  for (int i = 0; i < 4; ++i) {
    software.step(30);
    take_all();
  }
  EXPECT_GT(got.lost, 0U);
  EXPECT_EQ(got.lost, member.subscription->status().lost);
  EXPECT_EQ(got.records.size(), member.subscription->status().records);
  EXPECT_EQ(got.records.size() - got.lost_events + got.lost, software.published().records());
}

TEST_F(RemoteHostile, a_slow_subscriber_loses_some_again_and_again) {
  start();
  (void)subscribe(everything(33));
  Wanted wide = everything(100);
  wide.layout.slot_bytes = 512;  // of which the card uses two slots
  (void)subscribe(wide);
  for (int i = 0; i < 60; ++i) {
    publish(random_.below(30));
    hardware_.settle();
    if (random_.chance(60)) take(0);
    if (random_.chance(60)) take(1);
    if (HasFailure()) return;
  }
  for (int i = 0; i < 4; ++i) {
    hardware_.settle();
    take_all();
  }
  expect_accounted(0);
  expect_accounted(1);
  EXPECT_GT(got_[0].lost_events, 5U);
  EXPECT_GT(got_[1].lost_events, 2U);
}

TEST_F(RemoteHostile, one_that_leaves_in_the_middle_is_sent_nothing_more) {
  start();
  (void)subscribe(everything(256));
  Hardware::Member& leaves = subscribe(everything());
  (void)subscribe(everything(256));
  for (int round = 0; round < 12; ++round) {
    publish(5);
    for (std::uint64_t i = random_.below(400); i > 0; --i) hardware_.cycle();
    // Its window goes first: what is on the way is refused there. The card hears of it later.
    hardware_.holds = true;
    for (std::uint64_t i = random_.below(400); i > 0; --i) hardware_.cycle();
    hardware_.drain_unit();
    hardware_.unit.set_window(leaves.entry.window.id, {});
    const std::vector<std::byte> before = leaves.landing;
    for (std::uint64_t i = random_.below(400); i > 0; --i) hardware_.cycle();
    (void)hardware_.card.set(1, {});
    hardware_.until_sent();
    publish(5);
    hardware_.release();
    hardware_.settle();
    EXPECT_EQ(leaves.landing, before);
    const std::uint64_t sent = hardware_.card.packets;
    publish(1);
    hardware_.settle();
    EXPECT_GE(hardware_.card.packets, sent + 2);  // to the two others
    EXPECT_LE(hardware_.card.packets, sent + 10);
    take(0);
    take(2);
    // It comes back: a new window, from the present on.
    leaves.entry.window = {static_cast<std::uint16_t>(40 + round), random_.bits()};
    hardware_.unit.set_window(leaves.entry.window.id, {.open = true,
                                                       .owner = leaves.vpid,
                                                       .access = nic::Access::Write,
                                                       .first = leaves.base,
                                                       .bytes = leaves.landing.size(),
                                                       .capability = leaves.entry.window.capability,
                                                       .domain = std::nullopt});
    leaves.events.counts.clear();
    hardware_.open(leaves);
    EXPECT_EQ(leaves.begun.records, published_);
    copies_[1] = std::make_unique<Copy>(ring::test::small_program(kMaxSlots), kRingSlots);
    got_[1] = {};
    first_[1] = published_;
    publish(5);
    hardware_.settle();
    take_all();
    hardware_.settle();
    for (std::size_t i = 0; i < 3; ++i) expect_accounted(i);
    if (HasFailure()) return;
  }
  EXPECT_GT(hardware_.unit.events.refused, 0U);
  EXPECT_EQ(got_[0].lost, 0U);
  EXPECT_EQ(got_[2].lost, 0U);
}

TEST_F(RemoteHostile, a_forged_window_or_port_takes_nothing_and_disturbs_no_other) {
  start();
  (void)subscribe(everything());
  Hardware::Member& forged = subscribe(everything());
  const std::vector<std::byte> clean(forged.landing.size());
  const SubscriberEntry right = forged.entry;
  for (int what = 0; what < 6; ++what) {
    SCOPED_TRACE("wrong " + std::to_string(what));
    forged.entry = right;
    if (what == 0) forged.entry.window.capability ^= std::uint64_t{1} << random_.below(64);
    if (what == 1) forged.entry.window.id = 99;
    if (what == 2) forged.entry.vpid = 77;
    if (what == 3) forged.entry.domain = kDomain + 1;
    if (what == 4) forged.entry.layout.slot_bytes = 1U << 20U;  // beyond the window, from the second message on
    if (what == 5) forged.entry.vpid = 1;                       // of the other subscriber: the window is not its own
    forged.begun = hardware_.card.set(1, forged.entry);
    const std::uint64_t refused = hardware_.unit.events.refused;
    const std::uint64_t sent = hardware_.card.progress(1).sent;
    publish(4);
    hardware_.settle();
    EXPECT_EQ(sent, 0U);
    const std::uint64_t all = hardware_.card.progress(1).sent;
    EXPECT_GE(all, 4U);
    EXPECT_EQ(hardware_.unit.events.refused - refused, what == 4 ? all - 1 : all);
    if (what < 4) {
      EXPECT_EQ(forged.landing, clean);
    }
    take(0);
    expect_accounted(0);
    if (HasFailure()) return;
  }
  EXPECT_EQ(got_[0].lost, 0U);
}

TEST_F(RemoteHostile, credits_count_only_from_the_subscriber_itself) {
  start();
  (void)subscribe(everything());
  Hardware::Member& silent = subscribe(everything());
  for (int i = 0; i < 30; ++i) {
    publish(4);
    hardware_.settle();
    take(0);
  }
  ASSERT_EQ(hardware_.card.progress(1).sent, 63U);
  const std::uint64_t stray = hardware_.card.stray;
  // Of another node, port, domain, for another port, another event; damaged, cut, with more words, an answer.
  std::vector<rma::Packet> forged(8, signal(silent));
  forged[0].words[1] = 2;
  for (std::size_t i = 1; i < 5; ++i) {
    nic::RmaHeader header = forged[i].header();
    if (i == 1) header.source_vpid = 9;
    if (i == 2) header.domain = kDomain + 1;
    if (i == 3) header.target_vpid = 41 ^ 64;
    if (i == 4) header.more = 2;
    forged[i] = rma::to_packet(0, header, {});
  }
  forged[5].is_bad = true;
  forged[6].words.pop_back();
  forged[7].words.push_back(1);
  for (const rma::Packet& packet : forged) hardware_.card.to_come.push_back(packet);
  for (int i = 0; i < by_form(2'000, 100'000); ++i) {
    rma::Packet packet = signal(silent);
    // A bit anywhere in what says whose it is, or words without meaning.
    if (random_.chance(50)) {
      static constexpr std::pair<std::size_t, unsigned> kFields[] = {{1, 16}, {2, 16}, {2, 64}, {3, 32}, {9, 64}};
      const auto [word, bits] = kFields[random_.below(5)];
      const std::uint64_t low = word == 3 ? 16 : 0;
      std::uint64_t bit = low + random_.below(bits - low);
      if (word == 2 && bit >= 16 && bit < 32) bit += 16;  // error and modifiers say nothing here
      packet.words[word] ^= std::uint64_t{1} << bit;
    } else {
      packet.words.resize(1 + random_.below(33));
      for (std::size_t word = 1; word < packet.words.size(); ++word) packet.words[word] = random_.bits();
      if (packet.words.size() == 10 && random_.chance(50)) packet.words[2] = signal(silent).words[2];
    }
    hardware_.card.to_come.push_back(packet);
  }
  hardware_.settle(4'000'000);
  EXPECT_EQ(hardware_.card.progress(1).sent, 63U) << "a forged credit counts";
  EXPECT_GE(hardware_.card.stray - stray, 5U);
  EXPECT_EQ(hardware_.card.surplus, 0U);
  // A true one, and what it is for.
  hardware_.card.to_come.push_back(signal(silent));
  hardware_.settle();
  EXPECT_EQ(hardware_.card.progress(1).sent, 64U);  // the event
  // One that gives too many: no more than the channel has. It harms itself alone.
  for (int i = 0; i < 5; ++i) hardware_.card.to_come.push_back(signal(silent));
  hardware_.settle();
  EXPECT_EQ(hardware_.card.surplus, 4U);  // 31 + 32 are all
  for (int i = 0; i < 10; ++i) {
    publish(4);
    hardware_.settle();
    take(0);
  }
  EXPECT_LE(hardware_.card.progress(1).sent, 64U + 63U);
  expect_accounted(0);
  EXPECT_EQ(got_[0].lost, 0U);
}

TEST_F(RemoteHostile, a_network_that_stalls_never_stops_the_decoder) {
  start();
  (void)subscribe(everything());
  (void)subscribe(everything(33));
  for (int round = 0; round < 6; ++round) {
    publish(3);
    for (std::uint64_t i = random_.below(100); i > 0; --i) hardware_.cycle();
    // Everything stops in the middle of a packet, or before it begins.
    (round % 2 == 0 ? hardware_.card.is_stalled : hardware_.card.is_shut[0]) = true;
    publish(60);
    for (int i = 0; i < 1'000; ++i) hardware_.cycle();
    EXPECT_TRUE(hardware_.card.beats.empty()) << "records wait for the network";
    EXPECT_EQ(hardware_.card.position().records, published_);
    hardware_.card.is_stalled = hardware_.card.is_shut[0] = false;
    for (int i = 0; i < 3; ++i) {
      hardware_.settle();
      take_all();
    }
    expect_accounted(0);
    expect_accounted(1);
    if (HasFailure()) return;
  }
  EXPECT_GT(hardware_.card.overrun, 100U);
  EXPECT_GE(got_[0].lost_events, 6U);
}

TEST_F(RemoteHostile, the_unit_of_the_card_goes_on_beside_records) {
  start();
  (void)subscribe(everything());
  std::vector<rma::Packet> pushed;
  std::vector<rma::Packet> seen;
  const auto to_subscribers = hardware_.card.on_sent;
  hardware_.card.on_sent = [&](const rma::Packet& packet) {
    if (packet.words[1] != kCardNode) seen.push_back(packet);
    to_subscribers(packet);
  };
  const auto of_unit = [&](bool is_answer) {
    rma::Packet packet;
    packet.words = {Start{.unit = 1, .traffic_class = is_answer ? 1U : 0U}.data(), 500};
    packet.words.resize(3 + random_.below(30));
    for (std::size_t i = 2; i < packet.words.size(); ++i) packet.words[i] = random_.bits();
    pushed.push_back(packet);
    hardware_.card.unit_packets.push_back(packet);
  };
  for (int round = 0; round < 60; ++round) {
    hardware_.card.stall_percent = static_cast<std::uint32_t>(random_.below(3) * 35);
    for (std::uint64_t i = random_.below(8); i > 0; --i) of_unit(random_.chance(50));
    publish(random_.below(4));
    hardware_.settle();
    take(0);
    if (HasFailure()) return;
  }
  hardware_.settle();
  take(0);
  ASSERT_EQ(seen.size(), pushed.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].words, pushed[i].words);
  expect_accounted(0);
  EXPECT_EQ(got_[0].lost, 0U);
  // Answers pass while there is no room for requests, of records or others; requests pass nothing.
  hardware_.card.stall_percent = 0;
  hardware_.card.is_shut[0] = true;
  for (int i = 0; i < 50; ++i) hardware_.cycle();
  const std::uint64_t packets = hardware_.card.packets;
  publish(1);
  for (int i = 0; i < 100; ++i) hardware_.cycle();
  for (int i = 0; i < 3; ++i) of_unit(true);
  for (int i = 0; i < 400; ++i) hardware_.cycle();
  EXPECT_GE(hardware_.card.packets, packets + 3);
  EXPECT_LE(hardware_.card.packets, packets + 4);  // one had room from before
  hardware_.card.is_shut[0] = false;
  hardware_.settle();
  take(0);
  expect_accounted(0);
  // Without a record, too, a request begins only where there is room: for one there was from before.
  hardware_.card.is_shut[0] = true;
  const std::uint64_t before = hardware_.card.packets;
  for (int i = 0; i < 3; ++i) of_unit(false);
  for (int i = 0; i < 400; ++i) hardware_.cycle();
  EXPECT_EQ(hardware_.card.packets, before + 1);
  hardware_.card.is_shut[0] = false;
  hardware_.settle();
  EXPECT_EQ(hardware_.card.packets, before + 3);
}

/// Room of records that have left is used again while others wait.
TEST_F(RemoteHostile, records_that_wait_all_the_time_lose_nothing) {
  start();
  (void)subscribe(everything(512));
  for (std::uint64_t sent = 0; sent < 3 * kDepth;) {
    sent = hardware_.card.progress(0).records;
    while (published_ < sent + 3) hardware_.card.push(record_of(published_++, 1));
    hardware_.cycle();
  }
  hardware_.settle();
  EXPECT_EQ(hardware_.card.overrun, 0U);
  take(0);
  expect_accounted(0);
  EXPECT_EQ(got_[0].lost, 0U);
}

/// What a put does not use is zero.
TEST_F(RemoteHostile, packets_have_the_header_of_a_put_and_nothing_more) {
  start();
  Hardware::Member& member = subscribe(everything());
  std::vector<rma::Packet> sent;
  const auto to_subscribers = hardware_.card.on_sent;
  hardware_.card.on_sent = [&](const rma::Packet& packet) {
    sent.push_back(packet);
    to_subscribers(packet);
  };
  publish(1);
  hardware_.settle();
  ASSERT_FALSE(sent.empty());
  nic::RmaHeader header;
  header.kind = static_cast<std::uint8_t>(nic::Operation::Put);
  header.source_vpid = member.entry.port;
  header.target_vpid = member.entry.vpid;
  header.window = member.entry.window.id;
  header.domain = member.entry.domain;
  header.request = member.entry.life;
  header.capability = member.entry.window.capability;
  header.length = static_cast<std::uint32_t>(8 * (sent[0].words.size() - rma::kRequestWords));
  header.more = member.entry.event;
  const rma::Packet expected = rma::to_packet(kCardNode, header, {});
  for (std::size_t i = 1; i < rma::kRequestWords; ++i) EXPECT_EQ(sent[0].words[i], expected.words[i]) << "word " << i;
}

TEST_F(RemoteHostile, records_that_contradict_themselves_are_not_published) {
  start();
  (void)subscribe(everything());
  std::uint64_t bad = 0;
  for (int round = 0; round < 120; ++round) {
    std::vector<Beat> beats = to_beats(record_of(7, 2 + static_cast<std::uint32_t>(random_.below(kMaxSlots - 1))));
    bool is_malformed = true;
    switch (random_.below(6)) {
      case 0: beats.front().index ^= static_cast<std::uint16_t>(2U << random_.below(8)); break;
      case 1: beats.back().slot.words[0] ^= std::uint64_t{1} << (16 + random_.below(16)); break;
      case 2: beats.back().index = static_cast<std::uint16_t>(1 + random_.below(5)); break;
      case 3: beats.erase(beats.begin()); break;
      case 4: beats = to_beats(record_of(7, kMaxSlots + 1 + static_cast<std::uint32_t>(random_.below(100)))); break;
      default:
        beats.resize(random_.below(beats.size()));
        beats.push_back(
            {.slot = {}, .index = static_cast<std::uint16_t>(random_.below(3)), .last = false, .aborted = true});
        is_malformed = false;
    }
    bad += is_malformed ? 1 : 0;
    for (const Beat& beat : beats) hardware_.card.beats.push_back(beat);
    publish(random_.below(3));
    hardware_.settle();
    take(0);
    if (HasFailure()) return;
  }
  EXPECT_EQ(hardware_.card.malformed, bad);
  EXPECT_EQ(hardware_.card.position().records, published_);
  EXPECT_EQ(hardware_.card.overrun, 0U);
  expect_accounted(0);
  EXPECT_EQ(got_[0].lost, 0U);
}

TEST_F(RemoteHostile, a_record_longer_than_the_store_is_lost_for_all) {
  start(200);
  (void)subscribe(everything());
  publish(3);
  hardware_.settle();
  hardware_.card.push(record_of(published_++, kDepth + 5));
  publish(3);
  hardware_.settle();
  hardware_.card.push(record_of(published_++, kDepth + 1));
  hardware_.settle();
  take(0);
  EXPECT_EQ(hardware_.card.overrun, 2U);
  EXPECT_EQ(got_[0].lost, 2U);
  EXPECT_EQ(got_[0].lost_events, 2U);
  expect_accounted(0);
}

/// A gap in the records that begins before a subscriber has come and ends after: it loses what is after.
TEST_F(RemoteHostile, of_records_that_had_no_room_a_subscriber_loses_those_since_it_came) {
  start();
  (void)subscribe(everything(256));
  Hardware::Member& late = subscribe(everything());
  (void)hardware_.card.set(1, {});
  const auto push = [&](std::uint32_t slots) {
    hardware_.card.push(record_of(published_++, slots));
    while (!hardware_.card.beats.empty()) hardware_.cycle();
  };
  hardware_.card.is_stalled = true;
  push(1);
  for (int i = 0; i < 7; ++i) push(kMaxSlots);  // the store is full
  for (int i = 0; i < 3; ++i) push(kMaxSlots);
  hardware_.card.is_stalled = false;
  late.begun = hardware_.card.set(1, late.entry);  // when the first one has left, whose room is for one slot
  first_[1] = published_;
  EXPECT_EQ(late.begun.records, published_);
  for (int i = 0; i < 2; ++i) push(kMaxSlots);
  hardware_.settle();
  EXPECT_EQ(hardware_.card.overrun, 5U);
  take_all();
  expect_accounted(0);
  expect_accounted(1);
  EXPECT_EQ(got_[0].lost, 5U);
  EXPECT_EQ(got_[1].lost, 2U);
}

TEST_F(RemoteHostile, random_filters_lose_no_event) {
  start();
  for (int round = 0; round < 10; ++round) {
    std::vector<device::Filter> filters(kFilters);
    for (device::Filter& filter : filters) {
      if (random_.chance(70)) filter.channel = static_cast<std::uint16_t>(random_.below(3));
      if (random_.chance(70)) filter.template_index = static_cast<std::uint16_t>(random_.below(9));
      filter.word = static_cast<std::uint8_t>(random_.bits());
      filter.mask = random_.chance(50) ? random_.bits() : 0;
      filter.value = random_.bits();
      filter.rings = static_cast<std::uint8_t>(random_.bits());
    }
    Wanted wanted;
    if (round == 0) (void)subscribe(wanted);
    hardware_.card.set_filters(filters);
    Slots event(1);
    event[0] = far::lost_event(1, kGeneration);
    event[0].words[4] ^= 8 ^ 3;  // a gap
    const std::uint64_t records = hardware_.card.progress(0).records;
    for (int i = 0; i < 8; ++i) {
      hardware_.card.push(event);
      publish(1);
      hardware_.settle();
    }
    EXPECT_GE(hardware_.card.progress(0).records, records + 8);
    EXPECT_EQ(hardware_.card.progress(0).lost, 0U);
    take(0);
    if (HasFailure()) return;
  }
}

TEST_F(RemoteHostile, nothing_is_left_of_what_a_reset_meets) {
  for (int round = 0; round < by_form(20, 400); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Hardware hardware(seed() + static_cast<std::uint64_t>(round));
    const auto run = [&](std::uint64_t cycles) {
      for (std::uint64_t i = 0; i < cycles; ++i) hardware.cycle();
    };
    hardware.card.stall_percent = static_cast<std::uint32_t>(random_.below(3) * 30);
    hardware.card.start(8, kMaxSlots);
    Hardware::Member& member = hardware.subscribe(everything());
    for (std::uint64_t i = 0; i < 5; ++i) hardware.card.push(record_of(i, any_length()));
    run(random_.below(500));
    hardware.card.reset();
    hardware.settle();
    const std::uint64_t sent = hardware.card.packets;
    run(200);
    ASSERT_EQ(hardware.card.packets, sent);
    EXPECT_EQ(hardware.card.open(), 0U);
    EXPECT_EQ(hardware.card.losing(), 0U);
    EXPECT_EQ(hardware.card.position(), far::RingPosition{});
    // The tables keep what they have, but no subscriber is open: records and requests send nothing.
    for (std::uint64_t i = 0; i < 3; ++i) hardware.card.push(record_of(i, any_length()));
    hardware.settle();
    hardware.card.start(8, kMaxSlots);
    for (std::size_t i = 0; i < kSubscribers; ++i) EXPECT_FALSE(hardware.card.tell(i));
    hardware.card.push(record_of(0, any_length()));
    hardware.settle();
    ASSERT_EQ(hardware.card.packets, sent);
    // A new ring and the same subscriber.
    hardware.card.start(8, kMaxSlots);
    std::fill(member.landing.begin(), member.landing.end(), std::byte{0});
    member.events.counts.clear();
    hardware.open(member);
    ASSERT_EQ(member.begun, (far::RingPosition{256, 0}));
    Copy copy(ring::test::small_program(kMaxSlots), kRingSlots);
    for (std::uint64_t i = 0; i < 6; ++i) hardware.card.push(record_of(i, any_length()));
    hardware.settle();
    for (;;) {
      const std::span<const std::byte> message = member.receiver->receive();
      if (message.empty()) break;
      copy.take(message);
    }
    const Read got = read(copy.reader);
    ASSERT_EQ(got.records.size(), 6U);
    EXPECT_EQ(got.lost, 0U);
    if (HasFailure()) return;
  }
}

/// What a subscriber was sent, in order: positions beside records that waited.
class RemoteTold : public RemoteHostile {
 protected:
  /// A letter for each message: R the last of a record, r another one of it, P a position, E the end. What a message
  /// says of the ring is true of the records before it.
  std::string messages(std::size_t i) {
    std::string all;
    for (;;) {
      const std::span<const std::byte> message = hardware_.members[i]->receiver->receive();
      if (message.empty()) return all;
      Copy& copy = *copies_[i];
      copy.take(message);
      const Read part = read(copy.reader);
      Read& got = got_[i];
      got.lost += part.lost;
      got.lost_events += part.lost_events;
      got.records.insert(got.records.end(), part.records.begin(), part.records.end());
      EXPECT_EQ(copy.head.reached.records, first_[i] + got.records.size() - got.lost_events + got.lost);
      if (copy.head.kind == far::Batch::Ended) {
        EXPECT_EQ(copy.head.slots, 0U);
        all += 'E';
      } else {
        EXPECT_EQ(copy.head.kind, far::Batch::Records);
        EXPECT_EQ(copy.head.how, 0U);
        all += copy.head.slots == 0 ? 'P' : part.records.empty() ? 'r' : 'R';
      }
      if (HasFailure()) return all;
    }
  }
  /// Records are in the card's store, and wait for a slow network.
  void let_wait(std::uint64_t records) {
    hardware_.card.stall_percent = 30 + static_cast<std::uint32_t>(random_.below(50));
    publish(records);
    while (!hardware_.card.beats.empty()) hardware_.cycle();
    for (std::uint64_t i = 3 + random_.below(40); i > 0; --i) hardware_.cycle();
  }
  static std::size_t count(const std::string& in, char letter) {
    return static_cast<std::size_t>(std::count(in.begin(), in.end(), letter));
  }
};

TEST_F(RemoteTold, positions_go_between_records_that_wait_and_hold_up_none) {
  start();
  (void)subscribe(everything(256));
  for (int round = 0; round < by_form(10, 300); ++round) {
    let_wait(5);
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(hardware_.card.tell(0));
    hardware_.settle();
    const std::string all = messages(0);
    if (HasFailure()) return;
    EXPECT_EQ(count(all, 'R'), 5U) << all;
    EXPECT_EQ(count(all, 'P'), 8U) << all;
    EXPECT_EQ(count(all, 'E'), 0U) << all;
    // A position waits for the record that is being sent, and a record for one position.
    const std::string before = all.substr(0, all.rfind('R'));
    EXPECT_GE(count(before, 'P'), 2U) << all;
    EXPECT_EQ(before.find("PP"), std::string::npos) << all;
    EXPECT_EQ(all.find("rP"), std::string::npos) << all;
    EXPECT_EQ(copies_[0]->head.reached.number, hardware_.card.position().number);
    expect_accounted(0);
    if (HasFailure()) return;
  }
}

TEST_F(RemoteTold, the_end_comes_after_all_records_that_wait) {
  start();
  (void)subscribe(everything(256));
  for (int round = 0; round < by_form(10, 300); ++round) {
    let_wait(1 + random_.below(6));
    const auto how = static_cast<std::uint8_t>(1 + random_.below(255));
    EXPECT_TRUE(hardware_.card.tell(0, true, how));
    hardware_.settle();
    const std::string all = messages(0);
    if (HasFailure()) return;
    EXPECT_EQ(all.find('E'), all.size() - 1) << all;
    EXPECT_EQ(copies_[0]->head.how, how);
    EXPECT_EQ(copies_[0]->head.reached.records, published_);
    EXPECT_EQ(copies_[0]->head.reached.number, hardware_.card.position().number);
    expect_accounted(0);
    if (HasFailure()) return;
  }
}

TEST_F(RemoteTold, the_end_comes_after_the_event_of_records_that_were_lost_last) {
  start(200);
  (void)subscribe(everything(256));
  for (int round = 0; round < by_form(6, 100); ++round) {
    const std::uint64_t overrun = hardware_.card.overrun;
    publish(3);
    // It finds no room, and no record follows that would show the gap.
    hardware_.card.push(record_of(published_++, kDepth + 5));
    let_wait(0);
    EXPECT_EQ(hardware_.card.overrun, overrun + 1);
    EXPECT_FALSE(hardware_.card.tell(0, true, 1)) << "it has to learn first what it lost";
    hardware_.settle();
    EXPECT_TRUE(hardware_.card.tell(0, true, 1));
    hardware_.settle();
    const std::string all = messages(0);
    if (HasFailure()) return;
    EXPECT_EQ(count(all, 'R'), 4U) << all;
    EXPECT_EQ(all.find('E'), all.size() - 1) << all;
    EXPECT_EQ(copies_[0]->head.reached.records, published_);
    expect_accounted(0);
    if (HasFailure()) return;
  }
  EXPECT_EQ(got_[0].lost_events, got_[0].lost);
}

TEST_F(RemoteTold, nothing_without_credit_before_its_beginning_or_when_it_is_closed) {
  start();
  (void)subscribe(everything(33));
  for (int i = 0; i < 32; ++i) {
    hardware_.card.push(record_of(published_++, 1));
    hardware_.until_sent();
  }
  EXPECT_EQ(hardware_.card.losing(), 0U);
  const std::uint64_t packets = hardware_.card.packets;
  EXPECT_FALSE(hardware_.card.tell(0));
  EXPECT_FALSE(hardware_.card.tell(0, true, 1));
  EXPECT_FALSE(hardware_.card.tell(3)) << "of no subscriber";
  EXPECT_EQ(hardware_.card.packets, packets);
  EXPECT_EQ(hardware_.card.progress(0).sent, 32U);
  hardware_.settle();
  EXPECT_EQ(messages(0), std::string(32, 'R'));
  EXPECT_EQ(got_[0].lost, 0U) << "its credit was enough for all";
  hardware_.settle();
  EXPECT_TRUE(hardware_.card.tell(0));
  EXPECT_TRUE(hardware_.card.tell(0, true, 1));
  hardware_.settle();
  EXPECT_EQ(messages(0), "PE");
  // One that comes while records wait begins after them.
  for (int round = 0; round < by_form(5, 100); ++round) {
    let_wait(6);
    Hardware::Member* late = nullptr;
    if (round == 0) {
      late = &subscribe(everything(64));
    } else {
      late = hardware_.members[1].get();
      std::fill(late->landing.begin(), late->landing.end(), std::byte{0});
      late->events.counts.clear();
      copies_[1] = std::make_unique<Copy>(ring::test::small_program(kMaxSlots), kRingSlots);
      got_[1] = {};
      hardware_.open(*late);
    }
    first_[1] = published_;
    EXPECT_EQ(late->begun.records, published_);
    EXPECT_FALSE(hardware_.card.tell(1)) << "what it begins with is not reached";
    hardware_.settle();
    EXPECT_EQ(messages(1), "");
    EXPECT_TRUE(hardware_.card.tell(1));
    hardware_.settle();
    EXPECT_EQ(messages(1), "P");
    (void)messages(0);
    hardware_.settle();
    publish(3);
    hardware_.settle();
    const std::string all = messages(1);
    EXPECT_EQ(count(all, 'R'), 3U) << all;
    (void)messages(0);
    hardware_.settle();
    expect_accounted(1);
    (void)hardware_.card.set(1, {});
    hardware_.settle();
    if (HasFailure()) return;
  }
}

TEST_F(RemoteHostile, cycles_are_those_of_the_page) {
  start();
  (void)subscribe(everything());
  const auto first_word = [&](std::uint32_t slots) {
    hardware_.settle();
    const Slots record = record_of(published_++, slots);
    hardware_.card.push(record);
    std::uint64_t last = 0;
    const std::uint64_t packets = hardware_.card.packets;
    while (hardware_.card.packets == packets) {
      if (!hardware_.card.beats.empty()) last = hardware_.card.now();
      hardware_.cycle();
    }
    return std::pair(hardware_.card.first_cycle - last, hardware_.card.now() - hardware_.card.first_cycle);
  };
  const auto [latency, length] = first_word(1);
  EXPECT_EQ(latency, 14U);
  EXPECT_EQ(length, 23U);  // 15 words and a slot
  EXPECT_EQ(first_word(2).second, 31U);
  EXPECT_EQ(first_word(3).first, 14U);
}

}  // namespace
}  // namespace stopbit::sim::remote
