#pragma once

#include <span>
#include <string>
#include <vector>

#include "decoder/record/reader.hpp"
#include "decoder/record/schema.hpp"
#include "host/feed/description/description.hpp"

namespace stopbit::feed {

/// An entry of the sequence Feeds of a product, as T7 reference data has it.
struct RdiFeed {
  std::string product;            ///< MarketSegment.
  std::uint64_t feed_type = 0;    ///< MDFeedType: 0 incremental, 1 snapshot of a high-frequency feed, 2 low-frequency.
  std::uint64_t book_type = 0;    ///< MDBookType.
  std::uint64_t depth = 0;        ///< MarketDepth; 0 = not given.
  std::uint64_t recovery_ms = 0;  ///< MDRecoveryTimeInterval; 0 = not given.
  std::array<net::Endpoint, 2> lines = {};  ///< Primary and secondary service; port 0 = not given.
};

/// Collects the feeds of products from the records of T7 reference data (RDI). The schema's program must outlive it.
class RdiReader {
 public:
  explicit RdiReader(const record::Schema& schema) : reader_(schema) {}

  /// Takes a record, a message or an event. Ignores everything except products.
  void take(std::span<const record::Slot> record);

  [[nodiscard]] const std::vector<RdiFeed>& feeds() const noexcept { return feeds_; }

 private:
  static constexpr std::size_t kMaxFeeds = 65'536;  ///< Limits of the data kept from a capture.

  record::Reader reader_;
  std::vector<RdiFeed> feeds_;
};

/// A channel for each pair of groups; products that share one are named together. An image for each kind of feed, of
/// the given template files by kind: incremental, snapshot, low frequency (an empty one is named after the kind).
/// A snapshot channel recovers the channel of increments with the same products and type of book, if there is one of
/// each; both then have the image `emdi`, and the announced cycle and depth if they are given.
/// Entries without a usable primary address, and those beyond kMaxChannels channels, are left out and counted.
struct RdiDescription {
  Description description;
  std::size_t left_out = 0;
};
[[nodiscard]] RdiDescription from_rdi(std::span<const RdiFeed> feeds);

}  // namespace stopbit::feed
