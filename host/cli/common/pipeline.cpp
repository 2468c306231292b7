#include "host/cli/common/pipeline.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>

#include "decoder/record/buffer_sink.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/printing_sink.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/session_log.hpp"
#include "host/cli/common/signals.hpp"
#include "host/feed/channel/stage.hpp"
#include "host/market/stage/market_stage.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/ports/read_ahead.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

/// A pipeline with everything between its ends.
class Running {
 public:
  explicit Running(const Pipeline& pipeline)
      : memory_(pipeline.ring != nullptr ? 0 : pipeline.program.max_record_slots, Ignore()),
        printing_(pipeline.ring != nullptr ? *pipeline.ring : memory_, pipeline.output, pipeline.schema),
        schema_(schema_of(pipeline.program)),
        session_(printing_.sink(), schema_) {
    replay::Options options = pipeline.options;
    options.on_progress = [this, &pipeline](const replay::Progress& progress) {
      if (pipeline.output != nullptr) pipeline.output->flush();
      const bool output_failed = pipeline.output != nullptr && pipeline.output->failed();
      const bool failed = output_failed || (pipeline.has_failed && pipeline.has_failed());
      if (failed || stop_requested()) replay_->request_stop();
      if (pipeline.options.on_progress) pipeline.options.on_progress(progress);
    };
    record::RecordSink& sink = session_.expects_messages() ? session_ : printing_.sink();
    if (pipeline.market != nullptr) {
      stages_.add(std::make_unique<market::MarketStage>(*pipeline.market, pipeline.mapped));
    }
    replay_.emplace(pipeline.program, pipeline.engine, stages_.connect(sink), std::move(options));
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  [[nodiscard]] replay::Replay& replay() { return *replay_; }
  [[nodiscard]] std::vector<std::string> take_session() { return session_.take_lines(); }

 private:
  struct Ignore {
    void operator()(std::span<const record::Slot> /*record*/) const {}
  };
  /// The sink below, printed on the way if there is a printer.
  class Printing {
   public:
    Printing(record::RecordSink& inner, RecordDestination* output, std::size_t schema) : sink_(&inner) {
      if (output != nullptr) sink_ = &printing_.emplace(inner, output, schema);
    }
    [[nodiscard]] record::RecordSink& sink() { return *sink_; }

   private:
    std::optional<PrintingSink> printing_;
    record::RecordSink* sink_;
  };

  record::BufferSink<Ignore> memory_;
  Printing printing_;
  record::Schema schema_;
  SessionLog session_;
  feed::Stages stages_;
  std::optional<replay::Replay> replay_;
};

/// An unnamed file with everything that comes from `pipe`. It is removed when the command ends.
int file_of_pipe(int pipe, const std::string& name) {
  const char* const folder = std::getenv("TMPDIR");
  std::string path = std::string(folder == nullptr || *folder == '\0' ? "/tmp" : folder) + "/stopbit-XXXXXX";
  const auto fail = [&]() -> ToolError {
    return {kExitEnvironment, "cannot keep " + name + " in " + path + ": " + std::strerror(errno)};
  };
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) throw fail();
  ::unlink(path.c_str());
  std::array<char, 64 * 1024> chunk;
  for (;;) {
    const ssize_t count = ::read(pipe, chunk.data(), chunk.size());
    if (count == 0) return file;
    if (count < 0 && errno == EINTR) continue;
    bool failed = count < 0;
    for (ssize_t done = 0; done < count && !failed;) {
      const ssize_t written = ::write(file, chunk.data() + done, static_cast<std::size_t>(count - done));
      failed = written < 0 && errno != EINTR;
      done += std::max<ssize_t>(written, 0);
    }
    if (failed) throw fail();
  }
}

/// A pipe, by its path, as often as it is wanted, once it is kept.
struct KeptPipe {
  int file = -1;
  off_t begin = 0;
  bool is_copy = false;  ///< An unnamed file of this process.
};
std::map<std::string, KeptPipe>& kept_pipes() {
  static std::map<std::string, KeptPipe> kept;
  return kept;
}

std::string name_of_pipe(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

KeptPipe keep(const std::string& path) {
  const int pipe = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (pipe < 0) throw ToolError(kExitEnvironment, "cannot open " + path + ": " + std::strerror(errno));
  const off_t begin = ::lseek(pipe, 0, SEEK_CUR);
  if (begin >= 0) return {.file = pipe, .begin = begin};
  const int file = file_of_pipe(pipe, name_of_pipe(path));
  if (path != "-") ::close(pipe);
  return {.file = file, .begin = 0, .is_copy = true};
}

std::unique_ptr<ingest::PacketSource> open_again(const KeptPipe& kept, const std::string& path) {
  // With a position of its own: a pipe that is given twice has two readers. Stdin is given once.
  const std::string copy = "/proc/self/fd/" + std::to_string(kept.file);
  const int file = kept.is_copy ? ::open(copy.c_str(), O_RDONLY | O_CLOEXEC) : ::dup(kept.file);
  if (file < 0 || ::lseek(file, kept.begin, SEEK_SET) < 0) {
    throw ToolError(kExitEnvironment, "cannot read " + name_of_pipe(path) + " again: " + std::strerror(errno));
  }
  Result<std::unique_ptr<ingest::PacketSource>> source = ingest::open_capture(file, path);
  if (!source) throw ToolError(kExitRejected, source.message());
  return std::move(source).value();
}

std::unique_ptr<ingest::PacketSource> open_claimed(const std::string& path) {
  if (const auto kept = kept_pipes().find(path); kept != kept_pipes().end()) return open_again(kept->second, path);
  if (path != "-" && ::access(path.c_str(), R_OK) != 0) {
    throw ToolError(kExitEnvironment, "cannot open " + path + ": " + std::strerror(errno));
  }
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) {
    throw ToolError(kExitEnvironment, "cannot read " + path + ": it is a folder");
  }
  Result<std::unique_ptr<ingest::PacketSource>> source = ingest::open_capture(path);
  if (!source) throw ToolError(kExitRejected, source.message());
  // A pipe may stay silent for long: a signal ends the wait.
  const bool is_file = std::filesystem::is_regular_file(path == "-" ? "/dev/stdin" : path, ignored);
  if (is_file) return std::move(source).value();
  return std::make_unique<ingest::ReadAhead>(std::move(source).value(), stop_requested);
}

}  // namespace

std::unique_ptr<ingest::PacketSource> open_kept(const std::string& path) {
  const auto kept = kept_pipes().find(path);
  if (kept != kept_pipes().end()) return open_again(kept->second, path);
  std::error_code ignored;
  if (path != "-" && !std::filesystem::is_fifo(path, ignored)) return open_claimed(path);
  return open_again(kept_pipes().emplace(path, keep(path)).first->second, path);
}

std::unique_ptr<ingest::PacketSource> open_capture(const std::string& path) {
  claim_input(path);
  return open_claimed(path);
}

Sources open_captures(const std::vector<std::string>& paths) {
  Sources sources;
  for (const std::string& path : paths) claim_input(path);
  for (const std::string& path : paths) sources.push_back(open_claimed(path));
  return sources;
}

Option captures_option(std::vector<std::string>& target) {
  return {.names = "",
          .value = "CAPTURE",
          .help = "Captures: pcap or pcapng, plain, gzip or zstd; - is stdin.",
          .target = &target,
          .hint = file_hint(),
          .required = true};
}

void print_problems(const replay::Summary& summary) {
  if (!summary.disorder.empty()) print_stderr("{}\n", printable_lines(summary.disorder));
  for (const std::string& problem : summary.problems) print_stderr("{}\n", printable_lines(problem));
  if (summary.problems_unnamed != 0) print_stderr("... and {} more\n", summary.problems_unnamed);
}

replay::Summary run_pipeline(const Pipeline& pipeline, const Sources& sources) {
  return std::move(run_pipelines({&pipeline, 1}, sources).front());
}

std::vector<replay::Summary> run_pipelines(std::span<const Pipeline> pipelines, const Sources& sources) {
  std::vector<std::unique_ptr<Running>> running;
  std::vector<replay::Replay*> replays;
  for (const Pipeline& pipeline : pipelines) {
    running.push_back(std::make_unique<Running>(pipeline));
    replays.push_back(&running.back()->replay());
  }
  std::vector<replay::Summary> summaries = replay::Replay::run_together(replays, sources);
  for (std::size_t i = 0; i < summaries.size(); ++i) summaries[i].session = running[i]->take_session();
  return summaries;
}

}  // namespace stopbit::tools
