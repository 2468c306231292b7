#include "host/refill/moex.hpp"

#include <array>

#include "host/refill/fix_tags.hpp"

namespace stopbit::refill {

std::size_t Moex::request(std::span<char> to, const Sending& sending, Range range) const noexcept {
  const FixText first = FixText::number(range.first);
  const FixText last = FixText::number(range.last);
  const std::array<FixField, 3> fields = {
      {{kApplId, options().feed}, {kApplBegSeqNum, first.view()}, {kApplEndSeqNum, last.view()}}};
  return write(to, "V", sending, fields);
}

}  // namespace stopbit::refill
