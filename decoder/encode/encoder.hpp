#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/engine/steps.hpp"
#include "decoder/record/cursor.hpp"
#include "decoder/record/schema.hpp"
#include "decoder/state/dictionary.hpp"
#include "decoder/state/undo_log.hpp"
#include "decoder/wire/writer.hpp"
#include "microcode/program.hpp"

/// Encodes records as FAST with the same firmware that decodes them.
namespace stopbit::encode {

struct EncodeOptions {
  ResetRule reset = ResetRule::Packet;  ///< Reset rule of the feed's decoder.
  bool strict = false;                  ///< Also signal R2.
  EngineLimits limits = {};             ///< Messages that a decoder with these limits would reject are not made.
};

/// Result of encoding a message. Without an error `bytes` is the message.
struct Outcome {
  std::span<const std::byte> bytes;  ///< Valid until the encoder is used again.
  ErrorCode error = ErrorCode::None;
  record::ReadError unreadable = record::ReadError::None;  ///< The slots are not a record of this program.
  std::uint16_t template_index = 0xFFFF;                   ///< Where the error is; 0xFFFF = outside a template.
  std::uint16_t block = kNoBlock;                          ///< kNoBlock = not at a field.
  std::uint8_t word = isa::kNoWord;
  std::size_t slot = 0;  ///< Slot of the record in which this block begins; distinguishes the elements of a sequence.

  [[nodiscard]] bool ok() const noexcept { return error == ErrorCode::None && unreadable == record::ReadError::None; }
};

/// One sentence without a full stop: what is wrong, with the template, the field and its line in the template file.
[[nodiscard]] std::string error_text(const record::Schema& schema, const Outcome& outcome);

/// Encodes records by a verified program, which must outlive the encoder. A program that leaves fields out of records
/// (is_projected) encodes none: ReadError::Projected. One thread per encoder, one dictionary: a feed of several
/// channels takes an encoder for each. Allocates only when constructed. Accepts any slots: the result is a message or
/// an error, and the work is bounded.
///
/// The message is the shortest that the template allows: presence bits are clear wherever the dictionary has the value
/// already, integers are not padded, presence maps end with their last set bit, string deltas take the cheaper end.
/// A decoder with the same options gets the same values back, decimals with their exponents. Two exceptions: a template
/// that resets the dictionary always names itself under ResetRule::Template, so that a decoder without history
/// understands it; and a decimal whose exponent or mantissa is constant is rescaled to it if that is exact, else D3.
class Encoder {
 public:
  Encoder(const Program& program, const EncodeOptions& options);

  /// Begins a new datagram. Resets the dictionary if the reset rule requires it.
  void begin_datagram() noexcept;

  /// Encodes the message record at the front of `record`, to follow the messages since begin_datagram. An error leaves
  /// the dictionary as it was.
  [[nodiscard]] Outcome encode(std::span<const record::Slot> record) noexcept;

  /// Bytes that the datagram must still get before a decoder accepts it: not 0 only if its sequences have more than 8
  /// elements a byte (elements can be empty). Any later message provides them.
  [[nodiscard]] std::size_t owed_bytes() const noexcept;

  /// Resets all previous values, as the decoder must.
  void reset() noexcept { dictionary_.reset(); }

 private:
  using Int128 = wire::Int128;
  using Step = engine::Step;

  /// The value a decoder uses for a field whose presence bit is clear; nothing if that is an error.
  struct Implied {
    enum What : std::uint8_t { Nothing, Absent, Initial, Previous };
    What what = Nothing;
    std::uint64_t value = 0;  ///< Integers, exponents.

    [[nodiscard]] bool has_value() const noexcept { return what >= Initial; }
  };

  /// Code in which a template's root block begins at the same word everywhere.
  struct Code {
    std::vector<Step> steps;
    std::vector<record::WordPlace> witnesses;  ///< By address of SKIP: the word whose tag marks the group as present.
  };
  static Code make_code(const Program& program, std::size_t root_base);

  struct Place {
    std::uint16_t template_index = 0xFFFF;
    std::uint16_t block = kNoBlock;
    std::uint8_t word = isa::kNoWord;
  };
  struct Map {
    std::size_t place = 0;
    std::size_t bytes = 0;  ///< Bytes reserved for it.
    std::size_t bits = 0;
    std::size_t outer_needed = 0;
  };
  struct Loop {
    std::uint64_t elements_left = 0;
    std::size_t map_depth = 0;  ///< Outside the element.
  };
  /// The caller of a referenced template.
  struct Call {
    const Code* code = nullptr;
    std::size_t return_to = 0;
    std::uint16_t template_index = 0;
  };

  // Messages.
  bool run() noexcept;
  bool run_data_op(const Step& in) noexcept;
  bool run_control_op(const Step& in) noexcept;
  bool open_block(std::uint16_t block, std::size_t base) noexcept;
  bool begin_loop(const Step& in) noexcept;
  bool put_template_id(const Step& in) noexcept;
  bool dispatch(const Step& in) noexcept;
  bool push_map(const Step& in) noexcept;
  void pop_map() noexcept;
  void put_bit(bool set) noexcept;
  [[nodiscard]] std::size_t max_nesting() const noexcept {
    return std::min<std::size_t>(options_.limits.nesting, limits::kMaxLoopDepth);
  }

  // Fields.
  template <isa::Operator Op, isa::Type T, bool Optional>
  bool field(const Step& in) noexcept;
  template <isa::Operator Op, isa::Type T, bool Optional>
  bool integer(const Step& in, bool present, std::uint64_t value) noexcept;
  template <isa::Operator Op, bool Optional>
  bool exponent(const Step& in) noexcept;
  template <isa::Operator Op>
  bool mantissa(const Step& in) noexcept;
  template <isa::Operator Op, isa::Type T, bool Optional>
  bool string(const Step& in) noexcept;
  bool pack(const Step& field, std::uint64_t& bits) noexcept;
  template <isa::Operator Op>
  bool bit_group(const Step& in) noexcept;
  bool scale_mantissa(std::uint64_t exponent, ErrorCode otherwise) noexcept;
  bool rescale(const Step& exponent, const Step& mantissa) noexcept;

  template <isa::Type T, bool Optional>
  void put(std::uint64_t value) noexcept;
  template <isa::Type T>
  bool put_text(std::string_view text, bool is_nullable) noexcept;
  template <isa::Type T>
  bool put_delta(std::string_view text, std::string_view base, bool is_nullable) noexcept;
  template <isa::Type T>
  bool put_tail(std::string_view text, std::string_view base, bool is_nullable) noexcept;

  // The record.
  bool load(const Step& in, std::uint64_t& value, bool& present) noexcept {
    return pass(record_.load(in.place, value, present));
  }
  bool load_decimal(const Step& exponent) noexcept;

  // The dictionary.
  static bool has_initial(const Step& in) noexcept { return in.constant->kind != ValueKind::None; }
  template <isa::Operator Op, isa::Type T, bool Optional>
  [[nodiscard]] Implied implied(const Step& in) const noexcept;
  /// Base of a delta or a tail: Previous, Initial, or Nothing for the type's own base.
  template <isa::Type T>
  bool find_base(const Step& in, bool empty_is_base, Implied::What& base) noexcept;
  [[nodiscard]] std::string_view text_of(const Step& in, Implied::What source) const noexcept;
  void assign(std::uint16_t slot, state::EntryType type, std::uint64_t value) noexcept;
  void assign(std::uint16_t slot, state::EntryType type, std::string_view value) noexcept;
  void set_empty(std::uint16_t slot) noexcept;

  /// All return false.
  bool fail(ErrorCode code) noexcept { return fail_at(code, place()); }
  bool fail(record::ReadError error) noexcept;
  bool fail_at(ErrorCode code, Place place) noexcept;
  bool pass(record::ReadError error) noexcept { return error == record::ReadError::None || fail(error); }
  [[nodiscard]] Place place() const noexcept {
    if (step_->word == isa::kNoWord) return {template_index_};
    return {template_index_, block_, step_->word};
  }

  const Program& program_;
  const bool is_projected_;
  const EncodeOptions options_;
  const Code message_code_;
  const Code reference_code_;
  state::Dictionary dictionary_;
  state::UndoLog undo_;
  record::Cursor record_;
  wire::Writer out_;

  // The datagram.
  std::size_t datagram_bytes_ = 0;
  std::uint64_t datagram_elements_ = 0;
  std::size_t datagram_needs_ = 0;  ///< Bytes it must have for its loops.

  // The message.
  Outcome outcome_;
  std::span<const record::Slot> record_slots_;
  const Code* code_ = nullptr;
  std::size_t next_ = 0;
  const Step* step_ = nullptr;
  std::array<Map, limits::kMaxPresenceMapDepth> maps_;
  std::array<Loop, limits::kMaxLoopDepth> loops_;
  std::array<Call, limits::kMaxCallDepth> calls_;
  std::size_t map_depth_ = 0;
  std::size_t loop_depth_ = 0;
  std::size_t call_depth_ = 0;
  bool complete_ = false;
  std::uint16_t block_ = kNoBlock;
  std::uint16_t template_index_ = 0xFFFF;  ///< Of the code that runs.
  const DispatchEntry* entry_ = nullptr;   ///< Of the template that TID has just named.
  std::uint64_t elements_ = 0;             ///< Begun in this message.
  std::size_t needed_ =
      0;  ///< Where the datagram must end, at the least, for the loops since the map on top was pushed.
  std::uint64_t sequence_length_ = 0;  ///< The uInt32 just taken; 0 if it was absent.

  // The decimal.
  bool decimal_present_ = false;
  bool mantissa_is_sent_ = false;
  Implied::What decimal_base_ = Implied::Nothing;
  std::uint64_t exponent_ = 0;
  std::uint64_t mantissa_ = 0;
};

}  // namespace stopbit::encode
