#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "host/cli/common/record_printer.hpp"
#include "host/replay/columns/column_writer.hpp"

namespace stopbit::tools {

/// A folder of columns as the output of a command.
class ColumnOutput final : public RecordDestination {
 public:
  /// A folder that cannot be written, or holds something, is a ToolError.
  ColumnOutput(const std::string& path, bool force, std::vector<replay::ColumnWriter::Image> images);

  void take(std::span<const record::Slot> record, std::size_t image) noexcept override;
  [[nodiscard]] bool failed() const noexcept override { return error_ != nullptr || folder_->has_failed(); }
  /// Throws the error, if there was one. Else writes the index; not if the replay was stopped: then the folder has
  /// none, and is incomplete.
  void finish(bool is_stopped, bool is_whole);

 private:
  std::string path_;
  std::unique_ptr<replay::ColumnFolder> folder_;
  replay::ColumnWriter writer_;
  std::exception_ptr error_;
};

}  // namespace stopbit::tools
