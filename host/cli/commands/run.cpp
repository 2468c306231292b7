#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "appliance_page.hpp"
#include "host/appliance/appliance.hpp"
#include "host/appliance/confinement.hpp"
#include "host/appliance/distribution.hpp"
#include "host/appliance/entitlements.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/appliance/housekeeper.hpp"
#include "host/appliance/last_hour.hpp"
#include "host/appliance/publications.hpp"
#include "host/appliance/reader_watch.hpp"
#include "host/appliance/status.hpp"
#include "host/cli/common/about_page.hpp"
#include "host/cli/common/appliance_metrics.hpp"
#include "host/cli/common/appliance_text.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/confiner.hpp"
#include "host/cli/common/error_desk.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/gap_desk.hpp"
#include "host/cli/common/log.hpp"
#include "host/cli/common/market_pages.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/reloader.hpp"
#include "host/cli/common/service.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/start_check.hpp"
#include "host/cli/common/text.hpp"
#include "host/monitor/control/metrics.hpp"
#include "host/monitor/control/page_policy.hpp"
#include "host/monitor/control/query.hpp"
#include "host/monitor/control/server.hpp"
#include "host/os/clock.hpp"
#include "host/os/readable.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/read_file.hpp"

namespace stopbit::tools {
namespace {

constexpr auto kStep = std::chrono::milliseconds(50);

struct RunArguments {
  std::string settings;
  bool check = false;
  bool quiet = false;
};

std::optional<appliance::Settings> load_settings(const std::string& path) {
  claim_file(path);
  Diagnostics diagnostics;
  auto settings = appliance::load(path, diagnostics);
  write_stderr(diagnostics.format());
  return settings;
}

/// The endpoints of the settings. Throws if a token is none.
control::Options endpoints(const appliance::ControlSettings& settings) {
  Result<control::Options> options = endpoints_of(settings);
  if (!options) throw ToolError(kExitRejected, options.message());
  return std::move(options).value();
}

/// A warning for an operator who has opened HTTP to others; empty: none.
std::string exposure_of(const appliance::ControlSettings& doors) {
  constexpr std::uint32_t kLoopback = 127;
  if (!doors.http || doors.http->address >> 24 == kLoopback) return {};
  const std::string where = "HTTP on " + net::to_text(*doors.http) + ": ";
  if (doors.certificate.empty()) return where + "without a certificate the token crosses the network unencrypted";
  if (doors.token_file.empty() && doors.client_ca.empty()) {
    return where + "without token_file and client_ca the page is open to every host that reaches this address";
  }
  return {};
}

/// Warnings for files of passwords, tokens and keys that every user may read.
std::vector<std::string> exposed_secrets(const appliance::Settings& settings) {
  std::vector<std::string> files = {settings.control.token_file, settings.control.key};
  for (const appliance::PortSettings& port : settings.ports) files.push_back(port.source->password_file());
  for (const appliance::ReplaySettings& replay : settings.replays) files.push_back(replay.password_file);
  if (settings.nic) {
    for (const appliance::PublishSettings& published : settings.nic->publish) files.push_back(published.token_file);
    if (settings.nic->udp) files.push_back(settings.nic->udp->token_file);
  }
  std::vector<std::string> warnings;
  for (const std::string& file : std::set<std::string>(files.begin(), files.end())) {
    if (std::string text = os::exposure_of_secret(file); !text.empty()) warnings.push_back(std::move(text));
  }
  return warnings;
}

/// Answers clients; on the thread of the housekeeper.
class Desk {
 public:
  Desk(std::string settings_file, appliance::Appliance& appliance, const appliance::Housekeeper& housekeeper,
       appliance::ReaderWatch& watch, opener::Client* opener, Log& log)
      : settings_file_(std::move(settings_file)),
        appliance_(appliance),
        housekeeper_(housekeeper),
        watch_(watch),
        log_(log),
        reader_(open_own(appliance)),
        errors_(appliance),
        gaps_(appliance, housekeeper),
        reloader_(settings_file_, appliance, opener),
        audit_(appliance.settings().state_folder, appliance::kCommandFiles, appliance.settings().keep_days) {}

  /// For `reload`; it must outlive the desk's work.
  void serve(control::Server& server) noexcept { server_ = &server; }

  /// Periodic work. `refused`: clients that were turned away so far.
  void step(std::uint64_t refused) {
    const std::uint64_t now = os::monotonic_clock_ns();
    errors_.step();
    gaps_.step();
    appliance_.housekeeper_counter_set().log_lines_lost.set(log_.lost());
    if (take_hangup()) (void)reload("SIGHUP");
    if (now >= next_clean_ns_) {
      next_clean_ns_ = now + kCleanNs;
      audit_.clean(appliance::now_of_machine());
    }
    if (last_hour_.is_due(now)) last_hour_.add(look(), now);
    if (refused == refused_ || now < next_refusal_ns_) return;
    next_refusal_ns_ = now + kRefusalsNs;
    log_.write({appliance::Change::Level::Warning,
                "clients refused",
                {{"more", std::to_string(refused - refused_)}, {"all", std::to_string(refused)}}});
    refused_ = refused;
  }

  std::string answer(const control::Command& command) {
    using Kind = control::Command::Kind;
    if (command.kind != Kind::Status) pages_.clear();
    switch (command.kind) {
      case Kind::Status: return page("/status.json")->body;
      case Kind::Stop: stops_ = true; return "the appliance is stopping";
      case Kind::Load: return load(command.image);
      case Kind::Rollback: return roll_back(command.image);
      case Kind::Reload: return reload("command");
      case Kind::Freeze: return freeze();
      case Kind::Entitle: return entitle();
      case Kind::Publish: return publish();
    }
    return "error: unknown command";
  }
  /// Keeps a command in the files of the audit and, unless it only looks, in the log.
  void audit(const control::Asked& asked) {
    constexpr std::size_t kMostCommand = 200;
    constexpr std::size_t kMostAnswer = 400;
    if (asked.line == "status") return;
    if (!asked.is_trusted && asked.answer.starts_with("error") && !keeps_refused()) return;
    const std::string command(asked.line.substr(0, kMostCommand));
    const std::string answer(asked.answer.substr(0, kMostAnswer));
    const std::uint64_t now = os::wall_clock_ns();
    audit_.append(fmt::format(R"({{"time":"{}","time_ns":{},"user":{},"process":{},"command":{},"answer":{}}})",
                              os::time_text(now), now, asked.user, asked.process, json(command), json(answer)),
                  now);
    log_.write({audit_.is_failing() ? appliance::Change::Level::Warning : appliance::Change::Level::Info,
                "command",
                {{"command", command},
                 {"user", std::to_string(asked.user)},
                 {"process", std::to_string(asked.process)},
                 {"answer", answer},
                 {"kept", audit_.is_failing() ? audit_.problem() : "yes"}}});
  }
  /// As it was up to a tenth of a second ago: however many ask, it is not made more often.
  std::optional<control::Page> page(std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    // Of other pages a query makes no other page.
    if (path != "/book.json" && path != "/instruments.json" && path != "/gap.json") target = path;
    if (pages_.size() > kMostPages) pages_.clear();
    const auto now = std::chrono::steady_clock::now();
    auto known = pages_.find(target);
    if (known == pages_.end() || now - known->second.made >= kPageAge) {
      auto made = make_page(target);
      if (!made) return std::nullopt;
      known = pages_.insert_or_assign(std::string(target), MadePage{std::move(*made), now}).first;
    }
    return known->second.page;
  }
  [[nodiscard]] bool stops() const noexcept { return stops_; }

 private:
  /// What users with some commands only are refused is kept so often in a minute, so that they cannot fill the day's
  /// file. The log says how many were left out.
  bool keeps_refused() {
    constexpr std::size_t kMostInMinute = 60;
    const auto now = std::chrono::steady_clock::now();
    if (now - audit_minute_ >= std::chrono::minutes(1)) {
      if (audit_lines_ > kMostInMinute) {
        log_.write({appliance::Change::Level::Warning,
                    "refused commands not kept",
                    {{"count", std::to_string(audit_lines_ - kMostInMinute)},
                     {"why", "users who may give some commands only gave more than 60 in a minute"}}});
      }
      audit_minute_ = now;
      audit_lines_ = 0;
    }
    return ++audit_lines_ <= kMostInMinute;
  }
  static counters::Reader open_own(const appliance::Appliance& appliance) {
    auto reader = counters::Reader::over(appliance.segment().bytes());
    if (!reader) throw ToolError(kExitEnvironment, reader.message());
    return std::move(reader).value();
  }
  struct MadePage {
    control::Page page;
    std::chrono::steady_clock::time_point made;
  };
  std::optional<control::Page> make_page(std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    const std::string_view query = target.substr(std::min(target.size(), path.size() + 1));
    if (path == "/") return control::Page{"text/html; charset=utf-8", std::string(kAppliancePage), page_policy_};
    if (path == "/about.json") return control::Page{"application/json", about_.to_json(appliance_)};
    if (path == "/gap.json") {
      return control::Page{"application/json",
                           gaps_.page(control::query_value(query, "channel"), control::query_value(query, "key"))};
    }
    if (path == "/status.json") return control::Page{"application/json", appliance::to_json(look())};
    if (path == "/errors.json") return control::Page{"application/json", errors_.to_json(look())};
    if (path == "/history.json") return control::Page{"application/json", history()};
    if (path == "/instruments.json")
      return control::Page{"application/json", market_pages_.instruments(ring_of(query))};
    if (path == "/book.json") {
      return control::Page{"application/json",
                           market_pages_.book(ring_of(query), control::query_value(query, "instrument"))};
    }
    if (path == "/metrics") return control::Page{"text/plain; version=0.0.4", metrics()};
    return std::nullopt;
  }
  [[nodiscard]] appliance::StatusReport look() const {
    return appliance::read_status(reader_, appliance::now_of_machine(), &watch_);
  }
  /// The ring of events with the number `market` in status.json; empty if there is none.
  [[nodiscard]] std::string ring_of(std::string_view query) const {
    const std::string text = control::query_value(query, "market");
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const appliance::StatusReport status = look();
    const bool is_good = error == std::errc() && end == text.data() + text.size() && number < status.markets.size();
    return is_good ? status.markets[number].name : std::string();
  }
  [[nodiscard]] std::string metrics() const {
    const appliance::StatusReport status = look();
    return control::metrics_text(reader_, extra_metrics(status), appliance::present_in(reader_, status));
  }
  [[nodiscard]] std::string history() const {
    std::string gaps;
    for (const appliance::GapEntry& gap : housekeeper_.recent_gaps()) {
      // With the key by which /gap.json knows it.
      gaps += fmt::format(R"({}{{"key":"{}",{})", gaps.empty() ? "" : ",", GapDesk::key_of(gap),
                          appliance::to_json(gap).substr(1));
    }
    return fmt::format(R"({{"step_ns":{},"points":{},"line_losses":{},"gaps":[{}]}})", appliance::LastHour::kStepNs,
                       last_hour_.to_json(), last_hour_.line_losses_json(), gaps);
  }
  std::string freeze() {
    const auto& recorder = appliance_.settings().recorder;
    if (!recorder) return "error: nothing is recorded; set [recorder] in the settings";
    appliance_.recording()->freeze();
    log_.write({appliance::Change::Level::Info, "freeze", {{"by", "command"}}});
    return "keeping the capture of the last " + os::duration_text(recorder->before_ns) + " and of the next " +
           os::duration_text(recorder->after_ns);
  }
  std::string entitle() {
    const auto& nic = appliance_.settings().nic;
    if (!nic || nic->broker.empty()) return "error: no broker; set [nic] broker in the settings";
    Diagnostics diagnostics;
    auto entitlements = appliance::load_entitlements(nic->entitlements_file, nic->ring_names(), diagnostics);
    const std::string findings = diagnostics.format();
    log_.write(findings);
    const std::string answer = entitlements ? std::to_string(entitlements->size()) + " entitlements in force"
                                            : "the new entitlements were rejected; the previous ones remain in force";
    log_.write({entitlements ? appliance::Change::Level::Info : appliance::Change::Level::Error,
                "entitle",
                {{"answer", answer}}});
    if (!entitlements) return "error: " + answer + "; " + findings.substr(0, findings.find('\n'));
    appliance_.distribution()->entitle(std::move(*entitlements));
    return answer;
  }
  std::string publish() {
    if (appliance_.distribution() == nullptr) return "error: no node to publish with; set [nic] in the settings";
    if (settings_file_ == "-") return "error: the settings came from standard input, which cannot be read again";
    Diagnostics diagnostics;
    const auto settings = appliance::load(settings_file_, diagnostics);
    const std::string findings = diagnostics.format();
    log_.write(findings);
    Result<std::string> answer = Failure{findings.substr(0, findings.find('\n'))};
    if (settings && settings->nic) answer = appliance_.distribution()->republish(*settings->nic);
    if (settings && !settings->nic) answer = Failure{"[nic] was removed from the settings"};
    const std::string text = answer ? answer.value() : "nothing changed: " + answer.message();
    log_.write(
        {answer ? appliance::Change::Level::Info : appliance::Change::Level::Error, "publish", {{"answer", text}}});
    return (answer ? "" : "error: ") + text;
  }
  /// `by`: what has asked for it.
  std::string reload(const std::string& by) {
    if (server_ == nullptr) return "error: not yet";
    pages_.clear();
    const Result<std::string> answer = reloader_.reload(*server_, log_);
    (void)reader_.refresh();  // the appliance's own
    watch_.watch(appliance::ring_places(look(), reader_));
    log_.write({answer ? appliance::Change::Level::Info : appliance::Change::Level::Error,
                "reload",
                {{"by", by}, {"answer", answer ? answer.value() : answer.message()}}});
    return answer ? answer.value() : "error: " + answer.message();
  }
  std::string load(const std::string& image) {
    Diagnostics diagnostics;
    return tell_load("load", image, appliance_.reload(image, diagnostics), diagnostics);
  }
  std::string roll_back(const std::string& image) {
    Diagnostics diagnostics;
    return tell_load("rollback", image, appliance_.roll_back(image, diagnostics), diagnostics);
  }
  std::string tell_load(const char* what, const std::string& image, const Result<std::string>& answer,
                        const Diagnostics& diagnostics) {
    const std::string findings = diagnostics.format();
    log_.write(findings);
    log_.write({answer ? appliance::Change::Level::Info : appliance::Change::Level::Error,
                what,
                {{"image", image}, {"answer", answer ? answer.value() : answer.message()}}});
    if (answer) return answer.value();
    // The answer is one line: the first finding.
    return "error: " + answer.message() + (findings.empty() ? "" : "; " + findings.substr(0, findings.find('\n')));
  }

  static constexpr std::uint64_t kRefusalsNs = 10'000'000'000;  ///< Strangers may not fill the log.
  static constexpr std::uint64_t kCleanNs = 3'600'000'000'000;
  static constexpr std::size_t kMostPages = 64;  ///< In the cache: clients choose the queries.
  static constexpr auto kPageAge = std::chrono::milliseconds(100);

  std::string settings_file_;
  appliance::Appliance& appliance_;
  const appliance::Housekeeper& housekeeper_;
  appliance::ReaderWatch& watch_;
  Log& log_;
  counters::Reader reader_;
  appliance::LastHour last_hour_;
  ErrorDesk errors_;
  GapDesk gaps_;
  AboutPage about_;
  const std::string page_policy_ = control::page_policy(kAppliancePage);
  Reloader reloader_;
  appliance::DayLog audit_;
  std::chrono::steady_clock::time_point audit_minute_;
  std::size_t audit_lines_ = 0;  ///< In that minute, of refused commands.
  control::Server* server_ = nullptr;
  std::uint64_t next_clean_ns_ = 0;
  MarketPages market_pages_;
  std::map<std::string, MadePage, std::less<>> pages_;  ///< Those that there are, by path.
  std::uint64_t refused_ = 0;
  std::uint64_t next_refusal_ns_ = 0;
  bool stops_ = false;
};

/// Files that the appliance goes on to use: it makes rings and writes gaps, and reads images and captures.
appliance::Confinement confinement_of(const std::string& file, const appliance::Settings& settings, bool has_opener) {
  const auto folder_of = [](const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? std::string(".") : folder;
  };
  appliance::Confinement confinement;
  confinement.has_opener = has_opener;
  confinement.has_card = settings.card.has_value();
  // The threads of multicast lines need a part of what the thread nic does.
  confinement.has_nic = settings.nic.has_value() || !settings.multicasts.empty();
  confinement.has_udp =
      (settings.nic && settings.nic->udp) ||
      std::any_of(settings.multicasts.begin(), settings.multicasts.end(),
                  [](const appliance::MulticastSettings& multicast) { return multicast.refill.has_value(); });
  confinement.has_connections = !settings.replays.empty() || !appliance::servers_of(settings).empty();
  confinement.written = {os::own_folder()};
  // With an opener gaps and recordings are read, at most.
  std::vector<std::string>& logs = has_opener ? confinement.read : confinement.written;
  logs.push_back(settings.state_folder);
  if (settings.recorder) logs.push_back(settings.recorder->folder);
  if (!settings.control.socket.empty()) confinement.written.push_back(folder_of(settings.control.socket));
  if (settings.nic && !settings.nic->broker.empty()) {
    confinement.written.push_back(folder_of(settings.nic->broker));
    // Entitlements are read again, with the names of users and groups.
    confinement.read.insert(confinement.read.end(), {folder_of(settings.nic->entitlements_file), "/etc/passwd",
                                                     "/etc/group", "/etc/nsswitch.conf"});
  }
  if (settings.nic && file != "-") {
    // [[publish]] is read again, which takes all of the settings.
    confinement.read.push_back(folder_of(file));
    for (const appliance::FeedSettings& feed : settings.feeds) confinement.read.push_back(folder_of(feed.file));
    for (const appliance::PublishSettings& published : settings.nic->publish) {
      if (!published.token_file.empty()) confinement.read.push_back(folder_of(published.token_file));
    }
  }
  confinement.read.insert(confinement.read.end(), {"/proc/self", "/sys/devices/system/cpu", "/etc/localtime"});
  for (const appliance::FeedSettings& feed : settings.feeds) {
    if (feed.calendar) {
      // A reload reads calendars again, with their zones and holidays.
      confinement.read.insert(confinement.read.end(), {"/usr/share/zoneinfo", folder_of(feed.calendar_file)});
    }
    for (const feed::Image& image : feed.description.images) {
      if (has_opener) break;
      for (const std::string& path : image.templates) confinement.read.push_back(folder_of(path));
      if (!image.firmware.empty()) confinement.read.push_back(folder_of(image.firmware));
    }
    for (const feed::Channel& channel : feed.description.channels) {
      if (channel.ring.find('/') != std::string::npos) confinement.written.push_back(folder_of(channel.ring));
    }
  }
  confinement.shares_memory = settings.nic && !settings.nic->broker.empty();
  // A provider of libfabric that talks to other hosts does so in a process of its own.
  confinement.makes_connections =
      settings.nic && !settings.nic->listen.empty() && !nic::leaves_host(settings.nic->provider);
  for (const appliance::PortSettings& port : settings.ports) {
    if (!port.source->has_known_calls()) confinement.filters_calls = false;
  }
  return confinement;
}

/// Reads the images and tokens that a start needs besides the settings, and says what it found.
int check(const appliance::Settings& settings) {
  StartCheck found(settings);
  for (const appliance::FeedSettings& feed : settings.feeds) {
    for (std::size_t i = 0; i < feed.description.images.size(); ++i) {
      Diagnostics diagnostics;
      const auto program = appliance::load_image(feed.description.images[i], diagnostics);
      bool is_good = program.has_value();
      std::set<std::pair<std::string, std::uint32_t>> maps;
      for (const feed::Channel& channel : feed.description.channels) {
        if (channel.image == i && !channel.map.empty()) maps.insert({channel.map, channel.depth});
      }
      for (const auto& [map, depth] : maps) {
        is_good = is_good && appliance::load_map(map, depth, *program, diagnostics).has_value();
      }
      write_stderr(diagnostics.format());
      if (!is_good) return kExitRejected;
      found.add_image(feed.description.name, feed.description.images[i].name, *program);
    }
    if (const std::string problem = feed::open_groups(feed.description); !problem.empty()) {
      print_stderr("warning: feed '{}': {}\n", feed.description.name, problem);
    }
  }
  for (const std::string& warning : exposed_secrets(settings)) print_stderr("warning: {}\n", warning);
  (void)endpoints(settings.control);
  using appliance::PublishSettings;
  for (const auto way : {&PublishSettings::to_shm, &PublishSettings::to_fabric, &PublishSettings::to_udp}) {
    if (!settings.nic) break;
    const auto rings = appliance::publications_of(*settings.nic, way);
    if (!rings) throw ToolError(kExitRejected, "[[publish]]: " + rings.message());
  }
  if (settings.nic && settings.nic->udp) {
    const auto udp = appliance::udp_options_of(*settings.nic->udp);
    if (!udp) throw ToolError(kExitRejected, "[nic.udp]: " + udp.message());
  }
  Output out = Output::open("-");
  out.write(found.text());
  out.close();
  for (const std::string& missing : found.missing()) print_stderr("stopbit: {}\n", missing);
  return found.missing().empty() ? kExitDone : kExitEnvironment;
}

std::vector<std::string> ring_places(const appliance::Appliance& appliance) {
  const auto reader = counters::Reader::over(appliance.segment().bytes());
  if (!reader) throw ToolError(kExitEnvironment, reader.message());
  return appliance::ring_places(appliance::read_counters(reader.value(), {}), reader.value());
}

int run(const RunArguments& arguments) {
  auto settings = load_settings(arguments.settings);
  if (!settings) return kExitRejected;
  if (arguments.check) return check(*settings);
  // First, while there is one thread and little memory. It outlives the appliance, which renames files by way of it.
  Confiner confiner(*settings);
  catch_stop_signals();
  catch_hangups();
  Service service = Service::from_environment();
  Log log(STDERR_FILENO);
  Diagnostics diagnostics;
  auto made = appliance::Appliance::make(std::move(*settings), {.opener = confiner.opener()}, diagnostics);
  log.write(diagnostics.format());
  if (!made) throw ToolError(diagnostics.has_errors() ? kExitRejected : kExitEnvironment, made.message());
  appliance::Appliance& appliance = *made.value();
  appliance::Housekeeper housekeeper(appliance, {}, [&log](const appliance::Change& change) { log.write(change); });
  if (const Status prepared = housekeeper.prepare(); !prepared) {
    throw ToolError(kExitEnvironment, prepared.message());
  }
  for (const std::string& note : appliance.notes()) {
    log.write({appliance::Change::Level::Warning, "note", {{"text", note}}});
  }
  for (const std::string& warning : exposed_secrets(appliance.settings())) {
    log.write({appliance::Change::Level::Warning, "note", {{"text", warning}}});
  }
  if (!appliance.on_card().empty()) {
    const appliance::CardSettings& card = *appliance.settings().card;
    const bool is_vfio = !card.device.empty();
    log.write(
        {appliance::Change::Level::Info,
         "card",
         {{"decodes", appliance.on_card()}, {is_vfio ? "device" : "xclbin", is_vfio ? card.device : card.xclbin}}});
  }
  appliance::ReaderWatch watch(ring_places(appliance));
  housekeeper.watch_readers(watch);
  Desk desk(arguments.settings, appliance, housekeeper, watch, confiner.opener(), log);
  const appliance::ControlSettings& doors = appliance.settings().control;
  control::Options options = endpoints(doors);
  options.audit = [&](const control::Asked& asked) { desk.audit(asked); };
  auto server = control::Server::open(
      options, [&](const control::Command& command) { return desk.answer(command); },
      [&](std::string_view path) { return desk.page(path); });
  if (!server) throw ToolError(kExitEnvironment, server.message());
  desk.serve(*server.value());
  if (const std::string text = exposure_of(doors); !text.empty()) {
    log.write({appliance::Change::Level::Warning, "note", {{"text", text}}});
  }
  if (appliance.settings().confined) {
    confiner.confine(confinement_of(arguments.settings, appliance.settings(), confiner.opener() != nullptr), log);
  }
  watch.start([&] { confiner.filters().apply(appliance::ThreadKind::Readers); });
  log.start([&] { confiner.filters().apply(appliance::ThreadKind::Log); });  // confined as well
  if (const auto started = appliance.start(&confiner.filters()); !started) {
    throw ToolError(kExitEnvironment, started.message());
  }
  confiner.filters().apply(appliance::ThreadKind::Housekeeper);
  log.write({appliance::Change::Level::Info, "started", {{"name", appliance.settings().name}}});
  service.ready();
  while (!stop_requested() && !desk.stops() && !appliance.ended()) {
    housekeeper.step();
    confiner.step(log);
    desk.step(server.value()->refused());
    server.value()->poll();
    service.status(housekeeper.summary());
    service.alive();
    std::this_thread::sleep_for(kStep);
  }
  service.stopping();
  appliance.stop();
  housekeeper.step();
  housekeeper.finish();
  log.write({appliance::Change::Level::Info, "stopped", {{"name", appliance.settings().name}}});
  if (!arguments.quiet) {
    const auto reader = counters::Reader::over(appliance.segment().bytes());
    if (reader) {
      log.write(stat_text(appliance::read_status(reader.value(), appliance::now_of_machine())));
    }
  }
  return kExitDone;
}

}  // namespace

Command run_command() {
  const auto arguments = std::make_shared<RunArguments>();
  return {
      .name = "run",
      .summary = "Runs an appliance: live feeds from ports to rings",
      .description =
          "Receives the feeds named in the settings, merges lines A and B, decodes, and publishes the records in "
          "rings in shared memory. It runs until SIGTERM or SIGINT, or until all its ports end (captures do). Losses, "
          "resets and stale channels become event records in the ring. Changes of state are logged on stderr, one per "
          "line. At the end it prints where every packet and every sequence number went.\n"
          "\n"
          "`stopbit ready`, `stat`, `gaps` and `top` show a running appliance. They only read shared memory.\n"
          "\n"
          "A running appliance takes commands at the socket of [control], one per line: status, load IMAGE, rollback "
          "IMAGE, reload, freeze, entitle (reads the entitlements again), publish (reads [[publish]] again; if a "
          "changed setting cannot change at run time, the reply names it and nothing changes), stop. `stopbit ctl` "
          "sends them.\n"
          "\n"
          "SIGHUP, `systemctl reload` and the command reload read the settings again, with tokens, certificates and "
          "images. What can change at run time is in force from then on: users and permissions of the control socket, "
          "token, certificates and hosts of HTTP, [[publish]], entitlements, feeds, channels and calendars, and images "
          "whose files have changed. A channel that says the same as before loses nothing. The log names every changed "
          "key that needs a restart.\n"
          "\n"
          "appliance.toml:\n"
          "\n"
          "  name = \"demo\"               # stopbit stat demo\n"
          "  state = \"/var/lib/stopbit/demo\"  # gaps of the last days; one appliance per folder\n"
          "  [[agent]] name, core, idle = spin|yield|sleep|backoff, sleep, batch\n"
          "  [[port]] name, agent, kind = socket|dpdk|capture, interface | device | file;\n"
          "  several ports of one device are its receive queues\n"
          "  engine = native|quick|interp|card: the decode engine;\n"
          "  [card] xclbin, index | device, bar, offset; fallback, ingress, clock, mac, address, fcs\n"
          "  [recorder] folder, file, line, frozen, before, after, queue\n"
          "  [nic] listen, subscribers, requests_per_second, broker, entitlements: for other processes and\n"
          "  hosts; [nic.udp] listen, token_file, encryption, frame, bytes_per_second: to hosts, encrypted;\n"
          "  [[publish]] ring, as, to, token_file, allow, lossless, detach_after, bytes_per_second\n"
          "  [[multicast]] ring, name, a, b, interface_a, interface_b, ttl, dscp, loop, mtu, heartbeat,\n"
          "  bytes_per_second, buffer, patience, refill, history: a ring on two multicast lines\n"
          "  [http] listen, token_file, allowed_hosts, certificate, key, client_ca: metrics, a page;\n"
          "  [control] socket, users, allow = [{user, commands}]\n"
          "  [[feed]] file = \"feed.toml\", a = port of line A, b = port of line B, channels\n"
          "\n"
          "doc/appliance-settings.md lists all keys.",
      .options =
          {{.names = "",
            .value = "APPLIANCE.toml",
            .help = "Settings; paths in them are relative to the folder of this file.",
            .target = &arguments->settings,
            .hint = file_hint({".toml"}),
            .required = true},
           {.names = "--check",
            .value = "",
            .help =
                "Only checks settings, feeds, images and tokens, and prints what it found: interfaces, cores, groups, "
                "images, memory, free space, clock. Status 3 if an interface, device or core is not there, "
                "or the memory for the rings.",
            .target = &arguments->check},
           {.names = "-q,--quiet",
            .value = "",
            .help = "Prints no accounting at the end.",
            .target = &arguments->quiet}},
      .examples = {{"stopbit run /usr/share/stopbit/example/appliance.toml",
                    "plays the bundled capture for 55 s; meanwhile `stopbit top` shows it"},
                   {"stopbit run appliance.toml", "until SIGTERM"},
                   {"stopbit run appliance.toml --check", "before a change goes live"}},
      .run = [arguments] { return run(*arguments); },
      .runs_until_stopped = true};
}

}  // namespace stopbit::tools
