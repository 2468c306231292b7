#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/remote/fetch.hpp"
#include "host/remote/protocol.hpp"
#include "host/ring/memory.hpp"
#include "host/ring/protocol.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::remote {

/// Receives what EarlierRecords finds.
class EarlierRecordsSink {
 public:
  EarlierRecordsSink() = default;
  EarlierRecordsSink(const EarlierRecordsSink&) = delete;
  EarlierRecordsSink& operator=(const EarlierRecordsSink&) = delete;
  virtual ~EarlierRecordsSink() = default;
  /// False: it is no record; the history ends.
  [[nodiscard]] virtual bool earlier_record(std::span<const record::Slot> record) = 0;
  virtual void earlier_lost(std::uint64_t records) = 0;
};

/// Fetches the records of a ring on another node, from a place up to another, while its writer goes on: slots are got
/// into a mirror of the ring, then its header, and a reader's own code decides by the claim whether the slots were
/// whole.
///
/// All that is fetched is believed no more than any reader believes its ring. Of the node's thread. Allocates the
/// mirror, 64 bytes for each slot, when it is made.
class EarlierRecords {
 public:
  /// From `begin`, or from the oldest record that is safe, up to accept.begin. The port must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<EarlierRecords>> make(NodePort& port, const Fetch::From& from,
                                                                    const Accept& accept,
                                                                    const std::optional<RingPosition>& begin);

  enum class State : std::uint8_t { Working, Done, Failed };
  /// Goes on; at most some records at a time.
  State step(EarlierRecordsSink& sink);
  /// Takes a notification of the port; true if it was about this.
  bool hear(const nic::Notification& notification) noexcept { return fetch_.hear(notification); }
  [[nodiscard]] const char* problem() const noexcept { return problem_; }
  /// Everything before it was given to the sink or lost.
  [[nodiscard]] RingPosition reached() const noexcept { return {core_.position(), core_.next_record()}; }

 private:
  EarlierRecords(NodePort& port, const Fetch::From& from, const Accept& accept,
                 const std::optional<RingPosition>& begin)
      : fetch_(port, from), accept_(accept), begin_(begin) {}

  [[nodiscard]] State fail(const char* problem) noexcept;
  [[nodiscard]] bool ask();
  void merge_headers() noexcept;
  [[nodiscard]] bool find_begin() noexcept;
  [[nodiscard]] State read(EarlierRecordsSink& sink);

  Fetch fetch_;
  Accept accept_;
  std::optional<RingPosition> begin_;
  PortMemory memory_;  ///< A header, another one, and the slots.
  ring::ReaderCore<ring::SharedMemory> core_;
  std::vector<record::Slot> copy_;
  bool is_begun_ = false;  ///< The first place to read is known.
  std::uint64_t chunk_ = 0;
  std::uint64_t asked_ = 0;  ///< Once no get is under way, all slots below have arrived.
  std::uint64_t next_asked_ = 0;
  unsigned asks_ = 0;         ///< Parts of a round that were requested.
  bool is_round_ = false;     ///< A round is under way: slots, header, header.
  unsigned idle_rounds_ = 0;  ///< That gave nothing.
  const char* problem_ = "";
};

}  // namespace stopbit::remote
