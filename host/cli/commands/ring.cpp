#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/grid.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/ring_files.hpp"
#include "host/market/state/tables.hpp"
#include "host/os/clock.hpp"
#include "host/os/readable.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/publish.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/reader_registration.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

namespace fs = std::filesystem;

struct RingCommandArguments {
  std::string action;
  std::vector<std::string> names;
  std::string user;
  bool json = false;
  bool quiet = false;
};

/// What is known of a ring without reading its records.
struct RingEntry {
  std::string name;
  ring::Reader reader;
  uid_t user = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint32_t> instruments;  ///< Of a ring of market events.
  std::vector<ring::SeenReader> readers;
};

std::string_view to_text(ring::WriterState state) {
  switch (state) {
    case ring::WriterState::Running: return "running";
    case ring::WriterState::Finished: return "finished";
    case ring::WriterState::Dead: return "dead";
  }
  return {};
}

RingEntry look_at(std::string name, ring::Reader reader) {
  struct stat file {};
  (void)::stat(reader.path().c_str(), &file);
  const Result<market::Tables> tables = market::Tables::open(reader.path(), reader.tables_epoch());
  const std::array<std::string, 1> path = {reader.path()};
  RingEntry entry{.name = std::move(name),
                  .reader = std::move(reader),
                  .user = file.st_uid,
                  .bytes = static_cast<std::uint64_t>(file.st_size),
                  .instruments = std::nullopt,
                  .readers = ring::find_readers(path)};
  if (tables) entry.instruments = tables.value().instruments().count();
  return entry;
}

/// The rings of all users that this process accepts, by name.
std::vector<RingEntry> find_rings() {
  std::vector<RingEntry> found;
  for (RingFile& file : ring_files()) {
    Result<ring::Reader> reader = ring::Reader::open(file.path);
    if (reader) {
      found.push_back(look_at(std::move(file.name), std::move(reader).value()));
    } else {
      print_stderr("stopbit: {}\n", printable(reader.message()));
    }
  }
  std::sort(found.begin(), found.end(), [](const RingEntry& a, const RingEntry& b) {
    return std::pair(a.name, a.user) < std::pair(b.name, b.user);
  });
  return found;
}

nlohmann::json to_json(const RingEntry& entry) {
  const ring::Reader& reader = entry.reader;
  nlohmann::json readers = nlohmann::json::array();
  for (const ring::SeenReader& each : entry.readers) {
    readers.push_back({{"name", each.name},
                       {"pid", each.pid},
                       {"running", each.is_running},
                       {"delivered", each.delivered},
                       {"lost", each.lost_records}});
  }
  nlohmann::json out = {{"name", entry.name},
                        {"path", reader.path()},
                        {"user", entry.user},
                        {"content", entry.instruments ? "events" : "records"},
                        {"writer", to_text(reader.writer())},
                        {"writer_pid", reader.writer_pid()},
                        {"heartbeat_ns", reader.heartbeat_ns()},
                        {"epoch", reader.epoch()},
                        {"image_generation", reader.image_generation()},
                        {"layout_hash", fmt::format("{:016x}", reader.layout_hash())},
                        {"mode", reader.mode() == ring::Mode::Lossless ? "lossless" : "lossy"},
                        {"copy", reader.origin() == ring::Origin::Copy},
                        {"slots", reader.slot_count()},
                        {"max_record_slots", reader.max_record_slots()},
                        {"bytes", entry.bytes},
                        {"records", reader.published()},
                        {"readers", std::move(readers)}};
  if (entry.instruments) out["instruments"] = *entry.instruments;
  return out;
}

/// A name is a file's, of any bytes; another user's must not end the list.
std::string json_line(const RingEntry& entry) {
  return to_json(entry).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / (1U << 20));
}

std::string table_of(const std::vector<RingEntry>& rings) {
  Grid grid({"ring", "user", "content", "writer", "records", "slots", "MiB", "readers", "since"});
  for (const RingEntry& entry : rings) {
    const ring::Reader& reader = entry.reader;
    grid.add({printable(entry.name), printable(os::user_text(entry.user)), entry.instruments ? "events" : "records",
              fmt::format("{} {}", to_text(reader.writer()), reader.writer_pid()), os::thousands(reader.published()),
              os::thousands(reader.slot_count()), megabytes(entry.bytes), std::to_string(entry.readers.size()),
              os::time_text(reader.epoch())});
  }
  return grid.text(4);
}

std::string details_of(const RingEntry& entry) {
  const ring::Reader& reader = entry.reader;
  std::string out;
  const auto row = [&](std::string_view key, const std::string& value) {
    out += fmt::format("{:<12} {}\n", key, value);
  };
  row("ring", printable(reader.path()));
  row("owner", printable(os::user_text(entry.user)));
  row("content", entry.instruments ? fmt::format("market events; {} {}", *entry.instruments,
                                                 *entry.instruments == 1 ? "instrument" : "instruments")
                                   : "records");
  row("writer", fmt::format("{}, process {}; last heartbeat {}", to_text(reader.writer()), reader.writer_pid(),
                            os::time_text(reader.heartbeat_ns())));
  row("since", os::time_text(reader.epoch()));
  row("published", os::thousands(reader.published()) + " records");
  row("size", fmt::format("{} slots, {} MiB; a record has at most {} slots", os::thousands(reader.slot_count()),
                          megabytes(entry.bytes), reader.max_record_slots()));
  row("mode", reader.mode() == ring::Mode::Lossless ? "lossless: the writer waits for attached readers"
                                                    : "lossy: the writer waits for no reader");
  if (reader.origin() == ring::Origin::Copy) row("copy", "of another ring");
  row("image", fmt::format("generation {}, layout {:016x}", reader.image_generation(), reader.layout_hash()));
  for (const ring::SeenReader& each : entry.readers) {
    row("reader",
        fmt::format("{}, process {}{}: {} records delivered, {} lost", printable(each.name), each.pid,
                    each.is_running ? "" : " (died)", os::thousands(each.delivered), os::thousands(each.lost_records)));
  }
  return out;
}

int list_rings(const RingCommandArguments& arguments) {
  if (!arguments.names.empty()) throw ToolError(kExitUsage, "ring ls takes no name");
  const std::vector<RingEntry> rings = find_rings();
  Output out = Output::open("-");
  if (arguments.quiet) {
    for (const RingEntry& entry : rings) out.write(printable(entry.name) + "\n");
  } else if (arguments.json) {
    for (const RingEntry& entry : rings) out.write(json_line(entry));
  } else if (!rings.empty()) {
    out.write(table_of(rings));
  }
  out.close();
  if (rings.empty() && !arguments.quiet && !arguments.json) {
    print_stderr("no rings of {}\n", printable(os::Accepted().text()));
  }
  return kExitDone;
}

int show_rings(const RingCommandArguments& arguments) {
  Output out = Output::open("-");
  for (const std::string& name : arguments.names) {
    Result<ring::Reader> reader = ring::Reader::open(name);
    if (!reader) throw ToolError(kExitEnvironment, reader.message());
    const RingEntry entry = look_at(name, std::move(reader).value());
    out.write(arguments.json ? json_line(entry) : details_of(entry));
  }
  out.close();
  return kExitDone;
}

/// The ring goes first: while it has its name, so have the tables that its readers need.
void remove_ring(const std::string& name) {
  std::string path;
  if (!os::open_own(name, path).ok()) throw ToolError(kExitEnvironment, os::system_error("open", path));
  Status removed = os::remove_dead(path, {.magic = ring::kMagic, .noun = "ring"});
  if (removed) removed = market::Tables::remove_dead(path);
  if (!removed) throw ToolError(kExitEnvironment, removed.message());
  std::error_code error;
  fs::remove_all(path + ".readers", error);  // of a lossless writer that was killed
  if (error) throw ToolError(kExitEnvironment, "remove '" + path + ".readers': " + error.message());
}

int act_on_rings(const RingCommandArguments& arguments) {
  accept_user(arguments.user);
  if (arguments.action == "ls") return list_rings(arguments);
  const bool shows = arguments.action == "info";
  if (!shows && arguments.action != "rm") {
    throw ToolError(kExitUsage, "ACTION: must be ls, info or rm, not '" + arguments.action + "'");
  }
  if (arguments.names.empty()) throw ToolError(kExitUsage, "ring " + arguments.action + ": name a ring");
  if (shows) return show_rings(arguments);
  for (const std::string& name : arguments.names) remove_ring(name);
  return kExitDone;
}

}  // namespace

Command ring_command() {
  const auto arguments = std::make_shared<RingCommandArguments>();
  return {
      .name = "ring",
      .summary = "Lists, describes and removes rings of this machine",
      .description =
          "`ring ls` lists the rings that this user's readers find by name: what they carry, whether the writer runs, "
          "how many records it has published, and how many readers have a name (`stopbit tail --name`). `ring info` "
          "describes rings. Both read headers only, and the writer does not notice.\n"
          "\n"
          "A ring remains after its writer, for late readers. `ring rm` removes it, with the tables beside a ring of "
          "market events. Rings with a live writer stay, with exit status 3; processes that have the ring open keep "
          "it.",
      .options = {{.names = "",
                   .value = "ACTION",
                   .help = "ls, info or rm.",
                   .target = &arguments->action,
                   .hint = choice_hint({"ls", "info", "rm"}),
                   .required = true},
                  {.names = "",
                   .value = "RING",
                   .help = "A ring by its name, or by its path, which contains a /.",
                   .target = &arguments->names,
                   .hint = ring_hint()},
                  {.names = "--json",
                   .value = "",
                   .help = "Prints a JSON object for each ring, one a line.",
                   .target = &arguments->json},
                  {.names = "-q,--quiet", .value = "", .help = "ls: prints names only.", .target = &arguments->quiet},
                  user_option(arguments->user)},
      .examples = {{"stopbit ring ls", "what can be read here?"},
                   {"stopbit ring info moex-events", "who writes it, since when, how much?"},
                   {"stopbit ring rm old", "frees its memory"}},
      .run = [arguments] { return act_on_rings(*arguments); }};
}

}  // namespace stopbit::tools
