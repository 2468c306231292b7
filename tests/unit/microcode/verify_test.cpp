#include "microcode/verify/verify.hpp"

#include <gtest/gtest.h>

#include "tests/unit/microcode/sample_program.hpp"

namespace stopbit::verify {
namespace {

TEST(Verify, accepts_the_sample) {
  const Report report = check(test::sample_program());
  for (const Finding& finding : report.findings) {
    ADD_FAILURE() << finding.where << ": " << finding.message << " [" << finding.rule << "]";
  }
}

}  // namespace
}  // namespace stopbit::verify
