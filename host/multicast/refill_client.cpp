#include "host/multicast/refill_client.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/feed/packet/socket_address.hpp"
#include "host/multicast/packet.hpp"
#include "host/os/clock.hpp"
#include "host/relay/message.hpp"

namespace stopbit::multicast {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

}  // namespace

Failure RefillClient::fail(const std::string& what) {
  socket_.reset();
  return Failure{"refill service " + net::to_text(address_) + ": " + what};
}

bool RefillClient::wait(short events, std::uint64_t until_ns) const noexcept {
  for (;;) {
    const std::uint64_t now_ns = os::monotonic_clock_ns();
    if (now_ns >= until_ns) return false;
    pollfd look{.fd = socket_->get(), .events = events, .revents = 0};
    const int ready = ::poll(&look, 1, static_cast<int>((until_ns - now_ns) / kMs) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Status RefillClient::connect(std::uint64_t until_ns) {
  socket_.emplace(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_->ok()) return fail(std::strerror(errno));
  const sockaddr_in address = net::socket_address(address_);
  if (::connect(socket_->get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return Done{};
  if (errno != EINPROGRESS) return fail(std::strerror(errno));
  if (!wait(POLLOUT, until_ns)) return fail("no answer");
  int error = 0;
  socklen_t bytes = sizeof(error);
  if (::getsockopt(socket_->get(), SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
  if (error != 0) return fail(std::strerror(error));
  return Done{};
}

Status RefillClient::ask(const Request& request, std::uint64_t until_ns) {
  if (socket_) {
    // The publisher may have begun again since, or closed what was idle.
    std::byte byte{};
    const ssize_t count = ::recv(socket_->get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count >= 0 || (errno != EAGAIN && errno != EINTR)) socket_.reset();
  }
  if (!socket_) {
    if (const Status connected = connect(until_ns); !connected) return connected;
  }
  std::array<std::byte, kRequestBytes> bytes;
  encode(request, bytes);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket_->get(), bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      if (!wait(POLLOUT, until_ns)) return fail("it takes no request");
    } else if (errno != EINTR) {
      return fail(std::strerror(errno));
    }
  }
  return Done{};
}

Status RefillClient::read(std::span<std::byte> to, std::uint64_t until_ns) {
  while (!to.empty()) {
    const ssize_t count = ::recv(socket_->get(), to.data(), to.size(), MSG_DONTWAIT);
    if (count > 0) {
      to = to.subspan(static_cast<std::size_t>(count));
      // A service that answers byte by byte does not hold the reader either.
      if (os::monotonic_clock_ns() >= until_ns && !to.empty()) return fail("the answer takes too long");
    } else if (count == 0) {
      return fail("it closed the connection: too many clients, or another version");
    } else if (errno == EAGAIN) {
      if (!wait(POLLIN, until_ns)) return fail("no answer in time");
    } else if (errno != EINTR) {
      return fail(std::strerror(errno));
    }
  }
  return Done{};
}

Result<AnswerHead> RefillClient::read_head(std::uint64_t until_ns) {
  std::array<std::byte, kAnswerHeadBytes> bytes;
  if (const Status done = read(bytes, until_ns); !done) return done.failure();
  const auto head = decode_answer_head(bytes);
  if (!head) return fail("its answer is malformed");
  return *head;
}

Result<Completion> RefillClient::read_done(std::uint64_t until_ns) {
  std::array<std::byte, kDoneBytes> bytes;
  if (const Status done = read(bytes, until_ns); !done) return done.failure();
  const auto completion = decode_done(bytes);
  if (!completion) return fail("its answer is malformed");
  return *completion;
}

Result<Completion> RefillClient::packets(std::uint64_t first, std::uint64_t end, std::uint64_t timeout_ns,
                                         const TakePacket& take) {
  const std::uint64_t until_ns = os::monotonic_clock_ns() + timeout_ns;
  if (const Status asked = ask({Request::Kind::Packets, first, end}, until_ns); !asked) return asked.failure();
  // No more than was asked for: a service that goes on sending is malformed.
  for (std::uint64_t left = end - first + 1; left != 0; --left) {
    const Result<AnswerHead> head = read_head(until_ns);
    if (!head) return head.failure();
    if (head.value().kind == AnswerHead::Kind::Done) return read_done(until_ns);
    if (head.value().kind != AnswerHead::Kind::Packet || left == 1) break;
    packet_.resize(head.value().bytes);
    if (const Status done = read(packet_, until_ns); !done) return done.failure();
    take(packet_);
  }
  return fail("its answer is malformed");
}

Result<std::vector<std::byte>> RefillClient::layout(std::uint64_t name, std::uint64_t timeout_ns) {
  const std::uint64_t until_ns = os::monotonic_clock_ns() + timeout_ns;
  if (const Status asked = ask({Request::Kind::Layout, name, 0}, until_ns); !asked) return asked.failure();
  Result<AnswerHead> head = read_head(until_ns);
  if (!head) return head.failure();
  std::vector<std::byte> image;
  if (head.value().kind == AnswerHead::Kind::Layout) {
    image.resize(head.value().bytes);
    if (const Status done = read(image, until_ns); !done) return done.failure();
    head = read_head(until_ns);
    if (!head) return head.failure();
  }
  if (head.value().kind != AnswerHead::Kind::Done) return fail("its answer is malformed");
  const Result<Completion> done = read_done(until_ns);
  if (!done) return done.failure();
  if (image.empty()) return Failure{"refill service " + net::to_text(address_) + ": it does not have the layout"};
  if (relay::name_of_layout(image) != name) return fail("the layout that it sent is another one");
  return image;
}

Result<RefillClient::StateAnswer> RefillClient::state(std::uint64_t timeout_ns, const TakeState& take) {
  const std::uint64_t until_ns = os::monotonic_clock_ns() + timeout_ns;
  if (const Status asked = ask({Request::Kind::State, 0, 0}, until_ns); !asked) return asked.failure();
  std::optional<StateHead> first;
  for (;;) {
    const Result<AnswerHead> item = read_head(until_ns);
    if (!item) return item.failure();
    if (item.value().kind == AnswerHead::Kind::Done) break;
    if (item.value().kind != AnswerHead::Kind::State) return fail("its answer is malformed");
    packet_.resize(item.value().bytes);
    if (const Status done = read(packet_, until_ns); !done) return done.failure();
    const std::optional<StateHead> head = decode_state(packet_);
    if (!head || (first && *first != *head)) return fail("its answer is malformed");
    // It may send items for ever, but not longer than the time for its answer.
    if (os::monotonic_clock_ns() >= until_ns) return fail("the answer takes too long");
    first = head;
    take(std::span<const std::byte>(packet_).subspan(kStateHeadBytes));
  }
  const Result<Completion> done = read_done(until_ns);
  if (!done) return done.failure();
  if (!first) {
    return Failure{"refill service " + net::to_text(address_) +
                   ": it keeps no state: its ring carries no market events, or its settings do not say `state = true`"};
  }
  return StateAnswer{*first, done.value()};
}

}  // namespace stopbit::multicast
