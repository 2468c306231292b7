#pragma once

#include <cstdint>
#include <string_view>

#include "host/relay/store.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::relay {

/// A table of an engine with the newest value of each key, which only one process should write. A value that is stored
/// says that all before it are. Nothing of an earlier session arrives after a value of a later one.
///
/// One thread. Calls wait for the engine, up to a few seconds.
class KeyValues {
 public:
  KeyValues() = default;
  KeyValues(const KeyValues&) = delete;
  KeyValues& operator=(const KeyValues&) = delete;
  virtual ~KeyValues() = default;

  /// Opens a session, after the end of the last one.
  [[nodiscard]] virtual Result<Done, StoreFailure> begin() = 0;
  /// A failure of one of these ends the session.
  /// Sends a value. `asks`: the engine shall say when it is stored; else a later answer tells.
  [[nodiscard]] virtual Result<Done, StoreFailure> put(std::string_view key, std::string_view value, bool asks) = 0;
  /// Values of this session known to be stored. Waits up to `wait_ms` if no answer has arrived.
  [[nodiscard]] virtual Result<std::uint64_t, StoreFailure> stored(std::uint64_t wait_ms) = 0;
};

}  // namespace stopbit::relay
