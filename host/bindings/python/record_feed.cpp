#include "host/bindings/python/record_feed.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::python {
namespace {

constexpr std::size_t kChunkSlots = 8'192;  // half a MiB

}  // namespace

RecordFeed::RecordFeed(consumer::FirmwarePtr firmware, const std::vector<std::string>& captures,
                       const consumer::ReplayWish& wish)
    : firmware_(std::move(firmware)),
      sink_(firmware_->program().max_record_slots, ToFeed{this}),
      replay_(firmware_, captures, wish, sink_, [this](const replay::Progress&) {
        if (is_hungry_.load(std::memory_order_relaxed)) hand_over();  // a pipe may be silent after what it brought
      }) {
  const std::size_t room = std::max<std::size_t>(kChunkSlots, firmware_->program().max_record_slots);
  for (std::vector<record::Slot>* chunk : {&filling_, &taken_, &full_}) chunk->reserve(room);
  thread_ = std::thread([this] { run(); });
}

void RecordFeed::run() noexcept {
  std::optional<replay::Summary> summary;
  std::exception_ptr error;
  try {
    summary = replay_.run();
  } catch (...) {
    error = std::current_exception();
  }
  hand_over();
  const std::lock_guard lock(mutex_);
  summary_ = std::move(summary);
  error_ = error;
  is_done_ = true;
  changed_.notify_all();
}

void RecordFeed::push(std::span<const record::Slot> slots) noexcept {
  if (filling_.capacity() - filling_.size() < slots.size()) hand_over();
  filling_.insert(filling_.end(), slots.begin(), slots.end());
  if (is_hungry_.load(std::memory_order_relaxed)) hand_over();
}

void RecordFeed::hand_over() noexcept {
  if (!filling_.empty()) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return full_.empty() || is_stopped_; });
    if (full_.empty()) std::swap(full_, filling_);
    changed_.notify_all();
  }
  filling_.clear();
}

RecordFeed::Take RecordFeed::take(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  taken_.clear();
  is_hungry_.store(true, std::memory_order_relaxed);
  const bool is_news = changed_.wait_for(lock, patience, [&] { return !full_.empty() || is_done_ || is_stopped_; });
  if (!is_news) return Take::Nothing;
  is_hungry_.store(false, std::memory_order_relaxed);
  if (!full_.empty()) {
    std::swap(full_, taken_);
    changed_.notify_all();
    return Take::Chunk;
  }
  if (!is_done_) return Take::Nothing;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return Take::End;
}

void RecordFeed::request_stop() noexcept {
  replay_.request_stop();
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

void RecordFeed::stop() noexcept {
  if (!thread_.joinable()) return;
  request_stop();
  thread_.join();
}

}  // namespace stopbit::python
