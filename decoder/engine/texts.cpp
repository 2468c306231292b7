#include "decoder/engine/texts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#define STOPBIT_INLINE [[gnu::always_inline]] inline

namespace stopbit::engine {
namespace {

using isa::Operator;
using state::Dictionary;
using wire::kData;
using wire::kStop;

/// Sixteen bytes, wherever they are.
typedef std::uint64_t Half __attribute__((vector_size(16), aligned(1), may_alias));
struct Vector {
  Half low;
  Half high;
};
constexpr std::size_t kVector = sizeof(Vector);

inline Vector load(const void* from) noexcept {
  return {static_cast<const Half*>(from)[0], static_cast<const Half*>(from)[1]};
}
inline void store_vector(void* to, const Vector& vector) noexcept {
  static_cast<Half*>(to)[0] = vector.low;
  static_cast<Half*>(to)[1] = vector.high;
}
inline Vector data_of(const Vector& vector) noexcept {
  constexpr std::uint64_t kDataBits = kData * 0x0101'0101'0101'0101U;
  return {vector.low & kDataBits, vector.high & kDataBits};
}

/// Copies characters of the stream, without their stop bits; `length` is at most what one look at the index shows.
/// Reads and writes whole vectors.
inline void copy_data(char* to, const std::uint8_t* from, std::size_t length) noexcept {
  store_vector(to, data_of(load(from)));
  if (length > kVector) store_vector(to + kVector, data_of(load(from + kVector)));
}

}  // namespace

static_assert(Dictionary::kStringSlack >= 2 * kVector && Dictionary::kStringSlack >= record::kStringSlotBytes &&
              wire::kIndexBlock >= record::kStringSlotBytes);

STOPBIT_INLINE bool Texts::find(const std::uint8_t* position, Entity& out) const noexcept {
  const std::uint64_t stops = index_.stops_from(static_cast<std::size_t>(position - m_.in.begin));
  const auto bytes = static_cast<std::size_t>(std::countr_zero(stops)) + 1;
  if (stops == 0) return false;
  const bool is_empty = *position == kStop;
  if (!is_empty && (*position & kData) == 0) return false;
  out = {position, position + bytes, is_empty ? 0 : bytes};
  return true;
}

STOPBIT_INLINE char* Texts::text_of(const Step& in) const noexcept {
  return m_.dictionary->strings() + m_.dictionary->entries()[in.slot].string_offset;
}

STOPBIT_INLINE bool Texts::is_previous(const Step& in) const noexcept {
  return m_.dictionary->entries()[in.slot].mark ==
         (m_.dictionary->assigned_mark() | static_cast<std::uint64_t>(state::EntryType::Ascii));
}

STOPBIT_INLINE bool Texts::fits(const Step& in, std::size_t length) const noexcept {
  return length <= max_bytes_ && length <= m_.dictionary->entries()[in.slot].string_capacity &&
         builder_.has_room_for(length);
}

STOPBIT_INLINE bool Texts::find_base(const Step& in, std::size_t& length) noexcept {
  length = m_.dictionary->entries()[in.slot].string_length;
  return is_previous(in) || find_initial(in, length);
}

bool Texts::find_initial(const Step& in, std::size_t& length) noexcept {
  const Dictionary::Entry& entry = m_.dictionary->entries()[in.slot];
  // Empty, or of another type.
  if ((entry.mark ^ m_.dictionary->assigned_mark()) >> Dictionary::kGenerationShift == 0) return false;
  length = 0;
  if (in.constant->kind == ValueKind::None) return true;
  if (!in.has_initial_word) return false;
  const std::uint64_t word = in.initial_word;
  length = std::min<std::size_t>(word >> 56, 8);
  const std::uint64_t characters = length == 8 ? word & ~(std::uint64_t{kStop} << 56) : word;
  std::memcpy(text_of(in), &characters, sizeof(characters));
  return true;
}

STOPBIT_INLINE void Texts::store(const Step& in, std::size_t length) noexcept {
  (void)builder_.store_readable<0xFF>(in.place, text_of(in), length);  // fits
  m_.present = true;
  ++m_.fields;
}

STOPBIT_INLINE void Texts::keep(const Step& in, std::size_t length) noexcept {
  Dictionary::Entry& entry = m_.dictionary->entries()[in.slot];
  entry.string_length = static_cast<std::uint32_t>(length);
  entry.mark = m_.dictionary->assigned_mark() | static_cast<std::uint64_t>(state::EntryType::Ascii);
  store(in, length);
}

bool Texts::take(const Step& in) noexcept {
  switch (isa::operator_of(in.op)) {
    case Operator::Non: return plain(in);
    case Operator::Def:
      if (!is_sent(in) || !plain(in)) return false;
      take_bit(in);
      return true;
    case Operator::Cop: return with_bit(in, false);
    case Operator::Tai: return with_bit(in, true);
    case Operator::Del: return delta(in);
    default: return false;
  }
}

STOPBIT_INLINE bool Texts::is_sent(const Step& in) const noexcept {
  return in.known == isa::KnownBit::No ? m_.map->bits() >> 63 != 0 : in.known == isa::KnownBit::Set;
}

STOPBIT_INLINE void Texts::take_bit(const Step& in) noexcept {
  if (in.known == isa::KnownBit::No) (void)m_.map->take();
}

bool Texts::plain(const Step& in) noexcept {
  Entity entity;
  if (!find(m_.in.position, entity) || entity.length == 0 || entity.length > max_bytes_) return false;
  if (!builder_.has_room_for(entity.length)) return false;
  (void)builder_.store_readable<kData>(in.place, entity.begin, entity.length);
  m_.in.position = entity.end;
  m_.present = true;
  ++m_.fields;
  return true;
}

bool Texts::with_bit(const Step& in, bool is_tail) noexcept {
  if (is_sent(in)) {
    Entity entity;
    if (!find(m_.in.position, entity) || entity.length == 0) return false;
    std::size_t base = 0;
    if (is_tail && !find_base(in, base)) return false;
    const std::size_t kept = base - std::min(base, entity.length);
    if (!fits(in, kept + entity.length)) return false;
    copy_data(text_of(in) + kept, entity.begin, entity.length);
    m_.in.position = entity.end;
    keep(in, kept + entity.length);
  } else {
    const std::size_t length = m_.dictionary->entries()[in.slot].string_length;
    if (!is_previous(in) || !fits(in, length)) return false;
    store(in, length);
  }
  take_bit(in);
  return true;
}

bool Texts::delta(const Step& in) noexcept {
  const std::uint8_t first = *m_.in.position;
  if ((first & kStop) == 0) return false;
  auto subtraction = static_cast<std::int64_t>(static_cast<std::uint64_t>(first) << 57) >> 57;
  if (isa::is_optional(in.op)) {
    if (subtraction == 0) {
      ++m_.in.position;
      m_.present = false;
      return true;
    }
    if (subtraction > 0) --subtraction;
  }
  Entity addition;
  std::size_t base = 0;
  if (!find(m_.in.position + 1, addition) || !find_base(in, base)) return false;
  // Excess one for the front, so that -1 says "prepend, remove nothing".
  const bool is_front = subtraction < 0;
  const auto removed = static_cast<std::size_t>(is_front ? -(subtraction + 1) : subtraction);
  if (removed > base) return false;
  const std::size_t kept = base - removed;
  const std::size_t length = kept + addition.length;
  if (!fits(in, length)) return false;
  char* const text = text_of(in);
  if (!is_front) {
    copy_data(text + kept, addition.begin, addition.length);
  } else if (kept <= kVector) {
    const Vector rest = load(text + removed);
    copy_data(text, addition.begin, addition.length);
    store_vector(text + addition.length, rest);
  } else {
    return false;
  }
  m_.in.position = addition.end;
  keep(in, length);
  return true;
}

}  // namespace stopbit::engine
