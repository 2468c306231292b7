#include <cstdio>
#include <string>

#include "microcode/gen/isa_page.hpp"

/// Prints the reference page of the instruction set: stopbit_isa_page > microcode/isa/generated/isa.md
int main() {
  const std::string page = stopbit::gen::isa_page();
  const bool written = std::fwrite(page.data(), 1, page.size(), stdout) == page.size() && std::fflush(stdout) == 0;
  return written ? 0 : 3;
}
