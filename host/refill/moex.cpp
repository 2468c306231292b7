#include "host/refill/moex.hpp"

#include <array>

#include "host/fix/fix_tags.hpp"

namespace stopbit::refill {

std::size_t Moex::request(std::span<char> to, const Sending& sending, Range range) const noexcept {
  const fix::FixText first = fix::FixText::number(range.first);
  const fix::FixText last = fix::FixText::number(range.last);
  const std::array<fix::FixField, 3> fields = {
      {{fix::kApplId, options().feed}, {fix::kApplBegSeqNum, first.view()}, {fix::kApplEndSeqNum, last.view()}}};
  return write(to, "V", sending, fields);
}

}  // namespace stopbit::refill
