#include <Vstopbit_utf8.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "bench.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::sim {
namespace {

/// Bytes at the borders of what the rules tell apart.
constexpr std::array<unsigned char, 26> kBytes = {0x00, 0x41, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x9F, 0xA0,
                                                  0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
                                                  0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};

class Checker {
 public:
  Checker() {
    model_.clk_i = 0;
    model_.eval();
  }
  ~Checker() { model_.final(); }
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  /// Word by word, with words of other strings in between that do not move.
  bool accepts(const std::string& text) {
    bool is_good = true;
    for (std::size_t i = 0; i == 0 || i < text.size(); i += 8) {
      std::uint64_t word = 0;
      for (std::size_t k = i; k < std::min(i + 8, text.size()); ++k) {
        word |= std::uint64_t{static_cast<unsigned char>(text[k])} << 8 * (k - i);
      }
      model_.word_i = ~word;
      model_.move_i = 0;
      step();
      model_.word_i = word;
      model_.is_first_i = i == 0;
      model_.is_last_i = i + 8 >= text.size();
      model_.move_i = 1;
      model_.eval();
      is_good = is_good && model_.is_bad_o == 0;
      step();
    }
    return is_good;
  }

 private:
  void step() {
    model_.clk_i = 1;
    model_.eval();
    model_.clk_i = 0;
    model_.eval();
  }
  VerilatedContext context_;
  Vstopbit_utf8 model_{&context_};
};

std::string hex(const std::string& text) {
  std::string out;
  for (const char c : text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

TEST(Utf8, agrees_with_the_software_on_all_that_its_rules_tell_apart) {
  Checker checker;
  int good = 0;
  for (const unsigned char a : kBytes) {
    for (const unsigned char b : kBytes) {
      for (const unsigned char c : kBytes) {
        for (const unsigned char d : kBytes) {
          // At the beginning, over the end of a word, and at the end of one.
          const std::string text{static_cast<char>(a), static_cast<char>(b), static_cast<char>(c),
                                 static_cast<char>(d)};
          const std::size_t before = (a + b + c) % 9U;
          const std::size_t behind = d % 5U;
          const std::string all = std::string(before, 'x') + text + std::string(behind, 'x');
          const bool wanted = is_utf8(all);
          ASSERT_EQ(checker.accepts(all), wanted) << hex(all);
          good += wanted ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(good, 100);
}

TEST(Utf8, agrees_with_the_software_on_texts) {
  Checker checker;
  Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (std::uint64_t left = random.below(12); left > 0; --left) {
      const std::uint64_t code = random.below(4) == 0 ? random.below(0x11'0000) : random.below(0x900);
      const auto put = [&](std::uint64_t byte) { text += static_cast<char>(byte); };
      if (code < 0x80) {
        put(code);
      } else if (code < 0x800) {
        put(0xC0 | code >> 6);
        put(0x80 | (code & 0x3F));
      } else if (code < 0x10000) {
        put(0xE0 | code >> 12);
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
      } else {
        put(0xF0 | code >> 18);
        put(0x80 | (code >> 12 & 0x3F));
        put(0x80 | (code >> 6 & 0x3F));
        put(0x80 | (code & 0x3F));
      }
    }
    if (random.chance(30)) text.resize(random.below(text.size() + 1));
    if (random.chance(20) && !text.empty()) text[random.below(text.size())] = static_cast<char>(random.below(256));
    ASSERT_EQ(checker.accepts(text), is_utf8(text)) << hex(text);
  }
}

}  // namespace
}  // namespace stopbit::sim
