#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fpga/sim/cosim/core.hpp"
#include "host/device/firmware/device.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/attack/chatter.hpp"
#include "tests/attack/feeds.hpp"
#include "tests/attack/round_trip.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/profiled.hpp"
#include "tests/lib/workloads/workload.hpp"
#include "tests/property/random_case.hpp"
#include "tests/runner/case_program.hpp"
#include "tests/runner/run_case.hpp"

/// The decode core against the interpreter: the same datagrams, every slot compared.
namespace stopbit::sim {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<Datagram> as_datagrams(const std::vector<Bytes>& bytes, std::uint16_t channel, std::uint64_t first_number) {
  std::vector<Datagram> out;
  for (const Bytes& datagram : bytes) {
    PacketInfo info;
    info.number = first_number++;
    info.channel = channel;
    info.arrival_ns = 1'000'000'007ULL * info.number;
    info.sequence = static_cast<std::uint32_t>(info.number * 3);
    info.sender_epoch = 7;
    info.source = record::SourceLine::LineB;
    info.time_quality = record::TimeQuality::Hardware;
    out.push_back({datagram, info});
  }
  return out;
}

/// Interpreter and core side by side.
class Pair {
 public:
  Pair(const Program& program, const EngineOptions& options, const CoreOptions& core)
      : reference_(program, options), core_(program, options, core) {}

  /// Empty if they gave the same.
  std::string decode(const std::vector<Datagram>& datagrams) {
    try {
      return difference(reference_.decode(datagrams), core_.decode(datagrams));
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  void reset(std::uint16_t channel) {
    reference_.reset(channel);
    core_.reset(channel);
  }
  Reference& reference() { return reference_; }
  Core& core() { return core_; }

 private:
  Reference reference_;
  Core core_;
};

/// The program with programs for the presence maps of the case.
Program with_profiles(const Program& program, const EngineOptions& options, const std::vector<cases::Step>& steps) {
  std::vector<cases::Datagram> datagrams;
  for (const cases::Step& step : steps) {
    if (step.kind != cases::Step::Kind::Reset) datagrams.push_back({step.bytes, step.channel});
  }
  return cases::with_profiles(program, options, datagrams);
}

/// Every prefix of a datagram, and every datagram with one bit turned.
std::vector<Bytes> mutations(const Bytes& datagram) {
  constexpr std::size_t kMaxBytes = 80;
  std::vector<Bytes> out;
  for (std::size_t size = 0; size < std::min(datagram.size(), kMaxBytes); ++size) {
    out.emplace_back(datagram.begin(), datagram.begin() + static_cast<std::ptrdiff_t>(size));
  }
  if (datagram.size() > kMaxBytes) return out;
  for (std::size_t bit = 0; bit < datagram.size() * 8; ++bit) {
    out.push_back(datagram);
    out.back()[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
  }
  return out;
}

TEST(Cosim, cases_within_the_capabilities_give_the_same_records) {
  std::map<std::string, int> refused;
  int ran = 0;
  std::uint64_t seed = 0;
  for (const std::filesystem::path& path : cases::find_cases(STOPBIT_DECODE_CASES)) {
    Diagnostics diagnostics;
    const auto source = std::make_shared<const SourceBuffer>(path.string(), stopbit::testing::file_text(path));
    const std::optional<cases::CaseFile> file = cases::CaseFile::parse(source, diagnostics);
    ASSERT_TRUE(file) << path;
    const cases::Section* bytes = file->find("bytes");
    if (bytes == nullptr) continue;
    cases::Report report(*file);
    const cases::CaseOptions options = cases::read_options(*file, report);
    const std::optional<Program> program = cases::program_of(*file, options);
    if (!program) continue;
    const std::vector<std::string> reasons = firmware::obstacles(*program, options.engine);
    if (!reasons.empty()) {
      ++refused[reasons.front().substr(0, reasons.front().find(':'))];
      continue;
    }
    const auto steps = cases::parse_bytes(source, bytes->begin, bytes->end, diagnostics);
    ASSERT_TRUE(steps) << path;
    ++ran;
    struct Way {
      const char* name;
      std::uint32_t stall;
      bool pairs;
      bool profiles;
    };
    const auto stall = 30U + static_cast<std::uint32_t>(seed % 61);
    const Program profiled = with_profiles(*program, options.engine, *steps);
    for (const Way way : {Way{"as it is", 0, true, false}, Way{"with profile programs", 0, true, true},
                          Way{"with profile programs, stalls", stall, true, true},
                          Way{"one instruction at a time, stalls", stall, false, false}}) {
      if (way.profiles && profiled.profiles.empty()) continue;
      SCOPED_TRACE(path.string() + ", " + way.name + ", " + std::to_string(way.stall) + " %");
      CoreOptions core{++seed, way.stall, way.stall};
      core.device = {.pairs = way.pairs, .profiles = way.profiles, .least_saved = 0};
      Pair pair(way.profiles ? profiled : *program, options.engine, core);
      std::vector<Datagram> datagrams;
      std::vector<Bytes> kept;
      std::uint64_t number = 0;
      for (const cases::Step& step : *steps) {
        if (step.kind == cases::Step::Kind::Reset) {
          ASSERT_EQ(pair.decode(datagrams), "");
          datagrams.clear();
          pair.reset(step.channel);
          continue;
        }
        PacketInfo info;
        info.number = ++number;
        info.channel = step.channel;
        datagrams.push_back({step.bytes, info});
      }
      ASSERT_EQ(pair.decode(datagrams), "");
      if (way.stall != 0) continue;
      for (const cases::Step& step : *steps) {
        if (step.kind == cases::Step::Kind::Reset) continue;
        kept = mutations(step.bytes);
        ASSERT_EQ(pair.decode(as_datagrams(kept, step.channel, 1)), "") << "in what comes of a datagram of it";
      }
    }
  }
  std::printf("%d cases ran; not within the capabilities:", ran);
  for (const auto& [what, count] : refused) std::printf(" %d %s,", count, what.c_str());
  std::printf("\n");
  EXPECT_GT(ran, 100);
}

TEST(Cosim, captures_give_the_same_records) {
  const std::size_t kDatagrams = by_form<std::size_t>(60, 2'000);
  for (const bench::WorkloadSource& source : bench::workload_sources()) {
    auto made = source.make();
    ASSERT_TRUE(made.ok()) << source.name << ": " << made.message();
    const bench::Workload& work = *made.value();
    const std::vector<std::string> reasons = firmware::obstacles(work.program, work.options);
    if (!reasons.empty()) {
      std::printf("%s: %s\n", source.name.c_str(), reasons.front().c_str());
      continue;
    }
    std::vector<Datagram> datagrams;
    for (std::size_t i = 0; i < std::min(kDatagrams, work.datagrams.size()); ++i) {
      datagrams.push_back({work.datagram(i), work.datagrams[i].info});
    }
    std::vector<cases::Datagram> met;
    for (const Datagram& datagram : datagrams) met.push_back({datagram.bytes, datagram.info.channel});
    const Program profiled = cases::with_profiles(work.program, work.options, met);
    for (const std::uint32_t stall : {0U, 60U}) {
      SCOPED_TRACE(source.name + ", stalls of " + std::to_string(stall) + " %");
      Pair pair(work.program, work.options, {11 + stall, stall, stall});
      ASSERT_EQ(pair.decode(datagrams), "");
    }
    SCOPED_TRACE(source.name + ", with profile programs");
    CoreOptions core{.seed = 13, .input_stall = 20, .output_stall = 20};
    core.device.least_saved = 0;
    Pair pair(profiled, work.options, core);
    ASSERT_EQ(pair.decode(datagrams), "");
  }
}

/// A field of every type and operator, and templates of everything, with datagrams that are nearly right.
TEST(Cosim, every_operator_of_every_type_gives_the_same_records) {
  const int kDatagrams = by_form(20, 150);
  int ran = 0;
  std::uint64_t seed = 0;
  const attack::Feeds groups[] = {attack::cell_feeds(), attack::fixed_feeds(), attack::random_feeds(1, 60)};
  for (const attack::Feeds& feeds : groups) {
    for (const auto& feed : feeds) {
      EngineOptions options;
      options.reset = feed->reset;
      options.strict = ++seed % 4 == 1 && feed->reset != ResetRule::Template;
      if (!firmware::obstacles(feed->program, options).empty()) continue;
      ++ran;
      SCOPED_TRACE(feed->template_text);
      cases::Random random(seed);
      attack::Chatter chatter(feed->program, random);
      std::vector<Bytes> bytes;
      for (int i = 0; i < kDatagrams; ++i) {
        Bytes datagram;
        for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
          const Bytes& more = chatter.next();
          datagram.insert(datagram.end(), more.begin(), more.end());
        }
        if (datagram.size() > limits::kMaxDatagramBytes) datagram.resize(limits::kMaxDatagramBytes);
        bytes.push_back(std::move(datagram));
      }
      const auto stall = static_cast<std::uint32_t>(seed % 4 == 0 ? seed % 91 : 0);
      CoreOptions core{seed, stall, stall};
      core.device.pairs = seed % 5 != 0;
      Pair pair(feed->program, options, core);
      ASSERT_EQ(pair.decode(as_datagrams(bytes, 0, 1)), "") << "seed " << seed;
    }
  }
  std::printf("%d programs ran\n", ran);
  EXPECT_GT(ran, 100);
}

TEST(Cosim, random_messages_give_the_same_records) {
  int ran = 0;
  const std::uint64_t seeds = by_form<std::uint64_t>(300, 1'500);
  for (std::uint64_t seed = 1; seed < seeds; ++seed) {
    cases::CaseSize size;
    size.packets = 8;
    size.messages = 6;
    size.fields = 2;
    const cases::RandomCase made = cases::random_case(seed, size);
    Diagnostics diagnostics;
    const auto feed = attack::try_feed("", made.template_text, {}, diagnostics);
    if (feed == nullptr) continue;
    EngineOptions options;
    options.reset = made.reset;
    options.strict = seed % 4 == 1 && made.reset != ResetRule::Template;
    if (seed % 5 == 2) {  // so small that messages reach them
      options.limits.elements = static_cast<std::uint32_t>(1 + seed % 9);
      options.limits.empty_elements = static_cast<std::uint32_t>(1 + seed % 3);
      options.limits.nesting = static_cast<std::uint32_t>(1 + seed % 3);
      options.limits.string_bytes = static_cast<std::uint32_t>(4 + seed % 40);
    }
    if (!firmware::obstacles(feed->program, options).empty()) continue;
    ++ran;
    const std::vector<Bytes> bytes = attack::datagrams_of(made);
    SCOPED_TRACE(made.template_text);
    const auto stall = static_cast<std::uint32_t>(seed % 3 == 0 ? seed % 91 : 0);
    Pair pair(feed->program, options, {seed, stall, stall});
    ASSERT_EQ(pair.decode(as_datagrams(bytes, 0, 1)), "") << "seed " << seed;
  }
  std::printf("%d programs ran\n", ran);
  EXPECT_GT(ran, 20);
}

TEST(Cosim, channels_do_not_mix_and_a_reset_of_the_hardware_leaves_no_trace) {
  const auto feeds = attack::cell_feeds();
  int ran = 0;
  for (const auto& feed : feeds) {
    EngineOptions options;
    options.reset = ResetRule::Never;
    options.channels = 5;
    options.image_generation = 0xBEEF;
    if (!firmware::obstacles(feed->program, options).empty()) continue;
    if (++ran % 8 != 0) continue;
    cases::Random random(static_cast<std::uint64_t>(ran));
    attack::Chatter chatter(feed->program, random);
    Pair pair(feed->program, options, {static_cast<std::uint64_t>(ran), 20, 20});
    for (int round = 0; round < 4; ++round) {
      std::vector<Bytes> bytes;
      for (int i = 0; i < 40; ++i) bytes.push_back(chatter.next());
      std::vector<Datagram> datagrams = as_datagrams(bytes, 0, 1);
      for (Datagram& datagram : datagrams) datagram.info.channel = static_cast<std::uint16_t>(random.below(5));
      ASSERT_EQ(pair.decode(datagrams), "") << feed->template_text;
      for (std::uint16_t channel = 0; channel < options.channels; channel += 2) pair.reset(channel);
      if (round == 2) {
        // All dictionaries are undefined after it, as after a reset of each channel.
        pair.core().interrupt(datagrams[0], 2);
        for (std::uint16_t channel = 0; channel < options.channels; ++channel) pair.reference().reset(channel);
      }
    }
  }
  EXPECT_GT(ran, 20);
}

TEST(Cosim, a_program_is_loaded_while_another_runs_and_each_has_its_channels) {
  EngineOptions options;
  options.channels = 4;
  attack::Feeds feeds;
  for (auto& feed : attack::cell_feeds()) {
    if (firmware::obstacles(feed->program, options).empty()) feeds.push_back(std::move(feed));
  }
  ASSERT_GT(feeds.size(), 40U);
  for (std::size_t i = 0; i + 1 < feeds.size(); i += 12) {
    const Program& first = feeds[i]->program;
    const Program& second = feeds[i + 1]->program;
    SCOPED_TRACE(feeds[i]->template_text + feeds[i + 1]->template_text);
    cases::Random random(i);
    attack::Chatter chatters[] = {{first, random}, {second, random}};
    Reference references[] = {{first, options}, {second, options}};
    Core core(first, options, {.seed = i, .input_stall = 10, .output_stall = 10});
    core.load_beside(second, 3);
    for (int round = 0; round < 3; ++round) {
      std::vector<Bytes> bytes;
      std::vector<std::size_t> programs;
      for (int k = 0; k < 60; ++k) {
        programs.push_back(round == 0 ? 0 : random.below(2));
        bytes.push_back(chatters[programs.back()].next());
      }
      std::vector<Datagram> datagrams = as_datagrams(bytes, 0, 1);
      std::vector<Record> wanted;
      for (std::size_t k = 0; k < datagrams.size(); ++k) {
        datagrams[k].info.channel = programs[k] == 0 ? static_cast<std::uint16_t>(random.below(3)) : std::uint16_t{3};
        for (Record& record : references[programs[k]].decode(std::span(datagrams).subspan(k, 1))) {
          wanted.push_back(std::move(record));
        }
      }
      ASSERT_EQ(difference(wanted, core.decode(datagrams)), "") << "round " << round;
    }
  }
}

/// The first element's bytes come late: its block is opened before its first instruction is done, and takes its slots
/// of the record nevertheless.
TEST(Cosim, an_element_whose_bytes_come_late_takes_its_room_of_the_record) {
  constexpr unsigned kFields = 13;  // with map, identifier and the sequence's length they fill a beat
  std::string fields;
  for (unsigned i = 0; i < kFields; ++i) fields += "<uInt32 name=\"F" + std::to_string(i) + "\"/>";
  auto program = bench::compile_text(
      "late", R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="T" id="1">)" + fields +
                  R"(<sequence name="S"><uInt32 name="A"/></sequence></template></templates>)");
  ASSERT_TRUE(program.ok()) << program.message();
  constexpr std::size_t kElements = 2;
  program.value().max_record_slots = (record::kHeaderWords + kFields) / record::kValueWords + 1 + kElements;
  ASSERT_TRUE(verify::check(program.value()).ok());
  std::vector<Bytes> bytes;
  for (std::size_t elements = kElements; elements <= kElements + 1; ++elements) {
    Bytes message(2 + kFields, std::byte{0x85});
    message[0] = std::byte{0xC0};
    message[1] = std::byte{0x81};
    message.push_back(std::byte{0x80} | static_cast<std::byte>(elements));
    message.resize(message.size() + elements, std::byte{0x86});
    bytes.push_back(message);
  }
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Pair pair(program.value(), {}, {.seed = seed, .input_stall = 97});
    ASSERT_EQ(pair.decode(as_datagrams(bytes, 0, 1)), "") << "seed " << seed;
    EXPECT_EQ(pair.reference().messages(), 1U);  // the second is an error
  }
}

/// A message with an identifier that no template has leaves its channel's bank with instructions fetched from where the
/// last template of the other bank began: here the beginning of an element that no record has room for. They are not
/// those of the message that comes next, whatever they would do.
TEST(Cosim, a_template_that_was_wrongly_foreseen_says_nothing_about_the_room_of_the_record) {
  const auto compiled = [](const std::string& templates) {
    return bench::compile_text(
        "foreseen", R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">)" + templates + "</templates>");
  };
  const auto integers = [](unsigned count) {
    std::string fields;
    for (unsigned i = 0; i < count; ++i) fields += "<uInt32 name=\"F" + std::to_string(i) + "\"/>";
    return fields;
  };
  auto tight = compiled(
      R"(<template name="T" id="1"><uInt32 name="A"/></template><template name="U" id="2"><sequence name="S">)" +
      integers(2 * record::kValueWords) + "</sequence></template>");
  ASSERT_TRUE(tight.ok()) << tight.message();
  tight.value().max_record_slots = 1;
  ASSERT_TRUE(verify::check(tight.value()).ok());
  const std::vector<isa::Instruction>& code = tight.value().code;
  const auto element = std::find_if(code.begin(), code.end(),
                                    [](const isa::Instruction& in) { return in.control == isa::ControlOp::Block; });
  ASSERT_NE(element, code.end());
  // In the other bank a template whose code begins at that address.
  std::optional<Program> other;
  for (unsigned fields = 1; fields < 30 && !other; ++fields) {
    auto program = compiled("<template name=\"T\" id=\"1\">" + integers(fields) +
                            R"(</template><template name="U" id="2"><uInt32 name="A"/></template>)");
    ASSERT_TRUE(program.ok()) << program.message();
    const auto& dispatch = program.value().dispatch;
    if (std::any_of(dispatch.begin(), dispatch.end(), [&](const DispatchEntry& entry) {
          return entry.id == 2 && entry.entry == element - code.begin();
        })) {
      other = std::move(program.value());
    }
  }
  ASSERT_TRUE(other.has_value());
  EngineOptions options;
  options.channels = 2;
  Reference references[] = {{*other, options}, {tight.value(), options}};
  Core core(*other, options, {});
  core.load_beside(tight.value(), 1);
  const std::vector<Bytes> bytes = {{std::byte{0xC0}, std::byte{0x82}, std::byte{0x85}},
                                    {std::byte{0xC0}, std::byte{0xE3}, std::byte{0x85}},
                                    {std::byte{0xC0}, std::byte{0x81}, std::byte{0x85}}};
  std::vector<Datagram> datagrams = as_datagrams(bytes, 0, 1);
  datagrams[1].info.channel = datagrams[2].info.channel = 1;
  (void)core.decode(std::span(datagrams).first(1));  // the other program is loaded after it
  (void)references[0].decode(std::span(datagrams).first(1));
  for (int round = 0; round < 2; ++round) {
    std::vector<Record> wanted;
    for (const Datagram& datagram : datagrams) {
      for (Record& record : references[datagram.info.channel].decode(std::span(&datagram, 1))) {
        wanted.push_back(std::move(record));
      }
    }
    ASSERT_EQ(wanted.size(), 3U);
    EXPECT_EQ(difference(wanted, core.decode(datagrams)), "") << "round " << round;
  }
}

TEST(Cosim, bytes_before_the_first_message_are_passed_over) {
  auto program = bench::compile_text("preamble", R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
    <template name="T" id="1"><uInt32 name="A"/></template></templates>)");
  ASSERT_TRUE(program.ok()) << program.message();
  std::vector<Bytes> bytes;
  for (std::size_t offset = 0; offset < 70; ++offset) {
    bytes.emplace_back(offset, std::byte{0x81});
    for (const unsigned value : {0xC0U, 0x81U, 0x85U}) bytes.back().push_back(static_cast<std::byte>(value));
  }
  std::vector<Datagram> datagrams;
  for (const std::size_t behind : {0U, 3U, 4U, 90U}) {  // after the last byte, too
    for (Datagram datagram : as_datagrams(bytes, 0, 1)) {
      datagram.info.data_offset = static_cast<std::uint16_t>(datagram.bytes.size() - 3 + behind);
      datagrams.push_back(datagram);
      datagram.info.data_offset = static_cast<std::uint16_t>(datagram.bytes.size() - 3);
      datagrams.push_back(datagram);
    }
  }
  for (const std::uint32_t stall : {0U, 40U}) {
    Pair pair(program.value(), {}, {.seed = 3, .input_stall = stall, .output_stall = stall});
    EXPECT_EQ(pair.decode(datagrams), "");
  }
}

TEST(Cosim, what_was_loaded_reads_back) {
  EngineOptions options;
  options.channels = 3;
  int ran = 0;
  for (const auto& feed : attack::fixed_feeds()) {
    if (!firmware::obstacles(feed->program, options).empty()) continue;
    for (const std::uint64_t seed : {1U, 2U}) {  // either bank
      Core core(feed->program, options, {.seed = seed});
      EXPECT_EQ(core.changed_words(), 0U) << feed->template_text;
      ++ran;
    }
  }
  EXPECT_GT(ran, 2);
}

/// So many that both ways of the table have some.
TEST(Cosim, each_of_many_templates_is_found) {
  constexpr std::uint32_t kTemplates = 400;
  const auto id_of = [](std::uint32_t i) { return 1 + i * 7'919 % 1'000'003; };
  std::string text = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">)";
  for (std::uint32_t i = 0; i < kTemplates; ++i) {
    text += R"(<template name="T)" + std::to_string(i) + R"(" id=")" + std::to_string(id_of(i)) +
            R"("><uInt32 name="A"/></template>)";
  }
  const auto program = bench::compile_text("many", text + "</templates>");
  ASSERT_TRUE(program.ok()) << program.message();
  std::vector<Bytes> bytes;
  for (std::uint32_t i = 0; i < 2 * kTemplates; ++i) {
    // The second half are templates that are not there, but for some.
    const std::uint32_t id = i < kTemplates ? id_of(i) : i;
    Bytes datagram{std::byte{0xC0}};
    for (int shift = 28; shift > 0; shift -= 7) {
      if (id >> shift != 0) datagram.push_back(static_cast<std::byte>(id >> shift & 0x7F));
    }
    datagram.push_back(static_cast<std::byte>(0x80 | (id & 0x7F)));
    datagram.push_back(std::byte{0x85});
    bytes.push_back(datagram);
  }
  Pair pair(program.value(), {}, {});
  EXPECT_EQ(pair.decode(as_datagrams(bytes, 0, 1)), "");
}

TEST(Cosim, a_program_that_nobody_verified_cannot_begin_a_message_inside_another) {
  auto program = bench::compile_text("jump", R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
    <template name="T" id="1"><uInt32 name="A"/><uInt32 name="B"/></template></templates>)");
  ASSERT_TRUE(program.ok()) << program.message();
  const auto end = std::find_if(program.value().code.begin(), program.value().code.end(),
                                [](const isa::Instruction& in) { return in.control == isa::ControlOp::End; });
  ASSERT_NE(end, program.value().code.end());
  end->control = isa::ControlOp::Join;
  end->target = 0;
  const Bytes message{std::byte{0xC0}, std::byte{0x81}, std::byte{0x82},
                      std::byte{0x83}, std::byte{0xC0}, std::byte{0x81}};
  Core core(program.value(), {}, {});
  const std::vector<Record> records = core.decode(as_datagrams({message}, 0, 1));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0][0].words[4] & 0xFFFF,
            static_cast<unsigned>(record::EventKind::DecodeError) | static_cast<unsigned>(ErrorCode::X15) << 8);
}

}  // namespace
}  // namespace stopbit::sim
