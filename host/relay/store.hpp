#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "host/relay/message.hpp"
#include "host/relay/outbox.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

struct StoreFailure {
  enum class Kind : std::uint8_t {
    Away,     ///< Later it may succeed: the engine is down, slow or full.
    Refused,  ///< Only a person can help: wrong password, a stream of another use.
  };
  Kind kind = Kind::Away;
  std::string message;
};

/// Messages for each answer of an engine, which says that all before are stored.
inline constexpr std::size_t kAskEvery = 8;

/// One stream of an engine, to which only this relay should write. It keeps messages in the order in which they were
/// sent, and takes a message only directly after the message that was sent before it. So a message that is stored says
/// that all before it are, and none is stored twice, whatever a former session left on its way.
///
/// One thread. Calls wait for the engine, up to a few seconds.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Opens a session, after the end of the last one. @returns the stream's last message; nothing: it has none.
  [[nodiscard]] virtual Result<std::optional<Head>, StoreFailure> begin() = 0;
  /// Puts the image of the records beside the stream, before the first of them.
  [[nodiscard]] virtual Result<Done, StoreFailure> show_layout(std::uint64_t name,
                                                               std::span<const std::byte> image) = 0;
  /// A failure of one of these ends the session.
  /// Sends a message. `asks`: the engine shall say when it is stored; else a later answer tells.
  [[nodiscard]] virtual Result<Done, StoreFailure> send(const Outgoing& message, bool asks) = 0;
  /// Messages of this session known to be stored. Waits up to `wait_ms` if no answer has arrived.
  [[nodiscard]] virtual Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) = 0;
};

}  // namespace stopbit::relay
