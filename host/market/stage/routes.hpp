#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "host/market/event/event.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/condition.hpp"
#include "host/market/stage/extractor.hpp"

namespace stopbit::market {

/// What a map does with an entry.
struct Route {
  const CompiledEntry* rule = nullptr;  ///< The first one that fits; null: none does.
  Side side = Side::None;
  Kind kind = Kind::New;    ///< Of an entry of its book.
  bool is_unknown = false;  ///< Its action has no meaning, so what it does to the book is not known.
};

/// Finds the routes of entries. They depend on a few values of which feeds have few different ones, such as type and
/// action of an entry, so the newest are kept. One thread; allocates nothing.
class Routes {
 public:
  Routes(const Map& map, const Values& values) noexcept : map_(map), values_(values) {}

  /// That of the entry in the slots; valid until the next call. `typed` is for one kind of message.
  [[nodiscard, gnu::always_inline]] const Route& find(const TypedRules& typed, bool is_snapshot) noexcept {
    Known& known = known_[place(typed)];
    if (!is_like(known, typed)) [[unlikely]]
      fill(known, typed, is_snapshot);
    return known.route;
  }

 private:
  static constexpr std::size_t kKept = 64;

  struct Known {
    const TypedRules* typed = nullptr;
    std::uint64_t present = 0;
    std::array<std::uint64_t, TypedRules::kMostDeciding> bits{};  ///< Of the deciding slots.
    Route route;
  };

  [[nodiscard, gnu::always_inline]] std::size_t place(const TypedRules& typed) const noexcept {
    return (values_.bits(typed.deciding[0]) + 5 * values_.bits(typed.deciding[1]) + 11 * typed.number) % kKept;
  }
  [[nodiscard, gnu::always_inline]] bool is_like(const Known& known, const TypedRules& typed) const noexcept {
    if (known.typed != &typed || known.present != (values_.present() & typed.deciding_slots)) return false;
    for (std::size_t i = 0; i < typed.deciding_count; ++i) {
      if (known.bits[i] != values_.bits(typed.deciding[i])) return false;
    }
    return true;
  }
  [[gnu::noinline]] void fill(Known& known, const TypedRules& typed, bool is_snapshot) noexcept {
    known.route = {};
    // Too many values decide: it is looked for anew each time.
    known.typed = typed.deciding_count < TypedRules::kMostDeciding ? &typed : nullptr;
    known.present = values_.present() & typed.deciding_slots;
    for (std::size_t i = 0; i < typed.deciding_count; ++i) known.bits[i] = values_.bits(typed.deciding[i]);
    const CompiledEntry* const rule = rule_for(typed);
    if (rule == nullptr) return;
    known.route.rule = rule;
    known.route.side = rule->side;
    if (values_.has(rule->side_slot)) {
      known.route.side = static_cast<Side>(map_.translate(rule->sides, values_.bits(rule->side_slot)).value_or(0));
    }
    const bool has_book = rule->role == EntryRole::Book || rule->also_book;
    if (!has_book || is_snapshot || map_.books[rule->book].action == kNoSlot) return;
    const std::uint8_t action = map_.books[rule->book].action;
    const auto kind =
        values_.has(action) ? map_.translate(typed.actions[rule->book], values_.bits(action)) : std::nullopt;
    known.route.is_unknown = !kind;
    if (kind) known.route.kind = static_cast<Kind>(*kind);
  }
  [[nodiscard]] const CompiledEntry* rule_for(const TypedRules& typed) const noexcept {
    std::size_t at = 256;
    if (values_.has(typed.decisive)) at = values_.bits(typed.decisive) & 0xFF;
    for (std::uint64_t left = typed.candidates[at]; left != 0; left &= left - 1) {
      const CompiledEntry& rule = typed.entries[static_cast<std::size_t>(std::countr_zero(left))];
      if (holds(map_, rule.when, values_)) return &rule;
    }
    return nullptr;
  }

  const Map& map_;
  const Values& values_;
  std::array<Known, kKept> known_{};
};

}  // namespace stopbit::market
