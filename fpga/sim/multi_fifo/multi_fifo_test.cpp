#include <Vrtl_multi_fifo.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "bench.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kAddressWidth = 8;
constexpr std::size_t kQueueWidth = 4;

/// As the model: 2^queue_bits queues that share the words.
class Queues {
 public:
  explicit Queues(std::size_t queue_bits)
      : words_((std::size_t{1} << kAddressWidth) >> queue_bits), queues_(std::size_t{1} << queue_bits) {}

  [[nodiscard]] std::uint8_t mask() const { return static_cast<std::uint8_t>(words_ - 1); }
  [[nodiscard]] std::size_t count() const { return queues_.size(); }
  [[nodiscard]] bool has_room(std::size_t queue) const { return queues_[queue].size() < words_; }
  std::deque<std::uint32_t>& operator[](std::size_t queue) { return queues_[queue]; }
  [[nodiscard]] std::uint32_t nonempty() const {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < queues_.size(); ++i) bits |= static_cast<std::uint32_t>(!queues_[i].empty()) << i;
    return bits;
  }

 private:
  std::size_t words_;
  std::vector<std::deque<std::uint32_t>> queues_;
};

class MultiFifo : public ::testing::Test {
 protected:
  MultiFifo() {
    bench_->valid_i = 0;
    bench_->read_i = 0;
    bench_->mask_i = 0x0F;
    bench_.reset();
  }

  void wait_until_clear() {
    for (std::size_t i = 0; i < std::size_t{1} << kQueueWidth; ++i) {
      bench_.settle();
      EXPECT_FALSE(bench_->ready_o) << "cycle " << i << " after reset";
      bench_.step();
    }
    bench_.settle();
    EXPECT_TRUE(bench_->ready_o);
  }

  Bench<Vrtl_multi_fifo> bench_{31};
};

TEST_F(MultiFifo, gives_each_queue_its_share_and_not_a_word_more) {
  for (std::size_t queue_bits = 0; queue_bits <= kQueueWidth; ++queue_bits) {
    Queues model(queue_bits);
    bench_->mask_i = model.mask();
    bench_.reset();
    wait_until_clear();
    for (std::size_t queue = 0; queue < model.count(); ++queue) {
      bench_->write_queue_i = static_cast<std::uint8_t>(queue);
      bench_->valid_i = 1;
      for (std::uint32_t word = 0; model.has_room(queue); ++word) {
        bench_->data_i = static_cast<std::uint32_t>(queue) << 16 | word;
        bench_.settle();
        ASSERT_TRUE(bench_->ready_o);
        model[queue].push_back(bench_->data_i);
        bench_.step();
      }
      bench_.settle();
      EXPECT_FALSE(bench_->ready_o);
    }
    bench_->valid_i = 0;
    for (std::size_t queue = 0; queue < model.count(); ++queue) {
      bench_->read_queue_i = static_cast<std::uint8_t>(queue);
      for (const std::uint32_t word : model[queue]) {
        bench_->read_i = 1;
        bench_.step();
        bench_->read_i = 0;
        ASSERT_TRUE(bench_->valid_o);
        ASSERT_EQ(bench_->data_o, word);
      }
    }
    EXPECT_EQ(bench_->nonempty_o, 0);
  }
}

TEST_F(MultiFifo, is_its_model_under_random_traffic_with_masks_changed_while_empty_and_resets) {
  for (const std::uint32_t stall : {0U, 30U, 60U, 90U}) {
    bench_->valid_i = 0;
    bench_->read_i = 0;
    bench_->mask_i = 0x0F;
    bench_.reset();
    wait_until_clear();
    Random random(stall + 37);
    Gate in(random, stall);
    Gate out(random, stall);
    Queues model(kQueueWidth);
    std::optional<std::uint32_t> coming;  // what the read of the cycle before gives
    std::size_t received = 0;
    int masks = 0;
    for (int cycle = 0; cycle < 60000; ++cycle) {
      if (random.below(5000) == 0) {
        bench_->valid_i = 0;
        bench_->read_i = 0;
        bench_.reset();
        wait_until_clear();
        model = Queues(kQueueWidth);
        coming.reset();
      }
      // Each 2,000 cycles the queues run empty and are parted anew.
      const bool drain = cycle % 2000 > 1400;
      if (drain && model.nonempty() == 0 && random.chance(20)) {
        model = Queues(random.below(kQueueWidth + 1));
        ++masks;
      }
      bench_->mask_i = model.mask();
      bench_->valid_i = in.open() && !drain;
      bench_->write_queue_i = static_cast<std::uint8_t>(random.below(model.count()));
      bench_->data_i = static_cast<std::uint32_t>(random.bits());
      bench_->read_i = out.open();
      bench_->read_queue_i = static_cast<std::uint8_t>(random.below(model.count()));
      bench_.settle();

      ASSERT_EQ(bench_->nonempty_o, model.nonempty()) << "cycle " << cycle;
      ASSERT_EQ(bench_->ready_o != 0, model.has_room(bench_->write_queue_i)) << "cycle " << cycle;
      ASSERT_EQ(bench_->valid_o != 0, coming.has_value()) << "cycle " << cycle;
      if (coming) {
        ASSERT_EQ(bench_->data_o, *coming) << "cycle " << cycle;
        ++received;
      }
      coming.reset();
      auto& source = model[bench_->read_queue_i];
      const bool readable = bench_->read_i && !source.empty();
      if (readable) {
        coming = source.front();
        source.pop_front();
      }
      if (bench_->valid_i && bench_->ready_o) model[bench_->write_queue_i].push_back(bench_->data_i);
      bench_.step();
    }
    EXPECT_GT(received, 1000U);
    EXPECT_GT(masks, 3);
  }
}

}  // namespace
}  // namespace stopbit::sim
