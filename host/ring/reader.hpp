#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::ring {

/// Where a new reader begins.
enum class Start : std::uint8_t {
  Oldest,  ///< At the oldest record that is safe from being overwritten at once; all of a ring never filled.
  Newest,  ///< With the next record.
};

/// What poll has found.
enum class Poll : std::uint8_t {
  Nothing,  ///< No record yet.
  Record,   ///< One record: Reader::record.
  Lost,     ///< The writer has overtaken the reader: Reader::lost slots were skipped. Poll again for what follows.
  Damaged,  ///< The ring's content contradicts itself. Stays so: open again, or stop.
};

enum class WriterState : std::uint8_t {
  Running,
  Finished,  ///< It has ended in good order.
  Dead,      ///< It has ended without saying so.
};

/// Reads the records of a ring out of memory that it maps read-only. Any number of readers, of any process: the writer
/// does not know of them, and a reader may stop or die at any instruction. Safe on any content of the segment; only a
/// file that shrinks while it is mapped cannot be survived (SIGBUS), and a writer never shrinks it.
///
/// One thread per reader. poll and record make no system call and allocate nothing.
class Reader {
 public:
  [[nodiscard]] static Result<Reader> open(std::string_view name, Start start = Start::Oldest);

  /// Takes the next record, if there is one.
  [[nodiscard]] Poll poll() noexcept;

  /// The record that poll has found: a private copy, valid until the next poll. The writer did not touch it while it
  /// was copied. Its content is the writer's word: record::Reader checks it.
  [[nodiscard]] std::span<const record::Slot> record() const noexcept { return {copy_.data(), record_slots_}; }
  /// Number of its first slot.
  [[nodiscard]] std::uint64_t record_number() const noexcept { return record_number_; }

  /// Slots skipped at the last Poll::Lost: exactly those from where this reader was to where it is now.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  [[nodiscard]] std::uint64_t total_lost() const noexcept { return total_lost_; }

  /// Number of the slot that is polled next.
  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }

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

 private:
  Reader() = default;

  [[nodiscard]] const Header& header() const noexcept { return *reinterpret_cast<const Header*>(mapping_.data()); }
  [[nodiscard]] const record::Slot& slot(std::uint64_t number) const noexcept {
    return slots_[number & (fixed_.slot_count - 1)];
  }
  [[nodiscard]] bool is_overtaken() const noexcept;
  [[nodiscard]] Poll resume() noexcept;
  [[nodiscard]] std::uint64_t find_start(std::uint64_t after, std::uint64_t margin) const noexcept;

  std::string path_;
  Descriptor file_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  Mapping mapping_;
  const record::Slot* slots_ = nullptr;
  Header fixed_{};  ///< As it was when the ring was opened: what does not change was checked, and is not read again.
  std::vector<std::byte> image_;
  std::vector<record::Slot> copy_;
  std::size_t record_slots_ = 0;
  std::uint64_t record_number_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t total_lost_ = 0;
};

}  // namespace stopbit::ring
