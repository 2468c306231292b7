#include <Vrtl_arbiter_1.h>
#include <Vrtl_arbiter_2.h>
#include <Vrtl_arbiter_33.h>
#include <Vrtl_arbiter_5.h>
#include <Vrtl_arbiter_8.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "bench.hpp"

namespace stopbit::sim {
namespace {

template <class Model, std::size_t Requesters>
struct Kind {
  using Type = Model;
  static constexpr std::size_t kRequesters = Requesters;
};

template <class T>
class Arbiter : public ::testing::Test {
 protected:
  static constexpr std::size_t kRequesters = T::kRequesters;
  static constexpr std::uint64_t kAll = (std::uint64_t{1} << kRequesters) - 1;

  Arbiter() {
    request(0);
    bench_->stop_i = 0;
    bench_->accept_i = 0;
    bench_.reset();
  }

  void request(std::uint64_t bits) {
    bench_->request_i = static_cast<std::remove_cvref_t<decltype(bench_->request_i)>>(bits);
  }

  /// The requester granted now, with all outputs saying the same.
  std::optional<std::size_t> granted() {
    bench_.settle();
    const std::uint64_t grant = bench_->grant_o;
    EXPECT_EQ(grant != 0, bench_->any_o != 0);
    if (grant == 0) return std::nullopt;
    EXPECT_EQ(grant, std::uint64_t{1} << bench_->index_o);
    return bench_->index_o;
  }

  Bench<typename T::Type> bench_{7};
};
using Kinds = ::testing::Types<Kind<Vrtl_arbiter_1, 1>, Kind<Vrtl_arbiter_2, 2>, Kind<Vrtl_arbiter_5, 5>,
                               Kind<Vrtl_arbiter_8, 8>, Kind<Vrtl_arbiter_33, 33>>;
TYPED_TEST_SUITE(Arbiter, Kinds);

TYPED_TEST(Arbiter, serves_constant_requesters_in_turn) {
  this->request(this->kAll);
  this->bench_->accept_i = 1;
  for (std::size_t i = 0; i < 4 * this->kRequesters; ++i) {
    EXPECT_EQ(this->granted(), i % this->kRequesters);
    this->bench_.step();
  }
}

TYPED_TEST(Arbiter, grants_as_its_model_whatever_is_requested_stopped_or_accepted) {
  Random random(11);
  std::size_t last = this->kRequesters - 1;  // served
  for (int cycle = 0; cycle < 20000; ++cycle) {
    if (random.below(500) == 0) {
      this->bench_.reset();
      last = this->kRequesters - 1;
    }
    const std::uint64_t requests = random.bits() & random.bits() & this->kAll;
    const bool stop = random.chance(20);
    const bool accept = random.chance(60);
    this->request(requests);
    this->bench_->stop_i = stop;
    this->bench_->accept_i = accept;

    std::optional<std::size_t> expected;
    for (std::size_t i = 0; i < this->kRequesters && !stop && !expected; ++i) {
      const std::size_t candidate = (last + 1 + i) % this->kRequesters;
      if ((requests >> candidate & 1) != 0) expected = candidate;
    }
    ASSERT_EQ(this->granted(), expected) << "cycle " << cycle;
    if (expected && accept) last = *expected;
    this->bench_.step();
  }
}

TYPED_TEST(Arbiter, lets_no_requester_wait_for_more_than_all_the_others) {
  Random random(13);
  std::vector<std::size_t> passed_over(this->kRequesters, 0);
  std::uint64_t requests = 0;
  this->bench_->accept_i = 1;
  for (int cycle = 0; cycle < 20000; ++cycle) {
    requests |= random.bits() & random.bits() & this->kAll;  // a request stays until it is granted
    this->request(requests);
    if (const auto served = this->granted()) {
      for (std::size_t i = 0; i < this->kRequesters; ++i) {
        if ((requests >> i & 1) == 0) continue;
        passed_over[i] = i == *served ? 0 : passed_over[i] + 1;
        ASSERT_LT(passed_over[i], this->kRequesters) << "requester " << i;
      }
      requests &= ~(std::uint64_t{1} << *served);
    }
    this->bench_.step();
  }
}

}  // namespace
}  // namespace stopbit::sim
