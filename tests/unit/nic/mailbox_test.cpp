#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "host/nic/msg/combine.hpp"
#include "host/nic/msg/mailbox.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::mailbox_test {

using Buffer = std::array<std::byte, kMaxMessageBytes>;

std::vector<std::byte> bytes_of(std::size_t length, std::uint64_t seed) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed * 13 + 1);
  return bytes;
}

MessageHead head_of(std::size_t length, std::uint64_t number) {
  MessageHead head;
  head.node = static_cast<NodeId>(number * 3);
  head.vpid = static_cast<Vpid>(number + 1);
  head.tag = static_cast<std::uint8_t>(number);
  head.type = static_cast<std::uint8_t>(number % 4);
  head.length = static_cast<std::uint16_t>(length);
  return head;
}

class Mailbox : public ::testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] std::size_t payload() const { return GetParam() - 8; }
  [[nodiscard]] std::uint64_t word(std::size_t slot, std::size_t index) {
    return memory.page().word(PageLayout::kHighAt + slot * GetParam(), index).load();
  }

  struct Memory : PageMemory {
    explicit Memory(std::size_t slot_bytes) { page().word(PageWord::SlotBytes).store(slot_bytes); }
  };
  Memory memory{GetParam()};
  MailboxWriter writer{memory.page(), Priority::High, GetParam()};
  MailboxReader reader{memory.page(), Priority::High};
  Buffer into{};
};

TEST_P(Mailbox, gives_every_length_back_as_it_was_over_many_laps) {
  std::uint64_t number = 0;
  for (std::size_t length = 1; length <= kMaxMessageBytes; length += 1 + length / 40) {
    for (int again = 0; again < 3; ++again) {
      const std::vector<std::byte> bytes = bytes_of(length, ++number);
      const MessageHead sent = head_of(length, number);
      ASSERT_TRUE(writer.put(sent, bytes)) << length;
      const auto got = reader.poll(into);
      ASSERT_TRUE(got) << length;
      EXPECT_EQ(got->node, sent.node);
      EXPECT_EQ(got->vpid, sent.vpid);
      EXPECT_EQ(got->tag, sent.tag);
      EXPECT_EQ(got->type, sent.type);
      ASSERT_EQ(got->length, length);
      ASSERT_EQ(std::memcmp(into.data(), bytes.data(), length), 0) << length;
    }
  }
  EXPECT_FALSE(reader.poll(into));
  EXPECT_GT(writer.written(), 255 * PageLayout::kMailboxSlots / 8);
}

TEST_P(Mailbox, stands_at_the_end_of_its_slot_with_the_status_last) {
  const std::size_t last = GetParam() / 8 - 1;
  const std::vector<std::byte> bytes = bytes_of(9, 5);
  ASSERT_TRUE(writer.put(head_of(9, 5), bytes));
  std::uint64_t expected = 0;
  std::memcpy(&expected, bytes.data(), 8);
  EXPECT_EQ(word(0, last - 2), expected);
  EXPECT_EQ(word(0, last - 1), std::to_integer<std::uint64_t>(bytes[8]));
  for (std::size_t i = 0; i < last - 2; ++i) EXPECT_EQ(word(0, i), 0U);
  const SlotStatus status = from_word(word(0, last));
  EXPECT_TRUE(status.is_end);
  EXPECT_EQ(status.lap, 1);

  const std::vector<std::byte> longer = bytes_of(payload() + 8, 6);
  ASSERT_TRUE(writer.put(head_of(longer.size(), 6), longer));
  EXPECT_FALSE(from_word(word(1, last)).is_end);
  EXPECT_TRUE(from_word(word(2, last)).is_end);
  std::memcpy(&expected, longer.data() + payload(), 8);
  EXPECT_EQ(word(2, last - 1), expected);
}

TEST_P(Mailbox, takes_no_message_in_part_and_none_when_full) {
  const std::size_t length = 4 * payload();
  std::uint64_t number = 0;
  while (writer.room() >= 4) {
    ASSERT_TRUE(writer.put(head_of(length, number), bytes_of(length, number)));
    ++number;
  }
  ASSERT_EQ(writer.room(), 0U);
  EXPECT_FALSE(writer.put(head_of(1, 0), bytes_of(1, 0)));
  const std::uint64_t written = writer.written();
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(reader.poll(into));
  EXPECT_GE(writer.room(), 16U);
  EXPECT_FALSE(writer.put(head_of(kMaxMessageBytes, 0), bytes_of(kMaxMessageBytes, 0)));
  EXPECT_EQ(writer.written(), written);
  while (reader.poll(into)) {
  }
  EXPECT_EQ(writer.room(), PageLayout::kMailboxSlots);
}

TEST_P(Mailbox, leaves_erroneous_messages_out_and_counts_them) {
  MessageHead bad = head_of(100, 1);
  bad.is_erroneous = true;
  ASSERT_TRUE(writer.put(bad, bytes_of(100, 1)));
  ASSERT_TRUE(writer.put(head_of(7, 2), bytes_of(7, 2)));
  const auto got = reader.poll(into);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->tag, 2);
  EXPECT_EQ(reader.erroneous(), 1U);
}

TEST_P(Mailbox, believes_a_port_only_within_its_ring) {
  for (const std::uint64_t nonsense : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1} << 63U}) {
    memory.page().word(PageWord::HighRead).store(nonsense);
    EXPECT_EQ(writer.room(), 0U);
    EXPECT_FALSE(writer.put(head_of(1, 0), bytes_of(1, 0)));
  }
}

TEST_P(Mailbox, survives_any_contents) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    for (std::size_t at = PageLayout::kHighAt; at < PageLayout::kLowAt; at += 8) {
      std::uint64_t value = random();
      if (random() % 2 == 0) value = (value & ~(0xFFULL << 56U)) | std::uint64_t{1 + random() % 2} << 56U;
      memory.page().word(at, 0).store(value);
    }
    MailboxReader any(memory.page(), Priority::High);
    std::size_t messages = 0;
    while (any.poll(into)) ++messages;
    EXPECT_LE(messages, 3 * PageLayout::kMailboxSlots);
  }
}

INSTANTIATE_TEST_SUITE_P(Slots, Mailbox, ::testing::Values(64, 128));

TEST(SlotStatusWord, has_the_bits_that_its_page_says) {
  MessageHead head;
  head.node = 0x1234;
  head.vpid = 0x5678;
  head.tag = 0x9A;
  head.length = 2048;
  head.type = 3;
  head.is_erroneous = true;
  EXPECT_EQ(to_word({head, true, 0xBC}), 0xBCF8'009A'5678'1234U);
  const SlotStatus back = from_word(0xBCF8'009A'5678'1234U);
  EXPECT_EQ(to_word(back), 0xBCF8'009A'5678'1234U);
  EXPECT_EQ(lap_of(0), 1);
  EXPECT_EQ(lap_of(254 * PageLayout::kMailboxSlots), 255);
  EXPECT_EQ(lap_of(255 * PageLayout::kMailboxSlots), 1);
}

// Parts

Command part(const std::vector<std::byte>& bytes, std::size_t offset, std::uint8_t message) {
  Command command;
  command.operation = Operation::SendPart;
  const std::size_t length = std::min(kMaxFastBytes, bytes.size() - offset);
  command.window = static_cast<std::uint16_t>(length);
  PartHead head;
  head.tag = message;
  head.message = message;
  head.offset = static_cast<std::uint16_t>(offset);
  head.total = static_cast<std::uint16_t>(bytes.size());
  head.type = 2;
  command.tag = to_tag(head);
  command.target_vpid = message;
  std::memcpy(reinterpret_cast<std::byte*>(&command) + kPayloadAt, bytes.data() + offset, length);
  return command;
}

std::vector<Command> parts_of(const std::vector<std::byte>& bytes, std::uint8_t message) {
  std::vector<Command> parts;
  for (std::size_t offset = 0; offset < bytes.size(); offset += kMaxFastBytes) {
    parts.push_back(part(bytes, offset, message));
  }
  return parts;
}

class Combiner : public ::testing::Test {
 protected:
  WriteCombiner combiner{1000};
};

TEST_F(Combiner, puts_two_messages_together_whose_parts_come_in_any_order_between_each_other) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const std::array<std::vector<std::byte>, 2> messages = {bytes_of(1 + random() % kMaxMessageBytes, random()),
                                                            bytes_of(1 + random() % kMaxMessageBytes, random())};
    std::vector<Command> parts = parts_of(messages[0], 0);
    const std::vector<Command> others = parts_of(messages[1], 1);
    parts.insert(parts.end(), others.begin(), others.end());
    std::shuffle(parts.begin(), parts.end(), random);
    std::size_t whole = 0;
    for (const Command& command : parts) {
      const WriteCombiner::Outcome outcome = combiner.take(command, 0);
      ASSERT_EQ(outcome.error, Error::None);
      if (!outcome.message) continue;
      ++whole;
      const std::vector<std::byte>& sent = messages[outcome.message->part.message];
      ASSERT_EQ(outcome.message->payload.size(), sent.size());
      ASSERT_TRUE(std::equal(sent.begin(), sent.end(), outcome.message->payload.begin()));
      EXPECT_EQ(outcome.message->header.target_vpid, outcome.message->part.message);
      EXPECT_EQ(outcome.message->part.type, 2);
    }
    ASSERT_EQ(whole, 2U);
  }
  EXPECT_EQ(combiner.given_up(), 0U);
}

TEST_F(Combiner, refuses_parts_that_do_not_fit_and_spoils_their_message) {
  const std::vector<std::byte> bytes = bytes_of(200, 1);
  const auto error_of = [&](const Command& command) { return combiner.take(command, 0).error; };
  // Twice the same bytes.
  EXPECT_EQ(error_of(part(bytes, 40, 5)), Error::None);
  EXPECT_EQ(error_of(part(bytes, 40, 5)), Error::OriginOffset);
  EXPECT_EQ(combiner.given_up(), 1U);
  // Beyond the message's end, whichever part comes first.
  const std::vector<std::byte> shorter = bytes_of(80, 1);
  EXPECT_EQ(error_of(part(bytes, 160, 6)), Error::None);
  EXPECT_EQ(error_of(part(shorter, 0, 6)), Error::OriginLength);
  EXPECT_EQ(error_of(part(shorter, 0, 7)), Error::None);
  EXPECT_EQ(error_of(part(bytes, 160, 7)), Error::OriginLength);
  // Shapes that no part has.
  Command odd = part(bytes, 40, 8);
  odd.window = 0;
  EXPECT_EQ(error_of(odd), Error::OriginLength);
  odd.window = 41;
  EXPECT_EQ(error_of(odd), Error::OriginLength);
  odd = part(bytes, 44, 8);
  EXPECT_EQ(error_of(odd), Error::OriginOffset);
  PartHead far;
  far.offset = 2040;
  odd = part(bytes, 40, 8);
  odd.tag = to_tag(far);
  EXPECT_EQ(error_of(odd), Error::OriginLength);
  // Nothing of all this stays: two whole messages go through.
  for (const std::uint8_t message : {std::uint8_t{20}, std::uint8_t{21}}) {
    std::size_t whole = 0;
    for (const Command& command : parts_of(bytes, message)) whole += combiner.take(command, 0).message ? 1 : 0;
    EXPECT_EQ(whole, 1U);
  }
}

TEST_F(Combiner, gives_up_what_does_not_become_whole_in_time) {
  const std::vector<std::byte> bytes = bytes_of(100, 1);
  EXPECT_EQ(combiner.take(part(bytes, 40, 1), 0).error, Error::None);
  EXPECT_EQ(combiner.take(part(bytes, 40, 2), 0).error, Error::None);
  EXPECT_EQ(combiner.take(part(bytes, 40, 3), 999).error, Error::Full);
  EXPECT_EQ(combiner.take(part(bytes, 40, 3), 1000).error, Error::None);
  EXPECT_EQ(combiner.given_up(), 2U);
  // The rest of a message that was given up is the beginning of one that never becomes whole.
  EXPECT_FALSE(combiner.take(part(bytes, 0, 1), 1000).message);
}

TEST_F(Combiner, gives_out_what_came_of_a_message_that_is_cut_or_too_late) {
  const std::vector<std::byte> bytes = bytes_of(200, 1);
  const auto aborted = [&](std::uint8_t message) {
    Command command = part(bytes, 0, message);
    command.modifiers = kAbort;
    command.target_vpid = 99;
    command.window = 0;
    return combiner.take(command, 0);
  };
  EXPECT_EQ(aborted(5).error, Error::Command) << "there is none";
  // With its first part: to where that said.
  EXPECT_EQ(combiner.take(part(bytes, 0, 5), 0).error, Error::None);
  EXPECT_EQ(combiner.take(part(bytes, 80, 5), 0).error, Error::None);
  EXPECT_EQ(combiner.expires_ns(), 1000U);
  std::optional<Combined> cut = aborted(5).message;
  ASSERT_TRUE(cut);
  EXPECT_TRUE(cut->is_cut);
  EXPECT_EQ(cut->header.target_vpid, 5);
  ASSERT_EQ(cut->payload.size(), 120U);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 40, cut->payload.begin()));
  EXPECT_EQ(std::count(cut->payload.begin() + 40, cut->payload.begin() + 80, std::byte{0}), 40);
  EXPECT_TRUE(std::equal(bytes.begin() + 80, bytes.begin() + 120, cut->payload.begin() + 80));
  EXPECT_FALSE(combiner.expires_ns());
  // Without: to where the command says that cuts it.
  EXPECT_EQ(combiner.take(part(bytes, 40, 6), 0).error, Error::None);
  cut = aborted(6).message;
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->header.target_vpid, 99);
  EXPECT_EQ(aborted(6).error, Error::Command) << "once";
  // Too late.
  EXPECT_EQ(combiner.take(part(bytes, 40, 8), 50).error, Error::None);
  EXPECT_EQ(combiner.take(part(bytes, 0, 7), 100).error, Error::None);
  EXPECT_EQ(combiner.expires_ns(), 1050U);
  EXPECT_FALSE(combiner.expire(1049));
  EXPECT_FALSE(combiner.expire(1050)) << "nobody knows whom to tell";
  EXPECT_EQ(combiner.expires_ns(), 1100U);
  cut = combiner.expire(1100);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->part.message, 7);
  EXPECT_FALSE(combiner.give_up());
  EXPECT_EQ(combiner.take(part(bytes, 0, 9), 2000).error, Error::None);
  cut = combiner.give_up();
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->payload.size(), 40U);
  EXPECT_EQ(combiner.given_up(), 5U);
}

}  // namespace stopbit::nic::mailbox_test
