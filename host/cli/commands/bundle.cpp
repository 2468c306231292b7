#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "host/analyse/check_host/check.hpp"
#include "host/appliance/appliance.hpp"
#include "host/appliance/gap_log.hpp"
#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/appliance_text.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/since.hpp"
#include "host/cli/common/start_check.hpp"
#include "host/cli/common/tar_writer.hpp"
#include "host/os/clock.hpp"
#include "host/os/disk/disk.hpp"
#include "host/os/readable.hpp"
#include "host/os/shm/read_file.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kMaxTextBytes = 64U << 20;        ///< Of a file that is taken whole.
constexpr std::uint64_t kMaxPayloadBytes = 4ULL << 30;  ///< Of recordings together.
constexpr mode_t kPrivateFileMode = 0600;               ///< It tells much of a machine, and may hold market data.

struct BundleArguments {
  std::string name;
  std::string user;
  std::string settings;
  std::string since = "3d";
  std::string log;
  std::string output;
  bool payload = false;
};

/// Collects files for support, and says in its first lines what each of them is.
class Bundle {
 public:
  /// `inputs`: files that must not be overwritten.
  Bundle(const std::string& path, const std::vector<std::string>& inputs)
      : out_(Output::open(path, inputs, kPrivateFileMode)), now_(os::wall_clock_ns()) {
    tar_.emplace([this](std::string_view bytes) {
      out_.write(bytes);
      out_.flush_if_full();
    });
  }

  void add(const std::string& name, const std::string& what, std::string_view content) {
    tar_->add("stopbit-bundle/" + name, content, now_);
    list(name, what, content.size());
  }
  /// A file of this machine; one that cannot be read is noted.
  void add_file(const std::string& name, const std::string& what, const std::string& path) {
    auto text = os::read_file(path, kMaxTextBytes);
    if (text) return add(name, what, text.value());
    list(name, what + ": left out: " + text.message(), 0);
  }
  /// A file of a folder in which others may write: not what a link points to, and no pipe.
  void add_own_file(const std::string& name, const std::string& what, const std::string& path) {
    const os::Descriptor file = open_regular(path);
    if (!file.ok()) return list(name, what + ": left out: it is no file that can be read", 0);
    auto text = os::read_file(file, path, kMaxTextBytes);
    if (text) return add(name, what, text.value());
    list(name, what + ": left out: " + text.message(), 0);
  }
  /// A recording, which may be long.
  void add_capture(const std::string& name, const recorder::RecordedFile& file) {
    const os::Descriptor open = open_regular(file.path);
    if (!open.ok()) return list(name, "left out: it is no file that can be read", 0);
    tar_->begin("stopbit-bundle/" + name, file.bytes, file.written_ns);
    std::string piece(1U << 18, '\0');
    while (!stop_requested()) {
      const ssize_t count = ::read(open.get(), piece.data(), piece.size());
      if (count <= 0) break;
      tar_->write(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
    }
    tar_->end();
    list(name, "what a line received", file.bytes);
  }
  void note(const std::string& what) { list("-", what, 0); }
  void finish() {
    const std::string index = "What this bundle has, in the order in which it was collected.\n\n" + list_;
    tar_->add("stopbit-bundle/INDEX.txt", index, now_);
    tar_->finish();
    out_.close();
    write_stderr(index);
  }

 private:
  static os::Descriptor open_regular(const std::string& path) {
    os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (file.ok() && (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) return os::Descriptor(-1);
    return file;
  }
  void list(const std::string& name, const std::string& what, std::uint64_t bytes) {
    list_ += fmt::format("{:>14}  {}: {}\n", os::thousands(bytes), printable(name), printable(what));
  }

  Output out_;
  std::uint64_t now_;
  std::optional<TarWriter> tar_;
  std::string list_;
};

std::string machine_text() {
  utsname system{};
  (void)::uname(&system);
  std::string text = version_text(program_commit()) + "\n" +
                     fmt::format("{} {} {} {}\n", system.sysname, system.release, system.version, system.machine);
  for (const char* path : {"/etc/os-release", "/proc/cmdline", "/proc/meminfo", "/proc/loadavg", "/proc/cpuinfo"}) {
    const auto content = os::read_file(path, kMaxTextBytes);
    text += fmt::format("\n== {}\n{}\n", path, content ? content.value() : content.message());
  }
  return text;
}

std::string host_text() {
  std::string text;
  for (const check::Finding& finding : check::look({})) {
    text += fmt::format("{}: {}{}\n", finding.name, finding.found.empty() ? "unknown" : finding.found,
                        finding.state == check::State::Change ? "; wanted: " + finding.wanted : "");
  }
  return text;
}

/// A name in the bundle for a file of the machine: its last part, and a number if there is another of that name.
class Names {
 public:
  std::string of(const std::string& folder, const std::string& path) {
    const std::string last = std::filesystem::path(path).filename().string();
    std::string name = folder + "/" + last;
    for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}/{}-{}", folder, i, last);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

void add_settings(Bundle& bundle, const appliance::Settings& settings) {
  Names names;
  bundle.add_file("settings/appliance.toml", "the settings; tokens and keys are in files that stay here",
                  settings.file);
  for (const appliance::FeedSettings& feed : settings.feeds) {
    bundle.add_file(names.of("settings", feed.file), "a feed", feed.file);
    for (const feed::Image& image : feed.description.images) {
      for (const std::string& path : image.templates) {
        bundle.add_file(names.of("templates", path), "templates of the image " + image.name, path);
      }
      if (!image.firmware.empty()) {
        bundle.add_file(names.of("templates", image.firmware), "the image " + image.name, image.firmware);
      }
    }
  }
  StartCheck found(settings);
  for (const appliance::FeedSettings& feed : settings.feeds) {
    for (const feed::Image& image : feed.description.images) {
      Diagnostics diagnostics;
      const auto program = appliance::load_image(image, diagnostics);
      if (program) found.add_image(feed.description.name, image.name, *program);
      if (!program) bundle.add("settings/" + image.name + ".errors.txt", "why it is refused", diagnostics.format());
    }
  }
  bundle.add("check.txt", "what `stopbit run --check` finds", found.text());
}

/// Files of days since then.
void add_days(Bundle& bundle, const std::string& folder, std::string_view prefix, const std::string& what,
              std::uint64_t since_ns) {
  std::error_code error;
  const std::string first = appliance::day_file_name(prefix, since_ns);
  for (const std::string& name : disk::names_in(folder, error)) {
    if (appliance::day_of_file(prefix, name) && name >= first) bundle.add_own_file(name, what, folder + "/" + name);
  }
  if (error) bundle.note("the state folder cannot be read: " + error.message());
}

void add_recordings(Bundle& bundle, const appliance::Settings& settings, std::uint64_t since_ns, bool with_payload) {
  if (!settings.recorder) return bundle.note("nothing is recorded");
  std::error_code error;
  const auto files = recorder::recorded_files(settings.recorder->folder, error);
  if (error) return bundle.note("the recordings cannot be listed: " + error.message());
  std::string list;
  for (const recorder::RecordedFile& file : files) {
    list += fmt::format("{}  {:>16}  {}\n", os::time_text(file.written_ns), os::thousands(file.bytes),
                        printable(recorder::to_text(file.name)));
  }
  bundle.add("recordings.txt", "what is recorded, not its packets", list);
  std::uint64_t left = kMaxPayloadBytes;
  for (const recorder::RecordedFile& file : files) {
    if (!with_payload || file.written_ns < since_ns || stop_requested()) continue;
    if (file.bytes > left || file.bytes > TarWriter::kMaxFileBytes) {
      bundle.note("left out, because recordings have 4 GiB here: " + recorder::to_text(file.name));
      continue;
    }
    left -= file.bytes;
    bundle.add_capture("recordings/" + recorder::to_text(file.name), file);
  }
}

void add_process(Bundle& bundle, std::uint32_t pid) {
  for (const char* name : {"status", "limits", "smaps_rollup", "cgroup"}) {
    bundle.add_file(std::string("process/") + name, "of the process, from /proc",
                    fmt::format("/proc/{}/{}", pid, name));
  }
}

int run_bundle(const BundleArguments& arguments) {
  accept_user(arguments.user);
  const std::uint64_t since = since_from(arguments.since);
  catch_stop_signals();
  std::optional<appliance::StatusReport> status;
  if (arguments.settings.empty()) {
    status = appliance::read_status(open_counters(arguments.name), appliance::now_of_machine());
  }
  const appliance::Settings settings = settings_of(arguments.name, arguments.settings);
  std::vector<std::string> inputs = {settings.file, arguments.log};
  for (const appliance::FeedSettings& feed : settings.feeds) inputs.push_back(feed.file);
  Bundle bundle(arguments.output, inputs);
  bundle.add("machine.txt", "program, kernel, processors, memory", machine_text());
  bundle.add("host.txt", "what `stopbit check-host` finds", host_text());
  if (status) {
    bundle.add("status.json", "counters", appliance::to_json(*status) + "\n");
    if (arguments.payload) {
      bundle.add("stat.txt", "counters, with the first bytes of datagrams that failed", stat_text(*status));
    }
    if (status->writer == counters::Reader::Writer::Running) add_process(bundle, status->pid);
  }
  add_settings(bundle, settings);
  add_days(bundle, settings.state_folder, appliance::kGapFiles, "gaps of a day", since);
  add_days(bundle, settings.state_folder, appliance::kCommandFiles, "commands of a day, with their users", since);
  add_recordings(bundle, settings, since, arguments.payload);
  if (!arguments.log.empty()) bundle.add_file("log.txt", "the log", arguments.log);
  if (arguments.log.empty()) bundle.note("no log: add it with --log, from `journalctl -u stopbit@NAME`");
  if (!arguments.payload) bundle.note("no packets and no bytes of them: --payload adds them");
  bundle.finish();
  return kExitDone;
}

}  // namespace

Command bundle_command() {
  const auto arguments = std::make_shared<BundleArguments>();
  return {
      .name = "bundle",
      .summary = "Collects what support needs to look at an appliance",
      .description =
          "Writes a tar archive with program and machine, the settings, feeds and templates of an appliance, its "
          "counters, what `run --check` and `check-host` find, the gaps and the commands of the last days, and a list "
          "of the recordings. INDEX.txt in it, which is also printed, names each file and what could not be read.\n"
          "\n"
          "Market data is not in it unless --payload is given: then the recordings since that time are, at most 4 GiB, "
          "and the first bytes of datagrams that did not decode. Tokens and keys are in files of their own, which are "
          "never taken. Names of hosts, users, channels and addresses are in it.",
      .options = {appliance_name_option(arguments->name),
                  user_option(arguments->user),
                  settings_option(arguments->settings),
                  {.names = "-o,--output",
                   .value = "FILE.tar",
                   .help = "The archive; - is stdout.",
                   .target = &arguments->output,
                   .hint = file_hint({".tar"}),
                   .required = true},
                  {.names = "--since",
                   .value = "TIME",
                   .help = "Gaps, commands and recordings since then, UTC: today, 90min, 2h, 3d or a date. Default 3d.",
                   .target = &arguments->since,
                   .hint = open_choice_hint({"today", "1d", "3d"})},
                  {.names = "--log",
                   .value = "FILE",
                   .help = "A file with the log, at most 64 MiB.",
                   .target = &arguments->log,
                   .hint = file_hint()},
                  {.names = "--payload",
                   .value = "",
                   .help = "Also takes packets: recordings, and bytes of datagrams that failed.",
                   .target = &arguments->payload}},
      .examples = {{"stopbit bundle xetra -o xetra.tar", "without market data"},
                   {"journalctl -u stopbit@xetra --since -2h > log; stopbit bundle xetra -o x.tar --log log",
                    "with the log of the last two hours"},
                   {"stopbit bundle xetra -o xetra.tar --since 1h --payload",
                    "with what was recorded in the last hour"}},
      .run = [arguments] { return run_bundle(*arguments); }};
}

}  // namespace stopbit::tools
