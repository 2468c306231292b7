#pragma once

#include <cstdint>
#include <vector>

#include "templates/ast/ast.hpp"
#include "templates/file_limits.hpp"
#include "templates/report.hpp"

/// The templates as the stream meets them: static references replaced by what they name, groups and sequences flat,
/// each with the index of its end. Every item becomes one node of the schema.
namespace stopbit::templates::ir {

/// Application types (typeRef) by number. Type 0 is the one of a message without a typeRef.
inline constexpr std::uint32_t kAnyType = 0;
/// Of an item that no typeRef encloses: the type at the place from which its template is reached.
inline constexpr std::uint32_t kCallersType = UINT32_MAX;

struct Item {
  NodeKind kind = NodeKind::Field;
  const ast::Field* field = nullptr;    ///< Field.
  const ast::Group* group = nullptr;    ///< Group and Sequence.
  const ast::Length* length = nullptr;  ///< Sequence.
  const SourceRange* range = nullptr;
  std::uint32_t template_index = 0;   ///< The current template, which static references switch.
  std::uint32_t type = kCallersType;  ///< The application type around the item.
  std::uint32_t end = 0;              ///< Index after the last item inside.
  bool is_stored = true;              ///< In records; else nothing inside is.
};

/// A template with an identifier. Items are in pre-order: those inside item i are from i + 1 up to `end`.
struct Message {
  const ast::Template* of = nullptr;
  std::uint32_t template_index = 0;
  std::vector<Item> items;
};

struct Module {
  std::vector<Message> messages;
  std::vector<ast::Name> types;  ///< Names of application types; [0] is empty.
};

/// Expands every template that has an identifier. The set must be free of errors and outlive the module.
/// References can expand exponentially: work stops at the limits, with an error (T1).
[[nodiscard]] Module expand(const ast::TemplateSet& set, const FileLimits& limits, Report& report);

}  // namespace stopbit::templates::ir
