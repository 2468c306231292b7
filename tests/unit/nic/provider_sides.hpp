#pragma once

// Programs of libfabric with the provider: two domains of one process are two nodes, as two processes would be.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace stopbit::nic::provider_test {

constexpr std::uint32_t kVersion = FI_VERSION(1, 17);
constexpr std::size_t kNameBytes = 48;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

/// The tests run over the carrier that this names: shared memory, or with "udp" encrypted datagrams.
inline bool is_remote() {
  const char* const carrier = ::getenv("STOPBIT_PROVIDER_CARRIER");
  return carrier != nullptr && std::string(carrier) == "udp";
}

/// At which nobody listens now.
inline std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(at);
  const bool is_bound = ::bind(socket, reinterpret_cast<sockaddr*>(&at), length) == 0 &&
                        ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &length) == 0;
  ::close(socket);
  if (!is_bound) throw std::runtime_error("no port");
  return ntohs(at.sin_port);
}

/// The user's settings for processes that meet over UDP, the ones that this process starts included.
inline void set_rendezvous() {
  if (::getenv("FI_STOPBIT_RENDEZVOUS") != nullptr) return;
  const std::string token = testing::TempDir() + "provider-token-" + std::to_string(::getpid());
  std::ofstream(token) << "a secret of the tests that never travels\n";
  ::setenv("FI_STOPBIT_TOKEN_FILE", token.c_str(), 1);
  ::setenv("FI_STOPBIT_RENDEZVOUS", ("127.0.0.1:" + std::to_string(free_port())).c_str(), 1);
}

/// Before the first call of libfabric in this process.
inline void set_environment() {
  if (is_remote()) set_rendezvous();
  ::setenv("FI_PROVIDER_PATH", STOPBIT_PROVIDER_FOLDER, 1);
  ::setenv("FI_PROVIDER", "stopbit", 1);
  ::setenv("FI_STOPBIT_NETWORK", ("provider-test-" + std::to_string(::getpid())).c_str(), 0);
  ::setenv("IPATH_NO_BACKTRACE", "1", 1);
  ::setenv("HFI_NO_BACKTRACE", "1", 1);
}

inline Info hints_of(std::uint64_t caps) {
  set_environment();
  Info hints(fi_allocinfo());
  hints->caps = caps;
  hints->ep_attr->type = FI_EP_RDM;
  hints->fabric_attr->prov_name = ::strdup("stopbit");
  return hints;
}

inline Info ask(const Info& hints, int& result) {
  fi_info* info = nullptr;
  result = fi_getinfo(kVersion, nullptr, nullptr, 0, hints.get(), &info);
  return Info(result == 0 ? info : nullptr);
}
inline int ask(const Info& hints) {
  int result = 0;
  (void)ask(hints, result);
  return result;
}

constexpr std::uint64_t kAll = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE | FI_DIRECTED_RECV |
                               FI_REMOTE_CQ_DATA | FI_RMA_EVENT | FI_MULTI_RECV;

/// A node with an endpoint.
class Side {
 public:
  struct How {
    std::uint64_t transmit_flags = FI_TRANSMIT;
    std::uint64_t receive_flags = FI_RECV;
    bool has_counters = false;
    std::uint64_t op_flags = 0;
    int mr_mode = 0;
    fi_threading threading = FI_THREAD_UNSPEC;
    fi_progress progress = FI_PROGRESS_UNSPEC;
  };
  Side() : Side(How{}) {}
  explicit Side(const How& how) {
    Info hints = hints_of(kAll);
    hints->tx_attr->op_flags = how.op_flags;
    hints->domain_attr->mr_mode = how.mr_mode;
    hints->domain_attr->threading = how.threading;
    hints->domain_attr->data_progress = how.progress;
    int result = 0;
    info = ask(hints, result);
    must(result, "fi_getinfo");
    must(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    must(fi_domain(fabric, info.get(), &domain, nullptr), "fi_domain");
    fi_av_attr av_attr{};
    av_attr.type = FI_AV_TABLE;
    must(fi_av_open(domain, &av_attr, &av, nullptr), "fi_av_open");
    fi_cq_attr cq_attr{};
    cq_attr.format = FI_CQ_FORMAT_TAGGED;
    must(fi_cq_open(domain, &cq_attr, &sends, nullptr), "fi_cq_open");
    must(fi_cq_open(domain, &cq_attr, &receives, nullptr), "fi_cq_open");
    must(fi_endpoint(domain, info.get(), &ep, nullptr), "fi_endpoint");
    must(fi_ep_bind(ep, &av->fid, 0), "bind av");
    must(fi_ep_bind(ep, &sends->fid, how.transmit_flags), "bind cq");
    must(fi_ep_bind(ep, &receives->fid, how.receive_flags), "bind cq");
    if (how.has_counters) {
      fi_cntr_attr attr{};
      must(fi_cntr_open(domain, &attr, &sent, nullptr), "fi_cntr_open");
      must(fi_cntr_open(domain, &attr, &received, nullptr), "fi_cntr_open");
      must(fi_ep_bind(ep, &sent->fid, FI_SEND), "bind cntr");
      must(fi_ep_bind(ep, &received->fid, FI_RECV), "bind cntr");
    }
    must(fi_enable(ep), "fi_enable");
  }
  ~Side() {
    close(&ep->fid);
    if (sent != nullptr) close(&sent->fid);
    if (received != nullptr) close(&received->fid);
    close(&sends->fid);
    close(&receives->fid);
    close(&av->fid);
    close(&domain->fid);
    close(&fabric->fid);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  [[nodiscard]] std::vector<std::byte> name() const {
    std::size_t length = 0;
    EXPECT_EQ(fi_getname(&ep->fid, nullptr, &length), -FI_ETOOSMALL);
    std::vector<std::byte> name(length);
    must(fi_getname(&ep->fid, name.data(), &length), "fi_getname");
    return name;
  }
  [[nodiscard]] fi_addr_t insert(const std::vector<std::byte>& name) const {
    fi_addr_t address = FI_ADDR_UNSPEC;
    EXPECT_EQ(fi_av_insert(av, name.data(), 1, &address, 0, nullptr), 1);
    return address;
  }

  Info info;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* av = nullptr;
  fid_cq* sends = nullptr;
  fid_cq* receives = nullptr;
  fid_cntr* sent = nullptr;
  fid_cntr* received = nullptr;
  fid_ep* ep = nullptr;

 private:
  static void must(int result, const char* what) {
    if (result != 0) throw std::runtime_error(std::string(what) + ": " + fi_strerror(-result));
  }
  static void close(fid* fid) { EXPECT_EQ(fi_close(fid), 0); }
};

struct Pair {
  explicit Pair(const Side::How& how = {}) : a(how), b(how), to_b(a.insert(b.name())), to_a(b.insert(a.name())) {}
  /// The second side closes first, and waits for acknowledgements of the first: here both can still say them.
  ~Pair() {
    fi_cq_tagged_entry none{};
    for (int i = 0; i < 20 && is_remote(); ++i) {
      for (fid_cq* const cq : {a.sends, b.sends, a.receives, b.receives}) (void)!fi_cq_read(cq, &none, 1);
      ::usleep(200);
    }
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  Side a;
  Side b;
  fi_addr_t to_b;
  fi_addr_t to_a;
};

/// A completion, or an error: `err` is not 0 then.
struct Ended {
  fi_cq_err_entry entry{};
  fi_addr_t source = FI_ADDR_UNSPEC;
};

inline std::optional<Ended> poll(fid_cq* cq) {
  Ended ended;
  fi_cq_tagged_entry entry{};
  const ssize_t count = fi_cq_readfrom(cq, &entry, 1, &ended.source);
  if (count == 1) {
    ended.entry = {entry.op_context, entry.flags, entry.len, entry.buf, entry.data, entry.tag, 0, 0, 0, nullptr, 0};
    return ended;
  }
  if (count != -FI_EAVAIL) {
    EXPECT_EQ(count, -FI_EAGAIN);
    return std::nullopt;
  }
  EXPECT_EQ(fi_cq_readerr(cq, &ended.entry, 0), 1);
  return ended;
}

/// Both sides make progress until the queue has something.
inline Ended await(fid_cq* cq, const Side& other) {
  for (;;) {
    if (const std::optional<Ended> ended = poll(cq)) return *ended;
    fi_cq_tagged_entry none{};
    EXPECT_LE(fi_cq_read(other.sends, &none, 0), 0);
    EXPECT_LE(fi_cq_read(other.receives, &none, 0), 0);
  }
}

inline std::vector<std::byte> bytes_of(std::size_t length, unsigned seed) {
  std::vector<std::byte> bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  return bytes;
}

/// Each test runs with single copies and without.
class Sizes : public testing::TestWithParam<const char*> {
 protected:
  Sizes() { ::setenv("FI_STOPBIT_SINGLE_COPY", GetParam(), 1); }
  void SetUp() override {
    if (is_remote() && std::string(GetParam()) == "1") GTEST_SKIP() << "no single copies between hosts";
  }
  ~Sizes() override { ::unsetenv("FI_STOPBIT_SINGLE_COPY"); }
};
/// A process with an endpoint that tells its name, makes progress if it should, and waits for its end.
class OtherProcess {
 public:
  explicit OtherProcess(bool makes_progress) {
    int pipes[2];
    if (::pipe(pipes) != 0) throw std::runtime_error("pipe");
    set_environment();
    pid_ = ::fork();
    if (pid_ == 0) {
      const Side side;
      const std::vector<std::byte> name = side.name();
      if (::write(pipes[1], name.data(), name.size()) != static_cast<ssize_t>(name.size())) ::_exit(1);
      for (;;) {
        fi_cq_tagged_entry none{};
        if (makes_progress) (void)!fi_cq_read(side.receives, &none, 0);
        ::usleep(100);
      }
    }
    ::close(pipes[1]);
    name_.resize(kNameBytes);
    if (::read(pipes[0], name_.data(), name_.size()) != static_cast<ssize_t>(name_.size()))
      throw std::runtime_error("the other process has no endpoint");
    ::close(pipes[0]);
  }
  ~OtherProcess() { kill(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] const std::vector<std::byte>& name() const { return name_; }

 private:
  pid_t pid_ = 0;
  std::vector<std::byte> name_;
};

}  // namespace stopbit::nic::provider_test
