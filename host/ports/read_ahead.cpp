#include "host/ports/read_ahead.hpp"

#include <exception>
#include <utility>

#include "host/os/quiet_thread.hpp"

namespace stopbit::ingest {

ReadAhead::ReadAhead(std::unique_ptr<PacketSource> source, std::function<bool()> is_stopped)
    : source_(std::move(source)),
      is_stopped_(is_stopped ? std::move(is_stopped) : [] { return false; }),
      bytes_total_(source_->progress().bytes_total) {}

ReadAhead::~ReadAhead() {
  end();
}

Next ReadAhead::next(Packet& packet) noexcept {
  if (has_ended_) return Next::End;
  if (!is_reading_) {
    is_reading_ = true;
    start();
  }
  if (queue_ == nullptr) return source_->next(packet);
  // Asked before each packet, so that merged sources end together.
  const PacketQueue::Item* const item = is_stopped_() ? nullptr : queue_->next(0, is_stopped_);
  if (item == nullptr) {
    end();
    return Next::End;
  }
  if (item->is_fault) return Next::Fault;
  packet = item->packet;
  return Next::Packet;
}

SourceProgress ReadAhead::progress() const noexcept {
  if (queue_ == nullptr && !has_ended_) return source_->progress();
  return {bytes_done_.load(std::memory_order_relaxed), bytes_total_};
}

void ReadAhead::start() noexcept {
  try {
    queue_ = std::make_unique<PacketQueue>(1);
    thread_ = os::quiet_thread([this] { run(); });
  } catch (const std::exception&) {  // no memory, or no more threads: it is read on the caller's
    queue_.reset();
  }
}

void ReadAhead::cancel() noexcept {
  source_->cancel();
}

void ReadAhead::run() noexcept {
  constexpr std::uint64_t kPacketsPerLook = 64;
  PacketQueue::Item item;
  for (std::uint64_t packets = 0;; ++packets) {
    const Next next = source_->next(item.packet);
    if (packets % kPacketsPerLook == 0 || next != Next::Packet) {
      bytes_done_.store(source_->progress().bytes_done, std::memory_order_relaxed);
    }
    if (next == Next::End) break;
    item.is_fault = next == Next::Fault;
    if (item.is_fault) item.packet = {};
    if (!queue_->push(item)) break;
  }
  queue_->close();
}

void ReadAhead::end() noexcept {
  has_ended_ = true;
  if (!thread_.joinable()) return;
  queue_->cancel();
  source_->cancel();
  thread_.join();
  queue_.reset();
}

}  // namespace stopbit::ingest
