#include "host/appliance/opener/request.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "host/appliance/opener/grants.hpp"

namespace stopbit::opener::request_test {

constexpr Request kGap{.kind = RequestKind::Append, .index = 0, .number = 20190404};

TEST(OpenerRequest, comes_back_as_it_was) {
  for (std::uint16_t kind = 1; kind <= kKinds; ++kind) {
    const Request request{.kind = static_cast<RequestKind>(kind), .index = 7};
    EXPECT_EQ(parse_request(encode(request)), request) << to_text(request.kind);
  }
  EXPECT_EQ(parse_request(encode(kGap)), kGap);
}

TEST(OpenerRequest, has_one_encoding) {
  const RequestBytes right = encode(kGap);
  std::vector<std::byte> longer(right.begin(), right.end());
  longer.push_back({});
  EXPECT_FALSE(parse_request(longer));
  for (std::size_t bytes = 0; bytes < right.size(); ++bytes) EXPECT_FALSE(parse_request(std::span(right).first(bytes)));
  // The magic number, the upper byte of the kind, padding, and a number that is too large.
  for (const std::size_t at : {0U, 3U, 5U, 6U, 7U, 12U, 15U, 22U, 23U}) {
    RequestBytes wrong = right;
    wrong[at] ^= std::byte{0x80};
    EXPECT_FALSE(parse_request(wrong)) << at;
  }
}

TEST(OpenerRequest, has_a_number_only_if_it_is_about_one_of_many_files) {
  for (const RequestKind kind : {RequestKind::Socket, RequestKind::Read, RequestKind::Connect}) {
    EXPECT_FALSE(parse_request(encode({.kind = kind, .number = 1}))) << to_text(kind);
  }
  EXPECT_FALSE(parse_request(encode({.kind = RequestKind::Renew, .number = 1})));
  EXPECT_TRUE(parse_request(encode({.kind = RequestKind::Tell, .number = 2})));
  EXPECT_FALSE(parse_request(encode({.kind = RequestKind::Tell, .number = 3}))) << "there are three lists";
  EXPECT_TRUE(parse_request(encode({.kind = RequestKind::Create, .number = kMaxNumber})));
  EXPECT_FALSE(parse_request(encode({.kind = RequestKind::Create, .number = kMaxNumber + 1})));
}

TEST(OpenerGrants, cover_what_they_name_and_nothing_else) {
  Grants grants;
  for (std::uint16_t kind = 1; kind <= kKinds; ++kind) {
    EXPECT_FALSE(check({.kind = static_cast<RequestKind>(kind)}, grants)) << kind;
  }
  grants.sockets.resize(1);
  grants.files.resize(1);
  grants.connections.resize(1);
  grants.sets = {{.folder = "/a", .prefix = "gaps-", .suffix = ".jsonl", .can_append = true, .can_remove = true},
                 {.folder = "/b", .prefix = "x-", .suffix = ".pcapng", .can_create = true, .can_keep = true}};
  struct Row {
    RequestKind kind;
    std::vector<bool> covered;  ///< By index.
  };
  for (const Row& row : {Row{RequestKind::Socket, {true, false}}, Row{RequestKind::Read, {true, false}},
                         Row{RequestKind::Connect, {true, false}}, Row{RequestKind::Append, {true, false, false}},
                         Row{RequestKind::Create, {false, true, false}}, Row{RequestKind::Keep, {false, true, false}},
                         Row{RequestKind::Remove, {true, false, false}}}) {
    for (std::uint32_t i = 0; i < row.covered.size(); ++i) {
      EXPECT_EQ(check({.kind = row.kind, .index = i}, grants).ok(), row.covered[i]) << to_text(row.kind) << i;
    }
    EXPECT_FALSE(check({.kind = row.kind, .index = 0xFFFF'FFFF}, grants));
  }
}

TEST(OpenerGrants, grow_and_keep_their_indices) {
  const auto socket = [](const char* interface, std::uint32_t group, std::optional<std::uint32_t> source) {
    return SocketGrant{.options = {.interface = interface}, .membership = {.group = {group, 7}, .source = source}};
  };
  Grants grants{.sockets = {socket("eth0", 1, {})}, .files = {"/a/one"}};
  ASSERT_TRUE(add_new(grants, {.sockets = {socket("eth0", 1, 5), socket("eth0", 1, {}), socket("eth1", 1, {})},
                               .files = {"/a/two", "/a/one"}}));
  EXPECT_EQ(grants.files, (std::vector<std::string>{"/a/one", "/a/two"}));
  ASSERT_EQ(grants.sockets.size(), 3U);
  EXPECT_EQ(grants.sockets[1].membership.source, 5U);
  EXPECT_EQ(grants.sockets[2].options.interface, "eth1");
  // Settings that change again and again end somewhere, and then nothing is added.
  Grants many;
  for (std::size_t i = 0; i < kMostGrants; ++i) many.files.push_back("/b/" + std::to_string(i));
  EXPECT_FALSE(add_new(grants, many));
  EXPECT_EQ(grants.files.size(), 2U);
}

TEST(OpenerGrants, are_told_in_words) {
  for (const std::optional<std::uint32_t> source : {std::optional<std::uint32_t>(), std::optional(0xFFFF'FFFFU)}) {
    for (const char* const interface : {"", "eth0"}) {
      const SocketGrant socket{.options = {.interface = interface},
                               .membership = {.group = {0xEF01'0101, 65'535}, .source = source}};
      const auto read = parse_socket(to_text(socket));
      ASSERT_TRUE(read);
      EXPECT_EQ(read->options.interface, interface);
      EXPECT_EQ(read->membership, socket.membership);
    }
  }
  for (const char* const wrong : {"", "eth0", "eth0\n1", "eth0\n1 99999\n", "eth0\nx 1\n", "eth0\n1 1\nx"}) {
    EXPECT_FALSE(parse_socket(wrong)) << wrong;
  }
}

TEST(OpenerGrants, make_names_of_prefix_number_and_suffix) {
  const FileSet set{.folder = "/a", .prefix = "x-", .suffix = ".pcapng", .digits = 6};
  EXPECT_EQ(set.name(12), "x-000012.pcapng");
  EXPECT_EQ(set.name(12'345'678), "x-12345678.pcapng");
}

}  // namespace stopbit::opener::request_test
