#include "host/ports/out/socket/udp_sender.hpp"

#include <gmock/gmock.h>

#include <array>

namespace stopbit::egress_test {

/// Too long for a datagram: the kernel refuses it, wherever it goes.
TEST(UdpSender, says_which_of_a_batch_were_refused) {
  std::vector<std::size_t> refused;
  egress::UdpSenderOptions options;
  options.batch = 4;
  options.source = {0x7F000001, 0};
  options.on_refusal = [&](std::size_t place) { refused.push_back(place); };
  auto sender = egress::UdpSender::open(options);
  ASSERT_TRUE(sender) << sender.message();
  const std::vector<std::byte> good(10);
  const std::vector<std::byte> bad(70'000);
  constexpr net::Endpoint kNowhere{0x7F000001, 9};
  for (const auto* payload : {&good, &bad, &good}) sender.value().add(kNowhere, *payload);
  EXPECT_EQ(sender.value().waiting(), 3U);
  sender.value().add(kNowhere, bad);  // it is full, and goes
  EXPECT_EQ(sender.value().waiting(), 0U);
  EXPECT_THAT(refused, ::testing::ElementsAre(1, 3));
  EXPECT_EQ(sender.value().refused(), 2U);
  EXPECT_EQ(sender.value().datagrams(), 2U);
}

}  // namespace stopbit::egress_test
