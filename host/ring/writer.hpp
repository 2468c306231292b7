#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "decoder/record/sink.hpp"
#include "host/os/shm/segment.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/memory.hpp"
#include "host/ring/protocol.hpp"
#include "host/ring/seats.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::ring {

struct WriterOptions {
  std::uint64_t slot_count = kDefaultSlotCount;  ///< A power of two, at least eight records of the program.
  std::uint32_t image_generation = 0;
  /// For replays and files: the writer waits for the readers that have a seat (Reader::attach). Nothing: for nobody.
  std::optional<Patience> lossless = {};
  /// A writer of this process that has the name: the new segment takes its place although it is alive. Its readers stay
  /// with it until it finishes. Null: only what a dead writer left is replaced.
  const class Writer* replaces = nullptr;
  Origin origin = Origin::Own;
  /// What a dead writer left is replaced only if it was a copy (Origin), which can be made again.
  bool spares_originals = false;
};

/// Writes records into shared memory for any number of readers, and never waits for one: who is too slow loses records,
/// and learns how many. (A lossless one waits for readers with a seat.) Holds the image too, so that a reader needs
/// nothing but the ring.
///
/// One thread. After create there is no allocation, system call or page fault, but for the waiting of a lossless ring.
/// The segment stays when the writer is gone, so that late readers find its last records; the next writer of the name
/// replaces it.
class Writer final : public record::RecordSink {
 public:
  /// Makes the segment and gives it its name only when it is complete. Leftovers of a dead writer are replaced; a name
  /// that has a live writer, or belongs to something that is no ring, is refused.
  [[nodiscard]] static Result<Writer> create(std::string_view name, const Program& program,
                                             const WriterOptions& options = {});

  Writer(Writer&&) = default;
  Writer& operator=(Writer&&) = delete;
  ~Writer() override;

  [[nodiscard]] Place open() noexcept override;
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;

  /// Lossless: waits until so many readers have a seat, and beats meanwhile. False if keep_waiting said no.
  [[nodiscard]] bool wait_for_readers(std::size_t readers);
  /// Lossless: readers that have a seat now.
  [[nodiscard]] std::size_t seated() const noexcept { return seats_ ? seats_->taken() : 0; }

  /// Tells readers that the writer is well; their tools show the age. Lets readers of a lossless ring sit down.
  void beat(std::uint64_t now_ns) noexcept;

  /// Tells readers that no record follows. The destructor does the same.
  void finish() noexcept;

  /// Whether the segment's file has become shorter: nobody reads what is written from there on. No system call.
  [[nodiscard]] bool is_broken() const noexcept { return mapping_.is_broken(); }

  /// Takes the name away, if it is still this segment's: who has it open keeps it. A system call.
  void unlink() const noexcept;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t slot_count() const noexcept { return core_.geometry().slot_count; }
  [[nodiscard]] std::uint64_t epoch() const noexcept;
  /// Number of the slot the next record begins at, unless padding comes first.
  [[nodiscard]] std::uint64_t head() const noexcept { return core_.number(); }
  /// Records published.
  [[nodiscard]] std::uint64_t records() const noexcept { return core_.records(); }
  [[nodiscard]] std::size_t segment_bytes() const noexcept { return mapping_.bytes(); }
  /// How much of the segment lies in huge pages. They save the processor's address caches; 0 is slower by little. They
  /// need a file system that gives them: a tmpfs does if it is mounted with huge=advise (or always).
  [[nodiscard]] std::size_t huge_bytes() const { return mapping_.huge_bytes(); }
  /// The last byte of the segment; for who wants to know where it lies.
  [[nodiscard]] const void* last_byte() const noexcept { return mapping_.data() + mapping_.bytes() - 1; }

 private:
  Writer() = default;

  [[nodiscard]] Header& header() const noexcept { return *reinterpret_cast<Header*>(mapping_.data()); }

  std::string path_;
  os::Descriptor file_;  ///< Holds the lock.
  os::Mapping mapping_;
  WriterCore<SharedMemory> core_;
  std::unique_ptr<Seats> seats_;
  std::uint64_t prefetched_ = 0;  ///< Slots below were fetched for writing.
};

}  // namespace stopbit::ring
