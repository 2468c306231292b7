#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/appliance/recording.hpp"
#include "host/appliance/settings.hpp"
#include "host/cli/common/command.hpp"
#include "host/ports/packet_source.hpp"
#include "host/ports/recorder/file_name.hpp"

/// What an appliance has recorded, read by commands while it goes on recording.
namespace stopbit::tools {

/// NAME's settings, or those of the file `path`, if it is not empty. A ToolError if they are not to be had.
[[nodiscard]] appliance::Settings settings_of(const std::string& name, const std::string& path);
/// --settings, for a command that takes NAME as well.
[[nodiscard]] Option settings_option(std::string& target);

/// The folder of recordings. A ToolError if the settings record nothing.
[[nodiscard]] const std::string& recording_folder(const appliance::Settings& settings);
/// Its files. A ToolError if it cannot be read.
[[nodiscard]] std::vector<recorder::RecordedFile> recordings_in(const std::string& folder);

/// The files of a line as one source, one after the other. A file that is frozen, compressed or deleted between two
/// looks is found under its new name or left out. Each packet comes once. A damaged file ends early, and the next one
/// follows; faults() tells.
class RecordedSource final : public ingest::PacketSource {
 public:
  explicit RecordedSource(std::vector<recorder::RecordedFile> files)
      : files_(recorder::without_copies(std::move(files))) {}

  [[nodiscard]] ingest::Next next(ingest::Packet& packet) noexcept override;
  [[nodiscard]] std::string_view name() const noexcept override { return "recording"; }
  [[nodiscard]] const ingest::Fault& fault() const noexcept override { return fault_; }
  [[nodiscard]] ingest::SourceProgress progress() const noexcept override { return {}; }
  [[nodiscard]] record::TimeQuality time_quality() const noexcept override;
  [[nodiscard]] const std::vector<std::string>& faults() const noexcept { return faults_; }

 private:
  [[nodiscard]] bool open_next();

  std::vector<recorder::RecordedFile> files_;
  std::size_t at_ = 0;
  std::unique_ptr<ingest::PacketSource> open_;
  ingest::Fault fault_;
  std::vector<std::string> faults_;
};

}  // namespace stopbit::tools
