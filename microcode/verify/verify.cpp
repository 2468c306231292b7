#include "microcode/verify/verify.hpp"

#include "microcode/verify/findings.hpp"

namespace stopbit::verify {

Report check(const Program& program) {
  Report report;
  Findings findings;
  check_tables(program, findings);
  if (findings.empty()) {
    WordClaims claims(program.blocks);
    check_schema(program, claims, findings);
    if (findings.empty()) check_operands(program, findings);
    if (findings.empty()) check_flow(program, claims, report.costs, findings);
  }
  report.findings = findings.take();
  if (!report.ok()) report.costs.clear();
  return report;
}

}  // namespace stopbit::verify
