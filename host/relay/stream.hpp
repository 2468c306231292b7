#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host/relay/message.hpp"
#include "host/relay/store.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

/// Reads one stream of an engine from a message on. One thread.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  struct Start {
    enum class From : std::uint8_t { Oldest, Newest, Time } from = From::Newest;
    std::uint64_t time_ns = 0;  ///< Records that arrived at the appliance then or later; and maybe some before.
  };
  /// Connects. `start` is where the first session begins; later ones go on after the last message that `next` gave.
  [[nodiscard]] virtual Result<Done, StoreFailure> begin(const Start& start) = 0;
  /// A message; valid until the next call.
  struct Message {
    Result<Head> head;  ///< Or why no relay wrote it.
    std::span<const std::byte> slots;
    std::uint64_t sequence = 0;
  };
  /// Waits up to `wait_ms`. Nothing: none has arrived. A failure ends the session.
  [[nodiscard]] virtual Result<std::optional<Message>, StoreFailure> next(std::uint64_t wait_ms) = 0;
  /// Whether the stream had no message after the last one that `next` gave, at the last look.
  [[nodiscard]] virtual bool is_at_end() const noexcept = 0;
  /// The image of a layout, as it was stored. The caller checks it.
  [[nodiscard]] virtual Result<std::vector<std::byte>, StoreFailure> layout(std::uint64_t name) = 0;
};

}  // namespace stopbit::relay
