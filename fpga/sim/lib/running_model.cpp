#include "running_model.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/device/sim/feed.hpp"
#include "host/os/shm/segment.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kRun = 8;               // cycles between two looks at what others want
constexpr std::uint64_t kQuietCycles = 20'000;  // then the model rests until something comes
constexpr std::size_t kMaxWaiting = 64;         // packets; more stay in the socket
constexpr auto kNap = std::chrono::microseconds(50);

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*end == '\0') return value;
  std::fprintf(stderr, "stopbit simulation: %s is '%s', which is no number: taking %llu\n", variable, text,
               static_cast<unsigned long long>(otherwise));
  return otherwise;
}

}  // namespace

/// Takes packets out of the feed's socket.
class FeedSocket {
 public:
  explicit FeedSocket(const char* path) : path_(path), message_(sizeof(FeedHeader) + kMaxFeedBytes) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof(address.sun_path)) {
      complain("its path is too long");
      return;
    }
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    listener_ = os::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::unlink(path);
    if (!listener_.ok() || ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener_.get(), 1) != 0) {
      listener_ = {};
      complain(std::strerror(errno));
    }
  }
  ~FeedSocket() {
    if (listener_.ok()) ::unlink(path_.c_str());
  }
  FeedSocket(const FeedSocket&) = delete;
  FeedSocket& operator=(const FeedSocket&) = delete;

  std::optional<Packet> receive() {
    if (!listener_.ok()) return std::nullopt;
    if (!peer_.ok()) peer_ = os::Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!peer_.ok()) return std::nullopt;
    const ssize_t got = ::recv(peer_.get(), message_.data(), message_.size(), MSG_TRUNC);
    if (got < 0) return std::nullopt;
    if (got == 0) {
      peer_ = {};
      return std::nullopt;
    }
    const auto bytes = static_cast<std::size_t>(got);
    FeedHeader header{};
    if (bytes < sizeof(header) || bytes > message_.size()) {
      complain("a message has no length that a packet can have; it is dropped");
      return std::nullopt;
    }
    std::memcpy(&header, message_.data(), sizeof(header));
    Packet packet;
    packet.bytes.assign(message_.begin() + sizeof(header), message_.begin() + static_cast<std::ptrdiff_t>(bytes));
    packet.socket = header.socket;
    packet.arrival_ns = header.arrival_ns;
    return packet;
  }

  /// A frame that the card sends; lost if the peer does not read.
  void send(const std::vector<std::byte>& frame) {
    FeedHeader header{};
    iovec parts[2] = {{&header, sizeof(header)}, {const_cast<std::byte*>(frame.data()), frame.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    if (peer_.ok()) (void)::sendmsg(peer_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

 private:
  void complain(const char* why) const {
    std::fprintf(stderr, "stopbit simulation: feed '%s': %s\n", path_.c_str(), why);
  }

  std::string path_;
  std::vector<std::byte> message_;
  os::Descriptor listener_;
  os::Descriptor peer_;
};

RunningModel::RunningModel()
    : model_(number_from("STOPBIT_SIM_SEED", 1),
             static_cast<std::uint32_t>(std::min<std::uint64_t>(number_from("STOPBIT_SIM_STALL", 0), 95))) {
  const char* feed = std::getenv("STOPBIT_SIM_FEED");
  if (feed != nullptr && *feed != '\0') feed_ = std::make_unique<FeedSocket>(feed);
  if (feed_) model_.on_frame([this](const std::vector<std::byte>& frame) { feed_->send(frame); });
  thread_ = std::thread([this] { run(); });
}

RunningModel::~RunningModel() {
  ending_ = true;
  wake_.notify_all();
  thread_.join();
  const std::string problem = model_.problem();
  if (!problem.empty()) std::fprintf(stderr, "stopbit simulation: %s\n", problem.c_str());
}

std::uint32_t RunningModel::read(std::uint32_t offset) {
  return ask<std::uint32_t>([this, offset] { return model_.read(offset); });
}

void RunningModel::write(std::uint32_t offset, std::uint32_t value) {
  ask<void>([this, offset, value] { model_.write(offset, value); });
}

void RunningModel::map(std::uint64_t address, std::byte* data, std::size_t bytes) {
  ask<void>([this, address, data, bytes] { model_.map(address, data, bytes); });
}

void RunningModel::unmap(std::uint64_t address) {
  ask<void>([this, address] { model_.unmap(address); });
}

void RunningModel::reset() {
  ask<void>([this] { model_.reset(); });
}

template <class T, class Work>
T RunningModel::ask(Work work) {
  std::packaged_task<T()> task(std::move(work));
  std::future<T> answer = task.get_future();
  {
    const std::scoped_lock lock(mutex_);
    work_.emplace_back([&task] { task(); });
  }
  wake_.notify_one();
  return answer.get();
}

void RunningModel::run() {
  while (!ending_) {
    std::deque<std::function<void()>> work;
    {
      std::unique_lock lock(mutex_);
      const bool rests = model_.quiet_cycles() > kQuietCycles && model_.waiting() == 0;
      if (rests) wake_.wait_for(lock, kNap, [this] { return ending_ || !work_.empty(); });
      work.swap(work_);
    }
    for (const std::function<void()>& task : work) task();
    while (feed_ != nullptr && model_.waiting() < kMaxWaiting) {
      std::optional<Packet> packet = feed_->receive();
      if (!packet) break;
      model_.send(std::move(*packet));
    }
    // A client that has sent one request may send more: it ran the clock, and waits.
    const std::uint64_t cycles = work.empty() ? kRun : 1;
    if (model_.quiet_cycles() <= kQuietCycles || model_.waiting() > 0) model_.run(cycles);
  }
}

}  // namespace stopbit::sim
