#include "host/cli/common/appliance_metrics.hpp"

#include <sys/timex.h>

#include <string>
#include <utility>

namespace stopbit::tools {
namespace {

using control::Extra;
using counters::Kind;

/// State of the kernel's clock discipline, which chrony, ntpd and systemd-timesyncd feed. Nothing where the kernel
/// does not say.
void add_clock(std::vector<Extra>& extras) {
  timex clock{};
  const int state = ::adjtimex(&clock);  // asks only: no mode is set
  if (state < 0) return;
  const double unit = (clock.status & STA_NANO) != 0 ? 1e-9 : 1e-6;
  extras.push_back({.family = "clock_offset_seconds",
                    .help = "Offset of this machine's clock that the kernel still has to correct, in seconds.",
                    .kind = Kind::Gauge,
                    .labels = {},
                    .value = unit * static_cast<double>(clock.offset)});
  extras.push_back({.family = "clock_error_limit_seconds",
                    .help = "Largest possible error of this machine's clock, in seconds; grows without corrections.",
                    .kind = Kind::Gauge,
                    .labels = {},
                    .value = 1e-6 * static_cast<double>(clock.maxerror)});
  extras.push_back({.family = "clock_synchronised",
                    .help = "Whether a time service disciplines this machine's clock: 1 yes, 0 no.",
                    .kind = Kind::Gauge,
                    .labels = {},
                    .value = state != TIME_ERROR ? 1.0 : 0.0});
}

}  // namespace

std::vector<Extra> extra_metrics(const appliance::StatusReport& status) {
  std::vector<Extra> extras;
  for (const appliance::Drop& drop : status.drops()) {
    Extra& extra = extras.emplace_back();
    extra.family = "drops";
    extra.help = "Drops by place: packets; sequence numbers at \"lost numbers\", records at \"overrun\".";
    extra.labels = {{"place", drop.place}};
    if (!drop.reader.empty()) {
      extra.labels.insert(extra.labels.end(),
                          {{"process", std::to_string(drop.pid)}, {"reader", drop.reader}, {"ring", drop.ring}});
    }
    extra.value = static_cast<double>(drop.count);
  }
  status.for_each_ring([&](const std::string& ring, const std::vector<ring::SeenReader>& readers) {
    for (const ring::SeenReader& seen : readers) {
      const std::vector<std::pair<std::string, std::string>> labels = {
          {"process", std::to_string(seen.pid)}, {"reader", seen.name}, {"ring", ring}};
      extras.push_back({.family = "reader_delivered_records",
                        .help = "Records read by a named reader.",
                        .kind = Kind::Counter,
                        .labels = labels,
                        .value = static_cast<double>(seen.delivered)});
      extras.push_back({.family = "reader_running",
                        .help = "Whether a named reader runs: 1 yes, 0 it died.",
                        .kind = Kind::Gauge,
                        .labels = labels,
                        .value = seen.is_running ? 1.0 : 0.0});
    }
  });
  add_clock(extras);
  return extras;
}

}  // namespace stopbit::tools
