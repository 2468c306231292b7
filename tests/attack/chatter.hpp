#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/attack/target.hpp"
#include "tests/lib/random.hpp"

namespace stopbit::attack {

/// Makes random bytes that a program may take for messages: presence maps with their bits set, clear or mixed,
/// identifiers it knows, entities short and long.
class Chatter {
 public:
  /// Both must outlive the chatter.
  Chatter(const Program& program, cases::Random& random);

  /// Valid until the next call.
  [[nodiscard]] const Bytes& next();
  /// The same, beginning with the message of this identifier.
  [[nodiscard]] const Bytes& next(std::uint32_t template_id);
  /// The presence map and the identifier alone.
  [[nodiscard]] const Bytes& start(std::uint32_t template_id);

  /// Of dispatch table 0.
  [[nodiscard]] const std::vector<std::uint32_t>& ids() const noexcept { return ids_; }

 private:
  void byte(std::uint64_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void map();
  void identifier(std::uint32_t id);
  void entity();

  cases::Random& random_;
  std::vector<std::uint32_t> ids_;
  Bytes bytes_;
};

/// A message of this identifier that decodes without error on a fresh dictionary, the one with most fields that
/// `attempts` attempts find.
[[nodiscard]] std::optional<Bytes> find_good_message(Target& target, std::uint32_t template_id, std::size_t attempts,
                                                     Chatter& chatter);

}  // namespace stopbit::attack
