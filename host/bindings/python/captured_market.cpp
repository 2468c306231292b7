#include "host/bindings/python/captured_market.hpp"

#include <utility>

#include "host/bindings/python/arrays.hpp"
#include "host/bindings/python/market.hpp"
#include "host/bindings/python/unlocked.hpp"
#include "host/market/stage/book_text.hpp"

namespace stopbit::python {
namespace {

/// Others run meanwhile: captures that no feed describes are read.
MarketReplay open(const consumer::FirmwarePtr& firmware, std::vector<std::string> captures, consumer::ReplayWish wish,
                  const std::string& map, std::optional<std::uint64_t> depth, std::uint32_t instruments) {
  const Unlocked unlocked;
  return {firmware, std::move(captures), std::move(wish), map, depth, instruments};
}

/// The rows of a side, best first, as far as it is known how many there are.
BookColumns columns_of(std::span<const market::Row> rows) {
  BookColumns columns;
  for (const market::Row& row : rows) {
    columns.price.push_back(row.price);
    columns.quantity.push_back(row.quantity);
    columns.orders.push_back(row.orders);
    columns.is_known.push_back(row.is_known != 0 ? 1 : 0);
  }
  return columns;
}

}  // namespace

CapturedMarket::CapturedMarket(const consumer::FirmwarePtr& firmware, std::vector<std::string> captures,
                               consumer::ReplayWish wish, const std::string& map, std::optional<std::uint64_t> depth,
                               std::uint32_t instruments)
    : dicts_(firmware, Decimals::Exact, false),
      replay_(open(firmware, std::move(captures), std::move(wish), map, depth, instruments)) {}

void CapturedMarket::run(const Moment& moment, const MarketReplay::OnEvent& on_event,
                         const MarketReplay::AtMoment& at_moment) {
  bool is_interrupted = false;
  const auto look_for_signals = [&] {
    const Locked locked;
    is_interrupted = is_interrupted || PyErr_CheckSignals() != 0;
    return is_interrupted;
  };
  {
    const Unlocked unlocked;
    replay_.run(moment, on_event, at_moment, look_for_signals);
  }
  if (is_interrupted) throw py::error_already_set();
}

py::dict CapturedMarket::events() {
  const Use use(is_busy_, "market");
  MarketColumns columns;
  run({}, [&](const market::Event& event) { columns.add(event); }, {});
  return to_arrays(std::move(columns));
}

py::list CapturedMarket::instruments() {
  const Use use(is_busy_, "market");
  std::vector<market::InstrumentRow> rows;
  run({}, {}, [&](const market::EventMaker& maker) {
    for (std::uint32_t row = 1; row <= maker.instruments().count(); ++row) rows.push_back(maker.instruments().row(row));
  });
  py::list result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    result.append(instrument_dict(static_cast<std::uint32_t>(i + 1), rows[i], quantity_decimals(), dicts_));
  }
  return result;
}

py::dict CapturedMarket::book(const std::string& instrument, std::optional<std::uint16_t> channel,
                              std::optional<std::uint64_t> sequence, std::optional<std::uint64_t> time_ns,
                              std::size_t levels) {
  const Use use(is_busy_, "market");
  std::vector<market::Row> rows(2 * levels);
  market::BookView book;
  std::string key;
  std::string_view standing;
  run({.channel = channel, .sequence = sequence, .time_ns = time_ns}, {}, [&](const market::EventMaker& maker) {
    const market::InstrumentView& view = maker.instruments().view();
    std::uint32_t row = view.find(instrument);
    if (row == 0) row = view.find_name(instrument);
    if (row == 0) {
      throw consumer::Failed(consumer::Fault::Usage, "there is no instrument '" + instrument + "' at that moment" +
                                                         market::did_you_mean_instrument(instrument, view));
    }
    key = key_of(maker.instruments().row(row));
    standing = name_of(maker.books().standing(row));
    book = market::read_book(maker.books(), row, rows);
  });
  py::dict result;
  result["instrument"] = text_of_feed(key);
  result["is_known"] = book.is_known;
  result["book"] = py::str(standing.data(), standing.size());
  result["bids"] = to_arrays(columns_of(book.bids.first(std::min(book.bid_end, book.bids.size()))));
  result["asks"] = to_arrays(columns_of(book.asks.first(std::min(book.ask_end, book.asks.size()))));
  return result;
}

}  // namespace stopbit::python
