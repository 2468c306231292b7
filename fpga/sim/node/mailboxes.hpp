#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/nic/msg/mailbox.hpp"
#include "node_bench.hpp"
#include "node_messages.hpp"
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

}  // namespace stopbit::sim::node
