#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/wire_encoder.hpp"

namespace stopbit::cases {

enum class Kind : std::uint8_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  Timestamp,
  Enum,
  Set,
  Boolean,
  Length,  ///< Of a sequence.
  Exponent,
  Mantissa,
  Decimal,
  Ascii,
  Unicode,
  ByteVector,
  Bits,  ///< A bit group, as the number of its bits.
};
enum class Op : std::uint8_t { None, Constant, Default, Copy, Increment, Delta, Tail };
enum class Before : std::uint8_t { Undefined, Empty, Assigned };
enum class Sent : std::uint8_t { Value, Null, Implied, Absent };

/// What may be the case when a field is taken. Every combination that FAST allows without an error has to be tried.
struct Cell {
  Kind kind;
  Op op;
  bool optional;
  bool has_initial;
  Before before;  ///< Of the previous value; undefined for operators without.
  Sent sent;
  auto operator<=>(const Cell&) const = default;
};

[[nodiscard]] std::set<Cell> legal_cells();
[[nodiscard]] std::string cell_text(const Cell& cell);

/// Random templates, messages that fit them, and the records that the rules demand. The sender is a model of FAST of
/// its own, dictionary included; it shares the stop-bit encoder with the byte notation and nothing with compiler or
/// engine.
struct RandomCase {
  using Message = std::vector<Bytes>;  ///< Its entities, presence maps among them, one after another.
  using Packet = std::vector<Message>;

  std::string template_text;
  ResetRule reset = ResetRule::Packet;
  std::vector<Packet> packets;
  std::vector<std::string> records;  ///< One line a message, as cases write them.
  std::vector<Cell> cells;           ///< One per field taken.
};

/// How much of it; 0 = a few, as chance has it.
struct CaseSize {
  std::size_t packets = 0;
  std::size_t messages = 0;  ///< Of each packet, at most.
  std::size_t fields = 0;    ///< Of a template, at most, those in groups and sequences not counted.
};

[[nodiscard]] RandomCase random_case(Random& random, const CaseSize& size = {});
/// The same case on every machine.
[[nodiscard]] RandomCase random_case(std::uint64_t seed, const CaseSize& size = {});

/// As a case file, ready to be kept.
[[nodiscard]] std::string case_text(const RandomCase& made);

}  // namespace stopbit::cases
