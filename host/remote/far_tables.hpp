#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "host/market/event/event.hpp"
#include "host/market/state/table_copy.hpp"
#include "host/remote/fetch.hpp"
#include "host/remote/protocol.hpp"
#include "host/remote/row_marks.hpp"

namespace stopbit::remote {

/// Fetches the tables of instruments and states beside a ring of another node, and keeps a copy of them as new as the
/// events that arrive: one session of a far subscriber. doc/remote-ring-protocol.md says what a reader of the copy
/// sees.
///
/// Rows are got three times: the publisher writes a row while it is read, and a part of which the first and the third
/// get brought the same version is whole in the second. Nothing that is fetched is believed (market::TableCopy).
///
/// Of the node's thread. Allocates in make and begin only: a bit for each row, and some pieces.
class FarTables {
 public:
  /// The node whose port `owner` shows the tables.
  struct From {
    nic::NodeId node = 0;
    nic::Vpid owner = 0;
    TableWindows windows;
    std::uint64_t ring_epoch = 0;  ///< Of its ring.
  };
  /// The port must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<FarTables>> make(NodePort& port, const From& from);

  enum class State : std::uint8_t {
    Working,   ///< The shape is not known yet.
    Shaped,    ///< It is: begin() comes next.
    Filling,   ///< Rows that the publisher had when this began are missing.
    Ready,     ///< The copy has every row that the publisher had then.
    Unusable,  ///< The tables cannot be used, or no longer: problem(). The copy keeps what it has.
    Failed,    ///< The publisher could not be reached: problem().
  };
  /// Fetches on. Returns how much it did.
  std::size_t step(std::uint64_t now_ns);
  /// Takes a notification of the port; true if it was about this.
  bool hear(const nic::Notification& notification) noexcept;
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] const market::TableShape& shape() const noexcept { return shape_; }

  /// Fills the copy, which has this shape and must outlive this. What it has already is renewed.
  void begin(market::TableCopy& copy);

  /// Whether the record may be read by others: an instrument that it names is in the copy. False: fetches it, unless
  /// the publisher's table has no such row, which is_wrong() then tells. Of each record's first slot, before it is
  /// published.
  [[nodiscard]] bool may_show(const record::Slot& slot) noexcept;
  [[nodiscard]] bool is_wrong() const noexcept { return is_wrong_; }
  /// A record was published: what it says of an instrument is to be fetched. `is_old`: it was in the publisher's ring
  /// before the tables were fetched.
  void saw(const record::Slot& slot, bool is_old) noexcept;
  /// The ring's writer is well, as of then.
  void heartbeat(std::uint64_t heartbeat_ns) noexcept;
  /// No event follows: fetches what is still missing, and then is_current.
  void last_look() noexcept;
  /// Nothing is known to be older than at the publisher.
  [[nodiscard]] bool is_current() const noexcept;

 private:
  enum class Job : std::uint8_t { None, Heads, Instruments, States };
  FarTables(NodePort& port, const From& from)
      : instruments_(port, {from.node, from.owner, from.windows.instruments}),
        states_(port, {from.node, from.owner, from.windows.states}),
        ring_epoch_(from.ring_epoch) {}

  [[nodiscard]] Job choose(std::uint64_t now_ns) noexcept;
  [[nodiscard]] Job choose_old(std::uint64_t now_ns) noexcept;
  [[nodiscard]] Job take_old(Job job) noexcept;
  [[nodiscard]] bool ask() noexcept;
  void take_heads(std::uint64_t now_ns);
  void take_rows(Job job);
  void look_at_filling() noexcept;
  void mark_newest() noexcept;
  void fail(State state, std::string why);
  [[nodiscard]] std::uint32_t known() const noexcept { return copy_->instruments().count(); }
  [[nodiscard]] std::size_t row_bytes(Job job) const noexcept;
  [[nodiscard]] std::uint32_t rows_of_piece(Job job) const noexcept;

  Fetch instruments_;
  Fetch states_;
  std::uint64_t ring_epoch_;
  PortMemory memory_;  ///< Three pieces.
  State state_ = State::Working;
  std::string problem_;
  market::TableShape shape_;
  market::TableCopy* copy_ = nullptr;
  Job job_ = Job::None;
  RowMarks::Run run_;
  unsigned asked_ = 0;  ///< Gets of the job.

  std::uint32_t count_ = 0;    ///< Instruments that the publisher's table has, as of the last look at it.
  std::uint32_t fill_to_ = 0;  ///< The same when the copy was begun.
  std::uint32_t filled_ = 0;   ///< Rows of states since then.
  std::uint64_t changes_ = 0;  ///< InstrumentHeader::changes at the last round through all.
  std::uint64_t next_sweep_ns_ = 0;
  bool wants_heads_ = true;
  std::uint64_t next_heads_ns_ = 0;
  std::uint32_t wanted_ = 0;     ///< An event waits for this row.
  std::uint32_t heads_for_ = 0;  ///< The same when the headers were asked for.
  bool is_wrong_ = false;

  RowMarks old_instruments_;  ///< Rows that may be older here than at the publisher.
  RowMarks old_states_;
  std::uint64_t round_left_ = 0;   ///< Of the rows that were old at the round's beginning: still to be got in it.
  std::uint64_t budget_left_ = 0;  ///< Bytes.
  std::uint64_t next_round_ns_ = 0;
  bool hurries_ = false;  ///< The last look: without rounds.
  struct Named {
    std::uint32_t row = 0;
    market::Kind kind = {};
  };
  std::array<Named, 64> newest_;  ///< What the newest events name, up to the end of the exchange's event.
  std::size_t newest_count_ = 0;  ///< Of `newest_`; more than its size: any row may be named.
  bool is_newest_ended_ = true;
  unsigned heartbeats_left_ = 0;  ///< Until what they change is known to be stored.
  std::uint64_t heartbeat_ns_ = 0;
};

}  // namespace stopbit::remote
