#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>

#include "host/monitor/control/client.hpp"
#include "host/monitor/control/command.hpp"
#include "host/monitor/control/metrics.hpp"
#include "host/monitor/control/page_policy.hpp"
#include "host/monitor/control/query.hpp"
#include "host/monitor/control/server.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::control::control_test {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ControlCommand, is_read_word_by_word) {
  EXPECT_EQ(parse_command("status").value().kind, Command::Kind::Status);
  EXPECT_EQ(parse_command("stop").value().kind, Command::Kind::Stop);
  EXPECT_EQ(parse_command("freeze").value().kind, Command::Kind::Freeze);
  EXPECT_EQ(parse_command("publish").value().kind, Command::Kind::Publish);
  EXPECT_EQ(parse_command("reload").value().kind, Command::Kind::Reload);
  EXPECT_EQ(parse_command("rollback emdi").value().image, "emdi");
  const auto load = parse_command("load emdi");
  ASSERT_TRUE(load);
  EXPECT_EQ(load.value().kind, Command::Kind::Load);
  EXPECT_EQ(load.value().image, "emdi");
  for (const char* wrong : {"", " ", "status ", "status x", "load", "load ", "load a b", "load \x01", "STOP", "stop\t",
                            "freeze now", "publish mine"}) {
    if (std::string_view(wrong) == "status ") continue;  // nothing after the blank
    EXPECT_FALSE(parse_command(wrong)) << wrong;
  }
}

TEST(ControlQuery, is_decoded) {
  EXPECT_EQ(query_value("market=1&instrument=A%2FB%20C+D", "instrument"), "A/B C D");
  EXPECT_EQ(query_value("market=1&instrument=A%2FB", "market"), "1");
  EXPECT_EQ(query_value("instruments=1&instrument=2", "instrument"), "2");
  EXPECT_EQ(query_value("instrument=%e2%82%AC", "instrument"), "\u20ac");
}

TEST(ControlQuery, takes_what_is_malformed_as_it_is) {
  EXPECT_EQ(query_value("", "market"), "");
  EXPECT_EQ(query_value("market", "market"), "");
  EXPECT_EQ(query_value("&&=&market=", "market"), "");
  EXPECT_EQ(query_value("market=%", "market"), "%");
  EXPECT_EQ(query_value("market=%4", "market"), "%4");
  EXPECT_EQ(query_value("market=%zz", "market"), "%zz");
}

TEST(ControlSecret, is_the_same_or_not) {
  EXPECT_TRUE(is_same_secret("abc", "abc"));
  EXPECT_FALSE(is_same_secret("abc", "abd"));
  EXPECT_FALSE(is_same_secret("abc", "ab"));
  EXPECT_FALSE(is_same_secret("abc", "abcd"));
  EXPECT_FALSE(is_same_secret("abc", ""));
}

class ControlServer : public ::testing::Test {
 protected:
  ControlServer() {
    options_.socket = path_;
    options_.http = net::Endpoint{0x7F00'0001, 0};
    options_.limits = {.clients = 4, .patience_ns = 200'000'000};
  }
  ~ControlServer() override {
    for (const int file : files_) ::close(file);
  }
  void open() {
    auto server = Server::open(
        options_, [this](const Command& command) { return answer(command); },
        [](std::string_view path) -> std::optional<Page> {
          if (path.substr(0, path.find('?')) != "/metrics") return std::nullopt;
          return Page{"text/plain", "up 1\n"};
        });
    ASSERT_TRUE(server) << server.message();
    server_ = std::move(server).value();
  }
  std::string answer(const Command& command) {
    asked_.push_back(command);
    return "done";
  }
  int connect_local() {
    const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    files_.push_back(file);
    return file;
  }
  int connect_http() {
    const int file = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server_->http_port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    files_.push_back(file);
    return file;
  }
  static void say(int file, const std::string& text) {
    EXPECT_EQ(::send(file, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// What the server says until it closes, a line has come, or two seconds are over.
  std::string hear(int file, bool to_the_end = false) {
    std::string text;
    for (int i = 0; i < 400; ++i) {
      server_->poll();
      pollfd in{.fd = file, .events = POLLIN, .revents = 0};
      if (::poll(&in, 1, 5) == 0) continue;
      char buffer[4'096];
      const ssize_t count = ::recv(file, buffer, sizeof(buffer), 0);
      if (count <= 0) return text + "<closed>";
      text.append(buffer, static_cast<std::size_t>(count));
      if (!to_the_end && text.ends_with('\n')) return text;
    }
    return text;
  }

  const testing::Scratch scratch_;
  const std::string path_ = scratch_.path("socket");
  Options options_;
  std::unique_ptr<Server> server_;
  std::vector<Command> asked_;
  std::vector<int> files_;
};

TEST_F(ControlServer, answers_commands_line_by_line) {
  open();
  const int file = connect_local();
  say(file, "load emdi\nstat");
  EXPECT_EQ(hear(file), "done\n");
  say(file, "us\r\n");
  EXPECT_EQ(hear(file), "done\n");
  say(file, "rm -rf\n");
  EXPECT_EQ(hear(file),
            "error: unknown command; commands are: status, load IMAGE, rollback IMAGE, reload, freeze, entitle, "
            "publish, stop\n");
  ASSERT_EQ(asked_.size(), 2U);
  EXPECT_EQ(asked_[0].image, "emdi");
}

TEST_F(ControlServer, gives_a_client_its_answer) {
  open();
  const auto hear_answer = [&](const std::string& command) {
    auto answer = std::async(std::launch::async, [&, command] { return ask(path_, command, 60'000'000'000); });
    while (answer.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) server_->poll();
    return answer.get();
  };
  const Result<std::string> done = hear_answer("load emdi");
  ASSERT_TRUE(done) << done.message();
  EXPECT_EQ(done.value(), "done");
  const Result<std::string> refused = hear_answer("status now");
  ASSERT_TRUE(refused) << refused.message();
  EXPECT_EQ(refused.value(), "error: write: status");
  ASSERT_EQ(asked_.size(), 1U);
  EXPECT_EQ(asked_[0].image, "emdi");
}

TEST_F(ControlServer, a_client_does_not_wait_for_ever) {
  Result<std::string> answer = ask(path_, "status", 60'000'000'000);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.message(), HasSubstr("cannot connect to it: No such file"));
  const int silent = ::socket(AF_UNIX, SOCK_STREAM, 0);
  files_.push_back(silent);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(silent, 4), 0);
  answer = ask(path_, "status", 20'000'000);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.message(), HasSubstr("no answer"));
  auto late = std::async(std::launch::async, [&] { return ask(path_, "status", 60'000'000'000); });
  for (int i = 0; i < 2; ++i) ::close(::accept(silent, nullptr, nullptr));  // that of before, then this one
  answer = late.get();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.message(), HasSubstr("the connection ended without an answer"));
  auto endless = std::async(std::launch::async, [&] { return ask(path_, "status", 60'000'000'000); });
  const int client = ::accept(silent, nullptr, nullptr);
  const std::string part(1 << 20, 'x');
  while (::send(client, part.data(), part.size(), MSG_NOSIGNAL) > 0) continue;
  ::close(client);
  answer = endless.get();
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.message(), HasSubstr("the answer has no end"));
}

TEST_F(ControlServer, does_not_wait_for_another_that_accepts_nobody) {
  const int other = ::socket(AF_UNIX, SOCK_STREAM, 0);
  files_.push_back(other);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(other, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(other, 0), 0);
  for (bool is_full = false; !is_full;) {
    const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    files_.push_back(client);
    is_full = ::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0;
  }
  const auto server = Server::open(
      options_, [](const Command&) { return std::string(); }, [](std::string_view) { return std::nullopt; });
  ASSERT_FALSE(server);
  EXPECT_EQ(server.message(), "another process listens at '" + path_ + "' already");
  ASSERT_EQ(::unlink(path_.c_str()), 0) << "the other one's socket is left alone";
}

TEST_F(ControlServer, answers_a_half_closed_client_and_closes) {
  open();
  int file = connect_local();
  say(file, "status\n");
  ::shutdown(file, SHUT_WR);
  EXPECT_EQ(hear(file, true), "done\n<closed>");
  file = connect_local();
  say(file, "status");  // printf status | nc -NU
  ::shutdown(file, SHUT_WR);
  EXPECT_EQ(hear(file, true), "done\n<closed>");
  file = connect_local();
  ::shutdown(file, SHUT_WR);
  EXPECT_EQ(hear(file, true), "<closed>");
  EXPECT_EQ(asked_.size(), 2U);
  EXPECT_EQ(server_->refused(), 0U);
}

TEST_F(ControlServer, closes_a_client_that_asks_nothing_more) {
  options_.limits.patience_ns = 3'600'000'000'000;
  open();
  const int file = connect_local();
  say(file, "status\n");  // echo status | nc -U waits for us
  EXPECT_EQ(hear(file, true), "done\n<closed>");
  EXPECT_EQ(server_->refused(), 0U);
}

TEST_F(ControlServer, closes_on_commands_without_end) {
  open();
  const int file = connect_local();
  say(file, std::string(2 * kMaxCommandBytes, 'x'));
  EXPECT_EQ(hear(file, true), "error: a command has at most 1024 bytes\n<closed>");
  EXPECT_TRUE(asked_.empty());
}

TEST_F(ControlServer, closes_clients_that_say_nothing) {
  open();
  const int file = connect_local();
  say(file, "stat");
  EXPECT_EQ(hear(file), "<closed>");
}

TEST_F(ControlServer, gives_the_place_of_the_oldest_to_the_newest) {
  options_.limits.patience_ns = 60'000'000'000;
  open();
  std::vector<int> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(connect_local());
  server_->poll();
  const int file = connect_local();
  say(file, "status\n");
  EXPECT_EQ(hear(file), "done\n");
  EXPECT_EQ(server_->refused(), 1U);
  EXPECT_EQ(hear(silent[0], true), "error: too many clients; try again later\n<closed>");
  say(silent[1], "status\n");
  EXPECT_EQ(hear(silent[1]), "done\n");
}

TEST_F(ControlServer, obeys_no_command_of_a_client_that_it_told_to_come_again) {
  open();
  // With the number of clients before it, what the server does when the place is taken changes.
  for (int others = 4; others < 12; ++others) {
    asked_.clear();
    const int first = connect_local();
    std::string commands;
    for (int i = 0; i < 100; ++i) commands += "status\n";
    say(first, commands);
    for (int i = 0; i < others; ++i) (void)connect_local();
    const std::string heard = hear(first, true);
    std::size_t answers = 0;
    for (std::size_t at = 0; (at = heard.find("done\n", at)) != std::string::npos; ++at) ++answers;
    EXPECT_EQ(asked_.size(), answers) << others;
    for (int i = 0; i < 100; ++i) server_->poll();
  }
}

/// The files that a process may open, as long as this lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t files) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit now{files, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST_F(ControlServer, has_time_for_other_work_without_a_free_descriptor) {
  open();
  const int client = connect_local();
  const int page = connect_http();
  say(client, "status\n");
  {
    const FileLimit limit(0);
    // A server that tries again and again stays in each call for 20 ms.
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) server_->poll();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  }
  EXPECT_EQ(hear(client), "done\n");
  say(page, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(hear(page, true), HasSubstr("up 1"));
}

TEST_F(ControlServer, has_places_of_their_own_at_each_door) {
  options_.limits.patience_ns = 60'000'000'000;
  open();
  std::vector<int> silent;
  for (int i = 0; i < 5; ++i) {
    silent.push_back(connect_http());
    say(silent.back(), "GET /met");
  }
  EXPECT_THAT(hear(silent[0], true), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server_->refused(), 1U);
  std::vector<int> talking;
  for (int i = 0; i < 4; ++i) talking.push_back(connect_local());
  for (const int file : talking) {
    say(file, "status\n");
    EXPECT_EQ(hear(file), "done\n");
  }
  say(silent[1], "rics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(hear(silent[1], true), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(server_->refused(), 1U);
}

TEST_F(ControlServer, serves_a_client_among_a_crowd_that_never_ends) {
  options_.limits.patience_ns = 60'000'000'000;
  open();
  for (int round = 0; round < 100; ++round) {
    connect_http();
    connect_local();
    server_->poll();
  }
  const int file = connect_http();
  say(file, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (int i = 0; i < 10; ++i) connect_http();
  EXPECT_THAT(hear(file, true), StartsWith("HTTP/1.1 200"));
  EXPECT_GE(server_->refused(), 2U * 96U);
}

TEST_F(ControlServer, refuses_users_that_are_not_allowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
  open();
  ::chmod(path_.c_str(), 0666);
  ::chmod(scratch_.path().c_str(), 0755);
  ASSERT_EQ(::seteuid(65'534), 0);
  const int file = connect_local();
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(hear(file, true), "error: user 65534 is not allowed to do this\n<closed>");
}

TEST_F(ControlServer, lets_a_user_give_some_commands_and_audits_all) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
  options_.allowed = {{.user = 65'534, .commands = {"status", "freeze"}}};
  std::vector<std::string> audit;
  options_.audit = [&](const Asked& asked) {
    EXPECT_EQ(asked.process, ::getpid());
    audit.push_back(std::to_string(asked.user) + " " + std::string(asked.line) + ": " + std::string(asked.answer));
  };
  open();
  ::chmod(path_.c_str(), 0666);
  ::chmod(scratch_.path().c_str(), 0755);
  ASSERT_EQ(::seteuid(65'534), 0);
  const int file = connect_local();
  ASSERT_EQ(::seteuid(0), 0);
  say(file, "freeze\nstop\nnonsense\nstatus\n");
  const std::string answer = hear(file, true);
  EXPECT_THAT(answer, StartsWith("done\nerror: user 65534 may not give the command stop\nerror: unknown command"));
  ASSERT_EQ(asked_.size(), 2U);
  ASSERT_EQ(audit.size(), 4U);
  EXPECT_EQ(audit[0], "65534 freeze: done");
  EXPECT_EQ(audit[1], "65534 stop: error: user 65534 may not give the command stop");
  options_.allowed.clear();
  ASSERT_TRUE(server_->replace(options_));
  ASSERT_EQ(::seteuid(65'534), 0);
  const int later = connect_local();
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(hear(later, true), "error: user 65534 is not allowed to do this\n<closed>");
  ASSERT_EQ(audit.size(), 5U);
  EXPECT_EQ(audit[4], "65534 : error: user 65534 is not allowed to do this");
}

TEST_F(ControlServer, audits_a_command_that_is_too_long) {
  std::vector<std::string> lines;
  options_.audit = [&](const Asked& asked) {
    lines.emplace_back(asked.line);
    EXPECT_EQ(asked.answer, "error: a command has at most 1024 bytes");
  };
  open();
  const int file = connect_local();
  say(file, "load " + std::string(2'000, 'x') + "\n");
  EXPECT_EQ(hear(file, true), "error: a command has at most 1024 bytes\n<closed>");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0], "load " + std::string(1'024 - 5, 'x'));
}

TEST_F(ControlServer, serves_pages) {
  open();
  int file = connect_http();
  say(file, "GET /metrics?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::string answer = hear(file, true);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nup 1\n"));
  file = connect_http();
  say(file, "GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(hear(file, true), StartsWith("HTTP/1.1 404"));
  file = connect_http();
  say(file, "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(hear(file, true), StartsWith("HTTP/1.1 405"));
  file = connect_http();
  say(file, "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n");
  EXPECT_THAT(hear(file, true), Not(HasSubstr("200 OK")));
}

TEST_F(ControlServer, wants_its_token) {
  options_.token = "secret";
  open();
  const int file = connect_http();
  say(file, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string refused = hear(file, true);
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(refused, HasSubstr("WWW-Authenticate: Basic realm=\"stopbit\"\r\n"));
  const auto with = [&](const std::string& authorization) {
    const int client = connect_http();
    say(client, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + authorization + "\r\n\r\n");
    return hear(client, true);
  };
  EXPECT_THAT(with("Bearer secret"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(with("Basic c3RvcGJpdDpzZWNyZXQ="), StartsWith("HTTP/1.1 200"));  // stopbit:secret
  for (const char* wrong : {"Bearer secret2", "Bearer", "Basic c2VjcmV0", "Basic c3RvcGJpdDo=", "Basic", "secret"}) {
    EXPECT_THAT(with(wrong), StartsWith("HTTP/1.1 401")) << wrong;
  }
}

/// The status of an answer to a request with these lines.
#define EXPECT_STATUS(status, lines)                                            \
  do {                                                                          \
    const int client = connect_http();                                          \
    say(client, std::string("GET /metrics HTTP/1.1\r\n") + (lines) + "\r\n");   \
    EXPECT_THAT(hear(client, true), StartsWith("HTTP/1.1 " status)) << (lines); \
  } while (false)

TEST_F(ControlServer, answers_to_its_own_host_only) {
  options_.allowed_hosts = {"MD1.example.com", "[fd00::1]"};
  open();
  for (const char* host : {"localhost", "LOCALHOST:9464", "localhost.", "127.0.0.1", "127.0.0.1:80", "127.1.2.3",
                           "[::1]", "[::1]:9464", "md1.example.com", "md1.EXAMPLE.com.:9464", "[FD00::1]:1"}) {
    EXPECT_STATUS("200", std::string("Host: ") + host + "\r\n");
  }
  EXPECT_EQ(server_->refused(), 0U);
  const char* const strangers[] = {"evil.example",
                                   "evil.example:9464",
                                   "127.0.0.1.evil.example",
                                   "localhost.evil.example",
                                   "10.0.0.1",
                                   "0.0.0.0",
                                   "[::2]",
                                   "127.0.0.1:x",
                                   "evil@localhost",
                                   "localhost/",
                                   "",
                                   "[::1",
                                   "md1.example.com.x",
                                   "xmd1.example.com"};
  for (const char* host : strangers) EXPECT_STATUS("421", std::string("Host: ") + host + "\r\n");
  EXPECT_EQ(server_->refused(), std::size(strangers));
  EXPECT_STATUS("400", "");
  EXPECT_STATUS("400", "Host: localhost\r\nHost: evil.example\r\n");
  EXPECT_EQ(server_->refused(), std::size(strangers) + 2);
  const int old = connect_http();
  say(old, "GET /metrics HTTP/1.0\r\n\r\n");  // no browser asks so
  EXPECT_THAT(hear(old, true), StartsWith("HTTP/1.0 200"));
}

TEST_F(ControlServer, refuses_pages_of_other_origins) {
  options_.allowed_hosts = {"grafana.example"};
  open();
  const std::string host = "Host: localhost:9464\r\n";
  EXPECT_STATUS("200", host + "Origin: http://localhost:9464\r\n");
  EXPECT_STATUS("200", host + "Origin: https://grafana.example\r\n");
  for (const char* origin :
       {"http://evil.example", "http://localhost:8000", "null", "", "http://grafana.example.evil"}) {
    EXPECT_STATUS("403", host + "Origin: " + origin + "\r\n");
  }
  EXPECT_EQ(server_->refused(), 5U);
  const int post = connect_http();
  say(post, "POST /metrics HTTP/1.1\r\n" + host + "Origin: http://evil.example\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(hear(post, true), StartsWith("HTTP/1.1 403"));
}

TEST_F(ControlServer, answers_to_any_host_for_a_token_unless_there_is_a_list) {
  options_.token = "secret";
  open();
  const std::string token = "Authorization: Bearer secret\r\n";
  EXPECT_STATUS("200", "Host: md1:9464\r\n" + token);
  EXPECT_STATUS("401", "Host: md1:9464\r\n");
  server_.reset();
  options_.allowed_hosts = {"md1"};
  open();
  EXPECT_STATUS("200", "Host: md1:9464\r\n" + token);
  EXPECT_STATUS("200", "Host: localhost\r\n" + token);
  EXPECT_STATUS("421", "Host: md2\r\n" + token);
}

TEST_F(ControlServer, takes_another_token_and_keeps_its_own_if_the_new_rules_are_wrong) {
  options_.token = "secret";
  open();
  const std::string host = "Host: localhost\r\n";
  options_.token = "another";
  ASSERT_TRUE(server_->replace(options_));
  EXPECT_STATUS("401", host + "Authorization: Bearer secret\r\n");
  EXPECT_STATUS("200", host + "Authorization: Bearer another\r\n");
  options_.token = "third";
  options_.tls = Tls{.certificate = "c", .key = "k", .client_ca = ""};
  options_.read = [](const std::string& path) -> Result<std::string> { return Failure{"no " + path}; };
  EXPECT_EQ(server_->replace(options_).message(), "certificate 'c': no c");
  EXPECT_STATUS("200", host + "Authorization: Bearer another\r\n");
}

TEST_F(ControlServer, does_not_open_with_certificates_that_it_cannot_read) {
  options_.tls = Tls{.certificate = path_ + ".none", .key = path_ + ".none", .client_ca = ""};
  EXPECT_THAT(Server::open(options_, {}, {}).message(), HasSubstr("certificate '" + path_ + ".none': No such file"));
}

TEST_F(ControlServer, sends_pages_that_may_load_nothing_from_elsewhere) {
  open();
  const int file = connect_http();
  say(file, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = hear(file, true);
  EXPECT_THAT(answer, HasSubstr("\r\nContent-Security-Policy: default-src 'none';"));
  EXPECT_THAT(answer, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-store\r\n"));
}

TEST(PagePolicy, runs_what_is_in_the_page_and_nothing_else) {
  const std::string policy =
      page_policy("<style>p { color: red }</style><p>x</p><script>let a = 1;</script><script>let a = 1;");
  EXPECT_THAT(policy, HasSubstr("; script-src 'sha256-xY6QKfH9PRsQnLz56nj6MBwiK5oHg+im1Jkpdp1x/Ck='; "));
  EXPECT_THAT(policy, HasSubstr("; style-src 'sha256-ngewhhP73WDIbgwseeu52VAAJgKdGUsu1IUQQsAm8m4='; "));
  EXPECT_THAT(policy, HasSubstr("; require-trusted-types-for 'script'; trusted-types 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(page_policy("<p onclick=x>"), HasSubstr("; script-src 'none'; style-src 'none'; "));
}

TEST_F(ControlServer, does_not_open_to_the_world_without_a_token) {
  options_.http = net::Endpoint{0, 0};
  const auto server = Server::open(options_, {}, {});
  EXPECT_THAT(server.message(), HasSubstr("needs a token or TLS"));
}

TEST_F(ControlServer, leaves_files_and_live_sockets_alone) {
  std::ofstream(path_) << "x";
  EXPECT_THAT(Server::open(options_, {}, {}).message(), HasSubstr("is not a socket; it was not replaced"));
  std::filesystem::remove(path_);
  open();
  EXPECT_THAT(Server::open(options_, {}, {}).message(), HasSubstr("another process listens"));
}

TEST(Metrics, are_those_of_prometheus) {
  counters::Schema schema;
  const auto packets = schema.add(counters::Kind::Counter, "packets", {{"line", "A"}}, "Packets");
  const auto latency = schema.add(counters::Kind::Histogram, "latency", {}, "Latency", counters::Unit::Nanoseconds);
  const auto image = schema.add(counters::Kind::Text, "image", {}, "Image");
  auto segment = counters::Segment::create_private(schema);
  ASSERT_TRUE(segment);
  segment.value().counter(packets).add(3);
  segment.value().histogram(latency).add(2'000'000'000);
  segment.value().text(image).set("a\"b");
  const auto reader = counters::Reader::over(segment.value().bytes());
  const std::vector<Extra> extras = {
      {.family = "drops", .help = "Drops", .labels = {{"place", "a\\\n\"b"}}, .value = 2},
      {.family = "drops", .help = "Drops", .labels = {{"place", "NIC"}}, .value = 0}};
  const std::string text = metrics_text(reader.value(), extras);
  EXPECT_THAT(text, HasSubstr("# HELP stopbit_packets_total Packets\n# TYPE stopbit_packets_total counter\n"
                              "stopbit_packets_total{line=\"A\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("stopbit_latency_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("stopbit_image{value=\"a\\\"b\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("stopbit_heartbeat_seconds "));
  EXPECT_THAT(text, HasSubstr("# TYPE stopbit_drops_total counter\n"
                              "stopbit_drops_total{place=\"a\\\\\\n\\\"b\"} 2\n"
                              "stopbit_drops_total{place=\"NIC\"} 0\n"));
}

TEST(Metrics, have_the_name_of_the_release_before_as_well) {
  counters::Schema schema;
  const auto packets = schema.add(counters::Kind::Counter, "packets", {{"line", "A"}}, "Packets");
  const auto shared = schema.add(counters::Kind::Gauge, "shared", {}, "Memory", counters::Unit::Bytes);
  const auto time = schema.add(counters::Kind::Gauge, "last_time", {}, "Time", counters::Unit::Time);
  auto segment = counters::Segment::create_private(schema);
  ASSERT_TRUE(segment);
  segment.value().counter(packets).add(3);
  segment.value().counter(shared).set(4'096);
  segment.value().counter(time).set(2'000'000'000);
  const auto reader = counters::Reader::over(segment.value().bytes());
  const std::string text =
      metrics_text(reader.value(), std::vector<Extra>{{.family = "drops", .help = "", .labels = {}, .value = 2}});
  EXPECT_THAT(text, HasSubstr("stopbit_packets_total{line=\"A\"} 3\n"));
  EXPECT_THAT(text,
              HasSubstr("# HELP stopbit_packets Deprecated, to be removed in the next release: use "
                        "stopbit_packets_total.\n# TYPE stopbit_packets untyped\nstopbit_packets{line=\"A\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE stopbit_shared_bytes gauge\nstopbit_shared_bytes 4096\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE stopbit_shared untyped\nstopbit_shared 4096\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE stopbit_drops untyped\nstopbit_drops 2\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE stopbit_last_time_seconds gauge\nstopbit_last_time_seconds 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("# TYPE stopbit_last_time_seconds untyped"))) << "has kept its name";
}

}  // namespace stopbit::control::control_test
