#include <fcntl.h>

#include <cerrno>

#include "host/appliance/appliance.hpp"
#include "host/appliance/opener/client.hpp"
#include "host/os/shm/read_file.hpp"
#include "microcode/verify/load.hpp"
#include "templates/compiler.hpp"

namespace stopbit::appliance {
namespace {

os::Descriptor open_file(const std::string& path, opener::Client* opener) {
  const auto index = opener != nullptr ? opener->file_of(path) : std::nullopt;
  if (!index) return os::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  opener::Outcome opened = opener->ask({.kind = opener::RequestKind::Read, .index = *index});
  if (!opened.file.ok()) errno = opened.error;
  return os::Descriptor(opened.file.release());
}

std::optional<Program> compile(const feed::Image& image, Diagnostics& diagnostics, opener::Client* opener) {
  const templates::CompileOptions options;
  std::vector<std::shared_ptr<const SourceBuffer>> sources;
  for (const std::string& path : image.templates) {
    auto text = os::read_file(open_file(path, opener), path, options.limits.file_bytes);
    if (!text) {
      diagnostics.error(ErrorCode::None, {}, text.message());
      return std::nullopt;
    }
    sources.push_back(std::make_shared<const SourceBuffer>(path, std::move(text).value()));
  }
  return templates::compile(sources, options, diagnostics);
}

std::optional<Program> read_firmware(const std::string& path, Diagnostics& diagnostics, opener::Client* opener) {
  const auto bytes = os::read_file(open_file(path, opener), path, limits::kMaxImageBytes);
  Result<Program> program =
      bytes ? verify::load(std::as_bytes(std::span(bytes.value())), path) : Result<Program>(Failure{bytes.message()});
  if (program) return std::move(program).value();
  diagnostics.error(ErrorCode::None, {}, program.message());
  return std::nullopt;
}

}  // namespace

std::optional<market::Map> load_map(const std::string& path, std::uint32_t depth, const Program& program,
                                    Diagnostics& diagnostics, opener::Client* opener) {
  const auto text = os::read_file(open_file(path, opener), path, market::kMaxMapBytes);
  if (!text) {
    diagnostics.error(ErrorCode::None, {}, text.message());
    return std::nullopt;
  }
  auto source = market::read_map(path, text.value(), diagnostics);
  if (!source) return std::nullopt;
  auto map = market::compile_map(std::move(*source), program, diagnostics);
  if (!map || depth == 0) return map;
  if (const Status done = market::set_depth(*map, depth); !done) {
    diagnostics.error(ErrorCode::None, {}, path + ": 'depth' of the channel: " + done.message());
    return std::nullopt;
  }
  return map;
}

std::optional<Program> load_image(const feed::Image& image, Diagnostics& diagnostics, opener::Client* opener) {
  return image.firmware.empty() ? compile(image, diagnostics, opener)
                                : read_firmware(image.firmware, diagnostics, opener);
}

}  // namespace stopbit::appliance
