#pragma once

#include <cstdint>
#include <string_view>

#include "microcode/base/limits.hpp"

namespace stopbit::record {

/// Why a record cannot be read.
enum class ReadError : std::uint8_t {
  None = 0,
  Truncated,    ///< There are fewer slots than its header says, or its lengths are inconsistent.
  ForeignSlot,  ///< A slot carries the phase or number of another record.
  Pad,          ///< Not a record: the unused end of a ring.
  UnknownTemplate,
  UnknownEvent,
  WrongTag,         ///< A tag does not match its word.
  MissingSlots,     ///< A block begins where no slot is left.
  MissingValue,     ///< A mandatory value is missing.
  BadString,        ///< A string word is malformed or leaves the string area.
  BadValue,         ///< Outside its enumeration, set or boolean; or an exponent outside -63 to 63.
  TooManyElements,  ///< More sequence elements than a datagram can make.
  TooDeep,          ///< Dynamic references are nested too deeply.
  TooMuchWork,      ///< More schema nodes than kMaxVisits would be visited.
  TooLong,          ///< Its text would be longer than a printer allows.
  LeftOver,         ///< Slots remain after the last block.
  ForeignImage,     ///< The record was made with another firmware image than the view was opened for.
  Projected,        ///< The image leaves fields out of records, so no message can be made from them.
};

/// One sentence without a full stop; empty for None.
[[nodiscard]] constexpr std::string_view error_text(ReadError error) noexcept {
  switch (error) {
    case ReadError::None: return {};
    case ReadError::Truncated: return "the record's lengths do not fit its slots";
    case ReadError::ForeignSlot: return "a slot belongs to another record";
    case ReadError::Pad: return "the slot is padding";
    case ReadError::UnknownTemplate: return "the record names a template that the schema does not have";
    case ReadError::UnknownEvent: return "the record is an event of unknown kind";
    case ReadError::WrongTag: return "a tag does not match its word";
    case ReadError::MissingSlots: return "a block begins where no slot is left";
    case ReadError::MissingValue: return "a mandatory value is missing";
    case ReadError::BadString: return "a string is malformed or leaves the string area";
    case ReadError::BadValue: return "a value is outside its type";
    case ReadError::TooManyElements: return "the record has more sequence elements than a datagram can make";
    case ReadError::TooDeep: return "dynamic references are nested too deeply";
    case ReadError::TooMuchWork: return "the record takes more work than allowed";
    case ReadError::TooLong: return "the text of the record is longer than allowed";
    case ReadError::LeftOver: return "slots remain after the record's last block";
    case ReadError::ForeignImage: return "the record was made with another firmware image";
    case ReadError::Projected:
      return "records of this program lack fields of their messages (it was made with --fields)";
  }
  return "unknown error";
}

/// Bounds of one walk. No record made by an engine comes close to the last one.
inline constexpr std::uint64_t kMaxElements = limits::kMaxLoopDepth * limits::kMaxDatagramBytes;
inline constexpr std::uint64_t kMaxVisits = 1U << 24;

inline constexpr std::int64_t kMaxExponent = 63;

}  // namespace stopbit::record
