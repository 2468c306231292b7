#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// What a dissector shows, and what it has to show, in the same form.
namespace stopbit::dissector {

/// A row of Wireshark's packet tree.
struct Row {
  int depth = 0;       ///< 1 = directly in the message.
  std::string filter;  ///< Without the protocol's name; empty for rows that are only text.
  std::string label;
  std::string value;  ///< By which it is filtered.
  int offset = 0;     ///< In the frame. Not compared, as a record does not tell it.
  int bytes = 0;      ///< 0 = not in the packet.
};

/// A message, or what took its place: an error with its place, a datagram that was dropped, a fault of the script.
struct Event {
  std::string title;  ///< "Quote (id 1)", "error D9 at 3 in Quote field Px", "dropped",
                      ///< "not_shown", "Lua error: ...".
  std::vector<Row> rows;
};

/// Empty if both are the same. Wireshark cuts long labels short.
[[nodiscard]] std::string difference(const Event& expected, const Event& actual);

}  // namespace stopbit::dissector
