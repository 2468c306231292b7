#include "host/appliance/reader_watch.hpp"

#include <pthread.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "host/os/shm/name.hpp"

namespace stopbit::appliance {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(500);

}  // namespace

ReaderWatch::ReaderWatch(std::vector<std::string> rings) : rings_(std::move(rings)) {}

ReaderWatch::~ReaderWatch() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wakes_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReaderWatch::start(const std::function<void()>& begin) {
  if (thread_.joinable()) return;
  thread_ = std::thread([this, begin] {
    // Its own name: that of another thread is a file, which a confined process may not write.
    ::pthread_setname_np(::pthread_self(), "readers");
    if (begin) begin();
    run();
  });
}

void ReaderWatch::run() {
  for (std::unique_lock lock(mutex_); !stops_;) {
    lock.unlock();
    look();
    lock.lock();
    wakes_.wait_for(lock, kInterval, [this] { return stops_; });
  }
}

void ReaderWatch::look() {
  std::vector<std::string> rings;
  {
    const std::lock_guard lock(mutex_);
    rings = rings_;
  }
  std::vector<ring::SeenReader> seen = ring::find_readers(rings);
  std::vector<std::string> truncated;
  decltype(longest_) longest;
  const auto look_at = [&](const std::string& place) {
    const auto path = os::path_of(place);
    struct stat status {};
    if (!path || ::lstat(path.value().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const std::pair file(place, static_cast<std::uint64_t>(status.st_ino));
    const auto before = longest_.find(file);
    const std::int64_t most = before != longest_.end() ? std::max<std::int64_t>(before->second, status.st_size)
                                                       : static_cast<std::int64_t>(status.st_size);
    if (status.st_size < most) truncated.push_back(place);
    longest.emplace(file, most);
  };
  for (const std::string& place : rings) {
    // Beside a ring of market events lie the tables of instruments and states.
    for (const char* const suffix : {"", ".instruments", ".state"}) look_at(place + suffix);
  }
  longest_ = std::move(longest);
  const std::lock_guard lock(mutex_);
  seen_rings_ = std::move(rings);
  seen_ = std::move(seen);
  truncated_ = std::move(truncated);
}

std::vector<ring::SeenReader> ReaderWatch::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void ReaderWatch::watch(std::vector<std::string> rings) {
  const std::lock_guard lock(mutex_);
  rings_ = std::move(rings);
}

std::vector<ring::SeenReader> ReaderWatch::seen(std::span<const std::string> rings) const {
  const std::lock_guard lock(mutex_);
  std::vector<ring::SeenReader> found;
  for (const ring::SeenReader& reader : seen_) {
    const auto ring = std::find(rings.begin(), rings.end(), seen_rings_[reader.ring]);
    if (ring == rings.end()) continue;
    found.push_back(reader);
    found.back().ring = static_cast<std::size_t>(ring - rings.begin());
  }
  return found;
}

std::vector<std::string> ReaderWatch::truncated() const {
  const std::lock_guard lock(mutex_);
  return truncated_;
}

}  // namespace stopbit::appliance
