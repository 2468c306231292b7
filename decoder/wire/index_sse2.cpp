#if defined(__x86_64__)

#include <emmintrin.h>

#include "decoder/wire/index_ends.hpp"
#include "decoder/wire/index_list.hpp"

namespace stopbit::wire::kernels {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kVector = 16;

/// Copies 16 bytes and returns their stop bits.
inline std::uint64_t copy_16(const std::uint8_t* from, std::uint8_t* to) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
}

/// Copies less than a block and returns its stop bits.
inline std::uint64_t copy_rest(const std::uint8_t* from, std::size_t size, std::uint8_t* to) noexcept {
  std::uint64_t mask = 0;
  std::size_t at = 0;
  for (; size - at >= kVector; at += kVector) mask |= copy_16(from + at, to + at) << at;
  if (at == size) return mask;
  // The last 16 bytes, if there are as many, say the same again of those that were copied already.
  if (at != 0) return mask | copy_16(from + size - kVector, to + size - kVector) << (size - kVector);
  return copy_below_16(from, size, to);
}

}  // namespace

void build_sse2(const std::uint8_t* from, std::size_t size, std::uint8_t* to, std::uint64_t* stops) noexcept {
  for (; size >= kBlock; size -= kBlock, from += kBlock, to += kBlock) {
    std::uint64_t mask = 0;
    for (std::size_t at = 0; at < kBlock; at += kVector) mask |= copy_16(from + at, to + at) << at;
    *stops++ = mask;
  }
  *stops++ = copy_rest(from, size, to);
  *stops = 0;
  const __m128i zeros = _mm_setzero_si128();
  for (std::size_t at = 0; at < kBlock; at += kVector) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + size + at), zeros);
  }
}

}  // namespace stopbit::wire::kernels

#endif
