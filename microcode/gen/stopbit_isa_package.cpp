#include <cstdio>
#include <string>

#include "microcode/gen/isa_package.hpp"

/// Prints the instruction set for the hardware: stopbit_isa_package > fpga/rtl/pkg/generated/stopbit_isa_pkg.sv
int main() {
  const std::string package = stopbit::gen::isa_package();
  const bool written =
      std::fwrite(package.data(), 1, package.size(), stdout) == package.size() && std::fflush(stdout) == 0;
  return written ? 0 : 3;
}
