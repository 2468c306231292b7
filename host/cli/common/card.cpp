#include "host/cli/common/card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "host/cli/common/messages.hpp"
#include "host/device/card.hpp"
#include "host/replay/summary.hpp"

namespace stopbit::tools {

void CardArguments::check(bool wants_card) const {
  if (wants_card) {
    if (xclbin.empty()) throw ToolError(kExitUsage, "--engine xrt wants --xclbin FILE, or --xclbin sim");
    if (card.value_or(0) > 0xFFFF) throw ToolError(kExitUsage, "--card: at most 65535");
    return;
  }
  const char* const lonely = !xclbin.empty() ? "--xclbin" : card ? "--card" : no_fallback ? "--no-fallback" : nullptr;
  if (lonely != nullptr) throw ToolError(kExitUsage, std::string(lonely) + " goes with --engine xrt");
}

std::vector<Option> card_options(CardArguments& target) {
  return {
      {.names = "--xclbin",
       .value = "FILE",
       .help = "With --engine xrt: the file that holds the card's kernel; sim is the simulated card that comes with "
               "stopbit.",
       .target = &target.xclbin,
       .hint = file_hint()},
      {.names = "--card",
       .value = "N",
       .help = "With --engine xrt: which card, as `xbutil examine` counts them. Default 0.",
       .target = &target.card},
      {.names = "--no-fallback",
       .value = "",
       .help = "With --engine xrt: if the card cannot run the program, ends with status 1 instead of decoding in "
               "software.",
       .target = &target.no_fallback},
  };
}

std::string card_text() {
  return "Cards: --engine xrt decodes on a card, through the XRT library; records, errors and summary are those of the "
         "software engines. --xclbin sim takes a simulated card: the description of the hardware itself, run by this "
         "processor, some hundred datagrams a second. A real card gets datagrams from its own network port, and "
         "nothing here can send a capture there. Another simulated card is used as its driver wants it: XILINX_XRT, "
         "XCL_EMULATION_MODE=hw_emu, and STOPBIT_SIM_FEED for the socket of its network, in the environment.\n"
         "\n"
         "A program that needs what the card has not runs in software, and stderr says why. The card cuts datagrams at "
         "16,384 bytes, and has room for 64 groups; fewer if their dictionaries outlive a datagram and are large.";
}

namespace {

class OpenCard final : public Card {
 public:
  OpenCard(std::unique_ptr<device::Card> card, std::unique_ptr<device::DeviceEngine> engine)
      : card_(std::move(card)), engine_(std::move(engine)) {}

  [[nodiscard]] Engine& engine() noexcept override { return *engine_; }
  [[nodiscard]] bool failed() const noexcept override { return engine_->failed(); }
  [[nodiscard]] std::string summary() override {
    if (failed()) throw ToolError(kExitEnvironment, engine_->problem());
    const Result<device::Figures> read = engine_->figures();
    if (!read) throw ToolError(kExitEnvironment, read.message());
    const device::Figures& figures = read.value();
    const auto line = [](std::uint64_t number, std::string_view what) {
      return fmt::format("  {:>12}  {}\n", replay::grouped(number), what);
    };
    std::string text = "\nCard\n";
    text += line(figures.firmware_words, "words of firmware loaded, and found right by their CRC");
    text += line(figures.kernel.datagrams, "datagrams taken");
    text += line(figures.kernel.datagram_bytes, "bytes in them");
    text += line(figures.kernel.instructions, "instructions executed");
    text += line(figures.ring.records, "records written");
    // What should not be.
    const std::pair<std::uint64_t, std::string_view> losses[] = {
        {figures.kernel.datagrams_dropped, "datagrams dropped at the input"},
        {figures.kernel.records_withdrawn, "records given up, an event instead of each"},
        {figures.ring.dropped, "records dropped, the ring had no room"},
        {figures.ring.malformed, "records dropped, their slots contradicted each other"},
        {figures.ring.timeouts, "records dropped, their slots did not come in time"},
        {figures.ring.stalled, "cycles in which records waited for the host"},
    };
    for (const auto& [count, what] : losses) {
      if (count != 0) text += line(count, what);
    }
    if (figures.errors != 0) text += fmt::format("  {}\n", device::Kernel::describe_errors(figures.errors));
    return text;
  }

 private:
  std::unique_ptr<device::Card> card_;
  std::unique_ptr<device::DeviceEngine> engine_;
};

/// A ToolError instead of a failure, which is the card's.
template <class Value>
Value need(Result<Value> result) {
  if (!result) throw ToolError(kExitEnvironment, result.message());
  return std::move(result).value();
}

}  // namespace

std::unique_ptr<Card> Card::open(const CardArguments& arguments, const Program& program, EngineOptions& options) {
  auto card = need(device::Card::open(
      {.xclbin = arguments.xclbin, .index = static_cast<std::uint32_t>(arguments.card.value_or(0))}));
  EngineOptions fitting = options;
  fitting.channels = std::max<std::uint16_t>(1, device::channels_with_room(program, options));
  const std::vector<std::string> obstacles = need(card->obstacles(program, fitting));
  if (obstacles.empty()) {
    options = fitting;
    auto engine = need(card->run(program, options));
    return std::make_unique<OpenCard>(std::move(card), std::move(engine));
  }
  for (const std::string& obstacle : obstacles) print_stderr("The card cannot do this: {}.\n", obstacle);
  if (arguments.no_fallback) throw ToolError(kExitRejected, "the card cannot run the program");
  print_stderr("Software runs the program instead.\n");
  return nullptr;
}

}  // namespace stopbit::tools
