#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "microcode/base/result.hpp"

namespace stopbit::os {

/// A time zone: how far its clocks are ahead of UTC, and since when.
class Zone {
 public:
  /// UTC.
  Zone() = default;
  /// A file of the tz database (RFC 8536). Any bytes are fine; the failure says what is wrong with them. After the last
  /// change in the file its offset goes on: Debian's files have the changes up to 2037.
  [[nodiscard]] static Result<Zone> parse(std::span<const std::byte> bytes);
  /// "Europe/Moscow" of this machine. Fails if the file leaves the present to a rule, as those of `zic -b slim` do.
  [[nodiscard]] static Result<Zone> load(const std::string& name);

  /// Whether the changes at this time are those of a rule, which is not read: the offset may be wrong.
  [[nodiscard]] bool is_left_to_rule(std::int64_t utc_s) const noexcept {
    return has_rule_ && (changes_.empty() || utc_s > changes_.back().from_s);
  }

  /// Seconds ahead of UTC at a time in seconds since 1970.
  [[nodiscard]] std::int64_t offset_at(std::int64_t utc_s) const noexcept;
  /// The time at which the clocks show `local_s`, as if it were UTC. In the hour that is skipped: just after it; in the
  /// hour that is twice: the first time.
  [[nodiscard]] std::int64_t utc_of(std::int64_t local_s) const noexcept;

 private:
  struct Change {
    std::int64_t from_s = 0;
    std::int64_t offset_s = 0;
  };
  std::int64_t first_offset_s_ = 0;  ///< Before the first change.
  std::vector<Change> changes_;      ///< Sorted.
  bool has_rule_ = false;            ///< After the last change others follow.
};

}  // namespace stopbit::os
