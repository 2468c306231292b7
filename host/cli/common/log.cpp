#include "host/cli/common/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "host/os/clock.hpp"
#include "host/os/readable.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::tools {
namespace {

constexpr auto kPatience = std::chrono::milliseconds(500);

std::uint64_t lines_of(const std::string& text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string line_of(const appliance::Change& change) {
  return fmt::format("{} level={} {}\n", os::time_text(os::wall_clock_ns()), appliance::to_text(change.level),
                     appliance::to_text(change));
}

}  // namespace

struct Log::Shared {
  struct Entry {
    std::string text;
    std::uint64_t refused = 0;  ///< Lines that had found no room when it came.
  };

  /// A descriptor of its own: a thread that outlives us must not write to another file that gets the number later.
  explicit Shared(int to) : file(::fcntl(to, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {}

  /// The thread's work. Holds the mutex, except while it writes.
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return !queue.empty() || refused != seen_refused || closes; });
      if (queue.empty() && refused == seen_refused) break;
      Entry entry;
      entry.refused = refused;
      if (!queue.empty()) {
        entry = std::move(queue.front());
        queue.pop_front();
        bytes -= entry.text.size();
      }
      lock.unlock();
      write(entry);
      lock.lock();
    }
    ended = true;
    changed.notify_all();
  }

  void write(const Entry& entry) {
    seen_refused = entry.refused;
    const std::uint64_t all = entry.refused + failed;
    if (all != told && put(line_of({appliance::Change::Level::Warning,
                                    "log lines lost",
                                    {{"more", std::to_string(all - told)}, {"all", std::to_string(all)}}}))) {
      told = all;
    }
    if (entry.text.empty() || put(entry.text)) return;
    failed += lines_of(entry.text);
    lost.fetch_add(lines_of(entry.text), std::memory_order_relaxed);
  }

  bool put(std::string_view text) {
    // Half a line was written before an error: it may not become the beginning of another one.
    if (is_torn && !put_all("\n")) return false;
    is_torn = false;
    return put_all(text);
  }

  bool put_all(std::string_view text) {
    const std::size_t all = text.size();
    while (!text.empty()) {
      const ssize_t count = ::write(file.get(), text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) {  // another process made the pipe so
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      if (count <= 0) {
        is_torn = is_torn || text.size() != all;
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  const os::Descriptor file;
  std::atomic<std::uint64_t> lost = 0;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Entry> queue;
  std::size_t bytes = 0;
  std::uint64_t refused = 0;
  bool closes = false;
  bool ended = false;

  // Of the thread.
  std::uint64_t seen_refused = 0;  ///< Of the last entry.
  std::uint64_t failed = 0;        ///< Lines that could not be written.
  std::uint64_t told = 0;          ///< Lost lines that the log has reported.
  bool is_torn = false;
};

Log::Log(int file) : shared_(std::make_shared<Shared>(file)) {}

Log::~Log() {
  close(kPatience);
}

void Log::start(const std::function<void()>& begin) {
  // Handlers of signals run on threads that look whether they should stop.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([shared = shared_, begin] {
    ::pthread_setname_np(::pthread_self(), "log");
    if (begin) begin();
    shared->work();
  });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Log::write(std::string lines) noexcept {
  if (lines.empty()) return;
  const std::uint64_t count = lines_of(lines) + (lines.back() != '\n' ? 1 : 0);
  try {
    if (lines.back() != '\n') lines += '\n';
    const std::lock_guard lock(shared_->mutex);
    if (shared_->closes || shared_->bytes + lines.size() > kMaxBytes) {
      shared_->refused += count;
      shared_->lost.fetch_add(count, std::memory_order_relaxed);
      return;
    }
    shared_->queue.push_back({.text = std::move(lines), .refused = shared_->refused});
    shared_->bytes += shared_->queue.back().text.size();
  } catch (const std::exception&) {  // no memory
    shared_->lost.fetch_add(count, std::memory_order_relaxed);
    return;
  }
  shared_->changed.notify_all();
}

void Log::write(const appliance::Change& change) noexcept {
  try {
    write(line_of(change));
  } catch (const std::exception&) {  // no memory
    shared_->lost.fetch_add(1, std::memory_order_relaxed);
  }
}

std::uint64_t Log::lost() const noexcept {
  return shared_->lost.load(std::memory_order_relaxed);
}

void Log::close(std::chrono::milliseconds patience) noexcept {
  try {
    if (!thread_.joinable() && !shared_->ended) start();
    {
      std::unique_lock lock(shared_->mutex);
      shared_->closes = true;
      shared_->changed.notify_all();
      if (!shared_->changed.wait_for(lock, patience, [this] { return shared_->ended; })) {
        thread_.detach();
        shared_->ended = true;
        return;
      }
    }
    if (thread_.joinable()) thread_.join();
  } catch (const std::exception&) {  // there can be no thread: what waits is lost
  }
}

}  // namespace stopbit::tools
