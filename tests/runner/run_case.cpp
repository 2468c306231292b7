#include "tests/runner/run_case.hpp"

#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "assembler/assembler.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/byte_notation.hpp"
#include "tests/runner/run_encoder.hpp"
#include "tests/runner/run_engine.hpp"

namespace stopbit::cases {
namespace {

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool set_option(std::string_view line, CaseOptions& options) {
  const std::size_t space = std::min(line.find(' '), line.size());
  const std::string_view key = line.substr(0, space);
  const std::string_view value = space < line.size() ? line.substr(space + 1) : std::string_view();
  if (key == "strict" && value.empty()) return options.engine.strict = true;
  if (key == "reset") {
    if (value == "packet") options.engine.reset = ResetRule::Packet;
    if (value == "template") options.engine.reset = ResetRule::Template;
    if (value == "never") options.engine.reset = ResetRule::Never;
    return value == "packet" || value == "template" || value == "never";
  }
  if (key == "channels") return parse_number(value, options.engine.channels);
  EngineLimits& limits = options.engine.limits;
  if (key == "datagram_bytes") return parse_number(value, limits.datagram_bytes);
  if (key == "elements") return parse_number(value, limits.elements);
  if (key == "empty_elements") return parse_number(value, limits.empty_elements);
  if (key == "nesting") return parse_number(value, limits.nesting);
  if (key == "string_bytes") return parse_number(value, limits.string_bytes);
  if (key == "template_id") return parse_number(value, options.compile.template_id.emplace());
  if (key == "string_capacity") return parse_number(value, options.compile.string_capacity);
  if (key == "max_record_slots") return parse_number(value, options.compile.max_record_slots);
  if (key == "fields") {
    options.compile.fields = std::make_shared<const SourceBuffer>("fields", std::string(value));
    return true;
  }
  if (key == "no_fast_reset" && value.empty()) return !(options.compile.supply_fast_reset = false);
  return false;
}

/// "S2 at 3:31", "error at 3:5"; with the file's name in front of the line if there are several files.
std::string diagnostic_line(const Diagnostic& found, bool several_files) {
  std::string text(found.severity == Severity::Warning ? "warning" : "error");
  if (found.code != ErrorCode::None) text = code_text(found.code);
  if (!found.range.source) return text;
  const SourceBuffer::Position place = found.range.source->position(found.range.offset);
  text += " at ";
  if (several_files) text += found.range.source->name() + ":";
  return text + std::to_string(place.line) + ":" + std::to_string(place.column);
}

void compare_diagnostics(const Diagnostics& diagnostics, bool several_files, Report& report) {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  for (const Diagnostic& found : diagnostics.all()) {
    if (found.severity == Severity::Error) errors.push_back(diagnostic_line(found, several_files));
    if (found.severity == Severity::Warning) warnings.push_back(diagnostic_line(found, several_files));
  }
  report.compare("error", errors, "diagnostics:\n" + diagnostics.format() + "diagnostics");
  report.compare("warning", warnings, "diagnostics");
}

/// Image and listing must give the same program again. Returns the one that went through the image, which is then run.
std::optional<Program> round_trip(const Program& program, Report& report) {
  const std::vector<std::byte> bytes = image::write(program);
  Result<Program> read = image::read(bytes);
  if (!read) {
    report.fail("our own image is refused: " + read.message());
    return std::nullopt;
  }
  if (!(read.value() == program)) report.fail("the image gives another program");
  if (image::write(read.value()) != bytes) report.fail("writing the image again gives other bytes");

  Diagnostics diagnostics;
  const std::string listing = assembler::disassemble(program);
  const auto source = std::make_shared<const SourceBuffer>("listing", listing);
  const std::optional<Program> assembled = assembler::assemble(source, diagnostics);
  if (!assembled) {
    report.fail("our own listing is refused:\n" + diagnostics.format());
  } else if (image::write(*assembled) != bytes) {
    report.fail("the listing gives another program:\n" + difference({listing}, {assembler::disassemble(*assembled)}));
  }
  return std::move(read).value();
}

void run_bytes(const CaseFile& file, const Program& program, const EngineOptions& options, Report& report) {
  const Section& section = *file.find("bytes");
  Diagnostics diagnostics;
  const auto steps = parse_bytes(file.source(), section.begin, section.end, diagnostics);
  if (!steps) return report.fail(diagnostics.format());
  if (const std::optional<Program> loaded = round_trip(program, report)) {
    run_engines(file, *loaded, options, *steps, report);
  }
}

void run_template_case(const CaseFile& file, Report& report) {
  const CaseOptions options = read_options(file, report);
  std::vector<std::shared_ptr<const SourceBuffer>> sources;
  for (const Section& section : file.sections()) {
    if (section.name == "template") sources.push_back(file.as_file(section, "template"));
  }
  Diagnostics diagnostics;
  const std::optional<Program> program = templates::compile(sources, options.compile, diagnostics);
  if (program.has_value() == diagnostics.has_errors()) report.fail("a program in spite of errors, or neither");
  const bool runs = file.find("bytes") || file.find("json");
  if (!program && runs) return report.fail("the template is refused:\n" + diagnostics.format());
  if (!runs) {
    if (program && !file.find("error")) round_trip(*program, report);
    return compare_diagnostics(diagnostics, sources.size() > 1, report);
  }
  if (const verify::Report verified = verify::check(*program); !verified.ok()) {
    return report.fail("the verifier refuses the compiler's program: " + std::string(verified.findings[0].rule) +
                       " at " + verified.findings[0].where);
  }
  if (file.find("json")) return run_encoder_case(file, *program, options.engine, report);
  run_bytes(file, *program, options.engine, report);
}

void run_program_case(const CaseFile& file, Report& report) {
  const CaseOptions options = read_options(file, report);
  Diagnostics diagnostics;
  const std::optional<Program> program =
      assembler::assemble(file.as_file(*file.find("program"), "program"), diagnostics);
  if (program.has_value() == diagnostics.has_errors()) report.fail("a program in spite of errors, or neither");
  if (!program) return compare_diagnostics(diagnostics, false, report);

  // Findings of one rule may be many; which rules are broken is what counts.
  const verify::Report verified = verify::check(*program);
  std::set<std::string> rules;
  for (const verify::Finding& finding : verified.findings) rules.emplace(finding.rule);
  report.compare("rule", {rules.begin(), rules.end()}, "verifier");
  if (!verified.ok()) {
    // The image of a refused program may be read or not; it must not do harm.
    const Result<Program> read = image::read(image::write(*program));
    if (read && verify::check(read.value()).ok()) report.fail("after write and read, the verifier accepts the program");
    return;
  }
  if (file.find("listing")) {
    auto listing = std::make_shared<const SourceBuffer>("listing", assembler::disassemble(*program));
    std::vector<std::string> lines;
    std::string_view rest = listing->text();
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      lines.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    report.compare("listing", lines, "disassembler");
  }
  if (file.find("bytes")) {
    run_bytes(file, *program, options.engine, report);
  } else {
    round_trip(*program, report);
    compare_diagnostics(diagnostics, false, report);
  }
}

}  // namespace

CaseOptions read_options(const CaseFile& file, Report& report) {
  CaseOptions options;
  for (const std::string& line : file.lines(file.find("options"))) {
    if (!set_option(line, options)) report.fail("unknown option '" + line + "'");
  }
  return options;
}

void run_case(const CaseFile& file, const RunOptions& options, Report& report) {
  if (file.find("run")) return run_command_case(file, options, report);
  if (file.find("program")) return run_program_case(file, report);
  if (file.find("template")) return run_template_case(file, report);
  report.fail("a case has '-- template', '-- program' or '-- run'");
}

}  // namespace stopbit::cases
