// The duel of engines must notice an engine that does something else: here are some.

#include "tests/attack/duel.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "tests/attack/feeds.hpp"
#include "tests/attack/shrink.hpp"

namespace stopbit::attack {
namespace {

const Bytes kQuote5{std::byte{0xe0}, std::byte{0x81}, std::byte{0x85}};  // pmap(1 1) tid(1) Px 5
const Bytes kQuoteSame{std::byte{0xc0}, std::byte{0x81}};                // Px from the dictionary

std::unique_ptr<Feed> quotes() {
  return make_feed("quotes", R"(<templates><template name="Quote" id="1"><uInt32 name="Px"><copy/></uInt32></template>
</templates>)");
}

/// Passes records on, changed.
class ChangingSink final : public record::RecordSink {
 public:
  ChangingSink(record::RecordSink& inner, const std::function<void(record::Slot&)>& change)
      : inner_(inner), change_(change) {}
  [[nodiscard]] Place open() noexcept override { return inner_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    record::Slot changed = first;
    change_(changed);
    inner_.commit(changed, slots);
  }

 private:
  record::RecordSink& inner_;
  const std::function<void(record::Slot&)>& change_;
};

/// The interpreter, with something wrong.
class FaultyEngine final : public Engine {
 public:
  explicit FaultyEngine(const Feed& feed) : engine_(make_interpreter(feed.program, engine_options(feed))) {}

  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override {
    if (read_behind) sum = sum + static_cast<unsigned>(datagram.data()[datagram.size()]);
    ChangingSink changing(sink, change_record);
    Outcome outcome = engine_->decode(datagram, info, changing);
    change_outcome(outcome);
    return outcome;
  }
  void reset(std::uint16_t channel) noexcept override {
    if (!forget_reset) engine_->reset(channel);
  }
  void invalidate(std::uint16_t channel) noexcept override { engine_->invalidate(channel); }

  std::function<void(Outcome&)> change_outcome = [](Outcome&) {};
  std::function<void(record::Slot&)> change_record = [](record::Slot&) {};
  bool forget_reset = false;
  bool read_behind = false;
  volatile unsigned sum = 0;

 private:
  std::unique_ptr<Engine> engine_;
};

class Fixture {
 public:
  Fixture() : feed(quotes()) {
    std::vector<cases::TestedEngine> engines;
    engines.push_back({"good", make_interpreter(feed->program, engine_options(*feed))});
    auto second = std::make_unique<FaultyEngine>(*feed);
    faulty = second.get();
    engines.push_back({"faulty", std::move(second)});
    duel.emplace(*feed, std::move(engines));
  }
  std::string decode(const Bytes& bytes) {
    Outcome outcome;
    return duel->decode(0, bytes, outcome);
  }

  std::unique_ptr<Feed> feed;
  FaultyEngine* faulty = nullptr;
  std::optional<Duel> duel;
};

TEST(Duel, of_engines_that_do_the_same_has_no_difference) {
  Fixture f;
  EXPECT_EQ(f.decode(kQuote5), "");
  EXPECT_EQ(f.decode(kQuoteSame), "");
  f.duel->reset(0);
  EXPECT_EQ(f.decode(kQuoteSame), "");
  EXPECT_EQ(f.duel->history().size(), 4U);
}

TEST(Duel, notices_every_member_of_an_outcome_but_the_instructions) {
  const std::vector<std::function<void(Outcome&)>> changes = {[](Outcome& outcome) { outcome.error = ErrorCode::D2; },
                                                              [](Outcome& outcome) { outcome.dropped = true; },
                                                              [](Outcome& outcome) { ++outcome.messages; },
                                                              [](Outcome& outcome) { ++outcome.fields; },
                                                              [](Outcome& outcome) { --outcome.offset_bytes; },
                                                              [](Outcome& outcome) { ++outcome.template_id; },
                                                              [](Outcome& outcome) { outcome.template_index = 3; },
                                                              [](Outcome& outcome) { outcome.block = 3; },
                                                              [](Outcome& outcome) { outcome.word = 3; }};
  for (const auto& change : changes) {
    Fixture f;
    f.faulty->change_outcome = change;
    EXPECT_NE(f.decode(kQuote5), "");
  }
  Fixture f;
  f.faulty->change_outcome = [](Outcome& outcome) { outcome.instructions = 0; };
  EXPECT_EQ(f.decode(kQuote5), "");
}

TEST(Duel, notices_every_word_of_a_record) {
  for (std::size_t word = 0; word < record::kSlotWords; ++word) {
    Fixture f;
    f.faulty->change_record = [word](record::Slot& slot) { slot.words[word] ^= std::uint64_t{1} << 40; };
    EXPECT_NE(f.decode(kQuote5), "") << word;
  }
}

TEST(Duel, notices_a_dictionary_that_was_not_reset) {
  Fixture f;
  f.faulty->forget_reset = true;
  EXPECT_EQ(f.decode(kQuote5), "");
  f.duel->reset(0);
  EXPECT_NE(f.decode(kQuoteSame), "");
}

TEST(DuelDeathTest, ends_with_a_signal_when_an_engine_reads_behind_the_datagram) {
  Fixture f;
  f.faulty->read_behind = true;
  EXPECT_DEATH((void)f.decode(kQuote5), "");
}

TEST(Shrink, leaves_what_fails) {
  const std::vector<Move> moves = {{0, false, kQuote5}, {1, false, kQuoteSame}, {0, true, {}}, {0, false, kQuote5}};
  const auto has_a_reset_and_an_85 = [](const std::vector<Move>& some) {
    bool has_reset = false;
    bool has_85 = false;
    for (const Move& move : some) {
      has_reset = has_reset || move.is_reset;
      for (const std::byte byte : move.bytes) has_85 = has_85 || (has_reset && byte == std::byte{0x85});
    }
    return has_85;
  };
  const std::vector<Move> left = shrink(moves, has_a_reset_and_an_85);
  ASSERT_EQ(left.size(), 2U);
  EXPECT_TRUE(left[0].is_reset);
  EXPECT_EQ(left[1].bytes, Bytes{std::byte{0x85}});
}

TEST(Shrink, asks_in_a_process_of_its_own) {
  const std::unique_ptr<Feed> feed = quotes();
  EXPECT_FALSE(fails_from_the_start(*feed, {{0, false, kQuote5}, {0, true, {}}, {0, false, kQuoteSame}}));
}

}  // namespace
}  // namespace stopbit::attack
