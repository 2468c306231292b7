#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "host/appliance/counter_set.hpp"
#include "host/appliance/settings.hpp"
#include "host/multicast/publisher.hpp"
#include "host/multicast/refill_server.hpp"
#include "host/os/clock.hpp"

namespace stopbit::appliance {

/// Sends a ring of the appliance on two multicast lines, on a thread of its own. It reads the ring like any other
/// reader: agents do not know of it, and make no system call for it.
///
/// Call add_counters and open during set-up, then start(). Another thread takes the lines for the log.
class Republication {
 public:
  explicit Republication(const MulticastSettings& settings) : settings_(settings) {}
  Republication(const Republication&) = delete;
  Republication& operator=(const Republication&) = delete;
  ~Republication() { stop(); }

  /// The counters, in the thread's part of the segment.
  void add_counters(CounterSetBuilder& builder);
  /// The sockets: later the process may open none. `epoch_ns`: wall clock.
  [[nodiscard]] Status open(std::uint64_t epoch_ns);

  /// `begin` is called by the thread, before anything else.
  void start(const std::function<void()>& begin = {});
  /// Ends the thread, when the lines have what is left in the ring or kFarewellNs are over. Rings must have ended.
  void stop();

  /// The next line for people. From one other thread.
  [[nodiscard]] bool next_line(std::string& line);
  [[nodiscard]] const std::string& name() const noexcept { return settings_.name; }

 private:
  static constexpr std::uint64_t kCountNs = 100'000'000;  ///< How often counters are written.
  static constexpr std::uint64_t kFarewellNs = 3'000'000'000;
  static constexpr std::size_t kMostLines = 64;  ///< That wait for the log; more are dropped, and counted.

  static constexpr std::uint64_t kRefillNs = 1'000'000;  ///< How often clients are looked at.

  void run();
  [[nodiscard]] std::size_t serve(std::uint64_t now_ns);
  void say(std::string line);
  void publish_counters();

  const MulticastSettings settings_;
  MulticastCounterSet counter_set_;
  std::unique_ptr<multicast::Publisher> publisher_;
  std::unique_ptr<multicast::RefillServer> refill_;
  const std::function<std::shared_ptr<const multicast::State>()> state_ = [this] {
    return publisher_->state(os::monotonic_clock_ns());
  };
  std::uint64_t epoch_ns_ = 0;
  std::uint64_t next_refill_ns_ = 0;
  std::mutex mutex_;  ///< Guards `lines_`; not used while packets are sent, but for what is said.
  std::deque<std::string> lines_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace stopbit::appliance
