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
#include "decoder/record/json.hpp"
#include "host/cli/common/command.hpp"
#include "host/cli/common/files.hpp"

namespace stopbit::tools {

enum class Format : std::uint8_t { None, Jsonl, Csv, Fix, FixRaw };
/// "jsonl", "csv", ...; None for anything else.
[[nodiscard]] Format format_from(std::string_view name);
/// --format; the formats are those that print. `help` begins its text.
[[nodiscard]] Option format_option(std::string& target, std::string help, bool with_none = false);
/// Paragraphs for the description of a command with --format.
[[nodiscard]] std::string format_text();

/// Prints records to a file while an engine that must not be disturbed writes them: an error is stored until the caller
/// fetches it.
class RecordPrinter {
 public:
  RecordPrinter(const record::Schema& schema, Format format, Output out);

  /// Records of another schema, too, on the same output. @returns its number; that of the constructor's is 0. Rows of
  /// CSV count the messages of each schema by themselves.
  std::size_t add(const record::Schema& schema);

  void print(std::span<const record::Slot> record, std::size_t schema = 0) noexcept;
  /// So that a reader sees what was printed so far.
  void flush() noexcept;
  /// Throws the error, if there was one; closes the output.
  void finish();
  /// Nothing more can be printed.
  [[nodiscard]] bool failed() const noexcept { return error_ != nullptr; }

 private:
  template <class Action>
  void guarded(Action action) noexcept;

  struct Printers {
    std::optional<record::JsonPrinter> json;
    std::optional<record::CsvPrinter> csv;
    std::optional<record::FixPrinter> fix;
  };

  Format format_;
  std::vector<std::unique_ptr<Printers>> schemas_;
  Output out_;
  std::exception_ptr error_;
};

}  // namespace stopbit::tools
