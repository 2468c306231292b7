#include "host/appliance/refill/replay_desk.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "host/appliance/connection/tcp_connection.hpp"
#include "host/appliance/opener/client.hpp"

namespace stopbit::appliance {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 4'096;
constexpr std::size_t kMostUnsent = std::size_t{256} << 10;
/// An agent makes no system call, so it cannot wake this thread: it looks this often.
constexpr auto kStep = std::chrono::milliseconds(5);

}  // namespace

struct ReplayDesk::Io {
  asio::io_context context{1};
  asio::steady_timer timer{context};
};

/// The connection of a service.
class ReplayDesk::Wire final : public ReplayWire, private TcpConnection::Owner {
 public:
  Wire(ReplayDesk& desk, std::size_t connection)
      : desk_(desk),
        tcp_(
            desk.io_->context, [this, connection] { return open(connection); }, kMostUnsent, *this) {}

  void connect() override { tcp_.connect(); }
  void send(std::span<const char> bytes) override {
    // A service that takes nothing answers nothing, and is given up for that.
    (void)tcp_.send(bytes);
  }
  void close() override { tcp_.close(); }
  /// The agent may have room again.
  void resume() { tcp_.resume(); }

  std::unique_ptr<ReplayService> service;  ///< Whose connection it is.

 private:
  [[nodiscard]] opener::Outcome open(std::size_t connection) const {
    const opener::Request request{.kind = opener::RequestKind::Connect,
                                  .index = static_cast<std::uint32_t>(connection)};
    if (desk_.opener_ != nullptr) return desk_.opener_->ask(request);
    return opener::perform(request, {.connections = desk_.connections_});
  }
  void connected() override { service->connected(desk_.now()); }
  void failed() override { service->failed(desk_.now()); }
  void closed() override { service->closed(desk_.now()); }
  std::span<std::byte> room() override {
    return service->has_room(kReadBytes) ? std::span<std::byte>(in_) : std::span<std::byte>();
  }
  void filled(std::size_t count) override { service->bytes(std::span(in_).first(count), desk_.now()); }

  ReplayDesk& desk_;
  TcpConnection tcp_;
  std::array<std::byte, kReadBytes> in_{};
};

ReplayDesk::ReplayDesk(Clocks clocks, std::vector<net::Endpoint> connections, opener::Client* opener)
    : clocks_(std::move(clocks)),
      clock_(clocks_.now()),
      connections_(std::move(connections)),
      opener_(opener),
      io_(std::make_unique<Io>()) {}

ReplayDesk::~ReplayDesk() {
  stop();
}

ReplayService& ReplayDesk::add(ReplayService::Options options, std::size_t connection, QuotaFile& quota,
                               const ReplayCounterSet& counter_set) {
  auto wire = std::make_unique<Wire>(*this, connection);
  wire->service = std::make_unique<ReplayService>(std::move(options), quota, counter_set, *wire, now());
  wires_.push_back(std::move(wire));
  return *wires_.back()->service;
}

/// The wall clock without its steps.
Now ReplayDesk::now() {
  const bool is_idle =
      std::all_of(wires_.begin(), wires_.end(), [](const auto& wire) { return wire->service->is_idle(); });
  const Now now = clocks_.now();
  return {.wall_ns = clock_.read(now, is_idle), .monotonic_ns = now.monotonic_ns};
}

void ReplayDesk::step() {
  const Now both = now();
  ReplayWant want;
  for (ReplayLink* const link : links_) {
    while (link->wants.pop(want)) {
      for (const auto& wire : wires_) {
        if (ReplayFeed* const feed = wire->service->feed_of(*link, want.channel)) feed->take(want, both);
      }
    }
  }
  for (const auto& wire : wires_) {
    wire->service->step(both);
    wire->resume();
  }
}

void ReplayDesk::schedule() {
  io_->timer.expires_after(kStep);
  io_->timer.async_wait([this](error_code error) {
    if (error || stop_.load(std::memory_order_relaxed)) return io_->context.stop();
    step();
    schedule();
  });
}

void ReplayDesk::start(const std::function<void()>& begin) {
  schedule();
  thread_ = std::thread([this, begin] {
    ::pthread_setname_np(::pthread_self(), "replay");
    if (begin) begin();
    io_->context.run();
  });
}

void ReplayDesk::run_for(std::uint64_t ns) {
  step();
  io_->context.restart();
  io_->context.run_for(std::chrono::nanoseconds(ns));
}

void ReplayDesk::stop() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
  for (const auto& wire : wires_) wire->close();
}

}  // namespace stopbit::appliance
