#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/nic/msg/combine.hpp"
#include "host/nic/msg/mailbox.hpp"
#include "node_bench.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::sim::node {

/// A message as its receiver sees it.
struct Received {
  nic::NodeId node = 0;
  nic::Vpid vpid = 0;
  std::uint8_t tag = 0;
  std::uint8_t type = 0;
  std::string bytes;
  friend bool operator==(const Received&, const Received&) = default;
};

/// The next message of a mailbox, and all that follow.
[[nodiscard]] inline std::vector<Received> poll_all(nic::MailboxReader& reader) {
  std::vector<Received> all;
  std::array<std::byte, nic::kMaxMessageBytes> into;
  while (const auto head = reader.poll(into)) {
    all.push_back({head->node, head->vpid, head->tag, head->type,
                   std::string(reinterpret_cast<const char*>(into.data()), head->length)});
  }
  return all;
}

/// The process of a port that reads its mailboxes in the memory of a node with nic::MailboxReader.
class Mailboxes {
 public:
  Mailboxes(Node& node, nic::Vpid vpid) : node_(node), vpid_(vpid) { forget(); }

  /// Both are empty again, as when a port is opened.
  void forget() {
    memory_ = std::make_unique<nic::PageMemory>();
    memory_->page().word(nic::PageWord::SlotBytes).store(64);
    for (const bool is_high : {false, true}) {
      readers_[is_high] =
          std::make_unique<nic::MailboxReader>(memory_->page(), is_high ? nic::Priority::High : nic::Priority::Low);
      for (std::uint64_t at = 0; at < kMailboxBytes; at += 8) node_.memory.erase(place(is_high) + at);
    }
  }
  /// What has come, without saying that it was read.
  [[nodiscard]] std::vector<Received> look(bool is_high = false) {
    const std::size_t to = is_high ? nic::PageLayout::kHighAt : nic::PageLayout::kLowAt;
    for (std::uint64_t at = 0; at < kMailboxBytes; at += 8) {
      const std::uint64_t word = node_.memory[place(is_high) + at];
      std::memcpy(memory_->span().data() + to + at, &word, sizeof(word));
    }
    std::vector<Received> all = poll_all(*readers_[is_high]);
    EXPECT_EQ(readers_[is_high]->malformed(), 0U);
    return all;
  }
  void tell(bool is_high = false) {
    node_.limit(vpid_, is_high, false,
                memory_->page().word(is_high ? nic::PageWord::HighRead : nic::PageWord::LowRead).load());
  }
  [[nodiscard]] std::vector<Received> take(bool is_high = false) {
    std::vector<Received> all = look(is_high);
    tell(is_high);
    return all;
  }

 private:
  [[nodiscard]] std::uint64_t place(bool is_high) const {
    return kMailboxes + Node::ring_of(vpid_, is_high) * kMailboxBytes;
  }

  Node& node_;
  nic::Vpid vpid_;
  std::unique_ptr<nic::PageMemory> memory_;
  std::array<std::unique_ptr<nic::MailboxReader>, 2> readers_;
};

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
