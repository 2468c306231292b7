#pragma once

#include <cstdint>
#include <string_view>

namespace stopbit::record {

/// Why a record cannot be read.
enum class ReadError : std::uint8_t {
  None = 0,
  Truncated,    ///< Fewer slots are there than its header says, or its lengths contradict each other.
  ForeignSlot,  ///< A slot carries the phase or number of another record.
  Pad,          ///< Not a record: the unused end of a ring.
  UnknownTemplate,
  UnknownEvent,
  WrongTag,         ///< A tag is not the one of its word.
  MissingSlots,     ///< A block begins where no slot is left.
  MissingValue,     ///< A mandatory value is not there.
  BadString,        ///< A string word has no legal form or leaves the string area.
  BadValue,         ///< Outside its enumeration, set or boolean; or an exponent outside -63 to 63.
  TooManyElements,  ///< More sequence elements than a datagram can make.
  TooDeep,          ///< Dynamic references are nested too deeply.
  TooMuchWork,      ///< More schema nodes than kMaxVisits would be visited.
  TooLong,          ///< Its text would be longer than a printer allows.
  LeftOver,         ///< Slots remain behind the last block.
};

/// One sentence without a full stop; empty for None.
[[nodiscard]] std::string_view error_text(ReadError error) noexcept;

}  // namespace stopbit::record
