#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "host/remote/notation.hpp"
#include "host/remote/protocol.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::remote {

/// Reason of a failure.
struct RingFailure {
  enum class Kind : std::uint8_t {
    Usage,        ///< The request is invalid.
    Unreachable,  ///< The network, the publisher or its ring does not exist, or this host cannot join.
    Refused,      ///< The publisher refuses permanently.
    Stopped,      ///< The caller stopped the wait; no message.
  };
  Kind kind = Kind::Unreachable;
  std::string message;
};

/// How a caller waits.
struct RingWait {
  /// Waits until the publisher and its ring exist; else gives up after a few seconds.
  bool is_patient = false;
  /// Called often, on the caller's thread; true stops the wait. Null: never.
  std::function<bool()> stops;
  /// Receives a line for each change of state, on any thread.
  std::function<void(const std::string&)> tell;
};

/// A local copy of a published ring, with its own name, maintained by a thread while this object exists. Readers open
/// it like any ring.
class RemoteRing {
 public:
  struct Options {
    Filter filter;
    bool from_start = false;    ///< Begins with the oldest record in the ring, not with the next one.
    bool is_lossless = false;   ///< For a ring with `lossless`: its writer waits for this process.
    bool is_far = false;        ///< The publisher sends the records, even if it could write the ring directly.
    bool follows = false;       ///< Waits for a successor of the same name when the ring ends.
    std::string token;          ///< Up to kMaxTokenBytes.
    std::string provider;       ///< Provider of libfabric; empty: the default.
    std::string network_token;  ///< Over UDP: of the network; empty: none.
    bool is_plain = false;      ///< Over UDP: without encryption, to other hosts, too.
    std::optional<std::uint64_t> max_table_bytes;  ///< Nothing: the default of SubscriberOptions.
    /// For a `lossless` ring without `follows`: number of records that the local reader has read; the writer then waits
    /// for that reader, too. Null: the writer waits for this process only.
    std::shared_ptr<const std::atomic<std::uint64_t>> records_read = nullptr;
  };
  /// Joins the publisher's network and creates the local ring `name`, which must not have a live writer.
  [[nodiscard]] static Result<std::unique_ptr<RemoteRing>, RingFailure> open(const RingAddress& address,
                                                                             const std::string& name,
                                                                             const Options& options,
                                                                             const RingWait& wait);
  virtual ~RemoteRing() = default;

  /// State of the copy. `exists`: the ring exists under its name.
  struct Look {
    bool exists = false;
    bool is_near = false;  ///< Written directly by the publisher.
    bool is_refused = false;
    bool has_ended = false;
    std::string problem;  ///< Why it does not exist, if known.
    std::uint64_t records = 0, fetched = 0, lost = 0, sessions = 0;
  };
  [[nodiscard]] virtual Look look() const = 0;

  /// Waits until the ring exists.
  [[nodiscard]] Result<Done, RingFailure> wait(const RingWait& how) const;
};

}  // namespace stopbit::remote
