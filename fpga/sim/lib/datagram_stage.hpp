#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench.hpp"
#include "datagrams.hpp"

namespace stopbit::sim {

/// Sends datagrams through a model that has the datagram stream at both sides, and gives back what leaves it. `look` is
/// called in each cycle, before its edge. Stops with a failure if nothing moves any more.
template <class Model, class Look>
std::vector<SentDatagram> stage_through(Bench<Model>& bench, Random& random, const std::vector<SentDatagram>& datagrams,
                                        std::uint32_t in_stall, std::uint32_t out_stall, Look&& look) {
  Gate in(random, in_stall);
  Gate out(random, out_stall);
  DatagramFeeder feeder;
  DatagramCollector collector;
  std::vector<SentDatagram> result;
  std::size_t sent = 0;
  std::size_t quiet = 0;
  bool offered = false;
  while (quiet < 500) {
    if (!feeder.busy() && sent < datagrams.size()) feeder.begin(datagrams[sent++]);
    if (!offered && feeder.busy() && in.open()) {
      offered = true;
      feeder.show(bench->beat_i, bench->datagram_i, static_cast<std::uint8_t>(random.bits()));
    }
    bench->valid_i = offered;
    bench->ready_i = out.open();
    bench.settle();
    ++quiet;
    look();
    if (offered && bench->ready_o) {
      feeder.advance();
      offered = false;
      quiet = 0;
    }
    if (bench->valid_o && bench->ready_i) {
      const char* fault = nullptr;
      if (collector.take(bench->beat_o, bench->datagram_o, fault)) result.push_back(collector.datagram());
      EXPECT_EQ(fault, nullptr) << fault << ", datagram " << result.size();
      if (fault != nullptr) break;
      quiet = 0;
    }
    bench.step();
  }
  EXPECT_EQ(sent, datagrams.size()) << "stuck";
  EXPECT_FALSE(offered) << "stuck";
  bench->valid_i = 0;
  bench->ready_i = 0;
  return result;
}

}  // namespace stopbit::sim
