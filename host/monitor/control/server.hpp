#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "host/monitor/control/command.hpp"
#include "microcode/base/result.hpp"

/// The endpoints of an appliance: a Unix socket for commands, and HTTP for reading. Boost is used in this room only.
namespace stopbit::control {

/// Bounds on clients, whoever they are.
struct Limits {
  std::size_t clients = 32;                   ///< Clients per endpoint at a time. One more closes the oldest.
  std::uint64_t patience_ns = 5'000'000'000;  ///< For a whole request, and for its answer to be taken.
};

/// Files in PEM. They are read at the start and by replace().
struct Tls {
  std::string certificate;  ///< And those that lead to its root.
  std::string key;          ///< Without a passphrase.
  std::string client_ca;    ///< Clients need a certificate that one of these has signed; empty: they need none.
};

/// A user who may give some commands only.
struct Permission {
  std::uint32_t user = 0;
  std::vector<std::string> commands;  ///< Their words.
};

/// A command that a client has given, for an audit.
struct Asked {
  std::uint32_t user = 0;   ///< As the kernel says,
  bool is_trusted = false;  ///< It may give all commands.
  std::int32_t process = 0;
  std::string_view line;    ///< Any bytes; the beginning of one that is too long; empty if its user may give none.
  std::string_view answer;  ///< "error: ..." if it was refused.
};

/// The content of a file.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

struct Options {
  std::string socket;                 ///< Path of the Unix socket; empty: none.
  std::vector<std::uint32_t> users;   ///< Users who may use it, besides root and the user of the process.
  std::vector<Permission> allowed;    ///< Others, who may give some commands.
  std::optional<net::Endpoint> http;  ///< Nothing: none. Not on loopback: only with a token or TLS.
  /// HTTP clients send "Authorization: Bearer TOKEN", or the name "stopbit" and the token as password; empty: not
  /// required.
  std::string token;
  /// HTTP clients name one of these, localhost or our address as their Host. Empty: with a token or TLS they may name
  /// any.
  std::vector<std::string> allowed_hosts;
  std::optional<Tls> tls;  ///< HTTP over TLS 1.2 or 1.3; nothing: without.
  ReadFile read;           ///< Reads the files of TLS; empty: as they are.
  /// Gets every command of a client, with its answer, and every client that may give none.
  std::function<void(const Asked&)> audit;
  Limits limits;
};

/// Returns the answer to a client's command. One line, which the server ends.
using Answer = std::function<std::string(const Command&)>;
/// The body for a path of HTTP, with its query if it has one, and its type; nothing: there is no such page.
struct Page {
  std::string type;
  std::string body;
  std::string policy = {};  ///< Its Content-Security-Policy; empty: a browser loads and runs nothing of it.
};
using Pages = std::function<std::optional<Page>(std::string_view path)>;

/// Serves both on the thread that calls poll: nothing here runs by itself, so a slow client costs that thread nothing
/// but its place among `Limits::clients`.
///
/// Unix socket: a line with a command, a line with the answer, and so on. The kernel says who is on the other side
/// (SO_PEERCRED); others than those allowed get "error: ..." and are closed; so are those that ask nothing more for
/// half a second after an answer. HTTP: GET only, requests of at most 8 KiB, one each connection.
class Server {
 public:
  /// Opens both endpoints. Replaces a socket file without a listener; fails if another file has the name. The failure
  /// names the endpoint.
  [[nodiscard]] static Result<std::unique_ptr<Server>> open(const Options& options, Answer answer, Pages pages);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  /// Other users, permissions, token, hosts and TLS from here on; connections that exist go on. Endpoints and limits
  /// stay. After a failure nothing has changed.
  [[nodiscard]] Status replace(const Options& options);
  /// Whether replace() would fail, which reads certificates and keys.
  [[nodiscard]] static Status check(const Options& options);
  /// Handles pending work without waiting, for 20 ms at most; the rest is left to the next call.
  void poll();
  /// The port of HTTP, 0 if there is none; for callers that requested port 0.
  [[nodiscard]] std::uint16_t http_port() const noexcept;
  /// Clients that were turned away: others needed their places, they were the wrong ones, or they took too long.
  [[nodiscard]] std::uint64_t refused() const noexcept;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Whether two secrets are the same, in a time that only depends on the length of the second.
[[nodiscard]] bool is_same_secret(std::string_view secret, std::string_view offered) noexcept;

}  // namespace stopbit::control
