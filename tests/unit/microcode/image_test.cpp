#include "microcode/image/image.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "microcode/image/crc32c.hpp"
#include "microcode/image/layout.hpp"
#include "microcode/program.hpp"
#include "tests/unit/microcode/sample_program.hpp"

namespace stopbit::image::image_test {

using Bytes = std::vector<std::byte>;

std::uint32_t u32(const Bytes& bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<std::uint32_t>(bytes[offset + i]);
  return value;
}

void put32(Bytes& bytes, std::size_t offset, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) bytes[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}

constexpr std::size_t table_entry(Section section) {
  return kHeaderBytes + (static_cast<std::size_t>(section) - 1) * kTableEntryBytes;
}

std::size_t section_offset(const Bytes& bytes, Section section) {
  return u32(bytes, table_entry(section) + 12);
}

/// Makes every CRC right again, as an attacker would.
Bytes mended(Bytes bytes) {
  for (const SectionInfo& section : kSections) {
    const std::size_t entry = table_entry(section.id);
    const std::size_t offset = u32(bytes, entry + 12);
    const std::size_t length = u32(bytes, entry + 16);
    if (offset <= bytes.size() && length <= bytes.size() - offset) {
      put32(bytes, entry + 20, crc32c(std::span(bytes).subspan(offset, length)));
    }
  }
  put32(bytes, 20, 0);
  put32(bytes, 20, crc32c(std::span(bytes).first(kHeaderBytes + kSectionCount * kTableEntryBytes)));
  return bytes;
}

/// Why the image is refused; empty if it is not.
std::string refusal(const Bytes& bytes) {
  const Result<Program> result = read(bytes);
  return result ? "" : result.message();
}

TEST(Crc32c, gives_the_check_value_of_the_standard) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xE3069283U);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, continues_over_pieces) {
  const std::string_view digits = "123456789";
  const auto bytes = std::as_bytes(std::span(digits));
  EXPECT_EQ(crc32c(bytes.subspan(4), crc32c(bytes.first(4))), crc32c(bytes));
}

TEST(Image, reading_gives_the_canonical_program_back) {
  const Program program = test::sample_program();
  const Result<Program> result = read(write(program));
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(result.value(), canonical(program));
}

TEST(Image, writing_what_was_read_gives_the_same_bytes) {
  const Bytes bytes = write(test::sample_program());
  const Result<Program> result = read(bytes);
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(write(result.value()), bytes);
}

TEST(Image, holds_an_empty_program) {
  const Result<Program> result = read(write(Program{}));
  ASSERT_TRUE(result.ok()) << result.message();
  EXPECT_EQ(result.value(), Program{});
}

TEST(Image, does_not_depend_on_the_order_of_the_pools) {
  const Bytes bytes = write(test::sample_program());
  Program moved = test::sample_program();
  moved.names += "nobody refers to this, Quote";
  moved.templates[0].name.offset = static_cast<std::uint32_t>(moved.names.size() - 5);
  EXPECT_EQ(write(moved), bytes);
  moved.templates[0].name.length -= 1;
  EXPECT_NE(write(moved), bytes);
}

TEST(Image, stands_at_the_offsets_of_the_page) {
  const Program program = test::sample_program();
  const Bytes bytes = write(program);
  EXPECT_EQ(std::memcmp(bytes.data(), "\x89SBF\r\n\x1a\n", 8), 0);
  EXPECT_EQ(u32(bytes, 8), 1U);
  EXPECT_EQ(u32(bytes, 12), 15U);
  EXPECT_EQ(u32(bytes, 16), bytes.size());
  const std::size_t properties = section_offset(bytes, Section::Properties);
  EXPECT_EQ(properties, 392U);
  EXPECT_EQ(u32(bytes, properties), static_cast<std::uint32_t>(required_capabilities(program)));
  EXPECT_EQ(u32(bytes, properties + 8), static_cast<std::uint32_t>(layout_hash(program)));
  EXPECT_EQ(u32(bytes, properties + 16), program.max_record_slots);
  const std::size_t code = section_offset(bytes, Section::Code);
  EXPECT_EQ(u32(bytes, code + 8), static_cast<std::uint32_t>(isa::encode(program.code[1])));
  const std::size_t dispatch = section_offset(bytes, Section::Dispatch);
  EXPECT_EQ(u32(bytes, dispatch + 12), 2U);            // id of the second entry
  EXPECT_EQ(u32(bytes, dispatch + 16), 0x0001'0000U);  // table 0, template 1
  EXPECT_EQ(u32(bytes, dispatch + 20), 17U);           // its entry
  const std::size_t nodes = section_offset(bytes, Section::Nodes);
  EXPECT_EQ(u32(bytes, nodes + 7 * 56), 0x0000'0502U);      // Entries: sequence, uInt32, no unit, no flags
  EXPECT_EQ(u32(bytes, nodes + 7 * 56 + 4), 0x0001'0000U);  // length in block 0, elements in block 1
  EXPECT_EQ(u32(bytes, nodes + 7 * 56 + 20), 268U);
}

/// "| a | `b` |" as {"a", "b"}.
std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> out;
  for (std::size_t at = 1; at < row.size();) {
    const std::size_t end = std::min(row.find('|', at), row.size());
    std::string cell = row.substr(at, end - at);
    std::erase_if(cell, [](char c) { return c == '`' || c == ' '; });
    out.push_back(cell);
    at = end + 1;
  }
  return out;
}

std::string with_commas(std::size_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

TEST(ImagePage, agrees_with_the_code) {
  std::ifstream file(STOPBIT_SOURCE_DIR "/microcode/image/image.md");
  ASSERT_TRUE(file) << "microcode/image/image.md is missing";
  std::vector<std::string> on_page;
  std::vector<std::string> sections_on_page;
  std::string section;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) {
      section = line.substr(line.find(' ', 4) + 1);
      section = section.substr(0, section.find(','));
      sections_on_page.push_back(line.substr(4));
    } else if (!section.empty() && line.starts_with("| ") && !line.starts_with("| offset")) {
      const std::vector<std::string> row = cells(line);
      ASSERT_EQ(row.size(), 4U) << line;
      on_page.push_back(section + ' ' + row[0] + ' ' + row[1] + ' ' + row[2]);
    }
  }
  std::vector<std::string> sections;
  sections.reserve(kSectionCount);
  for (const SectionInfo& item : kSections) {
    sections.push_back(std::to_string(static_cast<int>(item.id)) + ' ' + std::string(item.name) + ", " +
                       std::to_string(item.entry_bytes) + (item.entry_bytes == 1 ? " byte" : " bytes") + ", at most " +
                       with_commas(item.max_entries));
  }
  EXPECT_EQ(sections_on_page, sections);
  std::vector<std::string> fields;
  std::vector<std::size_t> bytes_of(kSectionCount);
  for (const FieldPlace& place : field_places()) {
    fields.push_back(std::string(info(place.section).name) + ' ' + std::to_string(place.offset) + ' ' +
                     std::to_string(place.bytes) + ' ' + std::string(place.field));
    bytes_of[static_cast<std::size_t>(place.section) - 1] += place.bytes;
  }
  EXPECT_EQ(on_page, fields);
  for (const SectionInfo& item : kSections) {
    const std::size_t bytes = bytes_of[static_cast<std::size_t>(item.id) - 1];
    EXPECT_TRUE(bytes == item.entry_bytes || (bytes == 0 && item.entry_bytes == 1)) << item.name;
  }
}

TEST(ImageReader, refuses_every_truncation) {
  const Bytes bytes = write(test::sample_program());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read(std::span(bytes).first(size)).ok()) << size << " bytes";
  }
}

TEST(ImageReader, refuses_every_flipped_bit) {
  Bytes bytes = write(test::sample_program());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(read(bytes).ok()) << "byte " << i << " bit " << bit;
      bytes[i] ^= static_cast<std::byte>(1 << bit);
    }
  }
}

TEST(ImageReader, accepts_with_mended_crc_only_what_it_writes) {
  const Bytes good = write(test::sample_program());
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {0, 4, 7}) {
      Bytes bytes = good;
      bytes[i] ^= static_cast<std::byte>(1 << bit);
      bytes = mended(std::move(bytes));
      const Result<Program> result = read(bytes);
      if (!result) continue;
      EXPECT_EQ(write(result.value()), bytes) << "byte " << i << " bit " << bit;
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 100U) << "changed code and identifiers are well-formed images";
}

TEST(ImageReader, refuses_bytes_after_the_last_section) {
  Bytes bytes = write(test::sample_program());
  bytes.resize(bytes.size() + 8);
  EXPECT_NE(refusal(bytes), "");
  put32(bytes, 16, static_cast<std::uint32_t>(bytes.size()));
  EXPECT_NE(refusal(mended(bytes)).find("bytes follow the last section"), std::string::npos);
}

TEST(ImageReader, names_the_version_it_cannot_read) {
  Bytes bytes = write(test::sample_program());
  put32(bytes, 8, 7);
  EXPECT_EQ(refusal(mended(bytes)), "byte 8: the image has version 7, this program supports version 1");
}

TEST(ImageReader, refuses_a_section_longer_than_the_file) {
  Bytes bytes = write(test::sample_program());
  const std::size_t entry = table_entry(Section::Names);
  put32(bytes, entry + 8, 1'000'000);
  put32(bytes, entry + 16, 1'000'000);
  EXPECT_EQ(refusal(mended(bytes)), "section 'names': byte 384 of the table: the section is longer than the image");
}

TEST(ImageReader, refuses_a_count_above_the_limit) {
  Bytes bytes = write(test::sample_program());
  put32(bytes, table_entry(Section::Nodes) + 8, 0xFFFFFFFF);
  EXPECT_NE(refusal(mended(bytes)).find("section 'nodes': byte 256 of the table: 4294967295 entries"),
            std::string::npos);
}

TEST(ImageReader, refuses_a_count_that_disagrees_with_the_length) {
  Bytes bytes = write(test::sample_program());
  put32(bytes, table_entry(Section::Slots) + 8, 8);
  EXPECT_NE(refusal(mended(bytes)).find("section 'slots'"), std::string::npos);
}

TEST(ImageReader, refuses_overlapping_sections) {
  Bytes bytes = write(test::sample_program());
  put32(bytes, table_entry(Section::Code) + 12, u32(bytes, table_entry(Section::Properties) + 12));
  EXPECT_NE(refusal(mended(bytes)).find("does not follow its predecessor"), std::string::npos);
}

TEST(ImageReader, names_section_and_byte_of_an_unknown_enumerator) {
  Bytes bytes = write(test::sample_program());
  const std::size_t at = section_offset(bytes, Section::Nodes) + 56;
  bytes[at] = std::byte{9};
  EXPECT_EQ(refusal(mended(bytes)), "section 'nodes': byte " + std::to_string(at) + ": kind has no value 9");
}

TEST(ImageReader, refuses_reserved_bytes_that_are_not_zero) {
  Bytes bytes = write(test::sample_program());
  const std::size_t at = section_offset(bytes, Section::Templates) + 29;
  bytes[at] = std::byte{1};
  EXPECT_EQ(refusal(mended(bytes)),
            "section 'templates': byte " + std::to_string(at) + ": reserved bytes are not zero");
}

TEST(ImageReader, refuses_spare_flags) {
  Bytes bytes = write(test::sample_program());
  bytes[section_offset(bytes, Section::Templates) + 28] = std::byte{4};
  EXPECT_NE(refusal(mended(bytes)).find("spare bits of flags are set"), std::string::npos);
}

TEST(ImageReader, refuses_an_unknown_instruction) {
  Bytes bytes = write(test::sample_program());
  const std::size_t at = section_offset(bytes, Section::Code) + 16;
  bytes[at] = std::byte{0xFF};
  EXPECT_EQ(refusal(mended(bytes)), "section 'code': byte " + std::to_string(at) + ": this is not an instruction");
}

TEST(ImageReader, refuses_padding_that_is_not_zero) {
  Program program = test::sample_program();
  Bytes bytes = write(program);
  const std::size_t end = section_offset(bytes, Section::Names) + u32(bytes, table_entry(Section::Names) + 16);
  ASSERT_LT(end, bytes.size()) << "the sample must end with padding";
  bytes[end] = std::byte{1};
  EXPECT_NE(refusal(mended(bytes)).find("not canonical"), std::string::npos);
}

TEST(ImageReader, refuses_a_text_outside_the_names) {
  Bytes bytes = write(test::sample_program());
  put32(bytes, section_offset(bytes, Section::Elements) + 12, 100'000);
  EXPECT_EQ(refusal(mended(bytes)), "section 'elements': entry 0: label reaches outside its pool");
}

TEST(ImageReader, refuses_a_string_constant_outside_its_pool) {
  Bytes bytes = write(test::sample_program());
  put32(bytes, section_offset(bytes, Section::Constants) + 16, 0xFFFFFFFF);
  EXPECT_EQ(refusal(mended(bytes)), "section 'constants': entry 1: value reaches outside its pool");
}

TEST(ImageReader, refuses_a_pool_in_another_order) {
  Program program = canonical(test::sample_program());
  Bytes bytes = write(program);
  const std::size_t names = section_offset(bytes, Section::Names);
  std::swap(bytes[names], bytes[names + 1]);
  const std::size_t slot = section_offset(bytes, Section::Slots);
  put32(bytes, slot, 1);  // "emplate id": the layout hash does not cover names of slots
  put32(bytes, slot + 4, 10);
  EXPECT_NE(refusal(mended(bytes)).find("section 'slots'"), std::string::npos);
  EXPECT_NE(refusal(mended(bytes)).find("not canonical"), std::string::npos);
}

TEST(ImageReader, refuses_wrong_capabilities_and_layout_hash) {
  const Bytes good = write(test::sample_program());
  const std::size_t at = section_offset(good, Section::Properties);
  Bytes bytes = good;
  bytes[at] ^= std::byte{1};
  EXPECT_NE(refusal(mended(bytes)).find("the capabilities do not match the code"), std::string::npos);
  bytes = good;
  bytes[at + 8] ^= std::byte{1};
  EXPECT_NE(refusal(mended(bytes)).find("the layout hash does not match the content"), std::string::npos);
}

TEST(ImageReader, refuses_references_that_add_up_to_more_than_an_image) {
  Program program;
  program.names.assign(limits::kMaxStringPoolBytes, 'a');
  const TextRef all{0, static_cast<std::uint32_t>(program.names.size())};
  for (int i = 0; i < 20; ++i) program.sources.push_back({all, 0, 0});
  const std::string message = refusal(write(program));
  EXPECT_NE(message.find("add up to more than"), std::string::npos) << message;
}

TEST(LayoutHash, changes_with_what_a_reader_sees) {
  const Program sample = test::sample_program();
  const std::uint64_t hash = layout_hash(sample);
  const auto changed = [&](auto change) {
    Program program = sample;
    change(program);
    return layout_hash(program) != hash;
  };
  EXPECT_TRUE(changed([](Program& p) { p.nodes[1].id = 999; }));
  EXPECT_TRUE(changed([](Program& p) { p.nodes[1].type = FieldType::Int32; }));
  EXPECT_TRUE(changed([](Program& p) { p.nodes[3].optional = false; }));
  EXPECT_TRUE(changed([](Program& p) { p.nodes[3].word = 4; }));
  EXPECT_TRUE(changed([](Program& p) { p.nodes[3].unstored = true; }));
  EXPECT_TRUE(changed([](Program& p) { p.nodes[0].unstored = true; }));
  EXPECT_TRUE(changed([](Program& p) { p.nodes[16].unit = TimeUnit::Day; }));
  EXPECT_TRUE(changed([](Program& p) { p.constants[7].value = 126; }));
  EXPECT_TRUE(changed([](Program& p) { p.constant_pool.back() = 'x'; }));
  EXPECT_TRUE(changed([](Program& p) { p.blocks[1].words = 4; }));
  EXPECT_TRUE(changed([](Program& p) { p.blocks[1].first_word = 9; }));
  EXPECT_TRUE(changed([](Program& p) { p.templates[1].id = 3; }));
  EXPECT_TRUE(changed([](Program& p) { p.elements[1].label = p.elements[0].label; }));
  EXPECT_TRUE(changed([](Program& p) { p.templates[0].name = p.templates[1].name; }));
}

TEST(LayoutHash, ignores_code_places_and_pools) {
  const Program sample = test::sample_program();
  const std::uint64_t hash = layout_hash(sample);
  Program program = sample;
  program.code.pop_back();
  program.nodes[2].line += 1;
  program.nodes[2].column += 1;
  program.templates[1].line += 1;
  program.slots[1].name = {};
  program.sources[0].hash += 1;
  program.max_record_slots = 100;
  program.names.insert(0, "xyz");
  program.constant_pool.insert(0, "xyz");
  for (TypeInfo& type : program.type_infos) {
    if (type.name.length != 0) type.name.offset += 3;
  }
  for (Element& element : program.elements) {
    if (element.name.length != 0) element.name.offset += 3;
    if (element.label.length != 0) element.label.offset += 3;
  }
  for (Template& item : program.templates) {
    item.name.offset += 3;
    if (item.name_space.length != 0) item.name_space.offset += 3;
  }
  for (SchemaNode& node : program.nodes) {
    for (TextRef* ref : {&node.name, &node.name_space, &node.length_name, &node.epoch}) {
      if (ref->length != 0) ref->offset += 3;
    }
  }
  for (Constant& constant : program.constants) {
    if (constant.kind == ValueKind::Bytes) constant.value += 3;
  }
  EXPECT_EQ(layout_hash(program), hash);
}

TEST(Capabilities, are_those_of_the_instructions) {
  using isa::Capability;
  const std::uint64_t bits = required_capabilities(test::sample_program());
  const auto has = [&](Capability one) { return (bits & static_cast<std::uint64_t>(one)) != 0; };
  EXPECT_TRUE(has(Capability::Integers));
  EXPECT_TRUE(has(Capability::Decimals));
  EXPECT_TRUE(has(Capability::Strings));
  EXPECT_TRUE(has(Capability::StringCopies));
  EXPECT_TRUE(has(Capability::Vectors));
  EXPECT_TRUE(has(Capability::References));
  EXPECT_FALSE(has(Capability::StringDeltas));
  EXPECT_FALSE(has(Capability::StringTails));
  EXPECT_FALSE(has(Capability::VectorCopies));
}

}  // namespace stopbit::image::image_test
