#pragma once

#include <vector>

#include "templates/ast/ast.hpp"
#include "templates/report.hpp"
#include "templates/xml/document.hpp"

namespace stopbit::templates::ast {

/// The templates of all documents, in order. Reports what is not FAST (S1) and goes on with what is; elements and
/// attributes of foreign namespaces are skipped in silence, unknown attributes with one warning per file and name.
/// Template::source is the index of the document.
[[nodiscard]] TemplateSet build(const std::vector<xml::Element>& documents, Report& report);

}  // namespace stopbit::templates::ast
