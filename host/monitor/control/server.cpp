#include "host/monitor/control/server.hpp"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <type_traits>
#include <utility>
#include <vector>

#include "host/monitor/control/host_rule.hpp"
#include "host/monitor/control/page_policy.hpp"
#include "host/os/shm/read_file.hpp"
#include "host/os/unix_socket.hpp"

namespace stopbit::control {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace ssl = boost::asio::ssl;
namespace http = boost::beast::http;
using Local = asio::local::stream_protocol;
using Tcp = asio::ip::tcp;

constexpr std::uint32_t kMaxRequestBytes = 8'192;
constexpr mode_t kSocketMode = 0660;
/// How long a poll may go on while there is always something to do: TLS alone takes a millisecond for each client.
constexpr std::chrono::milliseconds kMaxPoll{20};
/// How long a client of the Unix socket that has its answer may take for another command.
constexpr std::chrono::nanoseconds kNextCommand = std::chrono::milliseconds(500);

/// Shared by all clients.
struct Shared {
  Answer answer;
  Pages pages;
  std::vector<std::uint32_t> users;
  std::vector<Permission> allowed;
  std::function<void(const Asked&)> audit;
  std::vector<std::string> authorizations;  ///< Any of these; none: all clients are accepted.
  HostRule hosts;
  Limits limits;
  std::uint64_t refused = 0;

  void refuse() noexcept { ++refused; }
  /// The user may give all commands.
  [[nodiscard]] bool is_trusted(std::uint32_t user) const {
    return user == 0 || user == ::geteuid() || std::find(users.begin(), users.end(), user) != users.end();
  }
  [[nodiscard]] bool is_known(std::uint32_t user) const {
    return is_trusted(user) || std::any_of(allowed.begin(), allowed.end(),
                                           [&](const Permission& permission) { return permission.user == user; });
  }
  [[nodiscard]] bool may(std::uint32_t user, std::string_view word) const {
    return is_trusted(user) || std::any_of(allowed.begin(), allowed.end(), [&](const Permission& permission) {
             return permission.user == user && std::find(permission.commands.begin(), permission.commands.end(),
                                                         word) != permission.commands.end();
           });
  }
  [[nodiscard]] bool is_authorized(std::string_view offered) const noexcept {
    bool is_known = authorizations.empty();
    for (const std::string& one : authorizations) is_known |= is_same_secret(one, offered);
    return is_known;
  }
};

/// A client of a socket, until another one needs its slot.
class Client {
 public:
  /// The newest client of this socket.
  explicit Client(std::list<Client*>& door) : door_(door), place_(door_.insert(door_.end(), this)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() {
    if (!has_left_) door_.erase(place_);
  }

  /// Closes its connection and gives up its place; what it still waits for ends soon.
  void leave() {
    door_.erase(place_);
    has_left_ = true;
    close();
  }
  [[nodiscard]] bool has_left() const noexcept { return has_left_; }

 private:
  virtual void close() = 0;

  std::list<Client*>& door_;
  std::list<Client*>::iterator place_;
  bool has_left_ = false;
};
using Door = std::list<Client*>;  ///< The oldest guest first.

/// Tells a client that another gets its slot, if there is room for the text without waiting.
template <class Socket>
void say_come_back(Socket& socket, std::string_view text) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  if (!ignored) socket.send(asio::buffer(text), 0, ignored);
}

std::chrono::nanoseconds patience(const Shared& shared) {
  return std::chrono::nanoseconds(shared.limits.patience_ns);
}

/// A client of the Unix socket.
class CommandClient : public Client, public std::enable_shared_from_this<CommandClient> {
 public:
  CommandClient(Local::socket socket, Door& door, Shared& shared)
      : Client(door), shared_(shared), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

  void start() {
    socklen_t size = sizeof(peer_);
    const bool is_told = ::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer_, &size) == 0;
    if (is_told && shared_.is_known(peer_.uid)) {
      read();
      return;
    }
    shared_.refuse();
    // What it would have said is not read.
    tell({}, "error: user " + std::to_string(peer_.uid) + " is not allowed to do this", true);
  }

 private:
  void close() override {
    boost::system::error_code ignored;
    if (output_.empty()) say_come_back(socket_, "error: too many clients; try again later\n");
    socket_.close(ignored);
    timer_.cancel();
  }
  /// `is_rest`: the client has its answers and may be done, which is no fault of it.
  void wait(std::chrono::nanoseconds time, bool is_rest) {
    timer_.expires_after(time);
    timer_.async_wait([self = shared_from_this(), is_rest](const boost::system::error_code& error) {
      if (error || self->has_left()) return;
      boost::system::error_code ignored;
      if (!is_rest) self->shared_.refuse();
      self->socket_.close(ignored);
    });
  }
  void read() {
    output_.clear();
    // `echo status | nc -U` waits for our end of the connection, and we for its next command.
    const bool is_rest = is_answered_ && input_.empty();
    wait(is_rest ? std::min(patience(shared_), kNextCommand) : patience(shared_), is_rest);
    asio::async_read_until(socket_, asio::dynamic_buffer(input_, kMaxCommandBytes), '\n',
                           [self = shared_from_this()](const boost::system::error_code& error, std::size_t bytes) {
                             self->timer_.cancel();
                             // It was turned away: a command that it sent before is not obeyed.
                             if (self->has_left()) return;
                             if (error == asio::error::not_found) {
                               self->tell(self->input_,
                                          "error: a command has at most " + std::to_string(kMaxCommandBytes) + " bytes",
                                          true);
                             } else if (error == asio::error::eof && !self->input_.empty()) {
                               self->take(self->input_.size(), true);  // a last line without an end
                             } else if (!error) {
                               self->take(bytes, false);
                             }
                           });
  }
  void take(std::size_t bytes, bool is_last) {
    std::string_view line = std::string_view(input_).substr(0, bytes);
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string answer = answer_to(line);
    is_answered_ = true;
    tell(line, std::move(answer), is_last);
    input_.erase(0, bytes);
  }
  /// Answers, and lets the audit know.
  void tell(std::string_view line, std::string answer, bool is_last) {
    if (shared_.audit) {
      shared_.audit({.user = peer_.uid,
                     .is_trusted = shared_.is_trusted(peer_.uid),
                     .process = peer_.pid,
                     .line = line,
                     .answer = answer});
    }
    write(std::move(answer), is_last);
  }
  std::string answer_to(std::string_view line) {
    const Result<Command> command = parse_command(line);
    if (!command) return "error: " + command.message();
    const std::string_view word = word_of(command.value().kind);
    if (shared_.may(peer_.uid, word)) return shared_.answer(command.value());
    return "error: user " + std::to_string(peer_.uid) + " may not give the command " + std::string(word);
  }
  void write(std::string text, bool is_last) {
    wait(patience(shared_), false);
    output_ = std::move(text) + "\n";
    asio::async_write(socket_, asio::buffer(output_),
                      [self = shared_from_this(), is_last](const boost::system::error_code& error, std::size_t) {
                        self->timer_.cancel();
                        if (!error && !is_last && !self->has_left()) self->read();
                      });
  }

  Shared& shared_;
  Local::socket socket_;
  ucred peer_{};
  asio::steady_timer timer_;
  std::string input_;
  std::string output_;  ///< Empty: it is the client's turn.
  bool is_answered_ = false;
};

/// A client of HTTP: one request. The stream is a beast::tcp_stream, or one of TLS over it.
template <class Stream>
class HttpClient : public Client, public std::enable_shared_from_this<HttpClient<Stream>> {
 public:
  template <class... More>
  HttpClient(Tcp::socket socket, Door& door, Shared& shared, More&... more)
      : Client(door), shared_(shared), stream_(std::move(socket), more...) {
    parser_.header_limit(kMaxRequestBytes);
    parser_.body_limit(0);
  }

  void start() {
    expire();
    if constexpr (kIsTls) {
      stream_.async_handshake(ssl::stream_base::server,
                              [self = this->shared_from_this()](const boost::system::error_code& error) {
                                if (!error) return self->read();
                                if (!self->has_left()) self->shared_.refuse();
                              });
    } else {
      read();
    }
  }

 private:
  static constexpr bool kIsTls = !std::is_same_v<Stream, beast::tcp_stream>;

  void close() override {
    auto& lowest = beast::get_lowest_layer(stream_);
    if constexpr (!kIsTls) {
      if (!is_answered_) {
        say_come_back(lowest.socket(),
                      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
                      "Connection: close\r\n\r\n");
      }
    }
    lowest.close();
  }
  void expire() { beast::get_lowest_layer(stream_).expires_after(patience(shared_)); }
  void read() {
    http::async_read(stream_, buffer_, parser_,
                     [self = this->shared_from_this()](const boost::system::error_code& error, std::size_t) {
                       if (error) return self->lose(error);
                       self->take();
                     });
  }
  void take() {
    is_answered_ = true;
    const auto& request = parser_.get();
    response_.version(request.version());
    response_.keep_alive(false);
    response_.set(http::field::server, "stopbit");
    response_.set(http::field::x_frame_options, "DENY");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set(http::field::cache_control, "no-store");
    response_.set("Content-Security-Policy", kInertPolicy);
    response_.set("Referrer-Policy", "no-referrer");
    response_.set("Cross-Origin-Resource-Policy", "same-origin");
    fill(request);
    response_.prepare_payload();
    expire();
    http::async_write(stream_, response_,
                      [self = this->shared_from_this()](const boost::system::error_code& error, std::size_t) {
                        if (error) return self->lose(error);
                        self->end();
                      });
  }
  void lose(const boost::system::error_code& error) {
    if (error == beast::error::timeout && !has_left()) shared_.refuse();
  }
  void end() {
    if constexpr (kIsTls) {
      stream_.async_shutdown([self = this->shared_from_this()](const boost::system::error_code&) {});
    } else {
      boost::system::error_code ignored;
      stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    }
  }
  void fill(const http::request<http::string_body>& request) {
    const auto say = [&](http::status status, const char* why) {
      response_.result(status);
      response_.set(http::field::content_type, "text/plain");
      response_.body() = std::string(why) + "\n";
    };
    const auto text = [](const auto& value) { return std::string_view(value.data(), value.size()); };
    // Of HTTP/1.0 a Host may be missing; browsers always say one.
    const auto hosts = request.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && request.version() > 10)) {
      shared_.refuse();
      return say(http::status::bad_request, "exactly one Host header is required");
    }
    const std::string_view host = text(request[http::field::host]);
    if (hosts == 1 && !shared_.hosts.answers(host)) {
      shared_.refuse();
      return say(http::status::misdirected_request,
                 "Host not allowed: use localhost or 127.0.0.1, or add it to allowed_hosts of [http]");
    }
    if (request.count(http::field::origin) != 0 && !shared_.hosts.accepts(text(request[http::field::origin]), host)) {
      shared_.refuse();
      return say(http::status::forbidden, "Origin not allowed: add its host to allowed_hosts of [http]");
    }
    if (request.method() != http::verb::get) return say(http::status::method_not_allowed, "only GET is allowed");
    if (!shared_.is_authorized(text(request[http::field::authorization]))) {
      shared_.refuse();
      response_.set(http::field::www_authenticate, "Basic realm=\"stopbit\"");
      return say(http::status::unauthorized, "a token is required");
    }
    auto page = shared_.pages(text(request.target()));
    if (!page) return say(http::status::not_found, "no such page");
    response_.result(http::status::ok);
    response_.set(http::field::content_type, page->type);
    if (!page->policy.empty()) response_.set("Content-Security-Policy", page->policy);
    response_.body() = std::move(page->body);
  }

  Shared& shared_;
  Stream stream_;
  bool is_answered_ = false;
  beast::flat_buffer buffer_{kMaxRequestBytes};
  http::request_parser<http::string_body> parser_;
  http::response<http::string_body> response_;
};

using PlainClient = HttpClient<beast::tcp_stream>;
using TlsClient = HttpClient<beast::ssl_stream<beast::tcp_stream>>;

/// Of which programs and browsers say one. Browsers ask for a name, too.
std::vector<std::string> authorizations_of(const std::string& token) {
  if (token.empty()) return {};
  const std::string pair = "stopbit:" + token;
  std::string basic(4 * ((pair.size() + 2) / 3) + 1, '\0');  // and the zero that OpenSSL appends
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(basic.data()),
                                   reinterpret_cast<const unsigned char*>(pair.data()), static_cast<int>(pair.size()));
  basic.resize(static_cast<std::size_t>(size));
  return {"Bearer " + token, "Basic " + basic};
}

/// By way of `read`: a confined process asks another one for the file.
Result<std::string> read_pem(const ReadFile& read, const std::string& path) {
  constexpr std::size_t kMaxPemBytes = 1U << 20;
  if (read) return read(path);
  auto text = os::read_file(path, kMaxPemBytes);
  if (text) return std::move(text).value();
  const int error = text.failure().system_error;
  return Failure{error != 0 ? std::generic_category().message(error) : text.message()};
}

Status load_tls(const Tls& tls, const ReadFile& read, ssl::context& context) {
  boost::system::error_code error;
  const auto failed = [](const char* what, const std::string& path, const std::string& why) {
    return Failure{std::string(what) + " '" + path + "': " + why};
  };
  SSL_CTX_set_options(context.native_handle(), SSL_OP_NO_RENEGOTIATION);
  if (SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION) != 1)
    return Failure{"TLS 1.2 is not available"};
  // A key with a passphrase is refused; nobody is there to be asked for it.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); }, error);
  const Result<std::string> certificate = read_pem(read, tls.certificate);
  if (!certificate) return failed("certificate", tls.certificate, certificate.message());
  context.use_certificate_chain(asio::buffer(certificate.value()), error);
  if (error) return failed("certificate", tls.certificate, error.message());
  const Result<std::string> key = read_pem(read, tls.key);
  if (!key) return failed("key", tls.key, key.message());
  context.use_private_key(asio::buffer(key.value()), ssl::context::pem, error);
  if (error) return failed("key", tls.key, error.message());
  if (SSL_CTX_check_private_key(context.native_handle()) != 1) {
    return Failure{"key '" + tls.key + "' does not match certificate '" + tls.certificate + "'"};
  }
  if (tls.client_ca.empty()) return Done{};
  const Result<std::string> authority = read_pem(read, tls.client_ca);
  if (!authority) return failed("client_ca", tls.client_ca, authority.message());
  context.add_certificate_authority(asio::buffer(authority.value()), error);
  if (error) return failed("client_ca", tls.client_ca, error.message());
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  return Done{};
}

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
      : shared{std::move(answer),
               std::move(pages),
               options.users,
               options.allowed,
               options.audit,
               authorizations_of(options.token),
               HostRule(options.http ? options.http->address : 0, options.allowed_hosts,
                        !options.token.empty() || options.tls.has_value()),
               options.limits} {}
  ~Parts() {
    if (!path.empty()) ::unlink(path.c_str());
  }

  Status open_socket(const std::string& name) {
    if (name.size() >= sizeof(sockaddr_un::sun_path)) return Failure{"the path of the control socket is too long"};
    struct stat status {};
    boost::system::error_code error;
    if (::lstat(name.c_str(), &status) == 0) {
      if (!S_ISSOCK(status.st_mode)) return Failure{"'" + name + "' exists and is not a socket; it was not replaced"};
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      name.copy(address.sun_path, sizeof(address.sun_path) - 1);
      if (os::is_answered(address, SOCK_STREAM)) return Failure{"another process listens at '" + name + "' already"};
      ::unlink(name.c_str());
    }
    local.emplace(context);
    local->open(Local(), error);
    if (!error) local->bind(Local::endpoint(name), error);
    if (error) return Failure{"control socket '" + name + "': " + error.message()};
    path = name;
    if (::chmod(name.c_str(), kSocketMode) != 0) return Failure{"control socket '" + name + "': cannot set its mode"};
    local->listen(Local::acceptor::max_listen_connections, error);
    if (error) return Failure{"control socket '" + name + "': " + error.message()};
    accept_local();
    return Done{};
  }

  /// Makes the protection of HTTP that the options ask for.
  static Status make_protection(const Options& options, std::optional<ssl::context>& made) {
    const asio::ip::address_v4 address(options.http->address);
    if (!address.is_loopback() && options.token.empty() && !options.tls) {
      return Failure{"HTTP on " + address.to_string() +
                     " needs a token or TLS: without them only this machine may connect"};
    }
    if (!options.tls) return Done{};
    made.emplace(ssl::context::tls_server);
    return load_tls(*options.tls, options.read, *made);
  }
  /// On failure nothing has changed.
  Status protect(const Options& options) {
    std::optional<ssl::context> made;
    if (Status done = make_protection(options, made); !done) return done;
    // Connections have their own reference to what they were accepted with.
    tls.reset();
    if (made) tls.emplace(std::move(*made));
    return Done{};
  }
  void take_rules(const Options& options) {
    shared.users = options.users;
    shared.allowed = options.allowed;
    shared.authorizations = authorizations_of(options.token);
    shared.hosts = HostRule(options.http ? options.http->address : 0, options.allowed_hosts,
                            !options.token.empty() || options.tls.has_value());
  }

  Status open_http(const Options& options) {
    const net::Endpoint& endpoint = *options.http;
    const asio::ip::address_v4 address(endpoint.address);
    if (Status done = protect(options); !done) return done;
    boost::system::error_code error;
    tcp.emplace(context);
    tcp->open(Tcp::v4(), error);
    if (!error) tcp->set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error) tcp->bind(Tcp::endpoint(address, endpoint.port), error);
    if (!error) tcp->listen(Tcp::acceptor::max_listen_connections, error);
    if (error) return Failure{"HTTP on " + net::to_text(endpoint) + ": " + error.message()};
    accept_tcp();
    return Done{};
  }

  /// The oldest client makes room: well-behaved clients have their answer by then.
  template <class Guest, class Socket, class... More>
  void let_in(Door& door, Socket socket, More&... more) {
    if (door.size() >= shared.limits.clients) {
      shared.refuse();
      door.front()->leave();
    }
    std::make_shared<Guest>(std::move(socket), door, shared, more...)->start();
  }
  void accept_local() {
    local->async_accept([this](const boost::system::error_code& error, Local::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return pauses.push_back([this] { accept_local(); });
      let_in<CommandClient>(command_door, std::move(socket));
      accept_local();
    });
  }
  void accept_tcp() {
    tcp->async_accept([this](const boost::system::error_code& error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return pauses.push_back([this] { accept_tcp(); });
      if (tls) {
        let_in<TlsClient>(page_door, std::move(socket), *tls);
      } else {
        let_in<PlainClient>(page_door, std::move(socket));
      }
      accept_tcp();
    });
  }

  /// What goes on with the next poll: a process without a free descriptor fails to accept until it has one.
  std::vector<std::function<void()>> pauses;
  // These outlive the clients, which live in the context.
  Shared shared;
  Door command_door;
  Door page_door;
  std::optional<ssl::context> tls;
  asio::io_context context{1};
  std::optional<Local::acceptor> local;
  std::optional<Tcp::acceptor> tcp;
  std::string path;
};

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(const Options& options, Answer answer, Pages pages) {
  auto parts = std::make_unique<Parts>(options, std::move(answer), std::move(pages));
  Status opened = Done{};
  if (!options.socket.empty()) opened = parts->open_socket(options.socket);
  if (opened && options.http) opened = parts->open_http(options);
  if (!opened) return opened.failure();
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Status Server::check(const Options& options) {
  std::optional<ssl::context> made;
  return options.http ? Parts::make_protection(options, made) : Status(Done{});
}

Status Server::replace(const Options& options) {
  if (options.http) {
    if (Status done = parts_->protect(options); !done) return done;
  }
  parts_->take_rules(options);
  return Done{};
}

void Server::poll() {
  const auto end = std::chrono::steady_clock::now() + kMaxPoll;
  parts_->context.restart();
  for (const auto& go_on : std::exchange(parts_->pauses, {})) go_on();
  while (parts_->context.poll_one() != 0 && std::chrono::steady_clock::now() < end) {
  }
}

std::uint16_t Server::http_port() const noexcept {
  boost::system::error_code error;
  return parts_->tcp ? parts_->tcp->local_endpoint(error).port() : std::uint16_t{0};
}

std::uint64_t Server::refused() const noexcept {
  return parts_->shared.refused;
}

}  // namespace stopbit::control
