#include "host/monitor/control/client.hpp"

#include <sys/un.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>

namespace stopbit::control {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;

/// One command and its answer. After the command no other follows, so the answer ends with the connection.
class Conversation {
 public:
  explicit Conversation(std::string line) : line_(std::move(line)) {}

  void start(const asio::local::stream_protocol::endpoint& server) {
    socket_.async_connect(server, [this](const Error& error) {
      if (!fails("connect to", error)) send();
    });
  }
  /// False: it has not ended in that time.
  [[nodiscard]] bool run(std::uint64_t time_ns) {
    context_.run_for(std::chrono::nanoseconds(time_ns));
    return context_.stopped();
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::string& answer() { return answer_; }

 private:
  void send() {
    asio::async_write(socket_, asio::buffer(line_), [this](const Error& error, std::size_t) {
      Error ignored;
      socket_.shutdown(asio::socket_base::shutdown_send, ignored);
      // A server that refuses a client does not read its command, but its answer says why.
      if (error != asio::error::broken_pipe && fails("write to", error)) return;
      receive();
    });
  }
  void receive() {
    asio::async_read(socket_, asio::dynamic_buffer(answer_, kMaxAnswerBytes), [this](const Error& error, std::size_t) {
      if (!error) {
        problem_ = "read from it: the answer has no end";
      } else if (error != asio::error::eof && error != asio::error::connection_reset) {
        (void)fails("read from", error);
      }
    });
  }
  [[nodiscard]] bool fails(const char* what, const Error& error) {
    if (error) problem_ = std::string(what) + " it: " + error.message();
    return bool(error);
  }

  std::string line_;
  std::string answer_;
  std::string problem_;
  asio::io_context context_;
  asio::local::stream_protocol::socket socket_{context_};
};

}  // namespace

Result<std::string> ask(const std::string& socket, std::string_view command, std::uint64_t timeout_ns) {
  const std::string place = "control socket '" + socket + "': ";
  if (socket.size() >= sizeof(sockaddr_un::sun_path)) return Failure{place + "the path is too long"};
  Conversation conversation(std::string(command) + '\n');
  conversation.start(asio::local::stream_protocol::endpoint(socket));
  if (!conversation.run(timeout_ns)) return Failure{place + "no answer"};
  if (!conversation.problem().empty()) return Failure{place + "cannot " + conversation.problem()};
  std::string& answer = conversation.answer();
  if (answer.empty()) return Failure{place + "the connection ended without an answer"};
  if (answer.ends_with('\n')) answer.pop_back();
  return std::move(answer);
}

}  // namespace stopbit::control
