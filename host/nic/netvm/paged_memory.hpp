#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/names.hpp"
#include "host/nic/netvm/fault_source.hpp"
#include "host/nic/netvm/page_table.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

struct PagedOptions {
  static constexpr std::size_t kMinFrames = 16;
  std::size_t frames = 16'384;   ///< Pages that may be here at once; kMinFrames to 2^22.
  Access access = Access::Read;  ///< ReadWrite: changed pages are written back into the file.
  bool has_view = false;         ///< Threads of this process may use it, too: see view().
  bool has_thread = true;        ///< Its pager is a thread. Otherwise it is whoever calls step().
};

struct PagedCounters {
  // Of the interface.
  std::uint64_t held = 0;      ///< Resident pages found.
  std::uint64_t absent = 0;    ///< Looked for, and not here.
  std::uint64_t asked = 0;     ///< Requests to the pager.
  std::uint64_t restarts = 0;  ///< A page went in the moment in which the interface took it.
  // Of the pager.
  std::uint64_t fetched = 0;
  std::uint64_t evicted = 0;
  std::uint64_t written = 0;        ///< Pages, back into the file.
  std::uint64_t in_use = 0;         ///< Should have been evicted, but the interface was using it.
  std::uint64_t faults = 0;         ///< Of threads that use the view.
  std::uint64_t events = 0;         ///< Parts of the view unmapped, moved or discarded.
  std::uint64_t crowded = 0;        ///< Lost their place in a full row of the table,
  std::uint64_t restored = 0;       ///< and got one again.
  std::uint64_t read_failures = 0;  ///< The file does not have the page (any more).
  std::uint64_t write_failures = 0;
};

/// A page that the interface may use until it gives it back.
struct HeldPage {
  enum class State : std::uint8_t { Here, Absent, Failed };
  State state = State::Absent;
  std::byte* memory = nullptr;
  std::size_t frame = 0;
};

/// Memory with the bytes of a file that may be far larger than its resident part: unpinned memory. Pages are fetched on
/// first use, and evicted when others need the room.
///
/// The interface (one thread, the node's) never waits: it requests a missing page and looks again later. While it holds
/// a page, that page stays. The pager (one thread) reads and writes the file, with system calls, so a file that is cut
/// off gives an error, not a signal. Local threads may use view() like any memory; they wait for missing pages in the
/// kernel, which notifies the pager (userfaultfd).
///
/// The file belongs to this object meanwhile: what others write into it is seen only in pages that are fetched later.
/// Changes are in the file after flush(), or the destructor.
class PagedMemory {
 public:
  /// The first `bytes` of a regular file, all of them if 0. Failure: no such file, or a kernel without userfaultfd.
  [[nodiscard]] static Result<std::unique_ptr<PagedMemory>> open(os::Descriptor file, std::uint64_t bytes,
                                                                 const PagedOptions& options);
  /// No thread may use it any more. Writes back changed pages.
  ~PagedMemory();
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;

  [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }
  [[nodiscard]] Access access() const noexcept { return options_.access; }
  /// How many pages one transfer may ask for beforehand: more, and they would drive out each other.
  [[nodiscard]] std::uint64_t pages_ahead() const noexcept { return options_.frames / 8; }

  // The interface. No call waits. A system call only to wake a pager that sleeps.

  /// Absent: the page was requested. Failed: the file does not have it; each further call requests it again.
  [[nodiscard]] HeldPage hold(std::uint64_t page) noexcept;
  /// `is_changed`: bytes were written.
  void release(const HeldPage& page, bool is_changed) noexcept;
  /// It will be looked for soon.
  void want(std::uint64_t page) noexcept;

  // Others.

  /// For threads of this process: may be read, and written if the memory may. Unmapping, moving and discarding parts of
  /// it harms no other process; a discarded part comes back as the file has it. A page that the file does not have
  /// reads as zeros. System calls that get an address in it may fail with EFAULT.
  [[nodiscard]] std::span<std::byte> view() const noexcept;
  /// Any thread. All changes until now are in the file. Empty, or why some are not.
  [[nodiscard]] std::string flush();
  /// Any thread. Asks for up to `pages` evictions: others need the memory.
  void shrink(std::size_t pages) noexcept;
  /// The pager's thread, if it is none of this object's. Returns how much it did.
  std::size_t step();
  /// For an end without waiting: the pager writes back changed pages and ends. True once it has; then the destructor
  /// has nothing left to do that takes long. No thread may use the memory any more. Call it repeatedly, from one
  /// thread.
  [[nodiscard]] bool finish();
  /// Any thread.
  [[nodiscard]] PagedCounters counters() const noexcept;

 private:
  static constexpr std::size_t kAsked = 256;

  /// Pages of the view, where they are now.
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t first_page = 0;
  };
  struct Asked {
    std::uint64_t page = 0;  ///< Plus 1; 0: none.
    std::uint64_t number = 0;
  };
  /// Counted by one thread, read by any.
  struct Count {
    std::atomic<std::uint64_t> value = 0;
    void add() noexcept { value.store(value.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept { return value.load(std::memory_order_relaxed); }
  };

  PagedMemory(os::Descriptor file, std::uint64_t bytes, const PagedOptions& options);
  [[nodiscard]] bool set_up() noexcept;
  void run();
  void end();
  void sleep() noexcept;
  void wake() noexcept;
  void ask(Asked& asked, std::uint64_t page) noexcept;
  [[nodiscard]] std::byte* address(std::uint64_t page) const noexcept { return alias_ + page * kPageBytes; }

  void hear();
  void hide(std::uintptr_t begin, std::uintptr_t end);
  void serve(const FaultEvent& fault);
  [[nodiscard]] bool fetch(std::uint64_t page, bool is_missing);
  [[nodiscard]] bool give(std::uint64_t page, FaultSource::Given& given);
  void fill(std::uint64_t page);
  [[nodiscard]] bool make_room();
  [[nodiscard]] bool evict(std::size_t frame);
  void drop(std::size_t frame);
  [[nodiscard]] bool clean(std::size_t frame);
  [[nodiscard]] bool flush_all();
  [[nodiscard]] bool read_file(std::uint64_t page) noexcept;
  void protect(std::uint64_t page);
  [[nodiscard]] std::uintptr_t in_view(std::uint64_t page) const noexcept;

  os::Descriptor file_;
  std::uint64_t bytes_;
  std::uint64_t pages_;
  PagedOptions options_;
  os::Descriptor memory_;
  os::Descriptor bell_;
  FaultSource faults_;
  std::byte* alias_ = nullptr;  ///< The interface's own, private mapping.
  std::byte* view_ = nullptr;
  PageTable table_;

  // The interface's.
  std::array<Asked, kAsked> asked_{};
  std::uint64_t asked_count_ = 0;
  std::uint64_t restarts_ = 0;
  Count held_, absent_, asked_total_, restarted_;

  // Between the two.
  std::array<std::atomic<std::uint64_t>, kAsked> requests_{};
  std::array<std::atomic<bool>, kAsked> is_failed_{};  ///< By page: of its last request.
  alignas(kLineBytes) std::atomic<std::uint64_t> requested_ = 0;
  alignas(kLineBytes) std::atomic<std::uint64_t> served_ = 0;
  std::atomic<bool> is_asleep_ = false;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> has_ended_ = false;
  std::atomic<std::size_t> to_shrink_ = 0;

  // The pager's.
  struct FrameState {
    bool is_written = false;   ///< By threads, through the view.
    bool is_doubtful = false;  ///< Its bytes may have been discarded.
    bool is_filler = false;    ///< Zeros, which the file does not have.
  };
  std::vector<FrameState> states_;
  std::vector<Range> ranges_;
  std::deque<FaultEvent> waiting_;
  std::unique_ptr<std::byte[]> staging_storage_;
  std::byte* staging_ = nullptr;
  Count fetched_, evicted_, written_, in_use_, served_faults_, events_, crowded_, restored_, read_failures_,
      write_failures_;

  std::mutex flush_mutex_;
  std::condition_variable flushed_;
  std::uint64_t flushes_wanted_ = 0;
  std::uint64_t flushes_done_ = 0;
  bool flush_is_good_ = true;
  std::atomic<bool> has_flush_ = false;
  std::thread thread_;
};

}  // namespace stopbit::nic
