#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/packet.hpp"
#include "microcode/base/diagnostic.hpp"

namespace stopbit::config {
class Document;
struct TableKeys;
}  // namespace stopbit::config

/// Description of a feed: which channels come on which multicast groups, how they are framed and decoded, and what
/// their records go to. Plain data; feed.toml is its text (host/feed/README.md). Nothing here does I/O.
namespace stopbit::feed {

inline constexpr std::size_t kMaxChannels = 1'024;
inline constexpr std::size_t kMaxImages = 64;
inline constexpr std::size_t kMaxTemplateFiles = 64;  ///< Of one image.
inline constexpr std::uint32_t kMaxWindowPackets = 65'536;
inline constexpr std::uint64_t kMinWindowNs = 1'000;
inline constexpr std::uint64_t kMaxWindowNs = 60'000'000'000;
inline constexpr std::uint64_t kMinSwitchSilenceNs = 1'000'000;
inline constexpr std::uint64_t kMaxSwitchSilenceNs = 3'600'000'000'000;
inline constexpr std::uint64_t kMinCycleNs = 1'000'000;
inline constexpr std::uint64_t kMaxCycleNs = 86'400'000'000'000;
inline constexpr std::uint32_t kMaxHeldDatagramBytes = 65'535;
inline constexpr std::uint32_t kMaxBookDepth = 65'535;

/// The content of a channel; sets the defaults of its window, and what a sequence number of 1 means.
enum class Role : std::uint8_t {
  Incremental,
  Snapshot,
  Carousel,   ///< Sequence numbers begin at 1 with each cycle, which is neither a gap nor a reset.
  Reference,  ///< Instruments and other data of the day.
};

enum class Mode : std::uint8_t {
  Fast,     ///< The first copy goes on at once, and nothing goes back: what a later packet has overtaken is late.
  Ordered,  ///< A packet after a gap waits for the missing ones, at most for the window.
};

[[nodiscard]] std::string_view to_text(Role role) noexcept;
[[nodiscard]] std::string_view to_text(Mode mode) noexcept;

/// How long a missing packet is waited for: until `packets` wait for it or the oldest of them has waited `time_ns`, and
/// every port has been read up to then.
struct ArbitrationWindow {
  std::uint32_t packets = 64;
  std::uint64_t time_ns = 2'000'000;
  std::uint32_t room = 1'024;            ///< Packets that can be held: the longest stall x the rate of a line.
  std::uint32_t datagram_bytes = 2'048;  ///< Memory for each held packet; a longer one cannot be held.
  bool operator==(const ArbitrationWindow&) const = default;
};
[[nodiscard]] ArbitrationWindow default_window(Role role) noexcept;

/// Where a line's packets come from.
struct Line {
  net::Endpoint group;                  ///< Destination address and port.
  std::optional<std::uint32_t> source;  ///< The sender's address; nothing = any.
  bool operator==(const Line&) const = default;
};

/// Source of the program that decodes messages: template files, compiled as one set, or firmware.
struct Image {
  std::string name;
  std::vector<std::string> templates;  ///< Paths; relative ones begin at the folder of the feed's file.
  std::string firmware;                ///< One of the two is given.
  bool operator==(const Image&) const = default;
};

struct Channel {
  std::uint16_t number = 0;  ///< In the records; below kMaxChannels, no two alike.
  std::string name;          ///< No two alike.
  Role role = Role::Incremental;
  Mode mode = Mode::Ordered;
  ArbitrationWindow window = {};
  /// No other sender or range of numbers takes the channel while the present one has sent within this time.
  std::uint64_t switch_silence_ns = 1'000'000'000;
  net::Framing framing = {};
  std::size_t image = 0;  ///< Index of Description::images.
  std::string ring;       ///< Where records go; empty = no ring. Its channels share one image.
  /// What its messages mean for books: an installed map, or a file. Empty: no market events are made. Channels whose
  /// records go to the same place have the same map, if any.
  std::string map;
  std::uint32_t depth = 0;     ///< Of books whose instruments have no definition that says it; 0: not known.
  std::string events;          ///< The ring of its market events; empty without a map.
  std::string recovers;        ///< Of snapshots: name of the channel of increments whose books they heal; empty: none.
  std::uint64_t cycle_ns = 0;  ///< Of snapshots: the announced time in which all of them come; 0: not known.
  std::string replay;          ///< What the exchange's replay service calls it (ApplID); empty: it is not asked.
  std::array<std::optional<Line>, 2> lines = {};  ///< A and B; A at least.
};

struct Description {
  std::string name;
  std::vector<Image> images;
  std::vector<Channel> channels;
};

/// The rows of feed.toml (host/os/config/keys.hpp).
[[nodiscard]] const config::TableKeys& description_keys();

/// Reads the text of a feed.toml; `file` is its name in messages. Nothing after an error.
[[nodiscard]] std::optional<Description> parse(std::string file, std::string text, Diagnostics& diagnostics);
/// The same from a file; "-" is standard input. The paths of images are made relative to its folder.
[[nodiscard]] std::optional<Description> load(const std::string& path, Diagnostics& diagnostics);
/// The same of a document that was read from the file.
[[nodiscard]] std::optional<Description> load(const config::Document& document, const std::string& path,
                                              Diagnostics& diagnostics);

/// The text that parse reads: parse(to_toml(d)) gives d again. `heading` becomes a comment on top.
[[nodiscard]] std::string to_toml(const Description& description, std::string_view heading = {});

/// The channel with that number, or that name; null if there is none.
[[nodiscard]] const Channel* find_channel(const Description& description, std::string_view number_or_name);

/// How many multicast groups name no source, in words; empty if all do. Any host in reach of such a group can send to
/// it.
[[nodiscard]] std::string open_groups(const Description& description);

/// "10.1.2.3". Every number in decimal without leading zeros.
[[nodiscard]] std::optional<std::uint32_t> parse_address(std::string_view text);

}  // namespace stopbit::feed
