#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/engine/steps.hpp"
#include "decoder/engine/trace.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/state/dictionary.hpp"
#include "decoder/wire/presence_map.hpp"
#include "decoder/wire/stop_bit.hpp"

namespace stopbit::interp {

/// What the engine tells when nobody listens: nothing. The same functions as trace::Observer, none of which leaves an
/// instruction.
struct Silent {
  static void datagram_begins(const state::Dictionary& /*dictionary*/) noexcept {}
  static void message_begins(std::uint32_t /*offset*/) noexcept {}
  static void message_ends() noexcept {}
  static void step(std::uint16_t /*address*/, std::uint32_t /*offset*/) noexcept {}
  static void block_opens(std::uint16_t /*block*/, std::size_t /*first_slot*/, std::size_t /*base*/) noexcept {}
  static void map_begins(trace::Extent /*bytes*/) noexcept {}
  static void bit(bool /*is_set*/) noexcept {}
  static void map_ends() noexcept {}
  static void integer(trace::Extent /*bytes*/, wire::Int128 /*raw*/) noexcept {}
  static void ascii(trace::Extent /*bytes*/, std::string_view /*text*/, bool /*is_null*/) noexcept {}
  static void vector(trace::Extent /*bytes*/, std::string_view /*text*/) noexcept {}
  static void value(trace::Source /*source*/, std::uint64_t /*value*/) noexcept {}
  static void text(trace::Source /*source*/, std::string_view /*value*/) noexcept {}
  static void loop_begins(std::uint32_t /*elements*/) noexcept {}
  static void element_ends(std::uint32_t /*elements_left*/) noexcept {}
  static void template_begins(std::uint16_t /*template_index*/, bool /*is_reference*/) noexcept {}
  static void reference_ends() noexcept {}
  static void resets() noexcept {}
};

/// The reference engine: one switch over the instruction list, one template per operator and kind of type, written to
/// be read beside the rules of FAST 1.1. How a program runs: microcode/README.md. The observer is Silent or
/// trace::Observer.
template <class Observer>
class Interpreter final : public Engine {
 public:
  Interpreter(const Program& program, const EngineOptions& options, Observer& observer);

  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override;
  void reset(std::uint16_t channel) noexcept override;

 private:
  using Int128 = wire::Int128;
  using Step = engine::Step;
  using Source = trace::Source;
  enum class Decimal : std::uint8_t { Absent, Stream, Previous, Initial };

  struct Channel {
    explicit Channel(const Program& program) : dictionary(program) {}
    state::Dictionary dictionary;
    bool waits_for_reset = false;  ///< After an error: previous values cannot be trusted.
  };

  struct Loop {
    std::uint32_t elements_left = 0;
    const wire::PresenceMap* map = nullptr;  ///< On top of the stack outside the element.
  };

  /// The caller of a referenced template.
  struct Call {
    const Step* code = nullptr;
    const Step* return_to = nullptr;
    std::uint16_t template_index = 0;
  };

  // Messages.
  bool run_message() noexcept;
  bool run_message_flat() noexcept;
  bool step_control(const Step& in) noexcept;
  [[nodiscard]] const DispatchEntry* find(std::uint16_t table, std::uint32_t id) const noexcept;
  [[nodiscard]] bool begins_with_reset(std::span<const std::byte> data) const noexcept;
  bool dispatch(const Step& in) noexcept;
  bool begin_loop(const Step& in) noexcept;
  /// Of loops, and of calls.
  [[nodiscard]] std::size_t max_nesting() const noexcept {
    static_assert(limits::kMaxLoopDepth == limits::kMaxCallDepth);
    return std::min<std::size_t>(options_.limits.nesting, limits::kMaxLoopDepth);
  }
  bool push_map() noexcept;
  bool pop_map() noexcept;
  bool take_bit() noexcept;
  bool take_template_id(const Step& in) noexcept;

  // Fields: one function per operator, for each kind of type.
  template <isa::Operator Op, isa::Type T, bool Optional>
  bool field(const Step& in) noexcept;
  template <isa::Operator Op, isa::Type T, bool Optional>
  bool integer(const Step& in) noexcept;
  template <isa::Operator Op, isa::Type T, bool Optional>
  Source take_integer(const Step& in, std::uint64_t& value) noexcept;  ///< Every operator but delta.
  template <isa::Operator Op, bool Optional>
  bool exponent(const Step& in) noexcept;
  template <isa::Operator Op>
  bool mantissa(const Step& in) noexcept;
  template <isa::Operator Op, isa::Type T, bool Optional>
  bool string(const Step& in) noexcept;
  template <isa::Operator Op>
  bool bit_group(const Step& in) noexcept;
  template <isa::Type T, bool Optional>
  bool bit_field(const Step& in) noexcept;

  // Values from the stream. Null only if Optional.
  template <isa::Type T, bool Optional>
  wire::Status read_integer(std::uint64_t& value) noexcept;
  wire::Status read_bits(const Step& in, std::uint64_t& value) noexcept;
  template <bool Optional>
  wire::Status read_delta(Int128& delta) noexcept;
  template <isa::Type T, bool Optional>
  wire::Status read_string(std::string_view& text) noexcept;
  template <bool Optional>
  wire::Status read_ascii(std::string_view& text) noexcept;
  template <bool Optional>
  wire::Status read_vector(std::string_view& text) noexcept;
  template <bool Signed>
  bool read_wide(wire::Integer& out) noexcept;

  // Operators on strings.
  bool apply_delta(std::int32_t subtraction, std::string_view addition, std::string_view base, std::size_t capacity,
                   std::string_view& result) noexcept;
  bool apply_tail(std::string_view tail, std::string_view base, std::size_t capacity,
                  std::string_view& result) noexcept;

  template <isa::Type T>
  bool has_previous_type(const Step& in) noexcept;
  /// What the dictionary has for an instruction: its previous value, else its initial value, else nothing, which is an
  /// error if a code says so. D4 if the previous value is of another type.
  template <isa::Type T>
  Source previous(const Step& in, ErrorCode if_undefined, ErrorCode if_empty) noexcept;
  static bool has_initial(const Step& in) noexcept { return in.constant->kind != ValueKind::None; }
  static Source source_of(wire::Status status) noexcept {
    return status == wire::Status::Ok ? Source::Stream : status == wire::Status::Null ? Source::Nothing : Source::Error;
  }

  /// From `begin` to where the stream stands.
  [[nodiscard]] trace::Extent since(const std::uint8_t* begin) const noexcept {
    return {in_.offset_of(begin), in_.offset()};
  }

  /// Both give false. `fail` is at the entity of the instruction that runs, `fail_at` elsewhere and outside a field.
  bool fail(ErrorCode code) noexcept;
  bool fail_at(ErrorCode code, const std::uint8_t* place) noexcept;
  void write_error(Outcome& outcome, record::RecordSink& sink) noexcept;

  // The program. In a dynamic reference a template's root block has another base, so its words have other places.
  const Program& program_;
  const EngineOptions options_;
  Observer& observer_;
  const std::vector<Step> message_code_;
  const std::vector<Step> reference_code_;
  std::vector<const DispatchEntry*> table0_;  ///< By identifier, for identifiers below its size.

  // The datagram.
  std::vector<Channel> channels_;
  Channel* channel_ = nullptr;
  state::Dictionary* dictionary_ = nullptr;
  wire::Cursor in_;
  record::Header header_;
  record::Builder builder_;
  const PacketInfo* info_ = nullptr;
  std::uint64_t elements_left_ = 0;  ///< Sequence elements this datagram may still begin.
  std::uint64_t instructions_ = 0;   ///< Executed for this datagram.
  std::uint16_t message_index_ = 0;

  // The message.
  const Step* code_ = nullptr;  ///< Instruction 0 of the code that runs.
  const Step* next_ = nullptr;
  const Step* step_ = nullptr;                                            ///< The instruction that runs.
  const std::uint8_t* entity_ = nullptr;                                  ///< First byte of what it reads.
  std::array<wire::PresenceMap, limits::kMaxPresenceMapDepth + 1> maps_;  ///< [0] is the bottom of the stack.
  wire::PresenceMap* map_ = nullptr;                                      ///< The map of the current segment.
  std::array<Loop, limits::kMaxLoopDepth> loops_;
  std::array<Call, limits::kMaxCallDepth> calls_;
  std::uint8_t loop_depth_ = 0;
  std::uint8_t call_depth_ = 0;
  bool complete_ = false;
  std::uint16_t message_template_ = 0xFFFF;  ///< Of the record.
  std::uint16_t current_template_ = 0xFFFF;  ///< Of the code that runs, which may be a referenced one.
  std::uint16_t block_ = kNoBlock;
  std::uint32_t message_elements_left_ = 0;  ///< Sequence elements this message may still begin.
  std::uint32_t fields_ = 0;
  std::uint32_t template_id_ = 0;
  std::uint32_t sequence_length_ = 0;      ///< Of the length field just taken; NULL counts as 0.
  bool present_ = false;                   ///< Whether the last data-op gave a value.
  Decimal decimal_ = Decimal::Absent;      ///< What the exponent was, for its mantissa.
  bool decimal_base_is_previous_ = false;  ///< A delta's base: previous value, else initial.

  /// The bit group just taken: its first bit on top, where it comes from, and where it begins in the stream.
  std::uint64_t bits_ = 0;
  Source bits_source_ = Source::Nothing;
  const std::uint8_t* bits_entity_ = nullptr;

  // The error.
  ErrorCode error_ = ErrorCode::None;
  std::uint8_t error_word_ = isa::kNoWord;
  std::uint32_t error_offset_ = 0;

  std::array<char, limits::kMaxStringBytes + 8> ascii_;   ///< The ASCII string just read. Room for its preamble.
  std::array<char, limits::kMaxStringCapacity> scratch_;  ///< Result of a string delta or tail.
};

}  // namespace stopbit::interp
