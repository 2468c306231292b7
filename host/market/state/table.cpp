#include "host/market/state/table.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "host/os/clock.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/publish.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::market::state {
namespace {

constexpr std::size_t kRowAlignment = 128;

Result<std::size_t> segment_bytes(const TableOptions& options) {
  if (options.rows == 0 || options.rows > kMaxInstrument) {
    return Failure{"a state table can have 1 to " + std::to_string(kMaxInstrument) + " rows, not " +
                   std::to_string(options.rows)};
  }
  if (options.levels > kMaxLevels) {
    return Failure{"a state table can have at most " + std::to_string(kMaxLevels) + " levels a side, not " +
                   std::to_string(options.levels)};
  }
  const std::uint64_t bytes =
      round_up<std::uint64_t>(kPageBytes + (std::uint64_t{options.rows} + 1) * row_bytes(options.levels), kPageBytes);
  if (bytes > kMaxSegmentBytes) return Failure{"the state table needs more memory than a segment can have"};
  return static_cast<std::size_t>(bytes);
}

std::uint8_t known_of(const Extent& extent) noexcept {
  return extent.is_whole ? kWhole : static_cast<std::uint8_t>(std::min<std::uint32_t>(extent.known_to, kWhole - 1));
}

/// The words of a part after its version.
template <class Part>
const std::uint64_t* words_of(const Part& part) noexcept {
  return reinterpret_cast<const std::uint64_t*>(&part) + 1;
}

}  // namespace

Result<Table> Table::create(std::string_view name, const TableOptions& options) {
  Result<Table> table = prepare(name, options);
  if (!table) return table;
  if (const Status named = table.value().take_name(); !named) return Failure{named.message()};
  return table;
}

Result<Table> Table::prepare(std::string_view name, const TableOptions& options) {
  const Result<std::size_t> bytes = segment_bytes(options);
  if (!bytes) return Failure{bytes.message()};
  const Result<std::string> plain = os::path_of(name);
  if (!plain) return Failure{plain.message()};
  const std::string path = plain.value() + std::string(kSuffix);
  Table table;
  table.path_ = path;
  const os::SegmentKind kind = {.magic = kMagic,
                                .noun = kNoun,
                                .own = options.replaces != nullptr ? &options.replaces->file_ : nullptr,
                                .writer_at = offsetof(Header, writer_pid)};
  table.unnamed_ = std::make_unique<os::NewSegment>(path, kind);
  table.file_ = table.unnamed_->create();
  if (!table.file_.ok()) return Failure{table.unnamed_->problem()};
  if (!os::lock(table.file_)) return Failure{os::system_error("lock", path)};
  if (!table.mapping_.create(table.file_, bytes.value())) {
    return Failure{os::no_memory(table.file_, path, bytes.value())};
  }
  table.fill(options, table.mapping_.data(), bytes.value());
  return table;
}

Status Table::take_name() {
  Status published = unnamed_->publish(file_);
  if (published) unnamed_.reset();
  return published;
}

Result<Table> Table::create_private(const TableOptions& options) {
  const Result<std::size_t> bytes = segment_bytes(options);
  if (!bytes) return Failure{bytes.message()};
  Table table;
  table.private_ = std::make_unique<std::byte[]>(bytes.value() + kRowAlignment);
  void* begin = table.private_.get();
  std::size_t room = bytes.value() + kRowAlignment;
  table.fill(options, static_cast<std::byte*>(std::align(kRowAlignment, bytes.value(), begin, room)), bytes.value());
  return table;
}

void Table::fill(const TableOptions& options, std::byte* memory, std::size_t bytes) {
  memory_ = memory;
  bytes_ = bytes;
  rows_ = options.rows;
  levels_ = options.levels;
  row_bytes_ = row_bytes(options.levels);
  rows_at_ = memory + kPageBytes;
  const std::size_t shown = options.is_copy ? 0 : std::size_t{rows_} + 1;
  shown_ = std::make_unique<Shown[]>(shown);
  days_ = std::make_unique<ShownDay[]>(shown);
  scratch_ = std::make_unique<Row[]>(levels_);
  const Book book{.version = 0,
                  .sequence = 0,
                  .arrival_ns = 0,
                  .bid = kNoPrice,
                  .bid_quantity = kNoQuantity,
                  .ask = kNoPrice,
                  .ask_quantity = kNoQuantity,
                  .state = StateWord{.cause = static_cast<std::uint8_t>(Cause::Join)}.packed()};
  const Day day{.version = 0,
                .last = kNoPrice,
                .last_quantity = kNoQuantity,
                .last_ns = 0,
                .high = kNoPrice,
                .low = kNoPrice,
                .volume = kNoQuantity,
                .exchange_state = 0};
  for (std::uint32_t row = 0; row <= rows_; ++row) {
    std::memcpy(part(row, 0), &book, sizeof(book));
    std::memcpy(part(row, kLineWords), &day, sizeof(day));
    if (options.is_copy) continue;
    shown_[row].state = book.state;
    days_[row].day = day;
  }
  Header& head = header();
  head.version = kVersion;
  head.event_schema = kEventSchemaVersion;
  head.rows = rows_;
  head.levels = levels_;
  head.row_bytes = row_bytes_;
  head.rows_offset = kPageBytes;
  head.segment_bytes = bytes;
  head.epoch = os::wall_clock_ns();
  head.generation = options.generation;
  head.writer_pid = static_cast<std::uint32_t>(::getpid());
  head.ring_epoch = options.ring_epoch;
  head.heartbeat_ns = head.epoch;
  head.writer_state = static_cast<std::uint64_t>(WriterState::Running);
  __atomic_store_n(&head.magic, kMagic, __ATOMIC_RELEASE);
}

Table::~Table() {
  if (mapping_.data() != nullptr) finish();
}

void Table::put_book(std::uint32_t row, const BookSet& books, const Event& event) noexcept {
  Shown& shown = shown_[row];
  const BookSet::Top top = books.top(row);
  const Row& bid = top.bid;
  const Row& ask = top.ask;
  const std::uint64_t state = StateWord{.trading = static_cast<std::uint8_t>(books.trading_state(row)),
                                        .standing = static_cast<std::uint8_t>(books.standing(row)),
                                        .cause = static_cast<std::uint8_t>(books.cause(row)),
                                        .bid_known = known_of(top.of_bids),
                                        .ask_known = known_of(top.of_asks)}
                                  .packed();
  if (shown.bid == bid.price && shown.bid_quantity == bid.quantity && shown.ask == ask.price &&
      shown.ask_quantity == ask.quantity && shown.state == state && shown.day_of_book == shown.day) {
    return;
  }
  shown.bid = bid.price;
  shown.bid_quantity = bid.quantity;
  shown.ask = ask.price;
  shown.ask_quantity = ask.quantity;
  shown.state = state;
  shown.day_of_book = shown.day;
  shown.book += 2;
  const std::uint64_t words[] = {std::uint64_t{event.sequence()} | std::uint64_t{event.channel()} << 32,
                                 event.arrival_ns(),
                                 static_cast<std::uint64_t>(bid.price),
                                 static_cast<std::uint64_t>(bid.quantity),
                                 static_cast<std::uint64_t>(ask.price),
                                 static_cast<std::uint64_t>(ask.quantity),
                                 state};
  write_part<SharedMemory>(part(row, 0), shown.book, shown.day, words, std::size(words));
}

void Table::put_day(std::uint32_t row, const Event& event) noexcept {
  ShownDay& shown = days_[row];
  Day& day = shown.day;
  const std::int64_t price = event.price();
  const std::int64_t quantity = event.quantity();
  const bool has_quantity = quantity != kNoQuantity;
  const auto add_volume = [&](std::int64_t more) {
    if (shown.has_volume) return;
    const std::int64_t before = day.volume == kNoQuantity ? 0 : day.volume;
    if (__builtin_add_overflow(before, more, &day.volume)) day.volume = kNoQuantity;
  };
  switch (event.kind()) {
    case Kind::Trade:
      day.last = price;
      day.last_quantity = quantity;
      day.last_ns = event.exchange_ns();
      day.exchange_state = (day.exchange_state & ~(std::uint64_t{3} << 40)) | static_cast<std::uint64_t>(event.side())
                                                                                  << 40;
      if (price != kNoPrice) {
        day.high = day.high == kNoPrice ? price : std::max(day.high, price);
        day.low = day.low == kNoPrice ? price : std::min(day.low, price);
      }
      // Those in snapshots were counted when they came.
      if (has_quantity && !event.has(record::kFlagSnapshot)) add_volume(quantity);
      break;
    case Kind::Bust:
      if (has_quantity) add_volume(-quantity);
      break;
    case Kind::Statistic:
      switch (event.statistic()) {
        case Statistic::High: day.high = price; break;
        case Statistic::Low: day.low = price; break;
        case Statistic::Volume:
          shown.has_volume = has_quantity;
          day.volume = quantity;
          break;
        case Statistic::Reset:
          day.last = day.high = day.low = kNoPrice;
          day.last_quantity = day.volume = kNoQuantity;
          day.last_ns = 0;
          shown.has_volume = false;
          break;
        default: return;
      }
      break;
    case Kind::State: {
      const StateCode code = event.state();
      day.exchange_state =
          (day.exchange_state & std::uint64_t{3} << 40) | code.exchange_code | std::uint64_t{code.scale} << 32;
      break;
    }
    default: return;
  }
  shown_[row].day += 2;
  write_part<SharedMemory>(part(row, kLineWords), shown_[row].day, 0, words_of(day), kLineWords - 1);
}

void Table::put_levels(std::uint32_t row, const BookSet& books) noexcept {
  if (levels_ == 0) return;
  std::array<std::uint64_t, levels_words(kMaxLevels)> words;
  std::uint64_t counts = 0;
  std::size_t at = 0;
  for (const Side side : {Side::Bid, Side::Ask}) {
    const std::span<Row> rows(scratch_.get(), levels_);
    const std::size_t count = books.rows(row, side, rows);
    counts |= std::uint64_t{count} << (side == Side::Ask ? 16 : 0);
    for (std::size_t i = 0; i < levels_; ++i) {
      const Row level = i < count ? rows[i] : Row();
      words[1 + at++] = static_cast<std::uint64_t>(level.price);
      words[1 + at++] = static_cast<std::uint64_t>(level.quantity);
      words[1 + at++] = std::uint64_t{level.orders} | std::uint64_t{level.is_known} << 32;
    }
  }
  words[0] = counts;
  Shown& shown = shown_[row];
  shown.levels += 2;
  write_part<SharedMemory>(part(row, 2 * kLineWords), shown.levels, shown.book, words.data(), 1 + at);
}

bool Table::copy_row(std::uint32_t row, const std::uint64_t* before, const std::uint64_t* words,
                     const std::uint64_t* after) noexcept {
  if (row == 0 || row > rows_) return false;
  bool is_whole = true;
  const auto copy = [&](std::size_t at, std::size_t count) {
    std::uint64_t* const to = part(row, at);
    const auto version = static_cast<std::uint32_t>(words[at]);
    const auto own = static_cast<std::uint32_t>(__atomic_load_n(to, __ATOMIC_RELAXED));
    if (version % 2 != 0 || before[at] != words[at] || after[at] != words[at]) {
      is_whole = false;
    } else if (static_cast<std::int32_t>(version - own) > 0) {
      write_part<SharedMemory>(to, version, static_cast<std::uint32_t>(words[at] >> 32), words + at + 1, count - 1);
    }
  };
  copy(kLineWords, kLineWords);  // the day comes before its book
  copy(0, kLineWords);
  if (levels_ != 0) copy(2 * kLineWords, levels_words(levels_));
  return is_whole;
}

void Table::beat(std::uint64_t now_ns) const noexcept {
  __atomic_store_n(&header().heartbeat_ns, now_ns, __ATOMIC_RELAXED);
}
void Table::finish() const noexcept {
  __atomic_store_n(&header().writer_state, static_cast<std::uint64_t>(WriterState::Finished), __ATOMIC_RELEASE);
}
void Table::unlink() const noexcept {
  if (os::is_at(file_, path_)) ::unlink(path_.c_str());
}

}  // namespace stopbit::market::state
