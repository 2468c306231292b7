#include "host/nic/msg/segments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "host/nic/rma/memory.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic::segments_test {

using Put = SegmentWriter::Put;
using Buffer = std::array<std::byte, kMaxMessageBytes>;

constexpr Vpid kOwner = 3;

std::vector<std::byte> bytes_of(std::size_t length, std::uint64_t seed) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed * 13 + 1);
  return bytes;
}

MessageHead head_of(std::size_t length, std::uint64_t number) {
  MessageHead head;
  head.node = static_cast<NodeId>(number);
  head.tag = static_cast<std::uint8_t>(number >> 16U);
  head.length = static_cast<std::uint16_t>(length);
  return head;
}

/// Pages, registered for the owner.
struct Region {
  struct alignas(kPageBytes) Storage {
    std::byte bytes[kPageBytes] = {};
  };
  Region(Atu& atu, std::size_t pages, Access access, Vpid owner = kOwner) : storage(pages) {
    std::vector<PageNumber> numbers;
    for (const Storage& page : storage) numbers.push_back(to_page_number(page.bytes));
    address = atu.register_pages(owner, numbers, access).value();
  }
  [[nodiscard]] std::span<std::byte> span(std::size_t from, std::size_t bytes) {
    return std::span(storage.front().bytes, storage.size() * kPageBytes).subspan(from, bytes);
  }
  std::vector<Storage> storage;
  Nla address = 0;
};

class Segments : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint32_t kPlaces = 8;

  [[nodiscard]] SegmentRing ring() const { return {list.address, kPlaces, GetParam(), 0}; }
  [[nodiscard]] std::span<SegmentDescriptor> descriptors() {
    return {reinterpret_cast<SegmentDescriptor*>(list.storage.front().bytes), kPlaces};
  }
  /// A new segment of `slots` slots.
  bool add(std::size_t slots) {
    const std::size_t bytes = slots * GetParam();
    regions.push_back(std::make_unique<Region>(atu, (bytes + kPageBytes - 1) / kPageBytes, Access::ReadWrite));
    return reader.add(regions.back()->address, regions.back()->span(0, bytes));
  }
  /// As a port that says what it likes.
  void post(std::uint64_t number, const SegmentDescriptor& descriptor) {
    descriptors()[number % kPlaces] = descriptor;
    memory.page().word(PageWord::LowPosted).store(number + 1);
  }
  Put put(std::size_t length, std::uint64_t number) {
    return writer.put(head_of(length, number), bytes_of(length, number));
  }
  testing::AssertionResult comes(std::size_t length, std::uint64_t number) {
    const auto got = reader.poll(into);
    if (!got) return testing::AssertionFailure() << "nothing";
    const std::vector<std::byte> bytes = bytes_of(length, number);
    if (got->length != length || got->node != static_cast<NodeId>(number)) {
      return testing::AssertionFailure() << "message " << got->node << " of " << got->length << " bytes";
    }
    if (std::memcmp(into.data(), bytes.data(), length) != 0) return testing::AssertionFailure() << "other bytes";
    return testing::AssertionSuccess();
  }
  [[nodiscard]] std::size_t payload() const { return GetParam() - 8; }

  Atu atu{{1, 8192, 64, 55}};
  PageMemory memory;
  Region list{atu, 1, Access::Read};
  SegmentReader reader{memory.page(), Priority::Low, descriptors(), GetParam()};
  SegmentWriter writer{atu, kOwner, memory.page(), Priority::Low, ring()};
  std::vector<std::unique_ptr<Region>> regions;
  Buffer into{};
};

TEST_P(Segments, take_messages_of_every_length_over_their_borders_in_order) {
  ASSERT_TRUE(add(1));
  ASSERT_TRUE(add(7));
  ASSERT_TRUE(add(300));
  ASSERT_TRUE(add(5));
  ASSERT_TRUE(add(200));
  std::uint64_t number = 0;
  for (std::size_t length = 1; length <= kMaxMessageBytes; length += 1 + length / 40) {
    ASSERT_EQ(put(length, ++number), Put::Done) << length;
    ASSERT_TRUE(comes(length, number)) << length;
  }
  EXPECT_FALSE(reader.poll(into));
  EXPECT_EQ(reader.malformed(), 0U);
  EXPECT_GT(writer.queue().counters().switched, 4U);
}

TEST_P(Segments, say_late_without_a_descriptor_and_go_on_with_the_first_that_comes) {
  EXPECT_EQ(put(1, 1), Put::Late);
  EXPECT_EQ(put(1, 1), Put::Late);
  ASSERT_TRUE(add(2));
  EXPECT_EQ(put(1, 1), Put::Done);
  EXPECT_EQ(put(2 * payload(), 2), Put::Late) << "half a message";
  EXPECT_EQ(put(payload(), 3), Put::Done) << "what fits is not held up by what was larger";
  EXPECT_EQ(put(1, 4), Put::Late);
  ASSERT_TRUE(add(4));
  EXPECT_EQ(put(2 * payload(), 5), Put::Done);
  EXPECT_TRUE(comes(1, 1));
  EXPECT_TRUE(comes(payload(), 3));
  EXPECT_TRUE(comes(2 * payload(), 5));
  EXPECT_FALSE(reader.poll(into));
  EXPECT_FALSE(writer.queue().has_ended());
}

TEST_P(Segments, give_back_what_is_on_trial_over_several_of_them) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(add(1));
  EXPECT_EQ(put(6 * payload(), 1), Put::Late);
  EXPECT_EQ(writer.queue().counters().revoked, 1U);
  ASSERT_TRUE(add(1));
  EXPECT_EQ(put(7 * payload(), 2), Put::Late);
  EXPECT_EQ(writer.queue().counters().revoked, 2U);
  EXPECT_EQ(put(6 * payload(), 3), Put::Done);
  EXPECT_TRUE(comes(6 * payload(), 3));
  // From the middle of a segment, too.
  ASSERT_TRUE(add(3));
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(put(1, i), Put::Done) << "six of one slot, and one of three";
  EXPECT_EQ(put(3 * payload(), 4), Put::Late);
  EXPECT_EQ(put(2 * payload(), 5), Put::Done);
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(comes(1, i));
  EXPECT_TRUE(comes(2 * payload(), 5));
  EXPECT_FALSE(reader.poll(into));
}

TEST_P(Segments, fetch_ahead_so_that_the_way_to_the_next_costs_no_fetch) {
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(add(2));
  ASSERT_EQ(put(1, 0), Put::Done);
  EXPECT_EQ(writer.queue().counters().fetched, 1U + VrbhQueue::kPrefetch);
  for (std::uint64_t i = 1; i < 8 * 2; ++i) ASSERT_EQ(put(1, i), Put::Done);
  EXPECT_EQ(writer.queue().counters().switched, 7U);
  EXPECT_EQ(writer.queue().counters().fetched, 8U);
  for (std::uint64_t i = 0; i < 8 * 2; ++i) ASSERT_TRUE(comes(1, i));
}

TEST_P(Segments, are_not_written_any_more_once_they_are_given_back) {
  ASSERT_TRUE(add(2 * kPageBytes / GetParam()));
  const std::size_t in_page = kPageBytes / GetParam();
  for (std::size_t i = 0; i + 1 < in_page; ++i) ASSERT_EQ(put(1, i), Put::Done);
  // The message would lie on both pages; the second one goes.
  ASSERT_TRUE(atu.revoke(kOwner, regions[0]->address + kPageBytes, 1));
  const std::vector<std::byte> before(regions[0]->span(0, 2 * kPageBytes).begin(),
                                      regions[0]->span(0, 2 * kPageBytes).end());
  EXPECT_EQ(put(2 * payload(), 5), Put::Ended);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), regions[0]->span(0, 2 * kPageBytes).begin()));
  EXPECT_EQ(writer.error(), Error::TargetTranslation);
  EXPECT_EQ(put(1, 5), Put::Ended) << "until it is started again";
  // No unit holds a translation from one message to the next: all acknowledge at once.
  for (const Unit unit : {Unit::Requester, Unit::Responder, Unit::Completer}) {
    atu.acknowledge(unit, atu.flush_number());
  }
  EXPECT_TRUE(atu.is_flushed(regions[0]->address + kPageBytes));
  for (std::size_t i = 0; i + 1 < in_page; ++i) ASSERT_TRUE(comes(1, i)) << "what came before is there";
  EXPECT_FALSE(reader.poll(into));
}

TEST_P(Segments, end_with_a_descriptor_that_makes_no_sense) {
  Region good(atu, 2, Access::ReadWrite);
  Region read_only(atu, 1, Access::Read);
  Region foreign(atu, 1, Access::ReadWrite, kOwner + 1);
  const struct {
    SegmentDescriptor descriptor;
    Error error;
  } cases[] = {
      {{good.address, 0, 0}, Error::TargetLength},
      {{good.address, kMaxSegmentSlots + 1, 0}, Error::TargetLength},
      {{good.address, 0xFFFF'FFFF, 0}, Error::TargetLength},
      {{good.address, 1, 1}, Error::Command},
      {{good.address + 8, 1, 0}, Error::TargetOffset},
      {{good.address + 32, 1, 0}, Error::TargetOffset},
      {{good.address, static_cast<std::uint32_t>(2 * kPageBytes / GetParam()) + 1, 0}, Error::TargetTranslation},
      {{read_only.address, 1, 0}, Error::TargetTranslation},
      {{foreign.address, 1, 0}, Error::TargetTranslation},
      {{~std::uint64_t{0} - 127, 1, 0}, Error::TargetTranslation},
      {{(std::uint64_t{1} << kNlaBits) - 128, kMaxSegmentSlots, 0}, Error::TargetTranslation},
  };
  for (const auto& each : cases) {
    SegmentWriter fresh(atu, kOwner, memory.page(), Priority::Low, ring());
    post(0, {good.address, 1, 0});
    EXPECT_EQ(fresh.put(head_of(1, 0), bytes_of(1, 0)), Put::Done);
    post(1, each.descriptor);
    EXPECT_EQ(fresh.put(head_of(1, 0), bytes_of(1, 0)), Put::Ended);
    EXPECT_EQ(fresh.error(), each.error) << each.descriptor.address << ", " << each.descriptor.slots;
    EXPECT_EQ(fresh.queue().culprit(), 1U);
    post(1, {good.address, 1, 0});
    EXPECT_EQ(fresh.put(head_of(1, 0), bytes_of(1, 0)), Put::Ended);
  }
}

TEST_P(Segments, believe_the_port_only_within_its_list) {
  ASSERT_TRUE(add(1));
  for (const std::uint64_t nonsense : {std::uint64_t{kPlaces} + 1, ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    memory.page().word(PageWord::LowPosted).store(nonsense);
    EXPECT_EQ(put(1, 0), Put::Late);
  }
  memory.page().word(PageWord::LowPosted).store(1);
  EXPECT_EQ(put(1, 0), Put::Done);
  // The list itself is given back.
  ASSERT_TRUE(add(1));
  ASSERT_TRUE(atu.revoke(kOwner, list.address, 1));
  EXPECT_EQ(put(1, 1), Put::Ended);
  EXPECT_EQ(writer.error(), Error::TargetTranslation);
}

TEST_P(Segments, that_come_again_are_never_taken_for_full_ones) {
  for (std::uint32_t i = 0; i < kPlaces; ++i) ASSERT_TRUE(add(1));
  // More often than there are laps.
  for (std::uint64_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(put(1, i), Put::Done);
    ASSERT_TRUE(comes(1, i));
    ASSERT_FALSE(reader.poll(into));
  }
  EXPECT_FALSE(add(1)) << "the list is full";
}

TEST_P(Segments, survive_a_node_that_writes_anything) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(add(40));
  for (int round = 0; round < 300; ++round) {
    for (const auto& region : regions) {
      for (std::size_t at = 0; at < 40 * GetParam(); at += 8) {
        std::uint64_t value = random();
        if (random() % 2 == 0) value = (value & ~(0xFFULL << 56U)) | std::uint64_t{1 + random() % 255} << 56U;
        std::memcpy(region->span(at, 8).data(), &value, 8);
      }
    }
    std::size_t messages = 0;
    while (reader.poll(into)) ++messages;
    EXPECT_LE(messages, 300 * 160U);
  }
}

/// A million messages, against a simple queue.
TEST_P(Segments, are_one_queue_whatever_their_sizes) {
  constexpr std::uint64_t kMessages = 250'000;  // for each of the four slot sizes
  std::mt19937_64 random(GetParam());
  struct Sent {
    std::uint64_t number;
    std::size_t length;
  };
  std::deque<Sent> naive;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t late = 0;
  std::uint64_t free_slots = 0;  // that were posted and not written
  std::uint64_t posted = 0;
  const auto count_posted = [&] {
    for (const std::uint64_t all = memory.page().word(PageWord::LowPosted).load(); posted < all; ++posted) {
      free_slots += descriptors()[posted % kPlaces].slots;
    }
  };
  while (received < kMessages) {
    const std::uint64_t what = random() % 1000;
    if (what < 2 && reader.segments() < kPlaces) {
      ASSERT_TRUE(add(1 + random() % (random() % 2 == 0 ? 4 : 600)));
      count_posted();
    } else if (what < 500 && sent < kMessages) {
      const std::size_t length = 1 + random() % (random() % 8 == 0 ? kMaxMessageBytes : 3 * payload());
      const std::size_t slots = slots_of(length, GetParam());
      ASSERT_EQ(put(length, sent), slots <= free_slots ? Put::Done : Put::Late) << sent;
      if (slots <= free_slots) {
        free_slots -= slots;
        naive.push_back({sent++, length});
      } else {
        ++late;
      }
    } else if (naive.empty()) {
      ASSERT_FALSE(reader.poll(into));
    } else {
      ASSERT_TRUE(comes(naive.front().length, naive.front().number)) << received;
      naive.pop_front();
      ++received;
      count_posted();
    }
  }
  EXPECT_EQ(sent, kMessages);
  EXPECT_FALSE(reader.poll(into));
  EXPECT_GT(late, 0U);
  EXPECT_EQ(writer.written(), kMessages);
  EXPECT_EQ(reader.malformed(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Slots, Segments, ::testing::Values(16, 32, 64, 128));

TEST(SegmentRings, are_refused_with_sizes_that_cannot_be) {
  EXPECT_EQ(VrbhQueue::check({0, 2, 64, 0}), Error::None);
  EXPECT_EQ(VrbhQueue::check({0, kMaxSegments, 128, 0}), Error::None);
  EXPECT_EQ(VrbhQueue::check({0, 1, 64, 0}), Error::Command);
  EXPECT_EQ(VrbhQueue::check({0, kMaxSegments + 1, 64, 0}), Error::Command);
  EXPECT_EQ(VrbhQueue::check({0, 2, 0, 0}), Error::Command);
  EXPECT_EQ(VrbhQueue::check({0, 2, 256, 0}), Error::Command);
  EXPECT_EQ(VrbhQueue::check({16, 2, 64, 0}), Error::OriginOffset);
  EXPECT_EQ(VrbhQueue::check({std::uint64_t{1} << kNlaBits, 2, 64, 0}), Error::OriginOffset);
}

}  // namespace stopbit::nic::segments_test
