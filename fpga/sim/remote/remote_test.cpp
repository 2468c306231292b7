// The card beside the software's publisher: the same bytes in the memory of each subscriber, the same rings, the same
// accounts.

#include "decoder/record/buffer_sink.hpp"
#include "remote_beside.hpp"
#include "remote_card.hpp"

namespace stopbit::sim::remote {
namespace {

using Beside = BasicBeside<Hardware>;

constexpr std::uint16_t kTickIndex = 0;

/// Records of the program of the tests of host/remote: channels 0 to 2, securities 0 to 5, books of up to `most`
/// entries.
class Records {
 public:
  Records() : builder_(program_) {}
  [[nodiscard]] const Program& program() const { return program_; }
  Slots next(Random& random) {
    Slots made;
    const auto keep = [&](std::span<const record::Slot> slots) { made.assign(slots.begin(), slots.end()); };
    record::BufferSink sink(program_.max_record_slots, keep);
    record::Header header;
    header.channel = static_cast<std::uint16_t>(random.below(3));
    header.sequence = ++sequence_;
    header.arrival_ns = random.bits() >> 2;
    builder_.begin(sink, header);
    const std::uint64_t kind = random.below(20);
    if (kind == 0) {
      record::Event event;
      event.kind = record::EventKind::Gap;
      event.word6 = random.below(9);
      builder_.write_event(sink, header, event, 0);
    } else if (kind < 12) {
      const Block& root = program_.blocks[program_.templates[0].root_block];
      EXPECT_TRUE(builder_.open_block(root, record::kHeaderWords));
      builder_.store(record::WordPlace::of(root, record::kHeaderWords, 0), random.below(6));
      if (random.chance(60)) {
        EXPECT_TRUE(builder_.store(record::WordPlace::of(root, record::kHeaderWords, 1),
                                   random.chance(50) ? std::string_view("ABC") : std::string_view("a longer symbol")));
      }
      EXPECT_TRUE(builder_.commit(0, 0, 0));
    } else {
      const Block& root = program_.blocks[program_.templates[1].root_block];
      const std::uint64_t entries = random.below(program_.max_record_slots);
      EXPECT_TRUE(builder_.open_block(root, record::kHeaderWords));
      builder_.store(record::WordPlace::of(root, record::kHeaderWords, 0), entries);
      for (std::uint64_t i = 0; i < entries; ++i) {
        EXPECT_TRUE(builder_.open_block(program_.blocks[2], 0));
        builder_.store(record::WordPlace::of(program_.blocks[2], 0, 0), random.below(6));
      }
      EXPECT_TRUE(builder_.commit(1, 0, 0));
    }
    EXPECT_FALSE(made.empty());
    return made;
  }

 private:
  static Program with_longer_records() {
    Program program = far::market();
    program.max_record_slots = 9;
    return program;
  }
  Program program_ = with_longer_records();
  record::Builder builder_;
  std::uint32_t sequence_ = 0;
};

/// A filter that both can express: the value is that of ticks, which have it in their root block.
Wanted random_filter(Random& random, std::size_t patterns) {
  Wanted wanted;
  for (std::size_t i = 0; i < patterns; ++i) {
    far::Filter::Pattern pattern;
    device::Filter filter;
    pattern.mask = {0, 0, 0};
    if (random.chance(60)) {
      filter.channel = static_cast<std::uint16_t>(random.below(3));
      pattern.wanted.channel = *filter.channel;
      pattern.mask.channel = ~std::uint32_t{0};
    }
    const std::uint64_t kind = random.below(3);
    if (kind != 0) {
      const bool is_tick = kind == 1;
      filter.template_index = is_tick ? kTickIndex : kTickIndex + 1;
      pattern.wanted.template_id = is_tick ? far::kTick : far::kBook;
      pattern.mask.template_id = ~std::uint32_t{0};
      if (is_tick && random.chance(70)) {
        filter.mask = random.chance(50) ? ~std::uint64_t{0} : 1 + random.below(3);
        filter.value = random.below(6) & filter.mask;
        filter.word = 0;
        pattern.mask.value = filter.mask;
        pattern.wanted.value = filter.value;
        wanted.filter.field = "SecurityID";
      }
    }
    wanted.filter.patterns.push_back(pattern);
    wanted.on_card.push_back(filter);
  }
  return wanted;
}

TEST(RemoteCard, sends_what_the_software_sends) {
  Records records;
  Random random(seed());
  std::size_t all = 0;
  for (int round = 0; round < by_form(4, 200); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<Wanted> wanted{everything()};
    for (int i = 0; i < 3; ++i) wanted.push_back(random_filter(random, 1 + random.below(4)));
    // Channels whose messages hold one slot of a record, beside those with two.
    if (round % 3 == 1) wanted[0].layout = {.slots = 400, .slot_bytes = 104};
    if (round % 3 == 2) wanted[1].layout = {.slots = 300, .slot_bytes = 112};
    Beside both(records.program(), 128, wanted, seed() + static_cast<std::uint64_t>(round));
    static constexpr std::uint32_t kStalls[] = {0, 30, 80};
    both.hardware().card.stall_percent = kStalls[round % 3];
    both.hardware().unit.stall_percent = kStalls[round / 2 % 3] / 2;
    both.hardware().card.gap_percent = kStalls[round / 3 % 3];
    for (int i = 0; i < 160; ++i) {
      both.publish(records.next(random));
      if (i % 12 == 11) both.compare();
      if (::testing::Test::HasFailure()) return;
    }
    for (const std::size_t size : both.finish()) all += size;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(all, 1'000U);
}

TEST(RemoteCard, begins_where_a_late_subscriber_comes) {
  Records records;
  Random random(seed() + 1);
  Beside both(records.program(), 128, {everything()}, seed());
  for (int i = 0; i < 40; ++i) both.publish(records.next(random));
  both.compare();
  both.subscribe(everything());
  for (int i = 0; i < 30; ++i) both.publish(records.next(random));
  const std::vector<std::size_t> sizes = both.finish();
  EXPECT_EQ(sizes[0], 70U);
  EXPECT_EQ(sizes[1], 30U);
}

TEST(RemoteCard, tells_positions_and_the_end_as_the_software_does) {
  Records records;
  Random random(seed() + 2);
  Wanted nothing;
  far::Filter::Pattern pattern;
  pattern.mask = {~std::uint32_t{0}, 0, 0};
  pattern.wanted.channel = 9;
  nothing.filter.patterns.push_back(pattern);
  nothing.on_card = {device::Filter{.channel = 9}};
  Beside both(records.program(), 128, {nothing}, seed());
  Slots record;
  do record = records.next(random);
  while (record::HeaderView(record[0]).is_event());
  both.publish(record);
  both.compare();
  EXPECT_EQ(both.hard_copy(0).messages, 0U);
  both.software().step(20);
  both.software().beat();
  EXPECT_TRUE(both.hardware().card.tell(0));
  both.compare();
  EXPECT_EQ(both.hard_copy(0).messages, 1U);
  EXPECT_EQ(both.hard_copy(0).head.kind, far::Batch::Records);
  EXPECT_EQ(both.hard_copy(0).head.reached.records, 1U);
  both.software().finish();
  both.software().step(20);
  EXPECT_TRUE(both.hardware().card.tell(0, true, 1));
  both.compare();
  EXPECT_EQ(both.hard_copy(0).messages, 2U);
  EXPECT_EQ(both.hard_copy(0).head.kind, far::Batch::Ended);
  EXPECT_EQ(both.hard_copy(0).head.how, 1U);
}

}  // namespace
}  // namespace stopbit::sim::remote
