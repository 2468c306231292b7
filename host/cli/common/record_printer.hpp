#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/csv.hpp"
#include "decoder/record/fix.hpp"
#include "decoder/record/head.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/wide.hpp"
#include "host/cli/common/command.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/table_printer.hpp"

namespace stopbit::market {
class InstrumentView;
}

namespace stopbit::tools {

enum class Format : std::uint8_t { None, Jsonl, Csv, Fix, FixRaw, Table, Sbe };
/// "jsonl", "csv", ...; None for anything else.
[[nodiscard]] Format format_from(std::string_view name);
[[nodiscard]] constexpr bool prints_events(Format format) noexcept {
  return format == Format::Jsonl || format == Format::Csv || format == Format::Sbe;
}
/// A usage error if `format` is binary and `output`, a file or "-", is a terminal.
void check_not_binary_to_terminal(Format format, const std::string& output);
/// --format; the formats are those that print records, and `more`. `help` begins its text.
[[nodiscard]] Option format_option(std::string& target, std::string help, std::vector<std::string> more = {});
/// Paragraphs for the description of a command with --format: of records, and of market events.
[[nodiscard]] std::string format_text();
[[nodiscard]] std::string event_format_text();

/// How records look: --format with --header, --time, --wide and --template.
struct PrintStyle {
  Format format = Format::None;
  bool has_head = false;
  record::TimeStyle time = record::TimeStyle::Iso;
  std::string table;  ///< Of a wide format: "Template/Sequence"; empty: the format is not wide.

  [[nodiscard]] bool is_wide() const noexcept { return !table.empty(); }
};
struct StyleArguments {
  bool header = false;
  std::string time;
  bool wide = false;
  std::string table;
};
/// --header, --time, --wide, --template.
[[nodiscard]] std::vector<Option> style_options(StyleArguments& target);
/// A usage error if the options do not go together.
[[nodiscard]] PrintStyle style_from(Format format, const StyleArguments& arguments);
/// A usage error if none of the schemas has the style's table, or several have.
void check_table(const PrintStyle& style, std::span<const record::Schema> schemas);
/// A usage error: market events have time and place anyway, and one row each.
void check_style_of_events(const StyleArguments& arguments);

/// --records and --events: what a command prints or writes.
struct ContentArguments {
  bool records = false;
  bool events = false;
};

/// Where records go while an engine that must not be disturbed writes them: an error is stored until the caller fetches
/// it.
class RecordDestination {
 public:
  RecordDestination() = default;
  RecordDestination(const RecordDestination&) = delete;
  RecordDestination& operator=(const RecordDestination&) = delete;
  virtual ~RecordDestination() = default;

  virtual void take(std::span<const record::Slot> record, std::size_t schema) noexcept = 0;
  /// So that a reader sees what was written so far.
  virtual void flush() noexcept {}
  /// Nothing more can be written.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
};

/// Prints records of one schema in one style. A style with a table that the schema does not have prints nothing. One
/// thread.
class FormatPrinter {
 public:
  FormatPrinter(const record::Schema& schema, const PrintStyle& style);

  [[nodiscard]] record::ReadError print(std::span<const record::Slot> record, std::string& out);
  /// The next message is number `messages` + 1, for CSV.
  void count_from(std::uint64_t messages) noexcept {
    if (csv_) csv_->count_from(messages);
    if (wide_) wide_->count_from(messages);
  }
  /// Appends rows that were kept to be aligned.
  void flush(std::string& out) {
    if (table_) table_->flush(out);
  }
  /// What a file begins with; of a wide format, empty unless the table is of this schema.
  [[nodiscard]] std::string title() const;

 private:
  [[nodiscard]] record::ReadError print_json(std::span<const record::Slot> record, std::string& out);
  [[nodiscard]] record::ReadError print_fix(std::span<const record::Slot> record, std::string& out);

  PrintStyle style_;
  std::optional<record::JsonPrinter> json_;
  std::optional<record::CsvPrinter> csv_;
  std::optional<record::FixPrinter> fix_;
  std::optional<record::WideCsvPrinter> wide_;
  std::optional<TablePrinter> table_;
  std::string head_;  ///< Of the rows of a record.
};

/// At the end of a wide output: how many errors, gaps and other events it could not show, on stderr; nothing if none.
void tell_events_without_row(std::uint64_t events);

/// Of a record that its schema cannot read.
[[noreturn]] void fail_unreadable(record::ReadError error);

/// What an output takes; Any: records and market events, as they come.
enum class Content : std::uint8_t { Any, Records, Events };

/// Prints records to a file; market events, too, if show_events was called.
class RecordPrinter final : public RecordDestination {
 public:
  RecordPrinter(const record::Schema& schema, PrintStyle style, Output out);
  ~RecordPrinter() override;

  /// What a ring carries: of its market events the instruments are those of the table NAME.instruments, which it opens
  /// now; without it they are shown by number. A ToolError at the first event if the table belongs to another ring than
  /// that of the epoch; of kExitUsage at what is not of `content`.
  void show_events(const std::string& name, std::uint64_t ring_epoch, Content content);
  /// Events only, of the instruments of a table that outlives the printer. A ToolError if they have no such format.
  void show_events(const market::InstrumentView& instruments);

  /// Records of another schema, too, on the same output. @returns its number; that of the constructor's is 0. Rows of
  /// CSV count the messages of each schema by themselves.
  std::size_t add(const record::Schema& schema);

  void print(std::span<const record::Slot> record, std::size_t schema = 0) noexcept;
  void take(std::span<const record::Slot> record, std::size_t schema) noexcept override { print(record, schema); }
  void flush() noexcept override;
  /// Throws the error, if there was one; closes the output.
  void finish();
  [[nodiscard]] bool failed() const noexcept override { return error_ != nullptr; }

 private:
  template <class Action>
  void guarded(Action action) noexcept;
  void print_event(const record::Slot& slot);
  void print_record(std::span<const record::Slot> record, std::size_t schema);
  void begin(std::string_view title);
  /// Of a file in which nothing came.
  [[nodiscard]] std::string title() const;

  PrintStyle style_;
  std::vector<std::unique_ptr<FormatPrinter>> schemas_;
  Content content_ = Content::Records;
  std::string problem_;                                  ///< Why the ring's events cannot be printed.
  std::unique_ptr<market::InstrumentView> instruments_;  ///< The ring's table, if there is one.
  std::unique_ptr<class EventPrinter> events_;           ///< Null until the first event.
  bool has_begun_ = false;                               ///< The title is written.
  std::uint64_t without_row_ = 0;                        ///< Events that a wide format cannot show.
  Output out_;
  std::exception_ptr error_;
};

}  // namespace stopbit::tools
