#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/device/sim/sim_card.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/card_leaf.hpp"
#include "tests/lib/frames.hpp"
#include "tests/lib/igmp_frames.hpp"
#include "tests/lib/one_card.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/snooping_switch.hpp"

// An appliance whose card receives from its own port: frames go into the simulated card's network, the same datagrams
// to an appliance in software, and both must publish, report and count the same. Then what becomes of a card that
// fails.

namespace stopbit::test {
namespace {

namespace frames = net::testing;
using frames::operator+;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(60);  // a simulated card is slow
constexpr std::uint64_t kPublished = 2'000'000;       // counters are at most a millisecond old
constexpr std::uint64_t kLooked = 200'000'000;        // and those of the card a tenth of a second
constexpr std::uint32_t kSender = 0x0A010203;

/// The card, until it leaves the bus or hangs.
class Slot final : public device::Device {
 public:
  explicit Slot(device::Device& in) : in_(in) {}
  Result<std::uint32_t> read(std::uint32_t offset) override {
    ++reads;
    if (is_empty) return std::uint32_t{0xFFFF'FFFF};
    return in_.read(offset);
  }
  Status write(std::uint32_t offset, std::uint32_t value) override {
    if (is_empty) return Done{};
    return in_.write(offset, value);
  }
  Result<std::unique_ptr<device::HostBuffer>> allocate(std::size_t bytes) override { return in_.allocate(bytes); }
  /// The hardware is reset, which a card that hangs answers again after.
  Status reset() override {
    if (!hangs) return Failure{"it is not there"};
    const Status done = in_.reset();
    if (done) is_empty = hangs = false;
    return done;
  }
  bool is_empty = false;
  bool hangs = false;  ///< Is not empty, but looks so.
  std::uint64_t reads = 0;

 private:
  device::Device& in_;
};

frames::ByteVector frame(net::Endpoint group, const std::vector<std::byte>& payload) {
  const frames::ByteVector udp =
      frames::be16(20'000) + frames::be16(group.port) + frames::be16(8 + payload.size()) + frames::be16(0) + payload;
  frames::ByteVector bytes = frames::ethernet(
      frames::bytes({0x45, 0}) + frames::be16(20 + udp.size()) + frames::be16(7) + frames::be16(0x4000) +
      frames::bytes({16, 17}) + frames::be16(0) + frames::be32(kSender) + frames::be32(group.address) + udp);
  if (bytes.size() < 60) bytes.resize(60);  // as on the wire
  return bytes;
}

class LiveCardAppliance : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto sim = device::SimCard::prepare(testing::leaf_of_run());
    ASSERT_TRUE(sim.ok()) << sim.message();
    auto opened = sim.value()->opener()();
    ASSERT_TRUE(opened.ok()) << opened.message();
    device_ = std::move(opened).value();
    auto network = device::FeedNetwork::connect(sim.value()->feed());
    ASSERT_TRUE(network.ok()) << network.message();
    network_ = std::move(network).value();
  }
  static void TearDownTestSuite() {
    network_.reset();
    device_.reset();
  }
  void SetUp() override {
    ASSERT_NE(network_, nullptr);
    slot_.emplace(*device_);
  }
  void TearDown() override {
    slot_->is_empty = slot_->hangs = false;  // so that its ring can be ended
    card_.reset();
  }

  using Change = std::function<void(appliance::Settings&)>;
  OneChannel& make(const std::string& clock = "mac", const std::string& more = "", const Change& change = {}) {
    card_ = std::make_unique<OneChannel>(
        "mode = \"fast\"\n",
        "engine = \"xrt\"\n[card]\nxclbin = \"sim\"\ningress = \"port\"\nclock = \"" + clock + "\"\n" + more, change,
        appliance::Topology(), [this](const device::CardOptions& options) -> Result<std::unique_ptr<device::Card>> {
          EXPECT_TRUE(options.has_own_port);
          return std::unique_ptr<device::Card>(new OneCard(*slot_));
        });
    return *card_;
  }
  /// To the card's port.
  static void send(net::Endpoint group, const std::vector<std::byte>& payload, std::uint64_t arrival_ns = 0) {
    const Status sent = network_->send(frame(group, payload), 0, arrival_ns);
    ASSERT_TRUE(sent.ok()) << sent.message();
  }
  /// Works until the ring has this many records.
  std::vector<std::vector<record::Slot>> records(OneChannel& one, std::size_t count) {
    std::vector<std::vector<record::Slot>> all;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (all.size() < count && std::chrono::steady_clock::now() < end) {
      one.work();
      while (one.reader->poll() == ring::Poll::Record) {
        all.emplace_back(one.reader->record().begin(), one.reader->record().end());
      }
      if (all.size() < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(all.size(), count);
    return all;
  }
  /// Until the card has looked at its registers, and the counters are up to date.
  static void look(OneChannel& one) {
    one.now += kLooked;
    one.work();
    one.now += kPublished;
    one.work();
  }
  static std::uint64_t count(OneChannel& one, const char* family) { return one.counts().sum(family); }

  static std::unique_ptr<device::Device> device_;
  static std::unique_ptr<device::FeedNetwork> network_;
  std::optional<Slot> slot_;
  std::unique_ptr<OneChannel> card_;
};
std::unique_ptr<device::Device> LiveCardAppliance::device_;
std::unique_ptr<device::FeedNetwork> LiveCardAppliance::network_;

/// A record apart from its place in the ring. The card counts datagrams by itself, in events of errors.
std::vector<record::Slot> without_place(std::vector<record::Slot> record) {
  record[0].words[0] &= 0xFFFF'FFFF;
  for (record::Slot& slot : record) slot.words[record::kTagWord] &= ~(std::uint64_t{1} << 63);
  const record::HeaderView header(record[0]);
  if (header.is_event() && record::EventView(record[0]).kind() == record::EventKind::DecodeError) {
    record[0].words[6] = 0;
  }
  return record;
}

std::vector<std::string> gaps_of(OneChannel& one) {
  std::vector<std::string> all;
  appliance::AgentEvent event;
  while (one.made->next_event(event)) {
    if (event.kind != appliance::AgentEvent::Kind::Gap) continue;
    all.push_back(std::to_string(event.first) + "+" + std::to_string(event.count) + " epoch " +
                  std::to_string(event.epoch) + " reason " + std::to_string(event.detail) + " at " +
                  std::to_string(event.time_ns));
  }
  return all;
}

TEST_F(LiveCardAppliance, publishes_reports_and_counts_what_software_does_with_the_same_frames) {
  OneChannel& card = make();
  ASSERT_TRUE(card.made) << card.problem;
  EXPECT_EQ(card.made->on_card(), card.folder.path("ring"));
  OneChannel software("mode = \"fast\"\n", "engine = \"interp\"\n");
  ASSERT_TRUE(software.made);
  cases::Random random(41);
  std::vector<std::pair<std::size_t, std::vector<std::byte>>> late;
  std::uint32_t sequence = 500;
  std::size_t strangers = 0;
  std::vector<std::vector<record::Slot>> expected;
  std::vector<std::vector<record::Slot>> got;
  // The card holds only a few reports of gaps until they are read, and on a busy machine it lags.
  const auto catch_up = [&] {
    while (software.reader->poll() == ring::Poll::Record) {
      expected.emplace_back(software.reader->record().begin(), software.reader->record().end());
    }
    for (auto& record : records(card, expected.size() - got.size())) got.push_back(std::move(record));
  };
  const auto both = [&](std::size_t line, const std::vector<std::byte>& payload) {
    software.now += 1'000;
    const net::Endpoint group = line == 0 ? kGroupA : line == 1 ? kGroupB : net::Endpoint{0xE000'0009, 1000};
    send(group, payload, software.now);
    software.port(line == 1 ? "right" : "left")
        .items.push_back({payload, group, software.now, kSender, record::TimeQuality::Hardware});
    software.work();
    // The ports of the card's own appliance are silent: all that it has comes from the card.
    card.work();
  };
  for (int i = 0; i < 300; ++i) {
    sequence += 1 + static_cast<std::uint32_t>(random.chance(10) ? 1 + random.below(3) : 0);
    std::vector<std::byte> payload = tick(sequence, static_cast<std::uint32_t>(random.below(100'000)));
    if (random.chance(10)) payload.insert(payload.end(), {std::byte{0xC0}, std::byte{0x81}, std::byte{0x85}});
    const bool is_good = !random.chance(10);
    if (!is_good && random.chance(50)) payload[6] = std::byte{0x82};    // no template 2
    if (!is_good && payload[6] != std::byte{0x82}) payload.pop_back();  // cut in a value
    const std::size_t line = random.below(2);
    if (random.chance(5)) {
      ++strangers;
      both(2, payload);
    }
    if (random.chance(5)) {
      late.emplace_back(line, payload);  // overtaken by the next one
      continue;
    }
    both(line, payload);
    // An undecodable first copy: software would try the second one.
    if (is_good && random.chance(70)) both(1 - line, payload);
    for (const auto& [of, overtaken] : late) both(of, overtaken);
    late.clear();
    if (i % 10 == 9) catch_up();
    if (HasFailure()) return;
  }
  both(0, tick(sequence + 1, 1));
  catch_up();
  ASSERT_GT(expected.size(), 250U);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto ours = without_place(got[i]);
    const auto theirs = without_place(expected[i]);
    ASSERT_EQ(ours.size(), theirs.size()) << "record " << i;
    for (std::size_t s = 0; s < ours.size(); ++s) {
      for (std::size_t word = 0; word < record::kSlotWords; ++word) {
        ASSERT_EQ(ours[s].words[word], theirs[s].words[word]) << "record " << i << ", slot " << s << ", word " << word;
      }
    }
  }
  EXPECT_EQ(gaps_of(card), gaps_of(software));

  look(card);
  look(software);
  for (const char* family : {"packets_delivered",
                             "packets_malformed",
                             "numbers_expected",
                             "numbers_delivered",
                             "numbers_lost",
                             "gaps",
                             "epoch",
                             "next_sequence",
                             "channel_state",
                             "last_delivery_time",
                             "datagrams",
                             "channel_messages",
                             "decode_errors",
                             "unknown_template",
                             "waiting_for_reset",
                             "ring_records",
                             "ring_events",
                             "ring_slots",
                             "messages",
                             "errors"}) {
    EXPECT_EQ(count(card, family), count(software, family)) << family;
  }
  EXPECT_GT(count(software, "gaps"), 10U);
  EXPECT_GT(count(software, "packets_late"), 3U);
  EXPECT_GT(count(software, "decode_errors"), 3U);
  EXPECT_EQ(count(card, "card_packets_passed"), count(software, "packets_delivered"));
  EXPECT_EQ(count(card, "card_packets_duplicate"), count(software, "packets_duplicate"));
  EXPECT_EQ(count(card, "card_packets_late"), count(software, "packets_late"));
  EXPECT_EQ(count(card, "card_gaps"), count(software, "gaps"));
  EXPECT_EQ(count(card, "card_numbers_missing"), count(software, "numbers_lost"));
  EXPECT_EQ(count(card, "port_frames"), count(software, "port_frames"));
  EXPECT_EQ(count(card, "port_foreign"), strangers);
  EXPECT_EQ(count(software, "port_foreign"), strangers);
  EXPECT_EQ(count(card, "card_receiving"), 1U);
  EXPECT_EQ(count(card, "card_engines"), testing::engines_of_run());
  EXPECT_EQ(count(card, "card_failures"), 0U);
  EXPECT_EQ(count(card, "card_faults"), 0U);
  EXPECT_EQ(card.made->take_card_failure(), "");
  card.expect_balanced();
}

/// Ticks `from` to `to` on both lines of the host's ports.
void host_hears(OneChannel& one, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t sequence = from; sequence <= to; ++sequence) {
    one.give(0, tick(sequence, sequence * 10));
    one.give(1, tick(sequence, sequence * 10));
  }
  one.work();
}

std::vector<std::uint32_t> sequences(const std::vector<OneChannel::Seen>& seen) {
  std::vector<std::uint32_t> out;
  for (const OneChannel::Seen& one : seen) {
    if (one.is_event) continue;
    EXPECT_EQ(one.value, one.sequence * 10U);
    out.push_back(one.sequence);
  }
  return out;
}

std::vector<std::uint32_t> from_to(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t> out;
  for (; from <= to; ++from) out.push_back(from);
  return out;
}

/// The card and the ports hear 1 to 10, the ports go on to 20, and the card is pulled meanwhile.
class PulledCard : public LiveCardAppliance {
 protected:
  OneChannel& pull(const std::string& more) {
    OneChannel& one = make("mac", more);
    if (!one.made) return one;
    host_hears(one, 1, 5);
    for (std::uint32_t sequence = 1; sequence <= 10; ++sequence) send(kGroupA, tick(sequence, sequence * 10), 77);
    host_hears(one, 6, 9);
    (void)wait_for(one, 10);
    slot_->is_empty = true;
    host_hears(one, 10, 20);
    EXPECT_EQ(one.made->take_card_failure(), "") << "nobody has looked yet";
    one.now += kLooked;
    one.work();
    return one;
  }
  /// The records so far are kept.
  bool wait_for(OneChannel& one, std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (seen_.size() < count && std::chrono::steady_clock::now() < end) {
      one.work();
      for (const OneChannel::Seen& record : one.seen()) seen_.push_back(record);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(seen_.size(), count);
    return seen_.size() == count;
  }
  std::vector<OneChannel::Seen> seen_;
};

TEST_F(PulledCard, leaves_no_hole_if_the_ports_are_recorded) {
  OneChannel& one = pull("[recorder]\nfolder = \"packets\"\nqueue = \"1MiB\"\n");
  ASSERT_TRUE(one.made) << one.problem;
  const std::string why = one.made->take_card_failure();
  EXPECT_THAT(why, HasSubstr("its first register reads"));
  EXPECT_THAT(why, HasSubstr("software takes over with 20 datagrams of the recorder")) << "both lines";
  EXPECT_EQ(one.made->take_card_failure(), "") << "told once";
  host_hears(one, 21, 25);
  for (const OneChannel::Seen& record : one.seen()) seen_.push_back(record);
  EXPECT_EQ(sequences(seen_), from_to(1, 25));
  EXPECT_EQ(seen_.size(), 25U) << "no event";
  one.now += kPublished;
  one.work();
  EXPECT_EQ(count(one, "numbers_lost"), 0U);
  EXPECT_EQ(count(one, "numbers_delivered"), 25U);
  EXPECT_EQ(count(one, "card_failures"), 1U);
  EXPECT_EQ(count(one, "card_receiving"), 0U);
  EXPECT_EQ(count(one, "card_datagrams_recalled"), 20U);
  one.expect_balanced();
}

TEST_F(PulledCard, leaves_a_stated_gap_if_nothing_is_recorded) {
  OneChannel& one = pull("");
  ASSERT_TRUE(one.made) << one.problem;
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("software takes over with 0 datagrams of the recorder"));
  host_hears(one, 21, 25);
  for (const OneChannel::Seen& record : one.seen()) seen_.push_back(record);
  std::vector<std::uint32_t> expected = from_to(1, 10);
  for (const std::uint32_t sequence : from_to(21, 25)) expected.push_back(sequence);
  EXPECT_EQ(sequences(seen_), expected);
  ASSERT_EQ(seen_.size(), 16U);
  EXPECT_EQ(seen_[10].kind, record::EventKind::Gap);
  EXPECT_EQ(seen_[10].first, 11U);
  EXPECT_EQ(seen_[10].count, 10U);
  EXPECT_THAT(gaps_of(one), ::testing::SizeIs(1));
  one.now += kPublished;
  one.work();
  EXPECT_EQ(count(one, "numbers_lost"), 10U);
  EXPECT_EQ(count(one, "numbers_expected"), 25U);
  one.expect_balanced();
}

TEST_F(PulledCard, is_left_if_it_stays_deaf_while_the_ports_hear) {
  OneChannel& one = make("mac", "[recorder]\nfolder = \"packets\"\nqueue = \"1MiB\"\n");
  ASSERT_TRUE(one.made) << one.problem;
  host_hears(one, 1, 3);
  one.now += 900'000'000;
  host_hears(one, 4, 4);
  EXPECT_EQ(one.made->take_card_failure(), "");
  one.now += 900'000'000;
  host_hears(one, 5, 5);
  look(one);
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("it has decoded nothing for"));
  host_hears(one, 6, 6);
  EXPECT_EQ(sequences(one.seen()), from_to(1, 6));
}

TEST_F(PulledCard, is_left_for_software_when_another_image_is_loaded) {
  OneChannel& one = make("mac", "[recorder]\nfolder = \"packets\"\nqueue = \"1MiB\"\n");
  ASSERT_TRUE(one.made) << one.problem;
  send(kGroupA, tick(1, 10), 77);
  ASSERT_TRUE(wait_for(one, 1));
  host_hears(one, 1, 2);
  Diagnostics diagnostics;
  const auto answer = one.made->reload("ticks", diagnostics);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_THAT(answer.value(), HasSubstr("it runs in software until the appliance is restarted"));
  one.work();
  EXPECT_THAT(one.made->take_card_failure(), HasSubstr("its channels have another image"));
  EXPECT_EQ(sequences(one.seen()), from_to(2, 2)) << "before the change";
  one.made->retire();
  one.reader.emplace(ring::Reader::open(one.folder.path("ring")).value());
  host_hears(one, 3, 3);
  EXPECT_EQ(sequences(one.seen()), from_to(3, 3));
}

TEST_F(PulledCard, has_a_clock_that_follows_the_host_and_its_steps) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  OneChannel& one = make("card");
  ASSERT_TRUE(one.made) << one.problem;
  const auto arrival = [&](std::uint32_t sequence) {
    send(kGroupA, tick(sequence, sequence * 10));
    const auto record = records(one, 1);
    return record.empty() ? 0 : record[0][0].words[1];
  };
  for (int i = 0; i < 3; ++i) {
    one.now += 2 * kSecond;
    one.work();
  }
  const std::uint64_t before = arrival(1);
  EXPECT_GE(before, one.now);
  EXPECT_LT(before, one.now + kSecond);
  const std::uint64_t jumps = count(one, "card_clock_jumps");
  one.wall_ahead = 100 * kSecond;
  one.now += 2 * kSecond;
  one.work();
  const std::uint64_t after = arrival(2);
  EXPECT_GE(after, one.now + one.wall_ahead);
  EXPECT_LT(after, one.now + one.wall_ahead + kSecond);
  look(one);
  EXPECT_GT(count(one, "card_clock_jumps"), jumps);
}

TEST_F(PulledCard, begins_each_cycle_of_a_short_carousel_with_one_line) {
  OneChannel& one = make("mac", "", [](appliance::Settings& settings) {
    feed::Channel& channel = settings.feeds[0].description.channels[0];
    channel.role = feed::Role::Carousel;
    channel.lines[1].reset();
  });
  ASSERT_TRUE(one.made) << one.problem;
  for (int cycle = 0; cycle < 3; ++cycle) {
    for (std::uint32_t sequence = 1; sequence <= 3; ++sequence) send(kGroupA, tick(sequence, sequence * 10), 77);
  }
  ASSERT_TRUE(wait_for(one, 9));
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    EXPECT_EQ(seen_[i].sequence, 1 + i % 3);
    EXPECT_EQ(seen_[i].epoch, i / 3);
  }
}

/// `--gtest_output=xml:FILE` has the times.
TEST_F(PulledCard, takes_two_reads_of_a_turn_for_its_registers) {
  OneChannel& one = make("card");
  ASSERT_TRUE(one.made) << one.problem;
  struct Turn {
    std::uint64_t reads = 0;
    std::int64_t ns = 0;
  };
  const auto turn = [&](std::uint64_t passed_ns) {
    one.now += passed_ns;
    const std::uint64_t before = slot_->reads;
    const auto begin = std::chrono::steady_clock::now();
    (void)one.agent().do_work();
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    return Turn{slot_->reads - before, took.count()};
  };
  const Turn whole = turn(kLooked);
  EXPECT_GT(whole.reads, 60U);
  Turn most;
  std::size_t turns = 0;
  one.now += 90'000'000;
  for (std::uint64_t reads = 0; reads < whole.reads - 2 && turns < 5'000; ++turns) {  // its clock is not due again
    const Turn step = turn(10'000);
    reads += step.reads;
    most.reads = std::max(most.reads, step.reads);
    if (step.reads != 0) most.ns = std::max(most.ns, step.ns);
  }
  EXPECT_LT(turns, 5'000U);
  EXPECT_EQ(most.reads, device::LiveCard::kReadsOfStep);
  RecordProperty("reads_of_a_look", std::to_string(whole.reads));
  RecordProperty("look_in_one_turn_ns", std::to_string(whole.ns));
  RecordProperty("longest_step_ns", std::to_string(most.ns));
}

/// As many groups as channels need: two for each.
void more_channels(appliance::Settings& settings, std::uint16_t number_of) {
  auto& channels = settings.feeds[0].description.channels;
  const feed::Channel first = channels[0];
  channels.clear();
  for (std::uint16_t i = 0; i < number_of; ++i) {
    feed::Channel& channel = channels.emplace_back(first);
    channel.number = i;
    channel.name = "channel " + std::to_string(i);
    for (auto& line : channel.lines) line->group.port = static_cast<std::uint16_t>(1000 + i);
  }
}

TEST_F(PulledCard, receives_as_many_groups_as_its_table_has) {
  OneChannel& one = make("mac", "", [](appliance::Settings& settings) { more_channels(settings, 32); });
  ASSERT_TRUE(one.made) << one.problem;
  EXPECT_EQ(one.made->on_card(), one.folder.path("ring"));
  send({kGroupB.address, 1031}, tick(9, 90), 77);
  ASSERT_TRUE(wait_for(one, 1));
  EXPECT_EQ(seen_[0].channel, 31U);
}

TEST_F(PulledCard, leaves_more_groups_than_its_table_has_to_software_and_says_why) {
  OneChannel& one = make("mac", "", [](appliance::Settings& settings) { more_channels(settings, 33); });
  ASSERT_TRUE(one.made) << one.problem;
  EXPECT_EQ(one.made->on_card(), "");
  EXPECT_THAT(one.made->notes(), Contains(HasSubstr("[[channel]] 'channel 32': a: the card has room for 64 groups, and "
                                                    "the channels have 66")));
  one.port("left").items.push_back({tick(1, 10), {kGroupA.address, 1032}, one.now, 1});
  one.work();
  EXPECT_EQ(sequences(one.seen()), from_to(1, 1));
}

TEST_F(PulledCard, is_required_without_fallback) {
  OneChannel& one = make("mac", "", [](appliance::Settings& settings) {
    settings.feeds[0].description.channels[0].mode = feed::Mode::Ordered;
    settings.card->fallback = false;
  });
  EXPECT_FALSE(one.made);
  EXPECT_THAT(one.problem, HasSubstr("[[channel]] 'seven': mode: the card passes the first copy at once, so it must be "
                                     "\"fast\""));
}

/// The card is pulled and put back, again and again, while software and another appliance hear everything. One of VFIO
/// hangs every other time, and is reset: the appliance is a confined one, which opens nothing.
TEST_F(PulledCard, comes_back_as_often_as_it_works_again_with_the_records_of_software) {
  constexpr int kRounds = 4;
  OneChannel& one = make("mac", "[recorder]\nfolder = \"packets\"\nqueue = \"1MiB\"\n");
  ASSERT_TRUE(one.made) << one.problem;
  OneChannel software("mode = \"fast\"\n", "engine = \"interp\"\n");
  ASSERT_TRUE(software.made);
  cases::Random random(43);
  std::uint32_t sequence = 0;
  const auto hear = [&](std::size_t datagrams) {
    for (; datagrams > 0; --datagrams) {
      one.now += 1'000;
      software.now = one.now;
      std::vector<std::byte> payload = tick(++sequence, static_cast<std::uint32_t>(random.below(100'000)));
      for (std::uint64_t more = random.below(3); more > 0; --more) {
        payload.insert(payload.end(), {std::byte{0xC0}, std::byte{0x81}, static_cast<std::byte>(0x80 + more)});
      }
      for (const net::Endpoint group : {kGroupA, kGroupB}) {
        if (!slot_->is_empty) send(group, payload, one.now);
        for (OneChannel* const of : {&one, &software}) {
          of->port(group == kGroupA ? "left" : "right")
              .items.push_back({payload, group, one.now, kSender, record::TimeQuality::Hardware});
          of->work();
        }
      }
    }
  };
  std::vector<std::vector<record::Slot>> expected;
  std::vector<std::vector<record::Slot>> got;
  const auto read = [](OneChannel& of, std::vector<std::vector<record::Slot>>& into) {
    while (of.reader->poll() == ring::Poll::Record) {
      into.emplace_back(of.reader->record().begin(), of.reader->record().end());
    }
  };
  /// Until the card has come up to what was sent, and its channel is on it.
  const auto catch_up = [&] {
    read(software, expected);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (bool is_on = false; (!is_on || got.size() < expected.size()) && std::chrono::steady_clock::now() < end;) {
      one.work();
      read(one, got);
      one.now += kPublished;
      one.work();
      is_on = count(one, "card_channels") == 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(count(one, "card_channels"), 1U);
    EXPECT_EQ(got.size(), expected.size());
  };
  std::vector<int> waits;
  for (int round = 0; round < kRounds; ++round) {
    hear(10);
    catch_up();
    hear(5);  // on the card, not looked at yet
    slot_->is_empty = true;
    hear(5);
    one.now += kLooked;
    one.work();
    EXPECT_THAT(one.made->take_card_failure(), HasSubstr("its first register reads"));
    hear(5);
    one.work();
    read(software, expected);
    read(one, got);
    EXPECT_EQ(got.size(), expected.size()) << "software goes on";
    slot_->hangs = stopbit::testing::leaf_of_run() == device::Leaf::Vfio && round % 2 == 1;
    slot_->is_empty = slot_->hangs;
    int seconds = 0;
    while (!one.made->tend_card(one.now).is_back && seconds < 100) {
      ++seconds;
      one.now += 1'000'000'000;
      hear(1);
    }
    waits.push_back(seconds);
    EXPECT_FALSE(slot_->hangs);
    if (HasFailure()) return;
  }
  hear(10);
  catch_up();
  EXPECT_THAT(waits, ::testing::ElementsAre(1, 2, 4, 8));
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto ours = without_place(got[i]);
    auto theirs = without_place(expected[i]);
    // What the recorder has kept does not say how good its time is.
    for (auto* const record : {&ours, &theirs}) (*record)[0].words[3] &= ~(std::uint64_t{0xFF} << 56);
    ASSERT_EQ(ours.size(), theirs.size()) << "record " << i;
    for (std::size_t s = 0; s < ours.size(); ++s) {
      for (std::size_t word = 0; word < record::kSlotWords; ++word) {
        ASSERT_EQ(ours[s].words[word], theirs[s].words[word]) << "record " << i << ", slot " << s << ", word " << word;
      }
    }
  }
  EXPECT_EQ(gaps_of(one), std::vector<std::string>());
  look(one);
  EXPECT_EQ(count(one, "card_failures"), std::uint64_t{kRounds});
  EXPECT_EQ(count(one, "card_returns"), std::uint64_t{kRounds});
  EXPECT_EQ(count(one, "numbers_lost"), 0U);
  EXPECT_EQ(count(one, "numbers_delivered"), sequence);
  EXPECT_EQ(count(one, "card_receiving"), 1U);
  one.expect_balanced();
}

class SnoopedCard : public PulledCard {
 protected:
  static constexpr net::Endpoint kLineA{0xEF010101, 1000};
  static constexpr net::Endpoint kLineB{0xEF010102, 1000};
  static constexpr std::uint64_t kSecond = SnoopingSwitch::kSecond;

  OneChannel& make_snooped() {
    OneChannel& one = make("mac", "mac = \"02:1b:00:00:00:07\"\naddress = \"10.1.2.9\"\n", [](auto& settings) {
      feed::Channel& channel = settings.feeds[0].description.channels[0];
      channel.lines[0]->group = kLineA;
      channel.lines[1]->group = kLineB;
      channel.lines[1]->source = kSender;
    });
    return one;
  }
  /// Time passes in turns; the switch hears what the card says, unless it is deaf.
  void pass(OneChannel& one, std::uint64_t ns, std::uint64_t turn_ns, bool is_deaf = false) {
    for (const std::uint64_t end = one.now + ns; one.now < end;) {
      one.now += turn_ns;
      one.work();
      for (const OneChannel::Seen& record : one.seen()) seen_.push_back(record);
      hear(one, is_deaf);
    }
  }
  void hear(OneChannel& one, bool is_deaf = false) {
    for (auto frame = network_->receive(); !frame.empty(); frame = network_->receive()) {
      if (!is_deaf) snooping.learn(frame, one.now);
    }
  }
  /// From a sender beyond the switch.
  void publish(OneChannel& one, net::Endpoint group, std::uint32_t sequence) {
    if (snooping.passes(group.address, one.now)) send(group, tick(sequence, sequence * 10), one.now);
  }
  static void ask(const QueryFrame& query) {
    const Status sent = network_->send(query_frame(query), 0, 0);
    ASSERT_TRUE(sent.ok()) << sent.message();
  }
  SnoopingSwitch snooping;
};

TEST_F(SnoopedCard, gets_its_groups_from_a_switch_that_snoops_as_long_as_a_querier_hears_it) {
  OneChannel& one = make_snooped();
  ASSERT_TRUE(one.made) << one.problem;
  publish(one, kLineA, 1);
  pass(one, 100'000'000, 10'000'000);
  EXPECT_TRUE(seen_.empty()) << "not joined yet";
  EXPECT_TRUE(snooping.passes(kLineA.address, one.now));
  EXPECT_TRUE(snooping.passes(kLineB.address, one.now));
  publish(one, kLineA, 2);
  publish(one, kLineB, 2);
  publish(one, kLineB, 3);
  ASSERT_TRUE(wait_for(one, 2));

  // Queriers of both versions keep the membership.
  for (int i = 0; i < 6; ++i) {
    const std::size_t before = snooping.reports;
    ask({.code = 100, .is_version_3 = i < 3});
    pass(one, 11 * kSecond, kSecond / 4);
    EXPECT_GE(snooping.reports, before + 2) << i;
    pass(one, 49 * kSecond, 5 * kSecond);
  }
  EXPECT_TRUE(snooping.passes(kLineA.address, one.now));
  publish(one, kLineA, 4);
  ASSERT_TRUE(wait_for(one, 3));

  // What the card says is lost: the querier's time runs out, and the switch passes nothing.
  pass(one, 270 * kSecond, 5 * kSecond, true);
  EXPECT_FALSE(snooping.passes(kLineA.address, one.now));
  publish(one, kLineA, 5);
  publish(one, kLineB, 5);
  pass(one, kSecond, kSecond / 4, true);
  EXPECT_EQ(seen_.size(), 3U);
  // It is heard again, without being asked.
  pass(one, 65 * kSecond, kSecond);
  EXPECT_TRUE(snooping.passes(kLineB.address, one.now));
  publish(one, kLineB, 6);
  ASSERT_TRUE(wait_for(one, 5)) << "a gap, and the record";

  look(one);
  EXPECT_EQ(count(one, "card_group_queries"), 6U);
  EXPECT_GT(count(one, "card_group_reports"), 8U);
  EXPECT_EQ(count(one, "card_station_refused"), 0U);
  EXPECT_EQ(count(one, "numbers_lost"), 1U);
  one.agent().finish();
  hear(one);
  EXPECT_FALSE(snooping.passes(kLineA.address, one.now)) << "it has left";
  EXPECT_FALSE(snooping.passes(kLineB.address, one.now));
}

TEST_F(SnoopedCard, goes_on_while_frames_of_any_kind_flood_it) {
  OneChannel& one = make_snooped();
  ASSERT_TRUE(one.made) << one.problem;
  pass(one, 3 * kSecond, kSecond / 4);
  const std::size_t reports = snooping.reports;
  const std::uint64_t begin = one.now;
  constexpr std::uint32_t kTicks = 60;
  std::uint64_t most_reads = 0;
  for (std::uint32_t sequence = 1; sequence <= kTicks; ++sequence) {
    auto bad = query_frame({.code = 0, .is_version_3 = true});
    bad[45] ^= std::byte{0x10};
    for (const auto& frame :
         {query_frame({.code = 0, .is_version_3 = true}), bad, query_frame({.code = 0, .time_to_live = 9}),
          query_frame({.group = kLineA.address, .code = 0, .is_version_3 = true, .from = 0}),
          frames::ByteVector(test::arp_request(0x0A010209))}) {
      ASSERT_TRUE(network_->send(frame, 0, 0).ok());
    }
    publish(one, kLineA, sequence);
    for (int turn = 0; turn < 20; ++turn) {
      one.now += 500'000;  // a thread that does not sleep
      const std::uint64_t before = slot_->reads;
      (void)one.agent().do_work();
      most_reads = std::max(most_reads, slot_->reads - before);
      hear(one);
    }
  }
  EXPECT_LE(most_reads, device::LiveCard::kReadsOfStep);
  EXPECT_TRUE(wait_for(one, kTicks)) << "no record is lost";
  EXPECT_EQ(sequences(seen_), from_to(1, kTicks));
  const double seconds = static_cast<double>(one.now - begin) / static_cast<double>(kSecond);
  EXPECT_LE(static_cast<double>(snooping.reports - reports), 8 + 5 * seconds * 3);
  EXPECT_GT(snooping.reports, reports);
  EXPECT_GT(snooping.arp_replies, 0U);
  pass(one, 3 * kSecond, kSecond / 4);
  look(one);
  EXPECT_GT(count(one, "card_station_refused"), 10U);
  EXPECT_GT(count(one, "card_station_lost"), 10U);
  EXPECT_GT(count(one, "card_arp_replies"), 0U);
  EXPECT_EQ(count(one, "card_receiving"), 1U);
  EXPECT_TRUE(snooping.passes(kLineA.address, one.now));
}

}  // namespace
}  // namespace stopbit::test
