#pragma once

#include <span>
#include <utility>

#include "host/refill/fix_dialect.hpp"

namespace stopbit::refill {

/// The historical replay of the Moscow Exchange: requests are FIX text, answers FAST messages after their length, a
/// u32 with the lowest byte first.
///
/// Unproven: no transcript of a session that we did not make was at hand. The form of the requests is that of FIX 5.0
/// SP2 with the fields that public pages name (V with ApplID, ApplBegSeqNum, ApplEndSeqNum).
class Moex final : public LengthDialect {
 public:
  explicit Moex(FixOptions options)
      : LengthDialect(std::move(options), {.begin_string = "FIXT.1.1", .version = "9"}, {.lowest_byte_first = true}) {}
  [[nodiscard]] std::size_t request(std::span<char> to, const Sending& sending, Range range) const noexcept override;
};

}  // namespace stopbit::refill
