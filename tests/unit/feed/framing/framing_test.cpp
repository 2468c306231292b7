#include "host/feed/framing/framing.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/lib/file_text.hpp"
#include "tests/lib/frames.hpp"

namespace stopbit::net::framing_test {

using testing::be16;
using testing::be32;
using testing::bytes;
using testing::ByteVector;
using testing::operator+;

Framing framing(std::string_view text) {
  auto result = parse_framing(text);
  EXPECT_TRUE(result.ok()) << text << (result.ok() ? "" : result.message());
  return result.ok() ? result.value() : Framing{};
}

std::string failure(std::string_view text) {
  const auto result = parse_framing(text);
  return result.ok() ? "" : result.message();
}

TEST(ParseFraming, presets_have_their_fields) {
  EXPECT_EQ(framing("cme").skip, 5U);
  EXPECT_EQ(framing("cme").sequence, (PreambleField{0, 4, true}));
  EXPECT_EQ(framing("moex").skip, 4U);
  EXPECT_EQ(framing("moex").sequence, (PreambleField{0, 4, false}));
  EXPECT_EQ(framing("none").skip, 0U);
}

TEST(ParseFraming, presets_have_their_reset_rule) {
  for (const char* name : {"cme", "b3", "moex", "t7", "millennium"})
    EXPECT_EQ(framing(name).reset, ResetRule::Packet) << name;
  EXPECT_EQ(framing("none").reset, ResetRule::Template);
}

TEST(FramingPresets, can_all_be_parsed_and_keep_their_name_and_kind) {
  for (const FramingPreset& preset : framing_presets()) {
    const Framing made = framing(preset.name);
    EXPECT_EQ(made.name, preset.name);
    EXPECT_EQ(made.kind, preset.kind) << preset.name;
    EXPECT_NE(failure("unknown").find(std::string(preset.name) + ", "), std::string::npos);
  }
}

TEST(FramingPresets, are_the_rows_of_the_page) {
  const std::string page = stopbit::testing::file_text(STOPBIT_ROOT "/doc/framings.md");
  std::size_t at = 0;
  for (const FramingPreset& preset : framing_presets()) {
    const std::string row = "| `" + std::string(preset.name) + "` | " + std::string(preset.before) + " | ";
    const std::size_t found = page.find(row, at);
    ASSERT_NE(found, std::string::npos) << "doc/framings.md has no such row, or not in this order: " << row;
    at = found;
  }
}

TEST(ParseFraming, millennium_is_a_stream_of_blocks) {
  const Framing preset = framing("millennium");
  EXPECT_EQ(preset.name, "millennium");
  EXPECT_TRUE(preset.blocks);
  EXPECT_EQ(preset.skip, 0U);
  EXPECT_EQ(preset.sequence, PreambleField{});
  EXPECT_EQ(preset.length, PreambleField{});
}

TEST(ParseFraming, reads_a_custom_form) {
  const Framing custom = framing("custom:skip=12,seq=u64le@2,len=u16be@10,blocks=yes,reset=never");
  EXPECT_EQ(custom.skip, 12U);
  EXPECT_EQ(custom.sequence, (PreambleField{2, 8, false}));
  EXPECT_EQ(custom.length, (PreambleField{10, 2, true}));
  EXPECT_TRUE(custom.blocks);
  EXPECT_EQ(custom.reset, ResetRule::Never);
  EXPECT_EQ(framing("custom:seq=u32be@1").skip, 5U) << "the data begins behind the last field";
  EXPECT_EQ(framing("custom:seq=u32be@1,skip=0").skip, 0U);
}

TEST(ParseFraming, names_the_place_of_an_error) {
  EXPECT_EQ(failure("custom:skp=4"),
            "custom:skp=4: column 8: unknown key 'skp' (expected skip, seq, len, blocks or reset)");
  EXPECT_EQ(failure("custom:skip=4,seq=u24be@0").substr(0, 36), "custom:skip=4,seq=u24be@0: column 19");
  EXPECT_EQ(failure("custom:skip=4,skip=4"), "custom:skip=4,skip=4: column 15: 'skip' is given twice");
  EXPECT_EQ(failure("custom:skip"), "custom:skip: column 8: 'skip' has no value");
  EXPECT_EQ(failure("custom:skip=4,"), "custom:skip=4,: column 15: a KEY=VALUE is missing");
}

TEST(ParseFraming, refuses_what_it_does_not_know) {
  for (const char* text :
       {"", "CME", "custom", "custom:", "custom:skip=", "custom:skip=-1", "custom:skip=1025", "custom:skip=4x",
        "custom:seq=u32be", "custom:seq=u32be@", "custom:seq=@4", "custom:seq=u32be@9999999999", "custom:reset=always",
        "custom:blocks=1", "custom:skip=1,,seq=u16be@0", "cme,reset=never"}) {
    EXPECT_NE(failure(text), "") << text;
  }
}

TEST(ReadPreamble, cme) {
  const Preamble preamble = read_preamble(framing("cme"), bytes({0, 0x36, 0x8A, 0x82, 1, 0xC0, 0xD3}));
  EXPECT_EQ(preamble.error, ErrorCode::None);
  EXPECT_EQ(preamble.sequence, 3574402U);
  EXPECT_EQ(preamble.data_begin, 5U);
  EXPECT_EQ(preamble.data_end, 7U);
}

TEST(ReadPreamble, moex) {
  const Preamble preamble = read_preamble(framing("moex"), bytes({2, 0x66, 1, 0, 0xC0}));
  EXPECT_EQ(preamble.sequence, 91650U);
  EXPECT_EQ(preamble.data_begin, 4U);
}

TEST(ReadPreamble, none_has_no_sequence) {
  const Preamble preamble = read_preamble(framing("none"), {});
  EXPECT_EQ(preamble.error, ErrorCode::None);
  EXPECT_EQ(preamble.data_begin, 0U);
  EXPECT_EQ(preamble.sequence, 0U);
}

TEST(ReadPreamble, a_length_bounds_the_data) {
  const Framing custom = framing("custom:len=u16le@0");
  EXPECT_EQ(read_preamble(custom, bytes({2, 0, 7, 8, 9})).data_end, 4U);
  EXPECT_EQ(read_preamble(custom, bytes({3, 0, 7, 8, 9})).data_end, 5U);
  EXPECT_EQ(read_preamble(custom, bytes({4, 0, 7, 8, 9})).error, ErrorCode::X9);
  const Framing wide = framing("custom:len=u64be@0");
  EXPECT_EQ(read_preamble(wide, ByteVector(20, std::byte{0xFF})).error, ErrorCode::X9);
}

TEST(ReadPreamble, a_datagram_shorter_than_the_preamble_is_x9) {
  for (const auto& [name, size] : {std::pair("cme", 5), std::pair("moex", 4), std::pair("b3", 10),
                                   std::pair("custom:skip=3,seq=u64be@4", 12), std::pair("custom:skip=9", 9)}) {
    const Framing format = framing(name);
    for (int bytes_there = 0; bytes_there < size; ++bytes_there) {
      const std::vector<std::byte> datagram(static_cast<std::size_t>(bytes_there));
      EXPECT_EQ(read_preamble(format, datagram).error, ErrorCode::X9) << name << ' ' << bytes_there;
    }
  }
}

TEST(ReadPreamble, b3) {
  const ByteVector data = bytes("data!");
  const auto b3 = [&](std::size_t chunks, std::size_t chunk, std::size_t length) {
    return read_preamble(framing("b3"), be32(77) + be16(chunks) + be16(chunk) + be16(length) + data);
  };
  const Preamble preamble = b3(3, 2, 5);
  EXPECT_EQ(preamble.error, ErrorCode::None);
  EXPECT_EQ(preamble.sequence, 77U);
  EXPECT_EQ(preamble.chunks, 3);
  EXPECT_EQ(preamble.chunk, 2);
  EXPECT_EQ(preamble.data_begin, 10U);
  EXPECT_EQ(preamble.data_end, 15U);
  EXPECT_EQ(b3(1, 1, 15).data_end, 15U) << "a length that counts the preamble";
  EXPECT_EQ(b3(1, 1, 4).data_end, 14U);
  EXPECT_EQ(b3(1, 1, 6).error, ErrorCode::X9);
  EXPECT_EQ(b3(1, 0, 5).error, ErrorCode::X9);
  EXPECT_EQ(b3(1, 2, 5).error, ErrorCode::X9);
  EXPECT_EQ(b3(0, 0, 5).error, ErrorCode::X9);
}

const ByteVector kTime = bytes({0x14, 0x7A, 0xAA, 0xDC, 0x33, 0x56, 0xA5, 0x13});

/// Template id 117, then the fields up to SendingTime.
ByteVector t7_header(const ByteVector& ids, const ByteVector& sequence) {
  return bytes({0xC0, 0xF5}) + ids + bytes({0x84}) + sequence + bytes({0x88}) + kTime;
}

void expect_t7(const ByteVector& datagram, std::uint64_t sequence, std::uint64_t sender) {
  const Preamble preamble = read_preamble(framing("t7"), datagram);
  ASSERT_EQ(preamble.error, ErrorCode::None);
  EXPECT_EQ(preamble.sequence, sequence);
  EXPECT_EQ(preamble.sender, sender);
  EXPECT_EQ(preamble.sending_time_ns, 0x147AAADC3356A513U);
  EXPECT_EQ(preamble.data_begin, 0U) << "the engine decodes the packet header too";
  EXPECT_EQ(preamble.data_end, datagram.size());
}

TEST(ReadPreamble, t7_without_partition) {
  expect_t7(t7_header(bytes({0xCC}), be32(0x0080C72F)) + bytes({0xC0, 0xF8}), 0x0080C72F, 76);
  expect_t7(t7_header(bytes({0x01, 0xCC}), be32(1)), 1, 204);
  expect_t7(t7_header(bytes({0x84}), be32(9)), 9, 4);
}

TEST(ReadPreamble, t7_with_partition) {
  const ByteVector indicator = bytes({0x84, 0, 0, 0, 0});
  expect_t7(t7_header(bytes({0x81, 0x82}), be32(5)) + indicator, 5, 2);
  expect_t7(t7_header(bytes({0x02, 0x81, 0x01, 0x82}), be32(5)) + indicator, 5, 130);
}

TEST(ReadPreamble, t7_is_not_misled_by_values_that_look_like_lengths) {
  // Partition, sender and sequence hold the bytes 0x84 and 0x88 wherever they can.
  for (const int partition : {0x81, 0x84, 0x88}) {
    for (const int sender : {0x81, 0x84, 0x88}) {
      for (const std::size_t sequence : {0x00000088UL, 0x84848484UL, 0x88888888UL, 0x84888488UL}) {
        expect_t7(t7_header(bytes({partition, sender}), be32(sequence)), sequence,
                  static_cast<std::uint64_t>(sender) & 0x7F);
        expect_t7(t7_header(bytes({sender}), be32(sequence)), sequence, static_cast<std::uint64_t>(sender) & 0x7F);
      }
    }
  }
}

TEST(ReadPreamble, t7_refuses_other_first_messages) {
  const ByteVector good = t7_header(bytes({0xCC}), be32(7));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(read_preamble(framing("t7"), std::span(good).first(size)).error, ErrorCode::X9) << size;
  }
  ByteVector no_template_id = good;
  no_template_id[0] = std::byte{0x80};
  EXPECT_EQ(read_preamble(framing("t7"), no_template_id).error, ErrorCode::X9);
  EXPECT_EQ(read_preamble(framing("t7"), bytes({0xC0, 0xF8})).error, ErrorCode::X9);
  EXPECT_EQ(read_preamble(framing("t7"), ByteVector(100, std::byte{0})).error, ErrorCode::X9) << "an endless entity";
}

TEST(ReadPreamble, survives_any_bytes) {
  std::mt19937 random(2);
  const ByteVector good = t7_header(bytes({0x81, 0x82}), be32(5));
  std::vector<std::string_view> names = {"custom:seq=u16be@3,len=u64le@1"};
  for (const FramingPreset& preset : framing_presets()) names.push_back(preset.name);
  for (const std::string_view name : names) {
    const Framing format = framing(name);
    for (int i = 0; i < 50'000; ++i) {
      const std::size_t size = random() % (good.size() + 1);
      const std::unique_ptr<std::byte[]> datagram(new std::byte[size]);
      std::copy_n(good.begin(), size, datagram.get());
      if (size != 0) datagram[random() % size] = static_cast<std::byte>(random());
      const Preamble preamble = read_preamble(format, {datagram.get(), size});
      if (preamble.error != ErrorCode::None) continue;
      EXPECT_LE(preamble.data_begin, preamble.data_end);
      EXPECT_LE(preamble.data_end, size);
    }
  }
}

TEST(BlockReader, walks_blocks) {
  const ByteVector datagram = bytes({9, 9, 0x82, 1, 2, 0x00, 0x81, 3});
  BlockReader blocks(datagram, 2, 8);
  auto block = blocks.next();
  ASSERT_TRUE(block);
  EXPECT_EQ(block->error, ErrorCode::None);
  EXPECT_EQ(block->begin, 3U);
  EXPECT_EQ(block->end, 5U);
  block = blocks.next();
  ASSERT_TRUE(block) << "an overlong size is legal";
  EXPECT_EQ(block->begin, 7U);
  EXPECT_EQ(block->end, 8U);
  EXPECT_FALSE(blocks.next());
}

TEST(BlockReader, stops_at_a_faulty_size) {
  const auto error_of = [](const ByteVector& datagram) {
    BlockReader blocks(datagram, 0, static_cast<std::uint32_t>(datagram.size()));
    const auto block = blocks.next();
    EXPECT_TRUE(block && !blocks.next());
    return block ? block->error : ErrorCode::None;
  };
  EXPECT_EQ(error_of(bytes({0x80, 1})), ErrorCode::D12);
  EXPECT_EQ(error_of(bytes({0, 0, 0x80, 1})), ErrorCode::D12);
  EXPECT_EQ(error_of(bytes({0x82, 1})), ErrorCode::X1);
  EXPECT_EQ(error_of(bytes({0x01})), ErrorCode::X1);
  EXPECT_EQ(error_of(ByteVector(70'000, std::byte{0x7F})), ErrorCode::X1);
  EXPECT_EQ(error_of(ByteVector(50, std::byte{0x7F}) + bytes({0xFF})), ErrorCode::X1);
}

class ChunkAssemblerTest : public ::testing::Test {
 protected:
  ChunkAssembler::Answer add(std::uint16_t channel, std::size_t sequence, std::size_t chunks, std::size_t chunk,
                             const ByteVector& data) {
    datagram_ = be32(sequence) + be16(chunks) + be16(chunk) + be16(data.size()) + data;
    const Preamble preamble = read_preamble(format_, datagram_);
    EXPECT_EQ(preamble.error, ErrorCode::None);
    return assembler_.add(channel, datagram_, preamble);
  }

  static std::string data_of(const ChunkAssembler::Answer& answer) {
    const auto data = answer.whole.subspan(10);
    return {reinterpret_cast<const char*>(data.data()), data.size()};
  }

  using State = ChunkAssembler::State;
  Framing format_ = framing("b3");
  ByteVector datagram_;
  ChunkAssembler assembler_{2};
};

TEST_F(ChunkAssemblerTest, passes_single_chunks_through) {
  const auto answer = add(0, 1, 1, 1, bytes("abc"));
  EXPECT_EQ(answer.state, State::Complete);
  EXPECT_EQ(answer.whole.data(), datagram_.data()) << "no copy";
  EXPECT_EQ(data_of(answer), "abc");
}

TEST_F(ChunkAssemblerTest, joins_chunks_of_interleaved_channels) {
  EXPECT_EQ(add(0, 7, 3, 1, bytes("ab")).state, State::Waiting);
  EXPECT_EQ(add(1, 7, 2, 1, bytes("AB")).state, State::Waiting);
  EXPECT_EQ(add(0, 7, 3, 2, bytes("cd")).state, State::Waiting);
  EXPECT_EQ(data_of(add(1, 7, 2, 2, bytes("CD"))), "ABCD");
  EXPECT_EQ(data_of(add(0, 7, 3, 3, bytes("ef"))), "abcdef");
  EXPECT_EQ(assembler_.open_messages(), 0U);
}

TEST_F(ChunkAssemblerTest, gives_up_a_message_whose_chunks_do_not_follow) {
  EXPECT_EQ(add(0, 7, 3, 1, bytes("ab")).state, State::Waiting);
  auto answer = add(0, 7, 3, 3, bytes("ef"));
  EXPECT_EQ(answer.state, State::Orphan);
  EXPECT_TRUE(answer.gave_up);
  EXPECT_EQ(add(0, 8, 2, 1, bytes("x")).state, State::Waiting);
  answer = add(0, 9, 1, 1, bytes("single"));
  EXPECT_EQ(answer.state, State::Complete);
  EXPECT_TRUE(answer.gave_up);
  answer = add(0, 8, 2, 2, bytes("y"));
  EXPECT_EQ(answer.state, State::Orphan);
  EXPECT_FALSE(answer.gave_up);
}

TEST_F(ChunkAssemblerTest, begins_again_at_a_repeated_first_chunk) {
  EXPECT_EQ(add(0, 7, 2, 1, bytes("old")).state, State::Waiting);
  EXPECT_TRUE(add(0, 7, 2, 1, bytes("new")).gave_up);
  EXPECT_EQ(data_of(add(0, 7, 2, 2, bytes("!"))), "new!");
}

TEST_F(ChunkAssemblerTest, refuses_a_message_longer_than_its_buffer) {
  const ByteVector big(60'000, std::byte{1});
  EXPECT_EQ(add(0, 7, 3, 1, big).state, State::Waiting);
  EXPECT_EQ(add(0, 7, 3, 2, big).state, State::TooLong);
  EXPECT_EQ(add(0, 7, 3, 3, big).state, State::Orphan);
  EXPECT_EQ(assembler_.open_messages(), 0U);
}

TEST_F(ChunkAssemblerTest, counts_messages_left_open) {
  (void)add(0, 7, 3, 1, bytes("a"));
  (void)add(1, 7, 3, 1, bytes("a"));
  EXPECT_EQ(assembler_.open_messages(), 2U);
}

}  // namespace stopbit::net::framing_test
