#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/bindings/python/dicts.hpp"
#include "host/market/event/columns.hpp"
#include "host/market/state/tables.hpp"

namespace stopbit::python {

/// A ring's market events, instruments and states as dicts, under the names of the JSON lines of `stopbit tail`,
/// `instruments` and `states`. Needs the GIL. One thread.
class MarketDicts {
 public:
  /// The ring `name`: its epoch says which tables its events mean.
  MarketDicts(std::string name, const os::Accepted& accepted, std::uint64_t ring_epoch);

  /// Instruments by their keys; without tables by their rows.
  [[nodiscard]] py::dict event(const record::Slot& slot, DictMaker& dicts);
  /// RingFailed if there are no tables, or if they are those of another ring.
  [[nodiscard]] py::list instruments(DictMaker& dicts);
  [[nodiscard]] py::list states(DictMaker& dicts);
  /// Those of one instrument, by its key or, else, its name. None if there is no such instrument.
  [[nodiscard]] py::object instrument(const std::string& key_or_name, DictMaker& dicts);
  [[nodiscard]] py::object state(const std::string& key_or_name, DictMaker& dicts);

 private:
  class Fields;
  /// Takes the tables if they exist and belong to the ring. @returns why not.
  std::string open();
  [[nodiscard]] const market::Tables& tables();
  [[nodiscard]] py::object key(std::uint32_t row);
  [[nodiscard]] py::dict instrument_of(std::uint32_t row, DictMaker& dicts) const;
  [[nodiscard]] py::dict state_of(std::uint32_t row, DictMaker& dicts) const;
  /// A row could not be read. RingFailed says why.
  [[noreturn]] void fail(std::uint32_t row) const;
  void require_whole() const;

  std::string name_;
  os::Accepted accepted_;
  std::uint64_t ring_epoch_;
  std::optional<market::Tables> tables_;
  bool has_tried_ = false;  ///< Since an event came: by then its tables have their names, or those of a later image.
  std::unordered_map<std::uint32_t, py::object> keys_;
};

/// The content of a line of `stopbit instruments`.
[[nodiscard]] py::dict instrument_dict(std::uint32_t number, const market::InstrumentRow& from,
                                       std::uint32_t quantity_decimals, DictMaker& dicts);

/// Market events as columns, to become numpy arrays.
struct MarketColumns {
#define STOPBIT_EVENT_COLUMN(name, type, none, value, what) std::vector<market::Stored<type>> name;
#include "host/market/event/columns.def"
#undef STOPBIT_EVENT_COLUMN

  void add(const market::Event& event);
};

/// Rows of a side of a book, likewise.
struct BookColumns {
  std::vector<std::int64_t> price;
  std::vector<std::int64_t> quantity;
  std::vector<std::uint32_t> orders;
  std::vector<std::uint8_t> is_known;
};

/// Of a feed's bytes: as JSON lines have keys and names.
[[nodiscard]] py::str text_of_feed(std::string_view bytes);

}  // namespace stopbit::python
