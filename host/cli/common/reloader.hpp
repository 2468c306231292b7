#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/appliance/appliance.hpp"
#include "host/appliance/opener/client.hpp"
#include "host/cli/common/log.hpp"
#include "host/monitor/control/server.hpp"

namespace stopbit::tools {

/// The endpoints of the settings, with their token; a Failure if its file is none. `control::Options` without answers.
[[nodiscard]] Result<control::Options> endpoints_of(const appliance::ControlSettings& settings);

/// A file of the settings. A confined process has its opener read it.
[[nodiscard]] Result<std::string> read_granted(const std::string& path);

/// Keys whose values differ and of which `is_taken` is not true, sorted: "feed.toml: channel[seven].window.packets".
[[nodiscard]] std::vector<std::string> keys_for_restart(const std::map<std::string, std::string>& then,
                                                        const std::map<std::string, std::string>& now,
                                                        const std::function<bool(const std::string&)>& is_taken);

/// Applies settings that were read again to a running appliance: whatever can change, and it names the rest.
class Reloader {
 public:
  /// `opener`: that of a confined process; null: the process reads files itself.
  Reloader(std::string settings_file, appliance::Appliance& appliance, opener::Client* opener)
      : settings_file_(std::move(settings_file)),
        appliance_(appliance),
        opener_(opener),
        said_(appliance.settings().said) {}

  /// What was applied, and what needs a restart. After a failure the settings are as they were; it says which part was
  /// wrong. Findings go to the log.
  [[nodiscard]] Result<std::string> reload(control::Server& server, Log& log);

 private:
  [[nodiscard]] Result<std::string> apply(const appliance::Settings& settings, control::Server& server, Log& log);
  /// Everything that can fail of images and channels, then the change. `done`: what has changed.
  [[nodiscard]] Status change(const appliance::Settings& settings, appliance::ChannelChanges changes, Log& log,
                              std::vector<std::string>& done);
  [[nodiscard]] std::function<bool(const std::string&)> taken_by(const appliance::Settings& settings,
                                                                 const appliance::ChannelChanges& changes) const;
  /// Keys that need a restart.
  [[nodiscard]] std::vector<std::string> settle(const appliance::Settings& settings,
                                                const std::function<bool(const std::string&)>& is_taken);

  std::string settings_file_;
  appliance::Appliance& appliance_;
  opener::Client* opener_;
  std::map<std::string, std::string> said_;  ///< What runs.
};

}  // namespace stopbit::tools
