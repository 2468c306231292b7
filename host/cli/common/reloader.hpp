#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/appliance/appliance.hpp"
#include "host/cli/common/log.hpp"
#include "host/monitor/control/server.hpp"

namespace stopbit::tools {

/// The endpoints of the settings, with their token; a Failure if its file is none. `control::Options` without answers.
[[nodiscard]] Result<control::Options> endpoints_of(const appliance::ControlSettings& settings);

/// A file of the settings. A confined process has its opener read it.
[[nodiscard]] Result<std::string> read_granted(const std::string& path);

/// Keys whose values differ, of those that need a restart, sorted: "feed.toml: channel[seven].window.packets".
[[nodiscard]] std::vector<std::string> keys_for_restart(const std::map<std::string, std::string>& then,
                                                        const std::map<std::string, std::string>& now);

/// Applies settings that were read again to a running appliance: whatever can change, and it names the rest.
class Reloader {
 public:
  Reloader(std::string settings_file, appliance::Appliance& appliance)
      : settings_file_(std::move(settings_file)), appliance_(appliance), said_(appliance.settings().said) {}

  /// What was applied, and what needs a restart. After a failure the settings are as they were; it says which part was
  /// wrong. Findings go to the log.
  [[nodiscard]] Result<std::string> reload(control::Server& server, Log& log);

 private:
  [[nodiscard]] Result<std::string> apply(const appliance::Settings& settings, control::Server& server, Log& log);

  std::string settings_file_;
  appliance::Appliance& appliance_;
  std::map<std::string, std::string> said_;  ///< At the start.
};

}  // namespace stopbit::tools
