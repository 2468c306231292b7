#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "host/nic/link/links.hpp"
#include "host/nic/transport/transport.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

struct FabricOptions {
  std::string provider = "tcp;ofi_rxm";  ///< As libfabric calls it. Also run with `shm`.
  /// Where others reach this node: HOST:PORT, [HOST]:PORT, a port of 0 being any; for `shm` a name. Node 0 must have
  /// one. Empty at others: an address from which node 0 can be reached, and any port.
  std::string listen;
  std::string network = "stopbit";  ///< A joining node must give the same name; 1 to 31 bytes.
  std::optional<NodeId> node;       ///< Requested node number; unused at node 0. Nothing: any free number.
  std::size_t nodes = 64;           ///< 2 to 1024, the same for all.
  std::size_t frame_bytes = 4080;   ///< 256 to 16000, the same for all. Up to 4080 `shm` copies a frame at once.
  std::size_t tx_slots = 32;        ///< Frames to one node that the provider has not sent yet; 4 to 1024.
  std::size_t rx_slots = 256;       ///< Frames that have come and were not taken; 16 to 65536.
  /// A member silent for this time has left. Node 0's lease must not be shorter than a member's: a member sends eight
  /// signs of life per lease of its own, and must reconnect if that is too rare for node 0.
  std::uint64_t lease_ns = 3'000'000'000;
  std::uint64_t patience_ns = 10'000'000'000;  ///< Time after which `join` gives up.
  /// What runs libfabric in a process of its own: stopbit-fabric. Empty: it runs in this one,
  /// which dies of what a peer, or a bit that was turned on the way, can make of a connection. Provider `shm`, which
  /// reaches no other host, runs in this one anyhow.
  std::string program;
  std::uint64_t hung_ns = 3'000'000'000;  ///< The libfabric process is replaced after this time without progress.
};
/// The program that serves an endpoint in a process of its own.
inline constexpr const char* kFabricProgram = "stopbit-fabric";
/// Where it lies: beside the program that runs, or where an installation puts it.
[[nodiscard]] Result<std::string> find_fabric_program();
/// Whether that provider needs it: whether it talks to other hosts.
[[nodiscard]] bool leaves_host(std::string_view provider) noexcept;

/// Of processes in which libfabric ran.
struct FabricDeaths {
  std::uint64_t count = 0;
  std::string why;  ///< Of the last one.
};

/// Frames by what became of them.
struct FabricCounters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;   ///< Given to the links.
  std::uint64_t no_room = 0;    ///< Not sent: too many under way to this node, or it is not connected (yet).
  std::uint64_t absent = 0;     ///< Not sent: there is no such member.
  std::uint64_t broken = 0;     ///< Given to the provider, which could not send it.
  std::uint64_t oversized = 0;  ///< Longer than a frame may be.
  std::uint64_t malformed = 0;  ///< No frame of this carrier.
  std::uint64_t version = 0;    ///< Of another version.
  std::uint64_t strangers = 0;  ///< From a node that is no member, or not known as one yet.
  std::uint64_t stale = 0;      ///< Of an earlier incarnation.
  std::uint64_t forged = 0;     ///< Says that it is from another node than its connection.
  std::uint64_t refused = 0;    ///< Nodes that were not let in.
  std::uint64_t joined = 0;     ///< Nodes that were.
  std::uint64_t left = 0;       ///< Nodes that went, and said so.
  std::uint64_t expired = 0;    ///< Nodes that node 0 gave up.
  std::uint64_t renewed = 0;    ///< Connections made anew, because nothing came back.
};

/// Times that fit a carrier which connects when it is first used, and sends again by itself.
[[nodiscard]] LinkOptions fabric_link_options() noexcept;

/// The carrier over libfabric: reliable datagrams (FI_EP_RDM) of any provider, between processes of one or many hosts.
///
/// One node is 0 and listens; others join it by its address and get their NodeId, and the addresses of all others, from
/// it. Frames travel from node to node without it. A node that dies and comes back joins again: its old frames are
/// ignored. The sender of a frame is known from its connection (provider shm: from the frame, as all nodes belong to
/// one user).
///
/// `send` never waits and copies into a preallocated pool; a node that does not read fills its own share only. The
/// provider makes system calls, and allocates when it connects. No thread is started. One thread.
///
/// With `FabricOptions::program` the provider runs in another process, which may die: there is another one soon, at the
/// same address, and what was under way is lost, as it may be on any carrier. This process then makes two system calls
/// on a socket of its own now and then, and no others.
class FabricTransport final : public Transport {
 public:
  /// Fails without libfabric: not in this build, or not on this machine.
  [[nodiscard]] static Status available();

  /// Node 0. At once.
  [[nodiscard]] static Result<std::unique_ptr<FabricTransport>> listen(const FabricOptions& options);
  /// Another node. Returns when it is a member and knows all others, or with the reason why not.
  [[nodiscard]] static Result<std::unique_ptr<FabricTransport>> join(const FabricOptions& options,
                                                                     const std::string& address);
  /// The same, but returns at once: call `progress` until is_joined(), or until there is a problem().
  [[nodiscard]] static Result<std::unique_ptr<FabricTransport>> start(const FabricOptions& options,
                                                                      const std::string& address);
  /// Says goodbye.
  ~FabricTransport() override;

  [[nodiscard]] NodeId node() const noexcept override;
  [[nodiscard]] std::size_t nodes() const noexcept override;
  [[nodiscard]] std::size_t frame_bytes() const noexcept override;
  /// False: no room, the node is not connected yet, or is no member.
  [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override;
  /// Also does what progress() does.
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) override;
  [[nodiscard]] std::optional<NodeId> sender() const noexcept override;
  [[nodiscard]] std::optional<HostAddress> address_of(NodeId node) const noexcept override;

  /// Takes in frames, answers, and renews the membership. Must be called several times per lease. Frames that are not
  /// received remain: after `rx_slots` of them no more are taken in, and the membership ends with its lease.
  void progress();
  [[nodiscard]] bool is_joined() const noexcept;
  /// Why this node cannot join any more, or nothing reaches it or any other: it has to be opened anew. Empty: it need
  /// not.
  [[nodiscard]] std::string problem() const;
  [[nodiscard]] bool is_member(NodeId node) const noexcept;
  /// Why it is not joined yet, or why it cannot be.
  [[nodiscard]] std::string why_not_joined() const;
  /// What to give to `join`: HOST:PORT, or the name.
  [[nodiscard]] const std::string& address() const noexcept;
  [[nodiscard]] const FabricCounters& counters() const noexcept;
  /// Of the process of `program`; none without it.
  [[nodiscard]] const FabricDeaths& deaths() const noexcept;

 private:
  class Parts;
  explicit FabricTransport(std::unique_ptr<Parts> parts);
  [[nodiscard]] static Result<std::unique_ptr<FabricTransport>> open(const FabricOptions& options,
                                                                     const std::string& host);

  std::unique_ptr<Parts> parts_;
};

}  // namespace stopbit::nic
