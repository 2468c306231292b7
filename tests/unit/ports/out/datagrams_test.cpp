#include "host/ports/out/datagrams.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "host/ports/out/frame.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::egress::datagrams_test {

using net::testing::bytes;
using net::testing::ByteVector;

net::Framing framing(std::string_view text) {
  return net::parse_framing(text).value();
}

ByteVector numbered(std::size_t count) {
  ByteVector data;
  for (std::size_t i = 0; i < count; ++i) data.push_back(static_cast<std::byte>(i % 251));
  return data;
}

TEST(Datagrams, of_cme_have_its_preamble) {
  const auto made = make_datagrams(framing("cme"), bytes({0xC0, 0x81}), 0x01020304, 1472);
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0], bytes({1, 2, 3, 4, 0, 0xC0, 0x81}));
}

TEST(Datagrams, of_moex_have_its_preamble) {
  EXPECT_EQ(make_datagrams(framing("moex"), bytes({0xC0}), 0x01020304, 1472).at(0), bytes({4, 3, 2, 1, 0xC0}));
}

TEST(Datagrams, of_b3_have_its_preamble) {
  EXPECT_EQ(make_datagrams(framing("b3"), bytes({0xC0, 0x81}), 7, 1472).at(0),
            bytes({0, 0, 0, 7, 0, 1, 0, 1, 0, 2, 0xC0, 0x81}));
}

TEST(Datagrams, of_t7_and_none_are_the_data_alone) {
  for (const char* name : {"t7", "none"}) {
    EXPECT_EQ(make_datagrams(framing(name), bytes({0xC0}), 7, 1472).at(0), bytes({0xC0})) << name;
  }
}

TEST(Datagrams, of_custom_framings_fill_every_field) {
  EXPECT_EQ(make_datagrams(framing("custom:skip=9,seq=u16le@1,len=u32be@5"), bytes({1, 2, 3}), 0x10203, 1472).at(0),
            bytes({0, 3, 2, 0, 0, 0, 0, 0, 3, 1, 2, 3}));
  EXPECT_EQ(make_datagrams(framing("custom:len=u16be@0,blocks=yes"), bytes({1, 2, 3}), 0, 1472).at(0),
            bytes({0, 4, 0x83, 1, 2, 3}));
}

TEST(Datagrams, of_millennium_begin_with_their_length) {
  EXPECT_EQ(make_datagrams(framing("millennium"), bytes({1, 2, 3}), 42, 1472).at(0), bytes({0x83, 1, 2, 3}));
}

TEST(Datagrams, read_back_as_they_were_written) {
  for (const char* name : {"cme", "b3", "moex", "none", "custom:skip=20,seq=u64le@3,len=u32le@11"}) {
    const net::Framing way = framing(name);
    const ByteVector data = numbered(300);
    const auto made = make_datagrams(way, data, 42, 1472);
    ASSERT_EQ(made.size(), 1U) << name;
    const net::Preamble preamble = net::read_preamble(way, made[0]);
    EXPECT_EQ(preamble.error, ErrorCode::None) << name;
    EXPECT_EQ(preamble.sequence, way.name == "none" ? 0U : 42U) << name;
    EXPECT_EQ(ByteVector(made[0].begin() + preamble.data_begin, made[0].begin() + preamble.data_end), data) << name;
  }
}

TEST(Chunks, of_b3_are_put_together_again) {
  const net::Framing b3 = framing("b3");
  for (const std::size_t size : {0U, 1U, 89U, 90U, 91U, 180U, 181U, 9000U}) {
    const ByteVector data = numbered(size);
    const auto made = make_datagrams(b3, data, 9, 100);
    EXPECT_EQ(made.size(), std::max<std::size_t>(1, (size + 89) / 90)) << size;
    net::ChunkAssembler assembler(1);
    net::ChunkAssembler::Answer answer;
    for (const ByteVector& datagram : made) {
      EXPECT_LE(datagram.size(), 100U);
      const net::Preamble preamble = net::read_preamble(b3, datagram);
      ASSERT_EQ(preamble.error, ErrorCode::None);
      EXPECT_EQ(preamble.sequence, 9U);
      answer = assembler.add(0, datagram, preamble);
    }
    ASSERT_EQ(answer.state, net::ChunkAssembler::State::Complete) << size;
    EXPECT_EQ(ByteVector(answer.whole.begin() + 10, answer.whole.end()), data) << size;
  }
}

TEST(Chunks, carry_the_largest_message) {
  const net::Framing b3 = framing("b3");
  const ByteVector data = numbered(max_data_bytes(b3));
  net::ChunkAssembler assembler(1);
  net::ChunkAssembler::Answer answer;
  for (const ByteVector& datagram : make_datagrams(b3, data, 9, 1472)) {
    answer = assembler.add(0, datagram, net::read_preamble(b3, datagram));
  }
  ASSERT_EQ(answer.state, net::ChunkAssembler::State::Complete);
  EXPECT_EQ(answer.whole.size(), data.size() + 10);
}

TEST(Datagrams, of_the_most_data_fit_a_frame) {
  for (const char* name : {"cme", "moex", "none", "t7", "custom:skip=1024,blocks=yes"}) {
    const net::Framing way = framing(name);
    const auto made = make_datagrams(way, numbered(max_data_bytes(way)), 1, 1472);
    ASSERT_EQ(made.size(), 1U);
    EXPECT_LE(made[0].size(), kMaxPayloadBytes) << name;
    EXPECT_GE(made[0].size() + 1, kMaxPayloadBytes) << name;
  }
}

TEST(Framings, whose_fields_lie_in_the_data_cannot_be_written) {
  EXPECT_TRUE(can_write(framing("cme")));
  EXPECT_TRUE(can_write(framing("custom:seq=u32be@0")));
  EXPECT_FALSE(can_write(framing("custom:skip=0,seq=u32be@4")));
  EXPECT_FALSE(can_write(framing("custom:skip=4,len=u16be@3")));
}

}  // namespace stopbit::egress::datagrams_test
