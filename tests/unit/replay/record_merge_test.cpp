#include "host/replay/record_merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace stopbit::replay::record_merge_test {

constexpr std::size_t kBlockSlots = 64;
constexpr std::uint32_t kMostSlots = 5;

/// Records of a packet: which part writes them, with which keys. The same for every thread that asks.
std::vector<std::uint32_t> records_of(std::uint64_t packet, std::size_t part, std::size_t parts) {
  std::mt19937_64 random(packet * 1000 + 17);
  std::vector<std::uint32_t> own;
  const std::uint32_t count = random() % 50 == 0 ? 100 : static_cast<std::uint32_t>(random() % 4);
  // A window that closes is any part's; what the packet itself gives is one part's.
  for (std::uint32_t i = 0; i < count; ++i) {
    if (random() % parts == part) own.push_back(i);
  }
  return own;
}

/// Writes the records of a part as a replay does.
void write(RecordMerge& merge, std::size_t part, std::size_t parts, std::uint64_t packets) {
  std::mt19937_64 random(part);
  RecordMerge::Block* block = nullptr;
  for (std::uint64_t packet = 1; packet <= packets; ++packet) {
    for (const std::uint32_t within : records_of(packet, part, parts)) {
      if (block != nullptr && block->slots.size() - block->used < kMostSlots) {
        merge.publish(part, std::exchange(block, nullptr), packet - 1);
      }
      if (block == nullptr) block = merge.take_block(part);
      if (block == nullptr) return;  // cancelled
      const auto slots = static_cast<std::uint32_t>(1 + within % kMostSlots);
      for (std::uint32_t i = 0; i < slots; ++i) block->slots[block->used + i].words[0] = packet * 1000 + within;
      block->entries.push_back({{packet, within}, static_cast<std::uint32_t>(block->used), slots, part});
      block->used += slots;
    }
    if (random() % 20 == 0) merge.publish(part, std::exchange(block, nullptr), packet);
  }
  merge.publish(part, block, packets);
  merge.close(part);
}

void expect_order(std::size_t parts, std::uint64_t packets) {
  RecordMerge merge(parts, kBlockSlots);
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < parts; ++part) {
    threads.emplace_back([&merge, part, parts, packets] { write(merge, part, parts, packets); });
  }
  std::vector<std::uint64_t> seen;
  RecordMerge::Record record;
  for (;;) {
    const RecordMerge::Next next = merge.next(record);
    if (next == RecordMerge::Next::End) break;
    if (next == RecordMerge::Next::Wait) {
      merge.wait();
      continue;
    }
    const std::uint64_t number = record.slots[0].words[0];
    ASSERT_EQ(record.slots.size(), 1 + number % 1000 % kMostSlots);
    for (const record::Slot& slot : record.slots) ASSERT_EQ(slot.words[0], number);
    seen.push_back(number);
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::uint64_t> expected;
  for (std::uint64_t packet = 1; packet <= packets; ++packet) {
    for (std::size_t part = 0; part < parts; ++part) {
      for (const std::uint32_t within : records_of(packet, part, parts)) expected.push_back(packet * 1000 + within);
    }
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(seen == expected) << seen.size() << " of " << expected.size();
}

TEST(RecordMerge, puts_the_records_of_all_parts_in_order) {
  for (const std::size_t parts : {1U, 2U, 4U, 7U}) expect_order(parts, 5'000);
}

TEST(RecordMerge, ends_with_parts_that_have_nothing) {
  expect_order(3, 0);
}

TEST(RecordMerge, frees_parts_that_wait_when_it_is_cancelled) {
  constexpr std::size_t kParts = 3;
  RecordMerge merge(kParts, kBlockSlots);
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < kParts; ++part) {
    threads.emplace_back([&merge, part] { write(merge, part, kParts, 100'000); });
  }
  RecordMerge::Record record;
  for (int records = 0; records < 100;) {
    const RecordMerge::Next next = merge.next(record);
    if (next == RecordMerge::Next::Wait) merge.wait();
    records += next == RecordMerge::Next::Record ? 1 : 0;
  }
  merge.cancel();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(merge.next(record), RecordMerge::Next::End);
  EXPECT_EQ(merge.take_block(0), nullptr);
}

}  // namespace stopbit::replay::record_merge_test
