#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/appliance/appliance.hpp"
#include "host/appliance/status.hpp"

namespace stopbit::tools {

/// Explains the first datagram of each kind of error that an appliance has met, as `stopbit explain` does, for those
/// who look at its page. One thread, that which looks after the appliance.
class ErrorDesk {
 public:
  static constexpr std::size_t kMaxExplained = 256;
  static constexpr std::size_t kMaxTextBytes = 16U << 10;

  explicit ErrorDesk(appliance::Appliance& appliance) : appliance_(appliance) {}

  /// Explains the next datagram, if one waits. That takes milliseconds, so one at a time.
  void step();
  /// The distinct errors of the status, each with the text of its explanation if there is one: a JSON list.
  [[nodiscard]] std::string to_json(const appliance::StatusReport& status) const;

 private:
  struct Explained {
    std::uint16_t channel = 0;  ///< Number.
    std::uint16_t template_index = 0xFFFF;
    std::uint16_t block = 0xFFFF;
    std::uint8_t word = 255;
    ErrorCode code = ErrorCode::None;
    std::uint64_t first_ns = 0;  ///< Channels of two feeds may have one number, but not the same first error.
    std::string name;            ///< Of the channel.
    std::string text;
  };

  [[nodiscard]] std::string explain(const appliance::ErrorSample& evidence, const feed::Channel& channel) const;

  appliance::Appliance& appliance_;
  std::vector<Explained> explained_;
};

/// Shortens a text longer than `most` bytes to its beginning and end, in whole lines. The fault is at the end.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t most);

}  // namespace stopbit::tools
