#include <gtest/gtest.h>

#include "host/feed/description/from_moex.hpp"
#include "host/feed/description/from_rdi.hpp"

namespace stopbit::feed::makers_test {

std::optional<Description> moex(const std::string& text, Diagnostics& diagnostics) {
  return from_moex(std::make_shared<const SourceBuffer>("configuration.xml", text), "templates.xml", diagnostics);
}

constexpr const char* kConfiguration = R"(<?xml version="1.0" encoding="UTF-8"?>
<configuration>
  <MarketDataGroup feedType="ORDERS-LOG" marketID="D" label="Full orders log">
    <connections>
      <connection><type>Incremental</type><protocol>UDP/IP</protocol>
        <src-ip>10.0.0.1</src-ip><ip>239.1.0.1</ip><port>40001</port><feed>A</feed></connection>
      <connection><type>Incremental</type><protocol>UDP/IP</protocol>
        <src-ip>10.0.0.2</src-ip><ip>239.2.0.1</ip><port>41001</port><feed>B</feed></connection>
      <connection><type>Snapshot</type><protocol>UDP/IP</protocol>
        <ip> 239.1.0.2 </ip><port>40002</port><feed>A</feed></connection>
      <connection><type>Historical Replay</type><protocol>TCP/IP</protocol>
        <ip>10.0.0.9</ip><port>9001</port></connection>
    </connections>
  </MarketDataGroup>
  <channel id="FOND"><connections>
    <connection><type>Instrument Replay</type><protocol>UDP/IP</protocol>
      <feed id="A"><ip>239.1.0.3</ip><port>40003</port></feed>
      <feed id="B"><ip>239.2.0.3</ip><port>41003</port></feed>
    </connection></connections></channel>
</configuration>)";

TEST(FromMoex, makes_a_channel_of_each_group_and_type) {
  Diagnostics diagnostics;
  const auto feed = moex(kConfiguration, diagnostics);
  ASSERT_TRUE(feed) << diagnostics.format();
  ASSERT_EQ(feed->channels.size(), 3U);
  EXPECT_EQ(feed->channels[0].name, "ORDERS-LOG D Incremental");
  EXPECT_EQ(feed->channels[0].role, Role::Incremental);
  EXPECT_EQ(net::to_text(feed->channels[0].lines[1]->group), "239.2.0.1:41001");
  EXPECT_EQ(net::address_text(*feed->channels[0].lines[1]->source), "10.0.0.2");
  EXPECT_EQ(feed->channels[1].name, "ORDERS-LOG D Snapshot");
  EXPECT_EQ(feed->channels[1].role, Role::Carousel);
  EXPECT_FALSE(feed->channels[1].lines[1]);
  EXPECT_EQ(feed->channels[2].name, "FOND Instrument Replay");
  EXPECT_TRUE(feed->channels[2].lines[1]);
  EXPECT_EQ(feed->channels[1].recovers, "ORDERS-LOG D Incremental");
  EXPECT_EQ(feed->channels[0].map, "moex-spectra-orders");
  EXPECT_EQ(feed->channels[2].map, "");
  // The output is a description.
  EXPECT_TRUE(parse("feed.toml", to_toml(*feed), diagnostics)) << diagnostics.format();
}

TEST(FromMoex, snapshots_of_a_group_recover_its_increments) {
  auto connection = [port = 1'000](const std::string& type) mutable {
    return "<connection><type>" + type + "</type><ip>239.1.0.1</ip><port>" + std::to_string(++port) +
           "</port><feed>A</feed></connection>";
  };
  const auto group = [&](const std::string& type, const std::string& more, const std::vector<std::string>& types) {
    std::string text = "<MarketDataGroup feedType=\"" + type + "\" marketID=\"D\"" + more + ">";
    for (const std::string& one : types) text += connection(one);
    return text + "</MarketDataGroup>";
  };
  const std::string both[] = {"Incremental", "Snapshot"};
  Diagnostics diagnostics;
  const auto feed = moex("<configuration>" + group("FUT-BOOK", " marketDepth=\"5\"", {both[0], both[1]}) +
                             group("FUT-BOOK", " marketDepth=\"20\"", {both[1], both[0]}) +
                             group("ORDERS-LOG", "", {"Incremental", "Instrument Replay"}) +
                             group("OPT-BOOK-50", "", {"Incremental", "Snapshot", "Snapshot 2"}) +
                             group("FUT-TRADES", "", {both[0], both[1]}) + "</configuration>",
                         diagnostics);
  ASSERT_TRUE(feed) << diagnostics.format();
  const auto recovers = [&](const char* name) { return find_channel(*feed, name)->recovers; };
  EXPECT_EQ(recovers("FUT-BOOK D 5 Snapshot"), "FUT-BOOK D 5 Incremental");
  EXPECT_EQ(recovers("FUT-BOOK D 20 Snapshot"), "FUT-BOOK D 20 Incremental");
  EXPECT_EQ(recovers("ORDERS-LOG D Instrument Replay"), "");
  EXPECT_EQ(recovers("OPT-BOOK-50 D Snapshot"), "") << "which of the two heals them is not known";
  EXPECT_EQ(recovers("FUT-TRADES D Snapshot"), "") << "it has no books";
  // Channels of one book go to one place, others to others.
  const auto events = [&](const char* name) { return find_channel(*feed, name)->events; };
  EXPECT_EQ(events("FUT-BOOK D 5 Snapshot"), events("FUT-BOOK D 5 Incremental"));
  EXPECT_NE(events("FUT-BOOK D 5 Snapshot"), events("FUT-BOOK D 20 Snapshot"));
  const auto again = parse("feed.toml", to_toml(*feed), diagnostics);
  ASSERT_TRUE(again) << diagnostics.format();
  EXPECT_EQ(find_channel(*again, "FUT-BOOK D 20 Snapshot")->recovers, "FUT-BOOK D 20 Incremental");
}

TEST(FromMoex, errors_name_the_place) {
  const auto error = [](const std::string& connection) {
    Diagnostics diagnostics;
    EXPECT_FALSE(moex("<configuration>\n<connection>" + connection + "</connection></configuration>", diagnostics));
    return diagnostics.format();
  };
  EXPECT_NE(error("<ip>239.1.0.1</ip><port>0</port><feed>A</feed>").find("configuration.xml:2:1: error:"),
            std::string::npos);
  EXPECT_NE(error("<ip>239.1.0.1</ip><port>1</port><feed>C</feed>").find("must be A or B"), std::string::npos);
  EXPECT_NE(error("<ip>239.1.0.1</ip><port>1</port><feed>B</feed>").find("has no feed A"), std::string::npos);
  EXPECT_NE(error("<protocol>TCP/IP</protocol>").find("no UDP connection"), std::string::npos);
  Diagnostics diagnostics;
  EXPECT_FALSE(moex("<configuration>", diagnostics));
  EXPECT_TRUE(diagnostics.has_errors());
}

RdiFeed entry(const char* product, std::uint64_t type, std::uint32_t a, std::uint32_t b) {
  RdiFeed feed;
  feed.product = product;
  feed.feed_type = type;
  feed.book_type = 2;
  feed.lines = {net::Endpoint{a, 100}, net::Endpoint{b, static_cast<std::uint16_t>(b == 0 ? 0 : 200)}};
  return feed;
}

TEST(FromRdi, products_that_share_groups_share_a_channel) {
  const std::vector<RdiFeed> feeds = {entry("FBTP", 0, 1, 2), entry("FBTP", 1, 3, 4), entry("FBTS", 0, 1, 2),
                                      entry("FBTS", 2, 5, 0), entry("BAD", 0, 0, 0)};
  const RdiDescription made = from_rdi(feeds);
  EXPECT_EQ(made.left_out, 1U);
  ASSERT_EQ(made.description.channels.size(), 3U);
  EXPECT_EQ(made.description.channels[0].name, "0: FBTP FBTS, incremental, book type 2");
  EXPECT_EQ(made.description.channels[1].role, Role::Snapshot);
  EXPECT_FALSE(made.description.channels[2].lines[1]);
  EXPECT_EQ(made.description.images.size(), 3U);
  EXPECT_EQ(made.description.images[1].name, "snapshot");
  Diagnostics diagnostics;
  EXPECT_TRUE(parse("feed.toml", to_toml(made.description), diagnostics)) << diagnostics.format();
}

// As many as a file may have; some come twice.
TEST(FromRdi, tens_of_thousands_of_products_share_a_channel) {
  std::vector<RdiFeed> feeds;
  for (int i = 0; i < 60'000; ++i) feeds.push_back(entry(("P" + std::to_string(i % 50'000)).c_str(), 0, 1, 2));
  const Description made = from_rdi(feeds).description;
  ASSERT_EQ(made.channels.size(), 1U);
  EXPECT_EQ(made.channels[0].name, "0: P0 P1 P2 P3 and 49996 more, incremental, book type 2");
}

TEST(FromRdi, snapshots_recover_the_increments_of_the_same_products) {
  std::vector<RdiFeed> feeds = {entry("FBTP", 0, 1, 2),   entry("FBTP", 1, 3, 4),   entry("FBTS", 0, 1, 2),
                                entry("FBTS", 1, 3, 4),   entry("FGBL", 0, 5, 6),   entry("FGBL", 1, 7, 8),
                                entry("FGBL", 1, 9, 10),  entry("FESX", 0, 11, 12), entry("FDAX", 1, 13, 14),
                                entry("FSMI", 0, 15, 16), entry("FSMI", 1, 17, 18)};
  feeds[1].recovery_ms = 2'500;
  feeds[0].depth = 10;
  feeds.back().book_type = 1;
  const Description made = from_rdi(feeds).description;
  ASSERT_EQ(made.channels.size(), 9U);
  EXPECT_EQ(made.channels[1].recovers, "0: FBTP FBTS, incremental, book type 2");
  EXPECT_EQ(made.channels[1].cycle_ns, 2'500'000'000U);
  EXPECT_EQ(made.channels[0].depth, 10U);
  EXPECT_EQ(made.channels[0].map, "t7-emdi");
  EXPECT_EQ(made.channels[0].image, made.channels[1].image);
  EXPECT_EQ(made.images[made.channels[0].image].name, "emdi");
  EXPECT_EQ(made.channels[0].events, made.channels[1].events);
  for (std::size_t i = 2; i < made.channels.size(); ++i) {
    EXPECT_EQ(made.channels[i].recovers, "") << "two snapshots, none, other products, another book: " << i;
    EXPECT_EQ(made.channels[i].map, "");
  }
  Diagnostics diagnostics;
  const auto read = parse("feed.toml", to_toml(made), diagnostics);
  ASSERT_TRUE(read) << diagnostics.format();
  EXPECT_EQ(read->channels[1].recovers, made.channels[0].name);
}

}  // namespace stopbit::feed::makers_test
