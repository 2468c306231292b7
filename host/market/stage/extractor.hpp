#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "decoder/record/builder.hpp"
#include "decoder/record/cursor.hpp"
#include "decoder/record/schema.hpp"
#include "host/market/map/map.hpp"

namespace stopbit::market {

/// The values of a map's slots at one place of a record. Most are read from the record itself, which must outlive them.
class Values {
 public:
  static constexpr std::size_t kTextBytes = 64;  ///< Of a text that is kept; its hash is of the whole.

  explicit Values(std::size_t slots) : texts_(std::make_unique<Text[]>(slots)) {}
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  [[nodiscard, gnu::always_inline]] bool has(std::uint8_t slot) const noexcept {
    return (present_ >> (slot & 63U) & 1) != 0;
  }
  /// Slots that have a value.
  [[nodiscard]] std::uint64_t present() const noexcept { return present_; }
  [[nodiscard, gnu::always_inline]] std::uint64_t bits(std::uint8_t slot) const noexcept {
    const SlotPlace& place = places_[slot];
    return word(place.in, place.value_offset);
  }
  [[nodiscard, gnu::always_inline]] std::int32_t exponent(std::uint8_t slot) const noexcept {
    const SlotPlace& place = places_[slot];
    return static_cast<std::int32_t>(word(place.in, place.exponent_offset));
  }
  [[nodiscard, gnu::always_inline]] FieldType type(std::uint8_t slot) const noexcept { return places_[slot].type; }
  [[nodiscard, gnu::always_inline]] SlotPlace::Form form(std::uint8_t slot) const noexcept {
    return places_[slot].form;
  }
  [[nodiscard, gnu::always_inline]] bool is_text(std::uint8_t slot) const noexcept {
    return form(slot) == SlotPlace::Form::Text;
  }
  /// A text's bytes; a text of more than kTextBytes is cut. `room` holds those that the record has in a word.
  [[nodiscard]] std::string_view text(std::uint8_t slot, std::array<char, 8>& room) const noexcept {
    const std::uint64_t value = bits(slot);
    const auto form = static_cast<std::uint8_t>(value >> 56);
    if (form == kHashedText) return {texts_[slot].bytes.data(), texts_[slot].size};
    const std::uint64_t characters = value & 0x7FFF'FFFF'FFFF'FFFFU;
    std::memcpy(room.data(), &characters, room.size());
    return {room.data(), form < 8 ? form : std::size_t{8}};
  }
  /// The bits of a text that ends after the first `most` letters, at most 7.
  [[nodiscard]] std::uint64_t first_letters(std::uint8_t slot, std::size_t most) const noexcept {
    std::array<char, 8> room;
    return record::word_of(text(slot, room).substr(0, most)).value_or(0);
  }
  [[nodiscard]] bool is_long_text(std::uint8_t slot) const noexcept {
    return is_text(slot) && bits(slot) >> 56 == kHashedText;
  }

  /// No slot has a value. The places are those of the template.
  void begin(const SlotPlaces& places) noexcept {
    present_ = 0;
    places_ = places.data();
  }
  void set_block(SlotPlace::In in, const unsigned char* block) noexcept {
    blocks_[static_cast<std::size_t>(in)] = block;
  }
  void clear(std::uint64_t slots) noexcept { present_ &= ~slots; }
  void add(std::uint64_t slots) noexcept { present_ |= slots; }
  /// What a slot has if it has a value.
  void put(std::uint8_t slot, std::uint64_t bits) noexcept { copies_[2 * std::size_t{slot}] = bits; }
  void put(std::uint8_t slot, std::uint64_t bits, std::uint64_t exponent) noexcept {
    put(slot, bits);
    copies_[2 * std::size_t{slot} + 1] = exponent;
  }
  void put_text(std::uint8_t slot, std::string_view text) noexcept {
    Text& kept = texts_[slot];
    kept.size = static_cast<std::uint8_t>(std::min(text.size(), kTextBytes));
    std::memcpy(kept.bytes.data(), text.data(), kept.size);
    put(slot, hashed_text(text));
  }

 private:
  struct Text {
    std::uint8_t size = 0;
    std::array<char, kTextBytes> bytes{};
  };

  [[nodiscard, gnu::always_inline]] std::uint64_t word(SlotPlace::In in, std::size_t offset) const noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, blocks_[static_cast<std::size_t>(in)] + offset, sizeof(word));
    return word;
  }

  std::uint64_t present_ = 0;
  const SlotPlace* places_ = kCopied.data();
  std::array<std::uint64_t, 2 * kCopied.size()> copies_{};
  std::array<const unsigned char*, 3> blocks_{reinterpret_cast<const unsigned char*>(copies_.data())};  ///< By In.
  std::unique_ptr<Text[]> texts_;
};

/// Runs a template's plan over a record. Safe with any slots; allocates nothing. One thread.
class Extractor {
 public:
  Extractor(const Map& map, const Program& program)
      : map_(map),
        program_(program),
        values_(std::max<std::size_t>(map.slot_names.size(), 1)),
        seen_(std::make_unique<Seen[]>(map.checks.size())) {
    for (std::size_t i = 0; i < map.checks.size(); ++i) {
      seen_[i] = {.mask = map.checks[i].mask, .offset = map.checks[i].offset};
    }
  }

  [[nodiscard]] const Values& values() const noexcept { return values_; }

  /// Calls handler.begin() before the first entry, when the slots hold the values of the message itself;
  /// handler.entry() after each entry; handler.depth() after each element of a list of depths. Afterwards the slots
  /// still hold the last entry's values.
  template <class Handler>
  [[nodiscard]] record::ReadError run(const TemplatePlan& plan, std::span<const record::Slot> slots, Handler& handler) {
    values_.begin(map_.places[plan.places]);
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

  /// The tags that a TagCheck saw last. Most records have the same fields as the one before.
  struct Seen {
    std::uint64_t mask = 0;  ///< This and the next one are the TagCheck's.
    std::size_t offset = 0;
    std::uint64_t tags = 0;
    std::uint64_t there = 0;  ///< Slots that they give a value.
    std::uint64_t mantissas = 0;
  };

  template <class Handler>
  [[nodiscard]] ReadError pass(const TemplatePlan& plan, std::span<const record::Slot> slots, Handler& handler) {
    elements_left_ = record::kMaxElements;
    if (const ReadError error = cursor_.open(slots); error != ReadError::None) return error;
    const Template& item = program_.templates[static_cast<std::size_t>(&plan - map_.plans.data())];
    open_ = kNoBlock;
    if (const ReadError error = open(item.root_block, record::kHeaderWords); error != ReadError::None) return error;
    values_.set_block(SlotPlace::In::Root, cursor_.block());
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
        if (const ReadError error = fill(step); error != ReadError::None) return error;
        i += step.run;
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

  /// The slots of a run, from the open block. Inlined, as each entry is read by it.
  [[nodiscard, gnu::always_inline]] ReadError fill(const Step& run) noexcept {
    std::uint64_t there = 0;
    std::uint64_t mantissas = 0;
    Seen* seen = seen_.get() + run.checks.first;
    for (const Seen* const end = seen + run.checks.count; seen != end; ++seen) {
      const std::uint64_t tags = cursor_.word(seen->offset) & seen->mask;
      if (tags != seen->tags && !look(tags, *seen)) [[unlikely]]
        return ReadError::WrongTag;
      there |= seen->there;
      mantissas |= seen->mantissas;
    }
    if ((there & run.decimals & ~mantissas) != 0) [[unlikely]]
      return ReadError::MissingValue;
    values_.add(there);
    const Copy* copy = map_.copies.data() + run.copies.first;
    for (const Copy* const end = copy + run.copies.count; copy != end; ++copy) {
      if ((there >> copy->slot & 1) == 0) continue;
      const std::uint64_t raw = cursor_.word(copy->value_offset);
      values_.put(copy->slot, raw);
      if (!copy->is_text) {
        values_.put(copy->slot, raw, cursor_.word(copy->exponent_offset));
      } else if (is_long(raw)) [[unlikely]] {
        if (const ReadError error = load_long_text(copy->slot, raw); error != ReadError::None) return error;
      }
    }
    return ReadError::None;
  }
  /// What tags say that are others than those of the record before. False: one of them is not that of its word.
  [[nodiscard, gnu::noinline]] bool look(std::uint64_t tags, Seen& seen) const noexcept {
    const TagCheck& check = map_.checks[static_cast<std::size_t>(&seen - seen_.get())];
    Seen now{.mask = seen.mask, .offset = seen.offset, .tags = tags};
    for (std::size_t byte = 0; byte < check.slots.size(); ++byte) {
      const auto tag = static_cast<std::uint8_t>(tags >> 8 * byte);
      if (tag == 0) continue;
      if (tag != static_cast<std::uint8_t>(check.expected >> 8 * byte)) return false;
      ((check.mantissas >> byte & 1) != 0 ? now.mantissas : now.there) |= check.slots[byte];
    }
    seen = now;
    return true;
  }
  [[nodiscard]] static bool is_long(std::uint64_t text) noexcept {
    const auto form = static_cast<std::uint8_t>(text >> 56);
    return form >= 8 && form < 0x80;
  }

  void set_constant(const Step& step) noexcept {
    const Map::ConstantValue& constant = map_.constants[step.constant];
    if (record::is_text(step.type) && constant.bits >> 56 == kHashedText) {
      values_.put_text(step.slot, constant.text);
    } else {
      values_.put(step.slot, constant.bits, static_cast<std::uint64_t>(std::int64_t{constant.exponent}));
    }
    values_.add(std::uint64_t{1} << step.slot);
  }

  [[nodiscard, gnu::noinline]] ReadError load_long_text(std::uint8_t slot, std::uint64_t raw) noexcept {
    std::string_view text;
    if (const ReadError error = cursor_.text(raw, text); error != ReadError::None) return error;
    values_.put_text(slot, text);
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
    const bool is_entries = step.loop == Step::Loop::Entries;
    for (; count != 0; --count) {
      values_.clear(step.clears);
      if (const ReadError error = open(step.element_block, 0); error != ReadError::None) return error;
      if (is_entries) values_.set_block(SlotPlace::In::Entry, cursor_.block());
      const ReadError error = is_flat ? fill(steps_of[0]) : steps(body, step.end, handler);
      if (error != ReadError::None) return error;
      if (is_entries) [[likely]] {
        handler.entry();
      } else if (step.loop == Step::Loop::Depth) {
        handler.depth();
      }
    }
    open_ = kNoBlock;
    return ReadError::None;
  }

  const Map& map_;
  const Program& program_;
  record::Cursor cursor_;
  Values values_;
  std::unique_ptr<Seen[]> seen_;  ///< By Map::checks.
  std::uint16_t open_ = kNoBlock;
  std::uint64_t elements_left_ = 0;
};

}  // namespace stopbit::market
