#include "host/appliance/placement.hpp"

#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <utility>

#include "host/analyse/check_host/check.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint32_t kMaxNodes = 1'024;
constexpr std::size_t kBitsPerWord = 8 * sizeof(unsigned long);

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Topology::Topology(std::string root) : root_(std::move(root)) {
  const std::string folder = root_ + "/sys/devices/system/node/";
  for (const unsigned node : check::parse_cpu_list(first_line(folder + "online"))) {
    if (node >= kMaxNodes) break;
    nodes_.push_back({node, check::parse_cpu_list(first_line(folder + "node" + std::to_string(node) + "/cpulist"))});
  }
}

std::optional<std::uint32_t> Topology::node_of_core(std::uint32_t core) const noexcept {
  for (const NumaNode& node : nodes_) {
    if (std::find(node.cores.begin(), node.cores.end(), core) != node.cores.end()) return node.number;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> Topology::node_in(const std::string& path) const {
  const std::string text = first_line(root_ + path);
  std::uint32_t node = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || rest == text.data()) return std::nullopt;
  const bool is_known =
      std::any_of(nodes_.begin(), nodes_.end(), [node](const NumaNode& n) { return n.number == node; });
  return is_known ? std::optional(node) : std::nullopt;
}

std::optional<std::uint32_t> Topology::node_of_interface(const std::string& interface) const {
  // The names go into paths.
  if (interface.empty() || interface.find('/') != std::string::npos || interface.front() == '.') return std::nullopt;
  return node_in("/sys/class/net/" + interface + "/device/numa_node");
}

std::optional<std::uint32_t> Topology::node_of_pci(const std::string& address) const {
  if (address.empty() || address.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos ||
      address.front() == '.') {
    return std::nullopt;
  }
  return node_in("/sys/bus/pci/devices/" + address + "/numa_node");
}

std::string pin(std::thread& thread, std::optional<std::uint32_t> core) {
  if (!core) return {};
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (*core < CPU_SETSIZE) CPU_SET(*core, &cores);
  const int error = ::pthread_setaffinity_np(thread.native_handle(), sizeof(cores), &cores);
  return error == 0 ? std::string() : "cannot run on core " + std::to_string(*core) + ": " + std::strerror(error);
}

int prefer_node(std::optional<std::uint32_t> node) noexcept {
  std::array<unsigned long, kMaxNodes / kBitsPerWord> mask{};
  if (node && *node >= kMaxNodes) return EINVAL;
  if (node) mask[*node / kBitsPerWord] = 1UL << (*node % kBitsPerWord);
  // The kernel reads one bit less than the size passed to it.
  const long status = node ? ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), kMaxNodes + 1)
                           : ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
  return status == 0 ? 0 : errno;
}

std::optional<std::uint32_t> node_of_memory(const void* byte) noexcept {
  int node = -1;
  if (::syscall(SYS_get_mempolicy, &node, nullptr, 0, byte, MPOL_F_NODE | MPOL_F_ADDR) != 0 || node < 0) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(node);
}

Visit::Visit(const ThreadPlacement& place) noexcept {
  if (place.core && *place.core < CPU_SETSIZE) {
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(*place.core, &there);
    is_there_ =
        ::sched_getaffinity(0, sizeof(home_), &home_) == 0 && ::sched_setaffinity(0, sizeof(there), &there) == 0;
  }
  if (place.node) node_error_ = prefer_node(place.node);
  has_node_ = place.node && node_error_ == 0;
}

Visit::~Visit() {
  if (has_node_) (void)prefer_node(std::nullopt);
  if (is_there_) (void)::sched_setaffinity(0, sizeof(home_), &home_);
}

}  // namespace stopbit::appliance
