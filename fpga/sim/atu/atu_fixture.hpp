#pragma once

#include <Vrtl_atu.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "atu_driver.hpp"

namespace stopbit::sim::atu {

using Unit = Driver<Vrtl_atu>;
using nic::Access;
using nic::Vpid;

inline constexpr std::uint64_t kHit = 9;
inline constexpr std::uint64_t kMiss = 12;  // and memory
inline constexpr std::uint64_t kFlush = 7;  // and units
inline constexpr std::uint64_t kPatience = 512;
inline constexpr std::uint64_t kSlots = 32;
inline constexpr std::uint64_t kTables[] = {0x0000'4000'0000, 0xF'FFFF'FFE0'0000};  // bases of 2 MiB
inline constexpr std::uint64_t kLong = 100'000;  // cycles, after which a test gives up

/// A look-up's answer.
struct Answer {
  std::size_t unit = 0;
  std::uint64_t tag = 0;
  std::uint64_t error = 0;
  std::uint64_t number = 0;
  std::uint64_t cycle = 0;
  [[nodiscard]] bool ok() const { return error == 0; }
};

class AtuTest : public ::testing::Test {
 protected:
  AtuTest() : unit_(seed()) { place_tables(); }

  static std::uint64_t seed() {
    const char* const said = std::getenv("STOPBIT_SEED");
    return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
  }
  void place_tables() {
    for (std::uint64_t table = 0; table < std::size(kTables); ++table) unit_.set_base(table, kTables[table]);
  }
  /// A page of the given table, with its entry.
  std::uint64_t page(std::uint64_t table, std::uint64_t at, Vpid owner, std::uint64_t number, Access access) {
    const std::uint64_t page = table << nic::kEntryBits | at;
    unit_.entry(page) = nic::gat_entry(owner, number, access);
    return page;
  }

  /// A cycle, with what units receive put into `answers_` and `flushed_`.
  Unit::Seen cycle() {
    const std::uint64_t now = unit_.now();
    Unit::Seen seen = unit_.cycle();
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      if (!seen.received[unit]) continue;
      const Message message = from_phit(*seen.received[unit]);
      EXPECT_EQ(to_phit(message), *seen.received[unit]);
      EXPECT_EQ(message.origin, kPort);
      if (message.operation == protocol::kAtsFlushRequest) {
        flush_requests_.push_back({unit, message.tag, 0, protocol::kFlushPage.of(message.body), now});
      } else {
        EXPECT_EQ(message.operation, protocol::kAtsTranslateResponse);
        answers_.push_back({unit, message.tag, protocol::kTranslateResponseError.of(message.body),
                            protocol::kTranslateResponseNumber.of(message.body), now});
        if (!answers_.back().ok()) {
          EXPECT_EQ(answers_.back().error, static_cast<std::uint64_t>(nic::Error::TargetTranslation));
          EXPECT_EQ(answers_.back().number, 0U);
        }
      }
    }
    if (seen.is_done) done_.push_back(now);
    if (seen.sent) sent_ = now;
    if (seen.flush) flush_taken_ = now;
    return seen;
  }
  void cycles(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) (void)cycle();
  }
  template <class Done>
  [[nodiscard]] bool until(Done done) {
    for (const std::uint64_t end = unit_.now() + kLong; unit_.now() < end;) {
      if (done()) return true;
      (void)cycle();
    }
    return done();
  }
  void send(std::size_t unit, std::uint64_t tag, const Lookup& lookup) {
    unit_.to_send.push_back(to_phit(ask(unit, tag, lookup)));
  }
  /// One look-up, alone; its answer, and how many cycles it took.
  std::pair<Answer, std::uint64_t> look_up(const Lookup& lookup, std::size_t unit = 0, std::uint64_t tag = 0) {
    send(unit, tag, lookup);
    const std::size_t before = answers_.size();
    if (!until([&] { return answers_.size() > before; })) throw std::runtime_error("no answer");
    EXPECT_EQ(answers_.back().unit, unit);
    EXPECT_EQ(answers_.back().tag, tag);
    return {answers_.back(), answers_.back().cycle - sent_};
  }
  /// One flush, alone, which units answer at once.
  void flush(std::uint64_t page) {
    const std::size_t done = done_.size();
    const std::size_t asked = flush_requests_.size();
    unit_.flushes.push_back({page});
    ASSERT_TRUE(until([&] { return flush_requests_.size() == asked + kUnits; }));
    answer_flushes();
    ASSERT_TRUE(until([&] { return done_.size() > done; }));
  }
  void answer_flushes() {
    for (; !flush_requests_.empty(); flush_requests_.pop_front()) {
      const Answer& request = flush_requests_.front();
      unit_.to_send.push_back(to_phit(flush_answer(request.unit, request.tag, request.number)));
    }
  }

  Unit unit_;
  std::vector<Answer> answers_;
  std::deque<Answer> flush_requests_;  ///< `number` is the page.
  std::vector<std::uint64_t> done_;    ///< Cycles in which a flush was.
  std::uint64_t sent_ = 0;             ///< The cycle in which the last message was taken.
  std::uint64_t flush_taken_ = 0;
};

}  // namespace stopbit::sim::atu
