#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "host/nic/transport/fabric/endpoint.hpp"
#include "host/nic/transport/fabric/isolated/memory.hpp"

namespace stopbit::nic {

/// Serves an endpoint of libfabric to the process with which it shares the memory: carries out the tasks of one queue,
/// and reports results in the other. One thread; nothing but libfabric allocates after `open`.
class FabricServer {
 public:
  /// Options that the supervising process wrote to shared memory.
  [[nodiscard]] static FabricOptions wanted(std::span<const std::byte> memory);

  explicit FabricServer(std::span<std::byte> memory);
  /// Opens the endpoint, and answers.
  [[nodiscard]] Status open();
  /// Its endpoint is used from here on.
  void begin();
  /// @returns how much it did.
  std::size_t step();
  /// Sleeps until there is a task, or for this time: arrivals from the network do not wake it.
  void doze(std::chrono::nanoseconds longest);
  /// Something waits for its time: frames for a node that is not there, slots that the provider does not take.
  [[nodiscard]] bool is_waiting() const noexcept { return waits_ != 0 || !unposted_.empty(); }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Line {
    FabricHandle handle = kNoHandle;
    FabricHandle provider = kNoHandle;  ///< What the provider calls it; nothing if it does not want it.
    std::uint32_t first = kNone;        ///< Slots that wait for being sent there.
    std::uint32_t last = kNone;
    std::uint64_t refused_ns = 0;  ///< Since when the provider takes none of them; 0: it does.
    std::uint64_t again_ns = 0;    ///< Time of the next attempt.
  };
  struct Waiting {
    std::uint32_t next = kNone;
    std::uint32_t length = 0;
  };

  void take(const FabricTask& task);
  void add(const FabricTask& task);
  void remove(Line& line);
  void wait(Line& line, const FabricTask& task);
  [[nodiscard]] std::size_t send(Line& line, std::uint64_t now_ns);
  void tell(const FabricDevice::Event& event);
  void tell(FabricTask::Kind kind, std::uint32_t slot);
  [[nodiscard]] Line* line_of(FabricHandle handle) noexcept;
  [[nodiscard]] FabricHandle name_of(FabricHandle provider) const noexcept;

  FabricOptions options_;
  IsolatedMemory memory_;
  TaskQueue to_server_;
  TaskQueue from_server_;
  FabricEndpoint endpoint_;
  std::vector<Line> lines_;
  std::vector<std::uint32_t> lines_by_provider_;
  std::vector<Waiting> waiting_;  ///< By slot.
  std::size_t waits_ = 0;         ///< How many of them there are.
  std::vector<std::uint32_t> unposted_;
  std::uint64_t beat_ = 0;
};

}  // namespace stopbit::nic
