#include "host/cli/common/verdict.hpp"

#include <fmt/format.h>

#include "host/os/readable.hpp"

namespace stopbit::tools {
namespace {

/// Of all images.
struct Sums {
  std::uint64_t datagrams = 0;
  std::uint64_t decoded = 0;
  std::uint64_t messages = 0;
  std::uint64_t decode_errors = 0;
  std::uint64_t errors = 0;
  std::uint64_t missing = 0;
  bool is_part = false;
};

Sums sums_of(std::span<const replay::Summary> summaries) {
  Sums sums;
  for (const replay::Summary& summary : summaries) {
    sums.datagrams += summary.datagrams;
    sums.decoded += summary.decoded();
    sums.messages += summary.messages;
    sums.decode_errors += summary.decode_errors();
    sums.errors += summary.error_count();
    sums.missing += summary.numbers().missing;
    for (const replay::ChannelCount& count : summary.channels) sums.missing += count.account.numbers.lost;
    sums.is_part = sums.is_part || summary.stopped || summary.limited;
  }
  return sums;
}

std::string text_of(const Sums& sums, const std::string& captures, const std::string& program) {
  const auto number = [](std::uint64_t value) { return os::thousands(value); };
  const std::uint64_t failed = sums.datagrams - sums.decoded;
  if (sums.decode_errors != 0 && (sums.messages == 0 || failed > sums.datagrams / 2)) {
    const std::string what = sums.messages == 0
                                 ? std::string("no message was decoded")
                                 : fmt::format("{} of {} datagrams failed", number(failed), number(sums.datagrams));
    return fmt::format(
        "{}: the framing or the templates are wrong. Try `stopbit guess {} {}`, which finds the framing "
        "that fits.",
        what, captures, program);
  }
  if (sums.decode_errors != 0) {
    return fmt::format(
        "{} of {} datagrams failed. `stopbit explain --packet N` shows such a packet byte by byte and "
        "looks for the cause.",
        number(failed), number(sums.datagrams));
  }
  if (sums.errors != 0) return fmt::format("{} packets or captures are damaged, see above.", number(sums.errors));
  if (sums.datagrams == 0) return "nothing to decode: the captures have no datagram of the groups that are decoded.";
  if (sums.missing == 0) return fmt::format("no errors; {} datagrams decoded.", number(sums.decoded));
  return fmt::format("no errors in the packets present; {} sequence numbers are missing.", number(sums.missing));
}

}  // namespace

std::string verdict_text(std::span<const replay::Summary> summaries, const std::string& captures,
                         const std::string& program) {
  const Sums sums = sums_of(summaries);
  return "\nVerdict: " + text_of(sums, captures, program) +
         (sums.is_part ? " The replay ended before the captures did.\n" : "\n");
}

}  // namespace stopbit::tools
