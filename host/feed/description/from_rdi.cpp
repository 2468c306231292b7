#include "host/feed/description/from_rdi.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "host/feed/description/name_text.hpp"

namespace stopbit::feed {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"incremental", "snapshot", "low-frequency"};

/// Walks one record.
class FeedVisitor : public record::Visitor {
 public:
  FeedVisitor(const record::Schema& schema, std::vector<RdiFeed>& feeds, std::size_t max_feeds)
      : schema_(schema), feeds_(feeds), max_feeds_(max_feeds), first_(feeds.size()) {}

  void field(const SchemaNode& node, const record::Value& value) {
    const std::string_view name = schema_.name(node.name);
    if (!in_feeds_) {
      if (name == "MarketSegment") product_ = name_text(value.bytes);
      return;
    }
    if (name == "MDFeedType") feed_.feed_type = value.bits;
    if (name == "MDBookType") feed_.book_type = value.bits;
    if (name == "MarketDepth") feed_.depth = value.bits;
    if (name == "MDRecoveryTimeInterval") feed_.recovery_ms = value.bits;
    if (name == "PrimaryServiceLocationID") set_address(0, value.bytes);
    if (name == "SecondaryServiceLocationID") set_address(1, value.bytes);
    if (name == "PrimaryServiceLocationSubID") set_port(0, value.bits);
    if (name == "SecondaryServiceLocationSubID") set_port(1, value.bits);
  }
  void begin_sequence(const SchemaNode& node, std::uint32_t /*count*/) {
    if (schema_.name(node.name) == "Feeds") in_feeds_ = true;
  }
  void begin_element(const SchemaNode& /*node*/, std::uint32_t /*index*/) {
    if (in_feeds_) feed_ = {};
  }
  void end_element(const SchemaNode& /*node*/) {
    if (in_feeds_ && feeds_.size() < max_feeds_) feeds_.push_back(feed_);
  }
  void end_sequence(const SchemaNode& node) {
    if (schema_.name(node.name) == "Feeds") in_feeds_ = false;
  }

  /// The product's name may come after its feeds.
  void finish() {
    for (std::size_t i = first_; i < feeds_.size(); ++i) feeds_[i].product = product_;
  }

 private:
  void set_address(std::size_t line, std::string_view text) {
    if (const auto address = parse_address(text)) feed_.lines[line].address = *address;
  }
  void set_port(std::size_t line, std::uint64_t port) {
    if (port <= 65'535) feed_.lines[line].port = static_cast<std::uint16_t>(port);
  }

  const record::Schema& schema_;
  std::vector<RdiFeed>& feeds_;
  std::size_t max_feeds_;
  std::size_t first_;
  std::string product_;
  RdiFeed feed_;
  bool in_feeds_ = false;
};

bool is_usable(net::Endpoint endpoint) {
  return endpoint.address != 0 && endpoint.port != 0;
}

/// What a channel was made of.
struct Origin {
  RdiFeed feed;  ///< The first one with its groups.
  std::size_t kind = 0;
  std::vector<std::string> products = {};      ///< As they came.
  std::set<std::string> sorted_products = {};  ///< The same; there may be tens of thousands.

  void add(const std::string& product) {
    if (sorted_products.insert(product).second) products.push_back(product);
  }
};

/// Snapshots recover the increments of the same products and type of book, if there is one channel of each: their
/// messages are of one set of templates, and their books go to one ring.
void pair(Description& description, const std::vector<Origin>& origins) {
  struct Pair {
    std::vector<std::size_t> increments;
    std::vector<std::size_t> snapshots;
  };
  std::map<std::pair<std::uint64_t, std::set<std::string>>, Pair> pairs;  // by type of book and products
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const Origin& origin = origins[i];
    if (origin.kind > 1) continue;
    Pair& found = pairs[{origin.feed.book_type, origin.sorted_products}];
    (origin.kind == 0 ? found.increments : found.snapshots).push_back(i);
  }
  std::optional<std::size_t> image;
  for (const auto& [of, found] : pairs) {
    if (found.increments.size() != 1 || found.snapshots.size() != 1) continue;
    if (!image) {
      image = description.images.size();
      description.images.push_back({.name = "emdi", .templates = {"emdi.xml"}, .firmware = {}});
    }
    Channel& increments = description.channels[found.increments[0]];
    Channel& snapshots = description.channels[found.snapshots[0]];
    snapshots.recovers = increments.name;
    constexpr std::uint64_t kMsNs = 1'000'000;
    const std::uint64_t recovery_ms = origins[found.snapshots[0]].feed.recovery_ms;
    if (recovery_ms <= kMaxCycleNs / kMsNs) snapshots.cycle_ns = recovery_ms * kMsNs;
    const std::uint64_t depth = origins[found.increments[0]].feed.depth;
    for (Channel* const channel : {&increments, &snapshots}) {
      channel->image = *image;
      channel->map = "t7-emdi";
      channel->ring = "t7-" + std::to_string(increments.number);
      channel->events = channel->ring + "-events";
      if (depth <= kMaxBookDepth) channel->depth = static_cast<std::uint32_t>(depth);
    }
  }
}

/// Without the images that no channel has.
void drop_images(Description& description) {
  std::vector<std::optional<std::size_t>> places(description.images.size());
  std::vector<Image> kept;
  for (Channel& channel : description.channels) {
    auto& place = places[channel.image];
    if (!place) {
      place = kept.size();
      kept.push_back(description.images[channel.image]);
    }
    channel.image = *place;
  }
  description.images = std::move(kept);
}

}  // namespace

void RdiReader::take(std::span<const record::Slot> record) {
  if (record::HeaderView(record[0]).is_event()) return;
  FeedVisitor visitor(reader_.schema(), feeds_, kMaxFeeds);
  const std::size_t before = feeds_.size();
  if (reader_.read(record, visitor) != record::ReadError::None) {
    feeds_.resize(before);  // records of an engine are sound; nothing else may come in
    return;
  }
  visitor.finish();
}

RdiDescription from_rdi(std::span<const RdiFeed> feeds) {
  RdiDescription result;
  Description& description = result.description;
  description.name = "t7";
  std::array<std::optional<std::size_t>, kKinds.size()> images;
  std::vector<Origin> origins;
  std::set<std::pair<std::uint32_t, std::uint16_t>> taken;
  for (const RdiFeed& feed : feeds) {
    if (!is_usable(feed.lines[0])) {
      ++result.left_out;
      continue;
    }
    const auto known = std::find_if(description.channels.begin(), description.channels.end(),
                                    [&](const Channel& channel) { return channel.lines[0]->group == feed.lines[0]; });
    const auto at = static_cast<std::size_t>(known - description.channels.begin());
    if (known != description.channels.end()) {
      origins[at].add(feed.product);
      continue;
    }
    const bool has_b = is_usable(feed.lines[1]) && feed.lines[1] != feed.lines[0];
    const auto key = [](net::Endpoint endpoint) { return std::pair(endpoint.address, endpoint.port); };
    if (description.channels.size() == kMaxChannels || taken.contains(key(feed.lines[0])) ||
        (has_b && taken.contains(key(feed.lines[1])))) {
      ++result.left_out;
      continue;
    }
    taken.insert(key(feed.lines[0]));
    if (has_b) taken.insert(key(feed.lines[1]));

    const std::size_t kind = std::min<std::size_t>(feed.feed_type, kKinds.size() - 1);
    if (!images[kind]) {
      images[kind] = description.images.size();
      const std::string name(kKinds[kind]);
      description.images.push_back({.name = name, .templates = {name + ".xml"}, .firmware = {}});
    }
    Channel channel;
    channel.number = static_cast<std::uint16_t>(description.channels.size());
    channel.name = std::string(kKinds[kind]) + ", book type " + std::to_string(feed.book_type);
    channel.role = kind == 1 ? Role::Snapshot : Role::Incremental;
    channel.window = default_window(channel.role);
    channel.framing = net::parse_framing("t7").value();
    channel.image = *images[kind];
    channel.lines[0] = Line{.group = feed.lines[0], .source = {}};
    if (has_b) channel.lines[1] = Line{.group = feed.lines[1], .source = {}};
    description.channels.push_back(std::move(channel));
    origins.push_back({.feed = feed, .kind = kind});
    origins.back().add(feed.product);
  }

  // Names, when all products are known. A number makes them differ.
  constexpr std::size_t kProductsInName = 4;
  for (std::size_t i = 0; i < description.channels.size(); ++i) {
    const std::vector<std::string>& products = origins[i].products;
    std::string name = std::to_string(i) + ": ";
    for (std::size_t j = 0; j < std::min(products.size(), kProductsInName); ++j) {
      name += (j == 0 ? "" : " ") + products[j];
    }
    if (products.size() > kProductsInName) {
      name += " and " + std::to_string(products.size() - kProductsInName) + " more";
    }
    description.channels[i].name = name + ", " + description.channels[i].name;
  }
  pair(description, origins);
  drop_images(description);
  return result;
}

}  // namespace stopbit::feed
