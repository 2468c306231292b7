#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/appliance/appliance.hpp"
#include "host/monitor/counters/reader.hpp"
#include "host/os/shm/segment.hpp"
#include "host/ring/reader.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::test {

/// Gives out what the test has put in.
class FakePort final : public ingest::Port {
 public:
  /// `now` is the clock that the test turns: a poll that finds nothing more has read up to then.
  explicit FakePort(const std::uint64_t& now) : now_(now) {}

  struct Item {
    std::vector<std::byte> bytes;
    net::Endpoint destination;
    std::uint64_t time_ns = 0;
    std::uint32_t source = 1;
    record::TimeQuality time_quality = record::TimeQuality::Poll;
  };

  [[nodiscard]] Status join(const ingest::Membership& membership) override {
    joined.push_back(membership);
    return Done{};
  }
  /// What it has joined by the change, and the change is alive.
  struct Groups final : ingest::GroupChange {
    std::vector<ingest::Membership> groups;
  };
  [[nodiscard]] Result<std::unique_ptr<ingest::GroupChange>> prepare_groups(
      std::span<const ingest::Membership> join, std::span<const ingest::Membership> leave,
      std::vector<std::string>& /*notes*/) override {
    if (!no_groups.empty()) return Failure{no_groups};
    auto change = std::make_unique<Groups>();
    change->groups = joined;
    std::erase_if(change->groups, [&](const ingest::Membership& one) {
      return std::find(leave.begin(), leave.end(), one) != leave.end();
    });
    change->groups.insert(change->groups.end(), join.begin(), join.end());
    return std::unique_ptr<ingest::GroupChange>(std::move(change));
  }
  void change_groups(ingest::GroupChange& change) noexcept override {
    joined.swap(static_cast<Groups&>(change).groups);
  }
  [[nodiscard]] std::size_t poll(std::span<ingest::Arrival> batch) noexcept override {
    given_.clear();
    std::size_t count = 0;
    for (; count < batch.size() && !items.empty(); ++count) {
      given_.push_back(std::move(items.front()));
      items.pop_front();
      const Item& item = given_.back();
      batch[count] = {.payload = item.bytes,
                      .source = {item.source, 1},
                      .destination = item.destination,
                      .arrival_ns = item.time_ns,
                      .t_ns = item.time_ns,
                      .time_quality = item.time_quality};
      counters_.frames.add(1);
      read_to_ns_ = item.time_ns;
    }
    if (items.empty() && !is_capture) read_to_ns_ = now_;
    return count;
  }
  [[nodiscard]] std::uint64_t complete_until() const noexcept override { return read_to_ns_; }
  [[nodiscard]] std::optional<int> wakes_by() const noexcept override { return ready_.get(); }
  /// Wakes the thread that waits for this port, and goes on doing so.
  void call() const { EXPECT_EQ(::eventfd_write(ready_.get(), 1), 0); }
  [[nodiscard]] bool ended() const noexcept override { return ends && items.empty(); }
  [[nodiscard]] const ingest::PortCounters& counters() const noexcept override { return counters_; }
  [[nodiscard]] ingest::PortCounters& counters() noexcept { return counters_; }
  [[nodiscard]] std::string_view name() const noexcept override { return "fake"; }

  std::deque<Item> items;
  std::vector<ingest::Membership> joined;
  std::string no_groups;  ///< Why it can have no others; empty: it can.
  bool ends = false;
  bool is_capture = false;  ///< Its time is that of its packets alone.

 private:
  const std::uint64_t& now_;
  os::Descriptor ready_{::eventfd(0, EFD_CLOEXEC)};
  std::uint64_t read_to_ns_ = 0;
  std::deque<Item> given_;
  ingest::PortCounters counters_;
};

/// Says of a port that it plays a capture; the test opens it.
struct CaptureSource final : ingest::PortSource {
  ingest::OpenedPort open(ingest::PortContext&, std::vector<std::string>&) const override {
    return Failure{"the test opens its ports"};
  }
  [[nodiscard]] bool is_live() const noexcept override { return false; }
};

/// For ports of which nothing is read.
inline constexpr std::uint64_t kOneMoment = 0;

inline constexpr std::string_view kTickTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Tick" id="1"><uInt32 name="Number" id="1"/></template>
</templates>
)";

inline const net::Endpoint kGroupA{0xE000'0001, 1000};
inline const net::Endpoint kGroupB{0xE000'0002, 1000};

/// A datagram of framing cme with one Tick.
inline std::vector<std::byte> tick(std::uint32_t sequence, std::uint32_t number) {
  std::vector<std::byte> bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(sequence >> shift));
  bytes.push_back({});
  bytes.push_back(std::byte{0xC0});
  bytes.push_back(std::byte{0x81});
  std::vector<std::byte> value = {static_cast<std::byte>(number & 0x7F) | std::byte{0x80}};
  while ((number >>= 7) != 0) value.insert(value.begin(), static_cast<std::byte>(number & 0x7F));
  bytes.insert(bytes.end(), value.begin(), value.end());
  return bytes;
}

/// Writes map.toml, by which each number of a tick is an instrument. Returns the lines of the channel that uses it.
inline std::string map_of_ticks(const testing::Scratch& folder, const std::string& comment = "") {
  folder.write("map.toml", "# " + comment + R"(
[feed]
name = "ticks"
[sequence]
message = "Number"
[instrument]
key = ["Number"]
[[message]]
kind = "incremental"
templates = ["Tick"]
[[entry]]
role = "trade"
)");
  return "map = \"" + folder.path("map.toml") + "\"\nevents = \"" + folder.path("events") + "\"\n";
}

/// An appliance with one channel, lines A and B, one ring and fake ports, on a clock that the test turns.
class OneChannel {
 public:
  /// `change` is the last to see the settings. `begins`: by the clock.
  explicit OneChannel(const std::string& more_channel = "", const std::string& more = "",
                      const std::function<void(appliance::Settings&)>& change = {},
                      const appliance::Topology& topology = appliance::Topology(),
                      const appliance::OpenCard& open_card = {}, std::uint64_t begins = 1'000'000'000)
      : now(begins) {
    folder.write("ticks.xml", std::string(kTickTemplates));
    folder.write("feed.toml",
                 "name = \"test\"\n[[image]]\nname = \"ticks\"\ntemplates = [\"ticks.xml\"]\n"
                 "[[channel]]\nnumber = 7\nname = \"seven\"\nframing = \"cme\"\nring = \"" +
                     folder.path("ring") +
                     "\"\na = { group = \"224.0.0.1\", port = 1000 }\nb = { group = \"224.0.0.2\", port = 1000 }\n" +
                     more_channel);
    Diagnostics diagnostics;
    auto settings = appliance::parse("appliance.toml",
                                     "name = \"test\"\nstate = \"state\"\n" + more +
                                         "[[agent]]\nname = \"md\"\n[[port]]\nname = \"left\"\n[[port]]\nname = "
                                         "\"right\"\n[[feed]]\nfile = \"feed.toml\"\na = \"left\"\nb = \"right\"\n",
                                     folder.path(), diagnostics);
    EXPECT_TRUE(settings) << diagnostics.format();
    if (!settings) return;
    if (change) change(*settings);
    auto result = appliance::Appliance::make(
        std::move(*settings),
        {.clocks = clocks(),
         .open_port = [this](const appliance::PortSettings& port,
                             std::vector<std::string>&) -> Result<std::unique_ptr<ingest::Port>> {
           auto fake = std::make_unique<FakePort>(now);
           ports[port.name] = fake.get();
           return std::unique_ptr<ingest::Port>(std::move(fake));
         },
         .open_card = open_card,
         .has_private_counters = true,
         .topology = topology},
        diagnostics);
    if (!result) {
      problem = result.message() + diagnostics.format();
      if (!open_card) ADD_FAILURE() << problem;
      return;
    }
    made = std::move(result).value();
    auto opened = ring::Reader::open(folder.path("ring"));
    EXPECT_TRUE(opened) << opened.message();
    if (opened) reader.emplace(std::move(opened).value());
  }

  appliance::Clocks clocks() {
    return {.wall = [this] { return now + wall_ahead; },
            .monotonic = [this] { return now; },
            .status = [this] { return clock_status; }};
  }
  appliance::Agent& agent() { return *made->agents()[0]; }
  FakePort& port(const std::string& name) { return *ports.at(name); }
  void give(std::size_t line, std::vector<std::byte> bytes) {
    port(line == 0 ? "left" : "right").items.push_back({std::move(bytes), line == 0 ? kGroupA : kGroupB, now, 1});
  }
  void work() {
    while (agent().do_work() != 0) {
    }
  }

  struct Seen {
    bool is_event = false;
    record::EventKind kind{};
    std::uint32_t sequence = 0;
    std::uint64_t value = 0;  ///< Tick: its number.
    std::uint64_t first = 0;  ///< Gap.
    std::uint64_t count = 0;
    std::uint16_t epoch = 0;
    std::uint16_t channel = 0;
    std::uint16_t generation = 0;
    record::TimeQuality time_quality{};
  };
  /// What the ring has since the last call.
  std::vector<Seen> seen() {
    std::vector<Seen> all;
    ring::Poll poll{};
    while ((poll = reader->poll()) == ring::Poll::Record) {
      const record::Slot& slot = reader->record()[0];
      const record::HeaderView header(slot);
      const record::EventView event(slot);
      all.push_back({.is_event = header.is_event(),
                     .kind = event.kind(),
                     .sequence = header.sequence(),
                     .value = slot.words[4],
                     .first = event.first_missing(),
                     .count = event.missing(),
                     .epoch = header.sender_epoch(),
                     .channel = header.channel(),
                     .generation = header.image_generation(),
                     .time_quality = header.time_quality()});
    }
    EXPECT_EQ(poll, ring::Poll::Nothing);
    return all;
  }
  counters::Reader counts() {
    auto result = counters::Reader::over(made->segment().bytes());
    EXPECT_TRUE(result) << result.message();
    return std::move(result).value();
  }
  /// Whether the accounting of the channel is exact, as its counters tell.
  void expect_balanced(const std::string& channel = "seven") {
    const counters::Reader counted = counts();
    const auto value = [&](const char* family) { return counted.value(family, {{"channel", channel}}); };
    EXPECT_EQ(counted.sum("line_packets", {{"channel", channel}}),
              value("packets_delivered") + value("packets_duplicate") + value("packets_late") + value("packets_held") +
                  value("packets_malformed") + value("packets_incomplete"));
    EXPECT_EQ(value("numbers_expected"),
              value("numbers_delivered") + value("numbers_recovered") + value("numbers_lost") + value("numbers_held"));
  }

  testing::Scratch folder;
  std::string problem;  ///< Why there is no appliance.
  std::uint64_t now;
  std::uint64_t wall_ahead = 0;  ///< Of the wall clock, from the other one.
  appliance::ClockStatus clock_status = appliance::ClockStatus::Synchronised;
  std::map<std::string, FakePort*> ports;
  std::unique_ptr<appliance::Appliance> made;
  std::optional<ring::Reader> reader;
};

}  // namespace stopbit::test
