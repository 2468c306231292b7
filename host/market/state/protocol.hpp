#pragma once

#include <cstddef>
#include <cstdint>

#include "host/os/shm/shared_words.hpp"

/// How a part of a row is written and read: a sequence lock over a few words, of one writer and any number of readers
/// that store nothing. As a template over the memory, so that tests/unit/market/state/model can run it in the memory
/// model of C++.
///
/// A writer that dies between two stores leaves an odd version: readers then find the part unfinished, for ever, and
/// never a mixture. If it dies after the day and before the book that belongs to it, either part alone can be read, and
/// both together not.
namespace stopbit::market::state {

/// Every access to shared memory, by purpose.
enum class Step : std::uint8_t {
  Begin,       ///< The version becomes odd before
  BeginFence,  ///< any word of the part changes.
  Store,       ///< The words.
  End,         ///< The version becomes even: a reader that sees it sees the words.
  First,       ///< The version: the words that belong to it are visible then.
  Load,        ///< The words.
  AgainFence,  ///< If a word was newer than that,
  Again,       ///< this is not the same version.
};
inline constexpr std::size_t kSteps = static_cast<std::size_t>(Step::Again) + 1;

using os::Order;

constexpr Order order_of(Step step) noexcept {
  switch (step) {
    case Step::BeginFence:
    case Step::End: return Order::Release;
    case Step::First:
    case Step::AgainFence: return Order::Acquire;
    default: return Order::Relaxed;
  }
}

/// Writes the words of a part after its version. `version` is even and greater than the last one, `high` goes into its
/// upper half.
template <class Memory>
void write_part(std::uint64_t* part, std::uint32_t version, std::uint32_t high, const std::uint64_t* words,
                std::size_t count) noexcept {
  Memory::template store<Step::Begin>(part[0], version - 1);
  Memory::template fence<Step::BeginFence>();
#pragma GCC unroll 8
  for (std::size_t i = 0; i < count; ++i) Memory::template store<Step::Store>(part[1 + i], words[i]);
  Memory::template store<Step::End>(part[0], version | std::uint64_t{high} << 32);
}

/// Reads them. False: the part changes or changed meanwhile, or its writer died in it; `words` are then undefined.
template <class Memory>
[[nodiscard]] bool read_part(const std::uint64_t* part, std::uint64_t& version, std::uint64_t* words,
                             std::size_t count) noexcept {
  version = Memory::template load<Step::First>(part[0]);
  if (version % 2 != 0) return false;
  for (std::size_t i = 0; i < count; ++i) words[i] = Memory::template load<Step::Load>(part[1 + i]);
  Memory::template fence<Step::AgainFence>();
  return Memory::template load<Step::Again>(part[0]) == version;
}

/// Reads a part and the one that belongs to it, as they were at one moment: the version of the first says which of the
/// second. The second must be written before the first.
template <class Memory>
[[nodiscard]] bool read_both(const std::uint64_t* first, std::uint64_t* first_words, std::size_t first_count,
                             const std::uint64_t* second, std::uint64_t* second_words,
                             std::size_t second_count) noexcept {
  std::uint64_t version = 0;
  std::uint64_t of_second = 0;
  return read_part<Memory>(first, version, first_words, first_count) &&
         read_part<Memory>(second, of_second, second_words, second_count) &&
         static_cast<std::uint32_t>(of_second) == version >> 32;
}

}  // namespace stopbit::market::state
