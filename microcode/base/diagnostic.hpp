#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/error_code.hpp"

namespace stopbit {

/// A text file in memory with its name. Lines and columns count from 1; a column counts bytes.
class SourceBuffer {
 public:
  SourceBuffer(std::string name, std::string text);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// The line without its end; empty if the line does not exist.
  [[nodiscard]] std::string_view line(std::uint32_t number) const noexcept;

  struct Position {
    std::uint32_t line = 0;  ///< 0 = unknown.
    std::uint32_t column = 0;
  };
  [[nodiscard]] Position position(std::size_t offset) const noexcept;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> line_starts_;
};

/// A place in a source buffer: bytes [offset, offset + length). A null buffer means "no place".
struct SourceRange {
  std::shared_ptr<const SourceBuffer> source;
  std::size_t offset = 0;
  std::size_t length = 0;
};

enum class Severity : std::uint8_t { Note, Warning, Error };

/// One finding. Notes belong to the error or warning before them.
struct Diagnostic {
  Severity severity = Severity::Error;
  ErrorCode code = ErrorCode::None;
  std::string message;  ///< No full stop, no place, no code: the formatter adds them.
  SourceRange range;
};

/// Findings of a reader of text, in order. Libraries collect them; one formatter at the edge prints them.
class Diagnostics {
 public:
  void error(ErrorCode code, SourceRange range, std::string message);
  void warning(SourceRange range, std::string message, ErrorCode code = ErrorCode::None);
  void note(SourceRange range, std::string message);

  [[nodiscard]] bool has_errors() const noexcept { return errors_ != 0; }
  [[nodiscard]] std::size_t errors() const noexcept { return errors_; }
  [[nodiscard]] std::size_t warnings() const noexcept { return warnings_; }
  [[nodiscard]] const std::vector<Diagnostic>& all() const noexcept { return all_; }

  /// Prints every finding as clang does:
  ///   file:line:column: error: message [S2]
  ///      42 |     the source line
  ///         |         ^~~~
  ///
  /// At most `most` findings with their notes, then "... and N more".
  [[nodiscard]] std::string format(std::size_t most = ~std::size_t{0}) const;

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

}  // namespace stopbit
