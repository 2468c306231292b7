#pragma once

#include <cstdint>
#include <optional>

#include "templates/ast/ast.hpp"
#include "templates/report.hpp"

namespace stopbit::templates::sema {

/// Sees to it that some template has an identifier, for a message begins with one. `template_id` is for the only
/// template, if it has none.
void identify(ast::TemplateSet& set, std::optional<std::uint32_t> template_id, Report& report);

/// Checks what one element alone does not show: operators and initial values against types, names and identifiers used
/// twice, template references. Fills in Operator::initial and TemplateRef::target. A string of the
/// dictionary holds `max_initial_bytes`. Without errors in the report, every static reference names a template and none
/// leads back to its own.
void check(ast::TemplateSet& set, std::size_t max_initial_bytes, std::size_t max_templates, Report& report);

}  // namespace stopbit::templates::sema
