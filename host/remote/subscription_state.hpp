#pragma once

#include <cstdint>

/// What a publisher is doing for a subscriber, one row each: enumerator, number in the counters, word for people,
/// meaning in the help text of the counter.
// clang-format off
#define STOPBIT_SUBSCRIPTION_STATES(STATE)                \
  STATE(Running, 1, "running", "running")                 \
  STATE(Waiting, 2, "waiting", "its buffer is full")      \
  STATE(Ending,  3, "ending",  "ending")                  \
  STATE(Slowed,  4, "slowed",  "at its byte limit")
// clang-format on

namespace stopbit::remote {

enum class SubscriptionState : std::uint8_t {
  None = 0,  ///< No subscriber.
#define STOPBIT_STATE(enumerator, number, word, meaning) enumerator = number,
  STOPBIT_SUBSCRIPTION_STATES(STOPBIT_STATE)
#undef STOPBIT_STATE
};

[[nodiscard]] constexpr const char* to_text(SubscriptionState state) noexcept {
  switch (state) {
    case SubscriptionState::None: return "none";
#define STOPBIT_STATE(enumerator, number, word, meaning) \
  case SubscriptionState::enumerator: return word;
      STOPBIT_SUBSCRIPTION_STATES(STOPBIT_STATE)
#undef STOPBIT_STATE
  }
  return "?";
}

/// "0 none, 1 running, ..."
#define STOPBIT_STATE_HELP(enumerator, number, word, meaning) ", " #number " " meaning
#define STOPBIT_SUBSCRIPTION_STATE_HELP "0 none" STOPBIT_SUBSCRIPTION_STATES(STOPBIT_STATE_HELP)

}  // namespace stopbit::remote
