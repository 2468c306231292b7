#include <Vrtl_spec_fifo_16.h>
#include <Vrtl_spec_fifo_2.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench.hpp"

namespace stopbit::sim {
namespace {

template <class Model, std::size_t Depth>
struct Kind {
  using Type = Model;
  static constexpr std::size_t kDepth = Depth;
};

template <class T>
class SpecFifo : public ::testing::Test {
 protected:
  static constexpr std::size_t kDepth = T::kDepth;

  SpecFifo() {
    clear();
    bench_.reset();
  }

  void clear() {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->write_commit_i = 0;
    bench_->write_revert_i = 0;
    bench_->read_commit_i = 0;
    bench_->read_revert_i = 0;
  }

  void write(std::uint32_t word) {
    bench_->valid_i = 1;
    bench_->data_i = word;
    bench_.settle();
    EXPECT_TRUE(bench_->ready_o);
    bench_.step();
    bench_->valid_i = 0;
  }

  bool shows(std::uint32_t word) {
    bench_.settle();
    return bench_->valid_o && bench_->data_o == word;
  }

  Bench<typename T::Type> bench_{17};
};
using Kinds = ::testing::Types<Kind<Vrtl_spec_fifo_2, 2>, Kind<Vrtl_spec_fifo_16, 16>>;
TYPED_TEST_SUITE(SpecFifo, Kinds);

TYPED_TEST(SpecFifo, is_full_and_empty_at_once_while_nothing_is_committed) {
  for (std::uint32_t i = 0; i < this->kDepth; ++i) this->write(i);
  for (int i = 0; i < 4; ++i) {
    this->bench_.settle();
    EXPECT_FALSE(this->bench_->ready_o);
    EXPECT_FALSE(this->bench_->valid_o);
    this->bench_.step();
  }
}

TYPED_TEST(SpecFifo, reverts_and_commits_all_words_in_one_cycle) {
  for (std::uint32_t i = 0; i < this->kDepth; ++i) this->write(i);
  this->bench_->write_revert_i = 1;
  this->bench_->write_revert_count_i = this->kDepth;
  this->bench_.step();
  this->clear();
  for (std::uint32_t i = 0; i < this->kDepth; ++i) this->write(100 + i);
  this->bench_->write_commit_i = 1;
  this->bench_->write_commit_count_i = this->kDepth;
  this->bench_.step();
  this->clear();
  this->bench_.step();
  this->bench_->ready_i = 1;
  for (std::uint32_t i = 0; i < this->kDepth; ++i) {
    EXPECT_TRUE(this->shows(100 + i));
    this->bench_.step();
  }
  this->bench_.settle();
  EXPECT_FALSE(this->bench_->valid_o);
}

TYPED_TEST(SpecFifo, reads_again_what_the_reader_reverts_and_keeps_its_room_until_then) {
  for (std::uint32_t i = 0; i < this->kDepth; ++i) this->write(i);
  this->bench_->write_commit_i = 1;
  this->bench_->write_commit_count_i = 2 * this->kDepth - 1;  // clamped to what is written
  this->bench_.step();
  this->clear();
  this->bench_.step();
  for (int turn = 0; turn < 3; ++turn) {
    this->bench_->ready_i = 1;
    for (std::uint32_t i = 0; i < this->kDepth; ++i) {
      EXPECT_TRUE(this->shows(i)) << "turn " << turn;
      EXPECT_FALSE(this->bench_->ready_o);
      this->bench_.step();
    }
    this->clear();
    if (turn == 2) break;
    this->bench_->read_revert_i = 1;
    this->bench_->read_revert_count_i = this->kDepth;
    this->bench_.step();
    this->clear();
  }
  this->bench_->read_commit_i = 1;
  this->bench_->read_commit_count_i = 1;
  this->bench_.step();
  this->clear();
  this->bench_.settle();
  EXPECT_TRUE(this->bench_->ready_o);
}

/// Words by their state, in the order of the ring: taken, to be read, not committed.
struct Model {
  std::deque<std::uint32_t> words;
  std::size_t taken = 0;      // of the first ones
  std::size_t committed = 0;  // of the first ones, the taken ones included
};

TYPED_TEST(SpecFifo, is_its_model_under_random_traffic_commits_reverts_and_resets) {
  const std::size_t depth = this->kDepth;
  auto& bench = this->bench_;
  for (const std::uint32_t stall : {0U, 30U, 60U, 90U}) {
    Random random(stall + 1);
    Gate in(random, stall);
    Gate out(random, stall);
    this->clear();
    bench.reset();
    Model model;
    std::size_t received = 0;
    int hidden = 0;  // cycles for which a word that could be read was not shown
    for (int cycle = 0; cycle < 30000; ++cycle) {
      if (random.below(2000) == 0) {
        this->clear();
        bench.reset();
        model = {};
      }
      bench->valid_i = in.open();
      bench->data_i = static_cast<std::uint32_t>(random.bits());
      bench->ready_i = out.open();
      const auto decide = [&](auto& commit, auto& commit_count, auto& revert, auto& revert_count) {
        const std::uint64_t choice = random.below(8);
        commit = choice == 0 || choice == 1;
        revert = choice == 2;
        commit_count = static_cast<std::uint8_t>(random.below(2 * depth));
        revert_count = static_cast<std::uint8_t>(random.below(2 * depth));
      };
      decide(bench->write_commit_i, bench->write_commit_count_i, bench->write_revert_i, bench->write_revert_count_i);
      decide(bench->read_commit_i, bench->read_commit_count_i, bench->read_revert_i, bench->read_revert_count_i);
      bench.settle();

      ASSERT_EQ(bench->ready_o != 0, model.words.size() < depth) << "cycle " << cycle;
      const bool readable = model.taken < model.committed;
      if (bench->valid_o) {
        ASSERT_TRUE(readable) << "cycle " << cycle;
        ASSERT_EQ(bench->data_o, model.words[model.taken]) << "cycle " << cycle;
      }
      hidden = readable && !bench->valid_o ? hidden + 1 : 0;
      ASSERT_LE(hidden, 1) << "cycle " << cycle;

      if (bench->valid_i && bench->ready_o) model.words.push_back(bench->data_i);
      const std::size_t committed_before = model.committed;
      if (bench->write_revert_i) {
        const std::size_t open = model.words.size() - model.committed;
        model.words.resize(model.words.size() - std::min<std::size_t>(open, bench->write_revert_count_i));
      } else if (bench->write_commit_i) {
        model.committed = std::min(model.words.size(), model.committed + bench->write_commit_count_i);
      }
      if (bench->valid_o && bench->ready_i) {
        ++model.taken;
        ++received;
      }
      ASSERT_LE(model.taken, committed_before);
      if (bench->read_revert_i) {
        model.taken -= std::min<std::size_t>(model.taken, bench->read_revert_count_i);
      } else if (bench->read_commit_i) {
        const std::size_t done = std::min<std::size_t>(model.taken, bench->read_commit_count_i);
        model.words.erase(model.words.begin(), model.words.begin() + static_cast<std::ptrdiff_t>(done));
        model.taken -= done;
        model.committed -= done;
      }
      bench.step();
    }
    EXPECT_GT(received, 100U) << "the traffic of this test went nowhere";
  }
}

}  // namespace
}  // namespace stopbit::sim
