#pragma once

#include <cstdint>
#include <optional>

#include "templates/ast/ast.hpp"
#include "templates/report.hpp"

namespace stopbit::templates::sema {

struct Options {
  std::optional<std::uint32_t> template_id;  ///< For the only template, if it has none.
  std::size_t max_initial_bytes = 0;         ///< What a string slot of the dictionary holds.
};

/// Checks what one element alone does not show: operators and initial values against types, names and identifiers used
/// twice, template references. Fills in Operator::initial, TemplateRef::target and, where the options say so,
/// Template::id. Without errors in the report, every static reference names a template and none leads back to its own.
void check(ast::TemplateSet& set, const Options& options, Report& report);

}  // namespace stopbit::templates::sema
