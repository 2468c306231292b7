#pragma once

#include <span>
#include <utility>

#include "host/refill/fix_dialect.hpp"

namespace stopbit::refill {

/// The TCP recovery of B3's UMDF: FIX 4.4 in both directions. A request is an ApplicationMessageRequest (BW); the
/// service answers with its acknowledgement (BX), reports of raw data (URDR) with messages in FAST, without the header
/// of their chunks, and a report that the answer is complete (BY).
///
/// Unproven: no transcript of a session that we did not make was at hand. Pages name these messages, ApplBegSeqNum and
/// ApplEndSeqNum; the tags of URDR (a group of NoApplSeqNums, 10054: ApplSeqNum, ApplLastSeqNum, RawDataOffset, 10055,
/// RawDataLength) are public too. They do not name, and we chose: log-on with ResetSeqNumFlag and heartbeats every
/// 30 s; the meaning of ApplResponseType (0 accepted) and ApplReportType (3 complete, 2 a heartbeat) is that of FIX 5.0
/// SP2; every other one refuses, as Reject (3), BusinessMessageReject (j) and Y do.
class B3 final : public FixDialect {
 public:
  explicit B3(FixOptions options)
      : FixDialect(std::move(options), {.begin_string = "FIX.4.4", .heartbeat_s = 30, .begins_numbers_anew = true}) {}
  [[nodiscard]] std::size_t request(std::span<char> to, const Sending& sending, Range range) const noexcept override;
  [[nodiscard]] std::optional<std::uint64_t> frame(std::span<const std::byte> bytes) const noexcept override {
    return fix::fix_frame(bytes, form().begin_string);
  }
  [[nodiscard]] std::size_t most_bytes(std::size_t message_bytes) const noexcept override;
  [[nodiscard]] std::size_t most_messages(std::size_t frame_bytes) const noexcept override;
  [[nodiscard]] std::optional<Reply> read(std::span<const std::byte> frame, Place& place) const noexcept override;
  [[nodiscard]] bool logs_on_in_fast() const noexcept override { return false; }
};

}  // namespace stopbit::refill
