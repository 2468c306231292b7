#pragma once

#include <functional>
#include <memory>

#include "host/fix/step_session.hpp"
#include "host/ports/port.hpp"
#include "host/ports/step/step_link.hpp"

namespace stopbit::ingest {

struct StepPortOptions {
  fix::StepOptions session;
  fix::StepLimits limits;
  /// ns, monotonic.
  std::function<std::uint64_t()> clock;
  /// Begins a session with this server, on a thread of its own. The link lives as long as one of both wants it.
  std::function<Result<std::shared_ptr<StepLink>>(net::Endpoint server, const fix::StepOptions&,
                                                  const fix::StepLimits&)>
      open_session;
};

/// Hands out what sessions of STEP bring: a line's group is the address of a server, each RawData is a datagram from
/// and to it. poll makes no system call while packets come. What is not polled waits: then the session reads no more,
/// and TCP lets the server wait.
///
/// counters().failures counts connections that have ended, or could not be made.
[[nodiscard]] std::unique_ptr<Port> make_step_port(StepPortOptions options);

}  // namespace stopbit::ingest
