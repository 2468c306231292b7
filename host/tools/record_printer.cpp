#include "host/tools/record_printer.hpp"

#include <string>

namespace stopbit::tools {

Format format_from(std::string_view name) {
  return name == "jsonl" ? Format::Jsonl : name == "csv" ? Format::Csv : Format::None;
}

RecordPrinter::RecordPrinter(const record::Schema& schema, Format format, Output out) : out_(std::move(out)) {
  if (format == Format::Jsonl) json_.emplace(schema);
  if (format == Format::Csv) {
    csv_.emplace(schema);
    out_.buffer() += record::CsvPrinter::kTitle;
  }
}

template <class Action>
void RecordPrinter::guarded(Action action) noexcept {
  if (error_) return;
  try {
    action();
  } catch (...) {
    error_ = std::current_exception();
  }
}

void RecordPrinter::print(std::span<const record::Slot> record) noexcept {
  guarded([&] {
    const record::ReadError error = json_  ? json_->print(record, out_.buffer())
                                    : csv_ ? csv_->print(record, out_.buffer())
                                           : record::ReadError::None;
    if (error != record::ReadError::None) {
      throw ToolError(kExitRejected, "a record cannot be read: " + std::string(record::error_text(error)));
    }
    out_.flush_if_full();
  });
}

void RecordPrinter::flush() noexcept {
  guarded([&] { out_.flush(); });
}

void RecordPrinter::finish() {
  guarded([&] { out_.close(); });
  if (error_) std::rethrow_exception(error_);
}

}  // namespace stopbit::tools
