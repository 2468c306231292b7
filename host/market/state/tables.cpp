#include "host/market/state/tables.hpp"

#include <utility>

namespace stopbit::market {

Result<Tables> Tables::open(std::string_view name, const os::Accepted& accepted) {
  Result<InstrumentView> instruments = InstrumentView::open(name, accepted);
  if (!instruments) return Failure{instruments.message()};
  Result<state::Reader> states = state::Reader::open(name, accepted);
  if (!states) return Failure{states.message()};
  if (instruments.value().generation() != states.value().generation()) {
    return Failure{std::string(name) +
                   ": the tables of instruments and states do not belong together; a new image may just be loading"};
  }
  return Tables(std::move(instruments).value(), std::move(states).value());
}

std::uint32_t Tables::row_of(std::string_view key_or_name) const noexcept {
  const std::uint32_t row = instruments_.find(key_or_name);
  return row != 0 ? row : instruments_.find_name(key_or_name);
}

}  // namespace stopbit::market
