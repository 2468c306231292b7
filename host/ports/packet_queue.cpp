#include "host/ports/packet_queue.hpp"

#include <chrono>
#include <cstring>

namespace stopbit::ingest {
namespace {

constexpr std::chrono::milliseconds kPatience{10};

}  // namespace

PacketQueue::PacketQueue(std::size_t readers) : readers_(readers) {}

PacketQueue::~PacketQueue() = default;

bool PacketQueue::push(const Item& item) {
  const std::size_t bytes = item.packet.frame.size();
  const bool is_long = bytes > kBatchBytes;
  if (writing_ != nullptr) {
    const bool is_full = writing_->filled.load(std::memory_order_relaxed) == kBatchItems || bytes > kBatchBytes - used_;
    if (is_full || is_long) close_batch();
  }
  if (writing_ == nullptr && !open_batch()) return false;
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  std::byte* to = writing_->bytes.get() + used_;
  if (is_long) {
    writing_->long_frame = std::make_unique_for_overwrite<std::byte[]>(bytes);
    to = writing_->long_frame.get();
  } else {
    used_ += bytes;
  }
  if (bytes != 0) std::memcpy(to, item.packet.frame.data(), bytes);
  const std::uint32_t filled = writing_->filled.load(std::memory_order_relaxed);
  Item& copy = writing_->items[filled];
  copy = item;
  copy.packet.frame = {to, bytes};
  writing_->filled.store(filled + 1, std::memory_order_release);
  if (is_long) close_batch();
  return true;
}

bool PacketQueue::open_batch() {
  std::unique_lock lock(mutex_);
  const std::uint64_t number = opened_.load(std::memory_order_relaxed);
  Batch& batch = batches_[number % kBatches];
  changed_.wait(lock, [&] { return batch.users == 0 || cancelled_.load(std::memory_order_relaxed); });
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  batch.long_frame.reset();
  batch.filled.store(0, std::memory_order_relaxed);
  batch.is_closed.store(false, std::memory_order_relaxed);
  batch.users = readers_.size();
  writing_ = &batch;
  used_ = 0;
  opened_.store(number + 1, std::memory_order_release);
  return true;
}

void PacketQueue::close_batch() noexcept {
  {
    const std::lock_guard lock(mutex_);
    writing_->is_closed.store(true, std::memory_order_release);
  }
  writing_ = nullptr;
  changed_.notify_all();
}

void PacketQueue::close() {
  if (writing_ != nullptr) close_batch();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

const PacketQueue::Item* PacketQueue::try_next(std::size_t reader) noexcept {
  ReaderPlace& place = readers_[reader];
  for (;;) {
    if (!place.is_open) {
      if (opened_.load(std::memory_order_acquire) == place.batch) return nullptr;
      place.is_open = true;
      place.at = 0;
    }
    Batch& batch = batches_[place.batch % kBatches];
    const bool is_closed = batch.is_closed.load(std::memory_order_acquire);
    if (place.at < batch.filled.load(std::memory_order_acquire)) return &batch.items[place.at++];
    if (!is_closed) return nullptr;
    bool is_free = false;
    {
      const std::lock_guard lock(mutex_);
      is_free = --batch.users == 0;
    }
    if (is_free) changed_.notify_all();
    ++place.batch;
    place.is_open = false;
  }
}

bool PacketQueue::wait(std::size_t reader) {
  const ReaderPlace& place = readers_[reader];
  std::unique_lock lock(mutex_);
  const auto has_changed = [&] {
    if (cancelled_.load(std::memory_order_relaxed)) return true;
    if (!place.is_open) return ended_ || opened_.load(std::memory_order_relaxed) != place.batch;
    const Batch& batch = batches_[place.batch % kBatches];
    return batch.is_closed.load(std::memory_order_relaxed) || place.at < batch.filled.load(std::memory_order_relaxed);
  };
  changed_.wait_for(lock, kPatience, has_changed);
  if (cancelled_.load(std::memory_order_relaxed)) return false;
  return place.is_open || !ended_ || opened_.load(std::memory_order_relaxed) != place.batch;
}

void PacketQueue::cancel() noexcept {
  {
    const std::lock_guard lock(mutex_);
    cancelled_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

}  // namespace stopbit::ingest
