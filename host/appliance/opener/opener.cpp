#include "host/appliance/opener/opener.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "host/feed/packet/socket_address.hpp"
#include "host/os/confine/restrictions.hpp"

namespace stopbit::opener {
namespace {

/// Not to hang on a FIFO that lies in the place of the file.
constexpr int kAlways = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Outcome failed(int error) {
  Outcome outcome;
  outcome.error = error;
  return outcome;
}

/// Regular files only: what else has the name is not of the settings.
Outcome open_file(const std::string& path, int flags, unsigned mode) {
  Outcome outcome;
  outcome.file = OpenFile(::open(path.c_str(), flags | kAlways, mode));
  if (!outcome.file.ok()) return failed(errno);
  struct stat status {};
  if (::fstat(outcome.file.get(), &status) != 0) return failed(errno);
  return S_ISREG(status.st_mode) ? std::move(outcome) : failed(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
}

Outcome open_socket(const SocketGrant& grant) {
  std::vector<std::string> notes;
  errno = 0;
  Result<int> socket = ingest::open_group_socket(grant.options, grant.membership, notes);
  if (!socket) {
    Outcome outcome = failed(errno != 0 ? errno : EIO);
    outcome.notes = socket.message();
    return outcome;
  }
  Outcome outcome;
  outcome.file = OpenFile(socket.value());
  for (const std::string& note : notes) outcome.notes += (outcome.notes.empty() ? "" : "\n") + note;
  return outcome;
}

/// The connection need not exist yet: other requests do not wait for an address that does not answer.
Outcome connect_to(net::Endpoint endpoint) {
  Outcome outcome;
  outcome.file = OpenFile(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!outcome.file.ok()) return failed(errno);
  const sockaddr_in address = net::socket_address(endpoint);
  const int done = ::connect(outcome.file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return done == 0 || errno == EINPROGRESS ? std::move(outcome) : failed(errno);
}

/// In place of notes. A path that does not fit into an answer cannot be asked for.
Outcome tell(const Request& request, const Grants& grants) {
  Outcome outcome;
  switch (static_cast<ListKind>(request.number)) {
    case ListKind::Sockets: outcome.notes = to_text(grants.sockets[request.index]); break;
    case ListKind::Files: outcome.notes = grants.files[request.index]; break;
    case ListKind::Sets: outcome.notes = to_text(grants.sets[request.index], grants.sets); break;
  }
  return outcome.notes.size() <= kMaxReplyText ? std::move(outcome) : failed(ENAMETOOLONG);
}

Outcome renew(Grants& grants, const ReadGrants& again) {
  if (!again) return failed(EOPNOTSUPP);
  const Result<Grants> read = again();
  const Status added = read ? add_new(grants, read.value()) : Status(read.failure());
  if (added) return {};
  Outcome outcome = failed(EINVAL);
  outcome.notes = added.message();
  return outcome;
}

bool is_wanted(int capability, const Grants& grants) {
  constexpr std::uint16_t kPrivilegedPorts = 1'024;
  // Receive buffers beyond the limit, busy polling, stamps of the card.
  if (capability == CAP_NET_ADMIN) return !grants.sockets.empty();
  if (capability == CAP_NET_BIND_SERVICE) {
    return std::any_of(grants.sockets.begin(), grants.sockets.end(),
                       [](const SocketGrant& socket) { return socket.membership.group.port < kPrivilegedPorts; });
  }
  return false;
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

bool answer(int socket, const Outcome& outcome) {
  ReplyHead head{.magic = kReplyMagic, .error = outcome.error};
  std::string notes = outcome.notes.substr(0, kMaxReplyText);
  std::array<iovec, 2> parts{iovec{&head, sizeof(head)}, iovec{notes.data(), notes.size()}};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (outcome.error == 0 && outcome.file.ok()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const item = CMSG_FIRSTHDR(&message);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    const int file = outcome.file.get();
    std::memcpy(CMSG_DATA(item), &file, sizeof(file));
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  OpenFile old(std::exchange(number_, other.release()));
  return *this;
}

OpenFile::~OpenFile() {
  if (number_ >= 0) ::close(number_);
}

Outcome perform(const Request& request, const Grants& grants) {
  if (!check(request, grants)) return failed(EACCES);
  const auto set = [&]() -> const FileSet& { return grants.sets[request.index]; };
  const auto path = [&] { return set().folder + "/" + set().name(request.number); };
  const auto result = [](int status) { return failed(status == 0 ? 0 : errno); };
  switch (request.kind) {
    case RequestKind::Socket: return open_socket(grants.sockets[request.index]);
    case RequestKind::Read: return open_file(grants.files[request.index], O_RDONLY, 0);
    case RequestKind::Append: return open_file(path(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, set().mode);
    case RequestKind::Create: return open_file(path(), O_WRONLY | O_CREAT | O_EXCL, set().mode);
    case RequestKind::Keep:
      return result(::rename(path().c_str(), (set().folder + "/" + set().kept + set().name(request.number)).c_str()));
    case RequestKind::Remove: return result(::unlink(path().c_str()));
    case RequestKind::Connect: return connect_to(grants.connections[request.index]);
    case RequestKind::Tell: return tell(request, grants);
    case RequestKind::Renew: break;  // serve() does it
  }
  return failed(EINVAL);
}

std::string confine_opener(const Grants& grants, bool reads_again) {
  std::string problems;
  const auto note = [&](const Status& done) {
    if (!done) problems += (problems.empty() ? "" : "\n") + done.message();
  };
  std::vector<int> capabilities;
  for (const int capability : {CAP_NET_ADMIN, CAP_NET_BIND_SERVICE}) {
    if (is_wanted(capability, grants)) capabilities.push_back(capability);
  }
  std::vector<std::string> written;
  std::vector<std::string> read;
  for (const FileSet& set : grants.sets) written.push_back(set.folder);
  // By folder: a file that replaces the one of the name has another inode.
  for (const std::string& file : grants.files) read.push_back(folder_of(file));
  std::vector<int> calls = {// Requests.
                            SCMP_SYS(recvmsg), SCMP_SYS(sendmsg), SCMP_SYS(close),
                            // Files.
                            SCMP_SYS(openat), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(rename), SCMP_SYS(unlink),
                            // Memory, the end.
                            SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(brk), SCMP_SYS(rt_sigreturn),
                            SCMP_SYS(restart_syscall), SCMP_SYS(exit_group)};
  if (reads_again) {
    // Files of settings are read here, maps are looked for, and a text may be long.
    for (const int call :
         {SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(lseek), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(geteuid)}) {
      calls.push_back(call);
    }
  }
#ifdef __SANITIZE_ADDRESS__
  for (const int call : {SCMP_SYS(mprotect), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(futex),
                         SCMP_SYS(clock_gettime), SCMP_SYS(pipe), SCMP_SYS(pipe2), SCMP_SYS(read), SCMP_SYS(write),
                         SCMP_SYS(readlink), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(sigaltstack),
                         SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(sched_yield)}) {
    calls.push_back(call);
  }
#endif
  if (!grants.sockets.empty() || !grants.connections.empty()) {
    for (const int call : {SCMP_SYS(socket), SCMP_SYS(setsockopt), SCMP_SYS(getsockopt)}) calls.push_back(call);
  }
  if (!grants.sockets.empty()) {
    for (const int call : {SCMP_SYS(bind), SCMP_SYS(ioctl), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl)}) {
      calls.push_back(call);
    }
  }
  if (!grants.connections.empty()) calls.push_back(SCMP_SYS(connect));
  note(confine::rule_out_privileges());
  note(confine::restrict_files(written, read));
  note(confine::drop_capabilities(capabilities));
  note(confine::filter_calls(calls));
  return problems;
}

void serve(int socket, Grants grants, const ReadGrants& again) {
  for (;;) {
    std::array<std::byte, kRequestBytes + 1> bytes;
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};  // without room for descriptors: the kernel closes those that are sent
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t count = ::recvmsg(socket, &message, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    const auto request = parse_request(std::span(bytes).first(static_cast<std::size_t>(count)));
    const auto outcome = [&] {
      if (!request) return failed(EBADMSG);
      return request->kind == RequestKind::Renew ? renew(grants, again) : perform(*request, grants);
    };
    if (!answer(socket, outcome())) return;
  }
}

}  // namespace stopbit::opener
