#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "host/bindings/common/capture_replay.hpp"
#include "host/ring/reader.hpp"

/// Knows nothing of Python.
namespace stopbit::python {

/// A replay that runs on a thread of its own, some records ahead of the consumer. Memory is bounded: the thread waits
/// when two chunks are full.
class RecordFeed {
 public:
  RecordFeed(consumer::FirmwarePtr firmware, const std::vector<std::string>& captures,
             const consumer::ReplayWish& wish);
  RecordFeed(const RecordFeed&) = delete;
  RecordFeed& operator=(const RecordFeed&) = delete;
  /// Ends the replay wherever it is.
  ~RecordFeed() { stop(); }

  enum class Take : std::uint8_t {
    Chunk,    ///< `chunk` holds records.
    Nothing,  ///< Not yet, or a stop was requested: ask again.
    End,      ///< None follow, and summary() is available.
  };
  /// Waits for records, but not longer than `patience`. Throws what the replay has thrown.
  [[nodiscard]] Take take(std::chrono::milliseconds patience);
  /// Valid until the next take.
  [[nodiscard]] std::span<const record::Slot> chunk() const noexcept { return taken_; }

  [[nodiscard]] const replay::Summary& summary() const noexcept { return *summary_; }
  [[nodiscard]] EngineKind engine() const noexcept { return replay_.engine(); }

  /// Ends the replay soon, and a take at once; from any thread.
  void request_stop() noexcept;
  /// The same, and waits for its end. Not while another thread takes.
  void stop() noexcept;

 private:
  struct ToFeed {
    RecordFeed* feed;
    void operator()(std::span<const record::Slot> slots) const noexcept { feed->push(slots); }
  };

  void run() noexcept;
  void push(std::span<const record::Slot> slots) noexcept;
  void hand_over() noexcept;

  consumer::FirmwarePtr firmware_;
  record::BufferSink<ToFeed> sink_;
  consumer::CaptureReplay replay_;

  std::vector<record::Slot> filling_;  ///< The thread's.
  std::vector<record::Slot> taken_;    ///< The taker's.
  std::atomic<bool> is_hungry_ = false;
  std::atomic<bool> is_stopped_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<record::Slot> full_;  ///< Between the two; empty: there is room.
  bool is_done_ = false;
  std::exception_ptr error_;
  std::optional<replay::Summary> summary_;

  std::thread thread_;  ///< Started last, when all members above exist.
};

}  // namespace stopbit::python
