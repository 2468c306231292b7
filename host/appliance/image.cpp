#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "host/appliance/appliance.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "templates/compiler.hpp"

namespace stopbit::appliance {
namespace {

/// The bytes of a file, at most so many.
Result<std::string> read_file(const std::string& path, std::size_t most) {
  const ring::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return Failure{ring::system_error("read", path)};
  std::string text;
  std::array<char, 65'536> buffer;
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failure{ring::system_error("read", path)};
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > most) return Failure{"'" + path + "' has more than " + std::to_string(most) + " bytes"};
  }
}

std::optional<Program> compile(const feed::Image& image, Diagnostics& diagnostics) {
  const templates::CompileOptions options;
  std::vector<std::shared_ptr<const SourceBuffer>> sources;
  for (const std::string& path : image.templates) {
    Result<std::string> text = read_file(path, options.limits.file_bytes);
    if (!text) {
      diagnostics.error(ErrorCode::None, {}, text.message());
      return std::nullopt;
    }
    sources.push_back(std::make_shared<const SourceBuffer>(path, std::move(text).value()));
  }
  return templates::compile(sources, options, diagnostics);
}

std::optional<Program> read_firmware(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& why) -> std::optional<Program> {
    diagnostics.error(ErrorCode::None, {}, why);
    return std::nullopt;
  };
  const Result<std::string> bytes = read_file(path, limits::kMaxImageBytes);
  if (!bytes) return refuse(bytes.message());
  Result<Program> program = image::read(std::as_bytes(std::span(bytes.value())));
  if (!program) return refuse(path + ": not a usable firmware image: " + program.message());
  const verify::Report report = verify::check(program.value());
  if (!report.ok()) {
    const verify::Finding& first = report.findings.front();
    return refuse(path + ": the program is not safe to run: " + first.where + ": " + first.message);
  }
  return std::move(program).value();
}

}  // namespace

std::optional<Program> load_image(const feed::Image& image, Diagnostics& diagnostics) {
  return image.firmware.empty() ? compile(image, diagnostics) : read_firmware(image.firmware, diagnostics);
}

}  // namespace stopbit::appliance
