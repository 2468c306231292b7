#include <Vstopbit_splice.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "bench.hpp"
#include "microcode/base/error_code.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kMaxBytes = 4'096;  ///< Of a base; a string slot holds no more.

struct Operands {
  bool is_tail = false;
  bool is_vector = false;
  std::int32_t subtraction = 0;
  std::size_t base = 0;
  std::size_t addition = 0;
  std::size_t capacity = 0;
};

/// Bytes that tell where they come from.
char16_t base_byte(std::size_t place) {
  return static_cast<char16_t>(0x4000 + place);
}
char16_t addition_byte(std::size_t place) {
  return static_cast<char16_t>(0x8000 + place);
}

/// What the specification makes of them.
ErrorCode reference(const Operands& in, std::u16string& result) {
  std::u16string base;
  std::u16string addition;
  for (std::size_t i = 0; i < in.base; ++i) base += base_byte(i);
  for (std::size_t i = 0; i < std::min(in.addition, kMaxBytes + 1); ++i) addition += addition_byte(i);
  if (in.is_tail) {
    base.resize(base.size() - std::min(base.size(), in.addition));
    result = base + addition;
  } else {
    const std::int64_t removed = in.subtraction < 0 ? -(std::int64_t{in.subtraction} + 1) : in.subtraction;
    if (removed > static_cast<std::int64_t>(base.size())) return ErrorCode::D7;
    const auto count = static_cast<std::size_t>(removed);
    result = in.subtraction < 0 ? addition + base.substr(count) : base.substr(0, base.size() - count) + addition;
  }
  return result.size() > in.capacity ? ErrorCode::X3 : ErrorCode::None;
}

class Plan {
 public:
  explicit Plan(std::uint64_t seed) : random_(seed), bench_(seed) {
    bench_->begin_i = 0;
    bench_->next_i = 0;
    bench_.reset();
  }

  void check(const Operands& in) {
    SCOPED_TRACE(std::string(in.is_tail ? "tail of " : "delta of ") + std::to_string(in.addition) + " bytes on " +
                 std::to_string(in.base) + ", subtraction " + std::to_string(in.subtraction) + ", room for " +
                 std::to_string(in.capacity) + (in.is_vector ? ", vector" : ""));
    bench_->is_tail_i = in.is_tail;
    bench_->is_vector_i = in.is_vector;
    bench_->subtraction_i = static_cast<std::uint32_t>(in.subtraction);
    bench_->base_bytes_i = static_cast<std::uint16_t>(in.base);
    bench_->addition_bytes_i = static_cast<std::uint32_t>(in.addition);
    bench_->capacity_i = static_cast<std::uint16_t>(in.capacity);
    bench_->begin_i = 1;
    bench_.settle();
    std::u16string wanted;
    const ErrorCode code = reference(in, wanted);
    ASSERT_EQ(bench_->code_o, static_cast<unsigned>(code));
    bench_.step();
    bench_->begin_i = 0;
    // What planned it is of no matter any more.
    bench_->base_bytes_i = static_cast<std::uint16_t>(random_.below(kMaxBytes));
    bench_->addition_bytes_i = static_cast<std::uint32_t>(random_.below(kMaxBytes));
    bench_->subtraction_i = static_cast<std::uint32_t>(random_.bits());
    if (code == ErrorCode::None) follow(in, wanted);
  }

  [[nodiscard]] Random& random() { return random_; }

 private:
  struct Step {
    bool is_base = false;
    std::size_t word = 0;
    std::size_t skip = 0;
    std::size_t bytes = 0;
    std::size_t at = 0;
    bool emits = false;
    bool is_last = false;
    bool probes = false;
    std::size_t result_bytes = 0;
  };

  /// splice_step_t.
  [[nodiscard]] Step shown() {
    const std::uint32_t bits = bench_->step_o;
    return {.is_base = (bits >> 27 & 1) != 0,
            .word = bits >> 18 & 0x1FF,
            .skip = bits >> 15 & 7,
            .bytes = bits >> 11 & 15,
            .at = bits >> 7 & 15,
            .emits = (bits >> 6 & 1) != 0,
            .is_last = (bits >> 5 & 1) != 0,
            .probes = (bits >> 4 & 1) != 0,
            .result_bytes = bits & 15};
  }

  /// Takes the steps, and does what each says.
  void follow(const Operands& in, const std::u16string& wanted) {
    std::u16string result;
    std::u16string word;
    std::size_t steps = 0;
    for (bool is_last = false; !is_last;) {
      for (std::uint64_t wait = random_.below(3); wait > 0; --wait) bench_.step();
      bench_.settle();
      const Step step = shown();
      ++steps;
      ASSERT_LE(step.skip + step.bytes, 8U);
      ASSERT_EQ(step.at, word.size());
      ASSERT_TRUE(step.bytes > 0 || step.is_last);
      for (std::size_t i = 0; i < step.bytes; ++i) {
        const std::size_t place = step.word * 8 + step.skip + i;
        ASSERT_LT(place, step.is_base ? in.base : in.addition);
        word += step.is_base ? base_byte(place) : addition_byte(place);
      }
      ASSERT_EQ(step.probes, step.is_last && in.is_vector && wanted.size() == 8);
      if (step.probes) {
        ASSERT_EQ(step.bytes, 0U);
        ASSERT_EQ(word.size(), 8U);
      }
      is_last = step.is_last;
      if (step.emits) {
        ASSERT_EQ(step.result_bytes, is_last ? wanted.size() - result.size() : 8U);
        ASSERT_LE(step.result_bytes, word.size());
        result += word.substr(0, step.result_bytes);
        word.erase(0, step.result_bytes);
      } else {
        ASSERT_FALSE(is_last);
      }
      ASSERT_LE(result.size(), wanted.size());
      bench_->next_i = 1;
      bench_.step();
      bench_->next_i = 0;
    }
    ASSERT_EQ(word.size(), 0U);
    ASSERT_TRUE(result == wanted);
    // Three ends of runs in the middle of a word, and the step that waits.
    ASSERT_LE(steps, (wanted.size() + 7) / 8 + 3);
  }

  Random random_;
  Bench<Vstopbit_splice> bench_;
};

TEST(Splice, makes_what_the_specification_says_of_all_short_operands) {
  Plan plan(1);
  for (std::size_t base = 0; base <= 18; ++base) {
    for (std::size_t addition = 0; addition <= 18; ++addition) {
      for (const bool is_vector : {false, true}) {
        plan.check({.is_tail = true, .is_vector = is_vector, .base = base, .addition = addition, .capacity = 24});
        for (std::int32_t subtraction = -20; subtraction <= 19; ++subtraction) {
          plan.check({false, is_vector, subtraction, base, addition, 24});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Splice, makes_what_the_specification_says_of_long_operands) {
  Plan plan(2);
  for (int i = 0; i < 3'000; ++i) {
    Operands in;
    in.is_tail = plan.random().chance(30);
    in.is_vector = plan.random().chance(50);
    in.capacity = plan.random().chance(50) ? kMaxBytes : plan.random().below(kMaxBytes + 1);
    in.base = plan.random().below(in.capacity + 1);
    in.addition = plan.random().below(in.capacity - in.base + 40);
    in.subtraction =
        static_cast<std::int32_t>(plan.random().below(2 * in.base + 4)) - static_cast<std::int32_t>(in.base) - 2;
    plan.check(in);
    if (HasFatalFailure()) return;
  }
}

TEST(Splice, refuses_what_does_not_fit_however_large_it_is) {
  Plan plan(3);
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  for (const std::int32_t subtraction : {kMin, kMin + 1, -4'098, -4'097, 4'096, 4'097, 8'192, 65'536, kMax - 1, kMax}) {
    for (const std::size_t base : {std::size_t{0}, std::size_t{1}, kMaxBytes - 1, kMaxBytes}) {
      plan.check({false, false, subtraction, base, 0, kMaxBytes});
    }
  }
  for (const std::size_t addition :
       {kMaxBytes, kMaxBytes + 1, 2 * kMaxBytes, std::size_t{65'535}, std::size_t{131'071}}) {
    for (const std::size_t base : {std::size_t{0}, std::size_t{1}, kMaxBytes}) {
      for (const bool is_tail : {false, true}) plan.check({is_tail, true, 0, base, addition, kMaxBytes});
    }
  }
}

}  // namespace
}  // namespace stopbit::sim
