#include "decoder/record/reader.hpp"

#include <gtest/gtest.h>

#include <random>

#include "decoder/record/csv.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/text.hpp"
#include "tests/unit/record/fixture.hpp"

namespace stopbit::record::reader_test {

using test::ProgramMaker;
using test::RecordMaker;

ReadError read(const Program& program, std::span<const Slot> slots) {
  const Result<Schema> schema = Schema::make(program);
  EXPECT_TRUE(schema.ok()) << (schema ? "" : schema.message());
  if (!schema) return ReadError::None;
  Visitor nobody;
  return Reader(schema.value()).read(slots, nobody);
}

/// One template with everything: constants, every form of string, optional group, nested sequence, what follows,
/// reference.
class WholeProgram {
 public:
  WholeProgram() {
    root = maker.block(BlockKind::Root, 6);
    element = maker.block(BlockKind::Element, 2, 6);
    inner = maker.block(BlockKind::Element, 1, 8);
    after = maker.block(BlockKind::After, 3, 9);
    behind = maker.block(BlockKind::After, 1, 12);
    maker.make_template("Whole", 1, root, [&] {
      maker.constant("Version", FieldType::Ascii, "9");
      maker.field("Text", FieldType::Ascii, root, 0, true);
      maker.field("Px", FieldType::Decimal, root, 1);
      maker.optional_group("G", root, 3, [&] { maker.field("B", FieldType::Boolean, root, 3); });
      maker.elements(maker.field("E", FieldType::Enum, root, 4), {"x", "y"});
      maker.sequence("Outer", root, 5, element, [&] {
        maker.field("Name", FieldType::Unicode, element, 0, true);
        maker.sequence(
            "Inner", element, 1, inner, [&] { maker.field("Raw", FieldType::ByteVector, inner, 0); }, true);
      });
      maker.elements(maker.field("S", FieldType::Set, after, 0), {"p", "q", "r"});
      maker.field("T", FieldType::Timestamp, after, 1);
      maker.field("I", FieldType::Int64, after, 2, true);
      maker.reference();
      maker.field("Z", FieldType::UInt8, behind, 0);
    });
    other = maker.block(BlockKind::Root, 1);
    maker.make_template("Other", 2, other, [&] { maker.field("X", FieldType::Ascii, other, 0); });
  }

  std::vector<Slot> record() {
    const std::string long_text(150, 'l');
    RecordMaker made(maker.program());
    made.open_root(0).put(0, long_text).put_decimal(1, 141150, -2).put(3, 1).put(4, 1).put(5, 2);
    made.open(element).put(0, "M\xC3\xBCnchen!").put(1, 2).open(inner).put(0, "\x01\x02").open(inner).put(0, "");
    made.open(element).put(1, 0);
    made.open(after).put(0, 5).put(1, 123'456'789).put(2, static_cast<std::uint64_t>(-1));
    made.reference(1).put(0, "ABCDEFGH").open(behind).put(0, 7);
    return made.commit();
  }

  ProgramMaker maker;
  std::uint16_t root, element, inner, after, behind, other;
};

TEST(RecordReader, gives_every_kind_of_value_with_its_node) {
  WholeProgram whole;
  const std::vector<Slot> record = whole.record();
  const Result<Schema> schema = Schema::make(whole.maker.program());
  ASSERT_TRUE(schema.ok()) << schema.message();

  struct Log : Visitor {
    explicit Log(const Schema& of) : schema(of) {}
    void field(const SchemaNode& node, const Value& value) {
      text += std::string(schema.name(node.name)) + "=";
      text += is_text(node.type) ? std::string(value.bytes) : std::to_string(value.as_signed());
      if (node.type == FieldType::Decimal) text += "e" + std::to_string(value.exponent);
      text += " ";
    }
    void begin_group(const SchemaNode& node) { text += std::string(schema.name(node.name)) + "{ "; }
    void end_group(const SchemaNode&) { text += "} "; }
    void begin_sequence(const SchemaNode& node, std::uint32_t count) {
      text += std::string(schema.name(node.name)) + "*" + std::to_string(count) + "[ ";
    }
    void begin_element(const SchemaNode&, std::uint32_t index) { text += std::to_string(index) + ": "; }
    void end_element(const SchemaNode&) { text += "; "; }
    void end_sequence(const SchemaNode&) { text += "] "; }
    void begin_reference(const SchemaNode&, const Template& item) {
      text += "<" + std::string(schema.name(item.name)) + " ";
    }
    void end_reference(const SchemaNode&) { text += "> "; }
    const Schema& schema;
    std::string text;
  };
  Log log(schema.value());
  Reader reader(schema.value());
  EXPECT_EQ(reader.read(record, log), ReadError::None);
  EXPECT_EQ(log.text,
            "Version=9 Text=" + std::string(150, 'l') +
                " Px=141150e-2 G{ B=1 } E=1 Outer*2[ 0: Name=M\xC3\xBCnchen! Inner*2[ 0: Raw=\x01\x02 ; 1: Raw= ; ] ; "
                "1: Inner*0[ ] ; ] S=5 T=123456789 I=-1 <Other X=ABCDEFGH > Z=7 ");
}

TEST(RecordReader, reads_a_record_at_the_front_of_longer_memory) {
  WholeProgram whole;
  std::vector<Slot> slots = whole.record();
  const std::size_t size = slots.size();
  slots.resize(size + 3);
  EXPECT_EQ(read(whole.maker.program(), slots), ReadError::None);
  const Result<Schema> schema = Schema::make(whole.maker.program());
  Reader reader(schema.value());
  ASSERT_EQ(reader.open(slots), ReadError::None);
  EXPECT_EQ(reader.record().size(), size);
}

TEST(RecordReader, refuses_a_record_that_is_cut) {
  WholeProgram whole;
  const std::vector<Slot> record = whole.record();
  for (std::size_t size = 0; size < record.size(); ++size) {
    EXPECT_EQ(read(whole.maker.program(), std::span(record).first(size)), ReadError::Truncated) << size;
  }
}

TEST(RecordReader, refuses_lengths_that_contradict_each_other) {
  WholeProgram whole;
  const std::vector<Slot> good = whole.record();
  const auto with_word = [&](std::size_t word, std::uint64_t clear, std::uint64_t set) {
    std::vector<Slot> record = good;
    record[0].words[word] = (record[0].words[word] & ~clear) | set;
    return read(whole.maker.program(), record);
  };
  const std::uint64_t size = good.size();
  EXPECT_EQ(with_word(0, 0, 0), ReadError::None);
  EXPECT_EQ(with_word(0, 0xFFFF0000, 0), ReadError::Truncated);
  EXPECT_EQ(with_word(0, 0xFFFF0000, (size + 1) << 16), ReadError::Truncated);
  EXPECT_EQ(with_word(0, 0xFFFF0000, (size - 1) << 16), ReadError::MissingSlots);  // string area moved into the body
  EXPECT_EQ(with_word(2, 0xFFULL << 48, size << 48), ReadError::Truncated);
  EXPECT_EQ(with_word(2, 0xFFULL << 48, (size - 1) << 48), ReadError::MissingSlots);
  EXPECT_EQ(with_word(2, 0xFFULL << 48, 0), ReadError::BadString);
  EXPECT_EQ(with_word(0, 0xFFFF, 2), ReadError::UnknownTemplate);
  EXPECT_EQ(with_word(0, 0xFFFF, kPadIndex), ReadError::Pad);
}

TEST(RecordReader, refuses_slots_of_other_records) {
  WholeProgram whole;
  const std::vector<Slot> good = whole.record();
  for (std::size_t slot = 1; slot < good.size(); ++slot) {
    std::vector<Slot> record = good;
    record[slot].words[kTagWord] ^= std::uint64_t{1} << 63;
    EXPECT_EQ(read(whole.maker.program(), record), ReadError::ForeignSlot);
    record = good;
    record[slot].words[kTagWord] ^= std::uint64_t{1} << 56;
    EXPECT_EQ(read(whole.maker.program(), record), ReadError::ForeignSlot);
  }
}

TEST(RecordReader, refuses_tags_and_values_that_do_not_belong_together) {
  WholeProgram whole;
  const std::vector<Slot> good = whole.record();
  const auto with_tag = [&](std::size_t slot, std::size_t word, std::uint64_t tag, bool clear_value = false) {
    std::vector<Slot> record = good;
    record[slot].words[kTagWord] &= ~(std::uint64_t{0xFF} << 8 * word);
    record[slot].words[kTagWord] |= tag << 8 * word;
    if (clear_value) record[slot].words[word] = 0;
    return read(whole.maker.program(), record);
  };
  EXPECT_EQ(with_tag(0, 0, kHeaderTag + 1U), ReadError::WrongTag);
  EXPECT_EQ(with_tag(0, 4, 2), ReadError::WrongTag);            // Text with the tag of another word
  EXPECT_EQ(with_tag(0, 4, 0), ReadError::WrongTag);            // a value without a tag
  EXPECT_EQ(with_tag(0, 4, 0, true), ReadError::None);          // absent
  EXPECT_EQ(with_tag(0, 5, 0, true), ReadError::MissingValue);  // Px is mandatory
  EXPECT_EQ(with_tag(0, 6, 0, true), ReadError::MissingValue);  // its mantissa
  EXPECT_EQ(with_tag(1, 0, 0, true), ReadError::None);          // the optional group is absent
  EXPECT_EQ(with_tag(1, 2, 0, true), ReadError::MissingValue);  // length of a mandatory sequence
}

TEST(RecordReader, refuses_illegal_strings) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 1);
  maker.make_template("T", 1, root, [&] { maker.field("F", FieldType::Ascii, root, 0); });
  const Program& program = maker.program();
  const std::vector<Slot> good = RecordMaker(program).open_root(0).put(0, std::string(57, 'x')).commit();
  ASSERT_EQ(good.size(), 3U);
  const auto with_word = [&](std::uint64_t value) {
    std::vector<Slot> record = good;
    record[0].words[kHeaderWords] = value;
    return read(program, record);
  };
  const std::uint64_t form = std::uint64_t{kLongString} << 56;
  EXPECT_EQ(with_word(form | 57), ReadError::None);
  EXPECT_EQ(with_word(form | 0), ReadError::None);
  EXPECT_EQ(with_word(form | 112), ReadError::None);
  EXPECT_EQ(with_word(form | 113), ReadError::BadString);
  EXPECT_EQ(with_word(form | 56 | std::uint64_t{1} << 32), ReadError::None);
  EXPECT_EQ(with_word(form | 57 | std::uint64_t{1} << 32), ReadError::BadString);
  EXPECT_EQ(with_word(form | 1 | std::uint64_t{2} << 32), ReadError::BadString);
  EXPECT_EQ(with_word(form | 57 | std::uint64_t{1} << 48), ReadError::BadString);
  EXPECT_EQ(with_word(form | 0xFFFF'FFFF), ReadError::BadString);
  for (std::uint64_t byte = 8; byte < kLongString; ++byte) EXPECT_EQ(with_word(byte << 56), ReadError::BadString);
}

TEST(RecordReader, refuses_slots_behind_the_last_block) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 1);
  const std::uint16_t extra = maker.block(BlockKind::After, 1);
  maker.make_template("T", 1, root, [&] { maker.field("F", FieldType::UInt8, root, 0); });
  const Program& program = maker.program();
  EXPECT_EQ(read(program, RecordMaker(program).open_root(0).put(0, 1).open(extra).commit()), ReadError::LeftOver);
}

TEST(RecordReader, counts_tags_over_the_blocks_and_begins_again_after_247) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 250);
  const std::uint16_t element = maker.block(BlockKind::Element, 3, 250);
  maker.make_template("T", 1, root, [&] {
    for (std::uint8_t i = 0; i < 249; ++i) maker.field("F" + std::to_string(i), FieldType::UInt8, root, i);
    maker.sequence("S", root, 249, element, [&] {
      for (std::uint8_t i = 0; i < 3; ++i) maker.field("E" + std::to_string(i), FieldType::UInt8, element, i);
    });
  });
  const Program& program = maker.program();
  RecordMaker made(program);
  made.open_root(0);
  for (std::uint8_t i = 0; i < 249; ++i) made.put(i, std::uint64_t{i});
  made.put(249, 200);
  for (std::uint64_t element_number = 0; element_number < 200; ++element_number) {
    made.open(element).put(0, element_number).put(1, 1).put(2, 2);
  }
  const std::vector<Slot> record = made.commit();
  ASSERT_EQ(record.size(), 37U + 200U);  // slot numbers begin again after 128
  EXPECT_EQ(read(program, record), ReadError::None);
}

TEST(RecordReader, bounds_elements_that_take_no_slot) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 1);
  const std::uint16_t element = maker.block(BlockKind::Element, 0);
  maker.make_template("T", 1, root, [&] {
    maker.sequence("S", root, 0, element, [&] { maker.constant("C", FieldType::Ascii, "constant"); });
  });
  const Program& program = maker.program();
  const auto with_count = [&](std::uint64_t count) {
    return read(program, RecordMaker(program).open_root(0).put(0, count).commit());
  };
  EXPECT_EQ(with_count(65'536), ReadError::None);
  EXPECT_EQ(with_count(kMaxElements), ReadError::None);
  EXPECT_EQ(with_count(kMaxElements + 1), ReadError::TooManyElements);
  EXPECT_EQ(with_count(~std::uint64_t{0}), ReadError::TooManyElements);
}

TEST(RecordReader, bounds_the_work_of_elements_full_of_constants) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 1);
  const std::uint16_t element = maker.block(BlockKind::Element, 0);
  maker.make_template("T", 1, root, [&] {
    maker.sequence("S", root, 0, element, [&] {
      for (int i = 0; i < 1000; ++i) maker.constant("C", FieldType::UInt8, 1);
    });
  });
  const Program& program = maker.program();
  EXPECT_EQ(read(program, RecordMaker(program).open_root(0).put(0, 1000).commit()), ReadError::None);
  EXPECT_EQ(read(program, RecordMaker(program).open_root(0).put(0, kMaxElements).commit()), ReadError::TooMuchWork);
}

TEST(RecordReader, bounds_the_text_of_a_record) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 1);
  const std::uint16_t element = maker.block(BlockKind::Element, 0);
  const std::string constant(100'000, 'c');
  maker.make_template("T", 1, root, [&] {
    maker.sequence("S", root, 0, element, [&] {
      maker.group(std::string(1000, 'g'), [&] { maker.constant("C", FieldType::Ascii, constant); });
    });
  });
  const Program& program = maker.program();
  const Result<Schema> schema = Schema::make(program);
  ASSERT_TRUE(schema.ok()) << schema.message();
  const std::vector<Slot> record = RecordMaker(program).open_root(0).put(0, kMaxElements).commit();
  const std::vector<Slot> small = RecordMaker(program).open_root(0).put(0, 100).commit();
  std::string out;
  JsonPrinter json(schema.value());
  EXPECT_EQ(json.print(record, out), ReadError::TooLong);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(json.print(small, out), ReadError::None);
  EXPECT_GT(out.size(), 100 * constant.size());
  out.clear();
  CsvPrinter csv(schema.value());
  EXPECT_EQ(csv.print(record, out), ReadError::TooLong);
  EXPECT_TRUE(out.empty());
}

TEST(RecordReader, bounds_the_depth_of_references) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 1);
  maker.make_template("T", 1, root, [&] { maker.optional_group("More", root, 0, [&] { maker.reference(); }); });
  const Program& program = maker.program();
  const auto nested = [&](std::size_t depth) {
    RecordMaker made(program);
    made.open_root(0);
    for (std::size_t i = 0; i < depth; ++i) made.put(0, 1).reference(0);
    return read(program, made.commit());
  };
  EXPECT_EQ(nested(0), ReadError::None);
  EXPECT_EQ(nested(limits::kMaxCallDepth), ReadError::None);
  EXPECT_EQ(nested(limits::kMaxCallDepth + 1), ReadError::TooDeep);
  EXPECT_EQ(nested(1000), ReadError::TooDeep);
}

TEST(RecordReader, refuses_references_to_nowhere) {
  WholeProgram whole;
  const std::vector<Slot> good = whole.record();
  const std::size_t slot = good.size() - 1 - 4 - 1;  // before "behind" and the string area of 3 + 1 slots
  ASSERT_EQ(good[slot].words[kTagWord] & 0xFF, kReferenceTag);
  const auto with_index = [&](std::uint64_t index) {
    std::vector<Slot> record = good;
    record[slot].words[0] = index;
    return read(whole.maker.program(), record);
  };
  EXPECT_EQ(with_index(1), ReadError::None);
  EXPECT_EQ(with_index(2), ReadError::UnknownTemplate);
  EXPECT_EQ(with_index(0x10001), ReadError::UnknownTemplate);
  EXPECT_EQ(with_index(kPadIndex), ReadError::UnknownTemplate);
}

TEST(RecordReader, refuses_events_that_are_none) {
  WholeProgram whole;
  const Result<Schema> schema = Schema::make(whole.maker.program());
  Reader reader(schema.value());
  const std::vector<Slot> good = RecordMaker(whole.maker.program()).commit_event({});
  EXPECT_EQ(reader.open(good), ReadError::None);
  std::vector<Slot> record = good;
  record.push_back(good[0]);
  record[0].words[0] += 1U << 16;
  EXPECT_EQ(reader.open(record), ReadError::Truncated);
  record = good;
  record[0].words[kTagWord] ^= std::uint64_t{1} << 40;
  EXPECT_EQ(reader.open(record), ReadError::WrongTag);
}

/// Flipped bits, foreign words, moved slots: an error or a good line, never more. Sanitizers watch the rest.
TEST(RecordReader, survives_any_bytes) {
  WholeProgram whole;
  const Program& program = whole.maker.program();
  const Result<Schema> schema = Schema::make(program);
  ASSERT_TRUE(schema.ok());
  JsonPrinter json(schema.value());
  CsvPrinter csv(schema.value());
  const std::vector<Slot> good = whole.record();
  const std::vector<Slot> event = RecordMaker(program).commit_event({});
  std::mt19937_64 random(7);  // NOLINT(cert-msc51-cpp): the same every time
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  std::size_t counts[static_cast<std::size_t>(ReadError::LeftOver) + 1] = {};
  std::string out;
  for (int round = 0; round < 20'000; ++round) {
    const std::vector<Slot>& from = below(10) == 0 ? event : good;
    // In memory of exactly its size, so that a read past it is seen.
    std::vector<Slot> record(from.begin(), from.end());
    for (std::uint64_t i = 1 + below(3); i > 0; --i) {
      std::uint64_t& word = record[below(record.size())].words[below(kSlotWords)];
      switch (below(4)) {
        case 0: word ^= std::uint64_t{1} << below(64); break;
        case 1: word = random(); break;
        case 2: word = record[below(record.size())].words[below(kSlotWords)]; break;
        default: word = (word & ~(std::uint64_t{0xFF} << 56)) | below(256) << 56; break;
      }
    }
    if (below(10) == 0) record.resize(below(record.size() + 1));
    out.clear();
    const ReadError error = json.print(record, out);
    ++counts[static_cast<std::size_t>(error)];
    ASSERT_EQ(out.empty(), error != ReadError::None);
    out.clear();
    ASSERT_EQ(csv.print(record, out), error);
  }
  EXPECT_GT(counts[static_cast<std::size_t>(ReadError::None)], 0U);
  for (const ReadError error : {ReadError::Truncated, ReadError::ForeignSlot, ReadError::UnknownTemplate,
                                ReadError::WrongTag, ReadError::MissingSlots, ReadError::MissingValue,
                                ReadError::BadString, ReadError::BadValue, ReadError::TooManyElements}) {
    EXPECT_GT(counts[static_cast<std::size_t>(error)], 0U) << error_text(error);
  }
}

TEST(RecordReader, has_a_sentence_for_every_error) {
  EXPECT_TRUE(error_text(ReadError::None).empty());
  for (int i = 1; i <= static_cast<int>(ReadError::LeftOver); ++i) {
    EXPECT_FALSE(error_text(static_cast<ReadError>(i)).empty());
    EXPECT_NE(error_text(static_cast<ReadError>(i)), error_text(static_cast<ReadError>(200)));
  }
}

TEST(Schema, refuses_what_a_walk_could_not_survive) {
  WholeProgram whole;
  const Program good = whole.maker.program();
  const auto problem = [&](auto change) {
    Program program = good;
    change(program);
    const Result<Schema> schema = Schema::make(program);
    return schema ? std::string() : schema.message();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(problem([](Program&) {}), "");
  EXPECT_TRUE(has(problem([](Program& p) { p.templates[1].first_node = 0; }), "out of order"));
  EXPECT_TRUE(has(problem([](Program& p) { p.templates[1].end_node = 60'000; }), "out of order"));
  EXPECT_TRUE(has(problem([](Program& p) { p.templates[0].root_block = 99; }), "no root block"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[1].block = 99; }), "node 1: it has no block"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[1].word = 6; }), "no such word"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[2].word = 5; }), "no such word"));  // a decimal takes two
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[1].word = 255; }), "no such word"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[1].end = 1; }), "does not end inside"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[3].end = 40'000; }), "does not end inside"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[1].end = 3; }), "only groups and sequences"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[0].constant_index = 99; }), "constant is missing"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[0].type = FieldType::Int32; }), "constant is not a number"));
  EXPECT_TRUE(has(problem([](Program& p) { p.constants[1].kind = ValueKind::Integer; }), "constant is not a text"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[5].type_info = 2; }), "no list of elements"));
  EXPECT_TRUE(has(problem([](Program& p) { p.type_infos[0].element_count = 6; }), "leaves the table"));
  EXPECT_TRUE(has(problem([](Program& p) { p.type_infos[0].first_element = 0xFFFF'FFFF; }), "leaves the table"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[6].element_block = kNoBlock; }), "no element block"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[1].kind = static_cast<NodeKind>(4); }), "kind is unknown"));
  EXPECT_TRUE(has(problem([](Program& p) { p.nodes[1].type = static_cast<FieldType>(16); }), "type is unknown"));
}

TEST(Schema, refuses_constants_outside_their_type) {
  const auto problem = [](FieldType type, std::uint64_t value) {
    ProgramMaker maker;
    const std::uint16_t root = maker.block(BlockKind::Root, 0);
    maker.make_template("T", 1, root, [&] {
      SchemaNode& node = maker.constant("C", type, value);
      if (type == FieldType::Enum || type == FieldType::Set) maker.elements(node, {"a", "b"});
    });
    return !Schema::make(maker.program()).ok();
  };
  EXPECT_FALSE(problem(FieldType::Enum, 1));
  EXPECT_TRUE(problem(FieldType::Enum, 2));
  EXPECT_FALSE(problem(FieldType::Set, 3));
  EXPECT_TRUE(problem(FieldType::Set, 4));
  EXPECT_TRUE(problem(FieldType::Boolean, 2));
  EXPECT_FALSE(problem(FieldType::Decimal, static_cast<std::uint64_t>(-63)));
  EXPECT_TRUE(problem(FieldType::Decimal, 64));
  EXPECT_FALSE(problem(FieldType::UInt64, ~std::uint64_t{0}));
}

TEST(Schema, refuses_a_tree_that_is_too_deep) {
  ProgramMaker maker;
  const std::uint16_t root = maker.block(BlockKind::Root, 0);
  std::size_t depth = limits::kMaxNodeDepth;
  const std::function<void()> nest = [&] {
    if (depth-- > 0) maker.group("G", nest);
  };
  maker.make_template("T", 1, root, nest);
  EXPECT_TRUE(Schema::make(maker.program()).ok());
  depth = limits::kMaxNodeDepth + 1;
  maker.make_template("U", 2, root, nest);
  EXPECT_FALSE(Schema::make(maker.program()).ok());
}

TEST(BufferSink, gives_the_same_place_until_the_commit) {
  std::size_t records = 0;
  BufferSink sink(4, [&](std::span<const Slot> record) {
    ++records;
    EXPECT_EQ(record.size(), 2U);
    EXPECT_EQ(record[0].words[0], 4711U);
  });
  const RecordSink::Place place = sink.open();
  EXPECT_EQ(sink.open().slots, place.slots);
  EXPECT_EQ(records, 0U);
  sink.commit({{4711}}, 2);
  EXPECT_EQ(records, 1U);
  const RecordSink::Place next = sink.open();
  EXPECT_EQ(next.slots, place.slots);  // room for one record
  EXPECT_NE(next.stamp(), place.stamp());
  EXPECT_NE(next.phase(), place.phase());
}

TEST(BufferSink, fills_a_larger_buffer_like_a_ring) {
  BufferSink sink(
      4, [](std::span<const Slot>) {}, 10);
  const RecordSink::Place first = sink.open();
  sink.commit({}, 3);
  EXPECT_EQ(sink.open().slots, first.slots + 3);
  EXPECT_EQ(sink.open().stamp(), first.stamp() + 3);
  sink.commit({}, 3);
  EXPECT_EQ(sink.open().slots, first.slots + 6);
  sink.commit({}, 1);
  const RecordSink::Place wrapped = sink.open();  // three slots are left, four could be wanted
  EXPECT_EQ(wrapped.slots, first.slots);
  EXPECT_EQ(wrapped.stamp(), first.stamp() + 10);
  EXPECT_NE(wrapped.phase(), first.phase());
}

}  // namespace stopbit::record::reader_test
