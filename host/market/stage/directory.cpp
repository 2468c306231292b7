#include "host/market/stage/directory.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "host/market/stage/shapes.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::market {

Key Directory::look_up() noexcept {
  KeyBits bits{};
  bool has_long = false;
  std::size_t present = 0;
  for (std::size_t i = 0; i < message_.slots->key_count; ++i) {
    const std::uint8_t slot = message_.slots->key[i];
    if (!values_.has(slot)) continue;
    ++present;
    bits[i] = values_.bits(slot);
    has_long = has_long || values_.is_long_text(slot);
  }
  if (present == 0) return {};
  if (present != message_.slots->key_count) return {Key::Found::Part, 0};
  std::uint32_t row = keys_.find(bits);
  if (row != 0 && has_long) {
    // Hashes may agree by chance, or because a sender wants it.
    std::array<char, 256> room;
    bool is_cut = false;
    if (key_of(instruments_.row(row)) != key_text(room, is_cut)) row = 0;
    if (row == 0) return {Key::Found::Whole, 0};
  }
  if (row == 0) row = add(bits);
  if (message_.slots->key_count == 1 && bits[0] >> 56 != kHashedText) short_[place(bits[0])] = {bits[0], row};
  return {Key::Found::Whole, row};
}

std::uint32_t Directory::add(const KeyBits& key) noexcept {
  std::array<char, 256> room;
  bool is_cut = false;
  const std::string_view text = key_text(room, is_cut);
  if (const std::uint32_t known = instruments_.view().find(text); known != 0 && is_restored_[known]) {
    is_restored_[known] = false;  // keys that differ may have the same text
    if (instruments_.row(known).first_ns == 0) {
      instruments_.change(known, [&](InstrumentRow& row) { see_first(row); });
    }
    keys_.add(key, known);
    join_group(known, map_.product);
    return known;
  }
  const std::uint32_t number = instruments_.add(text, [&](InstrumentRow& row) {
    row.channel = message_.channel;
    row.flags = is_cut ? kRowKeyCut : 0;
    see_first(row);
    set_books(map_, row);
  });
  if (number == 0) return 0;
  keys_.add(key, number);
  join_group(number, map_.product);
  return number;
}

void Directory::see_first(InstrumentRow& row) const noexcept {
  row.first_ns = message_.arrival_ns;
  if (map_.entry_number != kNoSlot && values_.has(map_.entry_number))
    row.first_number = amounts_.integer(map_.entry_number);
}

/// The key fields as text, with / between them. What is too long ends in a hash of the whole.
std::string_view Directory::key_text(std::array<char, 256>& room, bool& is_cut) const noexcept {
  std::size_t size = 0;
  std::uint64_t hash = kFnv1aBegin;
  for (std::size_t i = 0; i < message_.slots->key_count; ++i) {
    const std::uint8_t slot = message_.slots->key[i];
    if (i != 0 && size < room.size()) room[size++] = '/';
    hash = fnv1a(hash, values_.bits(slot));
    if (values_.is_text(slot)) {
      std::array<char, 8> inner;
      const std::string_view text = values_.text(slot, inner);
      const std::size_t bytes = std::min(text.size(), room.size() - size);
      std::memcpy(room.data() + size, text.data(), bytes);
      size += bytes;
      is_cut = is_cut || bytes != text.size() || text.size() == Values::kTextBytes;
    } else {
      char* const from = room.data() + size;
      const auto [end, error] =
          record::is_signed(values_.type(slot))
              ? std::to_chars(from, room.data() + room.size(), static_cast<std::int64_t>(values_.bits(slot)))
              : std::to_chars(from, room.data() + room.size(), values_.bits(slot));
      if (error == std::errc()) size += static_cast<std::size_t>(end - from);
    }
  }
  if (size <= kInstrumentKeyBytes && !is_cut) return {room.data(), size};
  is_cut = true;
  constexpr std::size_t kKept = kInstrumentKeyBytes - 17;
  const std::size_t kept = std::min(size, kKept);
  room[kept] = '~';
  for (std::size_t i = 0; i < 16; ++i) room[kept + 1 + i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 0xF];
  return {room.data(), kept + 17};
}

void Directory::join_group(std::uint32_t row, std::uint8_t slot) noexcept {
  const bool has_complex = values_.has(map_.complex);
  if (values_.has(slot) || has_complex) {
    const InstrumentRow& known = instruments_.row(row);
    const std::uint64_t complex = has_complex ? values_.bits(map_.complex) + 1 : known.complex;
    std::array<char, 24> digits;
    std::array<char, 8> room;
    std::string_view text = product_of(known);
    if (values_.has(slot)) {
      if (values_.is_text(slot)) {
        text = values_.text(slot, room);
      } else {
        const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), values_.bits(slot));
        text = {digits.data(), error == std::errc() ? end : digits.data()};
      }
    }
    if (text.substr(0, kInstrumentProductBytes) != product_of(known) || complex != known.complex) {
      instruments_.change(row, [&](InstrumentRow& to) {
        InstrumentTable::set_product(to, text);
        to.complex = complex;
      });
    }
  }
  if (!values_.has(slot)) return;
  const Groups::Known* const group = groups_.join(row, values_.bits(slot));
  if (group == nullptr || instruments_.row(row).state != 0) return;
  states_.tell(row, {group->state, static_cast<std::uint32_t>(group->code), group->scale});
}

}  // namespace stopbit::market
