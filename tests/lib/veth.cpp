#include "tests/lib/veth.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace stopbit::testing {
namespace {

int open_own_namespace() {
  return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
}

/// Namespaces belong to threads, and the shell inherits this one's.
bool shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// Until the kernel's worker has activated the device, its queue is `noop`, which drops all without a word.
std::string wait_for_queue(const std::string& device) {
  return "for i in $(seq 2000); do ip link show " + device +
         " | grep -q 'LOWER_UP.* qdisc noqueue' && exit 0; sleep 0.01; done; exit 1";
}

}  // namespace

std::unique_ptr<Veth> Veth::make(std::string& why) {
  const int home = open_own_namespace();
  const auto new_namespace = [&] {
    if (::unshare(CLONE_NEWNET) == 0) return open_own_namespace();
    why = std::string("no network namespace: ") + std::strerror(errno);
    return -1;
  };
  const int receiver = new_namespace();
  const int sender = receiver < 0 ? -1 : new_namespace();
  if (sender < 0) {
    enter(home);
    return nullptr;
  }
  std::unique_ptr<Veth> veth(new Veth(home, sender, receiver));
  const std::string other = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(receiver);
  // Addresses of the neighbour are given: no ARP, and IPv6 is off: what arrives is what a test sends.
  const bool made =
      shell("ip link add tx0 address 02:00:00:00:00:01 type veth peer name rx0 address 02:00:00:00:00:02 netns " +
            other) &&
      shell(
          "sysctl -q -w net.ipv6.conf.tx0.disable_ipv6=1; ip addr add 10.9.0.1/24 dev tx0 && ip addr add "
          "10.9.0.3/24 dev tx0 && ip link set tx0 up && ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev tx0 && "
          "ip route add 224.0.0.0/4 dev tx0") &&
      veth->run_in_receiver(
          "sysctl -q -w net.ipv6.conf.rx0.disable_ipv6=1; ip addr add 10.9.0.2/24 dev rx0 && ip link set rx0 up && "
          "ip neigh add 10.9.0.1 lladdr 02:00:00:00:00:01 dev rx0 && ip route add 224.0.0.0/4 dev rx0") &&
      shell("(" + wait_for_queue("tx0") + ")") && veth->run_in_receiver("(" + wait_for_queue("rx0") + ")");
  if (!made) {
    why = "no veth pair: `ip` of iproute2 could not make it";
    return nullptr;
  }
  enter(home);
  return veth;
}

Veth::~Veth() {
  enter(home_);
  ::close(home_);
  ::close(sender_);
  ::close(receiver_);
}

bool Veth::run_in_receiver(const std::string& command) const {
  bool done = false;
  run_in([this] { enter_receiver(); }, [&] { done = shell(command); });
  return done;
}

void Veth::enter(int space) {
  if (::setns(space, CLONE_NEWNET) != 0) throw std::runtime_error(std::string("setns: ") + std::strerror(errno));
}

void run_in(const std::function<void()>& enter, const std::function<void()>& body) {
  std::thread([&] {
    enter();
    body();
  }).join();
}

}  // namespace stopbit::testing
