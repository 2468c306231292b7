#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "host/appliance/clocks.hpp"
#include "host/appliance/opener/opener.hpp"
#include "host/fix/step_session.hpp"
#include "host/ports/step/step_link.hpp"

namespace stopbit::appliance {

/// The sessions of STEP, on a thread of their own, with Boost.Asio: each brings its packets into a link, which a port
/// reads.
///
/// All calls are for set-up, by one thread, before the process is confined: after that it makes no descriptor but the
/// connections, which the opener opens.
class StepDesk {
 public:
  /// Opens a socket whose connection to a server may still be under way.
  using Dial = std::function<opener::Outcome(net::Endpoint server)>;

  StepDesk(Clocks clocks, Dial dial);
  StepDesk(const StepDesk&) = delete;
  StepDesk& operator=(const StepDesk&) = delete;
  ~StepDesk();

  [[nodiscard]] std::shared_ptr<ingest::StepLink> add(net::Endpoint server, const fix::StepOptions& options,
                                                      const fix::StepLimits& limits);

  /// How connections to a server have ended so far. Any thread, at any time after set-up.
  struct Ends {
    net::Endpoint server;
    std::uint64_t count = 0;
    fix::StepEnd last = fix::StepEnd::Failed;  ///< Of no meaning before there was one.
  };
  [[nodiscard]] std::vector<Ends> ends() const;

  /// `begin` is called by the thread, before anything else.
  void start(const std::function<void()>& begin = {});
  /// Logs out, closes connections and ends the thread. Once; without a thread, too.
  void stop();

  // What the thread does, without a thread.

  /// What is due now. The thread does this at its start, and whenever time matters to a session.
  void step();
  /// What comes, for this long. @returns how often the thread would have been woken.
  std::size_t run_for(std::uint64_t ns);

 private:
  class Wire;
  struct Io;

  /// A step at this time, unless there is one before.
  void wake_at(std::uint64_t at_ns, std::uint64_t now_ns);

  Clocks clocks_;
  Dial dial_;
  std::unique_ptr<Io> io_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::thread thread_;
  std::uint64_t due_ns_ = fix::StepSession::kNever;  ///< Of the timer.
};

}  // namespace stopbit::appliance
