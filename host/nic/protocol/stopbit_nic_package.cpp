#include <cstdio>
#include <string>

#include "host/nic/protocol/package.hpp"

/// Prints what units share with the software: stopbit_nic_package > fpga/rtl/pkg/generated/stopbit_nic_pkg.sv
int main() {
  if (const auto problem = stopbit::nic::protocol::problem()) {
    std::fprintf(stderr, "stopbit_nic_package: %s\n", problem->c_str());
    return 1;
  }
  const std::string package = stopbit::nic::protocol::package();
  const bool written =
      std::fwrite(package.data(), 1, package.size(), stdout) == package.size() && std::fflush(stdout) == 0;
  return written ? 0 : 3;
}
