#pragma once

#include <span>
#include <utility>

#include "host/refill/fix_dialect.hpp"

namespace stopbit::refill {

/// The TCP replay of CME's FAST feeds (MDP 2): requests are FIX text, an answer is its length, the preamble of the
/// feed (u32 number, u8 sub-channel, highest byte first) and the message in FAST. Log-on and log-out of the service are
/// answers too. One request a connection; the service logs out after it.
///
/// Unproven: no transcript of a session that we did not make was at hand. Pages name V with ApplID, ApplBeginSeqNo and
/// ApplEndSeqNo, the length and the preamble, and heartbeats every 2 s. They do not name, and we chose: the length is a
/// u32 with the highest byte first, as the preamble has it, and counts what follows it; header, log-on and MDReqID
/// (which a V must have) are those of FIX 5.0 SP2.
class Cme final : public LengthDialect {
 public:
  explicit Cme(FixOptions options)
      : LengthDialect(std::move(options), {.begin_string = "FIXT.1.1", .heartbeat_s = 2, .version = "9"},
                      {.preamble_bytes = 5}) {}
  [[nodiscard]] std::size_t request(std::span<char> to, const Sending& sending, Range range) const noexcept override;
};

}  // namespace stopbit::refill
