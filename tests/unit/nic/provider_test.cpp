// Every call of libfabric that the provider offers for messages, through libfabric itself, which loads the plug-in.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/nic/provider_sides.hpp"

namespace stopbit::nic::provider_test {

INSTANTIATE_TEST_SUITE_P(Provider, Sizes, testing::Values("1", "0"));

TEST(Provider, is_offered_for_what_it_has_and_for_nothing_more) {
  int result = 0;
  const Info info = ask(hints_of(kAll), result);
  ASSERT_EQ(result, 0) << fi_strerror(-result);
  EXPECT_STREQ(info->fabric_attr->prov_name, "stopbit");
  EXPECT_EQ(info->ep_attr->type, FI_EP_RDM);
  EXPECT_EQ(info->domain_attr->data_progress, FI_PROGRESS_MANUAL);
  EXPECT_EQ(info->mode, 0U);

  EXPECT_EQ(ask(hints_of(FI_RMA | FI_RMA_PMEM)), -FI_ENODATA);
  EXPECT_EQ(ask(hints_of(FI_MULTICAST | FI_MSG)), -FI_ENODATA);
  Info hints = hints_of(FI_MSG);
  hints->ep_attr->type = FI_EP_MSG;
  EXPECT_EQ(ask(hints), -FI_ENODATA);
  hints = hints_of(FI_MSG);
  hints->tx_attr->inject_size = std::size_t{1} << 20U;
  EXPECT_EQ(ask(hints), -FI_ENODATA);
  hints = hints_of(FI_MSG);
  fi_info* found = nullptr;
  EXPECT_EQ(fi_getinfo(kVersion, "localhost", "7", 0, hints.get(), &found), -FI_ENODATA);
}

TEST_P(Sizes, messages_arrive_as_they_were_sent_before_and_after_their_receive) {
  Pair pair;
  unsigned seed = 0;
  for (const std::size_t length : {0, 1, 40, 128, 129, 4096, 8192, 8193, 65'536, 1'000'003}) {
    for (const bool receives_first : {true, false}) {
      SCOPED_TRACE(std::to_string(length) + (receives_first ? " expected" : " unexpected"));
      const std::vector<std::byte> from = bytes_of(length, ++seed);
      std::vector<std::byte> into(length + 1);
      int send_context = 0;
      int receive_context = 0;
      const auto receive = [&] {
        ASSERT_EQ(fi_recv(pair.b.ep, into.data(), length, nullptr, FI_ADDR_UNSPEC, &receive_context), 0);
      };
      if (receives_first) receive();
      ASSERT_EQ(fi_send(pair.a.ep, from.data(), length, nullptr, pair.to_b, &send_context), 0);
      if (!receives_first) {
        fi_cq_tagged_entry none{};
        for (int i = 0; i < 100; ++i) {
          (void)!fi_cq_read(pair.a.sends, &none, 0);
          (void)!fi_cq_read(pair.b.receives, &none, 0);
        }
        receive();
      }
      const Ended ended = await(pair.b.receives, pair.a);
      EXPECT_EQ(ended.entry.err, 0);
      EXPECT_EQ(ended.entry.op_context, &receive_context);
      EXPECT_EQ(ended.entry.len, length);
      EXPECT_EQ(ended.entry.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
      EXPECT_EQ(ended.source, pair.to_a);
      const Ended sent = await(pair.a.sends, pair.b);
      EXPECT_EQ(sent.entry.err, 0);
      EXPECT_EQ(sent.entry.op_context, &send_context);
      EXPECT_TRUE(std::equal(from.begin(), from.end(), into.begin()));
      EXPECT_EQ(into.back(), std::byte{0});
    }
  }
}

TEST_P(Sizes, pieces_are_gathered_and_scattered) {
  Pair pair;
  for (const std::size_t length : {300, 90'000}) {
    std::vector<std::byte> from = bytes_of(length, 5);
    std::vector<std::byte> into(length);
    const iovec out[] = {{from.data(), 100}, {from.data() + 100, 1}, {from.data() + 101, length - 101}};
    const iovec in[] = {{into.data(), length / 2}, {into.data() + length / 2, length - length / 2}};
    ASSERT_EQ(fi_recvv(pair.b.ep, in, nullptr, 2, FI_ADDR_UNSPEC, nullptr), 0);
    ASSERT_EQ(fi_sendv(pair.a.ep, out, nullptr, 3, pair.to_b, nullptr), 0);
    EXPECT_EQ(await(pair.b.receives, pair.a).entry.len, length);
    EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
    EXPECT_EQ(from, into);
  }
  iovec many[5]{};
  EXPECT_EQ(fi_sendv(pair.a.ep, many, nullptr, 5, pair.to_b, nullptr), -FI_EINVAL);
}

TEST_P(Sizes, a_message_longer_than_its_receive_is_cut_and_reported) {
  Pair pair;
  for (const std::size_t length : {200, 100'000}) {
    const std::vector<std::byte> from = bytes_of(length, 9);
    std::vector<std::byte> into(151);
    ASSERT_EQ(fi_recv(pair.b.ep, into.data(), 150, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
    ASSERT_EQ(fi_send(pair.a.ep, from.data(), length, nullptr, pair.to_b, nullptr), 0);
    const Ended ended = await(pair.b.receives, pair.a);
    EXPECT_EQ(ended.entry.err, FI_ETRUNC);
    EXPECT_EQ(ended.entry.olen, length - 150);
    EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
    EXPECT_TRUE(std::equal(into.begin(), into.end() - 1, from.begin()));
    EXPECT_EQ(into.back(), std::byte{0});
  }
}

TEST(Provider, tags_ignored_bits_and_senders_choose_the_receive) {
  Pair pair;
  Side c;
  const fi_addr_t c_to_b = c.insert(pair.b.name());
  const fi_addr_t from_c = pair.b.insert(c.name());
  int into[4] = {};
  ASSERT_EQ(fi_trecv(pair.b.ep, &into[0], 4, nullptr, FI_ADDR_UNSPEC, 0x17, 0, &into[0]), 0);
  ASSERT_EQ(fi_trecv(pair.b.ep, &into[1], 4, nullptr, FI_ADDR_UNSPEC, 0x20, 0x0F, &into[1]), 0);
  ASSERT_EQ(fi_trecv(pair.b.ep, &into[2], 4, nullptr, from_c, 0x50, 0, &into[2]), 0);
  ASSERT_EQ(fi_recv(pair.b.ep, &into[3], 4, nullptr, FI_ADDR_UNSPEC, &into[3]), 0);
  const auto send = [&](Side& side, fi_addr_t to, int value, std::uint64_t tag) {
    ASSERT_EQ(fi_tinject(side.ep, &value, sizeof(value), to, tag), 0);
  };
  send(pair.a, pair.to_b, 1, 0x50);  // not from c
  send(pair.a, pair.to_b, 2, 0x2A);
  send(pair.a, pair.to_b, 3, 0x17);
  const int plain = 4;
  ASSERT_EQ(fi_inject(pair.a.ep, &plain, 4, pair.to_b), 0);
  for (int i = 0; i < 3; ++i) {
    const Ended ended = await(pair.b.receives, pair.a);
    if (ended.entry.op_context == &into[1]) {
      EXPECT_EQ(ended.entry.tag, 0x2AU);
    }
  }
  send(c, c_to_b, 5, 0x50);
  const Ended ended = await(pair.b.receives, c);
  EXPECT_EQ(ended.entry.op_context, &into[2]);
  EXPECT_EQ(ended.source, from_c);
  EXPECT_EQ(into[0], 3);
  EXPECT_EQ(into[1], 2);
  EXPECT_EQ(into[2], 5);
  EXPECT_EQ(into[3], 4);
  // The first one has waited.
  ASSERT_EQ(fi_trecv(pair.b.ep, &into[0], 4, nullptr, pair.to_a, 0x50, 0, nullptr), 0);
  (void)await(pair.b.receives, pair.a);
  EXPECT_EQ(into[0], 1);
}

ssize_t receive_with(Side& side, void* into, std::size_t length, std::uint64_t tag, void* context,
                     std::uint64_t flags) {
  const iovec piece{into, length};
  fi_msg_tagged msg{};
  msg.msg_iov = &piece;
  msg.iov_count = length == 0 ? 0 : 1;
  msg.addr = FI_ADDR_UNSPEC;
  msg.tag = tag;
  msg.context = context;
  return fi_trecvmsg(side.ep, &msg, flags);
}

TEST(Provider, unexpected_messages_are_peeked_claimed_and_discarded) {
  Pair pair;
  int context = 0;
  ASSERT_EQ(receive_with(pair.b, nullptr, 0, 7, &context, FI_PEEK), 0);
  EXPECT_EQ(await(pair.b.receives, pair.a).entry.err, FI_ENOMSG);

  const std::vector<std::byte> first = bytes_of(600, 1);
  const std::vector<std::byte> second = bytes_of(50'000, 2);
  const std::vector<std::byte> third = bytes_of(10, 3);
  for (const auto* message : {&first, &second, &third})
    ASSERT_EQ(fi_tsenddata(pair.a.ep, message->data(), message->size(), nullptr, 77, pair.to_b, 7, nullptr), 0);
  const auto peek = [&](std::uint64_t flags) {
    for (;;) {
      EXPECT_EQ(receive_with(pair.b, nullptr, 0, 7, &context, FI_PEEK | flags), 0);
      const Ended ended = await(pair.b.receives, pair.a);
      if (ended.entry.err != FI_ENOMSG) return ended;
      fi_cq_tagged_entry none{};
      (void)!fi_cq_read(pair.a.receives, &none, 1);  // A's progress
    }
  };
  Ended found = peek(0);
  EXPECT_EQ(found.entry.len, 600U);
  EXPECT_EQ(found.entry.data, 77U);
  EXPECT_NE(found.entry.flags & FI_REMOTE_CQ_DATA, 0U);
  EXPECT_EQ(found.source, pair.to_a);
  EXPECT_EQ(peek(0).entry.len, 600U);  // it stayed
  EXPECT_EQ(peek(FI_DISCARD).entry.len, 600U);
  EXPECT_EQ(peek(FI_CLAIM).entry.len, 50'000U);
  // Claimed: no other receive gets it.
  std::vector<std::byte> into(50'000);
  ASSERT_EQ(fi_trecv(pair.b.ep, into.data(), into.size(), nullptr, FI_ADDR_UNSPEC, 7, 0, nullptr), 0);
  EXPECT_EQ(await(pair.b.receives, pair.a).entry.len, 10U);
  ASSERT_EQ(receive_with(pair.b, into.data(), into.size(), 7, &context, FI_CLAIM), 0);
  EXPECT_EQ(await(pair.b.receives, pair.a).entry.len, 50'000U);
  EXPECT_EQ(into, second);
  EXPECT_EQ(receive_with(pair.b, into.data(), into.size(), 7, &context, FI_CLAIM), -FI_EINVAL);
}

TEST(Provider, delivery_complete_comes_after_the_receive) {
  Pair pair({.op_flags = FI_DELIVERY_COMPLETE});
  int value = 5;
  int into = 0;
  ASSERT_EQ(fi_tsend(pair.a.ep, &value, sizeof(value), nullptr, pair.to_b, 1, &value), 0);
  fi_cq_tagged_entry none{};
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(fi_cq_read(pair.a.sends, &none, 1), -FI_EAGAIN);
    ASSERT_EQ(fi_cq_read(pair.b.receives, &none, 1), -FI_EAGAIN);
  }
  ASSERT_EQ(fi_trecv(pair.b.ep, &into, sizeof(into), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.op_context, &value);
  EXPECT_EQ(into, 5);
}

TEST(Provider, selective_completion_reports_what_is_asked_for_and_counters_count_all) {
  Pair pair({.transmit_flags = FI_TRANSMIT | FI_SELECTIVE_COMPLETION, .has_counters = true});
  int values[3] = {1, 2, 3};
  int into[3] = {};
  for (int& to : into) ASSERT_EQ(fi_recv(pair.b.ep, &to, sizeof(to), nullptr, FI_ADDR_UNSPEC, &to), 0);
  ASSERT_EQ(fi_send(pair.a.ep, &values[0], sizeof(int), nullptr, pair.to_b, &values[0]), 0);
  ASSERT_EQ(fi_inject(pair.a.ep, &values[1], sizeof(int), pair.to_b), 0);
  const iovec piece{&values[2], sizeof(int)};
  fi_msg msg{};
  msg.msg_iov = &piece;
  msg.iov_count = 1;
  msg.addr = pair.to_b;
  msg.context = &values[2];
  msg.data = 0x1234'5678'9ABC'DEF0U;
  ASSERT_EQ(fi_sendmsg(pair.a.ep, &msg, FI_COMPLETION | FI_INJECT | FI_REMOTE_CQ_DATA), 0);
  for (int i = 0; i < 3; ++i) {
    const Ended ended = await(pair.b.receives, pair.a);
    EXPECT_EQ(ended.entry.op_context, &into[i]);  // order of sending
    EXPECT_EQ(into[i], values[i]);
    EXPECT_EQ(ended.entry.data, i == 2 ? msg.data : 0);
  }
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.op_context, &values[2]);
  EXPECT_FALSE(poll(pair.a.sends));
  EXPECT_EQ(fi_cntr_wait(pair.a.sent, 3, 1000), 0);
  EXPECT_EQ(fi_cntr_read(pair.a.sent), 3U);
  EXPECT_EQ(fi_cntr_read(pair.b.received), 3U);
  EXPECT_EQ(fi_cntr_readerr(pair.b.received), 0U);
  EXPECT_EQ(fi_cntr_wait(pair.b.received, 4, 1), -FI_ETIMEDOUT);
  EXPECT_EQ(fi_cntr_set(pair.a.sent, 10), 0);
  EXPECT_EQ(fi_cntr_add(pair.a.sent, 5), 0);
  EXPECT_EQ(fi_cntr_read(pair.a.sent), 15U);
  EXPECT_EQ(fi_cntr_seterr(pair.a.sent, 1), 0);
  EXPECT_EQ(fi_cntr_adderr(pair.a.sent, 1), 0);
  EXPECT_EQ(fi_cntr_readerr(pair.a.sent), 2U);
}

TEST(Provider, a_receive_is_cancelled_once) {
  Pair pair;
  int into = 0;
  ASSERT_EQ(fi_trecv(pair.b.ep, &into, sizeof(into), nullptr, FI_ADDR_UNSPEC, 1, 0, &into), 0);
  EXPECT_EQ(fi_cancel(&pair.b.ep->fid, &into), 0);
  const Ended ended = await(pair.b.receives, pair.a);
  EXPECT_EQ(ended.entry.err, FI_ECANCELED);
  EXPECT_EQ(ended.entry.op_context, &into);
  EXPECT_EQ(fi_cancel(&pair.b.ep->fid, &into), -FI_ENOENT);
}

TEST(Provider, an_endpoint_sends_to_itself) {
  Side side;
  const fi_addr_t self = side.insert(side.name());
  const std::vector<std::byte> from = bytes_of(20'000, 1);
  std::vector<std::byte> into(20'000);
  for (const std::size_t length : {8, 20'000}) {
    ASSERT_EQ(fi_tsend(side.ep, from.data(), length, nullptr, self, 1, nullptr), 0);
    ASSERT_EQ(fi_trecv(side.ep, into.data(), length, nullptr, self, 1, 0, nullptr), 0);
    EXPECT_EQ(await(side.receives, side).entry.len, length);
    EXPECT_EQ(await(side.sends, side).entry.err, 0);
  }
  EXPECT_EQ(from, into);
}

TEST(Provider, two_endpoints_of_a_process_are_two_senders) {
  Pair pair;
  fid_ep* second = nullptr;
  ASSERT_EQ(fi_endpoint(pair.a.domain, pair.a.info.get(), &second, nullptr), 0);
  ASSERT_EQ(fi_enable(second), -FI_ENOAV);
  ASSERT_EQ(fi_ep_bind(second, &pair.a.av->fid, 0), 0);
  ASSERT_EQ(fi_enable(second), -FI_ENOCQ);
  ASSERT_EQ(fi_ep_bind(second, &pair.a.sends->fid, FI_TRANSMIT | FI_RECV), 0);
  ASSERT_EQ(fi_enable(second), 0);
  std::vector<std::byte> name(pair.a.name().size());
  std::size_t length = name.size();
  ASSERT_EQ(fi_getname(&second->fid, name.data(), &length), 0);
  const fi_addr_t from_second = pair.b.insert(name);
  int into = 0;
  ASSERT_EQ(fi_trecv(pair.b.ep, &into, sizeof(into), nullptr, from_second, 1, 0, nullptr), 0);
  for (const auto& [ep, value] : {std::pair(pair.a.ep, 1), std::pair(second, 2)})
    ASSERT_EQ(fi_tinject(ep, &value, sizeof(value), pair.to_b, 1), 0);
  EXPECT_EQ(await(pair.b.receives, pair.a).source, from_second);
  EXPECT_EQ(into, 2);
  EXPECT_EQ(fi_close(&second->fid), 0);
}

TEST(Provider, addresses_of_others_are_refused_and_removed_ones_unknown) {
  Pair pair;
  std::vector<std::byte> name = pair.b.name();
  fi_addr_t address = 0;
  name[8] ^= std::byte{1};  // another network, or host
  EXPECT_EQ(fi_av_insert(pair.a.av, name.data(), 1, &address, 0, nullptr), 0);
  EXPECT_EQ(address, FI_ADDR_NOTAVAIL);
  const int value = 1;
  EXPECT_EQ(fi_inject(pair.a.ep, &value, sizeof(value), FI_ADDR_NOTAVAIL), -FI_EINVAL);

  std::vector<std::byte> read(name.size());
  std::size_t length = read.size();
  EXPECT_EQ(fi_av_lookup(pair.a.av, pair.to_b, read.data(), &length), 0);
  EXPECT_EQ(read, pair.b.name());
  char text[100];
  length = sizeof(text);
  EXPECT_EQ(std::string(fi_av_straddr(pair.a.av, read.data(), text, &length)).substr(0, 10), "stopbit://");
  EXPECT_EQ(fi_av_remove(pair.a.av, &pair.to_b, 1, 0), 0);
  EXPECT_EQ(fi_inject(pair.a.ep, &value, sizeof(value), pair.to_b), -FI_EINVAL);
  EXPECT_EQ(fi_av_remove(pair.a.av, &pair.to_b, 1, 0), -FI_EINVAL);
}

TEST(Provider, what_is_not_offered_says_so) {
  Side side;
  fid_mr* mr = nullptr;
  int value = 0;
  EXPECT_EQ(fi_mr_reg(side.domain, &value, sizeof(value), FI_REMOTE_READ, 4, 0, 0, &mr, nullptr), -FI_EINVAL);
  ASSERT_EQ(fi_mr_reg(side.domain, &value, sizeof(value), FI_SEND | FI_RECV, 0, 0, 0, &mr, nullptr), 0);
  EXPECT_EQ(fi_close(&mr->fid), 0);
  fi_cq_attr attr{};
  attr.wait_obj = FI_WAIT_FD;
  fid_cq* cq = nullptr;
  EXPECT_EQ(fi_cq_open(side.domain, &attr, &cq, nullptr), -FI_ENOSYS);
  fid_ep* ep = nullptr;
  EXPECT_EQ(fi_scalable_ep(side.domain, side.info.get(), &ep, nullptr), -FI_ENOSYS);
  EXPECT_EQ(fi_setopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, 4), -FI_ENOPROTOOPT);
  EXPECT_EQ(fi_close(&side.domain->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&side.av->fid), -FI_EBUSY);
}

/// A buffer for many messages.
int receive_many(const Side& side, void* into, std::size_t length, void* context, std::uint64_t flags = 0) {
  const iovec piece{into, length};
  fi_msg message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = FI_ADDR_UNSPEC;
  message.context = context;
  return static_cast<int>(fi_recvmsg(side.ep, &message, FI_MULTI_RECV | FI_COMPLETION | flags));
}
void set_least(const Side& side, std::size_t bytes) {
  ASSERT_EQ(fi_setopt(&side.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &bytes, sizeof(bytes)), 0);
}
void step(const Pair& pair) {
  fi_cq_tagged_entry none{};
  for (fid_cq* const cq : {pair.a.sends, pair.b.sends, pair.a.receives, pair.b.receives})
    (void)!fi_cq_read(cq, &none, 0);
}

/// Messages of all ways: stored before, eager, offered, also with another one's buffer after it.
TEST_P(Sizes, a_buffer_takes_many_messages_and_its_last_one_says_so) {
  EXPECT_EQ(ask(hints_of(FI_MULTI_RECV | FI_MSG)), 0);
  Pair pair;
  set_least(pair.b, 1000);
  std::size_t least = 0;
  std::size_t length = sizeof(least);
  ASSERT_EQ(fi_getopt(&pair.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &length), 0);
  EXPECT_EQ(least, 1000U);
  for (const bool is_posted_first : {true, false}) {
    const std::size_t lengths[] = {3, 0, 500, 9000, 8, 20'000, 4000};
    std::vector<std::vector<std::byte>> messages;
    for (const std::size_t each : lengths) messages.push_back(bytes_of(each, static_cast<unsigned>(each)));
    // The first buffer is used up by the sixth message: less than 1,000 bytes are left.
    std::vector<std::byte> first(30'000);
    std::vector<std::byte> second(10'000);
    const auto post = [&] {
      ASSERT_EQ(receive_many(pair.b, first.data(), first.size(), &first), 0);
      ASSERT_EQ(receive_many(pair.b, second.data(), second.size(), &second), 0);
    };
    if (is_posted_first) post();
    for (const auto& message : messages) {
      ASSERT_EQ(fi_send(pair.a.ep, message.data(), message.size(), nullptr, pair.to_b, nullptr), 0);
    }
    if (!is_posted_first) {
      for (int i = 0; i < 1000; ++i) step(pair);
      post();
    }
    // Short ones may overtake long ones on their way into the buffer: each is told by its place.
    std::size_t released = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const Ended ended = await(pair.b.receives, pair.a);
      ASSERT_EQ(ended.entry.err, 0);
      EXPECT_EQ(ended.entry.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
      EXPECT_EQ(ended.source, pair.to_a);
      const auto found = std::find_if(messages.begin(), messages.end(),
                                      [&](const auto& message) { return message.size() == ended.entry.len; });
      ASSERT_NE(found, messages.end());
      const bool is_in_second = found == messages.end() - 1;
      EXPECT_EQ(ended.entry.op_context, is_in_second ? static_cast<void*>(&second) : &first);
      EXPECT_EQ(std::memcmp(ended.entry.buf, found->data(), found->size()), 0);
      if ((ended.entry.flags & FI_MULTI_RECV) != 0) {
        ++released;
        EXPECT_EQ(ended.entry.op_context, &first);
      } else if (!is_in_second) {
        EXPECT_EQ(released, 0U);
      }
    }
    EXPECT_EQ(released, 1U);
    for (std::size_t i = 0; i < messages.size(); ++i) EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
    ASSERT_EQ(fi_cancel(&pair.b.ep->fid, &second), 0);
    const Ended ended = await(pair.b.receives, pair.a);
    EXPECT_EQ(ended.entry.err, FI_ECANCELED);
    EXPECT_NE(ended.entry.flags & FI_MULTI_RECV, 0U);
    EXPECT_EQ(ended.entry.op_context, &second);
    EXPECT_EQ(fi_cancel(&pair.b.ep->fid, &first), -FI_ENOENT);
  }
}

TEST_P(Sizes, a_message_longer_than_the_rest_of_the_buffer_is_cut_and_ends_it) {
  Pair pair;
  set_least(pair.b, 16);
  for (const std::size_t length : {600, 50'000}) {
    std::vector<std::byte> into(1001, std::byte{9});
    ASSERT_EQ(receive_many(pair.b, into.data(), 1000, &into), 0);
    const std::vector<std::byte> half = bytes_of(600, 1);
    const std::vector<std::byte> more = bytes_of(length, 2);
    ASSERT_EQ(fi_send(pair.a.ep, half.data(), half.size(), nullptr, pair.to_b, nullptr), 0);
    ASSERT_EQ(fi_send(pair.a.ep, more.data(), more.size(), nullptr, pair.to_b, nullptr), 0);
    const Ended one = await(pair.b.receives, pair.a);
    EXPECT_EQ(one.entry.err, 0);
    EXPECT_EQ(one.entry.flags & FI_MULTI_RECV, 0U);
    const Ended two = await(pair.b.receives, pair.a);
    EXPECT_EQ(two.entry.err, FI_ETRUNC);
    EXPECT_EQ(two.entry.olen, length - 400);
    EXPECT_EQ(two.entry.flags & FI_MULTI_RECV, FI_MULTI_RECV);
    EXPECT_TRUE(std::equal(half.begin(), half.end(), into.begin()));
    EXPECT_TRUE(std::equal(more.begin(), more.begin() + 400, into.begin() + 600));
    EXPECT_EQ(into.back(), std::byte{9});
    for (int i = 0; i < 2; ++i) EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  }
}

/// Its buffer is the program's again only when nothing is written into it any more.
TEST_P(Sizes, a_buffer_for_many_that_is_cancelled_ends_after_what_is_under_way) {
  Pair pair;
  const std::vector<std::byte> message = bytes_of(200'000, 3);
  std::vector<std::byte> into(1'000'000);
  ASSERT_EQ(receive_many(pair.b, into.data(), into.size(), &into), 0);
  ASSERT_EQ(fi_send(pair.a.ep, message.data(), message.size(), nullptr, pair.to_b, nullptr), 0);
  std::optional<Ended> first;
  for (int i = 0; i < 3 && !first; ++i) {  // until it is under way; a single copy is done by then
    first = poll(pair.b.receives);
    (void)!poll(pair.a.receives);
  }
  ASSERT_EQ(fi_cancel(&pair.b.ep->fid, &into), 0);
  if (!first) first = await(pair.b.receives, pair.a);
  if (first->entry.err == 0) {
    EXPECT_EQ(first->entry.len, message.size());
    EXPECT_TRUE(std::equal(message.begin(), message.end(), into.begin()));
    EXPECT_EQ(first->entry.flags & FI_MULTI_RECV, 0U);
    first = await(pair.b.receives, pair.a);
  }
  EXPECT_EQ(first->entry.err, FI_ECANCELED);
  EXPECT_EQ(first->entry.flags & FI_MULTI_RECV, FI_MULTI_RECV);
  EXPECT_EQ(first->entry.op_context, &into);
}

TEST(Provider, buffers_for_many_are_of_one_piece_and_for_messages_without_tags) {
  Pair pair;
  std::byte bytes[64]{};
  const iovec pieces[] = {{bytes, 8}, {bytes + 8, 8}};
  fi_msg message{};
  message.msg_iov = pieces;
  message.iov_count = 2;
  message.addr = FI_ADDR_UNSPEC;
  EXPECT_EQ(fi_recvmsg(pair.b.ep, &message, FI_MULTI_RECV), -FI_EINVAL);
  fi_msg_tagged tagged{};
  tagged.msg_iov = pieces;
  tagged.iov_count = 1;
  tagged.addr = FI_ADDR_UNSPEC;
  EXPECT_EQ(fi_trecvmsg(pair.b.ep, &tagged, FI_MULTI_RECV), -FI_EINVAL);
  const int wrong = 1;
  EXPECT_EQ(fi_setopt(&pair.b.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &wrong, sizeof(wrong)), -FI_EINVAL);
}

TEST(Provider, a_buffer_for_many_reports_its_end_also_where_completions_are_selected) {
  Pair pair(Side::How{.receive_flags = FI_RECV | FI_SELECTIVE_COMPLETION});
  set_least(pair.b, 8);
  std::uint64_t into[3]{};
  const iovec piece{into, sizeof(into)};
  fi_msg message{};
  message.msg_iov = &piece;
  message.iov_count = 1;
  message.addr = pair.to_a;
  message.context = into;
  ASSERT_EQ(fi_recvmsg(pair.b.ep, &message, FI_MULTI_RECV), 0);
  for (const std::uint64_t value : {1, 2, 3}) ASSERT_EQ(fi_inject(pair.a.ep, &value, sizeof(value), pair.to_b), 0);
  const Ended ended = await(pair.b.receives, pair.a);
  EXPECT_EQ(ended.entry.flags & FI_MULTI_RECV, FI_MULTI_RECV);
  EXPECT_EQ(ended.entry.buf, into + 2);
  EXPECT_EQ(into[0] + into[1] + into[2], 6U);
  EXPECT_FALSE(poll(pair.b.receives));
}

TEST(Provider, an_event_queue_has_what_the_program_writes) {
  Side side;
  fid_eq* eq = nullptr;
  fi_eq_attr attr{};
  ASSERT_EQ(fi_eq_open(side.fabric, &attr, &eq, nullptr), 0);
  std::uint32_t event = 0;
  fi_eq_entry entry{};
  EXPECT_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
  entry.data = 99;
  EXPECT_EQ(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), static_cast<ssize_t>(sizeof(entry)));
  fi_eq_entry read{};
  EXPECT_EQ(fi_eq_read(eq, &event, &read, 1, 0), -FI_ETOOSMALL);
  EXPECT_EQ(fi_eq_sread(eq, &event, &read, sizeof(read), 1, 0), static_cast<ssize_t>(sizeof(read)));
  EXPECT_EQ(read.data, 99U);
  EXPECT_EQ(fi_close(&eq->fid), 0);
}

TEST(Provider, a_peer_that_never_reads_costs_a_bounded_number_of_messages_and_loses_none) {
  Pair pair;
  // B makes progress and posts no receive: its store fills, then the links, then A gets FI_EAGAIN.
  std::array<std::uint64_t, 256> message{};
  std::uint64_t sent = 0;
  int refused = 0;
  fi_cq_tagged_entry none{};
  // So long that a datagram that was lost on the way has been sent again.
  using Clock = std::chrono::steady_clock;
  Clock::time_point accepted = Clock::now();
  while (refused < 1000 || Clock::now() - accepted < std::chrono::seconds(1)) {
    message[0] = sent;
    const ssize_t result = fi_tinject(pair.a.ep, message.data(), 1024, pair.to_b, 3);
    refused = result == 0 ? 0 : refused + 1;
    if (result == 0) {
      ++sent;
      accepted = Clock::now();
    }
    ASSERT_TRUE(result == 0 || result == -FI_EAGAIN) << result;
    ASSERT_LT(sent, 10'000U);
    (void)!fi_cq_read(pair.b.receives, &none, 0);
  }
  EXPECT_GE(sent, 4096U);
  for (std::uint64_t i = 0; i < sent; ++i) {
    ASSERT_EQ(fi_trecv(pair.b.ep, message.data(), 1024, nullptr, FI_ADDR_UNSPEC, 3, 0, nullptr), 0);
    (void)await(pair.b.receives, pair.a);
    ASSERT_EQ(message[0], i);
  }
}

TEST(Provider, a_peer_that_computes_is_not_given_up) {
  Pair pair;
  int values[200];
  std::iota(std::begin(values), std::end(values), 0);
  int sent = 0;
  // A calls, B does not, for far longer than the links' silence limit for other users.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  while (std::chrono::steady_clock::now() < end) {
    if (sent < 200 && fi_tinject(pair.a.ep, &values[sent], sizeof(int), pair.to_b, 1) == 0) ++sent;
    EXPECT_FALSE(poll(pair.a.sends));
  }
  for (int i = 0; i < 200; ++i) {
    int into = -1;
    fi_cq_tagged_entry none{};
    while (sent <= i) {
      if (fi_tinject(pair.a.ep, &values[sent], sizeof(int), pair.to_b, 1) == 0) ++sent;
      (void)!fi_cq_read(pair.b.receives, &none, 0);
    }
    ASSERT_EQ(fi_trecv(pair.b.ep, &into, sizeof(into), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
    EXPECT_EQ(await(pair.b.receives, pair.a).entry.err, 0);
    EXPECT_EQ(into, i);
  }
}

TEST(Provider, threads_of_one_endpoint_lose_nothing) {
  Pair pair;
  constexpr int kThreads = 3;
  constexpr int kEach = 500;
  std::atomic<int> is_done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const int value = t * kEach + i;
        while (fi_tinject(pair.a.ep, &value, sizeof(value), pair.to_b, static_cast<std::uint64_t>(t)) != 0)
          std::this_thread::yield();
      }
      ++is_done;
    });
  }
  std::array<int, kThreads> next{};
  for (int n = 0; n < kThreads * kEach; ++n) {
    int into = -1;
    ASSERT_EQ(fi_trecv(pair.b.ep, &into, sizeof(into), nullptr, FI_ADDR_UNSPEC, 0, ~std::uint64_t{0}, nullptr), 0);
    const Ended ended = await(pair.b.receives, pair.a);
    ASSERT_LT(ended.entry.tag, std::uint64_t{kThreads});
    const auto thread = static_cast<std::size_t>(ended.entry.tag);
    EXPECT_EQ(into, static_cast<int>(thread) * kEach + next[thread]++);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(is_done, kThreads);
}

TEST(Provider, sends_to_a_killed_process_end_in_an_error_and_its_successor_is_reached) {
  for (const bool makes_progress : {true, false}) {
    auto other = std::make_unique<OtherProcess>(makes_progress);
    Side side;
    const fi_addr_t to = side.insert(other->name());
    const std::vector<std::byte> message = bytes_of(100'000, 1);
    ASSERT_EQ(fi_tsend(side.ep, message.data(), message.size(), nullptr, to, 1, &side), 0);
    EXPECT_FALSE(poll(side.sends));
    other->kill();
    const Ended ended = await(side.sends, side);
    EXPECT_EQ(ended.entry.err, FI_ECONNRESET);
    EXPECT_EQ(ended.entry.op_context, &side);
    EXPECT_EQ(fi_tinject(side.ep, message.data(), 8, to, 1), -FI_EHOSTUNREACH);

    // The next process gets the dead one's number and file.
    const Side next;
    const fi_addr_t to_next = side.insert(next.name());
    ASSERT_EQ(next.name()[16], other->name()[16]);
    std::vector<std::byte> into(8);
    ASSERT_EQ(fi_trecv(next.ep, into.data(), 8, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
    ASSERT_EQ(fi_tinject(side.ep, message.data(), 8, to_next, 1), 0);
    EXPECT_EQ(await(next.receives, side).entry.err, 0);
    EXPECT_EQ(fi_tinject(side.ep, message.data(), 8, to, 1), -FI_EHOSTUNREACH);
  }
}

/// A process offers a long message, makes no more calls, and is killed before or after the receive that takes it.
TEST_P(Sizes, a_message_whose_sender_is_killed_ends_its_receive_in_an_error) {
  for (const bool kills_first : {true, false}) {
    if (!kills_first && std::string(GetParam()) == "1") continue;  // one copy is done by then
    Side side;
    const std::vector<std::byte> name = side.name();
    int to_child[2];
    int to_parent[2];
    ASSERT_EQ(::pipe2(to_child, O_NONBLOCK), 0);
    ASSERT_EQ(::pipe(to_parent), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const Side sender;
      const std::vector<std::byte> message = bytes_of(100'000, 1);
      const fi_addr_t to = sender.insert(name);
      if (fi_tsend(sender.ep, message.data(), message.size(), nullptr, to, 5, nullptr) != 0) ::_exit(1);
      char byte = 0;
      while (::read(to_child[0], &byte, 1) != 1) {
        fi_cq_tagged_entry none{};
        (void)!fi_cq_read(sender.sends, &none, 1);
      }
      if (::write(to_parent[1], &byte, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    int context = 0;
    for (Ended ended; ended.entry.len != 100'000;) {
      ASSERT_EQ(receive_with(side, nullptr, 0, 5, &context, FI_PEEK), 0);
      ended = await(side.receives, side);
    }
    char byte = 1;
    ASSERT_EQ(::write(to_child[1], &byte, 1), 1);
    ASSERT_EQ(::read(to_parent[0], &byte, 1), 1);
    const auto kill = [&] {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    };
    if (kills_first) kill();
    std::vector<std::byte> into(100'000);
    ASSERT_EQ(fi_trecv(side.ep, into.data(), into.size(), nullptr, FI_ADDR_UNSPEC, 5, 0, &into), 0);
    if (!kills_first) {
      EXPECT_FALSE(poll(side.receives));
      kill();
    }
    const Ended ended = await(side.receives, side);
    EXPECT_EQ(ended.entry.err, FI_ECONNRESET);
    EXPECT_EQ(ended.entry.op_context, &into);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) ::close(end);
  }
}

TEST(Provider, counters_are_written_when_the_domain_closes) {
  const std::string path = testing::TempDir() + "provider-counters-" + std::to_string(::getpid());
  ::setenv("FI_STOPBIT_COUNTERS", path.c_str(), 1);
  {
    Pair pair;
    int into = 0;
    ASSERT_EQ(fi_recv(pair.b.ep, &into, sizeof(into), nullptr, FI_ADDR_UNSPEC, nullptr), 0);
    ASSERT_EQ(fi_inject(pair.a.ep, &into, sizeof(into), pair.to_b), 0);
    (void)await(pair.b.receives, pair.a);
  }
  ::unsetenv("FI_STOPBIT_COUNTERS");
  std::ifstream file(path);
  std::string lines((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(lines.find("\"bytes_sent\": 4,"), std::string::npos) << lines;
  EXPECT_NE(lines.find("\"bytes_received\": 4,"), std::string::npos) << lines;
  ::unlink(path.c_str());
}

TEST(Provider, no_segment_is_left_behind) {
  if (is_remote()) GTEST_SKIP() << "no segments";
  const std::string network = "provider-left-" + std::to_string(::getpid());
  set_environment();
  const std::string usual = ::getenv("FI_STOPBIT_NETWORK");
  ::setenv("FI_STOPBIT_NETWORK", network.c_str(), 1);
  const std::string file = "/dev/shm/stopbit-" + std::to_string(::geteuid()) + "/" + network + ".0";
  { OtherProcess killed(false); }
  EXPECT_EQ(::access(file.c_str(), F_OK), 0);
  { Side next; }
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
  ::setenv("FI_STOPBIT_NETWORK", usual.c_str(), 1);
}

TEST(Provider, a_network_without_a_place_is_an_error) {
  if (is_remote()) GTEST_SKIP() << "no folder";
  set_environment();
  const std::string usual = ::getenv("FI_STOPBIT_NETWORK");
  ::setenv("FI_STOPBIT_NETWORK", "/nonexistent/folder/net", 1);
  int result = 0;
  const Info info = ask(hints_of(kAll), result);
  ASSERT_EQ(result, 0);
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  ASSERT_EQ(fi_fabric(info->fabric_attr, &fabric, nullptr), 0);
  EXPECT_EQ(fi_domain(fabric, info.get(), &domain, nullptr), -FI_ENOMEM);
  EXPECT_EQ(fi_close(&fabric->fid), 0);
  ::setenv("FI_STOPBIT_NETWORK", usual.c_str(), 1);
}

}  // namespace stopbit::nic::provider_test
