#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "decoder/engine/engine.hpp"

namespace stopbit::attack {

/// What an attack did, for people and for the log.
struct Counts {
  std::uint64_t targets = 0;     ///< Templates, images or programs attacked.
  std::uint64_t executions = 0;  ///< Datagrams decoded, those that only prepare or check an engine not counted.
  std::uint64_t whole = 0;       ///< Datagrams without an error.
  std::uint64_t messages = 0;
  std::uint64_t refused = 0;   ///< Images, programs or templates that were refused by name.
  std::uint64_t accepted = 0;  ///< Changed images or programs that passed the verifier.
  std::uint64_t cells = 0;     ///< Of type, operator, presence, state and what is sent, each tried at least once.
  std::uint64_t worst_share_percent = 0;    ///< Most instructions of a datagram, of what the verifier allows.
  std::array<std::uint64_t, 256> errors{};  ///< By code.

  void add(const Outcome& outcome) {
    ++executions;
    messages += outcome.messages;
    if (outcome.error == ErrorCode::None) {
      ++whole;
    } else {
      ++errors[static_cast<std::size_t>(outcome.error)];
    }
  }
};

/// One JSON object on one line.
[[nodiscard]] std::string json_line(std::string_view attack, std::uint64_t seed, const Counts& counts,
                                    std::chrono::duration<double> time);

/// Says every few seconds on stderr how far it is.
class Progress {
 public:
  explicit Progress(std::string_view attack) : attack_(attack) {}
  void tell(const Counts& counts, std::string_view target);

 private:
  using Clock = std::chrono::steady_clock;
  std::string_view attack_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point told_ = begin_;
};

}  // namespace stopbit::attack
