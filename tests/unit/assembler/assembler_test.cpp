#include "assembler/assembler.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/unit/microcode/sample_program.hpp"

namespace stopbit::assembler::assembler_test {

struct Assembled {
  std::optional<Program> program;
  Diagnostics diagnostics;
};

Assembled assemble_text(std::string text) {
  Assembled result;
  result.program = assemble(std::make_shared<SourceBuffer>("test.sbasm", std::move(text)), result.diagnostics);
  EXPECT_EQ(result.program.has_value(), !result.diagnostics.has_errors());
  return result;
}

Program good(std::string text) {
  Assembled result = assemble_text(std::move(text));
  EXPECT_TRUE(result.program) << result.diagnostics.format();
  return result.program.value_or(Program{});
}

/// "line:column: message" of each error.
std::vector<std::string> errors(std::string text) {
  const Assembled result = assemble_text(std::move(text));
  std::vector<std::string> out;
  for (const Diagnostic& item : result.diagnostics.all()) {
    if (item.severity != Severity::Error) continue;
    const auto position = item.range.source->position(item.range.offset);
    out.push_back(std::to_string(position.line) + ':' + std::to_string(position.column) + ": " + item.message);
  }
  return out;
}

using Texts = std::vector<std::string>;

void expect_round_trip(const Program& program) {
  const std::string listing = disassemble(program);
  const Assembled again = assemble_text(listing);
  ASSERT_TRUE(again.program) << again.diagnostics.format();
  EXPECT_EQ(*again.program, canonical(program)) << listing;
  EXPECT_EQ(image::write(*again.program), image::write(program));
  EXPECT_EQ(disassemble(*again.program), listing);
}

TEST(Assembler, gives_the_program_of_a_listing_back) {
  expect_round_trip(test::sample_program());
}

/// Quadratic work would take the better part of an hour.
TEST(Assembler, reads_a_line_of_a_million_labels) {
  std::string line;
  for (int i = 0; i < 1'000'000; ++i) line += ":l" + std::to_string(i) + ' ';
  EXPECT_EQ(good(line).code.size(), 0U);
}

TEST(Assembler, says_once_that_a_line_defines_a_label_again) {
  std::string line;
  for (int i = 0; i < 1'000'000; ++i) line += ":l ";
  Diagnostics diagnostics;
  EXPECT_FALSE(assemble(std::make_shared<SourceBuffer>("a.sbasm", line), diagnostics));
  EXPECT_EQ(diagnostics.all().size(), 2U) << "an error and its note";
}

TEST(Assembler, gives_an_empty_program_back) {
  expect_round_trip(Program{});
}

TEST(Assembler, keeps_every_byte_of_texts_and_constants) {
  Program program = test::sample_program();
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  program.nodes[1].name = {static_cast<std::uint32_t>(program.names.size()), 256};
  program.names += all;
  program.constants[1].value = program.constant_pool.size() | std::uint64_t{256} << 32;
  program.constant_pool += all;
  expect_round_trip(program);
}

TEST(Assembler, keeps_programs_that_no_verifier_accepts) {
  Program program = test::sample_program();
  program.constants[0] = {7, ValueKind::None, LimitKind::None, 9};
  program.constants[4].value = 0x8000000000000000;
  program.constants[6].value = 0xFFFFFFFFFFFFFFFF;
  program.code[2].target = 77;
  program.code[7].target = 16'000;
  program.code[3].slot = 4'095;
  program.code[13].slot = 1;
  program.code[28].constant = 3;
  program.nodes[0].constant = false;
  program.nodes[5].constant = true;
  program.nodes[5].type = FieldType::Set;
  program.nodes[3].word = isa::kNoWord;
  program.nodes[4].block = kNoBlock;
  program.profiles.push_back({1, 2, 0xFFFFFFFFFFFFFFFF, 255});
  program.code[2].known = isa::KnownBit::Set;
  program.code[3].known = isa::KnownBit::Clear;
  program.code[3].pair = program.code[3].predicate = true;
  program.slots[0].string_capacity = 65'535;
  program.dispatch.push_back({9, 0xFFFFFFFF, 77, 16'383});
  program.dispatch.push_back({9, 5, 77, 2});
  expect_round_trip(program);
  program.nodes[7].end = 30;
  program.templates[1].first_node = 3;
  expect_round_trip(program);
  program.type_infos[0].element_count = 1'000;
  expect_round_trip(program);
  program.elements.clear();
  expect_round_trip(program);
}

TEST(Assembler, keeps_every_flipped_bit_of_the_code) {
  const Program sample = test::sample_program();
  for (std::size_t i = 0; i < sample.code.size(); ++i) {
    for (int bit = 0; bit < 59; ++bit) {
      const auto mutated = isa::decode(isa::encode(sample.code[i]) ^ std::uint64_t{1} << bit);
      if (!mutated) continue;
      Program program = sample;
      program.code[i] = *mutated;
      const Assembled again = assemble_text(disassemble(program));
      ASSERT_TRUE(again.program) << again.diagnostics.format();
      EXPECT_EQ(again.program->code, program.code) << i << ' ' << bit;
    }
  }
}

TEST(Assembler, gives_templates_of_one_name_different_labels) {
  Program program = test::sample_program();
  program.templates[1].name = program.templates[0].name;
  expect_round_trip(program);
  program.names += "L10";
  program.templates[1].name = {static_cast<std::uint32_t>(program.names.size() - 3), 3};
  expect_round_trip(program);
  program.templates[0].name = {};
  expect_round_trip(program);
}

TEST(Assembler, assembles_the_example_of_the_readme) {
  std::ifstream file(STOPBIT_SOURCE_DIR "/assembler/README.md");
  ASSERT_TRUE(file);
  std::stringstream page;
  page << file.rdbuf();
  const std::string text = page.str();
  const std::string begin = "```sbasm\n";
  const std::size_t from = text.find(begin);
  ASSERT_NE(from, std::string::npos);
  const std::size_t to = text.find("```", from + begin.size());
  const Program program = good(text.substr(from + begin.size(), to - from - begin.size()));
  const verify::Report report = verify::check(program);
  for (const verify::Finding& finding : report.findings) ADD_FAILURE() << finding.where << ": " << finding.message;
  EXPECT_EQ(program.templates.size(), 1U);
  expect_round_trip(program);
}

TEST(Assembler, reads_the_four_columns) {
  const Program program = good(
      "COP_U32_MAN 3 d17 c2 SKIP 1 ||\n"
      "NOP - BLOCK b7\n"
      "PMAP - bits=6 segment=4095 -\n"
      "TID - CALL t3\n"
      "NON_U32_MAN 254\n");
  ASSERT_EQ(program.code.size(), 5U);
  using isa::ControlOp;
  using isa::DataOp;
  EXPECT_EQ(program.code[0], (isa::Instruction{DataOp::CopU32Man, 3, 17, 2, ControlOp::Skip, 1, true}));
  EXPECT_EQ(program.code[1], (isa::Instruction{DataOp::Nop, 255, 0, 0, ControlOp::Block, 7, false}));
  EXPECT_EQ(program.code[2], (isa::Instruction{DataOp::Pmap, 255, 6, 4095, ControlOp::Next, 0, false}));
  EXPECT_EQ(program.code[3], (isa::Instruction{DataOp::Tid, 255, 0, 0, ControlOp::Call, 3, false}));
  EXPECT_EQ(program.code[4], (isa::Instruction{DataOp::NonU32Man, 254, 0, 0, ControlOp::Next, 0, false}));
}

TEST(Assembler, resolves_labels_and_relative_targets) {
  const Program program = good(
      "  NOP - SKIP :end     ; forward\n"
      ":again :same\n"
      "  NOP - SKIP +1       # relative\n"
      ":third  NOP - LEND -1\n"
      "  NOP - LEND :again\n"
      "  NOP - LEND :same\n"
      "  NOP - LEND :third\n"
      ":end NOP - END\n"
      ".dispatch t0 id=5 entry=:end\n"
      ".dispatch t0 id=6 entry=3\n");
  ASSERT_EQ(program.code.size(), 7U);
  EXPECT_EQ(program.code[0].target, 6);
  EXPECT_EQ(program.code[1].target, 2);
  EXPECT_EQ(program.code[2].target, 1);
  EXPECT_EQ(program.code[3].target, 1);
  EXPECT_EQ(program.code[4].target, 1);
  EXPECT_EQ(program.code[5].target, 2);
  EXPECT_EQ(program.dispatch[0].entry, 6);
  EXPECT_EQ(program.dispatch[1].entry, 3);
}

TEST(Assembler, reads_escapes_and_comment_signs_in_strings) {
  const Program program =
      good(".constant c0 \"a;b#c\\\"\\\\\\n\\x00\\xfF\" ; \"comment\"\n.constant c1 -1\n.constant c2 0xff\n");
  EXPECT_EQ(program.constant_bytes(program.constants[0].bytes()), std::string_view("a;b#c\"\\\n\0\xff", 10));
  EXPECT_EQ(program.constants[1].value, ~std::uint64_t{0});
  EXPECT_EQ(program.constants[2].value, 255U);
}

TEST(Assembler, accepts_any_line_end) {
  const Program program = good("NOP -\r\nNOP -\r\n\tNOP\t-");
  EXPECT_EQ(program.code.size(), 3U);
  EXPECT_EQ(good("").code.size(), 0U);
  EXPECT_EQ(good("\n\n ; nothing\n").code.size(), 0U);
}

TEST(AssemblerErrors, names_every_bad_line) {
  EXPECT_EQ(errors("NOP -\n"
                   "FOO 1\n"
                   "  NON_U32_MAN 255\n"
                   ".what 1\n"
                   "NOP - SKIP :nowhere\n"),
            (Texts{"2:1: unknown instruction 'FOO'", "3:15: the number is larger than 254",
                   "4:1: unknown directive '.what'", "5:12: unknown label 'nowhere'"}));
}

TEST(AssemblerErrors, says_what_is_missing_or_too_much) {
  EXPECT_EQ(errors("NOP\n"), (Texts{"1:4: expected a word, or - for none"}));
  EXPECT_EQ(errors("NOP - SKIP\n"), (Texts{"1:11: the target is missing"}));
  EXPECT_EQ(errors("NOP - FLY 3\n"), (Texts{"1:7: unknown control-op 'FLY'"}));
  EXPECT_EQ(errors("NOP - SKIP 3 4\n"), (Texts{"1:14: this is not allowed here"}));
  EXPECT_EQ(errors("NOP - bits=3\n"), (Texts{"1:7: this is not allowed here"}));
  EXPECT_EQ(errors("PMAP - bits=3 bits=4\n"), (Texts{"1:15: this is given twice"}));
  EXPECT_EQ(errors("NOP x\n"), (Texts{"1:5: expected a number"}));
  EXPECT_EQ(errors("NOP \"1\"\n"), (Texts{"1:5: expected a word, or - for none"}));
  EXPECT_EQ(errors(".slot d0\n"), (Texts{"1:9: expected the slot's name in quotes"}));
  EXPECT_EQ(errors(".field \"x\"\n"), (Texts{"1:11: expected the field's type"}));
  EXPECT_EQ(errors(".field \"x\" optional\n"), (Texts{"1:12: unknown type 'optional'"}));
  EXPECT_EQ(errors(".dispatch t0 id=1\n"), (Texts{"1:18: the entry's address is missing"}));
  EXPECT_EQ(errors(".block b0 leaf\n"), (Texts{"1:11: expected root, element or after"}));
}

TEST(AssemblerErrors, checks_numbers) {
  EXPECT_EQ(errors("NOP - SKIP 16384\n"), (Texts{"1:12: the number is larger than 16383"}));
  EXPECT_EQ(errors("NOP - SKIP -1\n"), (Texts{"1:12: the target is outside the code"}));
  EXPECT_EQ(errors("NOP - SKIP +99999\n"), (Texts{"1:12: the number is larger than 16383"}));
  EXPECT_EQ(errors("COP_U32_MAN 1 d4096\n"), (Texts{"1:15: the number is larger than 4095"}));
  EXPECT_EQ(errors("COP_U32_MAN 1 d1 c4096\n"), (Texts{"1:18: the number is larger than 4095"}));
  EXPECT_EQ(errors(".constant c0 18446744073709551616\n"),
            (Texts{"1:14: the number is larger than 18446744073709551615"}));
  EXPECT_EQ(errors(".constant c0 -9223372036854775809\n"),
            (Texts{"1:14: the number is larger than 9223372036854775808"}));
  EXPECT_EQ(errors(".constant c0 12x\n"), (Texts{"1:14: expected a number"}));
  EXPECT_EQ(errors(".record_slots -1\n"), (Texts{"1:15: expected a number"}));
  EXPECT_EQ(errors(".template \"x\" id=4294967296 {\n}\n").front(), "1:15: the number is larger than 4294967295");
}

TEST(AssemblerErrors, checks_the_numbers_of_entries) {
  EXPECT_EQ(errors(".constant c1 5\n"), (Texts{"1:11: the next one is c0"}));
  EXPECT_EQ(errors(".slot d0 \"\"\n.slot d0 \"\"\n"), (Texts{"2:7: the next one is d1"}));
  EXPECT_EQ(errors(".block 0 root\n"), (Texts{"1:8: expected a block's number, as b1"}));
}

TEST(AssemblerErrors, checks_strings) {
  EXPECT_EQ(errors(".source \"abc\n"), (Texts{"1:9: the string has no end"}));
  EXPECT_EQ(errors(".source \"a\\qc\"\n"), (Texts{"1:11: unknown escape; use \\\" \\\\ \\n \\r \\t \\xHH"}));
  EXPECT_EQ(errors(".source \"a\\x1\"\n"), (Texts{"1:11: \\x needs two hexadecimal digits"}));
  EXPECT_EQ(errors(".source\"a\"\n"), (Texts{"1:1: a blank is missing before the string"}));
  EXPECT_EQ(errors(".source \"a\\"), (Texts{"1:11: unknown escape; use \\\" \\\\ \\n \\r \\t \\xHH"}));
}

TEST(AssemblerErrors, checks_braces_and_labels) {
  EXPECT_EQ(errors("}\n"), (Texts{"1:1: this } has no {"}));
  EXPECT_EQ(errors(".template \"x\" {\n .group \"g\" {\n}\n"), (Texts{"1:1: this { has no }"}));
  EXPECT_EQ(errors(":a\nNOP -\n:a\n"), (Texts{"3:1: label 'a' is defined twice"}));
  EXPECT_EQ(errors(": NOP -\n"), (Texts{"1:1: the label has no name"}));
}

TEST(AssemblerErrors, shows_the_line_as_compilers_do) {
  const Assembled result = assemble_text("  NOP - FLY\n");
  EXPECT_EQ(result.diagnostics.format(),
            "test.sbasm:1:9: error: unknown control-op 'FLY'\n"
            "    1 |   NOP - FLY\n"
            "      |         ^~~\n");
}

TEST(AssemblerErrors, stops_after_a_thousand) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += "FOO\n";
  const Texts all = errors(text);
  ASSERT_EQ(all.size(), 1'001U);
  EXPECT_EQ(all.back(), "1001:1: too many errors, the rest of the file is not read");
}

TEST(AssemblerErrors, bounds_the_tables) {
  std::string text;
  for (int i = 0; i < 16'385; ++i) text += "NOP -\n";
  EXPECT_EQ(errors(text), (Texts{"16385:6: there are more than 16384 instructions"}));
  text.clear();
  for (int i = 0; i < 4'097; ++i) text += ".slot d" + std::to_string(i) + " \"\"\n";
  EXPECT_EQ(errors(text), (Texts{"4097:15: there are more than 4096 slots"}));
}

TEST(AssemblerErrors, refuses_a_file_that_is_too_long) {
  EXPECT_EQ(errors(std::string(limits::kMaxTextBytes + 1, ' ')),
            (Texts{"1:1: the file is longer than 16777216 bytes"}));
}

TEST(AssemblerHostile, survives_damaged_listings) {
  const std::string listing = disassemble(test::sample_program());
  std::mt19937_64 random(3);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same every time
  std::size_t still_good = 0;
  for (int round = 0; round < 1'500; ++round) {
    std::string text = listing;
    for (int changes = 0; changes < 3; ++changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, random() % 20); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
      }
    }
    const Assembled result = assemble_text(text);
    if (!result.program) continue;
    ++still_good;
    const Result<Program> read = image::read(image::write(*result.program));
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(read.value(), *result.program);
  }
  EXPECT_GT(still_good, 10U) << "some damage is in comments";
}

}  // namespace stopbit::assembler::assembler_test
