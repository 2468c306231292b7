#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/engine/machine.hpp"
#include "decoder/engine/profiles.hpp"
#include "decoder/engine/steps.hpp"
#include "decoder/engine/trace.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/state/dictionary.hpp"
#include "decoder/wire/presence_map.hpp"
#include "decoder/wire/stop_bit.hpp"

namespace stopbit::interp {

/// The observer of an engine without one: ignores everything. The same functions as trace::Observer, none of which
/// produces an instruction.
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
/// be read beside the rules of FAST 1.1. How a program runs: microcode/execution.md. The observer is Silent or
/// trace::Observer, which sees the general program only: profile programs leave out what does nothing.
template <class Observer>
class Interpreter final : public Engine {
 public:
  Interpreter(const Program& program, const EngineOptions& options, Observer& observer);

  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override;
  void reset(std::uint16_t channel) noexcept override {
    channels_[channel].dictionary.reset();
    channels_[channel].waits_for_reset = false;
  }
  void invalidate(std::uint16_t channel) noexcept override {
    if (options_.reset != ResetRule::Packet) channels_[channel].waits_for_reset = true;
  }

  // For native code, which runs the common instructions itself and leaves the others to these. All but `run_datagram`
  // give false after an error, which has then been noted.

  /// Decodes the messages of a datagram, each with `run_message() -> bool`, which begins it as begin_message does, and
  /// writes the event record of an error.
  /// `is_cut`: it was longer than `datagram`.
  template <class RunMessage>
  Outcome run_datagram(std::span<const std::byte> datagram, bool is_cut, const PacketInfo& info,
                       record::RecordSink& sink, RunMessage run_message) noexcept;
  [[nodiscard]] engine::Machine& machine() noexcept { return m_; }
  [[nodiscard]] record::Builder& builder() noexcept { return builder_; }
  [[nodiscard]] std::size_t max_datagram_bytes() const noexcept {
    return std::min<std::size_t>(options_.limits.datagram_bytes, limits::kMaxDatagramBytes);
  }
  /// Before the first instruction of a message.
  void begin_message() noexcept {
    m_.code = message_code_.data();
    m_.next = m_.code;
    m_.map = m_.maps.data();  // the element below the first map: never taken from
    m_.loop_depth = 0;
    m_.call_depth = 0;
    m_.complete = false;
    m_.message_elements_left = options_.limits.elements;
    m_.fields = 0;
    m_.current_template = 0xFFFF;
    m_.block = kNoBlock;
  }
  /// Every instruction begins with this.
  void begin_step(const engine::Step& in) noexcept {
    m_.step = &in;
    m_.entity = m_.in.position;
  }
  bool open_block(const engine::Step& in) noexcept;
  bool take(const engine::Step& in) noexcept;   ///< The data-op. PMAP too may change `next`, to a profile program ...
  bool push_map() noexcept;                     ///< ... and this does not: PMAP without its look-up.
  bool steer(const engine::Step& in) noexcept;  ///< A control-op other than BLOCK. `next` says where the code goes on.
  [[nodiscard]] const engine::Profiles& profiles() const noexcept { return profiles_; }
  void count_instructions(std::uint64_t count) noexcept { instructions_ += count; }
  [[nodiscard]] std::span<const engine::Step> message_code() const noexcept { return message_code_; }
  [[nodiscard]] std::span<const engine::Step> reference_code() const noexcept { return reference_code_; }

 private:
  using Int128 = wire::Int128;
  using Step = engine::Step;
  using Source = trace::Source;
  struct Channel {
    explicit Channel(const Program& program) : dictionary(program) {}
    state::Dictionary dictionary;
    bool waits_for_reset = false;  ///< After an error: previous values cannot be trusted.
  };

  static constexpr unsigned kElementsPerByte = limits::kMaxLoopDepth;

  // Messages.
  bool run_message() noexcept;
  [[nodiscard]] const DispatchEntry* find(std::uint16_t table, std::uint32_t id) const noexcept;
  [[nodiscard]] bool begins_with_reset(std::span<const std::byte> data) const noexcept;
  bool dispatch(const Step& in) noexcept;
  bool begin_loop(const Step& in) noexcept;
  /// Of loops, and of calls.
  [[nodiscard]] std::size_t max_nesting() const noexcept {
    static_assert(limits::kMaxLoopDepth == limits::kMaxCallDepth);
    return std::min<std::size_t>(options_.limits.nesting, limits::kMaxLoopDepth);
  }
  bool pop_map() noexcept;
  bool take_bit(const Step& in) noexcept;
  /// If the map has a profile program, goes on there; its bits then count as taken.
  void enter_profile(std::uint16_t segment) noexcept;
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
  /// The dictionary's value for an instruction: its previous value, else its initial value, else nothing, which is an
  /// error if a code says so. D4 if the previous value is of another type.
  template <isa::Type T>
  Source previous(const Step& in, ErrorCode if_undefined, ErrorCode if_empty) noexcept;
  static bool has_initial(const Step& in) noexcept { return in.constant->kind != ValueKind::None; }
  static Source source_of(wire::Status status) noexcept {
    return status == wire::Status::Ok ? Source::Stream : status == wire::Status::Null ? Source::Nothing : Source::Error;
  }

  /// From `begin` to the position in the stream.
  [[nodiscard]] trace::Extent since(const std::uint8_t* begin) const noexcept {
    return {m_.in.offset_of(begin), m_.in.offset()};
  }

  /// Both give false. `fail` is at the entity of the instruction that runs, `fail_at` elsewhere and outside a field.
  bool fail(ErrorCode code) noexcept;
  bool fail_at(ErrorCode code, const std::uint8_t* place) noexcept;
  void write_error(Outcome& outcome, record::RecordSink& sink) noexcept;

  // The program. In a dynamic reference a template's root block has another base, so its words have other places.
  const Program& program_;
  const EngineOptions options_;
  Observer& observer_;
  const engine::Profiles profiles_;
  const std::vector<Step> message_code_;
  const std::vector<Step> reference_code_;
  std::vector<const DispatchEntry*> table0_;  ///< By identifier, for identifiers below its size.

  // The datagram.
  std::vector<Channel> channels_;
  Channel* channel_ = nullptr;
  record::Header::Words header_;
  record::Builder builder_;
  const PacketInfo* info_ = nullptr;
  std::uint64_t instructions_ = 0;  ///< Executed for this datagram.
  std::uint16_t message_index_ = 0;

  engine::Machine m_;

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

template <class Observer>
template <class RunMessage>
Outcome Interpreter<Observer>::run_datagram(std::span<const std::byte> datagram, bool is_cut, const PacketInfo& info,
                                            record::RecordSink& sink, RunMessage run_message) noexcept {
  Outcome outcome;
  info_ = &info;
  header_ = record::Header{info.arrival_ns,   info.sequence, info.channel,     options_.image_generation,
                           info.sender_epoch, info.source,   info.time_quality}
                .words();
  channel_ = &channels_[info.channel];
  m_.dictionary = &channel_->dictionary;
  m_.waits_for_reset = &channel_->waits_for_reset;
  message_index_ = 0;
  if (options_.reset == ResetRule::Packet) reset(info.channel);

  m_.in = wire::Cursor(datagram);
  const bool data_is_inside = info.data_offset <= m_.in.left();
  m_.in.position += data_is_inside ? info.data_offset : m_.in.left();
  m_.elements_left = static_cast<std::uint64_t>(kElementsPerByte) * m_.in.left();

  if (channel_->waits_for_reset && !begins_with_reset(datagram.subspan(m_.in.offset()))) {
    outcome.dropped = true;
    outcome.offset_bytes = m_.in.offset();
    builder_.write_event(sink, header_,
                         {.kind = record::EventKind::Dropped, .word5 = m_.in.offset(), .word6 = info.number}, 0);
    return outcome;
  }

  observer_.datagram_begins(*m_.dictionary);
  m_.current_template = 0xFFFF;
  m_.block = kNoBlock;
  instructions_ = 0;
  error_ = ErrorCode::None;
  if (!data_is_inside) fail_at(ErrorCode::X9, m_.in.end);
  while (error_ == ErrorCode::None && m_.in.position != m_.in.end) {
    builder_.begin(sink, header_);
    observer_.message_begins(m_.in.offset());
    if (!run_message()) break;
    const std::uint8_t flags = m_.in.position == m_.in.end ? record::kFlagLastOfPacket : std::uint8_t{0};
    if (!builder_.commit(m_.message_template, message_index_, flags)) {
      fail_at(ErrorCode::X4, m_.in.position);  // no field's fault
      break;
    }
    observer_.message_ends();
    ++outcome.messages;
    outcome.fields += m_.fields;
    ++message_index_;
  }
  if (error_ == ErrorCode::None && is_cut) fail_at(ErrorCode::X1, m_.in.end);
  outcome.instructions = instructions_;
  outcome.offset_bytes = m_.in.offset();
  if (error_ != ErrorCode::None) write_error(outcome, sink);
  return outcome;
}

}  // namespace stopbit::interp
