// Any bytes as a line of a file of gaps: no entry, or one that is written and read again as it is.

#include "host/appliance/gap_log.hpp"
#include "host/os/readable.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stopbit;
  const appliance::ParsedLine parsed = appliance::parse_gap_line({reinterpret_cast<const char*>(data), size});
  fuzz::require(int{parsed.gap.has_value()} + int{parsed.late.has_value()} + int{parsed.books.has_value()} <= 1,
                "a line is one entry");
  if (parsed.books) {
    const auto again = appliance::parse_gap_line(appliance::to_json(*parsed.books));
    fuzz::require(again.books && again.books->first == parsed.books->first &&
                      again.books->books.open() == parsed.books->books.open(),
                  "what a gap did to books is read as written");
    fuzz::require(parsed.books->books.open() <= parsed.books->books.hit, "books are right again once");
    appliance::GapEntry gap;
    gap.books = parsed.books->books;
    (void)appliance::books_text(gap);
  }
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
