#pragma once

#include <Vrtl_rma.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "rma_driver.hpp"

namespace stopbit::sim::rma {

using Unit = Driver<Vrtl_rma>;
using nic::Access;
using nic::Command;
using nic::Error;
using nic::Operation;
using nic::Teller;
using nic::Vpid;

inline constexpr std::uint64_t kPageWords = 512;
inline constexpr std::uint64_t kSourcePage = 0x12'3456'0000;  // numbers of pages
inline constexpr std::uint64_t kSinkPage = 0xFF'FFFF'0000;

[[nodiscard]] inline std::uint64_t seed() {
  const char* const said = std::getenv("STOPBIT_SEED");
  return said == nullptr ? 1 : std::strtoull(said, nullptr, 10);
}

/// One node whose network gives back its packets: port 1 has memory to send from at address 0x1000 and to get into at
/// 0x100000, port 2 a window on eight pages at 0x200000, and ports 1 and 2 may do everything there.
class RmaTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kSource = 0x1000;
  static constexpr std::uint64_t kInto = 0x10'0000;
  static constexpr std::uint64_t kSink = 0x20'0000;
  static constexpr std::uint64_t kPages = 8;
  static constexpr std::uint64_t kCapability = 0x1122'3344'5566'7788;
  static constexpr std::uint16_t kWindow = 5;

  RmaTest() : unit_(seed()) {
    unit_.translate = [this](Vpid who, std::uint64_t nla, Access access) -> std::optional<std::uint64_t> {
      const auto page = pages_.find(nla / nic::kPageBytes);
      if (page == pages_.end() || page->second.owner != who || !nic::allows(page->second.access, access))
        return std::nullopt;
      return page->second.number;
    };
    unit_.read_word = [this](std::uint64_t address) { return memory_[address]; };
    unit_.write_word = [this](std::uint64_t address, std::uint64_t word, std::uint64_t strobe) {
      std::uint64_t& old = memory_[address];
      for (unsigned byte = 0; byte < 8; ++byte) {
        if ((strobe >> byte & 1) == 0) continue;
        const std::uint64_t mask = std::uint64_t{0xFF} << 8 * byte;
        old = (old & ~mask) | (word & mask);
      }
    };
    for (std::uint64_t i = 0; i < kPages; ++i) {
      pages_[kSource / nic::kPageBytes + i] = {1, kSourcePage + i * 3, Access::Read};
      pages_[kInto / nic::kPageBytes + i] = {1, kSourcePage + 0x1000 + i, Access::Write};
      pages_[kSink / nic::kPageBytes + i] = {2, kSinkPage + i * 7, Access::ReadWrite};
      for (std::uint64_t word = 0; word < kPageWords; ++word) at(kSource, i * kPageWords + word) = unit_.random.bits();
    }
    place_tables();
  }
  void place_tables() {
    unit_.set_port(1, {true, 7, 3});
    unit_.set_port(2, {true, 7, 1});
    unit_.set_window(kWindow, window());
  }
  static WindowEntry window() {
    return {.open = true,
            .owner = 2,
            .access = Access::ReadWrite,
            .first = kSink,
            .bytes = kPages * nic::kPageBytes,
            .capability = kCapability,
            .domain = std::nullopt};
  }
  /// A word of memory: the `word`th from the address `nla` on.
  std::uint64_t& at(std::uint64_t nla, std::uint64_t word) {
    const std::uint64_t where = nla + 8 * word;
    return memory_[pages_.at(where / nic::kPageBytes).number * nic::kPageBytes + where % nic::kPageBytes];
  }
  static Command command(Operation operation) {
    Command command;
    command.operation = operation;
    command.target_vpid = 2;
    command.window = kWindow;
    command.capability = kCapability;
    command.tag = 0xABCD'0000'1234;
    return command;
  }
  static Command put(std::uint64_t length, std::uint8_t modifiers = 0, std::uint64_t offset = 0) {
    Command command = RmaTest::command(Operation::Put);
    command.address = kSource;
    command.length = static_cast<std::uint32_t>(length);
    command.modifiers = modifiers;
    command.offset = offset;
    return command;
  }
  void run(const Command& command, Vpid vpid = 1) {
    unit_.commands.emplace_back(vpid, command);
    ASSERT_TRUE(unit_.settle()) << "it does not come to its end";
  }
  /// The only notification since the last call.
  Notice only() {
    if (unit_.notices.size() != 1) {
      ADD_FAILURE() << unit_.notices.size() << " notifications";
      return {};
    }
    const Notice one = unit_.notices[0];
    unit_.notices.clear();
    return one;
  }

  struct PageOf {
    Vpid owner = 0;
    std::uint64_t number = 0;
    Access access = Access::Read;
  };
  Unit unit_;
  std::map<std::uint64_t, PageOf> pages_;
  std::map<std::uint64_t, std::uint64_t> memory_;
};

}  // namespace stopbit::sim::rma
