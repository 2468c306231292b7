#include "host/refill/cme.hpp"

#include <array>

#include "host/fix/fix_tags.hpp"

namespace stopbit::refill {

std::size_t Cme::request(std::span<char> to, const Sending& sending, Range range) const noexcept {
  const fix::FixText serial = fix::FixText::number(sending.serial);
  const fix::FixText first = fix::FixText::number(range.first);
  const fix::FixText last = fix::FixText::number(range.last);
  const std::array<fix::FixField, 4> fields = {{{fix::kApplId, options().feed},
                                                {fix::kMdReqId, serial.view()},
                                                {fix::kApplBegSeqNum, first.view()},
                                                {fix::kApplEndSeqNum, last.view()}}};
  return write(to, "V", sending, fields);
}

}  // namespace stopbit::refill
