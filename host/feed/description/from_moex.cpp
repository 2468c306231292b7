#include "host/feed/description/from_moex.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "host/feed/description/name_text.hpp"
#include "templates/xml/document.hpp"

namespace stopbit::feed {
namespace {

using templates::xml::Element;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) + 1 - begin);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// The installed map of a group of channels with books of SPECTRA; empty: it has none.
std::string_view map_of(std::string_view group) {
  if (group.starts_with("ORDERS-LOG")) return "moex-spectra-orders";
  if (group.starts_with("FUT-BOOK") || group.starts_with("OPT-BOOK")) return "moex-spectra-book";
  return {};
}

/// A ring that no other group has: the position of its channel makes the difference.
std::string ring_of(std::string_view group, std::size_t position) {
  constexpr std::size_t kMostBytes = 40;
  std::string out = "moex-" + std::to_string(position) + "-" + lower_case(group.substr(0, kMostBytes));
  for (char& c : out) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    c = is_plain ? c : '-';
  }
  return out;
}

class MoexReader {
 public:
  MoexReader(const std::shared_ptr<const SourceBuffer>& source, Description& description, Diagnostics& diagnostics)
      : source_(source), description_(description), diagnostics_(diagnostics) {}

  // Recursion is bounded by the XML reader's limit of nesting.
  void walk(const Element& element, const std::string& group) {
    std::string name = group;
    if (element.find("feedType") != nullptr) {
      name = text_of(element, "feedType");
      if (element.find("marketID") != nullptr) name += " " + text_of(element, "marketID");
      if (element.find("marketDepth") != nullptr) name += " " + text_of(element, "marketDepth");
    } else if (element.name == "channel" && element.find("id") != nullptr) {
      name = text_of(element, "id");
    }
    for (const Element& child : element.children) {
      if (child.name == "connection") {
        read_connection(child, name);
      } else {
        walk(child, name);
      }
    }
  }

  /// The snapshots of a group heal the books of its increments, if there is one channel of each.
  void pair() {
    struct Pair {
      std::vector<std::size_t> increments;
      std::vector<std::size_t> snapshots;
    };
    std::map<std::string, Pair> pairs;  // by group
    for (std::size_t i = 0; i < origins_.size(); ++i) {
      const bool is_incremental = description_.channels[i].role == Role::Incremental;
      const bool is_snapshot = lower_case(origins_[i].type).find("snapshot") != std::string::npos;
      if (is_incremental) pairs[origins_[i].group].increments.push_back(i);
      if (!is_incremental && is_snapshot) pairs[origins_[i].group].snapshots.push_back(i);
    }
    for (const auto& [group, found] : pairs) {
      if (map_of(group).empty() || found.increments.size() != 1 || found.snapshots.size() != 1) continue;
      Channel& increments = description_.channels[found.increments[0]];
      Channel& snapshots = description_.channels[found.snapshots[0]];
      snapshots.recovers = increments.name;
      for (Channel* const channel : {&increments, &snapshots}) {
        channel->map = map_of(group);
        channel->ring = ring_of(group, found.increments[0]);
        channel->events = channel->ring + "-events";
      }
    }
  }

 private:
  /// Of a channel.
  struct Origin {
    std::string group;
    std::string type;
  };

  /// One line, or, where a feed is an element of its own, one a feed.
  void read_connection(const Element& connection, const std::string& group) {
    const std::string protocol = lower_case(child_text(connection, "protocol"));
    if (!protocol.empty() && protocol.find("udp") == std::string::npos) return;
    const std::string type(child_text(connection, "type"));
    const std::string name = name_text(group.empty() || type.empty() ? group + type : group + " " + type);
    const Origin origin{.group = group, .type = type};
    bool has_inner = false;
    for (const Element& feed : connection.children) {
      if (feed.name != "feed" || feed.children.empty()) continue;
      has_inner = true;
      add_line(feed, name, origin, feed.find("id") != nullptr ? text_of(feed, "id") : std::string());
    }
    if (!has_inner) add_line(connection, name, origin, std::string(child_text(connection, "feed")));
  }

  void add_line(const Element& element, const std::string& name, const Origin& origin, const std::string& feed) {
    const auto address = parse_address(child_text(element, "ip"));
    const std::string_view port_text = child_text(element, "port");
    std::uint16_t port = 0;
    const auto [rest, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if (!address || error != std::errc() || rest != port_text.data() + port_text.size() || port == 0) {
      diagnostics_.error(ErrorCode::None, element.range, "a connection needs an 'ip' and a 'port' from 1 to 65535");
      return;
    }
    if (feed != "A" && feed != "B") {
      diagnostics_.error(ErrorCode::None, element.range, "'feed' must be A or B");
      return;
    }
    Line line{.group = {*address, port}, .source = {}};
    const std::string_view source = child_text(element, "src-ip");
    if (!source.empty()) {
      line.source = parse_address(source);
      if (!line.source) diagnostics_.error(ErrorCode::None, element.range, "'src-ip' must be an IPv4 address");
    }
    if (!groups_.insert({*address, port}).second) {
      diagnostics_.error(ErrorCode::None, element.range,
                         "another connection has the group " + net::to_text(line.group));
      return;
    }
    Channel* const channel = channel_of(name, origin);
    if (channel == nullptr) {
      diagnostics_.error(ErrorCode::None, element.range, "more than " + std::to_string(kMaxChannels) + " channels");
      return;
    }
    auto& place = channel->lines[feed == "A" ? 0 : 1];
    if (place) {
      diagnostics_.error(ErrorCode::None, element.range, "'" + name + "' has feed " + feed + " already");
      return;
    }
    place = line;
  }

  Channel* channel_of(const std::string& name, const Origin& origin) {
    const auto [place, is_new] = channels_.emplace(name, description_.channels.size());
    if (!is_new) return &description_.channels[place->second];
    if (description_.channels.size() == kMaxChannels) return nullptr;
    Channel channel;
    channel.number = static_cast<std::uint16_t>(description_.channels.size());
    channel.name = name.empty() ? "channel " + std::to_string(channel.number) : name;
    const bool is_incremental = lower_case(origin.type).find("incremental") != std::string::npos;
    channel.role = is_incremental ? Role::Incremental : Role::Carousel;
    channel.window = default_window(channel.role);
    channel.framing = net::parse_framing("moex").value();
    description_.channels.push_back(std::move(channel));
    origins_.push_back(origin);
    return &description_.channels.back();
  }

  [[nodiscard]] static std::string text_of(const Element& element, std::string_view attribute) {
    return std::string(trimmed(element.find(attribute)->value));
  }

  [[nodiscard]] std::string_view child_text(const Element& element, std::string_view name) const {
    for (const Element& child : element.children) {
      if (child.name != name || !child.text) continue;
      const std::string_view rest = source_->text().substr(child.text->offset);
      return trimmed(rest.substr(0, rest.find('<')));
    }
    return {};
  }

  const std::shared_ptr<const SourceBuffer>& source_;
  Description& description_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::size_t> channels_;
  std::vector<Origin> origins_;  ///< Of the description's channels.
  std::set<std::pair<std::uint32_t, std::uint16_t>> groups_;
};

}  // namespace

std::optional<Description> from_moex(const std::shared_ptr<const SourceBuffer>& configuration,
                                     const std::string& templates, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors();
  templates::Report report(diagnostics);
  const auto root = templates::xml::parse(configuration, {}, report);
  if (!root || diagnostics.errors() != errors_before) return std::nullopt;

  Description description;
  description.name = "moex";
  description.images.push_back({.name = "moex", .templates = {templates}, .firmware = {}});
  MoexReader reader(configuration, description, diagnostics);
  reader.walk(*root, "");
  reader.pair();
  for (const Channel& channel : description.channels) {
    if (!channel.lines[0]) diagnostics.error(ErrorCode::None, root->range, "'" + channel.name + "' has no feed A");
  }
  if (description.channels.empty() && diagnostics.errors() == errors_before) {
    diagnostics.error(ErrorCode::None, root->range, "the file has no UDP connection");
  }
  if (diagnostics.errors() != errors_before) return std::nullopt;
  return description;
}

}  // namespace stopbit::feed
