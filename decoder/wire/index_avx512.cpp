#if defined(__x86_64__)

#include <immintrin.h>

#include "decoder/wire/index_list.hpp"

namespace stopbit::wire::kernels {

[[gnu::target("avx512f,avx512bw")]] void build_avx512(const std::uint8_t* from, std::size_t size, std::uint8_t* to,
                                                      std::uint64_t* stops) noexcept {
  constexpr std::size_t kBlock = 64;
  for (; size >= kBlock; size -= kBlock, from += kBlock, to += kBlock) {
    const __m512i bytes = _mm512_loadu_si512(from);
    _mm512_store_si512(to, bytes);
    *stops++ = _mm512_movepi8_mask(bytes);
  }
  // Bytes that the mask leaves out are not read, wherever they are, and count as zero. If they lie in a page that is
  // not there the processor takes its time to find that out, though: then the last bytes are left to others.
  constexpr std::uintptr_t kPage = 4096;
  if (reinterpret_cast<std::uintptr_t>(from) % kPage > kPage - kBlock) [[unlikely]] {
    return build_avx2(from, size, to, stops);
  }
  const __m512i rest = _mm512_maskz_loadu_epi8((std::uint64_t{1} << size) - 1, from);
  _mm512_store_si512(to, rest);
  _mm512_store_si512(to + kBlock, _mm512_setzero_si512());
  *stops++ = _mm512_movepi8_mask(rest);
  *stops = 0;
}

}  // namespace stopbit::wire::kernels

#endif
