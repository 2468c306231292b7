#pragma once

#include <Vrtl_velo.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "host/nic/msg/mailbox.hpp"
#include "velo_driver.hpp"

namespace stopbit::sim::velo {

using Unit = Driver<Vrtl_velo>;
using nic::Error;

inline constexpr std::uint64_t kNode = 1;        ///< Of the unit.
inline constexpr std::uint64_t kPatience = 512;  ///< Cycles that it waits for memory.
inline constexpr std::uint64_t kDomain = 7;
inline constexpr std::uint64_t kListAt = 0x4000'0000;

[[nodiscard]] inline std::uint64_t seed() {
  const char* const said = std::getenv("STOPBIT_SEED");
  return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
}
[[nodiscard]] constexpr std::uint64_t ring_of(std::uint64_t port, bool is_high) {
  return port * 2 + (is_high ? 1 : 0);
}
/// A piece of memory for a ring that goes round.
[[nodiscard]] constexpr std::uint64_t place_of(std::uint64_t ring) {
  return 0x10'0000 + ring * 0x1'0000;
}

struct Header {
  std::uint64_t node = 3;
  std::uint64_t vpid = 2;
  std::uint64_t tag = 0;
  std::uint64_t kind = 0;
  std::uint64_t domain = kDomain;
  bool announces = false;
};
[[nodiscard]] inline std::uint64_t wire(const Header& header, std::size_t bytes) {
  return protocol::kVeloWireNode.put(header.node) | protocol::kVeloWireVpid.put(header.vpid) |
         protocol::kVeloWireKind.put(header.kind) | protocol::kVeloWireTag.put(header.tag) |
         protocol::kVeloWireAnnounce.put(header.announces ? 1 : 0) | protocol::kVeloWireLength.put(bytes - 1) |
         protocol::kVeloWireDomain.put(header.domain);
}

class VeloTest : public ::testing::Test {
 protected:
  VeloTest() : unit_(seed()) {
    unit_.wrote = [this](std::uint64_t address, std::uint64_t word) {
      memory_[address] = word;
      last_written_ = address;
      ++words_written_;
    };
    unit_.read = [this](std::uint64_t address) -> std::optional<std::array<std::uint64_t, 2>> {
      const auto found = descriptors_.find(address);
      if (found == descriptors_.end()) return std::nullopt;
      return found->second;
    };
  }

  /// A port with two rings of 64 slots that go round.
  void open(std::uint64_t port, std::uint64_t slot_size = 2) {
    unit_.set_port(port, {true, true, kDomain, false, 0, 0});
    for (const bool is_high : {false, true}) {
      const std::uint64_t ring = ring_of(port, is_high);
      unit_.set_ring(ring, false, {true, false, slot_size, 64, place_of(ring), 0});
      unit_.set_limit(ring, false, 0);
    }
  }
  [[nodiscard]] std::vector<std::byte> some_bytes(std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(unit_.random.below(256));
    return bytes;
  }
  void come(std::uint64_t port, bool is_high, const Header& header, std::span<const std::byte> bytes,
            bool is_erroneous = false, bool is_group = false) {
    const Start start{is_group ? 0 : port, is_group ? port : kNode, 0, is_high ? 1U : 0U, 0, is_group, 0};
    unit_.come(packets_of(start, wire(header, bytes.size()), to_words(bytes), is_erroneous));
  }
  /// One message, and what became of it.
  Report deliver(std::uint64_t port, bool is_high, const Header& header, std::span<const std::byte> bytes) {
    const std::size_t before = unit_.reports.size();
    come(port, is_high, header, bytes);
    if (!unit_.until([&] { return unit_.reports.size() > before; })) throw std::runtime_error("no report");
    settle();
    return unit_.reports.back();
  }
  void settle() { unit_.cycles(2000); }
  /// The message whose last slot ends at `end`, if it fits into one slot: its status and words.
  [[nodiscard]] std::uint64_t word_at(std::uint64_t address) {
    return memory_.count(address) != 0 ? memory_[address] : 0;
  }

  static Message to_message(std::uint64_t vpid, std::uint64_t traffic_class, std::uint64_t command,
                            std::span<const std::uint64_t> words) {
    Message message{vpid, traffic_class, {command}};
    message.words.insert(message.words.end(), words.begin(), words.end());
    return message;
  }
  static std::uint64_t command_to(std::uint64_t node, std::uint64_t vpid, std::size_t bytes) {
    return protocol::kVeloCommandTarget.put(node) | protocol::kVeloCommandVpid.put(vpid) |
           protocol::kVeloCommandLength.put(bytes);
  }

  Unit unit_;
  std::map<std::uint64_t, std::uint64_t> memory_;  ///< Words that were written.
  std::map<std::uint64_t, std::array<std::uint64_t, 2>> descriptors_;
  std::uint64_t last_written_ = 0;
  std::uint64_t words_written_ = 0;
};

}  // namespace stopbit::sim::velo
