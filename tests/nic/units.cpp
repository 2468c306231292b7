#include "tests/nic/units.hpp"

#include <fstream>
#include <sstream>

#include "tests/lib/nic/fixture.hpp"

#ifdef STOPBIT_HAS_UNITS
#include "tests/nic/hardware_atu.hpp"
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

bool is_hardware_unit(std::string_view unit) {
  return unit == "translation" || unit == "tag" || unit == "messages" || unit == "commands" || unit == "rma";
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
    std::string rest;
    if (!(words >> row.cases)) continue;
    if (!(words >> row.unit >> place) || words >> rest || !is_hardware_unit(row.unit) ||
        (place != "hardware" && place != "software")) {
      problem = path.string() + ':' + std::to_string(number) +
                ": wants CASES translation|tag|messages|commands|rma hardware|software";
      return std::nullopt;
    }
    if (place == "hardware") rows.push_back(row);
  }
  return rows;
}

}  // namespace stopbit::nic
