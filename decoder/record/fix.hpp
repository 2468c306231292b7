#pragma once

#include <span>
#include <string>

#include "decoder/record/reader.hpp"

namespace stopbit::record {

/// The separator between fields.
enum class FixStyle : std::uint8_t {
  Readable,  ///< `|`; a value byte that could be mistaken for it, or is not text, is written \xNN.
  Raw,       ///< SOH (01), and every value byte for byte.
};

/// Prints records as FIX tag=value text, one message per line, for comparison with FIX logs:
///
///   1128=9|35=X|49=CME|34=3574402|52=20120403132830027|75=20120403|268=1|279=1|1023=2|269=0|270=1411.50|
///   #error=D2|packet=12|offset=41|template=MDIncRefresh_83|field=MDEntryPx|detail=...|
///
/// - Every field ends with the separator, the last one too. Tags are the `id` of fields and lengths, in template order,
///   mandatory constants included; the fields of groups and of dynamic references are in line with the others.
/// - Nothing is left out: a field without id is written with its name instead of a tag, `Reason=...`. In a name,
///   '=', the separator, control characters and a leading digit are written \xNN, so that it is never taken for a
///   tag.
/// - A sequence is a repeating group: its length first, then the fields of each element. Each value of a vector is
///   written with the vector's own id or name.
/// - Integers and time stamps in full; decimals exactly, without exponent (1411.50, 1e1 is 10); booleans Y and N;
///   enumerations by the FIX value of their element, those of a set with a space between; strings and byte vectors as
///   they are.
/// - Readable: control characters, DEL, '|', '\' and bytes above 0x7F that are not UTF-8 text of a Unicode string are
///   written \xNN. Raw: nothing is, so a byte vector may hold separators and line ends, as in FIX.
/// - A line that begins with # is not a message: an event, or, with template and id, a message without any field.
///
/// The schema's program must outlive the printer. One thread per printer.
class FixPrinter {
 public:
  FixPrinter(const Schema& schema, FixStyle style) : reader_(schema), style_(style) {}

  /// Appends the record at the front of `slots`, a message or an event, as one line with its line end. On an error
  /// nothing is appended.
  [[nodiscard]] ReadError print(std::span<const Slot> slots, std::string& out);

 private:
  class Writer;

  void print_event(const Slot& slot, std::string& out) const;

  Reader reader_;
  FixStyle style_;
};

}  // namespace stopbit::record
