#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/nic/atu/atu.hpp"
#include "host/nic/msg/message_engine.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/rma/rma_engine.hpp"
#include "host/nic/tag/matcher.hpp"
#include "host/nic/tag/unit.hpp"

namespace stopbit::nic {

/// What a case asks of address translation. The unit in hardware has tables in memory, which software keeps for it.
class TranslationUnit {
 public:
  TranslationUnit() = default;
  TranslationUnit(const TranslationUnit&) = delete;
  TranslationUnit& operator=(const TranslationUnit&) = delete;
  virtual ~TranslationUnit() = default;

  [[nodiscard]] virtual std::optional<Nla> register_pages(Vpid owner, std::span<const PageNumber> pages,
                                                          Access access) = 0;
  [[nodiscard]] virtual bool revoke(Vpid owner, Nla first, std::size_t pages) = 0;
  [[nodiscard]] virtual bool is_flushed(Nla nla) = 0;
  [[nodiscard]] virtual Translation translate(Vpid who, Nla nla, Access access) = 0;
  /// The unit that holds translations has dropped all that it was asked to.
  virtual void acknowledge(Unit unit) = 0;
};

/// The queue of a port's commands: what its process inserts, and what its node takes.
class CommandUnit {
 public:
  CommandUnit() = default;
  CommandUnit(const CommandUnit&) = delete;
  CommandUnit& operator=(const CommandUnit&) = delete;
  virtual ~CommandUnit() = default;

  virtual void set_state(PortState state) = 0;
  [[nodiscard]] virtual Issue insert(std::span<const Command> commands) = 0;
  /// False: there is none.
  [[nodiscard]] virtual bool take(Command& command) = 0;
};

/// What went through units in hardware.
struct Transactions {
  std::uint64_t cases = 0;
  std::uint64_t messages = 0;  ///< To and from the unit.
  std::uint64_t reads = 0;     ///< Of memory.
  std::uint64_t writes = 0;
};

/// The units that a case runs on: a factory for each, in software or in hardware.
struct Units {
  std::string_view name;
  std::function<std::unique_ptr<TranslationUnit>(const AtuOptions&)> translation;
  std::function<std::unique_ptr<TagUnit>(const MatcherOptions&)> tag;
  std::function<std::unique_ptr<CommandUnit>()> commands;
  /// Empty, or null: the message unit's own.
  std::function<std::unique_ptr<MessageEngine>(NodeId node, std::size_t nodes)> messages;
  std::function<std::unique_ptr<RmaEngine>(NodeId node, std::size_t nodes)> rma;
};

[[nodiscard]] Units software_units();
/// Why a unit cannot be in hardware here; empty: it can.
[[nodiscard]] std::string why_not_hardware();
/// Units that exist in hardware. The node: a whole one, with all that its messages and remote memory access go through.
inline constexpr std::array<std::string_view, 6> kHardwareUnits{"translation", "tag", "messages",
                                                                "commands",    "rma", "node"};
/// One of them, the others in software; what goes through it is added to `transactions`, which outlives it.
[[nodiscard]] Units hardware_units(std::string_view unit, Transactions& transactions);

/// A row of units.txt: cases whose name begins so have this unit in hardware, or not.
struct UnitRow {
  enum class Place : std::uint8_t { Hardware, Long, Software };  ///< Long: in hardware if STOPBIT_LONG is 1.
  std::string cases;
  std::string unit;
  Place place = Place::Hardware;
  std::string reason;  ///< Why in software.
};
/// Of a case and a unit: the first row that names both. Null: none does.
[[nodiscard]] const UnitRow* row_of(std::span<const UnitRow> rows, std::string_view name,
                                    std::string_view unit) noexcept;
/// The rows of units.txt, or what is wrong in it.
[[nodiscard]] std::optional<std::vector<UnitRow>> read_unit_rows(const std::filesystem::path& path,
                                                                 std::string& problem);

}  // namespace stopbit::nic
