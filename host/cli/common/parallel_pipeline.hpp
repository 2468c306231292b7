#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/record_printer.hpp"

namespace stopbit::tools {

/// The part that one program decodes, on several cores.
struct ParallelPipeline {
  const Program& program;  ///< Verified.
  replay::Options options;
  std::function<std::unique_ptr<Engine>()> engine;  ///< Called once for each core.
};

/// As run_pipelines, on `jobs` cores: the same records in the same order, to `output` (null: to nothing).
[[nodiscard]] std::vector<replay::Summary> run_parallel_pipelines(std::span<const ParallelPipeline> pipelines,
                                                                  std::uint16_t jobs, const Sources& sources,
                                                                  RecordDestination* output);

}  // namespace stopbit::tools
