#include "host/consumer/firmware.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "microcode/base/diagnostic.hpp"
#include "microcode/base/limits.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"

namespace stopbit::consumer {
namespace {

constexpr std::size_t kShownFindings = 20;

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

/// A whole file, but not more than `most` bytes of it.
std::string read_file(const std::string& path, std::size_t most) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) throw Failed(errno, path);
  std::string text;
  std::array<char, 65'536> piece;
  for (;;) {
    errno = 0;
    const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get());
    if (got == 0 && std::ferror(file.get()) != 0) throw Failed(errno, path);
    if (got == 0) return text;
    text.append(piece.data(), got);
    if (text.size() > most) {
      throw Failed(Fault::Input, path + ": longer than " + std::to_string(most) + " bytes");
    }
  }
}

record::Schema schema_of(const Program& program) {
  Result<record::Schema> schema = record::Schema::make(program);
  if (!schema) throw Failed(Fault::Input, "the records of this program cannot be read: " + schema.message());
  return std::move(schema).value();
}

void require_verified(const Program& program, std::string_view name) {
  const verify::Report report = verify::check(program);
  if (report.ok()) return;
  std::string message(name);
  message += ": the program is not safe to run";
  for (std::size_t i = 0; i < std::min(report.findings.size(), kShownFindings); ++i) {
    const verify::Finding& finding = report.findings[i];
    message += "\n  " + finding.where + ": " + finding.message + " [" + std::string(finding.rule) + "]";
  }
  if (report.findings.size() > kShownFindings) {
    message += "\n  and " + std::to_string(report.findings.size() - kShownFindings) + " more";
  }
  throw Failed(Fault::Input, message);
}

FirmwarePtr compile_sources(const std::vector<std::shared_ptr<const SourceBuffer>>& sources,
                            const templates::CompileOptions& options) {
  Diagnostics diagnostics;
  std::optional<Program> program = templates::compile(sources, options, diagnostics);
  if (!program) throw Failed(Fault::Input, diagnostics.format());
  return std::make_shared<const Firmware>(*std::move(program), diagnostics.format());
}

}  // namespace

Failed::Failed(int system_error, std::string path)
    : std::runtime_error("cannot read " + path + ": " + std::strerror(system_error)),
      fault_(Fault::System),
      system_error_(system_error),
      path_(std::move(path)) {}

Firmware::Firmware(Program program, std::string warnings)
    : program_(std::move(program)), schema_(schema_of(program_)), warnings_(std::move(warnings)) {}

FirmwarePtr compile(const std::vector<std::string>& paths, const templates::CompileOptions& options) {
  if (paths.empty()) throw Failed(Fault::Usage, "no template file is named");
  std::vector<std::shared_ptr<const SourceBuffer>> sources;
  sources.reserve(paths.size());
  for (const std::string& path : paths) {
    sources.push_back(std::make_shared<SourceBuffer>(path, read_file(path, limits::kMaxTextBytes)));
  }
  return compile_sources(sources, options);
}

FirmwarePtr compile_text(std::string name, std::string text, const templates::CompileOptions& options) {
  return compile_sources({std::make_shared<SourceBuffer>(std::move(name), std::move(text))}, options);
}

FirmwarePtr load(const std::string& path) {
  const std::string bytes = read_file(path, limits::kMaxImageBytes);
  return load_image(std::as_bytes(std::span(bytes)), path);
}

FirmwarePtr load_image(std::span<const std::byte> image, std::string_view name) {
  Result<Program> program = image::read(image);
  if (!program) throw Failed(Fault::Input, std::string(name) + ": not a usable firmware image: " + program.message());
  require_verified(program.value(), name);
  return std::make_shared<const Firmware>(std::move(program).value(), std::string());
}

}  // namespace stopbit::consumer
