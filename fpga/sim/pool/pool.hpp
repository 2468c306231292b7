#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench.hpp"

/// A pool of functional units with stages that take time, and what any form of it has to do.
namespace stopbit::sim {

constexpr std::size_t kPorts = 4;
constexpr std::size_t kUnits = 4;
constexpr std::size_t kStages = 5;
constexpr std::uint32_t kStep = 1U << 24;  ///< A stage adds it to the data, which begin as the number of the request.

struct Request {
  std::size_t port = 0;
  std::uint16_t key = 0;
  std::uint64_t in = 0;  ///< Cycle in which the pool took it.
};

/// The pool with stages that take time. Each cycle it is checked that a stage sees what the stage before has left, with
/// the key of its request, and that no key is in two units.
template <class Model>
class Pool {
 public:
  /// How many cycles a stage works on a request; 0: for ever.
  using Time = std::function<std::uint64_t(std::size_t number, std::size_t stage)>;

  explicit Pool(Time time) : time_(std::move(time)) {
    bench_->in_order_i = 1;
    bench_->valid_i = 0;
    bench_->ready_i = kAll;
    bench_.reset();
  }

  std::size_t add(std::size_t port, std::uint16_t key) {
    requests_.push_back({.port = port, .key = key});
    queues_[port].push_back(requests_.size() - 1);
    return requests_.size() - 1;
  }
  void set_in_order(bool on) { bench_->in_order_i = on; }
  void set_time(Time time) { time_ = std::move(time); }

  /// One cycle: `ports` may send, what leaves `units` is taken.
  void cycle(std::uint32_t ports = kAll, std::uint32_t units = kAll) {
    bench_->valid_i = 0;
    for (std::size_t p = 0; p < kPorts; ++p) {
      // What is offered stays.
      if (queues_[p].empty() || ((ports >> p & 1) == 0 && !is_offered_[p])) continue;
      is_offered_[p] = true;
      const std::size_t number = queues_[p].front();
      bench_->valid_i |= 1U << p;
      bench_->key_i = (bench_->key_i & ~(std::uint64_t{0xFFFF} << 16 * p)) | std::uint64_t{requests_[number].key}
                                                                                 << 16 * p;
      bench_->data_i[p] = static_cast<std::uint32_t>(number);
    }
    bench_->ready_i = static_cast<std::uint8_t>(units & kAll);
    bench_.settle();
    work(units);
    bench_.settle();
    for (std::size_t p = 0; p < kPorts; ++p) {
      if ((bench_->valid_i >> p & 1) == 0 || (bench_->ready_o >> p & 1) == 0) continue;
      requests_[queues_[p].front()].in = bench_.cycles();
      queues_[p].pop_front();
      is_offered_[p] = false;
      ++taken_[p];
    }
    if (!::testing::Test::HasFatalFailure()) bench_.step();
  }

  /// Until all are out, or nothing has left for long.
  void drain() {
    for (int quiet = 0; quiet < 2'000 && out_.size() < requests_.size() && !::testing::Test::HasFatalFailure();
         ++quiet) {
      const std::size_t before = out_.size();
      cycle();
      if (out_.size() != before) quiet = 0;
    }
    EXPECT_EQ(out_.size(), requests_.size());
  }

  /// Forgets what is under way.
  void reset() {
    bench_->valid_i = 0;
    bench_.reset();
    requests_.clear();
    out_.clear();
    begun_.clear();
    queues_ = {};
    is_offered_ = {};
    taken_ = {};
  }

  void expect_order() const {
    std::map<std::uint16_t, std::size_t> last;
    std::set<std::size_t> seen;
    for (const std::size_t number : out_) {
      EXPECT_TRUE(seen.insert(number).second) << number << " has left twice";
      const auto [at, is_first] = last.emplace(requests_[number].key, number);
      if (!is_first) {
        EXPECT_LT(at->second, number) << "of key " << requests_[number].key;
        at->second = number;
      }
    }
  }
  [[nodiscard]] bool has_overtaken() const {
    std::map<std::uint16_t, std::size_t> last;
    for (const std::size_t number : out_) {
      const auto [at, is_first] = last.emplace(requests_[number].key, number);
      if (!is_first && at->second > number) return true;
      at->second = number;
    }
    return false;
  }

  [[nodiscard]] const std::vector<std::size_t>& out() const { return out_; }
  [[nodiscard]] std::uint64_t taken(std::size_t port) const { return taken_[port]; }
  [[nodiscard]] std::size_t waiting(std::size_t port) const { return queues_[port].size(); }
  [[nodiscard]] std::uint64_t cycles() const { return bench_.cycles(); }
  [[nodiscard]] const Request& request(std::size_t number) const { return requests_[number]; }
  /// Cycle in which a stage saw it first; 0: none yet.
  [[nodiscard]] std::uint64_t begun(std::size_t number, std::size_t stage) const {
    const auto found = begun_.find(number * kStages + stage);
    return found == begun_.end() ? 0 : found->second;
  }
  /// Units that have had something to do in the last cycle.
  [[nodiscard]] std::size_t busy() const { return busy_; }

  static constexpr std::uint32_t kAll = 0xF;

 private:
  void work(std::uint32_t units) {
    std::map<std::uint16_t, std::size_t> unit_of;
    std::vector<std::size_t> left;
    bench_->stage_done_i = 0;
    busy_ = 0;
    for (std::size_t u = 0; u < kUnits; ++u) {
      bool is_busy = false;
      for (std::size_t s = 0; s < kStages; ++s) {
        const std::size_t at = u * kStages + s;
        if ((bench_->stage_valid_o >> at & 1) == 0) continue;
        is_busy = true;
        const std::uint32_t data = bench_->stage_data_o[at];
        const std::size_t number = data % kStep;
        ASSERT_LT(number, requests_.size());
        ASSERT_EQ(data / kStep, s) << "request " << number;
        const auto key = static_cast<std::uint16_t>(bench_->stage_key_o[at / 2] >> 16 * (at % 2));
        ASSERT_EQ(key, requests_[number].key) << "request " << number;
        if (bench_->in_order_i != 0) {
          ASSERT_EQ(unit_of.emplace(key, u).first->second, u) << "key " << key << " is in two units";
        }
        const std::uint64_t begun = begun_.emplace(number * kStages + s, bench_.cycles()).first->second;
        const std::uint64_t time = time_(number, s);
        if (time == 0 || bench_.cycles() - begun + 1 < time) continue;
        bench_->stage_done_i |= 1U << at;
        bench_->stage_data_i[at] = data + kStep;
        if (s + 1 == kStages && (units >> u & 1) != 0) left.push_back(number);
      }
      busy_ += is_busy ? 1 : 0;
    }
    out_.insert(out_.end(), left.begin(), left.end());
  }

  Bench<Model> bench_{5};
  Time time_;
  std::vector<Request> requests_;
  std::vector<std::size_t> out_;
  std::map<std::size_t, std::uint64_t> begun_;
  std::array<std::deque<std::size_t>, kPorts> queues_;
  std::array<bool, kPorts> is_offered_{};
  std::array<std::uint64_t, kPorts> taken_{};
  std::size_t busy_ = 0;
};

/// Any time from 1 to `most`, the same for the same request and stage.
inline auto any_time(std::uint64_t most) {
  return [most](std::size_t number, std::size_t stage) {
    std::uint64_t x = number * 0x9E37'79B9'7F4A'7C15U + stage * 0xBF58'476D'1CE4'E5B9U + 1;
    x ^= x >> 29;
    x *= 0x94D0'49BB'1331'11EBU;
    return (x >> 33) % most + 1;
  };
}

/// A context comes by one port, so its keys do.
inline std::size_t port_of(std::uint16_t key) {
  return key % kPorts;
}

template <class Model>
void random_requests(std::uint64_t seed, std::uint16_t keys, std::uint32_t stall_percent, std::uint64_t most_time) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  Pool<Model> pool(any_time(most_time));
  for (int i = 0; i < 800; ++i) {
    const auto key = static_cast<std::uint16_t>(random.below(keys));
    (void)pool.add(port_of(key), key);
  }
  std::array<Gate, 8> gates = {Gate(random, stall_percent), Gate(random, stall_percent), Gate(random, stall_percent),
                               Gate(random, stall_percent), Gate(random, stall_percent), Gate(random, stall_percent),
                               Gate(random, stall_percent), Gate(random, stall_percent)};
  const auto draw = [&](std::size_t first) {
    std::uint32_t open = 0;
    for (std::size_t i = 0; i < 4; ++i) open |= gates[first + i].open() ? 1U << i : 0U;
    return open;
  };
  for (int i = 0; i < 1'500 && !::testing::Test::HasFatalFailure(); ++i) pool.cycle(draw(0), draw(4));
  pool.drain();
  pool.expect_order();
}

template <class Model>
void expect_order_of_equal_keys() {
  for (const std::uint16_t keys : std::initializer_list<std::uint16_t>{1, 4, 9, 1'000}) {
    for (const std::uint32_t stall : {0U, 40U, 90U}) {
      for (const std::uint64_t most : {1U, 9U}) random_requests<Model>(keys * 100 + stall + most, keys, stall, most);
    }
  }
}

}  // namespace stopbit::sim
