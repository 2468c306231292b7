#pragma once

#include <string>

namespace stopbit::gen {

/// The instruction set for the hardware, made from the list of instructions: the text of
/// fpga/rtl/pkg/generated/stopbit_isa_pkg.sv.
[[nodiscard]] std::string isa_package();

}  // namespace stopbit::gen
