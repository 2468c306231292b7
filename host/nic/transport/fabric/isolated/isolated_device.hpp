#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/nic/node/shared_memory.hpp"
#include "host/nic/transport/fabric/device.hpp"
#include "host/nic/transport/fabric/isolated/memory.hpp"
#include "host/nic/transport/fabric/isolated/server_process.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

/// An endpoint of libfabric in a separate process, seen from the appliance. libfabric trusts its peers, so that process
/// may die at any time or be taken over: its output is accepted only as frames. When it dies, hangs or violates the
/// protocol of the shared memory, another one replaces it at the same address. Frames in flight are then lost, and
/// peers reconnect.
///
/// What the other process does to a frame while it is read here cannot be seen: it is copied first.
class IsolatedDevice final : public FabricDevice {
 public:
  /// Returns when the endpoint is open, or with the reason why it cannot be.
  [[nodiscard]] static Result<std::unique_ptr<IsolatedDevice>> open(const FabricOptions& options,
                                                                    const std::string& host);
  /// Over zeros of IsolatedMemory::bytes, and a process that is started here. Returns at once; step() until is_open().
  IsolatedDevice(const FabricOptions& options, const std::string& host, std::span<std::byte> memory,
                 std::unique_ptr<ServerProcess> process);

  /// Looks after the process.
  void step(std::uint64_t now_ns) override;
  /// It has opened its endpoint once.
  [[nodiscard]] bool is_open() const noexcept { return !names_.own.empty(); }
  /// The present process is serving.
  [[nodiscard]] bool is_serving() const noexcept { return state_ == ServerState::Serving; }

  [[nodiscard]] const FabricNames& names() const noexcept override { return names_; }
  [[nodiscard]] std::byte* memory(std::uint32_t slot) noexcept override { return memory_.slot(slot); }
  [[nodiscard]] FabricHandle add(std::span<const std::byte> address) override;
  void remove(FabricHandle handle) override;
  [[nodiscard]] bool post(std::uint32_t slot) override;
  [[nodiscard]] bool submit(std::uint32_t slot, FabricHandle to, std::size_t length) override;
  [[nodiscard]] bool poll(Event& event) override;
  [[nodiscard]] const FabricDeaths& deaths() const noexcept override { return deaths_; }
  [[nodiscard]] std::string problem() const override;

 private:
  enum class ServerState : std::uint8_t { Opening, Serving, Ending, Ended };
  /// A line of the table of addresses.
  struct AddressLine {
    enum class State : std::uint8_t { Free, Adding, Known, Removing };  ///< -ing: not yet sent to the server.
    State state = State::Free;
    std::uint32_t stamp = 0;  ///< So that each handle is used once.
    std::uint64_t freed = 0;  ///< When it became free, by a count of such moments.
    std::vector<std::byte> address;
  };

  void want();
  void begin();
  void end(const std::string& how);
  void condemn(const std::string& why);
  void watch();
  [[nodiscard]] bool is_hung();
  [[nodiscard]] Status learn_names();
  void tell(std::size_t index);
  /// Queues a task for the server, and wakes it. False: there is no room.
  [[nodiscard]] bool give(const FabricTask& task);
  void free(AddressLine& line) noexcept;
  [[nodiscard]] FabricHandle handle_of(std::size_t index) const noexcept;
  [[nodiscard]] AddressLine* line_of(FabricHandle handle) noexcept;
  [[nodiscard]] bool is_believable(const FabricTask& task) const noexcept;
  [[nodiscard]] bool take(const FabricTask& task, Event& event);

  FabricOptions options_;
  SharedMemory shared_;  ///< If it was made here.
  IsolatedMemory memory_;
  std::unique_ptr<ServerProcess> process_;
  TaskQueue to_server_;
  TaskQueue from_server_;
  FabricNames names_;
  ServerState state_ = ServerState::Ended;
  FabricDeaths deaths_;
  std::string why_;  ///< Why the process has to go.
  std::vector<AddressLine> lines_;
  std::uint64_t freed_ = 0;        ///< Lines that became free.
  std::size_t untold_ = 0;         ///< Lines whose change the server does not know yet.
  std::vector<bool> is_there_;     ///< Of slots: the server has it.
  std::size_t broken_ = 0;         ///< Slots before this one are no more with a server that has ended.
  std::vector<std::byte> frames_;  ///< Received frames, copied.
  std::string host_;               ///< The name of node 0; empty: this is it.
  std::uint64_t now_ns_ = 0;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t beat_ = 0;
  std::uint64_t beat_ns_ = 0;         ///< When it was another one.
  bool is_asked_ = false;             ///< For facts of the process, and there is no answer yet.
  std::optional<ServerFacts> first_;  ///< Of the process, since that beat.
  std::uint64_t next_look_ns_ = 0;    ///< At the process.
  std::uint64_t pause_ns_ = 0;
  std::uint64_t begin_at_ns_ = 0;
};

}  // namespace stopbit::nic
