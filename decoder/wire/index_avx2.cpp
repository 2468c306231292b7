#if defined(__x86_64__)

#include <immintrin.h>

#include "decoder/wire/index_ends.hpp"
#include "decoder/wire/index_list.hpp"

#define STOPBIT_AVX2 [[gnu::target("avx2")]]

namespace stopbit::wire::kernels {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kVector = 32;

/// Copies 32 bytes and returns their stop bits.
STOPBIT_AVX2 inline std::uint64_t copy_32(const std::uint8_t* from, std::uint8_t* to) noexcept {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
}

STOPBIT_AVX2 inline std::uint64_t copy_16(const std::uint8_t* from, std::uint8_t* to) noexcept {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
}

/// Copies less than a block and returns its stop bits: its front and its back, which may overlap.
STOPBIT_AVX2 inline std::uint64_t copy_rest(const std::uint8_t* from, std::size_t size, std::uint8_t* to) noexcept {
  if (size >= 32) return copy_32(from, to) | copy_32(from + size - 32, to + size - 32) << (size - 32);
  if (size >= 16) return copy_16(from, to) | copy_16(from + size - 16, to + size - 16) << (size - 16);
  return copy_below_16(from, size, to);
}

}  // namespace

STOPBIT_AVX2 void build_avx2(const std::uint8_t* from, std::size_t size, std::uint8_t* to,
                             std::uint64_t* stops) noexcept {
  for (; size >= kBlock; size -= kBlock, from += kBlock, to += kBlock) {
    *stops++ = copy_32(from, to) | copy_32(from + kVector, to + kVector) << kVector;
  }
  *stops++ = copy_rest(from, size, to);
  *stops = 0;
  const __m256i zeros = _mm256_setzero_si256();
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + size), zeros);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + size + kVector), zeros);
}

}  // namespace stopbit::wire::kernels

#endif
