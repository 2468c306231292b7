#include "host/cli/common/card.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "host/cli/common/messages.hpp"
#include "host/device/card.hpp"
#include "host/device/vfio/vfio_device.hpp"
#include "host/os/readable.hpp"
#include "host/replay/summary.hpp"

namespace stopbit::tools {

void CardArguments::check(bool wants_card) const {
  if (wants_card) {
    if (xclbin.empty() == device.empty()) {
      throw ToolError(kExitUsage,
                      "--engine card needs either --xclbin FILE or --device ADDRESS; sim is a simulated one");
    }
    if (card && xclbin.empty()) throw ToolError(kExitUsage, "--card needs --xclbin");
    if (!device.empty() && device != "sim" && !device::is_pci_address(device)) {
      throw ToolError(kExitUsage,
                      "--device: '" + device + "' is not the address of a PCI function, such as 0000:81:00.0");
    }
    if (card.value_or(0) > 0xFFFF) throw ToolError(kExitUsage, "--card: at most 65535");
    return;
  }
  const char* const lonely = !xclbin.empty()   ? "--xclbin"
                             : !device.empty() ? "--device"
                             : card            ? "--card"
                             : no_fallback     ? "--no-fallback"
                                               : nullptr;
  if (lonely != nullptr) throw ToolError(kExitUsage, std::string(lonely) + " needs --engine card");
}

std::vector<Option> card_options(CardArguments& target) {
  return {
      {.names = "--xclbin",
       .value = "FILE",
       .help =
           "With --engine card: opens the card by XRT, with this file of its kernel; sim selects the simulated card "
           "that comes with stopbit.",
       .target = &target.xclbin,
       .hint = file_hint()},
      {.names = "--card",
       .value = "N",
       .help = "With --xclbin: index of the card in `xbutil examine`. Default 0.",
       .target = &target.card},
      {.names = "--device",
       .value = "ADDRESS",
       .help = "With --engine card: opens the card by VFIO, at this PCI address; sim selects the simulated card that "
               "comes with stopbit.",
       .target = &target.device},
      {.names = "--no-fallback",
       .value = "",
       .help = "With --engine card: exits with status 1 if the card cannot run the program, instead of decoding in "
               "software.",
       .target = &target.no_fallback},
  };
}

std::string card_text() {
  return "Cards: --engine card (or xrt, its older name) decodes on a card, through the XRT library or the kernel's "
         "VFIO; records, errors and summary are the same as with the software engines. --xclbin sim and --device sim "
         "select a simulated card: the hardware description itself, executed by this processor at a few hundred "
         "datagrams per second. A real card receives datagrams from its own network port, and stopbit cannot send a "
         "capture to that port. For another simulated card, set its driver's "
         "environment: XILINX_XRT, XCL_EMULATION_MODE=hw_emu, and STOPBIT_SIM_FEED for the socket of its network.\n"
         "\n"
         "A program that needs a capability the card lacks runs in software, and stderr gives the reason. The card "
         "truncates datagrams at 16,384 bytes. It has room for 64 groups, or fewer if their dictionaries are large "
         "and persist between datagrams.";
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
      return fmt::format("  {:>12}  {}\n", os::thousands(number), what);
    };
    std::string text = "\nCard\n";
    text += line(figures.engines, figures.engines == 1 ? "decode core" : "decode cores, each for some of the channels");
    text += line(figures.firmware_words, "words of firmware loaded and verified by CRC");
    text += line(figures.kernel.datagrams, "datagrams taken");
    text += line(figures.kernel.datagram_bytes, "bytes in them");
    text += line(figures.kernel.instructions, "instructions executed");
    text += line(figures.ring.records, "records written");
    // Counters that should be 0.
    const std::pair<std::uint64_t, std::string_view> losses[] = {
        {figures.kernel.datagrams_dropped, "datagrams dropped at the input"},
        {figures.kernel.records_withdrawn, "records given up and replaced by an event"},
        {figures.ring.dropped, "records dropped: the ring was full"},
        {figures.ring.malformed, "records dropped: their slots were inconsistent"},
        {figures.ring.timeouts, "records dropped: their slots arrived too late"},
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
  auto card = need(device::Card::open({.xclbin = arguments.xclbin,
                                       .index = static_cast<std::uint32_t>(arguments.card.value_or(0)),
                                       .device = arguments.device}));
  EngineOptions fitting = options;
  fitting.channels = std::max<std::uint16_t>(1, device::channels_with_room(program, options));
  const std::vector<std::string> obstacles = need(card->obstacles(program, fitting));
  if (obstacles.empty()) {
    options = fitting;
    auto engine = need(card->run(program, options));
    return std::make_unique<OpenCard>(std::move(card), std::move(engine));
  }
  for (const std::string& obstacle : obstacles) print_stderr("The card cannot run the program: {}.\n", obstacle);
  if (arguments.no_fallback) throw ToolError(kExitRejected, "the card cannot run the program");
  print_stderr("The program runs in software instead.\n");
  return nullptr;
}

}  // namespace stopbit::tools
