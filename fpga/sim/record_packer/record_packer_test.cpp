#include <Vstopbit_record_packer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "decoder/record/builder.hpp"

/// The packer against decoder/record/builder.hpp, which writes the records of the software engines.
namespace stopbit::sim {
namespace {

using Slots = std::vector<record::Slot>;

/// command_t and record_header_t.
struct Command {
  bool open_root = false;
  bool open = false;
  bool open_reference = false;
  std::uint8_t block_words = 0;
  std::uint8_t block_first_word = 0;
  bool store = false;
  std::uint8_t word = 0;
  std::uint64_t value = 0;
  bool piece = false;
  bool string_end = false;
  bool is_long = false;
  std::uint32_t count = 0;
  bool second_store = false;
  std::uint8_t second_word = 0;
  std::uint64_t second_value = 0;
  bool commit = false;
  std::uint16_t template_index = 0;
  std::uint8_t flags = 0;
  bool event = false;
  record::Event event_record;
  std::uint16_t message_index = 0;
  record::Header header;
};

struct Sink final : record::RecordSink {
  std::vector<record::Slot> place = std::vector<record::Slot>(limits::kDefaultMaxRecordSlots);
  std::deque<Slots> records;
  Place open() noexcept override { return {place.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    place[0] = first;
    records.emplace_back(place.begin(), place.begin() + slots);
  }
};

/// Makes random records: commands for the packer, calls for the builder.
class Maker {
 public:
  explicit Maker(Random& random) : random_(random), builder_(program_) {}

  void make() {
    record::Header header;
    header.arrival_ns = random_.bits();
    header.sequence = static_cast<std::uint32_t>(random_.bits());
    header.channel = static_cast<std::uint16_t>(random_.bits());
    header.image_generation = static_cast<std::uint16_t>(random_.bits());
    header.sender_epoch = static_cast<std::uint16_t>(random_.bits());
    header.source = record::SourceLine::Replay;
    header.time_quality = record::TimeQuality::Kernel;
    header_ = header;
    const auto message_index = static_cast<std::uint16_t>(random_.bits());
    if (random_.chance(5)) return event(message_index);
    builder_.begin(sink, header_);
    block(true);
    const std::uint64_t blocks = random_.chance(10) ? 60 : random_.below(6);
    for (std::uint64_t i = 0; i < blocks; ++i) block(false);
    if (random_.chance(10)) return event(message_index);
    Command& last = commands.back();
    const bool joins = !last.open && !last.commit && random_.chance(70);
    Command& commit = joins ? last : commands.emplace_back();
    commit.commit = true;
    commit.template_index = static_cast<std::uint16_t>(random_.bits());
    commit.flags = static_cast<std::uint8_t>(random_.below(2));
    commit.message_index = message_index;
    commit.header = header_;
    EXPECT_TRUE(builder_.commit(commit.template_index, message_index, commit.flags));
  }

  /// A record of one block, words of it after its end, and an event.
  void make_overdue_words() {
    Block block;
    block.words = 250;
    builder_.begin(sink, header_);
    ASSERT_TRUE(builder_.open_block(block, record::kHeaderWords));
    EXPECT_TRUE(builder_.commit(0, 0, 0));
    Command& open = commands.emplace_back();
    open.open = true;
    open.open_root = true;
    open.block_words = block.words;
    open.commit = true;
    for (unsigned word = 40; word < block.words; word += 70) {
      Command& store = commands.emplace_back();
      store.store = true;
      store.word = static_cast<std::uint8_t>(word);
    }
    event(0);
  }

  /// A record of one block, and one of another channel that ends without a block.
  void make_record_without_block() {
    make();
    header_.channel ^= 1;
    builder_.begin(sink, header_);
    ASSERT_TRUE(builder_.open_block(Block{}, record::kHeaderWords));
    EXPECT_TRUE(builder_.commit(7, 0, 0));
    Command& end = commands.emplace_back();
    end.commit = true;
    end.template_index = 7;
    end.header = header_;
  }

  std::deque<Command> commands;
  Sink sink;

 private:
  void block(bool is_root) {
    Block block;
    block.words = static_cast<std::uint8_t>(random_.chance(10) ? random_.below(251) : random_.below(20));
    block.first_word = static_cast<std::uint16_t>(random_.below(900));
    const bool is_reference = !is_root && random_.chance(20);
    const auto template_index = static_cast<std::uint16_t>(random_.bits());
    const std::size_t base = is_root ? record::kHeaderWords : is_reference ? record::kReferenceWords : 0;
    if (is_reference) {
      ASSERT_TRUE(builder_.open_reference(block, template_index));
    } else {
      ASSERT_TRUE(builder_.open_block(block, base));
    }
    Command& open = commands.emplace_back();
    open.open = true;
    open.open_root = is_root;
    open.open_reference = is_reference;
    if (is_reference) open.value = template_index;
    open.header = header_;
    open.block_words = block.words;
    open.block_first_word = static_cast<std::uint8_t>(block.first_word % record::kMaxValueTag);
    const std::uint64_t skip = random_.below(12);  // how many words are left out at a time
    bool may_join = !is_root && !is_reference;
    for (std::uint64_t word = random_.below(skip + 1); word < block.words; word += 1 + random_.below(skip + 1)) {
      const auto place = record::WordPlace::of(block, base, static_cast<std::uint8_t>(word));
      if (random_.chance(20)) {
        text(static_cast<std::uint8_t>(word), place);
      } else {
        const std::uint64_t value = random_.bits();
        builder_.store(place, value);
        Command& last = commands.back();
        // A second word of the command before, with a first one or without.
        if ((last.store || may_join) && !last.string_end && !last.second_store && random_.chance(40)) {
          last.second_store = true;
          last.second_word = static_cast<std::uint8_t>(word);
          last.second_value = value;
        } else {
          Command& store = may_join && !last.second_store && random_.chance(60) ? last : commands.emplace_back();
          store.store = true;
          store.word = static_cast<std::uint8_t>(word);
          store.value = value;
        }
      }
      may_join = false;
    }
    if (random_.chance(10)) {  // a word that records do not hold
      Command& store = commands.emplace_back();
      store.store = true;
      store.word = static_cast<std::uint8_t>(block.words + random_.below(4));
    }
  }

  void text(std::uint8_t word, record::WordPlace place) {
    constexpr std::size_t kLengths[] = {0, 1, 7, 8, 9, 55, 56, 57, 63, 112, 113, 400};
    std::string text(kLengths[random_.below(std::size(kLengths))], ' ');
    const bool is_ascii = random_.chance(70);
    for (char& c : text) c = static_cast<char>(is_ascii ? random_.below(128) : random_.below(256));
    const bool is_long = !record::word_of(text).has_value();
    if (is_long && strings_of_record(text.size()) > limits::kMaxStringSlots) return;
    for (std::size_t at = 0; at == 0 || at < text.size(); at += 8) {
      Command& piece = commands.emplace_back();
      for (std::size_t i = at; i < std::min(at + 8, text.size()); ++i) {
        piece.value |= std::uint64_t{static_cast<unsigned char>(text[i])} << 8 * (i - at);
      }
      piece.piece = is_long;
      if (at + 8 < text.size()) continue;
      piece.store = true;
      piece.word = word;
      piece.string_end = true;
      piece.is_long = is_long;
      piece.count = static_cast<std::uint32_t>(text.size());
    }
    EXPECT_TRUE(builder_.store(place, text));
  }

  std::size_t strings_of_record(std::size_t more) {
    std::size_t slots = record::string_slots(more);
    for (auto at = commands.rbegin(); at != commands.rend() && !at->open_root; ++at) {
      if (at->string_end && at->is_long) slots += record::string_slots(at->count);
    }
    return slots;
  }

  void event(std::uint16_t message_index) {
    Command& command = commands.emplace_back();
    command.event = true;
    command.header = header_;
    command.message_index = message_index;
    command.event_record = {.kind = record::EventKind::DecodeError,
                            .code = ErrorCode::D9,
                            .template_index = static_cast<std::uint16_t>(random_.bits()),
                            .block = static_cast<std::uint16_t>(random_.bits()),
                            .word = static_cast<std::uint8_t>(random_.bits()),
                            .word5 = (random_.bits() & 0x1'FFFF) | random_.bits() << 32,
                            .word6 = random_.bits()};
    // Commands that would have come are as good as never given, if an error comes with a store.
    if (random_.chance(50)) command.store = true;
    builder_.write_event(sink, header_, command.event_record, message_index);
  }

  Random& random_;
  Program program_;
  record::Builder builder_;
  record::Header header_;
};

class PackerBench {
 public:
  PackerBench(std::uint64_t seed, std::uint32_t in_stall, std::uint32_t out_stall)
      : random_(seed), bench_(seed), in_(random_, in_stall), out_(random_, out_stall) {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_.reset();
  }

  Random& random() { return random_; }
  /// The longest time in which the packer neither took a command nor gave a slot, cycles.
  std::uint64_t longest_pause() const { return longest_pause_; }

  /// Runs until all commands are taken and all records are out, or for `cycles` cycles.
  void run(Maker& maker, std::optional<std::uint64_t> cycles = {}) {
    bool offered = false;
    Slots open;
    std::uint64_t quiet = 0;
    for (std::uint64_t cycle = 0; !cycles || cycle < *cycles; ++cycle) {
      if (maker.commands.empty() && maker.sink.records.empty() && !offered) break;
      if (!offered && !maker.commands.empty() && in_.open()) {
        offer(maker.commands.front());
        offered = true;
      }
      bench_->valid_i = offered;
      bench_->ready_i = out_.open();
      bench_.settle();
      ++quiet;
      longest_pause_ = std::max(longest_pause_, quiet);
      if (offered && bench_->ready_o) {
        maker.commands.pop_front();
        offered = false;
        quiet = 0;
      }
      if (bench_->valid_o && bench_->ready_i) {
        quiet = 0;
        take(open, maker.sink.records);
      }
      bench_.step();
      ASSERT_LT(quiet, 5'000U) << "stuck";
      if (::testing::Test::HasFailure()) return;
    }
    bench_->valid_i = 0;
    EXPECT_TRUE(cycles || open.empty());
  }

  void reset() { bench_.reset(); }

 private:
  void offer(const Command& command) {
    BitWriter out(bench_->command_i);
    out.put(command.message_index, 16);
    out.put(command.event_record.word, 8);
    out.put(command.event_record.block, 16);
    out.put(command.event_record.template_index, 16);
    out.put(command.event_record.word5, 17);
    out.put(command.event_record.word5 >> 32, 32);
    out.put(static_cast<std::uint64_t>(command.event_record.code), 8);
    out.put(static_cast<std::uint64_t>(command.event_record.kind), 8);
    out.put(command.event ? 1 : 0, 1);
    out.put(command.flags, 8);
    out.put(command.template_index, 16);
    out.put(command.commit ? 1 : 0, 1);
    out.put(command.second_value, 64);
    out.put(command.second_word, 8);
    out.put(command.second_store ? 1 : 0, 1);
    out.put(command.count, 17);
    out.put(command.is_long ? 1 : 0, 1);
    out.put(command.string_end ? 1 : 0, 1);
    out.put(command.piece ? 1 : 0, 1);
    out.put(command.value, 64);
    out.put(command.word, 8);
    out.put(command.store ? 1 : 0, 1);
    out.put(command.block_words, 8);
    out.put(command.block_first_word, 8);
    out.put(command.open_reference ? 1 : 0, 1);
    out.put(command.open ? 1 : 0, 1);
    out.put(command.open_root ? 1 : 0, 1);
    const record::Header& header = command.header;
    BitWriter in(bench_->header_i);
    in.put(static_cast<std::uint64_t>(header.time_quality), 8);
    in.put(static_cast<std::uint64_t>(header.source), 8);
    in.put(header.sender_epoch, 16);
    in.put(header.image_generation, 16);
    in.put(header.channel, 16);
    in.put(header.sequence, 32);
    in.put(command.event_record.word6, 64);
    in.put(header.arrival_ns, 64);
  }

  void take(Slots& open, std::deque<Slots>& records) {
    const auto& slot = bench_->slot_o;
    if (bits_at(slot, 0, 1) != 0) {
      EXPECT_FALSE(open.empty()) << "nothing to take back";
      open.clear();
      return;
    }
    record::Slot data;
    for (unsigned word = 0; word < record::kSlotWords; ++word) data.words[word] = bits_at(slot, 18 + 64 * word, 64);
    const bool is_last = bits_at(slot, 1, 1) != 0;
    if (open.empty()) open.emplace_back();
    if (is_last) {
      open[0] = data;
      EXPECT_EQ(bits_at(slot, 2, 16), 0U);
      ASSERT_FALSE(records.empty()) << "a record that nobody asked for";
      const Slots wanted = records.front();
      records.pop_front();
      ASSERT_EQ(open.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        for (unsigned word = 0; word < record::kSlotWords; ++word) {
          ASSERT_EQ(open[i].words[word], wanted[i].words[word]) << "slot " << i << ", word " << word;
        }
      }
      open.clear();
    } else {
      EXPECT_EQ(bits_at(slot, 2, 16), open.size());
      open.push_back(data);
    }
  }

  Random random_;
  Bench<Vstopbit_record_packer> bench_;
  Gate in_;
  Gate out_;
  std::uint64_t longest_pause_ = 0;
};

TEST(RecordPacker, writes_the_records_of_the_builder) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    PackerBench bench(seed, static_cast<std::uint32_t>(seed % 4 * 30), static_cast<std::uint32_t>(seed / 4 % 4 * 30));
    Maker maker(bench.random());
    for (int i = 0; i < 60; ++i) maker.make();
    bench.run(maker);
    if (HasFailure()) return;
  }
}

// No verified program stores words when its record is done. The words of one that does would be passed over slot by
// slot, and nothing would leave meanwhile: what comes next would be late, and the datagram after it be taken for its
// cause.
TEST(RecordPacker, a_word_after_the_end_of_its_record_takes_no_time) {
  PackerBench bench(1, 0, 0);
  Maker maker(bench.random());
  maker.make_overdue_words();
  bench.run(maker);
  EXPECT_LE(bench.longest_pause(), 4U);
}

TEST(RecordPacker, a_record_without_a_block_has_the_header_of_its_datagram) {
  PackerBench bench(1, 0, 0);
  Maker maker(bench.random());
  maker.make_record_without_block();
  bench.run(maker);
}

TEST(RecordPacker, a_reset_forgets_the_record_in_work) {
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    SCOPED_TRACE(seed);
    PackerBench bench(seed, 20, 30);
    for (int round = 0; round < 6; ++round) {
      Maker broken(bench.random());
      for (int i = 0; i < 5; ++i) broken.make();
      bench.run(broken, bench.random().below(60));
      bench.reset();
      Maker maker(bench.random());
      for (int i = 0; i < 8; ++i) maker.make();
      bench.run(maker);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace stopbit::sim
