/// The queue with the real requesters after it: what a process writes to its page is carried out.
#include "../rma/rma_fixture.hpp"
#include "../velo/velo_fixture.hpp"
#include "queue_fixture.hpp"

namespace stopbit::sim {
namespace {

class QueueAndRma : public rma::RmaTest {
 protected:
  QueueAndRma() : queue_(rma::seed()) {
    queue_.set_port(1, queue::State::Enabled, 1);
    queue_.set_port(2, queue::State::Enabled, 1);
  }
  /// Both units go on together; a command leaves the queue when the requester's bench has none.
  void carry_out(const std::vector<htax::Packet>& writes) {
    queue_.posted.insert(queue_.posted.end(), writes.begin(), writes.end());
    for (int quiet = 0; quiet < 200; ++quiet) {
      queue_.transfers_are_shut = !unit_.commands.empty();
      queue_.cycle();
      if (!queue_.transfers.empty()) {
        const queue::Transfer transfer = queue_.transfers.front();
        queue_.transfers.clear();
        unit_.commands.emplace_back(static_cast<nic::Vpid>(transfer.vpid), transfer.command());
        quiet = 0;
      }
      if (!queue_.posted.empty() || !unit_.commands.empty()) quiet = 0;
      unit_.cycle();
    }
    ASSERT_TRUE(unit_.settle());
  }
  queue::Driver<Vrtl_queue> queue_;
};

TEST_F(QueueAndRma, a_store_of_16_bytes_moves_memory) {
  rma::WindowEntry open = window();
  open.capability = 0;
  unit_.set_window(kWindow, open);
  const auto target = [](std::uint64_t window, std::uint64_t rest) {
    return std::uint64_t{2} << 32U | window << 16U | rest;
  };
  const queue::ShortAddress put{queue::Short::Put, true, true};
  const queue::ShortAddress put_lines{queue::Short::Put, false, true, false, true};
  carry_out({
      // 8 words to offset 0x40, 2 lines to offset 0x100.
      queue::write_of(queue::address_of(1, put), {target(kWindow, 7U << 10U), (0x40U / 8ULL) << 36U | kSource / 8}),
      queue::write_of(queue::address_of(1, put_lines),
                      {target(kWindow, 1U << 10U), (0x100U / 8ULL) << 36U | (kSource + 64) / 8}),
      queue::write_of(queue::address_of(1, {queue::Short::Immediate}), {target(kWindow, 0x1000 / 8), 0xABCD}),
      queue::write_of(queue::address_of(1, {queue::Short::Notify, false, true}), {target(0, 77), 0x1234}),
  });
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(at(kSink + 0x40, i), at(kSource, i));
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(at(kSink + 0x100, i), at(kSource + 64, i));
  EXPECT_EQ(at(kSink + 0x1000, 0), 0xABCDU);
  ASSERT_EQ(unit_.notices.size(), 4U) << "of the first put two";
  EXPECT_EQ(unit_.notices.back().vpid, 2);
  EXPECT_EQ(unit_.notices.back().notification.value, 0x1234U);
  EXPECT_EQ(unit_.notices.back().notification.tag, 77U);
  EXPECT_EQ(unit_.events.failed, 0U);
}

TEST_F(QueueAndRma, a_line_in_pieces_is_the_command_of_its_page) {
  const queue::Line line = queue::to_line(put(64, nic::kNotifyRequester, 0x80));
  std::vector<htax::Packet> writes;
  for (const std::size_t word : {5U, 0U, 7U, 2U, 1U, 6U, 3U, 4U}) {
    writes.push_back(queue::write_of(queue::address_of(1, 3, word), {line[word]}));
    // The same words in the page of a port that may not use this memory.
    writes.push_back(queue::write_of(queue::address_of(2, 3, word), {line[word]}));
  }
  carry_out(writes);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(at(kSink + 0x80, i), at(kSource, i));
  ASSERT_EQ(unit_.notices.size(), 2U);
  for (const rma::Notice& notice : unit_.notices) {
    EXPECT_EQ(notice.notification.error, notice.vpid == 1 ? nic::Error::None : nic::Error::OriginWindow);
  }
  EXPECT_EQ(unit_.writes, 8U);
}

using QueueAndVelo = velo::VeloTest;

TEST_F(QueueAndVelo, messages_leave_with_the_name_of_their_page) {
  queue::Driver<Vrtl_queue> queue(velo::seed());
  for (std::uint64_t vpid = 1; vpid < 3; ++vpid) {
    open(vpid);
    queue.set_port(vpid, queue::State::Enabled, vpid);
  }
  nic::Command fast;
  fast.operation = nic::Operation::FastSend;
  fast.target_node = 3;
  fast.target_vpid = 9;
  fast.window = 20;
  fast.tag = 0x255;  // type 2, tag 0x55
  fast.address = 0x2222'2222'2222'2222;
  fast.capability = 0x1111'1111'1111'1111;
  fast.offset = 0x3333'3333'3333'3333;
  const queue::Line line = queue::to_line(fast);
  for (const std::size_t word : {4U, 1U, 0U, 3U, 2U, 7U, 5U, 6U}) {
    queue.posted.push_back(queue::write_of(queue::address_of(1, 0, word), {line[word]}));
  }
  queue.posted.push_back(
      queue::write_of(queue::address_of(2, {queue::Short::Message, true}), {command_to(3, 9, 8), 0xFEED}));
  for (int i = 0; i < 400; ++i) {
    queue.messages_are_shut = unit_.to_send.size() > 1;
    queue.cycle();
    for (const queue::Message& message : queue.messages) {
      unit_.to_send.push_back({message.vpid, message.traffic_class, message.words});
    }
    queue.messages.clear();
    unit_.cycle();
  }
  const auto status = [](std::uint64_t vpid, std::uint64_t tag, std::size_t bytes) {
    return velo::wire({velo::kNode, vpid, tag & 0xFF, tag >> 8U, velo::kDomain, false}, bytes);
  };
  ASSERT_EQ(unit_.packets.size(), 2U);
  EXPECT_EQ(unit_.packets[0], velo::packets_of(Start{9, 3, 0, 0, 0, false, 0}, status(1, 0x255, 20),
                                               std::vector<std::uint64_t>{line[2], line[3], line[4]})[0]);
  EXPECT_EQ(unit_.packets[1],
            velo::packets_of(Start{9, 3, 0, 1, 0, false, 0}, status(2, 0, 8), std::vector<std::uint64_t>{0xFEED})[0]);
  EXPECT_TRUE(unit_.refusals.empty());
}

}  // namespace
}  // namespace stopbit::sim
