#include "host/refill/cme.hpp"

#include <array>

#include "host/refill/fix_tags.hpp"

namespace stopbit::refill {

std::size_t Cme::request(std::span<char> to, const Sending& sending, Range range) const noexcept {
  const FixText serial = FixText::number(sending.serial);
  const FixText first = FixText::number(range.first);
  const FixText last = FixText::number(range.last);
  const std::array<FixField, 4> fields = {{{kApplId, options().feed},
                                           {kMdReqId, serial.view()},
                                           {kApplBegSeqNum, first.view()},
                                           {kApplEndSeqNum, last.view()}}};
  return write(to, "V", sending, fields);
}

}  // namespace stopbit::refill
