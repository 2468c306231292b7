#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "host/cli/common/record_printer.hpp"
#include "host/market/event/event.hpp"
#include "host/market/instrument/table.hpp"

namespace stopbit::tools {

/// Prints market events as JSON lines, CSV or SBE messages, with the keys of their instruments. One thread.
class EventPrinter {
 public:
  /// `table` has the instruments and must outlive the printer; null: they are shown by their numbers. A ToolError if
  /// events have no such format.
  EventPrinter(Format format, const market::InstrumentView* table);

  void print(const market::Event& event, std::string& out);
  /// What a file begins with.
  [[nodiscard]] static std::string_view title(Format format) noexcept;

 private:
  [[nodiscard]] const std::string& key(std::uint32_t row);

  Format format_;
  const market::InstrumentView* table_;
  std::uint32_t quantity_decimals_ = 0;
  std::string key_;  ///< Of the row that was shown last, as the format has it.
  std::uint32_t row_ = 0;
};

}  // namespace stopbit::tools
