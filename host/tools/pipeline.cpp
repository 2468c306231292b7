#include "host/tools/pipeline.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "decoder/record/buffer_sink.hpp"
#include "host/ingest/pcap/pcap_source.hpp"
#include "host/tools/files.hpp"
#include "host/tools/program_source.hpp"
#include "host/tools/session_log.hpp"
#include "host/tools/signals.hpp"

namespace stopbit::tools {
namespace {

/// Prints each record when it is complete in the place that another sink gave.
class PrintingSink final : public record::RecordSink {
 public:
  PrintingSink(record::RecordSink& inner, RecordPrinter& printer) : inner_(inner), printer_(printer) {}

  [[nodiscard]] Place open() noexcept override { return place_ = inner_.open(); }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    inner_.commit(first, slots);
    printer_.print({place_.slots, slots});
  }

 private:
  record::RecordSink& inner_;
  RecordPrinter& printer_;
  Place place_;
};

std::unique_ptr<ingest::PacketSource> open_claimed(const std::string& path) {
  if (path != "-" && ::access(path.c_str(), R_OK) != 0) {
    throw ToolError(kExitEnvironment, "cannot open " + path + ": " + std::strerror(errno));
  }
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) {
    throw ToolError(kExitEnvironment, "cannot read " + path + ": is a folder");
  }
  Result<std::unique_ptr<ingest::PacketSource>> source = ingest::open_capture(path);
  if (!source) throw ToolError(kExitRejected, source.message());
  return std::move(source).value();
}

}  // namespace

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

void print_problems(const replay::Summary& summary) {
  for (const std::string& problem : summary.problems) fmt::print(stderr, "{}\n", problem);
  if (summary.problems_unnamed != 0) fmt::print(stderr, "... and {} more\n", summary.problems_unnamed);
}

replay::Summary run_pipeline(const Pipeline& pipeline, const Sources& sources) {
  const Program& program = pipeline.program;
  record::BufferSink memory(pipeline.ring != nullptr ? 0 : program.max_record_slots,
                            [](std::span<const record::Slot>) {});
  record::RecordSink* sink = pipeline.ring != nullptr ? pipeline.ring : &memory;
  std::optional<PrintingSink> printing;
  if (pipeline.printer != nullptr) sink = &printing.emplace(*sink, *pipeline.printer);
  const record::Schema schema = schema_of(program);
  SessionLog session(*sink, schema);
  if (session.expects_messages()) sink = &session;

  replay::Options options = pipeline.options;
  replay::Replay* running = nullptr;
  options.on_progress = [&](const replay::Progress& progress) {
    if (pipeline.printer != nullptr) pipeline.printer->flush();
    const bool printer_failed = pipeline.printer != nullptr && pipeline.printer->failed();
    const bool failed = printer_failed || (pipeline.has_failed && pipeline.has_failed());
    if (failed || stop_requested()) running->request_stop();
    if (pipeline.options.on_progress) pipeline.options.on_progress(progress);
  };
  replay::Replay replay(program, pipeline.engine, *sink, std::move(options));
  running = &replay;
  replay::Summary summary = replay.run(sources);
  summary.session = session.take_lines();
  return summary;
}

}  // namespace stopbit::tools
