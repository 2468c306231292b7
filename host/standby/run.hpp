#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace stopbit::standby {

/// How far `number` is after `from`; numbers wrap.
[[nodiscard]] constexpr std::int32_t distance(std::uint32_t number, std::uint32_t from) noexcept {
  return static_cast<std::int32_t>(number - from);
}

/// A message of a run: number of its packet, and its place among the messages of that number, from 0.
struct Place {
  std::uint32_t number = 0;
  std::uint32_t message = 0;
};

/// Numbers that were reported lost, of which messages may still come. Bounded: beyond kRoom ranges the oldest
/// one is forgotten, and what comes of it counts as a copy.
class Missing {
 public:
  /// From message `from` of number `first` up to number `last`.
  void add(std::uint32_t first, std::uint32_t from, std::uint32_t last) noexcept;
  /// Whether the message is one of these. If so it is no longer, nor, with `is_last`, are those after it in its number.
  [[nodiscard]] bool take(const Place& place, bool is_last) noexcept;
  /// Whether messages of the number are.
  [[nodiscard]] bool contains(std::uint32_t number) const noexcept;
  void clear() noexcept { count_ = 0; }

 private:
  static constexpr std::size_t kRoom = 512;
  static constexpr std::uint32_t kAll = 0xFFFF'FFFF;
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t from = 0;  ///< Message of the first number.
    std::uint32_t last = 0;
    std::uint32_t end = kAll;  ///< Message of the last number that is none of these.
    [[nodiscard]] bool has(std::uint32_t number) const noexcept { return number - first <= last - first; }
    [[nodiscard]] bool has(const Place& place) const noexcept {
      return has(place.number) && (place.number != first || place.message >= from) &&
             (place.number != last || place.message < end);
    }
  };
  void put(const Range& range) noexcept;
  void remove(std::size_t i) noexcept;

  std::array<Range, kRoom> ranges_{};
  std::size_t count_ = 0;
};

/// The first messages of numbers that were delivered, so that an epoch of the other appliance can be recognised: of the
/// latest kRecent numbers, and of the kStep * kSparse before the first one in each kStep.
class History {
 public:
  struct Entry {
    bool exists = false;
    std::uint32_t number = 0;
    std::uint64_t hash = 0;
    std::uint64_t arrival_ns = 0;
  };
  void add(std::uint32_t number, std::uint64_t hash, std::uint64_t arrival_ns) noexcept;
  [[nodiscard]] const Entry* find(std::uint32_t number) const noexcept;
  void clear() noexcept { recent_ = sparse_ = {}; }

 private:
  static constexpr std::uint32_t kRecent = 512;
  static constexpr std::uint32_t kSparse = 512;
  static constexpr std::uint32_t kStep = 64;
  std::array<Entry, kRecent> recent_{};
  std::array<Entry, kSparse> sparse_{};
};

/// How far a run of a channel's numbers is, and from when to when it arrived: all that is kept of a run that is
/// forgotten.
struct Reach {
  std::uint64_t id = 0;  ///< From 1; 0: none.
  bool has_high = false;
  bool is_whole = false;         ///< The highest number came with its last message, or was given up.
  Place high;                    ///< The next message of the highest number.
  std::uint64_t began_ns = 0;    ///< Arrival of the record that began it.
  std::uint64_t arrival_ns = 0;  ///< Of the highest number.

  /// Whether everything up to this number came or was given up.
  [[nodiscard]] bool has_passed(std::uint32_t number) const noexcept {
    if (!has_high) return false;
    const std::int32_t ahead = distance(number, high.number);
    return ahead < 0 || (ahead == 0 && is_whole);
  }
  /// The first message after what came.
  [[nodiscard]] Place next() const noexcept { return is_whole ? Place{.number = high.number + 1} : high; }
};

/// A run of a channel's numbers, as both appliances bring it.
struct Run : Reach {
  bool has_reset = false;  ///< The event that it has begun was delivered.
  bool has_error = false;  ///< The rest of error_number was reported lost, and may still come in its place.
  std::uint32_t error_number = 0;
  std::uint64_t moved_ns = 0;  ///< Monotonic: when it last rose.
  unsigned from = 0;           ///< Side that brought the highest number.
  Missing missing;
  History history;

  void begin(std::uint64_t new_id, std::uint64_t first_arrival_ns, std::uint64_t now_ns) noexcept;
};

}  // namespace stopbit::standby
