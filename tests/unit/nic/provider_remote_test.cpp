// Remote memory access and atomics of the provider, through libfabric itself.

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "tests/unit/nic/provider_sides.hpp"

namespace stopbit::nic::provider_test {
namespace {

class RemoteSizes : public Sizes {};
INSTANTIATE_TEST_SUITE_P(Provider, RemoteSizes, testing::Values("1", "0"));

constexpr std::uint64_t kBothRights = FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t kKey = 0x4711;

/// Memory of a side that others reach.
class Registered {
 public:
  Registered(Side& side, void* at, std::size_t length, std::uint64_t access = kBothRights, std::uint64_t key = kKey) {
    const int result = fi_mr_reg(side.domain, at, length, access, 0, key, 0, &mr_, nullptr);
    if (result != 0) throw std::runtime_error(fi_strerror(-result));
  }
  ~Registered() { close(); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  void close() {
    if (mr_ == nullptr) return;
    EXPECT_EQ(fi_close(&mr_->fid), 0);
    mr_ = nullptr;
  }
  [[nodiscard]] fid_mr* mr() const { return mr_; }
  [[nodiscard]] std::uint64_t key() const { return fi_mr_key(mr_); }

 private:
  fid_mr* mr_ = nullptr;
};

/// A pair whose second side has a registered buffer.
struct Reach : Pair {
  explicit Reach(std::size_t length, std::uint64_t access = kBothRights, const Side::How& how = {})
      : Pair(how), memory(bytes_of(length, 77)), region(b, memory.data(), memory.size(), access) {}
  [[nodiscard]] Ended done() const { return await(a.sends, b); }
  std::vector<std::byte> memory;
  Registered region;
};

TEST_P(RemoteSizes, bytes_are_written_and_read_where_the_program_says) {
  Reach reach(1'100'000);
  unsigned seed = 0;
  for (const std::size_t length : {1, 8, 4096, 8192, 8193, 65'536, 1'000'003}) {
    SCOPED_TRACE(length);
    const std::vector<std::byte> from = bytes_of(length, ++seed);
    std::vector<std::byte> expected = reach.memory;
    std::copy(from.begin(), from.end(), expected.begin() + 17);
    int context = 0;
    ASSERT_EQ(fi_write(reach.a.ep, from.data(), length, nullptr, reach.to_b, 17, kKey, &context), 0);
    Ended ended = reach.done();
    EXPECT_EQ(ended.entry.err, 0);
    EXPECT_EQ(ended.entry.op_context, &context);
    EXPECT_EQ(ended.entry.flags & (FI_RMA | FI_WRITE), FI_RMA | FI_WRITE);
    // Complete means that the target has them.
    EXPECT_TRUE(reach.memory == expected);

    std::vector<std::byte> into(length + 1);
    ASSERT_EQ(fi_read(reach.a.ep, into.data(), length, nullptr, reach.to_b, 17, kKey, &context), 0);
    ended = reach.done();
    EXPECT_EQ(ended.entry.err, 0);
    EXPECT_EQ(ended.entry.flags & (FI_RMA | FI_READ), FI_RMA | FI_READ);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), into.begin()));
    EXPECT_EQ(into.back(), std::byte{0});
  }
  EXPECT_FALSE(poll(reach.b.receives));  // the target's program hears nothing
}

TEST_P(RemoteSizes, pieces_are_gathered_for_a_write_and_scattered_from_a_read) {
  Reach reach(100'000);
  for (const std::size_t length : {300, 90'000}) {
    std::vector<std::byte> from = bytes_of(length, 5);
    const iovec out[] = {{from.data(), 100}, {from.data() + 100, 1}, {from.data() + 101, length - 101}};
    ASSERT_EQ(fi_writev(reach.a.ep, out, nullptr, 3, reach.to_b, 5, kKey, nullptr), 0);
    EXPECT_EQ(reach.done().entry.err, 0);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), reach.memory.begin() + 5));
    std::vector<std::byte> into(length);
    const iovec in[] = {{into.data(), length / 2}, {into.data() + length / 2, length - length / 2}};
    ASSERT_EQ(fi_readv(reach.a.ep, in, nullptr, 2, reach.to_b, 5, kKey, nullptr), 0);
    EXPECT_EQ(reach.done().entry.err, 0);
    EXPECT_EQ(from, into);
  }
  iovec many[5]{};
  EXPECT_EQ(fi_writev(reach.a.ep, many, nullptr, 5, reach.to_b, 0, kKey, nullptr), -FI_EINVAL);
  EXPECT_EQ(fi_readv(reach.a.ep, many, nullptr, 5, reach.to_b, 0, kKey, nullptr), -FI_EINVAL);
}

TEST(ProviderRemote, the_msg_forms_take_one_piece_of_remote_memory_as_long_as_the_local_ones) {
  Reach reach(64);
  std::uint64_t value = 99;
  const iovec piece{&value, sizeof(value)};
  fi_rma_iov remote[2] = {{8, 8, kKey}, {24, 8, kKey}};
  fi_msg_rma msg{};
  msg.msg_iov = &piece;
  msg.iov_count = 1;
  msg.addr = reach.to_b;
  msg.rma_iov = remote;
  msg.rma_iov_count = 1;
  msg.context = &value;
  ASSERT_EQ(fi_writemsg(reach.a.ep, &msg, FI_COMPLETION | FI_INJECT), 0);
  value = 0;  // its buffer is free
  EXPECT_EQ(reach.done().entry.op_context, &value);
  ASSERT_EQ(fi_readmsg(reach.a.ep, &msg, FI_COMPLETION), 0);
  EXPECT_EQ(reach.done().entry.err, 0);
  EXPECT_EQ(value, 99U);
  msg.rma_iov_count = 2;
  EXPECT_EQ(fi_writemsg(reach.a.ep, &msg, 0), -FI_EINVAL);
  msg.rma_iov_count = 1;
  remote[0].len = 7;
  EXPECT_EQ(fi_writemsg(reach.a.ep, &msg, 0), -FI_EINVAL);
  EXPECT_EQ(fi_readmsg(reach.a.ep, &msg, FI_REMOTE_CQ_DATA), -FI_EINVAL);
}

TEST_P(RemoteSizes, data_of_a_write_comes_after_its_bytes) {
  Reach reach(100'000);
  for (const std::size_t length : {8, 100'000}) {
    const std::vector<std::byte> from = bytes_of(length, 3);
    ASSERT_EQ(fi_writedata(reach.a.ep, from.data(), length, nullptr, 0xABCD'EF01'2345U, reach.to_b, 0, kKey, nullptr),
              0);
    const Ended told = await(reach.b.receives, reach.a);
    EXPECT_TRUE(std::equal(from.begin(), from.end(), reach.memory.begin()));
    EXPECT_EQ(told.entry.data, 0xABCD'EF01'2345U);
    EXPECT_EQ(told.entry.len, length);
    EXPECT_EQ(told.entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
    EXPECT_EQ(told.source, reach.to_a);
    EXPECT_EQ(reach.done().entry.err, 0);
  }
  const std::uint64_t value = 5;
  ASSERT_EQ(fi_inject_writedata(reach.a.ep, &value, sizeof(value), 7, reach.to_b, 8, kKey), 0);
  EXPECT_EQ(await(reach.b.receives, reach.a).entry.data, 7U);
  ASSERT_EQ(fi_writedata(reach.a.ep, nullptr, 0, nullptr, 8, reach.to_b, 0, 0, nullptr), 0);  // nothing but data
  EXPECT_EQ(await(reach.b.receives, reach.a).entry.data, 8U);
  EXPECT_EQ(reach.done().entry.err, 0);
  EXPECT_FALSE(poll(reach.a.sends));
}

TEST(ProviderRemote, an_injected_write_is_silent_unless_it_fails) {
  Reach reach(2000);
  std::vector<std::byte> bytes = bytes_of(1025, 1);
  ASSERT_EQ(fi_inject_write(reach.a.ep, bytes.data(), 1024, reach.to_b, 0, kKey), 0);
  EXPECT_EQ(fi_inject_write(reach.a.ep, bytes.data(), 1025, reach.to_b, 0, kKey), -FI_EMSGSIZE);
  ASSERT_EQ(fi_inject_write(reach.a.ep, bytes.data(), 8, reach.to_b, 0, kKey + 1), 0);
  const Ended ended = reach.done();
  EXPECT_EQ(ended.entry.err, FI_EKEYREJECTED);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 1024, reach.memory.begin()));
}

TEST_P(RemoteSizes, wrong_keys_rights_and_ranges_are_errors_and_change_nothing) {
  constexpr std::size_t kLength = 100'000;
  Reach reach(kLength);
  const std::vector<std::byte> before = reach.memory;
  std::vector<std::byte> only_read(kLength);
  std::vector<std::byte> only_written(kLength);
  const Registered readable(reach.b, only_read.data(), kLength, FI_REMOTE_READ, 1);
  const Registered writable(reach.b, only_written.data(), kLength, FI_REMOTE_WRITE, 2);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  struct Case {
    bool writes;
    std::uint64_t address;
    std::size_t length;
    std::uint64_t key;
    int error;
  };
  std::vector<std::byte> mine(kLength + 1, std::byte{0x5A});
  for (const std::size_t length : {std::size_t{8}, std::size_t{50'000}}) {
    for (const Case& wrong :
         {Case{true, 0, length, kKey + 1, FI_EKEYREJECTED}, Case{false, 0, length, 0, FI_EKEYREJECTED},
          Case{true, 0, length, 1, FI_EACCES}, Case{false, 0, length, 2, FI_EACCES},
          Case{true, kLength - length + 1, length, kKey, FI_EACCES},
          Case{false, kLength - length + 1, length, kKey, FI_EACCES}, Case{true, kLength + 1, length, kKey, FI_EACCES},
          Case{false, kMost, length, kKey, FI_EACCES}, Case{true, kMost - length + 1, length, kKey, FI_EACCES},
          Case{true, 0, kLength + 1, kKey, FI_EACCES}}) {
      SCOPED_TRACE(wrong.address);
      int context = 0;
      ASSERT_EQ(
          wrong.writes
              ? fi_write(reach.a.ep, mine.data(), wrong.length, nullptr, reach.to_b, wrong.address, wrong.key, &context)
              : fi_read(reach.a.ep, mine.data(), wrong.length, nullptr, reach.to_b, wrong.address, wrong.key, &context),
          0);
      const Ended ended = reach.done();
      EXPECT_EQ(ended.entry.err, wrong.error);
      EXPECT_EQ(ended.entry.op_context, &context);
    }
    // The last bytes are inside.
    ASSERT_EQ(fi_read(reach.a.ep, mine.data(), length, nullptr, reach.to_b, kLength - length, kKey, nullptr), 0);
    EXPECT_EQ(reach.done().entry.err, 0);
  }
  EXPECT_EQ(reach.memory, before);
  EXPECT_EQ(only_read, std::vector<std::byte>(kLength));
  EXPECT_EQ(only_written, std::vector<std::byte>(kLength));
  reach.region.close();
  ASSERT_EQ(fi_write(reach.a.ep, mine.data(), 8, nullptr, reach.to_b, 0, kKey, nullptr), 0);
  EXPECT_EQ(reach.done().entry.err, FI_EKEYREJECTED);
  EXPECT_EQ(reach.memory, before);
}

/// Closes the region at every number of steps after the start: before the request arrives, in its middle, after it.
TEST_P(RemoteSizes, a_region_that_is_closed_in_the_middle_ends_the_operation_one_way_or_the_other) {
  int failed = 0;
  int succeeded = 0;
  for (const bool writes : {true, false}) {
    for (int steps = 0; steps < 12; ++steps) {
      Reach reach(3'000'000);
      std::vector<std::byte> mine(reach.memory.size(), std::byte{0x33});
      ASSERT_EQ(writes ? fi_write(reach.a.ep, mine.data(), mine.size(), nullptr, reach.to_b, 0, kKey, nullptr)
                       : fi_read(reach.a.ep, mine.data(), mine.size(), nullptr, reach.to_b, 0, kKey, nullptr),
                0);
      fi_cq_tagged_entry none{};
      for (int i = 0; i < steps; ++i) {
        (void)!fi_cq_read(reach.b.receives, &none, 0);
        (void)!fi_cq_read(reach.a.sends, &none, 0);
      }
      reach.region.close();
      const std::vector<std::byte> at_close = reach.memory;
      const Ended ended = reach.done();
      EXPECT_TRUE(reach.memory == at_close);  // nobody writes after the close
      EXPECT_TRUE(ended.entry.err == 0 || ended.entry.err == FI_EKEYREJECTED) << ended.entry.err;
      EXPECT_TRUE(ended.entry.err != 0 || mine == reach.memory);
      ++(ended.entry.err == 0 ? succeeded : failed);
      // The endpoint goes on.
      const Registered again(reach.b, reach.memory.data(), 8);
      ASSERT_EQ(fi_read(reach.a.ep, mine.data(), 8, nullptr, reach.to_b, 0, kKey, nullptr), 0);
      EXPECT_EQ(reach.done().entry.err, 0);
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(succeeded + (std::string(GetParam()) == "0" ? 1 : 0), 0);
}

TEST(ProviderRemote, keys_are_the_programs_and_each_is_one_region) {
  Side side;
  std::array<std::byte, 16> memory{};
  const Registered region(side, memory.data(), memory.size());
  EXPECT_EQ(region.key(), kKey);
  fid_mr* mr = nullptr;
  EXPECT_EQ(fi_mr_reg(side.domain, memory.data(), 8, FI_REMOTE_READ, 0, kKey, 0, &mr, nullptr), -FI_ENOKEY);
  EXPECT_EQ(fi_mr_reg(side.domain, memory.data(), 8, FI_REMOTE_READ, 0, 5, FI_RMA_PMEM, &mr, nullptr), -FI_EBADFLAGS);
  EXPECT_EQ(fi_mr_reg(side.domain, memory.data(), 8, FI_MULTI_RECV, 0, 5, 0, &mr, nullptr), -FI_EINVAL);
  const iovec pieces[] = {{memory.data(), 8}, {memory.data() + 8, 8}};
  EXPECT_EQ(fi_mr_regv(side.domain, pieces, 2, FI_REMOTE_READ, 0, 5, 0, &mr, nullptr), -FI_EINVAL);
  ASSERT_EQ(fi_mr_regv(side.domain, pieces, 1, FI_REMOTE_READ, 0, 5, 0, &mr, nullptr), 0);
  EXPECT_EQ(fi_mr_enable(mr), 0);
  EXPECT_EQ(fi_mr_bind(mr, &side.ep->fid, 0), 0);
  EXPECT_EQ(fi_mr_bind(mr, &side.av->fid, 0), -FI_EINVAL);
  EXPECT_EQ(fi_close(&side.domain->fid), -FI_EBUSY);
  EXPECT_EQ(fi_close(&mr->fid), 0);
  fi_mr_attr attr{};
  attr.mr_iov = pieces;
  attr.iov_count = 1;
  attr.access = FI_REMOTE_WRITE;
  attr.requested_key = 5;
  attr.iface = FI_HMEM_CUDA;
  EXPECT_EQ(fi_mr_regattr(side.domain, &attr, 0, &mr), -FI_ENOSYS);
  attr.iface = FI_HMEM_SYSTEM;
  ASSERT_EQ(fi_mr_regattr(side.domain, &attr, 0, &mr), 0);
  EXPECT_EQ(fi_close(&mr->fid), 0);
  ASSERT_EQ(
      fi_mr_reg(side.domain, &attr, sizeof(attr), FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0, kKey, 0, &mr, nullptr),
      0);  // local use takes no key
  EXPECT_EQ(fi_close(&mr->fid), 0);
}

TEST(ProviderRemote, programs_of_basic_registration_use_addresses_and_get_keys) {
  const Side::How basic{.mr_mode = FI_MR_BASIC};
  Reach reach(64, kBothRights, basic);
  EXPECT_EQ(reach.b.info->domain_attr->mr_mode, FI_MR_BASIC);
  EXPECT_NE(reach.region.key(), kKey);
  const Registered second(reach.b, reach.memory.data(), 64);  // of the same wish
  const auto address = reinterpret_cast<std::uint64_t>(reach.memory.data());
  std::uint64_t value = 0x0102'0304'0506'0708U;
  for (const auto& [at, error] : {std::pair(address + 8, 0), std::pair(address + 57, FI_EACCES),
                                  std::pair(address - 1, FI_EACCES), std::pair(std::uint64_t{0}, FI_EACCES)}) {
    ASSERT_EQ(fi_write(reach.a.ep, &value, 8, nullptr, reach.to_b, at, reach.region.key(), nullptr), 0);
    EXPECT_EQ(reach.done().entry.err, error);
  }
  EXPECT_EQ(std::memcmp(reach.memory.data() + 8, &value, 8), 0);
  const Side::How scalable{.mr_mode = FI_MR_SCALABLE};
  EXPECT_EQ(Side(scalable).info->domain_attr->mr_mode, FI_MR_SCALABLE);
  EXPECT_EQ(Side().info->domain_attr->mr_mode, 0);
}

TEST(ProviderRemote, counters_count_what_was_done_here_and_what_peers_did) {
  Pair pair({.transmit_flags = FI_TRANSMIT | FI_SELECTIVE_COMPLETION});
  std::array<std::uint64_t, 4> memory{};
  const Registered region(pair.b, memory.data(), sizeof(memory));
  fid_cntr* counters[6] = {};
  Side* const sides[6] = {&pair.a, &pair.a, &pair.b, &pair.b, &pair.b, &pair.b};
  fi_cntr_attr attr{};
  for (int i = 0; i < 6; ++i) ASSERT_EQ(fi_cntr_open(sides[i]->domain, &attr, &counters[i], nullptr), 0);
  const auto second = [&](Side& side, int read, int write, std::uint64_t read_flag, std::uint64_t write_flag) {
    fid_ep* ep = nullptr;
    EXPECT_EQ(fi_endpoint(side.domain, side.info.get(), &ep, nullptr), 0);
    EXPECT_EQ(fi_ep_bind(ep, &side.av->fid, 0), 0);
    EXPECT_EQ(fi_ep_bind(ep, &counters[read]->fid, read_flag), 0);
    EXPECT_EQ(fi_ep_bind(ep, &counters[write]->fid, write_flag), 0);
    EXPECT_EQ(fi_enable(ep), 0);
    return ep;
  };
  fid_ep* const from = second(pair.a, 0, 1, FI_READ, FI_WRITE);
  fid_ep* const to = second(pair.b, 2, 3, FI_REMOTE_READ, FI_REMOTE_WRITE);
  std::vector<std::byte> name(kNameBytes);
  std::size_t length = name.size();
  ASSERT_EQ(fi_getname(&to->fid, name.data(), &length), 0);
  const fi_addr_t there = pair.a.insert(name);
  EXPECT_EQ(fi_mr_bind(region.mr(), &counters[4]->fid, FI_REMOTE_READ), 0);
  EXPECT_EQ(fi_mr_bind(region.mr(), &counters[5]->fid, FI_REMOTE_WRITE), 0);
  EXPECT_EQ(fi_mr_bind(region.mr(), &counters[5]->fid, FI_SEND), -FI_EBADFLAGS);
  EXPECT_EQ(fi_close(&counters[5]->fid), -FI_EBUSY);
  std::uint64_t value = 3;
  std::uint64_t found = 9;
  ASSERT_EQ(fi_write(from, &value, 8, nullptr, there, 8, kKey, nullptr), 0);
  ASSERT_EQ(fi_atomic(from, &value, 1, nullptr, there, 8, kKey, FI_UINT64, FI_SUM, nullptr), 0);
  ASSERT_EQ(fi_inject_write(from, &value, 8, there, 0, kKey), 0);
  ASSERT_EQ(fi_read(from, &found, 8, nullptr, there, 8, kKey, nullptr), 0);
  ASSERT_EQ(fi_write(from, &value, 8, nullptr, there, 8, kKey + 1, nullptr), 0);
  const auto reaches = [&](int counter, std::uint64_t count, std::uint64_t errors) {
    while (fi_cntr_read(counters[counter]) != count || fi_cntr_readerr(counters[counter]) != errors) {
      (void)fi_cntr_read(counters[0]);
      (void)fi_cntr_read(counters[2]);
    }
  };
  reaches(0, 1, 0);
  reaches(1, 3, 1);
  reaches(2, 1, 0);
  reaches(3, 3, 0);
  reaches(4, 1, 0);
  reaches(5, 3, 0);
  EXPECT_EQ(found, 6U);
  for (fid_ep* const ep : {from, to}) EXPECT_EQ(fi_close(&ep->fid), 0);
  ASSERT_EQ(fi_mr_bind(region.mr(), &counters[4]->fid, FI_REMOTE_WRITE), 0);  // instead of the other one
  for (const int i : {0, 1, 2, 3, 5}) EXPECT_EQ(fi_close(&counters[i]->fid), 0);
  EXPECT_EQ(fi_close(&counters[4]->fid), -FI_EBUSY);
  const_cast<Registered&>(region).close();
  EXPECT_EQ(fi_close(&counters[4]->fid), 0);
}

TEST(ProviderRemote, operations_are_applied_in_the_order_of_the_calls) {
  Reach reach(8192);
  // Writes overtake neither earlier writes nor reads, and a message comes after the bytes of earlier writes.
  std::vector<std::uint64_t> seen(200);
  fi_cq_tagged_entry none{};
  const auto retry = [&](const auto& call) {
    ssize_t result = 0;
    while ((result = call()) == -FI_EAGAIN) (void)!fi_cq_read(reach.b.receives, &none, 0);
    ASSERT_EQ(result, 0);
  };
  for (std::uint64_t i = 0; i < seen.size(); ++i) {
    retry([&] { return fi_inject_write(reach.a.ep, &i, sizeof(i), reach.to_b, 64, kKey); });
    retry([&] { return fi_read(reach.a.ep, &seen[i], sizeof(i), nullptr, reach.to_b, 64, kKey, &seen[i]); });
  }
  const int over = 1;
  retry([&] { return fi_tinject(reach.a.ep, &over, sizeof(over), reach.to_b, 1); });
  int into = 0;
  ASSERT_EQ(fi_trecv(reach.b.ep, &into, sizeof(into), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
  EXPECT_EQ(await(reach.b.receives, reach.a).entry.err, 0);
  std::uint64_t last = 0;
  std::memcpy(&last, reach.memory.data() + 64, sizeof(last));
  EXPECT_EQ(last, seen.size() - 1);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(reach.done().entry.err, 0);
  for (std::uint64_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
}

TEST(ProviderRemote, more_than_there_is_room_for_is_refused_and_all_else_is_done) {
  Reach reach(3'000'000);
  std::vector<std::byte> mine(20'000);
  int started = 0;
  for (;; ++started) {
    ASSERT_LE(started, 1024);
    const ssize_t result = fi_read(reach.a.ep, mine.data(), mine.size(), nullptr, reach.to_b, 0, kKey, nullptr);
    if (result == -FI_EAGAIN) break;
    ASSERT_EQ(result, 0);
  }
  EXPECT_GT(started, 30);
  for (int i = 0; i < started; ++i) ASSERT_EQ(reach.done().entry.err, 0);
}

TEST(ProviderRemote, an_endpoint_reaches_its_own_memory) {
  Side side;
  const fi_addr_t self = side.insert(side.name());
  std::vector<std::byte> memory(30'000);
  const Registered region(side, memory.data(), memory.size());
  for (const std::size_t length : {8, 20'000}) {
    const std::vector<std::byte> from = bytes_of(length, 4);
    std::vector<std::byte> into(length);
    ASSERT_EQ(fi_write(side.ep, from.data(), length, nullptr, self, 100, kKey, nullptr), 0);
    EXPECT_EQ(await(side.sends, side).entry.err, 0);
    ASSERT_EQ(fi_read(side.ep, into.data(), length, nullptr, self, 100, kKey, nullptr), 0);
    EXPECT_EQ(await(side.sends, side).entry.err, 0);
    EXPECT_EQ(from, into);
  }
  std::int64_t one = 1;
  std::int64_t found = -1;
  std::memset(memory.data(), 0, 8);
  ASSERT_EQ(fi_fetch_atomic(side.ep, &one, 1, nullptr, &found, nullptr, self, 0, kKey, FI_INT64, FI_SUM, nullptr), 0);
  EXPECT_EQ(await(side.sends, side).entry.err, 0);
  EXPECT_EQ(found, 0);
}

TEST_P(RemoteSizes, an_endpoint_that_closes_fails_what_peers_have_under_way) {
  Pair pair;
  fid_ep* second = nullptr;
  ASSERT_EQ(fi_endpoint(pair.b.domain, pair.b.info.get(), &second, nullptr), 0);
  ASSERT_EQ(fi_ep_bind(second, &pair.b.av->fid, 0), 0);
  ASSERT_EQ(fi_ep_bind(second, &pair.b.sends->fid, FI_TRANSMIT | FI_RECV), 0);
  ASSERT_EQ(fi_enable(second), 0);
  std::vector<std::byte> name(kNameBytes);
  std::size_t length = name.size();
  ASSERT_EQ(fi_getname(&second->fid, name.data(), &length), 0);
  const fi_addr_t to = pair.a.insert(name);
  std::vector<std::byte> memory(2'000'000);
  const Registered region(pair.b, memory.data(), memory.size());
  std::vector<std::byte> mine(memory.size());
  std::vector<std::byte> into(memory.size());
  ASSERT_EQ(fi_write(pair.a.ep, mine.data(), mine.size(), nullptr, to, 0, kKey, nullptr), 0);
  ASSERT_EQ(fi_read(pair.a.ep, into.data(), into.size(), nullptr, to, 0, kKey, nullptr), 0);
  fi_cq_tagged_entry none{};
  (void)!fi_cq_read(pair.b.receives, &none, 0);
  ASSERT_EQ(fi_close(&second->fid), 0);
  for (int i = 0; i < 2; ++i) {
    const int error = await(pair.a.sends, pair.b).entry.err;
    EXPECT_TRUE(error == 0 || error == FI_ECONNREFUSED) << error;
  }
  ASSERT_EQ(fi_read(pair.a.ep, into.data(), 8, nullptr, to, 0, kKey, nullptr), 0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, FI_ECONNREFUSED);
}

TEST(ProviderRemote, operations_at_a_killed_process_end_in_an_error) {
  for (const bool makes_progress : {true, false}) {
    OtherProcess other(makes_progress);
    Side side;
    const fi_addr_t to = side.insert(other.name());
    std::vector<std::byte> mine(100'000);
    std::uint64_t found = 0;
    if (!makes_progress) {
      ASSERT_EQ(fi_write(side.ep, mine.data(), mine.size(), nullptr, to, 0, kKey, nullptr), 0);
      ASSERT_EQ(fi_read(side.ep, mine.data(), mine.size(), nullptr, to, 0, kKey, nullptr), 0);
      ASSERT_EQ(fi_fetch_atomic(side.ep, &found, 1, nullptr, &found, nullptr, to, 0, kKey, FI_UINT64, FI_SUM, nullptr),
                0);
      EXPECT_FALSE(poll(side.sends));
    }
    other.kill();
    if (makes_progress) {
      // Its death is seen when something waits for it.
      ASSERT_EQ(fi_read(side.ep, mine.data(), mine.size(), nullptr, to, 0, kKey, nullptr), 0);
      EXPECT_EQ(await(side.sends, side).entry.err, FI_ECONNRESET);
    } else {
      for (int i = 0; i < 3; ++i) EXPECT_EQ(await(side.sends, side).entry.err, FI_ECONNRESET);
    }
    EXPECT_EQ(fi_write(side.ep, mine.data(), 8, nullptr, to, 0, kKey, nullptr), -FI_EHOSTUNREACH);
  }
}

/// The target makes no call of libfabric after the registration.
TEST_P(RemoteSizes, a_thread_makes_progress_for_a_target_that_computes) {
  for (const bool is_setting : {false, true}) {
    if (is_setting) ::setenv("FI_STOPBIT_PROGRESS_THREAD", "1", 1);
    const Side::How how{.threading = FI_THREAD_DOMAIN, .progress = is_setting ? FI_PROGRESS_UNSPEC : FI_PROGRESS_AUTO};
    Side target(how);
    ::unsetenv("FI_STOPBIT_PROGRESS_THREAD");
    EXPECT_EQ(target.info->domain_attr->data_progress, is_setting ? FI_PROGRESS_MANUAL : FI_PROGRESS_AUTO);
    Side side;
    const fi_addr_t to = side.insert(target.name());
    std::vector<std::byte> memory(300'000);
    const Registered region(target, memory.data(), memory.size());
    for (unsigned seed = 0; seed < 20; ++seed) {
      const std::size_t length = seed % 2 == 0 ? 8 : memory.size();
      const std::vector<std::byte> from = bytes_of(length, seed);
      std::vector<std::byte> into(length);
      ASSERT_EQ(fi_write(side.ep, from.data(), length, nullptr, to, 0, kKey, nullptr), 0);
      EXPECT_EQ(await(side.sends, side).entry.err, 0);
      ASSERT_EQ(fi_read(side.ep, into.data(), length, nullptr, to, 0, kKey, nullptr), 0);
      EXPECT_EQ(await(side.sends, side).entry.err, 0);
      EXPECT_TRUE(into == from);
      std::uint64_t one = 1;
      std::uint64_t found = 0;
      ASSERT_EQ(fi_fetch_atomic(side.ep, &one, 1, nullptr, &found, nullptr, to, 0, kKey, FI_UINT64, FI_SUM, nullptr),
                0);
      EXPECT_EQ(await(side.sends, side).entry.err, 0);
    }
  }
}

/// A process asks for long transfers on our memory and is killed with them under way.
TEST_P(RemoteSizes, a_killed_process_leaves_nothing_of_its_operations) {
  Side side;
  std::vector<std::byte> memory(3'000'000);
  const Registered region(side, memory.data(), memory.size());
  const std::vector<std::byte> name = side.name();
  for (int round = 0; round < 3; ++round) {
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const Side other;
      const fi_addr_t to = other.insert(name);
      std::vector<std::byte> mine(memory.size());
      for (int i = 0; i < 20; ++i) {
        if (fi_write(other.ep, mine.data(), mine.size(), nullptr, to, 0, kKey, nullptr) != 0) ::_exit(1);
        if (fi_read(other.ep, mine.data(), mine.size(), nullptr, to, 0, kKey, nullptr) != 0) ::_exit(1);
      }
      fi_cq_tagged_entry none{};
      for (int i = 0; i < 50; ++i) (void)!fi_cq_read(other.receives, &none, 0);
      const char byte = 1;
      if (::write(pipes[1], &byte, 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(pipes[1]);
    char byte = 0;
    fi_cq_tagged_entry none{};
    ASSERT_EQ(::read(pipes[0], &byte, 1), 1);
    for (int i = 0; i < 5; ++i) (void)!fi_cq_read(side.receives, &none, 0);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(pipes[0]);
    // The next process, with the dead one's number, is served, so nothing of the dead one holds a place for ever.
    Side next;
    const fi_addr_t to = next.insert(name);
    std::vector<std::byte> mine = bytes_of(memory.size(), 1);
    ASSERT_EQ(fi_write(next.ep, mine.data(), mine.size(), nullptr, to, 0, kKey, nullptr), 0);
    EXPECT_EQ(await(next.sends, side).entry.err, 0);
    EXPECT_TRUE(memory == mine);
  }
}

// FI_ATOMIC.

template <class T>
constexpr fi_datatype kType = FI_DATATYPE_LAST;
template <>
constexpr fi_datatype kType<std::int8_t> = FI_INT8;
template <>
constexpr fi_datatype kType<std::uint8_t> = FI_UINT8;
template <>
constexpr fi_datatype kType<std::int16_t> = FI_INT16;
template <>
constexpr fi_datatype kType<std::uint16_t> = FI_UINT16;
template <>
constexpr fi_datatype kType<std::int32_t> = FI_INT32;
template <>
constexpr fi_datatype kType<std::uint32_t> = FI_UINT32;
template <>
constexpr fi_datatype kType<std::int64_t> = FI_INT64;
template <>
constexpr fi_datatype kType<std::uint64_t> = FI_UINT64;
template <>
constexpr fi_datatype kType<float> = FI_FLOAT;
template <>
constexpr fi_datatype kType<double> = FI_DOUBLE;

template <class T>
class Atomic : public testing::Test {};
using AtomicTypes = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                                   std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(Atomic, AtomicTypes);

template <class T>
struct Row {
  fi_op op;
  T before;
  T operand;
  T compare;
  T after;
};

template <class T>
std::vector<Row<T>> rows() {
  using Limits = std::numeric_limits<T>;
  const T high = Limits::max();
  const T low = Limits::lowest();
  std::vector<Row<T>> rows = {
      {FI_MIN, high, 5, 0, 5},
      {FI_MIN, low, 5, 0, low},
      {FI_MAX, high, 5, 0, high},
      {FI_MAX, low, 5, 0, std::max<T>(low, 5)},
      {FI_SUM, 40, 2, 0, 42},
      {FI_PROD, 6, 7, 0, 42},
      {FI_LOR, 0, 9, 0, 1},
      {FI_LOR, 0, 0, 0, 0},
      {FI_LAND, 3, 9, 0, 1},
      {FI_LAND, 3, 0, 0, 0},
      {FI_LXOR, 3, 9, 0, 0},
      {FI_LXOR, 0, 9, 0, 1},
      {FI_ATOMIC_READ, 17, 99, 0, 17},
      {FI_ATOMIC_WRITE, 17, 99, 0, 99},
      {FI_CSWAP, 10, 20, 10, 20},
      {FI_CSWAP, 10, 20, 11, 10},
      {FI_CSWAP_NE, 10, 20, 11, 20},
      {FI_CSWAP_NE, 10, 20, 10, 10},
      {FI_CSWAP_LE, 10, 20, 10, 20},
      {FI_CSWAP_LE, 10, 20, 11, 10},
      {FI_CSWAP_LT, 10, 20, 9, 20},
      {FI_CSWAP_LT, 10, 20, 10, 10},
      {FI_CSWAP_GE, 10, 20, 10, 20},
      {FI_CSWAP_GE, 10, 20, 9, 10},
      {FI_CSWAP_GT, 10, 20, 11, 20},
      {FI_CSWAP_GT, 10, 20, 10, 10},
  };
  if constexpr (Limits::is_integer) {
    for (const Row<T>& row : {Row<T>{FI_SUM, high, 1, 0, low}, Row<T>{FI_PROD, high, high, 0, 1},
                              Row<T>{FI_BOR, 0x51, 0x0E, 0, 0x5F}, Row<T>{FI_BAND, 0x5F, 0x0E, 0, 0x0E},
                              Row<T>{FI_BXOR, 0x5F, 0x0E, 0, 0x51}, Row<T>{FI_MSWAP, 0x55, 0x2A, 0x0F, 0x5A}})
      rows.push_back(row);
  } else {
    rows.push_back({FI_SUM, T(0.5), T(0.25), 0, T(0.75)});
    rows.push_back({FI_MIN, T(-0.5), T(0.25), 0, T(-0.5)});
  }
  return rows;
}

TYPED_TEST(Atomic, every_operation_gives_its_value_and_the_one_before) {
  using T = TypeParam;
  Pair pair;
  // The neighbours must stay.
  alignas(8) std::array<T, 3> memory{};
  const Registered region(pair.b, memory.data(), sizeof(memory));
  for (const Row<T>& row : rows<T>()) {
    SCOPED_TRACE(static_cast<int>(row.op));
    const auto run = [&](T* found, const auto& start) {
      memory = {3, row.before, 4};
      ASSERT_EQ(start(), 0);
      const Ended ended = await(pair.a.sends, pair.b);
      EXPECT_EQ(ended.entry.err, 0);
      EXPECT_EQ(ended.entry.flags, FI_ATOMIC | (found == nullptr ? FI_WRITE : FI_READ));
      EXPECT_EQ(memory, (std::array<T, 3>{3, row.after, 4}));
      if (found != nullptr) {
        EXPECT_EQ(*found, row.before);
      }
    };
    T found{};
    if (row.op >= FI_CSWAP) {
      run(&found, [&] {
        return fi_compare_atomic(pair.a.ep, &row.operand, 1, nullptr, &row.compare, nullptr, &found, nullptr, pair.to_b,
                                 sizeof(T), kKey, kType<T>, row.op, nullptr);
      });
      continue;
    }
    run(&found, [&] {
      return fi_fetch_atomic(pair.a.ep, &row.operand, 1, nullptr, &found, nullptr, pair.to_b, sizeof(T), kKey, kType<T>,
                             row.op, nullptr);
    });
    if (row.op == FI_ATOMIC_READ) continue;
    run(nullptr, [&] {
      return fi_atomic(pair.a.ep, &row.operand, 1, nullptr, pair.to_b, sizeof(T), kKey, kType<T>, row.op, nullptr);
    });
  }
}

/// In one call: operands and values to compare with are in one frame, which is shorter over a network.
std::size_t most_bytes() {
  return is_remote() ? 652 : 2048;
}

TEST(ProviderAtomic, what_is_offered_can_be_asked_for) {
  Side side;
  std::size_t count = 0;
  EXPECT_EQ(fi_atomicvalid(side.ep, FI_INT64, FI_SUM, &count), 0);
  EXPECT_EQ(count, most_bytes() / 8);
  EXPECT_EQ(fi_fetch_atomicvalid(side.ep, FI_UINT8, FI_ATOMIC_READ, &count), 0);
  EXPECT_EQ(count, most_bytes());
  EXPECT_EQ(fi_compare_atomicvalid(side.ep, FI_UINT32, FI_CSWAP, &count), 0);
  EXPECT_EQ(fi_atomicvalid(side.ep, FI_INT64, FI_ATOMIC_READ, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomicvalid(side.ep, FI_INT64, FI_CSWAP, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomicvalid(side.ep, FI_DOUBLE, FI_BOR, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_compare_atomicvalid(side.ep, FI_FLOAT, FI_MSWAP, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_atomicvalid(side.ep, FI_LONG_DOUBLE, FI_SUM, &count), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_fetch_atomicvalid(side.ep, FI_INT64, FI_ATOMIC_OP_LAST, &count), -FI_EOPNOTSUPP);
  fi_atomic_attr attr{};
  EXPECT_EQ(fi_query_atomic(side.domain, FI_INT32, FI_SUM, &attr, FI_FETCH_ATOMIC), 0);
  EXPECT_EQ(attr.count, most_bytes() / 4);
  EXPECT_EQ(attr.size, 4U);
  EXPECT_EQ(fi_query_atomic(side.domain, FI_INT32, FI_SUM, &attr, FI_COMPARE_ATOMIC), -FI_EOPNOTSUPP);
  EXPECT_EQ(fi_query_atomic(side.domain, FI_INT32, FI_SUM, &attr, FI_TAGGED), -FI_EINVAL);
}

TEST(ProviderAtomic, vectors_and_messages_take_their_values_from_pieces) {
  Pair pair;
  const std::size_t most = most_bytes() / sizeof(std::int32_t);
  std::vector<std::int32_t> memory(most);
  std::iota(memory.begin(), memory.end(), 0);
  const Registered region(pair.b, memory.data(), memory.size() * sizeof(std::int32_t));
  std::vector<std::int32_t> operands(most + 1, 1000);
  std::vector<std::int32_t> found(most);
  const fi_ioc in[] = {{operands.data(), 1}, {operands.data() + 1, most - 1}};
  fi_ioc out[] = {{found.data(), most - 12}, {found.data() + most - 12, 12}};
  ASSERT_EQ(fi_fetch_atomicv(pair.a.ep, in, nullptr, 2, out, nullptr, 2, pair.to_b, 0, kKey, FI_INT32, FI_SUM, nullptr),
            0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(found[i], static_cast<std::int32_t>(i));
    ASSERT_EQ(memory[i], static_cast<std::int32_t>(i) + 1000);
  }
  EXPECT_EQ(fi_atomic(pair.a.ep, operands.data(), most + 1, nullptr, pair.to_b, 0, kKey, FI_INT32, FI_SUM, nullptr),
            -FI_EINVAL);
  EXPECT_EQ(fi_atomic(pair.a.ep, operands.data(), 0, nullptr, pair.to_b, 0, kKey, FI_INT32, FI_SUM, nullptr),
            -FI_EINVAL);

  fi_rma_ioc remote{8, 2, kKey};
  fi_ioc two{operands.data(), 2};
  fi_ioc compare{found.data() + 2, 2};
  fi_msg_atomic msg{};
  msg.msg_iov = &two;
  msg.iov_count = 1;
  msg.addr = pair.to_b;
  msg.rma_iov = &remote;
  msg.rma_iov_count = 1;
  msg.datatype = FI_INT32;
  msg.op = FI_ATOMIC_WRITE;
  ASSERT_EQ(fi_atomicmsg(pair.a.ep, &msg, FI_COMPLETION | FI_INJECT), 0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  EXPECT_EQ(memory[3], 1000);
  fi_ioc result{found.data(), 2};
  msg.op = FI_BXOR;
  ASSERT_EQ(fi_fetch_atomicmsg(pair.a.ep, &msg, &result, nullptr, 1, FI_COMPLETION), 0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  EXPECT_EQ(found[0], 1000);
  EXPECT_EQ(memory[3], 0);
  found[2] = found[3] = 0;
  msg.op = FI_CSWAP;
  ASSERT_EQ(fi_compare_atomicmsg(pair.a.ep, &msg, &compare, nullptr, 1, &result, nullptr, 1, FI_COMPLETION), 0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  EXPECT_EQ(memory[2], 1000);
  ASSERT_EQ(fi_compare_atomicv(pair.a.ep, &two, nullptr, 1, &compare, nullptr, 1, &result, nullptr, 1, pair.to_b, 8,
                               kKey, FI_INT32, FI_CSWAP_GE, nullptr),
            0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  ASSERT_EQ(fi_atomicv(pair.a.ep, in, nullptr, 1, pair.to_b, 8, kKey, FI_INT32, FI_SUM, nullptr), 0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  EXPECT_EQ(memory[2], 2000);
  ASSERT_EQ(fi_inject_atomic(pair.a.ep, operands.data(), 1, pair.to_b, 8, kKey, FI_INT32, FI_SUM), 0);
  // Reads of values name no operands.
  remote.count = 1;
  msg.op = FI_ATOMIC_READ;
  msg.iov_count = 0;
  result.count = 1;
  ASSERT_EQ(fi_fetch_atomicmsg(pair.a.ep, &msg, &result, nullptr, 1, FI_COMPLETION), 0);
  EXPECT_EQ(await(pair.a.sends, pair.b).entry.err, 0);
  EXPECT_EQ(found[0], 3000);
  EXPECT_EQ(fi_fetch_atomicmsg(pair.a.ep, &msg, &result, nullptr, 1, FI_REMOTE_CQ_DATA), -FI_EINVAL);
  remote.count = 3;
  msg.op = FI_SUM;
  msg.iov_count = 1;
  EXPECT_EQ(fi_atomicmsg(pair.a.ep, &msg, 0), -FI_EINVAL);
}

TEST(ProviderAtomic, rights_ranges_and_alignment_are_checked_at_the_target) {
  Pair pair;
  alignas(8) std::array<std::uint64_t, 2> memory{1, 2};
  const Registered both(pair.b, memory.data(), sizeof(memory));
  const Registered readable(pair.b, memory.data(), sizeof(memory), FI_REMOTE_READ, 1);
  const Registered writable(pair.b, memory.data(), sizeof(memory), FI_REMOTE_WRITE, 2);
  const std::uint64_t one = 1;
  std::uint64_t found = 0;
  const auto fetch = [&](fi_op op, std::uint64_t address, std::uint64_t key) {
    EXPECT_EQ(
        fi_fetch_atomic(pair.a.ep, &one, 1, nullptr, &found, nullptr, pair.to_b, address, key, FI_UINT64, op, nullptr),
        0);
    return await(pair.a.sends, pair.b).entry.err;
  };
  const auto add = [&](std::uint64_t key) {
    EXPECT_EQ(fi_atomic(pair.a.ep, &one, 1, nullptr, pair.to_b, 0, key, FI_UINT64, FI_SUM, nullptr), 0);
    return await(pair.a.sends, pair.b).entry.err;
  };
  EXPECT_EQ(fetch(FI_SUM, 0, kKey + 1), FI_EKEYREJECTED);
  EXPECT_EQ(fetch(FI_SUM, 0, 1), FI_EACCES);
  EXPECT_EQ(fetch(FI_SUM, 0, 2), FI_EACCES);
  EXPECT_EQ(fetch(FI_ATOMIC_READ, 0, 1), 0);
  EXPECT_EQ(fetch(FI_ATOMIC_READ, 0, 2), FI_EACCES);
  EXPECT_EQ(fetch(FI_SUM, 9, kKey), FI_EACCES);
  EXPECT_EQ(fetch(FI_SUM, 4, kKey), FI_EINVAL);
  EXPECT_EQ(add(1), FI_EACCES);
  EXPECT_EQ(memory[0], 1U);
  EXPECT_EQ(add(2), 0);
  EXPECT_EQ(memory[0], 2U);
}

TEST(ProviderAtomic, threads_of_the_target_and_peers_lose_no_addition) {
  Pair pair;
  Side third;
  const fi_addr_t third_to_b = third.insert(pair.b.name());
  alignas(8) std::uint64_t sum = 0;
  const Registered region(pair.b, &sum, sizeof(sum));
  constexpr std::uint64_t kEach = 2000;
  std::atomic<int> running = 3;
  std::vector<std::thread> threads;
  for (const auto& [side, to] : {std::pair(&pair.a, pair.to_b), std::pair(&third, third_to_b)}) {
    threads.emplace_back([&, side = side, to = to] {
      const std::uint64_t one = 1;
      for (std::uint64_t i = 0; i < kEach;) {
        if (fi_inject_atomic(side->ep, &one, 1, to, 0, kKey, FI_UINT64, FI_SUM) == 0) ++i;
      }
      std::uint64_t found = 0;
      while (fi_fetch_atomic(side->ep, nullptr, 1, nullptr, &found, nullptr, to, 0, kKey, FI_UINT64, FI_ATOMIC_READ,
                             nullptr) != 0) {
      }
      while (!poll(side->sends)) std::this_thread::yield();
      --running;
    });
  }
  threads.emplace_back([&] {
    for (std::uint64_t i = 0; i < kEach; ++i) std::atomic_ref(sum).fetch_add(1);
    --running;
  });
  while (running != 0) EXPECT_FALSE(poll(pair.b.receives));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 3 * kEach);
}

}  // namespace
}  // namespace stopbit::nic::provider_test
