#include "host/cli/common/event_printer.hpp"

#include "host/cli/common/command.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"
#include "host/market/event/sbe.hpp"

namespace stopbit::tools {

namespace {

/// As CSV of records has strings.
std::string utf8(std::string_view bytes) {
  std::string text;
  record::append_utf8(text, bytes, false);
  return text;
}

}  // namespace

static_assert(market::kSbeKeyBytes == market::kInstrumentKeyBytes);

EventPrinter::EventPrinter(Format format, const market::InstrumentView* table) : format_(format), table_(table) {
  if (!prints_events(format)) {
    throw ToolError(kExitUsage, "--format: market events are printed as jsonl, csv or sbe");
  }
  if (table_ != nullptr) quantity_decimals_ = table_->quantity_decimals();
}

std::string_view EventPrinter::title(Format format) noexcept {
  return format == Format::Csv ? market::kCsvTitle : std::string_view{};
}

void EventPrinter::print(const market::Event& event, std::string& out) {
  const market::EventNames names{.instrument = key(event.instrument()), .quantity_decimals = quantity_decimals_};
  switch (format_) {
    case Format::Csv: return market::append_csv(event, out, names);
    case Format::Sbe: return market::append_sbe(event, out, names);
    default: return market::append_json(event, out, names);
  }
}

/// A key never changes, so that of the last row is still right.
const std::string& EventPrinter::key(std::uint32_t row) {
  if (row == row_ && !key_.empty()) return key_;
  row_ = row;
  key_.clear();
  market::InstrumentRow known;
  if (table_ == nullptr || row == market::kAllInstruments) return key_;
  const bool is_known = table_->read(row, known);
  if (table_->is_broken()) throw ToolError(kExitRejected, "the table of instruments was truncated while it was read");
  if (!is_known) return key_;
  switch (format_) {
    case Format::Csv: record::append_csv_cell(key_, utf8(market::key_of(known))); break;
    case Format::Sbe: key_ = market::key_of(known); break;
    default: key_ = json(market::key_of(known));
  }
  return key_;
}

}  // namespace stopbit::tools
