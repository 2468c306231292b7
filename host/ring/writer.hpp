#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "decoder/record/sink.hpp"
#include "host/os/shm/publish.hpp"
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
  /// For replays and files: the writer waits for attached readers (Reader::attach). Without a value it never waits.
  std::optional<Patience> lossless = {};
  /// A live writer of this process with the same name, to be replaced by the new segment. Its readers stay with it
  /// until it finishes. Null: replaces only the segment of a dead writer.
  const class Writer* replaces = nullptr;
  Origin origin = Origin::Own;
  /// Replaces the segment of a dead writer only if it was a copy (Origin), which can be made again.
  bool spares_originals = false;
  std::uint64_t tables_epoch = 0;  ///< Header::tables_epoch.
  bool is_short = false;           ///< Records have one slot; only for speed.
};

/// Writes records into shared memory for any number of readers and never waits for them: a reader that falls behind
/// loses records and sees exactly how many. (A lossless writer waits for attached readers.) The segment contains the
/// image, so a reader needs only the ring.
///
/// One thread. After create it makes no allocation, system call or page fault, except while a lossless ring waits. The
/// segment remains after the writer ends, so that late readers find its last records; the next writer of the name
/// replaces it.
class Writer final : public record::RecordSink {
 public:
  /// Creates the segment, and names it only when it is complete. Replaces the segment of a dead writer. Fails if the
  /// name has a live writer or belongs to a file that is not a ring.
  [[nodiscard]] static Result<Writer> create(std::string_view name, const Program& program,
                                             const WriterOptions& options = {});
  /// The same without the name: until take_name the ring of the name is another one, or none. Without it the segment
  /// goes with this object. For a caller with several segments, whose names are to change together or not at all.
  [[nodiscard]] static Result<Writer> prepare(std::string_view name, const Program& program,
                                              const WriterOptions& options = {});
  /// Whether take_name would succeed now.
  [[nodiscard]] Status check_name() const { return unnamed_->segment.check(); }
  /// Once, after prepare. `options.replaces` must still live.
  [[nodiscard]] Status take_name();

  Writer(Writer&&) = default;
  Writer& operator=(Writer&&) = delete;
  ~Writer() override;

  [[nodiscard]] Place open() noexcept override;
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;
  void put(const std::uint64_t (&words)[record::kSlotWords]) noexcept override;

  /// Lossless: waits until `readers` readers are attached, and beats meanwhile. Returns false if keep_waiting returned
  /// false.
  /// Calls `each`, if it is given, again and again while it waits.
  [[nodiscard]] bool wait_for_readers(std::size_t readers, const std::function<void()>& each = {});
  /// Lossless: number of attached readers.
  [[nodiscard]] std::size_t seated() const noexcept { return seats_ ? seats_->taken() : 0; }

  /// Updates the heartbeat, whose age tools show. Admits readers of a lossless ring.
  void beat(std::uint64_t now_ns) noexcept;

  /// Marks the ring as finished: no record follows. The destructor does the same.
  void finish() noexcept;

  /// Whether the segment's file was truncated: later records reach no reader. No system call.
  [[nodiscard]] bool is_broken() const noexcept { return mapping_.is_broken(); }

  /// Removes the name if it still belongs to this segment. Processes that have the segment open keep it. A system call.
  void unlink() const noexcept;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t slot_count() const noexcept { return core_.geometry().slot_count; }
  [[nodiscard]] std::uint64_t epoch() const noexcept;
  /// Number of the slot at which the next record begins, unless padding comes first.
  [[nodiscard]] std::uint64_t head() const noexcept { return core_.number(); }
  /// Records published.
  [[nodiscard]] std::uint64_t records() const noexcept { return core_.records(); }
  [[nodiscard]] std::size_t segment_bytes() const noexcept { return mapping_.bytes(); }
  /// Bytes of the segment in huge pages, which reduce TLB misses; without them the ring is slightly slower. They need a
  /// tmpfs mounted with huge=advise or huge=always.
  [[nodiscard]] std::size_t huge_bytes() const { return mapping_.huge_bytes(); }
  /// The last byte of the segment, for callers that look up its memory node.
  [[nodiscard]] const void* last_byte() const noexcept { return mapping_.data() + mapping_.bytes() - 1; }

 private:
  Writer() = default;

  [[nodiscard]] Header& header() const noexcept { return *reinterpret_cast<Header*>(mapping_.data()); }
  void make_room() noexcept;
  /// Loads the slots that come, to be written.
  void prefetch() noexcept;

  std::string path_;
  struct Unnamed {
    os::NewSegment segment;
    std::optional<Patience> lossless;
  };
  std::unique_ptr<Unnamed> unnamed_;  ///< Until take_name.
  os::Descriptor file_;               ///< Holds the lock.
  os::Mapping mapping_;
  WriterCore<SharedMemory> core_;
  std::unique_ptr<Seats> seats_;
  bool is_short_ = false;
  std::uint64_t prefetched_ = 0;  ///< Slots below this number were prefetched for writing.
};

}  // namespace stopbit::ring
