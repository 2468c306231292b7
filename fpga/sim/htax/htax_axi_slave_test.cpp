#include <Vstopbit_htax_axi_slave.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "host_memory.hpp"
#include "htax_packet.hpp"

// The host's writes and reads.

namespace stopbit::sim::htax {
namespace {

struct Beat {
  std::uint64_t data;
  std::uint8_t mask;
};
struct Write {
  std::uint64_t address;
  std::uint8_t id;
  std::vector<Beat> beats;
};
struct Read {
  std::uint64_t address;
  std::uint8_t id;
  std::size_t beats;
};

class HostToCard : public ::testing::Test {
 protected:
  HostToCard() {
    bench_->awvalid_i = bench_->wvalid_i = bench_->bready_i = bench_->arvalid_i = bench_->rready_i = 0;
    bench_->posted_ready_i = bench_->request_ready_i = bench_->response_valid_i = 0;
    bench_->timeout_i = 0;
    bench_.reset();
  }

  /// A unit's answer; empty: it never answers.
  using Answer = std::function<Packet(const Header& asked, std::size_t phits)>;
  static Packet right(const Header& asked, std::size_t phits) {
    Packet packet{to_phit({.channel = kResponse, .length = phits, .tag = asked.tag})};
    for (std::size_t i = 0; i < phits; ++i) packet.push_back(first_word(asked.address + 8 * i));
    return packet;
  }

  void cycle(Random& random, std::uint32_t stall) {
    const auto goes = [&] { return !random.chance(stall); };
    bench_->awvalid_i = !writes_.empty() && !is_begun_ && (bench_->awvalid_i != 0 || goes());
    bench_->wvalid_i =
        !writes_.empty() && is_begun_ && at_ < writes_.front().beats.size() && (bench_->wvalid_i != 0 || goes());
    if (!writes_.empty()) {
      const Write& write = writes_.front();
      bench_->awaddr_i = write.address;
      bench_->awid_i = write.id;
      if (at_ < write.beats.size()) {
        bench_->wdata_i = write.beats[at_].data;
        bench_->wstrb_i = write.beats[at_].mask;
        bench_->wlast_i = at_ + 1 == write.beats.size();
      }
    }
    bench_->arvalid_i = !reads_.empty() && !is_reading_ && (bench_->arvalid_i != 0 || goes());
    // What is not valid means nothing.
    bench_->araddr_i = random.bits() & 0xFFFF'FFFF'FFFF;
    bench_->arid_i = static_cast<std::uint8_t>(random.below(16));
    if (bench_->arvalid_i != 0) {
      bench_->araddr_i = reads_.front().address;
      bench_->arid_i = reads_.front().id;
      bench_->arlen_i = static_cast<std::uint8_t>(reads_.front().beats - 1);
    }
    bench_->response_valid_i = !answers_.empty() && (bench_->response_valid_i != 0 || goes());
    if (!answers_.empty()) bench_->response_phit_i = answers_.front();
    bench_->bready_i = goes();
    bench_->rready_i = goes();
    bench_->posted_ready_i = goes();
    bench_->request_ready_i = goes() && room_ != 0;
    bench_.settle();
    if (bench_->request_valid_o != 0 && bench_->request_ready_i != 0) --room_;
    late_ += bench_->late_o;
    timed_out_ += bench_->timed_out_o;
    if (bench_->awvalid_i != 0 && bench_->awready_o != 0) is_begun_ = true;
    const bool beat_taken = bench_->wvalid_i != 0 && bench_->wready_o != 0;
    const bool responded = bench_->bvalid_o != 0 && bench_->bready_i != 0;
    const bool read_taken = bench_->arvalid_i != 0 && bench_->arready_o != 0;
    const bool answer_taken = bench_->response_valid_i != 0 && bench_->response_ready_o != 0;
    if (bench_->posted_valid_o != 0 && bench_->posted_ready_i != 0 && posted_.put(bench_->posted_phit_o)) {
      apply(posted_.packet());
    }
    if (bench_->request_valid_o != 0 && bench_->request_ready_i != 0 && request_.put(bench_->request_phit_o)) {
      const Header asked = from_phit(request_.packet()[0]);
      ASSERT_EQ(asked.channel, std::size_t{kNonposted});
      for (const std::uint64_t phit : answer_(asked, request_.packet()[1])) answers_.push_back(phit);
    }
    if (bench_->rvalid_o != 0 && bench_->rready_i != 0) {
      ASSERT_TRUE(is_reading_);
      const Read& read = reads_.front();
      ASSERT_EQ(bench_->rid_o, read.id);
      if (bench_->rresp_o == 0) {
        ASSERT_EQ(bench_->rdata_o, first_word(read.address + 8 * got_)) << "beat " << got_;
        ++good_;
      } else {
        ASSERT_EQ(bench_->rdata_o, 0U) << "of an error";
        ++bad_;
      }
      ASSERT_EQ(bench_->rlast_o != 0, ++got_ == read.beats);
      if (got_ == read.beats) {
        reads_.pop_front();
        is_reading_ = false;
        got_ = 0;
      }
    }
    bench_.step();
    if (beat_taken) {
      ++at_;
      bench_->wvalid_i = 0;
    }
    if (responded) {
      ASSERT_EQ(at_, writes_.front().beats.size()) << "before the last beat";
      writes_.pop_front();
      is_begun_ = false;
      at_ = 0;
    }
    if (read_taken) is_reading_ = true;
    if (answer_taken) {
      answers_.pop_front();
      bench_->response_valid_i = 0;
    }
  }

  void apply(const Packet& packet) {
    const Header header = from_phit(packet[0]);
    ASSERT_EQ(header.channel, std::size_t{kPosted});
    ASSERT_FALSE(header.error);
    ASSERT_LT(header.origin, 8U);
    ASSERT_LE(packet.size(), 9U);
    const auto mask = static_cast<std::uint8_t>((header.origin & 7) << 5 | header.tag);
    ASSERT_TRUE(packet.size() == 2 || mask == 0xFF);
    for (std::size_t i = 1; i < packet.size(); ++i) write_word(memory_, header.address + 8 * (i - 1), packet[i], mask);
    ++packets_;
  }

  Bench<Vstopbit_htax_axi_slave> bench_{19};
  std::deque<Write> writes_;
  std::deque<Read> reads_;
  std::deque<std::uint64_t> answers_;  ///< Phits.
  Answer answer_ = right;
  std::size_t room_ = ~std::size_t{0};  ///< For phits of requests.
  Bytes memory_;
  std::size_t packets_ = 0, good_ = 0, bad_ = 0, late_ = 0, timed_out_ = 0;

 private:
  Collector posted_, request_;
  std::size_t at_ = 0, got_ = 0;
  bool is_begun_ = false;
  bool is_reading_ = false;
};

TEST_F(HostToCard, writes_what_the_host_writes_and_reads_what_units_answer) {
  for (const std::uint32_t stall : {0U, 40U, 85U}) {
    Random random(stall + 1);
    Bytes expected;
    std::size_t beats = 0;
    for (int i = 0; i < 300; ++i) {
      Write write{.address = random.below(64) * 8, .id = static_cast<std::uint8_t>(random.below(16)), .beats = {}};
      const bool is_partial = random.chance(30);
      const std::size_t count = random.chance(10) ? 1 + random.below(40) : 1 + random.below(9);
      for (std::size_t b = 0; b < count; ++b) {
        const auto mask =
            is_partial ? static_cast<std::uint8_t>(random.chance(50) ? 0xFF : random.bits()) : std::uint8_t{0xFF};
        write.beats.push_back({.data = random.bits(), .mask = mask});
        write_word(expected, write.address + 8 * b, write.beats.back().data, mask);
      }
      writes_.push_back(std::move(write));
      reads_.push_back({.address = random.below(1000) * 8,
                        .id = static_cast<std::uint8_t>(random.below(16)),
                        .beats = 1 + random.below(30)});
      beats += reads_.back().beats;
    }
    memory_.clear();
    good_ = bad_ = 0;
    for (int i = 0; i < 200'000 && (!writes_.empty() || !reads_.empty()) && !HasFatalFailure(); ++i) {
      cycle(random, stall);
    }
    EXPECT_TRUE(writes_.empty() && reads_.empty());
    EXPECT_TRUE(memory_ == expected);
    EXPECT_EQ(good_, beats);
    EXPECT_EQ(bad_, 0U);
    if (HasFailure()) return;
  }
  EXPECT_EQ(late_, 0U);
}

TEST_F(HostToCard, a_whole_burst_is_one_packet_for_each_eight_beats) {
  Random random(5);
  Write write{.address = 64, .id = 1, .beats = {}};
  for (int i = 0; i < 20; ++i) write.beats.push_back({.data = random.bits(), .mask = 0xFF});
  writes_.push_back(write);
  for (int i = 0; i < 200; ++i) cycle(random, 0);
  EXPECT_EQ(packets_, 3U);
  // Also after one of which each beat left by itself.
  Write partial = write;
  partial.beats[19].mask = 1;
  writes_.push_back(partial);
  writes_.push_back(write);
  for (int i = 0; i < 400; ++i) cycle(random, 0);
  EXPECT_EQ(packets_, 3U + 2 + 4 + 3);
}

TEST_F(HostToCard, a_unit_that_answers_wrongly_late_or_never_ends_in_an_error_and_the_next_read_is_right) {
  Random random(6);
  bench_->timeout_i = 200;
  const std::array<Answer, 5> answers = {
      [](const Header&, std::size_t) { return Packet{}; },
      [](const Header& asked, std::size_t) {
        return Packet{to_phit({.error = true, .channel = kResponse, .tag = asked.tag})};
      },
      [](const Header& asked, std::size_t phits) {
        Packet packet = right(asked, phits + 1);
        return packet;
      },
      [](const Header& asked, std::size_t phits) {
        Packet packet = right(asked, phits - 1);
        return packet;
      },
      [](const Header& asked, std::size_t phits) {
        Header other = asked;
        other.tag = (asked.tag + 1) % 32;
        return right(other, phits);
      }};
  std::size_t expected_late = 0;
  for (std::size_t kind = 0; kind < answers.size(); ++kind) {
    SCOPED_TRACE("answer " + std::to_string(kind));
    good_ = bad_ = 0;
    answer_ = answers[kind];
    reads_.push_back({.address = 800, .id = 3, .beats = 4});
    for (int i = 0; i < 2'000 && !reads_.empty(); ++i) cycle(random, 20);
    EXPECT_EQ(bad_, 4U);
    EXPECT_EQ(good_, 0U);
    answer_ = right;
    reads_.push_back({.address = 80, .id = 4, .beats = 12});
    for (int i = 0; i < 2'000 && !reads_.empty(); ++i) cycle(random, 20);
    EXPECT_EQ(good_, 12U);
    expected_late += kind == 4 ? 1 : 0;
  }
  EXPECT_EQ(late_, expected_late);
  EXPECT_EQ(timed_out_, 2U);
  // One that comes after the host has given up.
  answer_ = [](const Header&, std::size_t) { return Packet{}; };
  reads_.push_back({.address = 800, .id = 3, .beats = 2});
  for (int i = 0; i < 1'000 && !reads_.empty(); ++i) cycle(random, 0);
  for (const std::uint64_t phit : right({.tag = 0}, 2)) answers_.push_back(phit);
  for (int i = 0; i < 20; ++i) cycle(random, 0);
  EXPECT_EQ(late_, expected_late + 1);
}

TEST_F(HostToCard, a_read_that_no_unit_takes_ends_in_an_error_and_the_next_one_is_right) {
  Random random(8);
  bench_->timeout_i = 200;
  for (const std::size_t room : {0U, 1U}) {
    SCOPED_TRACE(std::to_string(room) + " phits of a request are taken");
    room_ = room;
    good_ = bad_ = 0;
    for (int i = 0; i < 2; ++i) reads_.push_back({.address = 800, .id = 3, .beats = 4});
    for (int i = 0; i < 2'000 && !reads_.empty(); ++i) cycle(random, 20);
    EXPECT_EQ(bad_, 8U);
    room_ = ~std::size_t{0};
    reads_.push_back({.address = 80, .id = 4, .beats = 12});
    for (int i = 0; i < 2'000 && !reads_.empty(); ++i) cycle(random, 20);
    EXPECT_EQ(good_, 12U);
    EXPECT_EQ(late_, room);
  }
  EXPECT_EQ(timed_out_, 4U);
}

TEST_F(HostToCard, takes_three_cycles_at_most_from_a_beat_to_its_header) {
  Random random(7);
  writes_.push_back({.address = 8, .id = 0, .beats = {{.data = 1, .mask = 0xFF}}});
  std::size_t cycles = 0;
  while (bench_->posted_valid_o == 0 && cycles < 20) {
    cycle(random, 0);
    bench_.settle();
    ++cycles;
  }
  EXPECT_EQ(cycles, 2U) << "address, beat, header";
  for (int i = 0; i < 20; ++i) cycle(random, 0);
  reads_.push_back({.address = 8, .id = 0, .beats = 1});
  cycle(random, 0);
  bench_.settle();
  EXPECT_TRUE(bench_->request_valid_o) << "one cycle after its address";
}

}  // namespace
}  // namespace stopbit::sim::htax
