#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "host/cli/common/record_printer.hpp"
#include "host/replay/columns/column_writer.hpp"
#include "host/replay/columns/event_columns.hpp"

namespace stopbit::tools {

/// A folder of columns as the output of a command. Derived classes say of what.
class ColumnOutput : public RecordDestination {
 public:
  void take(std::span<const record::Slot> record, std::size_t image) noexcept final;
  [[nodiscard]] bool failed() const noexcept final { return error_ != nullptr || folder_->has_failed(); }
  /// Throws the error, if there was one. Else writes the index; not if the replay was stopped: then the folder has
  /// none, and is incomplete.
  void finish(bool is_stopped, bool is_whole);

 protected:
  /// A folder that cannot be written, or holds something, is a ToolError.
  ColumnOutput(const std::string& path, bool force);
  [[nodiscard]] replay::ColumnFolder& folder() noexcept { return *folder_; }

 private:
  [[nodiscard]] virtual record::ReadError add(std::span<const record::Slot> record, std::size_t image) = 0;
  [[nodiscard]] virtual Status write_index(bool is_whole) = 0;

  std::string path_;
  std::unique_ptr<replay::ColumnFolder> folder_;
  std::exception_ptr error_;
};

/// Of records.
class RecordColumnOutput final : public ColumnOutput {
 public:
  RecordColumnOutput(const std::string& path, bool force, std::vector<replay::ColumnWriter::Image> images)
      : ColumnOutput(path, force), writer_(folder(), std::move(images)) {}

 private:
  [[nodiscard]] record::ReadError add(std::span<const record::Slot> record, std::size_t image) override {
    return writer_.add(image, record);
  }
  [[nodiscard]] Status write_index(bool is_whole) override { return writer_.finish(is_whole); }

  replay::ColumnWriter writer_;
};

/// Of market events.
class EventColumnOutput final : public ColumnOutput {
 public:
  /// `instruments`: of the events; it must outlive this.
  EventColumnOutput(const std::string& path, bool force, const market::InstrumentView& instruments)
      : ColumnOutput(path, force), instruments_(instruments), writer_(folder()) {}

 private:
  [[nodiscard]] record::ReadError add(std::span<const record::Slot> record, std::size_t image) override;
  [[nodiscard]] Status write_index(bool is_whole) override;

  const market::InstrumentView& instruments_;
  replay::EventColumns writer_;
};

}  // namespace stopbit::tools
