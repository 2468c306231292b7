#include "host/nic/provider/atomics.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

namespace stopbit::nic::provider {
namespace {

template <std::size_t kBytes>
using Word = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

/// Integers wrap around: computed without sign, in 64 bits.
template <class T>
T sum(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T product(T a, T b) noexcept {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}

template <class T>
T bitwise(fi_op op, T old, T operand, T compare) noexcept {
  if constexpr (std::is_integral_v<T>) {
    switch (op) {
      case FI_BOR: return static_cast<T>(old | operand);
      case FI_BAND: return static_cast<T>(old & operand);
      case FI_BXOR: return static_cast<T>(old ^ operand);
      case FI_MSWAP: return static_cast<T>((operand & compare) | (old & ~compare));
      default: return old;
    }
  }
  return old;
}

/// The value afterwards.
template <class T>
T combine(fi_op op, T old, T operand, T compare) noexcept {
  const bool was_true = old != T{};
  const bool is_true = operand != T{};
  switch (op) {
    case FI_MIN: return std::min(old, operand);
    case FI_MAX: return std::max(old, operand);
    case FI_SUM: return sum(old, operand);
    case FI_PROD: return product(old, operand);
    case FI_LOR: return static_cast<T>(was_true || is_true);
    case FI_LAND: return static_cast<T>(was_true && is_true);
    case FI_LXOR: return static_cast<T>(was_true != is_true);
    case FI_ATOMIC_WRITE: return operand;
    case FI_CSWAP: return compare == old ? operand : old;
    case FI_CSWAP_NE: return compare != old ? operand : old;
    case FI_CSWAP_LE: return compare <= old ? operand : old;
    case FI_CSWAP_LT: return compare < old ? operand : old;
    case FI_CSWAP_GE: return compare >= old ? operand : old;
    case FI_CSWAP_GT: return compare > old ? operand : old;
    default: return bitwise(op, old, operand, compare);  // FI_ATOMIC_READ changes nothing
  }
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t index) noexcept {
  T value{};
  if (!bytes.empty()) std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void apply_as(const AtomicCode& code, std::byte* target, std::span<const std::byte> operands,
              std::span<const std::byte> compares, std::span<std::byte> found) noexcept {
  using Bits = Word<sizeof(T)>;
  for (std::size_t i = 0; i < code.count; ++i) {
    const T operand = value_at<T>(operands, i);
    const T compare = value_at<T>(compares, i);
    const std::atomic_ref<Bits> place(*reinterpret_cast<Bits*>(target + i * sizeof(T)));
    Bits old = place.load();
    while (!place.compare_exchange_weak(
        old, std::bit_cast<Bits>(combine(code.op, std::bit_cast<T>(old), operand, compare)))) {
    }
    if (!found.empty()) std::memcpy(found.data() + i * sizeof(T), &old, sizeof(T));
  }
}

}  // namespace

std::size_t atomic_size(fi_datatype type) noexcept {
  switch (type) {
    case FI_INT8:
    case FI_UINT8: return 1;
    case FI_INT16:
    case FI_UINT16: return 2;
    case FI_INT32:
    case FI_UINT32:
    case FI_FLOAT: return 4;
    case FI_INT64:
    case FI_UINT64:
    case FI_DOUBLE: return 8;
    default: return 0;
  }
}

bool is_atomic(AtomicForm form, fi_datatype type, fi_op op) noexcept {
  if (atomic_size(type) == 0 || static_cast<int>(op) < 0 || op >= FI_ATOMIC_OP_LAST) return false;
  const bool is_bitwise = op == FI_BOR || op == FI_BAND || op == FI_BXOR || op == FI_MSWAP;
  if (is_bitwise && (type == FI_FLOAT || type == FI_DOUBLE)) return false;
  switch (form) {
    case AtomicForm::Write: return op <= FI_ATOMIC_WRITE && op != FI_ATOMIC_READ;
    case AtomicForm::Fetch: return op <= FI_ATOMIC_WRITE;
    case AtomicForm::Compare: return op >= FI_CSWAP;
  }
  return false;
}

void apply(const AtomicCode& code, std::byte* target, std::span<const std::byte> operand,
           std::span<const std::byte> compare, std::span<std::byte> found) noexcept {
  switch (code.type) {
    case FI_INT8: return apply_as<std::int8_t>(code, target, operand, compare, found);
    case FI_UINT8: return apply_as<std::uint8_t>(code, target, operand, compare, found);
    case FI_INT16: return apply_as<std::int16_t>(code, target, operand, compare, found);
    case FI_UINT16: return apply_as<std::uint16_t>(code, target, operand, compare, found);
    case FI_INT32: return apply_as<std::int32_t>(code, target, operand, compare, found);
    case FI_UINT32: return apply_as<std::uint32_t>(code, target, operand, compare, found);
    case FI_INT64: return apply_as<std::int64_t>(code, target, operand, compare, found);
    case FI_UINT64: return apply_as<std::uint64_t>(code, target, operand, compare, found);
    case FI_FLOAT: return apply_as<float>(code, target, operand, compare, found);
    case FI_DOUBLE: return apply_as<double>(code, target, operand, compare, found);
    default: return;  // !is_atomic()
  }
}

}  // namespace stopbit::nic::provider
