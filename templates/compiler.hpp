#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "microcode/base/diagnostic.hpp"
#include "microcode/program.hpp"
#include "templates/file_limits.hpp"

/// Template files (FAST 1.1 and 1.2) to programs.
namespace stopbit::templates {

struct CompileOptions {
  /// Identifier for a file's only template that has none.
  std::optional<std::uint32_t> template_id;
  /// Adds template 120, FastReset, if no file has an id 120: every feed may send it.
  bool supply_fast_reset = true;
  /// Adds the session control messages of SCP 1.1 (hello, alert, reset, template definitions), so that they are decoded
  /// as any others. Templates they define on the wire are never compiled: no sender installs programs here.
  bool session_control = false;
  /// Fields that records hold, if not all: names, see projection/projection.hpp. Null: everything.
  std::shared_ptr<const SourceBuffer> fields;
  std::uint32_t string_capacity = 256;  ///< Bytes of every string slot.
  std::uint32_t max_record_slots = 4096;
  FileLimits limits = {};
};

/// Compiles the files as one set: templates may refer to each other across files.
/// Nothing if there were errors; all of them are in `diagnostics`, with file, line and column. The program is verified.
[[nodiscard]] std::optional<Program> compile(const std::vector<std::shared_ptr<const SourceBuffer>>& sources,
                                             const CompileOptions& options, Diagnostics& diagnostics);

}  // namespace stopbit::templates
