#include "microcode/verify/load.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"

namespace stopbit::verify {
namespace {

constexpr std::size_t kShownFindings = 20;

}  // namespace

Status require_safe(const Program& program, std::string_view name) {
  const Report report = check(program);
  if (report.ok()) return Done{};
  std::string message(name);
  message += ": the program is not safe to run";
  for (std::size_t i = 0; i < std::min(report.findings.size(), kShownFindings); ++i) {
    const Finding& finding = report.findings[i];
    message += "\n  " + finding.where + ": " + finding.message + " [" + std::string(finding.rule) + "]";
  }
  if (report.findings.size() > kShownFindings) {
    message += "\n  and " + std::to_string(report.findings.size() - kShownFindings) + " more";
  }
  return Failure{std::move(message)};
}

Result<Program> load(std::span<const std::byte> image, std::string_view name) {
  Result<Program> program = image::read(image, name);
  if (!program) return program;
  if (Status safe = require_safe(program.value(), name); !safe) return Failure{safe.message()};
  return program;
}

}  // namespace stopbit::verify
