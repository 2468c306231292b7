#pragma once

#include <cstddef>
#include <cstdint>

/// Bounds that compiler, assembler, verifier and every engine share. Those in the first group follow from the widths of
/// the instruction word; the others bound the work that a hostile file or datagram can cause.
namespace stopbit::limits {

// Widths of the instruction word.
inline constexpr std::size_t kMaxInstructions = 16'384;  ///< target: 14 bits
inline constexpr std::size_t kMaxBlocks = 16'384;        ///< a block number is in the target column
inline constexpr std::size_t kMaxSlots = 4'096;          ///< dictionary slot: 12 bits
inline constexpr std::size_t kMaxConstants = 4'096;      ///< constant: 12 bits
inline constexpr std::size_t kMaxBlockWords = 250;       ///< word: 8 bits, 255 = none
inline constexpr std::size_t kMaxSegments = 4'096;       ///< the segment number is in the constant column
inline constexpr std::size_t kMaxPresenceBits = 4'095;   ///< the bit bound is in the slot column

inline constexpr std::size_t kMaxProfileMaps = 64;  ///< presence maps of a segment with programs of their own

// Engine.
inline constexpr std::size_t kMaxLoopDepth = 8;          ///< nested sequences, dynamic references included
inline constexpr std::size_t kMaxCallDepth = 8;          ///< nested dynamic template references
inline constexpr std::size_t kMaxPresenceMapDepth = 24;  ///< nested segments: message, groups, elements, references
inline constexpr std::size_t kMaxDatagramBytes = 65'536;
inline constexpr std::size_t kDefaultStringCapacity = 256;  ///< bytes a dictionary slot holds
inline constexpr std::size_t kMaxStringCapacity = 4'096;
inline constexpr std::size_t kMaxStringBytes = 14'280;  ///< 255 slots of 56 bytes: the string area of a record
inline constexpr std::size_t kMaxStringSlots = 255;
inline constexpr std::size_t kDefaultMaxRecordSlots = 4'096;
inline constexpr std::size_t kMaxRecordSlots = 65'535;  ///< total slots: 16 bits of the record header

// Images and texts.
inline constexpr std::size_t kMaxTemplates = 4'096;
inline constexpr std::size_t kMaxFields = 65'535;          ///< schema nodes of an image
inline constexpr std::size_t kMaxTypeElements = 1U << 20;  ///< elements of all enumerations and sets of an image
inline constexpr std::size_t kMaxNodeDepth = 64;  ///< nested groups and sequences of a template, references inlined
inline constexpr std::size_t kMaxStringPoolBytes = 4U << 20;
inline constexpr std::size_t kMaxTextBytes = 16U << 20;  ///< a template or assembly file
inline constexpr std::size_t kMaxImageBytes = 64U << 20;
inline constexpr std::size_t kMaxElementDepth = 32;  ///< nested XML elements

}  // namespace stopbit::limits
