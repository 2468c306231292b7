#include <algorithm>

#include "tests/lib/form.hpp"
#include "velo_fixture.hpp"

// What ports, nodes, hosts and memory can do to the message unit, and to each other through it.

namespace stopbit::sim::velo {
namespace {

using VeloHostile = VeloTest;

constexpr std::uint64_t kMemory = 0x2000'0000;  // of segments

/// The unit does all that it should: a message of one packet and one of several, of both priorities.
#define EXPECT_WORKS(port)                                                                                  \
  do {                                                                                                      \
    for (const bool is_high : {false, true}) {                                                              \
      open(port);                                                                                           \
      EXPECT_EQ(deliver(port, is_high, {9, 9, 0, 0, kDomain, false}, some_bytes(8)).error, Error::None);    \
      EXPECT_EQ(deliver(port, is_high, {9, 9, 0, 0, kDomain, false}, some_bytes(2048)).error, Error::None); \
    }                                                                                                       \
  } while (false)

TEST_F(VeloHostile, random_packets_are_counted_or_reported_and_hold_up_nothing) {
  for (std::uint64_t port = 0; port < 64; ++port) open(port);
  unit_.ignores_accepts = true;
  const std::uint64_t rounds = by_form<std::uint64_t>(2'000, 10'000, 1'000'000);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const std::uint64_t target = unit_.random.below(64);
    const std::size_t bytes = 1 + unit_.random.below(unit_.random.chance(50) ? 40 : 2048);
    std::vector<Packet> packets = packets_of(
        Start{target, kNode, 0, unit_.random.below(2), 0, false, 0},
        wire({unit_.random.below(3), unit_.random.below(2), 0, 0, kDomain, false}, bytes), to_words(some_bytes(bytes)));
    std::vector<Word> words;
    for (const Packet& packet : packets) words.insert(words.end(), packet.begin(), packet.end());
    for (std::uint64_t turns = 1 + unit_.random.below(3); turns > 0; --turns) {
      Word& word = words[unit_.random.chance(50) ? unit_.random.below(std::min<std::size_t>(words.size(), 4))
                                                 : unit_.random.below(words.size())];
      switch (unit_.random.below(8)) {
        case 0: word.data = unit_.random.bits(); break;
        case 1: word.data ^= std::uint64_t{1} << unit_.random.below(64); break;
        case 2: word.is_first = !word.is_first; break;
        case 3: word.is_last = !word.is_last; break;
        case 4: word.is_bad = !word.is_bad; break;
        case 5: words.erase(words.begin() + static_cast<std::ptrdiff_t>(unit_.random.below(words.size()))); break;
        case 6:
          words.insert(words.begin() + static_cast<std::ptrdiff_t>(unit_.random.below(words.size())),
                       Word{false, false, false, unit_.random.bits()});
          break;
        default: words.resize(1 + unit_.random.below(words.size())); break;
      }
      if (words.empty()) break;
    }
    unit_.to_come.insert(unit_.to_come.end(), words.begin(), words.end());
    ASSERT_TRUE(unit_.until([&] { return unit_.to_come.empty(); })) << "round " << i;
    if (i % 64 == 0) {
      for (std::uint64_t port = 0; port < 64; ++port) {
        for (const bool is_high : {false, true})
          unit_.set_ring(ring_of(port, is_high), false, {true, false, 2, 64, place_of(ring_of(port, is_high)), 0});
      }
    }
  }
  EXPECT_GT(unit_.events.malformed, rounds / 20);
  EXPECT_GT(unit_.events.foreign, rounds / 200);
  EXPECT_GT(unit_.events.unfinished, rounds / 2'000);
  EXPECT_GT(unit_.reports.size(), rounds / 20);
  unit_.ignores_accepts = false;
  // A word that ends whatever is still open, then messages as ever.
  unit_.to_come.push_back({false, true, false, 0});
  unit_->patience_i = 1;
  for (int i = 0; i < 3; ++i) unit_.tick();
  settle();
  EXPECT_WORKS(1);
}

TEST_F(VeloHostile, each_malformed_packet_is_counted_once_and_changes_nothing) {
  open(5);
  const Start start{5, kNode, 0, 0, 0, false, 0};
  const auto whole = packets_of(start, wire({}, 20), to_words(some_bytes(20)))[0];
  const auto part = packets_of(start, wire({}, 300), to_words(some_bytes(300)));
  const auto counts = [&](const std::vector<Packet>& packets, const Events& wanted, const char* what) {
    unit_.events = {};
    unit_.come(packets);
    ASSERT_TRUE(unit_.until([&] { return unit_.to_come.empty(); }));
    unit_.cycles(30);
    EXPECT_EQ(unit_.events.malformed, wanted.malformed) << what;
    EXPECT_EQ(unit_.events.foreign, wanted.foreign) << what;
    EXPECT_EQ(unit_.events.unfinished, wanted.unfinished) << what;
    EXPECT_EQ(unit_.events.crowded, wanted.crowded) << what;
    EXPECT_TRUE(unit_.reports.empty()) << what;
  };
  const auto with_start = [&](Packet packet, const Start& other) {
    packet[0].data = other.data() & kStartBits;
    return packet;
  };
  Events malformed;
  malformed.malformed = 1;
  Events foreign;
  foreign.foreign = 1;
  Events unfinished;
  unfinished.malformed = unfinished.unfinished = 1;
  const auto shorter = [](Packet packet, std::size_t words) {
    packet.resize(words);
    packet.back().is_last = true;
    return packet;
  };
  counts({with_start(whole, {5, kNode + 1, 0, 0, 0, false, 0})}, foreign, "another node");
  counts({with_start(whole, {5, kNode, 1, 0, 0, false, 0})}, foreign, "another unit");
  counts({with_start(whole, {5, kNode, 0, 2, 0, false, 0})}, malformed, "class 2");
  counts({with_start(whole, {5, kNode, 0, 3, 0, false, 0})}, malformed, "class 3");
  for (std::size_t words = 1; words < whole.size(); ++words) counts({shorter(whole, words)}, malformed, "too short");
  Packet longer = whole;
  longer.back().is_last = false;
  for (int i = 0; i < 20; ++i) longer.push_back({false, i == 19, false, 1});
  counts({longer}, malformed, "too long");
  counts({Packet{{false, true, false, 5}}}, malformed, "a word outside of a packet");
  counts({part[1]}, malformed, "the second part first");
  for (std::size_t words = 1; words < part[0].size(); ++words)
    counts({shorter(part[0], words)}, malformed, "part too short");
  counts(
      {part[0], part[0], part[0]},
      [] {
        Events e;
        e.unfinished = 2;
        return e;
      }(),
      "the first part again");
  Packet other = part[1];
  other[1].data ^= protocol::kVeloWireTag.put(1);
  counts({other}, unfinished, "of a message with another tag");
  counts({part[0]}, {}, "the first part");
  other = part[1];
  other[2].data += 1;
  counts({other}, unfinished, "at another place");
  counts({part[0]}, {}, "the first part");
  other = part[1];
  other[2].data |= std::uint64_t{1} << 63U;
  counts({other}, unfinished, "with bits that are none");
  counts({part[0]}, {}, "the first part");
  other = part[1];
  other[2].data &= ~std::uint64_t{0xFF};
  other[2].data |= std::uint64_t{1} << 20U;
  counts({other}, unfinished, "a place of 0 with such bits");
  EXPECT_EQ(memory_.size(), 0U);
  // A packet that begins in another one takes its place.
  Packet cut = whole;
  cut.resize(3);
  unit_.events = {};
  unit_.come({cut, whole});
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 1; }));
  EXPECT_EQ(unit_.events.malformed, 1U);
  EXPECT_WORKS(6);
}

TEST_F(VeloHostile, senders_that_never_finish_leave_room_for_others) {
  open(5);
  const auto first_part = [&](std::uint64_t sender, bool is_high) {
    return packets_of(Start{5, kNode, 0, is_high ? 1U : 0U, 0, false, 0}, wire({3, sender, 0, 0, kDomain, false}, 600),
                      to_words(some_bytes(600)))[0];
  };
  for (std::uint64_t sender = 0; sender < 20; ++sender) unit_.come({first_part(sender, sender % 2 == 0)});
  ASSERT_TRUE(unit_.until([&] { return unit_.to_come.empty(); }));
  unit_.cycles(5);
  EXPECT_EQ(unit_.events.crowded, 16U) << "two of each priority";
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(deliver(5, i % 2 == 0, {9, 9, 0, 0, kDomain, false}, some_bytes(200)).error, Error::None);
  // They end by themselves, once or twice the patience after their last packet.
  unit_->patience_i = 10;
  for (int i = 0; i < 9; ++i) unit_.tick();
  EXPECT_EQ(unit_.events.unfinished, 0U);
  for (int i = 0; i < 12; ++i) {
    unit_.tick();
    unit_.cycles(2);
  }
  unit_.cycles(10);
  EXPECT_EQ(unit_.events.unfinished, 4U);
  EXPECT_WORKS(6);
}

TEST_F(VeloHostile, a_long_message_waits_once_to_twice_the_patience_and_then_ends_by_itself) {
  open(5);
  unit_->patience_i = 10;
  const Start start{5, kNode, 0, 1, 0, false, 0};
  const std::vector<std::byte> bytes = some_bytes(600);
  const std::vector<Packet> packets = packets_of(start, wire({}, 600), to_words(bytes));
  const auto ticks = [&](int count) {
    for (int i = 0; i < count; ++i) {
      unit_.tick();
      unit_.cycles(10);
    }
  };
  ticks(9);
  unit_.come({packets[0]});
  ASSERT_TRUE(unit_.until([&] { return unit_.to_come.empty(); }));
  unit_.cycles(5);
  ticks(10);
  EXPECT_EQ(unit_.events.unfinished, 0U);
  unit_.come({packets[1], packets[2]});
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 1; }));
  EXPECT_EQ(unit_.reports[0].error, Error::None);
  unit_.come({packets[0]});  // and nothing else
  ticks(21);
  EXPECT_EQ(unit_.events.unfinished, 1U);
  EXPECT_EQ(unit_.events.malformed, 0U);
}

TEST_F(VeloHostile, a_host_that_never_reads_holds_up_no_other_ring) {
  open(5);
  open(6);
  const std::vector<std::byte> bytes = some_bytes(500);
  std::uint64_t full = 0;
  for (int i = 0; i < 60; ++i) {
    unit_.set_limit(ring_of(6, false), false, static_cast<std::uint64_t>(i) * 9);
    full += deliver(5, false, {}, bytes).error == Error::Full;
    EXPECT_EQ(deliver(6, false, {}, bytes).error, Error::None);
  }
  EXPECT_EQ(full, 60U - 64 / 9);
}

TEST_F(VeloHostile, a_ring_that_holds_its_messages_holds_up_its_own_priority_and_only_once) {
  open(5);
  open(6);
  unit_.set_ring(ring_of(5, false), true, {true, false, 2, 4, kListAt, 10});
  unit_.set_limit(ring_of(5, false), true, 0);
  const std::vector<std::byte> bytes = some_bytes(8);
  come(5, false, {}, bytes);
  come(6, false, {}, bytes);
  come(6, true, {}, bytes);
  unit_.cycles(200);
  ASSERT_EQ(unit_.reports.size(), 1U);
  EXPECT_EQ(unit_.reports[0].target, 6U);
  EXPECT_TRUE(unit_.reports[0].is_high);
  EXPECT_EQ(unit_.holds, 1U);
  const auto ticks = [&](int count) {
    for (int i = 0; i < count; ++i) {
      unit_.tick();
      unit_.cycles(60);
    }
  };
  ticks(9);
  EXPECT_EQ(unit_.reports.size(), 1U);
  ticks(2);
  ASSERT_EQ(unit_.reports.size(), 3U);
  EXPECT_EQ(unit_.reports[1].error, Error::Full);
  EXPECT_EQ(unit_.reports[1].target, 5U);
  EXPECT_EQ(unit_.reports[2].error, Error::None);
  EXPECT_EQ(unit_.holds, 0U);
  // Not again, before it has taken something, or is set anew: a limit that is written changes nothing of that.
  unit_.set_limit(ring_of(5, false), true, 0);
  EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::Full);
  descriptors_[kListAt] = {kMemory, 1};
  unit_.set_limit(ring_of(5, false), true, 1);
  EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::None);
  const std::size_t before = unit_.reports.size();
  come(5, false, {}, bytes);
  ticks(5);
  EXPECT_EQ(unit_.holds, 1U);
  EXPECT_EQ(unit_.reports.size(), before);
  // What it waits for comes.
  descriptors_[kListAt + 16] = {kMemory + 4096, 1};
  unit_.set_limit(ring_of(5, false), true, 2);
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == before + 1; }));
  EXPECT_EQ(unit_.reports.back().error, Error::None);
  // A message to a group waits for no ring.
  unit_.set_member(0, 5);
  unit_.set_group(9, {true, kDomain, 0, 1});
  come(9, false, {}, bytes, false, true);
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == before + 2; }));
  EXPECT_EQ(unit_.reports.back().error, Error::Full);
}

TEST_F(VeloHostile, memory_that_never_answers_ends_a_ring_and_disturbs_no_other) {
  open(5);
  open(6);
  const std::vector<std::byte> bytes = some_bytes(8);
  for (const bool is_shut : {false, true}) {
    unit_.ends.clear();
    unit_.set_ring(ring_of(5, false), true, {true, false, 2, 4, kListAt, 0});
    unit_.set_limit(ring_of(5, false), true, 1);
    unit_.latency = [] { return std::uint64_t{1'500}; };
    unit_.memory_is_shut = is_shut;
    const Events events_before = unit_.events;
    const std::uint64_t failed = events_before.failed;
    const std::uint64_t begin = unit_.now();
    come(5, false, {}, bytes);
    const std::size_t reports = unit_.reports.size();
    ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == reports + 1; }));
    EXPECT_EQ(unit_.reports.back().error, Error::TargetTranslation);
    EXPECT_GE(unit_.now() - begin, kPatience);
    EXPECT_LE(unit_.now() - begin, kPatience + 50);
    unit_.cycles(10);
    ASSERT_EQ(unit_.ends.size(), 1U);
    EXPECT_EQ(unit_.ends[0].ring, ring_of(5, false));
    EXPECT_EQ(unit_.ends[0].error, Error::TargetTranslation);
    EXPECT_EQ(unit_.ends[0].culprit, 0U);
    EXPECT_EQ(unit_.events.failed, failed + 1);
    EXPECT_EQ(deliver(6, false, {}, bytes).error, Error::None);
    EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::TargetTranslation) << "until the ring is set anew";
    // The late answer reaches nothing.
    unit_.memory_is_shut = false;
    const std::uint64_t late = events_before.late_answers;
    unit_.cycles(2'000);
    EXPECT_EQ(unit_.events.late_answers, late + 1);
    unit_.latency = [] { return std::uint64_t{3}; };
    descriptors_[kListAt] = {kMemory, 8};
    unit_.set_ring(ring_of(5, false), true, {true, false, 2, 4, kListAt, 0});
    EXPECT_EQ(deliver(5, false, {}, bytes).error, Error::None);
    descriptors_.clear();
  }
  // Answers to nothing.
  for (unsigned tag = 0; tag < 4; ++tag) {
    const std::uint64_t late = unit_.events.late_answers;
    unit_.forged_answer = tag;
    unit_.cycles(3);
    EXPECT_EQ(unit_.events.late_answers, late + 1);
  }
  EXPECT_WORKS(7);
}

TEST_F(VeloHostile, a_read_that_is_never_taken_stays_and_ends_the_next_ring_as_well) {
  const std::vector<std::byte> bytes = some_bytes(8);
  unit_.memory_is_shut = true;
  for (const std::uint64_t port : {5, 6}) {
    open(port);
    unit_.set_ring(ring_of(port, false), true, {true, false, 2, 4, kListAt + port * 4096, 0});
    unit_.set_limit(ring_of(port, false), true, 1);
    EXPECT_EQ(deliver(port, false, {}, bytes).error, Error::TargetTranslation);
  }
  unit_.memory_is_shut = false;
  settle();
  EXPECT_WORKS(7);
}

TEST_F(VeloHostile, translation_that_never_answers_or_refuses_ends_a_ring) {
  open(5);
  const std::vector<std::byte> bytes = some_bytes(8);
  unit_.translate = [](std::uint64_t vpid, std::uint64_t page, std::uint64_t access) -> std::optional<std::uint64_t> {
    // The list may be read, its segments written; one of them is outside of what hardware can address.
    EXPECT_EQ(vpid, 5U);
    if (page == 0x100) return access == 1 ? std::optional<std::uint64_t>(kListAt / 4096) : std::nullopt;
    if (page == 0x203) return std::uint64_t{1} << 36U;
    if (page >= 0x200 && page < 0x208)
      return access == 2 ? std::optional<std::uint64_t>(kMemory / 4096 + page - 0x200) : std::nullopt;
    return std::nullopt;
  };
  const auto start = [&](std::uint64_t list, std::array<std::uint64_t, 2> descriptor) {
    descriptors_[kListAt] = descriptor;
    unit_.set_ring(ring_of(5, false), true, {true, true, 2, 4, list, 0});
    unit_.set_limit(ring_of(5, false), true, 1);
    return deliver(5, false, {}, bytes).error;
  };
  EXPECT_EQ(start(0x10'0000, {0x20'0000, 8}), Error::None);
  EXPECT_EQ(word_at(kMemory + 48), to_words(bytes)[0]);
  EXPECT_EQ(start(0x20'0000, {0x20'0000, 8}), Error::TargetTranslation) << "a list that may not be read";
  EXPECT_EQ(start(0x10'0000, {0x10'0000, 8}), Error::TargetTranslation) << "memory that may not be written";
  EXPECT_EQ(start(0x10'0000, {0x20'7000, 64}), Error::None);
  EXPECT_EQ(start(0x10'0000, {0x20'7000, 65}), Error::TargetTranslation) << "ends on another page";
  EXPECT_EQ(start(0x10'0000, {0x20'3000, 1}), Error::TargetTranslation) << "a page beyond the addresses of hardware";
  EXPECT_EQ(start(0x10'0000, {0x20'0000 + (std::uint64_t{1} << 39U), 1}), Error::TargetTranslation);
  unit_.translation_is_shut = true;
  EXPECT_EQ(start(0x10'0000, {0x20'0000, 8}), Error::TargetTranslation);
  EXPECT_EQ(start(0x10'0000, {0x20'0000, 8}), Error::TargetTranslation);
  unit_.translation_is_shut = false;
  settle();
  unit_.latency = [] { return std::uint64_t{2'000}; };
  EXPECT_EQ(start(0x10'0000, {0x20'0000, 8}), Error::TargetTranslation);
  unit_.latency = [] { return std::uint64_t{1}; };
  settle();
  EXPECT_GT(unit_.events.late_answers, 0U);
  EXPECT_EQ(start(0x10'0000, {0x20'0000, 8}), Error::None);
  // A reset while one is under way.
  unit_.latency = [] { return std::uint64_t{2'000}; };
  unit_.set_limit(ring_of(5, false), true, 2);
  come(5, false, {}, some_bytes(500));
  unit_.cycles(100);
  unit_.reset();
  unit_.latency = [] { return std::uint64_t{1}; };
  open(5);
  EXPECT_EQ(start(0x10'0000, {0x20'0000, 8}), Error::None);
  EXPECT_WORKS(7);
}

TEST_F(VeloHostile, each_wrong_descriptor_has_its_code) {
  open(5);
  const auto start = [&](std::array<std::uint64_t, 2> descriptor, std::uint64_t slot_size) {
    descriptors_[kListAt] = descriptor;
    unit_.set_ring(ring_of(5, false), true, {true, false, slot_size, 4, kListAt, 0});
    unit_.set_limit(ring_of(5, false), true, 1);
    return deliver(5, false, {}, some_bytes(8)).error;
  };
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 48U;
  EXPECT_EQ(start({kMemory, 1}, 2), Error::None);
  EXPECT_EQ(start({kMemory, 65'536}, 2), Error::None);
  EXPECT_EQ(start({kMemory, 0}, 2), Error::TargetLength);
  EXPECT_EQ(start({kMemory, 65'537}, 2), Error::TargetLength);
  EXPECT_EQ(start({kMemory, 0xFFFF'FFFF}, 2), Error::TargetLength);
  for (unsigned bit = 32; bit < 64; ++bit) EXPECT_EQ(start({kMemory, 1 | std::uint64_t{1} << bit}, 2), Error::Command);
  for (unsigned bit = 0; bit < 6; ++bit)
    EXPECT_EQ(start({kMemory | std::uint64_t{1} << bit, 1}, 0), Error::TargetOffset);
  EXPECT_EQ(start({kMemory + 64, 1}, 2), Error::None);
  EXPECT_EQ(start({kMemory + 64, 1}, 3), Error::TargetOffset);
  for (unsigned bit = 48; bit < 64; ++bit)
    EXPECT_EQ(start({kMemory | std::uint64_t{1} << bit, 1}, 2), Error::TargetTranslation);
  for (std::uint64_t size = 0; size < 4; ++size) {
    EXPECT_EQ(start({kEnd - 65'536 * (16U << size), 65'536}, size), Error::None);
    EXPECT_EQ(start({kEnd - 65'535 * (16U << size) / 128 * 128, 65'536}, size), Error::TargetTranslation);
  }
  EXPECT_WORKS(7);
}

TEST_F(VeloHostile, random_descriptors_never_make_the_unit_write_outside_of_them) {
  open(5);
  const std::uint64_t rounds = by_form<std::uint64_t>(300, 1'000, 100'000);
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pieces;
    const std::uint64_t size = unit_.random.below(4);
    for (std::uint64_t n = 0; n < 4; ++n) {
      std::array<std::uint64_t, 2> descriptor = {unit_.random.bits(), unit_.random.bits()};
      if (unit_.random.chance(80)) descriptor = {kMemory + unit_.random.below(4096) * 128, 1 + unit_.random.below(20)};
      descriptors_[kListAt + n * 16] = descriptor;
      pieces.emplace_back(descriptor[0], descriptor[0] + (descriptor[1] & 0x1'FFFF) * (16U << size));
    }
    unit_.set_ring(ring_of(5, false), true, {true, false, size, 4, kListAt, 0});
    unit_.set_limit(ring_of(5, false), true, 4);
    memory_.clear();
    for (int n = 0; n < 3; ++n)
      accepted += deliver(5, false, {}, some_bytes(1 + unit_.random.below(200))).error == Error::None;
    for (const auto& [address, word] : memory_) {
      ASSERT_TRUE(std::any_of(pieces.begin(), pieces.end(),
                              [&](const auto& piece) { return address >= piece.first && address < piece.second; }));
    }
  }
  EXPECT_GT(accepted, rounds / 4);
  EXPECT_WORKS(7);
}

TEST_F(VeloHostile, a_refused_message_gives_its_slots_back_once_however_long_the_host_waits) {
  open(5);
  open(6);
  unit_.set_port(6, {true, true, kDomain + 1, false, 0, 0});
  const std::vector<std::byte> bytes = some_bytes(100);
  unit_.memory_stall_percent = 100;
  for (int i = 0; i < 6; ++i) come(i < 4 ? 5 : 6, false, {}, bytes);
  unit_.cycles(400);
  EXPECT_LT(unit_.reports.size(), 6U);
  unit_.memory_stall_percent = 0;
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 6; }));
  EXPECT_EQ(unit_.reports.back().error, Error::Domain);
  settle();
  EXPECT_EQ(unit_.events.revoked, 2U);
}

TEST_F(VeloHostile, a_host_that_takes_no_writes_for_long_loses_nothing) {
  open(5);
  unit_.memory_stall_percent = 100;
  for (int i = 0; i < 30; ++i) come(5, i % 3 == 0, {}, some_bytes(100));
  unit_.cycles(5'000);
  EXPECT_FALSE(unit_.to_come.empty()) << "the network waits";
  EXPECT_GT(unit_.events.timed_out, 0U);
  EXPECT_EQ(unit_.events.timed_out, unit_.events.revoked);
  unit_.memory_stall_percent = 0;
  ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 30; }));
  settle();
  EXPECT_EQ(memory_.size(), 30U * 15);
  EXPECT_TRUE(std::all_of(unit_.reports.begin(), unit_.reports.end(),
                          [](const Report& each) { return each.error == Error::None; }));
}

TEST_F(VeloHostile, ports_with_messages_of_another_length_than_they_say_hurt_only_themselves) {
  open(2);
  for (const std::size_t said : {8U, 16U, 248U, 256U, 600U, 2048U}) {
    for (const std::size_t words : {0U, 1U, 2U, 31U, 32U, 40U, 75U, 300U}) {
      if ((said + 7) / 8 == words) continue;
      unit_.packets.clear();
      unit_.events = {};
      unit_.to_send.push_back(to_message(2, 0, command_to(3, 0, said), std::vector<std::uint64_t>(words, 5)));
      unit_.to_send.push_back(to_message(2, 0, command_to(3, 0, 8), std::vector<std::uint64_t>(1, 6)));
      ASSERT_TRUE(unit_.until([&] {
        return unit_.to_send.empty() && !unit_.packets.empty() && unit_.packets.back().size() == 3 &&
               unit_.packets.back()[2].data == 6;
      }));
      unit_.cycles(3);
      EXPECT_EQ(unit_.events.misshapen, 1U);
      // A message that is too short is marked as damaged; one that is too long ends where it said.
      const Packet& last = unit_.packets[unit_.packets.size() - 2];
      EXPECT_EQ(last.back().is_bad, words < (said + 7) / 8);
    }
  }
  // Words outside of a message.
  unit_.events = {};
  unit_.to_send.push_back(to_message(40, 0, command_to(3, 0, 8), std::vector<std::uint64_t>(40, 5)));
  unit_.to_send.push_back(to_message(2, 0, command_to(3, 0, 8), std::vector<std::uint64_t>(1, 6)));
  const std::size_t before = unit_.packets.size();
  ASSERT_TRUE(unit_.until([&] { return unit_.packets.size() == before + 1; }));
  EXPECT_EQ(unit_.refusals.size(), 1U);
}

TEST_F(VeloHostile, a_reset_in_the_middle_leaves_nothing_behind) {
  for (int round = 0; round < 30; ++round) {
    unit_.stall_percent = 20;
    unit_.memory_stall_percent = 40;
    open(5);
    unit_.set_ring(ring_of(5, true), true, {true, false, 2, 4, kListAt, 5});
    descriptors_[kListAt] = {kMemory, 3};
    unit_.set_limit(ring_of(5, true), true, 1);
    for (int i = 0; i < 20; ++i) {
      come(5, i % 2 == 0, {3, unit_.random.below(3), 0, 0, kDomain, false}, some_bytes(1 + unit_.random.below(900)));
      unit_.to_send.push_back(to_message(5, 0, command_to(3, 0, 600), std::vector<std::uint64_t>(75, 1)));
    }
    unit_.cycles(unit_.random.below(1'500));
    unit_.stall_percent = unit_.memory_stall_percent = 0;
    unit_.reset();
    unit_.reports.clear();
    unit_.packets.clear();
    words_written_ = 0;
    unit_.cycles(50);
    ASSERT_EQ(words_written_, 0U);
    ASSERT_TRUE(unit_.reports.empty());
    ASSERT_EQ(unit_.events, Events{});
    // No port is open, no group exists.
    come(5, false, {}, some_bytes(8));
    come(9, true, {}, some_bytes(8), false, true);
    ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() == 2; }));
    EXPECT_EQ(unit_.reports[0].error, Error::TargetVpid);
    EXPECT_EQ(unit_.reports[1].error, Error::TargetVpid);
    EXPECT_WORKS(6);
    unit_.set_port(5, {true, true, kDomain, false, 0, 0});
    EXPECT_EQ(deliver(5, true, {}, some_bytes(8)).error, Error::TargetVpid) << "its rings are none";
  }
}

}  // namespace
}  // namespace stopbit::sim::velo
