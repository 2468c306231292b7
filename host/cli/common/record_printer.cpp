#include "host/cli/common/record_printer.hpp"

#include <unistd.h>

#include <iterator>
#include <string>
#include <utility>

#include "host/cli/common/event_printer.hpp"
#include "host/market/state/tables.hpp"

namespace stopbit::tools {

Format format_from(std::string_view name) {
  if (name == "jsonl") return Format::Jsonl;
  if (name == "csv") return Format::Csv;
  if (name == "fix") return Format::Fix;
  if (name == "fix-raw") return Format::FixRaw;
  if (name == "sbe") return Format::Sbe;
  return Format::None;
}

void check_not_binary_to_terminal(Format format, const std::string& output) {
  if (format != Format::Sbe || output != "-" || ::isatty(STDOUT_FILENO) != 1) return;
  throw ToolError(kExitUsage,
                  "--format sbe writes binary messages, which a terminal cannot show: send them to a file with "
                  "-o FILE or > FILE, or to a program with |; --format jsonl prints text");
}

Option format_option(std::string& target, std::string help, std::vector<std::string> more) {
  std::vector<std::string> names = {"jsonl", "csv", "fix", "fix-raw"};
  names.insert(names.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
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

std::string event_format_text() {
  return "Formats of market events:\n"
         "  jsonl    one JSON object per event\n"
         "  csv      one row per event, after a row of titles\n"
         "  sbe      one message per event in FIX Simple Binary Encoding, all of one length, for a file or a\n"
         "           pipe. `stopbit gen schema --sbe` writes the schema.";
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

void RecordPrinter::show_events(const std::string& name, std::uint64_t ring_epoch, Content content) {
  content_ = content;
  Result<market::InstrumentView> table = market::InstrumentView::open(name);
  if (!table) return;
  if (table.value().ring_epoch() != ring_epoch) problem_ = market::Tables::foreign_text(name);
  instruments_ = std::make_unique<market::InstrumentView>(std::move(table).value());
}

void RecordPrinter::show_events(const market::InstrumentView& instruments) {
  content_ = Content::Events;
  events_ = std::make_unique<EventPrinter>(format_, &instruments);
}

void RecordPrinter::begin(std::string_view title) {
  if (!std::exchange(has_begun_, true)) out_.buffer() += title;
}

std::string_view RecordPrinter::title() const {
  return content_ == Content::Events ? EventPrinter::title(format_) : FormatPrinter::title(format_);
}

void RecordPrinter::print_event(const record::Slot& slot) {
  if (content_ == Content::Records) throw ToolError(kExitUsage, "--records: the ring carries market events");
  if (!events_) {
    // Not before: a ring of records has no table, but an older ring of its name may have had one.
    if (!problem_.empty()) throw ToolError(kExitEnvironment, problem_);
    events_ = std::make_unique<EventPrinter>(format_, instruments_.get());
  }
  begin(EventPrinter::title(format_));
  events_->print(market::Event::from(slot), out_.buffer());
}

void RecordPrinter::print_record(std::span<const record::Slot> record, std::size_t schema) {
  const bool wants_events = content_ == Content::Events || format_ == Format::Sbe;
  if (wants_events) [[unlikely]] {
    if (!record::HeaderView(record[0]).is_event()) {
      throw ToolError(kExitUsage, content_ == Content::Events
                                      ? "--events: the ring carries records, not market events"
                                      : "--format sbe is for market events; the ring carries records");
    }
    // Where records were lost: a line of its own among objects, but no row or message of market events.
    if (format_ != Format::Jsonl) return;
  }
  begin(FormatPrinter::title(format_));
  const record::ReadError error = schemas_[schema]->print(record, out_.buffer());
  if (error != record::ReadError::None) fail_unreadable(error);
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
    if (market::is_event(record[0])) {
      print_event(record[0]);
    } else {
      print_record(record, schema);
    }
    out_.flush_if_full();
  });
}

void RecordPrinter::flush() noexcept {
  guarded([&] { out_.flush(); });
}

void RecordPrinter::finish() {
  guarded([&] {
    begin(title());
    out_.close();
  });
  if (error_) std::rethrow_exception(error_);
}

}  // namespace stopbit::tools
