#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/nic/atu/atu.hpp"
#include "host/nic/error.hpp"
#include "host/nic/link/links.hpp"
#include "host/nic/notify/notification.hpp"
#include "host/nic/queue/command.hpp"

namespace stopbit::nic {

/// Requester, responder and completer of a node in hardware (fpga/rtl/rma), for what they can carry out; `Rma` does the
/// rest (rma_offload.hpp says which).
///
/// The class keeps windows, locks, links and fences, and reports each change of its ports and windows. The engine reads
/// and writes registered memory itself. One thread.
class RmaEngine {
 public:
  /// Commands that wait for an answer. Their numbers on the wire are index | generation << 16, with an index below
  /// this; those of software are above it.
  static constexpr std::uint32_t kSlots = 64;
  /// Of a packet, after the header. A node with an engine sends no longer ones, and can take none.
  static constexpr std::size_t kDataBytes = 184;
  static constexpr std::size_t kPorts = 256;
  static constexpr std::size_t kWindows = 1024;

  /// What the engine needs of its node. Called only during a call of the engine.
  class Host {
   public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual ~Host() = default;

    /// Whether a packet may begin. A request is to the node of the current command, an answer to the one that asked.
    [[nodiscard]] virtual bool has_room(VirtualChannel channel) = 0;
    virtual void send(NodeId to, VirtualChannel channel, std::span<const std::byte> packet) = 0;
    /// Nothing: not registered by this port with this access.
    [[nodiscard]] virtual std::optional<PageNumber> translate(Vpid who, Nla nla, Access access) = 0;
    virtual void tell(Vpid vpid, const Notification& notification) = 0;
    virtual void signal(Vpid vpid, std::uint64_t event) = 0;
    /// The current command has been sent away, or refused.
    virtual void ended(Error error) = 0;
  };

  struct Port {
    bool is_open = false;
    Pdid domain = 0;
    std::uint32_t life = 0;  ///< How often it was closed: what a refusal must know.
  };
  struct Window {
    bool is_open = false;
    bool is_locked = false;
    Vpid owner = 0;
    Access access = Access::Read;
    NodeId holder_node = 0;
    Vpid holder = 0;
    Nla first = 0;
    std::uint64_t bytes = 0;
    Capability capability = 0;
    std::optional<Pdid> open_to;  ///< Besides the owner's domain.
  };

  RmaEngine() = default;
  RmaEngine(const RmaEngine&) = delete;
  RmaEngine& operator=(const RmaEngine&) = delete;
  virtual ~RmaEngine() = default;

  /// Before all others. `host` outlives the engine's last call.
  virtual void attach(Host& host) = 0;
  virtual void set_port(Vpid vpid, const Port& port) = 0;
  virtual void set_window(std::uint16_t id, const Window& window) = 0;
  /// Commands of a port, or to a node, wait for no answer any more. Those to a node are reported as ERR_ROUTE_BROKEN.
  virtual void end_port(Vpid vpid) = 0;
  virtual void end_node(NodeId node) = 0;

  /// Starts a command; the one before must have ended.
  virtual void start(Vpid vpid, const Command& command) = 0;
  /// Takes an answer, or a request if is_free().
  virtual void take(NodeId from, VirtualChannel channel, std::span<const std::byte> packet) = 0;
  /// The last request has been carried out to its end.
  [[nodiscard]] virtual bool is_free() = 0;
  /// Goes on with what waited for room, to where it cannot go on.
  virtual void run() = 0;
  /// Commands wait for answers.
  [[nodiscard]] virtual bool waits() = 0;
};

}  // namespace stopbit::nic
