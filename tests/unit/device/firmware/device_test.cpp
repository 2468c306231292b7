#include "host/device/firmware/device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "microcode/profile/add.hpp"
#include "templates/compiler.hpp"
#include "tests/unit/record/markdown.hpp"

namespace stopbit::firmware::device_test {

Program compile(const std::string& fields, const std::string& attributes = "") {
  const std::string text =
      "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.1\"><template name=\"T\" id=\"9\"" + attributes +
      ">" + fields + "</template></templates>";
  Diagnostics diagnostics;
  std::optional<Program> program =
      templates::compile({std::make_shared<const SourceBuffer>("t.xml", text)}, {}, diagnostics);
  EXPECT_TRUE(program) << diagnostics.format();
  return program.value_or(Program());
}

/// The number of bits of a table in the package.
unsigned package_number(const std::string& name) {
  std::ifstream file(STOPBIT_SOURCE_DIR "/fpga/rtl/pkg/stopbit_pkg.sv");
  std::stringstream text;
  text << file.rdbuf();
  const std::string package = text.str();
  const std::size_t at = package.find("int unsigned " + name + " ");
  EXPECT_NE(at, std::string::npos) << name;
  if (at == std::string::npos) return 0;
  return static_cast<unsigned>(std::stoul(package.substr(package.find('=', at) + 1)));
}

TEST(Device, has_the_sizes_of_the_hardware) {
  EXPECT_EQ(std::size_t{1} << package_number("ProgramBits"), limits::kMaxInstructions);
  EXPECT_EQ(std::size_t{1} << package_number("ConstantBits"), kMaxConstants);
  EXPECT_EQ(std::size_t{1} << package_number("ByteBits"), kMaxConstantWords);
  EXPECT_EQ(std::size_t{1} << package_number("BlockBits"), kMaxBlocks);
  EXPECT_EQ(std::size_t{1} << package_number("DispatchBits"), kTemplatesPerWay);
  EXPECT_EQ(std::size_t{1} << package_number("SlotBits"), limits::kMaxSlots);
  EXPECT_EQ(std::size_t{1} << package_number("ContextBits"), kMaxEntries);
  EXPECT_EQ(std::size_t{1} << package_number("StringBits"), kMaxStringWords);
  EXPECT_EQ(std::size_t{1} << package_number("ChannelBits"), kMaxChannels);
  EXPECT_EQ(package_number("MaxMapBits"), kMaxPresenceBits);
  EXPECT_EQ(package_number("MaxMapDepth"), limits::kMaxPresenceMapDepth);
  EXPECT_EQ(package_number("MaxLoopDepth"), limits::kMaxLoopDepth);
  EXPECT_EQ(package_number("MaxCallDepth"), limits::kMaxCallDepth);
  EXPECT_EQ(package_number("TableBits"), kTableBits);
  EXPECT_GE(std::size_t{1} << kTableBits, 2 * kTemplatesPerWay);
}

TEST(Device, runs_what_feeds_use) {
  const Program program = compile(
      "<uInt32 name=\"A\"><increment/></uInt32><decimal name=\"B\" presence=\"optional\"><delta/></decimal>"
      "<templateRef/><string name=\"C\"><copy/></string><byteVector name=\"D\"/>"
      "<bitGroup name=\"G\"><boolean name=\"B1\"/><int3 name=\"B2\"/><copy/></bitGroup>"
      "<string name=\"F\"><delta/></string><string name=\"H\" charset=\"unicode\"><tail/></string>"
      "<sequence name=\"S\"><length name=\"N\"/><int64 name=\"E\"><delta/></int64></sequence>");
  EXPECT_TRUE(obstacles(program, {}).empty());
  EXPECT_TRUE(device_words(program, {}).ok());
}

TEST(Device, says_what_needs_more_than_it_has) {
  EngineOptions strict;
  strict.strict = true;
  EXPECT_TRUE(obstacles(compile("<uInt32 name=\"A\"/>"), strict).empty());
  strict.reset = ResetRule::Template;
  EXPECT_EQ(obstacles(compile("<uInt32 name=\"A\"/>"), strict),
            std::vector<std::string>{"strict decoding is not supported with dictionaries that templates reset"});
  std::string many;
  for (int i = 0; i < 300; ++i) {
    if (i == 150) many += "<sequence name=\"S\"><int32 name=\"E\"/></sequence>";
    many += "<uInt32 name=\"F" + std::to_string(i) + "\"><copy/></uInt32>";
  }
  const std::vector<std::string> reasons = obstacles(compile(many), {});
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(reasons[0], "presence bits of a segment: the program needs 301, the device has 252");
  EXPECT_EQ(device_words(compile(many), {}).message(), "the device cannot run the program: " + reasons[0]);
  EngineOptions channels;
  channels.channels = 65;
  EXPECT_EQ(obstacles(compile("<uInt32 name=\"A\"/>"), channels),
            std::vector<std::string>{"channels: the program needs 65, the device has 64"});
}

/// Where the strings of each slot begin, in words of eight bytes.
std::vector<std::size_t> places_of_slots(const Program& program) {
  const Result<std::vector<Word>> words = device_words(program, {});
  std::vector<std::size_t> places;
  EXPECT_TRUE(words.ok()) << words.message();
  if (!words.ok()) return places;
  for (const Word& word : words.value()) {
    if (word.address >> 16 == 5) places.push_back(word.data & 0x1FFF);
  }
  return places;
}

TEST(Device, strings_have_two_places_where_the_next_one_is_made_of_the_one_before) {
  EXPECT_EQ(places_of_slots(compile("<string name=\"A\"><copy/></string><string name=\"B\"><copy/></string>"
                                    "<uInt32 name=\"C\"><copy/></uInt32>")),
            (std::vector<std::size_t>{0, 0, 32, 64}));
  EXPECT_EQ(
      places_of_slots(compile("<string name=\"A\"><delta/></string><string name=\"B\"><tail/></string>"
                              "<string name=\"C\"><copy key=\"A\"/></string><uInt32 name=\"D\"><copy/></uInt32>")),
      (std::vector<std::size_t>{0, 0, 64, 128}));
}

TEST(Device, fields_of_bit_groups_are_counted_from_their_end) {
  const Program program =
      compile("<bitGroup name=\"G\"><boolean name=\"A\"/><int3 name=\"B\"/><uInt5 name=\"C\"/></bitGroup>");
  const Result<std::vector<Word>> words = device_words(program, {});
  ASSERT_TRUE(words.ok()) << words.message();
  std::vector<std::uint32_t> slots;
  for (const Word& word : words.value()) {
    if (word.address >> 16 == 0 && word.address >= 6 && word.address % 2 == 0) slots.push_back(word.data >> 16 & 0xFFF);
  }
  // Nine of fourteen bits.
  ASSERT_GE(slots.size(), 3U);
  slots.resize(3);
  EXPECT_EQ(slots, (std::vector<std::uint32_t>{13 << 6 | 1, 10 << 6 | 3, 5 << 6 | 5}));
}

TEST(Device, words_stand_at_increasing_addresses_inside_their_tables) {
  const Result<std::vector<Word>> words =
      device_words(compile("<string name=\"A\"><default value=\"0123456789\"/></string>"), {});
  ASSERT_TRUE(words.ok()) << words.message();
  std::set<std::uint32_t> tables;
  std::optional<std::uint32_t> last;
  for (const Word& word : words.value()) {
    EXPECT_LT(word.address, 1U << 20);
    EXPECT_TRUE(!last || *last < word.address);
    last = word.address;
    tables.insert(word.address >> 16);
  }
  EXPECT_EQ(tables, (std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
}

/// An optional field with default for each bit of the map of an element.
Program profiled() {
  std::string fields;
  for (int i = 0; i < 8; ++i)
    fields += "<uInt32 name=\"F" + std::to_string(i) + "\" presence=\"optional\"><default/></uInt32>";
  Program program = compile("<sequence name=\"S\"><uInt32 name=\"A\"/>" + fields + "</sequence>");
  std::uint16_t segment = 0;
  for (const isa::Instruction& in : program.code) {
    if (in.op == isa::DataOp::Pmap) segment = std::max(segment, in.constant);
  }
  profile::Counts counts;
  counts[segment].maps = {{0x8000'0000'0000'0000, 9}, {0xFF00'0000'0000'0000, 8}, {0, 7}};
  (void)profile::add_profiles(program, counts, {});
  return program;
}

std::vector<Word> words_of(const Program& program, const DeviceOptions& device) {
  Result<std::vector<Word>> words = device_words(program, {}, device);
  EXPECT_TRUE(words.ok()) << words.message();
  return words.ok() ? words.value() : std::vector<Word>();
}

std::size_t count_of(const std::vector<Word>& words, std::uint32_t table, std::uint32_t column, std::uint32_t bit) {
  return static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [&](const Word& word) {
    return word.address >> 16 == table && word.address % 4 == column && (word.data & bit) != 0;
  }));
}

TEST(Device, profile_programs_that_save_enough_are_looked_up) {
  constexpr std::uint32_t kProfiles = 8;
  constexpr std::uint32_t kValid = 1U << 26;
  const Program program = profiled();
  ASSERT_EQ(program.profiles.size(), 3U);
  // With all bits set nothing is left out.
  EXPECT_EQ(count_of(words_of(program, {}), kProfiles, 2, kValid), 2U);
  EXPECT_EQ(count_of(words_of(program, {.least_saved = 0}), kProfiles, 2, kValid), 3U);
  EXPECT_EQ(count_of(words_of(program, {.least_saved = 100}), kProfiles, 2, kValid), 0U);
  EXPECT_EQ(count_of(words_of(program, {.profiles = false}), kProfiles, 2, kValid), 0U);
}

TEST(Device, pair_bits_count_unless_it_is_told_otherwise) {
  constexpr std::uint32_t kLimits = 6;
  const Program program = compile("<uInt32 name=\"A\"/>");
  const auto switch_of = [&](const DeviceOptions& device) {
    for (const Word& word : words_of(program, device)) {
      if (word.address == (kLimits << 16 | 4)) return word.data;
    }
    return 2U;
  };
  EXPECT_EQ(switch_of({}), 0U);
  EXPECT_EQ(switch_of({.pairs = false}), 1U);
}

TEST(Device, channels_have_places_of_their_own) {
  EngineOptions options;
  options.channels = 3;
  options.reset = ResetRule::Template;
  options.image_generation = 0x1234;
  const Program program = compile("<string name=\"A\"><copy/></string>");
  const std::vector<Word> words = channel_words(program, options, 1);
  ASSERT_EQ(words.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint64_t channel = words[2 * i].data | std::uint64_t{words[2 * i + 1].data} << 32;
    EXPECT_EQ(channel & 3, static_cast<std::uint64_t>(ResetRule::Template));
    EXPECT_EQ(channel >> 2 & 1, 1U);
    EXPECT_EQ(channel >> 3 & 0xFFF, i * program.slots.size());
    EXPECT_EQ(channel >> 15 & 0x1FFF, i * 32);  // 256 bytes
    EXPECT_EQ(channel >> 28, 0x1234U);
  }
}

TEST(Device, channels_that_are_reset_per_packet_share_a_place) {
  EngineOptions options;
  options.channels = 64;
  std::string many;
  for (int i = 0; i < 100; ++i) many += "<string name=\"F" + std::to_string(i) + "\"><copy/></string>";
  const Program program = compile(many);
  EXPECT_TRUE(obstacles(program, options).empty());
  for (const Word& word : channel_words(program, options, 0)) EXPECT_EQ(word.data, 0U);
  options.reset = ResetRule::Never;
  EXPECT_EQ(obstacles(program, options).size(), 2U);
}

const std::string kPage = STOPBIT_SOURCE_DIR "/host/device/firmware/README.md";

TEST(Device, page_says_which_capabilities_it_has) {
  std::uint64_t told = 0;
  for (const test::Row& row : test::table_rows(kPage, {"capabilities of a program", "the device"})) {
    const std::string names = row[0].substr(0, row[0].find(':'));
    for (unsigned i = 0; i < 64; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i;
      const std::string_view name = isa::capability_name(bit);
      if (name.empty() || (", " + names + ", ").find(", " + std::string(name) + ", ") == std::string::npos) continue;
      told |= bit;
      EXPECT_EQ(row[1], (kCapabilities & bit) != 0 ? "runs them" : "refuses them") << name;
    }
  }
  for (unsigned i = 0; i < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    EXPECT_EQ((told & bit) != 0, !isa::capability_name(bit).empty()) << isa::capability_name(bit);
  }
}

TEST(Device, page_says_how_much_there_is_room_for) {
  const std::vector<Need> sizes = needs(compile("<uInt32 name=\"A\"/>"), {});
  const std::vector<test::Row> rows = test::table_rows(kPage, {"what there is room for", "the device"});
  ASSERT_EQ(rows.size(), sizes.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], sizes[i].what);
    EXPECT_EQ(rows[i][1], std::to_string(sizes[i].there)) << sizes[i].what;
  }
}

/// Of STOPBIT_CORPUS.
TEST(Device, runs_the_template_files_of_real_exchanges_and_the_page_says_what_they_need) {
  const char* const folder = std::getenv("STOPBIT_CORPUS");
  if (folder == nullptr || *folder == '\0') GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  std::map<std::string, std::vector<std::string>> refused;
  std::map<std::string_view, std::size_t> most;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".xml") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    templates::CompileOptions options;
    options.template_id = 1;  // for the file whose only template has none
    Diagnostics diagnostics;
    const std::optional<Program> program = templates::compile(
        {std::make_shared<const SourceBuffer>(entry.path().string(), text.str())}, options, diagnostics);
    ASSERT_TRUE(program) << diagnostics.format();
    ++files;
    const std::vector<std::string> reasons = obstacles(*program, {});
    if (!reasons.empty()) refused[entry.path().filename().string()] = reasons;
    for (const Need& need : needs(*program, {})) most[need.what] = std::max(most[need.what], need.wanted);
  }
  EXPECT_EQ(files, 20U);
  EXPECT_EQ(refused, (std::map<std::string, std::vector<std::string>>()));
  for (const test::Row& row :
       test::table_rows(kPage, {"what there is room for", "the device", "real template files"})) {
    EXPECT_EQ(row[2], std::to_string(most[row[0]])) << row[0];
  }
}

}  // namespace stopbit::firmware::device_test
