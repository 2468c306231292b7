#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "decoder/engine/engine.hpp"
#include "decoder/state/dictionary.hpp"
#include "decoder/wire/stop_bit.hpp"

/// Events of an engine at work, to explain each byte of a packet.
namespace stopbit::trace {

/// Where the value of a data-op comes from. Nothing: the value is absent. Error: decoding of the message ends.
enum class Source : std::uint8_t { Stream, Previous, Initial, Nothing, Error };

/// Bytes [begin, end) of the datagram.
struct Extent {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Receives every event in order. `step` announces an instruction; events up to the next `step` belong to it. Errors
/// are not events: they are in the Outcome and belong to the last step.
///
/// Views are valid during the call. A message of a few bytes may cause millions of calls (elements without bytes), so
/// an observer that stores events needs its own limit.
class Observer {
 public:
  virtual ~Observer() = default;

  /// The dictionary is the live one of the datagram's channel, already reset if the rule says so; valid until decode
  /// returns. Its entries change after the step that uses them was announced, and before the next one is.
  virtual void datagram_begins(const state::Dictionary& /*dictionary*/) noexcept {}
  virtual void message_begins(std::uint32_t /*offset*/) noexcept {}
  virtual void message_ends() noexcept {}

  /// `address` is the instruction's, `offset` the first byte it may take.
  virtual void step(std::uint16_t /*address*/, std::uint32_t /*offset*/) noexcept {}
  /// Opened at a slot of the record; its words begin `base` words after the start of that slot.
  virtual void block_opens(std::uint16_t /*block*/, std::size_t /*first_slot*/, std::size_t /*base*/) noexcept {}
  virtual void map_begins(Extent /*bytes*/) noexcept {}
  /// A bit of the innermost map. The bits of a map are taken in order; those after its end are clear.
  virtual void bit(bool /*is_set*/) noexcept {}
  virtual void map_ends() noexcept {}

  /// An integer as in the stream, before NULL and operators are applied: a value, a delta, a subtraction length, the
  /// length of a byte vector. Saturates at 2^wire::kWideBits.
  virtual void integer(Extent /*bytes*/, wire::Int128 /*raw*/) noexcept {}
  /// An ASCII string without its preamble.
  virtual void ascii(Extent /*bytes*/, std::string_view /*text*/, bool /*is_null*/) noexcept {}
  /// The content of a byte vector or Unicode string. Its length was reported as an integer.
  virtual void vector(Extent /*bytes*/, std::string_view /*text*/) noexcept {}
  /// Result of the data-op, before limits are checked: an integer in two's complement, or a string.
  virtual void value(Source /*source*/, std::uint64_t /*value*/) noexcept {}
  virtual void text(Source /*source*/, std::string_view /*value*/) noexcept {}

  virtual void loop_begins(std::uint32_t /*elements*/) noexcept {}
  virtual void element_ends(std::uint32_t /*elements_left*/) noexcept {}
  virtual void template_begins(std::uint16_t /*template_index*/, bool /*is_reference*/) noexcept {}
  virtual void reference_ends() noexcept {}
  /// The template reset the dictionary.
  virtual void resets() noexcept {}
};

}  // namespace stopbit::trace

namespace stopbit {

/// The reference engine, reporting to `observer`: the same code as make_interpreter, a few times slower. The observer
/// must outlive it and must not call it.
[[nodiscard]] std::unique_ptr<Engine> make_tracing_interpreter(const Program& program, const EngineOptions& options,
                                                               trace::Observer& observer);

}  // namespace stopbit
