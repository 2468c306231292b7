#pragma once

#include <rdma/fi_atomic.h>

#include <cstddef>
#include <cstdint>
#include <span>

/// Atomic operations on memory of this process.
namespace stopbit::nic::provider {

/// The three families of calls: without a result, with the earlier value as the result, and with a comparison.
enum class AtomicForm : std::uint8_t { Write, Fetch, Compare };

struct AtomicCode {
  AtomicForm form = {};
  fi_datatype type = {};
  fi_op op = {};
  std::uint32_t count = 0;
};
/// As it travels.
[[nodiscard]] constexpr std::uint64_t packed(const AtomicCode& code) noexcept {
  return std::uint64_t{code.count} << 32U | std::uint64_t{code.type} << 16U | std::uint64_t{code.op} << 8U |
         static_cast<std::uint64_t>(code.form);
}
[[nodiscard]] constexpr AtomicCode unpacked(std::uint64_t word) noexcept {
  return {static_cast<AtomicForm>(word & 0xFFU), static_cast<fi_datatype>(word >> 16U & 0xFFU),
          static_cast<fi_op>(word >> 8U & 0xFFU), static_cast<std::uint32_t>(word >> 32U)};
}

/// 0: the type is not offered.
[[nodiscard]] std::size_t atomic_size(fi_datatype type) noexcept;
/// Whether the form, type and operation belong together and are offered. Any values may be asked about.
[[nodiscard]] bool is_atomic(AtomicForm form, fi_datatype type, fi_op op) noexcept;
[[nodiscard]] constexpr bool has_operand(const AtomicCode& code) noexcept {
  return code.op != FI_ATOMIC_READ;
}

/// Applies an operation that is_atomic() to each of the values at `target`, which must be aligned to their size. Each
/// value changes by one atomic instruction of the processor, so neither a thread of this process nor another process
/// that shares the memory can come between. `operand` and `compare` are as long as the values, or empty if the
/// operation has none; `found`, if not empty, gets the values from before.
void apply(const AtomicCode& code, std::byte* target, std::span<const std::byte> operand,
           std::span<const std::byte> compare, std::span<std::byte> found) noexcept;

}  // namespace stopbit::nic::provider
