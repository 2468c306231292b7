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
#include "host/remote/messenger.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::remote {

/// A port of a node of this process. Of the node's thread; the node must outlive it. Allocates when it is opened.
class NodePort final : public Messenger {
 public:
  [[nodiscard]] static Result<std::unique_ptr<NodePort>> open(nic::Node& node, nic::Pdid domain,
                                                              const nic::MessagePort& how = {});
  /// Its windows vanish, and what it waits for.
  ~NodePort() override;

  [[nodiscard]] nic::Node& node() const noexcept { return node_; }
  [[nodiscard]] nic::Vpid vpid() const noexcept { return vpid_; }
  [[nodiscard]] nic::EventCounters& events() noexcept { return events_; }
  [[nodiscard]] nic::NotificationReader& notifications() noexcept { return notifications_; }
  [[nodiscard]] nic::CommandQueue transfers() const noexcept { return queue(nic::CommandRing::Transfer); }
  [[nodiscard]] nic::CommandQueue queue(nic::CommandRing ring) const noexcept {
    return nic::CommandQueue(pages_.page(), ring);
  }

  [[nodiscard]] bool send(nic::NodeId node, nic::Vpid vpid, std::span<const std::byte> message,
                          std::uint64_t now_ns) override;
  [[nodiscard]] std::optional<nic::MessageHead> receive(
      std::span<std::byte, nic::kMaxMessageBytes> into) noexcept override {
    return low_.poll(into);
  }
  [[nodiscard]] std::size_t max_bytes() const noexcept override { return node_.messages().max_bytes(); }
  [[nodiscard]] bool shares_memory(nic::NodeId node) const noexcept override { return node_.shares_memory(node); }
  [[nodiscard]] nic::Links::Session link(nic::NodeId node) const noexcept override {
    return node_.links().session(node);
  }

  /// Whole pages, which must stay until they are taken away again. Nothing: there are no addresses left.
  [[nodiscard]] std::optional<nic::Nla> add_memory(std::span<const std::byte> pages, nic::Access access);
  /// Its windows vanish; the node does not touch the memory any more when this returns.
  void take_memory(std::span<const std::byte> pages, nic::Nla address) noexcept;

 private:
  NodePort(nic::Node& node, nic::SharedMemory pages, nic::Vpid vpid);

  nic::Node& node_;
  nic::SharedMemory pages_;
  nic::Vpid vpid_;
  nic::EventCounters events_;
  nic::NotificationReader notifications_;
  nic::MailboxReader low_;
};

/// Zeroed memory that a port shares with its node as long as this lives; the port must outlive it.
class PortMemory {
 public:
  [[nodiscard]] static Result<PortMemory> make(NodePort& port, const char* name, std::size_t bytes, nic::Access access);
  PortMemory() = default;
  PortMemory(PortMemory&& other) noexcept { *this = std::move(other); }
  PortMemory& operator=(PortMemory&& other) noexcept;
  ~PortMemory();

  [[nodiscard]] std::span<std::byte> span() const noexcept { return memory_.span(); }
  [[nodiscard]] nic::Nla address() const noexcept { return address_; }
  [[nodiscard]] bool ok() const noexcept { return port_ != nullptr; }

 private:
  NodePort* port_ = nullptr;
  nic::SharedMemory memory_;
  nic::Nla address_ = 0;
};

}  // namespace stopbit::remote
