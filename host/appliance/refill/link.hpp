#pragma once

#include <cstdint>

#include "host/appliance/refill/answer_queue.hpp"
#include "host/os/spsc_queue.hpp"

namespace stopbit::appliance {

/// What an agent tells the thread that asks replay services.
struct ReplayWant {
  enum class Kind : std::uint8_t {
    Missing,  ///< Messages are missing on both lines.
    Healed,   ///< What is missing is not wanted any more: a snapshot has healed all books.
    Forget,   ///< The numbers begin anew.
  };
  Kind kind = Kind::Missing;
  std::uint32_t channel = 0;  ///< Of the agent.
  std::uint16_t epoch = 0;    ///< Of the run, from here on.
  std::uint64_t first = 0;    ///< As on the wire.
  std::uint64_t last = 0;
};

/// Both ways between an agent and that thread. A queue that is full loses wants, which are counted: those messages stay
/// missing. Answers are never lost: their reader waits.
struct ReplayLink {
  static constexpr std::size_t kWants = 1'024;
  static constexpr std::size_t kAnswerBytes = 1U << 20;

  os::SpscQueue<ReplayWant> wants{kWants};
  AnswerQueue answers{kAnswerBytes};
};

}  // namespace stopbit::appliance
