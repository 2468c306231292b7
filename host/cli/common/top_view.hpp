#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/status.hpp"
#include "host/cli/common/screen.hpp"

namespace stopbit::tools {

/// What `stopbit top` shows of its readings, and what its keys change. Knows no terminal and no clock.
class TopView {
 public:
  struct Look {
    bool has_colours = false;  ///< Colours that most colour-blind people can distinguish; the text says what they mark.
    bool has_blocks = false;   ///< The terminal shows block elements of Unicode.
    bool has_keys = false;     ///< The keyboard is read.
  };
  explicit TopView(Look look) : look_(look) {}

  /// The newest reading. While the view is paused it is not shown.
  void take(appliance::StatusReport status);
  /// False if the key ends the command.
  [[nodiscard]] bool press(int key);
  /// A screen of at most the given columns and rows. Scrolls no further than to a last page that is full.
  [[nodiscard]] std::string text(std::size_t columns, std::size_t rows);

 private:
  enum class Column : std::uint8_t { Attention, Name, Packets, Messages, Gaps, Lost, Skew };
  static constexpr std::size_t kColumns = 7;

  /// Of a channel, in the last two readings.
  struct Row {
    const appliance::ChannelStatus* channel = nullptr;
    double packets = 0;  ///< A second.
    double messages = 0;
    bool has_rates = false;
    bool loses = false;  ///< Numbers, since the reading before.
  };
  [[nodiscard]] const appliance::ChannelStatus* find_before(std::size_t channel) const;
  [[nodiscard]] std::vector<Row> rows() const;
  [[nodiscard]] bool is_before(const Row& left, const Row& right) const;
  [[nodiscard]] double seconds() const noexcept;
  void press_in_filter(int key);
  void show(appliance::StatusReport status);

  void add_head(std::size_t columns, std::vector<std::string>& out) const;
  [[nodiscard]] std::string rate_line(std::size_t columns) const;
  [[nodiscard]] std::string table_head(std::size_t columns) const;
  [[nodiscard]] std::string table_row(const Row& row, std::size_t columns) const;
  [[nodiscard]] std::string last_line(std::size_t columns, std::size_t below) const;
  [[nodiscard]] std::string coloured(std::string_view text, std::string_view colour) const;

  Look look_;
  appliance::StatusReport now_;
  appliance::StatusReport before_;
  bool has_reading_ = false;
  std::deque<double> rates_;  ///< Messages a second of all channels, the newest last.

  Column sorted_by_ = Column::Attention;
  bool is_reversed_ = false;
  bool is_paused_ = false;
  bool shows_help_ = false;
  bool edits_filter_ = false;
  std::string filter_;
  std::size_t scrolled_ = 0;
};

}  // namespace stopbit::tools
