#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "host/nic/link/links.hpp"
#include "host/nic/names.hpp"
#include "host/nic/provider/parameters.hpp"
#include "host/nic/provider/wire.hpp"
#include "host/nic/transport/transport.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic::provider {

/// The way to other processes, as a domain uses it: a carrier of frames, and what it knows of the nodes at its ends.
class Carrier {
 public:
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  virtual ~Carrier() = default;

  [[nodiscard]] virtual Transport& transport() noexcept = 0;
  [[nodiscard]] virtual LinkOptions links() const noexcept = 0;
  /// Hash of what processes must have in common to reach each other.
  [[nodiscard]] virtual std::uint64_t network() const noexcept = 0;
  /// Where this process receives; zeros in shared memory.
  [[nodiscard]] virtual Place place() const noexcept { return {}; }
  /// False: as far as the carrier knows, the node is elsewhere.
  [[nodiscard]] virtual bool may_be_at(NodeId /*node*/, const Place& place) const noexcept { return place == Place(); }

  /// Whether the process of a node is alive, as far as the carrier can know. May make system calls.
  [[nodiscard]] virtual bool is_alive(NodeId node) = 0;
  /// The program knows an endpoint of the node now.
  virtual void meet(NodeId /*node*/) {}
  /// What is known of the node is its predecessor's.
  virtual void forget(NodeId node) noexcept = 0;
  /// The process, if the kernel vouches for it: what it offers may be copied out of its memory.
  [[nodiscard]] virtual std::optional<pid_t> process_of(NodeId /*node*/) { return std::nullopt; }

  /// Frames that were sent arrive, also after this process has ended. Else a thread must tend() it and answer others
  /// while the program makes no calls.
  [[nodiscard]] virtual bool keeps_frames() const noexcept = 0;
  /// Also gives the kernel the frames that wait for more.
  virtual void tend() {}
  /// Frames that no member has sent.
  [[nodiscard]] virtual std::uint64_t rejected() const noexcept { return 0; }
};

/// Numbers of nodes, without this one.
[[nodiscard]] inline std::size_t most_nodes(const Parameters& parameters) noexcept {
  return parameters.is_remote() ? 256 : 32;
}
/// Of one packet.
[[nodiscard]] std::size_t packet_bytes(const Parameters& parameters) noexcept;

/// Inboxes in shared memory, between processes of one user on one host.
[[nodiscard]] Result<std::unique_ptr<Carrier>> open_memory(const Parameters& parameters);
/// Encrypted datagrams, between hosts. Waits until this node is a member.
[[nodiscard]] Result<std::unique_ptr<Carrier>> open_network(const Parameters& parameters);

}  // namespace stopbit::nic::provider
