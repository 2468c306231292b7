#include "host/cli/common/column_output.hpp"

#include <utility>

#include "host/cli/common/signals.hpp"

namespace stopbit::tools {
namespace {

std::unique_ptr<replay::ColumnFolder> open_folder(const std::string& path, bool force) {
  Result<std::unique_ptr<replay::ColumnFolder>> folder = replay::ColumnFolder::open(path, force);
  if (!folder) throw ToolError(kExitEnvironment, "--columns: " + folder.message());
  return std::move(folder).value();
}

}  // namespace

ColumnOutput::ColumnOutput(const std::string& path, bool force, std::vector<replay::ColumnWriter::Image> images)
    : path_(path), folder_(open_folder(path, force)), writer_(*folder_, std::move(images)) {}

void ColumnOutput::take(std::span<const record::Slot> record, std::size_t image) noexcept {
  if (failed()) return;
  try {
    const record::ReadError error = writer_.add(image, record);
    if (error != record::ReadError::None) fail_unreadable(error);
  } catch (...) {
    error_ = std::current_exception();
  }
}

void ColumnOutput::finish(bool is_stopped, bool is_whole) {
  if (error_) std::rethrow_exception(error_);
  if (folder_->has_failed()) throw ToolError(kExitEnvironment, folder_->failure());
  if (is_stopped) {
    throw ToolError(interrupted_status(),
                    "--columns: stopped before the end; the columns in " + path_ + " are incomplete");
  }
  if (const Status done = writer_.finish(is_whole); !done) throw ToolError(kExitEnvironment, done.message());
}

}  // namespace stopbit::tools
