#pragma once

#include <string>
#include <vector>

#include "host/appliance/settings.hpp"
#include "microcode/program.hpp"

/// What `stopbit run --check` finds on this machine, beside the settings themselves.
namespace stopbit::tools {

class StartCheck {
 public:
  /// Looks at interfaces, cores, folders, memory and clock.
  explicit StartCheck(const appliance::Settings& settings);

  /// An image that was loaded.
  void add_image(const std::string& feed, const std::string& image, const Program& program);
  /// For people: a line for each finding.
  [[nodiscard]] std::string text() const;
  /// What an appliance cannot start without; empty: nothing is missing.
  [[nodiscard]] const std::vector<std::string>& missing() const noexcept { return missing_; }

 private:
  struct Line {
    std::string what;
    std::string found;
  };
  void add(std::string what, std::string found) { lines_.push_back({std::move(what), std::move(found)}); }
  void look_at_agents(const appliance::Settings& settings);
  void look_at_ports(const appliance::Settings& settings);
  void look_at_feeds(const appliance::Settings& settings);
  void look_at_card(const appliance::Settings& settings);
  void look_at_memory(const appliance::Settings& settings);
  void look_at_folders(const appliance::Settings& settings);
  void look_at_clock();
  void look_at_carriers(const appliance::Settings& settings);
  void look_at_multicasts(const appliance::Settings& settings);
  void look_at_listener(const std::string& what, const std::string& listen, const std::string& how);

  std::vector<Line> lines_;
  std::vector<std::string> missing_;
};

}  // namespace stopbit::tools
