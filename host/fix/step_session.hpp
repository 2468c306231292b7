#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/now.hpp"

namespace stopbit::fix {

struct FixField;

/// The template of the first message in RawData, where that does not name it.
struct StepTemplate {
  std::string type;      ///< MsgType of the message around it.
  std::uint32_t id = 0;  ///< Identifier of the template.
};

/// The two ends of a session of STEP, and what the log-on says.
struct StepOptions {
  std::string sender = "VSS";     ///< SenderCompID.
  std::string target = "VDE";     ///< TargetCompID.
  std::string password = {};      ///< Password; empty: none.
  std::string version = {};       ///< DefaultApplVerID; empty: none.
  std::uint32_t heartbeat_s = 0;  ///< HeartBtInt; 0: no heartbeats, and a server that is silent is not noticed.
  std::vector<StepTemplate> templates = {};
};

/// What is borne from a server.
struct StepLimits {
  std::size_t data_bytes = 65'474;  ///< The longest RawData: with number and head a packet fits into a datagram.
  std::uint64_t patience_ns = 10'000'000'000;  ///< For the connection, and for the log-on.
  std::uint64_t retry_ns = 1'000'000'000;  ///< Between two connections; twice as long after each that brought no data,
  std::uint64_t longest_retry_ns = 64'000'000'000;  ///< up to this.
  std::uint32_t strange = 64;                       ///< Messages of no use in a row.
};

/// The longest `head` of a packet.
inline constexpr std::size_t kMostStepHead = 21;

/// How a connection ended.
enum class StepEnd : std::uint8_t {
  Failed,     ///< It could not be made.
  Refused,    ///< The server logged out, rejected or closed before it had answered the log-on.
  LoggedOut,  ///< By the server.
  Closed,     ///< By the server, without a log-out.
  Malformed,  ///< Bytes that are no message, a wrong check sum, data that contradict their length, or too long ones.
  Silent,     ///< Nothing came in time.
  Flooded,    ///< Too many messages of no use in a row.
  Stuffed,    ///< The server does not take what it is sent.
};
inline constexpr std::size_t kStepEnds = 8;
[[nodiscard]] std::string_view to_text(StepEnd end) noexcept;

/// Outputs of a session. They must not call the session.
class StepSink {
 public:
  virtual ~StepSink() = default;
  virtual void connect() = 0;
  /// False: too much is unsent. The connection ends.
  [[nodiscard]] virtual bool send(std::span<const char> bytes) = 0;
  virtual void close() = 0;
  /// Whether all packets of a message of this size can be taken now.
  [[nodiscard]] virtual bool has_room(std::size_t message_bytes) = 0;
  /// RawData: one or several messages in FAST, which are `head` and then `data`. Numbers rise by one; after a new
  /// log-on one is left out, because what passed in between is not known.
  virtual void packet(std::uint64_t number, std::span<const std::byte> head, std::span<const std::byte> data) = 0;
  /// The server has answered the log-on.
  virtual void logged_on() = 0;
  virtual void ended(StepEnd why) = 0;
};

struct StepCounts {
  std::uint64_t connections = 0;  ///< Begun.
  std::uint64_t log_ons = 0;      ///< Answered.
  std::uint64_t packets = 0;
  std::uint64_t others = 0;   ///< Heartbeats, and messages of the exchange without data.
  std::uint64_t strange = 0;  ///< Messages of no use: out of place, or with empty data.
  std::array<std::uint64_t, kStepEnds> ends = {};
};

/// A session of STEP, by which Shanghai and Shenzhen send FAST over TCP (RawDataLength 95, RawData 96): log-on,
/// heartbeats both ways, test requests, log-out, and again after the connection has ended.
///
///     tick ─► connect ─► log on ─► messages ─► RawData ─► packet(number, data)
///                └────── closed, refused, silent, hostile: again later
///
/// Unproven: no transcript of a session that we did not make was at hand. Public programs for Shanghai's feed agree on
/// BeginString STEP.1.0.0; log-on A from VSS to VDE with MsgSeqNum 0, EncryptMethod 0, HeartBtInt; MsgSeqNum 0 in the
/// messages of the server, too, which therefore number nothing; times of the exchange (UTC+8) in whole seconds; 95
/// and 96 in messages of types that begin with UA; and, in those of Shanghai's level 1 (UA5302), FIXT.1.1 messages in
/// 96, which carry the FAST in 95 and 96 of their own. They do not name, and we chose, what FIX says: heartbeats 0,
/// test requests 1 with TestReqID, log-out 5; Password and DefaultApplVerID, which Shenzhen's binary log-on has, as
/// 554 and 1137; and that the dictionary of FAST begins anew with each RawData.
///
/// No sockets and no clocks: the caller connects, reads and turns time. One thread; allocates when it is made only.
class StepSession {
 public:
  StepSession(StepOptions options, const StepLimits& limits, StepSink& sink);

  // What connect() has led to.
  void connected(const Now& now);
  void failed(const Now& now) { end(StepEnd::Failed, now, false); }
  /// Where bytes of the connection are to be put; not empty unless is_blocked().
  [[nodiscard]] std::span<std::byte> room() noexcept { return {buffer_.get() + filled_, buffer_bytes_ - filled_}; }
  /// So many have been put there.
  void filled(std::size_t count, const Now& now);
  /// By the server.
  void closed(const Now& now);
  /// Time passes: connections begin here only, and what found no room is offered again.
  void tick(const Now& now);
  /// When tick() has something to do, monotonic, unless another call comes first; kNever. A tick before that does
  /// nothing but offer what found no room.
  [[nodiscard]] std::uint64_t next_tick_ns() const noexcept;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  /// Logs out, and nothing more is done.
  void stop(const Now& now);

  /// A message waits for room: no bytes are to be read.
  [[nodiscard]] bool is_blocked() const noexcept { return is_blocked_; }
  [[nodiscard]] bool is_logged_on() const noexcept { return state_ == State::LoggedOn; }
  [[nodiscard]] const StepCounts& counts() const noexcept { return counts_; }

 private:
  enum class State : std::uint8_t { Idle, Connecting, LoggingOn, LoggedOn, Stopped };

  [[nodiscard]] bool is_open() const noexcept { return state_ == State::LoggingOn || state_ == State::LoggedOn; }
  void take_messages(const Now& now);
  // Of a whole message. False: the connection has ended.
  [[nodiscard]] bool take(std::span<const std::byte> frame, const Now& now);
  [[nodiscard]] bool take_before_log_on(std::string_view type, const Now& now);
  [[nodiscard]] bool take_data(std::span<const std::byte> frame, const Now& now);
  [[nodiscard]] bool hand_on(std::string_view type, std::span<const std::byte> data, const Now& now);
  void note_other() noexcept;
  [[nodiscard]] bool bear(const Now& now);
  [[nodiscard]] bool answer_probe(std::span<const std::byte> frame, const Now& now);
  void log_on(const Now& now);
  void watch(const Now& now);
  [[nodiscard]] std::uint64_t heartbeat_ns() const noexcept;
  [[nodiscard]] std::uint64_t silence_ns() const noexcept;
  /// False: the connection has ended.
  bool send(std::string_view type, std::span<const FixField> fields, const Now& now);
  void end(StepEnd why, const Now& now, bool is_open_yet = true);

  const StepOptions options_;
  const StepLimits limits_;
  StepSink& sink_;
  StepCounts counts_;

  State state_ = State::Idle;
  std::uint64_t number_ = 0;   ///< Of the last packet.
  bool has_followed_ = false;  ///< Packets have come since a number was left out.
  bool has_brought_ = false;   ///< Packets have come by this connection.
  bool has_probed_ = false;    ///< A test request waits for an answer.
  bool is_blocked_ = false;
  std::uint32_t strange_ = 0;    ///< Messages of no use since the last one of use.
  std::uint64_t step_ns_ = 0;    ///< The connection began, or exists since.
  std::uint64_t sent_ns_ = 0;    ///< The last message of ours,
  std::uint64_t heard_ns_ = 0;   ///< and of the server.
  std::uint64_t probed_ns_ = 0;  ///< The last test request.
  std::uint32_t fruitless_ = 0;  ///< Connections in a row that brought no data.
  std::uint64_t not_before_ns_ = 0;

  std::size_t frame_bytes_;  ///< The longest message.
  std::size_t buffer_bytes_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t filled_ = 0;
};

}  // namespace stopbit::fix
