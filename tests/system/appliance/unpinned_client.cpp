// Clients of the broker of a running, confined appliance: they share memory, and a file of many times what may be in
// memory at once; another process reads it through the node, while the one that shares it is killed and comes again.
//
//     stopbit_unpinned_client BROKER        status 77: the kernel gives no userfaultfd

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "host/nic/netvm/fault_source.hpp"
#include "host/nic/node/client.hpp"

namespace {

using namespace stopbit::nic;
namespace os = stopbit::os;

constexpr std::size_t kPages = 8'192;
constexpr std::size_t kResident = 256 * kPageBytes;
constexpr std::size_t kPiece = 64;  // pages of a get
constexpr int kPatienceMs = 30'000;
constexpr int kLooksPerCheck = 1'000;  // between two system calls that ask for the broker and the time

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}
template <class T>
T must(stopbit::Result<T> result, const char* what) {
  if (!result) fail(std::string(what) + ": " + result.message());
  return std::move(result).value();
}

std::uint64_t word_at(std::size_t page) {
  return page * 0x9E37'79B9'7F4A'7C15 + 1;
}

struct Shared {
  NodeId node = 0;
  Vpid vpid = 0;
  WindowName window;
};

/// A process that shares a file until it is killed.
class Owner {
 public:
  explicit Owner(const char* broker) {
    int ends[2];
    if (::pipe(ends) != 0) fail("no pipe");
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
      // It must not outlive a test that fails: it holds the output of that open.
      if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(1);
      share(broker, ends[1]);
    }
    ::close(ends[1]);
    if (::read(ends[0], &shared, sizeof(shared)) != static_cast<ssize_t>(sizeof(shared))) fail("nothing was shared");
    ::close(ends[0]);
  }
  ~Owner() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  Shared shared;

 private:
  [[noreturn]] static void share(const char* broker, int to) {
    const os::Descriptor file(::memfd_create("numbered", MFD_CLOEXEC));
    std::vector<std::uint64_t> words(kPageBytes / 8);
    for (std::size_t page = 0; page < kPages; ++page) {
      words.front() = words.back() = word_at(page);
      if (::write(file.get(), words.data(), kPageBytes) != static_cast<ssize_t>(kPageBytes)) fail("no file");
    }
    const auto client = must(Client::open(broker), "open");
    stopbit::Result<Nla> address = stopbit::Failure{"never asked"};
    // The memory of one that was killed is given back when its changes are written.
    for (int i = 0; i < kPatienceMs && !address; ++i) {
      address = client->share_file(file.get(), kPages * kPageBytes, kResident, Access::Read);
      if (!address) ::usleep(1'000);
    }
    Shared shared;
    shared.node = client->node();
    shared.vpid = client->vpid();
    shared.window =
        must(client->open_window(must(std::move(address), "share a file"), kPages * kPageBytes, Access::Read),
             "open a window");
    if (::write(to, &shared, sizeof(shared)) != static_cast<ssize_t>(sizeof(shared))) fail("nobody listens");
    for (;;) ::pause();
  }
  pid_t process_ = 0;
};

/// Gets a piece of the file.
Error get(Client& client, const Shared& from, std::size_t page, Nla into) {
  Command command;
  command.operation = Operation::Get;
  command.target_node = from.node;
  command.target_vpid = from.vpid;
  command.window = from.window.id;
  command.capability = from.window.capability;
  command.offset = page * kPageBytes;
  command.address = into;
  command.length = kPiece * kPageBytes;
  command.modifiers = kNotifyCompleter;
  if (client.queue(CommandRing::Transfer).insert({&command, 1}).reply != Reply::NoError) fail("no room for a command");
  Notification told;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  for (int looks = 1;; ++looks) {
    if (client.notifications().take(told)) return told.error;
    ::usleep(100);
    if (looks % kLooksPerCheck != 0) continue;
    if (!client.is_open()) fail("the broker is gone");
    if (std::chrono::steady_clock::now() > end) fail("a get does not end");
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  FaultSource faults;
  if (!faults.open()) {
    std::puts("skipped: this kernel gives no userfaultfd");
    return 77;
  }
  const auto reader = must(Client::open(words[1]), "open");
  const SharedRegion into = must(reader->share(kPiece * kPageBytes, Access::ReadWrite), "share memory");
  const auto* const here = reinterpret_cast<const std::uint64_t*>(into.memory.span().data());
  for (int life = 0; life < 3; ++life) {
    Shared last;
    {
      const Owner owner(words[1]);
      last = owner.shared;
      for (std::size_t page = 0; page < kPages; page += kPiece) {
        if (const Error error = get(*reader, last, page, into.address); error != Error::None) {
          fail(std::string("get: ") + to_name(error));
        }
        for (std::size_t i = 0; i < kPiece; ++i) {
          if (here[i * 512] != word_at(page + i) || here[i * 512 + 511] != word_at(page + i)) fail("other bytes");
        }
      }
    }
    // It was killed: its window disappears as soon as the broker has noticed.
    Error error = Error::None;
    for (int i = 0; i < kPatienceMs && error == Error::None; ++i) error = get(*reader, last, 0, into.address);
    if (error == Error::None) fail("the memory of a killed process is still there");
  }
  std::printf("3 times %zu pages, of which %zu could be here at once\n", kPages, kResident / kPageBytes);
  return 0;
}
