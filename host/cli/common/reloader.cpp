#include "host/cli/common/reloader.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "host/appliance/distribution.hpp"
#include "host/appliance/entitlements.hpp"
#include "host/os/config/keys.hpp"
#include "host/os/config/toml.hpp"
#include "host/os/disk/disk.hpp"

namespace stopbit::tools {
namespace {

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
                                          const std::map<std::string, std::string>& now,
                                          const std::function<bool(const std::string&)>& is_taken) {
  std::vector<std::string> keys;
  const auto add = [&](const auto& from, const auto& other, bool both) {
    for (const auto& [key, value] : from) {
      const auto found = other.find(key);
      if ((found == other.end() || (both && found->second != value)) && !is_taken(key)) keys.push_back(key);
    }
  };
  add(then, now, true);
  add(now, then, false);
  std::sort(keys.begin(), keys.end());
  return keys;
}

Result<std::string> Reloader::reload(control::Server& server, Log& log) {
  if (settings_file_ == "-") return Failure{"the settings came from standard input, which cannot be read again"};
  // First: files that are new in the settings are read by way of the opener. Without it none can be read.
  if (opener_ != nullptr) {
    if (const Status renewed = opener_->renew(); !renewed) return Failure{"nothing changed: " + renewed.message()};
  }
  Diagnostics diagnostics;
  const auto settings = appliance::load(settings_file_, read_granted, diagnostics);
  const std::string findings = diagnostics.format();
  log.write(findings);
  if (!settings) return Failure{"nothing changed: " + first_line(findings)};
  return apply(*settings, server, log);
}

Status Reloader::change(const appliance::Settings& settings, appliance::ChannelChanges changes, Log& log,
                        std::vector<std::string>& done) {
  Diagnostics diagnostics;
  const auto failure = [&](const std::string& why) {
    const std::string findings = diagnostics.format();
    log.write(findings);
    return Failure{why + (findings.empty() ? "" : "; " + first_line(findings))};
  };
  appliance::Appliance::ReadyChannels ready;
  const std::string text = to_text(changes);
  if (changes.obstacles.empty()) {
    auto prepared = appliance_.prepare_channels(settings, std::move(changes), diagnostics);
    if (!prepared) return failure(prepared.message());
    ready = std::move(prepared).value();
  }
  const Result<std::vector<std::string>> images = appliance_.reload_changed(diagnostics);
  if (!images) return failure(images.message());
  if (!images.value().empty()) done.push_back("images " + list_of(images.value(), 8));
  if (ready == nullptr) return Done{};
  for (const std::string& note : appliance_.change_channels(std::move(ready))) {
    log.write({appliance::Change::Level::Warning, "note", {{"text", note}}});
    done.push_back(note);
  }
  if (!text.empty()) done.push_back(text);
  return Done{};
}

/// Before the change: which keys it takes.
std::function<bool(const std::string&)> Reloader::taken_by(const appliance::Settings& settings,
                                                           const appliance::ChannelChanges& changes) const {
  std::set<std::string> files;     // what only channels and calendars are made of
  std::set<std::string> old_maps;  // compiled when their ring was made
  std::set<std::string> rings;
  for (const appliance::Settings* const one : {&appliance_.settings(), &settings}) {
    for (const appliance::FeedSettings& feed : one->feeds) {
      files.insert(feed.file);
      if (!feed.calendar_file.empty()) files.insert(feed.calendar_file);
      for (const feed::Channel& channel : feed.description.channels) {
        if (!channel.map.empty() && said_.contains(channel.map)) old_maps.insert(channel.map);
      }
    }
  }
  for (const appliance::WantedOutput& output : changes.outputs) rings.insert("rings.special." + output.ring);
  return [files, old_maps, rings, has_channels = changes.obstacles.empty()](const std::string& key) {
    if (old_maps.contains(key)) return false;
    const std::size_t colon = key.find(": ");
    if (rings.contains(key) || key.starts_with("feed[") || files.contains(key.substr(0, colon))) return has_channels;
    // Files without keys are those of holidays, and of maps that are new.
    const bool is_key = appliance::settings_keys().find(key.substr(0, key.find_first_of(".["))) != nullptr;
    return is_key ? appliance::settings_keys().is_live(key) : colon == std::string::npos && has_channels;
  };
}

/// What the keys that were taken say is what runs from here on.
std::vector<std::string> Reloader::settle(const appliance::Settings& settings,
                                          const std::function<bool(const std::string&)>& is_taken) {
  std::vector<std::string> later = keys_for_restart(said_, settings.said, is_taken);
  std::erase_if(said_, [&](const auto& one) { return is_taken(one.first); });
  for (const auto& [key, value] : settings.said) {
    if (is_taken(key)) said_.insert_or_assign(key, value);
  }
  return later;
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
  const appliance::ChannelChanges changes = appliance_.compare_channels(settings);
  const auto is_taken = taken_by(settings, changes);
  std::vector<std::string> done = {"users, permissions, hosts, token and certificates"};
  std::vector<std::string> wrong;
  if (const Status changed = change(settings, changes, log, done); !changed) {
    return Failure{"nothing changed: " + changed.message()};
  }
  if (const Status replaced = server.replace(options.value()); !replaced) {
    done.erase(done.begin());
    wrong.push_back(replaced.message());
  }
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
  std::vector<std::string> later = settle(settings, is_taken);
  later.insert(later.begin(), changes.obstacles.begin(), changes.obstacles.end());
  if (!later.empty()) text += "; needs a restart: " + list_of(later, 20);
  if (wrong.empty()) return text;
  return Failure{list_of(wrong, wrong.size()) + (done.empty() ? "" : "; " + text)};
}

}  // namespace stopbit::tools
