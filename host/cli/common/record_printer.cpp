#include "host/cli/common/record_printer.hpp"

#include <string>

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

RecordPrinter::RecordPrinter(const record::Schema& schema, Format format, Output out)
    : format_(format), out_(std::move(out)) {
  if (format == Format::Csv) out_.buffer() += record::CsvPrinter::kTitle;
  add(schema);
}

std::size_t RecordPrinter::add(const record::Schema& schema) {
  auto printers = std::make_unique<Printers>();
  if (format_ == Format::Jsonl) printers->json.emplace(schema);
  if (format_ == Format::Csv) printers->csv.emplace(schema);
  if (format_ == Format::Fix) printers->fix.emplace(schema, record::FixStyle::Readable);
  if (format_ == Format::FixRaw) printers->fix.emplace(schema, record::FixStyle::Raw);
  schemas_.push_back(std::move(printers));
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
    Printers& printers = *schemas_[schema];
    const record::ReadError error = printers.json  ? printers.json->print(record, out_.buffer())
                                    : printers.csv ? printers.csv->print(record, out_.buffer())
                                    : printers.fix ? printers.fix->print(record, out_.buffer())
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
