#include "templates/compiler.hpp"

#include <string>
#include <utility>

#include "microcode/base/limits.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/ast/build.hpp"
#include "templates/ir/flow.hpp"
#include "templates/lower/lower.hpp"
#include "templates/projection/projection.hpp"
#include "templates/report.hpp"
#include "templates/sema/check.hpp"
#include "templates/session/session.hpp"
#include "templates/xml/document.hpp"

namespace stopbit::templates {
namespace {

constexpr std::size_t kMaxFiles = 1024;

void check_options(const std::vector<std::shared_ptr<const SourceBuffer>>& sources, const CompileOptions& options,
                   Report& report) {
  const auto at_most = [&](std::size_t value, std::size_t limit, const char* what) {
    if (value > limit) report.error(ErrorCode::T1, {}, std::string(what) + ": at most " + std::to_string(limit));
  };
  at_most(options.string_capacity, limits::kMaxStringCapacity, "string capacity");
  at_most(options.max_record_slots, limits::kMaxRecordSlots, "slots of a record");
  at_most(sources.size(), kMaxFiles, "template files");
  at_most(options.limits.file_bytes, kHardFileLimits.file_bytes, "bytes of a template file");
  at_most(options.limits.nesting, kHardFileLimits.nesting, "nesting of a template file");
  at_most(options.limits.templates, kHardFileLimits.templates, "templates");
  at_most(options.limits.fields, kHardFileLimits.fields, "fields of a template");
  at_most(options.limits.instructions, kHardFileLimits.instructions, "expanded instructions");
  if (options.string_capacity == 0) report.error(ErrorCode::T1, {}, "string capacity: at least 1");
  if (options.max_record_slots == 0) report.error(ErrorCode::T1, {}, "slots of a record: at least 1");
}

/// Our own output gets no free pass.
bool verify_program(const Program& program, Report& report) {
  for (const verify::Finding& finding : verify::check(program).findings) {
    report.error(ErrorCode::None, {},
                 "internal error: the program does not verify: " + finding.where + ": " + finding.message + " (" +
                     std::string(finding.rule) + ')');
  }
  return !report.has_errors();
}

}  // namespace

std::optional<Program> compile(const std::vector<std::shared_ptr<const SourceBuffer>>& files,
                               const CompileOptions& options, Diagnostics& diagnostics) {
  Report report(diagnostics);
  check_options(files, options, report);
  if (report.has_errors()) return std::nullopt;

  std::vector<xml::Element> documents;
  for (const auto& source : files) {
    std::optional<xml::Element> document = xml::parse(source, options.limits, report);
    if (document) documents.push_back(std::move(*document));
  }
  // A file that could not be read at all would make every reference to it an error.
  if (documents.size() != files.size()) return std::nullopt;
  ast::TemplateSet set = ast::build(documents, options.limits, report);
  sema::identify(set, options.template_id, report);
  std::vector<std::shared_ptr<const SourceBuffer>> sources = files;
  if (options.session_control) {
    sources.push_back(session::source());
    session::supply(sources.back(), static_cast<std::uint16_t>(files.size()), set, report);
  }
  sema::check(set, options.string_capacity, options.limits.templates, report);
  if (report.has_errors()) return std::nullopt;

  ir::Module module = ir::expand(set, options.limits, report);
  if (report.has_errors()) return std::nullopt;
  if (options.fields) projection::apply(options.fields, module, report);
  if (report.has_errors()) return std::nullopt;
  std::optional<Program> program = lower::to_program(
      module, set, sources, {options.supply_fast_reset, options.string_capacity, options.max_record_slots}, report);
  if (!program || !verify_program(*program, report)) return std::nullopt;
  return program;
}

}  // namespace stopbit::templates
