#include "host/appliance/step/step_desk.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <utility>

#include "host/appliance/connection/tcp_connection.hpp"

namespace stopbit::appliance {
namespace {

namespace asio = boost::asio;

/// Answers to a server are short. The connection to a server that leaves this many unread is closed.
constexpr std::size_t kMostUnsent = std::size_t{64} << 10;
/// How often a session that waits for room looks whether the agent has made some: it cannot wake this thread.
constexpr std::uint64_t kStepNs = 5'000'000;

/// The shortest message of FIXT with data, of which one of STEP may have many.
constexpr std::size_t kLeastMessage = sizeof("8=FIXT.1.1|9=10|95=1|96=x|10=000|") - 1;

}  // namespace

struct StepDesk::Io {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::steady_timer timer{context};
};

/// A session and its connection.
class StepDesk::Wire final : private fix::StepSink, private TcpConnection::Owner {
 public:
  Wire(StepDesk& desk, net::Endpoint address, const fix::StepOptions& options, const fix::StepLimits& limits)
      : server(address),
        link(std::make_shared<ingest::StepLink>()),
        desk_(desk),
        tcp_(
            desk.io_->context, [&desk, address] { return desk.dial_(address); }, kMostUnsent, *this),
        session_(options, limits, *this) {}

  void step() {
    // Time is judged by what has come, not by what has been read.
    if (session_.next_tick_ns() <= desk_.clocks_.now().monotonic_ns) tcp_.look();
    session_.tick(desk_.clocks_.now());
    tcp_.resume();
    wait();
  }
  void stop() { session_.stop(desk_.clocks_.now()); }

  const net::Endpoint server;
  const std::shared_ptr<ingest::StepLink> link;

 private:
  // Of the connection.
  void connected() override {
    tcp_.probe_silence();
    session_.connected(desk_.clocks_.now());
    wait();
  }
  void failed() override {
    session_.failed(desk_.clocks_.now());
    wait();
  }
  void closed() override {
    session_.closed(desk_.clocks_.now());
    wait();
  }
  std::span<std::byte> room() override { return session_.is_blocked() ? std::span<std::byte>() : session_.room(); }
  void filled(std::size_t count) override {
    read_ = desk_.clocks_.now();
    session_.filled(count, read_);
    wait();
  }

  // Of the session.
  void connect() override { tcp_.connect(); }
  bool send(std::span<const char> bytes) override { return tcp_.send(bytes); }
  void close() override { tcp_.close(); }
  bool has_room(std::size_t message_bytes) override {
    using Queue = decltype(ingest::StepLink::packets);
    const std::size_t most_packets = message_bytes / kLeastMessage + 1;
    return link->packets.room() >= most_packets * Queue::most_for(ingest::StepLink::kNumberBytes + fix::kMostStepHead) +
                                       Queue::most_for(message_bytes);
  }
  void packet(std::uint64_t number, std::span<const std::byte> head, std::span<const std::byte> data) override {
    std::array<std::byte, ingest::StepLink::kNumberBytes + fix::kMostStepHead> preamble;
    constexpr std::size_t kNumber = ingest::StepLink::kNumberBytes;
    for (std::size_t i = kNumber; i > 0; --i, number >>= 8) preamble[i - 1] = static_cast<std::byte>(number);
    std::copy(head.begin(), head.end(), preamble.begin() + kNumber);
    // has_room has seen to it that it fits.
    (void)link->packets.push({.t_ns = read_.monotonic_ns, .arrival_ns = read_.wall_ns},
                             std::span(preamble).first(kNumber + head.size()), data);
    has_pushed_ = true;
  }
  void logged_on() override {}
  void ended(fix::StepEnd why) override {
    link->last_end.store(why, std::memory_order_relaxed);
    link->ends.fetch_add(1, std::memory_order_release);
  }

  /// After each call of the session.
  void wait() {
    if (std::exchange(has_pushed_, false)) link->ring();
    const std::uint64_t now_ns = desk_.clocks_.now().monotonic_ns;
    const std::uint64_t tick_ns = session_.next_tick_ns();
    desk_.wake_at(session_.is_blocked() ? std::min(tick_ns, now_ns + kStepNs) : tick_ns, now_ns);
  }

  StepDesk& desk_;
  TcpConnection tcp_;
  fix::StepSession session_;
  Now read_;
  bool has_pushed_ = false;  ///< The agent has something to take.
};

StepDesk::StepDesk(Clocks clocks, Dial dial)
    : clocks_(std::move(clocks)), dial_(std::move(dial)), io_(std::make_unique<Io>()) {}

StepDesk::~StepDesk() {
  stop();
}

std::shared_ptr<ingest::StepLink> StepDesk::add(net::Endpoint server, const fix::StepOptions& options,
                                                const fix::StepLimits& limits) {
  wires_.push_back(std::make_unique<Wire>(*this, server, options, limits));
  return wires_.back()->link;
}

std::vector<StepDesk::Ends> StepDesk::ends() const {
  std::vector<Ends> all;
  all.reserve(wires_.size());
  for (const auto& wire : wires_) {
    const std::uint64_t count = wire->link->ends.load(std::memory_order_acquire);
    all.push_back({wire->server, count, wire->link->last_end.load(std::memory_order_relaxed)});
  }
  return all;
}

void StepDesk::step() {
  due_ns_ = fix::StepSession::kNever;
  for (const auto& wire : wires_) wire->step();
}

void StepDesk::wake_at(std::uint64_t at_ns, std::uint64_t now_ns) {
  if (at_ns >= due_ns_) return;
  due_ns_ = at_ns;
  io_->timer.expires_after(std::chrono::nanoseconds(at_ns > now_ns ? at_ns - now_ns : 0));
  io_->timer.async_wait([this](boost::system::error_code error) {
    // Else the timer has been set to an earlier time.
    if (!error) step();
  });
}

void StepDesk::start(const std::function<void()>& begin) {
  if (wires_.empty()) return;
  thread_ = std::thread([this, begin] {
    ::pthread_setname_np(::pthread_self(), "step");
    if (begin) begin();
    step();
    io_->context.run();
    for (const auto& wire : wires_) wire->stop();
  });
}

void StepDesk::stop() {
  if (!thread_.joinable()) return;
  io_->context.stop();
  thread_.join();
}

std::size_t StepDesk::run_for(std::uint64_t ns) {
  io_->context.restart();
  return io_->context.run_for(std::chrono::nanoseconds(ns));
}

}  // namespace stopbit::appliance
