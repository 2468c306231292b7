#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "host/nic/msg/message_engine.hpp"
#include "host/nic/queue/page.hpp"
#include "velo_driver.hpp"

namespace stopbit::nic {

/// Engines of messages in hardware: the tables of their unit, and messages as the network has them.
class VeloEngine : public MessageEngine {
 public:
  void open(Vpid vpid, Pdid domain, const Page& page, const MessagePort& port) override;
  void close(Vpid vpid) override;
  void enable(Vpid vpid, bool on) override;
  void start_ring(Vpid vpid, Priority priority, const SegmentRing& ring, Atu& atu) override;
  void stop_ring(Vpid vpid, Priority priority) override;
  void set_group(GroupId id, const MessageGroup& group) override;

 protected:
  using Row = sim::velo::Row;
  using Packet = sim::velo::Packet;
  static constexpr std::uint64_t kTickNs = 100'000;  ///< Of the time that a message is held.

  /// Of a message unit of a node, with room for `ports` ports.
  VeloEngine(NodeId node, std::uint64_t ports) : node_(node), unit_ports_(ports) {}

  /// Rows of tables; the unit has them when this returns.
  virtual void set(std::span<const Row> rows) = 0;

  /// A message that waits for room at its port, by its priority.
  struct Held {
    NodeId from = 0;
    MessagePacket packet;
    std::vector<std::byte> bytes;
    [[nodiscard]] bool operator==(const Held& other) const;
  };
  [[nodiscard]] bool has_held() const noexcept { return held_[0] || held_[1]; }
  static std::uint64_t ring_of(Vpid vpid, Priority priority) {
    return vpid * std::uint64_t{2} + static_cast<std::uint64_t>(priority);
  }

  /// What the packets of a message say.
  static void read(std::span<const Packet> packets, MessagePacket& packet, std::vector<std::byte>& bytes);
  /// The packets of a message for this node.
  [[nodiscard]] std::vector<Packet> packets_of(NodeId from, Priority priority, const MessagePacket& packet,
                                               std::span<const std::byte> payload) const;
  /// The copies of it that the unit has to report.
  [[nodiscard]] std::size_t copies_of(NodeId from, const MessagePacket& packet) const;
  /// What the unit has reported of `count` copies, which is taken.
  [[nodiscard]] static Delivered take(std::size_t count, std::vector<sim::velo::Report>& reports,
                                      std::vector<sim::velo::End>& ends);

  struct Opened {
    Page page;
    sim::velo::Port setup;
  };
  std::map<Vpid, Opened> ports_;
  std::array<std::optional<Held>, kPriorities> held_;

 private:
  static constexpr std::size_t kGroups = 64;
  static constexpr std::size_t kMembers = 256;
  static constexpr sim::velo::Ring kNoRing{false, false, 0, 2, 0, 0};

  [[nodiscard]] Row row_of(Vpid vpid, Priority priority, bool has_segments, const sim::velo::Ring& ring) const {
    return sim::velo::row_of(sim::velo::index_of(ring_of(vpid, priority), has_segments, unit_ports_), ring);
  }
  void set_row(const Row& row) { set({&row, 1}); }

  NodeId node_;
  std::uint64_t unit_ports_;
  std::map<GroupId, std::vector<Vpid>> groups_;
  std::size_t members_used_ = 0;
};

}  // namespace stopbit::nic
