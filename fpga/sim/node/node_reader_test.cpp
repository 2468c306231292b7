/// A unit's reads: which packets leave and when, and what the unit is answered.
#include <Vrtl_node_reader.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "htax_packet.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kPort = 4;
constexpr std::uint64_t kTags = 32;
constexpr std::uint64_t kHtaxAddresses = std::uint64_t{1} << 48U;

/// Writes of the node on their way, as the reader hears of them.
class Writes {
 public:
  explicit Writes(Random& random) : random_(random) {}
  void step(std::uint32_t percent) {
    if (random_.chance(percent) && taken_ - gone_ < 100) ++taken_;
    if (random_.chance(percent) && handled_ < taken_) {
      ++handled_;
      if (random_.chance(70)) ++sent_;  // or it is dropped
      sent_at_.push_back(sent_);
      if (sent_at_.size() > kKept) sent_at_.pop_front();
    }
    if (random_.chance(percent) && gone_ < sent_) ++gone_;
  }
  [[nodiscard]] std::uint64_t bits() const {
    const auto count = [](std::uint64_t all) { return all & 0x3FF; };
    return count(taken_) << 30U | count(handled_) << 20U | count(sent_) << 10U | count(gone_);
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] bool is_quiet() const { return taken_ == handled_ && sent_ == gone_; }
  /// The host has the first `count` of them, but for those that were dropped.
  [[nodiscard]] bool has_gone(std::uint64_t count) const {
    if (handled_ < count) return false;
    const std::uint64_t after = handled_ - count;
    return after >= sent_at_.size() || gone_ >= sent_at_[sent_at_.size() - 1 - after];
  }
  /// Even with what was sent until now.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t gone() const { return gone_; }
  [[nodiscard]] std::uint64_t handled() const { return handled_; }

 private:
  static constexpr std::size_t kKept = 1'000;
  Random& random_;
  std::uint64_t taken_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t gone_ = 0;
  std::deque<std::uint64_t> sent_at_;  ///< Of each that was handled, how many were sent then.
};

class NodeReader : public ::testing::Test {
 protected:
  struct Read {
    std::uint64_t tag = 0;
    std::uint64_t address = 0;
    std::uint64_t words = 1;
    std::uint64_t taken = 0;  ///< Writes that had begun.
    bool was_quiet = false;
    std::uint64_t cycle = 0;  ///< When it was taken.
  };
  struct Answer {
    bool is_error = false;
    std::uint64_t data = 0;
  };

  NodeReader() { reset(); }
  void reset() {
    bench_->read_valid_i = bench_->come_valid_i = bench_->ready_i = 0;
    bench_->writes_i = writes_.bits();
    bench_.reset();
    asked_.reset();
    under_way_.clear();
    expected_.clear();
    coming_.clear();
    is_second_ = false;
    passed_.reset();
  }

  /// A cycle of everything around it.
  void cycle(std::uint32_t stalls, std::uint32_t writes) {
    // A read of a tag that is free.
    if (!offered_ && takes_more_ && !random_.chance(stalls)) {
      Read read{.tag = random_.below(kTags),
                .address = random_.bits() % (kHtaxAddresses / 8) * 8,
                .words = 1 + random_.below(8)};
      if (random_.chance(15)) read.address |= (1 + random_.below(15)) << 48U;
      const bool is_asked = asked_ && asked_->tag == read.tag;
      if (!is_asked && !under_way_.contains(read.tag) && !expected_.contains(read.tag)) offered_ = read;
    }
    bench_->read_valid_i = offered_.has_value();
    bench_->read_i = offered_ ? offered_->tag << 52U | (offered_->address & ~std::uint64_t{7}) | (offered_->words - 1)
                              : random_.bits() >> 7U;
    if (coming_.empty()) respond(stalls);
    const bool comes = !coming_.empty() && (was_offered_ || !random_.chance(stalls));
    was_offered_ = comes;
    bench_->come_valid_i = comes;
    bench_->come_phit_i = comes ? coming_.front() : random_.bits();
    bench_->come_last_i = comes ? coming_.size() == 1 : random_.chance(50);
    bench_->ready_i = !random_.chance(stalls);
    bench_->writes_i = writes_.bits();
    bench_.settle();
    look_at_answer();
    look_at_packet();
    if (HasFatalFailure()) return;
    const bool is_taken = bench_->read_valid_i && bench_->read_ready_o;
    if (comes && bench_->come_ready_o) {
      coming_.pop_front();
      was_offered_ = false;
    }
    if (is_taken) {
      offered_->taken = writes_.taken();
      offered_->was_quiet = writes_.is_quiet();
      offered_->cycle = bench_.cycles();
      if (offered_->address >= kHtaxAddresses) {
        expected_[offered_->tag].assign(offered_->words, {.is_error = true});
        ++refused_;
      } else {
        ASSERT_FALSE(asked_) << "a read before the last one has left";
        asked_ = offered_;
      }
      offered_.reset();
    }
    bench_.step();
    writes_.step(writes);
  }
  /// The next packet that answers: the data of the read, another length, or an error.
  void respond(std::uint32_t stalls) {
    if (under_way_.empty() || random_.chance(stalls)) return;
    auto one = under_way_.begin();
    std::advance(one, static_cast<std::ptrdiff_t>(random_.below(under_way_.size())));
    const Read read = one->second;
    under_way_.erase(one);
    htax::Header header{.channel = htax::kResponse, .length = read.words, .tag = read.tag};
    const std::uint64_t what = random_.below(100);
    if (what < 10) header.error = true;
    if (what < 5 || (what >= 10 && what < 25)) header.length = random_.below(9);
    const htax::Packet packet = htax::make(random_, header);
    coming_.assign(packet.begin(), packet.end());
    const bool is_right = !header.error && header.length == read.words;
    failed_ += is_right ? 0 : 1;
    for (std::size_t i = 0; i < read.words; ++i) {
      expected_[read.tag].push_back(is_right ? Answer{false, packet[1 + i]} : Answer{true, 0});
    }
  }
  void look_at_answer() {
    if (bench_->answer_valid_o == 0) {
      ASSERT_FALSE(answering_ && expected_[*answering_].front().is_error) << "words of one that failed come in a row";
      return;
    }
    const std::uint64_t tag = bits_at(bench_->answer_o, 65, 5);
    const auto found = expected_.find(tag);
    ASSERT_NE(found, expected_.end()) << "an answer to no read";
    if (answering_) {
      ASSERT_EQ(tag, *answering_) << "answers to two reads are mixed";
    }
    const Answer& answer = found->second.front();
    ASSERT_EQ(bits_at(bench_->answer_o, 64, 1) != 0, answer.is_error);
    if (!answer.is_error) {
      ASSERT_EQ(bits_at(bench_->answer_o, 0, 64), answer.data);
    }
    found->second.pop_front();
    ++answers_;
    answering_ = tag;
    if (!found->second.empty()) return;
    expected_.erase(found);
    answering_.reset();
  }
  /// A packet leaves when the host has all writes that were begun before its read. It leaves at the latest when the
  /// host has what was sent by the time at which these were handled; at once if none was on its way.
  void look_at_packet() {
    if (asked_ && !passed_ && writes_.handled() >= asked_->taken) passed_ = writes_.sent();
    if (bench_->valid_o == 0) {
      ASSERT_FALSE(is_second_);
      if (!asked_) return;
      ASSERT_FALSE(asked_->was_quiet) << "nothing was on its way";
      due_ = passed_ && writes_.gone() >= *passed_ ? due_ + 1 : 0;
      ASSERT_LT(due_, 4U) << "nothing is on its way any more";
      return;
    }
    ASSERT_TRUE(asked_) << "a packet of no read";
    due_ = 0;
    ASSERT_EQ(bench_->last_o != 0, is_second_);
    if (is_second_) {
      ASSERT_EQ(bench_->phit_o, asked_->words);
    } else {
      ASSERT_TRUE(writes_.has_gone(asked_->taken)) << "a read before what was written";
      const htax::Header header = htax::from_phit(bench_->phit_o);
      ASSERT_EQ(bench_->phit_o, htax::to_phit({.channel = htax::kNonposted,
                                               .length = 1,
                                               .origin = kPort,
                                               .tag = asked_->tag,
                                               .address = asked_->address}))
          << std::hex << header.address;
    }
    if (bench_->ready_i == 0) return;
    if (is_second_) {
      under_way_[asked_->tag] = *asked_;
      asked_.reset();
      passed_.reset();
      ++sent_;
    }
    is_second_ = !is_second_;
  }

  Bench<Vrtl_node_reader> bench_{7};
  Random random_{8};
  Writes writes_{random_};
  std::optional<Read> offered_;
  std::optional<Read> asked_;                             ///< Whose packet has not left.
  std::map<std::uint64_t, Read> under_way_;               ///< By tag.
  std::map<std::uint64_t, std::deque<Answer>> expected_;  ///< What answers have to come.
  std::deque<std::uint64_t> coming_;                      ///< Phits of the packet that comes.
  std::optional<std::uint64_t> answering_;
  std::optional<std::uint64_t> passed_;  ///< What was sent when all that had begun before the read was handled.
  std::uint64_t due_ = 0;
  bool is_second_ = false;
  bool takes_more_ = true;
  bool was_offered_ = false;
  std::uint64_t refused_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t sent_ = 0;
};

TEST_F(NodeReader, sends_answers_and_fails_reads_as_their_host_does) {
  std::uint64_t resets = 0;
  for (int phase = 0; phase < 120; ++phase) {
    const auto stalls = static_cast<std::uint32_t>(random_.below(4) * 30);
    const auto writes = static_cast<std::uint32_t>(random_.below(4) * 25);
    for (int i = 0; i < 500; ++i) {
      cycle(stalls, writes);
      if (HasFatalFailure()) return;
    }
    if (!random_.chance(30)) continue;
    ++resets;
    offered_.reset();
    answering_.reset();
    was_offered_ = false;
    due_ = 0;
    reset();
  }
  // The rest comes to its end.
  const auto is_over = [&] { return !offered_ && !asked_ && under_way_.empty() && expected_.empty(); };
  takes_more_ = false;
  for (int i = 0; i < 3'000 && !is_over(); ++i) {
    cycle(0, 100);
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(is_over());
  EXPECT_GT(sent_, 2'000U);
  EXPECT_GT(refused_, 300U);
  EXPECT_GT(failed_, 300U);
  EXPECT_GT(answers_, 10'000U);
  EXPECT_GT(resets, 20U);
}

}  // namespace
}  // namespace stopbit::sim
