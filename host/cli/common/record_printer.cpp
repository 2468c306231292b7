#include "host/cli/common/record_printer.hpp"

#include <string>
#include <utility>

#include "host/cli/common/event_printer.hpp"

namespace stopbit::tools {

Format format_from(std::string_view name) {
  if (name == "jsonl") return Format::Jsonl;
  if (name == "csv") return Format::Csv;
  if (name == "fix") return Format::Fix;
  if (name == "fix-raw") return Format::FixRaw;
  return Format::None;
}

Option format_option(std::string& target, std::string help, bool with_none) {
  std::vector<std::string> names = {"jsonl", "csv", "fix", "fix-raw"};
  if (with_none) names.push_back("none");
  return {.names = "--format",
          .value = "FORMAT",
          .help = std::move(help),
          .target = &target,
          .hint = choice_hint(std::move(names))};
}

std::string format_text() {
  return "Formats:\n"
         "  jsonl    one JSON object per message\n"
         "  csv      one row per value\n"
         "  fix      tag=value text, one line per message, with | between the fields: 35=X|34=5|268=1|279=0|\n"
         "           Tags are the ids in the template file; a field without an id has its name instead.\n"
         "           A sequence is its length, then the fields of each element. Bytes that are not\n"
         "           text are written as \\xNN.\n"
         "  fix-raw  as fix, with SOH (01) between the fields and every value byte for byte";
}

FormatPrinter::FormatPrinter(const record::Schema& schema, Format format) {
  if (format == Format::Jsonl) json_.emplace(schema);
  if (format == Format::Csv) csv_.emplace(schema);
  if (format == Format::Fix) fix_.emplace(schema, record::FixStyle::Readable);
  if (format == Format::FixRaw) fix_.emplace(schema, record::FixStyle::Raw);
}

record::ReadError FormatPrinter::print(std::span<const record::Slot> record, std::string& out) {
  return json_  ? json_->print(record, out)
         : csv_ ? csv_->print(record, out)
         : fix_ ? fix_->print(record, out)
                : record::ReadError::None;
}

void fail_unreadable(record::ReadError error) {
  throw ToolError(kExitRejected, "a record cannot be read: " + std::string(record::error_text(error)));
}

RecordPrinter::RecordPrinter(const record::Schema& schema, Format format, Output out)
    : format_(format), out_(std::move(out)) {
  add(schema);
}

RecordPrinter::~RecordPrinter() = default;

void RecordPrinter::begin(std::string_view title) {
  if (!std::exchange(has_begun_, true)) out_.buffer() += title;
}

void RecordPrinter::print_event(const record::Slot& slot) {
  if (!events_) {
    auto table = market::InstrumentView::open(*instruments_);
    events_ = std::make_unique<EventPrinter>(format_, table ? std::optional(std::move(table).value()) : std::nullopt);
  }
  begin(EventPrinter::title(format_));
  events_->print(market::Event::from(slot), out_.buffer());
  out_.flush_if_full();
}

std::size_t RecordPrinter::add(const record::Schema& schema) {
  schemas_.push_back(std::make_unique<FormatPrinter>(schema, format_));
  return schemas_.size() - 1;
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

void RecordPrinter::print(std::span<const record::Slot> record, std::size_t schema) noexcept {
  guarded([&] {
    if (instruments_ && market::is_event(record[0])) [[unlikely]]
      return print_event(record[0]);
    begin(FormatPrinter::title(format_));
    const record::ReadError error = schemas_[schema]->print(record, out_.buffer());
    if (error != record::ReadError::None) fail_unreadable(error);
    out_.flush_if_full();
  });
}

void RecordPrinter::flush() noexcept {
  guarded([&] { out_.flush(); });
}

void RecordPrinter::finish() {
  guarded([&] {
    begin(FormatPrinter::title(format_));
    out_.close();
  });
  if (error_) std::rethrow_exception(error_);
}

}  // namespace stopbit::tools
