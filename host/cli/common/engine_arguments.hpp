#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/select/make_engine.hpp"
#include "host/cli/common/command.hpp"
#include "host/replay/replay.hpp"

/// Options shared by commands that decode: engine, strictness, limits of a message.
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

/// --engine native|quick|interp; empty = native where it runs. `with_card`: card and its older name xrt, too
/// (card.hpp).
[[nodiscard]] Option engine_option(std::string& target, bool with_card = false);
/// Whether `word` asks for a card.
[[nodiscard]] bool wants_card(const std::string& word);
/// native, quick or interp, as the command line lets pass; everything else is native.
[[nodiscard]] EngineKind engine_from(const std::string& word);
/// The engine for a replay. Where native code cannot run it is the interpreter, and a line on stderr says why: always
/// if `word` asks for native code, otherwise if `tells`. A ToolError if STOPBIT_KERNEL
/// asks for what this processor does not have.
[[nodiscard]] std::unique_ptr<Engine> engine_for(const std::string& word, const Program& program,
                                                 const replay::Options& options, bool tells);

}  // namespace stopbit::tools
