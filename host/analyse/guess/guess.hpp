#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/analyse/guess/sample.hpp"
#include "host/analyse/guess/trial.hpp"
#include "microcode/program.hpp"

/// Finds the framing and reset rule of a capture: every candidate decodes the same packets, and the best is reported
/// with its evidence.
namespace stopbit::guess {

inline constexpr std::uint32_t kMaxSkip = 16;  ///< Longest preamble that is tried without a preset.

/// How the sequence numbers of a framing behave from one datagram of a group to the next.
struct Sequence {
  std::uint64_t pairs = 0;     ///< Datagrams that have one before them in their group.
  std::uint64_t next = 0;      ///< One more than before.
  std::uint64_t repeated = 0;  ///< The same: the capture has both lines.
  std::uint64_t gaps = 0;      ///< Up to 1,000 more.
  std::uint64_t back = 0;      ///< Up to 1,000 less: out of order.
  std::uint64_t messages = 0;  ///< Datagrams whose message has a MsgSeqNum (tag 34) of its own.
  std::uint64_t agreeing = 0;  ///< Of those, with the same number in the preamble.

  /// Whether these are the numbers of a sequence, as far as the datagrams show.
  [[nodiscard]] bool is_plausible() const noexcept;
};

struct Candidate {
  Trial trial;
  Sequence sequence;
  std::string remark;  ///< The reason for its rank; may be empty.
};

struct Guess {
  std::vector<Candidate> ranked;  ///< The best first. Candidates that decoded nothing are left out.
  bool fits = false;              ///< The best one does.
  std::string verdict;            ///< A sentence or two: what was found, or why nothing fits.
  std::uint64_t packets = 0;      ///< Of the sample.
  std::uint64_t datagrams = 0;    ///< Of those, UDP datagrams.
};

/// Decodes the sample with every candidate: the presets, and preambles of 0 to kMaxSkip bytes, each with every reset
/// rule, in plain and in block streams. `program` must be verified.
[[nodiscard]] Guess guess(const Program& program, const Sample& sample);

/// A table of at most `rows` candidates, and the command line to use next. `templates` is how that names the program.
[[nodiscard]] std::string to_text(const Guess& guess, const std::string& capture, const std::string& program_options,
                                  std::size_t rows);
/// One object.
[[nodiscard]] std::string to_json(const Guess& guess, const std::string& capture);

}  // namespace stopbit::guess
