#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "host/replay/replay.hpp"
#include "host/tools/command.hpp"

/// How strict the engine is, and what it lets a message ask for: what commands that decode have in common.
namespace stopbit::tools {

struct EngineArguments {
  bool strict = false;
  std::optional<std::uint64_t> max_elements;
  std::optional<std::uint64_t> max_empty_elements;
  std::optional<std::uint64_t> max_nesting;
  std::optional<std::uint64_t> max_string;
  std::optional<std::uint64_t> max_datagram;
};

/// --strict and the --max options. `target` must outlive them.
[[nodiscard]] std::vector<Option> engine_options(EngineArguments& target);

/// Throws a ToolError for a number that is out of range.
void apply(const EngineArguments& arguments, replay::Options& options);

}  // namespace stopbit::tools
