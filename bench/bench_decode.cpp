// Decode speed: decode/<workload>/<engine>, ns per message.

#include "bench/lib/arguments.hpp"
#include "bench/lib/contest.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "Decode speed of every engine on every workload.");
  Report report;
  const TickClock clock;
  if (const auto processors = two_processors()) pin(processors->second);
  Pace pace(clock, arguments.pace_ns);
  for_workloads(arguments, report, {}, [&](const Workload& work) {
    run_engines(clock, pace, "decode/" + work.name, work, Per::Message, arguments.quick, report);
  });
  report.add("decode", clock, pace);
  return report.finish(arguments.json);
}
