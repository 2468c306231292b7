#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "host/appliance/clocks.hpp"
#include "host/appliance/opener/grants.hpp"
#include "host/appliance/refill/replay_clock.hpp"
#include "host/appliance/refill/replay_service.hpp"

namespace stopbit::opener {
class Client;
}

namespace stopbit::appliance {

/// The connections to replay services, on a thread of their own, with Boost.Asio.
///
/// All calls but set_program() (ReplayFeed) are for set-up, by one thread, before the process is confined: after that
/// it makes no descriptor but the connections, which the opener opens.
class ReplayDesk {
 public:
  /// `connections`: the addresses of the services, by index. `opener`: null, and this process connects.
  ReplayDesk(Clocks clocks, std::vector<net::Endpoint> connections, opener::Client* opener);
  ReplayDesk(const ReplayDesk&) = delete;
  ReplayDesk& operator=(const ReplayDesk&) = delete;
  ~ReplayDesk();

  /// `connection`: index of the address.
  ReplayService& add(ReplayService::Options options, std::size_t connection, QuotaFile& quota,
                     const ReplayCounterSet& counter_set);
  /// Of an agent.
  void add(ReplayLink& link) { links_.push_back(&link); }

  /// `begin` is called by the thread, before anything else.
  void start(const std::function<void()>& begin = {});
  /// Closes connections and ends the thread. Once; without a thread, too.
  void stop();
  /// What the thread does, for at most this long. Without a thread only.
  void run_for(std::uint64_t ns);

 private:
  class Wire;
  struct Io;

  void step();
  void schedule();
  [[nodiscard]] Now now();

  Clocks clocks_;
  ReplayClock clock_;
  std::vector<net::Endpoint> connections_;
  opener::Client* opener_;
  std::vector<ReplayLink*> links_;
  std::unique_ptr<Io> io_;
  std::vector<std::unique_ptr<Wire>> wires_;
  std::thread thread_;
  std::atomic<bool> stop_ = false;
};

}  // namespace stopbit::appliance
