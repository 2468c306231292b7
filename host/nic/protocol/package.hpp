#pragma once

#include <optional>
#include <string>

namespace stopbit::nic::protocol {

/// The lists of this folder and error.def for the hardware: the text of fpga/rtl/pkg/generated/stopbit_nic_pkg.sv.
[[nodiscard]] std::string package();

/// What is wrong in the lists: fields that overlap or leave their layout, codes that come twice. Nothing: all is right.
[[nodiscard]] std::optional<std::string> problem();

}  // namespace stopbit::nic::protocol
