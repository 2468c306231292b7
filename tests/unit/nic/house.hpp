#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/node/broker.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/why.hpp"
#include "tests/unit/nic/remote_fixture.hpp"

namespace stopbit::remote {

inline constexpr nic::Pdid kDomain = 7;
inline constexpr std::uint64_t kPatienceNs = 60'000'000'000;

/// A node with publisher and broker on a thread of their own, as an appliance has them. Two rings, `cme` and `ice`.
class House {
 public:
  House() : network_(one_node()), node_(network_.port(0), nic::NodeOptions{}) {
    PublisherOptions how;
    how.rings = {{"cme", cme.get(), "token"}, {"cme", cme.get(), "", true}, {"ice", ice.get(), "", true}};
    publisher_ = std::move(Publisher::open(node_, how)).value();
    nic::BrokerOptions options;
    options.socket = socket();
    options.publisher = publisher_.get();
    options.entitlements = entitled_to({"cme"});
    broker_ = std::move(nic::Broker::open(node_, options)).value();
    EXPECT_EQ(testing::why(broker_->add_feed("cme", os::path_of(cme.get()).value())), "");
    EXPECT_EQ(testing::why(broker_->add_feed("ice", os::path_of(ice.get()).value())), "");
    thread_ = std::thread([this] {
      while (!stop_) {
        do_there([this] {
          const std::uint64_t now = os::monotonic_clock_ns();
          network_.set_time(now);
          (void)node_.step(now);
          (void)publisher_->step(now);
          (void)broker_->step();
        });
        std::this_thread::yield();
      }
    });
  }
  ~House() {
    stop_ = true;
    thread_.join();
  }
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  static std::string socket() { return "/tmp/stopbit-test-remote-" + std::to_string(::getpid()); }
  static std::vector<nic::Entitlement> entitled_to(const std::vector<std::string>& feeds) {
    nic::Entitlement everybody;
    everybody.domain = kDomain;
    everybody.feeds = feeds;
    return {everybody};
  }
  /// On the node, between two steps.
  void do_there(const std::function<void()>& what) {
    const std::lock_guard lock(mutex_);
    what();
  }
  void entitle(const std::vector<std::string>& feeds) {
    do_there([&] { broker_->entitle(entitled_to(feeds)); });
  }
  [[nodiscard]] std::vector<SubscriptionStatus> status() {
    std::vector<SubscriptionStatus> status;
    do_there([&] { status = publisher_->status(); });
    return status;
  }
  /// No process has a ring any more.
  [[nodiscard]] bool is_left() {
    for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs; os::monotonic_clock_ns() < end;
         std::this_thread::yield()) {
      if (status().empty()) return true;
    }
    return false;
  }
  [[nodiscard]] nic::FeedUse use_of(const std::string& feed) {
    nic::FeedUse use;
    do_there([&] { use = broker_->uses()[{feed, ::getuid()}]; });
    return use;
  }

  const RingName cme;
  const RingName ice;
  Feed cme_feed{cme.get()};
  Feed ice_feed{ice.get()};

 private:
  static nic::ModelOptions one_node() {
    nic::ModelOptions options;
    options.nodes = 1;
    return options;
  }
  nic::ModelNetwork network_;
  nic::Node node_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<nic::Broker> broker_;
  std::mutex mutex_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace stopbit::remote
