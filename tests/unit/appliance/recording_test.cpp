#include "host/appliance/recording.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <set>

#include "host/appliance/housekeeper.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::appliance::recording_test {

using test::OneChannel;
using test::tick;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

constexpr const char* kWindow = "window = { packets = 8, time = \"1ms\" }\n";
constexpr const char* kRecorder =
    "[recorder]\nfolder = \"packets\"\nfile = \"1MiB\"\nline = \"4MiB\"\nqueue = \"1MiB\"\n";

std::set<std::string> files(const OneChannel& one) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(one.folder.path("packets"))) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with('.')) names.insert(name);  // the owner's lock
  }
  return names;
}

/// The sequence numbers in a file, and whether all of it went to this group.
std::vector<std::uint32_t> sequences(const OneChannel& one, const std::string& file, const net::Endpoint& group) {
  std::vector<std::uint32_t> all;
  auto source = ingest::open_capture(one.folder.path("packets/" + file));
  EXPECT_TRUE(source) << source.message();
  if (!source) return all;
  ingest::Packet packet;
  while (source.value()->next(packet) == ingest::Next::Packet) {
    net::Datagram datagram;
    EXPECT_EQ(net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram), net::Verdict::Accepted);
    EXPECT_EQ(datagram.destination, group);
    std::uint32_t sequence = 0;
    for (std::size_t i = 0; i < 4; ++i) sequence = sequence << 8 | std::to_integer<std::uint32_t>(datagram.payload[i]);
    all.push_back(sequence);
  }
  return all;
}

/// No file gets longer than this: what a full disk does, without one.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit small{.rlim_cur = bytes, .rlim_max = old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit old_{};
  void (*before_)(int) = SIG_DFL;
};

TEST(Recording, writes_what_each_line_brought_and_nothing_foreign) {
  OneChannel one(kWindow, kRecorder);
  for (const std::uint32_t n : {1U, 2U, 3U}) one.give(0, tick(n, n));
  one.give(1, tick(2, 2));
  one.give(1, tick(2, 2));
  one.port("left").items.push_back({tick(9, 9), {0xE000'0003, 1000}, one.now, 1});
  one.work();
  EXPECT_EQ(one.made->recording()->do_work(), 5U);
  one.made->stop();
  const StatusReport status = read_status(one.counts(), {one.now, one.now});
  EXPECT_TRUE(status.recorder.exists);
  EXPECT_EQ(status.recorder.recorded, 5U);
  EXPECT_EQ(status.recorder.failed + status.recorder.no_room + status.recorder.failing_lines, 0U);
  EXPECT_THAT(to_json(status), HasSubstr("\"recorded\":5"));
  one.made.reset();
  EXPECT_THAT(files(one), ElementsAre("seven-a-000001.pcapng", "seven-b-000001.pcapng"));
  EXPECT_THAT(sequences(one, "seven-a-000001.pcapng", test::kGroupA), ElementsAre(1, 2, 3));
  EXPECT_THAT(sequences(one, "seven-b-000001.pcapng", test::kGroupB), ElementsAre(2, 2));
}

TEST(Recording, freezes_what_lies_around_a_gap) {
  OneChannel one(kWindow, kRecorder);
  one.give(0, tick(1, 1));
  one.give(1, tick(1, 1));
  one.give(0, tick(3, 3));
  one.work();
  one.now += 2'000'000;
  one.work();
  one.made.reset();
  EXPECT_THAT(files(one), ElementsAre("frozen-seven-a-000001.pcapng", "frozen-seven-b-000001.pcapng"));
  EXPECT_THAT(sequences(one, "frozen-seven-a-000001.pcapng", test::kGroupA), ElementsAre(1, 3));
}

TEST(Recording, freezes_when_somebody_asks) {
  OneChannel one(kWindow, kRecorder);
  one.made->recording()->freeze();  // before there is anything
  one.made->recording()->do_work();
  one.give(0, tick(1, 1));
  one.work();
  one.made->recording()->freeze();
  one.made->recording()->do_work();
  one.made->stop();
  one.made.reset();
  EXPECT_THAT(files(one), ElementsAre("frozen-seven-a-000001.pcapng"));
}

TEST(Recording, goes_by_the_frozen_files_that_are_there_now) {
  for (const bool is_removed : {false, true}) {
    OneChannel one(kWindow, std::string(kRecorder) + "frozen = \"1MiB\"\n");
    one.folder.write("packets/frozen-seven-a-000009.pcapng", std::string(1U << 20, 'x'));
    one.made->recording()->count_frozen();
    one.made->recording()->do_work();
    if (is_removed) fs::remove(one.folder.path("packets/frozen-seven-a-000009.pcapng"));
    if (is_removed) one.made->recording()->count_frozen();
    one.give(0, tick(1, 1));
    one.work();
    one.made->recording()->freeze();
    one.made->recording()->do_work();
    one.made->stop();
    one.made.reset();
    EXPECT_EQ(files(one).contains("frozen-seven-a-000001.pcapng"), is_removed);
  }
}

TEST(Recording, decodes_on_when_the_disk_is_too_slow_and_counts_what_was_not_recorded) {
  OneChannel one(kWindow, kRecorder);
  constexpr std::uint32_t kPackets = 20'000;
  for (std::uint32_t n = 1; n <= kPackets; ++n) one.give(0, tick(n, n));
  one.give(0, tick(kPackets + 3, 1));
  one.work();
  one.now += 2'000'000;
  one.work();  // the gap freezes, though the queue is full of packets
  one.made->stop();
  const StatusReport status = read_status(one.counts(), {one.now, one.now});
  EXPECT_EQ(status.channels[0].messages, kPackets + 1);
  EXPECT_GT(status.recorder.no_room, 0U);
  EXPECT_EQ(status.recorder.recorded + status.recorder.no_room, kPackets + 1);
  one.made.reset();
  EXPECT_THAT(files(one), Contains(HasSubstr("frozen-seven-a-")));
}

TEST(Recording, stops_on_a_full_disk_goes_on_when_there_is_room_and_says_both_once) {
  OneChannel one(kWindow, kRecorder);
  std::vector<std::string> told;
  Housekeeper housekeeper(*one.made, one.clocks(), [&](const Change& change) {
    const std::string text = to_text(change);
    if (text.find("recording") != std::string::npos) told.push_back(text);
  });
  ASSERT_EQ(testing::why(housekeeper.prepare()), "");
  std::uint32_t n = 0;
  const auto pass = [&] {
    for (int i = 0; i < 1'500; ++i) one.give(0, tick(++n, 1));
    one.work();
    while (one.made->recording()->do_work() != 0) {
    }
    one.now += 600'000'000;
    one.work();
    housekeeper.step();
  };
  pass();
  EXPECT_THAT(told, ElementsAre());
  {
    const FullDisk full(0);
    for (int i = 0; i < 3; ++i) pass();
  }
  EXPECT_THAT(told, ElementsAre(HasSubstr("what=\"recording stops\" lines=1 why=\"")));
  EXPECT_THAT(told.back(), HasSubstr("seven-a-"));
  told.clear();
  for (int i = 0; i < 3; ++i) pass();
  EXPECT_THAT(told, ElementsAre(HasSubstr("what=\"recording goes on\" not_recorded=")));
  one.made->stop();
  const StatusReport status = read_status(one.counts(), {one.now, one.now});
  EXPECT_EQ(status.channels[0].messages, n);
  EXPECT_EQ(status.channels[0].numbers_lost, 0U);
  EXPECT_GT(status.recorder.failed, 0U);
  EXPECT_EQ(status.recorder.recorded + status.recorder.failed, n);
}

TEST(Recording, names_files_by_channels_in_letters_that_every_file_system_takes) {
  const testing::Scratch folder;
  RecorderSettings settings;
  settings.folder = folder.path("made/here");
  const std::vector<AgentSettings> agents(1);
  std::optional<counters::Segment> segment;
  {
    Recording recording(settings, 1);
    feed::Channel channel;
    channel.name = "../Feed/1";
    channel.lines[0].emplace();
    channel.lines[1].emplace();
    EXPECT_THAT(recording.add(0, channel), ElementsAre(0U, 1U));
    channel.name = "..:Feed:1";
    channel.lines[1].reset();
    EXPECT_THAT(recording.add(0, channel), ElementsAre(2U, kNotRecorded));
    CounterSetBuilder builder;
    recording.add_counters(builder, agents);
    auto built = builder.build("");
    ASSERT_TRUE(built) << built.message();
    segment.emplace(std::move(built).value());
    ASSERT_EQ(testing::why(recording.open()), "");
    for (const std::uint32_t line : {0U, 1U, 2U}) recording.recorder(0).add(line, {1, 1}, {2, 2}, {}, 1);
    EXPECT_EQ(recording.do_work(), 3U);
  }
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(settings.folder)) names.insert(entry.path().filename().string());
  EXPECT_THAT(names,
              ElementsAre("_.._Feed_1-a-000001.pcapng", "_.._Feed_1-b-000001.pcapng", "_.._Feed_1.2-a-000001.pcapng"));
}

TEST(Recording, is_off_unless_the_settings_ask_for_it) {
  OneChannel one(kWindow);
  EXPECT_EQ(one.made->recording(), nullptr);
  one.give(0, tick(1, 1));
  one.work();
  one.made->stop();
  EXPECT_FALSE(read_status(one.counts(), {one.now, one.now}).recorder.exists);
  EXPECT_THAT(to_json(read_status(one.counts(), {one.now, one.now})), Not(HasSubstr("recorder")));
}

}  // namespace stopbit::appliance::recording_test
