#include "host/control/server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <utility>

namespace stopbit::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;

constexpr std::uint32_t kMaxRequestBytes = 8'192;
constexpr mode_t kSocketMode = 0660;

/// What all clients share.
struct Shared {
  Answer answer;
  Pages pages;
  std::vector<std::uint32_t> users;
  std::string token;
  Limits limits;
  std::size_t clients = 0;
  std::uint64_t refused = 0;
};

/// Counts a client as long as it lives.
class Seat {
 public:
  explicit Seat(Shared& shared) : shared_(shared) { ++shared_.clients; }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat() { --shared_.clients; }

 private:
  Shared& shared_;
};

std::chrono::nanoseconds patience(const Shared& shared) {
  return std::chrono::nanoseconds(shared.limits.patience_ns);
}

/// A client of the Unix socket.
class CommandClient : public std::enable_shared_from_this<CommandClient> {
 public:
  CommandClient(Local::socket socket, Shared& shared)
      : shared_(shared), seat_(shared), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

  void start() {
    ucred peer{};
    socklen_t size = sizeof(peer);
    const bool is_known = ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    const bool is_allowed =
        is_known && (peer.uid == 0 || peer.uid == ::geteuid() ||
                     std::find(shared_.users.begin(), shared_.users.end(), peer.uid) != shared_.users.end());
    if (is_allowed) {
      read();
      return;
    }
    ++shared_.refused;
    write("error: user " + std::to_string(peer.uid) + " may not do this", true);
  }

 private:
  void wait() {
    timer_.expires_after(patience(shared_));
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      boost::system::error_code ignored;
      if (!error) self->socket_.close(ignored);
    });
  }
  void read() {
    wait();
    asio::async_read_until(socket_, asio::dynamic_buffer(input_, kMaxCommandBytes), '\n',
                           [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
                             self->timer_.cancel();
                             if (error == asio::error::not_found) {
                               self->write(
                                   "error: a command has at most " + std::to_string(kMaxCommandBytes) + " bytes", true);
                             } else if (!error) {
                               self->take(bytes);
                             }
                           });
  }
  void take(std::size_t bytes) {
    std::string_view line = std::string_view(input_).substr(0, bytes - 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const Result<Command> command = parse_command(line);
    std::string answer = command ? shared_.answer(command.value()) : "error: " + command.message();
    input_.erase(0, bytes);
    write(std::move(answer), false);
  }
  void write(std::string text, bool is_last) {
    wait();
    output_ = std::move(text) + "\n";
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this(), is_last](const boost::system::error_code& error, std::size_t) {
                        self->timer_.cancel();
                        if (!error && !is_last) self->read();
                      });
  }

  Shared& shared_;
  Seat seat_;
  Local::socket socket_;
  asio::steady_timer timer_;
  std::string input_;
  std::string output_;
};

/// A client of HTTP: one request.
class HttpClient : public std::enable_shared_from_this<HttpClient> {
 public:
  HttpClient(Tcp::socket socket, Shared& shared) : shared_(shared), seat_(shared), stream_(std::move(socket)) {
    parser_.header_limit(kMaxRequestBytes);
    parser_.body_limit(0);
  }

  void start() {
    stream_.expires_after(patience(shared_));
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                       if (!error) self->take();
                     });
  }

 private:
  void take() {
    const auto& request = parser_.get();
    response_.version(request.version());
    response_.keep_alive(false);
    response_.set(http::field::server, "stopbit");
    response_.set(http::field::x_frame_options, "DENY");
    response_.set("Content-Security-Policy", "default-src 'self' 'unsafe-inline'");
    fill(request);
    response_.prepare_payload();
    stream_.expires_after(patience(shared_));
    http::async_write(stream_, response_, [self = shared_from_this()](boost::system::error_code error, std::size_t) {
      if (!error) self->stream_.socket().shutdown(Tcp::socket::shutdown_send, error);
    });
  }
  void fill(const http::request<http::string_body>& request) {
    const auto say = [&](http::status status, const char* why) {
      response_.result(status);
      response_.set(http::field::content_type, "text/plain");
      response_.body() = std::string(why) + "\n";
    };
    if (request.method() != http::verb::get) return say(http::status::method_not_allowed, "only GET");
    const auto authorization = request[http::field::authorization];
    if (!shared_.token.empty() &&
        !is_same_secret("Bearer " + shared_.token, {authorization.data(), authorization.size()})) {
      ++shared_.refused;
      return say(http::status::unauthorized, "a token is needed");
    }
    const std::string_view target(request.target().data(), request.target().size());
    auto page = shared_.pages(target.substr(0, target.find('?')));
    if (!page) return say(http::status::not_found, "there is no such page");
    response_.result(http::status::ok);
    response_.set(http::field::content_type, page->type);
    response_.body() = std::move(page->body);
  }

  Shared& shared_;
  Seat seat_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMaxRequestBytes};
  http::request_parser<http::string_body> parser_;
  http::response<http::string_body> response_;
};

}  // namespace

bool is_same_secret(std::string_view secret, std::string_view offered) noexcept {
  unsigned different = secret.size() == offered.size() ? 0 : 1;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    const char expected = i < secret.size() ? secret[i] : '\0';
    different |= static_cast<unsigned char>(expected) ^ static_cast<unsigned char>(offered[i]);
  }
  return different == 0;
}

struct Server::Parts {
  explicit Parts(const Options& options, Answer answer, Pages pages)
      : shared{std::move(answer), std::move(pages), options.users, options.token, options.limits} {}
  ~Parts() {
    if (!path.empty()) ::unlink(path.c_str());
  }

  std::string open_socket(const std::string& name) {
    struct stat status {};
    boost::system::error_code error;
    if (::lstat(name.c_str(), &status) == 0) {
      if (!S_ISSOCK(status.st_mode)) return "'" + name + "' exists and is no socket; it was left alone";
      Local::socket probe(context);
      probe.connect(Local::endpoint(name), error);
      if (!error) return "somebody listens at '" + name + "' already";
      ::unlink(name.c_str());
    }
    if (name.size() >= sizeof(sockaddr_un::sun_path)) return "the path of the control socket is too long";
    local.emplace(context);
    local->open(Local(), error);
    if (!error) local->bind(Local::endpoint(name), error);
    if (error) return "control socket '" + name + "': " + error.message();
    path = name;
    if (::chmod(name.c_str(), kSocketMode) != 0) return "control socket '" + name + "': cannot set its mode";
    local->listen(Local::acceptor::max_listen_connections, error);
    if (error) return "control socket '" + name + "': " + error.message();
    accept_local();
    return {};
  }

  std::string open_http(const net::Endpoint& endpoint) {
    const asio::ip::address_v4 address(endpoint.address);
    if (!address.is_loopback() && shared.token.empty()) {
      return "HTTP on " + address.to_string() + " wants a token: without one it is for this machine only";
    }
    boost::system::error_code error;
    tcp.emplace(context);
    tcp->open(Tcp::v4(), error);
    if (!error) tcp->set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error) tcp->bind(Tcp::endpoint(address, endpoint.port), error);
    if (!error) tcp->listen(Tcp::acceptor::max_listen_connections, error);
    if (error) return "HTTP on " + net::to_text(endpoint) + ": " + error.message();
    accept_tcp();
    return {};
  }

  template <class Client, class Socket>
  void seat(Socket socket) {
    if (shared.clients >= shared.limits.clients) {
      ++shared.refused;  // the socket closes as it goes
      return;
    }
    std::make_shared<Client>(std::move(socket), shared)->start();
  }
  void accept_local() {
    local->async_accept([this](const boost::system::error_code& error, Local::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) seat<CommandClient>(std::move(socket));
      accept_local();
    });
  }
  void accept_tcp() {
    tcp->async_accept([this](const boost::system::error_code& error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) seat<HttpClient>(std::move(socket));
      accept_tcp();
    });
  }

  Shared shared;  // outlives the clients, which live in the context
  asio::io_context context{1};
  std::optional<Local::acceptor> local;
  std::optional<Tcp::acceptor> tcp;
  std::string path;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(const Options& options, Answer answer, Pages pages) {
  auto parts = std::make_unique<Parts>(options, std::move(answer), std::move(pages));
  std::string problem;
  if (!options.socket.empty()) problem = parts->open_socket(options.socket);
  if (problem.empty() && options.http) problem = parts->open_http(*options.http);
  if (!problem.empty()) return Failure{std::move(problem)};
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

void Server::poll() {
  parts_->context.restart();
  parts_->context.poll();
}

std::uint16_t Server::http_port() const noexcept {
  boost::system::error_code error;
  return parts_->tcp ? parts_->tcp->local_endpoint(error).port() : std::uint16_t{0};
}

std::uint64_t Server::refused() const noexcept {
  return parts_->shared.refused;
}

}  // namespace stopbit::control
