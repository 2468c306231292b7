#pragma once

#include <cstdint>

#include "microcode/base/limits.hpp"

namespace stopbit::templates {

/// Limits on template files (T1). Settings: beyond the hard caps, which follow from the instruction
/// word and from what bounds recursion, none can be set.
struct FileLimits {
  std::uint32_t file_bytes = 4U << 20;
  /// Elements inside each other; groups inside each other, those of definitions and referenced templates counted.
  std::uint32_t nesting = limits::kMaxElementDepth;
  std::uint32_t templates = limits::kMaxTemplates;  ///< Of all files together.
  /// Fields, groups, sequences and references of a template, with those of the templates it refers to.
  std::uint32_t fields = 1024;
  /// The same of all templates together: what they expand to.
  std::uint32_t instructions = limits::kMaxFields;
};

inline constexpr FileLimits kHardFileLimits = {
    .file_bytes = limits::kMaxTextBytes,
    .nesting = limits::kMaxNodeDepth,
    .templates = limits::kMaxTemplates,
    .fields = limits::kMaxFields,
    .instructions = limits::kMaxFields,
};

}  // namespace stopbit::templates
