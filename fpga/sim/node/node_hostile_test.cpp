/// Hosts, ports and neighbours that break the rules: no node stops, and no port gets what is not its own.
#include <algorithm>

#include "node_fixture.hpp"
#include "node_messages.hpp"
#include "tests/lib/form.hpp"

namespace stopbit::sim::node {
namespace {

class NodeHostile : public TwoNodes {
 protected:
  /// Both nodes still do what they should.
  void expect_at_work() {
    for (std::size_t from = 0; from < kNodes; ++from) {
      for (const Vpid vpid : {Vpid{1}, Vpid{2}}) {
        while (node(from).take(vpid)) {
        }
      }
    }
    settle(4'000'000);
    for (std::size_t from = 0; from < kNodes; ++from) {
      const std::size_t to = 1 - from;
      const std::uint64_t words = 1 + random_.below(60);
      const std::uint64_t first = random_.below(300);
      node(from).write(1, put(words, nic::kNotifyCompleter, first, static_cast<nic::NodeId>(to)));
      settle(4'000'000);
      for (std::uint64_t i = 0; i < words; ++i) {
        ASSERT_EQ(at(node(to), kSink, first + i), at(node(from), kSource, i)) << i;
      }
      ASSERT_EQ(only(to, 2).length, 8 * words);
    }
  }
  /// Whether an address is in one of the pages that may be written, or in a ring.
  static bool may_write(std::uint64_t address) {
    if (address >= kRings && address < kRings + kPorts * nic::kPageBytes) return true;
    if (address >= kMailboxes && address < kMailboxes + 2 * kPorts * kMailboxBytes) return true;
    for (std::uint64_t i = 0; i < kPages; ++i) {
      if (address / nic::kPageBytes == number_of(kSink, i) || address / nic::kPageBytes == number_of(kInto, i))
        return true;
    }
    return false;
  }
};

TEST_F(NodeHostile, commands_of_random_bits_write_nothing_that_is_not_the_ports) {
  for (auto& node : nodes_) {
    node->on_write = [](const Node::Write& write) {
      EXPECT_TRUE(may_write(write.address)) << std::hex << write.address;
    };
  }
  const int all = by_form(1'500, 1'000'000);
  for (int i = 0; i < all; ++i) {
    Node& from = node(random_.below(kNodes));
    std::array<std::uint64_t, 8> words{};
    for (std::uint64_t& word : words) word = random_.bits();
    Command command;
    std::memcpy(static_cast<void*>(&command), words.data(), sizeof(words));
    if (random_.chance(80)) {
      // Like a command, but for some of its fields.
      Command near = random_.chance(50) ? put(1 + random_.below(200), static_cast<std::uint8_t>(random_.bits()))
                                        : word_for(static_cast<Operation>(1 + random_.below(20)), 3, random_.bits());
      near.target_node = static_cast<nic::NodeId>(random_.below(3));
      if (random_.chance(20)) near.length = command.length;
      if (random_.chance(20)) near.address = command.address;
      if (random_.chance(20)) near.offset = command.offset;
      if (random_.chance(20)) near.window = command.window;
      if (random_.chance(20)) near.target_vpid = command.target_vpid;
      command = near;
    }
    const auto vpid = static_cast<Vpid>(random_.below(10));
    if (random_.chance(60)) {
      from.write(vpid, command);
    } else if (random_.chance(50)) {
      from.ask(vpid, command);
    } else {
      // Of any size, anywhere in the window of the queue.
      const std::size_t channel = random_.below(2);
      htax::Packet packet = htax::make(random_, {.error = random_.chance(5),
                                                 .channel = channel,
                                                 .length = random_.below(16),
                                                 .origin = 2,
                                                 .tag = random_.below(32),
                                                 .address = queue::kWindow | (random_.bits() & 0xFFFF)});
      (channel == htax::kPosted ? from.posted : from.requests).push_back(packet);
    }
    if (i % 100 == 99) {
      set_stalls(static_cast<std::uint32_t>(random_.below(3) * 30));
      settle(10'000'000);
      for (auto& node : nodes_) {
        for (const Vpid port : {Vpid{1}, Vpid{2}}) {
          while (node->take(port)) {
          }
        }
      }
      settle(4'000'000);
      if (HasFailure()) return;
    }
  }
  for (auto& node : nodes_) node->ends.emplace_back(true, 1);
  settle(4'000'000);
  EXPECT_GT(count(Count::Error), 50U);
  EXPECT_GT(count(Count::BadCommand), 50U);
  // What refers to a port or node that random commands changed nothing of.
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

/// A page is not touched any more when its flush is done, however long writes and reads were on their way.
TEST_F(NodeHostile, a_page_is_free_when_its_flush_is_done) {
  std::array<std::set<std::uint64_t>, kNodes> freed;
  for (std::size_t i = 0; i < kNodes; ++i) {
    node(i).on_write = [&freed, i](const Node::Write& write) {
      EXPECT_EQ(freed[i].count(write.address / nic::kPageBytes), 0U) << "a write to a page that was given back";
    };
    node(i).on_read = [&freed, i](std::uint64_t address) {
      EXPECT_EQ(freed[i].count(address / nic::kPageBytes), 0U) << "a read of a page that was given back";
    };
  }
  std::uint64_t writes = 0;
  for (int round = 0; round < by_form(60, 20'000); ++round) {
    const std::size_t from = random_.below(kNodes);
    const std::size_t on = random_.chance(70) ? 1 - from : from;
    set_stalls(static_cast<std::uint32_t>(random_.below(4) * 25));
    const std::uint64_t latency = 1 + random_.below(200);
    node(on).latency = [this, latency] { return 1 + random_.below(latency); };
    const bool is_target = random_.chance(60);
    for (int i = 0; i < 6; ++i) {
      if (random_.chance(60)) {
        node(from).write(1, put(1 + random_.below(512), nic::kNotifyRefusal, random_.below(512),
                                static_cast<nic::NodeId>(is_target ? on : 1 - on)));
      } else {
        Command get = command(Operation::Get, static_cast<nic::NodeId>(on));
        get.address = kInto;
        get.length = static_cast<std::uint32_t>(8 * (1 + random_.below(512)));
        node(from).write(1, get);
      }
    }
    // Puts and gets take a thousand cycles or more.
    for (std::uint64_t k = random_.below(2'000); k > 0; --k) cycle();
    const std::uint64_t nla = is_target ? kSink : random_.chance(50) ? kSource : kInto;
    const std::size_t where = is_target ? on : from;
    const bool shuts = random_.chance(50);
    node(where).writes_are_shut = shuts;
    node(where).unmap(nla / nic::kPageBytes);
    const std::uint64_t before = node(where).flushed;
    node(where).flushes.push_back(nla / nic::kPageBytes);
    if (shuts) {
      for (int k = 0; k < 300; ++k) cycle();
      node(where).writes_are_shut = false;
    }
    run([&] {
      if (node(where).flushed != before) freed[where].insert(number_of(nla, 0));
      return node(where).flushed != before;
    });
    if (HasFailure()) return;
    settle(4'000'000);
    freed[where].clear();
    node(where).map(nla / nic::kPageBytes, nla == kSink ? 2 : 1, number_of(nla, 0),
                    nla == kSink     ? Access::ReadWrite
                    : nla == kSource ? Access::Read
                                     : Access::Write);
    for (auto& node : nodes_) {
      for (const Vpid port : {Vpid{1}, Vpid{2}}) {
        while (node->take(port)) ++writes;
      }
    }
    settle(4'000'000);
    if (HasFailure()) return;
  }
  EXPECT_GT(writes, 0U);
  EXPECT_GT(count(Count::Fault), 0U);
  // Many at a time.
  const std::uint64_t before = node(1).flushed;
  for (std::uint64_t i = 0; i < 100; ++i) node(1).flushes.push_back(kSink / nic::kPageBytes + i % kPages);
  node(1).writes_are_shut = true;
  node(0).write(1, put(64));
  for (int i = 0; i < 4'000; ++i) cycle();
  EXPECT_LT(node(1).flushed, before + 100) << "writes are on their way";
  node(1).writes_are_shut = false;
  settle(4'000'000);
  EXPECT_EQ(node(1).flushed, before + 100);
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

/// With a patience of the switch, a node whose host takes nothing costs others their packets to it, and nothing else.
TEST_F(NodeHostile, a_host_that_takes_nothing_disturbs_no_other_port) {
  for (auto& node : nodes_) node->model().patience_i = 2'000;
  node(1).writes_are_shut = node(1).reads_are_shut = true;
  for (int i = 0; i < 40; ++i) node(0).write(1, put(200));
  for (int i = 0; i < 30; ++i)
    node(0).write(2, word_for(Operation::NotificationPut, 0, static_cast<std::uint64_t>(i), 0, 0));
  run([&] { return node(0).posted.empty() && node(0).count(Count::Ended) >= 70; }, 2'000'000);
  if (HasFailure()) return;
  cycles(500);
  int came = 0;
  while (node(0).take(2)) ++came;
  EXPECT_EQ(came, 30);
  EXPECT_GT(count(Count::NetworkLoss), 0U);
  // What the other one still has is carried out when its host goes on.
  node(1).writes_are_shut = node(1).reads_are_shut = false;
  settle(4'000'000);
  node(1).ends.emplace_back(false, 0);
  node(0).ends.emplace_back(false, 1);
  settle(4'000'000);
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

/// Memory that answers late, never, or with errors: commands fail, and others go on.
TEST_F(NodeHostile, memory_that_does_not_answer_fails_commands_alone) {
  node(0).write(1, put(8, nic::kNotifyRequester));
  settle();
  EXPECT_EQ(only(0, 1).error, Error::None);
  node(0).is_mute = true;
  node(0).write(1, put(8, nic::kNotifyRequester));
  node(0).write(1, word_for(Operation::NotificationPut, 0, 5));
  run([&] { return node(0).count(Count::Expired) == 1; });
  cycles(500);
  EXPECT_EQ(only(1, 2).value, 5U);
  EXPECT_EQ(only(0, 1).error, Error::OriginWindow);
  node(0).is_mute = false;
  settle();
  EXPECT_EQ(node(0).count(Count::Late), 8U);
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
  for (auto& node : nodes_) node->error_percent = 30;
  for (int i = 0; i < by_form(60, 20'000); ++i) {
    node(i % 2).write(1, put(1 + random_.below(60), nic::kNotifyRequester | nic::kNotifyRefusal, random_.below(400),
                             static_cast<nic::NodeId>(random_.below(2))));
    Command get = command(Operation::Get, static_cast<nic::NodeId>(random_.below(2)));
    get.address = kInto;
    get.length = static_cast<std::uint32_t>(8 * (1 + random_.below(60)));
    node(i % 2).write(1, get);
    if (i % 10 != 9) continue;
    settle(4'000'000);
    for (auto& node : nodes_) {
      for (const Vpid port : {Vpid{1}, Vpid{2}}) {
        while (node->take(port)) {
        }
      }
    }
    settle(4'000'000);
    if (HasFailure()) return;
  }
  EXPECT_GT(count(Count::Error), 5U);
  EXPECT_EQ(count(Count::UnaskedEntry), 0U);
  for (auto& node : nodes_) node->error_percent = 0;
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

/// An interval that leads to a unit by a channel that the unit does not take, or to a port that HTAX does not have:
/// each packet is left out, is counted once, and disturbs nothing.
TEST_F(NodeHostile, packets_of_intervals_that_lead_astray_are_counted_one_by_one) {
  constexpr std::uint64_t kHtaxPorts = 16;  // that the four bits of an interval can name
  std::uint64_t strays = 0;
  const auto goes_astray = [](std::uint64_t port, std::size_t channel) {
    return port > kMessagesPort || port < kCommandsPort || (port == kMessagesPort && channel == htax::kNonposted);
  };
  for (std::uint64_t port = kFirstUnitPort; port < kHtaxPorts; ++port) {
    for (const std::size_t channel : {htax::kPosted, htax::kNonposted}) {
      if (!goes_astray(port, channel)) continue;
      node(0).set_intervals(port, 1U << channel);
      for (const std::uint64_t words : {std::uint64_t{0}, std::uint64_t{1}, 2 + random_.below(14)}) {
        auto& packets = channel == htax::kPosted ? node(0).posted : node(0).requests;
        packets.push_back(
            htax::make(random_, {.channel = channel, .length = words, .origin = 2, .address = kElsewhere + 64}));
        settle();
        ASSERT_EQ(node(0).count(Count::StrayPacket), ++strays) << "port " << port << ", channel " << channel;
      }
    }
  }
  node(0).set_intervals(0, 0);
  EXPECT_EQ(count(Count::StrayPacket), strays);
  EXPECT_EQ(count(Count::RefusedPacket) + count(Count::Unasked) + count(Count::BadCommand) + count(Count::BadStore),
            0U);
  EXPECT_TRUE(node(0).responses.empty());
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

/// A neighbour that sends on classes of traffic that no unit has.
class NodeForeignClass : public NodeHostile {
 protected:
  /// What node 0 sends goes by this class, with the sums of a whole packet.
  void move_to(std::uint64_t traffic_class) {
    on_cell = [this, traffic_class](std::size_t from, Cell cell) {
      if (from != 0 || cell.kind == Cell::Control) return cell;
      if (cell.kind == Cell::Start) {
        sim::Start start = sim::Start::of(cell.data);
        start.traffic_class = traffic_class;
        cell.data = start.data();
        packet_.clear();
      } else if (cell.kind == Cell::End) {
        cell.data = (cell.data & ~std::uint64_t{0xFFFF'FFFF}) | closing_crc(packet_, cell);
      }
      packet_.push_back(cell);
      return cell;
    };
  }

 private:
  std::vector<Cell> packet_;
};

/// Three packets: room comes back to the class that the neighbour saw, so the channel that they left by has no more.
TEST_F(NodeForeignClass, packets_are_taken_counted_and_left_out) {
  std::uint64_t foreign = 0;
  for (std::uint64_t word = 0; word < 64; ++word) at(node(1), kSink, word) = 7;
  for (const std::uint64_t traffic_class : {2U, 3U, 2U}) {
    move_to(traffic_class);
    node(0).write(1, foreign == 1 ? put(8) : word_for(Operation::ImmediatePut, foreign, 9));
    settle();
    ASSERT_EQ(node(1).count(Count::Foreign), ++foreign) << "class " << traffic_class;
  }
  on_cell = nullptr;
  for (std::uint64_t word = 0; word < 64; ++word) EXPECT_EQ(at(node(1), kSink, word), 7U) << word;
  // Requests and answers are none of them; both go on.
  at(node(0), kSink, 3) = 7;
  node(1).write(1, word_for(Operation::FetchAdd, 3, 1, nic::kNotifyCompleter, 0));
  settle();
  EXPECT_EQ(only(1, 1).error, Error::None);
  EXPECT_EQ(at(node(0), kSink, 3), 8U);
  EXPECT_EQ(count(Count::Foreign), foreign);
  EXPECT_EQ(count(Count::NetworkLoss) + count(Count::Malformed) + count(Count::Damaged), 0U);
}

TEST_F(NodeForeignClass, messages_are_taken_counted_and_left_out) {
  std::uint64_t foreign = 0;
  for (const std::uint64_t traffic_class : {2U, 3U, 2U}) {
    move_to(traffic_class);
    node(0).write(1, message_of("of a class that no message has", 1, 2));
    settle();
    ASSERT_EQ(node(1).count(Count::MalformedPacket), ++foreign) << "class " << traffic_class;
  }
  on_cell = nullptr;
  EXPECT_TRUE(node(1).reports.empty());
  node(1).write(1, message_of("goes on", 0, 2));
  settle();
  ASSERT_EQ(node(0).reports.size(), 1U);
  EXPECT_EQ(node(0).reports[0].error, Error::None);
  EXPECT_EQ(count(Count::MalformedPacket), foreign);
  EXPECT_EQ(count(Count::NetworkLoss) + count(Count::Damaged), 0U);
}

/// A reset in each cycle from a request to its answer: the next answer is whole.
TEST_F(NodeHostile, a_reset_in_the_middle_of_an_answer_leaves_nothing_of_it) {
  const Command command = word_for(Operation::ImmediatePut, 30, 0x1234);
  const auto cycles_to_answer = [&] {
    node(0).ask(1, command);
    const std::uint64_t start = node(0).now();
    run([&] { return !node(0).responses.empty(); }, 2'000);
    return node(0).now() - start;
  };
  const std::uint64_t whole = cycles_to_answer();
  settle();
  constexpr std::uint64_t kEach = 6;
  for (std::uint64_t before = 0; before < whole; ++before) {
    node(0).ask(1, command);
    cycles(whole - before);
    node(0).reset();
    node(0).open(1, 7);
    bring_up(0);
    // Answers of the refuser go between them if one is not whole.
    for (std::uint64_t i = 0; i < kEach; ++i) {
      node(0).ask(1, command);
      node(0).requests.push_back(
          htax::make(random_, {.channel = htax::kNonposted, .origin = 2, .address = kElsewhere}));
    }
    settle();
    ASSERT_EQ(node(0).responses.size(), 2 * kEach) << before;
    std::uint64_t words = 0;
    for (const htax::Packet& response : node(0).responses) {
      EXPECT_EQ(htax::from_phit(response[0]).channel, htax::kResponse) << before;
      words += response.size() - 1;
    }
    EXPECT_EQ(words, kEach) << before;
    settle();
    node(0).responses.clear();
  }
}

/// As many flushes as may wait, when a reset comes: none is reported after it, and all of their room is free.
TEST_F(NodeHostile, a_reset_forgets_flushes_that_wait) {
  node(1).writes_are_shut = true;
  node(0).write(1, put(64));
  cycles(2'000);
  for (std::uint64_t i = 0; i < 100; ++i) node(1).flushes.push_back(kSink / nic::kPageBytes + i % kPages);
  cycles(4'000);
  EXPECT_LT(node(1).flushes.size(), 100U);
  EXPECT_FALSE(node(1).flushes.empty()) << "there was room for all";
  EXPECT_EQ(node(1).flushed, 0U);
  node(1).reset();
  node(1).writes_are_shut = false;
  node(1).open(1, 7);
  node(1).open(2, 7);
  bring_up(1);
  settle();
  EXPECT_EQ(node(1).flushed, 0U);
  for (std::uint64_t i = 0; i < 3; ++i) node(1).flushes.push_back(kSink / nic::kPageBytes + i);
  settle();
  EXPECT_EQ(node(1).flushed, 3U);
}

/// Pages beyond the 48 bits of HTAX: nothing is written or read there, or at an address that its lower bits name.
TEST_F(NodeHostile, addresses_that_htax_does_not_have_are_refused) {
  constexpr std::uint64_t kBeyond = (std::uint64_t{1} << 36U) | 0x77;
  for (auto& node : nodes_) {
    node->on_write = [](const Node::Write& write) {
      EXPECT_TRUE(may_write(write.address)) << std::hex << write.address;
    };
    node->on_read = [](std::uint64_t address) { EXPECT_NE(address / nic::kPageBytes, 0x77U); };
  }
  node(1).map(kSink / nic::kPageBytes, 2, kBeyond, Access::ReadWrite);
  node(0).write(1, put(40, nic::kNotifyCompleter));
  Command get = command(Operation::Get);
  get.address = kInto;
  get.length = 8 * 40;
  get.modifiers = nic::kNotifyCompleter;
  node(0).write(1, get);
  node(0).write(1, word_for(Operation::FetchAdd, 3, 1, nic::kNotifyCompleter));
  settle();
  EXPECT_EQ(node(1).count(Count::LostWrite), 6U) << "lines of 64 bytes, with a border of packets in one";
  const auto own = take_all(0, 1);
  ASSERT_EQ(own.size(), 2U);
  EXPECT_NE(own[0].error, Error::None);
  EXPECT_NE(own[1].error, Error::None);
  while (node(1).take(2)) {
  }
  settle();
  node(0).map(kSource / nic::kPageBytes, 1, kBeyond, Access::Read);
  node(0).flushes.push_back(kSource / nic::kPageBytes);
  settle();
  node(0).write(1, put(8, nic::kNotifyRequester));
  settle();
  EXPECT_EQ(only(0, 1).error, Error::OriginWindow);
  // Put back.
  node(0).map(kSource / nic::kPageBytes, 1, number_of(kSource, 0), Access::Read);
  node(1).map(kSink / nic::kPageBytes, 2, number_of(kSink, 0), Access::ReadWrite);
  node(0).flushes.push_back(kSource / nic::kPageBytes);
  node(1).flushes.push_back(kSink / nic::kPageBytes);
  settle();
  ASSERT_NO_FATAL_FAILURE(expect_at_work());
}

}  // namespace
}  // namespace stopbit::sim::node
