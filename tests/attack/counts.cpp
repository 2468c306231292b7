#include "tests/attack/counts.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "tests/lib/form.hpp"

namespace stopbit::attack {

std::string json_line(std::string_view attack, std::uint64_t seed, const Counts& counts,
                      std::chrono::duration<double> time) {
  std::string errors;
  for (std::size_t code = 0; code < counts.errors.size(); ++code) {
    if (counts.errors[code] == 0) continue;
    errors += fmt::format(R"({}"{}":{})", errors.empty() ? "" : ",", code_text(static_cast<ErrorCode>(code)),
                          counts.errors[code]);
  }
  return fmt::format(
      R"({{"attack":"{}","seed":{},"sanitized":{},"targets":{},"executions":{},"whole":{},"messages":{},"refused":{},)"
      R"("accepted":{},"cells":{},"worst_share_percent":{},"errors":{{{}}},"seconds":{:.1f}}})",
      attack, seed, kSanitized, counts.targets, counts.executions, counts.whole, counts.messages, counts.refused,
      counts.accepted, counts.cells, counts.worst_share_percent, errors, time.count());
}

void Progress::tell(const Counts& counts, std::string_view target) {
  constexpr std::chrono::seconds kPause(10);
  const Clock::time_point now = Clock::now();
  if (now - told_ < kPause) return;
  told_ = now;
  const std::chrono::duration<double> time = now - begin_;
  std::fputs(fmt::format("{}: {:.0f} s, {} executions, {} messages, {} targets, at {}\n", attack_, time.count(),
                         counts.executions, counts.messages, counts.targets, target)
                 .c_str(),
             stderr);
}

}  // namespace stopbit::attack
