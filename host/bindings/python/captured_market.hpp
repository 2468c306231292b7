#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/bindings/python/dicts.hpp"
#include "host/bindings/python/market_replay.hpp"

namespace stopbit::python {

/// What stopbit.Market shows. Needs the GIL, and releases it while captures are decoded. One call at a time.
class CapturedMarket {
 public:
  CapturedMarket(const consumer::FirmwarePtr& firmware, std::vector<std::string> captures, consumer::ReplayWish wish,
                 const std::string& map, std::optional<std::uint64_t> depth, std::uint32_t instruments);

  [[nodiscard]] py::dict events();
  [[nodiscard]] py::list instruments();
  /// ValueError if the captures have no such instrument, or not the moment.
  [[nodiscard]] py::dict book(const std::string& instrument, std::optional<std::uint16_t> channel,
                              std::optional<std::uint64_t> sequence, std::optional<std::uint64_t> time_ns,
                              std::size_t levels);
  [[nodiscard]] std::uint32_t quantity_decimals() const noexcept { return replay_.quantity_decimals(); }

 private:
  /// Without the GIL. KeyboardInterrupt on Ctrl-C.
  void run(const Moment& moment, const MarketReplay::OnEvent& on_event, const MarketReplay::AtMoment& at_moment);

  DictMaker dicts_;
  MarketReplay replay_;
  bool is_busy_ = false;  ///< A call is in progress.
};

}  // namespace stopbit::python
