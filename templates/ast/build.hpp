#pragma once

#include <vector>

#include "templates/ast/ast.hpp"
#include "templates/report.hpp"
#include "templates/xml/document.hpp"

namespace stopbit::templates::ast {

/// The templates of all documents, in order. Reports what is not FAST (S1) and goes on with what is; elements and
/// attributes of foreign namespaces are skipped in silence, unknown attributes with one warning per file and name.
/// A null document is a file that was not XML; it keeps its place, so that Template::source counts files.
[[nodiscard]] TemplateSet build(const std::vector<const xml::Element*>& documents, Report& report);

}  // namespace stopbit::templates::ast
