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
  Oldest,  ///< At the oldest record that is safe from being overwritten at once; all of a ring never filled.
  Newest,  ///< With the next record.
};

enum class WriterState : std::uint8_t {
  Running,
  Finished,  ///< It has ended in good order.
  Dead,      ///< It died.
};

/// Records one behind the other. A view: the slots must outlive it.
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
    Iterator operator++(int) noexcept {  // NOLINT(cert-dcl21-cpp): iterators are asked to return themselves
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

/// Reads the records of a ring out of memory that it maps read-only. Any number of readers, of any process: the writer
/// does not know of them, and a reader may stop or die at any instruction. Safe on any content of the segment, and if
/// its owner makes the file shorter, which a writer never does: then the ring is damaged (guard.hpp).
///
/// One thread per reader. poll and record make no system call and allocate nothing. (attach is the exception to all of
/// this: such a reader has a file of its own that the writer reads.)
class Reader {
 public:
  /// Rings of other users than the accepted ones are refused: their content would be a stranger's word.
  [[nodiscard]] static Result<Reader> open(std::string_view name, Start start = Start::Oldest,
                                           const os::Accepted& accepted = os::Accepted());

  /// Takes a seat at a lossless ring: from its oldest record on nothing is lost, because the writer waits; until this
  /// reader ends, or does not move for as long as the writer's patience lasts. For the user of the writer only. Waits
  /// up to `timeout_ns` for a seat; `keep_waiting` is asked meanwhile, false ends the wait. If the writer has ended
  /// there is nothing to wait for, and nothing is lost either.
  [[nodiscard]] static Result<Reader> attach(std::string_view name, std::uint64_t timeout_ns = kAttachTimeoutNs,
                                             const std::function<bool()>& keep_waiting = {},
                                             const os::Accepted& accepted = os::Accepted());
  static constexpr std::uint64_t kAttachTimeoutNs = 10'000'000'000;

  /// The same without the wait: the reader must not be polled before `take_seat` says yes. Ask now and then; the writer
  /// gives seats when it moves its claim and when it beats. A failure: this reader cannot ask at all.
  [[nodiscard]] static Result<Reader> ask_for_seat(std::string_view name,
                                                   const os::Accepted& accepted = os::Accepted());
  [[nodiscard]] Result<bool> take_seat();

  /// What the writer has said of itself.
  [[nodiscard]] Origin origin() const noexcept { return static_cast<Origin>(fixed_.origin); }
  [[nodiscard]] Mode mode() const noexcept { return static_cast<Mode>(fixed_.mode); }
  /// Whether the writer has stopped to wait for this reader, which it did since attach.
  [[nodiscard]] bool is_detached() const noexcept;
  /// With a seat: the writer keeps the records from slot `number` on, which this reader has taken, as if it had not.
  /// `number` must not go back. Until the first call it keeps what was not taken.
  void keep_from(std::uint64_t number) noexcept;
  /// Takes the records from a place on once more, of which keep_from says that they are still there. The place must be
  /// one at which a record began. False: it is not kept, or was not reached yet.
  [[nodiscard]] bool go_back(std::uint64_t number, std::uint64_t records) noexcept;

  /// Takes the next record, if there is one.
  [[nodiscard]] Poll poll() noexcept { return poll_batch(1); }

  /// Takes the records that are there, up to so many and to some hundred slots: Poll::Record if there is at least one.
  /// Worth it for who cannot look at each record as it comes: more is copied while the processor's caches are at it.
  [[nodiscard]] Poll poll_batch(std::size_t max_records = kMaxBatch) noexcept;
  static constexpr std::size_t kMaxBatch = 256;

  /// Takes the next record straight into another ring, without a copy in between: what the reader of that ring gets is
  /// the same but for what numbers slots, stamp and phases. Its records may be as long as this one's. Do not mix with
  /// batches whose records are still wanted.
  [[nodiscard]] Poll copy_to(record::RecordSink& sink, std::uint32_t& slots) noexcept;

  /// What Poll::Damaged means, for messages.
  [[nodiscard]] const char* damage() const noexcept {
    return mapping_.is_broken() ? "the ring's file was truncated while it was read"
                                : "the content of the ring is inconsistent";
  }

  /// The record that poll has found: a private copy, valid until the next poll. The writer did not touch it while it
  /// was copied. Its content is the writer's word: record::Reader checks it.
  [[nodiscard]] std::span<const record::Slot> record() const noexcept { return *records().begin(); }
  /// All that poll_batch has found, in the same sense: `for (std::span<const record::Slot> record : ring.records())`.
  [[nodiscard]] Records records() const noexcept { return Records(slots()); }
  /// Their slots, one record behind the other.
  [[nodiscard]] std::span<const record::Slot> slots() const noexcept { return {copy_.data(), copied_slots_}; }

  /// Number of the first slot of the first record.
  [[nodiscard]] std::uint64_t record_number() const noexcept { return record_number_; }
  /// So many records were published before that record.
  [[nodiscard]] std::uint64_t record_index() const noexcept { return record_index_; }

  /// Slots skipped at the last Poll::Lost: exactly those from where this reader was to where it is now.
  [[nodiscard]] std::uint64_t lost() const noexcept { return core_.lost().number; }
  [[nodiscard]] std::uint64_t total_lost() const noexcept { return total_lost_.number; }
  /// Records that began in them, exactly.
  [[nodiscard]] std::uint64_t lost_records() const noexcept { return core_.lost().records; }
  [[nodiscard]] std::uint64_t total_lost_records() const noexcept { return total_lost_.records; }
  /// Records that poll has given.
  [[nodiscard]] std::uint64_t delivered() const noexcept { return delivered_; }

  /// Number of the slot that is polled next.
  [[nodiscard]] std::uint64_t position() const noexcept { return core_.position(); }
  /// So many records were published before the next one:
  /// first_record() + delivered() + total_lost_records() == next_record(), always.
  [[nodiscard]] std::uint64_t next_record() const noexcept { return core_.next_record(); }
  /// So many were published before this reader came.
  [[nodiscard]] std::uint64_t first_record() const noexcept { return first_record_; }
  /// So many the writer has published by now.
  [[nodiscard]] std::uint64_t published() const noexcept;

  /// How the writer is. A system call: ask when there is nothing to read. Records may have come since the last poll:
  /// poll until Nothing before believing that an ended writer's last record was seen.
  [[nodiscard]] WriterState writer() const noexcept;
  /// Whether the name belongs to another ring by now, one that a later writer has made. A system call.
  [[nodiscard]] bool replaced() const noexcept;

  /// The firmware image (.sbf) that came with the ring; to be read by image::read and checked by verify::check.
  [[nodiscard]] std::span<const std::byte> image() const noexcept { return image_; }
  [[nodiscard]] std::uint64_t layout_hash() const noexcept { return fixed_.layout_hash; }
  [[nodiscard]] std::uint32_t image_generation() const noexcept { return fixed_.image_generation; }
  [[nodiscard]] std::uint64_t epoch() const noexcept { return fixed_.epoch; }
  [[nodiscard]] std::uint32_t writer_pid() const noexcept { return fixed_.writer_pid; }
  [[nodiscard]] std::uint64_t slot_count() const noexcept { return fixed_.slot_count; }
  [[nodiscard]] std::uint32_t max_record_slots() const noexcept { return fixed_.max_record_slots; }
  [[nodiscard]] std::uint64_t heartbeat_ns() const noexcept;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether that file is the one which this reader has open.
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
  Header fixed_{};  ///< As it was when the ring was opened: what does not change was checked, and is not read again.
  std::vector<std::byte> image_;
  ReaderCore<SharedMemory> core_;
  CursorFile cursor_;  ///< Of a reader that was attached.
  std::size_t seat_ = kSeats;
  std::uint64_t kept_ = ~std::uint64_t{0};  ///< keep_from
  std::vector<record::Slot> copy_;
  std::size_t copied_slots_ = 0;
  Poll pending_ = Poll::Record;  ///< What ended the last batch; Record: nothing did.
  std::uint64_t record_number_ = 0;
  std::uint64_t record_index_ = 0;
  std::uint64_t first_record_ = 0;
  std::uint64_t delivered_ = 0;
  Mark total_lost_{};
};

}  // namespace stopbit::ring
