#include <algorithm>
#include <array>
#include <cstring>

#include "host/bindings/c/handles.hpp"
#include "host/market/state/tables.hpp"
#include "host/os/shm/name.hpp"
#include "host/ring/reader.hpp"

using namespace stopbit;  // NOLINT(google-build-using-namespace): the functions themselves are global

static_assert(STOPBIT_NO_PRICE == market::kNoPrice && STOPBIT_NO_QUANTITY == market::kNoQuantity);
static_assert(STOPBIT_NO_DELAY == market::kNoDelay && STOPBIT_NO_COUNT == market::kNoCount);
static_assert(int{STOPBIT_KNOWN_WHOLE} == market::state::kWhole);
static_assert(int{STOPBIT_FLAG_LAST_OF_EVENT} == market::kFlagLastOfEvent &&
              int{STOPBIT_FLAG_BEST_CHANGED} == market::kFlagBestChanged &&
              int{STOPBIT_FLAG_WIDE} == market::kFlagWide);
static_assert(int{STOPBIT_STANDING_LATEST} == static_cast<int>(market::Standing::Latest) &&
              int{STOPBIT_SIDE_ASK} == static_cast<int>(market::Side::Ask));
static_assert(market::kOrdersUnknown == UINT32_MAX);

struct stopbit_market {
  /// The texts of `instrument`, each with a zero.
  struct Texts {
    std::array<char, market::kInstrumentKeyBytes + 1> key;
    std::array<char, market::kInstrumentNameBytes + 1> name;
    std::array<char, market::kInstrumentProductBytes + 1> product;
  };

  std::optional<market::Tables> tables;
  std::optional<uid_t> user;  ///< Whose tables are accepted, too.
  stopbit_instrument instrument{};
  Texts texts{};
  stopbit_state state{};
  stopbit_levels levels{};
  std::array<stopbit_level, market::state::kMaxLevels> bids{};
  std::array<stopbit_level, market::state::kMaxLevels> asks{};
  capi::ErrorText error;
};

namespace {

constexpr char kNotOpen[] = "the tables are not open";
constexpr char kNoRow[] = "there is no such row";
constexpr char kUnfinished[] = "the row changed during each try to read it, or its writer died while it wrote the row";

template <std::size_t N>
const char* put(std::array<char, N>& to, std::string_view text) noexcept {
  to = {};
  std::memcpy(to.data(), text.data(), std::min(text.size(), N - 1));
  return to.data();
}

/// Literals, which end with a zero.
const char* or_null(std::string_view name) noexcept {
  return name.empty() ? nullptr : name.data();
}

/// Reads a row: `read` returns a state::Read. Sets `*to` to `&from` if all is well.
template <class T, class ReadRow>
stopbit_status take(stopbit_market* market, std::uint32_t row, const T** to, const T& from, ReadRow read) noexcept {
  if (to != nullptr) *to = nullptr;
  if (market == nullptr) return STOPBIT_ERROR_ARGUMENT;
  market->error.clear();
  if (to == nullptr) return market->error.set(STOPBIT_ERROR_ARGUMENT, "the pointer to the result is NULL");
  if (!market->tables) return market->error.set(STOPBIT_ERROR_ARGUMENT, kNotOpen);
  const market::Tables& tables = *market->tables;
  const market::state::Read found = row == 0 || row > tables.count() ? market::state::Read::NoRow : read(tables);
  // A truncated table holds zeros, of which any result may be made: this comes first.
  if (tables.is_broken()) {
    return market->error.set(STOPBIT_ERROR_INPUT, market::Tables::broken_text().data());
  }
  switch (found) {
    case market::state::Read::Ok: *to = &from; return STOPBIT_OK;
    case market::state::Read::NoRow: return market->error.set(STOPBIT_ERROR_ARGUMENT, kNoRow);
    case market::state::Read::Unfinished: break;
  }
  return market->error.set(STOPBIT_ERROR_SYSTEM, kUnfinished);
}

void copy_levels(std::span<const market::Row> from, std::array<stopbit_level, market::state::kMaxLevels>& to) noexcept {
  std::transform(from.begin(), from.end(), to.begin(), [](const market::Row& row) {
    return stopbit_level{row.price, row.quantity, row.orders, row.is_known};
  });
}

}  // namespace

const char* stopbit_statistic_name(int statistic) {
  if (statistic < 0 || statistic > UINT16_MAX) return nullptr;
  return or_null(name_of(static_cast<market::Statistic>(statistic)));
}
const char* stopbit_cause_name(int cause) {
  return cause < 0 || cause > UINT8_MAX ? nullptr : or_null(name_of(static_cast<market::Cause>(cause)));
}
const char* stopbit_trading_state_name(int state) {
  return state < 0 || state > UINT8_MAX ? nullptr : or_null(name_of(static_cast<market::TradingState>(state)));
}
const char* stopbit_standing_name(int standing) {
  return standing < 0 || standing > UINT8_MAX ? nullptr : or_null(name_of(static_cast<market::Standing>(standing)));
}

stopbit_market* stopbit_market_new() {
  return new (std::nothrow) stopbit_market;
}

void stopbit_market_free(stopbit_market* market) {
  delete market;
}

const char* stopbit_market_error(const stopbit_market* market) {
  return market != nullptr ? market->error.c_str() : "the market is NULL";
}

stopbit_status stopbit_market_accept(stopbit_market* market, const char* user) {
  if (market == nullptr) return STOPBIT_ERROR_ARGUMENT;
  return capi::guarded(market->error, [&] {
    market->user = capi::accepted_user(user);
    return STOPBIT_OK;
  });
}

stopbit_status stopbit_market_open(stopbit_market* market, const char* name) {
  if (market == nullptr) return STOPBIT_ERROR_ARGUMENT;
  return capi::guarded(market->error, [&] {
    if (name == nullptr) return market->error.set(STOPBIT_ERROR_ARGUMENT, "name is NULL");
    if (const auto path = os::path_of(name); !path) {
      return market->error.set_copy(STOPBIT_ERROR_ARGUMENT, path.message());
    }
    Result<market::Tables> opened = market::Tables::open(name, os::Accepted(market->user));
    if (!opened) return market->error.set_copy(STOPBIT_ERROR_SYSTEM, opened.message());
    market->tables.emplace(std::move(opened).value());
    return STOPBIT_OK;
  });
}

int stopbit_market_belongs(const stopbit_market* market, const stopbit_ring* ring) {
  const ring::Reader* const reader = capi::reader_of(ring);
  if (market == nullptr || !market->tables || reader == nullptr) return 0;
  return market->tables->belong_to(reader->tables_epoch()) ? 1 : 0;
}

int stopbit_market_replaced(const stopbit_market* market) {
  return market != nullptr && market->tables && market->tables->replaced() ? 1 : 0;
}

int stopbit_market_writer(const stopbit_market* market) {
  if (market == nullptr || !market->tables) return STOPBIT_ERROR_ARGUMENT;
  switch (market->tables->states().writer()) {
    case market::state::Reader::Writer::Running: return STOPBIT_WRITER_RUNNING;
    case market::state::Reader::Writer::Finished: return STOPBIT_WRITER_FINISHED;
    case market::state::Reader::Writer::Dead: break;
  }
  return STOPBIT_WRITER_DEAD;
}

uint64_t stopbit_market_heartbeat_ns(const stopbit_market* market) {
  return market != nullptr && market->tables ? market->tables->states().heartbeat_ns() : 0;
}

uint32_t stopbit_market_rows(const stopbit_market* market) {
  return market != nullptr && market->tables ? market->tables->count() : 0;
}

int stopbit_market_quantity_exponent(const stopbit_market* market) {
  if (market == nullptr || !market->tables) return 0;
  return -static_cast<int>(market->tables->instruments().quantity_decimals());
}

uint32_t stopbit_market_level_rows(const stopbit_market* market) {
  return market != nullptr && market->tables ? market->tables->states().levels() : 0;
}

uint32_t stopbit_market_find(const stopbit_market* market, const char* key_or_name) {
  return market != nullptr && market->tables && key_or_name != nullptr ? market->tables->row_of(key_or_name) : 0;
}

stopbit_status stopbit_market_instrument(stopbit_market* market, uint32_t row, const stopbit_instrument** instrument) {
  static const stopbit_instrument kNone{};
  return take(market, row, instrument, market != nullptr ? market->instrument : kNone, [&](const auto& tables) {
    market::InstrumentRow from;
    if (!tables.instruments().read(row, from)) return market::state::Read::Unfinished;
    const std::string_view key = key_of(from);
    const std::string_view name = instrument_name(from);
    const std::string_view product = product_of(from);
    market->instrument = {.row = row,
                          .key_size = static_cast<uint32_t>(key.size()),
                          .name_size = static_cast<uint32_t>(name.size()),
                          .product_size = static_cast<uint32_t>(product.size()),
                          .key = put(market->texts.key, key),
                          .name = put(market->texts.name, name),
                          .product = put(market->texts.product, product),
                          .tick = from.tick,
                          .session = from.session,
                          .first_ns = from.first_ns,
                          .definition_ns = from.definition_ns,
                          .channel = from.channel,
                          .depth = from.depth[0],
                          .implied_depth = from.depth[1],
                          .is_defined = static_cast<uint8_t>((from.flags & market::kRowDefined) == 0   ? 0
                                                             : (from.flags & market::kRowEarlier) == 0 ? 1
                                                                                                       : 2),
                          .is_removed = static_cast<uint8_t>((from.flags & market::kRowRemoved) != 0)};
    return market::state::Read::Ok;
  });
}

stopbit_status stopbit_market_state(stopbit_market* market, uint32_t row, const stopbit_state** state) {
  static const stopbit_state kNone{};
  return take(market, row, state, market != nullptr ? market->state : kNone, [&](const auto& tables) {
    market::state::Top top;
    market::state::DayView day;
    const market::state::Read read = tables.states().read(row, top, day);
    if (read != market::state::Read::Ok) return read;
    market->state = {.bid = top.bid,
                     .bid_quantity = top.bid_quantity,
                     .ask = top.ask,
                     .ask_quantity = top.ask_quantity,
                     .arrival_ns = top.arrival_ns,
                     .last = day.last,
                     .last_quantity = day.last_quantity,
                     .last_ns = day.last_ns,
                     .high = day.high,
                     .low = day.low,
                     .volume = day.volume,
                     .sequence = top.sequence,
                     .exchange_state = day.exchange_state,
                     .channel = top.channel,
                     .scale = day.scale,
                     .trading_state = static_cast<uint8_t>(top.state),
                     .standing = static_cast<uint8_t>(top.standing),
                     .cause = static_cast<uint8_t>(top.cause),
                     .bid_known = top.bid_known,
                     .ask_known = top.ask_known,
                     .aggressor = static_cast<uint8_t>(day.aggressor)};
    return read;
  });
}

stopbit_status stopbit_market_levels(stopbit_market* market, uint32_t row, const stopbit_levels** levels) {
  static const stopbit_levels kNone{};
  return take(market, row, levels, market != nullptr ? market->levels : kNone, [&](const auto& tables) {
    std::array<market::Row, market::state::kMaxLevels> bids;
    std::array<market::Row, market::state::kMaxLevels> asks;
    market::state::Reader::Counts counts;
    const market::state::Read read = tables.states().read_levels(row, bids, asks, counts);
    if (read != market::state::Read::Ok) return read;
    copy_levels(std::span(bids).first(counts.bids), market->bids);
    copy_levels(std::span(asks).first(counts.asks), market->asks);
    market->levels = {market->bids.data(), market->asks.data(), counts.bids, counts.asks};
    return read;
  });
}
