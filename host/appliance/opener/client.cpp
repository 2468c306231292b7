#include "host/appliance/opener/client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace stopbit::opener {
namespace {

constexpr const char* kName = "stopbit-opener";

/// Leaves nothing open but the socket: a reader of our log must see its end when we end.
void close_others(int socket) {
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (nothing >= 0 && socket != file) (void)::dup2(nothing, file);
  }
  if (socket > STDERR_FILENO + 1) (void)::close_range(STDERR_FILENO + 1, static_cast<unsigned>(socket) - 1, 0);
  (void)::close_range(static_cast<unsigned>(std::max(socket, STDERR_FILENO)) + 1, ~0U, 0);
}

[[noreturn]] void run(int socket, const Grants& grants, bool confined, const ReadGrants& again) {
  // It ends when the other end of the socket does: a terminal or systemd signals both processes at once, and the last
  // files of the other are still to be closed and renamed.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGUSR1, SIGUSR2})
    (void)::signal(signal, SIG_IGN);
  (void)::prctl(PR_SET_NAME, kName);
  close_others(socket);
  const ReplyHead head{.magic = kReplyMagic, .error = 0};
  std::string hello(reinterpret_cast<const char*>(&head), sizeof(head));
  if (confined) hello += confine_opener(grants, again != nullptr).substr(0, kMaxReplyText);
  iovec part{hello.data(), hello.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0) serve(socket, grants, again);
  ::_exit(0);
}

}  // namespace

Result<std::unique_ptr<Client>> Client::start(Grants grants, bool confined, std::vector<std::string>& notes,
                                              const ReadGrants& again) {
  // Rights to files are granted by folder, so the folders have to exist. The user of a folder reports its problems.
  for (const FileSet& set : grants.sets) {
    std::error_code ignored;
    std::filesystem::create_directories(set.folder, ignored);
  }
  std::array<int, 2> ends{};
  const auto no_opener = [] {
    return Failure{std::string("cannot start the opener process: ") + std::strerror(errno)};
  };
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return no_opener();
  OpenFile own(ends[0]);
  OpenFile other(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return no_opener();
  if (pid == 0) run(other.get(), grants, confined, again);
  other = OpenFile();
  // In place of poll: one system call less for the threads that ask.
  const timeval patience{.tv_sec = kPatienceMs / 1'000, .tv_usec = 0};
  if (::setsockopt(own.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0) return no_opener();
  std::unique_ptr<Client> client(new Client(std::move(own), pid, std::move(grants)));
  const Outcome hello = client->receive();
  if (hello.error != 0) return Failure{"the opener process failed to start"};
  add_lines(hello.notes, notes);
  return client;
}

void add_lines(const std::string& text, std::vector<std::string>& lines) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

Client::~Client() {
  (void)::shutdown(socket_.get(), SHUT_RDWR);
  // A confined process cannot wait for another; then the system does.
  constexpr timespec kPause{0, 1'000'000};
  constexpr int kPatience = 1'000;
  for (int i = 0; i < kPatience; ++i, ::nanosleep(&kPause, nullptr)) {
    const pid_t ended = ::waitpid(pid_, nullptr, WNOHANG);
    if (ended == pid_ || (ended < 0 && errno != EINTR)) return;
  }
}

std::optional<std::uint32_t> Client::socket_of(const std::string& interface,
                                               const ingest::Membership& membership) const {
  const std::lock_guard lock(grants_mutex_);
  const auto found = std::find_if(grants_.sockets.begin(), grants_.sockets.end(), [&](const SocketGrant& socket) {
    return socket.options.interface == interface && socket.membership.group == membership.group &&
           socket.membership.source == membership.source;
  });
  if (found == grants_.sockets.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - grants_.sockets.begin());
}

std::optional<std::uint32_t> Client::connection_of(net::Endpoint address) const {
  const std::lock_guard lock(grants_mutex_);
  const auto found = std::find(grants_.connections.begin(), grants_.connections.end(), address);
  if (found == grants_.connections.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - grants_.connections.begin());
}

std::optional<std::uint32_t> Client::file_of(const std::string& path) const {
  const std::lock_guard lock(grants_mutex_);
  const auto found = std::find(grants_.files.begin(), grants_.files.end(), path);
  if (found == grants_.files.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - grants_.files.begin());
}

std::optional<Client::Name> Client::name_of(std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::lock_guard lock(grants_mutex_);
  for (std::size_t i = 0; i < grants_.sets.size(); ++i) {
    if (grants_.sets[i].folder != path.substr(0, slash)) continue;
    if (const auto number = grants_.sets[i].number(path.substr(slash + 1))) {
      return Name{.set = static_cast<std::uint32_t>(i), .number = *number};
    }
  }
  return std::nullopt;
}

std::string Client::kept_path(const Name& name) const {
  const std::lock_guard lock(grants_mutex_);
  const FileSet& set = grants_.sets[name.set];
  return set.folder + "/" + set.kept + set.name(name.number);
}

/// Asks for the lists of the opener, because it may have read the files at another moment than the caller.
Status Client::renew() {
  const Outcome renewed = ask({.kind = RequestKind::Renew});
  if (renewed.error != 0) {
    return Failure{renewed.notes.empty() ? std::string("the opener cannot read the settings: ") +
                                               std::generic_category().message(renewed.error)
                                         : renewed.notes};
  }
  // Without the lock: threads that open files of known sets do not wait for answers about new ones.
  Grants known;
  {
    const std::lock_guard lock(grants_mutex_);
    known = grants_;
  }
  for (const ListKind list : {ListKind::Sockets, ListKind::Files, ListKind::Sets}) {
    if (Status learned = learn(list, known); !learned) return learned;
  }
  const std::lock_guard lock(grants_mutex_);
  grants_ = std::move(known);
  return Done{};
}

/// Adds what the opener has at the end of the list.
Status Client::learn(ListKind list, Grants& known) {
  const auto count = [&] {
    return list == ListKind::Sockets ? known.sockets.size()
           : list == ListKind::Files ? known.files.size()
                                     : known.sets.size();
  };
  while (count() < kMostGrants) {
    const Outcome told = ask({.kind = RequestKind::Tell,
                              .index = static_cast<std::uint32_t>(count()),
                              .number = static_cast<std::uint64_t>(list)});
    if (told.error == EACCES) return Done{};  // the end of the list
    bool is_good = told.error == 0;
    if (is_good && list == ListKind::Sockets) {
      const auto socket = parse_socket(told.notes);
      is_good = socket.has_value();
      if (is_good) known.sockets.push_back(*socket);
    } else if (is_good && list == ListKind::Sets) {
      auto set = parse_set(told.notes, known.sets);
      is_good = set.has_value();
      if (is_good) known.sets.push_back(std::move(*set));
    } else if (is_good) {
      known.files.push_back(told.notes);
    }
    if (!is_good) {
      return Failure{"the opener does not say what it may open: " +
                     std::generic_category().message(told.error != 0 ? told.error : EPROTO)};
    }
  }
  return Done{};
}

Outcome Client::ask(const Request& request) {
  const std::lock_guard lock(mutex_);
  Outcome gone;
  gone.error = EPIPE;
  if (has_ended_.load(std::memory_order_relaxed)) return gone;
  RequestBytes bytes = encode(request);
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(bytes.size())) return receive();
  has_ended_.store(true, std::memory_order_relaxed);
  return gone;
}

/// An opener that is late with an answer is not asked again: the answer would be taken for the next one.
Outcome Client::receive() {
  Outcome outcome;
  std::array<char, sizeof(ReplyHead) + kMaxReplyText> bytes;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);  // waits for kPatienceMs at most
  } while (count < 0 && errno == EINTR);
  ReplyHead head;
  if (count >= static_cast<ssize_t>(sizeof(head))) std::memcpy(&head, bytes.data(), sizeof(head));
  const cmsghdr* const item = count >= 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (item != nullptr && item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_RIGHTS) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(item), sizeof(file));
    outcome.file = OpenFile(file);
  }
  if (head.magic != kReplyMagic) {
    has_ended_.store(true, std::memory_order_relaxed);
    outcome.error = EPIPE;
    return outcome;
  }
  outcome.error = head.error;
  outcome.notes.assign(bytes.data() + sizeof(head), static_cast<std::size_t>(count) - sizeof(head));
  return outcome;
}

bool Client::has_ended() noexcept {
  if (has_ended_.load(std::memory_order_relaxed)) return true;
  pollfd look{.fd = socket_.get(), .events = 0, .revents = 0};
  if (::poll(&look, 1, 0) == 1 && (look.revents & (POLLHUP | POLLERR)) != 0) {
    has_ended_.store(true, std::memory_order_relaxed);
  }
  return has_ended_.load(std::memory_order_relaxed);
}

}  // namespace stopbit::opener
