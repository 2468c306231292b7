#include "host/lab/simulate/preset.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "host/lab/simulate/embedded.hpp"
#include "host/os/config/toml.hpp"
#include "host/ports/out/datagrams.hpp"
#include "host/ports/out/frame.hpp"

namespace stopbit::simulate {
namespace {

constexpr std::uint64_t kMaxStreams = 4;
constexpr std::size_t kMaxTemplateBytes = 4U << 20;

Pattern pattern_of(config::Table& table, std::string_view key) {
  Result<Pattern> pattern = Pattern::parse(table.text(key, ""));
  if (pattern) return std::move(pattern).value();
  table.error(key, pattern.message());
  return {};
}

/// A template file: beside the preset, or one that comes with the program.
std::shared_ptr<const SourceBuffer> load_templates(const std::string& name, const std::string& folder,
                                                   config::Table& table) {
  if (folder.empty()) {
    const std::string_view* const text = find_embedded(name);
    if (text != nullptr) return std::make_shared<SourceBuffer>(name, std::string(*text));
  } else {
    std::ifstream file(folder + name, std::ios::binary);
    std::string text(kMaxTemplateBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMaxTemplateBytes) {
      table.error("templates", "is larger than 4 MiB");
      return nullptr;
    }
    if (!text.empty()) return std::make_shared<SourceBuffer>(folder + name, std::move(text));
  }
  table.error("templates", "cannot be read: " + folder + name);
  return nullptr;
}

StreamModel read_stream(config::Table& table, const std::string& folder) {
  StreamModel stream;
  stream.role = static_cast<Role>(table.choice("role", {"incremental", "snapshot", "carousel"}));
  Result<net::Framing> framing = net::parse_framing(table.text("framing"));
  if (!framing) {
    table.error("framing", framing.message());
  } else if (const Status can = egress::can_write(framing.value()); !can) {
    table.error("framing", can.message());
  } else {
    stream.framing = std::move(framing).value();
  }
  stream.templates_name = table.text("templates");
  stream.templates = load_templates(stream.templates_name, folder, table);
  for (const std::string& text : table.texts("begin", {0, 4})) {
    Result<Pattern> pattern = Pattern::parse(text);
    if (!pattern)
      table.error("begin", pattern.message());
    else
      stream.begin.push_back(std::move(pattern).value());
  }
  stream.update = pattern_of(table, "update");
  stream.entry = pattern_of(table, "entry");
  stream.trade = pattern_of(table, "trade");
  stream.heartbeat = pattern_of(table, "heartbeat");
  stream.reset = pattern_of(table, "reset");
  stream.snapshot = pattern_of(table, "snapshot");
  stream.level = pattern_of(table, "level");
  table.finish();
  return stream;
}

}  // namespace

std::string_view role_text(Role role) noexcept {
  switch (role) {
    case Role::Incremental: return "incremental";
    case Role::Snapshot: return "snapshot";
    case Role::Carousel: return "carousel";
  }
  return {};
}

std::optional<Preset> load_preset(const std::string& name, Diagnostics& diagnostics) {
  const bool is_file = name.ends_with(".toml");
  const std::string folder = is_file ? name.substr(0, name.rfind('/') + 1) : "";
  const std::string_view* const text = is_file ? nullptr : find_embedded(name + ".toml");
  if (!is_file && text == nullptr) {
    std::string known;
    for (const std::string_view preset : preset_names()) known += (known.empty() ? "" : ", ") + std::string(preset);
    diagnostics.error(ErrorCode::None, {}, "unknown preset '" + name + "' (" + known + ", or FILE.toml)");
    return std::nullopt;
  }
  const std::size_t errors_before = diagnostics.errors();
  const config::Document document = is_file ? config::Document::load(name, diagnostics)
                                            : config::Document::parse(name + ".toml", std::string(*text), diagnostics);
  if (!document.ok()) return std::nullopt;
  config::Table root = document.root();
  Preset preset;
  preset.name = name;
  preset.levels = root.integer("levels", {1, 100}, preset.levels);
  preset.entries = root.integer("entries", {1, 100}, preset.entries);
  preset.messages = root.integer("messages", {1, 100}, preset.messages);
  preset.fragments = root.integer("fragments", {1, preset.levels}, preset.fragments);
  preset.restarts_on_failover = root.flag("restarts_on_failover", false);
  preset.max_payload = root.integer("max_payload", {64, egress::kMaxPayloadBytes}, preset.max_payload);
  std::size_t snapshots = 0;
  // A file in the working folder has no '/' in its name.
  const std::string place = is_file && folder.empty() ? "./" : folder;
  for (config::Table& table : root.tables("stream", {1, kMaxStreams})) {
    preset.streams.push_back(read_stream(table, place));
    const StreamModel& stream = preset.streams.back();
    snapshots += stream.snapshot.empty() ? 0 : 1;
    if ((preset.streams.size() == 1) != (stream.role == Role::Incremental)) {
      table.error("role", "the first stream must be incremental, and only the first");
    }
  }
  root.finish();
  if (snapshots > 1) root.error("only one stream can have snapshots");
  if (diagnostics.errors() != errors_before || preset.streams.empty()) return std::nullopt;
  return preset;
}

}  // namespace stopbit::simulate
