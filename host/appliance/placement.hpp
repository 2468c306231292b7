#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

/// NUMA topology: the memory near each core and port.
namespace stopbit::appliance {

/// The NUMA nodes of a machine, from its kernel. Without any there is nothing to choose from.
class Topology {
 public:
  /// `root` is the prefix of /sys; for tests.
  explicit Topology(std::string root = {});

  [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::optional<std::uint32_t> node_of_core(std::uint32_t core) const noexcept;
  /// NUMA node of a network interface's card, or of a PCI address; nothing if it has none ("-1") or does not exist.
  [[nodiscard]] std::optional<std::uint32_t> node_of_interface(const std::string& interface) const;
  [[nodiscard]] std::optional<std::uint32_t> node_of_pci(const std::string& address) const;

 private:
  struct NumaNode {
    std::uint32_t number = 0;
    std::vector<unsigned> cores;
  };
  [[nodiscard]] std::optional<std::uint32_t> node_in(const std::string& path) const;

  std::string root_;
  std::vector<NumaNode> nodes_;
};

/// Where an agent runs, and from which node its memory comes.
struct ThreadPlacement {
  std::optional<std::uint32_t> core;
  std::optional<std::uint32_t> node;
};

/// Pins a thread to a core; nothing = it runs wherever. Empty, or why not: "cannot run on core 9: ...".
[[nodiscard]] std::string pin(std::thread& thread, std::optional<std::uint32_t> core);

/// From now on the calling thread takes memory from this node, if there is some; nothing = from where it runs. @returns
/// 0, or the errno of the kernel.
[[nodiscard]] int prefer_node(std::optional<std::uint32_t> node) noexcept;

/// The node of the page that holds this byte, which must have been touched; nothing if the kernel does not say.
[[nodiscard]] std::optional<std::uint32_t> node_of_memory(const void* byte) noexcept;

/// Moves the calling thread to a place while this object exists, so that memory it touches first is allocated there.
/// Skips what is not permitted.
class Visit {
 public:
  explicit Visit(const ThreadPlacement& place) noexcept;
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit();

  /// The errno with which the kernel refused the node; 0: it did not.
  [[nodiscard]] int node_error() const noexcept { return node_error_; }

 private:
  cpu_set_t home_{};
  bool is_there_ = false;
  bool has_node_ = false;
  int node_error_ = 0;
};

}  // namespace stopbit::appliance
