#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "decoder/record/cursor.hpp"
#include "decoder/record/schema.hpp"
#include "host/market/map/map.hpp"

namespace stopbit::market {

/// The values of a map's slots at one place of a record.
class Values {
 public:
  static constexpr std::size_t kTextBytes = 64;  ///< Of a text that is kept; its hash is of the whole.

  explicit Values(std::size_t slots) : texts_(std::make_unique<Text[]>(slots)) {}

  [[nodiscard]] bool has(std::uint8_t slot) const noexcept { return slot < kMaxFields && (present_ >> slot & 1) != 0; }
  [[nodiscard]] std::uint64_t bits(std::uint8_t slot) const noexcept { return values_[slot].bits; }
  [[nodiscard]] std::int64_t exponent(std::uint8_t slot) const noexcept { return values_[slot].exponent; }
  [[nodiscard]] FieldType type(std::uint8_t slot) const noexcept { return values_[slot].type; }
  [[nodiscard]] bool is_text(std::uint8_t slot) const noexcept { return record::is_text(type(slot)); }
  /// A text's bytes; a text of more than kTextBytes is cut. `room` holds those that the record has in a word.
  [[nodiscard]] std::string_view text(std::uint8_t slot, std::array<char, 8>& room) const noexcept {
    const std::uint64_t bits = values_[slot].bits;
    const auto form = static_cast<std::uint8_t>(bits >> 56);
    if (form == kHashedText) return {texts_[slot].bytes.data(), texts_[slot].size};
    const std::uint64_t characters = bits & 0x7FFF'FFFF'FFFF'FFFFU;
    std::memcpy(room.data(), &characters, room.size());
    return {room.data(), form < 8 ? form : std::size_t{8}};
  }
  [[nodiscard]] bool is_long_text(std::uint8_t slot) const noexcept {
    return is_text(slot) && bits(slot) >> 56 == kHashedText;
  }

  void begin() noexcept { present_ = 0; }
  void clear(std::uint64_t slots) noexcept { present_ &= ~slots; }
  void set(std::uint8_t slot, FieldType type, std::uint64_t bits, std::int32_t exponent) noexcept {
    values_[slot] = {.bits = bits, .exponent = exponent, .type = type};
    present_ |= std::uint64_t{1} << slot;
  }
  void set_text(std::uint8_t slot, FieldType type, std::string_view text) noexcept {
    Text& kept = texts_[slot];
    kept.size = static_cast<std::uint8_t>(std::min(text.size(), kTextBytes));
    std::memcpy(kept.bytes.data(), text.data(), kept.size);
    set(slot, type, hashed_text(text), 0);
  }

 private:
  struct Value {
    std::uint64_t bits = 0;
    std::int32_t exponent = 0;
    FieldType type = FieldType::UInt32;
  };
  struct Text {
    std::uint8_t size = 0;
    std::array<char, kTextBytes> bytes{};
  };
  std::uint64_t present_ = 0;
  std::array<Value, kMaxFields> values_{};
  std::unique_ptr<Text[]> texts_;
};

/// Runs a template's plan over a record. Safe with any slots; allocates nothing. One thread.
class Extractor {
 public:
  Extractor(const Map& map, const Program& program)
      : map_(map), program_(program), values_(std::max<std::size_t>(map.slot_names.size(), 1)) {}

  [[nodiscard]] const Values& values() const noexcept { return values_; }

  /// Calls handler.begin() before the first entry, when the slots hold the values of the message itself;
  /// handler.entry() after each entry; handler.depth() after each element of a list of depths. Afterwards the slots
  /// still hold the last entry's values.
  template <class Handler>
  [[nodiscard]] record::ReadError run(const TemplatePlan& plan, std::span<const record::Slot> slots, Handler& handler) {
    values_.begin();
    if (plan.first_step == plan.end_step) return record::ReadError::None;
    if (plan.two_passes) {
      // The message's depths are of use for its entries, which come before them.
      struct Ahead {
        Handler& handler;
        bool wants_depth;
        void begin() noexcept {}
        void entry() noexcept {}
        void depth() noexcept {
          if (wants_depth) handler.depth();
        }
      } ahead{handler, !plan.depth_in_entries};
      if (const auto error = pass(plan, slots, ahead); error != record::ReadError::None) return error;
      values_.clear(plan.entry_slots);
    }
    return pass(plan, slots, handler);
  }

 private:
  using ReadError = record::ReadError;

  template <class Handler>
  [[nodiscard]] ReadError pass(const TemplatePlan& plan, std::span<const record::Slot> slots, Handler& handler) {
    elements_left_ = record::kMaxElements;
    if (const ReadError error = cursor_.open(slots); error != ReadError::None) return error;
    const Template& item = program_.templates[static_cast<std::size_t>(&plan - map_.plans.data())];
    open_ = kNoBlock;
    if (const ReadError error = open(item.root_block, record::kHeaderWords); error != ReadError::None) return error;
    return steps(plan.first_step, plan.end_step, handler);
  }

  [[nodiscard]] ReadError open(std::uint16_t block, std::size_t base) noexcept {
    open_ = block;
    return cursor_.open_block(program_.blocks[block], base);
  }

  template <class Handler>
  [[nodiscard]] ReadError steps(std::uint32_t first, std::uint32_t end, Handler& handler) {
    const Step* const all = map_.steps.data();
    for (std::uint32_t i = first; i < end;) {
      const Step& step = all[i];
      if (step.op == Step::Op::Constant) {
        set_constant(step);
        ++i;
        continue;
      }
      if (step.block != open_) {
        if (const ReadError error = open(step.block, 0); error != ReadError::None) return error;
      }
      if (step.fills()) {
        const std::uint32_t run = std::min<std::uint32_t>(step.run, end - i);
        if (const ReadError error = fill({&step, run}); error != ReadError::None) return error;
        i += run;
        continue;
      }
      ++i;
      if (step.op == Step::Op::Touch) continue;
      std::uint64_t raw = 0;
      bool present = false;
      if (const ReadError error = cursor_.load(step.place, raw, present); error != ReadError::None) return error;
      ReadError error = ReadError::None;
      switch (step.op) {
        case Step::Op::Group:
          if (!present) i = step.end;
          break;
        case Step::Op::Skip:
          if (raw > elements_left_) return ReadError::TooManyElements;
          elements_left_ -= raw;
          error = cursor_.skip(raw * step.stride);
          open_ = kNoBlock;
          break;
        case Step::Op::Sequence:
          error = sequence(step, i, raw, handler);
          i = step.end;
          break;
        default: break;
      }
      if (error != ReadError::None) return error;
    }
    return ReadError::None;
  }

  /// Slots from the open block. Inlined, as each entry is read by it.
  [[nodiscard, gnu::always_inline]] ReadError fill(std::span<const Step> run) noexcept {
    for (const Step& step : run) {
      std::uint64_t raw = 0;
      bool present = false;
      if (const ReadError error = cursor_.load(step.place, raw, present); error != ReadError::None) [[unlikely]]
        return error;
      if (!present) continue;
      const auto form = static_cast<std::uint8_t>(raw >> 56);
      const bool is_long = step.op == Step::Op::Text && form >= 8 && form < 0x80;
      if (step.op != Step::Op::Decimal && !is_long) [[likely]] {
        values_.set(step.slot, step.type, raw, 0);
        continue;
      }
      const ReadError error = is_long ? load_long_text(step, raw) : load_decimal(step, raw);
      if (error != ReadError::None) [[unlikely]]
        return error;
    }
    return ReadError::None;
  }

  void set_constant(const Step& step) noexcept {
    const Map::ConstantValue& constant = map_.constants[step.constant];
    if (record::is_text(step.type) && constant.bits >> 56 == kHashedText) {
      values_.set_text(step.slot, step.type, constant.text);
    } else {
      values_.set(step.slot, step.type, constant.bits, constant.exponent);
    }
  }

  /// `exponent`: the first of its two words, the witness.
  [[nodiscard, gnu::always_inline]] ReadError load_decimal(const Step& step, std::uint64_t exponent) noexcept {
    std::uint64_t mantissa = 0;
    bool present = false;
    if (const ReadError error = cursor_.load(step.mantissa, mantissa, present); error != ReadError::None) return error;
    if (!present) return ReadError::MissingValue;
    values_.set(step.slot, step.type, mantissa, static_cast<std::int32_t>(exponent));
    return ReadError::None;
  }
  [[nodiscard, gnu::noinline]] ReadError load_long_text(const Step& step, std::uint64_t raw) noexcept {
    std::string_view text;
    if (const ReadError error = cursor_.text(raw, text); error != ReadError::None) return error;
    values_.set_text(step.slot, step.type, text);
    return ReadError::None;
  }

  template <class Handler>
  [[nodiscard, gnu::noinline]] ReadError sequence(const Step& step, std::uint32_t body, std::uint64_t count,
                                                  Handler& handler) {
    if (count > elements_left_) return ReadError::TooManyElements;
    elements_left_ -= count;
    if (step.loop == Step::Loop::Entries) handler.begin();
    const std::span<const Step> steps_of(map_.steps.data() + body, step.end - body);
    const bool is_flat =
        !steps_of.empty() && steps_of[0].run == steps_of.size() && steps_of[0].block == step.element_block;
    for (std::uint64_t element = 0; element < count; ++element) {
      values_.clear(step.clears);
      if (const ReadError error = open(step.element_block, 0); error != ReadError::None) return error;
      const ReadError error = is_flat ? fill(steps_of) : steps(body, step.end, handler);
      if (error != ReadError::None) return error;
      if (step.loop == Step::Loop::Entries) handler.entry();
      if (step.loop == Step::Loop::Depth) handler.depth();
    }
    open_ = kNoBlock;
    return ReadError::None;
  }

  const Map& map_;
  const Program& program_;
  record::Cursor cursor_;
  Values values_;
  std::uint16_t open_ = kNoBlock;
  std::uint64_t elements_left_ = 0;
};

}  // namespace stopbit::market
