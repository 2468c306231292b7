#include "host/nic/netvm/paged_memory.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace stopbit::nic {
namespace {

constexpr std::size_t kMaxFrames = std::size_t{1} << 22U;
constexpr std::size_t kRequestsPerStep = 64;
constexpr int kTriesWhileItChanges = 100'000;
constexpr int kSleepMs = 100;

std::uintptr_t to_number(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory);
}

}  // namespace

Result<std::unique_ptr<PagedMemory>> PagedMemory::open(os::Descriptor file, std::uint64_t bytes,
                                                       const PagedOptions& options) {
  struct stat status {};
  if (!file.ok() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Failure{"unpinned memory needs a regular file"};
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size == 0 || bytes > size) return Failure{"the file is shorter than the memory to be made of it"};
  const int mode = ::fcntl(file.get(), F_GETFL) & O_ACCMODE;
  if (mode != O_RDWR && (mode != O_RDONLY || allows(options.access, Access::Write))) {
    return Failure{"the file is not open for this access"};
  }
  if (options.frames < PagedOptions::kMinFrames || options.frames > kMaxFrames) {
    return Failure{"unpinned memory must have 16 to 4194304 resident pages"};
  }
  std::unique_ptr<PagedMemory> memory(new PagedMemory(std::move(file), bytes == 0 ? size : bytes, options));
  if (!memory->faults_.open()) return Failure{std::string("the kernel refuses userfaultfd: ") + std::strerror(errno)};
  if (!memory->set_up()) return Failure{std::string("cannot create unpinned memory: ") + std::strerror(errno)};
  if (!options.has_thread) return memory;
  try {
    memory->thread_ = std::thread([self = memory.get()] { self->run(); });
  } catch (const std::system_error& error) {
    return Failure{std::string("cannot create the thread of unpinned memory: ") + error.what()};
  }
  return memory;
}

PagedMemory::PagedMemory(os::Descriptor file, std::uint64_t bytes, const PagedOptions& options)
    : file_(std::move(file)),
      bytes_(bytes),
      pages_((bytes + kPageBytes - 1) / kPageBytes),
      options_(options),
      table_(options.frames),
      states_(options.frames),
      staging_storage_(new std::byte[2 * kPageBytes]) {
  const std::uintptr_t at = to_number(staging_storage_.get());
  staging_ = staging_storage_.get() + (kPageBytes - at % kPageBytes) % kPageBytes;
}

bool PagedMemory::set_up() noexcept {
  const std::size_t length = pages_ * kPageBytes;
  memory_ = os::Descriptor(::memfd_create("stopbit-paged", MFD_CLOEXEC));
  bell_ = os::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!memory_.ok() || !bell_.ok() || ::ftruncate(memory_.get(), static_cast<off_t>(length)) != 0) return false;
  const auto map = [&](int protection) -> std::byte* {
    // In a process that locks its memory, a mapping that can be used would be filled at once.
    void* const mapped = ::mmap(nullptr, length, PROT_NONE, MAP_SHARED | MAP_NORESERVE, memory_.get(), 0);
    if (mapped == MAP_FAILED) return nullptr;
    if (::munlock(mapped, length) != 0 || ::mprotect(mapped, length, protection) != 0) {
      ::munmap(mapped, length);
      return nullptr;
    }
    // A child would see zeros, because no pager serves it; and a core dump of this size is useless.
    (void)::madvise(mapped, length, MADV_DONTFORK);
    (void)::madvise(mapped, length, MADV_DONTDUMP);
    return static_cast<std::byte*>(mapped);
  };
  alias_ = map(PROT_READ | PROT_WRITE);
  if (alias_ == nullptr || !faults_.watch(alias_, length, false)) return false;
  if (!options_.has_view) return true;
  const bool is_writable = allows(options_.access, Access::Write);
  view_ = map(is_writable ? PROT_READ | PROT_WRITE : PROT_READ);
  if (view_ == nullptr || !faults_.watch(view_, length, is_writable)) return false;
  ranges_.push_back({to_number(view_), to_number(view_) + length, 0});
  return true;
}

PagedMemory::~PagedMemory() {
  is_over_.store(true);
  wake();
  if (thread_.joinable()) thread_.join();
  if (!has_ended_.load()) end();
  faults_ = FaultSource();
  if (alias_ != nullptr) ::munmap(alias_, pages_ * kPageBytes);
  for (const Range& range : ranges_) {
    ::munmap(reinterpret_cast<void*>(range.begin), range.end - range.begin);  // NOLINT(performance-no-int-to-ptr)
  }
}

std::span<std::byte> PagedMemory::view() const noexcept {
  return view_ == nullptr ? std::span<std::byte>() : std::span(view_, static_cast<std::size_t>(bytes_));
}

// The interface.

HeldPage PagedMemory::hold(std::uint64_t page) noexcept {
  if (page >= pages_) return {HeldPage::State::Failed, nullptr, 0};
  if (const auto frame = table_.lock(page, restarts_)) {
    held_.add();
    return {HeldPage::State::Here, address(page), *frame};
  }
  absent_.add();
  restarted_.value.store(restarts_, std::memory_order_relaxed);
  Asked& asked = asked_[page % kAsked];
  const bool is_pending = asked.page != 0 && asked.number >= served_.load(std::memory_order_acquire);
  if (is_pending) return {};  // or another's turn in this place
  const bool has_failed = asked.page == page + 1 && is_failed_[page % kAsked].load(std::memory_order_relaxed);
  if (has_failed) {
    asked.page = 0;
    return {HeldPage::State::Failed, nullptr, 0};
  }
  ask(asked, page);
  return {};
}

void PagedMemory::release(const HeldPage& page, bool is_changed) noexcept {
  if (is_changed) {
    table_.unlock_dirty(page.frame);
  } else {
    table_.unlock(page.frame);
  }
}

void PagedMemory::want(std::uint64_t page) noexcept {
  if (page >= pages_) return;
  if (const auto frame = table_.lock(page, restarts_)) return table_.unlock(*frame);
  Asked& asked = asked_[page % kAsked];
  if (asked.page == 0 || asked.number < served_.load(std::memory_order_acquire)) ask(asked, page);
}

/// There is room: no place of `asked_` has more than one request under way.
void PagedMemory::ask(Asked& asked, std::uint64_t page) noexcept {
  asked = {page + 1, asked_count_};
  requests_[asked_count_ % kAsked].store(page, std::memory_order_relaxed);
  asked_total_.add();
  requested_.store(++asked_count_);  // before it looks whether the pager sleeps
  if (is_asleep_.load()) wake();
}

// The pager.

void PagedMemory::wake() noexcept {
  const std::uint64_t one = 1;
  if (bell_.ok()) (void)!::write(bell_.get(), &one, sizeof(one));
}

void PagedMemory::run() {
  while (!is_over_.load()) {
    if (step() == 0) sleep();
  }
  end();
}

/// The pager's last work.
void PagedMemory::end() {
  hear();
  (void)flush_all();
  has_ended_.store(true);
}

bool PagedMemory::finish() {
  if (!is_over_.exchange(true)) {
    wake();
    if (!thread_.joinable()) end();
  }
  return has_ended_.load();
}

void PagedMemory::sleep() noexcept {
  is_asleep_.store(true);
  if (requested_.load() == served_.load() && !has_flush_.load() && to_shrink_.load() == 0 && !is_over_.load()) {
    std::array<pollfd, 2> polled = {pollfd{faults_.descriptor(), POLLIN, 0}, pollfd{bell_.get(), POLLIN, 0}};
    (void)::poll(polled.data(), polled.size(), kSleepMs);
  }
  is_asleep_.store(false);
  std::uint64_t rung = 0;
  (void)!::read(bell_.get(), &rung, sizeof(rung));
}

std::size_t PagedMemory::step() {
  hear();
  std::size_t work = 0;
  for (; !waiting_.empty(); ++work) {
    const FaultEvent fault = waiting_.front();
    waiting_.pop_front();
    serve(fault);
  }
  const std::uint64_t requested = requested_.load(std::memory_order_acquire);
  std::uint64_t served = served_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kRequestsPerStep && served != requested; ++i, ++work) {
    const std::uint64_t page = requests_[served % kAsked].load(std::memory_order_relaxed);
    is_failed_[page % kAsked].store(!fetch(page, false), std::memory_order_relaxed);
    served_.store(++served, std::memory_order_release);
  }
  for (std::size_t left = std::min(to_shrink_.exchange(0), table_.used()); left != 0; --left, ++work) {
    if (const auto victim = table_.next_victim()) (void)evict(*victim);
  }
  if (has_flush_.exchange(false)) {
    ++work;
    std::unique_lock lock(flush_mutex_);
    const std::uint64_t wanted = flushes_wanted_;
    lock.unlock();
    const bool is_good = flush_all();
    lock.lock();
    flushes_done_ = wanted;
    flush_is_good_ = is_good;
    lock.unlock();
    flushed_.notify_all();
  }
  crowded_.value.store(table_.crowded(), std::memory_order_relaxed);
  restored_.value.store(table_.restored(), std::memory_order_relaxed);
  return work;
}

/// Takes in events of the kernel. Changes to the view count at once; threads that wait are served later.
void PagedMemory::hear() {
  for (FaultEvent event; faults_.read(event);) {
    if (event.kind == FaultEvent::Kind::Missing || event.kind == FaultEvent::Kind::Write) {
      waiting_.push_back(event);
      continue;
    }
    events_.add();
    if (event.kind == FaultEvent::Kind::Removed) {
      hide(event.address, event.end);
      continue;
    }
    hide(event.address, event.end);
    std::vector<Range> kept;
    for (const Range& range : ranges_) {
      const std::uintptr_t begin = std::max(range.begin, event.address);
      const std::uintptr_t end = std::min(range.end, event.end);
      if (begin >= end) {
        kept.push_back(range);
        continue;
      }
      const auto page_at = [&](std::uintptr_t at) { return range.first_page + (at - range.begin) / kPageBytes; };
      if (range.begin < begin) kept.push_back({range.begin, begin, range.first_page});
      if (end < range.end) kept.push_back({end, range.end, page_at(end)});
      if (event.kind == FaultEvent::Kind::Moved) {
        const std::uintptr_t to = event.target + (begin - event.address);
        kept.push_back({to, to + (end - begin), page_at(begin)});
      }
    }
    ranges_ = std::move(kept);
  }
}

/// The pages at these addresses of the view may be gone, or may be written to unseen.
void PagedMemory::hide(std::uintptr_t begin, std::uintptr_t end) {
  for (std::size_t frame = 0; frame < table_.frames(); ++frame) {
    if (!table_.is_used(frame)) continue;
    const std::uintptr_t at = in_view(table_.page_in(frame));
    if (at < begin || at >= end) continue;
    table_.hide(frame);
    states_[frame].is_doubtful = true;
    states_[frame].is_written = true;
  }
}

void PagedMemory::serve(const FaultEvent& fault) {
  served_faults_.add();
  std::uint64_t page = pages_;
  const std::uintptr_t alias = to_number(alias_);
  if (fault.address >= alias && fault.address < alias + pages_ * kPageBytes) {
    page = (fault.address - alias) / kPageBytes;
  }
  for (const Range& range : ranges_) {
    if (fault.address >= range.begin && fault.address < range.end) {
      page = range.first_page + (fault.address - range.begin) / kPageBytes;
    }
  }
  if (page < pages_ && fault.kind == FaultEvent::Kind::Missing) {
    if (!fetch(page, true)) fill(page);
  } else if (page < pages_) {
    if (const auto frame = table_.frame_of(page)) {
      states_[*frame].is_written = true;
      if (faults_.protect(fault.address, false) == FaultSource::Given::Yes) return;
    }
  }
  faults_.wake(fault.address);  // it looks again, and waits again if need be
}

/// `is_missing`: the kernel says so, whatever is known here.
bool PagedMemory::fetch(std::uint64_t page, bool is_missing) {
  if (page >= pages_) return false;
  auto frame = table_.frame_of(page);
  if (frame && states_[*frame].is_filler) {
    if (!evict(*frame)) return false;
    frame.reset();
  }
  const bool was_here = frame.has_value();
  if (was_here && !is_missing && !states_[*frame].is_doubtful) {
    table_.map(*frame);
    return true;
  }
  if (!read_file(page)) {
    read_failures_.add();
    return false;
  }
  if (!was_here) {
    if (!make_room()) return false;
    frame = table_.take_frame(page);
    states_[*frame] = {};
  }
  protect(page);
  FaultSource::Given given{};
  if (!give(page, given)) {
    if (!was_here) table_.give_back(*frame);
    return false;
  }
  FrameState& state = states_[*frame];
  if (given == FaultSource::Given::Yes) {
    fetched_.add();
    (void)table_.take_dirty(*frame);  // what was changed has been thrown away
    state = {};
  } else if (!was_here) {
    state.is_written = true;  // bytes of unknown origin: they are the memory's
  }
  state.is_doubtful = false;
  table_.map(*frame);
  return true;
}

/// Staged bytes into the page, unless there are some.
bool PagedMemory::give(std::uint64_t page, FaultSource::Given& given) {
  for (int i = 0; i < kTriesWhileItChanges; ++i) {
    given = faults_.give(address(page), staging_);
    if (given != FaultSource::Given::Again) return given != FaultSource::Given::Failed;
    hear();
  }
  return false;
}

/// Zeros for a thread that waits for a page which cannot be had.
void PagedMemory::fill(std::uint64_t page) {
  auto frame = table_.frame_of(page);
  const bool was_here = frame.has_value();
  if (!was_here) {
    if (!make_room()) return;
    frame = table_.take_frame(page);
    states_[*frame] = {};
  }
  std::fill_n(staging_, kPageBytes, std::byte{0});
  FaultSource::Given given{};
  if (give(page, given) && given == FaultSource::Given::Yes) {
    table_.hide(*frame);
    states_[*frame].is_filler = true;
  } else if (!was_here) {
    table_.give_back(*frame);
  }
}

bool PagedMemory::make_room() {
  // The interface holds one page at a time, so at least the other frames can be had, if the file takes what has
  // changed.
  for (std::size_t tried = 0; table_.used() == table_.frames(); ++tried) {
    const auto victim = table_.next_victim();
    if (!victim || tried > 2 * table_.frames()) return false;
    (void)evict(*victim);
  }
  return true;
}

bool PagedMemory::evict(std::size_t frame) {
  if (!table_.unmap(frame)) {
    in_use_.add();
    return false;
  }
  if (!clean(frame)) {
    if (!states_[frame].is_doubtful) table_.map(frame);
    return false;
  }
  drop(frame);
  evicted_.add();
  return true;
}

/// Takes an unmapped frame: its bytes are lost to all threads.
void PagedMemory::drop(std::size_t frame) {
  (void)::fallocate(memory_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(table_.page_in(frame) * kPageBytes), kPageBytes);
  table_.give_back(frame);
}

/// Writes the page back if it was changed. False: it could not be written, and counts as changed.
bool PagedMemory::clean(std::size_t frame) {
  FrameState& state = states_[frame];
  if (!allows(options_.access, Access::Write) || state.is_filler) return true;
  const std::uint64_t page = table_.page_in(frame);
  if (state.is_written) protect(page);
  const bool is_dirty = table_.take_dirty(frame) || state.is_written;
  state.is_written = false;
  if (!is_dirty) return true;
  const std::uint64_t at = page * kPageBytes;
  const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(kPageBytes, bytes_ - at));
  for (std::size_t done = 0; done < length;) {
    const ssize_t count = ::pwrite(file_.get(), address(page) + done, length - done, static_cast<off_t>(at + done));
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count < 0 && errno == EFAULT) {
      return true;  // thrown away meanwhile: there is nothing to write
    } else if (count == 0 || errno != EINTR) {
      write_failures_.add();
      state.is_written = true;
      return false;
    }
  }
  written_.add();
  return true;
}

bool PagedMemory::flush_all() {
  bool is_good = true;
  for (std::size_t frame = 0; frame < table_.frames(); ++frame) {
    if (table_.is_used(frame) && !clean(frame)) is_good = false;
  }
  return is_good;
}

bool PagedMemory::read_file(std::uint64_t page) noexcept {
  const std::uint64_t at = page * kPageBytes;
  const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(kPageBytes, bytes_ - at));
  for (std::size_t done = 0; done < length;) {
    const ssize_t count = ::pread(file_.get(), staging_ + done, length - done, static_cast<off_t>(at + done));
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      return false;
    }
  }
  std::fill(staging_ + length, staging_ + kPageBytes, std::byte{0});
  return true;
}

/// A thread that writes to the page in the view waits, so that the write is noticed.
void PagedMemory::protect(std::uint64_t page) {
  if (!allows(options_.access, Access::Write)) return;
  for (int i = 0; i < kTriesWhileItChanges; ++i) {
    const std::uintptr_t at = in_view(page);
    if (at == 0 || faults_.protect(at, true) != FaultSource::Given::Again) return;
    hear();
  }
}

/// 0: not there.
std::uintptr_t PagedMemory::in_view(std::uint64_t page) const noexcept {
  for (const Range& range : ranges_) {
    const std::uint64_t count = (range.end - range.begin) / kPageBytes;
    if (page >= range.first_page && page - range.first_page < count) {
      return range.begin + (page - range.first_page) * kPageBytes;
    }
  }
  return 0;
}

// Others.

std::string PagedMemory::flush() {
  bool is_good = false;
  if (thread_.joinable()) {
    std::unique_lock lock(flush_mutex_);
    const std::uint64_t mine = ++flushes_wanted_;
    has_flush_.store(true);
    wake();
    flushed_.wait(lock, [&] { return flushes_done_ >= mine; });
    is_good = flush_is_good_;
  } else {
    is_good = flush_all();
  }
  return is_good ? "" : "not all changed pages could be written to the file";
}

void PagedMemory::shrink(std::size_t pages) noexcept {
  to_shrink_.fetch_add(pages);
  if (is_asleep_.load()) wake();
}

PagedCounters PagedMemory::counters() const noexcept {
  return {held_.get(),    absent_.get(),   asked_total_.get(),   restarted_.get(),     fetched_.get(),
          evicted_.get(), written_.get(),  in_use_.get(),        served_faults_.get(), events_.get(),
          crowded_.get(), restored_.get(), read_failures_.get(), write_failures_.get()};
}

}  // namespace stopbit::nic
