#include "host/cli/common/parallel_pipeline.hpp"

#include <system_error>
#include <utility>

#include "decoder/record/buffer_sink.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/session_log.hpp"
#include "host/cli/common/signals.hpp"
#include "host/os/clock.hpp"
#include "host/replay/parallel.hpp"

namespace stopbit::tools {
namespace {

/// Records that an inner log never writes anywhere.
struct Ignore {
  void operator()(std::span<const record::Slot> /*record*/) const {}
};

class ToDestination final : public replay::Consumer {
 public:
  ToDestination(std::span<const ParallelPipeline> pipelines, RecordDestination* output)
      : output_(output), nowhere_(0, Ignore()), on_progress_(pipelines.front().options.on_progress) {
    for (const ParallelPipeline& pipeline : pipelines) {
      logs_.push_back(std::make_unique<SessionLog>(nowhere_, schema_of(pipeline.program)));
    }
  }

  void take(std::size_t lane, std::span<const record::Slot> record) override {
    if (output_ != nullptr) output_->take(record, lane);
    logs_[lane]->look_at(record);
  }
  void idle() override {
    // Small pieces cost time: not at every stumble, but soon after the last record.
    constexpr std::uint64_t kPatienceNs = 20'000'000;
    const std::uint64_t now = os::monotonic_clock_ns();
    if (output_ == nullptr || now - last_flush_ns_ < kPatienceNs) return;
    last_flush_ns_ = now;
    output_->flush();
  }
  Wish look(const replay::Progress& progress) override {
    if (on_progress_) on_progress_(progress);
    if (output_ != nullptr && output_->failed()) return Wish::Abort;
    return stop_requested() ? Wish::Stop : Wish::GoOn;
  }

  [[nodiscard]] std::vector<std::string> take_session(std::size_t lane) { return logs_[lane]->take_lines(); }

 private:
  RecordDestination* output_;
  record::BufferSink<Ignore> nowhere_;
  std::function<void(const replay::Progress&)> on_progress_;
  std::vector<std::unique_ptr<SessionLog>> logs_;
  std::uint64_t last_flush_ns_ = 0;
};

}  // namespace

std::vector<replay::Summary> run_parallel_pipelines(std::span<const ParallelPipeline> pipelines, std::uint16_t jobs,
                                                    const Sources& sources, RecordDestination* output) {
  std::vector<replay::ParallelLane> lanes;
  for (const ParallelPipeline& pipeline : pipelines) {
    lanes.push_back({.program = pipeline.program, .options = pipeline.options, .engine = pipeline.engine});
  }
  ToDestination outlet(pipelines, output);
  std::vector<replay::Summary> summaries;
  try {
    summaries = replay::run_parallel(lanes, jobs, sources, outlet);
  } catch (const std::system_error& error) {
    throw ToolError(kExitEnvironment, std::string("--jobs: cannot start the threads: ") + error.what());
  }
  for (std::size_t i = 0; i < summaries.size(); ++i) summaries[i].session = outlet.take_session(i);
  return summaries;
}

}  // namespace stopbit::tools
