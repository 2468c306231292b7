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
  // The output is a description.
  EXPECT_TRUE(parse("feed.toml", to_toml(*feed), diagnostics)) << diagnostics.format();
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

}  // namespace stopbit::feed::makers_test
