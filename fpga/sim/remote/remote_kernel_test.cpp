// The kernel and its sender of records in one model: frames in, records into the ring in memory and, as packets, into
// the memory of subscribers, where the units of remote memory access in RTL put them. Beside it the software:
// interpreter, publisher, subscriptions.

#include "remote_kernel.hpp"
#include "host/remote/events.hpp"
#include "remote_beside.hpp"

namespace stopbit::sim::remote {
namespace {

using Kernel = BasicHardware<KernelCard>;

/// Datagrams on line 1, with gaps in their numbers and messages that do not decode among them.
class Traffic {
 public:
  explicit Traffic(std::uint64_t seed) : random(seed) {}
  /// Sends one. Returns the records that it has to become, without places in a ring.
  std::vector<Slots> send(FramesThroughKernel& frames) {
    if (random.chance(6)) sequence_ += static_cast<std::uint32_t>(random.below(4));
    ByteVector data;
    for (std::uint64_t messages = 1 + random.below(3); messages > 0; --messages) {
      data = data + (random.chance(40) ? wide(random) : quote(random, random.chance(30)));
    }
    if (random.chance(6)) data[random.below(data.size())] ^= static_cast<std::byte>(1U << random.below(8));
    const std::uint64_t arrival_ns = random.bits();
    const std::size_t before = frames.expected();
    frames.expect(1, ++sequence_, data, arrival_ns);
    frames.send(FramesThroughKernel::frame(1, sequence_, data), arrival_ns, false);
    const auto& all = frames.all_expected();
    return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
  }
  void begin_anew() { sequence_ = 0; }

  Random random;

 private:
  std::uint32_t sequence_ = 0;
};

Program program_of_quotes() {
  return bench::compile_text("quotes", kTemplates).value();
}
/// Room for the longest record at the end of the ring.
std::uint64_t slots_for(const Program& program) {
  std::uint64_t slots = 1024;
  while (slots < 8ULL * program.max_record_slots) slots *= 2;
  return slots;
}

Wanted of_template(std::uint16_t index) {
  Wanted wanted;
  far::Filter::Pattern pattern;
  pattern.mask = {0, ~std::uint32_t{0}, 0};
  pattern.wanted.template_id = index + 1U;
  wanted.filter.patterns.push_back(pattern);
  wanted.on_card = {device::Filter{.template_index = index}};
  return wanted;
}
/// Quotes with these sizes, of two filters.
Wanted of_sizes(const Program& program, std::uint64_t one, std::uint64_t bits) {
  Wanted wanted = of_template(0);
  const auto filter = device::filter_by_integer(program, "Quote", "Size", static_cast<std::int64_t>(one));
  EXPECT_TRUE(filter.ok()) << filter.message();
  wanted.filter.field = "Size";
  wanted.filter.patterns[0].mask.value = ~std::uint64_t{0};
  wanted.filter.patterns[0].wanted.value = one;
  wanted.filter.patterns.push_back(wanted.filter.patterns[0]);
  wanted.filter.patterns[1].mask.value = bits;
  wanted.filter.patterns[1].wanted.value = bits;
  wanted.on_card = {filter.value(), filter.value()};
  wanted.on_card[1].mask = wanted.on_card[1].value = bits;
  return wanted;
}

void both_publish_the_same(std::uint64_t seed, bool uses_router) {
  const Program program = program_of_quotes();
  Traffic traffic(seed);
  Wanted narrow = everything();
  narrow.layout = {.slots = 400, .slot_bytes = 104};  // one slot in a message
  BasicBeside<Kernel> both(program, slots_for(program), {everything(), of_template(1), of_sizes(program, 5, 3), narrow},
                           seed);
  KernelCard& card = both.hardware().card;
  if (uses_router) {
    card.uses_router = true;
    both.hardware().set_filters();
  }
  std::size_t late = 0;
  const int datagrams = by_form(120, 2'000);
  for (int i = 0; i < datagrams; ++i) {
    for (const Slots& record : traffic.send(card.frames)) {
      both.software().publish(record);
      late += i >= datagrams / 2 ? 1 : 0;
    }
    if (i % 6 == 5 || i == datagrams / 2 - 1) both.compare();
    if (i == datagrams / 2 - 1) both.subscribe(of_template(0));
    if (::testing::Test::HasFailure()) return;
  }
  const std::vector<std::size_t> sizes = both.finish();
  EXPECT_EQ(sizes[0], card.frames.expected());
  EXPECT_EQ(sizes[3], sizes[0]);
  EXPECT_GT(sizes[1], 30U);
  EXPECT_LT(sizes[1], sizes[0]);
  EXPECT_GT(sizes[2], 5U);
  EXPECT_LT(sizes[2], sizes[0] - sizes[1]);
  EXPECT_GT(sizes[4], 10U);
  EXPECT_LT(sizes[4], late);
  EXPECT_GT(card.frames.gaps(), 2U);
  // The end, as both say it.
  both.software().finish();
  both.software().step(20);
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_TRUE(card.tell(i, true, 1));
  both.compare();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_EQ(both.hard_copy(i).head.kind, far::Batch::Ended);
    EXPECT_EQ(both.hard_copy(i).head.reached, both.soft_copy(i).head.reached);
  }
  // And the ring in memory has everything, too.
  card.frames.check();
}

TEST(KernelRemote, sends_what_the_software_sends_while_it_fills_the_ring_in_memory) {
  both_publish_the_same(2 * seed(), false);
}
TEST(KernelRemote, does_so_when_all_ports_stall_and_filters_serve_both) {
  both_publish_the_same(2 * seed() + 1, true);
}

class KernelRemoteAlone : public ::testing::Test {
 protected:
  void start() {
    const Program program = program_of_quotes();
    slots_ = slots_for(program);
    hardware_.card.start(static_cast<unsigned>(__builtin_ctzll(slots_)), program.max_record_slots);
    records_.clear();
  }
  std::size_t subscribe(std::uint32_t slots) {
    Wanted wanted = everything();
    wanted.layout.slots = slots;
    (void)hardware_.subscribe(wanted);
    copies_.push_back(std::make_unique<Copy>(program_of_quotes(), slots_));
    got_.emplace_back();
    return copies_.size() - 1;
  }
  void publish(int datagrams) {
    for (int i = 0; i < datagrams; ++i) {
      for (Slots& record : traffic_.send(hardware_.card.frames)) records_.push_back(std::move(record));
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
  /// Each record is there, or an event in its place counts it.
  void expect_accounted(std::size_t i) {
    SCOPED_TRACE("subscriber " + std::to_string(i));
    const Progress progress = hardware_.card.progress(i);
    EXPECT_EQ(got_[i].lost, progress.lost);
    EXPECT_EQ(got_[i].records.size(), progress.records);
    std::size_t number = 0;
    for (const far::Record& record : got_[i].records) {
      const bool is_lost_event = (record[0] & 0xFFFF) == record::kEventIndex && (record[4] & 0xFF) == 8;
      if (is_lost_event) {
        number += record[6];
        continue;
      }
      ASSERT_LT(number, records_.size());
      ASSERT_EQ(record, far::without_numbers(records_[number])) << "record " << number;
      ++number;
    }
    EXPECT_EQ(number, records_.size());
    EXPECT_EQ(hardware_.card.position().records, records_.size());
  }

  Kernel hardware_{2 * seed()};
  Traffic traffic_{seed() + 9};
  std::uint64_t slots_ = 0;
  std::vector<std::unique_ptr<Copy>> copies_;
  std::vector<Read> got_;
  std::vector<Slots> records_;
};

TEST_F(KernelRemoteAlone, a_network_that_takes_nothing_does_not_stop_the_decoder) {
  start();
  const std::size_t one = subscribe(512);
  KernelModel& model = hardware_.card.frames.model();
  publish(5);
  hardware_.settle();
  take(one);
  model.shut_node_network(true);
  const std::size_t before = records_.size();
  publish(90);
  for (std::uint64_t i = 0; i < 40'000 && (model.waiting() > 0 || model.quiet_cycles() < 400); ++i) hardware_.cycle();
  EXPECT_EQ(model.waiting(), 0U) << "frames wait for the network";
  hardware_.card.frames.check();  // all records are in the ring in memory
  // Requests of the host wait, and the registers go on to answer.
  EXPECT_FALSE(hardware_.card.ring().tell_position(0).ok());
  EXPECT_TRUE(hardware_.card.ring().state().value().waiting);
  EXPECT_EQ(hardware_.card.position().records, records_.size());
  model.shut_node_network(false);
  for (int i = 0; i < 3; ++i) {
    hardware_.settle();
    take(one);
  }
  expect_accounted(one);
  EXPECT_GT(hardware_.card.overrun, 0U);
  EXPECT_GE(got_[one].lost_events, 1U);
  EXPECT_LT(hardware_.card.overrun, records_.size() - before);
  EXPECT_EQ(model.problem(), "");
}

TEST_F(KernelRemoteAlone, a_subscriber_that_does_not_read_loses_and_learns_how_many) {
  start();
  const std::size_t reads = subscribe(512);
  const std::size_t sleeps = subscribe(40);
  for (int i = 0; i < 8; ++i) {
    publish(6);
    hardware_.settle();
    take(reads);
  }
  EXPECT_EQ(hardware_.card.losing(), 2U);
  EXPECT_FALSE(hardware_.card.tell(sleeps, true, 1));
  // Until it has read everything, the event last.
  for (int i = 0; i < 3; ++i) {
    take(sleeps);
    hardware_.settle();
  }
  EXPECT_EQ(hardware_.card.losing(), 0U);
  expect_accounted(reads);
  expect_accounted(sleeps);
  EXPECT_EQ(got_[reads].lost, 0U);
  EXPECT_GT(got_[sleeps].lost, 20U);
  EXPECT_TRUE(hardware_.card.tell(sleeps, true, 2));
  hardware_.settle();
  take(sleeps);
  EXPECT_EQ(copies_[sleeps]->head.kind, far::Batch::Ended);
  EXPECT_EQ(copies_[sleeps]->head.how, 2U);
  EXPECT_EQ(copies_[sleeps]->head.reached.records, records_.size());
  hardware_.card.frames.check();
}

TEST_F(KernelRemoteAlone, nothing_is_left_after_a_reset_in_the_middle) {
  for (int round = 0; round < by_form(3, 40); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    start();
    if (round == 0) (void)subscribe(512);
    Kernel::Member& member = *hardware_.members[0];
    const auto open = [&] {
      std::fill(member.landing.begin(), member.landing.end(), std::byte{0});
      member.events.counts.clear();
      copies_[0] = std::make_unique<Copy>(program_of_quotes(), slots_);
      got_[0] = {};
      hardware_.set_filters();
      hardware_.open(member);
    };
    open();
    publish(12);
    for (std::uint64_t i = traffic_.random.below(3'000); i > 0; --i) hardware_.cycle();
    hardware_.card.reset();
    traffic_.begin_anew();
    hardware_.settle();
    // No ring, no subscriber, no filter; and a new start.
    start();
    const device::FarState state = hardware_.card.ring().state().value();
    EXPECT_EQ(state.open, 0U);
    EXPECT_FALSE(state.waiting);
    const std::uint64_t packets = hardware_.card.packets;
    publish(2);
    hardware_.settle();
    EXPECT_EQ(hardware_.card.packets, packets);
    open();
    EXPECT_EQ(member.begun.records, records_.size());
    records_.clear();
    publish(6);
    hardware_.settle();
    take(0);
    ASSERT_EQ(got_[0].records.size(), records_.size());
    for (std::size_t i = 0; i < records_.size(); ++i) {
      ASSERT_EQ(got_[0].records[i], far::without_numbers(records_[i])) << "record " << i;
    }
    hardware_.card.frames.check();
    (void)hardware_.card.set(0, {});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim::remote
