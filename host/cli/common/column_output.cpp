#include "host/cli/common/column_output.hpp"

#include <utility>

#include "host/cli/common/instrument_json.hpp"
#include "host/cli/common/signals.hpp"
#include "host/market/instrument/table.hpp"

namespace stopbit::tools {
namespace {

std::unique_ptr<replay::ColumnFolder> open_folder(const std::string& path, bool force) {
  Result<std::unique_ptr<replay::ColumnFolder>> folder = replay::ColumnFolder::open(path, force);
  if (!folder) throw ToolError(kExitEnvironment, "--columns: " + folder.message());
  return std::move(folder).value();
}

}  // namespace

ColumnOutput::ColumnOutput(const std::string& path, bool force) : path_(path), folder_(open_folder(path, force)) {}

void ColumnOutput::take(std::span<const record::Slot> record, std::size_t image) noexcept {
  if (failed()) return;
  try {
    const record::ReadError error = add(record, image);
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
  if (const Status done = write_index(is_whole); !done) throw ToolError(kExitEnvironment, done.message());
}

record::ReadError EventColumnOutput::add(std::span<const record::Slot> record, std::size_t /*image*/) {
  writer_.add(market::Event::from(record[0]));
  return record::ReadError::None;
}

/// Instruments are complete only now: a row may have got its name after its first event.
Status EventColumnOutput::write_index(bool is_whole) {
  std::string instruments = "[";
  for (std::uint32_t number = 1; number <= instruments_.count(); ++number) {
    market::InstrumentRow row;
    if (!instruments_.read(number, row)) return Failure{"the table of instruments cannot be read"};
    if (number != 1) instruments += ',';
    append_instrument_json(instruments, number, row);
  }
  instruments += ']';
  return writer_.finish(is_whole, instruments, instruments_.quantity_decimals());
}

}  // namespace stopbit::tools
