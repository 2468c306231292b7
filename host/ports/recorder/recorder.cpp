#include "host/ports/recorder/recorder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace stopbit::recorder {

Queue::Queue(std::size_t bytes)
    : capacity_(std::bit_ceil(std::max<std::size_t>(bytes, std::size_t{4} * 65'536))),
      bytes_(std::make_unique<std::byte[]>(capacity_)) {
  static_assert(std::is_trivially_copyable_v<Header>);
}

void Queue::add(const Item& item) noexcept {
  const std::uint64_t added = added_.load(std::memory_order_relaxed);
  const std::size_t needed = (sizeof(Header) + item.payload.size() + kAlign - 1) / kAlign * kAlign;
  const std::size_t at = added & (capacity_ - 1);
  const std::size_t to_end = capacity_ - at;
  // An item lies in one piece: what is left at the end may have to be passed over.
  const std::size_t passed = to_end < needed ? to_end : 0;
  const std::size_t usable = item.kind == Item::Kind::Freeze ? capacity_ : capacity_ - kRoomForFreezes;
  if (added + passed + needed - known_taken_ > usable) {
    known_taken_ = taken_.load(std::memory_order_acquire);
    if (added + passed + needed - known_taken_ > usable) {
      lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
  }
  if (keeps_history_) forget(added + passed + needed);
  if (passed != 0) {
    const std::uint32_t none = 0;
    std::memcpy(&bytes_[at], &none, sizeof(none));
  }
  const Header header{.bytes = static_cast<std::uint32_t>(needed),
                      .kind = static_cast<std::uint32_t>(item.kind),
                      .line = item.line,
                      .payload_bytes = static_cast<std::uint32_t>(item.payload.size()),
                      .source = item.source,
                      .group = item.group,
                      .time_ns = item.time_ns};
  std::byte* const to = &bytes_[(at + passed) & (capacity_ - 1)];
  std::memcpy(to, &header, sizeof(header));
  if (!item.payload.empty()) std::memcpy(to + sizeof(header), item.payload.data(), item.payload.size());
  added_.store(added + passed + needed, std::memory_order_release);
}

/// Up to this place all is written soon: what lies a lap before it is known no more.
void Queue::forget(std::uint64_t needed) noexcept {
  Item item;
  while (needed - oldest_ > capacity_) oldest_ = read(oldest_, item);
}

std::uint64_t Queue::read(std::uint64_t at, Item& item) const noexcept {
  std::size_t place = at & (capacity_ - 1);
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, &bytes_[place], sizeof(bytes));
  if (bytes == 0) {
    at += capacity_ - place;
    place = 0;
  }
  Header header;
  std::memcpy(&header, &bytes_[place], sizeof(header));
  item = {.kind = static_cast<Item::Kind>(header.kind),
          .line = header.line,
          .source = header.source,
          .group = header.group,
          .time_ns = header.time_ns,
          .payload = {&bytes_[place] + sizeof(header), header.payload_bytes}};
  return at + header.bytes;
}

bool Queue::take(Item& item) noexcept {
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed) + pending_;
  taken_.store(taken, std::memory_order_release);
  pending_ = 0;
  if (taken == added_.load(std::memory_order_acquire)) return false;
  pending_ = read(taken, item) - taken;
  return true;
}

Recorder::Recorder(std::vector<ArchiveOptions> lines, std::size_t queue_bytes) : queue_(queue_bytes) {
  archives_.reserve(lines.size());
  for (ArchiveOptions& line : lines) archives_.emplace_back(std::move(line));
}

void Recorder::add_line(ArchiveOptions line) {
  Archive archive(std::move(line));
  const std::lock_guard lock(mutex_);
  coming_.push_back(std::move(archive));
  has_coming_.store(true, std::memory_order_release);
}

void Recorder::take_new_lines() {
  if (!has_coming_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  for (Archive& archive : coming_) archives_.push_back(std::move(archive));
  coming_.clear();
  has_coming_.store(false, std::memory_order_relaxed);
}

std::size_t Recorder::do_work(std::size_t max_items) {
  take_new_lines();
  Queue::Item item;
  std::size_t done = 0;
  while (done < max_items && queue_.take(item)) {
    ++done;
    // A line that was added since the last look: its packets came after it.
    if (item.line != Queue::kAllLines && item.line >= archives_.size()) take_new_lines();
    if (item.kind == Queue::Item::Kind::Freeze) {
      for (std::uint32_t i = 0; i < archives_.size(); ++i) {
        if (item.line == Queue::kAllLines || item.line == i) archives_[i].freeze(item.time_ns);
      }
    } else if (item.line < archives_.size()) {
      newest_ns_ = std::max(newest_ns_, item.time_ns);
      archives_[item.line].add(item.source, item.group, item.payload, item.time_ns);
    }
  }
  if (done == 0 && is_dirty_) {
    for (Archive& archive : archives_) archive.flush();
  }
  is_dirty_ = done != 0;
  return done;
}

void Recorder::freeze_newest() {
  if (newest_ns_ == 0) return;
  for (Archive& archive : archives_) archive.freeze(newest_ns_);
}

}  // namespace stopbit::recorder
