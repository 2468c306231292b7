#include "host/appliance/connection/tcp_connection.hpp"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace stopbit::appliance {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

void TcpConnection::connect() {
  close();
  opener::Outcome opened = dial_();
  error_code error;
  if (opened.error == 0) socket_.assign(tcp::v4(), opened.file.get(), error);
  const bool is_open = opened.error == 0 && !error;
  if (is_open) (void)opened.file.release();
  if (!is_open) {
    // Not from within the owner's call.
    asio::post(context_, [this, life = life_] {
      if (life == life_) owner_.failed();
    });
    return;
  }
  is_connecting_ = true;
  socket_.non_blocking(true, error);
  socket_.async_wait(tcp::socket::wait_write, [this, life = life_](error_code failed) {
    if (life == life_ && is_connecting_) finish_connect(failed);
  });
}

bool TcpConnection::send(std::span<const char> bytes) {
  if (bytes.size() > most_unsent_ - out_.size()) return false;
  out_.append(bytes.begin(), bytes.end());
  if (!is_writing_) write();
  return true;
}

void TcpConnection::close() {
  ++life_;
  is_connecting_ = is_writing_ = is_paused_ = false;
  out_.clear();
  error_code ignored;
  if (socket_.is_open()) socket_.close(ignored);
}

void TcpConnection::resume() {
  if (is_paused_ && !owner_.room().empty()) read();
}

void TcpConnection::look() {
  if (!socket_.is_open()) return;
  if (!is_connecting_) return receive();
  pollfd file{.fd = socket_.native_handle(), .events = POLLOUT, .revents = 0};
  if (::poll(&file, 1, 0) > 0) finish_connect({});
}

void TcpConnection::probe_silence() {
  struct Option {
    int level, name, value;
  };
  for (const Option& option : {Option{SOL_SOCKET, SO_KEEPALIVE, 1}, Option{IPPROTO_TCP, TCP_KEEPIDLE, 15},
                               Option{IPPROTO_TCP, TCP_KEEPINTVL, 5}, Option{IPPROTO_TCP, TCP_KEEPCNT, 3}}) {
    // A kernel that refuses notices later that the other end has gone.
    (void)::setsockopt(socket_.native_handle(), option.level, option.name, &option.value, sizeof(option.value));
  }
}

void TcpConnection::finish_connect(error_code error) {
  is_connecting_ = false;
  int problem = 0;
  socklen_t size = sizeof(problem);
  if (!error && ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0) problem = errno;
  if (error || problem != 0) {
    close();
    return owner_.failed();
  }
  const std::uint64_t life = life_;
  owner_.connected();
  if (life == life_) read();
}

void TcpConnection::write() {
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

void TcpConnection::read() {
  is_paused_ = false;
  socket_.async_wait(tcp::socket::wait_read, [this, life = life_](error_code) {
    if (life == life_) take();
  });
}

void TcpConnection::take() {
  if (owner_.room().empty()) {
    is_paused_ = true;
    return;
  }
  const std::uint64_t life = life_;
  receive();
  if (life == life_) read();
}

void TcpConnection::receive() {
  const std::span<std::byte> room = owner_.room();
  if (room.empty()) return;
  error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(room.data(), room.size()), error);
  if (error == asio::error::would_block) return;
  if (!error) return owner_.filled(count);
  close();
  owner_.closed();
}

}  // namespace stopbit::appliance
