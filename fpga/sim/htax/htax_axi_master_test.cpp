#include <Vstopbit_htax_axi_master.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "host_memory.hpp"
#include "htax_packet.hpp"

// Units' writes and reads in the host's memory.

namespace stopbit::sim::htax {
namespace {

constexpr std::uint64_t kPage = 4096;

class CardToHost : public ::testing::Test {
 protected:
  CardToHost() {
    bench_->posted_valid_i = bench_->request_valid_i = bench_->response_ready_i = 0;
    bench_->awready_i = bench_->wready_i = bench_->bvalid_i = bench_->arready_i = bench_->rvalid_i = 0;
    bench_.reset();
  }

  void cycle(Random& random, std::uint32_t stall) {
    const auto goes = [&] { return !random.chance(stall); };
    bench_->posted_valid_i = !posted_.empty() && (bench_->posted_valid_i != 0 || goes());
    bench_->request_valid_i = !requests_.empty() && (bench_->request_valid_i != 0 || goes());
    if (!posted_.empty()) bench_->posted_phit_i = posted_.front();
    if (!requests_.empty()) bench_->request_phit_i = requests_.front();
    bench_->response_ready_i = goes();
    bench_->awready_i = goes();
    bench_->wready_i = goes();
    bench_->arready_i = goes();
    const bool responds = !responses_.empty() && goes();
    bench_->bvalid_i = responds;
    bench_->bresp_i = responds ? responses_.front() : 0;
    bench_->rvalid_i = !beats_.empty() && (bench_->rvalid_i != 0 || goes());
    if (!beats_.empty()) {
      bench_->rdata_i = beats_.front().data;
      bench_->rresp_i = beats_.front().response;
      bench_->rlast_i = beats_.front().is_last;
    }
    bench_.settle();
    refused_ += bench_->refused_write_o + bench_->refused_read_o;
    write_errors_ += bench_->write_error_o;
    const bool posted = bench_->posted_valid_i != 0 && bench_->posted_ready_o != 0;
    const bool requested = bench_->request_valid_i != 0 && bench_->request_ready_o != 0;
    const bool beat = bench_->rvalid_i != 0 && bench_->rready_o != 0;
    if (bench_->awvalid_o != 0 && bench_->awready_i != 0) {
      ASSERT_EQ(bench_->awaddr_o % 8, 0U);
      ASSERT_LE(bench_->awaddr_o % kPage + 8 * (std::uint64_t{bench_->awlen_o} + 1), kPage);
      writes_.emplace_back(bench_->awaddr_o, bench_->awlen_o + std::size_t{1});
    }
    if (bench_->wvalid_o != 0 && bench_->wready_i != 0) {
      ASSERT_FALSE(writes_.empty()) << "data before its address";
      auto& [address, left] = writes_.front();
      write_word(memory_, address, bench_->wdata_o, bench_->wstrb_o);
      address += 8;
      ASSERT_EQ(bench_->wlast_o != 0, --left == 0);
      if (left == 0) {
        writes_.pop_front();
        responses_.push_back(address / 8 % 64 == 63 ? 2 : 0);
      }
    }
    if (bench_->arvalid_o != 0 && bench_->arready_i != 0) {
      ASSERT_TRUE(writes_.empty() && responses_.empty()) << "a read before the writes that came before it";
      std::vector<std::uint64_t> words;
      for (std::size_t i = 0; i <= bench_->arlen_o; ++i) {
        words.push_back(word(bench_->araddr_o + 8 * i));
        beats_.push_back({.data = words.back(),
                          .response = fails_ && i == 1 ? std::uint8_t{2} : std::uint8_t{0},
                          .is_last = i == bench_->arlen_o});
      }
      read_.push_back(words);
    }
    if (bench_->response_valid_o != 0 && bench_->response_ready_i != 0 && response_.put(bench_->response_phit_o)) {
      ASSERT_FALSE(expected_.empty());
      const Header header = from_phit(response_.packet()[0]);
      ASSERT_EQ(header.channel, std::size_t{kResponse});
      ASSERT_EQ(header.tag, expected_.front().tag);
      ASSERT_EQ(header.error, expected_.front().is_error);
      ASSERT_EQ(header.length, expected_.front().is_error ? 0 : expected_.front().phits);
      for (std::size_t i = 0; i < header.length; ++i) ASSERT_EQ(response_.packet()[i + 1], read_.front()[i]);
      if (header.length != 0 || (header.error && fails_)) read_.pop_front();
      expected_.pop_front();
    }
    bench_.step();
    if (responds) responses_.pop_front();
    if (posted) {
      posted_.pop_front();
      bench_->posted_valid_i = 0;
    }
    if (requested) {
      requests_.pop_front();
      bench_->request_valid_i = 0;
    }
    if (beat) {
      beats_.pop_front();
      bench_->rvalid_i = 0;
    }
  }

  [[nodiscard]] std::uint64_t word(std::uint64_t address) const {
    std::uint64_t value = first_word(address);
    for (unsigned i = 0; i < 8; ++i) {
      const auto found = memory_.find(address + i);
      if (found == memory_.end()) continue;
      value = (value & ~(std::uint64_t{0xFF} << 8 * i)) | std::uint64_t{found->second} << 8 * i;
    }
    return value;
  }
  void post(const Packet& packet) { posted_.insert(posted_.end(), packet.begin(), packet.end()); }
  void ask(std::uint64_t address, std::uint64_t phits, std::size_t tag, bool is_error) {
    requests_.push_back(to_phit({.channel = kNonposted, .length = 1, .tag = tag, .address = address}));
    requests_.push_back(phits);
    expected_.push_back({.address = address, .phits = phits, .tag = tag, .is_error = is_error});
  }
  void drain(Random& random, std::uint32_t stall) {
    for (int i = 0; i < 100'000 && !HasFatalFailure() && !is_done(); ++i) cycle(random, stall);
    EXPECT_TRUE(is_done());
    for (int i = 0; i < 50; ++i) cycle(random, 0);
  }
  [[nodiscard]] bool is_done() const {
    return posted_.empty() && requests_.empty() && expected_.empty() && writes_.empty() && responses_.empty();
  }

  struct BeatOut {
    std::uint64_t data;
    std::uint8_t response;
    bool is_last;
  };
  struct Expected {
    std::uint64_t address;
    std::uint64_t phits;
    std::size_t tag;
    bool is_error;
  };
  Bench<Vstopbit_htax_axi_master> bench_{23};
  std::deque<std::uint64_t> posted_, requests_;  ///< Phits.
  std::deque<std::pair<std::uint64_t, std::size_t>> writes_;
  std::deque<std::uint8_t> responses_;
  std::deque<BeatOut> beats_;
  std::deque<std::vector<std::uint64_t>> read_;  ///< Words of memory when they were read.
  std::deque<Expected> expected_;
  Bytes memory_;
  bool fails_ = false;
  std::size_t refused_ = 0, write_errors_ = 0;

 private:
  Collector response_;
};

TEST_F(CardToHost, writes_and_reads_memory_in_order) {
  for (const std::uint32_t stall : {0U, 40U, 80U}) {
    Random random(stall + 11);
    Bytes expected = memory_;
    for (int i = 0; i < 300; ++i) {
      const std::size_t phits = 1 + random.below(8);
      const std::uint64_t address = 8 * random.below(512 - 8);
      const std::uint64_t mask = phits == 1 ? random.bits() & 0xFF : 0xFF;
      const Packet packet = make(
          random, {.channel = kPosted, .length = phits, .origin = mask >> 5, .tag = mask & 31, .address = address});
      post(packet);
      for (std::size_t w = 0; w < phits; ++w)
        write_word(expected, address + 8 * w, packet[w + 1], static_cast<std::uint8_t>(mask));
    }
    drain(random, stall);
    EXPECT_TRUE(memory_ == expected);
    for (int i = 0; i < 200; ++i) {
      ask(8 * random.below(512 - 8), 1 + random.below(8), random.below(32), false);
    }
    drain(random, stall);
    if (HasFailure()) return;
  }
  EXPECT_EQ(refused_, 0U);
  EXPECT_GT(write_errors_, 0U) << "the bench has refused some";
}

TEST_F(CardToHost, a_read_waits_for_the_writes_before_it_and_later_writes_wait_for_it) {
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t address = 8 * random.below(512 - 8);
    post(make(random, {.channel = kPosted, .length = 4, .address = address}));
    if (i % 10 == 0) ask(address, 4, static_cast<std::size_t>(i) % 32, false);
  }
  drain(random, 30);
}

TEST_F(CardToHost, what_cannot_be_is_refused_and_answered) {
  Random random(13);
  std::size_t refused = 0;
  for (int round = 0; round < 40; ++round) {
    ask(8 * random.below(100), 8, 1, false);
    ask(4, 1, 2, true);           // not aligned
    ask(kPage - 16, 3, 3, true);  // crosses a page
    ask(0, 0, 4, true);           // nothing
    ask(0, 9, 5, true);           // too much
    ask(0, 1ULL << 40, 6, true);
    requests_.push_back(to_phit({.channel = kNonposted, .length = 0, .tag = 7}));
    expected_.push_back({.address = 0, .phits = 0, .tag = 7, .is_error = true});
    requests_.push_back(to_phit({.channel = kNonposted, .length = 3, .tag = 8}));
    for (int i = 0; i < 3; ++i) requests_.push_back(random.bits());
    expected_.push_back({.address = 0, .phits = 0, .tag = 8, .is_error = true});
    post(make(random, {.channel = kPosted, .length = 0, .address = 0}));
    post(make(random, {.channel = kPosted, .length = 9, .address = 0}));
    post(make(random, {.channel = kPosted, .length = 2, .address = 12}));
    post(make(random, {.channel = kPosted, .length = 2, .address = kPage - 8}));
    refused += 7 + 4;
  }
  drain(random, 20);
  EXPECT_EQ(refused_, refused);
  EXPECT_TRUE(memory_.empty());
}

TEST_F(CardToHost, a_memory_that_refuses_a_beat_gives_an_error_and_the_next_read_is_right) {
  Random random(14);
  for (int i = 0; i < 40; ++i) {
    fails_ = i % 2 == 0;
    ask(8 * random.below(100), 2 + random.below(7), static_cast<std::size_t>(i) % 32, fails_);
    drain(random, 30);
  }
}

}  // namespace
}  // namespace stopbit::sim::htax
