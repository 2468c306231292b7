#include "host/ports/recorder/recorder.hpp"
#include "tests/lib/scratch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

namespace stopbit::recorder::recorder_test {

namespace fs = std::filesystem;

TEST(RecorderQueue, hands_over_every_item_in_order_from_thread_to_thread) {
  constexpr std::uint64_t kItems = 20'000;
  Queue queue(1);  // the smallest there is, so that it goes round often
  std::thread adder([&] {
    std::vector<std::byte> payload(1'500);
    for (std::uint64_t i = 0; i < kItems; ++i) {
      const std::size_t size = i * 37 % payload.size();
      for (std::size_t at = 0; at < size; at += 97) payload[at] = static_cast<std::byte>(i);
      Queue::Item item;
      item.line = static_cast<std::uint32_t>(i % 5);
      item.time_ns = i;
      item.payload = std::span(payload).first(size);
      const std::uint64_t lost = queue.lost();
      queue.add(item);
      while (queue.lost() != lost) {  // no room: the test waits, the product does not
        std::this_thread::yield();
        const std::uint64_t now = queue.lost();
        queue.add(item);
        if (queue.lost() == now) break;
      }
    }
  });
  Queue::Item item;
  for (std::uint64_t i = 0; i < kItems;) {
    if (!queue.take(item)) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(item.time_ns, i);
    ASSERT_EQ(item.line, i % 5);
    ASSERT_EQ(item.payload.size(), i * 37 % 1'500);
    for (std::size_t at = 0; at < item.payload.size(); at += 97) ASSERT_EQ(item.payload[at], static_cast<std::byte>(i));
    ++i;
  }
  adder.join();
  EXPECT_FALSE(queue.take(item));
}

TEST(RecorderQueue, counts_what_finds_no_room) {
  Queue queue(1);
  const std::vector<std::byte> payload(60'000);
  Queue::Item item;
  item.payload = payload;
  for (int i = 0; i < 10; ++i) queue.add(item);
  std::uint64_t taken = 0;
  while (queue.take(item)) ++taken;
  EXPECT_GE(taken, 3U);
  EXPECT_EQ(taken + queue.lost(), 10U);
  queue.add(item);
  EXPECT_TRUE(queue.take(item));
}

TEST(RecorderQueue, recalls_what_came_lately_whether_it_was_taken_or_not) {
  Queue queue(1);
  queue.keep_history();
  std::uint64_t added = 0;
  std::vector<std::byte> payload;
  Queue::Item item;
  for (int round = 0; round < 400; ++round) {
    for (int i = 0; i < 7; ++i) {
      payload.assign(1 + added * 977 % 9'000, static_cast<std::byte>(added));
      queue.add({.source = {}, .group = {}, .time_ns = added++, .payload = payload});
    }
    for (int i = 0; i < 7; ++i) {
      ASSERT_TRUE(queue.take(item));
      EXPECT_EQ(item.payload.size(), 1 + item.time_ns * 977 % 9'000);
    }
    // Whole, in order, up to the newest one, and as much as the queue has room for.
    std::vector<std::uint64_t> times;
    std::size_t bytes = 0;
    queue.recall([&](const Queue::Item& known) {
      times.push_back(known.time_ns);
      bytes += known.payload.size();
      ASSERT_EQ(known.payload.size(), 1 + known.time_ns * 977 % 9'000);
      EXPECT_EQ(known.payload.front(), static_cast<std::byte>(known.time_ns));
      EXPECT_EQ(known.payload.back(), static_cast<std::byte>(known.time_ns));
    });
    ASSERT_FALSE(times.empty());
    EXPECT_EQ(times.back(), added - 1);
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_EQ(times[i], times[i - 1] + 1);
    if (round >= 20) {
      EXPECT_GT(bytes, 220'000U);
    }
  }
  EXPECT_EQ(queue.lost(), 0U);
}

TEST(Recorder, writes_each_line_to_its_archive_and_freezes_all) {
  const testing::Scratch scratch;
  const fs::path& folder = scratch.folder();
  {
    ArchiveOptions options;
    options.folder = folder.string();
    options.name = "a";
    ArchiveOptions other = options;
    other.name = "b";
    Recorder recorder({options, other}, 1U << 20);
    const std::array<std::byte, 4> payload{};
    for (std::uint64_t i = 0; i < 100; ++i) {
      recorder.add(i % 4 == 0 ? 1 : 0, {1, 1}, {2, 2}, payload, 1'000'000'000 * (i + 1));
    }
    recorder.freeze(50'000'000'000);
    EXPECT_EQ(recorder.do_work(10), 10U);
    EXPECT_EQ(recorder.do_work(), 91U);
    EXPECT_EQ(recorder.do_work(), 0U);
    EXPECT_EQ(recorder.archive(0).counts().recorded, 75U);
    EXPECT_EQ(recorder.archive(1).counts().recorded, 25U);
    EXPECT_EQ(recorder.lost(), 0U);
  }
  EXPECT_TRUE(fs::exists(folder / "frozen-a-000001.pcapng"));
  EXPECT_TRUE(fs::exists(folder / "frozen-b-000001.pcapng"));
}

}  // namespace stopbit::recorder::recorder_test
