#pragma once

#include <cstddef>
#include <cstdint>

/// The kernels by name, only for the list of them. Each must only be called where its instructions run.
namespace stopbit::wire::kernels {

void build_portable(const std::uint8_t* from, std::size_t size, std::uint8_t* to, std::uint64_t* stops) noexcept;
#if defined(__x86_64__)
void build_sse2(const std::uint8_t* from, std::size_t size, std::uint8_t* to, std::uint64_t* stops) noexcept;
void build_avx2(const std::uint8_t* from, std::size_t size, std::uint8_t* to, std::uint64_t* stops) noexcept;
void build_avx512(const std::uint8_t* from, std::size_t size, std::uint8_t* to, std::uint64_t* stops) noexcept;
#endif

}  // namespace stopbit::wire::kernels
