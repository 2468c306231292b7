#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "host/appliance/counter_rows.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/appliance_text.hpp"
#include "host/monitor/control/metrics.hpp"
#include "host/os/readable.hpp"

namespace stopbit::appliance::counter_list_test {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// An appliance with one of everything that has counters, each counter with a value of its own.
class CounterList : public ::testing::Test {
 protected:
  void SetUp() override {
    CounterSetBuilder builder;
    publisher_.places.resize(1);
    builder.agent(agent_, "agent");
    builder.port(port_, "port");
    builder.output(ring_, "ring");
    builder.channel(channel_, "channel", false);
    builder.record(record_, "channel", false);
    builder.record_queue(queue_, "agent");
    builder.recorder(recorder_);
    builder.housekeeper(housekeeper_);
    builder.nic(nic_);
    builder.units(units_, "fabric");
    builder.fabric(fabric_);
    builder.udp(udp_);
    builder.multicast(multicast_, "cme");
    builder.offer(offer_, "offer");
    builder.publisher(publisher_, "fabric");
    builder.info(info_, "channel_info", {{"channel", "channel"}, {"a", "224.0.0.1:1000"}}, "Channel.");
    auto segment = builder.build("");
    ASSERT_TRUE(segment) << segment.message();
    segment_.emplace(std::move(segment).value());
    std::uint64_t value = 1'000'001;
    each([&](const auto& rows, const auto& counter_set, const char*) {
      for (const auto& row : rows) {
        if (row.counter != nullptr) (counter_set.*row.counter).set(value++);
      }
    });
    channel_.state_code.set(1);
    // What there is not is not shown.
    info_.set(1);
    ring_.ended.set(0);
    publisher_.places[0].state_code.set(1);
    port_.verdicts[static_cast<std::size_t>(damaged())].set(value);
    auto reader = counters::Reader::over(segment_->bytes());
    ASSERT_TRUE(reader) << reader.message();
    reader_.emplace(std::move(reader).value());
    status_ = read_counters(*reader_, {.wall_ns = 5'000'000, .monotonic_ns = 5'000'000});
    json_ = json::parse(to_json(status_));
  }

  /// Every group of rows, the counter set that it counts in, and where its values are in the JSON.
  template <class Visit>
  void each(const Visit& visit) {
    visit(kAgentRows, agent_, "/agents/0/");
    visit(kPortRows, port_, "/ports/0/");
    visit(kRingRows, ring_, "/rings/0/");
    visit(kLineRows, channel_.lines[0], "/channels/0/lines/A/");
    visit(kChannelRows, channel_, "/channels/0/");
    visit(kRecordRows, record_, "/recorder/");
    visit(kRecordQueueRows, queue_, "/recorder/");
    visit(kRecorderRows, recorder_, "/recorder/");
    visit(kHousekeeperRows, housekeeper_, "/");
    visit(kNicRows, nic_, "/nic/");
    visit(kUnitsRows, units_, "");
    visit(kFabricRows, fabric_, "");
    visit(kUdpRows, udp_, "/nic/udp/");
    visit(kMulticastRows, multicast_, "/multicasts/0/");
    visit(kOfferRows, offer_, "/nic/offers/0/");
    visit(kPublisherRows, publisher_, "/nic/publishers/0/");
    visit(kSubscriberRows, publisher_.places[0], "/nic/publishers/0/subscribers/0/");
  }

  /// The value of a row, counted or derived.
  template <class Row, class CounterSet>
  std::uint64_t value_of(const Row& row, const CounterSet& counter_set) const {
    return row.counter != nullptr ? (counter_set.*row.counter).value() : port_.verdicts[damaged()].value();
  }

  static std::size_t damaged() {
    for (std::size_t i = 0; i < net::kVerdicts; ++i) {
      if (net::verdict_class(static_cast<net::Verdict>(i)) == net::VerdictClass::Damaged) return i;
    }
    ADD_FAILURE() << "no verdict is damaged";
    return 0;
  }

  AgentCounterSet agent_;
  PortCounterSet port_;
  RecordOutputCounterSet ring_;
  ChannelCounterSet channel_;
  RecordCounterSet record_;
  RecordQueueCounterSet queue_;
  RecorderCounterSet recorder_;
  HousekeeperCounterSet housekeeper_;
  NicCounterSet nic_;
  UnitsCounterSet units_;
  FabricCounterSet fabric_;
  UdpCounterSet udp_;
  MulticastCounterSet multicast_;
  OfferCounterSet offer_;
  PublisherCounterSet publisher_;
  counters::Counter info_;
  std::optional<counters::Segment> segment_;
  std::optional<counters::Reader> reader_;
  StatusReport status_;
  json json_;
};

TEST_F(CounterList, shows_every_value_in_the_json_of_the_status_under_its_key) {
  std::size_t shown = 0;
  each([&](const auto& rows, const auto& counter_set, const std::string& prefix) {
    for (const auto& row : rows) {
      if (*row.json == 0) continue;
      const json::json_pointer place(prefix + row.json);
      ASSERT_TRUE(json_.contains(place)) << place;
      EXPECT_EQ(json_[place], value_of(row, counter_set)) << place;
      ++shown;
    }
  });
  EXPECT_GT(shown, 70U);
}

TEST_F(CounterList, shows_every_column_in_the_text) {
  const std::string text = tools::stat_text(status_);
  each([&](const auto& rows, const auto& counter_set, const char*) {
    for (const auto& row : rows) {
      EXPECT_EQ(row.table == Table::None, *row.heading == 0) << row.name;
      if (row.table == Table::None) continue;
      EXPECT_THAT(text, HasSubstr(row.heading));
      EXPECT_THAT(text, HasSubstr(os::thousands(value_of(row, counter_set)))) << row.heading;
    }
  });
}

TEST_F(CounterList, counts_every_drop_at_its_place) {
  std::map<std::string, std::uint64_t> drops;
  for (const Drop& drop : status_.drops()) EXPECT_TRUE(drops.emplace(drop.place, drop.count).second) << drop.place;
  std::size_t places = 0;
  each([&](const auto& rows, const auto& counter_set, const char*) {
    for (const auto& row : rows) {
      if (*row.drop == 0) continue;
      EXPECT_EQ(drops.at(row.drop), value_of(row, counter_set)) << row.drop;
      ++places;
    }
  });
  EXPECT_EQ(places, drops.size());
}

TEST_F(CounterList, has_names_of_its_own_and_helps_that_end) {
  std::set<std::string> names;
  each([&](const auto& rows, const auto&, const char*) {
    for (const auto& row : rows) {
      if (row.counter == nullptr) continue;
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
      EXPECT_THAT(row.help, EndsWith(".")) << row.name;
    }
  });
}

TEST_F(CounterList, is_in_the_metrics_with_names_that_promtool_accepts) {
  const std::string text = control::metrics_text(*reader_);
  each([&](const auto& rows, const auto&, const char*) {
    for (const auto& row : rows) {
      if (row.counter == nullptr) continue;
      EXPECT_THAT(text, HasSubstr("# HELP stopbit_" + std::string(row.name)));
    }
  });
  std::set<std::string> explained;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash;
    std::string what;
    std::string name;
    std::string type;
    words >> hash >> what >> name >> type;
    if (hash != "#") continue;
    if (what == "HELP") explained.insert(name);
    if (what != "TYPE") continue;
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << line;
    EXPECT_TRUE(explained.contains(name)) << line;
  }
  EXPECT_GT(explained.size(), 150U);
}

TEST(SkewText, has_each_window_as_it_is_and_as_it_is_proposed) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  constexpr std::uint64_t kSkew = 400'000;
  StatusReport status;
  status.started_ns = status.heartbeat_ns = 11 * kSecond;  // the wall clock was stepped back to the start
  status.running_ns = 10 * kSecond;
  for (const char* name : {"both", "alone"}) {
    ChannelStatus channel;
    channel.name = name;
    channel.window_packets = 64;
    channel.window_ns = 2'000'000;
    status.channels.push_back(channel);
  }
  LineStatus& late = status.channels[0].lines[1];
  status.channels[0].lines[0].packets = late.packets = 1'000'000;
  late.skew.count = 1'000'000;
  late.skew.largest = kSkew;
  late.skew.buckets[counters::bucket_of(kSkew)] = late.skew.count;
  std::istringstream lines(tools::skew_text(status));
  std::string heading;
  std::string both;
  std::string alone;
  std::getline(lines, heading);
  std::getline(lines, both);
  std::getline(lines, alone);
  EXPECT_THAT(heading, EndsWith("proposed"));
  // A quarter more than the skew; what comes in eight such times, at 200,000 packets a second.
  EXPECT_THAT(both, ::testing::MatchesRegex("both +1,000,000 .*400 us +64 packets, 2 ms +1024 packets, 500 us"));
  EXPECT_THAT(alone, ::testing::MatchesRegex("alone +0 +- .*64 packets, 2 ms +-"));
}

}  // namespace stopbit::appliance::counter_list_test
