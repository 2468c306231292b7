#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/lib/pace.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/subject.hpp"
#include "bench/lib/ticks.hpp"
#include "decoder/engine/engine.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {

/// What a contest's time is divided by.
enum class Per : std::uint8_t { Message, Field };

/// A workload and an engine whose answers were checked. Its records go to slots in memory.
class Contestant {
 public:
  /// `name`: of its figure. `gain_name`: of how many times faster it is than the first contestant; the first has none.
  Contestant(const Workload& work, Engine& engine, std::string name, std::string gain_name = {});

  /// Decodes the workload repeatedly, with a probe before, after and several times within. Ticks of decoding alone.
  struct Block {
    double ns = 0;
    double pace_ns = 0;
    Totals totals;
  };
  [[nodiscard]] Block run(const TickClock& clock, Pace& pace, std::size_t passes);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& gain_name() const noexcept { return gain_name_; }

 private:
  const Workload& work_;
  Engine& engine_;
  const std::string name_;
  const std::string gain_name_;
  record::BufferSink<void (*)(std::span<const record::Slot>)> sink_;
  std::size_t stretch_;  ///< Datagrams between two probes.
};

/// Contestants take turns, A B B A, in blocks of some milliseconds, so that whatever else the machine does meets all of
/// them, and ratios are taken of neighbours. Blocks with a probe that was disturbed are left out.
void run_contest(const TickClock& clock, Pace& pace, std::span<Contestant> contestants, Per per, bool quick,
                 Report& report);

/// Decode speed of all engines that run here: NAME/<engine>, and NAME/<engine>/gain, how many times faster than the
/// interpreter.
void run_engines(const TickClock& clock, Pace& pace, const std::string& name, const Workload& work, Per per, bool quick,
                 Report& report);

}  // namespace stopbit::bench
