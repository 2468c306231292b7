#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "host/feed/packet/group_table.hpp"
#include "host/ports/port.hpp"
#include "microcode/base/result.hpp"

struct rte_mbuf;
struct rte_ring;

namespace stopbit::ingest {

/// Passes datagrams to the queue of their group if the card cannot: as a pointer, through a ring for each pair of
/// queues, so that each ring has one thread at either end.
///
/// Datagrams of one group and sender stay in order as long as the card brings them all to the same queue, as RSS does.
class Handover {
 public:
  /// Queues, and how many datagrams fit each ring. `name` begins the names of the rings; `socket` is the node of their
  /// memory, -1 = any.
  [[nodiscard]] static Result<std::unique_ptr<Handover>> make(const std::string& name, std::uint16_t queues,
                                                              std::uint32_t room, int socket);
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;
  /// Gives back what is still on its way.
  ~Handover();

  /// At set-up: what a queue wants. Fails if another queue wants it, too.
  [[nodiscard]] Status want(const Membership& membership, std::uint16_t queue);

  /// The queue of the group; the receiving queue if the group has none.
  [[nodiscard]] std::uint16_t owner(net::Endpoint group, std::uint32_t source, std::uint16_t finder) const noexcept {
    const std::uint16_t* const queue = wanted_.find(group, source);
    return queue == nullptr ? finder : *queue;
  }

  /// From the thread of `from`. A buffer that finds no room is freed and counted.
  void give(std::uint16_t from, std::uint16_t to, rte_mbuf* buffer) noexcept;
  /// On the thread of `to`: takes the datagrams passed to it, at most the size of the span. @returns their number.
  [[nodiscard]] std::size_t take(std::uint16_t to, std::span<rte_mbuf*> buffers) noexcept;
  /// Datagrams without room on their way to this queue.
  [[nodiscard]] std::uint64_t dropped(std::uint16_t to) const noexcept;

 private:
  static constexpr std::size_t kMaxGroups = 4'096;

  struct Lane {
    rte_ring* ring = nullptr;  ///< None from a queue to itself.
    PortCounter dropped;
  };
  explicit Handover(std::uint16_t queues) : queues_(queues), lanes_(std::size_t{queues} * queues) {}
  [[nodiscard]] Lane& lane(std::uint16_t from, std::uint16_t to) noexcept {
    return lanes_[std::size_t{from} * queues_ + to];
  }

  std::uint16_t queues_;
  std::vector<Lane> lanes_;
  net::GroupTable<std::uint16_t> wanted_{kMaxGroups};
  std::vector<std::pair<Membership, std::uint16_t>> memberships_;
};

}  // namespace stopbit::ingest
