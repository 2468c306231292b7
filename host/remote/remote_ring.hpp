#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "host/remote/notation.hpp"
#include "host/remote/protocol.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::remote {

/// Why there is no ring.
struct RingFailure {
  enum class Kind : std::uint8_t {
    Usage,        ///< What is asked for makes no sense.
    Unreachable,  ///< The network, the publisher or its ring is not there, or this host cannot join.
    Refused,      ///< The publisher refuses for good.
    Stopped,      ///< The caller wants to wait no longer; there is no message.
  };
  Kind kind = Kind::Unreachable;
  std::string message;
};

/// How a caller waits.
struct RingWait {
  /// Waits for what is not there yet; else gives up after some seconds.
  bool is_patient = false;
  /// Whether to stop waiting; asked often, on the caller's thread. Null: never.
  std::function<bool()> stops;
  /// Gets a line for each change of state, on any thread.
  std::function<void(const std::string&)> tell;
};

/// A ring that is published elsewhere, in memory of this process under a name of its own, as long as this lives: a
/// thread receives its records. Readers open it as any ring.
class RemoteRing {
 public:
  struct Options {
    Filter filter;
    bool from_start = false;   ///< Begins with the oldest record that is still there, not with the next one.
    bool is_lossless = false;  ///< Of a ring with `lossless`: its writer waits for this process.
    bool is_far = false;       ///< The publisher sends the records, even where it could write the ring itself.
    bool follows = false;      ///< When the ring ends, its successor of the same name is waited for.
    std::string token;         ///< Up to kMaxTokenBytes.
    std::string provider;      ///< Of libfabric; empty: the usual one.
    /// Of a ring with `lossless` that does not follow: so many records of it its reader has read; then the writer waits
    /// for that, too. Null: for nobody but this process.
    std::shared_ptr<const std::atomic<std::uint64_t>> records_read = nullptr;
  };
  /// Joins the publisher's network and makes the ring `name` of this host, which must not have a live writer.
  [[nodiscard]] static Result<std::unique_ptr<RemoteRing>, RingFailure> open(const RingAddress& address,
                                                                             const std::string& name,
                                                                             const Options& options,
                                                                             const RingWait& wait);
  virtual ~RemoteRing() = default;

  /// How it is. `exists`: the ring is there, under its name.
  struct Look {
    bool exists = false;
    bool is_near = false;  ///< The publisher writes it.
    bool is_refused = false;
    bool has_ended = false;
    std::string problem;  ///< Why there is none, as far as one knows.
    std::uint64_t records = 0, fetched = 0, lost = 0, sessions = 0;
  };
  [[nodiscard]] virtual Look look() const = 0;

  /// Waits until the ring is there.
  [[nodiscard]] Result<Done, RingFailure> wait(const RingWait& how) const;
};

}  // namespace stopbit::remote
