#include "decoder/state/dictionary.hpp"

#include <gtest/gtest.h>

namespace stopbit::state::dictionary_test {

Program program_with_slots() {
  Program program;
  program.slots.resize(4);
  program.slots[2].string_capacity = 16;
  program.slots[3].string_capacity = 8;
  return program;
}

TEST(Dictionary, begins_undefined_and_is_undefined_after_a_reset) {
  Dictionary dictionary(program_with_slots());
  EXPECT_EQ(dictionary.state(1), Dictionary::State::Undefined);
  dictionary.assign(1, EntryType::U64, 42);
  EXPECT_EQ(dictionary.state(1), Dictionary::State::Assigned);
  EXPECT_EQ(dictionary.type(1), EntryType::U64);
  EXPECT_EQ(dictionary.value(1), 42U);
  dictionary.reset();
  EXPECT_EQ(dictionary.state(1), Dictionary::State::Undefined);
}

TEST(Dictionary, empty_is_neither_undefined_nor_assigned) {
  Dictionary dictionary(program_with_slots());
  dictionary.set_empty(1);
  EXPECT_EQ(dictionary.state(1), Dictionary::State::Empty);
  dictionary.reset();
  EXPECT_EQ(dictionary.state(1), Dictionary::State::Undefined);
}

TEST(Dictionary, strings_keep_to_their_own_entry) {
  Dictionary dictionary(program_with_slots());
  dictionary.assign(2, EntryType::Ascii, std::string_view("sixteen bytes!!!"));
  dictionary.assign(3, EntryType::Bytes, std::string_view("eight..."));
  EXPECT_EQ(dictionary.string(2), "sixteen bytes!!!");
  EXPECT_EQ(dictionary.string(3), "eight...");
  EXPECT_EQ(dictionary.capacity(1), 0U);
}

TEST(Dictionary, an_entry_can_be_assigned_a_piece_of_itself) {
  Dictionary dictionary(program_with_slots());
  dictionary.assign(2, EntryType::Ascii, std::string_view("abcdefgh"));
  dictionary.assign(2, EntryType::Ascii, dictionary.string(2).substr(3));
  EXPECT_EQ(dictionary.string(2), "defgh");
}

}  // namespace stopbit::state::dictionary_test
