#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "host/refill/ranges.hpp"

namespace stopbit::refill {

/// What a service says with a frame, or with a part of it.
struct Reply {
  enum class Kind : std::uint8_t {
    Fast,     ///< In FAST: its reader says what it is.
    Message,  ///< In FAST, of the feed.
    LoggedOn,
    LoggedOut,  ///< Nothing more comes.
    Probe,      ///< A test request: a heartbeat with its text answers it.
    Accepted,   ///< The request.
    Complete,   ///< The answer to the request: nothing more of it comes.
    Refused,    ///< The request, or the log-on.
    Other,      ///< A heartbeat.
    Unreadable,
  };
  Kind kind = Kind::Unreadable;
  std::span<const std::byte> bytes = {};     ///< In FAST; the text of a probe.
  std::optional<std::uint64_t> number = {};  ///< Of the message, if its frame says it.
  std::uint64_t request = 0;                 ///< Serial number of the request that the reply is about.
};

/// How far a frame has been read.
struct Place {
  std::size_t at = 0;  ///< 0: nothing of it.
  // Of a frame with several messages: where their bytes are in it, and how many of these bytes the last ones had.
  std::size_t data_at = 0;
  std::size_t data_bytes = 0;
  std::size_t data_used = 0;
};

/// What a message that the client sends needs to know.
struct Sending {
  std::uint64_t serial = 0;  ///< Of the message in its connection, from 1.
  std::uint64_t wall_ns = 0;
};

/// How an exchange's replay service is spoken to. No state: what a message needs is given.
class Dialect {
 public:
  virtual ~Dialect() = default;

  /// The messages that the client sends, written to `to`; the size, 0: it does not fit.
  [[nodiscard]] virtual std::size_t log_on(std::span<char> to, const Sending& sending) const noexcept = 0;
  [[nodiscard]] virtual std::size_t request(std::span<char> to, const Sending& sending, Range range) const noexcept = 0;
  /// `probe`: what a test request says; empty: time has passed.
  [[nodiscard]] virtual std::size_t heartbeat(std::span<char> to, const Sending& sending,
                                              std::string_view probe) const noexcept = 0;
  [[nodiscard]] virtual std::size_t log_out(std::span<char> to, const Sending& sending) const noexcept = 0;
  /// How often the client sends a heartbeat if it sends nothing else; 0: never.
  [[nodiscard]] virtual std::uint64_t heartbeat_ns() const noexcept = 0;

  /// The bytes of the frame that is first in these; nothing: they do not show it yet; 0: no frame begins like this.
  [[nodiscard]] virtual std::optional<std::uint64_t> frame(std::span<const std::byte> bytes) const noexcept = 0;
  /// The longest frame, if a message has at most `message_bytes`.
  [[nodiscard]] virtual std::size_t most_bytes(std::size_t message_bytes) const noexcept = 0;
  /// Messages that a frame of this size has at most.
  [[nodiscard]] virtual std::size_t most_messages(std::size_t frame_bytes) const noexcept = 0;
  /// What a whole frame says, from `place` on, which moves on. Nothing: that was all of it.
  [[nodiscard]] virtual std::optional<Reply> read(std::span<const std::byte> frame, Place& place) const noexcept = 0;
  /// Whether log-on and log-out of the service are in FAST too: templates of the feed.
  [[nodiscard]] virtual bool logs_on_in_fast() const noexcept = 0;
};

}  // namespace stopbit::refill
