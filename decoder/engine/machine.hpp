#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "decoder/engine/steps.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/state/dictionary.hpp"
#include "decoder/wire/presence_map.hpp"
#include "decoder/wire/stop_bit.hpp"
#include "microcode/base/error_code.hpp"

/// The state of a program that runs: what microcode/execution.md calls the datagram and a position in it, the stacks,
/// and the open block. A plain struct, because native code uses it too.
namespace stopbit::engine {

/// Where an exponent came from, for its mantissa.
enum class Decimal : std::uint8_t { Absent, Stream, Previous, Initial };

struct Loop {
  std::uint32_t elements_left = 0;
  wire::PresenceMap* map = nullptr;  ///< On top of the stack outside the element.
};

/// The caller of a referenced template.
struct Call {
  const Step* code = nullptr;
  const Step* return_to = nullptr;
  std::uint16_t template_index = 0;
};

/// By the length of an entity in bytes, counted from -8 to -1: what native code needs to take it from eight bytes.
struct ByLength {
  static constexpr std::size_t kLengths = 8;
  using Table = std::array<std::uint64_t, kLengths>;

  /// `make` gets lengths of 1 to 8.
  template <class Make>
  static constexpr Table table(Make make) {
    Table table = {};
    for (std::size_t i = 0; i < kLengths; ++i) table[i] = make(kLengths - i);
    return table;
  }
  static constexpr std::uint64_t kDataBits = 0x7F7F'7F7F'7F7F'7F7F;

  alignas(64) Table data = table([](std::size_t n) {
    return kDataBits >> 8 * (kLengths - n);
  });                                                                                  ///< Of the last bytes.
  Table front = table([](std::size_t n) { return kDataBits << 8 * (kLengths - n); });  ///< Of the first ones.
  Table sign = table([](std::size_t n) { return std::uint64_t{1} << (7 * n - 1); });   ///< Of the number.
  /// The word of a string without its characters.
  Table text = table([](std::size_t n) { return (n == 8 ? std::uint64_t{0x80} : std::uint64_t{n}) << 56; });
  std::uint64_t empty_text = 0;  ///< The same for length 0.
};

struct Machine {
  ByLength by_length;

  // The datagram.
  wire::Cursor in;
  std::uint64_t elements_left = 0;  ///< Sequence elements this datagram may still begin.

  // The dictionary of its channel.
  state::Dictionary* dictionary = nullptr;
  bool* waits_for_reset = nullptr;  ///< Of the channel, too: its previous values cannot be trusted.

  // The record.
  record::BuilderState* record = nullptr;
  std::uint16_t message_template = 0xFFFF;  ///< Of the record.
  std::uint16_t current_template = 0xFFFF;  ///< Of the code that runs, which may be a referenced one.
  std::uint16_t block = kNoBlock;
  std::uint32_t fields = 0;

  // The code.
  const Step* code = nullptr;  ///< Instruction 0 of the code that runs.
  const Step* next = nullptr;
  const Step* step = nullptr;            ///< The instruction that runs.
  const std::uint8_t* entity = nullptr;  ///< First byte of what it reads.
  bool complete = false;

  // The stacks.
  wire::PresenceMap* map = nullptr;  ///< The map of the current segment, in `maps`.
  std::uint8_t loop_depth = 0;
  std::uint8_t call_depth = 0;
  std::uint32_t message_elements_left = 0;  ///< Sequence elements this message may still begin.
  std::array<Loop, limits::kMaxLoopDepth> loops;
  std::array<Call, limits::kMaxCallDepth> calls;
  std::array<wire::PresenceMap, limits::kMaxPresenceMapDepth + 1> maps;  ///< [0] is the bottom of the stack.

  // For native code: what it would otherwise fetch from other objects.
  const std::uint64_t* stops = nullptr;  ///< Of the whole datagram: wire::Index::stops.
  state::Dictionary::Entry* entries = nullptr;
  char* strings = nullptr;
  std::uint64_t assigned_mark = 0;

  // State that an instruction leaves for the next ones.
  std::uint32_t template_id = 0;
  std::uint32_t sequence_length = 0;      ///< Of the length field just taken; NULL counts as 0.
  bool present = false;                   ///< Whether the last data-op gave a value.
  Decimal decimal = Decimal::Absent;      ///< The exponent, for its mantissa.
  bool decimal_base_is_previous = false;  ///< A delta's base: previous value, else initial.
};

}  // namespace stopbit::engine
