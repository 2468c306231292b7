#include "host/cli/common/record_printer.hpp"

#include <unistd.h>

#include <iterator>
#include <string>
#include <utility>

#include "host/cli/common/event_printer.hpp"
#include "host/cli/common/messages.hpp"
#include "host/market/state/tables.hpp"

namespace stopbit::tools {

Format format_from(std::string_view name) {
  if (name == "jsonl") return Format::Jsonl;
  if (name == "csv") return Format::Csv;
  if (name == "fix") return Format::Fix;
  if (name == "fix-raw") return Format::FixRaw;
  if (name == "table") return Format::Table;
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
  std::vector<std::string> names = {"jsonl", "csv", "table", "fix", "fix-raw"};
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
         "  csv      one row per value; with --wide, one per message of --template, with a column for each\n"
         "           field. An absent value is an empty cell, an empty text \"\".\n"
         "  table    as csv --wide, but for people: aligned columns, long values cut to 40 characters\n"
         "  fix      tag=value text, one line per message, with | between the fields: 35=X|34=5|268=1|279=0|\n"
         "           Tags are the ids in the template file; a field without an id has its name instead.\n"
         "           A sequence is its length, then the fields of each element. Bytes that are not\n"
         "           text are written as \\xNN.\n"
         "  fix-raw  as fix, with SOH (01) between the fields and every value byte for byte\n"
         "\n"
         "--header adds to each record the arrival time, the clock that made it (hardware, kernel, poll, or "
         "synthetic if the time was made up), channel, line, sequence number of the packet, index of the message in "
         "it, sender epoch and flags (last of its packet, snapshot, stale, recovered, duplicate). In JSON they are the "
         "object \"header\", which `stopbit encode` leaves alone; in csv the first columns; in fix the first fields, "
         "with names that begin with @. Wide tables always have them; --format table has the most useful ones.\n"
         "\n"
         "--template Quote makes a row of each message of the template; --template Quote/Legs one of each entry of its "
         "sequence, with the message's number and the entry's index. Groups are in line as Group.Field; a sequence is "
         "the number of its entries. Errors and gaps have no row: a line on stderr gives their number.";
}

std::vector<Option> style_options(StyleArguments& target) {
  return {{.names = "--header",
           .value = "",
           .help = "Adds time and place to each record: arrival, clock, channel, line, sequence, epoch.",
           .target = &target.header},
          {.names = "--time",
           .value = "STYLE",
           .help = "Times of --header and of wide tables: iso, the default, or ns since 1970.",
           .target = &target.time,
           .hint = choice_hint({"iso", "ns"})},
          {.names = "--wide",
           .value = "",
           .help = "With --format csv: a row for each message of --template, a column for each field.",
           .target = &target.wide},
          {.names = "--template",
           .value = "NAME[/SEQUENCE]...",
           .help = "The rows of --wide and of --format table: messages of this template, by name or identifier, or the "
                   "entries of its sequence.",
           .target = &target.table}};
}

PrintStyle style_from(Format format, const StyleArguments& arguments) {
  const auto refuse = [](bool is_wrong, const char* text) {
    if (is_wrong) throw ToolError(kExitUsage, text);
  };
  const bool is_wide = arguments.wide || format == Format::Table;
  refuse(arguments.wide && format != Format::Csv, "--wide is for --format csv; --format table is wide anyway");
  refuse(!is_wide && !arguments.table.empty(), "--template is for --format table, or --format csv --wide");
  refuse(!is_wide && !arguments.header && !arguments.time.empty(), "--time is for --header and wide tables");
  refuse(arguments.header && (format == Format::None || format == Format::Sbe), "--header: the output is not text");
  refuse(is_wide && arguments.table.empty(),
         "a wide table needs --template NAME: its rows are messages of one template");
  PrintStyle style{.format = format, .has_head = arguments.header, .time = record::TimeStyle::Iso, .table = {}};
  if (arguments.time == "ns") style.time = record::TimeStyle::Ns;
  if (is_wide) style.table = arguments.table;
  return style;
}

void check_table(const PrintStyle& style, std::span<const record::Schema> schemas) {
  if (!style.is_wide()) return;
  std::size_t found = 0;
  std::string why;
  for (const record::Schema& schema : schemas) {
    const auto table = record::WideTable::make(schema, style.table);
    if (table) ++found;
    if (!table && why.empty()) why = table.message();
  }
  if (found == 0) throw ToolError(kExitUsage, "--template: " + why);
  if (found > 1) throw ToolError(kExitUsage, "--template: several images have the template '" + style.table + "'");
}

void check_style_of_events(const StyleArguments& arguments) {
  if (arguments.header || !arguments.time.empty() || arguments.wide || !arguments.table.empty()) {
    throw ToolError(kExitUsage,
                    "--header, --time, --wide and --template are for records: a market event has its time and place "
                    "in every format, and a row of its own");
  }
}

void tell_events_without_row(std::uint64_t events) {
  if (events != 0) {
    print_stderr("stopbit: {} errors, gaps and other events have no row in this table; --format jsonl shows them\n",
                 events);
  }
}

std::string event_format_text() {
  return "Formats of market events:\n"
         "  jsonl    one JSON object per event\n"
         "  csv      one row per event, after a row of titles\n"
         "  sbe      one message per event in FIX Simple Binary Encoding, all of one length, for a file or a\n"
         "           pipe. `stopbit gen schema --sbe` writes the schema.";
}

FormatPrinter::FormatPrinter(const record::Schema& schema, const PrintStyle& style) : style_(style) {
  if (style.is_wide()) {
    Result<record::WideTable> table = record::WideTable::make(schema, style.table);
    if (!table) return;  // check_table has seen to it that another schema has it
    if (style.format == Format::Table) {
      table_.emplace(std::move(table).value(), style.time, style.has_head);
    } else {
      wide_.emplace(std::move(table).value(), style.time);
    }
    return;
  }
  if (style.format == Format::Jsonl) json_.emplace(schema);
  if (style.format == Format::Csv) csv_.emplace(schema);
  if (style.format == Format::Fix) fix_.emplace(schema, record::FixStyle::Readable);
  if (style.format == Format::FixRaw) fix_.emplace(schema, record::FixStyle::Raw);
}

std::string FormatPrinter::title() const {
  if (wide_) return wide_->title();
  if (!csv_) return {};
  const std::string_view head = style_.has_head ? record::kCsvHeadTitleWithoutSequence : std::string_view();
  return std::string(head) + std::string(record::CsvPrinter::kTitle);
}

record::ReadError FormatPrinter::print_json(std::span<const record::Slot> record, std::string& out) {
  const std::size_t begin = out.size();
  record::append_json_head(out, record::HeaderView(record[0]), style_.time);
  const std::size_t rest = out.size();
  const record::ReadError error = json_->print(record, out);
  if (error == record::ReadError::None) {
    out[rest] = ',';  // in place of the brace that begins the object
  } else {
    out.resize(begin);
  }
  return error;
}

record::ReadError FormatPrinter::print_fix(std::span<const record::Slot> record, std::string& out) {
  const std::size_t begin = out.size();
  const char separator = style_.format == Format::FixRaw ? '\x01' : '|';
  record::append_fix_head(out, record::HeaderView(record[0]), style_.time, separator);
  const record::ReadError error = fix_->print(record, out);
  if (error != record::ReadError::None) out.resize(begin);
  return error;
}

record::ReadError FormatPrinter::print(std::span<const record::Slot> record, std::string& out) {
  if (wide_) return wide_->print(record, out);
  if (table_) return table_->print(record, out);
  const bool has_head = style_.has_head && !record.empty();
  if (json_) return has_head ? print_json(record, out) : json_->print(record, out);
  if (fix_) return has_head ? print_fix(record, out) : fix_->print(record, out);
  if (!csv_) return record::ReadError::None;
  head_.clear();
  if (has_head) record::append_csv_head(head_, record::HeaderView(record[0]), style_.time, false);
  return csv_->print(record, out, head_);
}

void fail_unreadable(record::ReadError error) {
  throw ToolError(kExitRejected, "a record cannot be read: " + std::string(record::error_text(error)));
}

RecordPrinter::RecordPrinter(const record::Schema& schema, PrintStyle style, Output out)
    : style_(std::move(style)), out_(std::move(out)) {
  add(schema);
}

RecordPrinter::~RecordPrinter() = default;

void RecordPrinter::show_events(const std::string& name, std::uint64_t ring_epoch, Content content) {
  content_ = content;
  events_.reset();
  instruments_.reset();
  problem_.clear();
  Result<market::InstrumentView> table = market::InstrumentView::open(name);
  if (!table) return;
  if (table.value().ring_epoch() != ring_epoch) problem_ = market::Tables::foreign_text(name);
  instruments_ = std::make_unique<market::InstrumentView>(std::move(table).value());
}

void RecordPrinter::show_events(const market::InstrumentView& instruments) {
  content_ = Content::Events;
  events_ = std::make_unique<EventPrinter>(style_.format, &instruments);
}

void RecordPrinter::begin(std::string_view title) {
  if (!std::exchange(has_begun_, true)) out_.buffer() += title;
}

std::string RecordPrinter::title() const {
  if (content_ == Content::Events) return std::string(EventPrinter::title(style_.format));
  std::string title;
  for (const auto& schema : schemas_) {
    if (title.empty()) title = schema->title();
  }
  return title;
}

void RecordPrinter::print_event(const record::Slot& slot) {
  if (content_ == Content::Records) throw ToolError(kExitUsage, "--records: the ring carries market events");
  if (style_.is_wide() || style_.has_head) {
    throw ToolError(kExitUsage,
                    "the ring carries market events, which have time and place in every format and a row each: leave "
                    "--header and --wide out");
  }
  if (!events_) {
    // Not before: a ring of records has no table, but an older ring of its name may have had one.
    if (!problem_.empty()) throw ToolError(kExitEnvironment, problem_);
    events_ = std::make_unique<EventPrinter>(style_.format, instruments_.get());
  }
  begin(EventPrinter::title(style_.format));
  events_->print(market::Event::from(slot), out_.buffer());
}

void RecordPrinter::print_record(std::span<const record::Slot> record, std::size_t schema) {
  const bool wants_events = content_ == Content::Events || style_.format == Format::Sbe;
  if (wants_events) [[unlikely]] {
    if (!record::HeaderView(record[0]).is_event()) {
      throw ToolError(kExitUsage, content_ == Content::Events
                                      ? "--events: the ring carries records, not market events"
                                      : "--format sbe is for market events; the ring carries records");
    }
    // Where records were lost: a line of its own among objects, but no row or message of market events.
    if (style_.format != Format::Jsonl) return;
  }
  if (!has_begun_) begin(title());
  if (style_.is_wide() && record::HeaderView(record[0]).is_event()) ++without_row_;
  const record::ReadError error = schemas_[schema]->print(record, out_.buffer());
  if (error != record::ReadError::None) fail_unreadable(error);
}

std::size_t RecordPrinter::add(const record::Schema& schema) {
  schemas_.push_back(std::make_unique<FormatPrinter>(schema, style_));
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
  guarded([&] {
    for (const auto& schema : schemas_) schema->flush(out_.buffer());
    out_.flush();
  });
}

void RecordPrinter::finish() {
  guarded([&] {
    begin(title());
    for (const auto& schema : schemas_) schema->flush(out_.buffer());
    out_.close();
  });
  if (error_) std::rethrow_exception(error_);
  tell_events_without_row(without_row_);
}

}  // namespace stopbit::tools
