#include "microcode/verify/verify.hpp"

#include <algorithm>
#include <limits>

#include "microcode/verify/findings.hpp"

namespace stopbit::verify {

Report check(const Program& program) {
  Report report;
  Findings findings;
  check_tables(program, findings);
  if (findings.empty()) {
    WordClaims claims(program);
    check_schema(program, claims, findings);
    if (findings.empty()) check_operands(program, findings);
    if (findings.empty()) check_flow(program, claims, report.costs, findings);
    if (findings.empty()) check_profile_programs(program, findings);
  }
  report.findings = findings.take();
  if (!report.ok()) report.costs.clear();
  return report;
}

std::uint64_t instruction_bound(const std::vector<TemplateCost>& costs, std::uint32_t datagram_bytes) {
  std::uint64_t whole = 0;       // of the messages that are whole
  std::uint64_t unfinished = 2;  // PMAP and TID come before the template is known
  std::uint64_t per_byte = 0;
  for (const TemplateCost& cost : costs) {
    const std::uint64_t bytes = std::max<std::uint32_t>(1, cost.min_bytes);
    whole = std::max(whole, (std::uint64_t{cost.instructions} * datagram_bytes + bytes - 1) / bytes);
    unfinished = std::max<std::uint64_t>(unfinished, cost.instructions);
    per_byte = std::max<std::uint64_t>(per_byte, cost.instructions_per_byte);
  }
  const std::uint64_t rows = whole + unfinished;
  const std::uint64_t loops = per_byte * datagram_bytes;
  return rows > std::numeric_limits<std::uint64_t>::max() - loops ? std::numeric_limits<std::uint64_t>::max()
                                                                  : rows + loops;
}

}  // namespace stopbit::verify
