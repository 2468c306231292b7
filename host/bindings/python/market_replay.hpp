#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/bindings/common/capture_replay.hpp"
#include "host/market/event/event.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/event_maker.hpp"

namespace stopbit::python {

/// The moment after which a replay ends: a packet's number, of a channel if there are several, or a time. None: the end
/// of the captures.
struct Moment {
  std::optional<std::uint16_t> channel = {};
  std::optional<std::uint64_t> sequence = {};
  std::optional<std::uint64_t> time_ns = {};
};

/// Captures whose records become market events and books. Independent of Python. One thread.
class MarketReplay {
 public:
  /// `map`: path of a file. Refuses what can be refused; reads captures that no feed describes once.
  MarketReplay(consumer::FirmwarePtr firmware, std::vector<std::string> captures, consumer::ReplayWish wish,
               const std::string& map, std::optional<std::uint64_t> depth, std::uint32_t instruments);

  using OnEvent = std::function<void(const market::Event&)>;
  using AtMoment = std::function<void(const market::EventMaker&)>;
  /// Ends the replay if it returns true.
  using Interrupted = std::function<bool()>;
  /// From the beginning, each time. `at_moment` sees tables and books as they are then. What the functions throw ends
  /// the replay, and is thrown again. Fault::Usage if the captures do not have the moment.
  void run(const Moment& moment, const OnEvent& on_event, const AtMoment& at_moment, const Interrupted& interrupted);

  [[nodiscard]] std::uint32_t quantity_decimals() const noexcept { return map_.source.quantity_decimals; }

 private:
  consumer::FirmwarePtr firmware_;
  std::vector<std::string> captures_;
  consumer::ReplayWish wish_;
  market::Map map_;
  market::EventMakerOptions options_;
};

}  // namespace stopbit::python
