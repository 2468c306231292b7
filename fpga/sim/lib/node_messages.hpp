#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "host/nic/msg/combine.hpp"
#include "host/nic/names.hpp"
#include "host/nic/queue/command.hpp"
#include "node_driver.hpp"

/// Messages as the process of a port writes them to a node in RTL.
namespace stopbit::sim::node {

/// The modifier of a message that has this priority.
[[nodiscard]] constexpr std::uint8_t priority_of(bool is_high) noexcept {
  return is_high ? static_cast<std::uint8_t>(nic::kHighPriority) : std::uint8_t{0};
}

/// A message in a command.
[[nodiscard]] inline nic::Command message_of(std::string_view bytes, nic::NodeId to, nic::Vpid vpid,
                                             std::uint64_t tag = 0, std::uint8_t modifiers = 0) {
  nic::Command command;
  command.operation = nic::Operation::FastSend;
  command.modifiers = modifiers;
  command.target_node = to;
  command.target_vpid = vpid;
  command.window = static_cast<std::uint16_t>(bytes.size());
  command.tag = tag;
  std::memcpy(reinterpret_cast<std::byte*>(&command) + nic::kPayloadAt, bytes.data(),
              std::min(bytes.size(), nic::kMaxFastBytes));
  return command;
}

/// A message in parts of 40 bytes; `number` tells it from the one before.
[[nodiscard]] inline std::vector<nic::Command> parts_of(std::string_view bytes, nic::NodeId to, nic::Vpid vpid,
                                                        std::uint8_t number, std::uint8_t tag = 0,
                                                        std::uint8_t type = 0, std::uint8_t modifiers = 0) {
  std::vector<nic::Command> parts;
  for (std::size_t at = 0; at < bytes.size(); at += nic::kMaxFastBytes) {
    nic::PartHead head;
    head.tag = tag;
    head.message = number;
    head.offset = static_cast<std::uint16_t>(at);
    head.total = static_cast<std::uint16_t>(bytes.size());
    head.type = type;
    parts.push_back(message_of(bytes.substr(at, nic::kMaxFastBytes), to, vpid, nic::to_tag(head), modifiers));
    parts.back().operation = nic::Operation::SendPart;
  }
  return parts;
}
/// Writes a part to the port's page, as its process does.
inline void write_part(Node& node, nic::Vpid vpid, const nic::Command& part) {
  node.write_part(vpid, (part.modifiers & nic::kHighPriority) != 0, part, 2 + (part.window + 7U) / 8U);
}

}  // namespace stopbit::sim::node
