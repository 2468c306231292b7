#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/schema.hpp"
#include "microcode/program.hpp"
#include "templates/compiler.hpp"

/// Base of the C library and the Python module: programs, replays and rings for a caller that is not a command.
/// Failures are exceptions here, because both turn them into their own kind at the edge; nothing throws while packets
/// flow.
namespace stopbit::consumer {

/// Whose fault it is.
enum class Fault : std::uint8_t {
  Usage,   ///< The caller's: an option that does not exist, a value out of range.
  Input,   ///< Templates, firmware, capture or ring were read and refused.
  System,  ///< A file cannot be opened or read; Failed::system_error is the errno.
};

class Failed : public std::runtime_error {
 public:
  Failed(Fault fault, const std::string& message) : std::runtime_error(message), fault_(fault) {}
  /// A file that cannot be opened or read.
  Failed(int system_error, std::string path);

  [[nodiscard]] Fault fault() const noexcept { return fault_; }
  [[nodiscard]] int system_error() const noexcept { return system_error_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  Fault fault_;
  int system_error_ = 0;
  std::string path_;
};

/// A verified program with the schema of its records. Shared by decoders and readers of its records; any number of
/// threads may use one.
class Firmware {
 public:
  /// Fault::Input if the schema cannot be used.
  Firmware(Program program, std::string warnings);
  Firmware(const Firmware&) = delete;
  Firmware& operator=(const Firmware&) = delete;

  [[nodiscard]] const Program& program() const noexcept { return program_; }
  [[nodiscard]] const record::Schema& schema() const noexcept { return schema_; }
  /// Warnings of the compiler about the template files; empty if nothing.
  [[nodiscard]] const std::string& warnings() const noexcept { return warnings_; }

 private:
  Program program_;
  record::Schema schema_;  ///< Points to program_.
  std::string warnings_;
};

using FirmwarePtr = std::shared_ptr<const Firmware>;

/// Compiles template files as one set. All errors are in the message, with file, line and column.
[[nodiscard]] FirmwarePtr compile(const std::vector<std::string>& paths, const templates::CompileOptions& options = {});
/// The same for a text; messages show `name`.
[[nodiscard]] FirmwarePtr compile_text(std::string name, std::string text,
                                       const templates::CompileOptions& options = {});
/// Reads and verifies a firmware image (.sbf).
[[nodiscard]] FirmwarePtr load(const std::string& path);
/// The same for an image in memory; messages show `name`.
[[nodiscard]] FirmwarePtr load_image(std::span<const std::byte> image, std::string_view name);

}  // namespace stopbit::consumer
