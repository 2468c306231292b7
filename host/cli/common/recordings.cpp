#include "host/cli/common/recordings.hpp"

#include <filesystem>
#include <system_error>

#include "host/appliance/appliance.hpp"
#include "host/appliance/status.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kMostFaults = 100;

/// What a file is called by now; empty: it is deleted.
std::string present_path(const recorder::RecordedFile& file) {
  const std::string folder = std::filesystem::path(file.path).parent_path().string();
  recorder::FileName name = file.name;
  std::error_code ignored;
  if (std::filesystem::exists(file.path, ignored)) return file.path;
  name.is_frozen = true;
  for (const bool is_compressed : {false, true}) {
    name.is_compressed = is_compressed;
    std::string path = folder + "/" + recorder::to_text(name);
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return {};
}

}  // namespace

appliance::Settings settings_of(const std::string& name, const std::string& path) {
  std::string file = path;
  if (file.empty()) {
    file = appliance::read_status(open_counters(name), {}).settings_file;
    if (file.empty()) {
      throw ToolError(kExitEnvironment, "the appliance does not say where its settings are; give --settings");
    }
  }
  claim_file(file);
  Diagnostics diagnostics;
  auto settings = appliance::load(file, diagnostics);
  if (!settings) {
    write_stderr(diagnostics.format());
    throw ToolError(kExitRejected, "");
  }
  return std::move(*settings);
}

Option settings_option(std::string& target) {
  return {.names = "--settings",
          .value = "APPLIANCE.toml",
          .help = "The settings of the appliance. Default: those that the counters of NAME name.",
          .target = &target,
          .hint = file_hint({".toml"})};
}

const std::string& recording_folder(const appliance::Settings& settings) {
  if (!settings.recorder) {
    throw ToolError(kExitRejected, "the appliance records nothing; add [recorder] to its settings");
  }
  return settings.recorder->folder;
}

std::vector<recorder::RecordedFile> recordings_in(const std::string& folder) {
  std::error_code error;
  auto files = recorder::recorded_files(folder, error);
  if (error)
    throw ToolError(kExitEnvironment, "cannot read the folder '" + printable(folder) + "': " + error.message());
  return files;
}

bool RecordedSource::open_next() {
  while (at_ < files_.size()) {
    const std::string path = present_path(files_[at_++]);
    if (path.empty()) continue;
    auto source = ingest::open_capture(path);
    if (source) {
      open_ = std::move(source).value();
      return true;
    }
    if (faults_.size() < kMostFaults) faults_.push_back(source.message());
  }
  return false;
}

ingest::Next RecordedSource::next(ingest::Packet& packet) noexcept {
  for (;;) {
    if (!open_ && !open_next()) return ingest::Next::End;
    const ingest::Next next = open_->next(packet);
    if (next == ingest::Next::Packet) return next;
    if (next == ingest::Next::Fault && faults_.size() < kMostFaults) faults_.push_back(open_->fault().message);
    open_.reset();
  }
}

record::TimeQuality RecordedSource::time_quality() const noexcept {
  return record::TimeQuality::Kernel;
}

}  // namespace stopbit::tools
