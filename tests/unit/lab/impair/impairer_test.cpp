#include "host/lab/impair/impairer.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace stopbit::impair::impairer_test {

struct Output {
  std::vector<Copy> copies;
  std::vector<Event> events;

  [[nodiscard]] std::uint64_t count(Event::Kind kind, std::size_t line) const {
    std::uint64_t count = 0;
    for (const Event& event : events) count += event.kind == kind && event.line == line ? 1 : 0;
    return count;
  }
};

/// `packets` packets, 1,000 ns apart, each with its number in its bytes.
Output send(const Options& options, std::uint32_t packets) {
  Output output;
  Impairer impairer(options, [&](const Event& event) { output.events.push_back(event); });
  const auto receive = [&](std::uint64_t until_ns) {
    while (const Copy* copy = impairer.pop(until_ns)) {
      EXPECT_LE(copy->time_ns, until_ns);
      output.copies.push_back(*copy);
    }
  };
  std::array<std::byte, 8> bytes{};
  for (std::uint32_t i = 0; i < packets; ++i) {
    bytes[0] = static_cast<std::byte>(i);
    bytes[1] = static_cast<std::byte>(i >> 8);
    impairer.push(bytes, i * 1'000);
    receive(i * 1'000);
  }
  impairer.flush(packets * 1'000);
  receive(kNever);
  EXPECT_EQ(impairer.next_time(), std::nullopt);
  return output;
}

TEST(Impairer, without_orders_hands_everything_on) {
  const Output output = send({}, 100);
  ASSERT_EQ(output.copies.size(), 200U);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(output.copies[i].packet, i / 2);
    EXPECT_EQ(output.copies[i].line, i % 2);
    EXPECT_EQ(output.copies[i].time_ns, i / 2 * 1'000);
  }
}

TEST(Impairer, loses_independently_at_the_rate_asked_for) {
  Options options;
  options.line[0].loss.rate = 0.1;
  const Output output = send(options, 20'000);
  const auto lost = static_cast<double>(output.count(Event::Kind::Lost, 0));
  EXPECT_NEAR(lost, 2'000, 5 * std::sqrt(20'000 * 0.1 * 0.9));
  EXPECT_EQ(output.count(Event::Kind::Lost, 1), 0U);
  EXPECT_EQ(output.copies.size(), 40'000 - output.count(Event::Kind::Lost, 0));
}

TEST(Impairer, loses_in_bursts_of_the_length_asked_for) {
  Options options;
  options.lines = 1;
  options.line[0].loss = {0.05, 20};
  const Output output = send(options, 200'000);
  std::uint64_t bursts = 0;
  std::uint64_t last = kNever - 1;
  std::uint64_t lost = 0;
  for (const Event& event : output.events) {
    if (event.kind != Event::Kind::Lost) continue;
    ++lost;
    bursts += event.packet == last + 1 ? 0 : 1;
    last = event.packet;
  }
  EXPECT_NEAR(static_cast<double>(lost), 10'000, 2'500);
  EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(bursts), 20, 4);
}

TEST(Impairer, loses_on_both_lines_at_once) {
  Options options;
  options.both.rate = 0.5;
  const Output output = send(options, 1'000);
  EXPECT_EQ(output.count(Event::Kind::LostOnBoth, 0), output.count(Event::Kind::LostOnBoth, 1));
  EXPECT_EQ(output.copies.size(), 2 * (1'000 - output.count(Event::Kind::LostOnBoth, 0)));
}

TEST(Impairer, doubles) {
  Options options;
  options.lines = 1;
  options.line[0].duplicate = 1;
  const Output output = send(options, 10);
  ASSERT_EQ(output.copies.size(), 20U);
  EXPECT_EQ(output.copies[0].packet, output.copies[1].packet);
}

TEST(Impairer, holds_back_behind_as_many_as_it_says) {
  Options options;
  options.lines = 1;
  options.line[0].reorder = 0.05;
  options.line[0].reorder_depth = 8;
  const Output output = send(options, 2'000);
  ASSERT_EQ(output.copies.size(), 2'000U);
  std::uint64_t held = 0;
  for (const Event& event : output.events) {
    if (event.kind != Event::Kind::HeldBack) continue;
    ++held;
    EXPECT_GE(event.detail, 1U);
    EXPECT_LE(event.detail, 8U);
    // Fewest later ones that came before it.
    std::uint64_t overtaking = 0;
    for (const Copy& copy : output.copies) {
      if (copy.packet == event.packet) break;
      overtaking += copy.packet > event.packet ? 1 : 0;
    }
    EXPECT_EQ(overtaking >= event.detail || event.packet + event.detail + 8 >= 2'000, true) << event.packet;
  }
  EXPECT_GT(held, 50U);
}

TEST(Impairer, damages_one_bit_behind_the_start) {
  Options options;
  options.lines = 1;
  options.line[0].corrupt = 1;
  options.corrupt_from = 4;
  const Output output = send(options, 500);
  for (const Copy& copy : output.copies) {
    EXPECT_TRUE(copy.damaged);
    EXPECT_EQ(std::to_integer<unsigned>(copy.bytes[0]) | std::to_integer<unsigned>(copy.bytes[1]) << 8, copy.packet);
    int bits = 0;
    for (std::size_t i = 4; i < 8; ++i) bits += std::popcount(std::to_integer<unsigned>(copy.bytes[i]));
    EXPECT_EQ(bits, 1);
  }
  options.corrupt_from = 8;
  EXPECT_EQ(send(options, 50).count(Event::Kind::Damaged, 0), 0U);
}

TEST(Impairer, delays_a_line) {
  Options options;
  options.line[1].delay_ns = 2'500;
  const Output output = send(options, 100);
  ASSERT_EQ(output.copies.size(), 200U);
  for (std::size_t i = 1; i < 200; ++i) EXPECT_GE(output.copies[i].time_ns, output.copies[i - 1].time_ns);
  for (const Copy& copy : output.copies) EXPECT_EQ(copy.time_ns, copy.packet * 1'000 + (copy.line == 1 ? 2'500 : 0));
}

TEST(Impairer, a_dead_line_is_silent_until_it_returns) {
  Options options;
  options.line[0].dies_at = 10;
  options.line[0].returns_at = 90;
  options.line[0].reorder = 0.5;
  options.line[0].reorder_depth = 30;
  const Output output = send(options, 100);
  EXPECT_EQ(output.count(Event::Kind::Dead, 0), 80U);
  std::uint64_t of_line = 0;
  for (const Copy& copy : output.copies) {
    if (copy.line != 0) continue;
    ++of_line;
    EXPECT_TRUE(copy.packet < 10 ? copy.time_ns <= 10'000 : copy.packet >= 90);
  }
  EXPECT_EQ(of_line, 20U);
}

TEST(Impairer, the_same_seed_gives_the_same_and_lines_do_not_disturb_each_other) {
  Options options;
  options.seed = 77;
  for (LineOptions& line : options.line) {
    line = {.loss = {0.1, 3}, .duplicate = 0.1, .reorder = 0.1, .reorder_depth = 9, .corrupt = 0.1};
  }
  const auto of_line = [](const Output& output, std::size_t line) {
    std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> copies;
    for (const Copy& copy : output.copies) {
      if (copy.line == line) copies.emplace_back(copy.packet, copy.bytes);
    }
    return copies;
  };
  const Output first = send(options, 1'000);
  EXPECT_EQ(of_line(first, 0), of_line(send(options, 1'000), 0));
  options.line[1] = {};
  EXPECT_EQ(of_line(first, 0), of_line(send(options, 1'000), 0));
  options.seed = 78;
  EXPECT_NE(of_line(first, 0), of_line(send(options, 1'000), 0));
}

TEST(Impairer, its_log_tells_all_that_comes_out) {
  Options options;
  options.line[0] = {.loss = {0.2, 1}, .duplicate = 0.2, .reorder = 0.2, .reorder_depth = 5, .corrupt = 0.2};
  const Output output = send(options, 1'000);
  EXPECT_EQ(output.count(Event::Kind::Out, 0),
            1'000 - output.count(Event::Kind::Lost, 0) + output.count(Event::Kind::Doubled, 0));
  std::size_t at = 0;
  for (const Event& event : output.events) {
    if (event.kind != Event::Kind::Out) continue;
    const Copy& copy = output.copies[at++];
    EXPECT_EQ(event.packet, copy.packet);
    EXPECT_EQ(event.time_ns, copy.time_ns);
    EXPECT_EQ(event.detail, copy.damaged ? 1U : 0U);
  }
  EXPECT_EQ(at, output.copies.size());
}

/// A line that held back everything sent nothing until its end, and kept it all.
TEST(Impairer, holds_back_a_bounded_number_of_packets) {
  for (const std::uint32_t depth : {1U, 1'000U}) {
    Options options;
    options.lines = 1;
    options.line[0].reorder = 1;
    options.line[0].reorder_depth = depth;
    Impairer impairer(options);
    const std::size_t most = std::max<std::size_t>(depth, kMaxHeldBack);
    std::size_t out = 0;
    for (std::size_t i = 0; i < 5'000; ++i) {
      impairer.push(std::array<std::byte, 4>{}, i);
      while (impairer.pop(i) != nullptr) ++out;
      ASSERT_EQ(i + 1 - out, std::min(i + 1, most)) << "what is inside";
    }
    impairer.flush(5'000);
    while (impairer.pop(kNever) != nullptr) ++out;
    EXPECT_EQ(out, 5'000U);
  }
}

}  // namespace stopbit::impair::impairer_test
