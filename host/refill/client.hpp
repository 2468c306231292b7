#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "host/refill/dialect.hpp"
#include "host/refill/ranges.hpp"
#include "microcode/base/now.hpp"

namespace stopbit::refill {

/// What a replay service allows, and what is borne from it.
struct Limits {
  std::uint64_t messages_a_request = 2'000;
  std::uint32_t requests_a_connection = 1;
  std::uint32_t connections_a_day = 0;  ///< 0: none, nothing is asked for.
  std::int64_t day_begins_s = 0;        ///< Of the exchange's day, after midnight UTC; may be negative.
  std::uint64_t wait_ns = 0;  ///< From the first range that is wanted to the connection: more may come, or it may heal.
  std::size_t ranges = 1'024;                 ///< That are wanted at once.
  std::size_t answer_bytes = 65'536;          ///< The longest message.
  std::uint64_t patience_ns = 5'000'000'000;  ///< Without a step forward: connected, logged on, a message.
  std::uint64_t retry_ns = 1'000'000'000;  ///< Between two connections; twice as long after each that brought nothing.
  std::uint32_t attempts = 3;              ///< Connections that bring nothing before what they asked for is given up.
  std::uint32_t strange = 64;              ///< Answers of no use that a connection may bring.
};

/// What an answer in FAST is: its reader decodes it.
struct Answer {
  enum class Kind : std::uint8_t {
    Message,  ///< Of the feed, with its number.
    LoggedOn,
    LoggedOut,  ///< Or rejected: nothing more comes.
    Refused,    ///< The request.
    Other,      ///< A heartbeat.
    Unreadable,
  };
  Kind kind = Kind::Unreadable;
  std::uint64_t number = 0;
};

enum class GivenUp : std::uint8_t {
  Quota,     ///< No connection is left today.
  Attempts,  ///< The service did not bring them.
  Room,      ///< Too many ranges are wanted.
};

/// Outputs of the client. They must not call the client.
class ClientSink {
 public:
  virtual ~ClientSink() = default;
  virtual void connect() = 0;
  virtual void send(std::span<const char> bytes) = 0;
  virtual void close() = 0;
  [[nodiscard]] virtual Answer read(std::span<const std::byte> answer) = 0;
  /// A message that was wanted: numbers rise within a request, and none comes twice. False: there is no room for it,
  /// and it is wanted still.
  [[nodiscard]] virtual bool message(std::uint64_t number, std::span<const std::byte> answer) = 0;
  virtual void given_up(Range range, GivenUp why) = 0;
};

struct ClientCounts {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::uint64_t messages = 0;  ///< Handed on.
  std::uint64_t given_up = 0;  ///< Numbers.
  std::uint64_t foreign = 0;   ///< Messages outside what was asked for, repeated, or out of order.
  std::uint64_t unreadable = 0;
  std::uint64_t refused = 0;  ///< Connections closed because the service refused a request, or ended its answer early.
  std::uint64_t malformed =
      0;                      ///< The same because of an answer that is empty, too long, or in no form of the dialect.
  std::uint64_t flooded = 0;  ///< The same because of too many answers of no use.
  std::uint64_t stalled = 0;  ///< The same because nothing came in time.
  std::uint64_t broken = 0;   ///< Connections that failed, or that the service closed before its answer was complete.
};

/// Gets lost messages from a replay service: which ranges, when to connect, what to ask, which answers to believe.
///
///     want ─► ranges ─► connect ─► log on ─► request ─► messages ─► log out
///                          └───────── closed, refused, late, hostile: again later, or given up
///
/// No sockets and no clocks: the caller connects, reads and turns time. The wall clock says which day it is and what
/// SendingTime says; all else goes by the monotonic one. One thread; allocates when it is made only.
class Client {
 public:
  Client(const Dialect& dialect, const Limits& limits, ClientSink& sink);

  /// Messages are missing.
  void want(Range range, const Now& now);
  /// They have come by another way.
  void have(Range range) noexcept { (void)wanted_.remove(range); }  // no room: they are asked for in vain
  /// They are of no use any more: what is missing was healed by other means.
  void have_all() noexcept { wanted_.clear(); }
  /// Numbers begin anew: what is wanted is no more.
  void forget();
  /// Connections of a day that another process has used already.
  void set_used(std::uint32_t connections, const Now& now);

  // What connect() has led to.
  void connected(const Now& now);
  void failed(const Now& now) { end(now, &counts_.broken); }
  void bytes(std::span<const std::byte> bytes, const Now& now);
  /// By the service.
  void closed(const Now& now) { end(now, &counts_.broken, false); }
  /// Time passes: connections begin and are given up here only.
  void tick(const Now& now);

  [[nodiscard]] const Ranges& wanted() const noexcept { return wanted_; }
  [[nodiscard]] const ClientCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] bool is_idle() const noexcept { return state_ == State::Idle; }
  /// Of the exchange, since 1970.
  [[nodiscard]] static std::int64_t day_of(std::uint64_t wall_ns, std::int64_t day_begins_s) noexcept;
  /// Moves `day` on to `today`. Whether a day with all its connections begins: a clock that is set back gives none
  /// back.
  [[nodiscard]] static bool begins_day(std::int64_t& day, std::int64_t today) noexcept;
  /// Connections that are left today.
  [[nodiscard]] std::uint32_t connections_left() const noexcept {
    return used_ < limits_.connections_a_day ? limits_.connections_a_day - used_ : 0;
  }

 private:
  enum class State : std::uint8_t { Idle, Connecting, LoggingOn, Asked };

  void begin_day(const Now& now) noexcept;
  void give_up(Range range, GivenUp why);
  void give_up_all(GivenUp why);
  [[nodiscard]] Range next_request() const noexcept;
  void ask(const Now& now);
  // Of a frame, and of what it says. False: the connection has ended.
  [[nodiscard]] bool take_frame(std::span<const std::byte> frame, const Now& now);
  [[nodiscard]] bool take(const Reply& reply, const Now& now);
  [[nodiscard]] bool take_log_on(const Now& now);
  [[nodiscard]] bool take_end(std::uint64_t request, bool is_refusal, const Now& now);
  [[nodiscard]] bool take_fast(const Reply& reply, const Now& now);
  [[nodiscard]] bool take_message(std::uint64_t number, std::span<const std::byte> answer, const Now& now);
  [[nodiscard]] bool bear(const Now& now);
  /// Of the next message to be sent.
  [[nodiscard]] Sending next_sending(const Now& now) noexcept;
  [[nodiscard]] std::span<char> room() noexcept { return {out_.get(), kSendBytes}; }
  void send(std::size_t size);
  void beat(std::string_view probe, const Now& now);
  void log_out(const Now& now);
  /// The connection ends; `why` counts it, null: it has done its work.
  void end(const Now& now, std::uint64_t* why, bool is_open = true);

  const Dialect& dialect_;
  const Limits limits_;
  ClientSink& sink_;
  Ranges wanted_;
  ClientCounts counts_;

  State state_ = State::Idle;
  Range asked_;                 ///< Of the present request, or of the one that comes first in the connection.
  std::uint64_t next_ = 0;      ///< The lowest number that may come.
  std::uint64_t serial_ = 0;    ///< Of the last message sent.
  std::uint64_t request_ = 0;   ///< Serial number of the present request, or of the log-on.
  std::uint64_t sent_ns_ = 0;   ///< The last message.
  std::uint32_t requests_ = 0;  ///< Of the connection, like the next three.
  std::uint32_t notices_ = 0;   ///< Requests accepted, and answers complete.
  std::uint32_t strange_ = 0;
  bool has_brought_ = false;
  std::uint64_t step_ns_ = 0;  ///< The last step forward.

  std::uint32_t fruitless_ = 0;  ///< Connections in a row that brought nothing.
  std::uint64_t not_before_ns_ = 0;
  std::int64_t day_ = INT64_MIN;
  std::uint32_t used_ = 0;  ///< Connections of the day.

  std::unique_ptr<std::byte[]> buffer_;
  std::size_t buffer_bytes_;
  std::size_t filled_ = 0;
  static constexpr std::size_t kSendBytes = 1'024;
  std::unique_ptr<char[]> out_;
};

}  // namespace stopbit::refill
