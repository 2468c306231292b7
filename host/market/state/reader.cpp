#include "host/market/state/reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "host/market/state/memory.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/publish.hpp"

namespace stopbit::market::state {
namespace {

/// A writer is in a part for some nanoseconds of each change; this often in a row it is not there by chance.
constexpr int kTries = 1'000;

constexpr std::size_t kWords = kLineWords - 1;

Top top_of(const std::uint64_t* words) noexcept {
  const StateWord state = StateWord::of(words[6]);
  const auto trading = static_cast<TradingState>(state.trading);
  const auto cause = static_cast<Cause>(state.cause);
  return {.sequence = static_cast<std::uint32_t>(words[0]),
          .channel = static_cast<std::uint16_t>(words[0] >> 32),
          .arrival_ns = words[1],
          .bid = static_cast<std::int64_t>(words[2]),
          .bid_quantity = static_cast<std::int64_t>(words[3]),
          .ask = static_cast<std::int64_t>(words[4]),
          .ask_quantity = static_cast<std::int64_t>(words[5]),
          .state = name_of(trading).empty() ? TradingState::Unknown : trading,
          .standing = state.standing <= static_cast<std::uint8_t>(Standing::Latest)
                          ? static_cast<Standing>(state.standing)
                          : Standing::Stale,
          .cause = name_of(cause).empty() ? Cause::None : cause,
          .bid_known = state.bid_known,
          .ask_known = state.ask_known};
}

DayView day_of(const std::uint64_t* words) noexcept {
  const std::uint64_t aggressor = words[6] >> 40 & 3;
  return {.last = static_cast<std::int64_t>(words[0]),
          .last_quantity = static_cast<std::int64_t>(words[1]),
          .last_ns = words[2],
          .aggressor = aggressor == 3 ? Side::None : static_cast<Side>(aggressor),
          .high = static_cast<std::int64_t>(words[3]),
          .low = static_cast<std::int64_t>(words[4]),
          .volume = static_cast<std::int64_t>(words[5]),
          .exchange_state = static_cast<std::uint32_t>(words[6]),
          .scale = static_cast<std::uint8_t>(words[6] >> 32)};
}

template <class Try>
Read try_often(const Try& attempt) noexcept {
  for (int i = 0; i < kTries; ++i) {
    if (attempt()) return Read::Ok;
  }
  return Read::Unfinished;
}

}  // namespace

Result<Reader> Reader::open(std::string_view name, const os::Accepted& accepted) {
  Result<os::FoundFile> found = os::open_accepted(name, kSuffix, kNoun, accepted);
  if (!found) return Failure{found.message()};
  Reader reader;
  reader.file_ = std::move(found.value().file);
  reader.path_ = std::move(found.value().path);
  struct stat status {};
  if (::fstat(reader.file_.get(), &status) != 0) return Failure{os::system_error("look at", reader.path_)};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || bytes < kPageBytes || bytes > kMaxSegmentBytes) {
    return Failure{"'" + reader.path_ + "' is not a state table"};
  }
  if (!reader.mapping_.map(reader.file_, bytes, os::Mapping::Use::Read)) {
    return Failure{os::system_error("map", reader.path_)};
  }
  reader.memory_ = reader.mapping_.data();
  const Status checked = reader.check(bytes);
  if (reader.mapping_.is_broken()) return Failure{"'" + reader.path_ + "' was truncated while it was opened"};
  if (!checked) return Failure{"'" + reader.path_ + "': " + checked.message()};
  return reader;
}

Result<Reader> Reader::over(std::span<const std::byte> memory) {
  Reader reader;
  reader.memory_ = memory.data();
  if (memory.size() < kPageBytes) return Failure{"it is no state table"};
  if (const Status checked = reader.check(memory.size()); !checked) return checked.failure();
  return reader;
}

Status Reader::check(std::uint64_t bytes) {
  std::memcpy(&header_, memory_, sizeof(header_));
  return check_header(header_, bytes);
}

Status Reader::share(std::string_view name, const Reader* before) const {
  const Result<std::string> path = os::path_of(name);
  if (!path) return path.failure();
  return os::share(file_, path.value() + std::string(kSuffix),
                   {.magic = kMagic, .noun = kNoun, .own = before != nullptr ? &before->file_ : nullptr});
}

void Reader::unshare(std::string_view name) const {
  if (const Result<std::string> path = os::path_of(name)) os::unlink_at(file_, path.value() + std::string(kSuffix));
}

Status check_header(const Header& header, std::uint64_t bytes) {
  if (header.magic != kMagic) return Failure{"it is no state table"};
  if (header.version != kVersion) {
    return Failure{"version " + std::to_string(header.version) +
                   " of the layout is not supported; this program supports " + std::to_string(kVersion)};
  }
  if (header.event_schema != kEventSchemaVersion) {
    return Failure{"it is of version " + std::to_string(header.event_schema) +
                   " of the events; this program supports " + std::to_string(kEventSchemaVersion)};
  }
  if (header.rows == 0 || header.rows > kMaxInstrument || header.levels > kMaxLevels ||
      header.row_bytes != row_bytes(header.levels) || header.rows_offset % alignof(std::uint64_t) != 0 ||
      header.rows_offset < sizeof(Header) || header.rows_offset > bytes ||
      (std::uint64_t{header.rows} + 1) * header.row_bytes > bytes - header.rows_offset) {
    return Failure{"its rows are outside the segment"};
  }
  return Done{};
}

Read Reader::read(std::uint32_t row, Top& top) const noexcept {
  if (row == 0 || row > header_.rows) return Read::NoRow;
  std::array<std::uint64_t, kWords> words{};
  std::uint64_t version = 0;
  const Read read =
      try_often([&] { return read_part<SharedMemory>(part(row, 0), version, words.data(), words.size()); });
  if (read == Read::Ok) top = top_of(words.data());
  return read;
}

Read Reader::read(std::uint32_t row, DayView& day) const noexcept {
  if (row == 0 || row > header_.rows) return Read::NoRow;
  std::array<std::uint64_t, kWords> words{};
  std::uint64_t version = 0;
  const Read read =
      try_often([&] { return read_part<SharedMemory>(part(row, kLineWords), version, words.data(), words.size()); });
  if (read == Read::Ok) day = day_of(words.data());
  return read;
}

Read Reader::read(std::uint32_t row, Top& top, DayView& day) const noexcept {
  if (row == 0 || row > header_.rows) return Read::NoRow;
  std::array<std::uint64_t, kWords> book_words{};
  std::array<std::uint64_t, kWords> day_words{};
  const Read read = try_often([&] {
    return read_both<SharedMemory>(part(row, 0), book_words.data(), book_words.size(), part(row, kLineWords),
                                   day_words.data(), day_words.size());
  });
  if (read == Read::Ok) {
    top = top_of(book_words.data());
    day = day_of(day_words.data());
  }
  return read;
}

std::uint64_t Reader::version(std::uint32_t row) const noexcept {
  if (row == 0 || row > header_.rows) return 0;
  return __atomic_load_n(part(row, 0), __ATOMIC_ACQUIRE);
}

Read Reader::read_levels(std::uint32_t row, std::span<Row> bids, std::span<Row> asks, Counts& counts) const noexcept {
  if (row == 0 || row > header_.rows || header_.levels == 0) return Read::NoRow;
  std::array<std::uint64_t, levels_words(kMaxLevels)> words{};
  std::uint64_t version = 0;
  const Read read = try_often([&] {
    return read_part<SharedMemory>(part(row, 2 * kLineWords), version, words.data(), levels_words(header_.levels) - 1);
  });
  if (read != Read::Ok) return read;
  // The counts are the writer's: they may be anything.
  counts.bids = std::min<std::size_t>({words[0] & 0xFFFF, header_.levels, bids.size()});
  counts.asks = std::min<std::size_t>({words[0] >> 16 & 0xFFFF, header_.levels, asks.size()});
  const auto take = [&](std::span<Row> to, std::size_t first) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::uint64_t* const level = words.data() + 1 + (first + i) * kLevelWords;
      to[i] = {static_cast<std::int64_t>(level[0]), static_cast<std::int64_t>(level[1]), 0,
               static_cast<std::uint32_t>(level[2]), static_cast<std::uint32_t>(level[2] >> 32 & 1)};
    }
  };
  take(bids.first(counts.bids), 0);
  take(asks.first(counts.asks), header_.levels);
  return Read::Ok;
}

std::uint64_t Reader::heartbeat_ns() const noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(memory_ + offsetof(Header, heartbeat_ns)),
                         __ATOMIC_RELAXED);
}

Reader::Writer Reader::writer() const noexcept {
  const std::uint64_t state = __atomic_load_n(
      reinterpret_cast<const std::uint64_t*>(memory_ + offsetof(Header, writer_state)), __ATOMIC_ACQUIRE);
  if (state == static_cast<std::uint64_t>(WriterState::Finished)) return Writer::Finished;
  return !file_.ok() || os::is_locked(file_) ? Writer::Running : Writer::Dead;
}

}  // namespace stopbit::market::state
