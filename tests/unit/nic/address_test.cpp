#include "host/nic/transport/address.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <vector>

namespace stopbit::nic::address_test {

HostAddress host(const char* text) {
  const Result<AddressPrefix> read = parse_prefix(text);
  EXPECT_TRUE(read) << text;
  return read ? read.value().address : HostAddress{};
}

TEST(HostAddress, is_written_as_it_is_read) {
  for (const char* text : {"10.1.2.3", "255.255.255.255", "0.0.0.0", "fd00::1", "::", "2001:db8::ff00:42:8329"}) {
    EXPECT_EQ(to_text(host(text)), text);
  }
  EXPECT_EQ(to_text(host("::ffff:10.1.2.3")), "10.1.2.3");
}

TEST(HostAddress, comes_from_socket_addresses_and_from_nothing_else) {
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = 7;
  ipv4.sin_addr.s_addr = htonl(0x0A01'0203);
  const auto bytes4 = std::as_bytes(std::span(&ipv4, 1));
  EXPECT_EQ(host_of(bytes4), host("10.1.2.3"));
  EXPECT_FALSE(host_of(bytes4.first(bytes4.size() - 1)));
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_addr.s6_addr[0] = 0xFD;
  ipv6.sin6_addr.s6_addr[15] = 9;
  const auto bytes6 = std::as_bytes(std::span(&ipv6, 1));
  EXPECT_EQ(host_of(bytes6), host("fd00::9"));
  EXPECT_FALSE(host_of(bytes6.first(bytes6.size() - 1)));
  EXPECT_FALSE(host_of({}));
  const std::vector<std::byte> rubbish(128, std::byte{0x7F});
  EXPECT_FALSE(host_of(rubbish));
  // Longer than any address of a socket: what is behind is not looked at.
  std::vector<std::byte> longer(300);
  std::memcpy(longer.data(), &ipv4, sizeof(ipv4));
  EXPECT_EQ(host_of(longer), host("10.1.2.3"));
}

TEST(HostAddress, of_one_customer_are_one_ipv4_address_or_one_ipv6_network) {
  EXPECT_EQ(host("10.1.2.3").customer(), host("10.1.2.3"));
  EXPECT_NE(host("10.1.2.3").customer(), host("10.1.2.4").customer());
  EXPECT_EQ(host("fd00:1:2:3:4:5:6:7").customer(), host("fd00:1:2:3::"));
  EXPECT_EQ(host("fd00:1:2:3::1").customer(), host("fd00:1:2:3:ffff::").customer());
  EXPECT_NE(host("fd00:1:2:3::1").customer(), host("fd00:1:2:4::1").customer());
}

TEST(AddressPrefix, covers_what_begins_like_it) {
  const auto covers = [](const char* prefix, const char* address) {
    const Result<AddressPrefix> read = parse_prefix(prefix);
    EXPECT_TRUE(read) << prefix;
    return read && read.value().covers(host(address));
  };
  EXPECT_TRUE(covers("10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(covers("10.1.2.3", "10.1.2.2"));
  EXPECT_TRUE(covers("10.1.0.0/16", "10.1.255.255"));
  EXPECT_FALSE(covers("10.1.0.0/16", "10.2.0.0"));
  EXPECT_TRUE(covers("10.1.2.128/25", "10.1.2.129"));
  EXPECT_FALSE(covers("10.1.2.128/25", "10.1.2.127"));
  EXPECT_TRUE(covers("0.0.0.0/0", "192.0.2.1"));
  EXPECT_FALSE(covers("0.0.0.0/0", "fd00::1"));
  EXPECT_TRUE(covers("::/0", "fd00::1"));
  EXPECT_FALSE(covers("::/0", "10.1.2.3"));
  EXPECT_TRUE(covers("fd00::/9", "fd7f::1"));
  EXPECT_FALSE(covers("fd00::/9", "fd80::1"));
}

TEST(AddressPrefix, says_what_is_wrong_with_a_text) {
  const auto problem = [](const char* text) {
    const Result<AddressPrefix> read = parse_prefix(text);
    return read ? std::string() : read.message();
  };
  EXPECT_EQ(problem("md1"), "'md1' is not an address or a prefix, like 10.1.2.3, 10.1.0.0/16 or fd00::/8");
  EXPECT_NE(problem(""), "");
  EXPECT_NE(problem("/8"), "");
  EXPECT_EQ(problem("10.0.0.0/33"), "'10.0.0.0/33': the length after the / must be 0 to 32 bits");
  EXPECT_EQ(problem("fd00::/129"), "'fd00::/129': the length after the / must be 0 to 128 bits");
  EXPECT_NE(problem("10.0.0.0/"), "");
  EXPECT_NE(problem("10.0.0.0/8/8"), "");
  EXPECT_NE(problem("10.0.0.0/-1"), "");
  EXPECT_EQ(problem("10.1.2.3/16"), "'10.1.2.3/16' has bits after its prefix, which begins at 10.1.0.0");
  EXPECT_EQ(problem("fd00::1/64"), "'fd00::1/64' has bits after its prefix, which begins at fd00::");
}

}  // namespace stopbit::nic::address_test
