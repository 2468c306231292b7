#include "host/multicast/packet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "host/feed/framing/framing.hpp"
#include "tests/lib/file_text.hpp"

namespace stopbit::multicast::packet_test {

constexpr std::size_t kPacketBytes = 1472;

struct Room {
  std::vector<std::byte> bytes = std::vector<std::byte>(kPacketBytes);
  PacketWriter writer{bytes};
};

PacketHead some_head() {
  return {.sequence = first_sequence(1'700'000'000'123'456'789) + 41, .epoch = 1'700'000'000'123'456'789, .sent_ns = 7};
}

relay::Head some_ring(std::uint64_t slots) {
  relay::Head ring;
  ring.epoch = 11;
  ring.first = 1000;
  ring.end = 1000 + slots;
  ring.records = 40;
  ring.count = slots;
  ring.layout = 99;
  return ring;
}

std::vector<record::Slot> some_slots(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<record::Slot> slots(count);
  for (record::Slot& slot : slots) {
    for (auto& word : slot.words) word = random();
  }
  return slots;
}

market::Event some_event(std::uint64_t id) {
  return market::Event::of({.arrival_ns = 1'700'000'000'000'000'001,
                            .sequence = 77,
                            .channel = 310,
                            .flags = market::kFlagLastOfEvent,
                            .instrument = 12,
                            .delay_ns = -5,
                            .kind = market::Kind::New,
                            .side = market::Side::Ask,
                            .book = market::BookOf::Implied,
                            .level = 3,
                            .price = -1'411'500'000'000,
                            .quantity = 20,
                            .id = id});
}

TEST(MulticastPacket, of_records_comes_back_word_for_word) {
  for (std::size_t count = 1; count <= slots_in(kPacketBytes); ++count) {
    Room room;
    relay::Head ring = some_ring(count);
    ring.is_open = true;
    ring.part = 5;
    const auto slots = some_slots(count);
    const auto bytes = room.writer.records(some_head(), ring, slots);
    ASSERT_LE(bytes.size(), kPacketBytes);
    const auto packet = decode_packet(bytes);
    ASSERT_TRUE(packet) << packet.message();
    EXPECT_EQ(packet.value().head.sequence, some_head().sequence);
    EXPECT_EQ(packet.value().head.epoch, some_head().epoch);
    EXPECT_EQ(packet.value().head.sent_ns, 7U);
    const auto content = decode_messages(packet.value().messages);
    ASSERT_TRUE(content) << content.message();
    EXPECT_TRUE(content.value().ring.is_open);
    EXPECT_EQ(content.value().ring.part, 5U);
    EXPECT_EQ(content.value().ring.end, 1000U + count);
    EXPECT_EQ(content.value().ring.layout, 99U);
    ASSERT_EQ(content.value().slots.size(), count * record::kSlotBytes);
    EXPECT_EQ(std::memcmp(content.value().slots.data(), slots.data(), count * record::kSlotBytes), 0);
  }
}

TEST(MulticastPacket, of_events_comes_back_word_for_word) {
  Room room;
  std::string messages;
  const std::size_t count = events_in(kPacketBytes);
  for (std::size_t i = 0; i < count; ++i) {
    market::append_sbe(some_event(i), messages, {.instrument = "ESZ9", .quantity_decimals = 2});
  }
  const auto bytes = room.writer.events(some_head(), some_ring(count), std::as_bytes(std::span(messages)));
  ASSERT_LE(bytes.size(), kPacketBytes);
  const auto packet = decode_packet(bytes);
  ASSERT_TRUE(packet) << packet.message();
  const auto content = decode_messages(packet.value().messages);
  ASSERT_TRUE(content) << content.message();
  ASSERT_EQ(content.value().events.size(), count * kEventBytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto read = market::read_sbe(content.value().events.subspan(i * kEventBytes, kEventBytes));
    ASSERT_TRUE(read);
    const market::Event event = some_event(i);
    EXPECT_EQ(std::memcmp(&read->event, &event, sizeof(event)), 0) << i;
    EXPECT_EQ(read->key, "ESZ9");
    EXPECT_EQ(read->quantity_decimals, 2);
  }
}

TEST(MulticastPacket, without_messages_is_a_heartbeat_of_32_bytes) {
  Room room;
  const auto bytes = room.writer.heartbeat(some_head());
  EXPECT_EQ(bytes.size(), kHeadBytes);
  const auto packet = decode_packet(bytes);
  ASSERT_TRUE(packet) << packet.message();
  EXPECT_TRUE(packet.value().messages.empty());
}

TEST(MulticastPacket, has_the_bytes_of_the_page) {
  Room room;
  const PacketHead head{0x0102030405060708, 0x1112131415161718, 0x2122232425262728};
  const auto bytes = room.writer.heartbeat(head);
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  EXPECT_EQ(text.substr(0, 48), "080706050403020118171615141312112827262524232221");
  EXPECT_EQ(text.substr(56), "5b010000");
  // The page shows this packet.
  EXPECT_NE(testing::file_text(STOPBIT_ROOT "/doc/multicast.md").find(text), std::string::npos) << text;
}

TEST(MulticastPacket, lies_where_the_framing_preset_looks_for_it) {
  const auto framing = net::parse_framing("stopbit");
  ASSERT_TRUE(framing);
  Room room;
  const auto bytes = room.writer.records(some_head(), some_ring(3), some_slots(3));
  const net::Preamble preamble = net::read_preamble(framing.value(), bytes);
  EXPECT_EQ(preamble.error, ErrorCode::None);
  EXPECT_EQ(preamble.sequence, some_head().sequence);
  EXPECT_EQ(preamble.data_begin, kHeadBytes);
  EXPECT_EQ(preamble.data_end, bytes.size());
}

TEST(MulticastPacket, refuses_every_changed_bit) {
  Room room;
  const auto good = room.writer.records(some_head(), some_ring(2), some_slots(2));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad(good.begin(), good.end());
    bad[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(decode_packet(bad)) << bit;
  }
}

TEST(MulticastPacket, refuses_every_other_length) {
  Room room;
  const auto good = room.writer.records(some_head(), some_ring(2), some_slots(2));
  for (std::size_t size = 0; size < good.size(); ++size) {
    std::vector<std::byte> bad(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(decode_packet(bad)) << size;
    repair_sum(bad);
    EXPECT_FALSE(decode_packet(bad)) << size;
  }
}

TEST(MulticastPacket, refuses_numbers_that_contradict_each_other) {
  const auto refuses = [](const relay::Head& ring, std::size_t slots) {
    Room room;
    const auto packet = decode_packet(room.writer.records(some_head(), ring, some_slots(slots)));
    return packet && !decode_messages(packet.value().messages);
  };
  EXPECT_FALSE(refuses(some_ring(2), 2));
  EXPECT_TRUE(refuses(some_ring(2), 1));
  EXPECT_TRUE(refuses(some_ring(2), 0));
  relay::Head ring = some_ring(2);
  ring.end = ring.first - 1;
  EXPECT_TRUE(refuses(ring, 2));
  ring = some_ring(2);
  ring.count = 3;
  EXPECT_TRUE(refuses(ring, 2));
  ring = some_ring(2);
  ring.records = ~std::uint64_t{0};
  EXPECT_TRUE(refuses(ring, 2));
  ring = some_ring(2);
  ring.kind = relay::Kind::End;
  EXPECT_TRUE(refuses(ring, 2));
}

TEST(MulticastPacket, has_lower_numbers_after_a_restart_and_none_twice) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  EXPECT_LT(first_sequence(1'700'000'001 * kSecond) + 4'000'000'000, first_sequence(1'700'000'000 * kSecond));
  EXPECT_EQ(first_sequence(1'700'000'000 * kSecond) & 0xFFFF'FFFF, 1U);
}

}  // namespace stopbit::multicast::packet_test
