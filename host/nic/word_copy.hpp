#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Short copies, word by word, and the order of reads. A processor hands what it has just stored on to a load of the
/// same words; a wider load, as a compiler makes of two fields beside each other or memcpy of a short piece, waits
/// until all is in the cache.
namespace stopbit::nic {

inline constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

/// A field of a struct, which the compiler may not read together with its neighbours.
[[nodiscard]] inline std::uint64_t apart(std::uint64_t field) noexcept {
  __asm__("" : "+r"(field));
  return field;
}

/// The word at any address. The compiler may not join it with its neighbours.
[[nodiscard]] inline std::uint64_t load_word(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, kWordBytes);
  return apart(word);
}
inline void store_word(std::byte* to, std::uint64_t word) noexcept {
  word = apart(word);
  std::memcpy(to, &word, kWordBytes);
}

/// The last `bytes` bytes of a sequence, fewer than a word, padded with zeros.
[[nodiscard]] inline std::uint64_t load_tail(const std::byte* from, std::size_t bytes) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i) word |= std::uint64_t{std::to_integer<std::uint8_t>(from[i])} << 8 * i;
  return word;
}

/// The pieces must not overlap.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  constexpr std::size_t kShort = 128;
  if (bytes > kShort) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::size_t at = 0;
  for (; at + kWordBytes <= bytes; at += kWordBytes) store_word(to + at, load_word(from + at));
  for (; at < bytes; ++at) to[at] = from[at];
}

/// A struct of whole words.
template <typename T>
[[nodiscard]] T load_words(const std::byte* from) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % kWordBytes == 0);
  T value;
  for (std::size_t at = 0; at < sizeof(T); at += kWordBytes) {
    store_word(reinterpret_cast<std::byte*>(&value) + at, load_word(from + at));
  }
  return value;
}

/// Later reads are not older than earlier ones, whatever kind of access they are. (ThreadSanitizer does not support
/// fences; it sees the atomic accesses around this one.)
inline void order_reads() noexcept {
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_acquire);
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

}  // namespace stopbit::nic
