#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "host/nic/node/node.hpp"

namespace stopbit::nic {

/// What a transfer consists of in the units of the source documents. The units of a node count them as they do them.
enum class Step : std::uint8_t {
  Software,          ///< The processes at both ends, once per command.
  Issue,             ///< A command goes from the processor to the device.
  MessageRequester,  ///< The message unit sends,
  MessageCompleter,  ///< or delivers.
  Unit,              ///< A unit of remote memory access does its part: requester, responder or completer.
  Translate,         ///< The translation unit answers, from its cache.
  Miss,              ///< It has to read its table in memory besides.
  Read,              ///< The device reads memory of the host,
  Write,             ///< or writes it: data, a slot of a mailbox, a notification.
  Trip,              ///< A packet goes from one node to another.
};
inline constexpr std::size_t kSteps = 10;
[[nodiscard]] std::string_view to_text(Step step) noexcept;

using StepCounts = std::array<std::uint64_t, kSteps>;

/// What the units of a node have done since it was made. Of two nodes: add them.
[[nodiscard]] StepCounts steps_of(const Node& node) noexcept;
[[nodiscard]] StepCounts operator+(const StepCounts& a, const StepCounts& b) noexcept;
[[nodiscard]] StepCounts operator-(const StepCounts& after, const StepCounts& before) noexcept;

/// What each step takes on a machine of a source document, in ns.
struct StepCosts {
  std::string_view machine;
  std::string_view source;
  double cycle_ns = 0;  ///< Of its clock.
  std::array<double, kSteps> ns{};

  [[nodiscard]] double total_ns(const StepCounts& counts) const noexcept;
  [[nodiscard]] double total_cycles(const StepCounts& counts) const noexcept { return total_ns(counts) / cycle_ns; }
};

/// EXTOLL on a Virtex-4 at 156 MHz (table 9-1 of its thesis). The message unit's share is in the trip; a miss is the
/// translation unit's 20 cycles instead of 9, and its read of memory (tables of section 5.6, 3-1).
extern const StepCosts kExtoll;
/// ULTRA on PCI-66, its units at 100 MHz (section 4.4.3): crossbar and cable are what the source leaves of its 1198 ns.
extern const StepCosts kUltra;

/// How long pieces take through a sequence of stages, each stage one piece at a time (appendix A of the network virtual
/// memory): bytes of each piece, MB/s of each stage; in us.
[[nodiscard]] double pipeline_us(std::span<const double> pieces, std::span<const double> stages);

}  // namespace stopbit::nic
