#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "host/market/event/columns.hpp"
#include "host/replay/columns/column_folder.hpp"

namespace stopbit::replay {

/// Writes market events as columns of a folder, a file for each field; columns.md describes the index. Memory does not
/// grow with the rows. One thread.
class EventColumns {
 public:
  explicit EventColumns(ColumnFolder& folder);

  void add(const market::Event& event) {
    const auto values = market::column_values(event);
    for (std::size_t i = 0; i < values.size(); ++i) files_[i]->put(values[i]);
  }
  /// After the last event: writes the rest, and the index. `is_whole`: as of ColumnWriter. `instruments` is the table
  /// of instruments, a JSON array; quantities have `quantity_decimals`.
  [[nodiscard]] Status finish(bool is_whole, std::string_view instruments, std::uint32_t quantity_decimals);

 private:
  ColumnFolder& folder_;
  std::array<ColumnFile*, std::size(market::kEventColumns)> files_{};
};

}  // namespace stopbit::replay
