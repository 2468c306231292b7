#pragma once

#include <cstdint>
#include <memory>

#include "microcode/base/diagnostic.hpp"
#include "templates/ast/ast.hpp"
#include "templates/report.hpp"

/// The messages of the FAST Session Control Protocol 1.1: reset, hello, alert, template declarations and definitions.
namespace stopbit::templates::session {

/// The built-in template file.
[[nodiscard]] std::shared_ptr<const SourceBuffer> source();

/// Adds the templates of `source` to those of a feed, as file number `source_index`. A feed that has one of them
/// itself, by identifier or by name, keeps its own.
void supply(const std::shared_ptr<const SourceBuffer>& source, std::uint16_t source_index, ast::TemplateSet& set,
            Report& report);

}  // namespace stopbit::templates::session
