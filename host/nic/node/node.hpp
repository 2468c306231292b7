#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/nic/atu/atu.hpp"
#include "host/nic/link/services.hpp"
#include "host/nic/msg/combine.hpp"
#include "host/nic/msg/message_unit.hpp"
#include "host/nic/notify/ports.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/rma/rma.hpp"

namespace stopbit::nic {

struct NodeOptions {
  std::size_t ports = 256;  ///< VPIDs are 0 to ports - 1; at most kVpids.
  AtuOptions atu;
  RmaOptions rma;
  LinkOptions link;
  /// For the parts of a message (SendPart). A message that is incomplete by then is sent as erroneous, if its first
  /// part has arrived.
  std::uint64_t combine_patience_ns = 10'000'000;
  std::uint64_t rest_ns = 10'000'000;  ///< A port idle for this time is polled less often.
};

struct NodeCounters {
  std::uint64_t commands = 0;
  std::array<std::uint64_t, kErrors> refused{};  ///< Commands for messages, by code; those of transfers count in Rma.
};

/// The units of one node and the ports that use them. Takes the commands that ports write into their pages and executes
/// them with the identity and the domain of that page.
///
/// Each port has three rings of commands (CommandRing). A command that waits, for a full window or a transfer in
/// progress, delays only the commands after it in the same ring. Messages and transfers may be in any ring; a transfer
/// in a ring of messages is sent before the commands after it are read.
///
/// Each step polls the ports with a command within `rest_ns`, and kRestingLooks of the others in turn, so that a step
/// does not grow with the number of open ports and a resting port waits for at most one round. There is no doorbell, so
/// a port can neither flood nor forget one, and a producer writes no cache line but its own.
///
/// One thread. Allocates when ports are opened, never per command.
class Node {
 public:
  /// `transport` must outlive it.
  Node(Transport& transport, const NodeOptions& options);

  /// Opens a port in this memory, which must remain mapped until close_port: writes its first page and then executes
  /// the port's commands. Nothing if all ports are in use. Closed VPIDs are reused as late as possible.
  [[nodiscard]] std::optional<Vpid> open_port(const Page& page, Pdid domain, const MessagePort& how);
  /// Removes its windows, locks and pending waits; the memory may then be unmapped. Registered pages stay registered:
  /// revoke them at `rma` before, and wait until they are flushed.
  void close_port(Vpid vpid);
  /// A disabled port's commands, and messages to it, are refused.
  void enable_port(Vpid vpid, bool on);

  /// Takes commands, receives, answers. Returns the amount of work done.
  std::size_t step(std::uint64_t now_ns);
  /// Whether no operation waits for another node and no command is pending.
  [[nodiscard]] bool is_idle() const noexcept;

  [[nodiscard]] NodeId id() const noexcept { return transport_.node(); }
  /// As Transport says.
  [[nodiscard]] bool shares_memory(NodeId other) const noexcept { return transport_.shares_memory(other); }
  /// Transport::address_of.
  [[nodiscard]] std::optional<HostAddress> address_of(NodeId node) const noexcept {
    return transport_.address_of(node);
  }
  [[nodiscard]] Atu& atu() noexcept { return atu_; }
  [[nodiscard]] Ports& ports() noexcept { return ports_; }
  [[nodiscard]] Rma& rma() noexcept { return rma_; }
  [[nodiscard]] const Atu& atu() const noexcept { return atu_; }
  [[nodiscard]] const Ports& ports() const noexcept { return ports_; }
  [[nodiscard]] const Rma& rma() const noexcept { return rma_; }
  [[nodiscard]] const MessageUnit& messages() const noexcept { return messages_; }
  [[nodiscard]] MessageUnit& messages() noexcept { return messages_; }
  [[nodiscard]] const Links& links() const noexcept { return links_; }
  [[nodiscard]] const NodeCounters& counters() const noexcept { return counters_; }

 private:
  // Work for one ring of a port in a step. Other ports lengthen a step at most by this, by RmaOptions' step_bytes,
  // Links' bytes of a step, and Ports::kWakesPerStep wake-ups.
  static constexpr std::size_t kCommandsPerTurn = 16;
  static constexpr std::size_t kBytesPerTurn = 4'096;
  static constexpr std::size_t kRestingLooks = 16;

  struct Ring {
    Ring(const Page& page, CommandRing ring, std::uint64_t patience_ns) : source(page, ring), combiner(patience_ns) {}
    CommandSource source;
    bool has_command = false;   ///< A command that could not be executed yet.
    bool has_transfer = false;  ///< The last command was a transfer that has not been sent away.
    Command command;
    std::optional<Combined> combined;  ///< A message of parts that could not be sent yet; it lies in the combiner.
    std::optional<Combined> expired;   ///< The same, of one that was given up.
    WriteCombiner combiner;
  };
  struct OpenPort {
    OpenPort(const Page& memory, Vpid number, std::uint64_t patience_ns)
        : page(memory),
          vpid(number),
          rings{Ring(memory, CommandRing::High, patience_ns), Ring(memory, CommandRing::Low, patience_ns),
                Ring(memory, CommandRing::Transfer, patience_ns)} {}
    Page page;
    Vpid vpid;
    bool is_enabled = true;
    std::uint64_t asked_ns = 0;  ///< When it asked for something last.
    std::array<Ring, kCommandRings> rings;
  };
  enum class Done : std::uint8_t { Yes, Later };
  [[nodiscard]] std::size_t bytes_at_once(const Command& command) const noexcept;

  std::size_t serve_ports(std::uint64_t now_ns);
  std::size_t serve(OpenPort& port, std::uint64_t now_ns);
  std::size_t serve(OpenPort& port, Ring& ring, bool is_high, std::uint64_t now_ns);
  [[nodiscard]] Done run(OpenPort& port, Ring& ring, bool is_high, std::uint64_t now_ns);
  [[nodiscard]] Done send(OpenPort& port, const Command& command, std::uint8_t type, std::span<const std::byte> payload,
                          bool is_high, std::uint64_t now_ns);
  /// A message of parts, whole or cut.
  [[nodiscard]] Done send_combined(OpenPort& port, const Combined& message, bool is_high, std::uint64_t now_ns);
  /// Sends what was given up, as erroneous. Later: there was no room for one.
  [[nodiscard]] Done send_expired(OpenPort& port, Ring& ring, bool is_high, std::uint64_t now_ns);
  void look_for_expired(std::uint64_t now_ns);
  void tell(Vpid vpid, const Command& command, Error error);
  /// Registered memory of the port into `buffer_`.
  [[nodiscard]] Moved read_memory(Vpid vpid, Nla from, std::size_t length);

  Transport& transport_;
  NodeOptions options_;
  Links links_;
  Atu atu_;
  Ports ports_;
  Rma rma_;
  MessageUnit messages_;
  Services services_;
  std::vector<std::unique_ptr<OpenPort>> open_;  ///< First those who have asked lately.
  std::size_t awake_ = 0;                        ///< How many these are.
  std::size_t first_ = 0;                        ///< Index of the port served first in the next step,
  std::size_t resting_ = 0;                      ///< and which of the others is looked at next.
  std::uint64_t now_ns_ = 0;                     ///< Of the last step.
  std::size_t next_vpid_ = 0;
  std::vector<std::byte> buffer_;
  /// When a message of parts will have lasted too long, at the earliest.
  std::uint64_t expires_ns_ = ~std::uint64_t{0};
  NodeCounters counters_;
};

}  // namespace stopbit::nic
