#pragma once

#include <functional>
#include <memory>

#include "host/lab/simulate/exchange.hpp"
#include "host/lab/venue/venue.hpp"

namespace stopbit::venue {

/// A venue on the lines of the settings: what `stopbit simulate` sends.
class MarketFeed : public simulate::Exchange {
 public:
  /// Needs `settings.market`. Null after an error, which is in `diagnostics`.
  [[nodiscard]] static std::unique_ptr<MarketFeed> make(const simulate::Settings& settings, Diagnostics& diagnostics);

  using Truth = std::function<void(const Venue& venue, const Packet& packet)>;
  /// Is called for each packet, in order, before the lines do anything to it.
  virtual void tell_truth(Truth truth) = 0;
  [[nodiscard]] virtual const Venue& venue() const noexcept = 0;
};

}  // namespace stopbit::venue
