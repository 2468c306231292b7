#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "decoder/record/layout.hpp"
#include "host/relay/backoff.hpp"
#include "host/relay/message.hpp"
#include "host/relay/outbox.hpp"
#include "host/relay/refill.hpp"
#include "host/relay/store.hpp"
#include "host/ring/reader.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

struct RelayOptions {
  std::string ring;
  bool takes_seat = true;                   ///< At a lossless ring: its writer waits for what is not stored.
  bool once = false;                        ///< Ends with the ring; else waits for the next one of its name.
  std::size_t outstanding = 512;            ///< Messages that are sent or waiting to be; bounds memory.
  std::uint64_t answer_ns = 5'000'000'000;  ///< A session ends if the store confirms nothing for this long.
  std::function<bool()> stops = {};         ///< Ends the wait for a seat, and for a refill. May be empty.
  Refill* refill = nullptr;                 ///< Has what the ring no longer has. May be null.
};

struct RelayCounts {
  std::uint64_t records = 0;  ///< Stored, by this process.
  std::uint64_t slots = 0;
  std::uint64_t messages = 0;
  std::uint64_t refilled = 0;        ///< Records that the ring no longer had, but the refill did.
  std::uint64_t lost = 0;            ///< Records that neither had.
  std::uint64_t unknown_losses = 0;  ///< Rings that were replaced while no relay ran: how many records is not known.
  std::uint64_t sessions = 0;
};

/// Copies rings of one name into a stream, each record once: across restarts of this process, of the store and of the
/// ring's writer. Where to go on is read from the stream's last message, so it has no state of its own.
///
/// What the ring no longer has comes from the refill, or is a Lost message in the stream. Bounded: while the store is
/// away, `outstanding` messages wait in memory and the ring keeps the rest, as long as it can.
///
/// One thread.
class Relay {
 public:
  /// `tell` receives a line for each change that people should know.
  Relay(Store& store, RelayOptions options, std::function<void(const std::string&)> tell);

  enum class State : std::uint8_t {
    Busy,    ///< Call again at once.
    Idle,    ///< Nothing to do now.
    Done,    ///< The ring has ended, with `once`, and all of it is stored.
    Failed,  ///< problem().
  };
  [[nodiscard]] State step(std::uint64_t now_ns);
  [[nodiscard]] const StoreFailure& problem() const noexcept { return problem_; }
  [[nodiscard]] const RelayCounts& counts() const noexcept { return counts_; }
  /// Whether everything that the ring had at the last step is stored.
  [[nodiscard]] bool is_level() const noexcept { return is_placed_ && is_drained_ && outbox_.is_empty(); }
  [[nodiscard]] bool has_session() const noexcept { return has_session_; }

 private:
  /// Where a ring's reader is: the number of the next slot, and the records that began before it.
  struct Place {
    std::uint64_t number = 0;
    std::uint64_t records = 0;
  };

  /// Records that the ring no longer has.
  struct Gap {
    Place from;              ///< After what the stream or the outbox has.
    Place begin;             ///< The same, or the record of which the stream has the first slots:
    std::uint16_t part = 0;  ///< so many.
  };

  [[nodiscard]] bool open_ring(std::uint64_t now_ns);
  void begin_session(std::uint64_t now_ns);
  [[nodiscard]] Status find_place(const std::optional<Head>& last);
  [[nodiscard]] bool continues_outbox(const std::optional<Head>& last);
  [[nodiscard]] Status go_on_after(const Head& last);
  [[nodiscard]] Status begin_ring(const std::optional<Head>& last);
  void seek(std::uint64_t number) noexcept;
  void reopen();
  [[nodiscard]] bool collect(std::uint64_t now_ns);
  void look_for_end(std::uint64_t now_ns);
  void pack();
  void end_ring(Ending ending);
  void mark_lost(const Place& from, const Place& to);
  [[nodiscard]] bool close_gap();
  void take_found();
  void drop_found() noexcept;
  /// The first slot of the ring that is needed once what was packed is stored.
  [[nodiscard]] std::uint64_t needed_from() const noexcept { return found_ ? after_found_.number : next_.number; }
  [[nodiscard]] bool exchange(std::uint64_t now_ns, bool waits);
  [[nodiscard]] Result<Done, StoreFailure> send_all();
  void take_confirmed(std::size_t count);
  void follow_next_ring(std::uint64_t now_ns);
  void tell_once(const std::string& line);
  void lose_session(const StoreFailure& why, std::uint64_t now_ns);
  void fail(StoreFailure::Kind kind, std::string message);
  [[nodiscard]] Head head_at(Kind kind, const Place& at) const noexcept;

  Store& store_;
  RelayOptions options_;
  std::function<void(const std::string&)> tell_;
  Outbox outbox_;
  RelayCounts counts_;
  StoreFailure problem_;
  State state_ = State::Idle;

  std::optional<ring::Reader> reader_;
  std::uint64_t layout_ = 0;
  bool is_placed_ = false;        ///< `next_` follows what the stream and the outbox have.
  bool has_ended_ = false;        ///< The ring's End is in the outbox or stored.
  Ending ending_ = Ending::None;  ///< The writer has ended; its last records may not have been read.
  bool is_drained_ = false;       ///< The ring had no more at the last look.
  bool was_detached_ = false;
  bool has_told_end_ = false;
  Place next_;                           ///< The record after what was packed.
  std::span<const record::Slot> batch_;  ///< Records of the reader's last batch, from the one that is packed next.
  std::uint16_t part_ = 0;               ///< Slots of its first record that are packed.
  std::optional<Gap> gap_;               ///< Before the next record of the ring.
  std::unique_ptr<FoundRecords> found_;  ///< What was in a gap; `batch_` is of it.
  Place after_found_;                    ///< Where the ring goes on after them,
  std::span<const record::Slot> kept_;   ///< with this batch.
  std::optional<Head> confirmed_;        ///< The last message known to be stored.

  bool has_session_ = false;
  std::uint64_t stored_ = 0;  ///< Of this session's messages.
  std::uint64_t heard_ns_ = 0;
  Backoff backoff_;
  std::uint64_t next_look_ns_ = 0;
  std::string told_;  ///< The last reason why there is no session or ring.
};

}  // namespace stopbit::relay
