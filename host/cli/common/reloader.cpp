#include "host/cli/common/reloader.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "host/appliance/distribution.hpp"
#include "host/appliance/entitlements.hpp"
#include "host/os/config/toml.hpp"
#include "host/os/disk/disk.hpp"

namespace stopbit::tools {
namespace {

/// Keys that a running appliance applies. Of the others the change needs a restart.
constexpr std::array<std::string_view, 7> kLiveKeys = {"control.users",      "control.allow",    "http.token_file",
                                                       "http.allowed_hosts", "http.certificate", "http.key",
                                                       "http.client_ca"};

bool is_live(std::string_view key) {
  const auto begins = [&](std::string_view live) {
    return key.starts_with(live) && (key.size() == live.size() || key[live.size()] == '[');
  };
  return std::any_of(kLiveKeys.begin(), kLiveKeys.end(), begins) || key.starts_with("publish[");
}

std::string list_of(const std::vector<std::string>& words, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(words.size(), most); ++i) text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > most) text += " and " + std::to_string(words.size() - most) + " more";
  return text;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

Result<std::string> read_granted(const std::string& path) {
  std::string text;
  const int error = disk::read(path, config::kMaxFileBytes, text);
  if (error == 0) return text;
  std::string why = std::generic_category().message(error);
  // The opener has the files that the settings named at the start.
  if (error == EACCES) why += "; a file that the settings did not name at the start needs a restart";
  return Failure{"cannot read " + path + ": " + why};
}

Result<control::Options> endpoints_of(const appliance::ControlSettings& settings) {
  control::Options options;
  options.socket = settings.socket;
  options.users = settings.users;
  for (const appliance::CommandPermission& one : settings.allowed) {
    options.allowed.push_back({.user = one.user, .commands = one.commands});
  }
  options.http = settings.http;
  options.allowed_hosts = settings.allowed_hosts;
  options.read = [](const std::string& path) { return read_granted(path); };
  if (!settings.certificate.empty()) {
    options.tls =
        control::Tls{.certificate = settings.certificate, .key = settings.key, .client_ca = settings.client_ca};
  }
  if (settings.token_file.empty()) return options;
  constexpr std::size_t kMinTokenBytes = 16;
  constexpr std::size_t kMaxTokenBytes = 4'096;
  Result<std::string> token = read_granted(settings.token_file);
  if (!token) return token.failure();
  std::string text = token.value().substr(0, token.value().find_first_of("\r\n"));
  if (text.size() < kMinTokenBytes || text.size() > kMaxTokenBytes) {
    return Failure{settings.token_file + ": a token must have 16 to 4096 characters"};
  }
  options.token = std::move(text);
  return options;
}

std::vector<std::string> keys_for_restart(const std::map<std::string, std::string>& then,
                                          const std::map<std::string, std::string>& now) {
  std::vector<std::string> keys;
  const auto add = [&](const auto& from, const auto& other, bool both) {
    for (const auto& [key, value] : from) {
      const auto found = other.find(key);
      if (!is_live(key) && (found == other.end() || (both && found->second != value))) keys.push_back(key);
    }
  };
  add(then, now, true);
  add(now, then, false);
  std::sort(keys.begin(), keys.end());
  return keys;
}

Result<std::string> Reloader::reload(control::Server& server, Log& log) {
  if (settings_file_ == "-") return Failure{"the settings came from standard input, which cannot be read again"};
  Diagnostics diagnostics;
  const auto settings = appliance::load(settings_file_, read_granted, diagnostics);
  const std::string findings = diagnostics.format();
  log.write(findings);
  if (!settings) return Failure{"nothing changed: " + first_line(findings)};
  return apply(*settings, server, log);
}

Result<std::string> Reloader::apply(const appliance::Settings& settings, control::Server& server, Log& log) {
  // Addresses stay those of the start; a change of them is named below.
  const appliance::ControlSettings& then = appliance_.settings().control;
  appliance::ControlSettings doors = settings.control;
  doors.http = then.http;
  if (then.http && !settings.control.http) {
    // It listens until the restart, and does not lose its protection.
    doors.token_file = then.token_file;
    doors.allowed_hosts = then.allowed_hosts;
    doors.certificate = then.certificate;
    doors.key = then.key;
    doors.client_ca = then.client_ca;
  }
  Result<control::Options> options = endpoints_of(doors);
  if (!options) return Failure{"nothing changed: " + options.message()};
  if (const Status good = server.check(options.value()); !good) return Failure{"nothing changed: " + good.message()};
  Diagnostics diagnostics;
  Result<std::vector<std::string>> images = appliance_.reload_changed(diagnostics);
  const std::string findings = diagnostics.format();
  log.write(findings);
  if (!images) {
    return Failure{"nothing changed: " + images.message() + (findings.empty() ? "" : "; " + first_line(findings))};
  }
  std::vector<std::string> done;
  std::vector<std::string> wrong;
  if (const Status replaced = server.replace(options.value()); replaced) {
    done.emplace_back("users, permissions, hosts, token and certificates");
  } else {
    wrong.push_back(replaced.message());
  }
  if (!images.value().empty()) done.push_back("images " + list_of(images.value(), 8));
  appliance::Distribution* const distribution = appliance_.distribution();
  if (distribution != nullptr && settings.nic) {
    const Result<std::string> published = distribution->republish(*settings.nic);
    (published ? done : wrong).push_back("[[publish]]: " + (published ? published.value() : published.message()));
    if (!settings.nic->broker.empty()) {
      distribution->entitle(settings.nic->entitlements);
      done.push_back(std::to_string(settings.nic->entitlements.size()) + " entitlements");
    }
  }
  std::string text = "in force: " + list_of(done, done.size());
  const std::vector<std::string> later = keys_for_restart(said_, settings.said);
  if (!later.empty()) text += "; needs a restart: " + list_of(later, 20);
  if (wrong.empty()) return text;
  return Failure{list_of(wrong, wrong.size()) + (done.empty() ? "" : "; " + text)};
}

}  // namespace stopbit::tools
