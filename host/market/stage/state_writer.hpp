#pragma once

#include <algorithm>
#include <cstdint>

#include "host/market/book/book_set.hpp"
#include "host/market/instrument/table.hpp"
#include "host/market/stage/event_writer.hpp"
#include "host/market/stage/message.hpp"

namespace stopbit::market {

/// Says trading states: as events, and in the table of instruments.
class StateWriter {
 public:
  StateWriter(InstrumentTable& instruments, const BookSet& books, EventWriter& writer, const Message& message) noexcept
      : instruments_(instruments), books_(books), writer_(writer), message_(message) {}

  /// Of the message that is read. Row 0: all of its channel.
  void tell(std::uint32_t row, const StateCode& code) noexcept {
    Content event = message_.content(Kind::State, row);
    event.id = code.packed();
    tell(Event::of(event));
  }
  void tell(const Event& event) noexcept {
    writer_.emit(event);
    const StateCode code = event.state();
    if (event.instrument() != kAllInstruments) return change(event.instrument(), code);
    for (std::uint32_t row = 1; row <= std::min(instruments_.count(), books_.instruments()); ++row) {
      if (books_.is_of_channel(row, event.channel())) change(row, code);
    }
  }
  /// That of the events so far, of which the table of instruments has not all.
  [[nodiscard]] TradingState now(std::uint32_t row) const noexcept {
    return row <= books_.instruments() ? books_.trading_state(row)
                                       : static_cast<TradingState>(instruments_.row(row).state);
  }

 private:
  void change(std::uint32_t row, const StateCode& code) noexcept {
    const InstrumentRow& known = instruments_.row(row);
    if (known.state == static_cast<std::uint8_t>(code.state) && known.state_code == code.exchange_code) return;
    instruments_.change(row, [&](InstrumentRow& to) {
      to.state = static_cast<std::uint8_t>(code.state);
      to.state_code = code.exchange_code;
      to.state_scale = code.scale;
    });
  }

  InstrumentTable& instruments_;
  const BookSet& books_;
  EventWriter& writer_;
  const Message& message_;
};

}  // namespace stopbit::market
