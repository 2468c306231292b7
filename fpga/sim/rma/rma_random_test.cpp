#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "host/nic/transport/model/network.hpp"
#include "rma_fixture.hpp"
#include "tests/lib/form.hpp"
#include "tests/nic/host.hpp"

// Random commands to the units and to the class: the same bytes of memory, notifications and events.

namespace stopbit::sim::rma {
namespace {

using nic::Nla;
using nic::Notification;

class RmaLockStep : public ::testing::Test {
 protected:
  static constexpr std::size_t kPages = 3;
  static constexpr std::uint64_t kBytes = kPages * nic::kPageBytes;
  static constexpr Vpid kPorts = 4;  // 0 and 1 are of one domain, 2 is of another one, 3 is closed

  RmaLockStep() : network_({}), host_(network_.port(0)), unit_(seed()) {
    for (Vpid vpid = 0; vpid < 3; ++vpid) {
      ports_[vpid] = &host_.open(vpid, domain(vpid));
      unit_.set_port(vpid, {true, domain(vpid), 0});
      add(vpid, Access::Read);
      add(vpid, Access::Write);
      add(vpid, Access::ReadWrite);
      const Nla first = memories_.back()->nla;
      open(vpid, first, kBytes, Access::ReadWrite, std::nullopt);
      open(vpid, first + 72, 4096, Access::Write, domain(2));
      open(vpid, first, 4096, Access::Read, std::nullopt);
    }
    unit_.translate = [this](Vpid who, std::uint64_t nla, Access access) -> std::optional<std::uint64_t> {
      const nic::Translation found = host_.atu.translate(who, nla, access);
      if (!found.ok) return std::nullopt;
      return found.page;
    };
    unit_.read_word = [this](std::uint64_t address) { return word(address); };
    unit_.write_word = [this](std::uint64_t address, std::uint64_t value, std::uint64_t strobe) {
      for (unsigned byte = 0; byte < 8; ++byte) {
        if (strobe >> byte & 1)
          page(address)[address % nic::kPageBytes + byte] = static_cast<std::byte>(value >> 8 * byte);
      }
    };
  }

  static nic::Pdid domain(Vpid vpid) { return vpid == 2 ? 9 : 7; }
  void add(Vpid vpid, Access access) {
    memories_.push_back(host_.add_memory(vpid, kPages, access));
    for (std::byte& byte : memories_.back()->bytes()) byte = static_cast<std::byte>(unit_.random.bits());
    for (std::size_t i = 0; i < kPages; ++i) {
      const std::byte* const from = memories_.back()->bytes().data() + i * nic::kPageBytes;
      std::copy_n(from, nic::kPageBytes, pages_[nic::to_page_number(from)].begin());
    }
  }
  void open(Vpid vpid, Nla first, std::uint64_t bytes, Access access, std::optional<nic::Pdid> open_to) {
    const auto name = host_.rma.open_window(vpid, first, bytes, access, open_to);
    windows_.push_back({name.value(), vpid});
    unit_.set_window(name->id, {true, false, vpid, access, 0, 0, first, bytes, name->capability, open_to});
  }
  std::array<std::byte, nic::kPageBytes>& page(std::uint64_t address) { return pages_.at(address / nic::kPageBytes); }
  std::uint64_t word(std::uint64_t address) {
    std::uint64_t value = 0;
    std::memcpy(&value, page(address).data() + address % nic::kPageBytes, sizeof(value));
    return value;
  }
  /// The memory of a port for sources (0), sinks of gets (1), or windows (2).
  [[nodiscard]] Nla nla(Vpid vpid, std::size_t which) const { return memories_[vpid * 3 + which]->nla; }

  Command random_command(Vpid vpid) {
    Random& random = unit_.random;
    constexpr std::array<Operation, 8> kOperations = {
        Operation::Put,      Operation::ImmediatePut, Operation::NotificationPut, Operation::Get,
        Operation::FetchAdd, Operation::CompareSwap,  Operation::FetchCompareAdd, Operation::Swap};
    Command command;
    command.operation = kOperations[random.below(kOperations.size())];
    command.modifiers = static_cast<std::uint8_t>(random.bits() & 0x8F);
    if (random.chance(2)) command.modifiers |= 0x10;
    const auto& [name, owner] = windows_[random.below(windows_.size())];
    command.target_vpid = random.chance(95) ? owner : static_cast<Vpid>(random.below(6));
    command.target_node = random.chance(97) ? 0 : static_cast<nic::NodeId>(2 + random.below(10));
    command.window = random.chance(95) ? name.id : static_cast<std::uint16_t>(random.below(1100));
    command.capability = random.chance(97) ? name.capability : random.bits();
    command.tag = random.bits();
    command.more = random.chance(50) ? random.below(70) : random.bits();
    const std::uint64_t length = 8 * (random.chance(60) ? 1 + random.below(30) : 1 + random.below(kBytes / 8));
    command.length = static_cast<std::uint32_t>(random.chance(97) ? length : random.bits() & ~7U);
    command.offset = 8 * random.below(random.chance(50) ? 8 : kBytes / 8 + 8);
    if (random.chance(2)) command.offset = random.bits() & ~7ULL;
    command.address = random.bits();
    if (command.operation == Operation::Put || command.operation == Operation::Get) {
      command.address = nla(random.chance(97) ? vpid : static_cast<nic::Vpid>((vpid + 1) % 3),
                            command.operation == Operation::Put ? 0 : 1) +
                        8 * random.below(random.chance(50) ? 8 : kBytes / 8);
      if (random.chance(2)) command.address = random.bits() & ~7ULL;
    } else if (command.operation == Operation::FetchCompareAdd) {
      if (random.chance(30)) command.offset += 4;
      if (random.chance(50)) command.address = random.chance(50) ? 0x7FFF'FFFF : 0;
    } else if (command.operation == Operation::CompareSwap && random.chance(70) && command.offset + 8 <= kBytes) {
      command.address =
          word((memories_[owner * 3 + 2]->bytes().data() - static_cast<std::byte*>(nullptr)) + command.offset);
    }
    return command;
  }
  using Line =
      std::tuple<Vpid, int, int, int, int, int, int, std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, int>;
  static Line line(Vpid vpid, const Notification& notices) {
    const bool is_ok = notices.error == Error::None;  // what an operation gives back counts only then
    return {vpid,
            static_cast<int>(notices.teller),
            static_cast<int>(notices.operation),
            static_cast<int>(notices.error),
            is_ok ? notices.success : 0,
            notices.node,
            notices.vpid,
            notices.tag,
            is_ok ? notices.value : 0,
            notices.offset,
            notices.length,
            notices.window};
  }
  std::vector<Line> lines_of_class() {
    std::vector<Line> lines;
    for (Vpid vpid = 0; vpid < 3; ++vpid) {
      for (Notification notices; ports_[vpid]->notifications.take(notices);) lines.push_back(line(vpid, notices));
    }
    return lines;
  }
  /// Commands of one port, to their end in both.
  void step(Vpid vpid, const std::vector<Command>& commands) {
    ASSERT_EQ(ports_[vpid]->queue.insert(commands).reply, nic::Reply::NoError);
    for (std::uint64_t limit = now_ + 1'000'000'000; !host_.is_idle();) {
      ASSERT_LT(now_ += 1000, limit);
      network_.set_time(now_);
      host_.step(now_);
    }
    unit_.notices.clear();
    unit_.sent.clear();
    for (const Command& command : commands) unit_.commands.emplace_back(vpid, command);
    ASSERT_TRUE(unit_.settle(10'000'000));
    std::vector<Line> expected = lines_of_class();
    std::vector<Line> lines;
    std::array<std::array<std::uint64_t, 64>, 3> events{};
    for (const Notice& notices : unit_.notices) {
      if (notices.tells) lines.push_back(line(notices.vpid, notices.notification));
      if (notices.event != 0) ++events.at(notices.vpid)[notices.event];
    }
    std::sort(expected.begin(), expected.end());
    std::sort(lines.begin(), lines.end());
    ASSERT_EQ(lines, expected) << static_cast<int>(commands[0].operation) << " of " << commands.size();
    for (Vpid port = 0; port < 3; ++port) {
      for (std::size_t event = 1; event < 64; ++event) {
        while (events[port][event] != 0) {
          ASSERT_TRUE(ports_[port]->events.poll(event)) << event;
          --events[port][event];
        }
        ASSERT_FALSE(ports_[port]->events.poll(event)) << event;
      }
    }
    for (const auto& memory : memories_) {
      for (std::size_t i = 0; i < kPages; ++i) {
        const std::byte* const bytes = memory->bytes().data() + i * nic::kPageBytes;
        ASSERT_EQ(std::memcmp(bytes, pages_.at(nic::to_page_number(bytes)).data(), nic::kPageBytes), 0)
            << static_cast<int>(commands[0].operation);
      }
    }
    ASSERT_FALSE(unit_.waits());
  }

  nic::ModelNetwork network_;
  nic::Host host_;
  Unit unit_;
  std::array<nic::HostPort*, 3> ports_{};
  std::vector<std::unique_ptr<nic::Registered>> memories_;
  std::vector<std::pair<nic::WindowName, Vpid>> windows_;
  std::map<std::uint64_t, std::array<std::byte, nic::kPageBytes>> pages_;  // those of the unit
  std::uint64_t now_ = 0;
};

TEST_F(RmaLockStep, does_what_the_class_does) {
  const int rounds = by_form(300, 1'000'000);
  for (int round = 0; round < rounds; ++round) {
    unit_.stall_percent = static_cast<std::uint32_t>(unit_.random.below(4) * 25);
    unit_.answers_in_any_order = unit_.random.chance(50);
    const std::uint64_t latency = 1 + unit_.random.below(40);
    unit_.latency = [this, latency] { return 1 + unit_.random.below(latency); };
    const auto vpid = static_cast<Vpid>(unit_.random.below(3));
    // A put may be written before an earlier get has read: a get is the last one.
    std::vector<Command> commands;
    do commands.push_back(random_command(vpid));
    while (commands.size() < 6 && commands.back().operation != Operation::Get);
    ASSERT_NO_FATAL_FAILURE(step(vpid, commands)) << "round " << round;
  }
  EXPECT_EQ(unit_.events.damaged + unit_.events.malformed + unit_.events.stale, 0U);
  EXPECT_GT(unit_.events.served, static_cast<std::uint64_t>(rounds) / 2);
  EXPECT_GT(unit_.events.refused, static_cast<std::uint64_t>(rounds) / 2);
}

}  // namespace
}  // namespace stopbit::sim::rma
