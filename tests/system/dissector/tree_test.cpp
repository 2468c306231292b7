// The packet tree: names, bytes, marks, and its limits.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "templates/compiler.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/random.hpp"
#include "tests/system/dissector/capture_writer.hpp"
#include "tests/system/dissector/fixture.hpp"

namespace stopbit::dissector {
namespace {

constexpr net::Endpoint kGroup{0xEF01'0101, 7001};
constexpr int kPayloadAt = 42;  ///< Ethernet, IPv4 and UDP headers before it.

std::vector<std::byte> bytes(const std::string& notation) {
  Diagnostics diagnostics;
  const auto steps = cases::parse_bytes(notation, diagnostics);
  EXPECT_TRUE(steps && steps->size() == 1) << notation << diagnostics.format();
  return steps ? steps->front().bytes : std::vector<std::byte>{};
}

std::string templates(const std::string& content) {
  return "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.1\">" + content + "</templates>";
}

class Tree : public FeedsTest {
 protected:
  /// The events of one datagram.
  std::vector<Event> show(const std::string& template_text, const std::vector<std::byte>& datagram) {
    const auto program = compile_text(template_text);
    if (!program) return {};
    emit::DissectorOptions options = options_of({});
    options.ports = {kGroup.port};
    add_script(*program, options);
    CaptureWriter writer(run_.capture);
    writer.add(kGroup, datagram);
    writer.close();
    Dissection dissection(run_);
    std::vector<Event> events;
    while (auto event = dissection.next()) events.push_back(*std::move(event));
    EXPECT_EQ(dissection.problems(), "");
    return events;
  }

  /// What tshark prints for the datagram of the last show().
  std::string output(const std::string& arguments) {
    const std::string command = tshark_command(run_, arguments) + " 2>/dev/null";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    std::string out;
    char buffer[4096];
    for (std::size_t read = 0; (read = std::fread(buffer, 1, sizeof buffer, pipe)) != 0;) out.append(buffer, read);
    EXPECT_EQ(::pclose(pipe), 0) << command;
    return out;
  }
};

TEST_F(Tree, tells_the_bytes_of_each_field) {
  const std::vector<Event> events = show(
      templates("<template name='M' id='1'><uInt32 name='A'/><uInt32 name='B'><default value='7'/></uInt32>"
                "<decimal name='C'><exponent><default value='-2'/></exponent><mantissa><delta/></mantissa></decimal>"
                "<sequence name='S'><length name='NoS'/><string name='D'/><uInt32 name='E'><copy/></uInt32></sequence>"
                "<group name='G' presence='optional'><string name='F'/></group></template>"),
      bytes("pmap(1 0 0 1) u32(1) u32(300) i64(1234) u32(2) pmap(1) ascii(\"ab\") u32(5) pmap(0) ascii(\"c\") "
            "ascii(\"de\")"));
  ASSERT_EQ(events.size(), 1U);
  struct Wanted {
    const char* filter;
    const char* label;
    int offset;
    int bytes;
  };
  const std::vector<Wanted> wanted = {
      {"M.A", "A: 300", 2, 2}, {"M.B", "B: 7", 0, 0},  {"M.C", "C: 12.34", 4, 2}, {"M.S", "S (NoS): 2", 6, 7},
      {"", "S[1]", 7, 4},      {"M.D", "D: ab", 8, 2}, {"M.E", "E: 5", 10, 1},    {"", "S[2]", 11, 2},
      {"M.D", "D: c", 12, 1},  {"M.E", "E: 5", 0, 0},  {"M.G", "G", 13, 2},       {"M.F", "F: de", 13, 2},
  };
  ASSERT_EQ(events[0].rows.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Row& row = events[0].rows[i];
    EXPECT_EQ(row.filter, wanted[i].filter);
    EXPECT_EQ(row.label, wanted[i].label);
    EXPECT_EQ(row.bytes, wanted[i].bytes) << row.label;
    const int offset = row.bytes == 0 ? 0 : row.offset - kPayloadAt;
    EXPECT_EQ(offset, wanted[i].offset) << row.label;
  }
  // Values that were not in the packet are in brackets.
  const std::string printed = output("-O feed -V");
  for (const char* line :
       {"\n        A: 300\n", "\n        [B: 7]\n", "\n            S[2]\n", "\n                [E: 5]\n"}) {
    EXPECT_NE(printed.find(line), std::string::npos) << line << "is not in\n" << printed;
  }
}

TEST_F(Tree, values_compare_in_filters_as_numbers_and_texts) {
  show(templates("<template name='M' id='1'><decimal name='Px'/><int64 name='I'/><uInt64 name='U'/><string name='S'/>"
                 "<byteVector name='B'/></template>"),
       bytes("pmap(1) u32(1) dec(-2 141150) i64(-9007199254740993) u64(18446744073709551615) ascii(\"AB\") bytes(0a "
             "ff)"));
  for (const char* filter : {"feed.M.Px == 1411.5", "feed.M.Px > 1411.49 && feed.M.Px < 1411.51",
                             "feed.M.I == -9007199254740993", "feed.M.U == 18446744073709551615", "feed.M.S == \"AB\"",
                             "feed.M.B == \"0aff\"", "feed.M", "feed.template == \"M\"", "feed.template_id == 1"}) {
    EXPECT_NE(output("-Y '" + std::string(filter) + "'"), "") << filter;
  }
  for (const char* filter : {"feed.M.Px > 1411.5", "feed.M.I > 0", "feed.malformed", "feed.error"}) {
    EXPECT_EQ(output("-Y '" + std::string(filter) + "'"), "") << filter;
  }
}

TEST_F(Tree, an_error_tells_code_template_field_line_and_byte_and_shows_the_rest) {
  const std::vector<Event> events = show(templates("\n<template name='M' id='1'>\n<uInt32 name='A'/>\n<sequence "
                                                   "name='S'><int8 name='B'/></sequence></template>"),
                                         bytes("pmap(1) u32(1) u32(5) u32(1) i32(200) 81"));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].title, "error D2 at 4 in M field S.B");
  const std::string printed = output("-O feed -V");
  for (const char* text : {"M (id 1), incomplete", "A: 5", "S[1]", "in template 'M', field 'S.B', at byte 4 [D2]",
                           "templates.xml:4", "Not decoded: 01c881", "Severity level: Error"}) {
    EXPECT_NE(printed.find(text), std::string::npos) << text << " is not in\n" << printed;
  }
  EXPECT_NE(output("-Y feed.malformed"), "");
  EXPECT_NE(output("").find("M [D2]"), std::string::npos);
}

TEST_F(Tree, names_of_all_kinds_are_shown_and_filtered) {
  constexpr const char* kText =
      "<template name='error' id='1'><uInt32 name='%s%n'/><string name='%s%n'/><uInt32 name='a.b'/><uInt32 name='a-b'/>"
      "<group name='\"]] .. os.exit(1) --'><uInt32 name='\\'/></group><sequence name='\xC3\xA4'><uInt32 name='end'/>"
      "</sequence></template>"
      "<template name='M!' id='2'><uInt32 name='A'/></template><template name='M?' id='3'><uInt32 "
      "name='A'/></template>";
  auto program = compile_text(templates(kText));
  ASSERT_TRUE(program);
  const std::size_t feed = add_feed({"names", {}, *std::move(program)});
  expect_same({{feed, 0, false,
                bytes("pmap(1) u32(1) u32(1) ascii(\"x\") u32(2) u32(3) u32(4) u32(1) u32(5) pmap(1) u32(2) u32(6) "
                      "pmap(1) u32(3) u32(7)"),
                "names"}});
}

TEST_F(Tree, names_of_a_strangers_image_do_no_harm) {
  auto program =
      compile_text(templates("<template name='TTTT' id='1'><uInt32 name='NNNN'/><uInt32 name='MMMM'/></template>"));
  ASSERT_TRUE(program);
  std::uint8_t next = 0xF0;
  for (char& c : program->names) c = static_cast<char>(next += 7);  // zeros and broken UTF-8 among them
  add_feed({"stranger", {}, *std::move(program)});
  CaptureWriter writer(run_.capture);
  writer.add({kGroup.address, 20'000}, bytes("pmap(1) u32(1) u32(5) u32(6)"));
  writer.close();
  Dissection dissection(run_);
  const std::optional<Event> event = dissection.next();
  ASSERT_TRUE(event);
  ASSERT_EQ(event->rows.size(), 2U) << event->title;
  EXPECT_EQ(event->rows[1].value, "6");
  EXPECT_FALSE(dissection.next());
  EXPECT_EQ(dissection.problems(), "");
}

TEST_F(Tree, names_with_control_characters_do_no_harm) {
  const std::vector<Event> events =
      show(templates("<template name='a&#10;b&#13;' id='1'><uInt32 name='x&#9;&#127;'/></template>"),
           bytes("pmap(1) u32(1) u32(5)"));
  ASSERT_EQ(events.size(), 1U);
  ASSERT_EQ(events[0].rows.size(), 1U);
  EXPECT_EQ(events[0].rows[0].filter, "a_b_.x__");
  EXPECT_EQ(events[0].rows[0].value, "5");
}

TEST_F(Tree, deeply_nested_groups_and_sequences_are_shown) {
  // As deep as the compiler allows: references are put in place.
  std::string text;
  for (int part = 0; part < 2; ++part) {
    std::string content = part == 0 ? "<templateRef name='T1'/>" : "<uInt32 name='A'/>";
    for (int depth = 0; depth < 12; ++depth) {
      content = "<group name='G" + std::to_string(depth) + "'>" + content + "</group>";
    }
    for (int depth = 0; depth < 2; ++depth) {
      content = "<sequence name='S" + std::to_string(depth) + "'>" + content + "</sequence>";
    }
    text += "<template name='T" + std::to_string(part) + "'" + (part == 0 ? " id='1'>" : ">") + content + "</template>";
  }
  auto program = compile_text(templates(text));
  ASSERT_TRUE(program);
  const std::size_t feed = add_feed({"nested", {}, *std::move(program)});
  expect_same({{feed, 0, false, bytes("pmap(1) u32(1) u32(1) u32(1) u32(1) u32(2) u32(5) u32(6)"), "nested"}});
}

/// Messages that take no more than their presence map: as many as fit a packet.
std::vector<std::byte> many_empty_messages() {
  std::vector<std::byte> datagram = bytes("pmap(1) u32(1)");
  datagram.resize(60'000, std::byte{0x80});
  return datagram;
}

TEST_F(Tree, of_a_datagram_with_too_many_fields_ends_and_says_so) {
  std::string fields;
  for (int i = 0; i < 100; ++i) {
    fields += "<uInt32 name='F" + std::to_string(i) + "'><constant value='1'/></uInt32>";
  }
  const std::vector<Event> events =
      show(templates("<template name='M' id='1'>" + fields + "</template>"), many_empty_messages());
  ASSERT_GT(events.size(), 900U);
  EXPECT_LT(events.size(), 1'000U);
  EXPECT_EQ(events.back().title, "not_shown");
  EXPECT_EQ(events.front().rows.size(), 100U);
}

TEST_F(Tree, of_a_datagram_that_takes_too_much_work_ends_and_says_so) {
  std::string fields;
  for (int i = 0; i < 240; ++i) {
    fields += "<uInt32 name='F" + std::to_string(i) + "' presence='optional'><copy/></uInt32>";
  }
  const std::vector<Event> events =
      show(templates("<template name='M' id='1'>" + fields + "</template>"), many_empty_messages());
  ASSERT_GT(events.size(), 16'000U);
  EXPECT_LT(events.size(), 17'500U);
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const Event& event) { return event.title == "not_shown"; }));
}

class TemplateFiles : public FeedsTest {};

TEST_F(TemplateFiles, of_real_exchanges_decode_any_bytes_as_the_engine_does) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  std::vector<Datagram> all;
  cases::Random random(1);
  templates::CompileOptions options;
  options.template_id = 1;  // for the files whose only template has none
  constexpr std::size_t kTimes = 10;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus)) {
    if (entry.path().extension() != ".xml") continue;
    const auto text = stopbit::testing::file_text_if_any(entry.path());
    ASSERT_TRUE(text) << entry.path();
    Diagnostics diagnostics;
    auto program = templates::compile({std::make_shared<SourceBuffer>("templates.xml", *text)}, options, diagnostics);
    ASSERT_TRUE(program) << diagnostics.format();
    std::vector<std::uint32_t> ids;
    for (const DispatchEntry& way : program->dispatch) {
      if (way.table == 0) ids.push_back(way.id);
    }
    const std::size_t feed = add_feed({entry.path().filename().string(), {}, *std::move(program)});
    // Each identifier with any bytes after it, whatever they mean to its template.
    for (std::size_t i = 0; i < ids.size() * kTimes; ++i) {
      const std::uint32_t id = ids[i % ids.size()];
      std::string notation = "pmap(1";
      for (int bit = 0; bit < 20; ++bit) notation += random.chance(40) ? " 1" : " 0";
      notation += ") u32(" + std::to_string(id) + ")";
      for (std::uint64_t left = random.below(200); left != 0; --left) {
        // Small numbers often: they are lengths.
        const std::uint64_t byte = random.chance(60) ? 0x80 + random.below(8) : random.below(256);
        notation += fmt::format(" {:02x}", byte);
      }
      all.push_back({feed, 0, true, bytes(notation), "identifier " + std::to_string(id)});
    }
  }
  EXPECT_GE(all.size(), 3'000U);
  expect_same(all);
}

}  // namespace
}  // namespace stopbit::dissector
