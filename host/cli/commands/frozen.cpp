#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/grid.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/since.hpp"
#include "host/cli/common/text.hpp"
#include "host/os/clock.hpp"
#include "host/os/disk/disk.hpp"
#include "host/os/readable.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/ports/recorder/compress.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

struct FrozenArguments {
  std::string action;
  std::string name;
  std::string user;
  std::string settings;
  std::string folder;
  std::string older;
  bool json = false;
  bool dry_run = false;
};

/// Arrival of the first packet; 0 if the file has none, or cannot be read.
std::uint64_t first_packet_ns(const std::string& path) {
  auto source = ingest::open_capture(path);
  ingest::Packet packet;
  if (!source || source.value()->next(packet) != ingest::Next::Packet) return 0;
  return packet.arrival_ns;
}

std::string folder_of(const FrozenArguments& arguments) {
  return arguments.folder.empty() ? recording_folder(settings_of(arguments.name, arguments.settings))
                                  : arguments.folder;
}

std::vector<recorder::RecordedFile> frozen_files(const FrozenArguments& arguments, const std::string& folder) {
  std::vector<recorder::RecordedFile> files = recordings_in(folder);
  std::erase_if(files, [](const recorder::RecordedFile& file) { return !file.name.is_frozen; });
  if (arguments.older.empty()) return files;
  const auto span = parse_span(arguments.older);
  if (!span) throw ToolError(kExitUsage, "--older: '" + arguments.older + "' is not a time, such as 90min, 2h or 30d");
  const std::uint64_t now = os::wall_clock_ns();
  std::erase_if(files, [&](const recorder::RecordedFile& file) {
    return file.written_ns >= now || now - file.written_ns <= *span;
  });
  return files;
}

int list(const FrozenArguments& arguments, const std::vector<recorder::RecordedFile>& files) {
  Grid grid({"LINE", "FILE", "FROM", "TO", "BYTES"});
  Output out = Output::open("-");
  std::uint64_t bytes = 0;
  for (const recorder::RecordedFile& file : files) {
    const std::uint64_t first_ns = first_packet_ns(file.path);
    bytes += file.bytes;
    if (arguments.json) {
      out.write(fmt::format(R"({{"line":{},"file":{},"first_ns":{},"written_ns":{},"bytes":{},"compressed":{}}})",
                            json(file.name.line), json(file.path), first_ns, file.written_ns, file.bytes,
                            file.name.is_compressed) +
                "\n");
      continue;
    }
    grid.add({printable(file.name.line), printable(recorder::to_text(file.name)), os::time_text(first_ns),
              os::time_text(file.written_ns), os::thousands(file.bytes)});
  }
  if (!arguments.json && !files.empty()) out.write(grid.text(4));
  out.close();
  if (!arguments.json) print_stderr("{} frozen files, {} bytes\n", files.size(), os::thousands(bytes));
  return kExitDone;
}

int compress(const FrozenArguments& arguments, const std::vector<recorder::RecordedFile>& files) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t count = 0;
  bool has_failed = false;
  for (const recorder::RecordedFile& file : files) {
    if (stop_requested()) break;
    if (file.name.is_compressed) continue;
    if (arguments.dry_run) {
      print_stderr("would compress {}\n", printable(file.path));
      continue;
    }
    const auto done = recorder::compress_file(file.path);
    if (!done) {
      print_stderr("stopbit: {}\n", printable(done.message()));
      has_failed = true;
      continue;
    }
    before += done.value().bytes_before;
    after += done.value().bytes_after;
    ++count;
  }
  if (arguments.dry_run) return kExitDone;
  print_stderr("{} files compressed, {} bytes to {}\n", count, os::thousands(before), os::thousands(after));
  return has_failed ? kExitEnvironment : kExitDone;
}

int expire(const FrozenArguments& arguments, const std::vector<recorder::RecordedFile>& files) {
  if (arguments.older.empty()) throw ToolError(kExitUsage, "frozen expire: give --older, such as 30d");
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  bool has_failed = false;
  for (const recorder::RecordedFile& file : files) {
    if (arguments.dry_run) {
      print_stderr("would remove {}\n", printable(file.path));
      continue;
    }
    if (const int error = disk::remove(file.path); error != 0) {
      print_stderr("stopbit: cannot remove '{}': {}\n", printable(file.path), std::generic_category().message(error));
      has_failed = true;
      continue;
    }
    bytes += file.bytes;
    ++count;
  }
  if (arguments.dry_run) return kExitDone;
  print_stderr("{} files removed, {} bytes\n", count, os::thousands(bytes));
  return has_failed ? kExitEnvironment : kExitDone;
}

/// What `frozen compress` was writing when it was killed.
int remove_abandoned(const FrozenArguments& arguments, const std::string& folder) {
  bool has_failed = false;
  for (const std::string& path : recorder::abandoned_files(folder)) {
    if (arguments.dry_run) {
      print_stderr("would remove {}, which another process did not finish\n", printable(path));
      continue;
    }
    const int error = disk::remove(path);
    has_failed = has_failed || error != 0;
    print_stderr("{} {}, which another process did not finish{}\n", error == 0 ? "removed" : "cannot remove",
                 printable(path), error == 0 ? "" : ": " + std::generic_category().message(error));
  }
  return has_failed ? kExitEnvironment : kExitDone;
}

int act_on_frozen(const FrozenArguments& arguments) {
  accept_user(arguments.user);
  const bool is_list = arguments.action == "ls";
  if (arguments.json && !is_list) throw ToolError(kExitUsage, "--json is for ls");
  if (arguments.dry_run && is_list) throw ToolError(kExitUsage, "--dry-run is for compress and expire");
  const std::string folder = folder_of(arguments);
  const std::vector<recorder::RecordedFile> files = frozen_files(arguments, folder);
  if (is_list) return list(arguments, files);
  catch_stop_signals();
  const int done = arguments.action == "compress" ? compress(arguments, files) : expire(arguments, files);
  return std::max(done, remove_abandoned(arguments, folder));
}

}  // namespace

Command frozen_command() {
  const auto arguments = std::make_shared<FrozenArguments>();
  return {
      .name = "frozen",
      .summary = "Lists, compresses and expires the recordings that gaps have frozen",
      .description =
          "An appliance with [recorder] freezes what it recorded around a gap, and what `stopbit ctl freeze` asks for; "
          "it never deletes these files. They are an operator's:\n"
          "\n"
          "`frozen ls` lists them: the line, the times of the first packet and of the last write, the size.\n"
          "\n"
          "`frozen compress` replaces each by FILE.zst (zstd), which all commands read. The compressed file is read "
          "back and compared before the other one is removed.\n"
          "\n"
          "`frozen expire --older 30d` removes those that were written before that time.\n"
          "\n"
          "All three may run while the appliance does, which counts the files every minute. The package has a timer: "
          "`systemctl enable --now stopbit-frozen@xetra.timer` compresses daily what "
          "is older than an hour and removes what is older than 30 days.",
      .options = {{.names = "",
                   .value = "ACTION",
                   .help = "ls, compress or expire.",
                   .target = &arguments->action,
                   .hint = choice_hint({"ls", "compress", "expire"}),
                   .required = true},
                  appliance_name_option(arguments->name),
                  user_option(arguments->user),
                  settings_option(arguments->settings),
                  {.names = "--folder",
                   .value = "DIR",
                   .help = "The folder of recordings, instead of that of an appliance.",
                   .target = &arguments->folder,
                   .hint = folder_hint()},
                  {.names = "--older",
                   .value = "TIME",
                   .help = "Only files that were last written before this time: 90min, 2h, 30d.",
                   .target = &arguments->older,
                   .hint = open_choice_hint({"1h", "1d", "30d"})},
                  {.names = "--dry-run",
                   .value = "",
                   .help = "compress, expire: says what would be done, and does nothing.",
                   .target = &arguments->dry_run},
                  {.names = "--json",
                   .value = "",
                   .help = "ls: prints a JSON object for each file, one a line.",
                   .target = &arguments->json}},
      .examples = {{"stopbit frozen ls", "what did gaps leave?"},
                   {"stopbit frozen compress xetra --older 1h", "all but the newest"},
                   {"stopbit frozen expire --folder /var/lib/stopbit/xetra/packets --older 30d --dry-run",
                    "which files would go?"}},
      .run = [arguments] { return act_on_frozen(*arguments); }};
}

}  // namespace stopbit::tools
