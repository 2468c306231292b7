#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "host/appliance/housekeeper.hpp"

namespace stopbit::tools {

/// The log of a process that must not depend on it: lines go through a bounded queue to a thread that writes them. A
/// file that cannot be written, or a pipe whose reader has stopped, costs lines and nothing else. They are counted, and
/// the line `log lines lost` says how many as soon as writing works again.
class Log {
 public:
  static constexpr std::size_t kMaxBytes = 1U << 20;  ///< Of lines that wait.

  explicit Log(int file);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  /// Closes, with half a second of patience.
  ~Log();

  /// Starts to write; until then lines wait in the queue. The thread has the rights that its creator has at this time.
  /// `begin` is called by the thread, before anything else.
  void start(const std::function<void()>& begin = {});

  /// Whole lines. From any thread; never waits for the file, never throws.
  void write(std::string lines) noexcept;
  void write(const appliance::Change& change) noexcept;

  /// Lines that were lost so far.
  [[nodiscard]] std::uint64_t lost() const noexcept;

  /// Writes the queued lines, for at most this time, and ends. A thread blocked in a write is abandoned; it ends with
  /// the process. Later lines are lost.
  void close(std::chrono::milliseconds patience) noexcept;

 private:
  struct Shared;

  std::shared_ptr<Shared> shared_;  ///< The thread may outlive the object.
  std::thread thread_;
};

}  // namespace stopbit::tools
