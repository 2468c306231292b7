#include "host/bindings/common/firmware.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include "host/os/shm/read_file.hpp"
#include "microcode/base/diagnostic.hpp"
#include "microcode/base/limits.hpp"
#include "microcode/verify/load.hpp"

namespace stopbit::consumer {
namespace {

std::string read_file(const std::string& path, std::size_t most) {
  auto text = os::read_file(path, most);
  if (text) return std::move(text).value();
  if (text.failure().system_error != 0) throw Failed(text.failure().system_error, path);
  throw Failed(Fault::Input, text.message());
}

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw Failed(Fault::Input, result.message());
  return std::move(result).value();
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
    : program_(std::move(program)), schema_(or_throw(record::Schema::make(program_))), warnings_(std::move(warnings)) {}

FirmwarePtr compile(const std::vector<std::string>& paths, const templates::CompileOptions& options) {
  if (paths.empty()) throw Failed(Fault::Usage, "no template file given");
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
  return std::make_shared<const Firmware>(or_throw(verify::load(image, name)), std::string());
}

}  // namespace stopbit::consumer
