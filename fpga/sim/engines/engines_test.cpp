#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "fpga/sim/engines/engines_bench.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/workloads/workload.hpp"

/// Four decode cores as one: the records of each channel are the interpreter's, in its order.
namespace stopbit::sim {
namespace {

constexpr std::uint16_t kChannels = 7;  // no multiple of the cores

using Bytes = std::vector<std::byte>;

/// A sequence of integers; an element takes a slot of the record.
Program sequence_program() {
  Result<Program> program = bench::compile_text(
      "engines",
      R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="T" id="1"><sequence name="S">)"
      R"(<uInt32 name="A"/><uInt32 name="B"/><uInt32 name="C"/></sequence></template></templates>)");
  if (!program.ok()) throw std::runtime_error(program.message());
  return std::move(program.value());
}
Bytes sequence_message(unsigned count, unsigned seed) {
  Bytes out{std::byte{0xC0}, std::byte{0x81}};
  if (count >= 128) out.push_back(static_cast<std::byte>(count >> 7));
  out.push_back(static_cast<std::byte>(0x80 | (count & 0x7F)));
  for (unsigned i = 0; i < 3 * count; ++i) out.push_back(static_cast<std::byte>(0x80 | ((seed + i) & 0x7F)));
  return out;
}

Datagram datagram_of(const Bytes& bytes, std::uint16_t channel, std::uint64_t number) {
  PacketInfo info;
  info.channel = channel;
  info.number = number;
  info.sequence = static_cast<std::uint32_t>(number * 5);
  info.arrival_ns = number * 1'000'003;
  return {bytes, info};
}

std::vector<Datagram> datagrams_of(const std::vector<Arriving>& arriving) {
  std::vector<Datagram> out;
  for (const Arriving& one : arriving) out.push_back(one.datagram);
  return out;
}

/// Each channel plays the workload from its beginning, in turns that `random` chooses, bits of some datagrams turned.
std::vector<Arriving> mixed(const bench::Workload& work, std::size_t count, unsigned broken, Random& random,
                            std::deque<Bytes>& kept) {
  std::map<std::uint16_t, std::size_t> next;
  std::vector<Arriving> out;
  while (out.size() < count) {
    const auto channel = static_cast<std::uint16_t>(random.below(kChannels));
    const std::size_t i = next[channel]++ % work.datagrams.size();
    Datagram datagram{work.datagram(i), work.datagrams[i].info};
    datagram.info.channel = channel;
    datagram.info.number = out.size() + 1;
    if (!datagram.bytes.empty() && random.chance(broken)) {
      kept.emplace_back(datagram.bytes.begin(), datagram.bytes.end());
      kept.back()[random.below(kept.back().size())] ^= static_cast<std::byte>(1U << random.below(8));
      if (random.chance(30)) kept.back().resize(random.below(kept.back().size()));
      datagram.bytes = kept.back();
    }
    out.push_back({datagram});
  }
  return out;
}

TEST(Engines, give_the_records_of_each_channel_in_its_order) {
  const std::size_t count = by_form<std::size_t>(100, 10'000);
  for (const bench::WorkloadSource& source : bench::workload_sources()) {
    auto made = source.make();
    ASSERT_TRUE(made.ok()) << source.name << ": " << made.message();
    bench::Workload& work = *made.value();
    work.options.channels = kChannels;
    if (!firmware::obstacles(work.program, work.options).empty()) continue;
    for (const std::uint32_t stall : {0U, 60U}) {
      for (const unsigned broken : {0U, 30U}) {
        SCOPED_TRACE(fmt::format("{}, stalls of {} %, {} % broken", source.name, stall, broken));
        Random random(stall + broken + 1);
        std::deque<Bytes> kept;
        const std::vector<Arriving> datagrams = mixed(work, count, broken, random, kept);
        Reference reference(work.program, work.options);
        EnginesBench cores(work.program, work.options, {11 + stall, stall, stall});
        ASSERT_EQ(cores.changed_words(), 0U);
        EnginesFigures figures;
        ASSERT_EQ(difference_by_channel(reference.decode(datagrams_of(datagrams)), cores.run(datagrams, figures)), "");
      }
    }
  }
}

TEST(Engines, give_records_that_are_longer_than_their_room) {
  const Program program = sequence_program();
  EngineOptions options;
  options.channels = kChannels;
  for (const std::uint32_t stall : {0U, 70U}) {
    Random random(stall + 3);
    std::deque<Bytes> kept;
    std::vector<Arriving> datagrams;
    for (std::uint64_t i = 1; i <= 60; ++i) {
      // 64 slots are the room.
      const unsigned counts[] = {0, 1, 20, 61, 62, 63, 64, 65, 66, 130, 300};
      kept.push_back(sequence_message(counts[random.below(std::size(counts))], static_cast<unsigned>(i)));
      if (random.chance(20)) kept.back().resize(kept.back().size() / 2);  // what came of the record is taken back
      datagrams.push_back({datagram_of(kept.back(), static_cast<std::uint16_t>(random.below(kChannels)), i)});
    }
    Reference reference(program, options);
    EnginesBench cores(program, options, {stall, stall, stall});
    EXPECT_EQ(cores.changed_words(), 0U);
    EnginesFigures figures;
    EXPECT_EQ(difference_by_channel(reference.decode(datagrams_of(datagrams)), cores.run(datagrams, figures)), "");
  }
}

/// What stopbit_gap_events makes of a gap.
Record gap_record(const Arriving& shown_by) {
  const PacketInfo& info = shown_by.datagram.info;
  record::Slot slot{};
  slot.words[0] = record::kEventIndex | 1U << 16;
  slot.words[1] = info.arrival_ns;
  slot.words[2] = std::uint64_t{info.channel} << 32 | shown_by.gap_first;
  slot.words[4] = static_cast<std::uint64_t>(record::EventKind::Gap) | 0x00FF'FFFF'FFFF'0000;
  slot.words[5] = shown_by.gap_first;
  slot.words[6] = shown_by.gap_count;
  slot.words[record::kTagWord] = 0x00FC'FCFC'FBFA'F9F8;
  return {slot};
}

TEST(Engines, execute_what_one_core_executes_and_nothing_for_a_gap) {
  const Program program = sequence_program();
  EngineOptions options;
  options.channels = kChannels;
  Random random(9);
  std::deque<Bytes> kept;
  std::vector<Arriving> datagrams;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    kept.push_back(sequence_message(static_cast<unsigned>(random.below(30)), static_cast<unsigned>(i)));
    datagrams.push_back({datagram_of(kept.back(), static_cast<std::uint16_t>(random.below(kChannels)), i)});
    if (random.chance(30)) datagrams.back().gap_count = 1;
  }
  Core core(program, options, {});
  (void)core.decode(datagrams_of(datagrams));
  EnginesBench cores(program, options, {});
  EnginesFigures figures;
  (void)cores.run(datagrams, figures);
  EXPECT_GT(figures.instructions, 1000U);
  EXPECT_EQ(figures.instructions, core.figures().instructions);
}

TEST(Engines, read_back_words_that_differ_as_none_that_was_loaded) {
  const Program program = sequence_program();
  EnginesBench cores(program, EngineOptions{}, {});
  ASSERT_EQ(cores.changed_words(), 0U);
  for (unsigned spoilt = 1; spoilt <= 15; ++spoilt) {
    cores.spoil(spoilt);
    EXPECT_EQ(cores.changed_words(), 1U) << "cores " << spoilt;
    cores.load();
    EXPECT_EQ(cores.changed_words(), 0U);
  }
}

TEST(Engines, give_gaps_in_their_place_in_their_channel) {
  const Program program = sequence_program();
  EngineOptions options;
  options.channels = kChannels;
  for (const std::uint32_t stall : {0U, 60U}) {
    Random random(stall + 5);
    Reference reference(program, options);
    std::deque<Bytes> kept;
    std::vector<Arriving> datagrams;
    std::vector<Record> wanted;
    for (std::uint64_t i = 1; i <= 300; ++i) {
      kept.push_back(sequence_message(static_cast<unsigned>(random.below(30)), static_cast<unsigned>(i)));
      if (random.chance(20)) kept.back().resize(random.below(kept.back().size()));
      datagrams.push_back({datagram_of(kept.back(), static_cast<std::uint16_t>(random.below(kChannels)), i)});
      if (random.chance(40)) {
        datagrams.back().gap_first = static_cast<std::uint32_t>(random.bits());
        datagrams.back().gap_count = random.chance(50) ? 1 : 1 + static_cast<std::uint32_t>(random.bits() >> 33);
        wanted.push_back(gap_record(datagrams.back()));
      }
      for (Record& record : reference.decode({&datagrams.back().datagram, 1})) wanted.push_back(std::move(record));
    }
    EnginesBench cores(program, options, {stall, stall, stall});
    EnginesFigures figures;
    EXPECT_EQ(difference_by_channel(wanted, cores.run(datagrams, figures)), "");
  }
}

TEST(Engines, take_three_cycles_more_for_a_gap_than_for_a_datagram_without_bytes) {
  const Program program = sequence_program();
  EngineOptions options;
  options.channels = kChannels;
  Bytes bytes = sequence_message(2, 7);
  bytes.insert(bytes.begin(), 4, std::byte{});
  Arriving shown{datagram_of(bytes, 0, 1)};
  shown.datagram.info.data_offset = 4;  // not of its gap
  const auto cycles_of = [&](const std::vector<Arriving>& datagrams) {
    EnginesBench cores(program, options, {});
    EnginesFigures figures;
    (void)cores.run(datagrams, figures);
    return figures.cycles;
  };
  Arriving with_gap = shown;
  with_gap.gap_count = 5;
  Arriving empty{datagram_of({}, 0, 1)};
  EXPECT_EQ(cycles_of({with_gap}), cycles_of({empty, shown}) + 3);
}

TEST(Engines, do_not_wait_for_one_whose_datagram_stops) {
  const Program program = sequence_program();
  EngineOptions options;
  options.channels = kChannels;
  std::deque<Bytes> kept;
  std::vector<Arriving> datagrams;
  for (std::uint64_t i = 1; i <= 9; ++i) {
    kept.push_back(sequence_message(40, static_cast<unsigned>(i)));
    datagrams.push_back({datagram_of(kept.back(), static_cast<std::uint16_t>(1 + i % 3), i)});
  }
  Reference reference(program, options);
  const std::vector<Record> wanted = reference.decode(datagrams_of(datagrams));
  // Of a record of fewer slots than the room nothing leaves; of a longer one all that is known, and then the others
  // wait.
  kept.push_back(sequence_message(50, 99));
  datagrams.push_back({datagram_of(kept.back(), 0, 10), 0, kept.back().size() / kBeatBytes});
  EnginesBench cores(program, options, {});
  EnginesFigures figures;
  EXPECT_EQ(difference_by_channel(wanted, cores.run(datagrams, figures)), "");
  // The rest of it is lost with a reset, and nothing else.
  cores.reset();
  datagrams.pop_back();
  Reference again(program, options);
  EXPECT_EQ(difference_by_channel(again.decode(datagrams_of(datagrams)), cores.run(datagrams, figures)), "");
}

TEST(Engines, four_give_a_slot_in_each_cycle) {
  const Program program = sequence_program();
  EngineOptions options;
  options.channels = 16;
  std::deque<Bytes> kept;
  std::uint64_t slots = 0;
  const auto cycles_of = [&](std::uint16_t apart) {
    std::vector<Arriving> datagrams;
    for (std::uint64_t i = 0; i < 80; ++i) {
      kept.push_back(sequence_message(10, static_cast<unsigned>(i)));
      datagrams.push_back({datagram_of(kept.back(), static_cast<std::uint16_t>(i % 4 * apart), i + 1)});
    }
    EnginesBench cores(program, options, {});
    EnginesFigures figures;
    const std::vector<Record> records = cores.run(datagrams, figures);
    EXPECT_EQ(records.size(), datagrams.size());
    slots = 0;
    for (const Record& record : records) slots += record.size();
    return figures.cycles;
  };
  const std::uint64_t one = cycles_of(4);  // channels 0, 4, 8, 12: of one core
  const std::uint64_t four = cycles_of(1);
  EXPECT_GT(one, 2 * slots);
  EXPECT_LT(four, slots + 60);
}

TEST(Engines, take_as_many_cycles_more_than_one_core_as_a_record_has_slots_and_two) {
  const Program program = sequence_program();
  EngineOptions options;
  options.channels = kChannels;
  for (const unsigned elements : {0U, 1U, 20U}) {
    const Bytes bytes = sequence_message(elements, 7);
    const std::vector<Datagram> plain(2,
                                      datagram_of(bytes, 0, 1));  // the template's first message is not fetched ahead
    std::uint64_t alone = 0;
    {
      Core core(program, options, {});
      (void)core.decode(plain);
      alone = core.figures().cycles;
      (void)core.decode({plain.data(), 1});
      alone = core.figures().cycles - alone;
    }
    EnginesBench cores(program, options, {});
    EnginesFigures figures;
    (void)cores.run(std::vector<Arriving>(2, {plain[0]}), figures);
    figures = {};
    const std::vector<Record> records = cores.run(std::vector<Arriving>(1, {plain[0]}), figures);
    ASSERT_EQ(records.size(), 1U);
    // A record of one slot goes through the whole room; of others the first slots are shown before the last one comes.
    EXPECT_EQ(figures.cycles, alone + std::max<std::size_t>(4, records[0].size() + 2)) << elements << " elements";
  }
}

}  // namespace
}  // namespace stopbit::sim
