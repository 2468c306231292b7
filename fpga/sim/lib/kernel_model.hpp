#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stopbit::sim {

/// One packet of `s_axis_rx`.
struct Packet {
  std::vector<std::byte> bytes;
  std::uint16_t socket = 0;      ///< tdest
  std::uint64_t arrival_ns = 0;  ///< tuser, bits 63 to 0
  bool bad = false;              ///< tuser, bit 64 with the last beat: the MAC found an error.
};

/// One packet of the network between nodes, at `m_axis_net` or `s_axis_net`.
struct NodePacket {
  std::vector<std::uint64_t> words;  ///< The first one is the start, the second says where it is from.
  bool bad = false;                  ///< tuser, with the last word: it is damaged.
};

/// The Verilated kernel with everything around it: a host that reads and writes registers, memory, and packets that
/// come. Each port stalls in `stall_percent` of the cycles. One thread.
class KernelModel {
 public:
  KernelModel(std::uint64_t seed, std::uint32_t stall_percent);
  ~KernelModel();
  KernelModel(const KernelModel&) = delete;
  KernelModel& operator=(const KernelModel&) = delete;

  /// Memory for the kernel; see AxiMemory.
  void map(std::uint64_t address, std::byte* data, std::size_t bytes);
  void unmap(std::uint64_t address);

  /// These run the clock until the kernel has answered.
  [[nodiscard]] std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);

  /// Comes when what was sent before has come.
  void send(Packet packet);
  [[nodiscard]] std::size_t waiting() const;

  /// A packet of the network between nodes comes, after those before it.
  void come(NodePacket packet);
  [[nodiscard]] std::size_t coming() const;
  /// Gets each packet that leaves for another node. None: they are lost.
  void on_node_packet(std::function<void(NodePacket)> take);
  /// Gets each frame that leaves for the MAC. None: they are lost.
  void on_frame(std::function<void(std::vector<std::byte>)> take);
  /// The MAC takes nothing.
  void shut_mac(bool shut);
  /// The network between nodes takes nothing.
  void shut_node_network(bool shut);

  void reset();
  void run(std::uint64_t cycles);
  /// Cycles since something last moved at a port.
  [[nodiscard]] std::uint64_t quiet_cycles() const;
  [[nodiscard]] std::uint64_t cycles() const;
  /// Beats that the kernel has written to memory.
  [[nodiscard]] std::uint64_t write_beats() const;

  /// The first rule of AXI that the kernel has broken, streams included; empty if none.
  [[nodiscard]] std::string problem() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stopbit::sim
