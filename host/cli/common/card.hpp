#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "host/cli/common/command.hpp"
#include "microcode/program.hpp"

/// --engine card: a card as the engine of a command.
namespace stopbit::tools {

struct CardArguments {
  std::string xclbin;  ///< A file, or "sim".
  std::optional<std::uint64_t> card;
  std::string device;  ///< In place of both: a PCI function, or "sim".
  bool no_fallback = false;

  /// A ToolError if they go without --engine card, or it without them.
  void check(bool wants_card) const;
};

/// --xclbin, --card, --device, --no-fallback. `target` must outlive them.
[[nodiscard]] std::vector<Option> card_options(CardArguments& target);

/// A paragraph for the description of a command with these options.
[[nodiscard]] std::string card_text();

/// An open card that runs one program.
class Card {
 public:
  /// Opens the card and loads the program. Makes `options.channels` as few as the card has room for. Null if the card
  /// cannot run the program: the reasons are on stderr then, and software has to do it; with --no-fallback that is a
  /// ToolError, as everything else that goes wrong is. `program` must outlive the card.
  [[nodiscard]] static std::unique_ptr<Card> open(const CardArguments& arguments, const Program& program,
                                                  EngineOptions& options);
  virtual ~Card() = default;

  [[nodiscard]] virtual Engine& engine() noexcept = 0;
  /// Whether it has failed, and decodes no more.
  [[nodiscard]] virtual bool failed() const noexcept = 0;
  /// The card's counters, for the end of a summary. A ToolError if it has failed.
  [[nodiscard]] virtual std::string summary() = 0;
};

}  // namespace stopbit::tools
