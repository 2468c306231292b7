#include "host/market/state/table_copy.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "host/market/state/reader.hpp"

namespace stopbit::market {
namespace {

/// `Row` has its version in the first word.
template <class Row>
Row from_bytes(const std::byte* bytes) noexcept {
  Row row;
  std::memcpy(static_cast<void*>(&row), bytes, sizeof(row));
  return row;
}

}  // namespace

Result<TableShape> TableShape::of(const InstrumentHeader& instruments, const state::Header& states,
                                  std::uint64_t ring_epoch) {
  const Result<std::uint32_t> capacity = capacity_of(instruments, ~std::uint64_t{0});
  if (!capacity) return Failure{"the instrument table " + capacity.message()};
  if (const Status sound = state::check_header(states, state::kMaxSegmentBytes); !sound) {
    return Failure{"the state table: " + sound.message()};
  }
  if (instruments.ring_epoch != ring_epoch || states.ring_epoch != ring_epoch) {
    return Failure{"its tables of instruments and states belong to another ring"};
  }
  TableShape shape;
  shape.instruments.capacity = capacity.value();
  shape.instruments.generation = instruments.generation;
  shape.instruments.map_name.assign(instruments.map_name,
                                    ::strnlen(instruments.map_name, sizeof(instruments.map_name)));
  shape.instruments.quantity_decimals = instruments.quantity_decimals;
  shape.states.rows = states.rows;
  shape.states.levels = states.levels;
  shape.states.generation = states.generation;
  shape.states.is_copy = true;
  shape.states_offset = states.rows_offset;
  shape.state_row_bytes = state::row_bytes(states.levels);
  return shape;
}

std::uint64_t TableShape::bytes() const noexcept {
  return instrument_table_bytes(instruments.capacity) + state::kPageBytes +
         (std::uint64_t{states.rows} + 1) * state_row_bytes;
}

bool TableShape::is_same(const TableShape& other) const noexcept {
  return instruments.capacity == other.instruments.capacity && instruments.generation == other.instruments.generation &&
         states.rows == other.states.rows && states.levels == other.states.levels &&
         states_offset == other.states_offset;
}

Result<TableCopy> TableCopy::prepare(std::string_view name, const TableShape& shape, std::uint64_t ring_epoch,
                                     const TableCopy* replaces) {
  InstrumentTable::Options instruments = shape.instruments;
  instruments.ring_epoch = ring_epoch;
  instruments.replaces = replaces != nullptr ? &replaces->instruments_ : nullptr;
  Result<InstrumentTable> table = InstrumentTable::prepare(name, instruments);
  if (!table) return Failure{table.message()};
  state::TableOptions states = shape.states;
  states.ring_epoch = ring_epoch;
  states.replaces = replaces != nullptr ? &replaces->states_ : nullptr;
  Result<state::Table> made = state::Table::prepare(name, states);
  if (!made) return Failure{made.message()};
  return TableCopy(shape, std::move(table).value(), std::move(made).value());
}

Status TableCopy::check_names() const {
  Status free = instruments_.check_name();
  return free ? states_.check_name() : free;
}

Status TableCopy::take_names() {
  Status taken = instruments_.take_name();
  return taken ? states_.take_name() : taken;
}

TableCopy::Taken TableCopy::take_instrument(std::uint32_t row, const std::byte* before, const std::byte* words,
                                            const std::byte* after) noexcept {
  const auto copy = from_bytes<InstrumentRow>(words);
  const auto first = from_bytes<std::uint64_t>(before);
  const auto last = from_bytes<std::uint64_t>(after);
  if (first != copy.version || last != copy.version || copy.version % 2 != 0) return Taken::Changed;
  return instruments_.copy_row(row, copy) ? Taken::Whole : Taken::Refused;
}

TableCopy::Taken TableCopy::take_state(std::uint32_t row, const std::byte* before, const std::byte* words,
                                       const std::byte* after) noexcept {
  if (row == 0 || row > states_.rows()) return Taken::Refused;
  const auto words_of = [](const std::byte* bytes) { return reinterpret_cast<const std::uint64_t*>(bytes); };
  return states_.copy_row(row, words_of(before), words_of(words), words_of(after)) ? Taken::Whole : Taken::Changed;
}

}  // namespace stopbit::market
