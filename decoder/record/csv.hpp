#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/reader.hpp"
#include "decoder/record/text_buffer.hpp"

namespace stopbit::record {

/// Prints records as CSV in long form, one row per value, because messages nest:
///
///   message,packet_sequence,template,path,value
///   1,3574402,MDIncRefresh_83,MsgSeqNum,3574402
///   1,3574402,MDIncRefresh_83,MDEntries,1
///   1,3574402,MDIncRefresh_83,MDEntries[0].MDEntryPx,1411.50
///   ,3574403,MDIncRefresh_83,!error,"D2 at 41 in packet 12, field MDEntryPx: the integer does not fit ..."
///
/// - Messages are numbered from 1 in the order of printing. A message without values has one row, path and value empty.
/// - A sequence has a row with the number of its elements, which count from 0.
/// - A dynamic reference has a row with the name of its template; its path is "templateRef".
/// - Values are as in JSON, without the quotes.
/// - The elements of a set are separated by a space.
/// - Strings are UTF-8. A byte above 0x7F of an ASCII field
///   becomes U+0080 to U+00FF.
/// - Events have no message number and the path "!error", "!dropped", "!gap", ...
/// - Quoting as RFC 4180; rows end with \n alone.
///
/// The schema's program must outlive the printer. One thread per printer.
class CsvPrinter {
 public:
  explicit CsvPrinter(const Schema& schema);

  /// The first line, with its end.
  static constexpr std::string_view kTitle = "message,packet_sequence,template,path,value\n";

  /// Appends the rows of the record at the front of `slots`, a message or an event. On an error nothing is appended.
  /// Each row begins with `head`: cells, each with its comma (append_csv_head).
  [[nodiscard]] ReadError print(std::span<const Slot> slots, std::string& out, std::string_view head = {});

  /// The next message is number `messages` + 1.
  void count_from(std::uint64_t messages) noexcept { messages_ = messages; }

 private:
  class Writer;

  void print_event(const Slot& slot, std::string& out, std::string_view head) const;

  /// A name on the way to a value.
  struct Name {
    Pieces::Piece text;      ///< .Name, as UTF-8; nothing for a value of a vector.
    bool is_quoted = false;  ///< A cell with it needs quotes.
  };

  Reader reader_;
  Pieces pieces_;
  std::vector<Name> names_;               ///< By node.
  std::vector<Pieces::Piece> elements_;   ///< By element of an enumeration or a set, as a cell.
  std::vector<Pieces::Piece> templates_;  ///< By template: its name as a cell, with a comma.
  std::uint64_t messages_ = 0;
  TextBuffer rows_;
  TextBuffer prefix_;  ///< Of each row of the message.
  TextBuffer path_;
  std::vector<std::size_t> lengths_;  ///< Of the path around each open node.
  std::string rare_;                  ///< A cell that takes the long way.
};

}  // namespace stopbit::record
