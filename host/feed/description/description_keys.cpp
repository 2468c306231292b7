#include "host/feed/description/description.hpp"
#include "host/os/config/keys.hpp"

/// The rows of feed.toml.
namespace stopbit::feed {
namespace {

using config::Key;
using config::TableKeys;

/// Of [defaults], where a framing does for most feeds.
std::vector<Key> common_keys();
TableKeys default_keys() {
  TableKeys keys{.keys = common_keys(), .any = {}};
  for (Key& key : keys.keys) key.is_shown = key.name == "framing";
  return keys;
}

std::vector<std::string> words_of(std::initializer_list<std::string_view> words) {
  return {words.begin(), words.end()};
}

TableKeys window_keys() {
  return {
      .keys = {config::integer_key("packets", {1, kMaxWindowPackets},
                                   "A missing packet is given up when this many wait for it.")
                   .unless("64; 1024 unless the role is incremental")
                   .such_as("64"),
               config::duration_key("time", {kMinWindowNs, kMaxWindowNs},
                                    "A missing packet is given up when one has waited for it this long.")
                   .unless("2ms; 100ms unless the role is incremental")
                   .such_as("\"2ms\""),
               config::integer_key("room", {1, kMaxWindowPackets},
                                   "Packets that can be held, at least `packets`: longest stall times the rate of a "
                                   "line.")
                   .unless("1024")
                   .such_as("1024"),
               config::bytes_key("datagram", {64, kMaxHeldDatagramBytes}, "The longest packet that can be held.")
                   .unless("2KiB")
                   .such_as("\"2KiB\"")},
      .any = {}};
}

/// The keys that a channel shares with [defaults].
std::vector<Key> common_keys() {
  return {config::text_key("framing",
                           "Preamble of a datagram before its messages, as --framing; required here or in "
                           "[defaults].")
              .unless("that of [defaults]")
              .such_as("\"t7\""),
          config::text_key("image", "Name of an [[image]].").unless("the only image").such_as("\"emdi\""),
          config::text_key("ring", "Ring of the records; its channels share one image.")
              .unless("no ring")
              .such_as("\"eurex\""),
          config::text_key("map", "A feed map for market events: installed, or a file; see stopbit-map.toml(5).")
              .unless("no market events")
              .such_as("\"t7-emdi\""),
          config::text_key("events", "Ring of the market events, and name of the tables of instruments and states.")
              .unless("RING-events")
              .such_as("\"eurex-events\""),
          config::integer_key("depth", {1, kMaxBookDepth},
                              "Levels a side of books whose instruments have no definition "
                              "that says it.")
              .unless("not known")
              .such_as("10"),
          config::choice_key("mode", words_of({to_text(Mode::Fast), to_text(Mode::Ordered)}),
                             "ordered: packets after a gap wait for the window; fast: the first copy goes on at once.")
              .unless("\"ordered\"")
              .such_as("\"ordered\""),
          config::duration_key("switch_silence", {kMinSwitchSilenceNs, kMaxSwitchSilenceNs},
                               "How long a run of numbers must be silent before another may replace it.")
              .unless("1s")
              .such_as("\"1s\""),
          config::table_key("window", window_keys(), "How long a missing packet is waited for.")
              .such_as("{ packets = 64, time = \"2ms\" }")};
}

Key line_key(const char* name, const char* meaning) {
  return config::table_key(
             name,
             {.keys = {config::text_key("group", "IPv4 address, of a multicast group or of a host.")
                           .required()
                           .such_as("\"224.0.50.59\""),
                       config::integer_key("port", {1, 65'535},
                                           "UDP port, or the TCP port of a server, for ports with sessions.")
                           .required()
                           .such_as("59001"),
                       config::text_key("source", "IPv4 address of the only sender; without it any host can send.")
                           .unless("any sender")
                           .such_as("\"10.1.2.3\"")},
              .any = {}},
             meaning)
      .such_as("{ group = \"224.0.50.59\", port = 59001 }");
}

Key images() {
  return config::tables_key(
      "image", {.least = 1, .most = kMaxImages},
      {.keys = {config::text_key("name", "Name of the image.").required().such_as("\"emdi\""),
                config::texts_key("templates", {.least = 0, .most = kMaxTemplateFiles},
                                  "Template files, compiled as one set. Either this or `firmware`.")
                    .shown()
                    .such_as("[\"emdi.xml\"]"),
                config::text_key("firmware", "A compiled image.").unless("`templates`").such_as("\"emdi.sbf\"")},
       .any = {}},
      "What decodes the messages. Paths are relative to the folder of the file.");
}

Key channels() {
  TableKeys keys{
      .keys = {config::integer_key("number", {0, kMaxChannels - 1}, "Number of the channel in the records.")
                   .unless("position in the file, from 0")
                   .such_as("310"),
               config::text_key("name", "Name of the channel.").unless("channel NUMBER").such_as("\"FESX\""),
               config::choice_key("role",
                                  words_of({to_text(Role::Incremental), to_text(Role::Snapshot),
                                            to_text(Role::Carousel), to_text(Role::Reference)}),
                                  "What it carries. Numbers of a carousel begin at 1 with each cycle.")
                   .otherwise(0),
               config::text_key("recovers",
                                "Of a snapshot or carousel: name of the channel with the same events whose books it "
                                "heals.")
                   .unless("none")
                   .such_as("\"FESX\""),
               config::duration_key("cycle", {kMinCycleNs, kMaxCycleNs},
                                    "Of a channel that recovers another: the time in which the exchange announces to "
                                    "send all snapshots. Books that are stale for 1.5 cycles, and cycles that take as "
                                    "long, are logged.")
                   .unless("not known")
                   .such_as("\"20s\""),
               config::text_key("replay",
                                "Of increments: what the exchange's replay service calls the channel (ApplID). Needs "
                                "[[replay]] in appliance.toml.")
                   .unless("it is not asked for lost messages")
                   .such_as("\"OLR\"")},
      .any = {}};
  for (Key& key : common_keys()) keys.keys.push_back(std::move(key));
  keys.keys.push_back(line_key("a", "Line A.").required());
  keys.keys.push_back(line_key("b", "Line B: the same packets on another way.").unless("one line"));
  return config::tables_key("channel", {.least = 1, .most = kMaxChannels}, std::move(keys),
                            "One run of sequence numbers, on one line or two.")
      .live();
}

}  // namespace

const TableKeys& description_keys() {
  static const TableKeys keys = {
      .keys = {config::text_key("name", "Name of the feed.").otherwise("feed").such_as("\"eurex\""), images(),
               config::table_key("defaults", default_keys(), "For channels that do not set the key.").live(),
               channels()},
      .any = {}};
  return keys;
}

}  // namespace stopbit::feed
