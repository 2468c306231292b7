#pragma once

#include <string>

namespace stopbit::gen {

/// The reference page of the instruction set, made from the list of instructions: the text of
/// microcode/isa/generated/isa.md.
[[nodiscard]] std::string isa_page();

}  // namespace stopbit::gen
