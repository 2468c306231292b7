#include "host/replay/record_merge.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stopbit::replay {

RecordMerge::RecordMerge(std::size_t parts, std::size_t block_slots) : parts_(parts) {
  for (Part& part : parts_) {
    part.ready.reserve(kBlocks);
    for (std::size_t i = 0; i < kBlocks; ++i) {
      part.blocks.push_back(std::make_unique<Block>());
      part.blocks.back()->slots.resize(block_slots);
      part.blocks.back()->entries.reserve(block_slots);
      part.free.push_back(part.blocks.back().get());
    }
  }
}

RecordMerge::Block* RecordMerge::take_block(std::size_t number) {
  Part& part = parts_[number];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !part.free.empty() || is_cancelled(); });
  if (is_cancelled()) return nullptr;
  Block* const block = part.free.back();
  part.free.pop_back();
  block->entries.clear();
  block->used = 0;
  return block;
}

void RecordMerge::publish(std::size_t number, Block* block, std::uint64_t complete) {
  Part& part = parts_[number];
  {
    const std::lock_guard lock(mutex_);
    if (block != nullptr) part.ready.push_back(block);
    part.complete = complete;
    ++changes_;
  }
  changed_.notify_all();
}

void RecordMerge::close(std::size_t number) {
  publish(number, nullptr, kNever);
}

RecordMerge::Next RecordMerge::next(Record& record) {
  for (;;) {
    if (is_cancelled()) return Next::End;
    if (chosen_ != nullptr && refill(*chosen_) && chosen_->block->entries[chosen_->at].key < until_) {
      const Entry& entry = chosen_->block->entries[chosen_->at++];
      record = {entry.lane, std::span(chosen_->block->slots).subspan(entry.begin, entry.slots)};
      return Next::Record;
    }
    if (choose()) continue;
    const bool is_over = std::all_of(parts_.begin(), parts_.end(), [](const Part& part) {
      return part.block == nullptr && part.seen_complete == kNever;
    });
    return is_over ? Next::End : Next::Wait;
  }
}

/// Returns a used-up block. False: the part has no record now.
bool RecordMerge::refill(Part& part) {
  if (part.block != nullptr && part.at < part.block->entries.size()) return true;
  bool has_freed = false;
  {
    const std::lock_guard lock(mutex_);
    has_freed = part.block != nullptr;
    if (has_freed) part.free.push_back(std::exchange(part.block, nullptr));
    part.seen_complete = part.complete;
    if (!part.ready.empty()) {
      part.block = part.ready.front();
      part.ready.erase(part.ready.begin());
      part.at = 0;
    }
  }
  if (has_freed) changed_.notify_all();
  return part.block != nullptr;
}

/// The part with the least key, if no other can come below it.
bool RecordMerge::choose() {
  {
    const std::lock_guard lock(mutex_);
    seen_changes_ = changes_;
  }
  chosen_ = nullptr;
  Key least{kNever, 0};
  until_ = {kNever, 0};
  for (Part& part : parts_) {
    // What comes later from a part has a key above what it has completed.
    const bool has_record = refill(part);
    const std::uint64_t complete = part.seen_complete;
    const Key bound = has_record           ? part.block->entries[part.at].key
                      : complete == kNever ? Key{kNever, 0}
                                           : Key{complete + 1, 0};
    if (has_record && bound < least) {
      until_ = std::min(until_, least);
      least = bound;
      chosen_ = &part;
    } else {
      until_ = std::min(until_, bound);
    }
  }
  return chosen_ != nullptr && least < until_;
}

void RecordMerge::wait() {
  constexpr std::chrono::milliseconds kPatience{50};
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [&] { return changes_ != seen_changes_ || is_cancelled(); });
}

void RecordMerge::cancel() noexcept {
  {
    const std::lock_guard lock(mutex_);
    cancelled_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
}

}  // namespace stopbit::replay
