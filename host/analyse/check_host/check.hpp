#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Settings of a machine that cost latency or packets, and how to change them.
namespace stopbit::check {

enum class State : std::uint8_t {
  Good,
  Change,
  Unknown,  ///< Cannot be read: the kernel does not have the file.
};

struct Finding {
  std::string name;  ///< "clock source"
  State state = State::Unknown;
  std::string found;
  std::string wanted;
  std::string why;  ///< One sentence.
  std::string how;  ///< A command or a kernel parameter.
};

struct Options {
  std::vector<std::string> interfaces;  ///< That feeds arrive on: their rings and filters are looked at, too.
  std::string root = {};                ///< Before "/proc" and "/sys"; for tests.
  bool dpdk = true;                     ///< Also what DPDK needs.
};

/// Looks at the machine; changes nothing. Reads files under /proc and /sys, at most 64 KiB each, asks the kernel for
/// the rings of the interfaces (unless `root` is given), and needs no privilege.
[[nodiscard]] std::vector<Finding> look(const Options& options);

/// The processors in "0-3,8"; what is no such list ends it. At most 4,096.
[[nodiscard]] std::vector<unsigned> parse_cpu_list(const std::string& text);

}  // namespace stopbit::check
