#pragma once

#include <span>
#include <string>
#include <vector>

#include "decoder/record/reader.hpp"
#include "decoder/record/text_buffer.hpp"

namespace stopbit::record {

/// Prints records as JSON lines.
///
///   {"template":"MDIncRefresh_83","id":83,"fields":{"MsgSeqNum":3574402,"MDEntries":[{"MDEntryPx":1411.50}]}}
///   {"error":"D2","packet":12,"offset":41,"template":"MDIncRefresh_83","field":"MDEntryPx","detail":"..."}
///   {"event":"gap","channel":310,"first":91650,"missing":3,"detail":"..."}
///   {"event":"dropped","channel":310,"packet":13,"offset":4,"detail":"..."}
///
/// - Keys in template order; absent optional fields are left out; groups are objects, sequences arrays of objects,
///   vectors arrays of numbers.
/// - Integers in full, time stamps as they are; decimals exactly, with their exponent: 1411.50, 141150, 1e1.
/// - Strings as UTF-8; a byte above 0x7F in an ASCII field becomes \u00XX, a byte that is not UTF-8 in a Unicode field
///   U+FFFD. Byte vectors as lower-case hex; enumerations by element name; sets as arrays of element names.
/// - A dynamic template reference has no name: its key is "templateRef" ("templateRef2", ... for the next of the same
///   object), its value an object like that of a message: {"template":..,"id":..,"fields":{..}}.
/// - Template and field of an error are left out when it is not at one.
///
/// The schema's program must outlive the printer. One thread per printer.
class JsonPrinter {
 public:
  explicit JsonPrinter(const Schema& schema);

  /// Appends the record at the front of `slots`, a message or an event, as one line with its line end. On an error
  /// nothing is appended.
  [[nodiscard]] ReadError print(std::span<const Slot> slots, std::string& out);

 private:
  class Writer;

  void print_event(const Slot& slot, std::string& out) const;

  Reader reader_;
  Pieces pieces_;
  std::vector<Pieces::Piece> keys_;       ///< By node: ,"Name": and, of a constant, its value.
  std::vector<Pieces::Piece> elements_;   ///< By element of an enumeration or a set: ,"Name"
  std::vector<Pieces::Piece> templates_;  ///< By template: {"template":"Name","id":1,"fields":{
  TextBuffer line_;
  std::string rare_;  ///< A value that takes the long way.
};

/// The key of each node of the schema.
[[nodiscard]] std::vector<std::string> json_keys(const Schema& schema);

}  // namespace stopbit::record
