#pragma once

#include "host/market/map/map.hpp"
#include "host/market/stage/extractor.hpp"

namespace stopbit::market {

/// Whether a test of a condition holds for the values.
[[nodiscard]] inline bool holds(const Map& map, const CompiledTest& test, const Values& values) noexcept {
  if (!values.has(test.slot)) return test.absent || test.how == CompiledTest::How::Absent;
  const std::uint64_t bits = values.bits(test.slot);
  switch (test.how) {
    case CompiledTest::How::Is:
      for (std::uint32_t i = 0; i < test.is.count; ++i) {
        if (map.values[test.is.first + i] == bits) return true;
      }
      return false;
    case CompiledTest::How::AnyOf: return (bits & test.number) != 0;
    case CompiledTest::How::NoneOf: return (bits & test.number) == 0;
    case CompiledTest::How::Above:
      return record::is_signed(values.type(test.slot))
                 ? static_cast<std::int64_t>(bits) > static_cast<std::int64_t>(test.number)
                 : bits > test.number;
    case CompiledTest::How::Absent: return false;
  }
  return false;
}

/// Whether all tests of a condition hold.
[[nodiscard]] inline bool holds(const Map& map, const CompiledCondition& condition, const Values& values) noexcept {
  if ((condition.needs & ~values.present()) != 0) return false;
  if (condition.only_slot != kNoSlot) {
    return values.bits(condition.only_slot) == condition.only;
  }
  if (condition.never) return false;
  for (std::uint32_t i = 0; i < condition.tests.count; ++i) {
    if (!holds(map, map.tests[condition.tests.first + i], values)) return false;
  }
  return true;
}

}  // namespace stopbit::market
