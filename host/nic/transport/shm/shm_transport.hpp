#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nic/transport/transport.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic {

struct ShmOptions {
  /// As the name of a ring: the inbox of node N is the segment NETWORK.N.
  std::string network;
  NodeId node = 0;
  static constexpr std::size_t kUsualNodes = 16;  ///< Of networks that have no reason for another number.
  std::size_t nodes = 2;                          ///< 1 to 64, the same for all.
  std::size_t slots = 64;          ///< Frames under way from one node to another; a power of two up to 4096.
  std::size_t frame_bytes = 4096;  ///< 128 to 65536, the same for all.
  /// How long a sender that finds no room, or no inbox, waits until it looks (again) whether there is a new one.
  std::uint64_t look_every_ns = 1'000'000;
};

/// The carrier between processes of one host: each node has an inbox in shared memory, with a ring of frames for each
/// node that may send. No system call per frame, on either side.
///
/// All processes must belong to one user: a process that can write an inbox could impersonate another node, and one
/// that truncates it cuts its node off. Other content is harmless: lengths and numbers are checked against the ring.
/// The inbox of a dead node remains until its successor replaces it; the others find the new one when the old one is
/// full. Two processes cannot be the same node at the same time. One thread.
class ShmTransport final : public Transport {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ShmTransport>> open(const ShmOptions& options);
  ~ShmTransport() override;
  /// Removes the inboxes that nodes 0 to `nodes` - 1 of a network left when they died. How many there were. Makes
  /// system calls; from any thread.
  static std::size_t remove_dead(const std::string& network, std::size_t nodes);

  [[nodiscard]] NodeId node() const noexcept override { return options_.node; }
  [[nodiscard]] std::size_t nodes() const noexcept override { return options_.nodes; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return options_.frame_bytes; }
  [[nodiscard]] bool is_exact() const noexcept override { return true; }  ///< As memory is.
  [[nodiscard]] bool shares_memory(NodeId other) const noexcept override { return other < options_.nodes; }
  [[nodiscard]] bool send(NodeId to, std::span<const std::byte> frame) override;
  [[nodiscard]] std::size_t receive(std::span<std::byte> into) override;

  /// Looks for the node's inbox. False: it is not there, or of another shape; `problem` says what is wrong with it.
  [[nodiscard]] bool connect(NodeId to);
  /// Whether the process of a node is alive, whose inbox existed once. Connects to it if necessary. A system call.
  [[nodiscard]] bool is_alive(NodeId node);
  /// The process of that node, as the kernel says; nothing: it is dead, or of another pid namespace. System calls.
  [[nodiscard]] std::optional<pid_t> process_of(NodeId node);
  /// The inbox that was found is not used any more: another process may have the node's number now.
  void disconnect(NodeId to) noexcept { outgoing_[to] = Outgoing(); }
  /// The lowest number without a live node in a network of `nodes`; nothing if all are taken. System calls.
  [[nodiscard]] static std::optional<NodeId> free_node(const std::string& network, std::size_t nodes);
  /// Why the last connect failed.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  /// A ring in another node's inbox, from its sender's side.
  struct Outgoing {
    os::Descriptor file;
    os::Mapping mapping;
    std::byte* ring = nullptr;  ///< Nothing: not connected.
    std::uint64_t written = 0;
    std::uint64_t taken = 0;  ///< As last read.
    std::uint64_t next_look_ns = 0;
  };
  struct Incoming {
    std::byte* ring = nullptr;
    std::byte* next = nullptr;  ///< The slot of the next frame.
    std::uint64_t taken = 0;
    std::uint64_t told = 0;
  };

  explicit ShmTransport(const ShmOptions& options);
  [[nodiscard]] Status make_inbox();
  [[nodiscard]] std::size_t ring_bytes() const noexcept;
  [[nodiscard]] std::size_t inbox_bytes() const noexcept;
  [[nodiscard]] std::byte* slot_of(std::byte* ring, std::uint64_t number) const noexcept;
  void look_again(NodeId to);
  void tell(Incoming& in) noexcept;

  ShmOptions options_;
  std::size_t slot_bytes_;
  std::string path_;
  os::Descriptor file_;
  os::Mapping inbox_;
  std::vector<Outgoing> outgoing_;
  std::vector<Incoming> incoming_;
  std::size_t next_ = 0;
  std::string problem_;
};

}  // namespace stopbit::nic
