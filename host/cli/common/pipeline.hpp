#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "host/cli/common/record_printer.hpp"
#include "host/market/stage/translator.hpp"
#include "host/ports/packet_source.hpp"
#include "host/replay/replay.hpp"
#include "microcode/program.hpp"

namespace stopbit::tools {

using Sources = std::vector<std::unique_ptr<ingest::PacketSource>>;

/// Captures, or stdin for "-". A file that cannot be read or is no capture is a ToolError.
[[nodiscard]] std::unique_ptr<ingest::PacketSource> open_capture(const std::string& path);
/// The same, to be opened again later, by any of these: what stdin or another pipe brings is kept in an unnamed file.
[[nodiscard]] std::unique_ptr<ingest::PacketSource> open_kept(const std::string& path);
[[nodiscard]] Sources open_captures(const std::vector<std::string>& paths);
/// The captures a command reads: its arguments without a name.
[[nodiscard]] Option captures_option(std::vector<std::string>& target);

/// How the packets of some sources are processed.
struct Pipeline {
  const Program& program;  ///< Verified.
  Engine& engine;          ///< Made for these options.
  replay::Options options;
  RecordDestination* output = nullptr;    ///< Null: records are not printed.
  std::size_t schema = 0;                 ///< The program's, in the output.
  record::RecordSink* ring = nullptr;     ///< Null: records go to private memory.
  market::Translator* market = nullptr;   ///< Null: records are not turned into events.
  std::vector<bool> mapped = {};          ///< Channels, by number, whose records are; empty: all.
  std::function<bool()> has_failed = {};  ///< Asked now and then; true ends it.
};

/// Runs the packets of all sources through engine, ring and printer. SIGINT and SIGTERM end it early, in good order.
[[nodiscard]] replay::Summary run_pipeline(const Pipeline& pipeline, const Sources& sources);

/// The same for several, in one pass: each takes the packets that are its own. Pace and progress are those of the
/// first.
[[nodiscard]] std::vector<replay::Summary> run_pipelines(std::span<const Pipeline> pipelines, const Sources& sources);

/// The first things that went wrong, on stderr.
void print_problems(const replay::Summary& summary);

}  // namespace stopbit::tools
