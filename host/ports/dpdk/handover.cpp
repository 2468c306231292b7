#include "host/ports/dpdk/handover.hpp"

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <bit>

namespace stopbit::ingest {

Result<std::unique_ptr<Handover>> Handover::make(const std::string& name, std::uint16_t queues, std::uint32_t room,
                                                 int socket) {
  std::unique_ptr<Handover> made(new Handover(queues));
  for (std::uint16_t from = 0; from < queues; ++from) {
    for (std::uint16_t to = 0; to < queues; ++to) {
      if (from == to) continue;
      const std::string ring = name + "." + std::to_string(from) + "." + std::to_string(to);
      rte_ring*& made_ring = made->lane(from, to).ring;
      made_ring = rte_ring_create(ring.c_str(), std::bit_ceil(room), socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
      if (made_ring == nullptr)
        return Failure{std::string("not enough memory between its queues: ") + rte_strerror(rte_errno)};
    }
  }
  return made;
}

Handover::~Handover() {
  for (Lane& lane : lanes_) {
    void* buffer = nullptr;
    while (lane.ring != nullptr && rte_ring_sc_dequeue(lane.ring, &buffer) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(buffer));
    }
    rte_ring_free(lane.ring);
  }
}

Status Handover::want(const Membership& membership, std::uint16_t queue) {
  for (const auto& [other, owner] : memberships_) {
    const bool meet =
        other.group == membership.group && (!other.source || !membership.source || *other.source == *membership.source);
    if (meet && owner != queue) {
      return Failure{net::to_text(membership.group) + " is already assigned to queue " + std::to_string(owner) +
                     "; a group has one queue"};
    }
  }
  if (memberships_.size() == kMaxGroups) return Failure{"more than " + std::to_string(kMaxGroups) + " groups"};
  memberships_.emplace_back(membership, queue);
  wanted_.add(membership.group, membership.source, queue);
  return Done{};
}

void Handover::give(std::uint16_t from, std::uint16_t to, rte_mbuf* buffer) noexcept {
  Lane& way = lane(from, to);
  if (rte_ring_sp_enqueue(way.ring, buffer) == 0) return;
  rte_pktmbuf_free(buffer);
  way.dropped.add(1);
}

std::size_t Handover::take(std::uint16_t to, std::span<rte_mbuf*> buffers) noexcept {
  std::size_t count = 0;
  for (std::uint16_t from = 0; from < queues_ && count < buffers.size(); ++from) {
    if (from == to) continue;
    count += rte_ring_sc_dequeue_burst(lane(from, to).ring, reinterpret_cast<void**>(&buffers[count]),
                                       static_cast<unsigned>(buffers.size() - count), nullptr);
  }
  return count;
}

std::uint64_t Handover::dropped(std::uint16_t to) const noexcept {
  std::uint64_t sum = 0;
  for (std::uint16_t from = 0; from < queues_; ++from) sum += lanes_[std::size_t{from} * queues_ + to].dropped.value();
  return sum;
}

}  // namespace stopbit::ingest
