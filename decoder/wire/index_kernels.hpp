#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "microcode/base/result.hpp"

/// The ways to build an Index, one per instruction set; which of them run is known at run time only.
namespace stopbit::wire {

/// Bytes that one word of stop bits is for, and zero bytes that follow the copy.
inline constexpr std::size_t kIndexBlock = 64;

/// Copies `size` bytes and notes which of them have the stop bit. Reads nothing else. Writes
///  - to `to`: the bytes, then kIndexBlock zeros; up to the next multiple of kIndexBlock plus one more block
///    must exist, and be aligned to it;
///  - to `stops`: a word per kIndexBlock bytes begun, then a word of zeros; one more word may become
///    zero, too.
using IndexFunction = void (*)(const std::uint8_t* from, std::size_t size, std::uint8_t* to,
                               std::uint64_t* stops) noexcept;

struct IndexKernel {
  std::string_view name;
  IndexFunction build;
};

/// The kernels that run on this processor, the fastest last. The first one is portable.
[[nodiscard]] std::span<const IndexKernel> index_kernels();

/// The kernel of that name; a null pointer asks for the fastest. Fails if there is no such kernel or if it does not run
/// on this processor; the text says which do.
[[nodiscard]] Result<IndexKernel> find_index_kernel(const char* name);

/// The kernel named by the environment variable STOPBIT_KERNEL, else the fastest. Decided once per process. A caller
/// that makes an engine must pass the failure on.
[[nodiscard]] const Result<IndexKernel>& chosen_index_kernel();

}  // namespace stopbit::wire
