#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "microcode/base/diagnostic.hpp"
#include "microcode/program.hpp"
#include "templates/ir/flow.hpp"
#include "templates/report.hpp"

namespace stopbit::templates::lower {

struct Options {
  bool supply_fast_reset = true;
  std::uint32_t string_capacity = 0;  ///< Bytes of every string slot.
  std::uint32_t max_record_slots = 0;
};

/// Code, tables and schema of the module. Nothing if a limit of the instruction word is exceeded (T1).
[[nodiscard]] std::optional<Program> to_program(const ir::Module& module, const ast::TemplateSet& set,
                                                const std::vector<std::shared_ptr<const SourceBuffer>>& sources,
                                                const Options& options, Report& report);

}  // namespace stopbit::templates::lower
