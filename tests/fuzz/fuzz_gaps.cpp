// Any bytes as a line of a file of gaps: no entry, or one that is written and read again as it is.

#include "host/appliance/gap_log.hpp"
#include "host/os/readable.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const appliance::ParsedLine parsed = appliance::parse_gap_line({reinterpret_cast<const char*>(data), size});
  fuzz::require(!(parsed.gap && parsed.late), "a line is one entry");
  if (parsed.late) {
    const auto again = appliance::parse_gap_line(appliance::to_json(*parsed.late));
    fuzz::require(again.late && again.late->first == parsed.late->first && again.late->count == parsed.late->count,
                  "late numbers are read as written");
  }
  if (!parsed.gap) return 0;
  (void)appliance::range_text(*parsed.gap);
  (void)appliance::lines_text(*parsed.gap);
  (void)os::time_text(parsed.gap->time_ns);
  const auto again = appliance::parse_gap_line(appliance::to_json(*parsed.gap));
  if (again.gap) fuzz::require(again.gap->first == parsed.gap->first, "a gap is read as written");
  return 0;
}
