#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "decoder/record/layout.hpp"
#include "decoder/record/sink.hpp"
#include "decoder/record/word_place.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/program.hpp"

namespace stopbit::record {

/// What a header says that does not depend on the record's content.
struct Header {
  std::uint64_t arrival_ns = 0;
  std::uint32_t sequence = 0;
  std::uint16_t channel = 0;
  std::uint16_t image_generation = 0;
  std::uint16_t sender_epoch = 0;
  SourceLine source = SourceLine::File;
  TimeQuality time_quality = TimeQuality::Synthetic;

  /// Words 1 to 3, what depends on the content left 0.
  struct Words {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
  };
  [[nodiscard]] constexpr Words words() const noexcept {
    return {arrival_ns, sequence | static_cast<std::uint64_t>(channel) << 32,
            image_generation | static_cast<std::uint64_t>(sender_epoch) << 32 |
                static_cast<std::uint64_t>(source) << 48 | static_cast<std::uint64_t>(time_quality) << 56};
  }
};

/// Content of an event record; see layout.hpp.
struct Event {
  EventKind kind = EventKind::DecodeError;
  ErrorCode code = ErrorCode::None;
  std::uint16_t template_index = 0xFFFF;
  std::uint16_t block = kNoBlock;
  std::uint8_t word = isa::kNoWord;
  std::uint64_t word5 = 0;
  std::uint64_t word6 = 0;
};

/// The word of a string; nothing if the string must go to the string area.
[[nodiscard]] inline std::optional<std::uint64_t> word_of(std::string_view text) noexcept {
  if (text.size() > 8) return {};
  std::uint64_t value = 0;
  // Byte by byte: often they were written one by one a moment ago, and a wide load would wait for all of them.
  for (std::size_t i = 0; i < text.size(); ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << 8 * i;
  }
  if (text.size() < 8) return value | static_cast<std::uint64_t>(text.size()) << 56;
  if ((value & 0x8080808080808080U) != 0) return {};
  return value | static_cast<std::uint64_t>(0x80) << 56;
}

/// A slot without values. `tags` are phase and number.
inline void clear_slot(Slot& slot, std::uint64_t tags) noexcept {
  [&]<std::size_t... Word>(std::index_sequence<Word...>) {
    (store_word(slot.words[Word], 0), ...);
  }
  (std::make_index_sequence<kValueWords>());
  store_word(slot.words[kTagWord], tags);
}

/// Position of a Builder in its record. A plain struct, because native code uses it too.
struct BuilderState {
  Slot first = {};               ///< Slot 0, until it is committed.
  std::uint64_t phase = 0;       ///< Bit 63: of the record's slots.
  Slot* slots = nullptr;         ///< Where the record goes.
  unsigned char* bases[2] = {};  ///< Words are counted from here: [0] the open block, [1] `first`.
  Slot* next = nullptr;          ///< Where the next block will be opened.
  Slot* end = nullptr;           ///< After the last slot that the record may have.
  // For code that works with addresses.
  std::uint64_t turned_tags = 0;  ///< Plus a slot's address << kAddressShift: its empty tag word, turned left by a bit.
  static constexpr unsigned kAddressShift = 51;  ///< From a slot's address to its number in a turned tag word.
  // Strings, until the record is committed.
  std::uint64_t string_slots = 0;
  std::array<std::uint8_t, limits::kMaxStringSlots> string_words;  ///< Words of each slot that have a byte.
  std::array<unsigned char, limits::kMaxStringBytes> strings;      ///< Of each slot kStringSlotBytes.
};

/// Masks for the bytes of a string slot: a slot of ones, then a slot of zeros. To keep the first n bytes, load from n
/// before the middle. `kBits`: those of each byte that count.
template <std::uint8_t kBits>
inline constexpr std::array<unsigned char, 2 * kStringSlotBytes> kKeptBytes = [] {
  std::array<unsigned char, 2 * kStringSlotBytes> bytes = {};
  for (std::size_t i = 0; i < kStringSlotBytes; ++i) bytes[i] = kBits;
  return bytes;
}();

/// Writes consecutive records into the slots that a sink provides. Values go directly to their slots, except those of
/// the first slot, which is committed last; strings are buffered, because their area comes last. All engines use it, so
/// that they write the same bytes.
class Builder {
 public:
  explicit Builder(const Program& program) : max_slots_(program.max_record_slots) {}

  /// Begins a record; discards one that was begun and not committed.
  void begin(RecordSink& sink, const Header& header) noexcept {
    own_header_ = header.words();
    begin(sink, own_header_);
  }
  /// The same, for a header that several records have and that outlives them.
  void begin(RecordSink& sink, const Header::Words& header) noexcept {
    sink_ = &sink;
    header_ = &header;
    const RecordSink::Place place = sink.open();
    stamp_ = place.stamp();
    state_.phase = tag_word_base(place.phase(), 0);
    state_.slots = place.slots;
    state_.bases[1] = reinterpret_cast<unsigned char*>(&state_.first);
    state_.next = place.slots;
    state_.end = place.slots + max_slots_;
    const auto address = reinterpret_cast<std::uintptr_t>(place.slots);
    state_.turned_tags = (place.phase() ? 1 : 0) - (static_cast<std::uint64_t>(address) << BuilderState::kAddressShift);
    state_.string_slots = 0;
  }

  /// Opens a block at the next free slot; false if the record would exceed its limit (X4).
  [[nodiscard]] bool open_block(const Block& block, std::size_t base) noexcept {
    const std::size_t slots = block_slots(base, block.words);
    if (slots > static_cast<std::size_t>(state_.end - state_.next)) return false;
    const std::size_t first = next_slot();
    state_.bases[0] = reinterpret_cast<unsigned char*>(state_.next);
    for (std::size_t i = 0; i < slots; ++i) {
      clear_slot(first + i == 0 ? state_.first : state_.next[i], tags_of(first + i));
    }
    state_.next += slots;
    return true;
  }

  /// Where the next block will be opened.
  [[nodiscard]] std::size_t next_slot() const noexcept { return static_cast<std::size_t>(state_.next - state_.slots); }
  [[nodiscard]] BuilderState& state() noexcept { return state_; }

  /// A root block in a dynamic reference: its first word is the template's index.
  [[nodiscard]] bool open_reference(const Block& block, std::uint16_t template_index) noexcept {
    if (!open_block(block, kReferenceWords)) return false;
    store(WordPlace::at(0, kReferenceTag), template_index);
    return true;
  }

  /// Both do nothing at a word that records do not hold.
  void store(WordPlace place, std::uint64_t value) noexcept {
    if (place.tag == 0) return;
    unsigned char* const base = state_.bases[place.in_first_slot ? 1 : 0];
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(base + place.value_offset), value, __ATOMIC_RELAXED);
    __atomic_store_n(base + place.tag_offset, place.tag, __ATOMIC_RELAXED);
  }

  /// False if the string area is full, or the string would fit none (X8).
  [[nodiscard]] bool store(WordPlace place, std::string_view text) noexcept {
    if (place.tag == 0) return text.size() <= limits::kMaxStringBytes;
    const std::optional<std::uint64_t> word = word_of(text);
    if (!word) return store_long(place, text);
    store(place, *word);
    return true;
  }

  /// Whether the string area has room for a string of this length.
  [[nodiscard]] bool has_room_for(std::size_t length) const noexcept {
    if (length <= kStringSlotBytes) return state_.string_slots < limits::kMaxStringSlots;
    return string_slots(length) <= limits::kMaxStringSlots - state_.string_slots;
  }

  /// As store, for a string in memory of which whole string slots are readable. `kDataBits`: the bits of each byte that
  /// count, seven in the stream.
  template <std::uint8_t kDataBits>
  [[nodiscard]] bool store_readable(WordPlace place, const void* bytes, std::size_t length) noexcept {
    constexpr std::uint64_t kBits = kDataBits * 0x0101'0101'0101'0101U;
    if (place.tag == 0) return length <= limits::kMaxStringBytes;
    if (length <= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes, 8);
      word &= kBits & (length == 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} << 8 * length));
      if (length < 8 || (word & 0x8080'8080'8080'8080U) == 0) {
        store(place, word | (length == 8 ? std::uint64_t{0x80} : std::uint64_t{length}) << 56);
        return true;
      }
    }
    const auto* from = static_cast<const unsigned char*>(bytes);
    if (length <= kStringSlotBytes && state_.string_slots < limits::kMaxStringSlots) [[likely]] {
      copy_string_slot<kDataBits>(from, length, state_.strings.data() + state_.string_slots * kStringSlotBytes);
      state_.string_words[state_.string_slots] = static_cast<std::uint8_t>((length + 7) / 8);
      store_long_word(place, length);
      ++state_.string_slots;
      return true;
    }
    unsigned char* to = long_string(place, length);
    if (to == nullptr) return false;
    for (; length > kStringSlotBytes; length -= kStringSlotBytes) {
      copy_string_slot<kDataBits>(from, kStringSlotBytes, to);
      from += kStringSlotBytes;
      to += kStringSlotBytes;
    }
    copy_string_slot<kDataBits>(from, length, to);
    return true;
  }

  /// Completes the record and makes it visible; false if it exceeds its limit (X4).
  [[nodiscard]] bool commit(std::uint16_t template_index, std::uint16_t message_index, std::uint8_t flags) noexcept {
    const std::size_t slots = next_slot();
    if (slots + state_.string_slots > max_slots_) return false;
    for (std::size_t i = 0; i < state_.string_slots; ++i) write_string_slot(i, slots + i);
    finish(template_index, message_index, flags, slots + state_.string_slots);
    return true;
  }

  /// Writes an event record in place of a record that was begun.
  void write_event(RecordSink& sink, const Header& header, const Event& event, std::uint16_t message_index) noexcept {
    write_event(sink, header.words(), event, message_index);
  }
  void write_event(RecordSink& sink, const Header::Words& header, const Event& event,
                   std::uint16_t message_index) noexcept {
    begin(sink, header);
    Slot& slot = state_.first;
    slot.words[4] = static_cast<std::uint64_t>(event.kind) | static_cast<std::uint64_t>(event.code) << 8 |
                    static_cast<std::uint64_t>(event.template_index) << 16 |
                    static_cast<std::uint64_t>(event.block) << 32 | static_cast<std::uint64_t>(event.word) << 48;
    slot.words[5] = event.word5;
    slot.words[6] = event.word6;
    constexpr std::uint64_t kEventTags = 0x01'0101U * kEventTag;
    slot.words[kTagWord] = tags_of(0) | kEventTags << 8 * kHeaderWords;
    finish(kEventIndex, message_index, 0, 1);
  }

 private:
  [[gnu::noinline]] bool store_long(WordPlace place, std::string_view text) noexcept {
    unsigned char* const to = long_string(place, text.size());
    if (to == nullptr) return false;
    std::memcpy(to, text.data(), text.size());
    std::memset(to + text.size(), 0, string_slots(text.size()) * kStringSlotBytes - text.size());
    return true;
  }

  /// Copies the bytes of one string slot without a branch on their number, and zeros after them.
  template <std::uint8_t kBits>
  static void copy_string_slot(const unsigned char* from, std::size_t count, unsigned char* to) noexcept {
    // Two words at a time, which never are in memory: arrays would be.
    typedef std::uint64_t Pair __attribute__((vector_size(16), aligned(1), may_alias));
    typedef std::uint64_t Word __attribute__((aligned(1), may_alias));
    constexpr std::size_t kLast = kStringSlotBytes - sizeof(Word);
    const unsigned char* const kept = kKeptBytes<kBits>.data() + kStringSlotBytes - count;
    for (std::size_t at = 0; at < kLast; at += sizeof(Pair)) {
      *reinterpret_cast<Pair*>(to + at) =
          *reinterpret_cast<const Pair*>(from + at) & *reinterpret_cast<const Pair*>(kept + at);
    }
    *reinterpret_cast<Word*>(to + kLast) =
        *reinterpret_cast<const Word*>(from + kLast) & *reinterpret_cast<const Word*>(kept + kLast);
  }

  /// Reserves string slots and stores their word. Returns where the bytes go, or nullptr if there are not enough slots.
  unsigned char* long_string(WordPlace place, std::size_t length) noexcept {
    const std::size_t slots = string_slots(length);
    if (slots > limits::kMaxStringSlots - state_.string_slots) return nullptr;
    unsigned char* const to = state_.strings.data() + state_.string_slots * kStringSlotBytes;
    for (std::size_t i = 0; i < slots; ++i) {
      const std::size_t bytes = std::min(length - i * kStringSlotBytes, kStringSlotBytes);
      state_.string_words[state_.string_slots + i] = static_cast<std::uint8_t>((bytes + 7) / 8);
    }
    store_long_word(place, length);
    state_.string_slots += slots;
    return to;
  }

  /// The word of a string that begins in the next free string slot.
  void store_long_word(WordPlace place, std::size_t length) noexcept {
    store(place, length | static_cast<std::uint64_t>(state_.string_slots) << 32 |
                     static_cast<std::uint64_t>(kLongString) << 56);
  }

  void write_string_slot(std::size_t index, std::size_t number) noexcept {
    Slot& slot = state_.slots[number];
    std::array<std::uint64_t, kValueWords> words;
    std::memcpy(words.data(), state_.strings.data() + index * kStringSlotBytes, kStringSlotBytes);
    for (std::size_t word = 0; word < kValueWords; ++word) store_word(slot.words[word], words[word]);
    constexpr std::uint64_t kAllTags = kStringTag * 0x0101'0101'0101'0101U;
    store_word(slot.words[kTagWord],
               tags_of(number) | (kAllTags & ~(~std::uint64_t{0} << 8 * state_.string_words[index])));
  }

  void finish(std::uint16_t template_index, std::uint16_t message_index, std::uint8_t flags,
              std::size_t slots) noexcept {
    Slot& slot = state_.first;
    slot.words[0] = template_index | static_cast<std::uint64_t>(slots) << 16 | static_cast<std::uint64_t>(stamp_) << 32;
    slot.words[1] = header_->first;
    slot.words[2] = header_->second | static_cast<std::uint64_t>(state_.string_slots) << 48 |
                    static_cast<std::uint64_t>(flags) << 56;
    slot.words[3] = header_->third | static_cast<std::uint64_t>(message_index) << 16;
    std::memcpy(&slot.words[kTagWord], &kHeaderTags, sizeof(kHeaderTags));
    sink_->commit(slot, static_cast<std::uint32_t>(slots));
  }

  /// Of a slot without values.
  [[nodiscard]] std::uint64_t tags_of(std::size_t number) const noexcept {
    return state_.phase | tag_word_base(false, number);
  }

  static constexpr std::uint32_t kHeaderTags = kHeaderTag * 0x0101'0101U + 0x0302'0100U;

  RecordSink* sink_ = nullptr;
  const Header::Words* header_ = nullptr;
  Header::Words own_header_;
  std::uint32_t stamp_ = 0;
  BuilderState state_;
  const std::size_t max_slots_;
};

}  // namespace stopbit::record
