#include "host/appliance/publications.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "tests/lib/scratch.hpp"
#include "tests/lib/why.hpp"

namespace stopbit::appliance::publications_test {

using ::testing::HasSubstr;
using ::testing::SizeIs;

PublishSettings published(const std::string& name, const std::string& ring) {
  PublishSettings settings;
  settings.name = name;
  settings.ring = ring;
  return settings;
}

NicSettings running() {
  NicSettings nic;
  nic.network = "net";
  nic.listen = "127.0.0.1:7700";
  nic.rings = {{"cme", "cme"}, {"emdi", "/data/emdi"}};
  nic.publish.push_back(published("cme", "cme"));
  nic.publish[0].to_fabric = true;
  return nic;
}

TEST(Publications, cannot_change_together_with_what_the_node_is_made_of) {
  const std::pair<const char*, std::function<void(NicSettings&)>> changes[] = {
      {"network", [](NicSettings& nic) { nic.network = "other"; }},
      {"listen", [](NicSettings& nic) { nic.listen = "127.0.0.1:7701"; }},
      {"provider", [](NicSettings& nic) { nic.provider = "verbs"; }},
      {"udp", [](NicSettings& nic) { nic.udp.emplace(); }},
      {"broker", [](NicSettings& nic) { nic.broker = "socket"; }},
      {"entitlements", [](NicSettings& nic) { nic.entitlements_file = "file"; }},
      {"clients", [](NicSettings& nic) { ++nic.clients; }},
      {"resident", [](NicSettings& nic) { ++nic.resident_bytes; }},
      {"subscribers", [](NicSettings& nic) { ++nic.subscribers; }},
      {"subscribers_per_address", [](NicSettings& nic) { ++nic.subscribers_per_address; }},
      {"requests_per_second", [](NicSettings& nic) { ++nic.requests_per_second; }},
      {"core", [](NicSettings& nic) { nic.thread.core = 3; }},
      {"idle", [](NicSettings& nic) { nic.thread.idle = Idle::Spin; }},
      {"sleep", [](NicSettings& nic) { ++nic.thread.sleep_ns; }},
  };
  EXPECT_EQ(testing::why(can_republish(running(), running())), "");
  for (const auto& [key, change] : changes) {
    NicSettings now = running();
    change(now);
    EXPECT_EQ(testing::why(can_republish(running(), now)),
              std::string("'") + key +
                  "' of [nic] cannot change while the appliance is running: restore it, or restart the appliance");
  }
}

TEST(Publications, are_of_rings_that_the_appliance_writes) {
  NicSettings now = running();
  now.publish.push_back(published("other", "/data/emdi"));
  now.publish[0].allow = {nic::parse_prefix("10.0.0.0/8").value()};
  now.publish[0].bytes_per_second = 1'000'000;
  EXPECT_EQ(testing::why(can_republish(running(), now)), "");
  now.publish[1].ring = "/data/moved/emdi";
  EXPECT_THAT(testing::why(can_republish(running(), now)), HasSubstr("'ring' of [[publish]] 'other'"));
  now.publish.clear();
  EXPECT_EQ(testing::why(can_republish(running(), now)), "");
}

TEST(Publications, keep_nobody_waiting_for_longer_than_the_ring_was_made_for) {
  NicSettings now = running();
  now.publish[0].lossless = true;
  EXPECT_THAT(testing::why(can_republish(running(), now)), HasSubstr("'lossless' of [[publish]] 'cme'"));
  NicSettings waits = now;
  EXPECT_EQ(testing::why(can_republish(waits, now)), "");
  now.publish[0].detach_after_ns = kPatienceNs / 2;
  EXPECT_EQ(testing::why(can_republish(waits, now)), "");
  now.publish[0].detach_after_ns = 2 * kPatienceNs;
  EXPECT_THAT(testing::why(can_republish(waits, now)),
              HasSubstr("'detach_after' of [[publish]] 'cme': the agent of this lossless "
                        "ring was started to wait at most 5000ms"));
  now.publish[0].lossless = false;
  EXPECT_EQ(testing::why(can_republish(waits, now)), "") << "who takes a right away is not kept from it";
}

TEST(Publications, of_a_carrier_have_its_addresses_and_their_token) {
  testing::Scratch files;
  NicSettings nic = running();
  nic.publish[0].allow = {nic::parse_prefix("10.0.0.0/8").value()};
  nic.publish[0].token_file = files.path("token");
  nic.publish.push_back(published("here", "/data/emdi"));
  EXPECT_THAT(publications_of(nic, &PublishSettings::to_fabric).message(), HasSubstr("cannot read the token"));
  files.write("token", "short\n");
  EXPECT_THAT(publications_of(nic, &PublishSettings::to_fabric).message(), HasSubstr("16 to 64 characters"));
  files.write("token", "sixteen letters!\r\nand more\n");
  const auto fabric = publications_of(nic, &PublishSettings::to_fabric);
  ASSERT_TRUE(fabric) << fabric.message();
  ASSERT_THAT(fabric.value(), SizeIs(1));
  EXPECT_EQ(fabric.value()[0].token, "sixteen letters!");
  EXPECT_THAT(fabric.value()[0].allow, SizeIs(1));
  const auto shm = publications_of(nic, &PublishSettings::to_shm);
  ASSERT_TRUE(shm) << shm.message();
  ASSERT_THAT(shm.value(), SizeIs(2));
  EXPECT_THAT(shm.value()[0].allow, SizeIs(0)) << "shm knows no addresses";
  EXPECT_EQ(shm.value()[1].name, "here");
}

TEST(Publications, over_udp_need_a_token_that_is_a_file_of_its_own) {
  const testing::Scratch files;
  UdpSettings udp;
  udp.listen = "127.0.0.1:7701";
  udp.frame_bytes = 8900;
  udp.bytes_per_second = 1'000'000;
  udp.is_encrypted = false;
  const auto plain = udp_options_of(udp);
  ASSERT_TRUE(plain) << plain.message();
  EXPECT_EQ(plain.value().encryption, nic::UdpEncryption::Off);
  EXPECT_EQ(plain.value().frame_bytes, 8900U);
  EXPECT_EQ(plain.value().peer_bytes_per_second, 1'000'000U);
  udp.is_encrypted = true;
  udp.token_file = files.path("token");
  EXPECT_THAT(udp_options_of(udp).message(), HasSubstr("No such file"));
  ASSERT_EQ(::mkfifo(udp.token_file.c_str(), 0600), 0);
  EXPECT_THAT(udp_options_of(udp).message(), HasSubstr("not a regular file"))
      << "to read from a pipe without a writer would take for ever";
  ASSERT_EQ(::unlink(udp.token_file.c_str()), 0);
  files.write("token", "fifteen letters\n");
  EXPECT_THAT(udp_options_of(udp).message(), HasSubstr("16 to 64 characters"));
  files.write("token", "sixteen letters!\n");
  const auto sealed = udp_options_of(udp);
  ASSERT_TRUE(sealed) << sealed.message();
  EXPECT_EQ(sealed.value().token, "sixteen letters!");
  EXPECT_EQ(sealed.value().encryption, nic::UdpEncryption::Required);
  EXPECT_EQ(sealed.value().listen, udp.listen);
}

}  // namespace stopbit::appliance::publications_test
