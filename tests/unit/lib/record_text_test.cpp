#include "tests/lib/record_text.hpp"

#include <gtest/gtest.h>

namespace stopbit::cases::record_text_test {

TEST(RecordText, drops_the_envelope_and_the_quotes_of_keys) {
  EXPECT_EQ(
      record_text("{\"template\":\"Quote\",\"id\":1,\"fields\":{\"Px\":94.50,\"S\":[\"A,}\\\"\",\"B\"],\"E\":[]}}\n"),
      "Quote { Px: 94.50, S: [\"A,}\\\"\", \"B\"], E: [] }");
  EXPECT_EQ(record_text("{\"template\":\"Q\",\"id\":1,\"fields\":{\"G\":{\"A\":1},\"L\":[{\"B\":true},{}]}}"),
            "Q { G: { A: 1 }, L: [{ B: true }, { }] }");
  EXPECT_EQ(record_text("{\"template\":\"Q\",\"id\":1,\"fields\":{}}"), "Q { }");
}

TEST(RecordText, shows_references_as_messages) {
  EXPECT_EQ(record_text("{\"template\":\"M\",\"id\":1,\"fields\":{\"templateRef\":"
                        "{\"template\":\"X\",\"id\":2,\"fields\":{\"N\":5}},\"A\":1}}"),
            "M { templateRef: X { N: 5 }, A: 1 }");
}

TEST(RecordText, refuses_what_is_not_a_record) {
  EXPECT_FALSE(record_text(""));
  EXPECT_FALSE(record_text("{\"error\":\"D2\"}"));
  EXPECT_FALSE(record_text("{\"template\":\"Q\",\"id\":1,\"fields\":{\"A\":1}"));
  EXPECT_FALSE(record_text("{\"template\":\"Q\",\"id\":1,\"fields\":{\"A\":1 \"B\":2}}"));
  EXPECT_FALSE(record_text("{\"template\":\"Q\",\"id\":1,\"fields\":{\"A\":1}}x"));
  EXPECT_FALSE(record_text("{\"template\":\"Q\",\"id\":1,\"fields\":" + std::string(100, '[')));
}

}  // namespace stopbit::cases::record_text_test
