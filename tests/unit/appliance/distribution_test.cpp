#include "host/appliance/distribution.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "host/appliance/entitlements.hpp"
#include "host/appliance/housekeeper.hpp"
#include "host/appliance/status.hpp"
#include "host/nic/node/client.hpp"
#include "tests/lib/appliance_fixture.hpp"

namespace stopbit::appliance::distribution_test {

using test::OneChannel;
using ::testing::Contains;
using ::testing::HasSubstr;

std::string mine(const std::string& more = "") {
  return "[[entitlement]]\nuser = \"" + std::to_string(::geteuid()) + "\"\ndomain = 7\n" + more;
}

/// An appliance whose ring others may attach.
struct Offering {
  explicit Offering(const std::string& entitlements = mine("feeds = [\"ring\"]\n")) {
    files.write("entitlements.toml", entitlements);
    one.emplace("", "[nic]\nnetwork = \"test-" + std::to_string(::getpid()) + "\"\nbroker = \"" + socket +
                        "\"\nentitlements = \"" + files.path("entitlements.toml") + "\"\n");
  }
  Distribution& distribution() { return *one->made->distribution(); }
  StatusReport status() { return read_status(one->counts(), {one->now, one->now}); }
  /// What the housekeeper tells, until it has told this; at most some seconds.
  std::vector<std::string> told_until(const std::string& part) {
    std::vector<std::string> lines;
    std::string line;
    const auto is_told = [&] {
      return std::any_of(lines.begin(), lines.end(), [&](const auto& l) { return l.find(part) != std::string::npos; });
    };
    for (int i = 0; i < 10'000 && !is_told(); ++i) {
      while (distribution().next_line(line)) lines.push_back(line);
      ::usleep(1'000);
    }
    return lines;
  }
  template <class Holds>
  bool becomes(Holds holds) {
    for (int i = 0; i < 10'000; ++i) {
      if (holds(status().nic)) return true;
      ::usleep(1'000);
    }
    return false;
  }

  testing::Scratch files;
  std::string socket = files.path("broker");
  std::optional<OneChannel> one;
};

TEST(Distribution, offers_the_rings_to_those_who_are_entitled_and_counts_their_use) {
  Offering offering;
  ASSERT_TRUE(offering.one->made);
  offering.distribution().start();
  auto opened = nic::Client::open(offering.socket);
  ASSERT_TRUE(opened) << opened.message();
  nic::Client& client = *opened.value();
  const nic::Vpid port = client.vpid();
  auto feed = client.attach("ring");
  ASSERT_TRUE(feed) << feed.message();
  EXPECT_FALSE(client.attach("other"));
  offering.one->give(0, test::tick(1, 55));
  offering.one->work();

  // The ring as the node reads it.
  auto memory = client.share(4'096, nic::Access::ReadWrite);
  ASSERT_TRUE(memory) << memory.message();
  nic::Command get;
  get.operation = nic::Operation::Get;
  get.target_node = feed.value().node;
  get.target_vpid = feed.value().vpid;
  get.window = feed.value().window.id;
  get.capability = feed.value().window.capability;
  get.address = memory.value().address;
  get.length = 4'096;
  get.modifiers = nic::kNotifyCompleter;
  ASSERT_EQ(client.queue(nic::CommandRing::Transfer).insert({&get, 1}).reply, nic::Reply::NoError);
  nic::Notification told;
  for (int i = 0; i < 10'000 && !client.notifications().take(told); ++i) ::usleep(1'000);
  EXPECT_EQ(told.operation, nic::Operation::Get);
  EXPECT_EQ(told.error, nic::Error::None);
  std::array<std::byte, 64> of_file;
  ASSERT_EQ(::pread(feed.value().file.get(), of_file.data(), of_file.size(), 0), 64);
  EXPECT_EQ(std::memcmp(of_file.data(), memory.value().memory.span().data(), 16), 0);

  EXPECT_TRUE(offering.becomes([](const NicStatus& nic) {
    return nic.clients == 1 && nic.offers.size() == 1 && nic.offers[0].attachments == 1 && nic.offers[0].gets == 1 &&
           nic.offers[0].bytes == 4'096 && nic.refused == 1;
  }));
  const auto count = [&](const char* family) { return offering.one->counts().sum(family); };
  EXPECT_EQ(count("nic_transfers"), 1U);
  EXPECT_EQ(count("nic_transfers_served"), 1U);
  EXPECT_EQ(count("nic_transfers_failed"), 0U);
  EXPECT_GE(count("nic_packets_delivered"), 2U) << "the node's own link has carried the get and its answer";
  EXPECT_GE(count("nic_translations_cached") + count("nic_translations_missed"), 2U);
  opened = Failure{"gone"};
  EXPECT_TRUE(offering.becomes([](const NicStatus& nic) {
    return nic.clients == 0 && nic.ports_gone == 1 && nic.offers[0].attachments == 0 && nic.offers[0].attached == 1;
  }));
  EXPECT_THAT(offering.told_until("gone with process"),
              Contains(HasSubstr("feed 'ring' left by port " + std::to_string(port) + " of user " +
                                 std::to_string(::geteuid()) + ", after 1 gets of 4096 bytes")));
}

TEST(Distribution, takes_other_entitlements_while_it_runs) {
  Offering offering(mine());
  offering.distribution().start();
  auto client = nic::Client::open(offering.socket);
  ASSERT_TRUE(client) << client.message();
  EXPECT_FALSE(client.value()->attach("ring"));
  Diagnostics diagnostics;
  auto more = parse_entitlements("e", mine("feeds = [\"ring\"]\n"), {"ring"}, diagnostics);
  ASSERT_TRUE(more) << diagnostics.format();
  offering.distribution().entitle(std::move(*more));
  bool is_attached = false;
  for (int i = 0; i < 10'000 && !is_attached; ++i) {
    is_attached = client.value()->attach("ring").ok();
    ::usleep(1'000);
  }
  EXPECT_TRUE(is_attached);
  offering.distribution().entitle({});
  EXPECT_TRUE(offering.becomes([](const NicStatus& nic) { return nic.clients == 0; }));
  EXPECT_FALSE(nic::Client::open(offering.socket));
}

TEST(Distribution, follows_a_ring_that_is_made_anew) {
  Offering offering;
  offering.distribution().start();
  auto client = nic::Client::open(offering.socket);
  ASSERT_TRUE(client) << client.message();
  const auto before = client.value()->attach("ring");
  ASSERT_TRUE(before) << before.message();
  Diagnostics diagnostics;
  ASSERT_TRUE(offering.one->made->reload("ticks", diagnostics)) << diagnostics.format();
  EXPECT_THAT(offering.told_until("was replaced"), Contains(HasSubstr("feed 'ring' was replaced")));
  const auto after = client.value()->attach("ring");
  ASSERT_TRUE(after) << after.message();
  struct stat old_file {};
  struct stat new_file {};
  ASSERT_EQ(::fstat(before.value().file.get(), &old_file), 0);
  ASSERT_EQ(::fstat(after.value().file.get(), &new_file), 0);
  EXPECT_NE(old_file.st_ino, new_file.st_ino);
}

TEST(Distribution, has_the_rings_of_channels_that_a_reload_adds_and_loses_those_that_end) {
  Offering offering;
  Appliance& appliance = *offering.one->made;
  Distribution& distribution = offering.distribution();
  distribution.start();
  auto client = nic::Client::open(offering.socket);
  ASSERT_TRUE(client) << client.message();
  Diagnostics diagnostics;
  const auto both = parse_entitlements("e", mine("feeds = [\"ring\", \"other\"]\n"), {"ring", "other"}, diagnostics);
  ASSERT_TRUE(both) << diagnostics.format();
  distribution.entitle(*both);
  const auto attaches = [&](const char* ring, bool wanted) {
    for (int i = 0; i < 10'000; ++i) {
      const auto feed = client.value()->attach(ring);
      if (feed) {
        EXPECT_TRUE(client.value()->detach(feed.value().window.id));
      }
      if (feed.ok() == wanted) return true;
      ::usleep(1'000);
    }
    return false;
  };
  const auto change_to = [&](const Settings& wanted) {
    auto ready = appliance.prepare_channels(wanted, appliance.compare_channels(wanted), diagnostics);
    ASSERT_TRUE(ready) << ready.message() << diagnostics.format();
    EXPECT_THAT(appliance.change_channels(std::move(ready).value()), ::testing::IsEmpty());
    offering.one->work();
    appliance.retire();
  };
  const Settings before = appliance.settings();
  Settings wanted = before;
  const std::string ring = offering.files.path("other");
  feed::Channel& channel = wanted.feeds[0].description.channels.emplace_back(wanted.feeds[0].description.channels[0]);
  channel.name = "eight";
  channel.number = 8;
  channel.ring = ring;
  channel.lines[0]->group.address += 2;
  channel.lines[1]->group.address += 2;
  wanted.nic->rings = {{"other", ring}, before.nic->rings[0]};
  wanted.nic->publish.emplace_back();
  wanted.nic->publish[0].name = "to all";
  wanted.nic->publish[0].ring = ring;
  EXPECT_THAT(distribution.republish(*wanted.nic).message(), HasSubstr("does not write: reload the settings"));
  for (int round = 0; round < 2; ++round) {
    EXPECT_FALSE(client.value()->attach("other"));
    change_to(wanted);
    EXPECT_TRUE(attaches("other", true));
    EXPECT_TRUE(distribution.republish(*wanted.nic));
    EXPECT_TRUE(attaches("ring", true)) << "the other one stays";
    change_to(before);
    EXPECT_TRUE(distribution.republish(*before.nic));
    EXPECT_TRUE(attaches("other", false)) << "it has ended";
    EXPECT_TRUE(attaches("ring", true));
  }
  EXPECT_FALSE(distribution.republish(*wanted.nic));
  wanted.nic->rings[0].name = std::string(65, 'x');
  EXPECT_THAT(appliance.prepare_channels(wanted, appliance.compare_channels(wanted), diagnostics).message(),
              HasSubstr("must have 1 to 64 bytes"));
}

TEST(Distribution, spares_the_log_what_strangers_cause) {
  Offering offering("");
  offering.distribution().start();
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(nic::Client::open(offering.socket));
  EXPECT_TRUE(offering.becomes([](const NicStatus& nic) { return nic.turned_away == 300; }));
  std::size_t lines = 0;
  std::string line;
  while (offering.distribution().next_line(line)) ++lines;
  EXPECT_GT(lines, 0U);
  EXPECT_EQ(lines + offering.status().nic.lines_kept, 300U);
  EXPECT_GT(offering.status().nic.lines_kept, 0U);
}

TEST(Distribution, leaves_the_broker_of_another_appliance_alone) {
  Offering first;
  first.distribution().start();
  Settings settings = first.one->made->settings();
  settings.nic->network += "-2";
  settings.state_folder = first.files.path("state-2");
  const std::string ring = first.files.path("ring-2");
  settings.feeds[0].description.channels[0].ring = ring;
  settings.nic->rings = {{"ring", ring}};
  const auto fake = [](const PortSettings&, std::vector<std::string>&) {
    return Result<std::unique_ptr<ingest::Port>>(std::make_unique<test::FakePort>(test::kOneMoment));
  };
  Diagnostics diagnostics;
  const auto second = Appliance::make(settings, {.open_port = fake, .has_private_counters = true}, diagnostics);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.message(), HasSubstr("another broker listens at"));
  EXPECT_TRUE(nic::Client::open(first.socket));
}

std::string errors_of(const std::string& text) {
  Diagnostics diagnostics;
  EXPECT_FALSE(parse_entitlements("entitlements.toml", text, {"cme", "moex"}, diagnostics));
  return diagnostics.format();
}

TEST(Entitlements, are_read_with_numbers_and_names) {
  Diagnostics diagnostics;
  const auto read = parse_entitlements(
      "entitlements.toml",
      "[[entitlement]]\nuser = \"root\"\nfeeds = [\"cme\", \"moex\"]\nports = 2\n"
      "memory = \"1MiB\"\nwindows = 5\nhold = \"5ms\"\n[[entitlement]]\ngroup = \"12\"\ndomain = 3\n",
      {"cme", "moex"}, diagnostics);
  ASSERT_TRUE(read) << diagnostics.format();
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].user, 0U);
  EXPECT_FALSE((*read)[0].group);
  EXPECT_EQ((*read)[0].ports, 2U);
  EXPECT_EQ((*read)[0].memory_bytes, 1U << 20);
  EXPECT_EQ((*read)[0].windows, 5U);
  EXPECT_EQ((*read)[0].hold_us, 5'000U);
  EXPECT_EQ((*read)[0].feeds.size(), 2U);
  EXPECT_FALSE((*read)[1].user);
  EXPECT_EQ((*read)[1].group, 12U);
  EXPECT_EQ((*read)[1].domain, 3U);
  EXPECT_EQ((*read)[1].hold_us, 0U);
}

TEST(Entitlements, say_what_is_wrong_and_where) {
  EXPECT_THAT(errors_of("[[entitlement]]\nuser = \"nobody-of-this-name\"\n"),
              HasSubstr("entitlements.toml:2:8: error: this machine has no user 'nobody-of-this-name'"));
  EXPECT_THAT(errors_of("[[entitlement]]\nhold = \"2s\"\n"), HasSubstr("2:8: error"));
  EXPECT_THAT(errors_of("[[entitlement]]\ngroup = \"4294967295\"\n"),
              HasSubstr("2:9: error: this machine has no group"));
  EXPECT_THAT(errors_of("[[entitlement]]\nfeeds = [\"cmee\"]\n"),
              HasSubstr("unknown feed 'cmee'; did you mean 'cme'?"));
  EXPECT_THAT(errors_of("[[entitlement]]\ndomain = 65536\n"), HasSubstr("'domain' must be from 1 to 65535"));
  EXPECT_THAT(errors_of("[[entitlement]]\nfeed = []\n"), HasSubstr("unknown key 'feed'; did you mean 'feeds'?"));
  EXPECT_THAT(errors_of("[[entitlements]]\n"), HasSubstr("did you mean 'entitlement'?"));
  EXPECT_THAT(errors_of("[[entitlement]\n"), HasSubstr("entitlements.toml:1"));
}

}  // namespace stopbit::appliance::distribution_test
