#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/layout.hpp"
#include "decoder/record/sink.hpp"
#include "decoder/record/views.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/segment.hpp"
#include "host/ring/cursor.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/memory.hpp"
#include "host/ring/protocol.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ring {

/// Where a new reader begins.
enum class Start : std::uint8_t {
  Oldest,  ///< At the oldest record that is not about to be overwritten; the first one if the ring never filled.
  Newest,  ///< With the next record.
};

enum class WriterState : std::uint8_t {
  Running,
  Finished,  ///< It ended and said so.
  Dead,      ///< It died.
};

/// Consecutive records. A view: the slots must outlive it.
class Records {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::span<const record::Slot>;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = value_type;

    Iterator() = default;
    explicit Iterator(std::span<const record::Slot> rest) noexcept : rest_(rest) {}
    [[nodiscard]] std::span<const record::Slot> operator*() const noexcept { return rest_.first(slots()); }
    Iterator& operator++() noexcept {
      rest_ = rest_.subspan(slots());
      return *this;
    }
    Iterator operator++(int) noexcept {  // NOLINT(cert-dcl21-cpp): iterators must return themselves
      const Iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] bool operator==(const Iterator& other) const noexcept { return rest_.size() == other.rest_.size(); }

   private:
    [[nodiscard]] std::size_t slots() const noexcept {
      return rest_.empty() ? 0 : record::HeaderView(rest_.front()).slots();
    }
    std::span<const record::Slot> rest_;
  };

  explicit Records(std::span<const record::Slot> slots) noexcept : slots_(slots) {}
  [[nodiscard]] Iterator begin() const noexcept { return Iterator(slots_); }
  [[nodiscard]] Iterator end() const noexcept { return Iterator(slots_.last(0)); }

 private:
  std::span<const record::Slot> slots_;
};

/// Reads the records of a ring from memory that it maps read-only. Any number of readers, in any process. The writer
/// does not know them, and a reader may stop or die at any instruction. Safe with any content of the segment, and also
/// if the segment's owner truncates the file, which a writer never does; the ring is then damaged (guard.hpp).
///
/// One thread per reader. poll and record make no system call and allocate nothing. A reader made by attach is
/// different: it has a file of its own that the writer reads.
class Reader {
 public:
  /// Refuses rings of users that are not accepted: their content cannot be trusted.
  [[nodiscard]] static Result<Reader> open(std::string_view name, Start start = Start::Oldest,
                                           const os::Accepted& accepted = os::Accepted());

  /// Registers as a reader of a lossless ring. From its oldest record on nothing is lost, because the writer waits,
  /// until this reader ends or does not move for the writer's patience. Only for the writer's user. Waits up to
  /// `timeout_ns` to be admitted and calls `keep_waiting` meanwhile; false ends the wait. If the writer has ended, the
  /// call does not wait, and nothing is lost.
  [[nodiscard]] static Result<Reader> attach(std::string_view name, std::uint64_t timeout_ns = kAttachTimeoutNs,
                                             const std::function<bool()>& keep_waiting = {},
                                             const os::Accepted& accepted = os::Accepted());
  static constexpr std::uint64_t kAttachTimeoutNs = 10'000'000'000;

  /// Like attach, without waiting: poll the reader only after `take_seat` has returned true. Call it now and then; the
  /// writer admits readers when it moves its claim and when it beats. A failure means that this reader cannot register
  /// at all.
  [[nodiscard]] static Result<Reader> ask_for_seat(std::string_view name,
                                                   const os::Accepted& accepted = os::Accepted());
  [[nodiscard]] Result<bool> take_seat();

  /// As declared by the writer.
  [[nodiscard]] Origin origin() const noexcept { return static_cast<Origin>(fixed_.origin); }
  [[nodiscard]] Mode mode() const noexcept { return static_cast<Mode>(fixed_.mode); }
  /// Whether the writer has stopped waiting for this reader since attach.
  [[nodiscard]] bool is_detached() const noexcept;
  /// After attach: makes the writer keep the records from slot `number` on that this reader has already taken. `number`
  /// must not decrease. Before the first call only records not yet taken are kept.
  void keep_from(std::uint64_t number) noexcept;
  /// Goes back to slot `number`, whose records keep_from has kept. A record must begin at that slot. Returns false if
  /// the slot is not kept or was not reached yet.
  [[nodiscard]] bool go_back(std::uint64_t number, std::uint64_t records) noexcept;

  /// Takes the next record, if there is one.
  [[nodiscard]] Poll poll() noexcept { return poll_batch(1); }

  /// Takes the available records: at most `max_records`, and at most a few hundred slots. Returns Poll::Record if there
  /// is at least one. Faster than poll if the caller can process records in batches.
  [[nodiscard]] Poll poll_batch(std::size_t max_records = kMaxBatch) noexcept;
  static constexpr std::size_t kMaxBatch = 256;

  /// Copies the next record directly into another ring. The copy differs only in slot numbers, stamp and phases. Its
  /// records may be as long as those of this ring. Invalidates the records of the last batch.
  [[nodiscard]] Poll copy_to(record::RecordSink& sink, std::uint32_t& slots) noexcept;

  /// Reason of Poll::Damaged, for messages.
  [[nodiscard]] const char* damage() const noexcept {
    return mapping_.is_broken() ? "the ring's file was truncated while it was read"
                                : "the content of the ring is inconsistent";
  }

  /// The record found by poll: a private copy, valid until the next poll. It is consistent: the writer did not change
  /// it while it was copied. Its content is not trusted: check it with record::Reader.
  [[nodiscard]] std::span<const record::Slot> record() const noexcept { return *records().begin(); }
  /// All records found by poll_batch, under the same conditions: `for (std::span<const record::Slot> record :
  /// ring.records())`.
  [[nodiscard]] Records records() const noexcept { return Records(slots()); }
  /// The slots of these records, in sequence.
  [[nodiscard]] std::span<const record::Slot> slots() const noexcept { return {copy_.data(), copied_slots_}; }

  /// Number of the first slot of the first record.
  [[nodiscard]] std::uint64_t record_number() const noexcept { return record_number_; }
  /// Number of records published before that record.
  [[nodiscard]] std::uint64_t record_index() const noexcept { return record_index_; }

  /// Slots skipped at the last Poll::Lost: exactly those between the reader's previous and present positions.
  [[nodiscard]] std::uint64_t lost() const noexcept { return core_.lost().number; }
  [[nodiscard]] std::uint64_t total_lost() const noexcept { return total_lost_.number; }
  /// Number of records that began in these slots; exact.
  [[nodiscard]] std::uint64_t lost_records() const noexcept { return core_.lost().records; }
  [[nodiscard]] std::uint64_t total_lost_records() const noexcept { return total_lost_.records; }
  /// Records returned by poll.
  [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }

  /// Number of the next slot to poll.
  [[nodiscard]] std::uint64_t position() const noexcept { return core_.position(); }
  /// Number of records published before the next one: first_record() + delivered() + total_lost_records() ==
  /// next_record(), always.
  [[nodiscard]] std::uint64_t next_record() const noexcept { return core_.next_record(); }
  /// Records published before this reader started.
  [[nodiscard]] std::uint64_t first_record() const noexcept { return first_record_; }
  /// Records published by the writer so far.
  [[nodiscard]] std::uint64_t published() const noexcept;

  /// State of the writer. Makes a system call, so call it when there is nothing to read. Records may have arrived since
  /// the last poll: after the writer has ended, poll until Nothing to see its last record.
  [[nodiscard]] WriterState writer() const noexcept;
  /// Whether a later writer has created another ring of the same name. A system call.
  [[nodiscard]] bool replaced() const noexcept;

  /// The firmware image (.sbf) stored in the ring. Read it with image::read and check it with verify::check.
  [[nodiscard]] std::span<const std::byte> image() const noexcept { return image_; }
  [[nodiscard]] std::uint64_t layout_hash() const noexcept { return fixed_.layout_hash; }
  [[nodiscard]] std::uint32_t image_generation() const noexcept { return fixed_.image_generation; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return fixed_.epoch; }
  /// What tables beside this ring carry as epoch of their ring, if they belong to it.
  [[nodiscard]] std::uint64_t tables_epoch() const noexcept {
    return fixed_.tables_epoch != 0 ? fixed_.tables_epoch : fixed_.epoch;
  }
  [[nodiscard]] std::uint32_t writer_pid() const noexcept { return fixed_.writer_pid; }
  [[nodiscard]] std::uint64_t slot_count() const noexcept { return fixed_.slot_count; }
  [[nodiscard]] std::uint32_t max_record_slots() const noexcept { return fixed_.max_record_slots; }
  [[nodiscard]] std::uint64_t heartbeat_ns() const noexcept;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether this reader has that file open.
  [[nodiscard]] bool has_file(std::uint64_t device, std::uint64_t inode) const noexcept {
    return device == device_ && inode == inode_;
  }

 private:
  Reader() = default;

  [[nodiscard]] const Header& header() const noexcept { return *reinterpret_cast<const Header*>(mapping_.data()); }
  [[nodiscard]] bool find_start(Start start) noexcept;
  [[nodiscard]] Result<bool> ask();
  [[nodiscard]] bool sit_down() noexcept;
  void move_cursor() noexcept;

  std::string path_;
  os::Descriptor file_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  os::Mapping mapping_;
  Header fixed_{};  ///< The header when the ring was opened. Its constant part was checked then and is not read again.
  std::vector<std::byte> image_;
  ReaderCore<SharedMemory> core_;
  CursorFile cursor_;  ///< Used after attach.
  std::size_t seat_ = kSeats;
  std::uint64_t kept_ = ~std::uint64_t{0};  ///< keep_from
  std::vector<record::Slot> copy_;
  std::size_t copied_slots_ = 0;
  Poll pending_ = Poll::Record;  ///< Result that ended the last batch; Record if nothing did.
  std::uint64_t record_number_ = 0;
  std::uint64_t record_index_ = 0;
  std::uint64_t first_record_ = 0;
  std::uint64_t delivered_ = 0;
  Mark total_lost_{};
};

}  // namespace stopbit::ring
