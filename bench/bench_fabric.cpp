// A provider of libfabric between two processes: tagged messages, writes, reads and atomics. bench/tools/provider.py
// runs it over several providers in turn.
//
//     bench_fabric PROVIDER PORT           the first process, which waits for the second on that port of localhost
//     bench_fabric PROVIDER PORT ROUNDS    the second one, which prints a figure a line: name, bytes, least, median
//
// Times are in nanoseconds, of a batch divided by its operations: one stolen time slice costs one batch, not the
// median.

#include <arpa/inet.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "host/os/clock.hpp"

namespace {

constexpr std::size_t kMost = std::size_t{1} << 20U;
constexpr std::size_t kWindow = 16;  ///< Operations of kMost bytes under way at once.
constexpr std::array<std::size_t, 6> kSizes = {8, 64, 1024, 8192, 65'536, kMost};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bench_fabric: %s\n", what.c_str());
  std::exit(1);
}
void must(long result, const char* what) {
  if (result != 0) fail(std::string(what) + ": " + fi_strerror(static_cast<int>(-result)));
}

/// The two processes' connection on localhost.
class Socket {
 public:
  Socket(std::uint16_t port, bool listens) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const at = reinterpret_cast<sockaddr*>(&address);
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (listens) {
      const int one = 1;
      (void)::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
      if (::bind(fd_, at, sizeof(address)) != 0 || ::listen(fd_, 1) != 0) fail("cannot listen");
      fd_ = ::accept(fd_, nullptr, nullptr);
    } else if (::connect(fd_, at, sizeof(address)) != 0) {
      fail("no process listens");
    }
  }
  void send(const void* bytes, std::size_t length) const {
    if (::send(fd_, bytes, length, MSG_NOSIGNAL) != static_cast<ssize_t>(length)) fail("the other process has exited");
  }
  void receive(void* bytes, std::size_t length) const {
    if (::recv(fd_, bytes, length, MSG_WAITALL) != static_cast<ssize_t>(length)) fail("the other process has exited");
  }

 private:
  int fd_ = -1;
};

struct Remote {
  std::uint64_t name_length = 0;
  std::uint64_t key = 0;
  std::uint64_t address = 0;
  std::uint64_t has_memory = 0;
  std::array<char, 256> name{};
};

class Side {
 public:
  Side(const std::string& provider, const Socket& socket) : into_(kMost * kWindow), from_(kMost, char{1}) {
    for (const std::uint64_t more : {std::uint64_t{FI_RMA | FI_ATOMIC}, std::uint64_t{0}}) {
      if (find(provider, FI_TAGGED | more)) break;
    }
    if (info_ == nullptr) fail("there is no provider '" + provider + "' with tagged messages");
    has_memory_ = (info_->caps & (FI_RMA | FI_ATOMIC)) == (FI_RMA | FI_ATOMIC);
    must(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fi_fabric");
    must(fi_domain(fabric_, info_, &domain_, nullptr), "fi_domain");
    fi_av_attr av_attr{};
    must(fi_av_open(domain_, &av_attr, &av_, nullptr), "fi_av_open");
    fi_cq_attr cq_attr{};
    cq_attr.format = FI_CQ_FORMAT_TAGGED;
    cq_attr.size = 4096;
    must(fi_cq_open(domain_, &cq_attr, &cq_, nullptr), "fi_cq_open");
    must(fi_endpoint(domain_, info_, &ep_, nullptr), "fi_endpoint");
    must(fi_ep_bind(ep_, &av_->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(ep_, &cq_->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(ep_), "fi_enable");
    meet(socket);
  }

  [[nodiscard]] bool has_memory() const { return has_memory_; }
  [[nodiscard]] const char* bytes() const { return from_.data(); }
  [[nodiscard]] char* room() { return into_.data(); }

  void post_receive(std::size_t length) {
    retry([&] { return fi_trecv(ep_, into_.data(), length, nullptr, to_, 1, 0, context()); });
  }
  /// Done when its buffer is free.
  void send(std::size_t length) {
    if (length <= info_->tx_attr->inject_size) {
      retry([&] { return fi_tinject(ep_, from_.data(), length, to_, 1); });
    } else {
      retry([&] { return fi_tsend(ep_, from_.data(), length, nullptr, to_, 1, context()); });
      ++sends_;
    }
  }
  void write(std::size_t length) {
    retry([&] { return fi_write(ep_, from_.data(), length, nullptr, to_, remote_.address, remote_.key, context()); });
    ++sends_;
  }
  void read(std::size_t length) {
    retry([&] { return fi_read(ep_, into_.data(), length, nullptr, to_, remote_.address, remote_.key, context()); });
    ++sends_;
  }
  void add() {
    retry([&] {
      return fi_fetch_atomic(ep_, from_.data(), 1, nullptr, into_.data(), nullptr, to_, remote_.address, remote_.key,
                             FI_UINT64, FI_SUM, context());
    });
    ++sends_;
  }
  void await_receive() {
    while (received_ == 0) progress();
    --received_;
  }
  void await_sends() {
    while (sends_ != 0) progress();
  }

 private:
  bool find(const std::string& provider, std::uint64_t caps) {
    fi_info* const hints = fi_allocinfo();
    hints->caps = caps;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = ::strdup(provider.c_str());
    // tcp needs this host's address; other providers have no such names.
    const bool has_address = provider.starts_with("tcp");
    const int result = fi_getinfo(FI_VERSION(1, 17), has_address ? "127.0.0.1" : nullptr, nullptr,
                                  has_address ? FI_SOURCE : 0, hints, &info_);
    fi_freeinfo(hints);
    return result == 0;
  }

  void meet(const Socket& socket) {
    Remote mine;
    mine.name_length = mine.name.size();
    must(fi_getname(&ep_->fid, mine.name.data(), &mine.name_length), "fi_getname");
    if (has_memory_) {
      fid_mr* mr = nullptr;
      must(fi_mr_reg(domain_, into_.data(), into_.size(), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr, nullptr),
           "fi_mr_reg");
      mine.key = fi_mr_key(mr);
      const bool is_virtual = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
      mine.address = is_virtual ? reinterpret_cast<std::uint64_t>(into_.data()) : 0;
    }
    socket.send(&mine, sizeof(mine));
    socket.receive(&remote_, sizeof(remote_));
    if (fi_av_insert(av_, remote_.name.data(), 1, &to_, 0, nullptr) != 1) fail("fi_av_insert");
  }

  fi_context* context() { return &contexts_[next_context_++ % contexts_.size()]; }

  template <class Call>
  void retry(const Call& call) {
    for (;;) {
      const ssize_t result = call();
      if (result == 0) return;
      if (result != -FI_EAGAIN) must(result, "an operation");
      progress();
    }
  }

  void progress() {
    std::array<fi_cq_tagged_entry, 8> entries;
    const ssize_t count = fi_cq_read(cq_, entries.data(), entries.size());
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      (void)fi_cq_readerr(cq_, &error, 0);
      fail(std::string("an operation ended in an error: ") + fi_strerror(error.err));
    }
    for (ssize_t i = 0; i < count; ++i) {
      const bool is_receive = (entries[static_cast<std::size_t>(i)].flags & FI_RECV) != 0;
      is_receive ? ++received_ : --sends_;
    }
  }

  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* av_ = nullptr;
  fid_cq* cq_ = nullptr;
  fid_ep* ep_ = nullptr;
  bool has_memory_ = false;
  Remote remote_;
  fi_addr_t to_ = 0;
  std::vector<char> into_;
  std::vector<char> from_;
  std::array<fi_context, 64> contexts_{};
  std::size_t next_context_ = 0;
  std::size_t received_ = 0;
  std::size_t sends_ = 0;
};

/// Prints the least and the median of the rounds, each of `count` operations.
void measure(const char* name, std::size_t bytes, std::size_t rounds, std::size_t count,
             const std::function<void()>& batch) {
  batch();  // pages and connections
  std::vector<std::uint64_t> times;
  for (std::size_t i = 0; i < rounds; ++i) {
    const std::uint64_t begin = stopbit::os::monotonic_clock_ns();
    batch();
    times.push_back((stopbit::os::monotonic_clock_ns() - begin) * 100 / count);
  }
  std::ranges::sort(times);
  std::printf("%s %zu %.2f %.2f\n", name, bytes, static_cast<double>(times.front()) / 100,
              static_cast<double>(times[times.size() / 2]) / 100);
}

std::size_t batch_of(std::size_t bytes) {
  return bytes > 10'000 ? 1 : 100;
}

void ping(Side& side, std::size_t bytes) {
  for (std::size_t i = 0; i < batch_of(bytes); ++i) {
    side.post_receive(bytes);
    side.send(bytes);
    side.await_sends();
    side.await_receive();
  }
}
void pong(Side& side, std::size_t bytes) {
  for (std::size_t i = 0; i < batch_of(bytes); ++i) {
    side.post_receive(bytes);
    side.await_receive();
    side.send(bytes);
    side.await_sends();
  }
}
/// A window of long messages, and an answer.
void stream(Side& side) {
  for (std::size_t i = 0; i < kWindow; ++i) side.send(kMost);
  side.post_receive(8);
  side.await_sends();
  side.await_receive();
}
void drain(Side& side) {
  for (std::size_t i = 0; i < kWindow; ++i) side.post_receive(kMost);
  for (std::size_t i = 0; i < kWindow; ++i) side.await_receive();
  side.send(8);
  side.await_sends();
}

void lead(Side& side, std::size_t rounds) {
  for (const std::size_t bytes : kSizes) {
    measure("tagged", bytes, rounds, batch_of(bytes) * 2, [&] { ping(side, bytes); });
  }
  measure("stream", kMost, rounds, kWindow, [&] { stream(side); });
  if (side.has_memory()) {
    const auto each = [&](const char* name, std::size_t bytes, const std::function<void()>& start) {
      measure(name, bytes, rounds, batch_of(bytes), [&] {
        for (std::size_t i = 0; i < batch_of(bytes); ++i) {
          start();
          side.await_sends();
        }
      });
    };
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{8192}, kMost}) {
      each("write", bytes, [&] { side.write(bytes); });
      each("read", bytes, [&] { side.read(bytes); });
    }
    each("add", 8, [&] { side.add(); });
  }
  side.post_receive(8);
  side.send(8);  // the other one has served until now
  side.await_receive();
  measure("memcpy", kMost, rounds, 10, [&] {
    for (std::size_t i = 0; i < 10; ++i) {
      std::memcpy(side.room() + i * kMost, side.bytes(), kMost);
      asm volatile("" ::: "memory");
    }
  });
}

void follow(Side& side, std::size_t rounds) {
  for (const std::size_t bytes : kSizes) {
    for (std::size_t i = 0; i <= rounds; ++i) pong(side, bytes);
  }
  for (std::size_t i = 0; i <= rounds; ++i) drain(side);
  side.post_receive(8);
  side.await_receive();
  side.send(8);
  side.await_sends();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) fail("usage: bench_fabric PROVIDER PORT [ROUNDS]");
  const bool leads = argc == 4;
  const Socket socket(static_cast<std::uint16_t>(std::atoi(argv[2])), !leads);
  std::uint64_t rounds = leads ? static_cast<std::uint64_t>(std::atoi(argv[3])) : 0;
  if (leads) {
    socket.send(&rounds, sizeof(rounds));
  } else {
    socket.receive(&rounds, sizeof(rounds));
  }
  Side side(argv[1], socket);
  leads ? lead(side, rounds) : follow(side, rounds);
  // Neither closes before the other has all.
  char byte = 0;
  socket.send(&byte, 1);
  socket.receive(&byte, 1);
  return 0;
}
