#include "host/appliance/refill/replay_desk.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "host/appliance/opener/client.hpp"

namespace stopbit::appliance {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 4'096;
/// An agent makes no system call, so it cannot wake this thread: it looks this often.
constexpr auto kStep = std::chrono::milliseconds(5);

}  // namespace

struct ReplayDesk::Io {
  asio::io_context context{1};
  asio::steady_timer timer{context};
};

/// The connection of a service.
class ReplayDesk::Wire final : public ReplayWire {
 public:
  Wire(ReplayDesk& desk, std::size_t connection) : desk_(desk), connection_(connection), socket_(desk.io_->context) {}

  void connect() override {
    close();
    opener::Outcome opened = open();
    error_code error;
    if (opened.error == 0) socket_.assign(tcp::v4(), opened.file.release(), error);
    if (opened.error != 0 || error) {
      // Not from within the service's call.
      asio::post(desk_.io_->context, [this, life = life_] {
        if (life == life_) service->failed(desk_.now());
      });
      return;
    }
    socket_.non_blocking(true, error);
    socket_.async_wait(tcp::socket::wait_write, [this, life = life_](error_code failed) {
      if (life == life_) finish_connect(failed);
    });
  }

  void send(std::span<const char> bytes) override {
    out_.append(bytes.begin(), bytes.end());
    if (!is_writing_) write();
  }

  /// What the kernel has of a log-out, it sends.
  void close() override {
    ++life_;
    is_writing_ = is_paused_ = false;
    out_.clear();
    error_code ignored;
    if (socket_.is_open()) socket_.close(ignored);
  }

  /// The agent may have room again.
  void resume() {
    if (is_paused_ && service->has_room(kReadBytes)) read();
  }

  std::unique_ptr<ReplayService> service;  ///< Whose connection it is.

 private:
  [[nodiscard]] opener::Outcome open() const {
    const opener::Request request{.kind = opener::RequestKind::Connect,
                                  .index = static_cast<std::uint32_t>(connection_)};
    if (desk_.opener_ != nullptr) return desk_.opener_->ask(request);
    return opener::perform(request, {.connections = desk_.connections_});
  }

  void finish_connect(error_code error) {
    int problem = 0;
    socklen_t size = sizeof(problem);
    if (!error && ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
    if (error || problem != 0) {
      close();
      return service->failed(desk_.now());
    }
    const std::uint64_t life = life_;
    service->connected(desk_.now());
    if (life == life_) read();
  }

  void write() {
    error_code error;
    while (!out_.empty()) {
      const std::size_t sent = socket_.write_some(asio::buffer(out_), error);
      if (error) break;
      out_.erase(0, sent);
    }
    is_writing_ = error == asio::error::would_block;
    // Another error shows when the connection is read.
    if (!is_writing_) return out_.clear();
    socket_.async_wait(tcp::socket::wait_write, [this, life = life_](error_code failed) {
      if (life == life_ && !failed) write();
    });
  }

  void read() {
    is_paused_ = false;
    socket_.async_wait(tcp::socket::wait_read, [this, life = life_](error_code) {
      if (life == life_) take();
    });
  }

  void take() {
    if (!service->has_room(kReadBytes)) {
      is_paused_ = true;
      return;
    }
    error_code error;
    const std::size_t count = socket_.read_some(asio::buffer(in_), error);
    if (error == asio::error::would_block) return read();
    const std::uint64_t life = life_;
    if (error) {
      close();
      return service->closed(desk_.now());
    }
    service->bytes(std::as_bytes(std::span(in_).first(count)), desk_.now());
    if (life == life_) read();
  }

  ReplayDesk& desk_;
  std::size_t connection_;
  tcp::socket socket_;
  std::uint64_t life_ = 0;  ///< What was begun for an earlier connection is of no use.
  std::string out_;
  std::array<char, kReadBytes> in_{};
  bool is_writing_ = false;
  bool is_paused_ = false;
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

std::uint64_t ReplayDesk::now() {
  const bool is_idle =
      std::all_of(wires_.begin(), wires_.end(), [](const auto& wire) { return wire->service->is_idle(); });
  return clock_.read(clocks_.now(), is_idle);
}

void ReplayDesk::step() {
  const std::uint64_t wall_ns = now();
  ReplayWant want;
  for (ReplayLink* const link : links_) {
    while (link->wants.pop(want)) {
      for (const auto& wire : wires_) {
        if (ReplayFeed* const feed = wire->service->feed_of(*link, want.channel)) feed->take(want, wall_ns);
      }
    }
  }
  for (const auto& wire : wires_) {
    wire->service->step(wall_ns);
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
