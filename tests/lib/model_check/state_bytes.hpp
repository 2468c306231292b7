#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace stopbit::model_check {

// A model visits its state with one of these: `bytes(value)` for each part, `bytes.list(values)` before the parts of a
// list that grows and shrinks.

/// Appends the parts of a state to `into`.
struct StateWriter {
  std::vector<std::byte>& into;
  template <class T>
  void operator()(const T& value) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    into.insert(into.end(), bytes, bytes + sizeof(T));
  }
  template <class T>
  void list(const std::vector<T>& values) {
    (*this)(static_cast<std::uint32_t>(values.size()));
  }
};

/// Takes the parts of a state from the beginning of `from`.
struct StateReader {
  std::span<const std::byte> from;
  template <class T>
  void operator()(T& value) {
    std::memcpy(&value, from.data(), sizeof(T));
    from = from.subspan(sizeof(T));
  }
  template <class T>
  void list(std::vector<T>& values) {
    std::uint32_t size = 0;
    (*this)(size);
    values.assign(size, {});
  }
};

}  // namespace stopbit::model_check
