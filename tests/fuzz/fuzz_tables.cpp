// Any contents of a table of instruments and of a table of states, as another process may leave them: refused, or read
// inside and within what the layout allows.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "host/market/instrument/table.hpp"
#include "host/market/state/reader.hpp"
#include "host/market/state/table.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;

constexpr std::uint32_t kRows = 3;
constexpr std::uint32_t kLevels = 2;
constexpr std::uint32_t kMostRead = 64;

/// Exactly as long as the segment, so that the sanitizer sees every step outside.
class Memory {
 public:
  explicit Memory(std::span<const std::byte> from) : bytes_(from.size()) {
    data_ = static_cast<std::byte*>(::operator new(bytes_ + (bytes_ == 0), std::align_val_t(64)));
    std::memcpy(data_, from.data(), bytes_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::operator delete(data_, std::align_val_t(64)); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, bytes_}; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

std::vector<std::byte> good_instruments() {
  market::InstrumentTable table =
      std::move(market::InstrumentTable::make({.capacity = kRows, .map_name = "fuzz", .quantity_decimals = 2}).value());
  auto* const begin =
      const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&table.row(0))) - market::kInstrumentHeaderBytes;
  // The same places of rows in the indexes in every run.
  std::memset(begin + offsetof(market::InstrumentHeader, salt), 0, sizeof(std::uint64_t));
  (void)table.add("27069", [&](market::InstrumentRow& row) { table.set_name(row, "ESM2"); });
  (void)table.add("SBER/TQBR", [&](market::InstrumentRow& row) { table.set_name(row, "Sberbank"); });
  return {begin, begin + market::instrument_table_bytes(kRows)};
}

std::vector<std::byte> good_states() {
  const market::state::Table table =
      std::move(market::state::Table::create_private({.rows = kRows, .levels = kLevels, .generation = 1}).value());
  return {table.bytes().begin(), table.bytes().end()};
}

void read_instruments(std::span<const std::byte> bytes) {
  const Result<market::InstrumentView> opened = market::InstrumentView::over(bytes);
  if (!opened) return fuzz::require(!opened.message().empty(), "a refused table has a reason");
  const market::InstrumentView& view = opened.value();
  fuzz::require(view.count() <= view.capacity(), "no more rows than there is room");
  fuzz::require(view.map_name().size() <= sizeof(market::InstrumentHeader::map_name), "the map's name is bounded");
  fuzz::require(view.quantity_decimals() <= market::kMaxQuantityDecimals, "decimals are bounded");
  for (std::uint32_t number = 0; number <= std::min(view.count(), kMostRead); ++number) {
    market::InstrumentRow row;
    if (!view.read(number, row)) continue;
    fuzz::require(number != 0, "row 0 is none");
    fuzz::require(view.find(market::key_of(row)) <= view.capacity(), "what is found is a row");
    fuzz::require(view.find_name(market::instrument_name(row)) <= view.count(), "what is found has been read");
    fuzz::require(market::product_of(row).size() <= market::kInstrumentProductBytes, "a product is bounded");
  }
  market::InstrumentRow row;
  fuzz::require(!view.read(view.capacity() + 1, row), "there is no such row");
  fuzz::require(view.find("27069") <= view.capacity() && view.find_name("none") <= view.count(), "rows are bounded");
}

void read_states(std::span<const std::byte> bytes) {
  const Result<market::state::Reader> opened = market::state::Reader::over(bytes);
  if (!opened) return fuzz::require(!opened.message().empty(), "a refused table has a reason");
  const market::state::Reader& reader = opened.value();
  fuzz::require(reader.levels() <= market::state::kMaxLevels, "levels are bounded");
  for (std::uint32_t row = 0; row <= std::min(reader.rows(), kMostRead); ++row) {
    market::state::Top top;
    market::state::DayView day;
    const market::state::Read read = reader.read(row, top, day);
    fuzz::require((read == market::state::Read::NoRow) == (row == 0), "row 0 is none");
    fuzz::require(!market::name_of(top.standing).empty() && !market::name_of(top.state).empty() &&
                      !market::name_of(top.cause).empty(),
                  "values have names");
    std::array<market::Row, market::state::kMaxLevels> bids;
    std::array<market::Row, market::state::kMaxLevels> asks;
    market::state::Reader::Counts counts;
    if (reader.read_levels(row, bids, asks, counts) != market::state::Read::Ok) continue;
    fuzz::require(counts.bids <= reader.levels() && counts.asks <= reader.levels(), "rows of a side are bounded");
  }
  market::state::Top top;
  fuzz::require(reader.read(reader.rows() + 1, top) == market::state::Read::NoRow, "there is no such row");
  (void)reader.writer();
  (void)reader.heartbeat_ns();
}

}  // namespace

/// Byte 0: bit 0, which table; bit 1, the rest is the whole segment. Else two bytes say how much of its end is missing,
/// and the rest changes a good one: two bytes say where, one how many bytes follow.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::byte> instruments = good_instruments();
  static const std::vector<std::byte> states = good_states();
  if (size < 3) return 0;
  const bool is_state = (data[0] & 1) != 0;
  std::vector<std::byte> segment = is_state ? states : instruments;
  std::size_t length = 0;
  if ((data[0] & 2) != 0) {
    const auto whole = std::as_bytes(std::span(data, size)).subspan(1);
    segment.assign(whole.begin(), whole.end());
    length = segment.size();
  } else {
    const std::size_t missing = std::size_t{data[1]} << 8 | data[2];
    for (std::size_t at = 3; at + 3 <= size;) {
      const std::size_t place = (std::size_t{data[at]} << 8 | data[at + 1]) % segment.size();
      const std::size_t count = std::min<std::size_t>({data[at + 2], size - at - 3, segment.size() - place});
      std::memcpy(segment.data() + place, data + at + 3, count);
      at += 3 + count;
    }
    length = segment.size() - std::min(missing, segment.size());
  }
  const Memory memory(std::span<const std::byte>(segment).first(length));
  if (is_state) {
    read_states(memory.bytes());
  } else {
    read_instruments(memory.bytes());
  }
  return 0;
}
