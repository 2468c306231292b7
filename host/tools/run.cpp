#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "appliance_page.hpp"
#include "host/appliance/appliance.hpp"
#include "host/appliance/confine.hpp"
#include "host/appliance/distribution.hpp"
#include "host/appliance/entitlements.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/appliance/history.hpp"
#include "host/appliance/keeper.hpp"
#include "host/appliance/publications.hpp"
#include "host/appliance/status.hpp"
#include "host/control/metrics.hpp"
#include "host/control/server.hpp"
#include "host/tools/appliance_metrics.hpp"
#include "host/tools/appliance_text.hpp"
#include "host/tools/commands.hpp"
#include "host/tools/error_desk.hpp"
#include "host/tools/files.hpp"
#include "host/tools/signals.hpp"

namespace stopbit::tools {
namespace {

constexpr auto kStep = std::chrono::milliseconds(50);

struct RunArguments {
  std::string settings;
  bool check = false;
  bool quiet = false;
};

void log(const appliance::Change& change) {
  fmt::print(stderr, "{} level={} {}\n", appliance::time_text(appliance::wall_clock_ns()),
             appliance::to_text(change.level), appliance::to_text(change));
}

std::optional<appliance::Settings> load_settings(const std::string& path) {
  Diagnostics diagnostics;
  auto settings = appliance::load(path, diagnostics);
  std::fputs(diagnostics.format().c_str(), stderr);
  return settings;
}

/// The token in the first line of a file.
std::string read_token(const std::string& path) {
  if (path.empty()) return {};
  constexpr std::size_t kMaxTokenBytes = 4'096;
  std::string token = read_file(path, kMaxTokenBytes);
  token.resize(std::min(token.find_first_of("\r\n"), token.size()));
  if (token.size() < 16) throw ToolError(kExitRejected, path + ": a token has at least 16 characters");
  return token;
}

/// What somebody should know who has opened HTTP to others; empty: nothing.
std::string exposure_of(const appliance::ControlSettings& doors) {
  constexpr std::uint32_t kLoopback = 127;
  if (!doors.http || doors.http->address >> 24 == kLoopback) return {};
  const std::string where = "HTTP on " + net::to_text(*doors.http) + ": ";
  if (doors.certificate.empty()) return where + "the token can be read on its way, there is no certificate";
  if (doors.token_file.empty() && doors.client_ca.empty()) {
    return where + "whoever reaches it sees the page, there is no token_file and no client_ca";
  }
  return {};
}

/// What clients are told; on the thread of the keeper.
class Desk {
 public:
  Desk(std::string settings_file, appliance::Appliance& appliance, const appliance::Keeper& keeper)
      : settings_file_(std::move(settings_file)),
        appliance_(appliance),
        keeper_(keeper),
        reader_(open_own(appliance)),
        errors_(appliance) {}

  /// Does what nobody has to ask for; now and then. `refused`: clients that were turned away so far.
  void step(std::uint64_t refused) {
    const std::uint64_t now = appliance::wall_clock_ns();
    errors_.step();
    if (history_.is_due(now)) history_.add(look());
    if (refused == refused_ || now < next_refusal_ns_) return;
    next_refusal_ns_ = now + kRefusalsNs;
    log({appliance::Change::Level::Warning,
         "clients refused",
         {{"more", std::to_string(refused - refused_)}, {"all", std::to_string(refused)}}});
    refused_ = refused;
  }

  std::string answer(const control::Command& command) {
    using Kind = control::Command::Kind;
    if (command.kind != Kind::Status) pages_.clear();
    switch (command.kind) {
      case Kind::Status: return page("/status.json")->body;
      case Kind::Stop: stops_ = true; return "the appliance stops";
      case Kind::Load: return load(command.image);
      case Kind::Freeze: return freeze();
      case Kind::Entitle: return entitle();
      case Kind::Publish: return publish();
    }
    return "error: unknown command";
  }
  /// As it was up to a tenth of a second ago: however many ask, it is not made more often.
  std::optional<control::Page> page(std::string_view path) {
    const auto now = std::chrono::steady_clock::now();
    auto known = pages_.find(path);
    if (known == pages_.end() || now - known->second.made >= kPageAge) {
      auto made = make_page(path);
      if (!made) return std::nullopt;
      known = pages_.insert_or_assign(std::string(path), MadePage{std::move(*made), now}).first;
    }
    return known->second.page;
  }
  [[nodiscard]] bool stops() const noexcept { return stops_; }

 private:
  static counters::Reader open_own(const appliance::Appliance& appliance) {
    auto reader = counters::Reader::over(appliance.segment().bytes());
    if (!reader) throw ToolError(kExitEnvironment, reader.message());
    return std::move(reader).value();
  }
  struct MadePage {
    control::Page page;
    std::chrono::steady_clock::time_point made;
  };
  std::optional<control::Page> make_page(std::string_view path) const {
    if (path == "/") return control::Page{"text/html; charset=utf-8", std::string(kAppliancePage)};
    if (path == "/status.json") return control::Page{"application/json", appliance::to_json(look())};
    if (path == "/errors.json") return control::Page{"application/json", errors_.to_json(look())};
    if (path == "/history.json") return control::Page{"application/json", history()};
    if (path == "/metrics") return control::Page{"text/plain; version=0.0.4", metrics()};
    return std::nullopt;
  }
  [[nodiscard]] appliance::Status look() const { return appliance::read_status(reader_, appliance::wall_clock_ns()); }
  [[nodiscard]] std::string metrics() const { return control::metrics_text(reader_, extra_metrics(look())); }
  [[nodiscard]] std::string history() const {
    std::string gaps;
    for (const appliance::GapEntry& gap : keeper_.recent_gaps()) {
      if (!gaps.empty()) gaps += ',';
      gaps += appliance::to_json(gap);
    }
    return fmt::format(R"({{"step_ns":{},"points":{},"gaps":[{}]}})", appliance::History::kStepNs, history_.to_json(),
                       gaps);
  }
  std::string freeze() {
    const auto& recorder = appliance_.settings().recorder;
    if (!recorder) return "error: nothing is recorded; [recorder] of the settings says where to";
    appliance_.recording()->freeze();
    log({appliance::Change::Level::Info, "freeze", {{"by", "command"}}});
    return "what came in the last " + appliance::duration_text(recorder->before_ns) +
           " stays, and what comes in the next " + appliance::duration_text(recorder->after_ns);
  }
  std::string entitle() {
    const auto& nic = appliance_.settings().nic;
    if (!nic || nic->broker.empty()) return "error: there is no broker; [nic] of the settings says where";
    Diagnostics diagnostics;
    auto entitlements = appliance::load_entitlements(nic->entitlements_file, nic->ring_names(), diagnostics);
    const std::string findings = diagnostics.format();
    std::fputs(findings.c_str(), stderr);
    const std::string answer = entitlements ? std::to_string(entitlements->size()) + " entitlements hold from now on"
                                            : "the entitlements were refused; those before hold";
    log({entitlements ? appliance::Change::Level::Info : appliance::Change::Level::Error,
         "entitle",
         {{"answer", answer}}});
    if (!entitlements) return "error: " + answer + "; " + findings.substr(0, findings.find('\n'));
    appliance_.distribution()->entitle(std::move(*entitlements));
    return answer;
  }
  std::string publish() {
    if (appliance_.distribution() == nullptr) return "error: there is no node to publish with; [nic] would be one";
    if (settings_file_ == "-") return "error: the settings came from standard input, which cannot be read again";
    Diagnostics diagnostics;
    const auto settings = appliance::load(settings_file_, diagnostics);
    const std::string findings = diagnostics.format();
    std::fputs(findings.c_str(), stderr);
    Result<std::string> answer = Failure{findings.substr(0, findings.find('\n'))};
    if (settings && settings->nic) answer = appliance_.distribution()->republish(*settings->nic);
    if (settings && !settings->nic) answer = Failure{"[nic] is not there any more"};
    const std::string text = answer ? answer.value() : "nothing changes: " + answer.message();
    log({answer ? appliance::Change::Level::Info : appliance::Change::Level::Error, "publish", {{"answer", text}}});
    return (answer ? "" : "error: ") + text;
  }
  std::string load(const std::string& image) {
    Diagnostics diagnostics;
    const Result<std::string> answer = appliance_.reload(image, diagnostics);
    const std::string findings = diagnostics.format();
    std::fputs(findings.c_str(), stderr);
    log({answer ? appliance::Change::Level::Info : appliance::Change::Level::Error,
         "load",
         {{"image", image}, {"answer", answer ? answer.value() : answer.message()}}});
    if (answer) return answer.value();
    // The answer is one line: the first finding.
    return "error: " + answer.message() + (findings.empty() ? "" : "; " + findings.substr(0, findings.find('\n')));
  }

  static constexpr std::uint64_t kRefusalsNs = 10'000'000'000;  ///< Strangers may not fill the log.
  static constexpr auto kPageAge = std::chrono::milliseconds(100);

  std::string settings_file_;
  appliance::Appliance& appliance_;
  const appliance::Keeper& keeper_;
  counters::Reader reader_;
  appliance::History history_;
  ErrorDesk errors_;
  std::map<std::string, MadePage, std::less<>> pages_;  ///< Those that there are, by path.
  std::uint64_t refused_ = 0;
  std::uint64_t next_refusal_ns_ = 0;
  bool stops_ = false;
};

/// Files that the appliance goes on to use: it makes rings and writes gaps, and reads images and captures.
appliance::Confinement confinement_of(const std::string& file, const appliance::Settings& settings) {
  const auto folder_of = [](const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? std::string(".") : folder;
  };
  appliance::Confinement confinement;
  confinement.written = {"/dev/shm", settings.state_folder};
  if (!settings.control.socket.empty()) confinement.written.push_back(folder_of(settings.control.socket));
  if (settings.nic && !settings.nic->broker.empty()) {
    confinement.written.push_back(folder_of(settings.nic->broker));
    // Entitlements are read again, with the names of users and groups.
    confinement.read = {folder_of(settings.nic->entitlements_file), "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"};
  }
  if (settings.nic && file != "-") {
    // [[publish]] is read again, which takes all of the settings.
    confinement.read.push_back(folder_of(file));
    for (const appliance::FeedSettings& feed : settings.feeds) confinement.read.push_back(folder_of(feed.file));
    for (const appliance::PublishSettings& published : settings.nic->publish) {
      if (!published.token_file.empty()) confinement.read.push_back(folder_of(published.token_file));
    }
  }
  if (settings.recorder) confinement.written.push_back(settings.recorder->folder);
  confinement.read.insert(confinement.read.end(), {"/proc/self", "/sys/devices/system/cpu", "/etc/localtime"});
  for (const appliance::FeedSettings& feed : settings.feeds) {
    for (const feed::Image& image : feed.description.images) {
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
    if (port.kind == appliance::PortKind::Dpdk) confinement.filters_calls = false;
  }
  return confinement;
}

/// What a start reads besides the settings: images, and tokens.
int check(const appliance::Settings& settings) {
  for (const appliance::FeedSettings& feed : settings.feeds) {
    for (const feed::Image& image : feed.description.images) {
      Diagnostics diagnostics;
      const bool is_good = appliance::load_image(image, diagnostics).has_value();
      std::fputs(diagnostics.format().c_str(), stderr);
      if (!is_good) return kExitRejected;
    }
  }
  (void)read_token(settings.control.token_file);
  if (!settings.nic) return kExitDone;
  for (const auto way : {&appliance::PublishSettings::to_shm, &appliance::PublishSettings::to_fabric}) {
    const auto rings = appliance::publications_of(*settings.nic, way);
    if (!rings) throw ToolError(kExitRejected, "[[publish]]: " + rings.message());
  }
  return kExitDone;
}

int run(const RunArguments& arguments) {
  auto settings = load_settings(arguments.settings);
  if (!settings) return kExitRejected;
  if (arguments.check) return check(*settings);
  catch_stop_signals();
  Diagnostics diagnostics;
  auto made = appliance::Appliance::make(std::move(*settings), {}, diagnostics);
  std::fputs(diagnostics.format().c_str(), stderr);
  if (!made) throw ToolError(diagnostics.has_errors() ? kExitRejected : kExitEnvironment, made.message());
  appliance::Appliance& appliance = *made.value();
  appliance::Keeper keeper(appliance, appliance::wall_clock_ns, log);
  if (const std::string problem = keeper.prepare(); !problem.empty()) throw ToolError(kExitEnvironment, problem);
  for (const std::string& note : appliance.notes()) {
    log({appliance::Change::Level::Warning, "note", {{"text", note}}});
  }
  if (!appliance.on_card().empty()) {
    log({appliance::Change::Level::Info,
         "card",
         {{"decodes", appliance.on_card()}, {"xclbin", appliance.settings().card->xclbin}}});
  }
  Desk desk(arguments.settings, appliance, keeper);
  const appliance::ControlSettings& doors = appliance.settings().control;
  auto server = control::Server::open(
      {.socket = doors.socket,
       .users = doors.users,
       .http = doors.http,
       .token = read_token(doors.token_file),
       .tls = doors.certificate.empty()
                  ? std::nullopt
                  : std::optional(
                        control::Tls{.certificate = doors.certificate, .key = doors.key, .client_ca = doors.client_ca}),
       .limits = {}},
      [&](const control::Command& command) { return desk.answer(command); },
      [&](std::string_view path) { return desk.page(path); });
  if (!server) throw ToolError(kExitEnvironment, server.message());
  if (const std::string text = exposure_of(doors); !text.empty()) {
    log({appliance::Change::Level::Warning, "note", {{"text", text}}});
  }
  if (appliance.settings().confined) {
    for (const std::string& problem : appliance::confine(confinement_of(arguments.settings, appliance.settings()))) {
      log({appliance::Change::Level::Warning, "not confined", {{"why", problem}}});
    }
  }
  if (const auto started = appliance.start(); !started) throw ToolError(kExitEnvironment, started.message());
  log({appliance::Change::Level::Info, "started", {{"name", appliance.settings().name}}});
  while (!stop_requested() && !desk.stops() && !appliance.ended()) {
    keeper.step();
    desk.step(server.value()->refused());
    server.value()->poll();
    std::this_thread::sleep_for(kStep);
  }
  appliance.stop();
  keeper.step();
  log({appliance::Change::Level::Info, "stopped", {{"name", appliance.settings().name}}});
  if (!arguments.quiet) {
    const auto reader = counters::Reader::over(appliance.segment().bytes());
    if (reader) {
      std::fputs(stat_text(appliance::read_status(reader.value(), appliance::wall_clock_ns())).c_str(), stderr);
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
          "Receives the feeds that the settings name, merges lines A and B, decodes, and publishes records in rings "
          "in shared memory, until SIGTERM or SIGINT ends it, or all its ports have ended (captures do). What is "
          "lost, reset or stale becomes an event record in the ring. Changes of state are told on stderr, a line "
          "each. At the end the accounting follows: where every packet and every sequence number went.\n"
          "\n"
          "`stopbit ready`, `stat`, `gaps` and `top` show a running appliance; they read shared memory and ask "
          "nothing of it.\n"
          "\n"
          "A running appliance takes commands at the socket of [control], a line each: status, load IMAGE, freeze, "
          "entitle (reads entitlements again), publish (reads [[publish]] again; what cannot change while it runs is "
          "refused by name, and then nothing changes), stop.\n"
          "\n"
          "appliance.toml:\n"
          "\n"
          "  name = \"demo\"               # stopbit stat demo\n"
          "\n"
          "  state = \"/var/lib/stopbit\"  # gaps of the last days\n"
          "\n"
          "  [[agent]] name, core, idle = spin|yield|sleep|backoff, sleep, batch\n"
          "\n"
          "  [[port]] name, agent, kind = socket|dpdk|capture, interface | device | file;\n"
          "  several ports of one device are its receive queues\n"
          "\n"
          "  engine = native|interp|xrt, [card] xclbin, index, fallback: who decodes\n"
          "\n"
          "  [recorder] folder, file, line, frozen, before, after, queue\n"
          "\n"
          "  [nic] listen, subscribers, requests_per_second, broker, entitlements: for other processes and\n"
          "  hosts; [[publish]] ring, as, to, token_file, allow, lossless, detach_after, bytes_per_second\n"
          "\n"
          "  [http] listen, token_file, certificate, key, client_ca: metrics, a page; [control] socket, users\n"
          "\n"
          "  [[feed]] file = \"feed.toml\", a = port of line A, b = port of line B, channels\n"
          "\n"
          "host/appliance/README.md has all keys.",
      .options =
          {{.names = "",
            .value = "APPLIANCE.toml",
            .help = "Settings; paths in them are relative to their folder.",
            .target = &arguments->settings,
            .hint = file_hint({".toml"}),
            .required = true},
           {.names = "--check",
            .value = "",
            .help = "Only reads settings, feeds, images and tokens, and tells what is wrong.",
            .target = &arguments->check},
           {.names = "-q,--quiet", .value = "", .help = "No accounting at the end.", .target = &arguments->quiet}},
      .examples = {{"stopbit run appliance.toml", "until SIGTERM"},
                   {"stopbit run appliance.toml --check", "before a change goes live"}},
      .run = [arguments] { return run(*arguments); }};
}

}  // namespace stopbit::tools
