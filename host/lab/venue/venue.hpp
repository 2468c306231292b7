#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/lab/simulate/settings.hpp"
#include "host/lab/venue/true_book.hpp"
#include "host/lab/venue/voice.hpp"
#include "microcode/base/diagnostic.hpp"

namespace stopbit::venue {

/// The book of an instrument from a packet of increments on, as far as the feed shows it.
struct TruthRow {
  std::uint32_t instrument = 0;  ///< Index.
  std::uint64_t number = 0;      ///< Of the instrument, or of its product.
  std::vector<Level> bids;
  std::vector<Level> asks;
};

/// A packet that the exchange sends, on all lines.
struct Packet {
  std::uint64_t time_ns = 0;
  std::size_t stream = 0;
  std::uint64_t sequence = 0;
  bool from_backup = false;
  std::uint64_t messages = 0;
  std::vector<std::vector<std::byte>> datagrams;  ///< More than one if it travels in chunks.
  std::vector<TruthRow> truth;  ///< Of increments: instruments whose book or number is another than before.
};

/// An exchange whose books are known at every moment, and what it sends. The same settings give the same packets. One
/// thread; knows no clock and no network.
class Venue {
 public:
  /// Needs `settings.market`. Null after an error, which is in `diagnostics`.
  [[nodiscard]] static std::unique_ptr<Venue> make(const simulate::Settings& settings, Diagnostics& diagnostics);
  Venue() = default;
  Venue(const Venue&) = delete;
  Venue& operator=(const Venue&) = delete;
  virtual ~Venue() = default;

  /// The next packet in the order of time; false at the end, or after a message that cannot be encoded: fault().
  [[nodiscard]] virtual bool next(Packet& packet) = 0;
  /// One sentence, or empty.
  [[nodiscard]] virtual const std::string& fault() const noexcept = 0;
  /// By index.
  [[nodiscard]] virtual std::span<const Instrument> instruments() const noexcept = 0;
  [[nodiscard]] virtual const Voice& voice() const noexcept = 0;
};

/// A line of the truth: {"channel":0,"sequence":7,"time":...,"instrument":"KEY","number":3,"bids":[[price,size,orders],
/// ...],"asks":[...]}, prices as decimal numbers. The channel is that of the increments.
[[nodiscard]] std::string truth_line(const Venue& venue, const Packet& packet, const TruthRow& row);

}  // namespace stopbit::venue
