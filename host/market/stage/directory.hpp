#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "host/market/instrument/table.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/amounts.hpp"
#include "host/market/stage/extractor.hpp"
#include "host/market/stage/groups.hpp"
#include "host/market/stage/key_index.hpp"
#include "host/market/stage/message.hpp"
#include "host/market/stage/state_writer.hpp"

namespace stopbit::market {

/// The key that a record's values name.
struct Key {
  enum class Found : std::uint8_t {
    Nothing,  ///< No field of the key: what is said concerns all instruments.
    Part,     ///< Some fields: which instrument it is cannot be known.
    Whole,
  };
  Found found = Found::Nothing;
  std::uint32_t row = 0;  ///< 0: no room for it, or not found.
  [[nodiscard]] bool exists() const noexcept { return found == Found::Whole; }
};

/// Rows of instruments by the keys in records, and their groups. A row is added at first sight. One thread; allocates
/// when it is made only.
class Directory {
 public:
  Directory(const Map& map, const Values& values, const Amounts& amounts, const Message& message,
            InstrumentTable& instruments, StateWriter& states, std::uint64_t salt)
      : map_(map),
        values_(values),
        amounts_(amounts),
        message_(message),
        instruments_(instruments),
        states_(states),
        keys_(instruments.view().capacity(), salt),
        groups_(instruments.view().capacity(), salt),
        is_restored_(std::make_unique<bool[]>(std::size_t{instruments.view().capacity()} + 1)) {}

  /// The row of the key in the slots.
  [[nodiscard, gnu::always_inline]] Key find() noexcept {
    // Most keys are one number.
    const MessageSlots& slots = *message_.slots;
    if (slots.key_count == 1 && values_.has(slots.key[0])) [[likely]] {
      const std::uint64_t key = values_.bits(slots.key[0]);
      const Short& known = short_[place(key)];
      if (known.row != 0 && known.key == key) [[likely]]
        return {Key::Found::Whole, known.row};
    }
    return look_up();
  }
  /// Puts a row into the group that the slot names, and tells it the group's state.
  void join_group(std::uint32_t row, std::uint8_t slot) noexcept;
  /// A row of the table that no record has named yet: it belongs to the first record with its key.
  void note_restored(std::uint32_t row) noexcept { is_restored_[row] = true; }
  [[nodiscard]] Groups& groups() noexcept { return groups_; }

 private:
  struct Short {
    std::uint64_t key = 0;
    std::uint32_t row = 0;  ///< 0: none.
  };
  [[nodiscard]] static std::size_t place(std::uint64_t key) noexcept { return key * 0x9E37'79B9'7F4A'7C15U >> 58; }

  [[nodiscard]] Key look_up() noexcept;
  [[nodiscard]] std::uint32_t add(const KeyBits& key) noexcept;
  void see_first(InstrumentRow& row) const noexcept;
  [[nodiscard]] std::string_view key_text(std::array<char, 256>& room, bool& is_cut) const noexcept;

  const Map& map_;
  const Values& values_;
  const Amounts& amounts_;
  const Message& message_;
  InstrumentTable& instruments_;
  StateWriter& states_;
  KeyIndex keys_;
  Groups groups_;
  std::unique_ptr<bool[]> is_restored_;  ///< By row.
  std::array<Short, 64> short_{};        ///< The newest keys of one number that is no hash.
};

}  // namespace stopbit::market
