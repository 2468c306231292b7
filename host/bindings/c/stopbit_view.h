/* Common part of the headers made by `stopbit gen c`: typed views of records. C99, and C++; no library.
 *
 *     #include <stopbit.h>
 *     #include "feed.h"                                        // stopbit gen c --templates feed.xml -o feed.h
 *
 *     static int print(void* user, stopbit_record* record) {   // as a stopbit_record_callback
 *       feed_Trade trade;
 *       if (stopbit_record_check(record) != STOPBIT_OK) return 1;
 *       if (!feed_Trade_from(stopbit_record_slots(record, NULL), &trade)) return 0;
 *       const stopbit_decimal price = feed_Trade_LastPrice(trade);
 *       ...
 *     }
 *
 * A view is two pointers into a record, and trusts it. Look at one only after stopbit_record_check has accepted the
 * record, of a program or ring with the layout hash of the header, and only as long as the record exists. After the
 * check no function here reads outside of the record, whatever its bytes; without it, a damaged record makes them read
 * any memory.
 *
 * A field that is absent gives 0, or an empty text; its `has` function tells. Elements of a sequence are counted by
 * `count`; `begin` gives the first, `next` the one after another. The fields after a sequence have a view of their own,
 * which `after` gives: it may have to walk over the elements, so keep it in a variable. */
#ifndef STOPBIT_VIEW_H
#define STOPBIT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian; views do not swap"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define STOPBIT_SLOT_WORDS 8U
#define STOPBIT_VALUE_WORDS 7U
#define STOPBIT_STRING_SLOT_BYTES 56U

/* Where a block is. Slots have eight words: seven values, then their tags. */
typedef struct stopbit_place {
  const uint64_t* block;   /* Its first slot. */
  const uint64_t* strings; /* The first slot of the record's string area. */
  uint32_t base;           /* Words before the values of a block that begins a record or a reference; else 0. */
} stopbit_place;

/* mantissa * 10^exponent */
typedef struct stopbit_decimal {
  int64_t mantissa;
  int32_t exponent;
} stopbit_decimal;

/* A string or byte vector. Its bytes are in pieces, or packed: copy them with stopbit_text_copy. */
typedef struct stopbit_text {
  uint32_t size;
  uint64_t packed;       /* The bytes of one of up to eight, */
  const uint64_t* slots; /* or where a longer one begins; NULL: it is packed, */
  const char* constant;  /* or a constant; NULL: it is none. */
} stopbit_text;

static inline uint64_t stopbit_view_word(stopbit_place place, uint32_t word) {
  return place.block[word / STOPBIT_VALUE_WORDS * STOPBIT_SLOT_WORDS + word % STOPBIT_VALUE_WORDS];
}
static inline bool stopbit_view_has(stopbit_place place, uint32_t word) {
  const uint64_t tags = place.block[word / STOPBIT_VALUE_WORDS * STOPBIT_SLOT_WORDS + STOPBIT_VALUE_WORDS];
  return (tags >> (word % STOPBIT_VALUE_WORDS * 8) & 0xFF) != 0;
}
static inline stopbit_place stopbit_view_skip(stopbit_place place, size_t slots) {
  stopbit_place next;
  next.block = place.block + slots * STOPBIT_SLOT_WORDS;
  next.strings = place.strings;
  next.base = 0;
  return next;
}
static inline stopbit_place stopbit_view_reference(stopbit_place place) {
  place.base = 1;
  return place;
}
/* The index of the template of a record, or of what is at the place of a reference. */
static inline uint32_t stopbit_view_template(const void* slots) {
  return (uint32_t)(*(const uint64_t*)slots & 0xFFFF);
}
static inline stopbit_place stopbit_view_root(const void* slots) {
  const uint64_t* const words = (const uint64_t*)slots;
  const size_t count = (size_t)(words[0] >> 16 & 0xFFFF);
  const size_t of_strings = (size_t)(words[2] >> 48 & 0xFF);
  stopbit_place place;
  place.block = words;
  place.strings = words + (of_strings < count ? count - of_strings : 0) * STOPBIT_SLOT_WORDS;
  place.base = 4;
  return place;
}
static inline stopbit_decimal stopbit_view_number(int64_t mantissa, int32_t exponent) {
  stopbit_decimal value;
  value.mantissa = mantissa;
  value.exponent = exponent;
  return value;
}
static inline stopbit_decimal stopbit_view_decimal(stopbit_place place, uint32_t word) {
  return stopbit_view_number((int64_t)stopbit_view_word(place, word + 1), (int32_t)stopbit_view_word(place, word));
}
static inline stopbit_text stopbit_view_literal(const char* bytes, uint32_t size) {
  stopbit_text text;
  text.size = size;
  text.packed = 0;
  text.slots = NULL;
  text.constant = bytes;
  return text;
}
static inline stopbit_text stopbit_view_text(stopbit_place place, uint32_t word) {
  const uint64_t value = stopbit_view_word(place, word);
  const uint32_t form = (uint32_t)(value >> 56);
  stopbit_text text = stopbit_view_literal(NULL, form < 8 ? form : 8);
  if (form == 127) {
    text.size = (uint32_t)value;
    text.slots = place.strings + (value >> 32 & 0xFFFF) * STOPBIT_SLOT_WORDS;
  } else {
    text.packed = value & UINT64_C(0x7FFFFFFFFFFFFFFF); /* The last of eight has its top bit set. */
  }
  return text;
}

/* Stores at most `size` bytes, a zero after the text included. Returns the length of the text, which may itself contain
 * zeros: it was cut if that is not below `size`. */
static inline size_t stopbit_text_copy(stopbit_text text, char* to, size_t size) {
  size_t left = size == 0 ? 0 : text.size < size ? text.size : size - 1;
  if (size != 0) to[left] = '\0';
  if (text.constant != NULL) {
    memcpy(to, text.constant, left);
  } else if (text.slots == NULL) {
    memcpy(to, &text.packed, left);
  } else {
    const uint64_t* slot = text.slots;
    for (; left != 0; slot += STOPBIT_SLOT_WORDS) {
      const size_t now = left < STOPBIT_STRING_SLOT_BYTES ? left : STOPBIT_STRING_SLOT_BYTES;
      memcpy(to, slot, now);
      to += now;
      left -= now;
    }
  }
  return text.size;
}
/* Whether it has exactly the bytes of a text that ends with a zero. */
static inline bool stopbit_text_is(stopbit_text text, const char* other) {
  const uint64_t* slot = text.slots;
  size_t at = 0;
  if (strlen(other) != text.size) return false;
  if (text.constant != NULL) return memcmp(text.constant, other, text.size) == 0;
  if (slot == NULL) return memcmp(&text.packed, other, text.size) == 0;
  for (; at < text.size; at += STOPBIT_STRING_SLOT_BYTES, slot += STOPBIT_SLOT_WORDS) {
    const size_t left = text.size - at;
    if (memcmp(slot, other + at, left < STOPBIT_STRING_SLOT_BYTES ? left : STOPBIT_STRING_SLOT_BYTES) != 0)
      return false;
  }
  return true;
}

#ifdef __cplusplus
}
#endif

#endif
