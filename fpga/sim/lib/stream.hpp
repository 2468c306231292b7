#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "bench.hpp"

namespace stopbit::sim {

/// Sends `words` random words through a model with ports valid_i, ready_o, data_i and valid_o, ready_i, data_o, which
/// keeps order and holds at most `capacity` words; each side stalls in the given share of cycles. Returns the cycles
/// that it took.
template <class Model>
std::uint64_t stream_through(Bench<Model>& bench, Random& random, std::size_t words, std::size_t capacity,
                             std::uint32_t in_stall, std::uint32_t out_stall) {
  Gate in(random, in_stall);
  Gate out(random, out_stall);
  std::deque<std::uint32_t> inside;
  std::size_t sent = 0;
  std::size_t received = 0;
  bool offered = false;
  const std::uint64_t begin = bench.cycles();
  while (received < words) {
    if (!offered && sent < words && in.open()) {
      bench->data_i = static_cast<std::uint32_t>(random.bits());
      offered = true;
    }
    bench->valid_i = offered;
    bench->ready_i = out.open();
    bench.settle();
    if (bench->valid_o && bench->ready_i) {
      EXPECT_FALSE(inside.empty()) << "word " << received << " was never sent";
      if (inside.empty()) break;
      EXPECT_EQ(bench->data_o, inside.front()) << "word " << received;
      inside.pop_front();
      ++received;
    }
    if (offered && bench->ready_o) {
      inside.push_back(bench->data_i);
      offered = false;
      ++sent;
    }
    EXPECT_LE(inside.size(), capacity);
    bench.step();
    if (::testing::Test::HasFailure()) break;
    if (bench.cycles() - begin > 1000 * words + 10000) {
      ADD_FAILURE() << "stuck after " << received << " of " << words << " words";
      break;
    }
  }
  bench->valid_i = 0;
  bench->ready_i = 0;
  return bench.cycles() - begin;
}

}  // namespace stopbit::sim
