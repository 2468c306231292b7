/// Random commands on two nodes in RTL and on two of the class: the same memory, notifications and events.
#include <algorithm>
#include <tuple>
#include <utility>

#include "host/nic/msg/slots.hpp"
#include "host/nic/transport/model/network.hpp"
#include "mailboxes.hpp"
#include "node_fixture.hpp"
#include "tests/lib/form.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::sim::node {
namespace {

class NodeLockStep : public NodeTest {
 protected:
  static constexpr std::size_t kPages = 2;
  static constexpr std::uint64_t kBytes = kPages * nic::kPageBytes;
  static constexpr Vpid kOpen = 3;  // ports 0 and 1 are of one domain, 2 is of another one, the others are closed

  /// What one port may reach on one node: windows of its own, so that ports do not depend on each other's time.
  struct Target {
    std::vector<std::pair<nic::WindowName, Vpid>> windows;
    nic::Registered* memory = nullptr;
  };

  NodeLockStep() : network_({}) {
    for (std::size_t i = 0; i < kNodes; ++i)
      hosts_[i] = std::make_unique<nic::Host>(network_.port(static_cast<nic::NodeId>(i)));
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        ports_[i][vpid] = &hosts_[i]->open(vpid, domain(vpid));
        sources_[i][vpid] = add(i, vpid, Access::Read);
        sinks_[i][vpid] = add(i, vpid, Access::Write);
        node(i).open(vpid, domain(vpid));
        boxes_[i][vpid] = std::make_unique<Mailboxes>(node(i), vpid);
      }
    }
    for (std::size_t from = 0; from < kNodes; ++from) {
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        for (std::size_t to = 0; to < kNodes; ++to) add_target(from, vpid, to);
      }
    }
    settle();
  }

  static nic::Pdid domain(Vpid vpid) { return vpid == 2 ? 9 : 7; }
  nic::Registered* add(std::size_t on, Vpid vpid, Access access) {
    auto memory = hosts_[on]->add_memory(vpid, kPages, access);
    for (std::byte& byte : memory->bytes()) byte = static_cast<std::byte>(random_.bits());
    for (std::size_t i = 0; i < kPages; ++i) {
      node(on).map(memory->nla / nic::kPageBytes + i, vpid,
                   nic::to_page_number(memory->bytes().data() + i * nic::kPageBytes), access);
    }
    memories_[on].push_back(std::move(memory));
    copy(on, *memories_[on].back());
    return memories_[on].back().get();
  }
  /// What the class has there.
  void copy(std::size_t on, nic::Registered& memory) {
    for (std::size_t at = 0; at < kBytes; at += 8) node(on).memory[address(memory, at)] = memory.word(at);
  }
  static std::uint64_t address(nic::Registered& memory, std::size_t at) {
    return reinterpret_cast<std::uint64_t>(memory.bytes().data()) + at;
  }
  void add_target(std::size_t from, Vpid vpid, std::size_t to) {
    const auto owner = static_cast<Vpid>(random_.below(kOpen));
    Target& target = targets_[from][vpid][to];
    target.memory = add(to, owner, Access::ReadWrite);
    const auto open = [&](std::uint64_t offset, std::uint64_t bytes, Access access, std::optional<nic::Pdid> open_to) {
      const nic::Nla first = target.memory->nla + offset;
      const auto name = hosts_[to]->rma.open_window(owner, first, bytes, access, open_to);
      target.windows.emplace_back(name.value(), owner);
      node(to).windows.emplace_back(
          name->id, rma::WindowEntry{true, false, owner, access, 0, 0, first, bytes, name->capability, open_to});
    };
    open(0, kBytes, Access::ReadWrite, domain(vpid));
    open(72, 4096, Access::Write, std::nullopt);
    open(0, 4096, Access::Read, domain(vpid));
  }

  Command random_command(std::size_t from, Vpid vpid) {
    constexpr std::array<Operation, 8> kOperations = {
        Operation::Put,      Operation::ImmediatePut, Operation::NotificationPut, Operation::Get,
        Operation::FetchAdd, Operation::CompareSwap,  Operation::FetchCompareAdd, Operation::Swap};
    Command command;
    command.operation = kOperations[random_.below(kOperations.size())];
    command.modifiers = static_cast<std::uint8_t>(random_.bits() & 0x8F);
    if (random_.chance(2)) command.modifiers |= 0x10;
    const std::size_t to = random_.below(kNodes);
    const Target& target = targets_[from][vpid][to];
    const auto& [name, owner] = target.windows[random_.chance(70) ? 0 : random_.below(target.windows.size())];
    command.target_vpid = random_.chance(95) ? owner : static_cast<Vpid>(random_.below(kPorts));
    command.target_node = static_cast<nic::NodeId>(random_.chance(97) ? to : 2 + random_.below(10));
    command.window = random_.chance(95) ? name.id : static_cast<std::uint16_t>(random_.below(80));
    command.capability = random_.chance(97) ? name.capability : random_.bits();
    command.tag = random_.bits();
    command.more = random_.chance(50) ? random_.below(70) : random_.bits();
    const std::uint64_t length = 8 * (random_.chance(70) ? 1 + random_.below(30) : 1 + random_.below(kBytes / 8));
    command.length = static_cast<std::uint32_t>(random_.chance(97) ? length : random_.bits() & ~7U);
    command.offset = 8 * random_.below(random_.chance(50) ? 8 : kBytes / 8 + 8);
    if (random_.chance(2)) command.offset = random_.bits() & ~7ULL;
    command.address = random_.bits();
    if (command.operation == Operation::Put || command.operation == Operation::Get) {
      const Vpid whose = random_.chance(97) ? vpid : static_cast<Vpid>((vpid + 1) % kOpen);
      const auto& memory = command.operation == Operation::Put ? sources_[from][whose] : sinks_[from][whose];
      // What is another port's must not be written: it may do the same at this time.
      command.address = memory->nla + 8 * random_.below(random_.chance(50) ? 8 : kBytes / 8);
      if (random_.chance(2)) command.address = random_.bits() & ~7ULL;
    } else if (command.operation == Operation::FetchCompareAdd) {
      if (random_.chance(30)) command.offset += 4;
      if (random_.chance(50)) command.address = random_.chance(50) ? 0x7FFF'FFFF : 0;
    } else if (command.operation == Operation::CompareSwap && random_.chance(70) && command.offset + 8 <= kBytes) {
      command.address = target.memory->word(command.offset);
    }
    return command;
  }

  using Line =
      std::tuple<int, int, int, int, int, int, std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t, int>;
  static Line line(const Notification& one) {
    const bool is_ok = one.error == Error::None;  // what an operation gives back counts only then
    return {static_cast<int>(one.teller),
            static_cast<int>(one.operation),
            static_cast<int>(one.error),
            is_ok ? one.success : 0,
            one.node,
            one.vpid,
            one.tag,
            is_ok ? one.value : 0,
            one.offset,
            one.length,
            one.window};
  }

  // ---- messages
  struct Mail {
    std::vector<Command> commands;  ///< One, or the parts of a long one.
    bool is_high = false;
    bool is_long = false;
  };
  using Slots = std::array<std::array<std::array<std::size_t, 2>, kPorts>, kNodes>;
  /// Some messages of a port. Each mailbox has room for all: which one finds none depends on time.
  std::vector<Mail> random_mail(std::size_t from, Vpid vpid, Slots& taken) {
    std::vector<Mail> mail;
    // A port's messages keep their order only within one form.
    const std::array is_long{random_.chance(30), random_.chance(30)};
    for (std::uint64_t i = random_.below(5); i > 0; --i) {
      Mail& one = mail.emplace_back();
      one.is_high = random_.chance(30);
      one.is_long = is_long[one.is_high];
      const std::size_t most = !one.is_long ? nic::kMaxFastBytes : random_.chance(20) ? nic::kMaxMessageBytes : 300;
      std::string bytes(1 + random_.below(most), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random_.bits());
      const std::size_t to = random_.below(kNodes);
      const auto target = static_cast<Vpid>(random_.below(random_.chance(90) ? kOpen : kPorts));
      std::size_t& slots = taken[to][target][one.is_high];
      const std::size_t needs = nic::slots_of(bytes.size(), 64);
      // A port that reads does not say so at once: up to a quarter of the ring is not given back.
      if (slots + needs > nic::PageLayout::kMailboxSlots * 3 / 4) {
        mail.pop_back();
        continue;
      }
      slots += needs;
      const auto node_id = static_cast<nic::NodeId>(random_.chance(97) ? to : 2 + random_.below(10));
      const std::uint8_t modifiers = priority_of(one.is_high);
      const auto tag = static_cast<std::uint8_t>(random_.bits());
      const auto type = static_cast<std::uint8_t>(random_.below(4));
      if (one.is_long) {
        one.commands = parts_of(bytes, node_id, target, numbers_[from][vpid]++, tag, type, modifiers);
        for (std::size_t k = one.commands.size(); k > 1; --k) {
          std::swap(one.commands[k - 1], one.commands[random_.below(k)]);
        }
      } else {
        one.commands = {message_of(bytes, node_id, target, tag | std::uint64_t{type} << 8U, modifiers)};
      }
    }
    return mail;
  }
  /// Until the class has taken all: its rings are short.
  void insert(std::size_t from, Vpid vpid, const Mail& mail) {
    nic::CommandQueue queue(ports_[from][vpid]->page, mail.is_high ? nic::CommandRing::High : nic::CommandRing::Low);
    for (const Command& command : mail.commands) {
      for (std::uint64_t limit = now_ + 1'000'000'000; queue.insert({&command, 1}).reply == nic::Reply::Full;) {
        ASSERT_LT(now_, limit);
        step_hosts();
      }
    }
  }
  void step_hosts() {
    network_.set_time(now_ += 1000);
    for (auto& host : hosts_) host->step(now_);
  }
  void compare_mail() {
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        for (const bool is_high : {false, true}) {
          auto come = boxes_[i][vpid]->take(is_high);
          auto expected = poll_all(is_high ? ports_[i][vpid]->high : ports_[i][vpid]->low);
          // Those of one sender are in order.
          const auto by_sender = [](const Received& a, const Received& b) {
            return std::tie(a.node, a.vpid) < std::tie(b.node, b.vpid);
          };
          std::stable_sort(come.begin(), come.end(), by_sender);
          std::stable_sort(expected.begin(), expected.end(), by_sender);
          ASSERT_EQ(come.size(), expected.size()) << "port " << vpid << " of node " << i << ", high: " << is_high;
          ASSERT_TRUE(come == expected) << "port " << vpid << " of node " << i << ", high: " << is_high;
          messages_ += come.size();
        }
      }
      std::uint64_t refused = 0;
      for (const velo::Report& report : node(i).reports) refused += report.error != Error::None ? 1 : 0;
      const std::uint64_t before = std::exchange(refused_before_[i], hosts_[i]->messages.counters().refused);
      ASSERT_EQ(refused, refused_before_[i] - before) << "at node " << i;
      refused_ += refused;
      node(i).reports.clear();
    }
  }

  /// Commands of some ports at the same time, to their end in both.
  void round() {
    std::array<std::array<std::vector<Command>, kOpen>, kNodes> commands;
    for (std::size_t from = 0; from < kNodes; ++from) {
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        if (random_.chance(40)) continue;
        auto& mine = commands[from][vpid];
        // A put may be written before an earlier get has read: a get is the last one.
        do mine.push_back(random_command(from, vpid));
        while (mine.size() < 4 && mine.back().operation != Operation::Get);
        ASSERT_EQ(ports_[from][vpid]->queue.insert(mine).reply, nic::Reply::NoError);
      }
    }
    std::array<std::array<std::vector<Mail>, kOpen>, kNodes> mail;
    Slots taken{};
    for (std::size_t from = 0; from < kNodes; ++from) {
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        if (random_.chance(40)) mail[from][vpid] = random_mail(from, vpid, taken);
        for (const Mail& one : mail[from][vpid]) ASSERT_NO_FATAL_FAILURE(insert(from, vpid, one));
      }
    }
    const auto is_idle = [&] { return hosts_[0]->is_idle() && hosts_[1]->is_idle(); };
    for (std::uint64_t limit = now_ + 1'000'000'000; !is_idle();) {
      ASSERT_LT(now_, limit);
      step_hosts();
    }
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t from = 0; from < kNodes; ++from) {
        for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
          auto& mine = commands[from][vpid];
          if (k == 0) form_[from][vpid] = random_.below(4);
          if (k < mail[from][vpid].size()) issue(from, vpid, mail[from][vpid][k]);
          if (k >= mine.size()) continue;
          // A port's commands keep their order only within one of the three forms.
          if (form_[from][vpid] < 2) node(from).write(vpid, mine[k]);
          if (form_[from][vpid] == 2) node(from).ask(vpid, mine[k]);
          if (form_[from][vpid] == 3 && k == 0) node(from).trigger(vpid, mine);
        }
      }
    }
    settle(4'000'000);
    // A link is silent after a loss until its time is over, which nothing that settle() looks at shows.
    if (has_errors_) cycles(20 * kLinkTimeout);
    compare();
  }
  void issue(std::size_t from, Vpid vpid, const Mail& mail) {
    for (const Command& command : mail.commands) {
      if (mail.is_long) {
        write_part(node(from), vpid, command);
      } else if (form_[from][vpid] == 2) {
        node(from).ask(vpid, command);
      } else {
        node(from).write(vpid, command);
      }
    }
  }
  void compare() {
    compare_mail();
    for (std::size_t i = 0; i < kNodes; ++i) {
      std::array<std::array<std::uint64_t, 64>, kPorts> events{};
      for (const PortEvent& event : node(i).events) ++events.at(event.vpid).at(event.number);
      node(i).events.clear();
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        std::vector<Line> lines;
        std::vector<Line> expected;
        while (const auto one = node(i).take(vpid)) lines.push_back(line(*one));
        std::size_t refused = 0;
        for (Notification one; ports_[i][vpid]->notifications.take(one);) {
          // The node's supervisor would tell the port.
          if (one.operation == Operation::FastSend || one.operation == Operation::SendPart) {
            ++refused;
          } else {
            expected.push_back(line(one));
          }
        }
        ASSERT_EQ(refused, std::count_if(node(i).refusals.begin(), node(i).refusals.end(),
                                         [&](const auto& one) { return one.origin == vpid; }));
        std::sort(lines.begin(), lines.end());
        std::sort(expected.begin(), expected.end());
        ASSERT_EQ(lines, expected) << "port " << vpid << " of node " << i;
        notices_ += lines.size();
        for (std::size_t event = 1; event < 64; ++event) {
          for (; events[vpid][event] != 0; --events[vpid][event]) ASSERT_TRUE(ports_[i][vpid]->events.poll(event));
          ASSERT_FALSE(ports_[i][vpid]->events.poll(event)) << event;
        }
      }
      node(i).refusals.clear();
      for (const auto& memory : memories_[i]) {
        for (std::size_t at = 0; at < kBytes; at += 8) {
          ASSERT_EQ(node(i).memory[address(*memory, at)], memory->word(at)) << "node " << i << " at " << at;
        }
      }
    }
    settle(4'000'000);  // the ports have reported what they read
  }
  void choose_stalls() {
    has_errors_ = false;
    for (std::size_t i = 0; i < kNodes; ++i) {
      node(i).stall_percent = static_cast<std::uint32_t>(random_.below(4) * 25);
      node(i).answers_in_any_order = random_.chance(50);
      const std::uint64_t latency = 1 + random_.below(60);
      node(i).latency = [this, latency] { return 1 + random_.below(latency); };
      const bool has_errors = random_.chance(20);
      wire(i).set_errors(has_errors ? 200 : 0);
      has_errors_ = has_errors_ || has_errors;
    }
  }

  static constexpr std::uint64_t kLinkTimeout = 300;  ///< As the model has it (CMakeLists.txt).

  nic::ModelNetwork network_;
  bool has_errors_ = false;
  std::array<std::unique_ptr<nic::Host>, kNodes> hosts_;
  std::array<std::array<nic::HostPort*, kOpen>, kNodes> ports_{};
  std::array<std::vector<std::unique_ptr<nic::Registered>>, kNodes> memories_;
  std::array<std::array<nic::Registered*, kOpen>, kNodes> sources_{};
  std::array<std::array<nic::Registered*, kOpen>, kNodes> sinks_{};
  std::array<std::array<std::array<Target, kNodes>, kOpen>, kNodes> targets_;
  std::uint64_t now_ = 0;
  std::uint64_t notices_ = 0;
  std::array<std::array<std::unique_ptr<Mailboxes>, kOpen>, kNodes> boxes_;
  std::array<std::array<std::uint8_t, kOpen>, kNodes> numbers_{};  ///< Of messages in parts.
  std::array<std::uint64_t, kNodes> refused_before_{};
  std::uint64_t messages_ = 0;
  std::uint64_t refused_ = 0;
  std::array<std::array<std::uint64_t, kOpen>, kNodes> form_{};
};

TEST_F(NodeLockStep, two_nodes_do_what_two_of_the_class_do) {
  const int rounds = by_form(60, 20'000);
  for (int i = 0; i < rounds; ++i) {
    choose_stalls();
    ASSERT_NO_FATAL_FAILURE(round()) << "round " << i;
    if (HasFailure()) return;
  }
  EXPECT_GT(notices_, static_cast<std::uint64_t>(rounds));
  EXPECT_GT(count(Count::Served), static_cast<std::uint64_t>(rounds));
  EXPECT_GT(count(Count::Refused), 0U);
  EXPECT_GT(messages_, static_cast<std::uint64_t>(rounds));
  EXPECT_GT(refused_, static_cast<std::uint64_t>(rounds) / 4);
  EXPECT_EQ(count(Count::ForeignMessage) + count(Count::MalformedPacket) + count(Count::Crowded) +
                count(Count::Unfinished) + count(Count::Misshapen) + count(Count::BadStore) + count(Count::StrayPart),
            0U);
  EXPECT_EQ(count(Count::Damaged) + count(Count::Strange) + count(Count::Malformed) + count(Count::MalformedMessage) +
                count(Count::Unasked) + count(Count::StrayPacket) + count(Count::DroppedNotice) +
                count(Count::NetworkLoss) + count(Count::Expired) + count(Count::BadCommand),
            0U);
}

/// One of them is reset while all go on; then its supervisor sets it up again, and the other one gives up what it waits
/// for.
TEST_F(NodeLockStep, a_reset_in_the_middle_leaves_nothing) {
  const int resets = by_form(6, 500);
  for (int i = 0; i < resets; ++i) {
    choose_stalls();
    const std::size_t lost = random_.below(kNodes);
    for (std::size_t from = 0; from < kNodes; ++from) {
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        Slots taken{};
        for (const Mail& mail : random_mail(from, vpid, taken)) issue(from, vpid, mail);
        for (int k = 0; k < 6; ++k) node(from).write(vpid, random_command(from, vpid));
      }
    }
    for (std::uint64_t k = random_.below(1500); k > 0; --k) cycle();
    node(lost).reset();
    for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
      node(lost).open(vpid, domain(vpid));
      boxes_[lost][vpid]->forget();
    }
    bring_up(lost);
    // The other one reports the node as lost, and forgets puts that it has begun.
    node(1 - lost).ends.emplace_back(false, static_cast<std::uint16_t>(lost));
    settle(4'000'000);
    node(1 - lost).ends.emplace_back(false, static_cast<std::uint16_t>(lost));
    settle(4'000'000);
    // Messages that were cut would hold places of others until their time is over.
    for (auto& node : nodes_) node->model().message_patience_i = 20;
    cycles(2'500);
    for (auto& node : nodes_) node->model().message_patience_i = 1000;
    for (std::size_t on = 0; on < kNodes; ++on) {
      for (const auto& memory : memories_[on]) copy(on, *memory);
      for (Vpid vpid = 0; vpid < kOpen; ++vpid) {
        while (node(on).take(vpid)) {
        }
        for (const bool is_high : {false, true}) (void)boxes_[on][vpid]->take(is_high);
        settle();
      }
      node(on).events.clear();
      node(on).reports.clear();
      node(on).refusals.clear();
    }
    for (int k = 0; k < 4; ++k) {
      ASSERT_NO_FATAL_FAILURE(round()) << "after reset " << i;
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace stopbit::sim::node
