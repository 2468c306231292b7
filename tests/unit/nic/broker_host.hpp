#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "host/nic/node/broker.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/os/clock.hpp"

namespace stopbit::nic::test {

/// A node with its broker on a thread of their own, as an appliance has them.
class Host {
 public:
  explicit Host(const BrokerOptions& how, const NodeOptions& node_options = {})
      : network_(one_node()), node(network_.port(0), node_options) {
    Result<std::unique_ptr<Broker>> opened = Broker::open(node, how);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    broker = std::move(opened).value();
  }
  ~Host() { stop(); }

  void start() {
    thread_ = std::thread([this] {
      while (!is_over_) {
        const std::size_t work = node.step(os::monotonic_clock_ns()) + broker->step();
        ++steps;
        if (work == 0) ::usleep(20);
      }
    });
  }
  /// Then node and broker may be looked at.
  void stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
    is_over_ = false;
  }
  /// Without a thread: until nothing happens.
  void settle() {
    for (int quiet = 0; quiet < 3;) {
      const std::size_t work = node.step(os::monotonic_clock_ns()) + broker->step();
      quiet = work == 0 ? quiet + 1 : 0;
    }
  }

 private:
  static ModelOptions one_node() {
    ModelOptions options;
    options.nodes = 1;
    return options;
  }
  ModelNetwork network_;

 public:
  Node node;
  std::unique_ptr<Broker> broker;
  std::atomic<std::uint64_t> steps = 0;

 private:
  std::thread thread_;
  std::atomic<bool> is_over_ = false;
};

}  // namespace stopbit::nic::test
