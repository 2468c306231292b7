#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/program.hpp"

/// Decides whether a program is safe for every input. Only verified programs are loaded, by any engine.
namespace stopbit::verify {

/// A broken rule. `rule` is a short stable name ("target-outside-code"); `where` names the table and entry.
struct Finding {
  std::string_view rule;
  std::string where;    ///< "code[12]", "blocks[3]", ...
  std::string message;  ///< One sentence without a full stop.
};

/// Worst-case cost of a template as a function of the datagram's length n: at most
/// `instructions` + n * `instructions_per_byte` instructions, and at most `slots` + elements * their strides.
struct TemplateCost {
  std::uint16_t template_index = 0;
  std::uint32_t instructions = 0;  ///< Executed once; with one element of each loop, which may stay unfinished.
  std::uint32_t instructions_per_byte = 0;  ///< Added per byte of the datagram by its loops.
  std::uint32_t slots = 0;                  ///< Slots of its blocks, elements not counted.
  std::uint32_t min_bytes = 0;              ///< Fewest bytes a message takes.
};

struct Report {
  std::vector<Finding> findings;
  std::vector<TemplateCost> costs;  ///< One per template of dispatch table 0, empty if there are findings.
  [[nodiscard]] bool ok() const noexcept { return findings.empty(); }
};

[[nodiscard]] Report check(const Program& program);

/// Most instructions that a datagram of `bytes` bytes can make an engine execute, whatever its content: that of the
/// costliest messages it can hold, and of one more that stays unfinished. Saturates.
[[nodiscard]] std::uint64_t instruction_bound(const std::vector<TemplateCost>& costs, std::uint32_t datagram_bytes);

}  // namespace stopbit::verify
