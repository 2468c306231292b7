#include "host/feed/description/description.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "host/os/config/keys.hpp"
#include "host/os/config/nearest.hpp"

namespace stopbit::feed {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"incremental", "snapshot", "carousel", "reference"};
constexpr std::array<std::string_view, 2> kModes = {"fast", "ordered"};
constexpr std::array<std::string_view, 2> kLineNames = {"a", "b"};

/// Values of [defaults], for channels that do not set their own.
struct Defaults {
  std::optional<std::string> framing;
  std::optional<std::string> image;
  std::optional<std::string> ring;
  std::optional<std::string> map;
  std::optional<std::string> events;
  std::optional<std::uint64_t> depth;
  std::optional<Mode> mode;
  std::optional<std::uint64_t> window_packets;
  std::optional<std::uint64_t> window_ns;
  std::optional<std::uint64_t> room;
  std::optional<std::uint64_t> datagram_bytes;
  std::optional<std::uint64_t> switch_silence_ns;
};

class Reader {
 public:
  explicit Reader(Description& description) : description_(description) {}

  void read(config::Table root) {
    description_.name = root.text("name");
    if (!root.has("image")) {
      root.error("the feed needs an [[image]] with the 'templates' or the 'firmware' of its channels");
    } else {
      for (config::Table& image : root.tables("image")) read_image(image);
    }
    if (auto defaults = root.table("defaults")) {
      read_common(*defaults, defaults_);
      defaults->finish();
    }
    for (config::Table& channel : root.tables("channel")) read_channel(channel);
    for (Recovering& recovering : recovering_) check_recovers(recovering.table, recovering.channel);
    root.finish();
  }

 private:
  void read_image(config::Table& table) {
    Image image;
    image.name = table.text("name");
    image.templates = table.texts("templates");
    image.firmware = table.text("firmware");
    if (image.templates.empty() == image.firmware.empty())
      table.error("an image needs either 'templates' or 'firmware'");
    if (image_index(image.name)) table.error("name", "another image has this name");
    table.finish();
    description_.images.push_back(std::move(image));
  }

  [[nodiscard]] std::optional<std::size_t> image_index(std::string_view name) const {
    for (std::size_t i = 0; i < description_.images.size(); ++i) {
      if (description_.images[i].name == name) return i;
    }
    return std::nullopt;
  }

  /// The keys that a channel shares with [defaults].
  static void read_common(config::Table& table, Defaults& to) {
    if (table.has("framing")) to.framing = table.text("framing");
    if (table.has("image")) to.image = table.text("image");
    if (table.has("ring")) to.ring = table.text("ring");
    if (table.has("map")) to.map = table.text("map");
    if (table.has("events")) to.events = table.text("events");
    if (table.has("depth")) to.depth = table.integer("depth");
    if (table.has("mode")) to.mode = static_cast<Mode>(table.choice("mode"));
    if (table.has("switch_silence")) {
      to.switch_silence_ns = table.duration_ns("switch_silence");
    }
    auto window = table.table("window");
    if (!window) return;
    if (window->has("packets")) {
      to.window_packets = window->integer("packets");
    }
    if (window->has("time")) {
      to.window_ns = window->duration_ns("time");
    }
    if (window->has("room")) to.room = window->integer("room");
    if (window->has("datagram")) {
      to.datagram_bytes = window->bytes("datagram");
    }
    window->finish();
  }

  void read_channel(config::Table& table) {
    Channel channel;
    channel.number = static_cast<std::uint16_t>(table.integer_or("number", description_.channels.size()));
    channel.name = table.text("name", "channel " + std::to_string(channel.number));
    if (!numbers_.insert(channel.number).second) table.error("number", "another channel has this number");
    if (!names_.insert(channel.name).second) table.error("name", "another channel has this name");
    channel.role = static_cast<Role>(table.choice("role"));

    Defaults common = defaults_;
    read_common(table, common);
    channel.mode = common.mode.value_or(Mode::Ordered);
    channel.ring = common.ring.value_or("");
    channel.window = default_window(channel.role);
    if (common.window_packets) channel.window.packets = static_cast<std::uint32_t>(*common.window_packets);
    if (common.window_ns) channel.window.time_ns = *common.window_ns;
    channel.window.room = std::max(channel.window.room, channel.window.packets);
    if (common.room) channel.window.room = static_cast<std::uint32_t>(*common.room);
    if (channel.window.room < channel.window.packets) {
      table.error("window", "'room' must not be less than 'packets': " + std::to_string(channel.window.room) + " and " +
                                std::to_string(channel.window.packets));
    }
    if (common.switch_silence_ns) channel.switch_silence_ns = *common.switch_silence_ns;
    if (common.datagram_bytes) channel.window.datagram_bytes = static_cast<std::uint32_t>(*common.datagram_bytes);
    read_framing(table, common, channel);
    find_image(table, common, channel);
    read_map(table, common, channel);
    if (table.has("recovers")) {
      channel.recovers = table.text("recovers");
      recovering_.push_back({table, description_.channels.size()});
    }
    if (table.has("cycle")) {
      channel.cycle_ns = table.duration_ns("cycle");
      if (channel.recovers.empty()) table.error("cycle", "only a channel with 'recovers' has a cycle of snapshots");
    }
    if (table.has("replay")) read_replay(table, channel);
    for (std::size_t i = 0; i < kLineNames.size(); ++i) {
      if (auto line = table.table(kLineNames[i])) channel.lines[i] = read_line(*line);
    }
    if (!channel.lines[0]) table.error("a channel needs a line 'a': { group = \"224.0.0.1\", port = 1 }");
    if (channel.lines[1] && channel.lines[0] == channel.lines[1]) {
      table.error("b", "same group and source as line 'a': the lines cannot be distinguished");
    }
    const bool is_framing_known = !channel.framing.name.empty();
    if (channel.lines[1] && is_framing_known && !has_sequence(channel.framing)) {
      table.error("b", "the framing '" + channel.framing.name + "' has no sequence number by which to merge lines");
    }
    table.finish();
    description_.channels.push_back(std::move(channel));
  }

  static bool has_sequence(const net::Framing& framing) {
    return framing.kind != net::FramingKind::Fixed || framing.sequence.bytes != 0;
  }

  static void read_framing(config::Table& table, const Defaults& common, Channel& channel) {
    if (!common.framing) return table.error("a channel needs a 'framing', its own or in [defaults]");
    auto framing = net::parse_framing(*common.framing);
    if (!framing) return table.error("framing", framing.message());
    channel.framing = std::move(framing).value();
  }

  void find_image(config::Table& table, const Defaults& common, Channel& channel) {
    // Without any image the error is not the channel's.
    if (description_.images.size() < (common.image ? 1U : 2U)) return;
    if (!common.image) return table.error("the feed has several images: the channel needs an 'image'");
    const auto index = image_index(*common.image);
    if (!index) return table.error("image", "unknown image '" + *common.image + "'");
    channel.image = *index;
    if (channel.ring.empty()) return;
    for (const Channel& other : description_.channels) {
      if (other.ring == channel.ring && other.image != channel.image) {
        return table.error("ring", "channel '" + other.name + "' writes to the same ring with another image");
      }
    }
  }

  /// One table of instruments for all channels whose records go to one place: hence one map and one ring of events.
  void read_map(config::Table& table, const Defaults& common, Channel& channel) {
    channel.map = common.map.value_or("");
    if (channel.map.empty()) {
      if (table.has("events")) table.error("events", "market events need a 'map'");
      if (table.has("depth")) table.error("depth", "the depth of books needs a 'map'");
      return;
    }
    channel.depth = static_cast<std::uint32_t>(common.depth.value_or(0));
    channel.events = common.events.value_or(channel.ring.empty() ? "" : channel.ring + "-events");
    if (channel.events.empty()) {
      return table.error("map", "a channel with a map needs 'events', the name of the ring of its market events");
    }
    if (channel.events == channel.ring) {
      return table.error("events", "records and market events need different rings");
    }
    for (const Channel& other : description_.channels) {
      if (other.map.empty()) continue;
      const bool is_beside = other.ring == channel.ring && other.image == channel.image;
      if (is_beside && (other.map != channel.map || other.events != channel.events || other.depth != channel.depth)) {
        return table.error("map",
                           "channel '" + other.name +
                               "' has another map, depth or ring of events, and the records of both go to one place: "
                               "set a 'ring' for each");
      }
      if (!is_beside && other.events == channel.events) {
        return table.error(
            "events", "channel '" + other.name + "' writes to the same ring of events, and its records go elsewhere");
      }
    }
  }

  /// Its channel may come later in the file, so all have been read.
  void check_recovers(config::Table& table, std::size_t index) {
    const Channel& channel = description_.channels[index];
    const auto refuse = [&](std::string why) { table.error("recovers", std::move(why)); };
    if (channel.role != Role::Snapshot && channel.role != Role::Carousel) {
      return refuse("only a channel with the role snapshot or carousel recovers another one");
    }
    if (channel.map.empty()) return refuse("a channel without a 'map' has no books to recover");
    std::vector<std::string> names;
    for (const Channel& other : description_.channels) {
      if (other.role == Role::Incremental) names.push_back(other.name);
      if (&other != &channel && other.recovers == channel.recovers && other.name < channel.name) {
        return refuse("channel '" + other.name + "' recovers '" + channel.recovers + "' already");
      }
    }
    const auto other = std::find_if(description_.channels.begin(), description_.channels.end(),
                                    [&](const Channel& one) { return one.name == channel.recovers; });
    if (other == description_.channels.end()) {
      const std::string near = config::nearest(channel.recovers, names);
      return refuse("no channel has the name '" + channel.recovers + "'" +
                    (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    if (other->role != Role::Incremental) return refuse("channel '" + other->name + "' has no increments");
    if (other->events != channel.events) {
      refuse("the market events of channel '" + other->name + "' go to another ring");
    }
  }

  /// Messages come back without a preamble and out of their order.
  static void read_replay(config::Table& table, Channel& channel) {
    channel.replay = table.text("replay");
    const net::Framing& framing = channel.framing;
    const auto refuse = [&](const char* why) { table.error("replay", why); };
    if (channel.replay.empty()) refuse("must not be empty");
    if (channel.role != Role::Incremental)
      return refuse("only lost messages of a channel of increments can be replayed");
    if (framing.name.empty()) return;  // said already
    if (!has_sequence(framing)) return refuse("without sequence numbers no lost message can be named");
    // A message in chunks comes back whole; its number is lost or not, as a whole.
    const bool is_one_message =
        framing.kind == net::FramingKind::B3 || (framing.kind == net::FramingKind::Fixed && !framing.blocks);
    if (!is_one_message || framing.reset != ResetRule::Packet) {
      refuse("needs a framing with one message a packet and a dictionary that each packet resets");
    }
  }

  std::optional<Line> read_line(config::Table& table) {
    Line line;
    const std::string group = table.text("group");
    line.group.port = static_cast<std::uint16_t>(table.integer("port"));
    const auto address = parse_address(group);
    if (!address) table.error("group", "'group' must be an IPv4 address, such as 224.0.50.59");
    line.group.address = address.value_or(0);
    if (table.has("source")) {
      line.source = parse_address(table.text("source"));
      if (!line.source) table.error("source", "'source' must be an IPv4 address");
    }
    table.finish();
    for (const Line& other : lines_) {
      if (other.group == line.group && (!other.source || !line.source || *other.source == *line.source)) {
        table.error("another line has the group " + net::to_text(line.group) +
                    "; lines of the same group need different sources");
      }
    }
    lines_.push_back(line);
    return line;
  }

  Description& description_;
  Defaults defaults_;
  struct Recovering {
    config::Table table;
    std::size_t channel;  ///< Index.
  };
  std::vector<Recovering> recovering_;
  std::set<std::uint16_t> numbers_;
  std::set<std::string> names_;
  std::vector<Line> lines_;
};

/// Else it is the name of an installed map.
bool is_map_file(std::string_view map) {
  return map.find('/') != std::string_view::npos || map.ends_with(".toml");
}

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// The largest unit that says it without a fraction.
template <std::size_t Units>
std::string with_unit(std::uint64_t value, const std::array<std::pair<std::uint64_t, std::string_view>, Units>& units) {
  for (const auto& [factor, name] : units) {
    if (value % factor == 0) return std::to_string(value / factor) + std::string(name);
  }
  return {};
}
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 4> kTimeUnits = {
    {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}, {1, "ns"}}};
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 3> kByteUnits = {
    {{1U << 20, "MiB"}, {1U << 10, "KiB"}, {1, "B"}}};

}  // namespace

std::string_view to_text(Role role) noexcept {
  return kRoles[static_cast<std::size_t>(role)];
}

std::string_view to_text(Mode mode) noexcept {
  return kModes[static_cast<std::size_t>(mode)];
}

ArbitrationWindow default_window(Role role) noexcept {
  // Data that repeats is not traded on: there is time to wait for the other line.
  return role == Role::Incremental ? ArbitrationWindow{} : ArbitrationWindow{.packets = 1'024, .time_ns = 100'000'000};
}

std::optional<Description> parse(std::string file, std::string text, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors();
  const config::Document document = config::Document::parse(std::move(file), std::move(text), diagnostics);
  Description description;
  if (document.ok()) Reader(description).read(document.root(description_keys()));
  if (diagnostics.errors() != errors_before) return std::nullopt;
  return description;
}

std::optional<Description> load(const std::string& path, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors();
  const config::Document document = config::Document::load(path, diagnostics);
  auto description = load(document, path, diagnostics);
  return diagnostics.errors() == errors_before ? std::move(description) : std::nullopt;
}

std::optional<Description> load(const config::Document& document, const std::string& path, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors();
  Description description;
  if (document.ok()) Reader(description).read(document.root(description_keys()));
  if (diagnostics.errors() != errors_before) return std::nullopt;

  const std::filesystem::path folder =
      path == "-" ? std::filesystem::path() : std::filesystem::path(path).parent_path();
  for (Channel& channel : description.channels) {
    if (is_map_file(channel.map)) channel.map = (folder / channel.map).string();
  }
  for (Image& image : description.images) {
    for (std::string& file : image.templates) file = (folder / file).string();
    if (!image.firmware.empty()) image.firmware = (folder / image.firmware).string();
  }
  return description;
}

std::string to_toml(const Description& description, std::string_view heading) {
  std::string out;
  while (!heading.empty()) {
    const std::string_view line = heading.substr(0, heading.find('\n'));
    out += "# " + std::string(line) + "\n";
    heading.remove_prefix(std::min(heading.size(), line.size() + 1));
  }
  out += "name = " + toml_text(description.name) + "\n";
  for (const Image& image : description.images) {
    out += "\n[[image]]\nname = " + toml_text(image.name) + "\n";
    if (!image.firmware.empty()) {
      out += "firmware = " + toml_text(image.firmware) + "\n";
      continue;
    }
    out += "templates = [";
    for (std::size_t i = 0; i < image.templates.size(); ++i)
      out += (i == 0 ? "" : ", ") + toml_text(image.templates[i]);
    out += "]\n";
  }
  for (const Channel& channel : description.channels) {
    out += "\n[[channel]]\nnumber = " + std::to_string(channel.number) + "\nname = " + toml_text(channel.name) +
           "\nrole = " + toml_text(to_text(channel.role)) + "\nmode = " + toml_text(to_text(channel.mode)) +
           "\nframing = " + toml_text(channel.framing.name) +
           "\nimage = " + toml_text(description.images[channel.image].name) + "\n";
    if (!channel.ring.empty()) out += "ring = " + toml_text(channel.ring) + "\n";
    if (!channel.map.empty()) out += "map = " + toml_text(channel.map) + "\n";
    if (channel.depth != 0) out += "depth = " + std::to_string(channel.depth) + "\n";
    if (!channel.events.empty()) out += "events = " + toml_text(channel.events) + "\n";
    if (!channel.recovers.empty()) out += "recovers = " + toml_text(channel.recovers) + "\n";
    if (channel.cycle_ns != 0) out += "cycle = " + toml_text(with_unit(channel.cycle_ns, kTimeUnits)) + "\n";
    if (!channel.replay.empty()) out += "replay = " + toml_text(channel.replay) + "\n";
    out += "window = { packets = " + std::to_string(channel.window.packets) +
           ", time = " + toml_text(with_unit(channel.window.time_ns, kTimeUnits)) +
           ", room = " + std::to_string(channel.window.room) +
           ", datagram = " + toml_text(with_unit(channel.window.datagram_bytes, kByteUnits)) + " }\n";
    if (channel.switch_silence_ns != Channel().switch_silence_ns) {
      out += "switch_silence = " + toml_text(with_unit(channel.switch_silence_ns, kTimeUnits)) + "\n";
    }
    for (std::size_t i = 0; i < kLineNames.size(); ++i) {
      const auto& line = channel.lines[i];
      if (!line) continue;
      out += std::string(kLineNames[i]) + " = { group = " + toml_text(net::address_text(line->group.address)) +
             ", port = " + std::to_string(line->group.port) +
             (line->source ? ", source = " + toml_text(net::address_text(*line->source)) : "") + " }\n";
    }
  }
  return out;
}

std::string open_groups(const Description& description) {
  std::size_t groups = 0;
  std::size_t open = 0;
  for (const Channel& channel : description.channels) {
    for (const auto& line : channel.lines) {
      if (!line || line->group.address >> 28 != 0xE) continue;
      ++groups;
      open += line->source ? 0 : 1;
    }
  }
  if (open == 0) return {};
  return std::to_string(open) + " of " + std::to_string(groups) + " groups have no 'source': any host can send to them";
}

const Channel* find_channel(const Description& description, std::string_view number_or_name) {
  for (const Channel& channel : description.channels) {
    if (channel.name == number_or_name || std::to_string(channel.number) == number_or_name) return &channel;
  }
  return nullptr;
}

std::optional<std::uint32_t> parse_address(std::string_view text) {
  const auto endpoint = net::parse_endpoint(std::string(text) + ":1");
  if (!endpoint) return std::nullopt;
  return endpoint.value().address;
}

}  // namespace stopbit::feed
