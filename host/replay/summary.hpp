#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/feed/arbitrate/account.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/replay/missing_numbers.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/program.hpp"

namespace stopbit::replay {

/// Account of a group's datagrams.
struct GroupCount {
  net::Endpoint group;
  std::uint64_t datagrams = 0;
  NumberCount numbers = {};
};

/// Account of the packets of a feed's channel.
struct ChannelCount {
  std::uint16_t number = 0;
  std::string name;
  bool ordered = true;
  arbitrate::Account account;
  std::uint64_t gaps = 0;
  std::uint64_t runs = 0;    ///< Of sequence numbers, the first one included.
  std::uint64_t resets = 0;  ///< Of these, begun by a sequence reset or another sender.
  std::array<bool, 2> has_line{};
  std::array<arbitrate::LineStats, 2> lines;
  arbitrate::Histogram late_by;
};

/// Account of a replay. Nothing is lost without being counted:
///
///     packets            = filtered + sum of verdicts
///     verdicts[Accepted] = ungrouped + chunks + datagrams - joined
///
/// With channels of a feed the second line is, over the channels' accounts,
///
///     verdicts[Accepted] = packets received
///     delivered          = chunks + datagrams - joined
///
/// but for channels without sequence numbers, whose malformed datagrams are among `datagrams`.
struct Summary {
  std::uint64_t captures = 0;  ///< Read to their end, or as far as they go.
  std::uint64_t packets = 0;
  std::uint64_t packet_bytes = 0;  ///< Of the frames, as captured.

  std::array<std::uint64_t, net::kVerdicts> verdicts{};  ///< By net::Verdict, of the packets that may concern us.
  std::uint64_t ignored_bytes = 0;                       ///< After the end given by the UDP length or by the preamble.
  std::uint64_t filtered = 0;                            ///< Of groups that were not asked for.
  std::uint64_t ungrouped = 0;                           ///< Not decoded: the channel table was full.

  std::uint64_t datagrams = 0;  ///< Given to the engine; one put together from chunks counts once.
  std::uint64_t datagram_bytes = 0;
  std::uint64_t dropped = 0;     ///< Of those, not decoded: the channel waited for a reset after an error.
  std::uint64_t chunks = 0;      ///< Datagrams that were a part of a message only.
  std::uint64_t joined = 0;      ///< Datagrams put together from chunks.
  std::uint64_t incomplete = 0;  ///< Chunked messages of which a chunk was missing, and chunks without a beginning.
  std::uint64_t oversized = 0;   ///< Chunked messages longer than a datagram may be.

  std::uint64_t messages = 0;
  std::uint64_t fields = 0;
  std::vector<std::uint64_t> templates;     ///< Messages by template index of the program.
  std::array<std::uint64_t, 256> errors{};  ///< Decode errors by ErrorCode.
  std::uint64_t faults = 0;                 ///< Captures that ended before their time.
  std::vector<GroupCount> groups;           ///< By channel; empty for a feed.
  std::vector<ChannelCount> channels;       ///< Of a feed.

  std::vector<std::string>
      session;           ///< The first session control messages, as JSON; filled in by the caller that collects them.
  std::string disorder;  ///< The captures were not read in the order of their times; empty: they were.
  std::vector<std::string> problems;   ///< The first ones in words: "day.pcap: packet 12, byte 41: ... [D2]".
  std::uint64_t problems_unnamed = 0;  ///< How many more there were.

  bool stopped = false;  ///< By request, before the end.
  bool limited = false;  ///< By Options::limit.
  double seconds = 0;    ///< Wall time from the first packet to the last.
  std::uint64_t first_arrival_ns = 0;
  std::uint64_t last_arrival_ns = 0;

  [[nodiscard]] std::uint64_t decode_errors() const noexcept;
  /// Datagrams given to the engine that it decoded to their end.
  [[nodiscard]] std::uint64_t decoded() const noexcept;
  /// Sequence numbers of all groups; not of a feed.
  [[nodiscard]] NumberCount numbers() const noexcept;
  /// Number of damaged, cut, lost or rejected items. 0 = everything requested was decoded; otherwise a tool exits with
  /// 1.
  [[nodiscard]] std::uint64_t error_count() const noexcept;
};

/// Notices captures that are read one after the other, but not in the order of their times. Names must outlive it.
/// Allocates in disorder() only.
class CaptureOrder {
 public:
  /// The first packet of a capture.
  void begin(std::string_view name, std::uint64_t arrival_ns) noexcept;
  /// The last packet of the same one.
  void end(std::string_view name, std::uint64_t arrival_ns) noexcept;
  /// A warning about the first such capture; empty: there is none.
  [[nodiscard]] std::string disorder() const;

 private:
  struct Moment {
    std::string_view name;
    std::uint64_t arrival_ns = 0;
  };
  Moment last_;
  Moment begins_;  ///< The capture in disorder; without a name: none.
  Moment before_;  ///< What was last then.
};

struct SummaryStyle {
  bool timing = true;  ///< Durations and rates; without them the same replay always gives the same text.
};

/// Some lines for people.
[[nodiscard]] std::string to_text(const Summary& summary, const Program& program, SummaryStyle style = {});
/// "3.4 MB"
[[nodiscard]] std::string byte_text(std::uint64_t bytes);

}  // namespace stopbit::replay
