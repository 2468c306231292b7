#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "decoder/record/sink.hpp"
#include "host/market/book/book_set.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/recovery_options.hpp"
#include "host/market/stage/translator.hpp"
#include "host/market/state/publisher.hpp"
#include "host/market/state/table.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

namespace stopbit::market {

/// Room that is reserved at the start. What finds none is counted, and its books are stale.
struct MarketRoom {
  std::uint32_t instruments = 16'384;
  std::uint32_t orders = 1U << 20;  ///< In all books by order or position together.
  std::uint32_t levels = 0;         ///< Rows a side in the state table, beside the best.
};

struct EventMakerOptions {
  std::string name = {};  ///< Of the tables in shared memory; empty: instruments in private memory, and no states.
  MarketRoom room = {};
  RecoveryOptions recovery = {};
  std::uint32_t generation = 1;  ///< Of the tables.
  std::uint64_t ring_epoch = 0;  ///< Of the ring that gets the events.
  /// A live maker of this process with the same name. Its readers keep its tables.
  const class EventMaker* replaces = nullptr;
};

/// Everything from records to events: instruments, books, states, and the translator that fills them.
///
/// Allocates when it is made only. Afterwards one thread; `states` and `instruments` may have readers everywhere.
class EventMaker {
 public:
  /// `events` receives the events. It, map and program must outlive the result. Until take_names the tables of the name
  /// are others, or none.
  [[nodiscard]] static Result<std::unique_ptr<EventMaker>> prepare(const Map& map, const Program& program,
                                                                   const EventMakerOptions& options,
                                                                   record::RecordSink& events);
  /// Whether take_names would succeed now. Only for tables in shared memory, like the next.
  [[nodiscard]] Status check_names() const;
  /// Once, after prepare. `options.replaces` must still live.
  [[nodiscard]] Status take_names();

  EventMaker(const EventMaker&) = delete;
  EventMaker& operator=(const EventMaker&) = delete;

  [[nodiscard]] Translator& translator() noexcept { return *translator_; }
  [[nodiscard]] const Translator& translator() const noexcept { return *translator_; }
  [[nodiscard]] const InstrumentTable& instruments() const noexcept { return instruments_; }
  [[nodiscard]] const BookSet& books() const noexcept { return books_; }
  /// The tables are well; every second or so.
  void beat(std::uint64_t now_ns) const noexcept {
    if (states_) states_->beat(now_ns);
  }
  /// The end of the feed: writes the event that waits for the next one, and marks the tables as finished.
  void finish() noexcept;

 private:
  EventMaker(const Map& map, InstrumentTable instruments, std::optional<state::Table> states, const MarketRoom& room,
             std::uint64_t salt, record::RecordSink& events);

  void make_translator(const Map& map, const Program& program, const EventMakerOptions& options, std::uint64_t salt);

  InstrumentTable instruments_;
  std::optional<state::Table> states_;
  BookSet books_;
  Publisher publisher_;
  std::optional<Translator> translator_;
};

}  // namespace stopbit::market
