#include "templates/sema/value.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace stopbit::templates::sema::value_test {

std::string text_of(const Result<ast::Value>& value) {
  if (!value) return "refused";
  return std::to_string(static_cast<std::int64_t>(value.value().integer));
}

std::string integer(std::string_view text, FieldType type) {
  return text_of(convert(text, type, nullptr));
}

std::string decimal(std::string_view text) {
  const Result<ast::Value> value = convert(text, FieldType::Decimal, nullptr);
  if (!value) return "refused";
  return std::to_string(static_cast<std::int64_t>(value.value().integer)) + 'e' +
         std::to_string(value.value().exponent);
}

TEST(InitialValue, trims_and_range_checks_integers) {
  EXPECT_EQ(integer(" 42\n", FieldType::UInt32), "42");
  EXPECT_EQ(integer("-2147483648", FieldType::Int32), "-2147483648");
  EXPECT_EQ(integer("-2147483649", FieldType::Int32), "refused");
  EXPECT_EQ(integer("4294967295", FieldType::UInt32), "4294967295");
  EXPECT_EQ(integer("4294967296", FieldType::UInt32), "refused");
  EXPECT_EQ(integer("18446744073709551615", FieldType::UInt64), "-1") << "as two's complement";
  EXPECT_EQ(integer("18446744073709551616", FieldType::UInt64), "refused");
  EXPECT_EQ(integer("9223372036854775807", FieldType::Int64), "9223372036854775807");
  EXPECT_EQ(integer("9223372036854775808", FieldType::Int64), "refused");
  EXPECT_EQ(integer("127", FieldType::Int8), "127");
  EXPECT_EQ(integer("128", FieldType::Int8), "refused");
  EXPECT_EQ(integer("255", FieldType::UInt8), "255");
  EXPECT_EQ(integer("256", FieldType::UInt8), "refused");
  EXPECT_EQ(integer("-32768", FieldType::Int16), "-32768");
  EXPECT_EQ(integer("65536", FieldType::UInt16), "refused");
  EXPECT_EQ(integer("-5", FieldType::Timestamp), "-5");
}

TEST(InitialValue, refuses_what_is_not_an_integer) {
  for (const char* text : {"", " ", "-", "+1", "1.0", "0x10", "1 2", "--1", "1-"})
    EXPECT_EQ(integer(text, FieldType::Int32), "refused") << text;
  EXPECT_EQ(integer("-1", FieldType::UInt32), "refused");
}

TEST(InitialValue, normalises_decimals) {
  EXPECT_EQ(decimal("1"), "1e0");
  EXPECT_EQ(decimal("1.1"), "11e-1");
  EXPECT_EQ(decimal(".1"), "1e-1");
  EXPECT_EQ(decimal("-0.1"), "-1e-1");
  EXPECT_EQ(decimal("12000"), "12e3");
  EXPECT_EQ(decimal("0.5000"), "5e-1");
  EXPECT_EQ(decimal("100.00"), "1e2");
  EXPECT_EQ(decimal("0"), "0e0");
  EXPECT_EQ(decimal("-0.000"), "0e0");
  EXPECT_EQ(decimal("007.70"), "77e-1");
  EXPECT_EQ(decimal("-9223372036854775808"), "-9223372036854775808e0");
}

TEST(InitialValue, refuses_what_is_not_a_decimal_of_ours) {
  for (const char* text : {"", ".", "-", "-.", "1.", "1e5", "1,5", "1.2.3", "+1", "- 1"})
    EXPECT_EQ(decimal(text), "refused") << text;
  EXPECT_EQ(decimal("9223372036854775808"), "refused") << "the mantissa";
  EXPECT_EQ(decimal("1" + std::string(63, '0')), "1e63");
  EXPECT_EQ(decimal("1" + std::string(64, '0')), "refused") << "the exponent";
  EXPECT_EQ(decimal("." + std::string(62, '0') + "1"), "1e-63");
  EXPECT_EQ(decimal("." + std::string(63, '0') + "1"), "refused");
}

TEST(InitialValue, range_checks_exponents) {
  EXPECT_EQ(text_of(convert_exponent("-63")), "-63");
  EXPECT_EQ(text_of(convert_exponent("63")), "63");
  EXPECT_EQ(text_of(convert_exponent("64")), "refused");
  EXPECT_EQ(text_of(convert_exponent("-64")), "refused");
  EXPECT_EQ(text_of(convert_exponent("x")), "refused");
}

TEST(InitialValue, reads_byte_vectors_as_hexadecimal_digits) {
  const Result<ast::Value> value = convert(" 00 fF\n7f", FieldType::ByteVector, nullptr);
  ASSERT_TRUE(value);
  EXPECT_EQ(value.value().bytes, std::string("\x00\xff\x7f", 3));
  EXPECT_TRUE(convert("", FieldType::ByteVector, nullptr));
  EXPECT_FALSE(convert("123", FieldType::ByteVector, nullptr));
  EXPECT_FALSE(convert("0g", FieldType::ByteVector, nullptr));
}

TEST(InitialValue, takes_strings_as_they_are) {
  EXPECT_EQ(convert(" a ", FieldType::Ascii, nullptr).value().bytes, " a ");
  EXPECT_FALSE(convert("\xC3\xA9", FieldType::Ascii, nullptr));
  EXPECT_EQ(convert("\xC3\xA9", FieldType::Unicode, nullptr).value().bytes, "\xC3\xA9");
}

TEST(InitialValue, takes_an_element_by_number_name_or_label) {
  const ast::Enumeration enumeration{"Side", {{"1", "Buy"}, {"2", "Sell"}, {"Z", "1"}}};
  const ElementIndex sides(enumeration);
  const auto element = [&](std::string_view text) { return text_of(convert(text, FieldType::Enum, &sides)); };
  EXPECT_EQ(element("0"), "0");
  EXPECT_EQ(element(" 2 "), "2") << "the number on the wire, not the element named 2";
  EXPECT_EQ(element("Z"), "2");
  EXPECT_EQ(element("Sell"), "1");
  EXPECT_EQ(element("3"), "refused");
  EXPECT_EQ(element(""), "refused");
  EXPECT_TRUE(is_ambiguous("2", sides));
  EXPECT_FALSE(is_ambiguous("0", sides));
  EXPECT_FALSE(is_ambiguous("Sell", sides));
  const ast::Enumeration large_names{"", {{"100", ""}}};
  const ElementIndex hundreds(large_names);
  EXPECT_EQ(text_of(convert("100", FieldType::Enum, &hundreds)), "0") << "no number of an element, so a name";
}

TEST(InitialValue, takes_a_set_by_bits_or_names) {
  const ast::Enumeration enumeration{"", {{"X", "first"}, {"Y", ""}, {"9", ""}}};
  const ElementIndex flags(enumeration);
  const auto set = [&](std::string_view text) { return text_of(convert(text, FieldType::Set, &flags)); };
  EXPECT_EQ(set("0"), "0");
  EXPECT_EQ(set("7"), "7");
  EXPECT_EQ(set("8"), "refused");
  EXPECT_EQ(set("9"), "4") << "no bits of the set, so a name";
  EXPECT_EQ(set(" X  9 "), "5");
  EXPECT_EQ(set("first Y"), "3");
  EXPECT_EQ(set(""), "0");
  EXPECT_EQ(set("X Q"), "refused");
  ast::Enumeration full;
  full.elements.resize(64, {"e", ""});
  const ElementIndex all(full);
  EXPECT_EQ(text_of(convert("18446744073709551615", FieldType::Set, &all)), "-1");
}

TEST(InitialValue, takes_booleans_as_words_or_digits) {
  EXPECT_EQ(integer("true", FieldType::Boolean), "1");
  EXPECT_EQ(integer("1", FieldType::Boolean), "1");
  EXPECT_EQ(integer("false", FieldType::Boolean), "0");
  EXPECT_EQ(integer("0", FieldType::Boolean), "0");
  EXPECT_EQ(integer("yes", FieldType::Boolean), "refused");
}

}  // namespace stopbit::templates::sema::value_test
