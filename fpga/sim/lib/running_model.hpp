#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "kernel_model.hpp"

namespace stopbit::sim {

class FeedSocket;

/// The Verilated kernel as a card that runs by itself: a thread turns its clock while there is something to do, takes
/// packets from the socket in STOPBIT_SIM_FEED and sends frames there. STOPBIT_SIM_STALL and STOPBIT_SIM_SEED are read
/// as it is made. Any thread may call it; each call waits until the kernel has done it. At the end it prints the first
/// rule of AXI that the kernel has broken.
class RunningModel {
 public:
  RunningModel();
  ~RunningModel();
  RunningModel(const RunningModel&) = delete;
  RunningModel& operator=(const RunningModel&) = delete;

  [[nodiscard]] std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);
  /// Memory for the kernel. It outlives this, or is taken away first.
  void map(std::uint64_t address, std::byte* data, std::size_t bytes);
  void unmap(std::uint64_t address);
  void reset();

 private:
  template <class T, class Work>
  T ask(Work work);
  void run();

  KernelModel model_;
  std::unique_ptr<FeedSocket> feed_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> work_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace stopbit::sim
