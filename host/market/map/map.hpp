#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/word_place.hpp"
#include "host/market/map/source.hpp"
#include "microcode/base/result.hpp"
#include "microcode/program.hpp"

/// A feed map compiled for the records of one program: flat tables of numbers.
///
/// Each name of the map has a **slot**, the same for all templates. A template's **plan** is the list of steps that
/// fill slots from a record, in the order in which the record has them; it passes over everything that no rule asks
/// for.
namespace stopbit::market {

inline constexpr std::uint8_t kNoSlot = kMaxFields;  ///< No field, so it never has a value.
inline constexpr std::uint16_t kNoIndex = 0xFFFF;

/// The bits of a text of more than 8 bytes: its hash, marked by a byte 7 that no word of a record has.
[[nodiscard]] std::uint64_t hashed_text(std::string_view text) noexcept;
constexpr std::uint8_t kHashedText = 0x7E;

/// A part of one of Map's vectors.
struct Span {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Step {
  enum class Op : std::uint8_t {
    Touch,     ///< Opens its block.
    Word,      ///< Fills a slot with a value of one word, or leaves it empty.
    Text,      ///< With a text, short or long.
    Decimal,   ///< With exponent and mantissa.
    Constant,  ///< Fills a slot with a constant of the template.
    Group,     ///< Continues at `end` if the optional group is absent.
    Sequence,  ///< Runs the steps up to `end` for each element.
    Skip,      ///< A sequence with elements of `stride` slots that nothing asks for.
  };
  enum class Loop : std::uint8_t { Outer, Entries, Depth };

  Op op = Op::Touch;
  Loop loop = Loop::Outer;
  FieldType type = FieldType::UInt32;
  std::uint8_t slot = kNoSlot;
  record::WordPlace place = {};  ///< Of the value, the witness word, or the length.
  record::WordPlace mantissa = {};
  Span checks = {};                        ///< Of the run: in Map::checks.
  Span copies = {};                        ///< The same: in Map::copies.
  std::uint64_t decimals = 0;              ///< The same: slots whose value are two words.
  std::uint16_t block = kNoBlock;          ///< In which the place is.
  std::uint16_t element_block = kNoBlock;  ///< Sequence.
  std::uint16_t stride = 0;
  std::uint16_t constant = 0;  ///< Index of Map::constants.
  std::uint16_t run = 0;       ///< The first one of steps that fill slots from the same block: how many.
  std::uint32_t end = 0;
  std::uint64_t clears = 0;  ///< Sequence: slots that each element fills anew.

  /// Whether it fills a slot from the record.
  [[nodiscard]] constexpr bool fills() const noexcept { return op == Op::Word || op == Op::Text || op == Op::Decimal; }
};

/// Which words of one slot of a record a run wants: their tags say what has a value.
struct TagCheck {
  std::uint64_t mask = 0;  ///< Bytes of the tag word.
  std::uint64_t expected = 0;
  std::array<std::uint64_t, record::kValueWords> slots{};  ///< By byte: those that the word is for.
  std::uint16_t offset = 0;                                ///< Of the tag word, from the first byte of the block.
  std::uint8_t mantissas = 0;                              ///< Bit k: word k is the second one of its slots.
};

/// What a template's slot is, and where its value is while a message is read: most remain in the record.
struct SlotPlace {
  enum class In : std::uint8_t { Copy, Root, Entry };  ///< The block of the message, or of an element of its entries.
  enum class Form : std::uint8_t { Unsigned, Signed, Decimal, Text };

  std::uint16_t value_offset = 0;     ///< From the first byte of the block.
  std::uint16_t exponent_offset = 0;  ///< Of a decimal.
  In in = In::Copy;
  Form form = Form::Unsigned;
  FieldType type = FieldType::UInt32;
};
static_assert(sizeof(SlotPlace) <= 8);
using SlotPlaces = std::array<SlotPlace, kMaxFields + 1>;
/// All slots have copies: of two words each.
inline constexpr SlotPlaces kCopied = [] {
  SlotPlaces places;
  for (std::size_t slot = 0; slot < places.size(); ++slot) {
    places[slot].value_offset = static_cast<std::uint16_t>(16 * slot);
    places[slot].exponent_offset = static_cast<std::uint16_t>(16 * slot + 8);
  }
  return places;
}();

/// A value that is copied from the open block: a text, which may be a long one, or one of any other block.
struct Copy {
  std::uint16_t value_offset = 0;
  std::uint16_t exponent_offset = 0;
  std::uint8_t slot = kNoSlot;
  bool is_text = false;
};

/// A row of a table that translates a value.
struct Translation {
  std::uint64_t bits = 0;
  std::uint16_t to = 0;
};

struct CompiledTest {
  enum class How : std::uint8_t { Is, AnyOf, NoneOf, Above, Absent };
  How how = How::Is;
  std::uint8_t slot = kNoSlot;
  bool absent = false;       ///< Also true without a value.
  Span is = {};              ///< Of Map::values.
  std::uint64_t number = 0;  ///< Bits, or the bound.
};
/// A run of Map::tests. `never`: a template has no value with which it could hold.
struct CompiledCondition {
  Span tests;
  bool never = false;
  std::uint64_t needs = 0;           ///< Slots without whose values it cannot hold.
  std::uint8_t only_slot = kNoSlot;  ///< Of a condition that is one test for one value; else none.
  std::uint64_t only = 0;            ///< That value's bits.
};

struct CompiledEntry {
  CompiledCondition when;
  EntryRole role = EntryRole::Other;
  std::uint8_t book = 0;
  Side side = Side::None;
  Side also_side = Side::None;
  bool also_book = false;
  Statistic statistic = Statistic::Other;
  std::uint8_t side_slot = kNoSlot;
  std::uint8_t statistic_slot = kNoSlot;
  std::uint8_t price = kNoSlot;     ///< Its own, else its book's.
  std::uint8_t quantity = kNoSlot;  ///< Likewise.
  std::uint8_t id = kNoSlot;
  Span sides;
  Span statistics;
};

struct CompiledBook {
  BookKind kind = BookKind::Level;
  BookOf of = BookOf::Direct;
  std::uint32_t depth = 0;
  std::uint8_t action = kNoSlot;
  std::uint8_t position = kNoSlot;
  std::uint8_t price = kNoSlot;
  std::uint8_t quantity = kNoSlot;
  std::uint8_t count = kNoSlot;
  std::uint8_t id = kNoSlot;
};

/// What depends on the types of a template's fields. Templates with the same rule and types share one.
struct TypedRules {
  std::vector<std::uint16_t> type_infos;  ///< By slot: of enumerations and sets, else kNoTypeInfo.
  std::vector<CompiledEntry> entries;
  std::array<Span, kMaxBooks> actions;
  CompiledCondition first, last, refresh, removed, statistics_reset, simple, end_of_event;
  Span depth_books;
  std::array<Span, kMaxStates> states;
  std::array<Span, kMaxStates> entry_states;
  /// The decision list by the field that most rules test: bit i of a mask: rule i may fit. By the value's low byte; the
  /// last one: no value.
  std::uint8_t decisive = kNoSlot;
  std::array<std::uint64_t, 257> candidates{};
  /// Slots that decide which rule an entry has, what it does to its book and on which side. As many as the most: there
  /// may be others.
  static constexpr std::size_t kMostDeciding = 6;
  std::array<std::uint8_t, kMostDeciding> deciding{kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  std::uint8_t deciding_count = 0;
  std::uint16_t number = 0;  ///< Of Map::typed.
  std::uint64_t deciding_slots = 0;
};

/// Slots of a message rule.
struct MessageSlots {
  std::array<std::uint8_t, kMaxKeyFields> key{};
  std::uint8_t key_count = 0;
  std::array<std::uint8_t, kMaxKeyFields> scope{};  ///< Names what the number of the message counts.
  std::uint8_t scope_count = 0;
  std::uint8_t group = kNoSlot, within = kNoSlot, number = kNoSlot, processed = kNoSlot, name = kNoSlot,
               product = kNoSlot, step = kNoSlot, session = kNoSlot, depth = kNoSlot, depth_type = kNoSlot;
  std::array<std::uint8_t, kMaxStates> states{};
  std::array<std::uint8_t, kMaxStates> entry_states{};
};

struct TemplatePlan {
  MessageKind kind = MessageKind::None;
  bool has_entries = false;
  bool is_entry = false;  ///< Increments and snapshots without a sequence of entries: the message is its only one.
  bool numbered = false;
  bool depth_in_entries = false;  ///< Each entry has a list of depths; else the message has one for all of them.
  bool two_passes = false;        ///< Values of the message come after its entries.
  std::uint16_t rule = kNoIndex;  ///< Of MapSource::messages.
  std::uint16_t typed = 0;
  std::uint32_t places = 0;       ///< Of Map::places.
  std::uint64_t entry_slots = 0;  ///< Those that sequences fill.
  std::uint32_t first_step = 0;
  std::uint32_t end_step = 0;
};

/// Immutable. The program must outlive it.
struct Map {
  MapSource source;
  std::vector<std::string> slot_names;
  std::vector<TemplatePlan> plans;  ///< By template index.
  std::vector<Step> steps;
  std::vector<TagCheck> checks;
  std::vector<Copy> copies;
  std::vector<SlotPlaces> places;
  std::vector<MessageSlots> messages;
  std::vector<CompiledBook> books;
  std::vector<TypedRules> typed;
  std::vector<std::uint64_t> values;
  std::vector<Translation> translations;
  std::vector<CompiledTest> tests;
  struct ConstantValue {
    std::uint64_t bits = 0;
    std::int32_t exponent = 0;
    std::string text;
  };
  std::vector<ConstantValue> constants;
  std::uint8_t message_number = kNoSlot;
  std::uint8_t entry_number = kNoSlot;
  std::uint8_t time = kNoSlot;
  std::uint8_t product = kNoSlot;
  std::uint8_t complex = kNoSlot;

  [[nodiscard]] std::optional<std::uint16_t> translate(Span span, std::uint64_t bits) const noexcept {
    for (std::uint32_t i = span.first; i < span.first + span.count; ++i) {
      if (translations[i].bits == bits) return translations[i].to;
    }
    return std::nullopt;
  }
};

/// Errors: a field that no template has, a value that an enumeration does not have, a template with a message number
/// that has no rule, a key or number that is missing in a template. Nothing after an error.
[[nodiscard]] std::optional<Map> compile_map(MapSource source, const Program& program, Diagnostics& diagnostics);

/// The depth of direct books by level or price whose instruments have no definition that says it. Fails if the map has
/// no such book, or a book cannot have that depth.
[[nodiscard]] Status set_depth(Map& map, std::uint64_t depth);

/// Whether `name` fits: * is any run of characters. Takes time in proportion to both lengths multiplied.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name) noexcept;

}  // namespace stopbit::market
