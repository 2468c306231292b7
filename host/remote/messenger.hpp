#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "host/nic/link/links.hpp"
#include "host/nic/msg/mailbox.hpp"
#include "host/nic/names.hpp"
#include "host/nic/node/client.hpp"

namespace stopbit::remote {

/// What a subscriber needs of a port to have a near ring: messages. Of a node of its process it is a NodePort, of a
/// node of another process a ClientMessenger. One thread.
class Messenger {
 public:
  Messenger() = default;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  virtual ~Messenger() = default;

  /// False: not now.
  [[nodiscard]] virtual bool send(nic::NodeId node, nic::Vpid vpid, std::span<const std::byte> message,
                                  std::uint64_t now_ns) = 0;
  [[nodiscard]] virtual std::optional<nic::MessageHead> receive(
      std::span<std::byte, nic::kMaxMessageBytes> into) noexcept = 0;
  /// The longest message.
  [[nodiscard]] virtual std::size_t max_bytes() const noexcept = 0;
  /// As Transport says.
  [[nodiscard]] virtual bool shares_memory(nic::NodeId node) const noexcept = 0;
  /// With that node: another one means that what was under way may be lost.
  [[nodiscard]] virtual nic::Links::Session link(nic::NodeId node) const noexcept = 0;
};

/// A client's port, opened by the broker of its host. All messages that it gets are the subscriber's; others than the
/// publisher's are dropped. The client must outlive it.
class ClientMessenger final : public Messenger {
 public:
  explicit ClientMessenger(nic::Client& client) noexcept : client_(client) {}

  [[nodiscard]] bool send(nic::NodeId node, nic::Vpid vpid, std::span<const std::byte> message,
                          std::uint64_t) override {
    return client_.send(node, vpid, message) == nic::Reply::NoError;
  }
  [[nodiscard]] std::optional<nic::MessageHead> receive(
      std::span<std::byte, nic::kMaxMessageBytes> into) noexcept override {
    return client_.receive(into);
  }
  [[nodiscard]] std::size_t max_bytes() const noexcept override { return nic::kMaxMessageBytes; }
  [[nodiscard]] bool shares_memory(nic::NodeId node) const noexcept override { return node == client_.node(); }
  [[nodiscard]] nic::Links::Session link(nic::NodeId) const noexcept override { return {}; }

 private:
  nic::Client& client_;
};

}  // namespace stopbit::remote
