#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "host/relay/message.hpp"
#include "host/relay/store.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

/// When the first record that begins in a message arrived at the appliance, ns since 1970; nothing: none begins in it.
[[nodiscard]] std::optional<std::uint64_t> time_of(const Head& head, std::span<const std::byte> slots) noexcept;

/// A message in which a record begins.
struct TimedMessage {
  std::uint64_t sequence = 0;
  std::uint64_t time_ns = 0;
};
/// The first such message from `first` on and before `end`; nothing: there is none.
using FindTimed =
    std::function<Result<std::optional<TimedMessage>, StoreFailure>(std::uint64_t first, std::uint64_t end)>;

/// Where a reader has to begin to get every record of `time_ns` or later, in a stream with the sequences from `first`
/// to `end` - 1 whose times do not fall: at the last message that begins with an earlier record, which may have later
/// ones. Looks at about as many messages as the length of the stream has bits.
[[nodiscard]] Result<std::uint64_t, StoreFailure> find_time(std::uint64_t first, std::uint64_t end,
                                                            std::uint64_t time_ns, const FindTimed& find);

}  // namespace stopbit::relay
