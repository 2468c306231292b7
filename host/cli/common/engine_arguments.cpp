#include "host/cli/common/engine_arguments.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>
#include <utility>

#include "decoder/wire/index_kernels.hpp"
#include "host/cli/common/messages.hpp"

namespace stopbit::tools {
namespace {

constexpr EngineLimits kDefaultLimits;

void set(std::uint32_t& limit, const std::optional<std::uint64_t>& value, std::string_view name, std::size_t most) {
  if (!value) return;
  if (*value > most) throw ToolError(kExitUsage, fmt::format("{}: at most {}", name, most));
  limit = static_cast<std::uint32_t>(*value);
}

}  // namespace

std::vector<Option> engine_options(EngineArguments& target) {
  return {
      {.names = "--strict",
       .value = "",
       .help =
           "Also reports FAST's reportable errors: overlong integers, presence maps and strings (R6 to R9), and text "
           "that is not UTF-8 (R2).",
       .target = &target.strict},
      {.names = "--max-elements",
       .value = "N",
       .help = fmt::format("Maximum number of sequence elements in a message, default {}; more are error X2.",
                           kDefaultLimits.elements),
       .target = &target.max_elements,
       .is_limit = true},
      {.names = "--max-empty-elements",
       .value = "N",
       .help =
           fmt::format("Maximum number of elements of a sequence whose elements can take no bytes, default {}; more "
                       "are error X2.",
                       kDefaultLimits.empty_elements),
       .target = &target.max_empty_elements,
       .is_limit = true},
      {.names = "--max-nesting",
       .value = "N",
       .help = fmt::format("Maximum nesting of sequences, and of dynamic references; default and maximum {}; deeper "
                           "nesting is error X7.",
                           kDefaultLimits.nesting),
       .target = &target.max_nesting,
       .is_limit = true},
      {.names = "--max-string",
       .value = "BYTES",
       .help = fmt::format("Maximum length of a string or byte vector, default {}; a longer one is error X3. All "
                           "strings of a message together have at most {} bytes (X8).",
                           kDefaultLimits.string_bytes, limits::kMaxStringBytes),
       .target = &target.max_string,
       .is_limit = true},
      {.names = "--max-datagram",
       .value = "BYTES",
       .help = fmt::format("Maximum length of a datagram, default and maximum {}; the bytes after it are error X1.",
                           kDefaultLimits.datagram_bytes),
       .target = &target.max_datagram,
       .is_limit = true},
  };
}

void apply(const EngineArguments& arguments, replay::Options& options) {
  options.strict = arguments.strict;
  EngineLimits& limits = options.limits;
  constexpr std::size_t kAnyNumber = 0xFFFF'FFFF;
  set(limits.elements, arguments.max_elements, "--max-elements", kAnyNumber);
  set(limits.empty_elements, arguments.max_empty_elements, "--max-empty-elements", kAnyNumber);
  set(limits.nesting, arguments.max_nesting, "--max-nesting", kDefaultLimits.nesting);
  set(limits.string_bytes, arguments.max_string, "--max-string", kAnyNumber);
  set(limits.datagram_bytes, arguments.max_datagram, "--max-datagram", kDefaultLimits.datagram_bytes);
}

Option engine_option(std::string& target, bool with_card) {
  std::string help =
      "Decode engine: native, machine code generated at start; quick, an interpreter with fast paths; interp, the "
      "reference interpreter";
  std::vector<std::string> words = {"native", "quick", "interp"};
  if (with_card) {
    help += "; card, a card, see above";
    words.emplace_back("card");
    words.emplace_back("xrt");
  }
  help += ". All give the same records. Default: native, or quick if native code cannot run on this machine.";
  return {.names = "--engine",
          .value = "ENGINE",
          .help = std::move(help),
          .target = &target,
          .hint = choice_hint(std::move(words))};
}

bool wants_card(const std::string& word) {
  return word == "card" || word == "xrt";
}

EngineKind engine_from(const std::string& word) {
  for (const EngineKind kind : {EngineKind::Interp, EngineKind::Quick}) {
    if (word == engine_name(kind)) return kind;
  }
  return EngineKind::Native;
}

std::unique_ptr<Engine> engine_for(const std::string& word, const Program& program, const replay::Options& options,
                                   bool tells) {
  if (const auto& kernel = wire::chosen_index_kernel(); !kernel) throw ToolError(kExitEnvironment, kernel.message());
  MadeEngine made = make_engine(program, replay::engine_options(options), engine_from(word));
  if (!made.why_not_native.empty() && (tells || !word.empty())) {
    print_stderr("The quick interpreter runs the program, not native code: {}.\n", made.why_not_native);
  }
  return std::move(made.engine);
}

}  // namespace stopbit::tools
