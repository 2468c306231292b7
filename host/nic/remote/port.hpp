#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "host/nic/msg/mailbox.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/node/shared_memory.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/remote/post.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::nic::remote {

/// A port of a node of this process. Of the node's thread; the node must outlive it. Allocates when it is opened.
class Port final : public Post {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Port>> open(Node& node, Pdid domain, const MessagePort& how = {});
  /// Its windows vanish, and what it waits for.
  ~Port() override;

  [[nodiscard]] Node& node() const noexcept { return node_; }
  [[nodiscard]] Vpid vpid() const noexcept { return vpid_; }
  [[nodiscard]] EventCounters& events() noexcept { return events_; }
  [[nodiscard]] NotificationReader& notifications() noexcept { return notifications_; }
  [[nodiscard]] CommandQueue transfers() const noexcept { return CommandQueue(pages_.page(), CommandRing::Transfer); }

  [[nodiscard]] bool send(NodeId node, Vpid vpid, std::span<const std::byte> message, std::uint64_t now_ns) override;
  [[nodiscard]] std::optional<MessageHead> receive(std::span<std::byte, kMaxMessageBytes> into) noexcept override {
    return low_.poll(into);
  }
  [[nodiscard]] std::size_t max_bytes() const noexcept override { return node_.messages().max_bytes(); }
  [[nodiscard]] bool shares_memory(NodeId node) const noexcept override { return node_.shares_memory(node); }
  [[nodiscard]] Links::Session link(NodeId node) const noexcept override { return node_.links().session(node); }

  /// Whole pages, which must stay until they are taken away again. Nothing: there are no addresses left.
  [[nodiscard]] std::optional<Nla> add_memory(std::span<const std::byte> pages, Access access);
  /// Its windows vanish; the node does not touch the memory any more when this returns.
  void take_memory(std::span<const std::byte> pages, Nla address) noexcept;

 private:
  Port(Node& node, SharedMemory pages, Vpid vpid);

  Node& node_;
  SharedMemory pages_;
  Vpid vpid_;
  EventCounters events_;
  NotificationReader notifications_;
  MailboxReader low_;
};

/// Zeroed memory that a port shares with its node as long as this lives; the port must outlive it.
class PortMemory {
 public:
  [[nodiscard]] static Result<PortMemory> make(Port& port, const char* name, std::size_t bytes, Access access);
  PortMemory() = default;
  PortMemory(PortMemory&& other) noexcept { *this = std::move(other); }
  PortMemory& operator=(PortMemory&& other) noexcept;
  ~PortMemory();

  [[nodiscard]] std::span<std::byte> span() const noexcept { return memory_.span(); }
  [[nodiscard]] Nla address() const noexcept { return address_; }
  [[nodiscard]] bool ok() const noexcept { return port_ != nullptr; }

 private:
  Port* port_ = nullptr;
  SharedMemory memory_;
  Nla address_ = 0;
};

}  // namespace stopbit::nic::remote
