// stopbit_greedy: clients of the broker of an appliance, of which one takes what it can get: transfers of 1 MiB to
// itself, or signals to sleepers of its own, as many as its ring has room for. Beside it an honest one sends itself
// messages, each of which has to come back. Ends by itself, or when the broker has exited, and says in a line of JSON
// what came of it; status 1 if a message did not come back.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "host/nic/node/client.hpp"
#include "host/nic/notify/events.hpp"
#include "tests/lib/arguments.hpp"

namespace stopbit::soak {
namespace {

using namespace nic;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLong = 1U << 20U;
/// For an answer. The appliance itself may be stopped for seconds, and the machine is busy.
constexpr unsigned kPatienceMs = 60'000;
constexpr auto kPatience = std::chrono::milliseconds(kPatienceMs);
constexpr std::size_t kSlotBytes = 64;

template <class T>
T must(Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + ": " + result.message());
  return std::move(result).value();
}

/// The greedy one.
class Greedy {
 public:
  Greedy(const std::string& broker, bool wakes)
      : client_(must(Client::open(broker, kSlotBytes, kPatienceMs), "open")), wakes_(wakes) {
    if (wakes_) {
      for (std::size_t event = 1; event < EventLayout::kEvents; ++event) {
        EventMemory(client_->page()).add(EventLayout::sleepers(event), 1);
      }
      return;
    }
    memory_ = must(client_->share(2 * kLong, Access::ReadWrite), "share memory");
    window_ = must(client_->open_window(memory_.address, 2 * kLong, Access::ReadWrite), "open a window");
  }

  /// Fills its ring.
  void take_all() {
    Command command;
    command.target_node = client_->node();
    command.target_vpid = client_->vpid();
    if (wakes_) {
      command.operation = Operation::Signal;
    } else {
      command.operation = Operation::Put;
      command.modifiers = kNotifyCompleter;
      command.window = window_.id;
      command.capability = window_.capability;
      command.address = memory_.address;
      command.offset = kLong;
      command.length = static_cast<std::uint32_t>(kLong);
    }
    for (int i = 0; i < kMostAtOnce; ++i) {
      if (wakes_) command.more = 1 + asked_ % (EventLayout::kEvents - 1);
      if (client_->queue(CommandRing::Transfer).insert({&command, 1}).accepted != 1) break;
      ++asked_;
    }
    for (Notification told; client_->notifications().take(told);) ++done_;
  }

  [[nodiscard]] std::uint64_t asked() const { return asked_; }
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  static constexpr int kMostAtOnce = 4'096;

  std::unique_ptr<Client> client_;
  bool wakes_;
  SharedRegion memory_;
  WindowName window_;
  std::uint64_t asked_ = 0;
  std::uint64_t done_ = 0;
};

/// The honest one.
class Honest {
 public:
  explicit Honest(const std::string& broker) : client_(must(Client::open(broker, kSlotBytes, kPatienceMs), "open")) {}

  [[nodiscard]] bool is_open() const { return client_->is_open(); }

  /// A message to itself, and back. False: it did not come.
  template <class Meanwhile>
  bool ping(const Meanwhile& meanwhile) {
    const std::uint64_t number = ++sent_;
    const Clock::time_point begin = Clock::now();
    bool is_sent = false;
    for (std::array<std::byte, kMaxMessageBytes> into;;) {
      if (!is_sent) {
        is_sent =
            client_->send(client_->node(), client_->vpid(), std::as_bytes(std::span(&number, 1))) == Reply::NoError;
      }
      meanwhile();
      if (client_->receive(into)) {
        std::uint64_t back = 0;
        std::memcpy(&back, into.data(), sizeof(back));
        if (back != number) throw std::runtime_error("another message came back");
        times_.push_back(Clock::now() - begin);
        return true;
      }
      if (Clock::now() - begin > kPatience) return false;
      if (!is_open()) return true;  // no broker to answer
    }
  }

  [[nodiscard]] std::uint64_t quantile_us(double part) {
    if (times_.empty()) return 0;
    const auto at = times_.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(times_.size() - 1));
    std::nth_element(times_.begin(), at, times_.end());
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(*at).count());
  }
  [[nodiscard]] std::size_t came_back() const { return times_.size(); }

 private:
  std::unique_ptr<Client> client_;
  std::uint64_t sent_ = 0;
  std::vector<Clock::duration> times_;
};

int run(const std::string& broker, bool wakes, double seconds) {
  Greedy greedy(broker, wakes);
  Honest honest(broker);
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  bool is_good = true;
  while (is_good && honest.is_open() && Clock::now() < end) {
    is_good = honest.ping([&] { greedy.take_all(); });
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // processors are for others, too
  }
  fmt::print(R"({{"wakes":{},"asked":{},"done":{},"messages":{},"p50_us":{},"p99_us":{},"broker_gone":{},"lost":{}}})"
             "\n",
             wakes, greedy.asked(), greedy.done(), honest.came_back(), honest.quantile_us(0.5),
             honest.quantile_us(0.99), !honest.is_open(), !is_good);
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace stopbit::soak

int main(int argc, char** argv) {
  stopbit::testing::Arguments arguments("A greedy client of a broker, and an honest one beside it.");
  std::string broker;
  bool wakes = false;
  double seconds = 1;
  arguments.word("BROKER", broker, "Socket of the broker");
  arguments.flag("--wakes", wakes, "Signals to sleepers instead of transfers");
  arguments.number("--seconds", seconds, "How long", 0.0);
  if (const auto status = arguments.read(argc, argv)) return *status;
  try {
    return stopbit::soak::run(broker, wakes, seconds);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "stopbit_greedy: %s\n", failure.what());
    return 3;
  }
}
