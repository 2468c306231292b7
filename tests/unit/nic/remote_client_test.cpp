// Subscribers in processes that have no node: a port that the broker opens, and near rings.

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "host/nic/node/client.hpp"
#include "host/os/clock.hpp"
#include "tests/unit/nic/house.hpp"

namespace stopbit::remote::remote_client_test {

/// A client's process, with a subscriber.
struct Guest {
  explicit Guest(const std::string& ring, const std::string& feed = "cme") {
    client = std::move(nic::Client::open(House::socket())).value();
    const auto port = client->subscribe("cme");
    if (!port) throw std::runtime_error(port.message());
    SubscriberOptions how;
    how.publisher = port.value().node;
    how.publisher_port = port.value().vpid;
    how.ring = feed;
    how.name = ring;
    how.ask_ns = 1'000'000;
    subscriber = std::move(Subscriber::open(*client, how)).value();
  }
  [[nodiscard]] bool until(const std::function<bool()>& happens) const {
    for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; os::monotonic_clock_ns() < end;) {
      if (happens()) return true;
      (void)subscriber->step(os::monotonic_clock_ns());
      std::this_thread::yield();
    }
    return false;
  }
  [[nodiscard]] bool until_live() const {
    return until([this] { return subscriber->state() == SubscriberState::Live; });
  }
  std::unique_ptr<nic::Client> client;
  std::unique_ptr<Subscriber> subscriber;
};

TEST(RemoteClient, has_a_ring_that_the_publisher_writes_as_long_as_it_lives) {
  House house;
  const RingName name;
  for (std::uint32_t i = 0; i < 20; ++i) house.cme_feed.tick(i);
  std::optional<Guest> guest(name.get());
  ASSERT_TRUE(guest->until_live()) << guest->subscriber->problem();
  for (std::uint32_t i = 0; i < 20; ++i) house.cme_feed.tick(i, std::string(i * 4, 'x'));
  ASSERT_TRUE(guest->until([&] { return guest->subscriber->counters().records == 40; }));
  ring::Reader reader = ring::Reader::open(name.get()).value();
  ring::Reader local = ring::Reader::open(house.cme.get()).value();
  EXPECT_EQ(read_all(reader), read_all(local));
  EXPECT_EQ(house.use_of("cme").subscribed, 1U);
  ASSERT_EQ(house.status().size(), 1U);
  EXPECT_TRUE(house.status().at(0).is_near);
  guest.reset();
  EXPECT_TRUE(house.is_left());
  EXPECT_FALSE(os::exists(name.get()));
  EXPECT_EQ(reader.writer(), ring::WriterState::Finished);
}

TEST(RemoteClient, that_ends_without_a_word_leaves_no_ring) {
  House house;
  const RingName name;
  std::unique_ptr<nic::Client> client = std::move(nic::Client::open(House::socket())).value();
  const auto port = client->subscribe("cme");
  ASSERT_TRUE(port.ok());
  Subscribe request;
  request.session = 1;
  request.ring = "cme";
  request.near = WantedRing{name.get(), true, kRingSlots};
  ASSERT_EQ(client->send(port.value().node, port.value().vpid, to_bytes(request)), nic::Reply::NoError);
  for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs;
       os::monotonic_clock_ns() < end && house.status().empty();) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(os::exists(name.get()));
  client.reset();
  EXPECT_TRUE(house.is_left());
  EXPECT_FALSE(os::exists(name.get()));
}

TEST(RemoteClient, gets_no_ring_that_it_is_not_entitled_to) {
  House house;
  const RingName name;
  const Guest guest(name.get(), "ice");  // asks the publisher for another ring than the broker has let it
  ASSERT_TRUE(guest.until([&] { return guest.subscriber->state() == SubscriberState::Refused; }));
  EXPECT_EQ(guest.subscriber->refusal(), Refusal::Ring);
  const auto asked = guest.client->subscribe("ice");
  ASSERT_FALSE(asked.ok());
  EXPECT_NE(asked.message().find("no such feed"), std::string::npos);
  const auto nothing = guest.client->subscribe("none");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.message(), asked.message());
  EXPECT_EQ(house.use_of("ice").refused, 1U);
  EXPECT_FALSE(os::exists(name.get()));
}

TEST(RemoteClient, loses_its_ring_with_its_entitlement) {
  House house;
  const RingName name;
  const Guest guest(name.get());
  ASSERT_TRUE(guest.until_live());
  house.entitle({"ice"});
  EXPECT_TRUE(house.status().empty());
  EXPECT_FALSE(os::exists(name.get()));
  EXPECT_FALSE(guest.client->subscribe("cme").ok());
  EXPECT_TRUE(guest.client->subscribe("ice").ok());
}

}  // namespace stopbit::remote::remote_client_test
