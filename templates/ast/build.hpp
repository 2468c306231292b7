#pragma once

#include <vector>

#include "templates/ast/ast.hpp"
#include "templates/file_limits.hpp"
#include "templates/report.hpp"
#include "templates/xml/document.hpp"

namespace stopbit::templates::ast {

/// The templates of all documents, in order. Reports what is not FAST (S1) and goes on with what is; elements and
/// attributes of foreign namespaces are skipped in silence, unknown attributes with one warning per file and name.
/// Template::source is the index of the document. Definitions can expand exponentially: work stops at
/// `limits.instructions` fields and groups, with an error (T1).
[[nodiscard]] TemplateSet build(const std::vector<xml::Element>& documents, const FileLimits& limits, Report& report);

}  // namespace stopbit::templates::ast
