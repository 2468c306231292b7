#include "tests/nic/units.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "tests/lib/nic/fixture.hpp"

#ifdef STOPBIT_HAS_UNITS
#include "tests/nic/hardware_atu.hpp"
#include "tests/nic/hardware_node.hpp"
#include "tests/nic/hardware_queue.hpp"
#include "tests/nic/hardware_rma.hpp"
#include "tests/nic/hardware_tag.hpp"
#include "tests/nic/hardware_velo.hpp"
#endif

namespace stopbit::nic {
namespace {

class SoftwareTranslation final : public TranslationUnit {
 public:
  explicit SoftwareTranslation(const AtuOptions& options) : atu_(options) {}
  [[nodiscard]] std::optional<Nla> register_pages(Vpid owner, std::span<const PageNumber> pages,
                                                  Access access) override {
    return atu_.register_pages(owner, pages, access);
  }
  [[nodiscard]] bool revoke(Vpid owner, Nla first, std::size_t pages) override {
    return atu_.revoke(owner, first, pages);
  }
  [[nodiscard]] bool is_flushed(Nla nla) override { return atu_.is_flushed(nla); }
  [[nodiscard]] Translation translate(Vpid who, Nla nla, Access access) override {
    return atu_.translate(who, nla, access);
  }
  void acknowledge(Unit unit) override { atu_.acknowledge(unit, atu_.flush_number()); }

 private:
  Atu atu_;
};

class SoftwareCommands final : public CommandUnit {
 public:
  void set_state(PortState state) override { memory_.set_state(state); }
  [[nodiscard]] Issue insert(std::span<const Command> commands) override {
    return CommandQueue(memory_.page()).insert(commands);
  }
  [[nodiscard]] bool take(Command& command) override { return source_.take(command); }

 private:
  PageMemory memory_;
  CommandSource source_{memory_.page()};
};

}  // namespace

Units software_units() {
  return {"software",
          [](const AtuOptions& options) { return std::make_unique<SoftwareTranslation>(options); },
          [](const MatcherOptions& options) { return std::make_unique<TagMatcher>(options); },
          [] { return std::make_unique<SoftwareCommands>(); },
          {},
          {}};
}

#ifdef STOPBIT_HAS_UNITS
std::string why_not_hardware() {
  return {};
}
Units hardware_units(std::string_view unit, Transactions& transactions) {
  Units units = software_units();
  units.name = "hardware";
  if (unit == "translation") {
    units.translation = [&transactions](const AtuOptions& options) {
      return hardware_translation(options, transactions);
    };
  } else if (unit == "tag") {
    units.tag = [&transactions](const MatcherOptions& options) { return hardware_tag(options, transactions); };
  } else if (unit == "commands") {
    units.commands = [&transactions] { return hardware_commands(transactions); };
  } else if (unit == "node") {
    const auto whole = std::make_shared<HardwareNodes>(transactions);
    units.messages = [whole](NodeId node, std::size_t nodes) { return whole->messages(node, nodes); };
    units.rma = [whole](NodeId node, std::size_t nodes) { return whole->rma(node, nodes); };
  } else if (unit == "rma") {
    units.rma = [&transactions](NodeId node, std::size_t nodes) { return hardware_rma(node, nodes, transactions); };
  } else {
    units.messages = [&transactions](NodeId node, std::size_t nodes) {
      return hardware_messages(node, nodes, transactions);
    };
  }
  return units;
}
#else
std::string why_not_hardware() {
  return "built without the simulation of the hardware";
}
Units hardware_units(std::string_view, Transactions&) {
  return software_units();
}
#endif

const UnitRow* row_of(std::span<const UnitRow> rows, std::string_view name, std::string_view unit) noexcept {
  const auto row = std::ranges::find_if(
      rows, [&](const UnitRow& each) { return each.unit == unit && name.starts_with(each.cases); });
  return row == rows.end() ? nullptr : &*row;
}

std::optional<std::vector<UnitRow>> read_unit_rows(const std::filesystem::path& path, std::string& problem) {
  std::vector<UnitRow> rows;
  std::ifstream file(path);
  if (!file) {
    problem = "cannot open '" + path.string() + "'";
    return std::nullopt;
  }
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    UnitRow row;
    std::string place;
    if (!(words >> row.cases)) continue;
    words >> row.unit >> place >> std::ws;
    std::getline(words, row.reason);
    const bool is_known = place == "hardware" || place == "long" || place == "software";
    if (!is_known || std::ranges::find(kHardwareUnits, row.unit) == kHardwareUnits.end() ||
        row.reason.empty() != (place != "software")) {
      problem = path.string() + ':' + std::to_string(number) +
                ": wants CASES translation|tag|messages|commands|rma|node, then hardware, long, or software and why";
      return std::nullopt;
    }
    row.place = place == "hardware" ? UnitRow::Place::Hardware
                : place == "long"   ? UnitRow::Place::Long
                                    : UnitRow::Place::Software;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace stopbit::nic
