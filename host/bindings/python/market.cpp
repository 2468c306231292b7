#include "host/bindings/python/market.hpp"

#include <utility>

#include "decoder/record/text.hpp"
#include "host/bindings/python/errors.hpp"
#include "host/market/event/fields.hpp"

namespace stopbit::python {
namespace {

py::str text_of(std::string_view text) {
  return {text.data(), text.size()};
}

/// value * 10^-decimals without zeros at the end; an int if there are no decimals.
py::object exact(DictMaker& dicts, std::int64_t value, std::uint32_t decimals) {
  if (decimals == 0) return py::int_(value);
  while (decimals > 0 && value % 10 == 0) {
    value /= 10;
    --decimals;
  }
  return dicts.decimal(value, -static_cast<std::int32_t>(decimals));
}

/// Sets what has a value.
class Row {
 public:
  Row(DictMaker& dicts, std::uint32_t quantity_decimals) : dicts_(dicts), quantity_decimals_(quantity_decimals) {}

  void price(const char* key, std::int64_t value) {
    if (value != market::kNoPrice) dict[key] = exact(dicts_, value, market::kPriceDecimals);
  }
  void quantity(const char* key, std::int64_t value) {
    if (value != market::kNoQuantity) dict[key] = exact(dicts_, value, quantity_decimals_);
  }
  void text(const char* key, std::string_view value) {
    if (!value.empty()) dict[key] = text_of_feed(value);
  }
  template <class Number>
  void number(const char* key, Number value) {
    if (value != 0) dict[key] = value;
  }
  void known(const char* key, std::uint8_t rows) {
    if (rows == market::state::kWhole) {
      dict[key] = "all";
    } else {
      dict[key] = rows;
    }
  }

  py::dict dict;

 private:
  DictMaker& dicts_;
  std::uint32_t quantity_decimals_;
};

}  // namespace

py::str text_of_feed(std::string_view bytes) {
  std::string text;
  record::append_utf8(text, bytes, false);
  return text_of(text);
}

/// Of visit_fields.
class MarketDicts::Fields {
 public:
  Fields(MarketDicts& market, DictMaker& dicts) : market_(market), dicts_(dicts) {}

  void named(std::string_view key, std::string_view name, unsigned value) {
    set(key, name.empty() ? text_of(std::to_string(value)) : text_of(name));
  }
  template <class Number>
  void number(std::string_view key, Number value) {
    set(key, py::int_(value));
  }
  void instrument(std::uint32_t row) { set("instrument", market_.key(row)); }
  void price(std::int64_t value) { set("price", exact(dicts_, value, market::kPriceDecimals)); }
  void quantity(std::int64_t value) {
    set("quantity", exact(dicts_, value, market_.tables_ ? market_.tables_->instruments().quantity_decimals() : 0));
  }
  void flags(std::uint8_t bits) {
    py::list names;
    for (const auto& [flag, name] : market::kFlagNames) {
      if ((bits & flag) != 0) names.append(text_of(name));
    }
    set("flags", names);
  }

  py::dict dict;

 private:
  void set(std::string_view key, const py::object& value) {
    if (PyDict_SetItem(dict.ptr(), text_of(key).ptr(), value.ptr()) != 0) throw py::error_already_set();
  }

  MarketDicts& market_;
  DictMaker& dicts_;
};

MarketDicts::MarketDicts(std::string name, const os::Accepted& accepted, std::uint64_t ring_epoch)
    : name_(std::move(name)), accepted_(accepted), ring_epoch_(ring_epoch) {
  // Now, as the names may soon belong to the tables of a later image. The ring may be one of records, without tables.
  (void)open();
}

std::string MarketDicts::open() {
  if (tables_) return {};
  Result<market::Tables> opened = market::Tables::open(name_, ring_epoch_, accepted_);
  if (!opened) return opened.message();
  tables_.emplace(std::move(opened).value());
  return {};
}

const market::Tables& MarketDicts::tables() {
  if (const std::string why_not = open(); !tables_) throw RingFailed(why_not);
  return *tables_;
}

void MarketDicts::require_whole() const {
  if (tables_->is_broken()) throw RingFailed(name_ + ": " + std::string(market::Tables::broken_text()));
}

void MarketDicts::fail(std::uint32_t row) const {
  require_whole();
  const bool is_dead = tables_->states().writer() == market::state::Reader::Writer::Dead;
  throw RingFailed(
      name_ + ": row " + std::to_string(row) +
      (is_dead ? " is unfinished: its writer died while it wrote the row" : " changed during each try to read it"));
}

py::object MarketDicts::key(std::uint32_t row) {
  if (const auto known = keys_.find(row); known != keys_.end()) return known->second;
  if (!tables_ && !std::exchange(has_tried_, true)) (void)open();
  market::InstrumentRow from;
  if (row == market::kAllInstruments || !tables_ || !tables_->instruments().read(row, from) || tables_->is_broken()) {
    return py::int_(row);
  }
  return keys_.emplace(row, text_of_feed(key_of(from))).first->second;
}

py::dict MarketDicts::event(const record::Slot& slot, DictMaker& dicts) {
  Fields fields(*this, dicts);
  market::visit_fields(market::Event::from(slot), fields);
  if (dicts.with_header()) fields.dict["header"] = dicts.header(slot);
  return fields.dict;
}

py::dict instrument_dict(std::uint32_t number, const market::InstrumentRow& from, std::uint32_t quantity_decimals,
                         DictMaker& dicts) {
  Row row(dicts, quantity_decimals);
  row.dict["row"] = number;
  row.dict["instrument"] = text_of_feed(key_of(from));
  row.text("name", instrument_name(from));
  row.text("product", product_of(from));
  if (from.tick != 0) row.price("tick", from.tick);
  for (std::size_t i = 0; i < 2; ++i) {
    if (from.book_kind[i] == 0) continue;
    row.text(i == 0 ? "book" : "implied", name_of(static_cast<market::BookKind>(from.book_kind[i])));
    row.number(i == 0 ? "depth" : "implied_depth", from.depth[i]);
  }
  row.text("trading_state", name_of(static_cast<market::TradingState>(from.state)));
  row.number("trading_state_code", from.state_code);
  row.number("session", from.session);
  row.number("first_number", from.first_number);
  if ((from.flags & market::kRowDefined) != 0) {
    py::dict place;
    place["channel"] = from.definition_channel;
    place["seq"] = from.definition_sequence;
    row.dict["defined"] = place;
  }
  if ((from.flags & market::kRowRemoved) != 0) row.dict["removed"] = true;
  if ((from.flags & market::kRowTickMoved) != 0) row.dict["tick_changed"] = true;
  if ((from.flags & market::kRowEarlier) != 0) row.dict["earlier"] = true;
  return row.dict;
}

py::dict MarketDicts::instrument_of(std::uint32_t row, DictMaker& dicts) const {
  const market::InstrumentView& view = tables_->instruments();
  market::InstrumentRow from;
  if (!view.read(row, from)) fail(row);
  return instrument_dict(row, from, view.quantity_decimals(), dicts);
}

py::list MarketDicts::instruments(DictMaker& dicts) {
  py::list result;
  for (std::uint32_t row = 1, count = tables().instruments().count(); row <= count; ++row) {
    result.append(instrument_of(row, dicts));
  }
  require_whole();
  return result;
}

py::object MarketDicts::instrument(const std::string& key_or_name, DictMaker& dicts) {
  const std::uint32_t row = tables().row_of(key_or_name);
  py::object result = row == 0 ? py::object(py::none()) : instrument_of(row, dicts);
  require_whole();
  return result;
}

py::list MarketDicts::states(DictMaker& dicts) {
  py::list result;
  for (std::uint32_t row = 1, count = tables().count(); row <= count; ++row) result.append(state_of(row, dicts));
  require_whole();
  return result;
}

py::object MarketDicts::state(const std::string& key_or_name, DictMaker& dicts) {
  const std::uint32_t row = tables().row_of(key_or_name);
  py::object result = row == 0 ? py::object(py::none()) : state_of(row, dicts);
  require_whole();
  return result;
}

py::dict MarketDicts::state_of(std::uint32_t number, DictMaker& dicts) const {
  const market::Tables& both = *tables_;
  market::InstrumentRow instrument;
  market::state::Top top;
  market::state::DayView day;
  if (!both.instruments().read(number, instrument) || both.states().read(number, top, day) != market::state::Read::Ok) {
    fail(number);
  }
  Row row(dicts, both.instruments().quantity_decimals());
  row.dict["row"] = number;
  row.dict["instrument"] = text_of_feed(key_of(instrument));
  row.text("name", instrument_name(instrument));
  row.text("trading", name_of(top.state));
  row.text("book", name_of(top.standing));
  if (top.standing != market::Standing::Latest) row.text("cause", name_of(top.cause));
  row.price("bid", top.bid);
  row.quantity("bid_quantity", top.bid_quantity);
  row.price("ask", top.ask);
  row.quantity("ask_quantity", top.ask_quantity);
  row.known("bids_known", top.bid_known);
  row.known("asks_known", top.ask_known);
  row.dict["channel"] = top.channel;
  row.dict["sequence"] = top.sequence;
  row.dict["time"] = top.arrival_ns;
  row.price("last", day.last);
  row.quantity("last_quantity", day.last_quantity);
  row.number("last_time", day.last_ns);
  if (day.aggressor != market::Side::None) row.text("aggressor", name_of(day.aggressor));
  row.price("high", day.high);
  row.price("low", day.low);
  row.quantity("volume", day.volume);
  if (day.exchange_state != 0) {
    row.dict["code"] = day.exchange_state;
    row.dict["scale"] = day.scale;
  }
  return row.dict;
}

void MarketColumns::add(const market::Event& event) {
#define STOPBIT_EVENT_COLUMN(name, type, none, value, what) name.push_back(static_cast<market::Stored<type>>(value));
#include "host/market/event/columns.def"
#undef STOPBIT_EVENT_COLUMN
}

}  // namespace stopbit::python
