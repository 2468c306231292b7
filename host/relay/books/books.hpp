#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/market/state/print.hpp"
#include "host/market/state/tables.hpp"
#include "host/relay/backoff.hpp"
#include "host/relay/books/key_values.hpp"

namespace stopbit::relay {

/// Under which an instrument's value is: "book.", then its key, in which each byte but letters, digits, '-', '_' and
/// '/' is "=XX", in hexadecimal. NATS allows these characters, and no two instruments have the same.
[[nodiscard]] std::string key_of_book(std::string_view instrument);
/// Under which the state of the whole is.
inline constexpr std::string_view kStatusKey = "status";

struct BooksOptions {
  std::string ring = {};                    ///< Of events.
  std::uint64_t period_ns = 100'000'000;    ///< Between looks for rows that have changed.
  bool once = false;                        ///< Ends with the tables' writer; else waits for the next tables.
  std::size_t outstanding = 512;            ///< Values that are sent and not confirmed.
  std::uint64_t answer_ns = 5'000'000'000;  ///< A session ends if nothing is confirmed for this long.
};

struct BooksCounts {
  std::uint64_t values = 0;  ///< Of instruments, stored.
  std::uint64_t looks = 0;
  std::uint64_t sessions = 0;
};

/// Writes the newest state of each instrument of a ring's tables to a table of an engine: what has changed since the
/// last look, once a period. If the engine is slow, looks are rarer, and a value is what the row is when it is sent: no
/// queue grows. A session begins with all rows.
///
/// Values that nothing keeps up to date any more are written once more as stale, with the reason: the writer has ended
/// or died, is silent, or other tables have its name.
///
/// One thread. Reads shared memory only: the tables' writer never waits.
class Books {
 public:
  /// `tell` receives a line for each change that people should know. `wall_ns` is the time of day.
  Books(KeyValues& store, BooksOptions options, std::function<void(const std::string&)> tell,
        std::function<std::uint64_t()> wall_ns);

  enum class State : std::uint8_t { Busy, Idle, Done, Failed };
  [[nodiscard]] State step(std::uint64_t now_ns);
  [[nodiscard]] const StoreFailure& problem() const noexcept { return problem_; }
  [[nodiscard]] const BooksCounts& counts() const noexcept { return counts_; }

 private:
  /// What the tables' writer does.
  enum class Writer : std::uint8_t { Absent, Running, Silent, Ended, Died, Replaced };
  [[nodiscard]] static std::string_view name_of(Writer writer) noexcept;
  /// Of a row as it was sent.
  struct Sent {
    std::uint64_t state = 0;  ///< Versions.
    std::uint64_t instrument = 0;
  };

  [[nodiscard]] bool open_tables(std::uint64_t now_ns);
  [[nodiscard]] Writer look_at_writer(std::uint64_t now_ns);
  void begin_session(std::uint64_t now_ns);
  void begin_look(std::uint64_t now_ns);
  [[nodiscard]] bool look(std::uint64_t now_ns);
  [[nodiscard]] Result<bool, StoreFailure> put_row(std::uint32_t row);
  [[nodiscard]] Result<Done, StoreFailure> put_status(std::uint64_t now_ns);
  [[nodiscard]] Result<Done, StoreFailure> put(std::string_view key, std::string_view value, bool asks);
  void end_look();
  [[nodiscard]] bool exchange(std::uint64_t now_ns, bool waits);
  void forget_sent();
  void lose_tables(const std::string& why);
  void lose_session(const StoreFailure& why, std::uint64_t now_ns);
  void tell_once(const std::string& line);
  [[nodiscard]] std::uint64_t waiting() const noexcept { return put_ - stored_; }

  KeyValues& store_;
  BooksOptions options_;
  std::function<void(const std::string&)> tell_;
  std::function<std::uint64_t()> wall_ns_;
  BooksCounts counts_;
  StoreFailure problem_;
  State state_ = State::Idle;

  std::optional<market::Tables> tables_;
  std::vector<Sent> sent_;  ///< By row.
  Writer writer_ = Writer::Absent;
  std::uint64_t heartbeat_ns_ = 0;  ///< The writer's last one,
  std::uint64_t beat_ns_ = 0;       ///< and when it was seen first.
  bool has_beaten_ = false;         ///< A writer that never beats is not taken to stand still.
  std::uint64_t next_open_ns_ = 0;

  bool is_looking_ = false;
  bool has_written_ = false;  ///< In this look.
  std::uint32_t row_ = 0;     ///< The next one of this look.
  std::uint64_t unread_ = 0;  ///< Rows of this look whose writer has died within them.
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t next_status_ns_ = 0;

  bool has_session_ = false;
  std::uint64_t put_ = 0;  ///< In this session.
  std::uint64_t stored_ = 0;
  std::uint64_t heard_ns_ = 0;
  Backoff backoff_;
  market::state::Picture picture_;
  std::string value_;
  std::string told_;  ///< The last reason why there is no session, or no table.
};

}  // namespace stopbit::relay
